"""The residuals of each node, and their histograms and QQ plots."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from gaussnet.model.network import GaussianNetwork
from gaussnet.report.markup import number, text
from gaussnet.types import BoolArray, FloatArray, Rows

MOST_ROWS = 200_000
"""More rows than this are thinned: a picture shows no more."""
REACH = 4.0
"""Pictures go so many standard deviations to either side."""
TAIL_POINTS = 8
MIDDLE_POINTS = 33
WIDTH, HEIGHT = 132, 96
LEAST_PEAK = 0.46
QQ_REACH = 4.5
BAND_STEPS = 25
CONFIDENCE = 1.96


@dataclass(frozen=True, eq=False)
class Residuals:
    """The standardised residuals of one node."""

    node: str
    count: int
    """Rows in which the node and its parents have values, of those that are looked at."""
    edges: FloatArray
    """Edges of the bins."""
    density: FloatArray
    """Share of the residuals in each bin over its width."""
    beyond: int
    """Residuals further than `REACH` standard deviations from 0."""
    expected: FloatArray
    """Quantiles of the standard Gaussian, rising."""
    found: FloatArray
    """The residuals that stand at these quantiles."""
    departure: float
    """Largest difference of the two distribution functions (Kolmogorov's distance)."""

    @property
    def expected_beyond(self) -> float:
        """How many would be beyond if they were Gaussian."""
        return float(2.0 * self.count * ndtr(-REACH))


def thinning(rows: int) -> int:
    """Every how many rows one is looked at.

    Examples
    --------
    >>> thinning(200_000), thinning(200_001)
    (1, 2)
    """
    return max(1, -(-rows // MOST_ROWS))


def find_residuals(
    network: GaussianNetwork, seen: Rows, set_cells: BoolArray | None = None
) -> list[Residuals | None]:
    """The residuals of each node; None where there is no noise or no value to judge them by.

    Levels of a category, which are 0 or 1, have none, nor have cells that were set from outside.
    """
    every = range(len(network.dag))
    if set_cells is None:
        return [_of_node(network, seen, position) for position in every]
    return [_of_node(network, seen[~set_cells[:, position]], position) for position in every]


def _of_node(network: GaussianNetwork, rows: Rows, position: int) -> Residuals | None:
    scale = float(network.noise_scales[position])
    left = node_residuals(network, rows, position)
    if not scale or not len(left) or network.dag.nodes[position] in network.dag.indicators:
        return None
    with np.errstate(over="ignore"):
        found = np.sort(left / scale)
    count = len(found)
    edges = np.linspace(-REACH, REACH, 1 + _bins(count))
    counts = np.histogram(found, edges)[0]
    ranks = _ranks(count)
    levels = ndtr(found)
    after = np.arange(1, count + 1) / count
    departure = max(float((after - levels).max()), float((levels - after).max()) + 1 / count)
    return Residuals(
        node=network.dag.nodes[position],
        count=count,
        edges=edges,
        density=counts / (count * (edges[1] - edges[0])),
        beyond=int((np.abs(found) > REACH).sum()),
        expected=ndtri((ranks + 0.5) / count),
        found=found[ranks],
        departure=departure,
    )


def _bins(count: int) -> int:
    return 32 if count >= 1_000 else 16 if count >= 60 else 8


def _ranks(count: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Ranks of the points to draw: all of few, else the tails and an even net between."""
    if count <= 2 * TAIL_POINTS + MIDDLE_POINTS:
        return np.arange(count)
    net = ndtr(np.linspace(-1.0, 1.0, MIDDLE_POINTS) * ndtri((TAIL_POINTS + 0.5) / count))
    tails = np.arange(TAIL_POINTS)
    ranks = np.concatenate((tails, (net * count).astype(np.int64), count - 1 - tails))
    return np.unique(ranks.clip(0, count - 1))


def shared_shapes() -> str:
    """What all pictures refer to: the frame, the Gaussian bell."""
    z = np.linspace(-REACH, REACH, 41)
    bell = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    line = _line(_across(z, REACH), bell * 1000.0)
    return (
        '<svg class="shapes" width="0" height="0" aria-hidden="true"><defs>'
        f'<path id="bell" d="{line}" vector-effect="non-scaling-stroke"/>'
        f'<rect id="frame" width="{WIDTH}" height="{HEIGHT}"/>'
        f'<clipPath id="inside"><rect width="{WIDTH}" height="{HEIGHT}"/></clipPath>'
        "</defs></svg>"
    )


def draw_residuals(own: Residuals, verdict: str = "") -> str:
    """Both pictures of one node, a verdict and a line of numbers below."""
    words = text(own.node)
    beyond = f"{own.beyond:,} beyond ±{REACH:g}"
    if own.beyond or own.expected_beyond >= 0.05:
        beyond += f" ({own.expected_beyond:.1f} expected)"
    return (
        f'<figure class="residual" data-name="{words}" data-value="{own.departure:.6f}">'
        f"<h3>{words}</h3>{_histogram(own)}{_qq(own)}"
        f"<figcaption>{_verdict(verdict)}D = {number(own.departure)} · {beyond}"
        "</figcaption></figure>"
    )


def _verdict(words: str) -> str:
    return f'<span class="verdict">{text(words)}</span><br>' if words else ""


def _histogram(own: Residuals) -> str:
    peak = 1.06 * max(LEAST_PEAK, float(own.density.max()))
    edges = _across(own.edges, REACH)
    heights = HEIGHT * own.density / peak
    bars = f"M0 {HEIGHT}" + "".join(
        f"V{HEIGHT - height:.1f}H{right:.1f}"
        for right, height in zip(edges[1:], heights, strict=True)
    )
    scale = -HEIGHT / (1000.0 * peak)
    return (
        f'<svg class="small" viewBox="0 -2 {WIDTH} {HEIGHT + 4}" role="img" '
        f'aria-label="Histogram of the residuals of {text(own.node)}"><use href="#frame" '
        f'class="frame"/><path class="bars" d="{bars}V{HEIGHT}z"/>'
        f'<use href="#bell" class="bell" transform="translate(0 {HEIGHT}) scale(1 {scale:.6f})"/>'
        "</svg>"
    )


def _qq(own: Residuals) -> str:
    x = _across(own.expected.clip(-QQ_REACH, QQ_REACH), QQ_REACH)
    y = HEIGHT - HEIGHT * (own.found.clip(-QQ_REACH, QQ_REACH) + QQ_REACH) / (2 * QQ_REACH)
    dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in zip(x, y, strict=True))
    return (
        f'<svg class="small" viewBox="0 -2 {WIDTH} {HEIGHT + 4}" role="img" '
        f'aria-label="QQ plot of the residuals of {text(own.node)}"><use href="#frame" '
        f'class="frame"/><path class="band" clip-path="url(#inside)" d="{_band(own.count)}"/>'
        f'<path class="bell" d="M0 {HEIGHT}L{WIDTH} 0"/><path class="dots" d="{dots}"/></svg>'
    )


def _band(count: int) -> str:
    """Where 95 % of the points of Gaussian residuals are, each by itself."""
    z = np.linspace(-QQ_REACH, QQ_REACH, BAND_STEPS)
    level = ndtr(z)
    height = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    error = CONFIDENCE * np.sqrt(level * (1.0 - level) / count) / height
    x = _across(z, QQ_REACH)
    middle = HEIGHT * (z + QQ_REACH) / (2 * QQ_REACH)
    reach = np.minimum(HEIGHT * error / (2 * QQ_REACH), HEIGHT)
    upper, lower = HEIGHT - middle - reach, HEIGHT - middle + reach
    return _line(np.append(x, x[::-1]), np.append(upper, lower[::-1]), 0) + "z"


def _across(z: FloatArray, reach: float) -> FloatArray:
    return WIDTH * (z + reach) / (2 * reach)


def _line(x: FloatArray, y: FloatArray, digits: int = 1) -> str:
    points = (f"{a:.{digits}f} {b:.{digits}f}" for a, b in zip(x, y, strict=True))
    return "M" + "L".join(points)


def node_residuals(network: GaussianNetwork, rows: Rows, position: int) -> FloatArray:
    r"""Child minus its equation, :math:`x_i - c_i - \sum_j a_{ij} x_j`, where all are numbers.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("rain; wet ~ rain"), [2.0], [1.0, 1.0])
    >>> node_residuals(network, np.array([[1.0, 2.5], [2.0, np.nan], [3.0, 5.0]]), 1)
    array([ 0.5, -1. ])
    """
    families = network.dag.families
    edges = slice(*families.offsets[position : position + 2].tolist())
    left: FloatArray = rows[:, position].astype(np.float64) - network.constants[position]
    with np.errstate(over="ignore", invalid="ignore"):
        for parent, value in zip(
            families.parents[edges].tolist(),
            network.causal_coefficients[edges].tolist(),
            strict=True,
        ):
            left -= value * rows[:, parent]
    return np.asarray(left[np.isfinite(left)])
