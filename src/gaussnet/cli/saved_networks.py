"""Commands about networks that are known: query one, compare two, list and import."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import gaussnet as gn
from gaussnet.cli.options import DEFAULT_METHOD
from gaussnet.cli.printing import (
    console,
    in_shell_words,
    number,
    print_json,
    print_table,
    progress,
    shown,
)
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.errors import EstimationError, GaussnetError, NetworkError, SettingError
from gaussnet.files import suffix
from gaussnet.fitting.effects import effect_words, no_path
from gaussnet.graph.dag import counted
from gaussnet.methods.names import METHODS, method_named
from gaussnet.model.checks import level_values
from gaussnet.model.files import LearntHow, learnt_how
from gaussnet.model.inference.effects import has_path, stations
from gaussnet.model.seen import unlikely_values
from gaussnet.named_rows import did_you_mean
from gaussnet.report.explorer import check_explorer, choose_view
from gaussnet.report.markup import many
from gaussnet.tails import PValue

Values = dict[str, float | str]
"""Numbers by node, and levels by category."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Means and standard deviations of nodes, given values and interventions."""

    given: Values
    do: Values
    level: float
    nodes: tuple[tuple[str, float, float, float, float], ...]
    """Name, mean, standard deviation, and the ends of the interval; NaN for levels of a category,
    whose mean is a share."""
    warnings: tuple[str, ...] = ()
    """Of values far outside what was seen."""
    notes: tuple[str, ...] = ()
    """Of nodes that did not look Gaussian."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        heads = ("mean", "scale", "low", "high")
        nodes = {
            name: {
                head: None if np.isnan(one) else one for head, one in zip(heads, rest, strict=True)
            }
            for name, *rest in self.nodes
        }
        found = {"given": self.given, "do": self.do, "level": self.level, "nodes": nodes}
        more = {"warnings": list(self.warnings), "notes": list(self.notes)}
        return found | {name: texts for name, texts in more.items() if texts}


def parse_values(
    texts: list[str] | None,
    option: str,
    categories: Mapping[str, Sequence[str]] | None = None,
    nodes: Collection[str] = (),
) -> Values:
    """Values by node from texts such as "wet=2"; a name may hold "=".

    Those of categories, which have levels by name, are levels. `nodes` are those of the network, to
    say what was mistyped.

    Examples
    --------
    >>> parse_values(["wet=2", "a=b=-1e3", "fuel=Gas"], "--given", {"fuel": ("Diesel", "Gas")})
    {'wet': 2.0, 'a=b': -1000.0, 'fuel': 'Gas'}
    """
    values: Values = {}
    known = categories or {}
    for text in texts or ():
        named = [name for name in known if text.startswith(f"{name}=")]
        if named:
            name = max(named, key=len)
            value: float | str = text.removeprefix(f"{name}=").strip()
        else:
            name, equals, number = text.rpartition("=")
            try:
                value = float(number)
            except ValueError:
                equals = ""
            if not equals or not name:
                raise SettingError(_not_a_value(f"{option} {text!r}", name, known, nodes))
        if name in values:
            raise SettingError(f"got {option} twice for the node {name!r}: give it once")
        values[name] = value
    return values


def _not_a_value(
    given: str, name: str, categories: Mapping[str, Sequence[str]], nodes: Collection[str]
) -> str:
    """What to say of a text that gives no number, and whose name is no category."""
    expected = "a node and a number as in wet=2"
    if categories:
        category, levels = next(iter(categories.items()))
        expected += f", or a category and one of its levels as in {category}={levels[-1]}"
    if not name or not nodes or name in nodes:
        return f"got {given}, expected {expected}"
    what = "node or category" if categories else "node"
    meant = did_you_mean(name, [*nodes, *categories]) or "."
    return f"got {given}, but there is no {what} {name!r}{meant} Give {expected}"


def query_network(
    network: gn.GaussianNetwork, given: Values, do: Values, targets: list[str] | None, level: float
) -> Answer:
    """Intervene, condition."""
    from scipy.special import ndtri  # slow to import

    if not 0.0 < level < 1.0:
        raise SettingError(f"got --level {level}, expected a number between 0 and 1 such as 0.95")
    found = (network.do(do) if do else network).condition(given, targets=targets)
    # What was set does not vary, not even by rounding.
    fixed = level_values(network.dag, do, "intervention")
    was_set = [name in fixed for name in found.names]
    pairs = zip(found.names, found.mean.tolist(), strict=True)
    means = np.array([fixed.get(name, mean) for name, mean in pairs])
    scales = np.where(was_set, 0.0, np.sqrt(found.variances))
    reach = scales * float(ndtri(0.5 + 0.5 * level))
    is_open = np.array([name in network.dag.indicators for name in found.names]) & (scales > 0.0)
    reach[is_open] = np.nan
    columns = (means, scales, means - reach, means + reach)
    numbers = (column.tolist() for column in columns)
    answers = tuple(zip(found.names, *numbers, strict=True))
    varying = [name for name, scale in zip(found.names, scales, strict=True) if scale > 0.0]
    notes = _shape_notes(network, varying)
    return Answer(given, do, level, answers, _warnings(network, given, do), notes)


def _shape_notes(network: gn.GaussianNetwork, names: Sequence[str]) -> tuple[str, ...]:
    """A sentence on the nodes that did not look Gaussian in the rows learnt from."""
    seen, dag = network.seen, network.dag
    if seen is None or not seen.shapes:
        return ()
    shapes = {name: seen.shapes[dag.position(name)] for name in names if name not in dag.indicators}
    odd = [f"{shown(name)} ({shape})" for name, shape in shapes.items() if shape]
    if not odd:
        return ()
    return (
        f"intervals are those of a Gaussian law, which the rows learnt from did not look like in "
        f"{', '.join(odd)}",
    )


def _warnings(network: gn.GaussianNetwork, given: Values, do: Values) -> tuple[str, ...]:
    """A sentence on each value that lies far outside what was seen."""
    rows = np.full((2, len(network.dag)), np.nan)
    for row, values in zip(rows, (given, do), strict=True):
        for node, value in level_values(network.dag, values, "evidence").items():
            row[network.dag.position(node)] = value
    far = unlikely_values(network, rows)
    return tuple(f"{value.said()}: the answer extrapolates" for value in far)


def print_answer(answer: Answer) -> None:
    """Print the answer as a table."""
    parts = [f"{shown(name)} = {_value(value)}" for name, value in answer.given.items()]
    parts += [f"do({shown(name)} = {_value(value)})" for name, value in answer.do.items()]
    title = f"Given {', '.join(parts)}" if parts else "Without evidence"
    heads = ("node", "mean", "standard deviation", f"low ({answer.level:.4g})", "high")
    for warning in answer.warnings:
        console().print(f"warning: {warning}", soft_wrap=True)
    print_table(title, heads, answer.nodes)
    for note in answer.notes:
        console().print(f"note: {note}", soft_wrap=True)


def _value(value: float | str) -> str:
    return shown(value) if isinstance(value, str) else number(value)


@dataclass(frozen=True, eq=False)
class TotalEffect:
    """What one unit more of a node, set from outside, adds to another."""

    cause: str
    target: str
    via: tuple[str, ...]
    value: float
    error: gn.Effect | None
    """With its standard error, where a summary knows one."""
    paths: tuple[gn.PathEffect, ...] | None
    """The strongest first; None if there are too many to list."""
    note: str = ""
    """Why it is 0, or why there is no interval."""
    method: str = ""
    """By which the network was learnt, if the file says it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found: dict[str, Any] = {
            "cause": self.cause,
            "target": self.target,
            "via": list(self.via),
            "effect": self.value,
            **({"method": self.method} if self.method else {}),
        }
        if self.error is not None:
            names = ("standard_error", "level", "low", "high")
            found |= {name: getattr(self.error, name) for name in names}
            p_value = self.error.p_value
            found["p_value"] = None if math.isnan(p_value) else p_value
        if self.paths is not None:
            paths = [{"nodes": list(one.nodes), "effect": one.effect} for one in self.paths]
            found["paths"] = paths
        return found | ({"note": self.note} if self.note else {})


