"""Printing a fit shows what was learnt, and never reads a file again."""

from itertools import pairwise

import numpy as np
import pytest

import gaussnet as gn


def chain(nodes: int) -> gn.Dag:
    names = [f"x{k}" for k in range(nodes)]
    return gn.Dag.from_edges(pairwise(names), nodes=names)


def sample(dag: gn.Dag, rows: int = 50) -> np.ndarray:
    return gn.simulate.random_network(dag, seed=0).sample(rows, seed=1)


def test_every_edge_stands_with_its_coefficient_and_interval():
    dag = chain(4)
    fit = gn.fit(sample(dag), dag)
    lines = str(fit).splitlines()
    intervals = fit.confidence_intervals(0.95).coefficients
    for (parent, child), value in fit.network.coefficients.items():
        low, high = intervals[parent, child]
        [line] = [line for line in lines if line.startswith(f"{parent} -> {child}")]
        assert line.split()[3:] == [f"{value:.4g}", f"{low:.4g}", "to", f"{high:.4g}"]


def test_every_node_stands_with_its_intercept_and_scale():
    dag = chain(3)
    fit = gn.fit(sample(dag), dag)
    lines = str(fit).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("node "))
    nodes = [line.split() for line in lines[start + 1 :]]
    expected = zip(dag.nodes, fit.network.intercept_array, fit.network.scales, strict=True)
    assert nodes == [[name, f"{a:.4g}", f"{s:.4g}"] for name, a, s in expected]


def test_a_long_table_is_cut_and_says_so():
    dag = chain(40)
    text = str(gn.fit(sample(dag), dag))
    assert "... and 19 more" in text
    assert "... and 20 more" in text
    assert "x0 -> x1" in text
    assert "x38 -> x39" not in text


def test_notes_are_printed():
    dag = chain(2)
    rows = sample(dag)
    rows[:, 0] = 3.0
    fit = gn.fit(rows, dag)
    assert [str(note) in str(fit) for note in fit.notes] == [True] * len(fit.notes)
    assert fit.notes


def test_a_file_is_not_read_again(tmp_path):
    dag = chain(2)
    path = tmp_path / "rows.npy"
    np.save(path, sample(dag))
    fit = gn.fit(path, dag)
    path.unlink()
    assert "x0 -> x1" in str(fit)


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_too_few_for_intervals_still_print(rows):
    dag = chain(2)
    assert "x0 -> x1" in str(gn.fit(sample(dag, rows), dag))


def test_names_that_could_move_the_cursor_are_escaped():
    dag = gn.Dag.from_edges([("a\x1b[2J", "b")])
    assert "\x1b" not in str(gn.fit(sample(dag), dag))


def test_a_graph_without_edges_prints_its_nodes_alone():
    dag = gn.Dag.from_edges([], nodes=["only"])
    text = str(gn.fit(sample(dag), dag))
    assert "edge " not in text
    assert "only" in text


def test_data_changed_since_the_fit_still_print():
    dag = chain(2)
    rows = sample(dag)
    fit = gn.fit(rows, dag)
    rows[0, 0] = np.nan
    assert "x0 -> x1" in str(fit)
