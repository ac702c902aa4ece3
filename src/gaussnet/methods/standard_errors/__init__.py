"""Standard errors of slopes, of locations and variances, and of all parameters of a network.

A method says how sure its coefficients are (`Slopes`), a scale how sure location and variance of
the residuals are (`Spreads`); `Assembly` combines both to the parameters of a network. `adjusted`
corrects the p-values of many tests.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from gaussnet.errors import EstimationError, SettingError
from gaussnet.kernels.families import Block, Families
from gaussnet.methods.base import EquationGroup, Equations, Method
from gaussnet.methods.groups import Fitted
from gaussnet.methods.standard_errors.order_statistics import median_law
from gaussnet.model.network import GaussianNetwork
from gaussnet.tails import chi_square_quantile, student_quantile
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.standard_errors.regressions import Heteroscedastic, Regressions

MOST_PASSES = 16
"""Passes over a file that errors of medians may take."""

SAME = 1e-6
"""Coefficients found again differ by rounding at most, beside their size and error."""


@dataclass(frozen=True)
class Slopes:
    """Errors of the coefficients of the families with p parents.

    Coefficients are ``transform @ coordinates``; each coordinate has a standard error and an
    interval of its own, and they may be correlated.
    """

    block: Block
    estimates: FloatArray
    """The coefficients as found from these rows, (families, p)."""
    transform: FloatArray
    """(families, p, p)."""
    errors: FloatArray
    """(families, p)."""
    low: FloatArray
    """Distances down to the lower end of each coordinate's interval, (families, p)."""
    high: FloatArray
    """Distances up to the upper end, (families, p)."""
    correlation: FloatArray | None
    """(families, p, p); None if coordinates are uncorrelated."""
    whitening: FloatArray | None = None
    """The transform with numbers where it has NaN, for coefficients that the rows leave open."""

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the coefficients, (families, p, p)."""
        return self._covariance(self.transform)

    @property
    def estimable(self) -> FloatArray:
        """Covariance for combinations of coefficients that the rows determine, (families, p, p).

        Of collinear parents these are fewer than the coefficients, and no single one of them.
        """
        whitening = self.whitening
        return self.covariance if whitening is None else self._covariance(whitening)

    def _covariance(self, transform: FloatArray) -> FloatArray:
        scaled = transform * self.errors[:, None, :]
        if self.correlation is None:
            return np.asarray(scaled @ scaled.transpose(0, 2, 1))
        return np.asarray(scaled @ self.correlation @ scaled.transpose(0, 2, 1))


def classical(regressions: "Regressions", level: float) -> Slopes:
    r"""Least squares under the model: :math:`s^2 (X'X)^{-1}` and Student's t, exact.

    Whitened coordinates have the noise's own standard error and are uncorrelated.
    """
    block = regressions.block
    errors = np.repeat(np.sqrt(regressions.noise)[:, None], block.size, axis=1)
    distance = errors * student(level, regressions.freedom)[:, None]
    estimates, transform = regressions.coefficients, regressions.transform
    whitening = regressions.whitening
    return Slopes(block, estimates, transform, errors, distance, distance, None, whitening)


def between_batches(block: Block, solutions: FloatArray, level: float) -> Slopes:
    """Means of the batches' solutions (families, p, batches): Student's t between batches."""
    solved = ~np.isnan(solutions)
    used = np.count_nonzero(solved[:, 0], axis=1).astype(np.float64)
    means = np.where(solved, solutions, 0.0).sum(axis=2) / used[:, None]
    rest = np.where(solved, solutions - means[:, :, None], 0.0)
    freedom = np.where(used > 1, used - 1, np.nan)
    covariance = rest @ rest.transpose(0, 2, 1) / (used * freedom)[:, None, None]
    errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    distance = errors * student(level, freedom)[:, None]
    return Slopes(
        block, means, _identity(block), errors, distance, distance, correlations(covariance)
    )


def median_slopes(
    block: Block,
    coordinates: FloatArray,
    transform: FloatArray | None,
    level: float,
    height: int = 1,
) -> Slopes:
    """Coordinate-wise medians of solutions (families, p, count): order statistics.

    Solutions fewer than `height` apart share rows; they are worth as many independent ones
    as the autocovariance of their signs says. Coordinates are correlated as the signs are.
    """
    count, size, _ = coordinates.shape
    estimates, errors, low, high = (np.full((count, size), np.nan) for _ in range(4))
    correlation = np.broadcast_to(np.eye(size), (count, size, size)).copy()
    used = np.count_nonzero(~np.isnan(coordinates[:, 0]), axis=1)
    for number in np.unique(used).tolist():
        own = np.flatnonzero(used == number)
        values = np.sort(coordinates[own], axis=2)[:, :, :number].reshape(-1, number)
        middle = np.median(values, axis=1).reshape(len(own), size, 1)
        signs = np.nan_to_num(np.sign(coordinates[own] - middle))
        worth = number / overlap(signs, height)
        law = median_law(values, level, np.repeat(worth, size))
        for whole, part in zip((estimates, errors, low, high), law, strict=True):
            whole[own] = part.reshape(len(own), size)
        correlation[own] = correlations(signs @ signs.transpose(0, 2, 1))
    if transform is None:
        return Slopes(block, estimates, _identity(block), errors, low, high, correlation)
    estimates = (transform @ estimates[:, :, None])[:, :, 0]
    return Slopes(block, estimates, transform, errors, low, high, correlation)


def overlap(signs: FloatArray, height: int) -> FloatArray:
    r"""How many times less (families, p, count) overlapping signs say than independent ones.

    .. math:: 1 + 2 \sum_{l=1}^{h-1} \rho_l

    The signs of windows h or more apart are independent. The joint law of the windows'
    solutions is the same in every direction, so the p coordinates share one autocorrelation.
    """
    count = signs.shape[2]
    lags = range(1, min(height, count))
    shared = sum(np.einsum("fpk,fpk->f", signs[:, :, lag:], signs[:, :, :-lag]) for lag in lags)
    inflation = 1.0 + 2.0 * shared / np.maximum(np.einsum("fpk,fpk->f", signs, signs), 1.0)
    # Deviations from the sample's own median make each lag look too small by its share.
    inflation /= max(1.0 - (2 * height - 1) / count, 0.5) if height > 1 else 1.0
    return np.asarray(np.clip(inflation, 1.0, height))


def correlations(covariance: FloatArray) -> FloatArray:
    """Covariances (families, p, p) at unit diagonal; a coordinate without error stands alone."""
    size = covariance.shape[1]
    lengths = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    found = covariance * inverse[:, :, None] * inverse[:, None, :]
    found[:, np.arange(size), np.arange(size)] = 1.0
    return np.asarray(found)


def student(level: float, freedom: FloatArray) -> FloatArray:
    """The point that a Student t variable stays below in absolute value with this chance.

    Examples
    --------
    >>> student(0.95, np.array([10.0])).round(3).tolist()
    [2.228]
    """
    return student_quantile(freedom, 0.5 + 0.5 * level)


def no_slopes(block: Block) -> Slopes:
    """The errors of families without parents, which have no slopes."""
    empty, square = np.empty((block.count, 0)), np.empty((block.count, 0, 0))
    return Slopes(block, empty, square, empty, empty, empty, square)


def _identity(block: Block) -> FloatArray:
    return _identities(block.count, block.size)


@lru_cache(64)
def _identities(count: int, size: int) -> FloatArray:
    return np.broadcast_to(np.eye(size), (count, size, size))


class Spreads:
    """Phase 2's errors, node by node over the whole graph, filled group by group."""

    def __init__(self, families: Families, same_rows: bool) -> None:
        nodes = len(families)
        self.families = families
        self.same_rows = same_rows
        """Whether the coefficients come from the same rows."""
        self.rows = np.zeros(nodes)
        self.locations = np.full((3, nodes), np.nan)
        """Standard errors of the locations, and distances down and up to their intervals' ends."""
        self.location_error, self.location_low, self.location_high = self.locations
        self.noise, self.noise_error, self.noise_low, self.noise_high = np.full((4, nodes), np.nan)
        self.centres = np.zeros(len(families.parents))
        self.location_correlation = np.zeros(len(families.parents))
        self.offsets = np.concatenate(([0], np.cumsum(families.sizes**2)))
        self.covariances = np.zeros(int(self.offsets[-1]))

    def enter_parents(self, nodes: IntArray, centres: FloatArray, covariances: FloatArray) -> None:
        """Centres (families, p) and covariances (families, p, p) of nodes of one size."""
        self.centres[self.families.edges_of(nodes, centres.shape[1])] = centres.ravel()
        self.covariances[self._indices(nodes, centres.shape[1])] = covariances

    def parent_covariances(self, nodes: IntArray, size: int) -> FloatArray:
        """Those that were entered for these nodes."""
        return self.covariances[self._indices(nodes, size)]

    def _indices(self, nodes: IntArray, size: int) -> IntArray:
        square = np.arange(size * size).reshape(size, size)
        return np.asarray(self.offsets[nodes][:, None, None] + square)


