"""Predictions of a node in rows, and the values of these rows that look wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gaussnet import display
from gaussnet.graph.dag import counted
from gaussnet.named_rows import row_labels
from gaussnet.types import FloatArray

MOST_WARNINGS = 5
"""Values that look wrong and have a sentence of their own; of more the worst."""


class OutsideValue(NamedTuple):
    """A value of a row that lies far outside the values that a fit was learnt from."""

    node: str
    recorded: float
    low: float
    high: float
    """The range that the fit has seen."""
    row: int = 0
    """The number of the row, from 0; of one case it is 0."""
    is_seen: bool = True
    """Whether the range is that of rows; else it is what the law of the network expects."""

    @property
    def distance(self) -> float:
        """How far it lies beyond the range, in widths of it."""
        return max(self.low - self.recorded, self.recorded - self.high) / (self.high - self.low)

    def said(self, where: str = "") -> str:
        """Which value it is, and what was seen.

        Examples
        --------
        >>> OutsideValue("income", 3e6, 1800.0, 190_000.0).said()
        'income = 3,000,000 lies far outside what the fit has seen (1,800 to 190,000)'
        """
        low, high = _grouped(self.low), _grouped(self.high)
        value = f"{where}{self.node} = {_grouped(self.recorded)}"
        whose = "the fit has seen" if self.is_seen else "the network expects"
        return f"{value} lies far outside what {whose} ({low} to {high})"

    def warning(self, where: str = "") -> str:
        """A sentence that names the value."""
        return f"warning: {self.said(where)}: the prediction extrapolates"


class DoubtfulValue(NamedTuple):
    """A value of a row that is more likely wrong than not."""

    node: str
    recorded: float
    expected: float
    """What the other values of the row let expect."""
    z: float
    """Recorded minus expected value, in standard deviations."""
    probability: float
    """That the value is wrong."""
    row: int = 0
    """The number of the row, from 0; of one case it is 0."""
    outside: OutsideValue | None = None
    """Given where the value is wrong because it lies far outside what the fit has seen."""

    def warning(self, counts: bool, where: str = "") -> str:
        """A sentence that names the value, and says whether it counts."""
        done = (
            "it counts as given" if counts else "it does not count; believe=True takes it as given"
        )
        if self.outside is not None:
            return f"warning: {self.outside.said(where)} and looks wrong: {done}"
        return (
            f"warning: {where}{self.node} = {self.recorded:.4g} looks wrong "
            f"(expected {self.expected:.4g}, z = {self.z:.3g}): {done}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """What a node is expected to be in each row, and how far it may be off."""

    node: str
    level: float
    mean: FloatArray
    """Conditional means, (rows,)."""
    scale: FloatArray
    """Conditional standard deviations, (rows,)."""
    reach: FloatArray | float
    """Half the width of the intervals in standard deviations: a number, or (rows,)."""
    given_frame: object = field(default=None, repr=False)
    """The frame that was predicted from, if it was one."""
    doubtful: tuple[DoubtfulValue, ...] = ()
    """Values predicted from that a robust fit takes for wrong, row by row."""
    believed: bool = False
    """Whether the doubtful values count as given; else as missing."""
    far: "tuple[OutsideValue, ...] | Callable[[], tuple[OutsideValue, ...]]" = ()
    """The values in `outside`, or what finds them when they are first asked for."""

    @cached_property
    def outside(self) -> tuple[OutsideValue, ...]:
        """Values predicted from that lie far outside what was seen and are not doubtful."""
        return self.far() if callable(self.far) else self.far

    @cached_property
    def low(self) -> FloatArray:
        """Lower ends of the intervals, (rows,)."""
        return self.mean - self.scale * self.reach

    @cached_property
    def high(self) -> FloatArray:
        """Upper ends, (rows,)."""
        return self.mean + self.scale * self.reach

    @property
    def labels(self) -> Sequence[Any]:
        """What the rows are called: by the index of the frame that was given, or by number."""
        return row_labels(self.given_frame) or range(len(self))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence on each value that looks wrong, or that lies far outside what was seen.

        Of many there is one on the worst, and on their number.
        """
        worst = sorted(self.doubtful, key=lambda value: -abs(value.z))[:MOST_WARNINGS]
        farthest = sorted(self.outside, key=lambda value: -value.distance)[:MOST_WARNINGS]
        labels = self.labels
        own = [value.warning(self.believed, f"row {labels[value.row]}: ") for value in worst]
        own += _more(len(self.doubtful) - len(worst), "doubtful")
        own += [value.warning(f"row {labels[value.row]}: ") for value in farthest]
        own += _more(len(self.outside) - len(farthest), "outside")
        return tuple(own)

    def to_frame(self, kind: str | None = None) -> Any:
        """Columns mean, scale, low and high, in a "pandas" or "polars" frame.

        By default it is like the frame that was given, with its index, or else pandas. Where given
        values look wrong and do not count, a column `doubtful` has their nodes, row by row, and is
        empty in the other rows.
        """
        names = ["mean", "scale", "low", "high"]
        values = np.column_stack((self.mean, self.scale, self.low, self.high))
        texts = {"doubtful": self._left_out} if self.doubtful and not self.believed else {}
        given = self.given_frame
        if given is not None and kind in (None, type(given).__module__.partition(".")[0]):
            return display.frame_like(given, names, values, texts)
        columns = dict(zip(names, values.T.tolist(), strict=True))
        return display.new_frame(columns | texts, "pandas" if kind is None else kind)

    @property
    def _left_out(self) -> list[str]:
        """The nodes whose values do not count, row by row."""
        found: list[list[str]] = [[] for _ in range(len(self))]
        for value in self.doubtful:
            found[value.row].append(value.node)
        return [", ".join(names) for names in found]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.mean)

    def __repr__(self) -> str:
        return f"Prediction({self.node!r}, {counted(len(self), 'row')}, level={self.level})"

    def __str__(self) -> str:
        """Warnings, and the first rows with their intervals."""
        return "\n".join((*self.warnings, display.text("prediction_table", self)))

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return display.html("prediction", self)


def _more(count: int, where: str) -> list[str]:
    """That so many values have no sentence of their own."""
    return [f"warning: {counted(count, 'more value')} like these; see {where}"] if count else []


def _grouped(value: float) -> str:
    """A number of four digits, with its thousands apart."""
    return f"{float(f'{value:.4g}'):,.10g}"
