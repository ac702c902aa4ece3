"""The what-if page in a browser: exact, alive by mouse and by keyboard, and silent."""

import json
import shlex
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from tests.browser.test_fit_report import HOSTILE, brightness, colour

import gaussnet as gn
from gaussnet.cli.saved_networks import parse_values, query_network
from gaussnet.report.explorer import choose_view, model_data

DAG = gn.Dag.parse(
    "season; rain ~ season; sprinkler ~ season; wet ~ rain + sprinkler; slip ~ wet; alone"
)
NETWORK = gn.GaussianNetwork(
    DAG,
    coefficients={
        ("season", "rain"): 1.2,
        ("season", "sprinkler"): -0.8,
        ("rain", "wet"): 1.5,
        ("sprinkler", "wet"): 1.0,
        ("wet", "slip"): 0.9,
    },
    variances={"season": 1, "rain": 0.5, "sprinkler": 0.5, "wet": 0.2, "slip": 1, "alone": 4},
    intercepts={"season": 10, "rain": -2, "sprinkler": 12, "wet": 0, "slip": 3, "alone": 0},
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "what-if.html"
    gn.write_explorer(NETWORK, path, source="model.json")
    return path


@pytest.fixture
def page(written, look):
    return look(written)


def box(page, name):
    names = page.locator("#network .node text.name").all_text_contents()
    return page.locator("#network .node").nth(names.index(name))


def fix(page, name, mode, value=None):
    page.locator("#answers tbody button.name").get_by_text(name, exact=True).click()
    page.locator(f"[name=mode][value={mode}]").check(force=True)
    if value is not None:
        page.locator("#value").fill(repr(value))


def numbers(page, mean="mean", sd="sd"):
    """Means and standard deviations of all nodes as the table holds them, with all digits."""
    rows = page.locator("#answers tbody tr").evaluate_all(
        "rows => rows.map((row) => ({...row.dataset}))"
    )
    return {row["name"]: (float(row[mean]), float(row[sd])) for row in rows}


def law(network, given, do):
    found = (network.do(do) if do else network).condition(given)
    pairs = zip(found.mean.tolist(), np.sqrt(found.variances).tolist(), strict=True)
    return dict(zip(found.names, pairs, strict=True)) | {n: (v, 0.0) for n, v in given.items()}


def check(page, network, given, do, **columns):
    """Page and Python agree to 1e-9 of a node's scale."""
    spread = np.sqrt(network.covariance().diagonal())
    expected = law(network, given, do)
    found = numbers(page, **columns)
    assert set(found) == set(expected)
    for name, (mean, sd) in expected.items():
        scale = 1e-9 * (spread[network.dag.position(name)] + abs(mean))
        assert abs(found[name][0] - mean) <= scale, name
        assert abs(found[name][1] - sd) <= scale, name


def lit(page):
    pairs = page.locator("#network .edge.lit").evaluate_all(
        "parts => parts.map((part) => [part.dataset.from, part.dataset.to].map(Number))"
    )
    return {(DAG.nodes[start], DAG.nodes[stop]) for start, stop in pairs}


def test_at_first_it_shows_the_network_as_it_is(page):
    check(page, NETWORK, {}, {})
    assert page.locator("#network .node").count() == 6
    assert lit(page) == set()
    assert page.locator("#editor").is_hidden()


def test_observing_tells_of_causes_and_effects(page):
    box(page, "wet").click()
    page.locator("[name=mode][value=seen]").check(force=True)
    page.locator("#value").fill("25")
    check(page, NETWORK, {"wet": 25.0}, {})
    assert lit(page) == set(DAG.edges)
    assert "observed" in box(page, "wet").get_attribute("aria-label")
    assert box(page, "rain").get_attribute("class").split()[-1] == "up"
    assert page.locator("#answers tr.self button.name").inner_text() == "wet"


def test_setting_leaves_causes_alone_and_cuts_their_arrows(page):
    fix(page, "wet", "set", 25.0)
    check(page, NETWORK, {}, {"wet": 25.0})
    assert lit(page) == {("wet", "slip")}
    cut = page.locator("#network .edge.cut").evaluate_all("parts => parts.length")
    assert cut == 2
    assert numbers(page)["rain"][0] == pytest.approx(10.0)


def test_the_slider_moves_everything_at_once(page):
    fix(page, "season", "set")
    slider = page.locator("#slider")
    slider.focus()
    before = numbers(page)["slip"][0]
    for _ in range(10):
        slider.press("ArrowRight")
    value = float(page.locator("#value").input_value())
    assert value == pytest.approx(10.2)
    assert numbers(page)["slip"][0] > before
    check(page, NETWORK, {}, {"season": value})


def test_moving_the_slider_of_a_free_node_observes_it(page):
    box(page, "rain").click()
    page.locator("#slider").focus()
    page.locator("#slider").press("ArrowLeft")
    assert page.locator("[name=mode][value=seen]").is_checked()
    check(page, NETWORK, {"rain": float(page.locator("#value").input_value())}, {})


def test_paths_lead_to_the_node_that_is_chosen(page):
    fix(page, "season", "set", 12.0)
    assert lit(page) == set(DAG.edges)
    box(page, "rain").click()
    assert lit(page) == {("season", "rain")}
    box(page, "alone").click()
    assert lit(page) == set()
    box(page, "wet").click()
    assert lit(page) == set(DAG.edges) - {("wet", "slip")}
    words = page.locator("#routes li").all_inner_texts()
    assert [word.replace("\N{MINUS SIGN}", "-") for word in words] == [
        "season → rain → wet: 1.800",
        "season → sprinkler → wet: -0.8000",
    ]


def test_a_collider_opens_when_it_or_a_descendant_is_observed(page):
    fix(page, "season", "set", 10.0)
    fix(page, "rain", "seen", 11.0)
    box(page, "sprinkler").click()
    assert lit(page) == {("season", "sprinkler")}
    fix(page, "slip", "seen", 20.0)
    box(page, "sprinkler").click()
    assert ("rain", "wet") in lit(page)
    assert ("wet", "slip") in lit(page)
    check(page, NETWORK, {"rain": 11.0, "slip": 20.0}, {"season": 10.0})


@pytest.mark.parametrize("seed", range(5))
def test_lit_edges_are_those_of_active_paths(tmp_path, look, seed):
    """By definition: an edge carries if some path without repeated nodes through it is active."""
    rng = np.random.default_rng(seed)
    network = gn.simulate.random_network(gn.simulate.erdos_renyi(7, 3, seed=seed), seed=seed)
    dag = network.dag
    path = tmp_path / "what-if.html"
    gn.write_explorer(network, path)
    page = look(path)
    names = rng.permutation(dag.nodes).tolist()
    seen, done, target = set(names[:2]), {names[2]}, names[3]
    for name in seen:
        fix(page, name, "seen")
    fix(page, names[2], "set")
    box(page, target).click()
    edges = {edge for edge in dag.edges if edge[1] not in done}
    cut = gn.Dag.from_edges(edges, nodes=dag.nodes)
    expected = set()
    for source in seen | done:
        given = (seen | done) - {source}
        opening = given.union(*(cut.ancestors(name) for name in given - done))
        for trail in trails(edges, (source,), target):
            if is_active(edges, trail, given, opening):
                steps = pairwise(trail)
                expected |= {(a, b) if (a, b) in edges else (b, a) for a, b in steps}
    found = page.locator("#network .edge.lit").evaluate_all(
        "parts => parts.map((part) => [part.dataset.from, part.dataset.to].map(Number))"
    )
    pairs = {(dag.nodes[start], dag.nodes[stop]) for start, stop in found}
    assert expected <= pairs
    assert bool(expected) == bool(pairs)


def trails(edges, path, target):
    if path[-1] == target:
        yield path
        return
    for a, b in edges:
        other = b if a == path[-1] else a if b == path[-1] else None
        if other is not None and other not in path:
            yield from trails(edges, (*path, other), target)


def is_active(edges, trail, given, opening):
    for left, node, right in zip(trail, trail[1:], trail[2:], strict=False):
        collides = (left, node) in edges and (right, node) in edges
        if (node not in opening) if collides else (node in given):
            return False
    return True


def test_two_scenarios_are_compared(page):
    fix(page, "wet", "seen", 22.0)
    page.locator("[name=scenario][value=B]").check(force=True)
    assert page.locator("#fixed").inner_text() == "nothing"
    fix(page, "wet", "set", 22.0)
    page.locator("#compare").check()
    check(page, NETWORK, {"wet": 22.0}, {})
    check(page, NETWORK, {}, {"wet": 22.0}, mean="otherMean", sd="otherSd")
    row = page.locator("#answers tbody tr", has_text="rain")
    shift = float(row.get_attribute("data-shift"))
    both = [law(NETWORK, {"wet": 22.0}, {})["rain"][0], law(NETWORK, {}, {"wet": 22.0})["rain"][0]]
    assert shift == pytest.approx(both[1] - both[0], abs=1e-9)
    assert page.locator("thead th.other").first.is_visible()
    page.locator("#compare").uncheck()
    assert not page.locator("thead th.other").first.is_visible()
    page.locator("#same").click()
    check(page, NETWORK, {"wet": 22.0}, {})


def free_text(page, name):
    return page.locator(f"#{name}").text_content()


def named_network(name):
    """A published network, or one of published size whose roots covary."""
    if name != "correlated":
        return gn.networks.load(name)
    dag = gn.networks.load("ecoli70").dag.with_correlated_roots()
    rng = np.random.default_rng(7)
    slopes, noise = rng.normal(0.0, 0.4, len(dag.edges)), rng.uniform(0.5, 2.0, len(dag))
    return gn.GaussianNetwork.from_arrays(dag, slopes, noise, rng.normal(size=len(dag)))


def random_question(network, seed):
    """Values of up to six nodes that are observed, and of others that are set."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(network.dag), int(rng.integers(1, 7)), replace=False)
    row = network.sample(1, seed=seed)[0]
    given, do = {}, {}
    for place in chosen.tolist():
        kind = (given, do)[int(rng.integers(2))]
        kind[network.dag.nodes[place]] = float(row[place] + rng.normal())
    return given, do


@pytest.mark.parametrize("name", ["ecoli70", "arth150", "correlated"])
def test_random_questions_agree_with_python_and_so_do_the_copied_lines(
    tmp_path, look, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    network = named_network(name)
    network.save("model.json")
    gn.write_explorer(network, "what-if.html", source="model.json")
    page = look(tmp_path / "what-if.html")
    for seed in (0, 1, 2, 9):  # the last sets nodes and observes none
        given, do = random_question(network, seed)
        for mode, values in (("seen", given), ("set", do)):
            for node, value in values.items():
                fix(page, node, mode, value)
        check(page, network, given, do)
        check_copied_lines(page, network, given, do)
        page.locator("#clear").click()
        assert page.locator("#fixed").inner_text() == "nothing"


def check_copied_lines(page, network, given, do):
    """The lines for Python and for the shell ask what the page was asked."""
    scope = {}
    exec(free_text(page, "python"), scope)
    expected = law(network, given, do)
    for node, mean in zip(scope["law"].names, scope["law"].mean, strict=True):
        assert mean == expected[node][0]
    words = shlex.split(free_text(page, "shell"))
    assert words[:3] == ["gaussnet", "query", "model.json"]
    pairs = list(zip(words[3::2], words[4::2], strict=True))
    asked = {flag: parse_values([v for f, v in pairs if f == flag], flag) for flag, _ in pairs}
    assert asked.get("--given", {}) == given
    assert asked.get("--do", {}) == do
    answer = query_network(network, given, do, None, 0.95)
    assert {node for node, *_ in answer.nodes} == set(network.dag.nodes) - set(given)


def test_the_keyboard_does_it_all(page):
    page.locator("#find").focus()
    for _ in range(4):
        page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("season: mean 10.00, 95 % interval")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("wet: ")
    page.keyboard.press("s")
    assert page.evaluate("document.activeElement.id") == "slider"
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    value = float(page.locator("#value").input_value())
    check(page, NETWORK, {}, {"wet": value})
    page.keyboard.press("Escape")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("wet: set at")
    page.keyboard.press("o")
    check(page, NETWORK, {"wet": value}, {})
    page.keyboard.press("Escape")
    page.keyboard.press("Delete")
    check(page, NETWORK, {}, {})
    page.keyboard.press("Escape")
    assert page.locator("#editor").is_hidden()


def test_one_node_is_in_the_order_of_focus_and_all_have_names(page):
    tabs = page.locator("#network .node").evaluate_all("all => all.map((one) => one.tabIndex)")
    assert sorted(tabs) == [-1] * 5 + [0]
    box(page, "slip").click()
    assert box(page, "slip").get_attribute("tabindex") == "0"
    labels = page.locator("#network .node").evaluate_all(
        "all => all.map((one) => one.getAttribute('aria-label'))"
    )
    assert [label.split(":")[0] for label in labels] == list(DAG.nodes)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [role]")].filter((one) =>
            !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length
              || one.id === "live" || one.id === "problem")).length"""
    )
    assert unnamed == 0


