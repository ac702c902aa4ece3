"""The report of a fit in a browser: whole, silent, and alive."""

import numpy as np
import pytest

import gaussnet as gn

DAG = gn.Dag.parse(
    "season; rain ~ season; sprinkler ~ season; wet ~ rain + sprinkler",
    nodes=["season", "rain", "sprinkler", "wet"],
)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script><script>document.title = 'owned'</script>",
    "</title></style></svg><b>bold</b>",
    "'; alert(3); //",
    "javascript:alert(4)",
    "ünïcode 日本語 🎲",
    "a & b &amp; <!-- c -->",
    "${7*7} {{7*7}}",
    "265768",
    "  blanks  inside ",
    "a very long name that no box could hold, " * 3,
)


def write(folder, dag, seed=0, rows=300, **settings):
    network = gn.simulate.random_network(dag, seed=seed, intercepts=(-1.0, 1.0))
    path = folder / "report.html"
    fit = gn.fit(network.sample(rows, seed=seed), dag, **settings)
    gn.write_report(fit, path)
    return path, fit


@pytest.fixture
def report(tmp_path):
    return write(tmp_path, DAG)


def column(page, table, index):
    return page.locator(f"#{table} tbody tr:visible td:nth-child({index})").all_inner_texts()


@pytest.mark.parametrize("name", ["ecoli70", "arth150"])
def test_every_node_and_edge_is_drawn_inside_the_picture(tmp_path, look, name):
    dag = gn.networks.load(name).dag
    path, _ = write(tmp_path, dag)
    page = look(path)
    assert page.locator("#network .node").count() == len(dag)
    assert page.locator("#network .edge").count() == len(dag.edges)
    assert page.locator("#network .node text").all_text_contents() == list(dag.nodes)
    outside = page.evaluate(
        """() => {
            const [x, y, width, height] = document.querySelector("#network").dataset.box
                .split(" ").map(Number);
            return [...document.querySelectorAll("#network .node, #network .line")]
                .map((part) => part.getBBox())
                .filter((box) => box.x < x || box.y < y || box.x + box.width > x + width
                    || box.y + box.height > y + height).length;
        }"""
    )
    assert outside == 0
    assert path.stat().st_size < 2_000_000


def test_labels_fit_into_their_boxes_and_boxes_do_not_overlap(tmp_path, look):
    path, _ = write(tmp_path, gn.networks.load("ecoli70").dag)
    faults = look(path).evaluate(
        """() => {
            const boxes = [...document.querySelectorAll("#network .node")].map((node) => ({
                text: node.querySelector("text").getBBox(),
                rect: node.querySelector("rect").getBBox(),
            }));
            const wide = boxes.filter(({ text, rect }) => text.width > rect.width).length;
            const touch = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width
                && a.y < b.y + b.height && b.y < a.y + a.height;
            let overlaps = 0;
            boxes.forEach((one, i) => boxes.slice(i + 1).forEach((other) => {
                overlaps += touch(one.rect, other.rect);
            }));
            return [wide, overlaps];
        }"""
    )
    assert faults == [0, 0]


def test_the_table_sorts_both_ways_by_mouse_and_by_keyboard(report, look):
    path, fit = report
    page = look(path)
    head = page.locator("#coefficients th").nth(2)
    values = sorted(fit.network.coefficients.values())
    shown = [f"{abs(value):.3f}"[:4] for value in values]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    found = [text.lstrip("\N{MINUS SIGN}")[:4] for text in column(page, "coefficients", 3)]
    assert found == shown
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    found = [text.lstrip("\N{MINUS SIGN}")[:4] for text in column(page, "coefficients", 3)]
    assert found == shown[::-1]
    page.locator("#coefficients th").nth(0).locator("button").press("Space")
    assert head.get_attribute("aria-sort") == "none"
    assert column(page, "coefficients", 1) == sorted(parent for parent, _ in DAG.edges)


def test_the_table_filters_by_part_of_a_name(report, look):
    page = look(report[0])
    field = page.locator('[data-filter="coefficients"]')
    field.fill("SPRINK")
    assert column(page, "coefficients", 1) == ["season", "sprinkler"]
    assert page.locator('[data-count="coefficients"]').inner_text() == "2 of 4"
    field.fill("")
    assert len(column(page, "coefficients", 1)) == 4


def test_pointing_at_nodes_and_edges_tells_their_numbers(report, look):
    path, fit = report
    page = look(path)
    tip = page.locator("#tip")
    assert not tip.is_visible()
    page.locator("#network .node").nth(DAG.position("wet")).hover()
    assert tip.is_visible()
    assert tip.inner_text().startswith("wet\nintercept")
    assert "2 parents, 0 children" in tip.inner_text()
    lit = page.locator("#network .node.near text").all_text_contents()
    assert set(lit) == {"wet", "rain", "sprinkler"}
    edge = page.locator("#network .edge").nth(DAG.edges.index(("season", "rain")))
    edge.locator(".line").hover()
    value = fit.network.coefficients["season", "rain"]
    assert tip.inner_text().startswith(f"season → rain\ncoefficient {abs(value):.4f}"[:-2])
    assert "95 % interval" in tip.inner_text()
    page.mouse.move(5, 5)
    assert not tip.is_visible()
    assert page.locator("#network .near").count() == 0


def box(page):
    return [float(side) for side in page.locator("#network").get_attribute("viewBox").split()]


