r"""What doubted cells of a row move: few of its residuals, along one direction for each cell.

With r the residuals of a row in standard deviations of the noise, and a_c what they change by as
the cell c moves, the cells F of the row, if blanked and filled in, leave

.. math:: r - A_F e, \quad e = (A_F' A_F)^{-1} A_F' r,

as :math:`A' A` is the precision of the doubted cells. Only families that hold a doubted cell have
entries in A, and where cells are missing those of the missing cells, which move along.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.methods.likelihood import Parameters
from gaussnet.types import BoolArray, FloatArray, IntArray

ROUNDING = 1e-15
"""What products may be off by, as a share."""


@dataclass(frozen=True, eq=False)
class RecordedRows:
    """Rows as they were recorded, beside the network that they are judged by."""

    model: Parameters
    """Family i is that of node i."""
    rows: FloatArray
    """NaN marks a missing cell, (rows, nodes)."""
    scales: FloatArray
    """Standard deviations of the columns, (nodes,)."""
    residuals: FloatArray
    """In standard deviations of the noise, if all records are right, (rows, nodes)."""

    @classmethod
    def of(cls, model: Parameters, rows: FloatArray, scales: FloatArray) -> "RecordedRows":
        """Missing cells have the values that the others expect."""
        return cls(model, rows, scales, _residuals(model, model.expect(rows).rows))

    def only(self, chosen: IntArray) -> "RecordedRows":
        """Some of the rows."""
        return replace(self, rows=self.rows[chosen], residuals=self.residuals[chosen])

    def elsewhere(self, chosen: IntArray) -> FloatArray:
        """How far cells are from their means, in standard deviations of their columns."""
        rest = (self.rows[chosen] - self.model.means) / self.scales
        return np.where(np.isnan(rest), 0.0, rest)

    @property
    def tightness(self) -> float:
        """Log of the ratio of noise to column standard deviations, added up over the nodes."""
        return float(0.5 * np.log(self.model.variances).sum() - np.log(self.scales).sum())


def _residuals(model: Parameters, rows: FloatArray) -> FloatArray:
    """Of complete rows, in standard deviations of the noise, (rows, nodes)."""
    rest = kernels.residuals(rows - model.means, model.families, model.coefficients).T
    return np.asarray(rest / np.sqrt(model.variances))


@dataclass(frozen=True, eq=False)
class Directions:
    """What residuals change by as doubted cells do."""

    families: IntArray
    """Those that change in each row, filled up with the number of nodes, (rows, families)."""
    slopes: FloatArray
    """Changes as a cell moves by one standard deviation given all others, (rows, families, cells).
    """

    @classmethod
    def of(cls, recorded: RecordedRows, cells: IntArray) -> "Directions":
        """Of the doubted cells of each row, (rows, cells)."""
        holed, nodes = np.isnan(recorded.rows).any(axis=1), recorded.rows.shape[1]
        whole = _Slopes.of_whole_rows(recorded.model, cells, np.flatnonzero(~holed))
        found = _Slopes.joined((whole, *_carried(recorded, cells, np.flatnonzero(holed))))
        keys, places = np.unique(found.rows * nodes + found.families, return_inverse=True)
        rows, touched = np.divmod(keys, nodes)
        counts = np.bincount(rows, minlength=len(cells))
        index = np.arange(len(keys)) - (np.cumsum(counts) - counts)[rows]
        families = np.full((len(cells), int(counts.max(initial=0))), nodes)
        families[rows, index] = touched
        slopes = np.zeros((*families.shape, cells.shape[1]))
        slopes[found.rows, index[places], found.cells] = found.values
        return cls(families, slopes)

    def errors(self, residuals: FloatArray, stories: BoolArray) -> FloatArray:
        """How far off cells are that are wrong in each story (stories, cells), by least squares of
        the residuals (rows, families) on their slopes; 0 where right, (rows, stories, cells).
        """
        products = self.slopes.transpose(0, 2, 1) @ self.slopes
        products += ROUNDING * np.eye(stories.shape[1])
        along = np.einsum("rfc,rf->rc", self.slopes, residuals)
        found = np.zeros((len(residuals), *stories.shape))
        for story, wrong in enumerate(stories):
            own = np.flatnonzero(wrong)
            block = products[:, own[:, None], own]
            found[:, story, own] = np.linalg.solve(block, along[:, own, None])[..., 0]
        return found


class _Slopes(NamedTuple):
    """Slopes that are not 0: the row, the family, the number of the cell, and the value of each."""

    rows: IntArray
    families: IntArray
    cells: IntArray
    values: FloatArray

    @classmethod
    def joined(cls, parts: Sequence["_Slopes"]) -> "_Slopes":
        """All of them."""
        rows, families, cells, values = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return cls(rows, families, cells, values)

    @classmethod
    def of_whole_rows(cls, model: Parameters, cells: IntArray, chosen: IntArray) -> "_Slopes":
        """Of rows without a missing cell: the residual of a cell itself and of its children."""
        nodes, families = cells[chosen].ravel(), model.families
        owners, edges = _edges_to_children(families, nodes)
        every = np.arange(len(nodes))
        cell = np.concatenate((every, owners))
        family = np.concatenate((nodes, families.family_of_edge[edges]))
        weights = np.concatenate((np.ones(len(nodes)), -model.coefficients[edges]))
        units = 1.0 / np.sqrt(model.precisions())
        values = weights * units[nodes[cell]] / np.sqrt(model.variances[family])
        row, number = np.divmod(cell, cells.shape[1])
        return cls(chosen[row], family, number, values)


def _edges_to_children(families: Families, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Which of the nodes each edge leaves, and the edge."""
    by_parent = np.argsort(families.parents, kind="stable")
    counts = np.bincount(families.parents, minlength=len(families))
    own = counts[nodes]
    owners = np.repeat(np.arange(len(nodes)), own)
    shift = (np.cumsum(counts) - counts)[nodes] - (np.cumsum(own) - own)
    return owners, by_parent[np.arange(len(owners)) + shift[owners]]


def _carried(recorded: RecordedRows, cells: IntArray, chosen: IntArray) -> list[_Slopes]:
    """Of rows with missing cells, which follow those that are there; cell by cell."""
    if not len(chosen):
        return []
    model, every = recorded.model, np.arange(len(chosen))
    at_zero = replace(model, means=np.zeros_like(model.means))
    units = 1.0 / np.sqrt(model.precisions())
    found = []
    for number, nodes in enumerate(cells[chosen].T):
        moved = np.where(np.isnan(recorded.rows[chosen]), np.nan, 0.0)
        moved[every, nodes] = units[nodes]
        rest = _residuals(at_zero, at_zero.expect(moved).rows)
        row, family = np.nonzero(rest)
        found.append(_Slopes(chosen[row], family, np.full(len(row), number), rest[row, family]))
    return found
