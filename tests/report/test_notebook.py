"""HTML in notebooks: complete in itself, well formed, in the colours of the page around it."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn

DAG = gn.Dag.parse("season; rain ~ season; wet ~ rain + season", nodes=["season", "rain", "wet"])
NETWORK = gn.simulate.random_network(DAG, seed=1)
ROWS = NETWORK.sample(300, seed=2)
FIT = gn.fit(ROWS, DAG)
VALUES = {
    "Dag": DAG,
    "GaussianNetwork": NETWORK,
    "Gaussian": NETWORK.to_gaussian(),
    "Conditional": NETWORK.condition({"wet": 1.0}),
    "Fit": FIT,
    "Fit without rows": gn.solve(gn.summarize(ROWS, DAG)),
    "wrong Fit": gn.fit(
        ROWS, gn.Dag.parse("season; rain; wet ~ rain", nodes=["season", "rain", "wet"])
    ),
    "ResultTable": FIT.table(),
    "FitMeasures": FIT.fit_measures(),
    "FitSummary": FIT.summary(),
    "Plan": gn.plan(DAG, tv=0.1),
    "Certificate": FIT.certificate(),
    "GraphCheck without tests": FIT.check_graph(),
    "GraphCheck": gn.fit(ROWS, gn.Dag.from_edges([], nodes=DAG.nodes)).check_graph(),
    "Outliers": gn.fit(ROWS, DAG, "robust").outliers(),
    "Prediction": FIT.predict(ROWS, "wet"),
    "Effect": FIT.effect("season", "wet"),
    "PathEffect": NETWORK.paths("season", "wet")[0],
    "Sensitivity": FIT.sensitivity("rain", "wet"),
    "Counterfactual": NETWORK.counterfactual(dict.fromkeys(DAG.nodes, 1.0), do={"rain": 0.0}),
    "ChangeAttribution": gn.attribute_change(NETWORK, FIT.network, "wet"),
    "ScoreTable": gn.compare([FIT]),
    "CrossValidation": gn.cross_validate(ROWS, DAG, ["least-squares"], folds=2),
    "EqualityTests": gn.fit(ROWS, DAG, groups=np.arange(300) % 2).test_equal(),
    "GroupFit": gn.fit(ROWS, DAG, groups=np.arange(300) % 2),
    "large Dag": gn.simulate.erdos_renyi(300, 4, seed=0),
    "no edges": gn.Dag.from_edges([], nodes=["a", "b"]),
    "odd names": gn.Dag.from_edges([("<b>&", '"x"'), ("日本", '"x"')]),
}


def test_a_fit_shows_missing_edges_that_the_data_contradict():
    assert "the data contradict that</title>" in VALUES["wrong Fit"]._repr_html_()
    assert "the data contradict that" not in FIT._repr_html_()


def test_a_fit_shows_the_quantities_that_its_text_defines():
    text = "rain ~ a*season; wet ~ b*rain + season; by_rain := a*b"
    html = gn.fit(ROWS, gn.Dag.parse(text, nodes=DAG.nodes))._repr_html_()
    assert "Defined quantities" in html
    assert "by_rain" in html


def test_printed_values_break_lines_between_words():
    style = "word-break:normal;overflow-wrap:break-word"
    assert style in VALUES["PathEffect"]._repr_html_()


@pytest.mark.parametrize("kind", ["Sensitivity", "Counterfactual"])
def test_values_with_a_table_show_it(kind):
    assert "<table" in VALUES[kind]._repr_html_()


def test_levels_of_a_category_have_no_lines_between_them():
    frame = pd.DataFrame({"fuel": list("abcd") * 10, "mpg": np.arange(40.0) ** 0.5})
    fit = gn.fit(frame, "mpg ~ fuel")
    assert len(fit.dag.covariances) == 3
    assert fit.dag.free_covariances == ()
    assert 'stroke-dasharray="4 4"' not in fit._repr_html_()
    assert 'stroke-dasharray="4 4"' in gn.Dag.parse("y ~ a + b; a ~~ b")._repr_html_()


class Tree(HTMLParser):
    """Refuses elements that are not closed."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("name", VALUES)