def test_buttons_wheel_drag_and_keys_zoom_and_move(report, look):
    page = look(report[0])
    whole = box(page)
    page.locator('[data-zoom="in"]').click()
    assert box(page)[2] == pytest.approx(whole[2] / 1.4, abs=0.1)
    page.locator('[data-zoom="all"]').click()
    assert box(page) == pytest.approx(whole, abs=0.1)
    picture = page.locator("#network")
    picture.hover(position={"x": 20, "y": 20})
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(50)
    assert box(page) == pytest.approx(whole, abs=0.1)  # not chosen yet: the page scrolls
    page.evaluate("scrollTo(0, 0)")
    picture.click(position={"x": 20, "y": 20})
    page.mouse.wheel(0, -100)
    page.wait_for_function("document.querySelector('#network').viewBox.baseVal.width < %f" % (
        whole[2] - 1))  # fmt: skip
    near = box(page)
    page.mouse.down()
    page.mouse.move(10, 10, steps=3)
    page.mouse.up()
    moved = box(page)
    assert moved[2:] == near[2:]
    assert moved[:2] != near[:2]
    picture.press("0")
    assert box(page) == pytest.approx(whole, abs=0.1)
    picture.press("+")
    picture.press("ArrowRight")
    assert box(page)[0] > whole[0]


def test_find_marks_nodes_and_enter_goes_there(tmp_path, look):
    dag = gn.networks.load("arth150").dag
    path, _ = write(tmp_path, dag)
    page = look(path)
    page.locator("#find").fill("570")
    assert page.locator("#network .found text").all_text_contents() == ["570"]
    before = box(page)
    page.locator("#find").press("Enter")
    x, y, width, height = box(page)
    assert width < before[2]
    place = page.locator("#network .found").evaluate(
        "(node) => [node.getBBox().x, node.getBBox().y]"
    )
    assert x <= place[0] <= x + width
    assert y <= place[1] <= y + height


def test_residual_pictures_filter_and_order(tmp_path, look):
    dag = gn.networks.load("ecoli70").dag
    path, _ = write(tmp_path, dag)
    page = look(path)
    assert page.locator(".residual h3").all_inner_texts() == list(dag.nodes)
    page.locator("#order").select_option("worst")
    departures = page.locator(".residual").evaluate_all("all => all.map(one => +one.dataset.value)")
    assert departures == sorted(departures, reverse=True)
    page.locator('[data-filter="residuals"]').fill("lac")
    assert sorted(page.locator(".residual:visible h3").all_inner_texts()) == [
        "lacA",
        "lacY",
        "lacZ",
    ]
    sizes = page.locator(".residual:visible svg").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width)"
    )
    assert min(sizes) > 80


def test_hostile_names_are_text_and_nothing_else(tmp_path, look):
    edges = [(HOSTILE[0], name) for name in HOSTILE[1:6]]
    edges += [(name, HOSTILE[6]) for name in HOSTILE[1:4]]
    dag = gn.Dag.from_edges(edges, nodes=HOSTILE)
    rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
    path = tmp_path / "report.html"
    fit = gn.fit(rows, dag)
    gn.write_report(fit, path, title=HOSTILE[3], command=HOSTILE[2], date=HOSTILE[0])
    page = look(path)
    assert page.title() == HOSTILE[3]
    assert page.locator("h1").text_content() == HOSTILE[3]
    assert page.locator("script").count() == 1
    assert page.locator("img, b, iframe, a").count() == 0
    cells = page.locator("#nodes tbody td:first-child").all_text_contents()
    assert cells == list(HOSTILE)
    parents = page.locator("#coefficients tbody td:first-child").all_text_contents()
    assert parents == [parent for parent, _ in dag.edges]
    assert page.locator("#network .node").count() == len(HOSTILE)
    page.locator("#network .node").nth(2).hover()
    assert page.locator("#tip").text_content().startswith(HOSTILE[2])
    assert page.locator("#tip *").count() == 0
    page.locator('[data-filter="coefficients"]').fill("<img")
    assert len(column(page, "coefficients", 1)) == 2
    page.locator("#coefficients th button").nth(0).click()
    assert page.locator("pre").first.text_content() == HOSTILE[2]
    assert page.title() == HOSTILE[3]


def colour(page, what, name):
    return page.locator(what).first.evaluate(f"(one) => getComputedStyle(one).{name}")


def brightness(rgb):
    return sum(int(part) for part in rgb.removeprefix("rgb(").removesuffix(")").split(",")) / 3


def test_the_dark_scheme_is_dark_and_the_light_one_light(report, look):
    light, dark = (look(report[0], color_scheme=scheme) for scheme in ("light", "dark"))
    for what, name, darker in (
        ("body", "backgroundColor", dark),
        ("body", "color", light),
        (".node rect", "fill", dark),
        (".node text", "fill", light),
    ):
        other = light if darker is dark else dark
        assert brightness(colour(darker, what, name)) + 100 < brightness(colour(other, what, name))


def test_on_paper_everything_shows_and_no_control(report, look):
    page = look(report[0], color_scheme="dark")
    page.locator('[data-filter="coefficients"]').fill("nothing of the kind")
    assert column(page, "coefficients", 1) == []
    page.emulate_media(media="print", color_scheme="dark")
    assert colour(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert len(column(page, "coefficients", 1)) == 4
    assert not page.locator(".controls").first.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_narrow_window_does_not_scroll_sideways(tmp_path, look):
    path, _ = write(tmp_path, gn.networks.load("ecoli70").dag)
    page = look(path, viewport={"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_a_graph_without_edges_or_noise_is_shown(tmp_path, look):
    rows = np.column_stack((np.ones(20), np.arange(20.0)))
    path = tmp_path / "report.html"
    gn.write_report(gn.fit(rows, gn.Dag.from_edges([], nodes=["still", "free"])), path)
    page = look(path)
    assert page.locator("#network .node").count() == 2
    assert page.locator(".residual h3").all_inner_texts() == ["free"]
