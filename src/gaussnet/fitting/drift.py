r"""Drift: do new rows follow the equations that a network was learnt with?

Least squares on the new rows gives each node's equation again. If nothing changed and noise is
Gaussian, then with :math:`K = (X^\top X)^{-1}` of both sets of rows, pooled variance
:math:`s^2` and :math:`\nu` degrees of freedom of each,

.. math:: \frac{\hat a_1 - \hat a_0}{s \sqrt{K_0 + K_1}} \sim t_{\nu_0 + \nu_1}, \qquad
          s_1^2 / s_0^2 \sim F_{\nu_1, \nu_0},

exactly, and likewise for the mean of the new residuals at the model's equation. Of a column of 0
and 1 without parents, as the levels of a category are, the share of rows is tested instead, exactly
(Fisher): that a rare level is absent on a small day is no drift. A network of which nobody knows
from how many rows it was learnt is taken as certain. P-values are Holm's over all nodes:
with a chance of `level`, at most, anything is called drift where nothing drifted.

Wrong cells are no drift: where the new rows look contaminated (`gaussnet.Auto`), the equations are
those of the robust method, with its errors.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gaussnet import display
from gaussnet.data.missing import Missing
from gaussnet.errors import SettingError
from gaussnet.fitting.equation_changes import (
    COEFFICIENT,
    MEAN,
    MOST_UNITS,
    ROUND_FACTORS,
    SHARE,
    SPREAD,
    Side,
    UnitChange,
    best_units,
    differences,
    shared_point,
)
from gaussnet.fitting.learn import fit as learn
from gaussnet.fitting.residuals import excess_kurtosis
from gaussnet.fitting.result import Fit
from gaussnet.fitting.tables import Column, Format, ResultTable
from gaussnet.fitting.text import shown
from gaussnet.graph.dag import Dag, counted, shorten
from gaussnet.methods.robust.cellwise import Auto
from gaussnet.methods.robust.contamination import ContaminationTest
from gaussnet.methods.standard_errors import adjusted
from gaussnet.model.checks import check_level
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray

KINDS: tuple[Format, ...] = ("text", "text", "text", "number", "number", "p-value", "p-value")


class DriftTest(NamedTuple):
    """One quantity of a node's equation, as the model has it and as the new rows have it."""

    node: str
    quantity: str
    """"mean of residuals", "noise sd" or "coefficient"; of a column of 0 and 1 without parents, as
    the levels of a category are, "share of rows"."""
    parent: str | None
    """Whose coefficient it is; None for the others."""
    before: float
    after: float
    p_value: float
    adjusted: float
    """P-value that allows for the number of tests."""


@dataclass(frozen=True, eq=False, repr=False)
class DriftCheck:
    """What changed since a network was learnt; iterating gives `DriftTest` values.

    Examples
    --------
    >>> import gaussnet as gn
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]"), seed=0)
    >>> fit = gn.fit(truth.sample(2_000, seed=1), truth.dag)
    >>> today = truth.sample(500, seed=2)
    >>> print(gn.check_drift(fit, today).verdict)
    Nothing drifted at level 0.01 (Holm, 8 tests).
    >>> today[:, 1] *= 1_000.0
    >>> print(gn.check_drift(fit, today).verdict)
    The units of b may have changed: its values are 1000 times what the model expects.
    """

    level: float
    tests: tuple[DriftTest, ...]
    """Smallest p-values first, with the changes of units undone."""
    units: tuple[UnitChange, ...]
    """Columns whose units may have changed."""
    columns: tuple[str, ...]
    """Nodes that drifted: those of `units` first, then what these do not explain."""
    notes: tuple[str, ...] = ()

    @property
    def drifted(self) -> bool:
        """Whether anything drifted."""
        return bool(self.columns)

    @property
    def verdict(self) -> str:
        """What the tests say, in one or two sentences."""
        if not self.tests:
            return "The rows are too few to tell whether anything drifted."
        how = f"at level {self.level:g} (Holm, {counted(len(self.tests), 'test')})"
        if not self.columns:
            return f"Nothing drifted {how}."
        parts = [_unit_words(one) for one in self.units]
        rest = self.columns[len(self.units) :]
        if rest:
            names = shorten([shown(name) for name in rest])
            worst = next(test for test in self.tests if test.node == rest[0])
            numbers = f"{worst.before:.4g} before, {worst.after:.4g} now"
            parts.append(f"Drift {how} in {names}: look first at the {_where(worst)}, {numbers}.")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "drifted": self.drifted,
            "level": self.level,
            "columns": list(self.columns),
            "units": [one._asdict() for one in self.units],
            "tests": [one._asdict() for one in self.tests],
            "notes": list(self.notes),
            "verdict": self.verdict,
        }

    def table(self) -> ResultTable:
        """The tests as a table."""
        columns = tuple(
            Column(name, name.replace("_", " "), [_cell(test[place]) for test in self.tests], kind)
            for place, (name, kind) in enumerate(zip(DriftTest._fields, KINDS, strict=True))
        )
        return ResultTable("Drift", columns, self.notes)

    def __len__(self) -> int:
        return len(self.tests)

    def __iter__(self) -> Iterator[DriftTest]:
        return iter(self.tests)

    def __repr__(self) -> str:
        return f"DriftCheck({counted(len(self), 'test')}, {len(self.columns)} nodes drifted)"

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.table()}"


