"""Pictures: the same bytes for the same numbers, and nothing lost on the way."""

import math
import re
from xml.etree import ElementTree

import pytest

from gaussnet.reproduce.figures import INK, Curve, Line, Panel, draw_bars, draw_curves

ROWS = (100, 1000, 5000)


def panel(readings=None):
    curves = [
        Curve("LeastSquares", ROWS, (0.5, 0.05, 0.01), (0.05, 0.005, 0.001), 0),
        Curve("CauchyEst", ROWS, (9.0, 1.0, 0.1), (20.0, 0.1, 0.0), 4, readings or {}),
    ]
    return Panel(
        "Chains of 9 nodes", "KL divergence", curves, [Line("limit", ROWS, (0.4, 0.04, 0.01))]
    )


def texts(picture):
    root = ElementTree.fromstring(picture.svg)
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_equal_numbers_give_equal_files():
    assert draw_curves([panel()]) == draw_curves([panel()])


def test_other_numbers_give_other_files():
    assert draw_curves([panel()]).png != draw_curves([panel({1000: 0.9})]).png


def test_the_picture_names_what_it_shows():
    shown = texts(draw_curves([panel({1000: 0.9})]))
    wanted = {"Chains of 9 nodes", "KL divergence", "rows m", "LeastSquares", "CauchyEst", "limit"}
    assert wanted | {"100", "1,000", "5,000", "the paper's figure"} <= set(shown)


def test_panels_share_one_legend():
    shown = texts(draw_curves([panel(), panel()]))
    assert shown.count("LeastSquares") == 1
    assert shown.count("Chains of 9 nodes") == 2


@pytest.mark.parametrize("kind", ["curves", "bars"])
def test_files_hold_no_date_and_no_program(kind):
    picture = draw_curves([panel()]) if kind == "curves" else draw_bars("T", "ms", {"a": 1.0})
    assert b"Matplotlib" not in picture.png
    assert b"tIME" not in picture.png
    assert "<dc:" not in picture.svg
    assert not re.search(r"20\d\d-\d\d-\d\d", picture.svg)


def test_the_picture_for_a_page_takes_the_reader_s_theme():
    inline = draw_curves([panel()]).inline_svg
    ElementTree.fromstring(inline)
    assert "prefers-color-scheme: dark" in inline
    assert "currentColor" in inline
    assert inline.count(INK) == 1  # the light theme's own line
    assert "fill: #ffffff" not in inline


def test_bars_show_their_values():
    shown = texts(draw_bars("Run time", "milliseconds", {"LeastSquares": 0.4, "CauchyEst": 12.5}))
    assert {"Run time", "milliseconds", "LeastSquares", "0.4", "12.5"} <= set(shown)


def test_drawing_leaves_no_settings_behind():
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw_curves([panel()])
    assert dict(matplotlib.rcParams) == before


def test_infinite_values_are_left_out():
    values, errors = (math.inf, 1.0, math.nan), (math.inf, 0.1, math.nan)
    curves = [Curve("Some", ROWS, values, errors), Curve("None", ROWS, (math.inf,) * 3, errors)]
    shown = texts(draw_curves([Panel("Odd", "KL", curves)]))
    assert {"Some", "None", "1,000"} <= set(shown)
