"""The bootstrap: learn again from rows drawn with replacement."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from gaussnet.errors import SettingError
from gaussnet.fitting.uncertainty.methods import WindowMethod
from gaussnet.seeds import children
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.evidence import Evidence
    from gaussnet.fitting.result import Fit
    from gaussnet.model.network import GaussianNetwork

FEWEST = 20
"""Repetitions below which the ends of an interval mean nothing."""


def bootstrap(
    fit: "Fit", evidence: "Evidence", level: float, repetitions: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Standard error, low and high of coefficients (3, edges), intercepts and variances.

    Each repetition draws as many rows with replacement, within each phase's rows if they are
    split, and learns by the same method. Intervals are percentiles, corrected for the median
    bias of the repetitions. A method that depends on the order of the rows has no such bias:
    its repetitions lie about the estimate from all orders, so they are moved to the fit's own.
    """
    from gaussnet.fitting.learn import fit as learn

    if not isinstance(repetitions, int) or repetitions < FEWEST:
        raise SettingError(f"got repetitions={repetitions!r}, expected at least {FEWEST}")
    rows, holed = evidence.rows()
    found: tuple[list[FloatArray], ...] = ([], [], [])
    for child in children(seed, repetitions):
        drawn = _drawn(len(rows), fit.split, np.random.default_rng(child))
        network = learn(
            rows[drawn],
            fit.dag,
            fit.method,
            scale=fit.scale,
            intercept=fit.intercept,
            split=fit.split,
            missing="drop-by-node" if holed else "raise",
            threads=evidence.work.threads,
            page_rows=evidence.reading.page_rows,
        ).network
        for kept, values in zip(found, _arrays(network), strict=True):
            kept.append(values)
    first, second, third = (
        _summary(np.array(kept), values, level, isinstance(fit.method, WindowMethod))
        for kept, values in zip(found, _arrays(fit.network), strict=True)
    )
    return first, second, third


def _arrays(network: "GaussianNetwork") -> tuple[FloatArray, FloatArray, FloatArray]:
    return network.coefficient_array, network.intercept_array, network.variance_array


def _drawn(rows: int, split: tuple[int, int] | None, rng: np.random.Generator) -> IntArray:
    if split is None:
        return rng.integers(0, rows, rows)
    first, last = (int(part) for part in split)
    drawn = rng.integers(0, first, first)
    return np.concatenate((drawn, rng.integers(rows - last, rows, last)))


def _summary(found: FloatArray, estimates: FloatArray, level: float, by_order: bool) -> FloatArray:
    """Standard deviations and percentiles of (repetitions, values): (3, values)."""
    point = float(ndtri(0.5 + 0.5 * level))
    ordered = np.sort(found, axis=0)
    shift, move = np.zeros(len(estimates)), np.zeros(len(estimates))
    if by_order:
        move = estimates - np.median(found, axis=0)
    else:
        below = (found < estimates).mean(axis=0) + 0.5 * (found == estimates).mean(axis=0)
        shift = 2.0 * ndtri(np.clip(below, 0.5 / len(found), 1.0 - 0.5 / len(found)))
    ends = [_at(ordered, ndtr(shift + side * point)) + move for side in (-1.0, 1.0)]
    return np.stack((_deviations(found), *ends))


def _deviations(found: FloatArray) -> FloatArray:
    """Standard deviations of the columns, in units in which their squares are numbers too."""
    units = np.frexp(np.abs(found).max(axis=0))[1]
    return np.asarray(np.ldexp(np.ldexp(found, -units).std(axis=0, ddof=1), units))


def _at(ordered: FloatArray, share: FloatArray) -> FloatArray:
    """The quantile of each sorted column at its own share."""
    count, each = len(ordered), np.arange(ordered.shape[1])
    place = np.clip(share * (count + 1.0) - 1.0, 0.0, count - 1.0)
    lower = np.minimum(place.astype(np.int64), count - 2)
    part = place - lower
    return np.asarray((1.0 - part) * ordered[lower, each] + part * ordered[lower + 1, each])