def _cell(value: str | float | None) -> str | float:
    return "" if value is None else value


def _where(test: DriftTest) -> str:
    """What a test is about, in words."""
    node = shown(test.node)
    if test.quantity == SHARE:
        return f"share of the rows with {node} = 1"
    of_parent = "" if test.parent is None else f" of {shown(test.parent)}"
    return f"{test.quantity}{of_parent} in the equation of {node}"


def _unit_words(change: UnitChange) -> str:
    name = shown(change.column)
    if change.factor == 1.0:
        where = "above" if change.shift > 0.0 else "below"
        how = f"{abs(change.shift):.4g} {where} what the model expects"
    else:
        plus = "" if change.shift == 0.0 else f", plus {change.shift:.4g}"
        is_round = change.factor in ROUND_FACTORS
        factor = f"{change.factor:.10g}" if is_round else f"about {change.factor:.3g}"
        how = f"{factor} times what the model expects{plus}"
    return f"The units of {name} may have changed: its values are {how}."


def check_drift(  # noqa: PLR0913 (every setting is one keyword)
    model: GaussianNetwork | Fit,
    data: Any,
    *,
    rows: int | Mapping[str, int] | None = None,
    level: float = 0.01,
    missing: Missing = "drop-by-node",
    missing_values: Any = None,
    columns: Iterable[object] | None = None,
) -> DriftCheck:
    """Whether new rows follow the equations that a network was learnt with.

    For each node the mean of the residuals, the standard deviation of the noise and every
    coefficient are compared, and for each level of a category but the reference its share of the
    rows; p-values are adjusted by Holm's method, so that with a chance of `level` at most anything
    is called drift where nothing drifted. A column whose values are all multiplied or shifted, as
    if its units had changed, is told of first. Wrong cells are no drift: if the new rows look
    contaminated, the robust method finds their equations. Rows are taken as independent, with noise
    of one variance.

    Parameters
    ----------
    model
        A fit, whose own uncertainty is allowed for, or a network.
    data
        New rows, as in `gaussnet.fit` (as are `missing`, `missing_values` and `columns`), or a fit
        to them.
    rows
        How many rows the network was learnt from, for all nodes or by node; a network is taken as
        certain if nobody says it.
    level
        The chance of any alarm where nothing drifted.

    Examples
    --------
    >>> import gaussnet as gn
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]"), seed=0)
    >>> today = truth.sample(500, seed=1)
    >>> gn.check_drift(truth, today).drifted
    False
    >>> today[:, 2] += 1.0
    >>> gn.check_drift(truth, today).columns
    ('c',)
    """
    check_level(level, 0.01)
    if isinstance(data, Fit):
        if missing_values is not None or columns is not None:
            raise SettingError(
                "got missing_values or columns with a fit to new rows, which needs neither: "
                "leave them out, or give the rows"
            )
        new = NewRows(data)
    else:
        settings = {"missing": missing, "missing_values": missing_values, "columns": columns}
        new = learn_new_rows(data, _graph_of(model), level, **settings)
    return drift_between(model, rows, new, level)


class NewRows(NamedTuple):
    """What was learnt from new rows."""

    fit: Fit
    """By least squares, or by the robust method if the rows look contaminated."""
    contamination: ContaminationTest | None = None
    """Whether they do; None if nobody looked."""


def learn_new_rows(data: Any, dag: Dag, level: float, **settings: Any) -> NewRows:
    """Least squares on new rows, or the robust method if they look contaminated.

    The robust method alone would do for both, but it flags some right values of few rows, so that
    tests of its variances are not exact.
    """
    robust = learn(data, dag, Auto(level=level), **settings)
    test = robust.contamination
    return NewRows(robust if test.contaminated else learn(data, dag, **settings), test)


def drift_between(
    model: GaussianNetwork | Fit, rows: int | Mapping[str, int] | None, new: NewRows, level: float
) -> DriftCheck:
    """What drifted from a model to new rows."""
    before, notes = _model_side(model, rows)
    _check_same_graph(before.dag, new.fit.dag)
    if new.contamination is not None and new.contamination.contaminated:
        notes += ("the rows look contaminated: their equations are those of the robust method",)
    return compare(before, Side.of_fit(new.fit), level, excess_kurtosis(new.fit), notes)


