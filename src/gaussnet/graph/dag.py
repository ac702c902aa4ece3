"""The directed acyclic graph."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gaussnet import display
from gaussnet.errors import CycleError, DataError, GraphError, SettingError
from gaussnet.graph import algorithms
from gaussnet.graph.adjustment import is_adjustment_set, minimal_adjustment_sets
from gaussnet.graph.covariances import arcs_of, causal_families
from gaussnet.graph.formats import networkx, text
from gaussnet.graph.formats.adjacency import Orientation, parent_lists
from gaussnet.kernels.families import Families
from gaussnet.named_rows import did_you_mean
from gaussnet.types import BoolArray, IntArray

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Independence:
    """`node` is independent of `other` given `given`."""

    node: str
    other: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        condition = f" | {', '.join(self.given)}" if self.given else ""
        return f"{self.node} _||_ {self.other}{condition}"


@dataclass(frozen=True, eq=False, repr=False)
class Dag:
    """A directed acyclic graph over named nodes; every edge goes parent -> child.

    Nodes keep the order they were given in, and the parents of a node are listed in node order
    too. Columns with names find their nodes by name. Columns without names follow the order of
    the nodes, if somebody chose it: see `has_column_order` and `reordered`.

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
    has_column_order: bool = True
    """Whether somebody chose the order of the nodes, so that columns without names may follow it.
    The order in which a text or edges happen to name the nodes is nobody's choice."""
    labels: Mapping[str, Edge] = field(default_factory=dict)
    """Edges by the labels that a model text gives them, as b in ``y ~ b*m``."""
    definitions: Mapping[str, str] = field(default_factory=dict)
    """Quantities that a model text defines from labels, as ``ind := a*b``; see `Fit.defined`."""
    covariances: tuple[Edge, ...] = ()
    """Edges that are no causes: pairs of nodes without parents whose covariance is free, as
    ``x1 ~~ x2`` says it. They stand among `edges`, and not among `arrows`."""
    factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Categories by name, with their levels, the reference first. A factor is not itself a node:
    the node ``fuel[Petrol]`` is 1 where the level of fuel is Petrol, and 0 elsewhere."""

    def __post_init__(self) -> None:
        """Refuse names that are empty or listed twice, and cycles."""
        if not isinstance(self.families, Families):
            raise GraphError(
                f"got {type(self.families).__name__} for the families of a Dag: make one from "
                "edges with Dag.from_edges(edges, nodes=names), or from text with Dag.parse"
            )
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
        order in which the edges first name them, which no array is read by. Integers are taken
        as names: 7 means "7".

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
        return cls.from_parents(names, parents).with_column_order(nodes is not None)

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
        count = len(matrix) if isinstance(matrix, Sized) else 0
        labels = list(range(count) if names is None else names)
        parents = parent_lists(matrix, labels, orientation)
        return cls.from_parents([node_name(label) for label in labels], parents)

    @classmethod
    def from_networkx(
        cls, graph: networkx.DiGraph, *, nodes: Iterable[object] | None = None
    ) -> Self:
        """The graph of a networkx DiGraph; node labels become names by `str`.

        `nodes` lists all of them in the order of the columns of data without names.
        """
        return cls.from_parts(*networkx.networkx_parts(graph), order=nodes)

    @classmethod
    def parse(cls, model: str, *, nodes: Iterable[object] | None = None) -> Self:
        """Read a bnlearn model string, or lines of the form ``y ~ a + b``.

        `nodes` lists all of them in the order of the columns of data without names.

        Examples
        --------
        >>> Dag.parse("[rain][sprinkler][wet|rain:sprinkler]").parents("wet")
        ('rain', 'sprinkler')
        >>> Dag.parse("wet ~ rain + sprinkler; slippery ~ wet").nodes
        ('wet', 'rain', 'sprinkler', 'slippery')

        As in lavaan, coefficients may have labels, and quantities may be defined from these:

        >>> dag = Dag.parse("m ~ a*x; y ~ b*m + x; ind := a*b")
        >>> dag.labels["b"], dag.definitions
        (('m', 'y'), {'ind': 'a*b'})

        and ``x1 ~~ x2`` lets two nodes without parents covary:

        >>> dag = Dag.parse("y ~ x1 + x2; x1 ~~ x2")
        >>> dag.covariances, dag.parents("x2")
        ((('x1', 'x2'),), ())
        """
        dag = cls.from_parts(*text.parse_model(model)).labelled(model)
        dag = dag.with_covariances(text.parse_covariances(model))
        return dag if nodes is None else dag.reordered(nodes)

    def labelled(self, model: str) -> Self:
        """This graph with the labels and definitions of its model text."""
        found = text.parse_labels(model)
        return replace(self, labels=found.edges, definitions=found.definitions)

    @classmethod
    def from_parts(
        cls,
        nodes: Iterable[object],
        edges: Iterable[tuple[object, object]],
        *,
        order: Iterable[object] | None = None,
    ) -> Self:
        """The graph that a text or file speaks of: nodes as it happens to list them, and edges."""
        dag = cls.from_edges(edges, nodes=nodes).with_column_order(False)
        return dag if order is None else dag.reordered(order)

    def reordered(self, nodes: Iterable[object]) -> Self:
        """The same graph with its nodes in this order, which columns without names follow.

        Examples
        --------
        >>> dag = Dag.parse("wet ~ rain")
        >>> dag.nodes, dag.reordered(["rain", "wet"]).nodes
        (('wet', 'rain'), ('rain', 'wet'))
        """
        names = [node_name(node) for node in nodes]
        if tuple(names) == self.nodes and self.has_column_order:
            return self
        known = set(names)
        left = [node for node in self.nodes if node not in known]
        if left:
            meant = did_you_mean(left[0], known.difference(self.nodes))
            hint = f"{meant} List" if meant else ": list"
            raise GraphError(f"the order leaves out {shorten(left)}{hint} every node once")
        added = [name for name in names if name not in self]
        if added:
            raise GraphError(
                f"the order names {shorten(added)}, which the graph does not have: its nodes are "
                f"{shorten(self.nodes)}"
            )
        dag = type(self).from_edges(self.arrows, nodes=names)
        more = (self.labels, self.definitions, self.factors)
        dag = replace(dag, labels=more[0], definitions=more[1], factors=more[2])
        return dag.with_covariances(self.covariances)

    def with_factors(self, factors: Mapping[str, tuple[str, ...]]) -> Self:
        """The graph with indicators of levels in place of nodes that hold categories.

        Indicators of one factor covary, for a row has one level only.

        Examples
        --------
        >>> levels = {"fuel": ("Diesel", "Gas", "Petrol")}
        >>> Dag.parse("mpg ~ fuel + weight").with_factors(levels).parents("mpg")
        ('fuel[Gas]', 'fuel[Petrol]', 'weight')
        """
        self._check_factors(factors)
        names = {
            node: [indicator(node, level) for level in factors[node][1:]]
            if node in factors
            else [node]
            for node in self.nodes
        }
        edges = [(one, child) for parent, child in self.arrows for one in names[parent]]
        dag = type(self).from_edges(edges, nodes=[one for own in names.values() for one in own])
        pairs = [
            (a, b) for one, other in self.covariances for a in names[one] for b in names[other]
        ]
        for node in factors:
            own = names.get(node, [])
            pairs += [(a, b) for rank, b in enumerate(own) for a in own[:rank]]
        labels = {label: _only_edge(edge, names, label) for label, edge in self.labels.items()}
        levels = {node: tuple(map(str, own)) for node, own in factors.items()}
        more = (labels, self.definitions, {**self.factors, **levels})
        dag = replace(dag, labels=more[0], definitions=more[1], factors=more[2])
        return dag.with_covariances(pairs).with_column_order(self.has_column_order)

    def _check_factors(self, factors: Mapping[str, Sequence[str]]) -> None:
        """Refuse levels of nodes that cannot be categories."""
        for node, levels in factors.items():
            if isinstance(levels, str) or len(set(map(str, levels))) < max(len(levels), 2):
                raise GraphError(
                    f"got the levels {levels!r} of {node!r}, expected two or more, each once, the "
                    f"reference first: give a list of texts"
                )
            if self.parents(node):
                raise GraphError(
                    f"the node {node!r} holds categories and has the parents "
                    f"{shorten(self.parents(node))}, but a linear equation cannot give a category: "
                    "turn these edges round, leave them out, or give the node as numbers"
                )

    def without_factors(self) -> Self:
        """The graph with one node for each category, without labels and definitions.

        Examples
        --------
        >>> dag = Dag.parse("mpg ~ fuel").with_factors({"fuel": ("Diesel", "Gas", "Petrol")})
        >>> dag.without_factors().edges
        (('fuel', 'mpg'),)
        """
        if not self.factors:
            return self
        owner = {node: name for node, (name, _) in self.indicators.items()}
        names = dict.fromkeys(owner.get(node, node) for node in self.nodes)
        edges = dict.fromkeys((owner.get(one, one), child) for one, child in self.arrows)
        pairs = {tuple(owner.get(node, node) for node in pair) for pair in self.covariances}
        dag = type(self).from_edges(edges, nodes=names).with_column_order(self.has_column_order)
        return dag.with_covariances((one, other) for one, other in pairs if one != other)

    @cached_property
    def indicators(self) -> dict[str, tuple[str, str]]:
        """Factor and level of each node that is an indicator."""
        return {
            indicator(name, level): (name, level)
            for name, levels in self.factors.items()
            for level in levels[1:]
        }

    def with_covariances(self, pairs: Iterable[tuple[object, object]]) -> Self:
        """This graph with free covariances between these pairs of nodes without parents.

        They have causes in common that nobody measured; neither causes the other. The pairs are
        written as edges of an equivalent graph, so some may be turned round, and `covariances`
        lists them.

        Examples
        --------
        >>> dag = Dag.parse("y ~ age + income").with_covariances([("income", "age")])
        >>> dag.covariances, dag.arrows
        ((('age', 'income'),), (('age', 'y'), ('income', 'y')))
        """
        wanted = {frozenset(edge_names(pair)) for pair in (*pairs, *self.covariances)}
        wanted = {pair for pair in wanted if len(pair) == 2}  # x ~~ x is its variance
        places = sorted(sorted(map(self.position, pair)) for pair in wanted)
        for one, other in places:
            for node in (one, other):
                if self.parents(self.nodes[node]):
                    raise _no_root(self, self.nodes[one], self.nodes[other], self.nodes[node])
        return self._with_arcs(arcs_of([(one, other) for one, other in places], self.nodes))

    def with_correlated_roots(self) -> Self:
        """This graph with free covariances between all nodes without parents.

        Examples
        --------
        >>> Dag.parse("y ~ a + b + c").with_correlated_roots().covariances
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        """
        covary = {child for _, child in self.covariances}
        roots = [
            position
            for position, size in enumerate(self.in_degrees.tolist())
            if size == 0 or self.nodes[position] in covary
        ]
        return self._with_arcs([(a, b) for rank, b in enumerate(roots) for a in roots[:rank]])

    def without_covariances(self) -> Self:
        """This graph with its nodes without parents independent of each other.

        Examples
        --------
        >>> Dag.parse("y ~ a + b; a ~~ b").without_covariances().edges
        (('a', 'y'), ('b', 'y'))
        """
        return self._with_arcs([])

    def _with_arcs(self, arcs: list[tuple[int, int]]) -> Self:
        """The arrows of this graph, and these arcs in place of its covariances."""
        if not arcs and not self.covariances:
            return self
        parents = [list(own) for own in self.parent_lists]
        for parent, child in arcs:
            parents[child].append(parent)
        families = type(self).from_parents(self.nodes, parents).families
        names = tuple((self.nodes[parent], self.nodes[child]) for parent, child in sorted(arcs))
        return replace(self, families=families, covariances=names)

    def with_parents(self, parents: Sequence[Sequence[int]]) -> Self:
        """The graph over the same nodes whose node i has the parents at ``parents[i]``.

        Covariances stay that are still among the edges.
        """
        dag = type(self).from_parents(self.nodes, parents)
        dag = replace(dag, factors=self.factors).with_column_order(self.has_column_order)
        if not self.covariances:
            return dag
        edges = set(dag.edges)
        return replace(dag, covariances=tuple(p for p in self.covariances if p in edges))

    def column_order(self) -> tuple[str, ...]:
        """The nodes of columns without names, from left to right.

        They stand in the order of the nodes, or where all nodes are numbers from 0 on, in that of
        the numbers. An order that nobody chose is refused: columns could silently change places.

        Examples
        --------
        >>> Dag.parse("wet ~ rain", nodes=["rain", "wet"]).column_order()
        ('rain', 'wet')
        >>> Dag.from_edges([(1, 0), (2, 0)]).column_order()
        ('0', '1', '2')
        """
        if self.has_column_order or len(self.nodes) < 2:
            return self.nodes
        numbers = tuple(map(str, range(len(self.nodes))))
        if set(numbers) == set(self.nodes):
            return numbers
        raise unstated_order(self.nodes)

    def with_column_order(self, has_column_order: bool) -> Self:
        """The same graph, its order stated or not."""
        same = copy(self)
        object.__setattr__(same, "has_column_order", has_column_order)
        return same

    def to_networkx(self) -> networkx.DiGraph:
        """A networkx DiGraph with the same nodes, in the same order, and edges."""
        self.require_arrows("networkx")
        return networkx.to_networkx(self.nodes, self.edges)

    def to_model_string(self) -> str:
        """The bnlearn model string, nodes in topological order; `parse` keeps that order.

        Examples
        --------
        >>> Dag.from_edges([("a", "b")]).to_model_string()
        '[a][b|a]'
        """
        self.require_arrows("a model string of bnlearn")
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
        families = ((node, self.parents(node)) for node in self.nodes)
        return text.formulas(families, self.covariances)

    def to_dot(self) -> str:
        """The graph in Graphviz DOT."""
        from gaussnet.graph.formats.dot import to_dot  # its parser is seldom needed

        return to_dot(self.nodes, self.arrows, self.covariances)

    def require_arrows(self, form: str) -> None:
        """Refuse a form that has no covariances."""
        if self.covariances:
            first, last = self.covariances[0]
            raise GraphError(
                f"{form} has no covariances, and this graph has {first!r} ~~ {last!r}: use "
                "formulas or a saved network, or dag.without_covariances() if that is meant"
            )

    @cached_property
    def positions(self) -> dict[str, int]:
        """The column number of each node."""
        return {name: index for index, name in enumerate(self.nodes)}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All (parent, child) pairs, child by child in node order; `covariances` among them."""
        names = self.nodes
        parents = self.families.parents.tolist()
        owners = self.families.family_of_edge.tolist()
        return tuple((names[j], names[i]) for j, i in zip(parents, owners, strict=True))

    @cached_property
    def is_covariance(self) -> BoolArray:
        """Which of the `edges` are covariances, (edges,)."""
        if not self.covariances:
            return np.zeros(len(self.families.parents), dtype=bool)
        pairs = set(self.covariances)
        return np.array([edge in pairs for edge in self.edges], dtype=bool)

    @cached_property
    def arrows(self) -> tuple[Edge, ...]:
        """The edges by which a parent causes a child: all but the `covariances`."""
        if not self.covariances:
            return self.edges
        pairs = set(self.covariances)
        return tuple(edge for edge in self.edges if edge not in pairs)

    @cached_property
    def order(self) -> IntArray:
        """Node positions in topological order; of several, the first in node order."""
        order = algorithms.topological_order(self.families)
        if len(order) < len(self.nodes):
            cycle = algorithms.find_cycle(self.families, order)
            raise CycleError(tuple(self.nodes[i] for i in cycle))
        return order

    def parents(self, node: str) -> tuple[str, ...]:
        """The parents of a node, in node order."""
        return tuple(self.nodes[j] for j in self.parent_lists[self.position(node)])

    def conditioned_on(self, node: str) -> tuple[str, ...]:
        """What the equation of a node has on its right: its parents, or nodes it covaries with."""
        return tuple(self.nodes[j] for j in self.families.parent_lists[self.position(node)])

    def children(self, node: str) -> tuple[str, ...]:
        """The children of a node, in node order."""
        return tuple(self.nodes[i] for i in self._child_lists[self.position(node)])

    def ancestors(self, node: str) -> tuple[str, ...]:
        """The nodes that a directed path leads from to this one, in node order.

        Examples
        --------
        >>> dag = Dag.parse("[rain][wet|rain][slip|wet]")
        >>> dag.ancestors("slip"), dag.descendants("rain")
        (('rain', 'wet'), ('wet', 'slip'))
        """
        return self._reachable(self.parent_lists, node)

    def descendants(self, node: str) -> tuple[str, ...]:
        """The nodes that a directed path leads to from this one, in node order."""
        return self._reachable(self._child_lists, node)

    def position(self, node: str) -> int:
        """The column number of a node."""
        try:
            return self.positions[node]
        except (KeyError, TypeError):
            raise GraphError(self._no_node(node)) from None

    def _no_node(self, node: object) -> str:
        """What to say to someone who names what is not a node."""
        for name, (reference, *levels) in self.factors.items():
            own = [indicator(name, level) for level in levels]
            others = (
                f"name {own[0]!r}, which is"
                if len(own) == 1
                else f"name one of {shorten(own)}, which are"
            )
            if isinstance(node, str) and node == name:
                return f"{name!r} is a category: {others} compared with {reference!r}"
            if isinstance(node, str) and node == indicator(name, reference):
                return (
                    f"there is no node {node!r}, for {reference!r} is the reference of the "
                    f"category {name!r}: {others} compared with it"
                )
        meant = did_you_mean(str(node), [*self.nodes, *self.factors])
        if meant:
            return f"there is no node {node!r}{meant} The nodes are {shorten(self.nodes)}"
        return f"there is no node {node!r}: the nodes are {shorten(self.nodes)}"

    @property
    def in_degrees(self) -> IntArray:
        """Number of parents of each node, (nodes,); covariances count as their arcs."""
        return self.families.sizes

    @property
    def parent_counts(self) -> IntArray:
        """Number of parents of each node, (nodes,), covariances left out."""
        return np.array([len(own) for own in self.parent_lists], dtype=np.int64)

    @property
    def parent_columns(self) -> IntArray:
        """Number of parents of each node, (nodes,), where all levels of a category are one."""
        if not self.factors:
            return self.parent_counts
        columns = [self.indicators.get(name, (name, ""))[0] for name in self.nodes]
        counts = [len({columns[parent] for parent in own}) for own in self.parent_lists]
        return np.array(counts, dtype=np.int64)

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
        return algorithms.is_forest(self.families)

    def d_separated(
        self, first: str | Iterable[str], second: str | Iterable[str], given: Iterable[str] = ()
    ) -> bool:
        """Whether the graph makes two nodes, or sets of nodes, independent given others.

        Examples
        --------
        >>> dag = Dag.parse("[rain][sprinkler][wet|rain:sprinkler]")
        >>> dag.d_separated("rain", "sprinkler"), dag.d_separated("rain", "sprinkler", ["wet"])
        (True, False)
        """
        ones, others, known = (self._position_set(nodes) for nodes in (first, second, given))
        for left, right in ((ones, others), (ones, known), (others, known)):
            if left & right:
                name = self.nodes[min(left & right)]
                raise GraphError(
                    f"the node {name!r} stands in two of the three sets: name it in one only"
                )
        return not algorithms.active_reach(self.families, ones, known) & others

    def markov_basis(self) -> tuple[Independence, ...]:
        """Independences that imply all others of the graph, one for each pair without an edge.

        Each node is independent of every node before it in topological order that is no
        parent of its, given its parents.

        Examples
        --------
        >>> [str(implied) for implied in Dag.parse("[a][b|a][c|b]").markov_basis()]
        ['c _||_ a | b']
        """
        order = [self.nodes[index] for index in self.order.tolist()]
        basis: list[Independence] = []
        for rank, node in enumerate(order):
            parents = self.conditioned_on(node)
            earlier = [other for other in order[:rank] if other not in parents]
            basis += [Independence(node, other, parents) for other in earlier]
        return tuple(basis)

    def adjustment_sets(
        self,
        cause: str,
        target: str,
        *,
        measured: Iterable[str] | None = None,
        limit: int = 1_000,
    ) -> tuple[tuple[str, ...], ...]:
        """The minimal sets to adjust for when estimating an effect, the smallest first.

        Each satisfies the back-door criterion: it holds no descendant of `cause` and blocks every
        path to `target` that begins with an arrow into `cause`. The coefficient of `cause` in a
        regression of `target` on `cause` and such a set is the total effect. `measured` names the
        nodes that may be used, by default all. The empty set, where it suffices, is the only
        one: ``((),)``; without any set the answer is ``()``.

        Examples
        --------
        >>> dag = Dag.parse("[age][diet|age][sport|age][weight|diet:sport]")
        >>> dag.adjustment_sets("diet", "weight")
        (('age',), ('sport',))
        >>> dag.adjustment_sets("diet", "weight", measured=["sport"])
        (('sport',),)
        """
        ends = self.position(cause), self.position(target)
        if ends[0] == ends[1]:
            raise GraphError(f"got {cause!r} as cause and as target: name two different nodes")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise SettingError(f"got limit={limit!r}, expected a whole number of 1 or more")
        allowed = self._position_set(self.nodes if measured is None else measured)
        sets = minimal_adjustment_sets(self.causal_families, *ends, allowed)
        found = [sorted(one) for one in islice(sets, limit + 1)]
        if len(found) > limit:
            raise SettingError(
                f"there are more than limit={limit} minimal adjustment sets for {cause!r} and "
                f"{target!r}: give a larger limit, or name fewer nodes in measured"
            )
        found.sort(key=lambda one: (len(one), one))
        return tuple(tuple(self.nodes[node] for node in one) for one in found)

    def is_adjustment_set(self, cause: str, target: str, given: Iterable[str]) -> bool:
        """Whether a set satisfies the back-door criterion; see `adjustment_sets`.

        Examples
        --------
        >>> dag = Dag.parse("[age][diet|age][weight|diet:age]")
        >>> dag.is_adjustment_set("diet", "weight", ["age"])
        True
        """
        ends = self.position(cause), self.position(target)
        return is_adjustment_set(self.causal_families, *ends, self._position_set(given))

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
        """Whether nodes, their order, edges and covariances are the same."""
        if not isinstance(other, Dag):
            return NotImplemented
        same = self.nodes == other.nodes and self.edges == other.edges
        same = same and set(self.covariances) == set(other.covariances)
        return same and dict(self.factors) == dict(other.factors)

    def __hash__(self) -> int:
        """Equal graphs have equal hashes."""
        return hash((self.nodes, self.edges))

    def __repr__(self) -> str:
        """The size of the graph and its first nodes."""
        return f"Dag({self.sizes}: {shorten(self.nodes)})"

    @property
    def sizes(self) -> str:
        """The numbers of nodes, edges and covariances, in words.

        Levels of one category covary by themselves, and are not counted.

        Examples
        --------
        >>> Dag.parse("y ~ a + b; a ~~ b").sizes
        '3 nodes, 2 edges, 1 covariance'
        """
        parts = [counted(len(self.nodes), "node"), counted(len(self.arrows), "edge")]
        if self.free_covariances:
            parts.append(counted(len(self.free_covariances), "covariance"))
        return ", ".join(parts)

    @property
    def free_covariances(self) -> tuple[Edge, ...]:
        """The covariances but those of the levels of one category, which follow from its shares.

        Pictures show these alone.
        """
        return tuple(pair for pair in self.covariances if not self.are_levels(*pair))

    def are_levels(self, one: str, other: str) -> bool:
        """Whether two nodes are indicators of one category."""
        known = self.indicators
        return one in known and other in known and known[one][0] == known[other][0]

    def _reachable(self, lists: list[list[int]], node: str) -> tuple[str, ...]:
        own = self.position(node)
        found = algorithms.reachable(lists, {own}) - {own}
        return tuple(self.nodes[other] for other in sorted(found))

    def _repr_html_(self) -> str:
        """The graph drawn, in a notebook."""
        return display.html("dag", self)

    def _position_set(self, nodes: str | Iterable[str]) -> set[int]:
        return {self.position(node) for node in ([nodes] if isinstance(nodes, str) else nodes)}

    @cached_property
    def causal_families(self) -> Families:
        """The arrows, with hidden nodes after the others that cause the covariances."""
        return causal_families(self.families, self.is_covariance)

    @cached_property
    def parent_lists(self) -> list[list[int]]:
        """The positions of the parents of each node, covariances left out."""
        if not self.covariances:
            return self.families.parent_lists
        covary = {child for _, child in self.covariances}
        lists = zip(self.nodes, self.families.parent_lists, strict=True)
        return [[] if node in covary else own for node, own in lists]

    @cached_property
    def _child_lists(self) -> list[list[int]]:
        lists: list[list[int]] = [[] for _ in self.nodes]
        for child, parents in enumerate(self.parent_lists):
            for parent in parents:
                lists[parent].append(child)
        return lists


