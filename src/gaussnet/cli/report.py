"""`gaussnet report`: one HTML file on rows with their graph, or on rows with a saved network."""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gaussnet as gn
from gaussnet.cli import fit as fitting
from gaussnet.cli.printing import console, progress
from gaussnet.data.sources import STANDARD_INPUT
from gaussnet.files import check_folder
from gaussnet.fitting.checks import check_level
from gaussnet.report.fit_page import check_report


@dataclass(frozen=True, slots=True)
class Target:
    """Where the report goes, and what it says besides the fit."""

    path: Path
    title: str | None = None
    date: str | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_report(self.path)
        check_folder(self.path)
        check_level(self.level)


@dataclass(frozen=True, slots=True)
class Written:
    """What the report that was written is about."""

    network: gn.GaussianNetwork
    path: Path

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "report": str(self.path),
            "bytes": os.path.getsize(self.path),
            "nodes": len(self.network.dag),
            "edges": len(self.network.dag.edges),
        }


def of_fit(request: fitting.Request, target: Target) -> Written:
    """Learn from rows and a graph, and write the report of the fit."""
    with progress(3) as tell:
        fit, _ = fitting.learn(request, tell)
        tell("writing the report")
        write(fit, request.data, target)
    return Written(fit.network, target.path)


def of_network(data: str, model: Path, target: Target) -> Written:
    """Write the report of a saved network on rows."""
    network = gn.read_network(model)
    with progress(1) as tell:
        tell("writing the report")
        write(network, data, target, data=data)
    return Written(network, target.path)


def write(
    result: gn.Fit | gn.GaussianNetwork, source: str, target: Target, data: str | None = None
) -> None:
    """Write the report of what was learnt from, or shown with, this file of rows."""
    gn.write_report(
        result,
        target.path,
        data=data,
        level=target.level,
        title=target.title,
        source=None if source == STANDARD_INPUT else source,
        command=shlex.join(["gaussnet", *sys.argv[1:]]),
        date=target.date,
    )


def show(written: Written) -> None:
    """Print where the report is."""
    console().print(f"report written to {written.path}", soft_wrap=True)
