"""The two phases, each a fold of summaries over stripes and pages."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gaussnet.data.pages import NotFinite
from gaussnet.fitting.folds import PageSummary, Work, fold
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.sifting import sift_medians, sift_spread, sifted_residuals, sifted_values
from gaussnet.methods.base import Estimator, Solution, Stripe
from gaussnet.methods.least_squares import Moments
from gaussnet.methods.names import MedianMethod
from gaussnet.methods.scales import Mad, Scale, Spread
from gaussnet.methods.with_moments import WithMoments, with_mean_squares
from gaussnet.types import FloatArray

__all__ = [
    "PageSummary",
    "Work",
    "find_coefficients",
    "find_spread",
    "fold",
    "kept_by_method",
    "kept_by_scale",
]

SMALLEST_BUDGET = 1 << 23
"""Values that summaries may keep at a time, at least (64 MiB)."""


def find_coefficients(estimator: Estimator, portion: Portion, work: Work) -> Solution:
    """Phase 1 for a portion; families that lost digits are learnt again with care."""
    solution = _solved(estimator, portion, work)
    doubtful = solution.doubtful
    if doubtful is None or len(doubtful) == 0:
        return solution
    again = find_coefficients(estimator.careful(), portion.only(doubtful), work)
    return solution.patched(portion.equations.families, doubtful, again)


def _solved(estimator: Estimator, portion: Portion, work: Work) -> Solution:
    equations, pages = portion.equations, portion.pages
    method = estimator.inner if isinstance(estimator, WithMoments) else estimator
    wanted = isinstance(estimator, WithMoments)
    if sifted_values(method, portion) is not None:
        solution, moments = _sifted(method, portion, work, wanted)
    elif isinstance(pages, list) or not isinstance(method, MedianMethod):
        return _folded(estimator, portion, work)
    else:
        from gaussnet.fitting.medians import solve_by_passes

        over_pages = partial(pages.fold, threads=work.threads)
        solution, moments = solve_by_passes(method, equations, over_pages, wanted)
    return solution if moments is None else with_mean_squares(solution, moments)


def _folded(estimator: Estimator, portion: Portion, work: Work) -> Solution:
    """The solution from the summary of all rows."""
    equations = portion.equations
    summarize = partial(estimator.summarize, equations=equations)
    summary = fold(portion.pages, summarize, estimator.merge, work.threads)
    if work.unchecked and isinstance(summary, Moments) and not summary.is_finite:
        raise NotFinite
    return estimator.solve(summary, equations)


def _sifted(
    method: Any, portion: Portion, work: Work, wants_moments: bool
) -> tuple[Solution, Moments | None]:
    """The solution by sifting; the few families that it misses from the summary of all rows."""
    solution, missed, moments = sift_medians(method, portion, work, wants_moments)
    doubtful, done = solution.doubtful, 0
    if len(missed):
        rest = portion.only(missed)
        kept = method.kept_values(rest.equations.families.sizes)
        for part in rest.parts(kept, work.budget):
            chosen = missed[done : done + len(part.nodes)]
            again = _folded(method, part, work)
            solution = solution.patched(portion.equations.families, chosen, again)
            done += len(chosen)
    return replace(solution, doubtful=doubtful), moments


def find_spread(scale: Scale, portion: Portion, coefficients: FloatArray, work: Work) -> Spread:
    """Phase 2 for a portion: location and variance of the residuals, (families,) each."""
    families = portion.equations.families
    if not isinstance(scale, Mad):
        return _folded_spread(scale, portion, coefficients, work)
    if not isinstance(portion.pages, list):
        from gaussnet.fitting.medians import scale_by_passes

        over_pages = partial(portion.pages.fold, threads=work.threads)
        return scale_by_passes(families, coefficients, over_pages, portion.equations.intercept)
    if sifted_residuals(portion) is None:
        return _folded_spread(scale, portion, coefficients, work)
    spread, missed = sift_spread(portion, coefficients, work)
    for family in missed.tolist():
        own = np.array([family])
        edges = families.edges_of(own)
        again = _folded_spread(scale, portion.only(own), coefficients[edges], work)
        for whole, part in zip(spread, again, strict=True):
            whole[own] = part
    return spread


def _folded_spread(scale: Scale, portion: Portion, coefficients: FloatArray, work: Work) -> Spread:
    families = portion.equations.families

    def summarize(stripe: Stripe) -> Any:
        return scale.summarize(stripe.rows, families, coefficients)

    summary = fold(portion.pages, summarize, scale.merge, work.threads)
    return scale.solve(summary, portion.equations.intercept)


def kept_by_method(method: Estimator, portion: Portion) -> FloatArray:
    """Values that the method's summary keeps per row, (families,)."""
    sizes = portion.equations.families.sizes
    inner = method.inner if isinstance(method, WithMoments) else method
    sifted = sifted_values(inner, portion)
    kept = method.kept_values(sizes) if sifted is None else sifted
    if isinstance(portion.pages, list) or not kept.any():
        return kept
    return np.asarray(sizes * _streamed_share(portion, int(sizes.sum())), dtype=np.float64)


def kept_by_scale(scale: Scale, portion: Portion) -> FloatArray:
    """Values that the scale's summary keeps per row, (families,)."""
    nodes = len(portion.nodes)
    sifted = sifted_residuals(portion) if isinstance(scale, Mad) else None
    if sifted is not None:
        return sifted
    if isinstance(portion.pages, list) or not scale.kept_values:
        return np.full(nodes, scale.kept_values)
    return np.full(nodes, _streamed_share(portion, nodes))


def _streamed_share(portion: Portion, medians: int) -> float:
    """Values that brackets keep for a median, per row."""
    from gaussnet.methods.medians.brackets import bracket_values

    rows = max(portion.likely_rows, 1)
    return bracket_values(medians, rows) / rows
