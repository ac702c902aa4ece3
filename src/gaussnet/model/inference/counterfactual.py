"""Counterfactuals: what a case that was observed would have been, had some nodes been set."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaussnet import display, kernels
from gaussnet.errors import DataError
from gaussnet.graph.dag import Dag, counted, indicator, shorten
from gaussnet.model import checks
from gaussnet.model.equations import propagate
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.inference.queries import Conditional, as_values, condition, do, open_rows
from gaussnet.named_rows import named, names_of
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


class DoubtfulValue(NamedTuple):
    """A value of the row that is more likely wrong than not."""

    node: str
    recorded: float
    expected: float
    """What the other values of the row let expect."""
    z: float
    """Recorded minus expected value, in standard deviations."""
    probability: float
    """That the value is wrong."""


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

    @cached_property
    def before(self) -> Gaussian:
        """The case as it was: the observed values, and what they tell of the others."""
        return Gaussian(self.network.dag.nodes, self._mean, self._factor)

    @cached_property
    def after(self) -> Gaussian:
        """The case as it would have been; its variances are what the row leaves open."""
        mean = self._mean + self._carried(self._step[None, :])[0]
        factor = self._factor + self._carried_factor
        mean[self._set] = list(self.do.values())
        factor[self._set] = 0.0
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

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        after, before = self.after, self.before
        width = max([4, *map(len, after.names)])
        lines = [*self.warnings]
        lines += [f"{'node':{width}}  {'was':>10}  {'would be':>10}  {'sd':>8}"]
        spread = np.sqrt(after.variances)
        for name, was, would_be, sd in zip(
            after.names, before.mean, after.mean, spread, strict=True
        ):
            lines.append(f"{name:{width}}  {was:10.4g}  {would_be:10.4g}  {sd:8.3g}")
        return "\n".join(lines)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence on each value that looks wrong, and on each category that is not known."""
        unknown = (
            f"warning: the level of {name} was not observed: the numbers of {shorten(own)} are "
            "expected shares in a Gaussian approximation, which may be below 0 or above 1; give "
            f"the level in the row, as {name!r}: {levels[-1]!r}"
            for name, levels in self.network.dag.factors.items()
            if self.evidence.keys().isdisjoint(own := [indicator(name, one) for one in levels[1:]])
        )
        return (*map(self._warning, self.doubtful), *unknown)

    def _warning(self, value: DoubtfulValue) -> str:
        kept = value.node in self.evidence
        done = "it counts as given" if kept else "it does not count; believe=True takes it as given"
        return (
            f"warning: {value.node} = {value.recorded:.4g} looks wrong "
            f"(expected {value.expected:.4g}, z = {value.z:.3g}): {done}"
        )

    def __repr__(self) -> str:
        return f"Counterfactual({counted(len(self.evidence), 'node')} observed, do={dict(self.do)})"

    @cached_property
    def _set(self) -> IntArray:
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
        step[self._set] = np.array(list(self.do.values())) - self._mean[self._set]
        return step

    @cached_property
    def _carried_factor(self) -> FloatArray:
        loads = np.zeros((self._factor.shape[1], len(self._mean)))
        loads[:, self._set] = -self._factor[self._set].T
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
    return Counterfactual(network, evidence, numbers, condition(network, evidence, None))


def as_evidence(dag: Dag, row: object) -> dict[str, float]:
    """The observed values of one row: a mapping, an array (nodes,), or a frame of one row."""
    if isinstance(row, Mapping):
        return {name: value for name, value in row.items() if not _is_missing(value)}
    labelled = getattr(row, "to_dict", None)
    if labelled is not None and checks.column_labels(row) is None:  # a row of a pandas frame
        values = labelled()
        known = [name for name in (*dag.nodes, *dag.factors) if name in values]
        return as_evidence(dag, {name: values[name] for name in known})
    own = names_of(row)
    if own is not None or checks.column_labels(row) is None:
        row = named(np.atleast_2d(checks.as_numbers(row, "value")), own)  # type: ignore[arg-type]
    rows = open_rows(row, dag, None)
    if len(rows) != 1:
        raise DataError(f"got {len(rows)} rows, expected the one row of a case: ask row by row")
    return as_evidence(dag, dict(zip(dag.nodes, rows[0].tolist(), strict=True)))


def _is_missing(value: object) -> bool:
    """Whether this is None, NaN or the NA of pandas, which no comparison decides."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 (NaN is not itself)
    except TypeError:
        return True
