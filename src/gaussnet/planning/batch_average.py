r"""The law of the mean of batch solutions: quadrature for many batches, else a simulation.

Given the parents, the error of the mean of b batch solutions is normal with the covariance
:math:`V = b^{-2} \sum_j S_j^{-1}`, where the scatter matrices :math:`S_j` of the whitened
batches are Wishart of f = p + extra_rows degrees, whatever the parameters. One simulation of these
matrices, not of rows, serves every network.

With S the scatter of all rows, V S is near a multiple c of the identity if batches are many, and

.. math:: c = E\,tr(VS)/p = \frac 1b + \frac{(b - 1) f + r}{b (f - p - 1)}

exactly, r being the degrees of freedom of the rows beyond the last batch. Least squares has c = 1.
So q is c times that of least squares, and the residuals gain p (c - 1) degrees of freedom. This is
right to the order of 1/b; where batches are as many as parents, and 8 or more, it could not be told
from the simulation (tests/planning), whose own error is larger.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import ClassVar, Self

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.planning.distributions import Distribution, Rule
from gaussnet.planning.laws import (
    NodeLaw,
    Phases,
    divergences,
    expected_phase_two,
    expected_with_shared_phases,
    inflated,
    location_error,
    precision,
    slope_error,
    split_distribution,
)
from gaussnet.types import FloatArray

DESIGNS = 1 << 14
"""Designs drawn, fewer where a node has more than 10 parents."""
DRAWS = 1 << 17
"""Draws of the divergence: several of the noise for each design."""
RESOLUTION = 50 / DRAWS
"""Tails of smaller probability hold too few draws to tell their quantile."""
SEED = 20_231
FEWEST_DESIGNS = 1 << 11
"""Designs used of many batches each: the more batches, the less the designs differ."""
FEW_BATCHES = 32
MANY_BATCHES, MANY_ROWS = 8, 16
"""From so many batches, and of so many more rows than parents each, the law is a quadrature."""
MOST_PARENTS = 128
"""Simulated laws of more parents take too long."""


@dataclass(frozen=True, slots=True)
class BatchAverageLaw(NodeLaw):
    """The mean of least squares on batches of p + extra_rows rows, and the mean square.

    Expectations are good to about 0.3 %, guarantees to about 1 %; the seed is fixed, so the
    same question has the same answer.
    """

    method: ClassVar[str] = "batch-average"
    resolution: ClassVar[float] = RESOLUTION
    extra_rows: int = 20

    @classmethod
    def of(cls, method: object, dag: Dag) -> Self:
        """A graph with in-degrees that can be simulated has a law."""
        extra_rows = getattr(method, "extra_rows", 20)
        if isinstance(extra_rows, bool) or not isinstance(extra_rows, int) or extra_rows < 1:
            raise SettingError(f"got extra_rows={extra_rows!r}, expected an integer of at least 1")
        if dag.max_in_degree > MOST_PARENTS:
            raise SettingError(
                f"got a node with {dag.max_in_degree} parents, expected at most {MOST_PARENTS} for "
                "'batch-average', whose law is simulated: use 'least-squares'"
            )
        return cls(extra_rows)

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows of phase 1: one batch."""
        return parents + self.extra_rows + intercept if parents else 1 + intercept

    def expected(self, parents: int, phases: Phases) -> float:
        """The expected KL divergence of one node."""
        if phases.split:
            phase_two = expected_phase_two(phases)
            return phase_two + 0.5 * float(np.log1p(self._errors(parents, phases)).mean())
        least = expected_with_shared_phases(parents, phases)
        if parents == 0 or least == inf:
            return least
        if self._has_many_batches(parents, phases):
            return expected_with_shared_phases(parents, phases, self._excess(parents, phases))
        draw = _draw(parents, self.extra_rows, phases)
        return least + float((draw.divergences - draw.least_squares).mean())

    def distribution(self, parents: int, phases: Phases) -> Distribution:
        """The distribution of the KL divergence of one node."""
        if phases.split or parents == 0:
            errors = self._errors(parents, phases)
            masses = np.full(len(errors), 1 / len(errors))
            found = split_distribution(phases, Rule(errors, masses).condensed(256))
            return replace(found, resolution=RESOLUTION) if parents else found
        if self._has_many_batches(parents, phases):
            return _quadrature(parents, self._excess(parents, phases), phases)
        values = _draw(parents, self.extra_rows, phases).divergences
        heavy = phases.first - parents - phases.intercept <= 2
        return Distribution(values, np.full(len(values), 1 / len(values)), heavy, RESOLUTION)

    def _errors(self, parents: int, phases: Phases) -> FloatArray:
        if parents == 0:
            return np.zeros(1)
        return _slope_errors(parents, self.extra_rows, self._batches(parents, phases))

    def _batches(self, parents: int, phases: Phases) -> int:
        return phases.first // (parents + self.extra_rows + phases.intercept)

    def _has_many_batches(self, parents: int, phases: Phases) -> bool:
        batches = self._batches(parents, phases)
        return self.extra_rows >= MANY_ROWS and batches >= max(MANY_BATCHES, parents)

    def _excess(self, parents: int, phases: Phases) -> float:
        """c - 1: how much larger the squared error is than that of least squares."""
        freedom, batches = parents + self.extra_rows, self._batches(parents, phases)
        rest = phases.first - phases.intercept - batches * freedom
        numerator = (batches - 1) * freedom + rest
        return 1 / batches + numerator / (batches * (self.extra_rows - 1)) - 1


