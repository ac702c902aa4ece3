"""Notes as they are printed: one where several nodes have the same."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn
from gaussnet.fitting.notes import MOST_NAMED, Note, grouped_notes

NODES = [f"v{place}" for place in range(8)]


@pytest.fixture(scope="module")
def fit():
    """Eight nodes in a chain, each with some wrong values and some that are missing."""
    dag = gn.Dag.from_edges(list(pairwise(NODES)), nodes=NODES)
    rows = np.array(gn.simulate.random_network(dag, seed=0).sample(400, seed=1))
    for place in range(8):
        rows[10 * place : 10 * place + place + 1, place] = 900.0
        rows[200 + 10 * place : 202 + 10 * place + place, place] = np.nan
    return gn.fit(pd.DataFrame(rows, columns=NODES), dag, "robust", missing="likelihood")


def test_a_fit_with_a_note_on_every_node_prints_a_handful(fit):
    printed = [line for line in str(fit).splitlines() if line.startswith("note: ")]
    assert len(fit.notes) >= len(NODES)
    assert len(printed) <= 5
    assert {note.node for note in fit.notes} >= set(NODES)


def test_a_grouped_note_names_all_nodes_with_their_numbers(fit):
    (line,) = (text for text in grouped_notes(fit.notes) if "of its values flagged" in text)
    counts = {note.node: note.text.split(" ")[0] for note in fit.notes if note.node is not None}
    for node, count in counts.items():
        assert f"{node}: {count}" in line
    assert line.startswith("v7: 8 of its values flagged")


def test_two_nodes_keep_a_note_each():
    notes = [Note("a", "3 rows left out"), Note("b", "1 row left out")]
    assert grouped_notes(notes) == ["a: 3 rows left out", "b: 1 row left out"]


def test_one_row_and_more_rows_are_one_kind():
    notes = [
        Note(node, f"{count} row{'s' * (count > 1)} left out")
        for node, count in (("a", 1), ("b", 3), ("c", 2))
    ]
    assert grouped_notes(notes) == ["b: 3 rows left out (likewise c: 2, a: 1)"]


def test_the_same_sentence_of_many_nodes_names_the_first_of_them():
    notes = [Note(f"v{place}", "is skewed") for place in range(30)]
    (line,) = grouped_notes(notes)
    assert line.startswith("v0: is skewed (likewise v1, v2")
    assert line.endswith(f"and {29 - MOST_NAMED} nodes more; see fit.notes)")


def test_notes_on_all_nodes_stay_as_they_are():
    notes = ["one thing", Note(None, "another thing"), "one thing"]
    assert grouped_notes(notes) == ["one thing", "one thing", "another thing"]


def test_all_numbers_up_to_the_last_that_differs_are_told():
    notes = [
        Note(node, f"3 of its values flagged and {count} missing; see 2 more")
        for node, count in (("a", 2), ("b", 11), ("c", 8))
    ]
    assert grouped_notes(notes) == [
        "b: 3 of its values flagged and 11 missing; see 2 more (likewise c: 3 and 8, a: 3 and 2)"
    ]


def test_decimals_are_numbers_and_digits_of_names_are_not():
    shares = [
        Note(node, f"R2 {share} without x9")
        for node, share in {"a": 0.9, "b": 0.98, "c": 0.95}.items()
    ]
    assert grouped_notes(shares) == ["b: R2 0.98 without x9 (likewise c: 0.95, a: 0.9)"]
    names = [
        Note(node, f"its parents x{place} and z hang together") for place, node in enumerate("abc")
    ]
    assert grouped_notes(names) == [str(note) for note in names]
