"""Plots with matplotlib hold the numbers of the fit."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import gaussnet as gn
from gaussnet.errors import SettingError
from gaussnet.report.network_picture import place_inscriptions

mpl.use("Agg")
DAG = gn.Dag.parse("season; rain ~ season; wet ~ rain + season", nodes=["season", "rain", "wet"])
ROWS = gn.simulate.random_network(DAG, seed=1).sample(300, seed=2)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_a_forest_plot_has_a_point_and_an_interval_per_edge_and_fit():
    fit = gn.fit(ROWS, DAG)
    axes = fit.plot_coefficients({"robust": gn.fit(ROWS, DAG, "robust")}, level=0.9)
    first, second = axes.containers
    assert first.lines[0].get_xdata() == pytest.approx(fit.network.coefficient_array)
    ends = np.array([path.vertices[:, 0] for path in first.lines[2][0].get_paths()])
    assert ends == pytest.approx(fit.confidence_intervals(0.9).coefficient_array)
    assert len(second.lines[0].get_xdata()) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "least-squares",
        "robust",
    ]
    assert "90 %" in axes.get_xlabel()


def test_fits_of_other_graphs_stand_side_by_side():
    other = gn.fit(
        ROWS, gn.Dag.parse("season; rain ~ season; wet ~ rain", nodes=["season", "rain", "wet"])
    )
    axes = gn.fit(ROWS, DAG).plot_coefficients([other], standardized=True)
    assert len(axes.containers[1].lines[0].get_xdata()) == 2
    assert len(axes.get_yticks()) == 3


def test_the_network_has_every_node_and_every_contradiction():
    axes = gn.fit(ROWS, DAG).plot()
    texts = [text.get_text() for text in axes.texts]
    assert set(DAG.nodes) <= set(texts)
    wrong = gn.fit(ROWS, gn.Dag.parse("season; rain; wet ~ rain", nodes=["season", "rain", "wet"]))
    arrows = [text for text in wrong.plot().texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == 1 + len(wrong.check_graph().rejected)


def test_residuals_have_a_panel_and_a_verdict_per_node():
    panels = gn.fit(ROWS, DAG).plot_residuals()
    assert [panel.get_title() for panel in panels.ravel()] == [
        f"{node}\nclose to Gaussian" for node in DAG.nodes
    ]
    assert gn.fit(ROWS, DAG).plot_residuals(["wet"]).shape == (1, 1)
    with pytest.raises(gn.GraphError, match="there is no node 'snow'"):
        gn.fit(ROWS, DAG).plot_residuals(["snow"])


def test_residuals_of_a_robust_fit_leave_out_what_it_flags_and_say_so():
    rows = ROWS.copy()
    rows[[3, 70], 0] = 900.0, -500.0
    fit = gn.fit(rows, DAG, "robust")
    panels = fit.plot_residuals().ravel()
    title = panels[0].get_title()
    assert "close to Gaussian" in title
    assert "(without 2 flagged values)" in title
    for panel in panels[: len(DAG)]:
        assert np.abs(panel.lines[0].get_ydata()).max() < 5.0
    assert len(panels[0].lines[0].get_ydata()) == len(rows) - 2


def test_levels_of_a_category_have_no_panel_of_residuals():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": rng.choice(["a", "b", "c"], 200), "y": rng.normal(size=200)})
    panels = gn.fit(frame, "y ~ site").plot_residuals().ravel()
    assert [panel.get_title().splitlines()[0] for panel in panels] == ["y"]


def test_outliers_have_a_mark_per_flagged_cell():
    rows = ROWS.copy()
    rows[[3, 90], 2] = 500.0, -80.0
    fit = gn.fit(rows, DAG, "robust")
    axes = fit.plot_outliers()
    assert len(axes.collections[0].get_offsets()) == len(fit.outliers())
    with pytest.raises(gn.SettingError, match="does not look for outliers"):
        gn.fit(rows, DAG).plot_outliers()


def test_what_cannot_be_plotted_is_refused():
    alone = gn.fit(np.asarray(ROWS)[:, :1], gn.Dag.parse("[a]"))
    with pytest.raises(gn.SettingError, match="no edges"):
        alone.plot_coefficients()
    dag = gn.simulate.erdos_renyi(200, 2, seed=0)
    rows = gn.simulate.random_network(dag, seed=0).sample(50, seed=0)
    with pytest.raises(gn.SettingError, match="200 nodes"):
        gn.fit(rows, dag).plot()


def test_axes_may_be_given():
    from matplotlib import pyplot

    axes = pyplot.figure().subplots()
    assert gn.fit(ROWS, DAG).plot(ax=axes) is axes
    assert gn.fit(ROWS, DAG).plot_coefficients(ax=axes) is axes


def test_inscriptions_avoid_the_lines_of_other_edges():
    # The middle of the first edge is crossed by the second; the first stands beside the crossing.
    routes = [[(0.0, 0.0), (0.0, 100.0)], [(-60.0, 50.0), (60.0, 50.0)]]
    first, second = place_inscriptions(routes, ["1.25", "1.25"])
    assert abs(first.y - 50.0) > 13.0 / 2
    assert abs(second.x) > second.width / 2


def test_inscriptions_side_by_side_do_not_touch():
    """Two lines 26 apart, each with a number that is 25 wide: one of these moves along its line."""
    routes = [[(0.0, 0.0), (0.0, 100.0)], [(26.0, 0.0), (26.0, 100.0)]]
    first, second = place_inscriptions(routes, ["1.25", "1.25"])
    assert first.width < 26.0
    assert abs(first.y - second.y) > 13.0


def test_edges_are_as_wide_as_their_standardised_coefficients_are_large():
    from gaussnet.report.plots import THICK, THIN

    truth = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[a][b][c|a:b]", nodes="abc"), [0.001, 0.5], [1e6, 1.0, 1.0]
    )
    fit = gn.fit(truth.sample(300, seed=0), truth.dag)
    arrows = [text.arrow_patch for text in fit.plot().texts if getattr(text, "arrow_patch", None)]
    widths = [arrow.get_linewidth() for arrow in arrows]
    sizes = [abs(row["estimate"]) for row in fit.table(standardized=True)]
    assert widths == pytest.approx([THIN + (THICK - THIN) * size / max(sizes) for size in sizes])
    assert widths[0] > widths[1]  # though the coefficient itself is 500 times smaller


@pytest.mark.parametrize(("parents", "shown"), [(20, True), (21, False)])
def test_numbers_stand_beside_up_to_20_edges(parents, shown):
    names = [f"x{place}" for place in range(parents)]
    dag = gn.Dag.from_edges([(name, "y") for name in names], nodes=[*names, "y"])
    rows = gn.simulate.random_network(dag, seed=0).sample(100, seed=1)
    texts = [text.get_text() for text in gn.fit(rows, dag).plot().texts]
    assert (sum("." in text for text in texts) == parents) == shown


def test_one_other_fit_needs_no_list_and_what_is_no_fit_is_refused():
    fit, other = gn.fit(ROWS, DAG), gn.fit(ROWS, DAG, "robust")
    single, listed = fit.plot_coefficients(other), fit.plot_coefficients([other])
    assert len(single.lines) == len(listed.lines)
    for wrong in (other.network, [other.network], 3):
        with pytest.raises(SettingError, match="to plot beside, expected what"):
            fit.plot_coefficients(wrong)
