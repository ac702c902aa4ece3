"""Total variation from KL divergence, and back."""

from math import expm1, inf, log1p, sqrt

from gaussnet.errors import SettingError


def tv_bound(kl: float) -> float:
    r"""The largest total variation that a KL divergence allows, by the better of two bounds.

    .. math:: TV \le \min\{\sqrt{KL/2},\ \sqrt{1 - e^{-KL}}\}

    The first is Pinsker's, the second Bretagnolle and Huber's, better above KL = 1.59.

    Examples
    --------
    >>> tv_bound(0.02), round(tv_bound(3.0), 3)
    (0.1, 0.975)
    """
    if kl == inf:
        return 1.0
    return min(sqrt(kl / 2), sqrt(-expm1(-kl)))


def kl_for_tv(tv: float) -> float:
    """The largest KL divergence that guarantees a total variation.

    Examples
    --------
    >>> round(kl_for_tv(0.1), 12), round(kl_for_tv(0.99), 3)
    (0.02, 3.917)
    """
    return max(2 * tv * tv, -log1p(-tv * tv))


def target_kl(tv: float | None, kl: float | None) -> float:
    """The KL divergence asked for, by exactly one of `tv` and `kl`."""
    if (tv is None) == (kl is None):
        raise SettingError(
            f"got tv={tv!r} and kl={kl!r}, expected exactly one of them: "
            "give tv=0.1 or kl=0.02, for example"
        )
    if tv is not None:
        if not 0.0 < tv < 1.0:
            raise SettingError(
                f"got tv={tv!r}, expected a number between 0 and 1: a total variation of 1 or "
                "more asks for nothing"
            )
        return kl_for_tv(tv)
    if kl is None or not 0.0 < kl < inf:
        raise SettingError(f"got kl={kl!r}, expected a positive finite number")
    return kl
