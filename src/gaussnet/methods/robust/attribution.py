"""Attribution: of a flagged cell and its parents, which one is wrong?

A cell wrong by a few standard deviations may be missed by its own equation, and its children, which
disagree with it, are flagged instead. After all nodes are learnt each flagged cell is compared with
its parents: of the two explanations the likelier is kept. If the parent is wrong, its children are
cleared, and so are those of their own children that now agree with them.

Here a cell is *rejected* if it is flagged or confirmed, that is, too far from its equation."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet import kernels
from gaussnet.kernels import CellTable
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import CONFIRMED, FINE, FLAGGED
from gaussnet.methods.robust.cells import SuspiciousCells
from gaussnet.methods.robust.cutoffs import SMALLEST_CUTOFF, bonferroni_cutoff
from gaussnet.methods.robust.sequential_trim import NOTHING_SET, SequentialTrim, SetRows
from gaussnet.types import BoolArray, FloatArray, IntArray

MOST_ROUNDS = 10
"""Children of cleared cells are looked at so many generations down, at most."""


class Model(NamedTuple):
    """What is learnt of all nodes: rows (rows, nodes), equations, and suspicious cells."""

    columns: FloatArray
    families: Families
    coefficients: FloatArray
    intercepts: FloatArray
    variances: FloatArray
    table: CellTable
    discrete: list[int]
    """Nodes whose cells are not judged, because their columns have few values."""
    set_rows: SetRows = NOTHING_SET
    """Cells that were set from outside, which no equation of their own judges."""

    def was_set(self, cells: "CellIndices") -> BoolArray:
        """Which of these cells were set from outside."""
        found = np.zeros(len(cells.nodes), dtype=bool)
        for node, rows in self.set_rows.items():
            own = cells.nodes == node
            found[own] = np.isin(cells.rows[own], rows)
        return found


class CellIndices(NamedTuple):
    """Cells anywhere in the data, by node and row, (cells,) each."""

    nodes: IntArray
    rows: IntArray

    def only(self, chosen: BoolArray | IntArray) -> "CellIndices":
        """The chosen ones."""
        return CellIndices(self.nodes[chosen], self.rows[chosen])


@dataclass(frozen=True, eq=False)
class Review:
    """All suspicious cells as the table has them, with statuses that the review changes."""

    model: Model
    order: IntArray
    """Nodes that have cells, in the order of the table."""
    starts: IntArray
    """Where their cells start."""
    statuses: NDArray[np.uint8]

    @classmethod
    def of(cls, model: Model) -> "Review":
        """The cells in the table of the model."""
        table = model.table
        order = np.flatnonzero(table.bounds[1] > table.bounds[0])
        order = order[np.argsort(table.bounds[0, order])]
        statuses = table.statuses[: int(table.progress[0])].copy()
        return cls(model, order, table.bounds[0, order], statuses)

    def cells(self, indices: IntArray) -> CellIndices:
        """Node and row of cells of the table."""
        nodes = self.order[np.searchsorted(self.starts, indices, side="right") - 1]
        return CellIndices(nodes, self.model.table.rows[0, indices])

    def find(self, cells: CellIndices) -> tuple[IntArray, BoolArray]:
        """Indices in the table, and whether the cells are suspicious."""
        indices: IntArray = kernels.find_cells(self.model.table, cells.nodes, cells.rows)
        return indices, (indices >= 0) & (self.statuses[indices] != FINE)

    def is_rejected(self, indices: IntArray | slice = slice(None)) -> BoolArray:
        """Which cells of the table are flagged or confirmed."""
        own = self.statuses[indices]
        return np.asarray((own == FLAGGED) | (own == CONFIRMED))

    def residuals(self, cells: CellIndices) -> tuple[FloatArray, FloatArray]:
        """Recorded minus expected by the cleaned parents, and its standard deviation."""
        model, families, count = self.model, self.model.families, len(cells.nodes)
        edges = families.edges_of(cells.nodes)
        owners = np.repeat(np.arange(count), families.sizes[cells.nodes])
        parents = CellIndices(families.parents[edges], cells.rows[owners])
        indices, suspicious = self.find(parents)
        expected, variances = model.table.values[:2]
        recorded = model.columns[parents.rows, parents.nodes]
        cleaned = np.where(suspicious, expected[indices], recorded)
        uncertain = np.where(suspicious, variances[indices], 0.0)
        slopes = model.coefficients[edges]
        residuals = model.columns[cells.rows, cells.nodes] - model.intercepts[cells.nodes]
        residuals = residuals - np.bincount(owners, slopes * cleaned, count)
        variance = model.variances[cells.nodes] + np.bincount(owners, slopes**2 * uncertain, count)
        return residuals, np.sqrt(variance)

    def penalties(self) -> FloatArray:
        r"""Penalty of a wrong cell, :math:`-2 \log` of the share rejected, by node, (nodes,)."""
        counts = np.zeros(len(self.model.families))
        counts[self.order] = np.add.reduceat(self.is_rejected(), self.starts, dtype=np.int64)
        return np.asarray(-2.0 * np.log((1.0 + counts) / (1.0 + len(self.model.columns))))


class WrongParents(NamedTuple):
    """Cells found wrong through their children, with what the whole family expects of them."""

    cells: CellIndices
    expected: FloatArray
    variances: FloatArray
    deviations: FloatArray

    def of_node(self, node: int) -> SuspiciousCells:
        """Those of one node."""
        chosen = self.cells.nodes == node
        statuses = np.full(np.count_nonzero(chosen), FLAGGED, dtype=np.uint8)
        values = (self.expected[chosen], self.variances[chosen], self.deviations[chosen])
        return SuspiciousCells(self.cells.rows[chosen], statuses, *values)


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def attribute(model: Model, settings: SequentialTrim) -> dict[int, SuspiciousCells]:
    """The cells of the nodes for which comparing flagged ones with their parents changed any."""
    if model.table.progress[0] == 0:
        return {}
    candidates = _parents_of_rejected(model)
    if len(candidates.nodes) == 0:
        return {}
    review = Review.of(model)
    residuals, scales = review.residuals(candidates)
    # What lies as expected is not wrong.
    candidates = candidates.only(np.abs(residuals) > SMALLEST_CUTOFF * scales)
    if len(candidates.nodes) == 0:
        return {}
    wrong, cleared = _wrong_parents(review, candidates)
    for _ in range(MOST_ROUNDS):
        if len(cleared) == 0:
            break
        review.statuses[cleared] = FINE
        cleared = _cleared_children(review, cleared, settings.cleaned_cutoff)
    return _changed_cells(review, wrong)


def _parents_of_rejected(model: Model) -> CellIndices:
    """The parents, not suspicious themselves, that might explain a rejected cell."""
    rows, limits = len(model.columns), _explicable_deviations(model)
    keys = kernels.list_parents(model.table, model.families, limits, rows)
    found = CellIndices(*np.divmod(keys, rows))
    found = found.only(~model.was_set(found)) if model.set_rows else found
    return found.only(~np.isin(found.nodes, model.discrete)) if model.discrete else found


def _explicable_deviations(model: Model) -> FloatArray:
    r"""The largest deviation of each node's cells that a parent might explain, (nodes,).

    A parent that is not suspicious, and its other children, deviate by at most about the
    Bonferroni cutoff t. With the ratio :math:`\rho = |b| s_{parent} / s` and k children it
    explains up to :math:`t \sqrt{1 + k} (\rho + \sqrt{1 + \rho^2})`.
    """
    families = model.families
    scales = np.sqrt(model.variances)
    ratios = np.abs(model.coefficients) * scales[families.parents]
    ratios = ratios / scales[families.family_of_edge]
    roots = np.sqrt(1.0 + np.bincount(families.parents, minlength=len(families)))
    explained = roots[families.parents] * (ratios + np.sqrt(1.0 + ratios**2))
    largest = np.zeros(len(families))
    np.maximum.at(largest, families.family_of_edge, np.nan_to_num(explained, nan=np.inf))
    return np.asarray(bonferroni_cutoff(len(model.columns)) * largest)


def _wrong_parents(review: Review, candidates: CellIndices) -> tuple[WrongParents, IntArray]:
    r"""Candidates that explain more than their rejected children do, and the indices of these.

    A record wrong by d moves the standardised residuals z of the cell and its children along a:
    1/s for itself, -b/s for a child. It leaves :math:`|z|^2 - (a'z)^2 / |a|^2`. To call the
    children wrong leaves the squares of all others. Each wrong cell adds its penalty.
    """
    model, count = review.model, len(candidates.nodes)
    owners, edges, children = _children_of(model.families, candidates)
    indices, suspicious = review.find(children)
    rejected = suspicious & review.is_rejected(indices)
    residuals, scales = review.residuals(children)
    counted = np.isfinite(residuals) & (rejected | ~suspicious) & ~model.was_set(children)
    z = np.where(counted, residuals / scales, 0.0)
    a = np.where(counted, -model.coefficients[edges] / scales, 0.0)
    own_residuals, own_scales = review.residuals(candidates)
    own_z = own_residuals / own_scales
    length = 1.0 / own_scales**2 + np.bincount(owners, a * a, count)
    along = own_z / own_scales + np.bincount(owners, a * z, count)
    squares = own_z**2 + np.bincount(owners, z * z, count)
    others = own_z**2 + np.bincount(owners, np.where(rejected, 0.0, z * z), count)
    penalties, blamed = review.penalties(), rejected & counted
    others += np.bincount(owners, penalties[children.nodes] * blamed, count)
    better = squares - along**2 / length + penalties[candidates.nodes] < others
    cells, along, length = candidates.only(better), along[better], length[better]
    expected = model.columns[cells.rows, cells.nodes] - along / length
    wrong = WrongParents(cells, expected, 1.0 / length, along / np.sqrt(length))
    return wrong, indices[better[owners] & blamed]


def _children_of(families: Families, cells: CellIndices) -> tuple[IntArray, IntArray, CellIndices]:
    """For each cell its children in the same row: which cell, which edge, and the child's cell."""
    by_parent = np.argsort(families.parents, kind="stable")
    counts = np.bincount(families.parents, minlength=len(families))
    own = counts[cells.nodes]
    owners = np.repeat(np.arange(len(own)), own)
    shift = (np.cumsum(counts) - counts)[cells.nodes] - (np.cumsum(own) - own)
    edges = by_parent[np.arange(len(owners)) + shift[owners]]
    return owners, edges, CellIndices(families.family_of_edge[edges], cells.rows[owners])


def _cleared_children(review: Review, cleared: IntArray, limit: float) -> IntArray:
    """Rejected cells with a parent just cleared that agree with it as recorded."""
    _, _, children = _children_of(review.model.families, review.cells(cleared))
    indices, suspicious = review.find(children)
    rejected = np.unique(indices[suspicious & review.is_rejected(indices)])
    residuals, scales = review.residuals(review.cells(rejected))
    return np.asarray(rejected[np.abs(residuals) <= limit * scales])


def _changed_cells(review: Review, wrong: WrongParents) -> dict[int, SuspiciousCells]:
    """The cells of the nodes that changed: without those cleared, and with the wrong parents."""
    table, cells = review.model.table, {}
    cleared = review.cells(np.flatnonzero(review.statuses == FINE)).nodes
    for node in np.unique(np.concatenate((cleared, wrong.cells.nodes))).tolist():
        kept = review.statuses[table.span(node)] != FINE
        own, found = SuspiciousCells.of_node(table, node), wrong.of_node(node)
        own = own if kept.all() else own.only(kept)
        cells[node] = own.joined(found) if len(found.rows) else own
    return cells
