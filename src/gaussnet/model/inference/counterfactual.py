"""Counterfactuals: what a case that was observed would have been, had some nodes been set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gaussnet import display, kernels
from gaussnet.errors import DataError, GaussnetError, SettingError
from gaussnet.graph.dag import Dag, counted, indicator, shorten
from gaussnet.model import checks
from gaussnet.model.equations import propagate
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.inference.predicted_rows import DoubtfulValue, OutsideValue
from gaussnet.model.inference.queries import Conditional, as_values, do, linear_condition, open_rows
from gaussnet.model.seen import unlikely_values
from gaussnet.named_rows import did_you_mean, named, names_of
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


class CaseErrors(NamedTuple):
    """How far the nodes of a case may be off, (nodes,) each."""

    scales: FloatArray
    """Standard deviations: of what the row leaves open, and of the learnt parameters."""
    freedom: FloatArray
    """Degrees of freedom of Student's t; infinite for the normal law."""


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    r"""A case as it was, as it would have been, and the difference.

    *Abduction*: the row says what the noise of every node was, exactly where the row is complete
    and else up to a Gaussian. *Action*: the nodes of `do` are cut from their parents and set.
    *Prediction*: the same noise goes through the changed equations (Pearl, Causality, 2009,
    section 7.1). In a linear network all three are one formula: with x the row as it was, v the
    values set and T the total effects of the set nodes once they are cut from their parents,

    .. math:: x^* = x + T (v - x_{do})

    so that nodes that do not descend from the set ones stay as they were. All Gaussians are over
    all nodes, in the order of ``network.dag.nodes``.
    """

    network: "GaussianNetwork"
    evidence: Mapping[str, float]
    """What was observed, by node, and counts."""
    do: Mapping[str, float]
    """What is set, by node."""
    _seen: Conditional
    doubtful: tuple[DoubtfulValue, ...] = ()
    """Values of the row that a robust fit takes for wrong; they do not count unless they are in
    `evidence`."""
    outside: tuple[OutsideValue, ...] = ()
    """Values observed or set that lie far outside what a fit has seen and are not doubtful."""
    learnt: "Callable[[Counterfactual, bool], CaseErrors] | None" = None
    """Finds the errors of the case, or of its changes, where the network was learnt by a fit."""

    @cached_property
    def before(self) -> Gaussian:
        """The case as it was: the observed values, and what they tell of the others."""
        return Gaussian(self.network.dag.nodes, self._mean, self._factor)

    @cached_property
    def after(self) -> Gaussian:
        """The case as it would have been; its variances are what the row leaves open."""
        mean = self._mean + self._carried(self._step[None, :])[0]
        factor = self._factor + self._carried_factor
        mean[self.set_nodes] = list(self.do.values())
        factor[self.set_nodes] = 0.0
        return Gaussian(self.network.dag.nodes, mean, factor)

    @cached_property
    def change(self) -> Gaussian:
        """The difference after - before; certain wherever the set nodes were observed."""
        mean = self._carried(self._step[None, :])[0]
        return Gaussian(self.network.dag.nodes, mean, self._carried_factor)

    @cached_property
    def noise(self) -> Gaussian:
        """The noise of every node, as far as the row tells: its mean and what remains open."""
        families, slopes = self.network.dag.families, self.network.causal_coefficients
        rows = np.vstack((self._mean, self._factor.T))
        with np.errstate(over="ignore", invalid="ignore"):
            left = kernels.residuals(rows, families, slopes)
        left[:, 0] -= self.network.constants
        checks.check_overflow(left)
        return Gaussian(self.network.dag.nodes, left[:, 0], left[:, 1:])

    def _repr_html_(self) -> str:
        """The warnings and the table, in a notebook."""
        return display.html("counterfactual", self)

    def __str__(self) -> str:
        names = self.network.dag.nodes
        width = max([4, *map(len, names)])
        warnings, columns = self.print_parts()
        heads = [f"{head:>{8 if head == 'sd' else 10}}" for head in columns]
        lines = [*warnings, "  ".join((f"{'node':{width}}", *heads))]
        for name, *numbers in zip(names, *columns.values(), strict=True):
            told = (f"{x:{len(head)}.4g}" for x, head in zip(numbers, heads, strict=True))
            lines.append("  ".join((f"{name:{width}}", *told)))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def print_parts(self) -> tuple[tuple[str, ...], dict[str, FloatArray]]:
        """The warnings and the columns that are printed; without intervals if these are refused."""
        columns = {"was": self.before.mean, "would be": self.after.mean}
        sd = {"sd": np.sqrt(self.after.variances)}
        if self.learnt is None:
            return self.warnings, columns | sd
        try:
            errors, ends = self._errors("after"), self.intervals(0.95)
        except GaussnetError as problem:
            warning = f"warning: sd takes the network as known: {problem}"
            return (*self.warnings, warning), columns | sd
        columns |= {"sd": errors.scales, "95% low": ends[:, 0], "95% high": ends[:, 1]}
        return self.warnings, columns

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on the nodes whose `was` is not an observed value."""
        if not (names := self._seen.names):
            return ()
        doubtful = {value.node for value in self.doubtful}
        does = " or does not count" if doubtful.intersection(names) else ""
        one = len(names) == 1
        return (
            f"{shorten(names)} {'was' if one else 'were'} not observed{does}: 'was' is what is "
            f"expected of {'it' if one else 'them'} given the rest",
        )

    def to_frame(self, kind: str = "pandas", *, level: float = 0.95) -> Any:
        """The case as a "pandas" or "polars" data frame, one row per node, in their order.

        Columns: `node`; `observed`, whether its value was given and counts; `was` and `would_be`;
        `change`, the difference; `sd`, `low` and `high` of `would_be`, as in `intervals`.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("[rain][wet|rain]")
        >>> net = gn.GaussianNetwork.from_arrays(dag, [1.5], [1.0, 1.0])
        >>> frame = net.counterfactual({"rain": 2.0, "wet": 4.0}, do={"rain": 0.0}).to_frame()
        >>> frame[["node", "was", "would_be", "change"]].values.tolist()
        [['rain', 2.0, 0.0, -2.0], ['wet', 4.0, 1.0, -3.0]]
        """
        ends = self.intervals(level)
        columns = {
            "was": self.before.mean,
            "would_be": self.after.mean,
            "change": self.change.mean,
            "sd": self._errors("after").scales,
            "low": ends[:, 0],
            "high": ends[:, 1],
        }
        names = list(self.network.dag.nodes)
        known: dict[str, list[Any]] = {
            "node": names,
            "observed": [name in self.evidence for name in names],
        }
        numbers = {name: values.tolist() for name, values in columns.items()}
        return display.new_frame({**known, **numbers}, kind)

    def intervals(
        self, level: float = 0.95, of: Literal["after", "change"] = "after"
    ) -> FloatArray:
        """Intervals (low, high) of the case as it would have been, or of its change, (nodes, 2).

        Of a network they hold what the row leaves open. Of a fit they hold the errors of its
        parameters too, by the delta method with Student's t.
        """
        from scipy.special import ndtri, stdtrit  # slow to import

        checks.check_level(level)
        if of not in {"after", "change"}:
            raise SettingError(f"got of={of!r}, expected 'after' or 'change'")
        mean, errors = getattr(self, of).mean, self._errors(of)
        end, is_normal = 0.5 + 0.5 * level, np.isinf(errors.freedom)
        points = stdtrit(np.where(is_normal, 1.0, errors.freedom), end)
        reach = np.where(is_normal, ndtri(end), points) * errors.scales
        return np.column_stack((mean - reach, mean + reach))

    def _errors(self, of: str) -> CaseErrors:
        if self.learnt is not None:
            return self.learnt(self, of == "change")
        scales = np.sqrt(getattr(self, of).variances)
        return CaseErrors(scales, np.full(len(scales), np.inf))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence on each value that looks wrong or extrapolates, and on unknown categories."""
        unknown = (
            f"warning: the level of {name} was not observed: the numbers of {shorten(own)} are "
            "expected shares in a Gaussian approximation, which may be below 0 or above 1; give "
            f"the level in the row, as {name!r}: {levels[-1]!r}"
            for name, levels in self.network.dag.factors.items()
            if self.evidence.keys().isdisjoint(own := [indicator(name, one) for one in levels[1:]])
        )
        wrong = (value.warning(value.node in self.evidence) for value in self.doubtful)
        return (*wrong, *(value.warning() for value in self.outside), *unknown)

    def __repr__(self) -> str:
        return f"Counterfactual({counted(len(self.evidence), 'node')} observed, do={dict(self.do)})"

    @cached_property
    def total_effects(self) -> FloatArray:
        """What one unit more of a node adds to all, once the set nodes are cut, (nodes, nodes)."""
        return self._carried(np.eye(len(self.network.dag)))

    @cached_property
    def set_nodes(self) -> IntArray:
        """Positions of the set nodes."""
        return as_values(self.network.dag, self.do, "intervention")[0]

    @cached_property
    def _mean(self) -> FloatArray:
        mean = np.empty(len(self.network.dag))
        mean[self._positions] = self._seen.mean
        known, values = as_values(self.network.dag, self.evidence, "evidence")
        mean[known] = values
        return mean

    @cached_property
    def _factor(self) -> FloatArray:
        """F with covariance F F' of the case as it was, (nodes, noise)."""
        factor = np.zeros((len(self.network.dag), self._seen.factor.shape[1]))
        factor[self._positions] = self._seen.factor
        return factor

    @property
    def _positions(self) -> list[int]:
        """Positions of the nodes that were not observed."""
        return [self.network.dag.positions[name] for name in self._seen.names]

    @cached_property
    def _step(self) -> FloatArray:
        """By how much each set node is moved, 0 elsewhere, (nodes,)."""
        step = np.zeros(len(self._mean))
        step[self.set_nodes] = np.array(list(self.do.values())) - self._mean[self.set_nodes]
        return step

    @cached_property
    def _carried_factor(self) -> FloatArray:
        loads = np.zeros((self._factor.shape[1], len(self._mean)))
        loads[:, self.set_nodes] = -self._factor[self.set_nodes].T
        return self._carried(loads).T

    def _carried(self, steps: FloatArray) -> FloatArray:
        """What steps of the set nodes (rows, nodes) do to all nodes."""
        cut = do(self.network, self.do)
        rows = steps.copy()
        propagate(rows, cut.dag.order, cut.dag.families, cut.causal_coefficients)
        return rows


