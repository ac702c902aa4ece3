"""Streams that are hard on running medians, and passes over them cut anywhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gaussnet.data.passes import Pass, Stripe
from gaussnet.kernels import Ends
from gaussnet.methods.medians.brackets import Brackets, sample_limit
from gaussnet.methods.medians.passes import Found, MedianPass, Values
from gaussnet.types import FloatArray, IntArray


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


@dataclass(frozen=True, eq=False)
class GivenValues(Values):
    """Rows of values that are given, (rows, count); the rows of a table are their positions.

    As the coefficients of a family, `together` successive rows can only be had together.
    """

    values: FloatArray
    together: int = 1

    @property
    def rows(self) -> int:
        return len(self.values)

    def blocks(self, stripe: Stripe) -> list[FloatArray]:
        return [self.values[:, None, stripe.rows[:, 0].astype(np.int64)]]

    def split(self, stripe: Stripe, ends: Ends, capacity: int | None) -> Brackets:
        return Brackets.of(self.blocks(stripe)[0][:, 0], ends, capacity)

    def only(self, chosen: IntArray) -> tuple["GivenValues", IntArray]:
        members = np.arange(self.rows).reshape(-1, self.together)
        some = members[np.unique(chosen // self.together)].ravel()
        return GivenValues(self.values[some], self.together), np.searchsorted(some, chosen)


class Taken(NamedTuple):
    """What passes have found, and how many there were over all values."""

    found: Found
    passes: int


def medians_of(
    values: FloatArray,
    cuts: Sequence[int] = (),
    order: np.random.Generator | None = None,
    **settings: Any,
) -> Taken:
    """The medians of (rows, count) from pages between the cuts, merged in any tree.

    The first `sample_rows` values of a row say where its median lies, and `capacity` of them are
    kept.
    """
    together = settings.pop("together", 1)
    given = GivenValues(values, together)
    question = MedianPass(given, finish=lambda found: found, keep_all=False, **settings)
    return passes_over(question, cuts, order)


def passes_over(
    question: MedianPass, cuts: Sequence[int] = (), order: np.random.Generator | None = None
) -> Taken:
    """What a question about given values finds, and in how many passes."""
    assert isinstance(question.values, GivenValues)
    positions = np.arange(float(question.values.values.shape[1]))[:, None]
    step: Any = question
    taken = 0
    while isinstance(step, Pass):
        wanted = positions if step.sample_rows is None else positions[: step.sample_rows]
        taken += step.sample_rows is None
        assert taken <= most_passes(question.capacity)
        pages = np.split(wanted, [cut for cut in cuts if cut < len(wanted)])
        summaries = [step.summarize(Stripe(page, 0, len(page))) for page in pages]
        step = step.then(tree_merge(summaries, order))
    return Taken(step, taken)


def most_passes(capacity: int | None) -> int:
    """Passes that are enough for any values whatever.

    The first, and the second which keeps all that can be. With a capacity, the first and two that
    believe the sample; then its values in the region are halved until there is none, and then the
    64 bits of the numbers in the region; once for each of the two middle values.
    """
    if capacity is None:
        return 3
    return 3 + 2 * (int(np.ceil(np.log2(sample_limit(capacity)))) + 1 + 65)
