"""What the paper's text says, and what its figures were made with."""

from dataclasses import dataclass
from typing import Literal

from gaussnet.errors import SettingError
from gaussnet.estimate.cauchy import Windows
from gaussnet.estimate.scales import Mad, Scale
from gaussnet.experiments.slip import RootMad

THOUSANDS = (1000, 2000, 3000, 4000, 5000)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything in which the text and the figures differ."""

    name: str
    weights: tuple[float, float]
    """Coefficients are uniform on (-high, -low] and [low, high)."""
    edge_probability: Literal["d/n", "d/(n-1)"]
    tree: Literal["rooted", "polytree"]
    graphs: Literal["drawn", "published"]
    """Random graphs are drawn for each repetition, or are the one graph of the paper's program."""
    windows: Windows
    """Of the two Cauchy estimators."""
    contaminated_share: float
    """Share of the rows with wrong values."""
    contaminated_nodes: int
    """Wrong values in each such row."""
    contaminated_scale: Scale
    contaminated_rows: tuple[int, ...]
    agnostic_rows: tuple[int, ...]
    lasso_penalty: float | None
    """Of the graphical lasso; None is the rule sqrt(log n / m)."""
    median_of_least_squares: bool
    """Whether least squares on ill-conditioned networks shows a median, not a mean."""


WRITTEN = Settings(
    name="written",
    weights=(1.0, 2.0),
    edge_probability="d/n",
    tree="rooted",
    graphs="drawn",
    windows="disjoint",
    contaminated_share=0.05,
    contaminated_nodes=5,
    contaminated_scale=Mad(),
    contaminated_rows=THOUSANDS,
    agnostic_rows=THOUSANDS,
    lasso_penalty=None,
    median_of_least_squares=False,
)
"""The paper's text."""

PLOTTED = Settings(
    name="plotted",
    weights=(0.5, 2.0),
    edge_probability="d/(n-1)",
    tree="polytree",
    graphs="published",
    windows="sliding",
    contaminated_share=0.10,
    contaminated_nodes=10,
    contaminated_scale=RootMad(),
    contaminated_rows=(100, *THOUSANDS),
    agnostic_rows=(100, 500, 1000, 2000, 3000),
    # not stated anywhere: the fixed penalty at which both level and slope of the curve agree
    lasso_penalty=0.025,
    median_of_least_squares=True,
)
"""The paper's figures."""

SETTINGS = (WRITTEN, PLOTTED)


def settings_named(name: str) -> Settings:
    """The settings of this name.

    Examples
    --------
    >>> settings_named("plotted").windows
    'sliding'
    """
    for settings in SETTINGS:
        if settings.name == name:
            return settings
    raise SettingError(f"got settings {name!r}, expected 'written' or 'plotted'")