@lru_cache(maxsize=32)
def _quadrature(parents: int, excess: float, phases: Phases) -> Distribution:
    """The law of least squares with q larger by the excess."""
    least = slope_error(parents, phases, panels=24)
    error = Rule((1 + excess) * least.points, least.masses)
    inflation = inflated(error, location_error(phases, panels=16))
    freedom = phases.first - parents - phases.intercept + parents * excess
    return divergences(precision(freedom, phases.first, 64), inflation)


@dataclass(frozen=True)
class _Draw:
    """KL divergences of one node, by batches and by least squares on the same rows."""

    divergences: FloatArray
    least_squares: FloatArray


@lru_cache(maxsize=256)
def _draw(parents: int, extra_rows: int, phases: Phases) -> _Draw:
    """Both phases on all rows.

    In the coordinates w = C'D with C C' = S the scatter of all rows, least squares has the
    error z ~ N(0, I), and the batches z + y with y ~ N(0, C'VC - I) independent of it; they
    leave the residual sum of squares RSS + |y|^2.
    """
    freedom, constant = parents + extra_rows, int(phases.intercept)
    batches = phases.first // (freedom + constant)
    scatters, inverses = _batch_sums(parents, freedom, batches)
    rng = np.random.default_rng([SEED, parents, extra_rows, 1])
    rest = phases.first - constant - batches * freedom
    factor = np.linalg.cholesky(scatters + _scatters(rng, len(scatters), parents, rest))
    spread = np.swapaxes(factor, 1, 2) @ inverses @ factor / batches**2
    scales, axes = np.linalg.eigh(spread)
    axes = np.linalg.solve(np.swapaxes(factor, 1, 2), axes)
    found = np.empty((2, DRAWS // len(scales), len(scales)))
    for index in range(found.shape[1]):
        common = rng.standard_normal(scales.shape)
        extra = rng.standard_normal(scales.shape) * np.sqrt(np.maximum(scales - 1, 0))
        squares = rng.chisquare(phases.first - parents - constant, len(scales))
        location = constant * rng.chisquare(1, len(scales)) / phases.first
        batched, least = (
            ((axes @ error[:, :, None])[..., 0] ** 2).sum(axis=1)
            for error in (common + extra, common)
        )
        found[0, index] = _divergence(batched, squares + (extra**2).sum(axis=1), location, phases)
        found[1, index] = _divergence(least, squares, location, phases)
    return _Draw(found[0].ravel(), found[1].ravel())


def _divergence(
    error: FloatArray, squares: FloatArray, location: FloatArray, phases: Phases
) -> FloatArray:
    ratio = squares / phases.first
    return np.asarray(0.5 * ((1 + error) * (1 + location) / ratio - 1 + np.log(ratio)))


@lru_cache(maxsize=256)
def _slope_errors(parents: int, extra_rows: int, batches: int) -> FloatArray:
    """Draws of q = z'Vz, z standard normal."""
    _, inverses = _batch_sums(parents, parents + extra_rows, batches)
    rng = np.random.default_rng([SEED, parents, extra_rows, 2])
    scales = np.linalg.eigvalsh(inverses) / batches**2
    draws = range(DRAWS // len(scales))
    return np.concatenate([(scales * rng.chisquare(1, scales.shape)).sum(axis=1) for _ in draws])


def _batch_sums(parents: int, freedom: int, batches: int) -> tuple[FloatArray, FloatArray]:
    """Sums over the batches of their scatter matrices and of the inverses, (designs, p, p) each.

    Design r is made of the batches r, r + g, r + 2g, ... of one pool, which are all
    different; so each sum has exactly its distribution, and a long sum costs no more draws: it
    is a difference of sums from the first batch on. Few batches are added up, for their digits.
    """
    both = _pool(parents, freedom)
    pool = used = len(both)
    while used > FEWEST_DESIGNS and used * batches > 8 * DESIGNS:
        used //= 2
    first = np.arange(used)
    if batches <= FEW_BATCHES:
        steps = (first + np.arange(batches)[:, None]) * _stride(pool) % pool
        total = np.zeros((used, *both.shape[1:]))
        for places in steps:
            total += both[places]
    else:
        sums = _pool_sums(parents, freedom)
        rounds, rest = divmod(batches, pool)
        total = sums[first + rest] - sums[first] + rounds * sums[pool]
    return total[:, :parents], total[:, parents:]


@lru_cache(maxsize=16)
def _pool_sums(parents: int, freedom: int) -> FloatArray:
    """Sums of the first k scatters, and below them of their inverses, twice round the pool.

    (2 pool + 1, 2 p, p); the pool stands in steps of g.
    """
    both = _pool(parents, freedom)
    steps = np.arange(2 * len(both)) * _stride(len(both)) % len(both)
    sums = np.zeros((2 * len(both) + 1, *both.shape[1:]))
    np.cumsum(both[steps], axis=0, out=sums[1:])
    return sums


@lru_cache(maxsize=16)
def _pool(parents: int, freedom: int) -> FloatArray:
    """Scatters of batches, and below them their inverses, (pool, 2 p, p)."""
    designs = DESIGNS
    while designs > 64 and designs * parents**3 > 20_000_000:
        designs //= 2
    rng = np.random.default_rng([SEED, parents, freedom, 0])
    factors = _wishart_factors(rng, designs, parents, freedom)
    inverse = np.linalg.inv(factors)
    scatters = factors @ np.swapaxes(factors, 1, 2), np.swapaxes(inverse, 1, 2) @ inverse
    return np.concatenate(scatters, axis=1)


def _stride(pool: int) -> int:
    """An odd step near the golden section of the pool, so that near designs share little."""
    return int(0.618 * pool) | 1


def _scatters(rng: "np.random.Generator", designs: int, parents: int, freedom: int) -> FloatArray:
    if freedom >= parents:
        factors = _wishart_factors(rng, designs, parents, freedom)
    else:
        factors = rng.standard_normal((designs, parents, freedom))
    return factors @ np.swapaxes(factors, 1, 2)


def _wishart_factors(
    rng: "np.random.Generator", designs: int, parents: int, freedom: int
) -> FloatArray:
    """Bartlett's factors: chi on the diagonal, normal below."""
    factors = np.tril(rng.standard_normal((designs, parents, parents)), -1)
    diagonal = np.arange(parents)
    factors[:, diagonal, diagonal] = np.sqrt(rng.chisquare(freedom - diagonal, (designs, parents)))
    return factors
