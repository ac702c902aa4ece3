"""The residuals of a fit, and their shape: a cheap look at what is far from Gaussian."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gaussnet import kernels
from gaussnet.data.columns import is_frame
from gaussnet.graph.dag import counted
from gaussnet.model.network import GaussianNetwork
from gaussnet.tails import normal_cdf
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

MOST_ROWS = 200_000
"""More rows than this are thinned."""
BLOCK_VALUES = 1 << 21
FEWEST = 30
"""Rows below which shapes are not told apart."""
WILD = 1e-7
"""The chance that the largest residual of all nodes is so far off, if all are Gaussian."""
SKEWED, HEAVY, LIGHT = 0.5, 1.0, -0.6
"""Skewness and excess kurtosis that matter; Gaussian residuals have 0."""
SURE = 5.0
"""So many standard errors from 0 they must be, to be told of."""
FAR = 20.0
"""So many standard deviations of the middle residuals are far off, whatever the noise is."""
MOST_SORTED = 2_000
"""Rows from which the spread of the middle residuals is found."""
DECILES = 2.5631031310892007
"""Distance of the first and the last decile of the Gaussian."""

Shape = Literal["Gaussian", "wild values", "skewed", "heavy tails", "light tails", "unknown"]
WORDS: dict[Shape, str] = {
    "Gaussian": "close to Gaussian",
    "wild values": "far from Gaussian: wild values",
    "skewed": "skewed",
    "heavy tails": "heavier tails than the Gaussian",
    "light tails": "flatter than the Gaussian: bounds, or two groups",
    "unknown": "too few values to judge",
}


@dataclass(frozen=True, eq=False)
class ResidualShapes:
    """The shape of each node's residuals, in standard deviations of its noise; (nodes,) each."""

    counts: IntArray
    worst: FloatArray
    """The residual furthest from 0; NaN where there is no noise."""
    skewness: FloatArray
    kurtosis: FloatArray
    """Excess over that of the Gaussian."""
    middle: FloatArray
    """Standard deviation of the residuals between the first and the last decile; NaN if it is 0.

    Many wild values stretch the noise until none of them is many standard deviations off; the
    middle of the residuals does not hide them."""
    distance: FloatArray
    """The largest distance from the median of the residuals, which without intercept is not 0."""
    logarithmic: tuple[int, ...] = ()
    """Nodes of skewed or wild residuals whose values are skewed, with logarithms near Gaussian."""

    @property
    def are_few(self) -> bool:
        """Whether no node has residuals enough to tell shapes apart."""
        return bool(self.counts.max(initial=0) < FEWEST)

    @property
    def furthest(self) -> FloatArray:
        """How far off the worst residual is; in standard deviations of the middle, if that is far.

        By this nodes are judged. What is printed is `worst`, in standard deviations of the noise.
        """
        found = self.distance / np.fmin(self.middle, 1.0)
        return np.where(np.abs(found) > FAR, found, self.worst)

    @cached_property
    def wild(self) -> BoolArray:
        """Whether the largest residual is too far off for Gaussian noise."""
        tail = 2.0 * normal_cdf(-np.abs(np.nan_to_num(self.worst)))
        far = np.abs(np.nan_to_num(self.furthest)) > FAR
        return np.asarray((self.counts > 0) & (far | (tail * self.counts * len(tail) < WILD)))

    @cached_property
    def kinds(self) -> tuple[Shape, ...]:
        """What the residuals of each node look like."""
        counts = np.maximum(self.counts, 1)
        unsure = SURE * np.sqrt(24.0 / counts)
        with np.errstate(invalid="ignore"):
            skewed = np.abs(self.skewness) > np.maximum(SKEWED, SURE * np.sqrt(6.0 / counts))
            heavy = self.kurtosis > np.maximum(HEAVY, unsure)
            light = self.kurtosis < np.minimum(LIGHT, -unsure)
        unknown = (self.counts < FEWEST) | np.isnan(self.worst)
        found = np.full(len(counts), "Gaussian", dtype=object)
        # The later ones win.
        for kind, holds in (
            ("light tails", light),
            ("heavy tails", heavy),
            ("skewed", skewed),
            ("unknown", unknown),
            ("wild values", self.wild),
        ):
            found[holds] = kind
        return tuple(found.tolist())

    def shape(self, node: int) -> Shape:
        """What the residuals of a node look like."""
        return self.kinds[node]

    def words(self, node: int) -> str:
        """What the residuals of a node look like, how clearly, and what may mend it."""
        kind, skewness = self.kinds[node], float(self.skewness[node])
        if kind == "skewed" and skewness > 0.0:
            return f"long upper tail (skewness {skewness:.2g}): consider a logarithm or root"
        if kind == "skewed":
            return f"long lower tail (skewness {skewness:.2g}): consider a square or exponential"
        if kind == "heavy tails":
            return f"{WORDS[kind]} (excess kurtosis {float(self.kurtosis[node]):.2g})"
        return WORDS[kind]

    def nodes(self, *shapes: Shape) -> list[int]:
        """The nodes whose residuals have one of these shapes, the worst first."""
        furthest = np.abs(self.furthest)
        found = [node for node, kind in enumerate(self.kinds) if kind in shapes]
        return sorted(found, key=lambda node: -float(furthest[node]))


