"""`gaussnet outliers`: the cells of rows that a network holds for wrong, and where they stand."""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gaussnet as gn
from gaussnet.cli.printing import console, print_table, progress
from gaussnet.cli.reading_plans import tell_plan
from gaussnet.cli.saved_networks import with_known_codes
from gaussnet.cli.scores import ONE_PASS, network_of, without_key
from gaussnet.data.labelled_rows import LabelledPage, LabelledRows
from gaussnet.data.write import table_file
from gaussnet.errors import DataError
from gaussnet.fitting.outlier_files import BadCell, OutlierFile
from gaussnet.graph.dag import counted, shorten
from gaussnet.methods.names import method_named
from gaussnet.model.cells import PROBABILITY, SHARE, CellJudge

MOST_LISTED = 1_000
"""Cells that JSON lists, worst first; --out has all."""
SHOWN = 20


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
    notes: tuple[str, ...] = ()

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
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Doubt:
    """How much it takes to hold a cell for wrong."""

    share: float = SHARE
    probability: float = PROBABILITY


def find_bad_cells(
    files: LabelledRows, model: Path, out: Path | None, doubt: Doubt, verbose: bool = False
) -> BadCells:
    """Judge every cell, and write those that are likely wrong if a file is named for them."""
    files.check_table(out, "--out")
    files.check_key(out)
    network = network_of(model)
    files, notes = with_known_codes(files, model)
    notes += _seen_notes(network)
    tell_plan(verbose, files.data, network.dag, ONE_PASS)
    judge, rows = CellJudge(network), 0
    counts: Counter[str] = Counter()
    recorded = np.zeros(len(network.dag), dtype=np.int64)
    worst: list[tuple[float, int, BadCell]] = []
    has_key = files.key is not None
    with progress(1) as tell, table_file(out, files.heads(BadCell._fields)) as table:
        tell("judging cells")
        for page in files.pages(network.dag, tell.rows):
            cells = list(_bad_cells(page, judge, doubt))
            table.write(map(files.line, cells))
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
    return BadCells(rows, flagged, known, [cell for *_, cell in worst], out, has_key, notes)


def _seen_notes(network: gn.GaussianNetwork) -> tuple[str, ...]:
    """What is known of columns that are not Gaussian, whose right values may look wrong."""
    seen, nodes = network.seen, network.dag.nodes
    if seen is None or not seen.shapes:
        return (
            "the model does not say which columns are skewed, so that right values of such columns "
            "may be flagged: a model written by gaussnet fit --out says it",
        )
    far = np.full(len(nodes), np.nan) if seen.z_low is None else seen.z_low
    odd = [
        (node, shape, z) for node, shape, z in zip(nodes, seen.shapes, far, strict=True) if shape
    ]
    believed = [node for node, _, z in odd if not np.isnan(z)]
    others = [f"{node} ({shape})" for node, shape, z in odd if np.isnan(z)]
    notes = []
    if believed:
        notes.append(
            f"{shorten(believed)} did not look Gaussian when the model was learnt: values are "
            "flagged only if they are farther off than those believed then"
        )
    if others:
        notes.append(
            "residuals were not Gaussian when the model was learnt, so that right values may be "
            f"flagged: {shorten(others)}"
        )
    return tuple(notes)


def _bad_cells(page: LabelledPage, judge: CellJudge, doubt: Doubt) -> Iterator[BadCell]:
    """The cells of a page that are likely wrong, row by row."""
    found = judge.flagged(page.rows, doubt.share, doubt.probability)
    names = judge.network.dag.nodes
    values = page.rows[found.rows, found.nodes]
    columns = (found.rows, found.nodes, values, *found[2:])
    for row, node, value, expected, z, chance in zip(*(c.tolist() for c in columns), strict=True):
        key = None if page.keys is None else page.keys[row]
        yield BadCell(page.file, page.first + row, key, names[node], value, expected, z, chance)


def outlier_file(rows: LabelledRows, out: Path | None, method: str) -> OutlierFile:
    """A file for all flagged cells of a fit by the method of this name."""
    return OutlierFile.checked(rows, out, method_named(method))


def write_outliers(fit: gn.Fit, target: OutlierFile) -> int:
    """Write all cells that a fit flagged; gives their number."""
    with progress(1) as tell:
        tell("writing flagged cells")
        return target.write(fit, tell.rows)


def print_bad_cells(found: BadCells) -> None:
    """Print counts by node and the worst cells."""
    page = console()
    page.print(f"{counted(found.total, 'cell')} of {counted(found.rows, 'row')} likely wrong")
    for note in found.notes:
        page.print(f"note: {note}")
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
        f"The worst {len(lines)} (rows are counted from 0)",
        heads,
        [(one[0], str(one[1]), *("" if c is None else c for c in one[2:])) for one in lines],
    )
    if found.out is not None:
        page.print(f"cells written to {found.out}", soft_wrap=True)
