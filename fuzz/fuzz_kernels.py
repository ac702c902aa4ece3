"""Kernels with arguments of any kind: each call gives a number, or a clean refusal.

Arguments follow a kernel's signature (src/gaussnet/kernels/c/kernels.h), with odd shapes, strides,
types, NaN, infinities and denormals; in every second call one of them is then spoilt. Run it on
kernels built with sanitizers, which end the process where foreign memory is touched: `make
sanitize`.
"""

import argparse
import re
import time
from typing import Any

import numpy as np

from gaussnet.kernels import _native

REFUSALS = (ValueError, TypeError, OverflowError, MemoryError, IndexError, BufferError)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e-310, 1.7e308, -1.7e308, 1.0)
MIXTURE_RESULTS = "D[R] D[R] ?D[R,F] ?D[R,F] D[N] D[F] D[K,3] D[F,8] ?D[S+4E+4F]"
HUGE = (-1, -(2**63), 2**31, 2**48, 2**62, 2**63 - 1)


class Arguments:
    """Arguments of one call that fit each other."""

    def __init__(self, rng: np.random.Generator, signature: str) -> None:
        self.rng, self.lengths = rng, {}
        self.families: Any = None
        self.values = [self.argument(token) for token in signature.replace("->", " ").split()]

    def count(self, most: int = 20) -> int:
        """A small number; now and then a larger one."""
        return int(self.rng.integers(0, most if self.rng.random() < 0.95 else 30 * most))

    def argument(self, token: str) -> Any:
        if token[0] == "?":
            return None if self.rng.random() < 0.3 else self.argument(token[1:])
        letter = token[0]
        if letter in "xXc":
            return self.matrix(letter)
        if letter in "fg":
            return self.some_families(letter)
        if letter in "wv":
            return self.windows(letter)
        if letter == "n":
            number = self.count(8)
            self.lengths.setdefault(token[1:] or "?", number)
            return self.lengths[token[1:] or "?"] if token[1:] else number
        if letter == "p":
            return bool(self.rng.integers(2))
        if letter == "s":
            return float(self.numbers(1)[0])
        if letter == "l":
            length = self.length(token[2:-1])
            return [self.part(length) for _ in range(self.count(4))]
        return self.array(letter, *token[2:-1].split(";"))

    def length(self, words: str) -> int:
        """The length that an expression like ET+1 stands for."""
        total = 0
        for term in words.split("+"):
            product = 1
            for one in re.sub(",", "", term):
                if one.isdigit():
                    product *= int(one)
                else:
                    product *= self.lengths.setdefault(one, self.count(12))
            total += product
        return total

    def numbers(self, count: int) -> Any:
        values = self.rng.normal(size=count) * 10.0 ** self.rng.integers(-3, 4)
        odd = self.rng.random(count) < self.rng.choice([0.0, 0.05, 0.9])
        values[odd] = self.rng.choice(SPECIAL, int(odd.sum()))
        return values

    def matrix(self, letter: str) -> Any:
        rows, columns = self.count(60), self.count(9)
        values = self.numbers(4 * rows * columns).reshape(2 * rows, 2 * columns)
        choice = self.rng.integers(4) if letter != "c" else 1
        if choice == 0:
            found = np.ascontiguousarray(values[:rows, :columns])
        elif choice == 1:
            found = np.asfortranarray(values[:rows, :columns])
        elif choice == 2:
            found = values[::2, ::2]
        else:
            found = values[:rows, :columns][::-1, ::-1]
        if letter == "x" and self.rng.random() < 0.3:
            with np.errstate(over="ignore"):
                found = found.astype(np.float32)
        self.lengths |= {"R": rows, "C": columns}
        self.tiles(rows, False)
        return found

    def tiles(self, rows: int, for_windows: bool) -> None:
        height = _native.tile_rows(self.lengths["C"], for_windows)
        self.lengths["T"] = (max(rows, 0) + height - 1) // height

    def some_families(self, letter: str) -> Any:
        columns = self.lengths.get("C", 9)
        count = columns if letter == "g" else (self.count(12) if columns else 0)
        limit = min(count, columns) if letter == "g" else columns
        most = max(limit - 1, 0)
        sizes = (
            self.rng.integers(0, min(most, 6) + 1, count) if count else np.zeros(0, dtype=np.int64)
        )
        if letter != "g":
            sizes = np.sort(sizes)
        repeated = bool(limit) and self.rng.random() < 0.1  # parents twice, more than columns
        sizes = 3 * sizes if repeated else sizes
        lists = [self.rng.choice(limit, size, replace=repeated) for size in sizes.tolist()]
        children = np.arange(count) if letter == "g" else self.rng.integers(0, columns or 1, count)
        parents = np.concatenate([np.zeros(0, dtype=np.int64), *lists]).astype(np.int64)
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.families = (children.astype(np.int64), offsets, parents)
        self.lengths |= {
            "F": count,
            "E": len(parents),
            "P": int(sum(size + 1 + size * (size + 1) // 2 for size in sizes.tolist())),
            "S": int((sizes * sizes).sum()),
        }
        return self.families

    def windows(self, letter: str) -> Any:
        rows = self.lengths["R"]
        start, stop = sorted(self.rng.integers(0, rows + 2, 2).tolist())
        third = int(self.rng.integers(0, 2 if letter == "w" else rows + 2))
        centre = bool(self.rng.integers(2))
        extra, sliding = (0, bool(third)) if letter == "w" else (third, False)
        total = 0
        for size in np.diff(self.families[1]).tolist():
            height = size + min(extra, rows + 1) + centre
            if size and height:
                step = 1 if sliding else height
                first = -(-min(start, rows) // step)
                last = -(-min(stop, rows) // step)
                fitting = rows - height + 1 if sliding else rows // height
                total += size * (max(first, min(last, fitting)) - first)
        self.lengths["W"] = total
        self.tiles(min(stop, rows) - min(start, rows), True)
        return (start, stop, bool(third) if letter == "w" else third, centre)

    def part(self, length: int) -> Any:
        values = np.sort(self.numbers(self.count(30)))
        return values, np.sort(self.rng.integers(0, len(values) + 1, length)).astype(np.int64)

    def array(self, letter: str, words: str, limit: str | None = None) -> Any:
        length = self.length(words)
        if letter in "dD":
            return self.numbers(length)
        if letter in "bB":
            return self.rng.integers(0, 2, length).astype(np.uint8)
        if letter == "j":
            return self.rng.integers(0, max(self.length(str(limit)), 1), length)
        if letter == "o":
            return np.sort(self.rng.integers(0, self.length(str(limit)) + 1, length))
        return self.rng.integers(-3, 40, length)

    def mixture(self) -> None:
        """Rows of a network with wrong and missing cells in place of what came, and a precision
        that belongs to the equations; now and then odd numbers among them."""
        rng, rows = self.rng, self.count(40)
        columns = int(
            rng.choice([1, 3, 6, 12, 30, 130, 600], p=[0.1, 0.2, 0.3, 0.3, 0.07, 0.02, 0.01])
        )
        edges = np.tri(columns, k=-1) * rng.random((columns, columns))
        edges[edges < 1.0 - rng.choice([0.1, 0.5, 2.0]) / np.sqrt(columns)] = 0.0
        child, parent = map(np.copy, np.nonzero(edges))
        sizes = np.bincount(child, minlength=columns)
        matrix = np.eye(columns) - edges * rng.normal(size=edges.shape)
        means, variances = rng.normal(size=columns), np.exp(rng.normal(size=columns))
        omega = (matrix.T / variances) @ matrix
        linked = (matrix.T != 0.0).astype(int) @ (matrix != 0.0)
        starts, neighbours = map(np.copy, np.nonzero(linked))
        found = [
            self.wrong_rows(matrix, means, np.sqrt(variances), rows),
            (np.arange(columns), np.append(0, np.cumsum(sizes)), parent),
            -matrix[child, parent], variances, means, omega[starts, neighbours],
            np.searchsorted(starts, np.arange(columns + 1)), neighbours, np.diag(omega).copy(),
            *self.laws(columns), -rng.exponential(5.0, 2), float(rng.normal(-columns)),
            None if rng.random() < 0.5 else rng.normal(-2.0 * columns, 3.0, rows), -2.0,
            rng.choice([0, 1, 2], rows * columns, p=[0.95, 0.04, 0.01]).astype(np.uint8),
        ]  # fmt: skip
        self.lengths = {"R": rows, "F": columns, "E": len(child), "S": int(sizes @ sizes)}
        self.lengths |= {"N": len(starts), "K": len(found[9]) // 3}
        written = [self.argument(token) for token in MIXTURE_RESULTS.split()]
        self.values = [*map(self.oddly, found), *written]

    def wrong_rows(self, matrix: Any, means: Any, scales: Any, rows: int) -> Any:
        """Rows of a network with wrong and missing cells."""
        noise = self.rng.normal(size=(len(scales), rows)) * scales[:, None]
        found = means + np.linalg.solve(matrix, noise).T
        wrong = self.rng.random(found.shape) < self.rng.choice([0.0, 0.02, 0.3])
        found[wrong] += self.rng.choice([2.0, 4.0, 1e3])
        found[self.rng.random(found.shape) < self.rng.choice([0.0, 0.05, 0.5])] = np.nan
        return found if self.rng.random() < 0.7 else np.asfortranarray(found, dtype=np.float32)

    def laws(self, columns: int) -> Any:
        """Laws of wrong values that all columns share, at times too many, and those of each."""
        rng, count = self.rng, self.count(10)
        shared = (
            np.log(rng.random(count)),
            rng.exponential(3.0, count),
            rng.exponential(size=count),
        )
        own = np.exp(rng.normal(size=(columns, 10)))
        own[:, [1, 2, 5, 7]] = np.log(rng.dirichlet(np.ones(4), columns))
        odds, limits = rng.normal(-3.0, 2.0, columns), rng.choice([0.5, 2.0, 6.0], columns)
        return np.stack(shared, axis=1).ravel(), np.concatenate((odds, limits, own.ravel()))

    def oddly(self, value: Any) -> Any:
        """The same numbers, a few of them odd in one of ten arrays."""
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and self.rng.random() < 0.1:
            odd = self.rng.random(value.shape) < self.rng.choice([0.02, 0.3])
            return np.where(odd, self.rng.choice(SPECIAL, value.shape), value)
        return value

    def spoil(self) -> None:
        """Make one argument something else."""
        index = int(self.rng.integers(len(self.values)))
        value = self.values[index]
        if isinstance(value, np.ndarray):
            self.values[index] = self.spoilt_array(value)
        elif isinstance(value, tuple):
            parts = list(value)
            inner = int(self.rng.integers(len(parts)))
            one = parts[inner]
            parts[inner] = self.spoilt_array(one) if isinstance(one, np.ndarray) else self.odd()
            self.values[index] = tuple(parts)
        else:
            self.values[index] = self.odd()

    def spoilt_array(self, array: Any) -> Any:
        kind = int(self.rng.integers(6))
        if kind == 0:
            return array[: len(array) // 2]
        if kind == 1:
            return np.concatenate((array, array[:1])) if len(array) else np.zeros(3)
        if kind == 2:
            return array.astype(self.rng.choice(["f4", "i4", "f8", "i8", "?", ">f8", "c16"]))
        if kind == 3:
            return np.lib.stride_tricks.as_strided(array, strides=[0] * array.ndim)
        if array.dtype.kind == "i" and len(array):
            changed = array.copy()
            changed[self.rng.integers(len(array))] = int(self.rng.choice((*HUGE[:-1], 99)))
            return changed
        raw = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:]
        return raw.view(array.dtype).reshape(array.shape) if array.nbytes else array

    def odd(self) -> Any:
        return [None, "x", 1.5, [], (), *HUGE][int(self.rng.integers(5 + len(HUGE)))]


def main() -> None:
    """Call kernels until the time is up; any way out but a number or a refusal ends the program."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0, help="of CPU time")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="")
    given = options.parse_args()
    names = [
        name for name in sorted(vars(_native))
        if "[" in str(getattr(_native, name).__doc__) or name in ("all_finite", "checksum")
        if not name.startswith("_") and (not given.only or name in given.only.split(","))
    ]  # fmt: skip
    calls = refused = 0
    start, seed = time.process_time(), given.seed
    while time.process_time() - start < given.seconds:
        seed += 1
        rng = np.random.default_rng(seed)
        _native.use_build(str(rng.choice(_native.builds())))
        name = str(rng.choice(names))
        arguments = Arguments(rng, str(getattr(_native, name).__doc__))
        if name == "mixture_moments" and rng.random() < 0.8:
            arguments.mixture()
        if seed % 2:
            arguments.spoil()
        calls += 1
        try:
            getattr(_native, name)(*arguments.values)
        except REFUSALS:
            refused += 1
    print(f"{calls} calls of {len(names)} kernels, {refused} refused, none touched foreign memory")


if __name__ == "__main__":
    main()
