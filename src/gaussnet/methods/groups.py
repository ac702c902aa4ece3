"""The data behind a fit: how they are read, and which equations share their rows."""

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from gaussnet.data.missing import Missing, Survey, SurveyPass, treat_missing
from gaussnet.data.passes import Run
from gaussnet.data.table import MemoryTable, Table, ask, open_table
from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.families import Families
from gaussnet.methods.base import EquationGroup, Equations, Scale
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import Rows

Groups = list[EquationGroup]


@dataclass(frozen=True)
class ReadOptions:
    """How data are read: which rows serve which phase, in what pages, and what NaN means."""

    dag: Dag
    intercept: bool
    split: tuple[int, int] | None
    missing: Missing
    page_rows: int


@dataclass(frozen=True, eq=False)
class FitData:
    """The data as they were given, and how they are read; rows in memory are never copied."""

    given: Any
    """Data that can be opened again, or a table that is read anew by every pass."""
    options: ReadOptions
    run: Run
    ignored: tuple[str, ...] = ()
    survey: Survey | None = None
    """Of all values, where some of them are not finite."""

    def table(self) -> Table:
        """The rows that the network was learnt from."""
        return self._opened()[0]

    def groups(self) -> tuple[Groups, Groups]:
        """The equations of both phases with their rows; the same unless the rows are split."""
        table, survey = self._opened()
        return equation_groups(table, self.options, survey)

    def _opened(self) -> tuple[Table, Survey | None]:
        """The rows, and a survey if some lack a value; rows in memory may have changed since."""
        options = self.options
        table = open_table(self.given, options.dag.nodes, options.page_rows, self.run)
        if table.is_stream:
            return table, self.survey
        if self.survey is None and table.in_memory("this").is_finite:
            return table.surveyed(True), None
        return treat_missing(table, options.dag.families, options.missing)


def equation_groups(
    table: Table, options: ReadOptions, survey: Survey | None, *, whole: bool = False
) -> tuple[Groups, Groups]:
    """The equations of both phases with their rows.

    Families that lack values have rows of their own, unless the rows are wanted as a `whole`.
    """
    families, intercept = options.dag.families, options.intercept
    holes = survey if table.is_complete is False and not whole else None
    if options.split is None:
        both = _groups(table, families, intercept, holes)
        return both, both
    first, last = checked_split(options.split, table.rows)
    found = []
    for part in (table.part(0, first), table.part(table.rows - last, table.rows)):
        own = None if holes is None else ask(part, SurveyPass(families))
        found.append(_groups(part, families, intercept, own))
    return found[0], found[1]


def _groups(table: Table, families: Families, intercept: bool, survey: Survey | None) -> Groups:
    """One group for the families that lack no value, and one for each other family.

    These leave out the rows in which one of their values is missing, page by page.
    """
    by_size, sorted_families = families.sorted_by_size
    if survey is None:
        return [EquationGroup(by_size, Equations(sorted_families, intercept, table.limits), table)]
    holes = survey.complete_by_family < survey.rows
    whole = by_size[~holes[by_size]]
    groups = []
    if len(whole):
        equations = Equations(families.subset(whole), intercept, table.limits)
        groups.append(EquationGroup(whole, equations, table))
    for node in np.flatnonzero(holes).tolist():
        own = families.subset(np.array([node]))
        rows = table.only(own.columns, int(survey.complete_by_family[node]))
        alone = Equations(own.renumbered(), intercept, rows.limits)
        groups.append(EquationGroup(np.array([node]), alone, rows))
    return groups


def checked_split(split: tuple[int, int], rows: int) -> tuple[int, int]:
    """The row counts of the two phases."""
    try:
        first, last = (index(part) for part in split)
    except (TypeError, ValueError):
        raise SettingError(f"got split={split!r}, expected a pair (m1, m2) of row counts") from None
    if first < 1 or last < 1 or first + last > rows:
        raise SettingError(
            f"got split={split!r}, expected two positive counts that add up to at most the "
            f"{rows} rows"
        )
    return first, last


@dataclass(frozen=True)
class Fitted:
    """A learnt network, the scale of its variances, the data behind it, and the findings."""

    network: GaussianNetwork
    scale: Scale
    data: FitData
    findings: Any = None

    def node_group(self, node: int, values: Rows) -> EquationGroup:
        """The equation of one node over some rows of its family, (rows, parents + 1)."""
        options, own = self.data.options, self.network.dag.families.subset(np.array([node]))
        names = [options.dag.nodes[column] for column in own.columns.tolist()]
        table = MemoryTable.of(values, names, options.page_rows, self.data.run)
        equations = Equations(own.renumbered(), options.intercept, table.limits)
        return EquationGroup(np.array([node]), equations, table.surveyed(True))
