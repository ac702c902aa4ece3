"""Back-door adjustment sets against the definition, path by path."""

from itertools import chain, combinations, product

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.graph.adjustment import minimal_adjustment_sets, optimal_adjustment_set


def all_dags(count):
    """Parent lists of every labelled DAG: each pair has no edge or one of the two."""
    pairs = list(combinations(range(count), 2))
    for ways in product((0, 1, 2), repeat=len(pairs)):
        parents = [[] for _ in range(count)]
        for (one, other), way in zip(pairs, ways, strict=True):
            if way:
                parents[other if way == 1 else one].append(one if way == 1 else other)
        if is_acyclic(parents):
            yield parents


def is_acyclic(parents):
    left = set(range(len(parents)))
    while free := {node for node in left if not left & set(parents[node])}:
        left -= free
    return not left


def descendants(parents, start):
    found = {start}
    for _ in parents:
        found |= {node for node, own in enumerate(parents) if found & set(own)}
    return found


def backdoor_paths(parents, path, target):
    """Paths without arrows in mind, whose first step goes from the cause to one of its parents."""
    last = path[-1]
    if last == target:
        yield path
        return
    for node in range(len(parents)):
        joined = node in parents[last] or (len(path) > 1 and last in parents[node])
        if joined and node not in path:
            yield from backdoor_paths(parents, (*path, node), target)


def is_open(parents, below, path, given):
    for left, node, right in zip(path, path[1:], path[2:], strict=False):
        collides = left in parents[node] and right in parents[node]
        if collides != bool((below[node] if collides else {node}) & given):
            return False
    return True


def minimal_sets(parents, cause, target, allowed):
    """By definition: all subsets, all paths."""
    below = [descendants(parents, node) for node in range(len(parents))]
    paths = list(backdoor_paths(parents, (cause,), target))
    usable = sorted(allowed - below[cause] - {target})
    subsets = chain.from_iterable(combinations(usable, k) for k in range(len(usable) + 1))
    found = []
    for subset in map(frozenset, subsets):  # the smallest first
        if any(smaller <= subset for smaller in found):
            continue
        if not any(is_open(parents, below, path, subset) for path in paths):
            found.append(subset)
    return set(found)


def check_every_subset(dag, parents):
    below = [descendants(parents, node) for node in range(5)]
    paths = list(backdoor_paths(parents, (0,), 1))
    for given in chain.from_iterable(combinations(range(2, 5), k) for k in range(4)):
        blocks = not any(is_open(parents, below, path, set(given)) for path in paths)
        expected = blocks and not below[0] & set(given)
        assert dag.is_adjustment_set("x", "y", [dag.nodes[node] for node in given]) == expected


def test_all_graphs_of_five_nodes():
    # All labelled graphs with two fixed nodes hold every pair of every graph up to its names.
    count = several = 0
    for parents in all_dags(5):
        dag = gn.Dag.from_parents(list("xyabc"), parents)
        found = list(minimal_adjustment_sets(dag.families, 0, 1, {2, 3, 4}))
        assert set(found) == minimal_sets(parents, 0, 1, {2, 3, 4}), parents
        assert len(set(found)) == len(found)
        if not count % 10:
            check_every_subset(dag, parents)
        count, several = count + 1, several + (len(found) > 1)
    assert count == 29_281  # labelled DAGs of 5 nodes, OEIS A003024
    assert several > 1_000


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_of_eight_nodes_also_when_some_are_not_measured(seed):
    rng = np.random.default_rng(seed)
    dag = gn.simulate.erdos_renyi(8, 3.5, seed=seed)
    parents = dag.families.parent_lists
    for _ in range(8):
        cause, target = rng.choice(8, 2, replace=False).tolist()
        allowed = set(np.flatnonzero(rng.random(8) < 0.8).tolist())
        found = set(minimal_adjustment_sets(dag.families, cause, target, allowed))
        assert found == minimal_sets(parents, cause, target, allowed)


@pytest.mark.parametrize("seed", range(20))
def test_regressions_on_the_sets_give_the_total_effect(seed):
    dag = gn.simulate.erdos_renyi(9, 4, seed=seed)
    network = gn.simulate.random_network(dag, seed=seed)
    covariance = network.covariance()
    order = dag.order.tolist()
    checked = 0
    for place, cause in enumerate(order):
        for target in order[place + 1 :]:
            names = dag.nodes[cause], dag.nodes[target]
            sets = [[dag.position(name) for name in one] for one in network.adjustment_sets(*names)]
            if target in descendants(dag.families.parent_lists, cause):
                sets.append(sorted(optimal_adjustment_set(dag.families, cause, target)))
            for chosen in sets:
                columns = [cause, *chosen]
                block = covariance[np.ix_(columns, columns)]
                slope = np.linalg.solve(block, covariance[columns, target])[0]
                scale = np.sqrt(covariance[target, target] / covariance[cause, cause])
                # A solve of at most 8 equations loses its condition number times a few roundings.
                assert abs(slope - network.effect(*names)) <= 1e-15 * np.linalg.cond(block) * (
                    1e3 * scale
                )
                checked += 1
    assert checked > 36


def test_empty_and_impossible_sets_are_told_apart():
    assert gn.Dag.parse("[x][y|x]").adjustment_sets("x", "y") == ((),)
    assert gn.Dag.parse("[y][x|y]").adjustment_sets("x", "y") == ()
    hidden = gn.Dag.parse("[u][x|u][y|x:u]")
    assert hidden.adjustment_sets("x", "y", measured=["x", "y"]) == ()
    assert hidden.adjustment_sets("x", "y") == (("u",),)


def test_bad_questions_are_refused():
    dag = gn.Dag.parse("[a][x|a][b|a][y|x:b]")
    with pytest.raises(gn.GraphError, match="two different nodes"):
        dag.adjustment_sets("x", "x")
    with pytest.raises(gn.GraphError, match="there is no node 'z'"):
        dag.adjustment_sets("x", "z")
    with pytest.raises(gn.GraphError, match="there is no node 'z'"):
        dag.adjustment_sets("x", "y", measured=["z"])
    with pytest.raises(gn.SettingError, match="more than limit=1 minimal"):
        dag.adjustment_sets("x", "y", limit=1)
    for limit in (0, True, 1.5):
        with pytest.raises(gn.SettingError, match="expected a whole number"):
            dag.adjustment_sets("x", "y", limit=limit)
