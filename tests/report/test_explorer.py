"""The what-if page as a file: what it shows, what it carries, and what it refuses."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.report.test_fit_report import Page

import gaussnet as gn
from gaussnet.report.explorer import MOST_EDGES, MOST_SHOWN, NEIGHBOURHOOD, choose_view

DAG = gn.Dag.parse("season; rain ~ season; wet ~ rain + season")
NETWORK = gn.simulate.random_network(DAG, seed=1, intercepts=(-1.0, 1.0))


def write(path, result, **settings):
    gn.write_explorer(result, path, **settings)
    source = path.read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="model">(.*?)</script>', source)
    return Page(source), json.loads(data[1])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "what-if.html"


def test_the_page_carries_every_number_of_the_network_exactly(path):
    page, model = write(path, NETWORK, title="The garden")
    assert model["nodes"] == [DAG.nodes[node] for node in DAG.order]
    for index, name in enumerate(model["nodes"]):
        assert model["intercepts"][index] == NETWORK.intercepts[name]
        assert model["scales"][index] == NETWORK.scales[DAG.position(name)]
        parents = [model["nodes"][parent] for parent in model["parents"][index]]
        assert tuple(parents) == DAG.parents(name)
        values = [NETWORK.coefficients[parent, name] for parent in parents]
        assert model["coefficients"][index] == values
    assert page.text.startswith("The garden")
    assert page.text.count("What if?") == 0


def test_nothing_in_it_leads_elsewhere(path):
    page, _ = write(path, NETWORK)
    assert "http" not in page.source.replace("http-equiv", "")
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "onclick", "action"}


@pytest.mark.parametrize(("name", "most"), [("ecoli70", 120_000), ("arth150", 200_000)])
def test_pages_are_small(path, name, most):
    write(path, gn.networks.load(name))
    assert path.stat().st_size < most


def test_a_fit_is_shown_as_its_network_and_what_speaks_against_it_comes_first(path):
    rows = NETWORK.sample(500, seed=1)
    page, model = write(path, gn.fit(rows, DAG))
    assert "notice" not in dict(page.attributes).values()
    assert len(model["nodes"]) == 3
    fit = gn.fit(rows, gn.Dag.parse("season; rain; wet ~ rain"))
    page, _ = write(path, fit)
    words = page.text.split("What if?")[-1]
    assert fit.summary().fits in words
    assert "contradict" in fit.summary().fits
    assert words.index("contradict") < words.index("Scenario")


def test_a_saved_fit_is_shown_with_what_speaks_against_it(path, tmp_path):
    rows = NETWORK.sample(500, seed=1)
    for text in ("season; rain; wet ~ rain", "season; rain ~ season; wet ~ rain + season"):
        fit = gn.fit(rows, gn.Dag.parse(text, nodes=DAG.nodes))
        fit.save_network(tmp_path / "model.json")
        page, _ = write(path, fit)
        saved, _ = write(path, gn.read_network(tmp_path / "model.json"))
        assert bool(notices(saved)) == fit.summary().warns
        assert notices(saved) == notices(page)
    assert not notices(saved)


def notices(page):
    """The text of the notices that a page begins with."""
    return re.findall(r'<p class="notice">(.*?)</p>', page.source)


def test_a_network_that_knows_nothing_of_its_data_says_so(path):
    page, _ = write(path, NETWORK)
    assert "Whether the data agree with this graph is not known" in notices(page)[0]


def test_saved_sentences_are_text_and_nothing_else(path, tmp_path):
    file = tmp_path / "model.json"
    gn.fit(NETWORK.sample(500, seed=1), DAG).save_network(file)
    content = json.loads(file.read_text())
    content["verdict"] = {"warns": True, "sentences": ["<img src=x>", "</script>"]}
    file.write_text(json.dumps(content))
    page, _ = write(path, gn.read_network(file))
    assert "img" not in page.tags
    assert "&lt;img src=x&gt; &lt;/script&gt;" in notices(page)[0]


def test_names_and_titles_end_no_element(path):
    odd = ["</script><b>", "<!--", "a & b", "\ud800", "'; x", '"q"']
    network = gn.simulate.random_network(gn.Dag.from_edges([odd[:2], odd[2:4]], nodes=odd), seed=0)
    page, model = write(path, network, title="</title><i>", source="</script>.json")
    assert sorted(model["nodes"]) == sorted(odd)
    assert model["source"] == "</script>.json"
    assert not {"b", "i"} & set(page.tags) - {"i"}
    assert page.source.count("</script>") == 2


def big(count, degree=3.0):
    return gn.simulate.random_network(gn.simulate.erdos_renyi(count, degree, seed=1), seed=1)


def test_a_large_network_shows_a_neighbourhood_and_says_so(path):
    network = big(2_000)
    page, model = write(path, network, around="X1500")
    assert len(model["shown"]) == NEIGHBOURHOOD
    assert model["nodes"][model["shown"][-1]] in network.dag
    assert "The network has 2,000 nodes; shown are the 100 nearest to X1500" in page.text
    shown = {model["nodes"][index] for index in model["shown"]}
    assert {"X1500", *network.dag.parents("X1500"), *network.dag.children("X1500")} <= shown
    ancestors = set().union(*(network.dag.ancestors(name) for name in shown))
    assert set(model["nodes"]) == shown | ancestors
    assert path.stat().st_size < 1_000_000


def test_by_default_the_neighbourhood_is_that_of_the_busiest_node():
    dag = big(MOST_SHOWN + 1).dag
    degrees = {node: len(dag.parents(node)) + len(dag.children(node)) for node in dag.nodes}
    view = choose_view(dag)
    assert degrees[view.centre[0]] == max(degrees.values())
    assert len(view.shown) == NEIGHBOURHOOD
    small = big(MOST_SHOWN).dag
    assert len(choose_view(small).shown) == MOST_SHOWN
    assert choose_view(small).centre == ()


def test_dense_graphs_are_cut_by_their_edges():
    names = [f"x{i}" for i in range(70)]
    dag = gn.Dag.from_edges([(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    shown = choose_view(dag).shown
    assert 40 < len(shown) < 70
    assert len(shown) * (len(shown) - 1) // 2 <= MOST_EDGES


def test_several_centres_are_all_shown():
    dag = big(1_000, 2.0).dag
    view = choose_view(dag, ["X1", "X900", "X1"])
    assert {dag.position("X1"), dag.position("X900")} <= set(view.shown)


def test_bad_questions_are_refused(path):
    with pytest.raises(gn.FileError, match="expected a name that ends in"):
        gn.write_explorer(NETWORK, "what-if.txt")
    with pytest.raises(gn.SettingError, match="got level=0"):
        gn.write_explorer(NETWORK, path, level=0)
    with pytest.raises(gn.SettingError, match="got Dag, expected"):
        gn.write_explorer(DAG, path)
    with pytest.raises(gn.GraphError, match="there is no node 'snow'"):
        gn.write_explorer(NETWORK, path, around="snow")
    with pytest.raises(gn.SettingError, match=r"got around=\[\]"):
        gn.write_explorer(NETWORK, path, around=[])
    empty = gn.GaussianNetwork.from_arrays(gn.Dag.from_edges([]), [], [])
    with pytest.raises(gn.SettingError, match="the network has no nodes"):
        gn.write_explorer(empty, path)
    assert not path.exists()


def test_the_same_network_gives_the_same_bytes(path):
    write(path, NETWORK)
    first = path.read_bytes()
    write(path, NETWORK)
    assert path.read_bytes() == first


def test_networks_of_one_node_or_without_noise_are_shown(path):
    lone = gn.GaussianNetwork.from_arrays(gn.Dag.from_edges([], nodes=["a"]), [], [0.0], [3.0])
    _, model = write(path, lone)
    assert model["scales"] == [0.0]
    huge = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]"), [1e-150], [1e300, 1e-12])
    write(path, huge)
    assert np.isfinite(json.loads(json.dumps(write(path, huge)[1]["coefficients"]))[1]).all()


def test_hints_on_categories_are_no_warnings(path):
    frame = pd.DataFrame({"fuel": list("abcd") * 10, "mpg": np.arange(40.0) ** 0.5})
    page, _ = write(path, gn.fit(frame, "mpg ~ fuel"))
    hints = re.findall(r'<p class="notice hint">(.*?)</p>', page.source)
    assert len(hints) == 1
    assert "fuel is a category" in hints[0]
    assert not any("is a category" in notice for notice in notices(page))
    assert 'class="covary"' not in page.source
    assert "covary, neither causes" not in page.source


def test_bows_between_nodes_that_covary_stand_in_the_legend(tmp_path):
    words = "covary, neither causes the other"
    for dag, count in (("x1 ~~ x2; y ~ x1 + x2", 1), ("y ~ x1 + x2", 0)):
        network = gn.simulate.random_network(gn.Dag.parse(dag), seed=0)
        gn.write_explorer(network, tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text(encoding="utf-8").count(words) == count
        gn.write_report(gn.fit(network.sample(50, seed=1), network.dag), tmp_path / "fit.html")
        page = (tmp_path / "fit.html").read_text(encoding="utf-8")
        assert page.count(f"</i>{words}") == count
