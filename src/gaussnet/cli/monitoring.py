"""`gaussnet check`: do new rows still follow a network, and is anything wrong with them?"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gaussnet as gn
from gaussnet.cli.arguments import UsageError
from gaussnet.cli.fields import contamination_fields, graph_fields, residual_fields
from gaussnet.cli.printing import console, in_shell_words, number, print_table, progress
from gaussnet.cli.reading_plans import tell_plan, whole_values
from gaussnet.cli.saved_networks import read_model, with_known_codes
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.errors import GaussnetError
from gaussnet.fitting.drift import drift_between, learn_new_rows
from gaussnet.fitting.residuals import ResidualShapes
from gaussnet.graph.dag import counted
from gaussnet.methods.robust.cellwise import Auto
from gaussnet.model.files import learnt_rows
from gaussnet.named_rows import did_you_mean
from gaussnet.tails import PValue

CONDITIONS = ("contaminated", "drift", "contradicted")


class Alarm(NamedTuple):
    """A condition that is met, and where."""

    condition: str
    columns: tuple[str, ...]
    """The worst first."""
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        named = {"condition": self.condition, "column": self.columns[0]}
        return named | {"columns": list(self.columns), "sentence": self.sentence}


@dataclass(frozen=True, eq=False)
class Checked:
    """What new rows say of a network."""

    rows: int
    level: float
    drift: gn.DriftCheck
    contamination: Any
    graph: gn.GraphCheck | None
    graph_reason: str
    """Why the graph was not tested."""
    shapes: ResidualShapes | None
    nodes: tuple[str, ...]
    fail_if: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """On values that may stand for a missing one."""

    @property
    def alarms(self) -> list[Alarm]:
        """The conditions that are met, whether anybody asked for them or not."""
        found = []
        contaminated = self.contamination.contaminated
        if contaminated:
            sentence = self.contamination.sentence
            found.append(Alarm("contaminated", contaminated, f"T{sentence[1:]}."))
        if self.drift.drifted:
            found.append(Alarm("drift", tuple(self.drift.columns), self.drift.verdict))
        if self.graph is not None and not self.graph.agrees:
            nodes = tuple(dict.fromkeys(edge.node for edge in self.graph.rejected))
            found.append(Alarm("contradicted", nodes, self.graph.verdict))
        return found

    @property
    def failures(self) -> list[Alarm]:
        """The alarms that were asked for."""
        return [alarm for alarm in self.alarms if alarm.condition in self.fail_if]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "rows": self.rows,
            "level": self.level,
            "drift": self.drift.to_dict(),
            "contamination": contamination_fields(self.contamination, self.nodes),
            "graph": graph_fields(self.graph, self.graph_reason),
            "residuals": residual_fields(self.shapes, self.nodes),
            "notes": list(self.notes),
            "alarms": [alarm.to_dict() for alarm in self.alarms],
            "failed": [alarm.condition for alarm in self.failures],
        }


def check_rows(
    files: LabelledRows,
    path: Path,
    missing: str,
    level: float,
    fail_if: Iterable[str],
    verbose: bool = False,
) -> Checked:
    """Learn from the new rows, and compare with the model."""
    wanted = _conditions(fail_if)
    model = read_model(path)
    files, known = with_known_codes(files, path)
    dag = model.dag
    counts = None if isinstance(model, gn.Fit) else learnt_rows(path)
    tell_plan(verbose, files.data, dag, Auto.passes, whole_values(Auto()))
    with progress(4) as tell:
        tell("reading")
        data = files.opened(dag)
        tell("learning from the new rows")
        settings = {
            "missing": missing,
            "missing_values": files.codes or None,
            "progress": tell.rows,
        }
        learnt = learn_new_rows(data, dag, level, **settings)
        tell("comparing with the model")
        drift = drift_between(model, counts, learnt, level)
        tell("testing the graph")
        graph, reason = _graph_check(learnt.fit, level, "contradicted" in wanted)
        shapes = learnt.fit.residual_shapes
    test, rows = learnt.contamination, learnt.fit.rows
    notes = tuple(in_shell_words(one.note(missing)) for one in learnt.fit.suspected_codes) + known
    return Checked(rows, level, drift, test, graph, reason, shapes, dag.nodes, wanted, notes)


def _conditions(given: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(word.strip() for one in given for word in one.split(",")))
    for word in found:
        if word not in CONDITIONS:
            raise UsageError(
                f"got --fail-if {word!r}, expected {', '.join(CONDITIONS[:-1])} or {CONDITIONS[-1]}"
                f"{did_you_mean(word, CONDITIONS)}"
            )
    return found


def _graph_check(fit: gn.Fit, level: float, is_wanted: bool) -> tuple[gn.GraphCheck | None, str]:
    """The test of the graph, or why there is none; that is an error if somebody waits for it."""
    try:
        return fit.check_graph(level=level), ""
    except GaussnetError as problem:
        if is_wanted:
            raise
        return None, str(problem)


def print_check(found: Checked) -> None:
    """Print the verdicts, and a table of what drifted."""
    page = console()
    page.print(f"{counted(found.rows, 'row')}, level {found.level:g}")
    page.print(f"drift: {found.drift.verdict}")
    for note in (*found.drift.notes, *found.notes):
        page.print(f"note: {note}")
    page.print(f"contamination: {_contamination_words(found)}")
    reason = f"Not tested: {in_shell_words(found.graph_reason)}."
    page.print(f"graph: {reason if found.graph is None else found.graph.verdict}")
    page.print(f"residuals: {_shape_words(found)}")
    drifted = [test for test in found.drift if test.adjusted <= found.level]
    print_table(
        "Drift",
        ("node", "quantity", "parent", "model", "now", "adjusted p-value"),
        (
            (t.node, t.quantity, t.parent or "", t.before, t.after, PValue(t.adjusted))
            for t in drifted
        ),
    )


def _contamination_words(found: Checked) -> str:
    test = found.contamination
    if found.rows <= test.dag.max_in_degree + 1 and not test.contaminated:
        return "The rows are too few to tell whether a value is wrong."
    return f"T{test.sentence[1:]}."


def _shape_words(found: Checked) -> str:
    if found.shapes is None:
        return "Not looked at: the rows are not in memory."
    odd = found.shapes.nodes("wild values", "skewed", "heavy tails", "light tails")
    if not odd:
        if found.shapes.are_few:
            return "The rows are too few to judge them."
        without = " without the flagged values" * bool(found.contamination.contaminated)
        return f"They look Gaussian{without}."
    worst = odd[0]
    far = number(float(found.shapes.worst[worst]))
    return (
        f"Those of {counted(len(odd), 'node')} are not Gaussian: look first at "
        f"{found.nodes[worst]}, {found.shapes.words(worst)} (furthest {far} sd of the noise)."
    )
