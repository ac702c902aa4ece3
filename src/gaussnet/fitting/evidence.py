"""Evidence: where a network was learnt from, so that its errors can be asked for later."""

from dataclasses import dataclass
from operator import index
from typing import Any

from gaussnet._types import Rows
from gaussnet.errors import SettingError
from gaussnet.fitting.missing import Missing, without_missing
from gaussnet.fitting.phases import Work
from gaussnet.fitting.portions import Portion, make_portions
from gaussnet.graph.dag import Dag
from gaussnet.stream.rows import as_rows


@dataclass(frozen=True)
class Reading:
    """How data are read: which rows serve which phase, and in what pages."""

    dag: Dag
    intercept: bool
    split: tuple[int, int] | None
    missing: Missing
    page_rows: int

    def rows(self, given: Rows) -> tuple[Rows, bool]:
        """The rows to learn from, and whether NaN is left in them to be dropped by node."""
        return without_missing(given, self.dag.nodes, self.missing)

    def portions(self, rows: Rows, holed: bool) -> tuple[list[Portion], list[Portion]]:
        """The portions of phase 1 and those of phase 2, the same unless the rows are split."""
        first, last = split_rows(rows, self.split)
        learnt = self._portions(first, holed)
        return learnt, learnt if self.split is None else self._portions(last, holed)

    def _portions(self, rows: Rows, holed: bool) -> list[Portion]:
        return make_portions(rows, self.dag.families, self.intercept, self.page_rows, holed)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data as they were given, never a copy, and how they were read."""

    data: Any
    reading: Reading
    work: Work

    def rows(self) -> tuple[Rows, bool]:
        """The rows that the network was learnt from, and whether NaN is left in them."""
        return self.reading.rows(as_rows(self.data, self.reading.dag.nodes))


def split_rows(rows: Rows, split: tuple[int, int] | None) -> tuple[Rows, Rows]:
    """The rows of phase 1 and those of phase 2."""
    if split is None:
        return rows, rows
    try:
        first, last = (index(part) for part in split)
    except (TypeError, ValueError):
        raise SettingError(f"got split={split!r}, expected a pair (m1, m2) of row counts") from None
    if first < 1 or last < 1 or first + last > len(rows):
        raise SettingError(
            f"got split={split!r}, expected two positive counts that add up to at most the "
            f"{len(rows)} rows"
        )
    return rows[:first], rows[len(rows) - last :]
