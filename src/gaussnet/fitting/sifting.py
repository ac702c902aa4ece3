"""Medians over many rows in memory: a sample says where they lie, one pass over all rows proves it.

What is missed is left to the caller, who keeps all values of it.
"""

from functools import partial

import numpy as np

from gaussnet import kernels
from gaussnet.fitting.folds import Work, fold
from gaussnet.fitting.portions import Portion
from gaussnet.methods.base import Estimator, Solution, Stripe
from gaussnet.methods.batches import tally_medians
from gaussnet.methods.cauchy import Cauchy, CauchyTree, flat_triangles, whitening
from gaussnet.methods.least_squares import Moments
from gaussnet.methods.medians.brackets import Medians
from gaussnet.methods.medians.sifting import Siftings, draw_rows, kept_share
from gaussnet.methods.scales import Spread, mad_spread
from gaussnet.types import FloatArray, IntArray

LEAST_ROWS = 4_000
"""With fewer rows a sample would have to hold too many of them."""

LEAST_VALUES = 1 << 21
"""So many values (16 MiB) are kept and searched faster than they are sifted."""


def sifted_values(method: Estimator, portion: Portion) -> FloatArray | None:
    """Values kept per row if the method's solutions are sifted, (families,); None if not."""
    if not isinstance(method, CauchyTree | Cauchy) or not isinstance(portion.pages, list):
        return None
    families, rows = portion.equations.families, portion.rows
    kept = method.kept_values(families.sizes)
    if rows < LEAST_ROWS or kept.sum() * rows < LEAST_VALUES:
        return None
    heights = range(int(families.sizes.max()) + 1)
    shares = np.array([kept_share(rows, size + portion.equations.intercept) for size in heights])
    return np.asarray(kept * shares[families.sizes])


def sifted_residuals(portion: Portion) -> FloatArray | None:
    """Values kept per row if residuals are sifted, (families,); None if they are not."""
    nodes, rows = len(portion.nodes), portion.rows
    if not isinstance(portion.pages, list) or rows < LEAST_ROWS or nodes * rows < LEAST_VALUES:
        return None
    return np.full(nodes, kept_share(rows, 1))


def sift_medians(
    method: CauchyTree | Cauchy, portion: Portion, work: Work, wants_moments: bool
) -> tuple[Solution, IntArray, Moments | None]:
    """The method's solution, the families that it lacks, and the moments if they are wanted."""
    equations, pages = portion.equations, portion.pages
    assert isinstance(pages, list)
    moments: Moments | None = None
    uppers, doubtful = None, None
    if wants_moments or isinstance(method, Cauchy):
        summarize = partial(Moments.of, equations=equations)
        moments = fold(pages, summarize, Moments.merge, work.threads)
    if moments is not None and isinstance(method, Cauchy):
        uppers, doubtful = whitening(moments, equations)
    found = _window_medians(method, portion, uppers, work)
    counts = np.add.reduce([method.window_counts(page, equations) for page in pages])
    tally = tally_medians(equations, found, counts, uppers)
    missed = np.unique(equations.families.family_of_edge[~found.proven])
    return tally.solution(doubtful), missed, moments if wants_moments else None


def _window_medians(
    method: CauchyTree | Cauchy, portion: Portion, uppers: list[FloatArray] | None, work: Work
) -> Medians:
    """Medians of the solutions' coordinates, (edges,)."""
    families, pages = portion.equations.families, portion.pages
    assert isinstance(pages, list)
    turns = None if uppers is None else flat_triangles(uppers)

    def sift(stripe: Stripe, sliding: bool, sieve: kernels.Sieve) -> Siftings:
        windows = (sliding, portion.equations.intercept)
        return Siftings((kernels.sift_solutions(stripe, families, windows, turns, sieve),))

    sample = draw_rows(pages)
    whole = Stripe(sample, 0, len(sample))
    sieve = sift(whole, False, kernels.Sieve.open(len(families.parents))).sieve()
    per_row = method.kept_values(families.sizes) / np.maximum(families.sizes, 1)
    sieve = sieve.reserving(np.repeat(per_row, families.sizes) * portion.rows)
    summarize = partial(sift, sliding=method.windows == "sliding", sieve=sieve)
    found: Siftings = fold(pages, summarize, Siftings.merge, work.threads)
    return found.medians()


def sift_spread(portion: Portion, coefficients: FloatArray, work: Work) -> tuple[Spread, IntArray]:
    """Median and median absolute deviation of residuals, and the families that lack one."""
    pages = portion.pages
    assert isinstance(pages, list)
    sample = draw_rows(pages)

    def medians(centres: FloatArray | None) -> Medians:
        def sift(stripe: Stripe, sieve: kernels.Sieve) -> Siftings:
            families = portion.equations.families
            own = (stripe.rows, families, coefficients, centres, sieve)
            return Siftings((kernels.sift_residuals(*own),))

        whole = Stripe(sample, 0, len(sample))
        sieve = sift(whole, kernels.Sieve.open(len(portion.nodes))).sieve()
        sieve = sieve.reserving(portion.rows)
        found: Siftings = fold(pages, partial(sift, sieve=sieve), Siftings.merge, work.threads)
        return found.medians()

    locations = medians(None)
    deviations = medians(locations.values)
    missed = np.flatnonzero(~(locations.proven & deviations.proven))
    intercept = portion.equations.intercept
    return mad_spread(locations.values, deviations.values, intercept), missed
