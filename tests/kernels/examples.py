"""Rows and families that the tests of kernels share."""

from collections.abc import Callable

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray, IntArray, Rows

EPSILON = float(np.finfo(np.float64).eps)

LAYOUTS: dict[str, Callable[[FloatArray], Rows]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "float32 Fortran order": lambda x: np.asfortranarray(x, dtype=np.float32),
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "transposed every other": lambda x: np.repeat(x.T, 2, axis=1)[:, ::2].T,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}

# Rows and columns: none, one, a ragged end, several tiles, and columns that make tiles shorter.
SHAPES = [(0, 9), (1, 9), (2, 9), (37, 14), (1100, 20), (300, 260)]


def random_families(columns: int, count: int, seed: int, most: int = 9) -> Families:
    """Families sorted by size, from no parents to `most`, of different columns each."""
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.integers(0, min(most, columns - 1) + 1, count))
    chosen = [rng.permutation(columns)[: size + 1] for size in sizes]
    return family_table(chosen)


def family_table(columns: list[IntArray]) -> Families:
    """Families given by their columns, child last."""
    offsets = np.concatenate(([0], np.cumsum([len(own) - 1 for own in columns]))).astype(np.int64)
    children = np.array([own[-1] for own in columns], dtype=np.int64)
    parents = np.concatenate([np.zeros(0), *(own[:-1] for own in columns)]).astype(np.int64)
    return Families(children, offsets, parents)


def normal_rows(rows: int, columns: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(rows, columns))


def same_with_nan(left: FloatArray, right: FloatArray) -> bool:
    return np.array_equal(left, right, equal_nan=True)