NO_ERRORS = "no interval: a network file holds no standard errors. "


def no_errors(how: LearntHow) -> str:
    """Why a saved network gives no interval, and a command that learns as it was learnt.

    Examples
    --------
    >>> print(no_errors(LearntHow("robust", (-999.0,))).removeprefix(NO_ERRORS))
    Ask a summary of the rows instead, made by gaussnet update all.npz rows.csv --dag graph.txt \
--method robust --missing likelihood --missing-values=-999
    """
    name = how.method or DEFAULT_METHOD
    summarized_by = method_named(name).summarized_by if name in METHODS else None
    if summarized_by is None:
        return (
            f"{NO_ERRORS}The network was learnt by {shown(name)}, for which there are no "
            "summaries: ask fit.effect in Python, or learn by --method robust"
        )
    options = ["--dag graph.txt"]
    if summarized_by != DEFAULT_METHOD:
        options.append(f"--method {summarized_by}")
    if method_named(summarized_by).keeps_sample:
        options.append("--missing likelihood")
    elif how.missing_values:
        options.append("--missing drop-rows")
    if how.missing_values:
        codes = ",".join(f"{code:.15g}" for code in how.missing_values)
        options.append(f"--missing-values={codes}")
    return (
        f"{NO_ERRORS}Ask a summary of the rows instead, made by gaussnet update all.npz rows.csv "
        f"{' '.join(options)}"
    )


