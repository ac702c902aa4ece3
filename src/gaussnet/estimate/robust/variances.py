"""The variance of the noise from the residuals that trimming keeps."""

from gaussnet._types import FloatArray
from gaussnet.estimate.robust.normal import truncated_variance


def kl_optimal_factor(rows: int, parents: int, intercept: bool) -> float:
    r"""What to multiply a residual sum of squares by for the least expected KL divergence.

    The noise variance is ``c * RSS``. With :math:`\nu` degrees of freedom left and q the
    relative excess of the variance of a prediction, :math:`c = (1 + E q) / (\nu - 2)`:

    .. math:: \frac{m - 1}{(m - p - 1)(m - p - 2)} \quad\text{or, with an intercept,}\quad
              \frac{(m + 1)(m - 2)}{m (m - p - 2)(m - p - 3)}

    With fewer rows than that needs it is 1/m.

    Examples
    --------
    >>> round(kl_optimal_factor(100, 2, False) * 100, 4)
    1.0631
    """
    spare = rows - parents - intercept
    if spare <= 2:
        return 1.0 / max(rows, 1)
    if intercept:
        return (rows + 1) * (rows - 2) / (rows * (spare - 1) * (spare - 2))
    return (rows - 1) / ((spare - 1) * (spare - 2))


def core_variance(residuals: FloatArray, cutoff: float) -> float:
    r"""Mean square of the kept residuals, corrected for the truncation at the cutoff.

    .. math:: \hat s^2 = \frac{1}{\kappa(t)\, |F|} \sum_{k \in F} r_k^2
    """
    return float(residuals @ residuals) / truncated_variance(cutoff) / len(residuals)
