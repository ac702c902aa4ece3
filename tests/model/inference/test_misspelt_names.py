"""Whoever misspells a node is told which one was probably meant, whatever is asked."""

import numpy as np
import pytest

import gaussnet as gn

DAG = gn.Dag.parse("[season][rain|season][wet|rain:season]")
NET = gn.simulate.random_network(DAG, seed=0)
ROWS = NET.sample(60, seed=1)
FIT = gn.fit(ROWS, DAG)

QUESTIONS = {
    "effect": lambda name: FIT.effect(name, "wet"),
    "effect of a network": lambda name: NET.effect("season", name),
    "effect through": lambda name: FIT.effect("season", "wet", via=name),
    "do": lambda name: NET.do({name: 1.0}),
    "evidence": lambda name: NET.condition({name: 1.0}),
    "targets": lambda name: NET.condition({"wet": 1.0}, targets=[name]),
    "predict": lambda name: FIT.predict(ROWS, name),
    "predict given": lambda name: FIT.predict(ROWS, "wet", given=[name]),
    "case": lambda name: FIT.counterfactual({name: 1.0}, do={"rain": 0.0}),
    "action on a case": lambda name: FIT.counterfactual({"rain": 1.0}, do={name: 0.0}),
    "sensitivity": lambda name: FIT.sensitivity(name, "wet"),
    "adjustment": lambda name: DAG.adjustment_sets(name, "wet"),
    "change": lambda name: gn.attribute_change(FIT, FIT, name),
    "node": FIT.node,
    "check": lambda name: FIT.check_graph(nodes=[name]),
    "parents": DAG.parents,
    "ancestors": DAG.ancestors,
    "separation": lambda name: DAG.d_separated(name, "wet"),
    "sample": lambda name: NET.sample(3, seed=0, do={name: 1.0}),
    "columns": lambda name: gn.fit(np.array(ROWS), DAG, columns=["season", name, "wet"]),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("name", ["rian", "Rain"])
def test_a_misspelt_node_is_answered_with_the_one_that_was_meant(question, name):
    meant = repr(name) if question is QUESTIONS["columns"] else "'rain'"
    with pytest.raises(gn.GaussnetError, match=f"did you mean {meant}"):
        question(name)


def test_a_name_that_is_like_no_node_gets_the_list():
    with pytest.raises(gn.GraphError, match="there is no node 'tax': the nodes are 'season'"):
        NET.effect("tax", "wet")
