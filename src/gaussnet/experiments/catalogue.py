"""The experiments by name: which network, what happens to the rows, which methods."""

from dataclasses import dataclass
from typing import Literal

from gaussnet.errors import SettingError
from gaussnet.experiments.settings import THOUSANDS, Settings

Condition = Literal["clean", "gaussian", "cauchy", "ill-conditioned", "agnostic", "runtime"]

FIVE = ("least-squares", "batch-average+20", "batch-median+20", "cauchy-tree", "cauchy")
UNDIRECTED = ("empirical", "graphical-lasso", "clime")
CONTAMINATED: tuple[Condition, ...] = ("gaussian", "cauchy")
RUNTIME_ROWS = 500


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
    def is_random(self) -> bool:
        """Whether the network is drawn anew in each repetition."""
        return self.graph in {"er5", "er2", "tree"}

    @property
    def draw_key(self) -> str:
        """The word that the seeds of its repetitions are made from."""
        return self.draws or self.name

    def rows(self, settings: Settings) -> tuple[int, ...]:
        """The sample sizes of the figure."""
        if self.condition == "runtime":
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
    Experiment(
        "batch-avg-d2",
        "Batch size, mean of batches, ER d = 2",
        "mean_er_a",
        "er2",
        methods=_batches("batch-average"),
        draws="batch-d2",
    ),
    Experiment(
        "batch-avg-d5",
        "Batch size, mean of batches, ER d = 5",
        "mean_er_b",
        "er5",
        methods=_batches("batch-average"),
        draws="batch-d5",
    ),
    Experiment(
        "batch-med-d2",
        "Batch size, median of batches, ER d = 2",
        "median_er_a",
        "er2",
        methods=_batches("batch-median"),
        draws="batch-d2",
    ),
    Experiment(
        "batch-med-d5",
        "Batch size, median of batches, ER d = 5",
        "median_er_b",
        "er5",
        methods=_batches("batch-median"),
        draws="batch-d5",
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
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise SettingError(f"there is no experiment {name!r}, expected one of {known}")