def find_total_effect(
    model: Path, cause: str, target: str, via: list[str] | None, level: float
) -> TotalEffect:
    """The effect in a saved network; with its error and method if a summary knows them."""
    found = read_model(model)
    asked = (cause, target, tuple(via or ()))
    if isinstance(found, gn.Fit):
        return replace(_total_effect(found, asked, level), method=found.method.name)
    return _total_effect(found, asked, level, no_errors(learnt_how(model)))


def _total_effect(
    found: gn.GaussianNetwork | gn.Fit,
    asked: tuple[str, str, tuple[str, ...]],
    level: float,
    note: str = "",
) -> TotalEffect:
    """The effect of a cause on a target through some nodes; the note says why it has no error."""
    cause, target, stops = asked
    error = None
    network = found.network if isinstance(found, gn.Fit) else found
    stations(network.dag, cause, target, stops or None)  # names that there are not end here
    if isinstance(found, gn.Fit):
        try:
            error = found.effect(cause, target, via=stops or None, level=level)
        except EstimationError as problem:
            note = f"no interval: {in_shell_words(str(problem))}"
    if not has_path(network.dag, stations(network.dag, cause, target, stops or None)):
        return TotalEffect(cause, target, stops, 0.0, error, (), no_path(cause, target, stops))
    value = network.effect(cause, target, via=stops or None)
    try:
        paths = network.paths(cause, target)
    except GaussnetError:  # too many to list
        return TotalEffect(cause, target, stops, value, error, None, note)
    through = tuple(one for one in paths if set(stops) <= set(one.nodes))
    return TotalEffect(cause, target, stops, value, error, through, note)


def print_effect(found: TotalEffect) -> None:
    """Print the effect, its error if there is one, and its paths."""
    way = effect_words(shown(found.cause), shown(found.target), map(shown, found.via))
    page = console()
    how = f" (network fitted by {found.method})" if found.method and found.paths != () else ""
    page.print(f"{way}: {number(found.value)}{how}")
    if found.note:
        page.print(f"note: {found.note}")
    if found.error is not None and found.paths != ():
        low, high = map(number, found.error.interval)
        page.print(
            f"standard error {number(found.error.standard_error)}, "
            f"{100 * found.error.level:.4g} % interval {low} to {high}, "
            f"p-value {PValue(found.error.p_value)!s}"
        )
    lines = [(" -> ".join(map(shown, one.nodes)), one.effect) for one in found.paths or ()]
    print_table("Paths, the strongest first", ("path", "effect"), lines)


def read_model(path: Path) -> gn.GaussianNetwork | gn.Fit:
    """A saved network, or what a saved summary gives."""
    if suffix(path) == ".npz":
        return gn.solve(gn.load_summary(path))
    return gn.read_network(path)


def with_known_codes(files: LabelledRows, model: Path) -> tuple[LabelledRows, tuple[str, ...]]:
    """The rows with the codes for missing values that the model knows, and a note of it.

    Codes that the command names go before them.
    """
    if files.codes:
        return files, ()
    known = gn.load_summary(model) if suffix(model) == ".npz" else learnt_how(model)
    if not known.missing_values:
        return files, ()
    listed = ", ".join(f"{code:g}" for code in known.missing_values)
    note = f"as the model says, {listed} stands for a missing value"
    return replace(files, codes=known.missing_values), (note,)