def enter_mean_squares(
    spreads: Spreads, nodes: IntArray, found: "list[Regressions]", level: float
) -> None:
    r"""Mean and mean square: Student's t and chi-square from the least-squares residuals.

    .. math:: RSS / \chi^2_{1 - \alpha/2} \le s^2 \le RSS / \chi^2_{\alpha/2}

    Least squares has the smallest residuals whatever method found the coefficients, and
    their law is known exactly.
    """
    if not found:
        return
    tail, rows = 0.5 - 0.5 * level, found[0].rows
    freedom = np.concatenate([own.freedom for own in found])
    squares = np.concatenate([own.squares for own in found])
    at = nodes[found[0].block.families.start : found[-1].block.families.stop]
    noise = squares / freedom
    error = np.sqrt(noise / rows)
    spreads.rows[at], spreads.noise[at], spreads.location_error[at] = rows, noise, error
    spreads.location_low[at] = spreads.location_high[at] = error * student(level, freedom)
    spreads.noise_error[at] = np.sqrt(2.0 / freedom)
    spreads.noise_low[at] = squares / chi_square_quantile(freedom, 1.0 - tail)
    spreads.noise_high[at] = squares / chi_square_quantile(freedom, tail)
    for own in found:
        covariances = own.upper.transpose(0, 2, 1) @ own.upper / own.rows
        spreads.enter_parents(nodes[own.block.families], own.means[:, :-1], covariances)


