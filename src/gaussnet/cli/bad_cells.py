"""`gaussnet outliers`: the cells of rows that a network holds for wrong, and where they stand."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gaussnet as gn
from gaussnet.cli.printing import console, print_table, progress
from gaussnet.cli.reading_plans import tell_plan
from gaussnet.cli.row_files import FilePage, RowFiles, check_table, text_table
from gaussnet.cli.scores import ONE_PASS, headings, network_of, without_key
from gaussnet.data.labels import open_labels
from gaussnet.data.paths import STANDARD_INPUT, files_of
from gaussnet.errors import DataError, SettingError
from gaussnet.graph.dag import counted
from gaussnet.methods.robust.judge import listed_cells
from gaussnet.model.cells import PROBABILITY, SHARE, CellJudge
from gaussnet.types import FloatArray

FLAGGING = ("robust", "auto", "sequential-trim")
"""Methods that flag cells."""
MOST_LISTED = 1_000
"""Cells that JSON lists, worst first; --out has all."""
SHOWN = 20


class BadCell(NamedTuple):
    """One cell that is likely wrong."""

    file: str
    row: int
    key: Any
    column: str
    value: float
    expected: float
    z: float
    probability: float


@dataclass(frozen=True, eq=False)
class BadCells:
    """The cells that are likely wrong, counted, and the worst of them."""

    rows: int
    flagged: dict[str, int]
    """How many cells of each node."""
    recorded: dict[str, int]
    """How many values each node has."""
    worst: list[BadCell]
    out: Path | None
    has_key: bool

    @property
    def total(self) -> int:
        """How many cells are flagged."""
        return sum(self.flagged.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        cells = [cell._asdict() for cell in self.worst]
        if not self.has_key:
            cells = [{k: v for k, v in cell.items() if k != "key"} for cell in cells]
        nodes = [
            {
                "node": node,
                "values": count,
                "flagged": self.flagged[node],
                "share": self.flagged[node] / count if count else None,
            }
            for node, count in self.recorded.items()
        ]
        return {
            "rows": self.rows,
            "flagged": self.total,
            "listed": len(cells),
            "out": None if self.out is None else str(self.out),
            "nodes": nodes,
            "cells": cells,
        }


@dataclass(frozen=True, slots=True)
class Doubt:
    """How much it takes to hold a cell for wrong."""

    share: float = SHARE
    probability: float = PROBABILITY


def find_bad_cells(
    files: RowFiles, model: Path, out: Path | None, doubt: Doubt, verbose: bool = False
) -> BadCells:
    """Judge every cell, and write those that are likely wrong if a file is named for them."""
    check_table(out)
    network = network_of(model)
    tell_plan(verbose, files.data, network.dag, ONE_PASS)
    judge, rows = CellJudge(network), 0
    counts: Counter[str] = Counter()
    recorded = np.zeros(len(network.dag), dtype=np.int64)
    worst: list[tuple[float, int, BadCell]] = []
    has_key = files.key is not None
    with progress(1) as tell, text_table(out, headings(BadCell._fields, files.key)) as table:
        tell("judging cells")
        for page in files.pages(network.dag, tell):
            cells = list(_bad_cells(page, judge, doubt))
            table.write([without_key(cell, has_key) for cell in cells])
            start = counts.total()
            entries = ((abs(cell.z), -start - i, cell) for i, cell in enumerate(cells))
            worst = heapq.nlargest(MOST_LISTED, [*worst, *entries])
            counts.update(cell.column for cell in cells)
            recorded += np.count_nonzero(~np.isnan(page.rows), axis=0)
            rows += len(page.rows)
        if not rows:
            raise DataError("the data have no rows: give at least one")
    known = dict(zip(network.dag.nodes, recorded.tolist(), strict=True))
    flagged = {node: counts[node] for node in known}
    return BadCells(rows, flagged, known, [cell for *_, cell in worst], out, has_key)


def _bad_cells(page: FilePage, judge: CellJudge, doubt: Doubt) -> Iterator[BadCell]:
    """The cells of a page that are likely wrong, row by row."""
    found = judge.flagged(page.rows, doubt.share, doubt.probability)
    names = judge.network.dag.nodes
    values = page.rows[found.rows, found.nodes]
    columns = (found.rows, found.nodes, values, *found[2:])
    for row, node, value, expected, z, chance in zip(*(c.tolist() for c in columns), strict=True):
        key = None if page.keys is None else page.keys[row]
        yield BadCell(page.file, page.first + row, key, names[node], value, expected, z, chance)


def check_outliers(data: str | list[str], out: Path | None, key: str | None, method: str) -> None:
    """Refuse early a file for flagged cells that cannot be written, or that would have none."""
    if out is None:
        if key is not None:
            raise SettingError("got --key without --outliers, the file that it is for: give both")
        return
    if method not in FLAGGING:
        raise SettingError(
            f"got --outliers with --method {method}, which flags no cell: give --method robust"
        )
    if STANDARD_INPUT in files_of(data):
        raise SettingError(
            "got --outliers with rows from standard input, which can be read once only: give a file"
        )
    if key is not None:
        for file in files_of(data):
            open_labels(file, key, "--key")
    check_table(out)


def write_outliers(fit: gn.Fit, files: RowFiles, out: Path) -> int:
    """Write all cells that a fit flagged, file by file and row by row; gives their number."""
    judged = _by_judge(fit) if _is_partly_listed(fit) else _from_list(fit)
    count, start, nodes = 0, 0, fit.dag.nodes
    heads = headings(BadCell._fields, files.key)
    with progress(1) as tell, text_table(out, heads) as table:
        tell("writing flagged cells")
        for page in files.pages(fit.dag, tell):
            cells = judged(page.rows, start)
            lines = zip(*(own.tolist() for own in cells), strict=True)
            for row, node, value, expected, z, chance in lines:
                key = None if page.keys is None else page.keys[row]
                place = (page.file, page.first + row, key, nodes[node])
                cell = BadCell(*place, value, expected, z, chance)
                table.write([without_key(cell, files.key is not None)])
            count, start = count + len(cells[0]), start + len(page.rows)
    return count


Cells = tuple[Any, ...]
"""Rows of a page, nodes, recorded and expected values, deviations and probabilities."""


def _is_partly_listed(fit: gn.Fit) -> bool:
    return fit.trimming is not None and fit.trimming.counts is not None


def _by_judge(fit: gn.Fit) -> Callable[[FloatArray, int], Cells]:
    """Judges the rows of a page as the fit did."""
    assert fit.trimming is not None
    judge = fit.trimming.judge
    assert judge is not None

    def judged(rows: FloatArray, _: int) -> Cells:
        cells = listed_cells(judge, rows, judge.judged(rows)).flagged
        return (cells.rows, cells.nodes, cells.recorded, *cells[4:])

    return judged


def _from_list(fit: gn.Fit) -> Callable[[FloatArray, int], Cells]:
    """Finds the cells of a page in the list of the fit."""
    found = fit.outliers()
    positions = np.array([fit.dag.position(node) for node in found.nodes], dtype=np.int64)
    order = np.lexsort((positions, found.rows))
    arrays = (found.rows, positions, found.recorded, found.expected, found.z, found.probabilities)
    numbers, *others = (own[order] for own in arrays)

    def listed(rows: FloatArray, start: int) -> Cells:
        span = slice(*np.searchsorted(numbers, (start, start + len(rows))).tolist())
        return (numbers[span] - start, *(own[span] for own in others))

    return listed


def print_bad_cells(found: BadCells) -> None:
    """Print counts by node and the worst cells."""
    page = console()
    page.print(f"{counted(found.total, 'cell')} of {counted(found.rows, 'row')} likely wrong")
    print_table(
        "By node",
        ("node", "values", "flagged", "share"),
        (
            (node, f"{count:,}", f"{found.flagged[node]:,}", found.flagged[node] / count)
            for node, count in found.recorded.items()
            if found.flagged[node]
        ),
    )
    heads = [name for name in BadCell._fields if name != "key" or found.has_key]
    lines = [without_key(cell, found.has_key) for cell in found.worst[:SHOWN]]
    print_table(
        f"The worst {len(lines)}",
        heads,
        [(one[0], str(one[1]), *("" if c is None else c for c in one[2:])) for one in lines],
    )
    if found.out is not None:
        page.print(f"cells written to {found.out}", soft_wrap=True)
