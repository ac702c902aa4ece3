"""Wrong values written into data, with a record of where."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.seeds import generator
from gaussnet.simulate.graphs import choice, finite_rows, real_number, whole_number
from gaussnet.types import BoolArray, FloatArray, Seed

Pattern = Literal["fresh", "fixed", "rows", "cells"]
Value = Literal["gaussian", "cauchy", "shift", "resampled"]
PATTERNS: tuple[Pattern, ...] = ("fresh", "fixed", "rows", "cells")
VALUES: tuple[Value, ...] = ("gaussian", "cauchy", "shift", "resampled")
DEFAULT_SIZES = {"gaussian": 1000.0, "cauchy": 1000.0, "shift": 10.0, "resampled": 0.0}


@dataclass(frozen=True, slots=True)
class Contamination:
    """Which cells go wrong and what is written there; the settings of `contaminate`."""

    share: float = 0.05
    nodes: int = 5
    pattern: Pattern = "fresh"
    value: Value = "gaussian"
    size: float | None = None

    def __post_init__(self) -> None:
        real_number("share", self.share, 0.0, 1.0)
        whole_number("nodes", self.nodes)
        choice("pattern", self.pattern, PATTERNS)
        choice("value", self.value, VALUES)
        if self.size is not None:
            real_number("size", self.size)

    def choose_cells(self, shape: tuple[int, int], rng: np.random.Generator) -> BoolArray:
        """A random mask of this shape, (rows, columns)."""
        rows, columns = shape
        cells = np.zeros(shape, dtype=np.bool_)
        if self.pattern == "cells":
            cells.flat[rng.permutation(cells.size)[: round(self.share * cells.size)]] = True
            return cells
        chosen = np.sort(rng.permutation(rows)[: round(self.share * rows)])
        if self.pattern == "rows":
            cells[chosen] = True
            return cells
        width = whole_number("nodes", self.nodes, 0, columns)
        if self.pattern == "fixed":
            cells[np.ix_(chosen, rng.permutation(columns)[:width])] = True
            return cells
        for row in chosen:
            cells[row, rng.choice(columns, width, replace=False)] = True
        return cells

    def write(
        self, table: FloatArray, cells: BoolArray, scales: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """A copy of the table with wrong values in these cells; `scales` are sds of columns."""
        size = DEFAULT_SIZES[self.value] if self.size is None else float(self.size)
        columns = np.nonzero(cells)[1]
        wrong = table.copy()
        if self.value == "gaussian":
            wrong[cells] = rng.normal(size, 1.0, len(columns))
        elif self.value == "cauchy":
            wrong[cells] = size + rng.standard_cauchy(len(columns))
        elif self.value == "shift":
            wrong[cells] += size * scales[columns]
        elif len(columns):
            wrong[cells] = table[rng.integers(len(table), size=len(columns)), columns]
        return wrong


@dataclass(frozen=True, slots=True, eq=False)
class Contaminated:
    """Data and the mask of the cells that were tampered with, both (rows, columns).

    Examples
    --------
    >>> spoilt = contaminate(np.zeros((20, 3)), seed=0, share=0.1, nodes=2)
    >>> spoilt.cells.sum(), spoilt.rows.sum()
    (np.int64(4), np.int64(2))
    """

    data: FloatArray
    cells: BoolArray

    @property
    def rows(self) -> BoolArray:
        """The rows with at least one such cell, (rows,)."""
        return np.asarray(self.cells.any(axis=1))


def contaminate(  # noqa: PLR0913 - the settings are the interface
    data: ArrayLike,
    *,
    seed: Seed,
    share: float = 0.05,
    nodes: int = 5,
    pattern: Pattern = "fresh",
    value: Value = "gaussian",
    size: float | None = None,
) -> Contaminated:
    """A copy of the data with a share of it made wrong, and where.

    `pattern` says which cells: in a `share` of the rows, `nodes` cells drawn anew for each
    row ("fresh"), the same `nodes` columns in each ("fixed") or the whole row ("rows"); or a
    `share` of all cells ("cells"). The share is met exactly, up to rounding to whole rows
    or cells.

    `value` says what is written there: a draw from N(size, 1) ("gaussian") or from the
    Cauchy law around size with scale 1 ("cauchy"), size = 1000 unless told; the true value
    plus `size` standard deviations of its column ("shift"), 10 unless told; or the value of
    a random row in the same column ("resampled").

    Examples
    --------
    >>> spoilt = contaminate(np.zeros((100, 10)), seed=0)
    >>> int(spoilt.rows.sum()), int(spoilt.cells.sum())
    (5, 25)
    >>> bool((spoilt.data[spoilt.cells] > 990).all())
    True
    """
    settings = Contamination(share, nodes, pattern, value, size)
    table = finite_rows(data)
    rng = generator(seed)
    cells = settings.choose_cells((len(table), table.shape[1]), rng)
    scales = table.std(axis=0) if len(table) else np.zeros(table.shape[1])
    return Contaminated(settings.write(table, cells, scales, rng), cells)
