"""Our points beside the numbers read off the paper's figures."""

import pytest

from gaussnet.reproduce.tables import Point
from gaussnet.reproduce.verdicts import deviations, summary_of


def point(value, standard_error, *, experiment="tree-gauss", rows=2000, repetitions=20):
    fixed = ("plotted", experiment, "cauchy", "kl", rows, repetitions)
    return Point(*fixed, value, "mean", standard_error, value, value, 0.05)


# The figure has 0.24; 15 % are 0.036, a pixel is 0.08.
@pytest.mark.parametrize(
    ("ours", "standard_error", "verdict"),
    [
        (0.275, 0.001, "near"),
        (0.205, 0.001, "near"),
        (0.30, 0.022, "chance"),  # 0.06 <= 2 * 0.022 * sqrt(2)
        (0.30, 0.020, "pixel"),
        (0.16, 0.0, "pixel"),
        (0.1599, 0.0, "off"),
        (0.1599, 0.001, "pixel"),
    ],
)
def test_a_point_is_judged_by_tolerance_then_chance_then_resolution(ours, standard_error, verdict):
    (found,) = deviations([point(ours, standard_error)])
    assert found.reading == 0.24
    assert found.verdict == verdict


def test_a_clean_figure_has_no_pixel_to_hide_behind():
    (found,) = deviations([point(0.4, 0.001, experiment="er5")])
    assert found.verdict == "off"


def test_more_repetitions_of_ours_leave_the_error_of_the_paper():
    # 0.06 is 2 * 0.0135 * sqrt(1 + 80 / 20) = 0.0604 at most; our own error alone would be 0.027
    (found,) = deviations([point(0.30, 0.0135, repetitions=80)])
    assert found.verdict == "chance"


def test_the_summary_counts_what_there_is():
    found = deviations([point(0.24, 0.0), point(0.30, 0.0, rows=1000), point(0.9, 0.0, rows=3000)])
    assert summary_of(found) == (
        "1 of 3 points are as near as allowed, 1 within one pixel of the figure, 1 off."
    )