def indicator(factor: str, level: str) -> str:
    """The name of the node that is 1 where a factor has this level.

    Examples
    --------
    >>> indicator("fuel", "Petrol")
    'fuel[Petrol]'
    """
    return f"{factor}[{level}]"


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


def _only_edge(edge: Edge, names: Mapping[str, list[str]], label: str) -> Edge:
    """The edge that a label stands for once categories have become indicators."""
    parent, child = edge
    if len(names[parent]) != 1:
        raise GraphError(
            f"the label {label!r} stands for the coefficient of {parent!r}, a category of "
            f"{len(names[parent]) + 1} levels, which has several: leave the label out"
        )
    return names[parent][0], child


def _no_root(dag: Dag, one: str, other: str, node: str) -> GraphError:
    """What to say of a covariance with a node that has parents."""
    return GraphError(
        f"the covariance {one!r} ~~ {other!r} names {node!r}, whose parents are "
        f"{shorten(dag.parents(node))}, and only nodes without parents may covary: draw an edge "
        "between the two, or measure what causes both and add it to the graph"
    )


def unstated_order(nodes: Sequence[str]) -> DataError:
    """What to say of columns without names where nobody stated an order."""
    return DataError(
        f"the columns have no names, and {shorten(nodes)} is only the order in which the graph "
        "happens to name its nodes: give a frame, or say which column is which with "
        "columns=[...] or dag.reordered([...])"
    )


def check_parents(nodes: Sequence[str], families: Families) -> None:
    """Refuse parents that are no nodes, and parents listed twice; each family is sorted."""
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


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "edge"), counted(2_000, "row")
    ('1 edge', '2,000 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shorten(names: Sequence[object], limit: int = 6, between: str = "->") -> str:
    """The first few names or edges, quoted, for a message; `between` stands in an edge.

    Examples
    --------
    >>> shorten(["rain", ("rain", "wet")])
    "'rain', 'rain' -> 'wet'"
    """
    shown = ", ".join(
        f"{name[0]!r} {between} {name[1]!r}" if isinstance(name, tuple) else repr(name)
        for name in names[:limit]
    )
    more = len(names) - limit
    return f"{shown} and {more} more" if more > 0 else shown or "none"