@dataclass(frozen=True, slots=True)
class Explored:
    """A what-if page that was written."""

    page: Path
    nodes: int
    shown: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        size = self.page.stat().st_size
        return {"page": str(self.page), "bytes": size, "nodes": self.nodes, "shown": self.shown}


def explore_network(
    model: Path, out: Path, around: list[str] | None, level: float, title: str | None
) -> Explored:
    """Read a network and write its what-if page."""
    check_explorer(out)
    network = gn.read_network(model)
    chosen = around or None
    gn.write_explorer(network, out, around=chosen, level=level, title=title, source=str(model))
    return Explored(out, len(network.dag), len(choose_view(network.dag, chosen).shown))


def print_explored(found: Explored) -> None:
    """Print where the page is, and whether it shows all."""
    nodes = many(found.nodes, "node")
    part = nodes if found.shown == found.nodes else f"{found.shown:,} of {nodes}"
    console().print(f"what-if page of {part} written to {found.page}", soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Distances of two networks, and each node's part in the divergence from P to Q."""

    kl: float
    reverse_kl: float
    hellinger: float
    variation: gn.TotalVariation
    by_node: tuple[tuple[str, float], ...] | None
    """Worst first; None where the networks have different edges."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "kl": self.kl,
            "reverse_kl": self.reverse_kl,
            "hellinger": self.hellinger,
            "total_variation": {
                "estimate": self.variation.estimate,
                "interval": list(self.variation.interval),
                "lower": self.variation.lower,
                "upper": self.variation.upper,
            },
            "kl_by_node": None if self.by_node is None else dict(self.by_node),
        }


def compare_networks(one: Path, other: Path, samples: int, seed: int) -> Comparison:
    """Read two networks over the same nodes and measure how far apart they are."""
    p, q = gn.read_network(one), gn.read_network(other)
    with progress(1) as tell:
        tell("comparing")
        return Comparison(
            gn.kl_divergence(p, q),
            gn.kl_divergence(q, p),
            gn.hellinger(p, q),
            gn.total_variation(p, q, samples=samples, seed=seed),
            _worst_first(p, q),
        )


def print_comparison(found: Comparison) -> None:
    """Print the distances."""
    low, high = found.variation.interval
    print_table(
        "P is the first network, Q the second",
        ("distance", "value"),
        (
            ("KL(P, Q)", found.kl),
            ("KL(Q, P)", found.reverse_kl),
            ("Hellinger", found.hellinger),
            ("total variation", found.variation.estimate),
        ),
    )
    page = console()
    page.print(f"total variation is between {number(low)} and {number(high)} (95 %)")
    if found.by_node is None:
        page.print("the networks have different edges, so KL(P, Q) is no sum over nodes")
    else:
        print_table("Parts of KL(P, Q), worst first", ("node", "KL"), found.by_node)


def _worst_first(
    p: gn.GaussianNetwork, q: gn.GaussianNetwork
) -> tuple[tuple[str, float], ...] | None:
    try:
        parts = gn.kl_by_node(p, q)
    except NetworkError:  # the same names, but not the same edges
        return None
    return tuple(sorted(parts.items(), key=lambda part: -part[1]))


def print_networks(as_json: bool) -> None:
    """Print the names of the networks and their sizes."""
    sizes = [(name, gn.networks.load(name).dag) for name in gn.networks.names()]
    entries: list[dict[str, Any]] = [
        {"name": name, "nodes": len(dag), "edges": len(dag.edges), "parents": dag.max_in_degree}
        for name, dag in sizes
    ]
    if as_json:
        print_json(entries)
        return
    heads = ("name", "nodes", "edges", "parents, at most")
    lines = (tuple(entry.values()) for entry in entries)
    print_table("Networks of gaussnet.networks.load (bnlearn, CC BY-SA 3.0)", heads, lines)


def import_rds(file: Path, out: Path, as_json: bool) -> None:
    """Read a Gaussian network of bnlearn and save it as a model file."""
    network = gn.read_network(file)
    gn.write_network(network, out)
    nodes, edges = len(network.dag), len(network.dag.arrows)
    if as_json:
        print_json({"nodes": nodes, "edges": edges, "out": str(out)})
        return
    sizes = f"{counted(nodes, 'node')} and {counted(edges, 'edge')}"
    console().print(f"{sizes} written to {out}", soft_wrap=True)
