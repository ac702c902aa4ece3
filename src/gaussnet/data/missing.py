"""Missing values: where they are, and what happens to them before a network is fitted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import numpy as np

from gaussnet.data.factors import column_positions
from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import Table, ask
from gaussnet.errors import DataError, SettingError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.families import Families
from gaussnet.named_rows import called_here, did_you_mean
from gaussnet.types import BoolArray, IntArray, Rows

Missing = Literal["raise", "drop-rows", "drop-by-node", "likelihood"]
CHOICES = get_args(Missing)
OTHER_NAMES = dict.fromkeys(("fiml", "ml", "mle", "em", "direct"), "likelihood") | dict.fromkeys(
    ("listwise", "drop", "dropna", "omit", "na.omit", "complete", "complete-case"), "drop-rows"
)
"""What the choices are called elsewhere."""
AnyTable = TypeVar("AnyTable", bound=Table)


class MissingCells(DataError):
    """Values are missing, and nobody has said what to make of them.

    Examples
    --------
    >>> str(MissingCells("1 value is missing").advising("fill it"))
    '1 value is missing: fill it'
    """

    advice = (
        "give missing='likelihood' (from every cell that is there), 'drop-by-node' "
        "or 'drop-rows', or fill them"
    )

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.advice}"

    def advising(self, advice: str) -> DataError:
        """The same with other words on what to do."""
        return DataError(f"{self.args[0]}: {advice}")


@dataclass(frozen=True)
class Survey:
    """How many values are missing or infinite, and where the first of them stand."""

    rows: int
    infinite: int
    first_infinite: tuple[int, int] | None
    """Row and column."""
    holes: IntArray
    """Missing values of each column."""
    first_hole: tuple[int, int] | None
    complete: int
    """Rows without a missing value."""
    complete_by_family: IntArray
    """Rows that serve a family: no value of it is missing, nor was its node set from outside."""
    complete_and_unset: IntArray
    """The same of the rows without a missing value."""
    holes_by_family: IntArray
    """Rows in which a value of a family is missing."""

    @classmethod
    def of(cls, rows: Rows, families: Families, set_cells: BoolArray | None = None) -> "Survey":
        """The survey of some rows."""
        infinite, holes = np.isinf(rows), np.isnan(rows)
        lacking = holes.any(axis=1)
        lacks = _lacking_rows(holes[lacking], families)
        by_family = len(rows) - lacks
        unset = np.full(len(families), len(rows) - np.count_nonzero(lacking))
        if set_cells is not None:
            by_family -= _set_rows(set_cells, holes, families)
            unset -= np.count_nonzero(set_cells[~lacking][:, families.children], axis=0)
        return cls(
            len(rows),
            int(np.count_nonzero(infinite)),
            _first(infinite),
            np.count_nonzero(holes, axis=0),
            _first(holes),
            len(rows) - int(np.count_nonzero(lacking)),
            by_family,
            unset,
            lacks,
        )

    def merge(self, other: "Survey") -> "Survey":
        """The survey of both."""
        return Survey(
            self.rows + other.rows,
            self.infinite + other.infinite,
            self.first_infinite or _shifted(other.first_infinite, self.rows),
            self.holes + other.holes,
            self.first_hole or _shifted(other.first_hole, self.rows),
            self.complete + other.complete,
            self.complete_by_family + other.complete_by_family,
            self.complete_and_unset + other.complete_and_unset,
            self.holes_by_family + other.holes_by_family,
        )

    def refuse_infinite(self, names: Sequence[str]) -> None:
        """Refuse data with infinite values."""
        if self.first_infinite is not None:
            row, column = self.first_infinite
            raise DataError(
                f"{_values(self.infinite)} infinite, the first in row {row} of column "
                f"{names[column]!r}, counted from 0: mend them, or set them to NaN and say what to "
                "do with missing"
            )

    def judge(self, dag: Dag, missing: Missing, known: BoolArray | None = None) -> None:
        """Refuse data that no network can be fitted to; `missing` says what NaN means.

        `known` are nodes of which other rows have values, (nodes,).
        """
        self.refuse_infinite(dag.nodes)
        if self.first_hole is None:
            return
        empty = np.flatnonzero((self.holes == self.rows) & ~(np.False_ if known is None else known))
        if len(empty):
            raise DataError(
                f"the column {dag.nodes[empty[0]]!r} has no value at all: leave the node out of "
                "the graph"
            )
        if missing == "raise":
            row, column = self.first_hole
            node, holes = dag.nodes[column], int(self.holes[column_positions(dag)].sum())
            given, _ = dag.indicators.get(node, (node, ""))  # a category has a node for each level
            raise MissingCells(
                f"{_values(holes)} missing, the first in row {row} of column {given!r}, counted "
                "from 0"
            )
        if missing == "drop-rows" and self.complete == 0:
            raise DataError(
                f"each of the {self.rows} rows has a missing value: give missing='likelihood' or "
                "'drop-by-node'"
            )


def check_missing(missing: Missing) -> None:
    """Refuse an unknown setting."""
    if missing not in CHOICES:
        known = ", ".join(map(repr, CHOICES[:-1]))
        raise SettingError(
            f"got missing={missing!r}, expected {known} or {CHOICES[-1]!r}"
            f"{called_here(str(missing), OTHER_NAMES) or did_you_mean(str(missing), CHOICES)}"
        )


@dataclass(frozen=True)
class SurveyPass(Pass):
    """Counts the values that are missing or infinite."""

    purpose = "missing values"

    families: Families

    def summarize(self, stripe: Stripe) -> Survey:
        """The survey of a stripe."""
        return Survey.of(stripe.rows, self.families, stripe.set_cells)

    def merge(self, left: Survey, right: Survey) -> Survey:
        """The survey of both."""
        return left.merge(right)


def treat_missing(table: AnyTable, dag: Dag, missing: Missing) -> tuple[AnyTable, Survey]:
    """The rows to learn from, and a survey of all of them.

    NaN means missing and is treated as `missing` says; if it is left in the rows, these are not
    complete. Infinite values are never accepted.
    """
    survey: Survey = ask(table.surveyed(False), SurveyPass(dag.families))
    survey.judge(dag, missing)
    return serving_rows(table, survey, missing), survey


def serving_rows(table: AnyTable, survey: Survey, missing: Missing) -> AnyTable:
    """The rows to learn from, where the survey of all of them has been judged."""
    if survey.first_hole is None:
        return table.surveyed(True)
    return table.complete(survey.complete) if missing == "drop-rows" else table.surveyed(False)


def _values(count: int) -> str:
    return "1 value is" if count == 1 else f"{count} values are"


def _first(found: BoolArray) -> tuple[int, int] | None:
    where = np.argwhere(found)
    return (int(where[0, 0]), int(where[0, 1])) if len(where) else None


def _shifted(first: tuple[int, int] | None, rows: int) -> tuple[int, int] | None:
    return None if first is None else (first[0] + rows, first[1])


def _lacking_rows(holes: BoolArray, families: Families) -> IntArray:
    """In how many of these rows each family lacks a value, (families,)."""
    if len(holes) == 0 or len(families) == 0:
        return np.zeros(len(families), dtype=np.int64)
    counts = np.empty(len(families), dtype=np.int64)
    by_column = np.ascontiguousarray(holes.T)
    for family in range(len(families)):
        span = slice(*families.column_offsets[family : family + 2].tolist())
        counts[family] = np.count_nonzero(by_column[families.columns[span]].any(axis=0))
    return counts


def _set_rows(set_cells: BoolArray, holes: BoolArray, families: Families) -> IntArray:
    """Rows without a missing value of a family whose node was set from outside, (families,)."""
    counts = np.zeros(len(families), dtype=np.int64)
    for family, node in enumerate(families.children.tolist()):
        chosen = set_cells[:, node]
        if chosen.any():
            span = slice(*families.column_offsets[family : family + 2].tolist())
            lacks = holes[chosen][:, families.columns[span]].any(axis=1)
            counts[family] = np.count_nonzero(~lacks)
    return counts
