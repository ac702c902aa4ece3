"""A large part with few loops, solved by a sparse factorisation of its equations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.model.inference.parts import Part

STEP = 256
"""Sources of noise that are followed at a time."""


@dataclass(frozen=True)
class SparsePart:
    r"""Least squares of the noise, every noise scale positive, by its augmented equations.

    .. math:: \begin{pmatrix} I & C \\ C' & 0 \end{pmatrix}
              \begin{pmatrix} \lambda \\ y \end{pmatrix} = \begin{pmatrix} S^{-1} r \\ 0
              \end{pmatrix}, \quad C = S^{-1} B U, \quad x = U y

    U are the nodes' own noise scales. The condition is not squared, and the lower right of the
    inverse is minus the covariance of y.
    """

    part: Part
    lower_upper: Any
    """The factors of the augmented matrix."""

    @classmethod
    def of(cls, part: Part) -> Self:
        """Factor the augmented equations with an order that fills in little."""
        from scipy.sparse import coo_array, csc_array
        from scipy.sparse.linalg import splu

        nodes, equations = len(part.nodes), len(part.scales)
        units = part.scales[:nodes]
        values = np.concatenate(
            (np.ones(nodes), -part.coefficients * units[part.parents] / part.scales[part.children])
        )
        rows = np.concatenate((np.arange(nodes), part.children))
        columns = np.concatenate((np.arange(nodes), part.parents)) + equations
        every = np.arange(equations)
        size = equations + nodes
        entries = np.concatenate((np.ones(equations), values, values))
        places = (np.concatenate((every, rows, columns)), np.concatenate((every, columns, rows)))
        augmented = csc_array(coo_array((entries, places), shape=(size, size)))
        return cls(part, splu(augmented, permc_spec="COLAMD"))

    def solve(self, right: FloatArray) -> FloatArray:
        """The nodes (rows, nodes) for right-hand sides (rows, equations)."""
        equations = len(self.part.scales)
        full = np.zeros((equations + len(self.part.nodes), len(right)))
        full[:equations] = (right / self.part.scales).T
        units = self.part.scales[: len(self.part.nodes)]
        return np.asarray(self.lower_upper.solve(full)[equations:].T * units)

    def rows_of_factor(self, weights: FloatArray) -> FloatArray:
        """The factor of linear combinations (rows, nodes) of the nodes: (rows, equations)."""
        equations = len(self.part.scales)
        full = np.zeros((equations + len(self.part.nodes), len(weights)))
        full[equations:] = (weights * self.part.scales[: len(self.part.nodes)]).T
        return np.asarray(self.lower_upper.solve(full, "T")[:equations].T)

    def misfits(self, right: FloatArray, sizes: FloatArray) -> FloatArray:
        """Nothing is impossible where every equation has noise, (rows, equations)."""
        return np.zeros_like(right)

    def loads(self) -> Iterator[tuple[float, FloatArray]]:
        """What independent noises (rows) do to the nodes, and the sign of their squares."""
        count = len(self.part.scales)
        for start in range(0, count, STEP):
            own = np.arange(start, min(start + STEP, count))
            right = np.zeros((len(own), count))
            right[np.arange(len(own)), own] = self.part.scales[own]
            yield 1.0, self.solve(right)
