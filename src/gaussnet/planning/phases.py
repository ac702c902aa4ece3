"""What the laws need to know of a fit: rows of each phase, intercept, in-degrees."""

from dataclasses import dataclass

import numpy as np

from gaussnet.graph.dag import Dag


@dataclass(frozen=True, slots=True)
class Phases:
    """Rows of the two phases, and whether the equations have a constant.

    Phase 1 finds coefficients from `first` rows, phase 2 variances from `second` rows; they
    are the same rows unless `split`.
    """

    first: int
    second: int
    split: bool
    intercept: bool

    @classmethod
    def shared(cls, rows: int, *, intercept: bool) -> "Phases":
        """Both phases on all rows."""
        return cls(rows, rows, False, intercept)

    @property
    def residual_rows(self) -> int:
        """Degrees of freedom of phase 2 before coefficients are paid for."""
        return self.second - self.intercept


Degrees = tuple[tuple[int, int], ...]
"""Pairs (number of parents, how many nodes have so many), ascending."""


def degrees_of(dag: Dag) -> Degrees:
    """The in-degrees of a graph and how often each occurs.

    Examples
    --------
    >>> degrees_of(Dag.parse("[a][b][c|a:b]"))
    ((0, 2), (2, 1))
    """
    parents, counts = np.unique(dag.in_degrees, return_counts=True)
    return tuple(zip(parents.tolist(), counts.tolist(), strict=True))