def find_shapes(
    network: GaussianNetwork, rows: Rows, set_cells: BoolArray | None = None
) -> ResidualShapes:
    """The shapes of the residuals of these rows; NaN cells do not count, nor cells set outside.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a]"), [], [1.0])
    >>> rows = np.append(np.tile([-1.0, 1.0], 50), 30.0)[:, None]
    >>> shapes = find_shapes(network, rows)
    >>> shapes.shape(0), float(shapes.worst[0])
    ('wild values', 30.0)
    """
    nodes = len(network.dag)
    centre, middle = _middle_of_residuals(network, rows, set_cells)
    counts = np.zeros(nodes, dtype=np.int64)
    sums = np.zeros((4, nodes))
    low, high, below, above = np.zeros((4, nodes))
    step = max(1, BLOCK_VALUES // max(nodes, 1))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for first in range(0, len(rows), step):
            errors = standardized_residuals(network, rows[first : first + step])
            known = np.isfinite(errors)
            if set_cells is not None:
                known &= ~set_cells[first : first + step].T
            counts += known.sum(axis=1)
            errors[~known] = 0.0
            low, high = np.minimum(low, errors.min(axis=1)), np.maximum(high, errors.max(axis=1))
            errors = np.where(known, errors - centre[:, None], 0.0)
            below = np.minimum(below, errors.min(axis=1))
            above = np.maximum(above, errors.max(axis=1))
            power = np.ones_like(errors)
            for order in range(4):
                power *= errors
                sums[order] += power.sum(axis=1)
        means, squares, cubes, fourths = sums / np.maximum(counts, 1)
        variances = squares - means**2
        third = cubes - 3.0 * means * squares + 2.0 * means**3
        fourth = fourths - 4.0 * means * cubes + 6.0 * means**2 * squares - 3.0 * means**4
        skewness, kurtosis = third / variances**1.5, fourth / variances**2 - 3.0
    worst = np.where(-low > high, low, high)
    none = (network.variance_array == 0.0) | (counts == 0)
    none[[network.dag.position(node) for node in network.dag.indicators]] = True
    worst[none] = np.nan
    distance = np.where(none, np.nan, np.where(-below > above, below, above))
    found = ResidualShapes(counts, worst, skewness, kurtosis, middle, distance)
    odd = found.nodes("wild values", "skewed", "heavy tails")
    return replace(found, logarithmic=tuple(node for node in odd if _is_logarithmic(rows[:, node])))


def _is_logarithmic(values: Rows) -> bool:
    """Whether values are positive and skewed, and their logarithms look Gaussian.

    Examples
    --------
    >>> normal = np.random.default_rng(0).normal(size=500)
    >>> _is_logarithmic(np.exp(normal)), _is_logarithmic(10.0 + normal)
    (True, False)
    """
    known = np.asarray(values[np.isfinite(values)], dtype=np.float64)
    if len(known) < FEWEST or not known.min() > 0.0:
        return False
    skewness, _ = _moments(known)
    of_log, tails = _moments(np.log(known))
    return skewness > SKEWED and abs(of_log) < SKEWED and LIGHT * 2.0 < tails < HEAVY


def _moments(values: FloatArray) -> tuple[float, float]:
    """Skewness and excess kurtosis; those of a constant are 0."""
    size = float(np.abs(values).max())
    moved = values / size - np.mean(values / size)
    variance = float(np.mean(moved**2))
    if variance == 0.0:
        return 0.0, 0.0
    unit = moved / np.sqrt(variance)
    return float(np.mean(unit**3)), float(np.mean(unit**4)) - 3.0


def _middle_of_residuals(
    network: GaussianNetwork, rows: Rows, set_cells: BoolArray | None
) -> tuple[FloatArray, FloatArray]:
    """Median and standard deviation of the middle of the residuals, (nodes,), from some rows."""
    step = -(-len(rows) // MOST_SORTED) or 1
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        errors = standardized_residuals(network, rows[::step].copy())
        if set_cells is not None:
            errors[set_cells[::step].T] = np.nan
        errors.sort(axis=1)
        known = np.isfinite(errors).sum(axis=1)
        every = np.arange(len(errors))
        last = np.maximum(known - 1, 0)
        at = [np.rint(share * last).astype(np.intp) for share in (0.1, 0.5, 0.9)]
        low, centre, high = (errors[every, place] for place in at)
        spread = (high - low) / DECILES
    spread = np.where((known >= FEWEST) & (spread > 0.0), spread, np.nan)
    return np.where((known > 0) & np.isfinite(centre), centre, 0.0), spread


def standardized_residuals(network: GaussianNetwork, rows: Rows) -> FloatArray:
    """Residuals in standard deviations of the noise, (nodes, rows); NaN where cells are."""
    dag = network.dag
    errors: FloatArray = kernels.residuals(rows, dag.families, network.causal_coefficients)
    errors -= network.constants[:, None]
    scales = network.noise_scales
    errors /= np.where(scales > 0.0, scales, np.nan)[:, None]
    return errors


def excess_kurtosis(fit: "Fit") -> FloatArray:
    """That of the residuals where all rows count, at least 0, (nodes,); else 0.

    A variance found from noise of excess kurtosis g varies 1 + g / 2 times as much as one found
    from Gaussian noise.
    """
    shapes = fit.residual_shapes if fit.trimming is None else None
    if shapes is None:
        return np.zeros(len(fit.dag))
    return np.maximum(np.nan_to_num(shapes.kurtosis), 0.0)


def shapes_of_fit(fit: "Fit") -> ResidualShapes:
    """The shapes of the residuals over the rows learnt from, without cells not believed."""
    return find_shapes(fit.network, *believed_rows(fit, MOST_ROWS))


def believed_rows(fit: "Fit", most: int) -> tuple[FloatArray, BoolArray | None]:
    """About so many rows learnt from at most, and the cells of them that were set from outside.

    Cells that a robust fit does not believe are NaN. Values that are far off and that neighbours
    confirm are believed.
    """
    table = fit.required_data("look at residuals where the data are, or fit again").table()
    doubted, step = doubted_cells(fit), max(1, -(-fit.rows // most))
    if not doubted:
        return table.every_row(step), table.every_set_cell(step)
    assert fit.trimming is not None
    if fit.trimming.judge is not None and fit.trimming.counts is not None:
        return fit.trimming.judge.believed(table.every_row(step)), None
    rows = np.array(table.in_memory("residuals of believed values").array, dtype=np.float64)
    for node, own in doubted.items():
        rows[own, node] = np.nan
    was_set = table.every_set_cell(1)
    return rows[::step], None if was_set is None else was_set[::step]


def judged_residuals(fit: "Fit", most: int) -> FloatArray:
    """The residuals that shapes are judged by, in standard deviations, (nodes, rows); else NaN."""
    rows, was_set = believed_rows(fit, most)
    with np.errstate(over="ignore", invalid="ignore"):
        found = standardized_residuals(fit.network, rows)
    if was_set is not None:
        found[was_set.T] = np.nan
    return found


def shape_words(fit: "Fit | None", shapes: ResidualShapes | None, node: int) -> str:
    """What the residuals of a node look like, and how many values were left out for it."""
    if shapes is None:
        return ""
    words = shapes.words(node)
    trimming = None if fit is None else fit.trimming
    if trimming is None:
        return words
    left_out = {status: trimming.count(node, status) for status in trimming.disbelieved}
    without = [counted(count, f"{status} value") for status, count in left_out.items() if count]
    if not without:
        return words
    tails = ", which may be its tails" * (node in (*trimming.heavy_tailed, *trimming.skewed))
    return f"{words} (without {' and '.join(without)}{tails})"


def doubted_cells(fit: "Fit") -> dict[int, IntArray]:
    """The rows of each node, by position, whose values a robust fit does not believe."""
    trimming = fit.trimming
    if trimming is None:
        return {}
    return trimming.disbelieved_cells


def doubted_count(fit: "Fit") -> int:
    """How many values a robust fit does not believe, also where not all of them are listed."""
    trimming = fit.trimming
    if trimming is None or not doubted_cells(fit):
        return 0
    nodes = range(len(fit.dag))
    return sum(trimming.count(node, status) for node in nodes for status in trimming.disbelieved)


def find_residuals(fit: "Fit", standardized: bool) -> Any:
    """Child minus its equation in every row of the data; a frame gives a frame.

    Cells that were set from outside have none.
    """
    data = fit.required_data("ask for residuals where the data are, or fit again")
    table = data.all_rows().in_memory("a residual for every cell")
    errors = _errors(fit, np.asarray(table.array, dtype=np.float64), standardized)
    if table.set_cells is not None:
        errors[table.set_cells.T] = np.nan
    if not is_frame(data.given):
        return np.ascontiguousarray(errors.T)
    from gaussnet.data.frames import frame_like

    return frame_like(data.given, fit.dag.nodes, errors.T)


@np.errstate(over="ignore", invalid="ignore")
def _errors(fit: "Fit", rows: FloatArray, standardized: bool) -> FloatArray:
    """Residuals of rows, (nodes, rows)."""
    if standardized:
        return standardized_residuals(fit.network, rows)
    found = kernels.residuals(rows, fit.dag.families, fit.network.causal_coefficients)
    return np.asarray(found - fit.network.constants[:, None])


def listed(names: Iterable[str], limit: int = 3) -> str:
    """Names in a sentence: the first few, and how many others.

    Examples
    --------
    >>> listed(["rain"]), listed(["rain", "wet"]), listed("abcdef")
    ('rain', 'rain and wet', 'a, b, c and 3 others')
    """
    every = list(names)
    if len(every) > limit + 1:
        return f"{', '.join(every[:limit])} and {len(every) - limit} others"
    return " and ".join(filter(None, (", ".join(every[:-1]), *every[-1:])))