def _graph_of(model: Any) -> Dag:
    if not isinstance(model, GaussianNetwork | Fit):
        raise SettingError(
            f"got a {type(model).__name__}, expected a gaussnet.Fit or a gaussnet.GaussianNetwork"
        )
    return model.dag


def _model_side(
    model: GaussianNetwork | Fit, rows: int | Mapping[str, int] | None
) -> "tuple[Side, tuple[str, ...]]":
    if isinstance(model, Fit):
        if rows is not None:
            raise SettingError("got rows for a fit, which knows its rows: leave rows out")
        return Side.of_fit(model), ()
    _graph_of(model)
    if rows is None:
        note = (
            "the model does not say from how many rows it was learnt: it is taken as certain, so "
            "that one learnt from few rows looks like drift"
        )
        return Side.of_network(model, np.full(len(model.dag), np.inf)), (note,)
    return Side.of_network(model, _row_counts(rows, model.dag)), ()


def _row_counts(rows: int | Mapping[str, int], dag: Dag) -> FloatArray:
    by_node = rows if isinstance(rows, Mapping) else dict.fromkeys(dag.nodes, rows)
    lacking = [node for node in dag.nodes if node not in by_node]
    try:
        counts = np.array([by_node.get(node, 1) for node in dag.nodes], dtype=np.float64)
    except (TypeError, ValueError):  # no numbers
        counts = np.zeros(len(dag))
    if lacking or not (counts >= 1.0).all():
        raise SettingError(
            f"got rows={rows!r:.60}, expected the number of rows that the network was learnt from, "
            "of 1 or more for every node"
        )
    return counts


def _check_same_graph(before: Dag, after: Dag) -> None:
    if before.nodes != after.nodes or before.edges != after.edges:
        raise SettingError(
            "the model and the fit to new rows have other graphs: fit the new rows with the graph "
            "of the model, in its order of nodes"
        )


def compare(
    before: Side,
    after: Side,
    level: float,
    kurtosis: FloatArray,
    notes: tuple[str, ...] = (),
) -> DriftCheck:
    """Tests of all quantities, after changes of units are undone as far as these explain drift."""
    nodes = range(len(before.dag))
    found = differences(before, after, nodes, kurtosis)
    smallest = level / max(len(found), 1)
    units: list[UnitChange] = []
    while len(units) < MOST_UNITS:
        best = best_units(before, after, found, smallest, kurtosis)
        if best is None:
            break
        units.append(best[0])
        after = best[1]
        found = differences(before, after, nodes, kurtosis)
    p_values = np.array([one.p_value for one in found])
    corrected = adjusted(p_values, "holm")
    names = before.dag.nodes
    tests = [
        DriftTest(
            names[one.node],
            one.quantity,
            None if one.parent is None else names[one.parent],
            one.before,
            one.after,
            one.p_value,
            float(corrected[place]),
        )
        for place, one in enumerate(found)
    ]
    tests.sort(key=lambda test: (test.p_value, -abs(test.after - test.before)))
    drifted = [one.column for one in units]
    drifted += [test.node for test in tests if test.adjusted <= level]
    apart = [names[node] for node in nodes if shared_point(before, after, node) is None]
    notes += _untested(before.dag, tests, apart)
    return DriftCheck(
        float(level), tuple(tests), tuple(units), tuple(dict.fromkeys(drifted)), notes
    )


def _untested(dag: Dag, tests: Iterable[DriftTest], apart: Iterable[str]) -> tuple[str, ...]:
    """What could not be tested, and why; `apart` are nodes without a point to be compared at."""
    tests = list(tests)
    tested = {(test.node, test.quantity) for test in tests}
    wanted = (MEAN, SPREAD, SHARE)
    left = [node for node in dag.nodes if tested.isdisjoint((node, one) for one in wanted)]
    notes = []
    if left:
        listed = shorten([shown(node) for node in left])
        notes.append(f"too few rows, or no noise, to test {listed}")
    unlike = [name for name in apart if name not in left and (name, SHARE) not in tested]
    if unlike:
        listed = shorten([shown(node) for node in unlike])
        notes.append(
            f"the mean of the residuals of {listed} could not be tested: "
            "parents are constant or collinear, before and now at different values"
        )
    counts = Counter(test.node for test in tests if test.quantity == COEFFICIENT)
    open_ = [
        node
        for node in dag.nodes
        if dag.conditioned_on(node)
        and node not in left
        and (node, SHARE) not in tested
        and counts[node] < len(dag.conditioned_on(node))
    ]
    if open_:
        listed = shorten([shown(node) for node in open_])
        notes.append(
            f"the rows do not determine all coefficients of {listed}: constant or collinear parents"
        )
    return tuple(notes)
