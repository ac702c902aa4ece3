"""Standard errors and confidence intervals by name, and as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gaussnet.fitting.notes import Note
from gaussnet.graph.dag import Dag, Edge
from gaussnet.types import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class StandardErrors:
    """Standard errors of a learnt network; NaN where the rows do not determine one."""

    dag: Dag
    coefficient_array: FloatArray
    """In the order of ``dag.edges``, (edges,)."""
    intercept_array: FloatArray
    """In the order of ``dag.nodes``, (nodes,); 0 where no intercept was fitted."""
    variance_array: FloatArray
    """In the order of ``dag.nodes``, (nodes,)."""

    @property
    def coefficients(self) -> Mapping[Edge, float]:
        """By edge (parent, child)."""
        return _named(self.dag.edges, self.coefficient_array)

    @property
    def intercepts(self) -> Mapping[str, float]:
        """By node."""
        return _named(self.dag.nodes, self.intercept_array)

    @property
    def variances(self) -> Mapping[str, float]:
        """By node: standard errors of the noise variances."""
        return _named(self.dag.nodes, self.variance_array)

    def __repr__(self) -> str:
        return f"StandardErrors({len(self.dag.nodes)} nodes, {len(self.dag.edges)} edges)"


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceIntervals:
    """Confidence intervals (low, high) of a learnt network; NaN where there is none."""

    dag: Dag
    level: float
    coefficient_array: FloatArray
    """In the order of ``dag.edges``, (edges, 2)."""
    intercept_array: FloatArray
    """In the order of ``dag.nodes``, (nodes, 2); (0, 0) where no intercept was fitted."""
    variance_array: FloatArray
    """In the order of ``dag.nodes``, (nodes, 2)."""

    @property
    def coefficients(self) -> Mapping[Edge, tuple[float, float]]:
        """By edge (parent, child)."""
        return _named(self.dag.edges, self.coefficient_array)

    @property
    def intercepts(self) -> Mapping[str, tuple[float, float]]:
        """By node."""
        return _named(self.dag.nodes, self.intercept_array)

    @property
    def variances(self) -> Mapping[str, tuple[float, float]]:
        """By node."""
        return _named(self.dag.nodes, self.variance_array)

    def __repr__(self) -> str:
        sizes = f"{len(self.dag.nodes)} nodes, {len(self.dag.edges)} edges"
        return f"ConfidenceIntervals({sizes}, level={self.level})"


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """How far a learnt network may be from the truth."""

    kind: str
    """Where the errors come from: "classical", "heteroscedastic", "between-batch",
    "order-statistic", "fitted-rows" or "bootstrap"."""
    standard_errors: StandardErrors
    confidence_intervals: ConfidenceIntervals
    notes: tuple[Note, ...] = ()
    """The nodes whose errors the rows do not determine, and why."""

    def __repr__(self) -> str:
        level = self.confidence_intervals.level
        return f"Uncertainty(kind={self.kind!r}, level={level}, {len(self.notes)} notes)"


def _named(names: tuple[Any, ...], values: FloatArray) -> Mapping[Any, Any]:
    found = values.tolist()
    if values.ndim == 2:
        found = [tuple(pair) for pair in found]
    return MappingProxyType(dict(zip(names, found, strict=True)))
