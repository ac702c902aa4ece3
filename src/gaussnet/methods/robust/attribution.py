"""Parent or child? A wrong cell that its own equation lets pass shows in its children.

A cell wrong by a few standard deviations may be missed where it stands, and its children, which
disagree with it, are flagged instead. After the walk each flagged cell is weighed against its
parents: of the two explanations the likelier is kept."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet import kernels
from gaussnet.kernels import CellTable
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import CONFIRMED, FINE, FLAGGED
from gaussnet.methods.robust.cells import SuspiciousCells, cells_of
from gaussnet.methods.robust.normal import SMALLEST_CUTOFF, bonferroni_point
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.types import BoolArray, FloatArray, IntArray

MOST_ROUNDS = 10


class Model(NamedTuple):
    """What the walk has learnt: rows (rows, nodes), equations, and suspicious cells."""

    columns: FloatArray
    families: Families
    coefficients: FloatArray
    intercepts: FloatArray
    variances: FloatArray
    table: CellTable
    discrete: list[int]
    """Nodes whose cells are not judged, because their columns have few values."""


class Spots(NamedTuple):
    """Cells anywhere in the data."""

    nodes: IntArray
    rows: IntArray

    def only(self, chosen: BoolArray | IntArray) -> "Spots":
        """The chosen ones."""
        return Spots(self.nodes[chosen], self.rows[chosen])


@dataclass(frozen=True, eq=False)
class Board:
    """All suspicious cells as the table has them, and their statuses, which change."""

    model: Model
    order: IntArray
    """Nodes that have cells, in the order of the table."""
    starts: IntArray
    """Where their cells start."""
    statuses: NDArray[np.uint8]

    @classmethod
    def of(cls, model: Model) -> "Board":
        """The cells that the walk has found."""
        table = model.table
        order = np.flatnonzero(table.bounds[1] > table.bounds[0])
        order = order[np.argsort(table.bounds[0, order])]
        statuses = table.statuses[: int(table.progress[0])].copy()
        return cls(model, order, table.bounds[0, order], statuses)

    def spots(self, chosen: IntArray) -> Spots:
        """Where the chosen cells of the table are."""
        nodes = self.order[np.searchsorted(self.starts, chosen, side="right") - 1]
        return Spots(nodes, self.model.table.rows[0, chosen])

    def find(self, spots: Spots) -> tuple[IntArray, BoolArray]:
        """Places in the table, and whether the cells are suspicious."""
        places: IntArray = kernels.find_cells(self.model.table, spots.nodes, spots.rows)
        return places, (places >= 0) & (self.statuses[places] != FINE)

    def deviations(self, spots: Spots) -> tuple[FloatArray, FloatArray]:
        """Recorded minus expected by the cleaned parents, and its standard deviation."""
        model, families = self.model, self.model.families
        edges = families.edges_of(spots.nodes)
        owners = np.repeat(np.arange(len(spots.nodes)), families.sizes[spots.nodes])
        above = Spots(families.parents[edges], spots.rows[owners])
        places, known = self.find(above)
        expected, variances = model.table.values[:2]
        values = np.where(known, expected[places], model.columns[above.rows, above.nodes])
        blurred = np.where(known, variances[places], 0.0)
        slopes, count = model.coefficients[edges], len(spots.nodes)
        rest = model.columns[spots.rows, spots.nodes] - model.intercepts[spots.nodes]
        rest = rest - np.bincount(owners, slopes * values, count)
        spread = model.variances[spots.nodes] + np.bincount(owners, slopes**2 * blurred, count)
        return rest, np.sqrt(spread)

    def prices(self) -> FloatArray:
        r"""What a wrong cell of each node costs: :math:`-2 \log` of the accused share, (nodes,)."""
        counts = np.zeros(len(self.model.families))
        counts[self.order] = np.add.reduceat(self.accused, self.starts, dtype=np.int64)
        return np.asarray(-2.0 * np.log((1.0 + counts) / (1.0 + len(self.model.columns))))

    @property
    def accused(self) -> BoolArray:
        """Which cells were called wrong or rare."""
        return _is_accused(self.statuses)


def _is_accused(statuses: NDArray[np.uint8]) -> BoolArray:
    return np.asarray((statuses == FLAGGED) | (statuses == CONFIRMED))


class Culprits(NamedTuple):
    """Cells found wrong through their children, with what the whole family expects of them."""

    spots: Spots
    expected: FloatArray
    variances: FloatArray
    deviations: FloatArray

    def of_node(self, node: int) -> SuspiciousCells:
        """Those of one node."""
        chosen = self.spots.nodes == node
        statuses = np.full(np.count_nonzero(chosen), FLAGGED, dtype=np.uint8)
        values = (self.expected[chosen], self.variances[chosen], self.deviations[chosen])
        return SuspiciousCells(self.spots.rows[chosen], statuses, *values)


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def attribute(model: Model, settings: SequentialTrim) -> dict[int, SuspiciousCells]:
    """The cells of the nodes for which weighing flagged ones against their parents changed any."""
    if model.table.progress[0] == 0:
        return {}
    rows = len(model.columns)
    keys = kernels.list_parents(model.table, model.families, _reach(model), rows)
    pairs = Spots(*np.divmod(keys, rows))
    if model.discrete:
        pairs = pairs.only(~np.isin(pairs.nodes, model.discrete))
    if len(pairs.nodes) == 0:
        return {}
    board = Board.of(model)
    pairs = _unexpected(board, pairs)
    if len(pairs.nodes) == 0:
        return {}
    culprits, cleared = _culprits(board, pairs)
    for _ in range(MOST_ROUNDS):
        if len(cleared) == 0:
            break
        board.statuses[cleared] = FINE
        cleared = _cleared_after(board, cleared, settings.cleaned_cutoff)
    return _rewritten(board, culprits)


def _rewritten(board: Board, culprits: Culprits) -> dict[int, SuspiciousCells]:
    """The cells of the nodes that changed: those cleared are gone, the culprits are in."""
    table, cells = board.model.table, {}
    cleared = board.spots(np.flatnonzero(board.statuses == FINE)).nodes
    for node in np.unique(np.concatenate((cleared, culprits.spots.nodes))).tolist():
        kept = board.statuses[table.span(node)] != FINE
        own, found = cells_of(table, node), culprits.of_node(node)
        own = own if kept.all() else own.only(kept)
        cells[node] = own.joined(found) if len(found.rows) else own
    return cells


def _unexpected(board: Board, pairs: Spots) -> Spots:
    """Only the cells that do not lie as expected: the others are not wrong."""
    rest, spread = board.deviations(pairs)
    return pairs.only(np.abs(rest) > SMALLEST_CUTOFF * spread)


def _reach(model: Model) -> FloatArray:
    r"""The largest deviation of each node's cells that a parent might explain, (nodes,).

    A parent no one suspects, and its other children, deviate by at most about the Bonferroni
    point t. With the ratio :math:`\rho = |b| s_{parent} / s` and k children it explains up to
    :math:`t \sqrt{1 + k} (\rho + \sqrt{1 + \rho^2})`.
    """
    families = model.families
    scales = np.sqrt(model.variances)
    ratios = np.abs(model.coefficients) * scales[families.parents]
    ratios = ratios / scales[families.family_of_edge]
    crowd = np.sqrt(1.0 + np.bincount(families.parents, minlength=len(families)))
    reach = crowd[families.parents] * (ratios + np.sqrt(1.0 + ratios**2))
    largest = np.zeros(len(families))
    np.maximum.at(largest, families.family_of_edge, np.nan_to_num(reach, nan=np.inf))
    return np.asarray(bonferroni_point(len(model.columns)) * largest)


def _culprits(board: Board, pairs: Spots) -> tuple[Culprits, IntArray]:
    r"""Parents that explain more than their accused children do, and the places of these.

    A record wrong by d moves the standardised residuals z of the cell and its children along a:
    1/s for itself, -b/s for a child. It leaves :math:`|z|^2 - (a'z)^2 / |a|^2`. To call the
    children wrong leaves the squares of all others. A wrong cell costs its price.
    """
    model, families = board.model, board.model.families
    owners, edges = _edges_below(families, pairs)
    below = Spots(families.family_of_edge[edges], pairs.rows[owners])
    places, known = board.find(below)
    accused = known & _is_accused(board.statuses[places])
    rest, spread = board.deviations(below)
    heard = np.isfinite(rest) & (accused | ~known)
    z, a = (
        np.where(heard, rest / spread, 0.0),
        np.where(heard, -model.coefficients[edges] / spread, 0.0),
    )
    own_rest, own_spread = board.deviations(pairs)
    own, count = own_rest / own_spread, len(pairs.nodes)
    lengths = 1.0 / own_spread**2 + np.bincount(owners, a * a, count)
    along = own / own_spread + np.bincount(owners, a * z, count)
    squares = own**2 + np.bincount(owners, z * z, count)
    others = own**2 + np.bincount(owners, np.where(accused, 0.0, z * z), count)
    prices = board.prices()
    paid = np.bincount(owners, prices[below.nodes] * (accused & heard), count)
    better = squares - along**2 / lengths + prices[pairs.nodes] < others + paid
    spots = pairs.only(better)
    shift = (along / lengths)[better]
    expected = model.columns[spots.rows, spots.nodes] - shift
    culprits = Culprits(spots, expected, 1.0 / lengths[better], (along / np.sqrt(lengths))[better])
    return culprits, places[better[owners] & accused & heard]


def _edges_below(families: Families, spots: Spots) -> tuple[IntArray, IntArray]:
    """For each cell the edges to its children: which cell, and which edge."""
    by_parent = np.argsort(families.parents, kind="stable")
    counts = np.bincount(families.parents, minlength=len(families))
    own = counts[spots.nodes]
    owners = np.repeat(np.arange(len(own)), own)
    shift = (np.cumsum(counts) - counts)[spots.nodes] - (np.cumsum(own) - own)
    return owners, by_parent[np.arange(len(owners)) + shift[owners]]


def _cleared_after(board: Board, cleared: IntArray, limit: float) -> IntArray:
    """Accused cells with a parent just cleared that agree with it as recorded."""
    spots = board.spots(cleared)
    owners, edges = _edges_below(board.model.families, spots)
    below = Spots(board.model.families.family_of_edge[edges], spots.rows[owners])
    places, known = board.find(below)
    accused = known & _is_accused(board.statuses[places])
    touched = np.unique(places[accused])
    rest, spread = board.deviations(board.spots(touched))
    return np.asarray(touched[np.abs(rest) <= limit * spread])
