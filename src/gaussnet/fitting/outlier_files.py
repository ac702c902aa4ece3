"""Files of all cells that a robust fit flagged, with where each stands and what its row is called.

A fit lists the worst cells of rows that are read page by page; here all are found again, in one
pass more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet.data.column_order import in_column_order
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.data.passes import Progress, Run
from gaussnet.data.paths import STANDARD_INPUT, files_of
from gaussnet.data.sources import CHANGED
from gaussnet.data.write import table_file
from gaussnet.errors import EstimationError, SettingError
from gaussnet.files import Path
from gaussnet.fitting.outliers import find_outliers, required_trimming
from gaussnet.methods.base import Method
from gaussnet.methods.robust.judge import Judge, listed_cells
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


class BadCell(NamedTuple):
    """One cell that is likely wrong."""

    file: str | None
    row: int
    key: Any
    column: str
    value: float
    expected: float
    z: float
    probability: float


class Cells(NamedTuple):
    """Flagged cells of some rows, (cells,) each, by row."""

    rows: NDArray[Any]
    nodes: NDArray[Any]
    recorded: FloatArray
    expected: FloatArray
    deviations: FloatArray
    chances: FloatArray

    @property
    def lines(self) -> Iterator[tuple[Any, ...]]:
        """One cell after the other."""
        return zip(*(own.tolist() for own in self), strict=True)


Found = tuple[str | None, int, Cells, list[Any] | None]
"""A file, the number of a row in it, the cells of the rows from there on, and their keys."""


@dataclass(frozen=True)
class OutlierFile:
    """A file for all flagged cells of a fit of these rows."""

    rows: LabelledRows
    path: Path

    @classmethod
    def checked(
        cls, rows: LabelledRows, path: Path | None, method: Method, client: Any = None
    ) -> "OutlierFile":
        """Refuse early what cannot be written, or would have no cell."""
        if path is None:
            raise SettingError(
                f"got key={rows.key!r} without outliers_to, the file that it is for: give both"
            )
        if not method.flags_cells:
            raise SettingError(
                f"got outliers_to with method={method.name!r}, which flags no cell: give "
                "method='robust'"
            )
        if rows.has_files and STANDARD_INPUT in files_of(rows.data):
            raise SettingError(
                "got outliers_to with rows from standard input, which can be read once only: give "
                "a file"
            )
        rows.check_table(path, "outliers_to")
        if client is None or rows.has_files:
            rows.check_key(path)
        elif rows.key is not None:
            _cluster_keys(rows)
        return cls(rows, path)

    def write(self, fit: "Fit", progress: Progress | None = None, client: Any = None) -> int:
        """Write all cells, file by file and row by row, or nothing; gives their number."""
        Run(1, progress).begin("writing flagged cells")
        rows, count, nodes = self.rows, 0, fit.dag.nodes
        found = _flagged(fit, rows, progress) if client is None else _on_cluster(fit, rows, client)
        with table_file(self.path, rows.heads(BadCell._fields)) as table:
            for file, first, cells, keys in found:
                called = repeat(None) if keys is None else keys
                table.write(
                    rows.line(BadCell(file, first + row, key, nodes[node], *numbers))
                    for (row, node, *numbers), key in zip(cells.lines, called, strict=False)
                )
                count += len(cells.rows)
            trimming = required_trimming(fit)
            if count != sum(trimming.count(node, "flagged") for node in range(len(nodes))):
                raise EstimationError(CHANGED)
        return count


def _flagged(fit: "Fit", rows: LabelledRows, progress: Progress | None) -> Iterator[Found]:
    """Flagged cells, page by page."""
    finder, start = _finder(fit), 0
    for page in rows.pages(fit.dag, progress):
        cells = finder.cells(page.rows, start)
        keys = None if page.keys is None else [page.keys[row] for row in cells.rows.tolist()]
        yield page.file, page.first, cells, keys
        start += len(page.rows)


def _on_cluster(fit: "Fit", rows: LabelledRows, client: Any) -> Iterator[Found]:
    """Flagged cells, which workers find, by partition."""
    from gaussnet.data.cluster import open_cluster

    behind = fit.required_data("write its outliers where the rows are")
    settings = (fit.dag.nodes, behind.options.page_rows, behind.run)
    given, _ = in_column_order(rows.data, fit.dag, rows.columns)
    table = open_cluster(given, settings, client, codes=rows.codes)
    keys = None if rows.key is None else _cluster_keys(rows)
    files = files_of(rows.data) if rows.has_files else None
    starts = np.cumsum([0, *(part.rows for part in table.cluster.partitions)]).tolist()
    for number, first, (cells, called) in table.mapped(FlaggedPart(_judging(fit)), keys):
        where = (None, starts[number] + first) if files is None else (files[number], first)
        yield *where, cells, called


def _cluster_keys(rows: LabelledRows) -> list[Any]:
    from gaussnet.data.cluster import partition_keys

    assert rows.key is not None
    return partition_keys(rows.data, rows.key)


def _finder(fit: "Fit") -> "FindByJudge | FindInList":
    return FindInList.of(fit) if required_trimming(fit).counts is None else _judging(fit)


def _judging(fit: "Fit") -> "FindByJudge":
    trimming = required_trimming(fit)
    judge = trimming.judged_by or trimming.judge
    assert judge is not None
    behind = fit.required_data("write its outliers where the rows are")
    return FindByJudge(judge, behind.options.missing == "drop-rows")


@dataclass(frozen=True, eq=False)
class FindByJudge:
    """Finds flagged cells by judging rows as the fit did."""

    judge: Judge
    drops_rows: bool
    """Whether rows that lack a value were not learnt from."""

    def cells(self, rows: FloatArray, start: int) -> Cells:
        """The flagged cells of successive rows, (rows, nodes), the first of which is `start`."""
        judged, numbers = rows, None
        if self.drops_rows:
            numbers = np.flatnonzero(~np.isnan(rows).any(axis=1))
            judged = rows[numbers]
        found = listed_cells(self.judge, judged, self.judge.judged(judged)).flagged
        places = found.rows if numbers is None else numbers[found.rows]
        return Cells(places, found.nodes, found.recorded, *found[4:])


@dataclass(frozen=True, eq=False)
class FindInList:
    """Finds flagged cells in the list of a fit that has all of them."""

    listed: Cells
    """By row of the data, then by node."""

    @classmethod
    def of(cls, fit: "Fit") -> "FindInList":
        """The cells that a fit lists."""
        found = find_outliers(fit, "flagged")
        positions = np.array([fit.dag.position(node) for node in found.nodes], dtype=np.int64)
        order = np.lexsort((positions, found.rows))
        numbers = (found.recorded, found.expected, found.z, found.probabilities)
        return cls(Cells(found.rows[order], positions[order], *(own[order] for own in numbers)))

    def cells(self, rows: FloatArray, start: int) -> Cells:
        """The flagged cells of successive rows, (rows, nodes), the first of which is `start`."""
        numbers = self.listed.rows
        span = slice(*np.searchsorted(numbers, (start, start + len(rows))).tolist())
        return Cells(numbers[span] - start, *(own[span] for own in self.listed[1:]))


@dataclass(frozen=True, eq=False)
class FlaggedPart:
    """What a worker does with its rows: finds their flagged cells, and the keys of these."""

    finder: FindByJudge

    def __call__(self, pages: Iterator[tuple[FloatArray, Any]]) -> tuple[Cells, list[Any] | None]:
        """The cells of pages of successive rows, and the key of each if rows have keys."""
        parts, called, start = [_NO_CELLS], None, 0
        for rows, keys in pages:
            cells = self.finder.cells(rows, start)
            parts.append(cells._replace(rows=cells.rows + start))
            if keys is not None:
                called = [*(called or ()), *(keys[row] for row in cells.rows.tolist())]
            start += len(rows)
        return Cells(*map(np.concatenate, zip(*parts, strict=True))), called


_NO_CELLS = Cells(*np.empty((2, 0), dtype=np.int64), *np.empty((4, 0)))
