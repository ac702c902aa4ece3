"""`gaussnet score`: how likely a network finds rows, and the worst cell of each."""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gaussnet as gn
from gaussnet.cli.printing import console, number, print_table, progress
from gaussnet.cli.reading_plans import tell_plan
from gaussnet.cli.saved_networks import read_model, with_known_codes
from gaussnet.data.labelled_rows import LabelledPage, LabelledRows
from gaussnet.data.write import table_file
from gaussnet.errors import DataError
from gaussnet.graph.dag import counted
from gaussnet.model.cells import CellJudge

ONE_PASS = "all rows are read once"
LISTED = 10
"""Rows that are listed without a file for all."""


class RowScore(NamedTuple):
    """One row, and its worst cell; no column if it has no value."""

    file: str | None
    row: int
    key: Any
    log_density: float
    column: str | None
    value: float
    expected: float
    z: float


@dataclass(frozen=True, eq=False)
class Scored:
    """What a network says of rows."""

    rows: int
    total: float
    """Log density of all rows."""
    worst: list[RowScore]
    """The least likely rows."""
    out: Path | None
    has_key: bool
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = [one._asdict() for one in self.worst]
        if not self.has_key:
            rows = [{name: value for name, value in row.items() if name != "key"} for row in rows]
        return {
            "rows": self.rows,
            "log_density": self.total,
            "mean_log_density": self.total / self.rows,
            "out": None if self.out is None else str(self.out),
            "least_likely": rows,
            "notes": list(self.notes),
        }


def score_rows(files: LabelledRows, model: Path, out: Path | None, verbose: bool = False) -> Scored:
    """Score every row, and write all scores if a file is named for them."""
    files.check_table(out, "--out")
    files.check_key(out)
    network = network_of(model)
    files, notes = with_known_codes(files, model)
    tell_plan(verbose, files.data, network.dag, ONE_PASS)
    judge, sums, rows = CellJudge(network), [], 0
    least: list[tuple[float, int, RowScore]] = []
    with progress(1) as tell, table_file(out, files.heads(RowScore._fields)) as table:
        tell("scoring rows")
        for page in files.pages(network.dag, tell.rows):
            scores = list(_scored(page, judge))
            table.write(map(files.line, scores))
            sums.append(math.fsum(one.log_density for one in scores))
            entries = ((-one.log_density, -rows - i, one) for i, one in enumerate(scores))
            least = heapq.nlargest(LISTED, [*least, *entries])
            rows += len(scores)
        if not rows:
            raise DataError("the data have no rows: give at least one")
    found = [one for *_, one in least]
    return Scored(rows, math.fsum(sums), found, out, files.key is not None, notes)


def network_of(model: Path) -> gn.GaussianNetwork:
    """The network in a file, or that a summary gives."""
    found = read_model(model)
    if isinstance(found, gn.Fit):
        from gaussnet.fitting.seen_ranges import seen_for_file  # much to import

        return found.network.with_seen(seen_for_file(found))
    return found


def without_key(one: Sequence[Any], has_key: bool) -> tuple[Any, ...]:
    """The fields of a row or cell, without what it is called if nobody says that."""
    return tuple(one) if has_key else (*one[:2], *one[3:])


def _scored(page: LabelledPage, judge: CellJudge) -> Iterator[RowScore]:
    """The scores of the rows of a page."""
    found = judge.scores(page.rows)
    sizes = np.nan_to_num(np.abs(found.z), nan=-1.0)
    worst = sizes.argmax(axis=1)
    places = np.arange(len(page.rows))
    columns = (page.rows[places, worst], found.expected[places, worst], found.z[places, worst])
    nodes, densities = judge.network.dag.nodes, found.log_densities.tolist()
    values = zip(worst.tolist(), *(column.tolist() for column in columns), strict=True)
    for row, (node, value, expected, z) in enumerate(values):
        name = None if math.isnan(z) else nodes[node]
        key = None if page.keys is None else page.keys[row]
        where = (page.file, page.first + row, key)
        yield RowScore(*where, densities[row], name, value, expected, z)


def print_scores(found: Scored) -> None:
    """Print the totals and the least likely rows."""
    page = console()
    mean = number(found.total / found.rows)
    page.print(f"{counted(found.rows, 'row')}: mean log density {mean}")
    print_table(
        f"The {len(found.worst)} least likely rows, and their worst cells",
        ("file", "row", *(("key",) if found.has_key else ()), "log density", "column", "value",
         "expected", "z"),
        [
            tuple("" if cell is None else cell if index != 1 else f"{cell}"
                  for index, cell in enumerate(without_key(one, found.has_key)))
            for one in found.worst
        ],
    )  # fmt: skip
    for note in found.notes:
        page.print(f"note: {note}")
    if found.out is not None:
        page.print(f"scores of all rows written to {found.out}", soft_wrap=True)