def enter_heteroscedastic(
    spreads: Spreads, nodes: IntArray, found: "list[Regressions]", parts: "list[Heteroscedastic]"
) -> None:
    """Mean and mean square without a common variance: HC3, and the fourth moment.

    Replaces what `enter_mean_squares` entered; the variance's interval is symmetric in the
    logarithm.
    """
    for own, part in zip(found, parts, strict=True):
        at = nodes[own.block.families]
        spreads.location_error[at] = part.location_error
        spreads.location_low[at] = spreads.location_high[at] = part.location_distance
        if spreads.same_rows:
            edges = spreads.families.edges_of(at)
            spreads.location_correlation[edges] = part.location_correlation.ravel()
        spreads.noise_error[at] = part.variance_error
        spreads.noise_low[at] = own.noise * np.exp(-part.variance_distance)
        spreads.noise_high[at] = own.noise * np.exp(part.variance_distance)


class Assembly:
    """Standard errors and interval ends of all parameters, filled block by block.

    Rows of `coefficients`, `intercepts` and `variances` are standard error, low and high.
    """

    def __init__(self, network: GaussianNetwork, spreads: Spreads, level: float) -> None:
        self.network, self.spreads, self.level = network, spreads, level
        self.coefficients = np.full((3, len(network.coefficient_array)), np.nan)
        self.intercepts = np.full((3, len(network.variance_array)), np.nan)
        self.variances = np.full((3, len(network.variance_array)), np.nan)
        self.covariances: list[tuple[IntArray, FloatArray]] = []
        """Nodes of as many parents, and their coefficients' covariances, (nodes, p, p)."""
        self.estimable: list[tuple[IntArray, FloatArray]] = []
        """The same for combinations that the rows determine where they leave coefficients open."""
        self.joint: FloatArray | None = None
        """Covariance of all coefficients, (edges, edges), where families are correlated."""
        self.location_slopes = np.zeros(len(network.coefficient_array))
        """Covariance of each coefficient with the location of its equation, (edges,)."""
        self.freedom: FloatArray | None = None
        """Degrees of freedom of Student's t behind the intervals of coefficients, (nodes,), where
        they are not those of rows or batches."""

    @property
    def table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coefficients, intercepts and variances."""
        return self.coefficients, self.intercepts, self.variances

    def enter(self, nodes: IntArray, slopes: Slopes, intercept: bool) -> None:
        """The parameters of these nodes, all with as many parents."""
        edges = self.network.dag.families.edges_of(nodes, slopes.block.size)
        coefficients = self.network.coefficient_array[edges].reshape(slopes.estimates.shape)
        ends = self._combined(nodes, edges, slopes)
        self._require_same(coefficients, slopes, ends[0, :, 1:])
        centres = np.empty(ends.shape[1:])
        centres[:, 0], centres[:, 1:] = self.network.intercept_array[nodes], coefficients
        np.subtract(centres, ends[1], out=ends[1])
        ends[2] += centres
        self.coefficients[:, edges] = ends[:, :, 1:].reshape(3, -1)
        self.intercepts[:, nodes] = ends[:, :, 0] if intercept else 0.0
        self.covariances.append((nodes, slopes.covariance))
        self.estimable.append((nodes, slopes.estimable))
        self.location_slopes[edges] = self._location_slopes(nodes, edges, slopes)
        self._enter_variances(nodes, slopes)

    @property
    def centres(self) -> FloatArray:
        """Where the parents are when an equation expects its location, (edges,)."""
        return self.spreads.centres

    def level_errors(self, points: FloatArray) -> FloatArray:
        r"""Standard errors of what equations expect with the parents at points (edges,), (nodes,).

        .. math:: se^2 = v + 2 d'k + d'Cd

        v is the variance of the location, C the covariance of the coefficients, k theirs with the
        location, and d how far the points are from the centres. At 0 these are the intercepts'.
        Where parents are constant or collinear, the points must keep to what they are in the rows.
        """
        families, apart = self.network.dag.families, points - self.centres
        of_edge, count = families.family_of_edge, len(families)
        found = self.spreads.location_error**2
        found = found + 2.0 * np.bincount(of_edge, apart * self.location_slopes, count)
        if self.joint is not None:
            together = np.where(of_edge[:, None] == of_edge, self.joint, 0.0)
            found = found + np.bincount(of_edge, apart * (together @ apart), count)
        for nodes, covariances in self.estimable:  # none where families are correlated
            own = apart[families.edges_of(nodes)].reshape(covariances.shape[:2])
            found[nodes] += np.einsum("fi,fij,fj->f", own, covariances, own)
        return np.asarray(np.sqrt(np.maximum(found, 0.0)))

    def _combined(self, nodes: IntArray, edges: IntArray, slopes: Slopes) -> FloatArray:
        """Standard errors and distances down and up of (intercept, coefficients), (3, nodes, .)."""
        spreads, size = self.spreads, slopes.block.size
        centres = spreads.centres[edges].reshape(len(nodes), size, 1)
        weights = np.zeros((len(nodes), size + 1, size + 1))
        weights[:, 0, 0] = 1.0
        weights[:, 1:, 1:] = slopes.transform
        weights[:, 0, 1:] = -(centres * slopes.transform).sum(axis=1)
        falling = np.empty((3, len(nodes), size + 1))
        falling[:, :, 0] = spreads.locations[:, nodes]
        falling[0, :, 1:], falling[1, :, 1:], falling[2, :, 1:] = (
            slopes.errors,
            slopes.low,
            slopes.high,
        )
        return combine(weights, falling, falling[[0, 2, 1]], self._correlation(edges, slopes))

    def _correlation(self, edges: IntArray, slopes: Slopes) -> FloatArray | None:
        """That of (location, coordinates), (nodes, p + 1, p + 1); None if there is none."""
        own, (count, size) = self.spreads.location_correlation[edges], slopes.errors.shape
        if slopes.correlation is None and not own.any():
            return None
        found = np.zeros((count, size + 1, size + 1))
        found[:, 0, 0] = 1.0
        found[:, 1:, 1:] = np.eye(size) if slopes.correlation is None else slopes.correlation
        found[:, 0, 1:] = found[:, 1:, 0] = own.reshape(count, size)
        return found

    def _location_slopes(self, nodes: IntArray, edges: IntArray, slopes: Slopes) -> FloatArray:
        """Covariances of locations and coefficients, (nodes * p,)."""
        own = self.spreads.location_correlation[edges].reshape(slopes.errors.shape)
        if not own.any():
            return np.zeros(own.size)
        scaled = own * slopes.errors * self.spreads.location_error[nodes][:, None]
        transform = slopes.transform if slopes.whitening is None else slopes.whitening
        return np.asarray(np.einsum("fij,fj->fi", transform, scaled)).ravel()

    def _enter_variances(self, nodes: IntArray, slopes: Slopes) -> None:
        r"""Intervals of the variances as they are; standard errors with the coefficients' part.

        With C the covariance of the coefficients and M that of the parents, the residuals'
        mean square holds a quadratic form beyond that of least squares, whose variance is
        :math:`2 tr((CM - I s^2 / m)^2)`.
        """
        spreads, size = self.spreads, slopes.block.size
        rows, noise = spreads.rows[nodes], spreads.noise[nodes]
        added = slopes.covariance @ spreads.parent_covariances(nodes, size)
        unit = np.where(noise > 0.0, noise, 1.0)  # fourth powers of the data may overflow
        excess = added / unit[:, None, None]
        diagonal = np.einsum("fii->fi", excess)  # a view
        diagonal -= (noise / unit / rows)[:, None]
        squares = np.einsum("fij,fji->f", excess, excess)
        added_error = unit * np.sqrt(2.0 * np.maximum(squares, 0.0))
        added_error[np.isnan(added_error)] = 0.0
        own_error = self.network.variance_array[nodes] * spreads.noise_error[nodes]
        self.variances[0, nodes] = np.hypot(own_error, added_error)
        self.variances[1, nodes] = spreads.noise_low[nodes]
        self.variances[2, nodes] = spreads.noise_high[nodes]

    def _require_same(self, coefficients: FloatArray, slopes: Slopes, errors: FloatArray) -> None:
        gap = np.abs(coefficients - slopes.estimates)
        size = np.abs(coefficients).max(axis=1, keepdims=True, initial=0.0)
        apart = gap > SAME * (size + errors)  # what is not known is not apart
        if apart.any() and (apart & np.isfinite(slopes.estimates)).any():
            raise EstimationError(
                "the data have changed since the network was learnt from them: fit again"
            )


def combine(
    weights: FloatArray,
    falling: FloatArray,
    rising: FloatArray,
    correlation: FloatArray | None,
) -> FloatArray:
    r"""How far linear combinations may lie below their estimates, (kinds, families, combinations).

    .. math:: \sqrt{\sum_{ij} \rho_{ij} w_i d_i w_j d_j}

    `weights` are (families, combinations, coordinates). The distance d of a coordinate is
    `falling` (kinds, families, coordinates) where its weight is positive and `rising` where it is
    negative: each interval is combined with its own two sides. Without `correlation` coordinates
    are uncorrelated.
    """
    terms = weights * np.where(weights > 0.0, falling[:, :, None, :], rising[:, :, None, :])
    # A coordinate that does not count must not spread its NaN.
    np.copyto(terms, 0.0, where=weights == 0.0)
    carried = terms if correlation is None else terms @ correlation
    squares = np.einsum("...i,...i->...", carried, terms)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def assemble(method: Method, fitted: Fitted, kind: str, level: float) -> Assembly:
    """Errors of all parameters: the scale's of the second phase, then the method's own."""
    network, data = fitted.network, fitted.data
    families = network.dag.families
    first, last = data.groups()
    spreads = Spreads(families, data.options.split is None)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for group in last:
            own = network.coefficient_array
            fitted.scale.enter_errors(spreads, group, own, kind, level)
        assembly = Assembly(network, spreads, level)
        for group in first:
            for part in parts_within_budget(group, method.error_values):
                for slopes in method.slopes(part, kind, level):
                    nodes = part.nodes[slopes.block.families]
                    assembly.enter(nodes, slopes, data.options.intercept)
    return assembly


def parts_within_budget(
    group: EquationGroup, kept_values: Callable[[Equations], FloatArray]
) -> Iterator[EquationGroup]:
    """Parts that keep within the budget, unless the rows of a stream are too many for that."""
    table = group.table
    passes = kept_values(group.equations).sum() * table.rows / table.budget
    if table.is_stream and passes > MOST_PASSES:
        raise EstimationError(
            f"standard errors of medians sort all solutions, and those of {table.rows} rows "
            f"would take {int(passes)} passes over the file: ask for them in a fit to some of "
            "the rows, and divide them by the square root of the ratio"
        )
    return group.parts(kept_values)


Adjustment = Literal["holm", "benjamini-hochberg"]


def adjusted(p_values: FloatArray, how: Adjustment, tests: int | None = None) -> FloatArray:
    """Adjusted p-values: those below a level keep an error rate of that level.

    `tests` is their number, if these are only the smallest p-values of more: all up to a level,
    say. Adjusted values up to that level are then those of all tests.

    "holm" bounds the chance of a single false alarm; "benjamini-hochberg" the expected share of
    false alarms among all alarms, for tests that do not counteract each other.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").round(9).tolist()
    [0.03, 0.06, 0.06]
    >>> adjusted(np.array([0.01, 0.04, 0.03]), "benjamini-hochberg").round(9).tolist()
    [0.03, 0.04, 0.04]
    """
    if how not in get_args(Adjustment):
        raise SettingError(f"got adjust={how!r}, expected 'holm' or 'benjamini-hochberg'")
    count = len(p_values) if tests is None else tests
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(1, len(p_values) + 1)
    found = np.empty(len(p_values))
    if how == "holm":
        found[order] = np.maximum.accumulate(p_values[order] * (count + 1 - ranks))
    else:
        steps = p_values[order] * (count / ranks)
        found[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return np.minimum(found, 1.0)