def counterfactual(
    network: "GaussianNetwork", row: object, values: Mapping[str, float | str]
) -> Counterfactual:
    """What the case of a row would have been, had these nodes been set to these values."""
    evidence = dict(checks.level_values(network.dag, as_evidence(network.dag, row), "evidence"))
    values = checks.level_values(network.dag, values, "intervention")
    as_values(network.dag, values, "intervention")
    numbers = {name: float(value) for name, value in values.items()}
    if network.seen is not None:
        codes = network.seen.codes
        evidence = {name: value for name, value in evidence.items() if value not in codes}
        network.seen.check_values(numbers)
    told = np.full((2, len(network.dag)), np.nan)
    for own, row_given in zip(told, (evidence, numbers), strict=True):
        positions, given = as_values(network.dag, row_given, "evidence")
        own[positions] = given
    far = tuple(value._replace(row=0) for value in unlikely_values(network, told))
    outside = tuple(dict.fromkeys(far))
    seen = linear_condition(network, evidence, None)
    return Counterfactual(network, evidence, numbers, seen, outside=outside)


def as_evidence(dag: Dag, row: object) -> dict[str, float]:
    """The observed values of one row: a mapping, an array (nodes,), or a frame of one row.

    A row of a frame, as a mapping or a Series, may have other columns than those of the nodes. Only
    where some of these are missing can such a column be a name that was misspelt.
    """
    if isinstance(row, Mapping):
        values = _of_nodes(dag, row) if _has_every_node(dag, row) else row
        return {name: value for name, value in values.items() if not checks.is_missing(value)}
    labelled = getattr(row, "to_dict", None)
    if labelled is not None and checks.column_labels(row) is None:  # a row of a pandas frame
        values = labelled()
        _refuse_misspelt(dag, values)
        return as_evidence(dag, _of_nodes(dag, values))
    own = names_of(row)
    if own is not None or checks.column_labels(row) is None:
        row = named(np.atleast_2d(checks.as_numbers(row, "value")), own)  # type: ignore[arg-type]
    rows = open_rows(row, dag, None)
    if len(rows) != 1:
        raise DataError(f"got {len(rows)} rows, expected the one row of a case: ask row by row")
    return as_evidence(dag, dict(zip(dag.nodes, rows[0].tolist(), strict=True)))


def _of_nodes(dag: Dag, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of nodes and categories."""
    return {name: values[name] for name in (*dag.nodes, *dag.factors) if name in values}


def _has_every_node(dag: Dag, values: Mapping[str, Any]) -> bool:
    """Whether each node is there, by itself or by its category."""
    categories = {node: name for node, (name, _) in dag.indicators.items()}
    return all(node in values or categories.get(node) in values for node in dag.nodes)


def _refuse_misspelt(dag: Dag, values: Mapping[str, Any]) -> None:
    """Refuse a name that is most like a node which is missing."""
    known = {*dag.nodes, *dag.factors}
    missing = known.difference(values)
    if _has_every_node(dag, values):
        return
    for name in values:
        if name not in known and did_you_mean(str(name), missing):
            dag.position(name)
