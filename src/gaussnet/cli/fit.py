"""`gaussnet fit` and `gaussnet report`: from files of rows and a graph to a network and a page."""

import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np

import gaussnet as gn
from gaussnet.cli.fields import contamination_fields, graph_fields, residual_fields
from gaussnet.cli.options import read_graph
from gaussnet.cli.printing import Steps, console, in_shell_words, print_table, progress
from gaussnet.data.codes import checked_codes
from gaussnet.data.column_order import in_column_order
from gaussnet.data.factors import with_factors
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.data.missing import Missing
from gaussnet.data.paths import STANDARD_INPUT, files_of
from gaussnet.data.sources import open_data
from gaussnet.errors import EstimationError, GaussnetError, SettingError
from gaussnet.files import check_folder
from gaussnet.fitting.coefficient_tables import coefficient_p_values
from gaussnet.fitting.notes import grouped_notes
from gaussnet.fitting.repetitions import fewest_repetitions, shown_p_values
from gaussnet.fitting.text import heading
from gaussnet.fitting.uncertainty import StandardErrors
from gaussnet.fitting.verdicts import Verdict
from gaussnet.graph.dag import counted
from gaussnet.methods.names import method_named
from gaussnet.model.checks import check_level
from gaussnet.tails import PValue

INTERVAL_LEVEL = 0.95
"""Of the intervals that are printed."""


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """The columns that say something of the rows beside their values."""

    interventions: str | None = None
    groups: str | None = None
    clusters: str | None = None
    weights: str | None = None
    weights_kind: str | None = None
    shifts: str | None = None

    def __post_init__(self) -> None:
        if (self.weights is None) != (self.weights_kind is None):
            raise SettingError(
                "got one of --weights and --weights-kind, expected both: say by precision, "
                "frequency or sampling what the weights mean"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """As `gaussnet.fit` takes them."""
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("interventions", "clusters", "groups", "shifts")
            if getattr(self, name) is not None
        }
        if self.weights is not None:
            found["weights"] = gn.Weights(self.weights, cast(Any, self.weights_kind))
        return found


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What to learn from what, and how."""

    data: str | list[str]
    graph: str
    method: str = "least-squares"
    scale: str | None = None
    intercept: bool = True
    missing: str = "raise"
    allow_singular: bool = False
    out: Path | None = None
    cluster: str | None = None
    missing_values: str | None = None
    study: StudyRequest = field(default_factory=StudyRequest)
    columns: str | None = None
    """Names of the columns of a .npy file, with commas between them."""
    roots: str = "independent"
    levels: list[str] | None = None
    """Categories with their levels, the reference first, as "fuel=Diesel,Gas"."""
    verbose: bool = False
    bootstrap: int | None = None
    """Repetitions of the bootstrap that standard errors come from; None for the method's own."""

    def __post_init__(self) -> None:
        fewest = fewest_repetitions(INTERVAL_LEVEL)
        if self.bootstrap is not None and self.bootstrap < fewest:
            raise SettingError(
                f"got --bootstrap {self.bootstrap}, expected at least {fewest} for intervals of "
                f"level {INTERVAL_LEVEL:g}"
            )
        if self.out is not None:
            from gaussnet.model.files import check_ending  # much to import

            check_ending(self.out)
            check_folder(self.out)
        for name in ("groups", "shifts"):
            if self.cluster is not None and getattr(self.study, name) is not None:
                raise SettingError(f"got --{name} with --cluster: fit without the cluster")


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Where the report goes, and what it says besides the fit."""

    path: Path
    title: str | None = None
    date: str | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        from gaussnet.report.page import check_report  # much to import, for reports alone

        check_report(self.path)
        check_folder(self.path)
        check_level(self.level)


class Errors(NamedTuple):
    """Standard errors and p-values of a fit; NaN where there are none."""

    standard: StandardErrors
    p_values: dict[tuple[str, str], float]
    """By edge (parent, child)."""
    intervals: Mapping[tuple[str, str], tuple[float, float]]
    """Of level 0.95, by edge."""
    test: str = ""
    """By which the p-values are found."""
    notes: tuple[str, ...] = ()
    """Why there are none."""
    kind: str | None = None
    """Of which kind the standard errors are."""
    defined: "gn.ResultTable | None" = None
    """Quantities that the text of the graph defines, with theirs."""

    @classmethod
    def of(cls, fit: gn.Fit, repetitions: int | None = None) -> "Errors":
        """Those of a fit, or unknown ones and why; by the bootstrap if repetitions are given."""
        kind = None if repetitions is None else "bootstrap"
        try:
            found = fit.uncertainty(kind, repetitions=repetitions)
        except EstimationError as problem:
            counts = (len(fit.dag.edges), len(fit.dag), len(fit.dag))
            unknown = StandardErrors(fit.dag, *(np.full(count, np.nan) for count in counts))
            edges = fit.dag.arrows
            blank = dict.fromkeys(edges, np.nan), dict.fromkeys(edges, (np.nan, np.nan))
            return cls(unknown, *blank, "", (str(problem),))
        p_values, words = coefficient_p_values(fit, found)
        own = shown_p_values(p_values[~fit.dag.is_covariance], repetitions)
        if repetitions is not None:
            words = f"standard errors: bootstrap, {repetitions:,} repetitions, seed 0; {words}"
        by_edge = dict(zip(fit.dag.arrows, own, strict=True))
        intervals = found.confidence_intervals.coefficients
        errors = cls(found.standard_errors, by_edge, intervals, words, kind=found.kind)
        if not fit.dag.definitions:
            return errors
        try:
            return errors._replace(defined=fit.defined(kind=kind, repetitions=repetitions))
        except GaussnetError as problem:
            return errors._replace(notes=(str(problem),))


@dataclass(frozen=True, slots=True)
class Learnt:
    """A fit, its standard errors, and where the network went."""

    fit: gn.Fit
    errors: Errors
    out: Path | None
    ignored: tuple[str, ...] = ()
    report: Path | None = None
    verdict: Verdict | None = None
    """What to make of the fit."""
    listed: tuple[Path, int] | None = None
    """Where all flagged cells were written, and how many they are."""

    @property
    def summary(self) -> list[str]:
        """What to make of the fit, in sentences."""
        found = () if self.verdict is None else self.verdict.summary.sentences
        return [in_shell_words(sentence) for sentence in found]

    @property
    def notes(self) -> list[str]:
        """What is worth knowing of the fit, and of errors that could not be found."""
        found = [*(str(note) for note in self.fit.notes), *self.errors.notes]
        return [in_shell_words(note) for note in found]

    @property
    def printed_notes(self) -> list[str]:
        """The same, with one note where several nodes would have the same."""
        found = grouped_notes((*self.fit.notes, *self.errors.notes))
        return [in_shell_words(note) for note in found]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        network, errors = self.fit.network, self.errors.standard
        of_edges, of_constants = errors.coefficients, errors.intercepts
        of_variances = errors.variances
        nodes = [
            {
                "name": node,
                "intercept": network.intercepts[node],
                "intercept_error": of_constants[node],
                "variance": network.variances[node],
                "variance_error": of_variances[node],
                **self._used(node),
                "parents": {
                    parent: {
                        "coefficient": network.coefficients[parent, node],
                        "error": of_edges[parent, node],
                        "p_value": self.errors.p_values[parent, node],
                        "interval": list(self.errors.intervals[parent, node]),
                    }
                    for parent in network.dag.parents(node)
                },
            }
            for node in network.dag.nodes
        ]
        pairs = network.covariances.items()
        covary = [{"first": a, "second": b, "covariance": value} for (a, b), value in pairs]
        return {
            "rows": self.fit.rows,
            "method": self.fit.method.name,
            "scale": self.fit.scale.name,
            "intercept": self.fit.intercept,
            "out": None if self.out is None else str(self.out),
            "report": None if self.report is None else str(self.report),
            "outliers_file": None if self.listed is None else str(self.listed[0]),
            "ignored": list(self.ignored),
            "summary": self.summary,
            "notes": self.notes,
            "errors": {"kind": self.errors.kind, "words": self.errors.test},
            "nodes": nodes,
            **({"covariances": covary} if covary else {}),
            **({} if self.errors.defined is None else {"defined": self.errors.defined.to_dicts()}),
            **self._verdict(),
            **self._flagged(),
        }

    def _used(self, node: str) -> dict[str, int]:
        """How many rows and values served a node."""
        report = self.fit.node(node)
        names = ("rows", "dropped", "flagged", "missing", "set_rows", "rank", "batches")
        return {name: getattr(report, name) for name in names}

    def _verdict(self) -> dict[str, Any]:
        """What the sentences say, in numbers."""
        if self.verdict is None:
            return {}
        nodes, test = self.fit.dag.nodes, None
        if self.fit.trimming is not None:
            test = self.fit.trimming.contamination
        return {
            "graph": graph_fields(*self.verdict.checked),
            "residuals": residual_fields(self.verdict.shapes, nodes),
            **({} if test is None else {"contamination": contamination_fields(test, nodes)}),
        }

    def _flagged(self) -> dict[str, Any]:
        """The flagged cells and their share by node, of a robust fit."""
        if self.fit.trimming is None:
            return {}
        found = self.fit.outliers()
        return {"outliers": found.to_dicts(), "flagged_shares": dict(found.shares)}


def run_fit(request: FitRequest, report: ReportRequest | None = None) -> Learnt:
    """Read, learn, and write the network and the report if files are named for them."""
    if report is not None and request.bootstrap is not None:
        raise SettingError(
            "got --bootstrap with --report, which has the method's own standard errors: ask for "
            "them one after the other"
        )
    with progress(3 if report is None else 4) as tell, _client(request.cluster) as client:
        fit, ignored = learn(request, tell, client)
        tell("finding standard errors")
        errors = Errors.of(fit, request.bootstrap)
        verdict = fit._verdict
        _ = verdict.summary, fit.notes  # both read rows: while the cluster is there
        if report is not None:
            tell("writing the report")
            _write_report(fit, request.data, report)
        if request.out is not None:
            fit.save_network(request.out)
    path = None if report is None else report.path
    return Learnt(fit, errors, request.out, ignored, path, verdict)


def learn(request: FitRequest, tell: Steps, client: Any = None) -> tuple[gn.Fit, tuple[str, ...]]:
    """Read rows and graph, and learn; also the columns that were ignored."""
    tell("reading")
    fit = _fitted(request, read_graph(request.graph), tell, client)
    if not request.allow_singular:
        require_determined(fit)
    return fit, fit.ignored


def _fitted(request: FitRequest, graph: gn.Dag, tell: Steps, client: Any = None) -> Any:
    """What `gaussnet.fit` gives."""
    more = request.study.settings
    by_path = client is not None or bool(more)
    if request.levels:
        graph = graph.with_factors(_levels(request.levels))
    if client is None:
        codes = missing_codes(request.missing_values) or ()
        _, graph = with_factors(request.data, graph, codes)
    given, dag = in_column_order(request.data, graph, split_columns(request.columns))
    data = given if by_path else open_data(given, dag.nodes, factors=dag.factors)
    method = method_named(request.method)
    if request.verbose:
        from gaussnet.cli.reading_plans import tell_plan, whole_values

        tell_plan(True, request.data, dag, method.passes, whole_values(method))
    tell("learning")
    return gn.fit(
        data,
        dag,
        request.method,
        scale=request.scale,
        intercept=request.intercept,
        missing=cast(Missing, request.missing),
        missing_values=missing_codes(request.missing_values),
        progress=tell.rows,
        client=client,
        roots=request.roots,
        **more,
    )


@dataclass(frozen=True, slots=True)
class LearntGroups:
    """Fits by group, and tests between the groups."""

    found: "gn.GroupFit"
    tests: "gn.EqualityTests"
    report: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "by": self.found.by,
            "report": None if self.report is None else str(self.report),
            "coefficients": self.found.table().to_dicts(),
            "tests": [one._asdict() for one in self.tests],
            "verdict": self.tests.verdict,
            "notes": [in_shell_words(note) for note in self.found.notes],
        }


@dataclass(frozen=True, slots=True)
class LearntShifts:
    """A network learnt from several conditions, what these shift, and where the network went."""

    found: "gn.ShiftFit"
    out: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "by": self.found.by,
            "rows": self.found.rows,
            "out": None if self.out is None else str(self.out),
            "coefficients": self.found.table().to_dicts(),
            "shifts": self.found.shift_table().to_dicts(),
            "verdict": self.found.verdict,
        }


def run_shifts(request: FitRequest) -> LearntShifts:
    """Read, learn from all conditions together, and write the network without any shift."""
    with progress(2) as tell:
        tell("reading")
        found = _fitted(request, read_graph(request.graph), tell)
    if request.out is not None:
        gn.write_network(found.network, request.out)
    return LearntShifts(found, request.out)


def print_shifts(learnt: LearntShifts) -> None:
    """Print the coefficients of all conditions, and what each condition shifts."""
    _print_tables(learnt.found.table(), learnt.found.shift_table())
    console().print(learnt.found.verdict)
    if learnt.out is not None:
        console().print(f"network without any shift written to {learnt.out}", soft_wrap=True)


def run_groups(request: FitRequest, report: ReportRequest | None = None) -> LearntGroups:
    """Read, learn group by group, compare the groups, and write the report if one is named."""
    with progress(3 if report is None else 4) as tell:
        tell("reading")
        found = _fitted(request, read_graph(request.graph), tell)
        tell("comparing the groups")
        tests = found.test_equal()
        if report is not None:
            tell("writing the report")
            _write_report(found, request.data, report)
        return LearntGroups(found, tests, None if report is None else report.path)


def print_groups(learnt: LearntGroups) -> None:
    """Print the coefficients of all groups, and in what these differ."""
    page = console()
    _print_tables(learnt.found.table(), learnt.tests.table())
    page.print(learnt.tests.verdict)
    if learnt.report is not None:
        page.print(f"report written to {learnt.report}", soft_wrap=True)
    for note in learnt.found.notes:
        page.print(f"note: {in_shell_words(note)}")


def _print_tables(*tables: "gn.ResultTable") -> None:
    for table in tables:
        lines = table.to_dicts()
        heads = tuple(lines[0]) if lines else ()
        rows = [["" if cell is None else cell for cell in line.values()] for line in lines]
        print_table(table.title, tuple(head.replace("_", " ") for head in heads), rows)


def missing_codes(text: str | None) -> list[float] | None:
    """The numbers of a list with commas."""
    if text is None:
        return None
    try:
        return [float(one) for one in text.split(",")]
    except ValueError:
        raise SettingError(
            f"got --missing-values {text!r}, expected numbers with commas between, such as -999,-99"
        ) from None


def _levels(texts: list[str]) -> dict[str, tuple[str, ...]]:
    """Levels by category from texts such as "fuel=Diesel,Gas"."""
    found = {}
    for text in texts:
        name, equals, levels = text.partition("=")
        if not equals:
            raise SettingError(
                f"got --levels {text!r}, expected a category and its levels, the reference first, "
                "as in fuel=Diesel,Gas"
            )
        found[name.strip()] = tuple(level.strip() for level in levels.split(","))
    return found


def split_columns(columns: str | None) -> list[str] | None:
    """The names in a list with commas between them.

    Examples
    --------
    >>> split_columns("rain, wet")
    ['rain', 'wet']
    """
    return None if columns is None else [name.strip() for name in columns.split(",")]


def labelled_rows(
    data: str | list[str], missing_values: str | None, columns: str | None, key: str | None = None
) -> LabelledRows:
    """Files of rows, with what the options say of them."""
    codes = checked_codes(missing_codes(missing_values))
    return LabelledRows(data, codes, split_columns(columns), key)


def _client(address: str | None) -> AbstractContextManager[Any]:
    if address is None:
        return nullcontext()
    from gaussnet.data.cluster import connect

    return connect(address)


def print_fit(learnt: Learnt) -> None:
    """Print what was learnt."""
    fit, errors, p_values = learnt.fit, learnt.errors.standard, learnt.errors.p_values
    intervals = learnt.errors.intervals
    of_edges, of_constants = errors.coefficients, errors.intercepts
    network = fit.network
    page = console()
    for sentence in learnt.summary:
        page.print(sentence)
    page.print(heading(fit))
    tests = learnt.errors.test
    print_table(
        f"Coefficients ({tests})" if tests else "Coefficients",
        ("parent", "child", "coefficient", "standard error", "p-value", "95% low", "95% high"),
        (
            (*edge, value, of_edges[edge], PValue(p_values[edge]), *intervals[edge])
            for edge, value in network.coefficients.items()
        ),
    )
    print_table(
        "Nodes",
        ("node", "intercept", "standard error", "noise sd"),
        (
            (node, network.intercepts[node], of_constants[node], scale)
            for node, scale in zip(network.dag.nodes, network.noise_scales.tolist(), strict=True)
        ),
    )
    if network.covariances:
        print_table(
            "Covariances",
            ("first", "second", "covariance"),
            ((one, other, value) for (one, other), value in network.covariances.items()),
        )
    _print_defined(learnt.errors.defined)
    _print_flagged(fit)
    for note in learnt.printed_notes:
        page.print(f"note: {note}")
    for what, path in (("network", learnt.out), ("report", learnt.report)):
        if path is not None:
            page.print(f"{what} written to {path}", soft_wrap=True)
    if learnt.listed is not None:
        path, count = learnt.listed
        page.print(f"{counted(count, 'flagged value')} written to {path}", soft_wrap=True)


def _print_defined(found: "gn.ResultTable | None") -> None:
    """Print the quantities that the text of the graph defines, if there are any."""
    if found is None:
        return
    heads = [column.heading for column in found.columns]
    print_table(f"{found.title} ({'; '.join(found.notes)})", heads, found.lines())


def _print_flagged(fit: gn.Fit) -> None:
    """Print how many values of each node a robust fit flagged."""
    if fit.trimming is None:
        return
    found = fit.outliers()
    counts = {node: fit.node(node).flagged for node in fit.dag.nodes}
    print_table(
        f"{counted(found.total, 'flagged value')} (--outliers PATH lists them)",
        ("node", "flagged", "share"),
        ((node, count, found.shares[node]) for node, count in counts.items() if count),
    )


def require_determined(fit: gn.Fit) -> None:
    """Refuse an answer that the rows do not determine, or that leaves a node without noise."""
    for node, variance in fit.network.variances.items():
        report = fit.node(node)
        if report.rank < report.regressors:
            raise EstimationError(
                f"the {report.rows} rows do not determine the {report.regressors} coefficients "
                f"of {node!r} (rank {report.rank}): give more rows, drop parents that are constant "
                "or collinear, or give --allow-singular for the solution of least norm"
            )
        if variance == 0.0:
            raise EstimationError(
                f"the node {node!r} is left without noise, because its column is constant, its "
                "parents determine it or the rows are too few: leave it out of the graph, or "
                "give --allow-singular"
            )


@dataclass(frozen=True, slots=True)
class Written:
    """What the report that was written is about."""

    network: gn.GaussianNetwork
    path: Path

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "report": str(self.path),
            "bytes": os.path.getsize(self.path),
            "nodes": len(self.network.dag),
            "edges": len(self.network.dag.arrows),
        }


def report_fit(request: FitRequest, target: ReportRequest) -> Written:
    """Learn from rows and a graph, and write the report of the fit."""
    with progress(3) as tell:
        fit, _ = learn(request, tell)
        tell("writing the report")
        _write_report(fit, request.data, target)
    return Written(fit.network, target.path)


def report_network(
    data: str | list[str],
    model: Path,
    target: ReportRequest,
    columns: str | None = None,
    missing_values: str | None = None,
) -> Written:
    """Write the report of a saved network on rows."""
    from gaussnet.model.files import learnt_how, learnt_rows  # much to import

    network = gn.read_network(model)
    rows = {
        "data": data,
        "columns": split_columns(columns),
        "missing_values": missing_codes(missing_values) or learnt_how(model).missing_values or None,
        "learnt_rows": learnt_rows(model),
    }
    with progress(1) as tell:
        tell("writing the report")
        _write_report(network, data, target, rows)
    return Written(network, target.path)


def _write_report(
    result: "gn.Fit | gn.GroupFit | gn.GaussianNetwork",
    source: str | list[str],
    target: ReportRequest,
    rows: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write the report of what was learnt from, or shown with, this file of rows."""
    import shlex

    gn.write_report(
        result,
        target.path,
        **rows,
        level=target.level,
        title=target.title,
        source=None if STANDARD_INPUT in files_of(source) else source,
        command=shlex.join(["gaussnet", *sys.argv[1:]]),
        date=target.date,
    )


def print_report(written: Written) -> None:
    """Print where the report is."""
    console().print(f"report written to {written.path}", soft_wrap=True)
