"""The layered drawing: edges go one way, nothing overlaps, crossings are few."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st

import gaussnet as gn
from gaussnet.report.layout import lay_out
from gaussnet.report.layout.layers import Sizes, count_crossings, order_layers
from gaussnet.report.layout.positions import assign_layers, build_lattice, settle


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 9))
    pairs = list(itertools.combinations(range(nodes), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return nodes, chosen


def arrows(dag):
    return [(dag.position(parent), dag.position(child)) for parent, child in dag.edges]


def crossings_by_pairs(lattice, order):
    """Every pair of edges between two layers, looked at by itself."""
    rank = {vertex: index for layer in order for index, vertex in enumerate(layer)}
    total = 0
    for layer in order:
        edges = [(rank[v], rank[end]) for v in layer for end in lattice.below[v]]
        total += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(edges, 2))
    return total


@given(graphs())
@settings(deadline=None)
def test_edges_go_to_later_layers_and_their_length_is_least(graph):
    nodes, edges = graph
    layers = assign_layers(nodes, edges)
    assert all(layers[child] > layers[parent] for parent, child in edges)
    length = sum(layers[child] - layers[parent] for parent, child in edges)
    if nodes <= 5:
        others = itertools.product(range(nodes), repeat=nodes)
        allowed = (o for o in others if all(o[child] > o[parent] for parent, child in edges))
        assert length == min(sum(o[c] - o[p] for p, c in edges) for o in allowed)


@given(graphs())
@settings(deadline=None)
def test_a_route_passes_every_layer_between_parent_and_child(graph):
    lattice = build_lattice(*graph)
    layer_of = {v: number for number, layer in enumerate(lattice.layers) for v in layer}
    assert sorted(layer_of) == list(range(len(lattice.above)))
    for route, (parent, child) in zip(lattice.routes, graph[1], strict=True):
        assert (route[0], route[-1]) == (parent, child)
        steps = [layer_of[vertex] for vertex in route]
        assert steps == list(range(steps[0], steps[-1] + 1))


@given(graphs())
@settings(deadline=None)
def test_crossings_are_counted_right_and_never_grow(graph):
    lattice = build_lattice(*graph)
    first = [list(layer) for layer in lattice.layers]
    order = order_layers(lattice)
    assert [sorted(layer) for layer in order] == [sorted(layer) for layer in first]
    assert count_crossings(lattice, order) == crossings_by_pairs(lattice, order)
    assert count_crossings(lattice, order) <= count_crossings(lattice, first)


def test_a_tree_has_no_crossings():
    dag = gn.simulate.random_tree(60, seed=3)
    lattice = build_lattice(len(dag), arrows(dag))
    assert count_crossings(lattice, order_layers(lattice)) == 0


def test_sweeps_remove_most_crossings_of_a_published_network():
    dag = gn.networks.load("ecoli70").dag
    lattice = build_lattice(len(dag), arrows(dag))
    before = count_crossings(lattice, [sorted(layer) for layer in lattice.layers])
    assert count_crossings(lattice, order_layers(lattice)) < before / 3


@given(
    st.lists(
        st.tuples(st.floats(-100, 100), st.floats(0.1, 10), st.floats(0.5, 5)),
        min_size=1,
        max_size=8,
    )
)
@settings(deadline=None)
def test_settled_positions_are_apart_and_nearest(cases):
    wanted, weights, steps = (list(part) for part in zip(*cases, strict=True))
    steps = steps[:-1]
    found = settle(wanted, weights, steps)
    for step, (one, other) in zip(steps, itertools.pairwise(found), strict=True):
        assert other - one >= step - 1e-9  # rounding of sums of at most 8 numbers below 140

    def cost(positions):
        return sum(w * (a - b) ** 2 for w, a, b in zip(weights, positions, wanted, strict=True))

    # A convex problem: no allowed step away may make it better.
    for index in range(len(found)):
        for shift in (-0.01, 0.01):
            moved = found.copy()
            moved[index] += shift
            gaps = [b - a for a, b in itertools.pairwise(moved)]
            if all(gap >= step for gap, step in zip(gaps, steps, strict=True)):
                assert cost(moved) >= cost(found) - 1e-9


def overlaps(layout, sizes):
    boxes = [
        (x - w / 2, y - sizes.height / 2, x + w / 2, y + sizes.height / 2)
        for (x, y), w in zip(layout.centres, sizes.widths, strict=True)
    ]
    eps = 1e-6
    return sum(
        a[0] < b[2] - eps and b[0] < a[2] - eps and a[1] < b[3] - eps and b[1] < a[3] - eps
        for a, b in itertools.combinations(boxes, 2)
    )


@pytest.mark.parametrize("name", ["ecoli70", "magic-niab", "magic-irri", "arth150"])
def test_boxes_of_published_networks_do_not_overlap(name):
    dag = gn.networks.load(name).dag
    sizes = Sizes([14.0 + 7.0 * len(node) for node in dag.nodes])
    layout = lay_out(len(dag), arrows(dag), sizes)
    assert overlaps(layout, sizes) == 0
    way = 0 if layout.rightward else 1
    for (parent, child), route in zip(arrows(dag), layout.routes, strict=True):
        along = [point[way] for point in route]
        assert along == sorted(along)
        assert layout.centres[parent][way] < along[0]
        assert along[-1] < layout.centres[child][way]


@given(graphs())
@settings(deadline=None, max_examples=40)
def test_boxes_never_overlap_and_stay_inside(graph):
    nodes, edges = graph
    sizes = Sizes([20.0 + 9.0 * index for index in range(nodes)])
    layout = lay_out(nodes, edges, sizes)
    assert overlaps(layout, sizes) == 0
    for (x, y), width in zip(layout.centres, sizes.widths, strict=True):
        assert -1e-6 <= x - width / 2 <= x + width / 2 <= layout.width + 1e-6
        assert -1e-6 <= y - sizes.height / 2 <= y + sizes.height / 2 <= layout.height + 1e-6


def test_a_deep_wide_and_an_empty_graph_are_laid_out():
    assert lay_out(0, [], Sizes([])).centres == ()
    star = [(0, child) for child in range(1, 61)]
    wide = lay_out(61, star, Sizes([40.0] * 61))
    assert wide.rightward  # sixty boxes side by side would be far wider than a page
    chain = [(node, node + 1) for node in range(4)]
    assert not lay_out(5, chain, Sizes([40.0] * 5)).rightward
