"""Rows that went wrong: cells written over, noise that is contaminated or has heavy tails."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.errors import DataError
from gaussnet.model.checks import choice, real_number, whole_number
from gaussnet.model.network import GaussianNetwork
from gaussnet.named_rows import named, names_of
from gaussnet.seeds import generator
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
    >>> wrong = contaminate(np.zeros((20, 3)), seed=0, share=0.1, nodes=2)
    >>> wrong.cells.sum(), wrong.rows.sum()
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
    >>> wrong = contaminate(np.zeros((100, 10)), seed=0)
    >>> int(wrong.rows.sum()), int(wrong.cells.sum())
    (5, 25)
    >>> bool((wrong.data[wrong.cells] > 990).all())
    True
    """
    settings = Contamination(share, nodes, pattern, value, size)
    table = _finite_rows(data)
    rng = generator(seed)
    cells = settings.choose_cells((len(table), table.shape[1]), rng)
    scales = table.std(axis=0) if len(table) else np.zeros(table.shape[1])
    wrong = settings.write(table, cells, scales, rng)
    return Contaminated(named(wrong, names_of(data)), cells)


def sample_contaminated(  # noqa: PLR0913 - the settings are the interface
    network: GaussianNetwork,
    rows: int,
    *,
    seed: Seed,
    share: float = 0.05,
    nodes: int = 5,
    pattern: Pattern = "fresh",
    value: Value = "gaussian",
    size: float | None = None,
) -> Contaminated:
    """Rows in which wrong noise spreads from a node to its descendants.

    The settings are those of `contaminate`, applied to the noise of the network instead of
    the values: an event that really happened at a node, not a slip of the pen. A shift is in
    standard deviations of the node's noise. The mask marks where the wrong noise entered,
    not where it spread to.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> from gaussnet.simulate import random_network
    >>> network = random_network(Dag.from_edges([("a", "b")]), seed=0)
    >>> wrong = sample_contaminated(network, 100, seed=0, share=0.01, nodes=1)
    >>> int(wrong.cells.sum())
    1
    """
    settings = Contamination(share, nodes, pattern, value, size)
    rng = generator(seed)
    count = whole_number("rows", rows)
    scales = np.sqrt(network.variance_array)
    noise = rng.standard_normal((count, len(scales))) * scales
    cells = settings.choose_cells((count, len(scales)), rng)
    wrong = settings.write(noise, cells, scales, rng)
    return Contaminated(_follow_equations(network, wrong), cells)


def sample_heavy_tailed(
    network: GaussianNetwork,
    rows: int,
    *,
    seed: Seed,
    noise: Literal["student-t", "laplace"] = "student-t",
    degrees: float = 3.0,
) -> FloatArray:
    """Rows with Student's t or Laplace noise of the same variances as the network's.

    `degrees` of freedom belong to Student's t and are more than 2, so that the variance is
    finite.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> from gaussnet.simulate import random_network
    >>> network = random_network(Dag.from_edges([("a", "b")]), seed=0)
    >>> sample_heavy_tailed(network, 4, seed=0).shape
    (4, 2)
    """
    choice("noise", noise, ("student-t", "laplace"))
    freedom = real_number("degrees", degrees, math.nextafter(2.0, 3.0))
    rng = generator(seed)
    shape = (whole_number("rows", rows), len(network.variance_array))
    if noise == "laplace":
        standard = rng.laplace(scale=math.sqrt(0.5), size=shape)
    else:
        standard = rng.standard_t(freedom, size=shape) * math.sqrt((freedom - 2.0) / freedom)
    return _follow_equations(network, standard * np.sqrt(network.variance_array))


def _finite_rows(data: object) -> FloatArray:
    """The data as a new float64 table (rows, columns) of finite numbers."""
    try:
        table = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the data hold something that is not a number: give numbers only") from None
    if table.ndim != 2:
        raise DataError(f"got data of shape {table.shape}, expected (rows, columns)")
    if not np.isfinite(table).all():
        raise DataError("the data hold NaN or infinite values: fill or drop them first")
    return table


def _follow_equations(network: GaussianNetwork, noise: FloatArray) -> FloatArray:
    """The values that this noise leads to, node after node in topological order.

    Both are (rows, nodes); inside, a node's values lie side by side in memory.
    """
    families = network.dag.families
    offsets, parents = families.offsets, families.parents
    values = np.ascontiguousarray(noise.T)
    values += network.intercept_array[:, None]
    for node in network.dag.order.tolist():
        edges = slice(int(offsets[node]), int(offsets[node + 1]))
        values[node] += network.coefficient_array[edges] @ values[parents[edges]]
    return named(np.ascontiguousarray(values.T), network.dag.nodes)
