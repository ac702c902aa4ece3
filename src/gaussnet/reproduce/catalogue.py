"""What the paper did: its two settings and its experiments, a figure each."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.methods.base import Scale
from gaussnet.methods.cauchy import Windows
from gaussnet.methods.mad import Mad
from gaussnet.types import FloatArray

THOUSANDS = (1000, 2000, 3000, 4000, 5000)
RUNTIME_ROWS = 500
FIVE = ("least-squares", "batch-average+20", "batch-median+20", "cauchy-tree", "cauchy")
UNDIRECTED = ("empirical", "graphical-lasso", "clime")
Condition = Literal["clean", "gaussian", "cauchy", "ill-conditioned", "agnostic", "runtime"]
CONTAMINATED: tuple[Condition, ...] = ("gaussian", "cauchy")


@dataclass(frozen=True, slots=True)
class RootMad(Mad):
    r"""A slip, kept to redraw figures and for nothing else: the variance is set to the MAD.

    .. math:: \hat s = \sqrt{1.4826 \cdot \mathrm{median}_k |r_k - \mathrm{median}\, r|}

    The right scale has no root. The two agree only where the true scale is 1.

    Examples
    --------
    >>> deviations = np.array([4.0])
    >>> RootMad().variances(deviations).round(4).tolist()
    [5.9304]
    >>> Mad().variances(deviations).round(4).tolist()
    [35.1697]
    """

    name = "root-mad"

    def variances(self, deviations: FloatArray) -> FloatArray:
        """The root of the variances of `Mad`."""
        return np.sqrt(Mad.variances(self, deviations))


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
    median_methods: tuple[str, ...]
    """Methods of which figures of ill-conditioned networks show a median, not a mean."""


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
    median_methods=(),
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
    median_methods=("least-squares",),
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
    known = {settings.name: settings for settings in SETTINGS}
    if name not in known:
        raise SettingError(f"got settings {name!r}, expected 'written' or 'plotted'")
    return known[name]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure of the paper."""

    name: str
    title: str
    label: str
    """The figure's label in the paper."""
    graph: str
    """"er5", "er2", "tree", or the name of a network that comes with the package."""
    condition: Condition = "clean"
    methods: tuple[str, ...] = FIVE
    draws: str = ""
    """Experiments with the same word here learn from the same rows."""
    cost: float = 1.0
    """Time of one repetition beside the others, for the order of work and the time left."""

    @property
    def is_contaminated(self) -> bool:
        """Whether some values do not come from the network."""
        return self.condition in CONTAMINATED

    @property
    def is_timed(self) -> bool:
        """Whether time is measured, not an error."""
        return self.condition == "runtime"

    @property
    def is_random(self) -> bool:
        """Whether the network is drawn anew in each repetition."""
        return self.graph in {"er5", "er2", "tree"}

    @property
    def draw_key(self) -> str:
        """The word that the seeds of its repetitions are made from."""
        return self.draws or self.name

    def rows(self, settings: Settings) -> tuple[int, ...]:
        """The sample sizes of the figure."""
        if self.is_timed:
            return (RUNTIME_ROWS,)
        if self.is_contaminated:
            return settings.contaminated_rows
        return settings.agnostic_rows if self.condition == "agnostic" else THOUSANDS


def _batches(method: str) -> tuple[str, ...]:
    return ("least-squares", *(f"{method}+{extra}" for extra in (100, 20, 5)), "cauchy-tree")


EXPERIMENTS = (
    Experiment(
        "er5-all",
        "ER graphs, d = 5, eight estimators",
        "all_a",
        "er5",
        methods=(*FIVE, *UNDIRECTED),
        draws="er5",
        cost=100.0,
    ),
    Experiment("er5", "ER graphs, d = 5", "all_b", "er5"),
    Experiment("tree", "Random trees", "all_c", "tree"),
    Experiment("ecoli70", "ecoli70 (46 nodes)", "ecoli70", "ecoli70"),
    Experiment("magic-niab", "magic-niab (44 nodes)", "magic-niab", "magic-niab"),
    Experiment("magic-irri", "magic-irri (64 nodes)", "magic-irri", "magic-irri"),
    Experiment("arth150", "arth150 (107 nodes)", "arth150", "arth150"),
    Experiment(
        "tree-gauss", "Random trees, Gaussian contamination", "exp_noisy_rt", "tree", "gaussian"
    ),
    Experiment(
        "er5-cauchy", "ER graphs, d = 5, Cauchy contamination", "exp_noisy_er", "er5", "cauchy"
    ),
    Experiment("ecoli70-noisy", "ecoli70, contaminated", "ecoli70_noisy", "ecoli70", "gaussian"),
    Experiment("magic-niab-noisy", "magic-niab, contaminated", "-", "magic-niab", "gaussian"),
    Experiment("magic-irri-noisy", "magic-irri, contaminated", "-", "magic-irri", "gaussian"),
    Experiment("arth150-noisy", "arth150, contaminated", "arth_noisy", "arth150", "gaussian"),
    Experiment(
        "ill-er", "ER graphs, d = 5, 3 ill-conditioned nodes", "ill_a", "er5", "ill-conditioned"
    ),
    Experiment(
        "ill-tree", "Random trees, 3 ill-conditioned nodes", "ill_b", "tree", "ill-conditioned"
    ),
    Experiment("agnostic-tree", "Random trees, 4 edges missing", "agn_a", "tree", "agnostic"),
    Experiment("agnostic-er", "ER graphs, d = 5, 9 edges missing", "agn_b", "er5", "agnostic"),
    *(
        Experiment(
            f"batch-{short}-d{degree}",
            f"Batch size, {average} of batches, ER d = {degree}",
            f"{average}_er_{panel}",
            f"er{degree}",
            methods=_batches(method),
            draws=f"batch-d{degree}",
        )
        for short, average, method in (
            ("avg", "mean", "batch-average"),
            ("med", "median", "batch-median"),
        )
        for degree, panel in ((2, "a"), (5, "b"))
    ),
    Experiment("runtime", "Run time, ER d = 5, 500 rows", "Runtime comparison", "er5", "runtime"),
)
"""In the order of the paper."""


def experiment_named(name: str) -> Experiment:
    """The experiment of this name.

    Examples
    --------
    >>> experiment_named("tree-gauss").condition
    'gaussian'
    """
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    if name not in known:
        raise SettingError(f"there is no experiment {name!r}, expected one of {', '.join(known)}")
    return known[name]
