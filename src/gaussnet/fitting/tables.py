"""Tables as plain text."""

from collections.abc import Collection, Iterable, Sequence


def text_table(
    heads: Sequence[str], lines: Iterable[Sequence[str]], left: Collection[int] = (0,)
) -> list[str]:
    """The lines of a table; the columns numbered in `left` stand left, the others right.

    Examples
    --------
    >>> print(*text_table(("node", "mean"), [("rain", "1.5"), ("snow", "12")]), sep=chr(10))
    node  mean
    rain   1.5
    snow    12
    """
    cells = [heads, *lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    table = []
    for line in cells:
        places = enumerate(zip(line, widths, strict=True))
        padded = (text.ljust(w) if k in left else text.rjust(w) for k, (text, w) in places)
        table.append("  ".join(padded).rstrip())
    return table


def cut_table(
    heads: Sequence[str],
    lines: Sequence[Sequence[str]],
    longest: int,
    left: Collection[int] = (0,),
) -> list[str]:
    """The same with the first `longest` lines, and how many more there are; nothing of nothing."""
    more = len(lines) - longest
    table = text_table(heads, lines[:longest], left) if lines else []
    return [*table, f"... and {more} more"] if more > 0 else table


def shown(name: str) -> str:
    r"""A name as it is safe to print.

    Examples
    --------
    >>> shown("wet grass"), shown("a\x1b[2J")
    ('wet grass', "'a\\x1b[2J'")
    """
    return name if name.isprintable() else repr(name)
