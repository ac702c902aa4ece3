"""`write_report`: one HTML file that tells all of a fit."""

import hashlib
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussnet import __version__, kernels
from gaussnet.data.codes import checked_codes
from gaussnet.data.paths import files_of
from gaussnet.errors import FileError, SettingError
from gaussnet.files import Path, file_name, reason, suffix, write_text
from gaussnet.fitting.group_fits import GroupFit
from gaussnet.fitting.result import Fit
from gaussnet.graph.dag import Dag
from gaussnet.methods.groups import ReadOptions
from gaussnet.model.checks import check_level
from gaussnet.model.network import GaussianNetwork
from gaussnet.report import sections
from gaussnet.report.findings import (
    Effects,
    Findings,
    RowCounts,
    findings_of_fit,
    findings_of_network,
)
from gaussnet.report.groups import groups_section
from gaussnet.report.markup import text, whole_page

ENDINGS = (".html", ".htm")
BLOCK_BYTES = 1 << 20
MOST_IN_CODE = 30
"""Nodes of a graph that is written out in the lines to get the same again."""
HASHED = (
    '<p class="faint">The hash of the rows is that of the rows used, as little-endian float64, row '
    "by row, in the order of the nodes.</p>"
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a report comes from, as far as it is known."""

    source: Path | Sequence[Path] | None = None
    """The file of the data, or all of them."""

    @property
    def words(self) -> str:
        """The names of the files."""
        return ", ".join(map(file_name, _paths(self.source)))

    command: str | None = None
    """The command line that made the report."""
    date: str | None = None


def write_report(  # noqa: PLR0913 (every part of the page that is not in the fit is one keyword)
    result: Fit | GroupFit | GaussianNetwork,
    path: Path,
    *,
    data: Any = None,
    columns: Iterable[object] | None = None,
    missing_values: Iterable[float] | float | None = None,
    learnt_rows: RowCounts = None,
    level: float = 0.95,
    title: str | None = None,
    source: Path | Sequence[Path] | None = None,
    command: str | None = None,
    date: str | None = None,
    effects: Effects | None = None,
) -> None:
    """Write a report of a fit, or of a network on data, as one HTML file.

    The file needs no other and asks for nothing. It begins with `Fit.summary`: whether the model
    fits, what was wrong with the data, how far to trust the numbers. Then it shows the network
    with the missing edges that the data contradict, coefficients with their errors, effects,
    residuals of every node, notes on the data, what holds if the model is right, and how to get
    the same again. The same fit gives the same bytes. For a network the sentences tell whether its
    graph holds on the rows, whether these are as it expects (`check_drift`), and what to trust.

    Parameters
    ----------
    result
        A fit, or fits by group, whose differences are shown before the fit to all rows; or a
        network, and then `data` are the rows to show it with, `columns` the names of their
        columns if they are an array, `missing_values` the codes in them for what is missing, and
        `learnt_rows` from how many rows the network was learnt, for all nodes or by node.
    level
        Of the confidence intervals and of the certificate.
    title, date
        As they shall stand in the report; the date is left out if none is given.
    effects
        Pairs (cause, target) whose total effects are told; by default the first few on nodes
        without children, of nodes without parents and of their own parents.
    source, command
        The file that the data came from, or a list of them, whose hash is told, and the command
        that was given.

    Examples
    --------
    >>> import os, tempfile
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> rows = gn.simulate.random_network(dag, seed=0).sample(100, seed=1)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> gn.write_report(gn.fit(rows, dag), path)
    >>> os.path.getsize(path) < 100_000
    True
    """
    check_report(path)
    check_level(level)
    origin = Origin(source, command, date)
    groups = ""
    if isinstance(result, GroupFit):
        groups, result = groups_section(result, level), result.pooled
    if isinstance(result, Fit):
        findings = findings_of_fit(result, level, effects)
    elif isinstance(result, GaussianNetwork):
        if data is None:
            raise SettingError("got a network without data: give data=, the rows to show it with")
        codes = checked_codes(missing_values)
        findings = findings_of_network(result, data, columns, codes, learnt_rows)
    else:
        raise SettingError(
            f"got {type(result).__name__}, expected a gaussnet.Fit, a gaussnet.GroupFit or a "
            "gaussnet.GaussianNetwork"
        )
    write_text(path, fit_page(findings, title or _title(findings, origin), origin, groups))


def check_report(path: Path) -> None:
    """Refuse a file name that does not end as a page does."""
    if suffix(path) not in ENDINGS:
        raise FileError(
            f"cannot write a report as {file_name(path)!r}: expected a name that ends in .html"
        )


def fit_page(findings: Findings, title: str, origin: Origin, groups: str = "") -> str:
    """The page, complete in itself; `groups` is a section that comes first."""
    parts = [
        sections.head(findings, title),
        groups,
        sections.network(findings),
        sections.graph_check(findings),
        sections.measures(findings),
        sections.drift(findings),
        sections.coefficients(findings),
        sections.defined(findings),
        sections.effects(findings),
        sections.interventions(findings),
        sections.residuals(findings),
        sections.flagged(findings),
        sections.notes(findings),
        sections.certificate(findings),
        _again(findings, origin),
    ]
    return whole_page(title, parts, ["page.css", "fit.css"], "drawing.js", "fit.js")


def hash_source(path: Path | Sequence[Path]) -> str:
    """SHA-256 of the bytes of a file, or of all files of a folder, in the order of their names."""
    found = hashlib.sha256()
    for file in files_of(path):
        try:
            with open(file, "rb") as stream:
                while block := stream.read(BLOCK_BYTES):
                    found.update(block)
        except OSError as problem:
            raise FileError(f"cannot read {file!r}: {reason(problem)}") from None
    return found.hexdigest()


def _paths(source: Path | Sequence[Path] | None) -> Sequence[Path]:
    if source is None:
        return ()
    return (source,) if isinstance(source, str | os.PathLike) else source


def _title(findings: Findings, origin: Origin) -> str:
    """What is shown; a network that was given is not learnt from the rows beside it."""
    is_given = findings.fit is None
    if origin.source is None:
        return "A Gaussian network" if is_given else "A Gaussian network, learnt"
    paths = _paths(origin.source)
    source = os.path.basename(file_name(paths[0])) if len(paths) == 1 else f"{len(paths)} files"
    return f"A Gaussian network, {'beside the rows of' if is_given else 'learnt from'} {source}"


def _again(findings: Findings, origin: Origin) -> str:
    """How to get the same again."""
    fit = findings.fit
    facts = [
        ("gaussnet", f"{__version__}, {kernels.backend} kernels"),
        ("Python, NumPy", f"{platform.python_version()}, {np.__version__}"),
    ]
    if fit is not None:
        facts.append(("method, scale", f"{fit.method!r}, {fit.scale!r}"))
        facts.append(("random numbers", "none"))
    if origin.source is not None:
        facts.append(("data", origin.words))
        facts.append(("SHA-256 of the data", hash_source(origin.source)))
    if findings.rows_hash:
        facts.append(("SHA-256 of the rows", findings.rows_hash))
    if origin.date is not None:
        facts.append(("date", origin.date))
    lines = "".join(
        f'<tr><th scope="row" class="text">{text(name)}</th>'
        f'<td class="text">{text(value)}</td></tr>'
        for name, value in facts
    )
    return (
        "<h2>How to get the same result again</h2>"
        f"<pre>{text(origin.command or _python_call(findings))}</pre>"
        f'<div class="wide"><table class="facts-table"><tbody>{lines}</tbody></table></div>'
        f"{HASHED if findings.rows_hash else ''}"
        f"<details><summary>The graph</summary><pre>"
        f"{text(findings.network.dag.without_factors().to_formulas())}</pre></details>"
    )


def _python_call(findings: Findings) -> str:
    """Lines of Python that give the same fit from the same rows, and its report."""
    fit = findings.fit
    if fit is None:
        codes = f", missing_values={list(findings.codes)}" if findings.codes else ""
        return f"gn.write_report(network, path, data=rows{codes})"
    settings = [f"gn.{fit.method!r}", f"scale=gn.{fit.scale!r}", f"intercept={fit.intercept}"]
    if fit.split is not None:
        settings.append(f"split={fit.split}")
    if fit.data is not None:
        settings += _said_of_data(fit.data.options)
    return (
        f"{_python_graph(fit.dag)}fit = gn.fit(rows, dag, {', '.join(settings)})\n"
        "gn.write_report(fit, path)"
    )


def _said_of_data(options: ReadOptions) -> list[str]:
    """What a fit was told of its data; what was given by row has the name of its keyword."""
    found = [] if options.missing == "raise" else [f"missing={options.missing!r}"]
    if options.missing_values:
        found.append(f"missing_values={list(options.missing_values)}")
    for name in ("interventions", "groups", "clusters"):
        said = getattr(options.study, name)
        if said is not None:
            found.append(f"{name}={repr(said) if isinstance(said, str | dict) else name}")
    weights = options.study.weights
    if weights is not None:
        by = repr(weights.by) if isinstance(weights.by, str) else "weights"
        found.append(f"weights=gn.Weights({by}, {weights.kind!r})")
    return found


def _python_graph(dag: Dag) -> str:
    """The graph in Python, unless it is long; the page shows it below."""
    if len(dag) > MOST_IN_CODE:
        return ""
    nodes = f", nodes={list(dag.without_factors().nodes)}" if dag.has_column_order else ""
    levels = f".with_factors({dict(dag.factors)})" if dag.factors else ""
    return f"dag = gn.Dag.parse({dag.without_factors().to_formulas()!r}{nodes}){levels}\n"
