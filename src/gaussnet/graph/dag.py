"""The directed acyclic graph."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.errors import CycleError, GraphError
from gaussnet.graph.formats import networkx as convert, text
from gaussnet.graph.order import child_lists, find_cycle, is_forest, topological_order
from gaussnet.graph.separation import Separation
from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray, IntArray


def node_name(label: object) -> str:
    """The name of a node: a string as it is, an integer by its digits.

    Examples
    --------
    >>> node_name("rain"), node_name(7)
    ('rain', '7')
    """
    if isinstance(label, str):
        return str.__str__(label)  # a plain string, also for numpy strings and enum members
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return str(label)
    raise GraphError(f"got the node name {label!r}, expected a string: rename the node")


def edge_names(edge: object) -> tuple[str, str]:
    """The names of a (parent, child) pair, which may also be a list or an array of two.

    Examples
    --------
    >>> edge_names(["rain", 7])
    ('rain', '7')
    """
    match edge.tolist() if isinstance(edge, np.ndarray) else edge:
        case (parent, child):
            return node_name(parent), node_name(child)
    raise GraphError(
        f"got the edge {edge!r}, expected a pair (parent, child): give two names for each edge"
    )


def square_matrix(matrix: ArrayLike, *, allow_nan: bool = False) -> FloatArray:
    """The matrix as floats, (nodes, nodes), all of them numbers unless NaN is allowed.

    Examples
    --------
    >>> square_matrix([[0, 1], [0, 0]]).shape
    (2, 2)
    """
    try:
        weights = np.asarray(matrix)
    except ValueError:
        raise GraphError(
            "the rows of the adjacency matrix differ in length: give a square matrix"
        ) from None
    if not weights.shape or weights.shape != 2 * weights.shape[:1]:
        raise GraphError(
            f"got an adjacency matrix of shape {weights.shape}, expected a square one: give one "
            "row and one column for each node"
        )
    numbers = weights.dtype.kind in "biuf"
    if not numbers or (not allow_nan and np.isnan(weights.astype(np.float64)).any()):
        raise GraphError("the adjacency matrix holds NaN or non-numbers: use 0 for 'no edge'")
    return weights.astype(np.float64)


def check_parents(nodes: Sequence[str], families: Families) -> None:
    """Refuse parents that are no nodes, and parents listed twice; each family is sorted.

    Examples
    --------
    >>> check_parents(["a", "b"], Families(np.arange(2), np.array([0, 0, 1]), np.array([0])))
    """
    parents, owners = families.parents, families.family_of_edge
    wrong = parents[(parents < 0) | (parents >= len(nodes))]
    if len(wrong):
        raise GraphError(
            f"got the parent position {wrong[0]} in a graph of {len(nodes)} nodes: count the "
            "nodes from 0"
        )
    twice = np.flatnonzero((np.diff(parents) == 0) & (np.diff(owners) == 0))
    if len(twice):
        parent, child = nodes[parents[twice[0]]], nodes[owners[twice[0]]]
        raise GraphError(f"the edge {parent!r} -> {child!r} is listed twice: list it once")


Orientation = Literal["parent-row", "child-row", "lingam", "causal-learn"]

_ENDS = {-1.0: "-", 1.0: ">", 2.0: "o"}


def parent_lists(
    matrix: ArrayLike, names: Sequence[object], orientation: Orientation
) -> list[list[int]]:
    """The positions of every node's parents; `names` are for messages.

    Examples
    --------
    >>> parent_lists([[0, 1], [0, 0]], "ab", "parent-row")
    [[], [0]]
    >>> parent_lists([[0, 1], [0, 0]], "ab", "lingam")
    [[1], []]
    >>> parent_lists([[0, -1], [1, 0]], "ab", "causal-learn")
    [[], [0]]
    """
    if orientation not in get_args(Orientation):
        raise GraphError(
            f"got orientation={orientation!r}, expected 'parent-row' (matrix[i, j] means i -> j), "
            "'child-row' or 'lingam' (j -> i), or 'causal-learn' (marks at both ends)"
        )
    weights = square_matrix(matrix, allow_nan=orientation == "lingam")
    if len(names) != len(weights):
        raise GraphError(
            f"got {len(names)} names for {len(weights)} nodes: give one name for each row"
        )
    _refuse_unknown(weights, names)
    if orientation == "causal-learn":
        into = _arrows(weights, names)
    else:
        into = weights.T if orientation == "parent-row" else weights
    return [np.flatnonzero(row).tolist() for row in into]


def row_count(matrix: ArrayLike) -> int:
    """The number of rows, 0 for what has none.

    Examples
    --------
    >>> row_count([[0, 1], [0, 0]]), row_count(3)
    (2, 0)
    """
    return len(matrix) if isinstance(matrix, Sized) else 0


def _arrows(marks: FloatArray, names: Sequence[object]) -> FloatArray:
    """Row j, column i is not 0 where the edge goes i -> j.

    causal-learn writes at ``[i, j]`` the mark at i of the edge between i and j: -1 a tail, 1 an
    arrowhead, 2 a circle.
    """
    arrows = (marks == 1.0) & (marks.T == -1.0)
    wrong = np.argwhere(((marks != 0.0) | (marks.T != 0.0)) & ~arrows & ~arrows.T)
    if len(wrong):
        i, j = wrong[0].tolist()
        near, far = (_ENDS.get(mark, "?") for mark in (marks[i, j], marks[j, i]))
        shown = f"{near.replace('>', '<')}-{far}"
        raise GraphError(
            f"the edge between {names[i]!r} and {names[j]!r} is {names[i]!r} {shown} {names[j]!r}, "
            "expected a direction: a DAG has neither undirected nor two-headed edges, so decide it "
            "(-1 at the parent's end, 1 at the child's)"
        )
    return np.asarray(arrows, dtype=np.float64)


def _refuse_unknown(weights: FloatArray, names: Sequence[object]) -> None:
    """Refuse NaN, which lingam writes for pairs with a common cause that was not observed."""
    unknown = np.argwhere(np.isnan(weights))
    if len(unknown):
        i, j = unknown[0].tolist()
        raise GraphError(
            f"lingam could not tell how {str(names[j])!r} and {str(names[i])!r} are related and "
            "wrote NaN, expected a number: decide it, with 0 for 'no edge'"
        )


Edge = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Dag(Separation):
    """A directed acyclic graph over named nodes; every edge goes parent -> child.

    Nodes keep the order they were given in; data columns follow that order. The parents of
    a node are listed in node order too.

    Examples
    --------
    >>> dag = Dag.from_edges([("rain", "wet"), ("sprinkler", "wet")])
    >>> dag.nodes
    ('rain', 'wet', 'sprinkler')
    >>> dag.parents("wet")
    ('rain', 'sprinkler')
    """

    nodes: tuple[str, ...]
    families: Families
    """Parents of every node as column numbers; family i is that of ``nodes[i]``."""

    def __post_init__(self) -> None:
        """Refuse names that are empty or listed twice, and cycles."""
        for name in self.nodes:
            if not isinstance(name, str) or not name:
                raise GraphError(
                    f"got the node name {name!r}, expected a non-empty string: rename the node"
                )
        if len(self.positions) != len(self.nodes):
            twice = Counter(self.nodes).most_common(1)[0][0]
            raise GraphError(
                f"the node {twice!r} is listed twice: give each node one name of its own"
            )
        _ = self.order

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[object, object]], *, nodes: Iterable[object] | None = None
    ) -> Self:
        """The graph with these (parent, child) edges.

        `nodes` fixes the order and may add isolated nodes; without it, nodes stand in the
        order in which the edges first name them. Integers are taken as names: 7 means "7".

        Examples
        --------
        >>> Dag.from_edges([("b", "a")], nodes=["a", "b", "alone"]).nodes
        ('a', 'b', 'alone')
        """
        pairs = [edge_names(edge) for edge in edges]
        if nodes is None:
            names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
        else:
            names = tuple(node_name(node) for node in nodes)
        position = {name: index for index, name in enumerate(names)}
        parents: list[list[int]] = [[] for _ in names]
        for parent, child in pairs:
            for name in (parent, child):
                if name not in position:
                    raise GraphError(
                        f"the edge {parent!r} -> {child!r} names {name!r}, which is not among "
                        "the nodes: add it to nodes or drop the edge"
                    )
            parents[position[child]].append(position[parent])
        return cls.from_parents(names, parents)

    @classmethod
    def from_parents(cls, nodes: Sequence[str], parents: Sequence[Sequence[int]]) -> Self:
        """The graph whose node i has the parents at positions ``parents[i]``.

        Examples
        --------
        >>> Dag.from_parents(["rain", "wet"], [[], [0]]).edges
        (('rain', 'wet'),)
        """
        if len(parents) != len(nodes):
            raise GraphError(
                f"got {len(parents)} lists of parents for {len(nodes)} nodes: give one for each"
            )
        sizes = [len(own) for own in parents]
        offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        flat = np.array([j for own in parents for j in sorted(own)], dtype=np.int64)
        families = Families(np.arange(len(nodes)), offsets, flat)
        check_parents(nodes, families)
        return cls(tuple(nodes), families)

    @classmethod
    def from_adjacency(
        cls,
        matrix: ArrayLike,
        names: Iterable[object] | None = None,
        *,
        orientation: Orientation = "parent-row",
    ) -> Self:
        """The graph of a square matrix: ``matrix[i, j] != 0`` means i -> j.

        With ``orientation="child-row"`` the matrix is read the other way, j -> i: the habit
        of programs that write the coefficients of node i in row i, as "lingam" does. With
        "causal-learn" it holds marks, ``[i, j] == -1`` and ``[j, i] == 1`` for i -> j; edges
        without one direction are refused. Without `names` the nodes are called "0", "1", ...

        Examples
        --------
        >>> Dag.from_adjacency([[0, 1], [0, 0]], ["a", "b"]).edges
        (('a', 'b'),)
        """
        labels = list(range(row_count(matrix))) if names is None else list(names)
        parents = parent_lists(matrix, labels, orientation)
        return cls.from_parents([node_name(label) for label in labels], parents)

    @classmethod
    def from_networkx(cls, graph: convert.DiGraph) -> Self:
        """The graph of a networkx DiGraph; node labels become names by `str`."""
        nodes, edges = convert.networkx_parts(graph)
        return cls.from_edges(edges, nodes=nodes)

    @classmethod
    def parse(cls, model: str) -> Self:
        """Read a bnlearn model string, or lines of the form ``y ~ a + b``.

        Examples
        --------
        >>> Dag.parse("[rain][sprinkler][wet|rain:sprinkler]").parents("wet")
        ('rain', 'sprinkler')
        >>> Dag.parse("wet ~ rain + sprinkler; slippery ~ wet").nodes
        ('wet', 'rain', 'sprinkler', 'slippery')
        """
        nodes, edges = text.parse_model(model)
        return cls.from_edges(edges, nodes=nodes)

    def to_networkx(self) -> convert.DiGraph:
        """A networkx DiGraph with the same nodes, in the same order, and edges."""
        return convert.to_networkx(self.nodes, self.edges)

    def to_model_string(self) -> str:
        """The bnlearn model string, nodes in topological order; `parse` keeps that order.

        Examples
        --------
        >>> Dag.from_edges([("a", "b")]).to_model_string()
        '[a][b|a]'
        """
        return text.model_string((self.nodes[i], self.parents(self.nodes[i])) for i in self.order)

    def to_formulas(self) -> str:
        """One line ``y ~ a + b`` per node, from which `parse` makes an equal graph.

        To keep the node order, a node before one of its parents gets its formula at the end.

        Examples
        --------
        >>> print(Dag.from_edges([("rain", "wet"), ("sprinkler", "wet")]).to_formulas())
        rain
        wet
        sprinkler
        wet ~ rain + sprinkler
        """
        return text.formulas((node, self.parents(node)) for node in self.nodes)

    def to_dot(self) -> str:
        """The graph in Graphviz DOT."""
        return text.dot(self.nodes, self.edges)

    @cached_property
    def positions(self) -> dict[str, int]:
        """The column number of each node."""
        return {name: index for index, name in enumerate(self.nodes)}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All (parent, child) pairs, child by child in node order."""
        names = self.nodes
        parents = self.families.parents.tolist()
        owners = self.families.family_of_edge.tolist()
        return tuple((names[j], names[i]) for j, i in zip(parents, owners, strict=True))

    @cached_property
    def order(self) -> IntArray:
        """Node positions in topological order; of several, the first in node order."""
        order = topological_order(self.families)
        if len(order) < len(self.nodes):
            raise CycleError(tuple(self.nodes[i] for i in find_cycle(self.families, order)))
        return order

    def parents(self, node: str) -> tuple[str, ...]:
        """The parents of a node, in node order."""
        index = self.position(node)
        start, stop = self.families.offsets[index : index + 2].tolist()
        return tuple(self.nodes[j] for j in self.families.parents[start:stop].tolist())

    def children(self, node: str) -> tuple[str, ...]:
        """The children of a node, in node order."""
        return tuple(self.nodes[i] for i in self._child_lists[self.position(node)])

    def position(self, node: str) -> int:
        """The column number of a node."""
        try:
            return self.positions[node]
        except (KeyError, TypeError):
            raise GraphError(
                f"there is no node {node!r}: the nodes are {shorten(self.nodes)}"
            ) from None

    @property
    def in_degrees(self) -> IntArray:
        """Number of parents of each node, (nodes,)."""
        return self.families.sizes

    @property
    def max_in_degree(self) -> int:
        """The largest number of parents, d; 0 for a graph without nodes."""
        return int(self.in_degrees.max(initial=0))

    @property
    def average_in_degree(self) -> float:
        """Edges per node; 0 for a graph without nodes."""
        return len(self.families.parents) / max(len(self.nodes), 1)

    @cached_property
    def is_polytree(self) -> bool:
        """Whether the graph has no cycle even when the arrows are forgotten.

        Examples
        --------
        >>> Dag.parse("[a][b][c|a:b]").is_polytree, Dag.parse("[a][b|a][c|a:b]").is_polytree
        (True, False)
        """
        return is_forest(self.families)

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def __iter__(self) -> Iterator[str]:
        """The nodes, in their order."""
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        """Whether this is the name of a node."""
        return node in self.positions

    def __eq__(self, other: object) -> bool:
        """Whether nodes, their order and edges are the same."""
        if not isinstance(other, Dag):
            return NotImplemented
        return self.nodes == other.nodes and self.edges == other.edges

    def __hash__(self) -> int:
        """Equal graphs have equal hashes."""
        return hash((self.nodes, self.edges))

    def __repr__(self) -> str:
        """The size of the graph and its first nodes."""
        edges = len(self.families.parents)
        return f"Dag({len(self.nodes)} nodes, {edges} edges: {shorten(self.nodes)})"

    @cached_property
    def _child_lists(self) -> list[list[int]]:
        return child_lists(self.families)


def shorten(names: Sequence[str], limit: int = 6) -> str:
    """The first few names, quoted, for a message."""
    shown = ", ".join(repr(name) for name in names[:limit])
    more = len(names) - limit
    return f"{shown} and {more} more" if more > 0 else shown or "none"