def test_a_live_region_tells_what_moved(page):
    fix(page, "wet", "seen", 25.0)
    expect(page.locator("#live")).to_contain_text("25")
    words = page.locator("#live").text_content()
    assert words.startswith("Scenario A: wet observed at 25.00. 4 moved, in standard deviations: ")
    assert page.locator("#live").get_attribute("aria-live") == "polite"


def test_values_that_cannot_be_are_refused_in_words(tmp_path, look):
    still = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[a][b][total|a:b]"), [1.0, 1.0], [1.0, 1.0, 0.0]
    )
    gn.write_explorer(still, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    fix(page, "total", "seen", 3.0)
    fix(page, "a", "seen", 1.0)
    check(page, still, {"total": 3.0, "a": 1.0}, {})
    assert page.locator("#problem").is_hidden()
    fix(page, "b", "seen", 2.0)
    assert page.locator("#problem").is_hidden()
    fix(page, "b", "seen", 2.5)
    assert "These values cannot be" in page.locator("#problem").inner_text()
    fix(page, "b", "free")
    assert page.locator("#problem").is_hidden()


def test_find_chooses_a_node_and_goes_there(tmp_path, look):
    gn.write_explorer(gn.networks.load("arth150"), tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    before = page.locator("#network").get_attribute("viewBox")
    page.locator("#find").fill("570")
    assert page.locator("#chosen").inner_text() == "570"
    assert page.locator("#network").get_attribute("viewBox") != before
    page.locator("#find").fill("57")
    page.locator("#find").press("Enter")
    assert "57" in page.locator("#chosen").inner_text()
    page.locator("#filter").fill("570")
    assert page.locator("#answers tbody tr:visible").count() == 1


def test_hostile_names_are_text_and_nothing_else(tmp_path, look, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edges = [(HOSTILE[0], name) for name in (*HOSTILE[1:6], "-dash")]
    dag = gn.Dag.from_edges(edges, nodes=(*HOSTILE, "-dash", "it's"))
    network = gn.simulate.random_network(dag, seed=0)
    network.save("model.json")
    gn.write_explorer(network, "what-if.html", title=HOSTILE[3], source="model.json")
    page = look(tmp_path / "what-if.html")
    assert page.title() == page.locator("h1").text_content() == HOSTILE[3]
    assert page.locator("img, b, iframe, a").count() == 0
    assert page.locator("script").count() == 2
    names = page.locator("#answers button.name").all_text_contents()
    assert sorted(names) == sorted(dag.nodes)
    given = {}
    for place, name in enumerate(names):
        page.locator("#answers tbody button.name").nth(
            page.locator("#answers button.name").all_text_contents().index(name)
        ).click()
        page.locator("[name=mode][value=seen]").check(force=True)
        page.locator("#value").fill(f"{place}.5")
        given[name] = place + 0.5
    scope = {}
    exec(free_text(page, "python"), scope)
    assert scope["law"].names == ()
    words = shlex.split(free_text(page, "shell"))
    texts = []
    for flag, word in pairwise(words):
        if flag == "--given":
            texts.append(word)
        if flag.startswith("--given="):
            texts.append(flag.removeprefix("--given="))
    assert parse_values(texts, "--given") == given


def test_a_hundred_and_fifty_nodes_answer_within_a_frame_or_two(tmp_path, look):
    network = gn.simulate.random_network(gn.simulate.erdos_renyi(150, 4, seed=0), seed=0)
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    for name in ("X20", "X40", "X60"):
        fix(page, name, "seen")
    slider = page.locator("#slider")
    spent = slider.evaluate(
        """(slider) => {
            const start = performance.now();
            for (let k = 0; k < 20; k++) {
                slider.value = Number(slider.value) + 1;
                slider.dispatchEvent(new Event("input"));
            }
            return (performance.now() - start) / 20;
        }"""
    )
    value = float(page.locator("#value").input_value())
    assert np.isfinite(value)
    assert spent < 250  # about 10 ms on an idle machine; a busy one may be far slower


def test_a_neighbourhood_of_a_large_network_answers_for_the_whole(tmp_path, look):
    network = gn.simulate.random_network(gn.simulate.erdos_renyi(600, 3, seed=2), seed=2)
    gn.write_explorer(network, tmp_path / "what-if.html", around="X300")
    page = look(tmp_path / "what-if.html")
    assert "The network has 600 nodes" in page.locator(".notice").last.inner_text()
    shown = page.locator("#network .node text.name").all_text_contents()
    assert "X300" in shown
    given, do = {"X300": 2.0}, {shown[5]: -1.0}
    fix(page, "X300", "seen", 2.0)
    fix(page, shown[5], "set", -1.0)
    found, expected = numbers(page), law(network, given, do)
    for name in shown:
        assert found[name][0] == pytest.approx(expected[name][0], rel=1e-9, abs=1e-9)
        assert found[name][1] == pytest.approx(expected[name][1], rel=1e-9, abs=1e-9)


def test_extreme_scales_keep_their_digits(tmp_path, look):
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[a][b|a][c|b]"), [1e-9, 1e12], [1e16, 1e-4, 1e20], [1e8, 0.0, -1e5]
    )
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    fix(page, "c", "seen", 3e11)
    check(page, network, {"c": 3e11}, {})


def test_a_spread_that_is_tiny_beside_the_mean_can_be_moved_through(tmp_path, look):
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[a][b|a]"), [2.0], [1e-6, 0.0], [1e8, 0.0]
    )
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    fix(page, "a", "set")
    slider = page.locator("#slider")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    assert page.locator("#value").input_value() == "100000000.00006"
    assert numbers(page)["b"][0] == 2 * 100000000.00006


def test_the_end_of_a_drag_chooses_nothing(page):
    page.locator("[data-zoom=in]").click()
    frame = box(page, "wet").bounding_box()
    page.mouse.move(frame["x"] + 20, frame["y"] + 10)
    page.mouse.down()
    page.mouse.move(frame["x"] + 40, frame["y"] + 30, steps=4)
    page.mouse.up()
    assert page.locator("#editor").is_hidden()
    box(page, "wet").click()
    assert page.locator("#chosen").inner_text() == "wet"


def test_the_copy_button_copies(tmp_path, look):
    gn.write_explorer(NETWORK, tmp_path / "what-if.html", level=0.9, source="model.json")
    page = look(tmp_path / "what-if.html")
    fix(page, "wet", "seen", 25.0)
    page.evaluate(
        """() => { window.kept = null;
            Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => {
                window.kept = text; } } }); }"""
    )
    page.locator("[data-copy=shell]").click()
    assert page.evaluate("window.kept") == "gaussnet query model.json --given wet=25 --level 0.9"
    assert page.locator("[data-copy=shell]").inner_text() == "Copied"


def test_lines_copied_from_an_unsaved_fit_ask_the_fit_at_hand(tmp_path, look):
    fit = gn.fit(NETWORK.sample(500, seed=1), DAG)
    gn.write_explorer(fit, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    fix(page, "wet", "seen", 25.0)
    fix(page, "rain", "set", 9.0)
    scope = {"fit": fit}
    exec(free_text(page, "python"), scope)
    expected = fit.network.do({"rain": 9.0}).condition({"wet": 25.0})
    np.testing.assert_array_equal(scope["law"].mean, expected.mean)
    comment, line = free_text(page, "shell").splitlines()
    assert comment == '# first, in Python: fit.save_network("model.json")'
    assert line == "gaussnet query model.json --given wet=25 --do rain=9"


def test_dark_is_dark_and_a_narrow_window_does_not_scroll_sideways(tmp_path, look):
    gn.write_explorer(gn.networks.load("ecoli70"), tmp_path / "what-if.html")
    light, dark = (
        look(tmp_path / "what-if.html", color_scheme=scheme) for scheme in ("light", "dark")
    )
    for what, name in (("body", "backgroundColor"), (".node .box", "fill")):
        assert brightness(colour(dark, what, name)) + 100 < brightness(colour(light, what, name))
    narrow = look(tmp_path / "what-if.html", viewport={"width": 420, "height": 800})
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 420


def test_boxes_do_not_overlap_and_hold_their_labels(tmp_path, look):
    gn.write_explorer(gn.networks.load("arth150"), tmp_path / "what-if.html")
    faults = look(tmp_path / "what-if.html").evaluate(
        """() => {
            const parts = [...document.querySelectorAll("#network .node")].map((node) => ({
                text: node.querySelector(".name").getBBox(),
                rect: node.querySelector("rect").getBBox(),
            }));
            const wide = parts.filter(({ text, rect }) => text.width > rect.width).length;
            const touch = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width
                && a.y < b.y + b.height && b.y < a.y + a.height;
            let overlaps = 0;
            parts.forEach((one, i) => parts.slice(i + 1).forEach((other) => {
                overlaps += touch(one.rect, other.rect);
            }));
            return [wide, overlaps];
        }"""
    )
    assert faults == [0, 0]


def test_the_model_in_the_page_is_plain_json(page):
    model = json.loads(page.locator("#model").text_content())
    assert model["nodes"] == [DAG.nodes[node] for node in DAG.order]


def degenerate(rng):
    """A small network with nodes without noise, coefficients 0, and odd scales, and a question."""
    count = int(rng.integers(2, 9))
    dag = gn.simulate.erdos_renyi(count, min(3.0, count - 1.0), seed=int(rng.integers(1e9)))
    slopes = rng.choice([0.0, 1.0, -2.0, 0.5, 1.7], len(dag.edges)) * rng.choice([1.0, 100.0])
    variances = rng.choice([0.0, 1.0, 4.0, 1e-6], count)
    network = gn.GaussianNetwork.from_arrays(dag, slopes, variances, rng.normal(size=count))
    chosen = rng.permutation(count)[: int(rng.integers(1, count))]
    row = network.sample(1, seed=int(rng.integers(1e9)))[0]
    kinds = rng.integers(0, 3, len(chosen))
    do = {dag.nodes[i]: float(row[i]) for i, k in zip(chosen, kinds, strict=True) if k == 0}
    if do:
        row = network.do(do).sample(1, seed=1)[0]
    given = {dag.nodes[i]: float(row[i]) for i, k in zip(chosen, kinds, strict=True) if k}
    if given and rng.random() < 0.7:
        given[next(iter(given))] += 1.0
    return network, given, do


def test_odd_networks_give_the_answers_of_python_or_are_refused_alike(page):
    rng = np.random.default_rng(0)
    asked = [degenerate(rng) for _ in range(300)]
    questions = [question(*one) for one in asked]
    answers = page.evaluate(
        """(questions) => questions.map(({ model, seen, set }) => {
            const { found, wrong } = makeAlgebra(model).answer(new Map(seen), new Map(set));
            return { wrong, means: [...found], };
        })""",
        questions,
    )
    refused = 0
    for (network, given, do), found in zip(asked, answers, strict=True):
        try:
            expected = law(network, given, do)
        except gn.DataError:
            assert found["wrong"] is not None
            refused += 1
            continue
        assert found["wrong"] is None, (network.to_matrix(), network.variance_array, given, do)
        order = [network.dag.nodes[place] for place in network.dag.order]
        spread = np.sqrt((network.do(do) if do else network).covariance().diagonal())
        size = 1e-9 * (1.0 + spread.max() + max(abs(mean) for mean, _ in expected.values()))
        for place, answer in found["means"]:
            mean, sd = expected[order[place]]
            assert abs(answer["mean"] - mean) <= size
            assert abs(answer["sd"] - sd) <= size
    assert 10 < refused < 150


def question(network, given, do):
    model = model_data(network, choose_view(network.dag))
    place = {name: index for index, name in enumerate(model["nodes"])}
    pairs = ([[place[name], value] for name, value in values.items()] for values in (given, do))
    return dict(zip(("model", "seen", "set"), (model, *pairs), strict=True))


LEVELS = gn.Dag.parse("weight ~ fuel; mpg ~ fuel + weight + age").with_factors(
    {"fuel": ("Diesel", "Gas", "a 'Petrol'")}
)


def category_network():
    rng = np.random.default_rng(5)
    fuel = rng.choice(["Diesel", "Gas", "a 'Petrol'"], 300, p=[0.5, 0.3, 0.2])
    weight = rng.normal(size=300) + (fuel == "Gas")
    age = rng.normal(size=300)
    mpg = 40.0 - 6.0 * (fuel == "Gas") - 2.0 * weight + age + rng.normal(size=300)
    frame = pd.DataFrame({"fuel": fuel, "weight": weight, "age": age, "mpg": mpg})
    return gn.fit(frame, LEVELS).network


@pytest.mark.parametrize("mode", ["seen", "set"])
def test_a_category_is_a_choice_of_levels(tmp_path, look, monkeypatch, mode):
    """Answers of every level, with another node fixed too, are those of Python and the shell."""
    monkeypatch.chdir(tmp_path)
    network = category_network()
    network.save("model.json")
    gn.write_explorer(network, "what-if.html", source="model.json")
    page = look(tmp_path / "what-if.html")
    assert "fuel is a category: choose one of its boxes" in page.locator("header").inner_text()
    fix(page, "age", "seen", 1.5)
    fix(page, "fuel[Gas]", mode)
    expect(page.locator("#values")).to_be_hidden()
    assert page.locator("#level option").all_text_contents() == list(LEVELS.factors["fuel"])
    assert page.locator("#level").input_value() == "1"
    for level in LEVELS.factors["fuel"]:
        page.locator("#level").select_option(label=level)
        given, do = {"age": 1.5}, {}
        (given if mode == "seen" else do)["fuel"] = level
        own = {f"fuel[{one}]": float(one == level) for one in LEVELS.factors["fuel"][1:]}
        plain = ({"age": 1.5} | own, {}) if mode == "seen" else ({"age": 1.5}, own)
        check(page, network, *plain)
        assert f"fuel {'observed' if mode == 'seen' else 'set'} at {level}" in " ".join(
            page.locator("#fixed").inner_text().split()
        )
        scope = {}
        exec(free_text(page, "python"), scope)
        expected = (network.do(do) if do else network).condition(given)
        assert scope["law"].mean.tolist() == expected.mean.tolist()
        words = shlex.split(free_text(page, "shell"))
        pairs = list(zip(words[3::2], words[4::2], strict=True))
        asked = [
            parse_values([v for f, v in pairs if f == flag], flag, {"fuel": ()})
            for flag in ("--given", "--do")
        ]
        assert asked == [given, do]
    page.locator("[name=mode][value=free]").check(force=True)
    check(page, network, {"age": 1.5}, {})
    assert page.locator("#level option").first.text_content() == "\u2013"


def test_levels_that_observed_nodes_tell_of_are_averaged_over_as_in_python(tmp_path, look):
    network = category_network()
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    fix(page, "mpg", "seen", 31.0)
    check(page, network, {"mpg": 31.0}, {})
    fix(page, "weight", "seen", 1.25)
    check(page, network, {"mpg": 31.0, "weight": 1.25}, {})
    fix(page, "weight", "set", 1.25)
    check(page, network, {"mpg": 31.0}, {"weight": 1.25})


@pytest.mark.parametrize("graph", ["mpg ~ fuel + weight", "weight ~ age; mpg ~ fuel + weight"])
def test_categories_that_covary_are_averaged_over_as_in_python(tmp_path, look, graph):
    """With each other and with a number; given numbers, a level, and what is set."""
    rng = np.random.default_rng(3)
    fuel = rng.choice(["Coal", "Gas", "Oil"], 500)
    site = np.where(rng.random(500) < np.where(fuel == "Gas", 0.8, 0.3), "north", "south")
    age = rng.normal(size=500) + (site == "north")
    weight = 0.5 * age + rng.normal(size=500)
    mpg = 3.0 * (fuel == "Gas") - weight + rng.normal(size=500)
    frame = pd.DataFrame({"fuel": fuel, "site": site, "age": age, "weight": weight, "mpg": mpg})
    frame["rest"] = rng.normal(size=500)
    network = gn.fit(frame, f"{graph}; rest ~ site + age", roots="correlated").network
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    fix(page, "mpg", "seen", 1.0)
    check(page, network, {"mpg": 1.0}, {})
    fix(page, "age", "seen", 1.5)
    check(page, network, {"mpg": 1.0, "age": 1.5}, {})
    fix(page, "site[south]", "seen")
    check(page, network, {"mpg": 1.0, "age": 1.5, "site[south]": 1.0}, {})
    fix(page, "site[south]", "set")
    check(page, network, {"mpg": 1.0, "age": 1.5}, {"site[south]": 1.0})


def test_too_many_levels_to_average_over_are_told_of(tmp_path, look):
    rng, letters = np.random.default_rng(0), list("abcdefghijk")
    frame = pd.DataFrame({name: rng.choice(letters, 600) for name in ("one", "two", "three")})
    frame["y"] = rng.normal(size=600) + (frame["one"] == "b")
    network = gn.fit(frame, "y ~ one + two + three").network
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    fix(page, "y", "seen", 1.0)
    assert "too many to average over" in page.locator("body").inner_text()
    fix(page, "one[b]", "seen")
    assert "too many to average over" not in page.locator("body").inner_text()


def test_boxes_of_levels_speak_of_shares_and_choices(tmp_path, look):
    network = category_network()
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    share = 100.0 * network.mean()[network.dag.position("fuel[Gas]")]
    box = page.locator("[aria-label^='fuel[Gas]']").first
    assert box.get_attribute("aria-label").startswith(f"fuel[Gas]: {share:.0f} % of cases")
    box.press("Enter")
    page.locator("#levels").wait_for()
    page.locator("#level").select_option(label="Gas")
    assert box.get_attribute("aria-label").startswith("fuel[Gas]: yes, ")


def test_a_category_is_chosen_by_keyboard(tmp_path, look):
    network = category_network()
    gn.write_explorer(network, tmp_path / "what-if.html")
    page = look(tmp_path / "what-if.html")
    box(page, "fuel[Gas]").focus()
    page.keyboard.press("s")
    assert page.locator(":focus").get_attribute("id") == "level"
    page.keyboard.press("ArrowUp")
    own = {"fuel[Gas]": 0.0, "fuel[a 'Petrol']": 0.0}
    check(page, network, {}, own)
    assert '"fuel": "Diesel"' in free_text(page, "python")


def test_a_value_far_outside_what_was_seen_is_told_of(tmp_path, look):
    rows = pd.DataFrame(np.array(NETWORK.sample(200, seed=0)), columns=NETWORK.dag.nodes)
    rows.loc[::20, "rain"] = -999.0
    path = tmp_path / "what-if.html"
    fit = gn.fit(rows, DAG, missing="drop-rows", missing_values=[-999])
    gn.write_explorer(fit, path)
    page = look(path)
    problem = page.locator("#problem")
    fix(page, "rain", "seen", float(rows["season"].mean()))
    assert problem.is_hidden()
    fix(page, "rain", "seen", -999.0)
    assert "stands for a missing value" in problem.inner_text()
    fix(page, "rain", "free")
    fix(page, "season", "set", 500.0)
    assert "season = 500.0 lies far outside what was seen" in problem.inner_text()
    fix(page, "season", "free")
    assert problem.is_hidden()


def test_a_network_alone_tells_of_values_that_it_cannot_give(page):
    fix(page, "season", "seen", -999.0)
    assert "far outside what the network expects" in page.locator("#problem").inner_text()
