"""The slip in the scale with which the paper's contaminated figures were made."""

from dataclasses import dataclass

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.estimate.scales import Mad, Spread


@dataclass(frozen=True, slots=True)
class RootMad(Mad):
    r"""A slip, kept to redraw figures and for nothing else: the variance is set to the MAD.

    .. math:: \hat s = \sqrt{1.4826 \cdot \mathrm{median}_k |r_k - \mathrm{median}\, r|}

    The right scale has no root. The two agree only where the true scale is 1.

    Examples
    --------
    >>> residuals = np.array([[-4.0, -4.0, 0.0, 4.0, 4.0]])
    >>> scale = RootMad()
    >>> spread = scale.solve((residuals,), intercept=False)
    >>> right = Mad().solve((residuals,), intercept=False)
    >>> float(spread.variances[0].round(4)), float(right.variances[0].round(4))
    (5.9304, 35.1697)
    """

    name = "root-mad"

    def solve(self, summary: tuple[FloatArray, ...], intercept: bool) -> Spread:
        """Medians as in `Mad`, and the root of its variances."""
        spread = Mad.solve(self, summary, intercept)
        return Spread(spread.locations, np.sqrt(spread.variances))
