"""Total variation distance: a Monte Carlo estimate, its interval, and bounds that always hold."""

import math
from dataclasses import dataclass

import numpy as np

from gaussnet._types import Seed
from gaussnet.errors import SettingError
from gaussnet.model import checks
from gaussnet.model.compare import Contrast, Distribution, compare, quiet
from gaussnet.model.whitened import DENSE_NODES, too_far
from gaussnet.seeds import generator


@dataclass(frozen=True, slots=True)
class TotalVariation:
    """A total variation distance as far as it is known."""

    estimate: float
    """The mean over the samples; unbiased."""
    interval: tuple[float, float]
    """Holds the distance with at least the probability asked for, whatever P and Q."""
    lower: float
    """The distance is not less than this, for certain."""
    upper: float
    """The distance is not more than this, for certain."""


@quiet
def total_variation(
    p: Distribution,
    q: Distribution,
    *,
    samples: int = 100_000,
    seed: Seed = 0,
    level: float = 0.95,
) -> TotalVariation:
    r"""Total variation distance of two distributions over the same names.

    .. math:: TV = E_P[\max(0, 1 - q/p)] = \tfrac12 \int |p - q|

    The estimate is the mean of that expression over `samples` draws of P. Its values lie in
    [0, 1], so Maurer and Pontil's empirical Bernstein bound (COLT 2009, theorem 4) on each side
    gives an interval that keeps its level at every sample size, also where few or no draws hit
    the part that differs; it is about half again as wide as one from the normal law, which does
    not. What the bounds rule out is cut off the interval, which takes nothing from its level:

    .. math:: 1 - BC \le TV \le \min(\sqrt{KL/2}, \sqrt{1 - e^{-KL}}, \sqrt{1 - BC^2})

    with KL taken both ways. BC needs a dense matrix and is left out above 2,000 names: then
    `lower` is 0.

    Examples
    --------
    >>> from gaussnet.model.gaussian import Gaussian
    >>> p, q = Gaussian(["a"], [0.0], [[1.0]]), Gaussian(["a"], [1.0], [[1.0]])
    >>> found = total_variation(p, q)  # the truth is 0.3829
    >>> found.lower < found.interval[0] < 0.3829 < found.interval[1] < found.upper
    True
    """
    _check_settings(samples, level)
    stream = generator(seed)
    forward = compare(p, q)
    if forward.apart:
        return TotalVariation(1.0, (1.0, 1.0), 1.0, 1.0)
    lower, upper = _bounds(forward, compare(q, p))
    mean, variance = _moments(forward, samples, stream)
    radius = _bernstein_radius(variance, samples, level)
    ends = (min(max(end, lower), upper) for end in (mean - radius, mean + radius))
    return TotalVariation(mean, (next(ends), next(ends)), lower, upper)


def _check_settings(samples: int, level: float) -> None:
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 2:
        raise SettingError(f"got samples={samples!r}, expected a whole number of 2 or more")
    if not isinstance(level, int | float | np.floating) or not 0.0 < level < 1.0:
        raise SettingError(f"got level={level!r}, expected a number between 0 and 1")


def _bounds(forward: Contrast, backward: Contrast) -> tuple[float, float]:
    """What total variation cannot leave: (lower, upper)."""
    upper = 1.0
    for divergence in (forward.kl(), backward.kl()):
        upper = min(upper, math.sqrt(divergence / 2.0), math.sqrt(-math.expm1(-divergence)))
    if forward.width > DENSE_NODES:
        return 0.0, upper
    distance = forward.bhattacharyya()
    upper = min(upper, math.sqrt(-math.expm1(-2.0 * distance)))
    return min(-math.expm1(-distance), upper), upper


def _moments(contrast: Contrast, samples: int, stream: np.random.Generator) -> tuple[float, float]:
    """Mean and sample variance of max(0, 1 - q/p) over draws of P."""
    total = squares = 0.0
    for block in checks.blocks(samples, contrast.width):
        noise = stream.standard_normal((block.stop - block.start, contrast.width))
        values = -np.expm1(np.minimum(contrast.log_ratios(noise), 0.0))
        total += float(values.sum())
        squares += float(values @ values)
    mean = total / samples
    if math.isnan(mean):
        raise too_far()
    return mean, max(0.0, squares - total * mean) / (samples - 1)


def _bernstein_radius(variance: float, samples: int, level: float) -> float:
    """Half the width of the empirical Bernstein interval, each side with half the failures."""
    failures = math.log(4.0 / (1.0 - level))
    return math.sqrt(2.0 * variance * failures / samples) + 7.0 * failures / (3.0 * (samples - 1))
