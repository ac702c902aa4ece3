"""Whether the data look contaminated, and where."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaussnet._types import FloatArray, Rows
from gaussnet.fitting.claims.adjust import adjusted
from gaussnet.fitting.misfit import Misfit
from gaussnet.fitting.trimming import Trimming
from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork

if TYPE_CHECKING:
    from gaussnet.fitting.evidence import Evidence

LONGEST_LIST = 6
"""Nodes that the sentence names."""


@dataclass(frozen=True, eq=False, repr=False)
class ContaminationTest:
    """Whether the data look contaminated, and where; arrays are (nodes,), as ``dag.nodes``.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
    >>> print(gn.fit(rows, dag, "auto").contamination)
    the data show no sign of contamination (smallest adjusted p-value 1)
    >>> rows[:20, 0] = 50.0
    >>> print(gn.fit(rows, dag, "auto").contamination)
    the data look contaminated in 1 of 2 nodes (adjusted p-values below 0.05): wet (10.0%)
    """

    dag: Dag
    level: float
    statistics: FloatArray
    """F statistics of the rejected values; 0 where none is rejected."""
    p_values: FloatArray
    """Corrected for the choice of the rows; 1 where nothing is rejected."""
    adjusted: FloatArray
    """The same by Holm's method, for all nodes at once."""
    shifts: FloatArray
    """How far least squares over all rows is from the answer: root mean square of the
    difference of the parameters, in standard errors; 0 where no row is left out."""
    shares: FloatArray
    """Of the rows in which a node and its parents have values, the part that does not fit."""

    @property
    def contaminated(self) -> tuple[str, ...]:
        """Nodes whose values do not follow one equation, largest share first."""
        found = np.flatnonzero(self.adjusted <= self.level)
        order = found[np.argsort(-self.shares[found], kind="stable")]
        return tuple(self.dag.nodes[node] for node in order.tolist())

    @property
    def sentence(self) -> str:
        """Whether the data look contaminated, and where."""
        names = self.contaminated
        if not names:
            smallest = self.adjusted.min(initial=1.0)
            return (
                f"the data show no sign of contamination (smallest adjusted p-value {smallest:.2g})"
            )
        told = ", ".join(
            f"{name} ({self.shares[self.dag.position(name)]:.1%})" for name in names[:LONGEST_LIST]
        )
        more = f" and {len(names) - LONGEST_LIST} more" if len(names) > LONGEST_LIST else ""
        return (
            f"the data look contaminated in {len(names)} of {len(self.dag)} nodes (adjusted "
            f"p-values below {self.level:g}): {told}{more}"
        )

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"ContaminationTest({len(self.contaminated)} of {len(self.dag)} nodes)"


def find_contamination(
    network: GaussianNetwork,
    rows: Rows,
    trimming: Trimming,
    evidence: "Evidence",
    level: float,
) -> ContaminationTest:
    """Test every node that left out rows; the others show nothing."""
    dag = network.dag
    statistics, shifts, shares = np.zeros((3, len(dag)))
    p_values = np.ones(len(dag))
    with np.errstate(all="ignore"):
        for node in sorted(trimming.left_out):
            misfit = Misfit.of(node, rows, trimming, evidence)
            shifts[node], shares[node] = misfit.shift(network), misfit.share
            statistics[node], p_values[node] = misfit.test()
    fair = adjusted(p_values, "holm")
    return ContaminationTest(dag, level, statistics, p_values, fair, shifts, shares)
