"""Numbers as a reader wants them."""

import math

MINUS = "\N{MINUS SIGN}"
UNKNOWN = "\N{EN DASH}"


def number(value: float) -> str:
    """Four digits that count, a true minus sign, a dash for what is not known.

    Examples
    --------
    >>> number(1.23456), number(2.0), number(1234567.0), number(math.nan) == UNKNOWN
    ('1.235', '2.000', '1.235e+06', True)
    """
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size and not 1e-4 <= size < 1e5:
        shown = f"{size:.3e}"
    else:
        digits = 3 - math.floor(math.log10(size)) if size else 3
        shown = f"{size:.{min(max(digits, 0), 7)}f}"
    return f"{MINUS}{shown}" if value < 0 and float(shown) else shown


def share(value: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> share(0.95), share(0.4567)
    ('95 %', '45.7 %')
    """
    if math.isnan(value):
        return UNKNOWN
    shown = f"{100 * value:.1f}".removesuffix(".0").replace("-", MINUS)
    return f"{shown} %"


def many(count: int, one: str, more: str = "") -> str:
    """A count with its noun.

    Examples
    --------
    >>> many(1, "row"), many(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def brief(value: float) -> str:
    """Two digits after the point, or three that count where that is shorter or says more.

    Examples
    --------
    >>> brief(1.23456), brief(0.01234), brief(123456.0)
    ('1.23', '0.0123', '1.23e+05')
    """
    size = abs(value)
    shown = f"{size:.2f}" if 0.1 <= size < 1000 or not size else f"{size:.3g}"
    return f"{MINUS}{shown}" if value < 0 else shown
