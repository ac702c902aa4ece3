"""Adjacency matrices of other programs, with their idea of direction."""

import numpy as np
import pytest

from gaussnet.errors import CycleError, GraphError
from gaussnet.graph import Dag

DAG = Dag.parse("[a][b|a][c|a:b][d]")


def causal_learn(dag):
    """Marks as causal-learn's GeneralGraph keeps them: the mark at i of the edge i - j."""
    marks = np.zeros((len(dag), len(dag)))
    for parent, child in dag.edges:
        i, j = dag.position(parent), dag.position(child)
        marks[i, j], marks[j, i] = -1, 1
    return marks


def coefficients(dag):
    """B of x = B x + e, as lingam keeps it."""
    matrix = np.zeros((len(dag), len(dag)))
    for parent, child in dag.edges:
        matrix[dag.position(child), dag.position(parent)] = -0.7
    return matrix


def test_each_orientation_gives_the_graph():
    weights = coefficients(DAG)
    for orientation, matrix in {
        "parent-row": weights.T,
        "child-row": weights,
        "lingam": weights,
        "causal-learn": causal_learn(DAG),
    }.items():
        assert Dag.from_adjacency(matrix, DAG.nodes, orientation=orientation) == DAG


def test_without_names_nodes_are_numbered():
    found = Dag.from_adjacency(causal_learn(DAG), orientation="causal-learn")
    assert found.edges == (("0", "1"), ("0", "2"), ("1", "2"))
    assert Dag.from_adjacency(np.zeros((0, 0)), orientation="causal-learn").nodes == ()


@pytest.mark.parametrize(
    ("marks", "shown"),
    [
        ((-1, -1), "'a' --- 'b'"),
        ((1, 1), "'a' <-> 'b'"),
        ((2, 1), "'a' o-> 'b'"),
        ((2, 2), "'a' o-o 'b'"),
        ((1, 0), "'a' <-? 'b'"),
        ((0, 1), r"'a' \?-> 'b'"),
        ((5, 3), r"'a' \?-\? 'b'"),
    ],
)
def test_edges_of_causal_learn_without_one_direction_are_refused(marks, shown):
    matrix = np.zeros((3, 3))
    matrix[0, 1], matrix[1, 0] = marks
    with pytest.raises(GraphError, match=rf"{shown}, expected a direction".replace("-?", r"-\?")):
        Dag.from_adjacency(matrix, "abc", orientation="causal-learn")


def test_a_mark_on_the_diagonal_is_refused():
    with pytest.raises(GraphError, match="the edge between 'a' and 'a'"):
        Dag.from_adjacency([[1.0]], "a", orientation="causal-learn")


def test_what_lingam_could_not_tell_is_refused():
    matrix = coefficients(DAG)
    matrix[3, 0] = np.nan
    with pytest.raises(GraphError, match="could not tell how 'a' and 'd' are related"):
        Dag.from_adjacency(matrix, DAG.nodes, orientation="lingam")
    with pytest.raises(GraphError, match="could not tell how '0' and '3' are related"):
        Dag.from_adjacency(matrix, orientation="lingam")
    with pytest.raises(GraphError, match="holds NaN"):
        Dag.from_adjacency(matrix, DAG.nodes, orientation="child-row")


@pytest.mark.parametrize("orientation", ["parent-row", "child-row", "lingam", "causal-learn"])
def test_broken_matrices_are_one_sentence(orientation):
    for matrix in ([[0, 1]], [[0, 1], [0]], "ab", 3):
        with pytest.raises(GraphError):
            Dag.from_adjacency(matrix, orientation=orientation)
    with pytest.raises(GraphError, match="got 3 names for 2 nodes"):
        Dag.from_adjacency(np.zeros((2, 2)), "abc", orientation=orientation)


def test_edges_both_ways_are_a_cycle():
    with pytest.raises(CycleError):
        Dag.from_adjacency(np.ones((2, 2)) - np.eye(2), "ab", orientation="lingam")


def test_an_unknown_orientation_is_refused():
    with pytest.raises(GraphError, match="got orientation='both', expected 'parent-row'"):
        Dag.from_adjacency([[0]], orientation="both")
