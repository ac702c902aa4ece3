"""Streams that are hard on running medians, and folds over them cut anywhere."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gaussnet.methods.medians.recounts import Pass
from gaussnet.types import FloatArray


def autoregressive(count: int, memory: float, rng: np.random.Generator) -> FloatArray:
    """Normal values, each `memory` times the one before and fresh noise."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -memory], rng.normal(size=count)))


def two_clusters(count: int, rng: np.random.Generator) -> FloatArray:
    """Half the values near -1 and half near 1: the middle is a gap."""
    return np.where(np.arange(count) % 2, 1.0, -1.0) + 1e-3 * rng.normal(size=count)


def halved_pages(count: int, rng: np.random.Generator) -> FloatArray:
    """The first half of the stream lies wholly below the second."""
    return rng.normal(size=count) + 100.0 * (np.arange(count) >= count // 2)


STREAMS: dict[str, Callable[[int, np.random.Generator], FloatArray]] = {
    "random": lambda count, rng: rng.standard_cauchy(count),
    "sorted": lambda count, rng: np.sort(rng.standard_cauchy(count)),
    "reversed": lambda count, rng: -np.sort(rng.standard_cauchy(count)),
    "drifting": lambda count, rng: rng.normal(size=count) + np.linspace(0.0, 5.0, count),
    "slightly drifting": lambda count, rng: rng.normal(size=count) + np.linspace(0.0, 0.1, count),
    "autocorrelated": lambda count, rng: autoregressive(count, 0.99, rng),
    "random walk": lambda count, rng: np.cumsum(rng.normal(size=count)),
    "constant": lambda count, _: np.full(count, 0.1),
    "ties": lambda count, rng: np.round(rng.standard_cauchy(count)),
    "signs": lambda count, rng: np.sign(rng.normal(size=count)),
    "zeros of both signs": lambda count, rng: np.copysign(0.0, rng.normal(size=count)),
    "two clusters": two_clusters,
    "half below half": halved_pages,
    "periodic": lambda count, _: np.tile(np.arange(16.0), count // 16 + 1)[:count],
    "alternating": lambda count, rng: rng.normal(size=count) + 9.0 * (np.arange(count) % 2),
    "tiny": lambda count, rng: rng.integers(-9, 9, count) * 5e-324,
    "huge": lambda count, rng: rng.uniform(-1.7, 1.7, count) * 1e308,
    "all scales": lambda count, rng: (
        np.exp(rng.uniform(-700.0, 700.0, count)) * rng.choice([-1, 1], count)
    ),
    "infinite": lambda count, rng: np.where(
        rng.random(count) < 0.3, np.inf, rng.normal(size=count)
    ),
    "mostly infinite": lambda count, rng: rng.choice([-np.inf, 1.0, np.inf], count),
    "holes": lambda count, rng: np.where(rng.random(count) < 0.4, np.nan, rng.normal(size=count)),
    "holes at first": lambda count, rng: np.where(
        np.arange(count) < count // 2, np.nan, rng.normal(size=count)
    ),
    "nothing": lambda count, _: np.full(count, np.nan),
}


def sorted_median(values: FloatArray) -> float:
    """The median by its definition."""
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return np.nan
    upper = float(ordered[len(ordered) // 2])
    if len(ordered) % 2:
        return upper + 0.0
    with np.errstate(invalid="ignore"):
        return float(0.5 * ordered[len(ordered) // 2 - 1] + 0.5 * upper + 0.0)


def tree_merge(summaries: Sequence[Any], order: np.random.Generator | None = None) -> Any:
    """Merge neighbours, from the left, or anywhere as `order` says."""
    held = list(summaries)
    while len(held) > 1:
        place = 0 if order is None else int(order.integers(len(held) - 1))
        held[place : place + 2] = [held[place].merge(held[place + 1])]
    return held[0]


def fold_of(
    values: FloatArray,
    cuts: Sequence[int],
    order: np.random.Generator | None = None,
    learning: Sequence[int] = (),
) -> Callable[[Pass], Any]:
    """A fold over the pages between the cuts of (coefficients, count).

    After so many pages as `learning` says the step hears what they say.
    """
    pages = np.split(values, cuts, axis=1)

    def fold(step: Pass) -> Any:
        rows = slice(None) if step.chosen is None else step.chosen
        summaries: list[Any] = []
        for page in pages:
            if len(summaries) in learning:
                step = step.after(tree_merge(summaries, order))
            summaries.append(step.summarize(page[rows]))
        return tree_merge(summaries, order)

    return fold
