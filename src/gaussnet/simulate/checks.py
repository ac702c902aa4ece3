"""The door of the test beds: settings are looked at once, here."""

import math
from collections.abc import Sequence

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.errors import DataError, SettingError

Interval = float | tuple[float, float]
"""One number for all, or the ends of a uniform law."""


def whole_number(name: str, value: object, least: int = 0, most: float = math.inf) -> int:
    """The setting as an integer between `least` and `most`.

    Examples
    --------
    >>> whole_number("nodes", 5)
    5
    """
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:  # type: ignore[operator]
        raise SettingError(f"got {name}={value!r}, expected a whole number {_range(least, most)}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def real_number(
    name: str, value: object, least: float = -math.inf, most: float = math.inf
) -> float:
    """The setting as a finite float between `least` and `most`.

    Examples
    --------
    >>> real_number("share", 0.05, 0.0, 1.0)
    0.05
    """
    is_real = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not is_real or not math.isfinite(value):  # type: ignore[arg-type]
        raise SettingError(f"got {name}={value!r}, expected a finite number")
    number = float(value)  # type: ignore[arg-type]
    if not least <= number <= most:
        raise SettingError(f"got {name}={value!r}, expected a number {_range(least, most)}")
    return number


def interval(name: str, value: object, least: float = -math.inf) -> tuple[float, float]:
    """The ends (low, high) of a setting that is one number or a pair of numbers.

    Examples
    --------
    >>> interval("variances", 1.0), interval("variances", (0.5, 2.0))
    ((1.0, 1.0), (0.5, 2.0))
    """
    ends = value if isinstance(value, tuple | list) else (value, value)
    if len(ends) != 2:
        raise SettingError(f"got {name}={value!r}, expected one number or a pair (low, high)")
    low, high = (real_number(name, end, least) for end in ends)
    if low > high:
        raise SettingError(f"got {name}={value!r}, expected low <= high: swap the two ends")
    return low, high


def choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed."""
    if value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise SettingError(f"got {name}={value!r}, expected one of {words}")


def finite_rows(data: object) -> FloatArray:
    """The data as a new float64 table (rows, columns) of finite numbers."""
    try:
        table = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the data hold something that is not a number: give numbers only") from None
    if table.ndim != 2:
        raise DataError(f"got data of shape {table.shape}, expected (rows, columns)")
    if not np.isfinite(table).all():
        raise DataError("the data hold NaN or infinite values: fill or drop them first")
    return table


def _range(least: float, most: float) -> str:
    if math.isinf(most):
        return f"of at least {least:g}"
    return f"from {least:g} to {most:g}"