def test_html_is_well_formed_and_asks_for_nothing(name):
    source = VALUES[name]._repr_html_()
    tree = Tree(source)
    assert not {"script", "link", "img", "iframe", "object"} & set(tree.tags)
    assert not re.search(r"https?://|@import|url\((?!#)", source)
    assert "nan" not in source.replace("nance", "")


@pytest.mark.parametrize("name", VALUES)
def test_text_has_the_colour_of_the_page(name):
    """No text colour or background is fixed, so that dark pages can be read."""
    source = VALUES[name]._repr_html_()
    fixed = re.findall(r"(?<![-\w])(?:color|background)\s*:\s*([^;}\"]+)", source)
    assert set(fixed) <= {"inherit", "transparent"}
    fills = re.findall(r'<text[^>]*fill="([^"]*)"', source)
    assert set(fills) <= {"currentColor"}


def test_a_fit_shows_its_sentences_first():
    source = VALUES["wrong Fit"]._repr_html_()
    words = [word for word in Tree(source).words if word.strip()]
    assert words[0].startswith("The data contradict the graph")
    assert "<svg" in source
    assert "std. error" in source


def test_large_graphs_are_told_by_their_sizes():
    source = VALUES["large Dag"]._repr_html_()
    assert "<svg" not in source
    assert "300 nodes" in source


def test_coefficients_stand_in_the_drawing():
    words = Tree(NETWORK._repr_html_()).words
    assert all(any(f"{abs(value):.2f}" in word for word in words) for value in FIT_VALUES)


FIT_VALUES = NETWORK.coefficient_array[np.abs(NETWORK.coefficient_array) >= 0.1].tolist()


@pytest.mark.parametrize("name", ["GroupFit", "EqualityTests", "ScoreTable", "CrossValidation"])
def test_results_of_several_fits_are_tables(name):
    tree = Tree(VALUES[name]._repr_html_())
    assert "table" in tree.tags
    assert "pre" not in tree.tags


@pytest.mark.parametrize("name", ["GraphCheck", "Effect", "Prediction", "Outliers"])
def test_answers_are_tables(name):
    tree = Tree(VALUES[name]._repr_html_())
    assert "table" in tree.tags
    assert "pre" not in tree.tags


def test_a_check_shows_its_verdict_first_and_all_tests_go_to_latex():
    check = VALUES["wrong Fit"].check_graph()
    words = Tree(check._repr_html_()).words
    assert next(word for word in words if "{" not in word) == check.verdict
    assert check.to_latex().count(r"\\") == 1 + len(check)
    assert check.verdict.split(":")[0] in check.to_latex()
    assert check.to_frame()["p_value"].tolist() == check.p_values.tolist()


def test_a_prediction_names_rows_as_the_frame_does():
    frame = pd.DataFrame(ROWS[:30], columns=list(DAG.nodes), index=[f"day {i}" for i in range(30)])
    found = FIT.predict(frame, "wet")
    words = Tree(found._repr_html_()).words
    assert "day 9" in words
    assert "day 10" not in words
    assert "20 more rows are in to_frame()" in words
    assert found.to_frame().index.tolist() == frame.index.tolist()


def test_outliers_go_to_latex():
    rows = ROWS.copy()
    rows[[3, 50], 0] = 900.0, -70.0
    found = gn.fit(rows, DAG, "robust").outliers()
    assert found.to_latex().count(r"\\") == 1 + len(found)
    assert "| 3 | season | 900.0 |" in found.to_markdown()


def test_scores_go_to_frames_and_latex():
    frame = VALUES["ScoreTable"].table().to_frame()
    assert frame["bic"].tolist() == [FIT.bic]
    assert "held_out" not in frame
    validation = VALUES["CrossValidation"]
    means = validation.table()["robust"]
    assert means == validation.robust.mean(axis=1).tolist()
    assert "Note: best: least-squares" in validation.table().to_latex()
