"""One repetition of one experiment: what each method learns, and how far off that is."""

import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting import fit
from gaussnet.graph.dag import Dag
from gaussnet.methods.base import Method
from gaussnet.methods.batches import BatchAverage, BatchMedian
from gaussnet.methods.cauchy import Cauchy, CauchyTree
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.scales import MeanSquare
from gaussnet.model.distances import kl_divergence
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.network import GaussianNetwork
from gaussnet.reproduce import baselines
from gaussnet.reproduce.catalogue import (
    Experiment,
    Settings,
    experiment_named,
    settings_named,
)
from gaussnet.reproduce.problems import Problem, draw_problem, draw_rows
from gaussnet.seeds import children
from gaussnet.types import FloatArray

TIMINGS = 5
"""A method is timed so often and its best time kept."""

ESTIMATORS: dict[str, Callable[[str, Settings], Method]] = {
    "least-squares": lambda extra, settings: LeastSquares(),
    "batch-average": lambda extra, settings: BatchAverage(int(extra)),
    "batch-median": lambda extra, settings: BatchMedian(int(extra)),
    "cauchy-tree": lambda extra, settings: CauchyTree(settings.windows),
    "cauchy": lambda extra, settings: Cauchy(settings.windows),
}
"""The paper's methods; what follows a plus sign in their names is `extra`."""

LABELS = {
    "least-squares": "LeastSquares",
    "batch-average": "BatchAvg",
    "batch-median": "BatchMed",
    "cauchy-tree": "CauchyEstTree",
    "cauchy": "CauchyEst",
    "empirical": "MLE",
    "graphical-lasso": "GLASSO",
    "clime": "CLIME",
    "projection": "best network on the graph",
}
"""The paper's names."""


class Record(NamedTuple):
    """One number: a method's KL divergence, its excess over the projection, or its seconds."""

    settings: str
    experiment: str
    method: str
    measure: str
    rows: int
    repetition: int
    value: float
    limit: float
    """The information limit at this many rows."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is told."""

    settings: str
    experiment: str
    repetition: int
    seed: int
    nodes: int = 100
    rows: tuple[int, ...] | None = None
    """Instead of the figure's."""

    @property
    def name(self) -> str:
        """A file name."""
        return f"{self.settings}.{self.experiment}.{self.repetition:04d}"

    @property
    def cost(self) -> float:
        """How long it takes, beside other tasks."""
        return experiment_named(self.experiment).cost

    def run(self) -> tuple[Record, ...]:
        """Draw the network and the rows, and let every method learn from them."""
        experiment, settings = experiment_named(self.experiment), settings_named(self.settings)
        sizes = self.rows or experiment.rows(settings)
        key = (zlib.crc32(f"{self.settings} {experiment.draw_key}".encode()), self.repetition)
        root = np.random.SeedSequence(self.seed, spawn_key=key)
        problem_seed, *row_seeds = children(root, 1 + len(sizes))
        problem = draw_problem(experiment, settings, self.nodes, problem_seed)
        found = []
        for size, seed in zip(sizes, row_seeds, strict=True):
            rows = draw_rows(problem, experiment, settings, size, seed)
            for method, measure, value in _measure(problem, rows, experiment, settings):
                where = (self.settings, self.experiment, method, measure)
                found.append(Record(*where, size, self.repetition, value, problem.limit(size)))
        return tuple(found)


def _measure(
    problem: Problem, rows: FloatArray, experiment: Experiment, settings: Settings
) -> Iterator[tuple[str, str, float]]:
    """Method, measure and value of all methods on these rows."""
    if experiment.is_timed:
        for method in experiment.methods:
            yield method, "seconds", _seconds(method, problem, rows, experiment, settings)
        return
    at_best = 0.0
    if experiment.condition == "agnostic":
        at_best = kl_divergence(problem.truth, problem.projection)
        yield "projection", "kl", at_best
    for method in experiment.methods:
        kl = _divergence(method, problem, rows, experiment, settings)
        yield method, "kl", kl
        if experiment.condition == "agnostic":
            yield method, "excess", kl - at_best


def _divergence(
    method: str, problem: Problem, rows: FloatArray, experiment: Experiment, settings: Settings
) -> float:
    """The KL divergence; NaN where a baseline gives up, which must not stop the others."""
    try:
        return kl_divergence(problem.truth, learn(method, rows, problem.dag, experiment, settings))
    except EstimationError:
        if method not in BASELINES:
            raise
        return math.nan


def _seconds(
    method: str, problem: Problem, rows: FloatArray, experiment: Experiment, settings: Settings
) -> float:
    times = []
    for _ in range(TIMINGS):
        start = time.perf_counter()
        learn(method, rows, problem.dag, experiment, settings)
        times.append(time.perf_counter() - start)
    return min(times)


def label_of(method: str) -> str:
    """The paper's name of a method.

    Examples
    --------
    >>> label_of("batch-median+20"), label_of("cauchy")
    ('BatchMed+20', 'CauchyEst')
    """
    name, plus, extra = method.partition("+")
    return LABELS[name] + plus + extra


def estimator_named(method: str, settings: Settings) -> Method:
    """The estimator of this name under these settings.

    Examples
    --------
    >>> from gaussnet.reproduce.catalogue import PLOTTED
    >>> estimator_named("batch-average+5", PLOTTED), estimator_named("cauchy", PLOTTED)
    (BatchAverage(extra_rows=5), Cauchy(windows='sliding'))
    """
    name, _, extra = method.partition("+")
    if name not in ESTIMATORS:
        raise SettingError(f"there is no method {method!r} in the experiments")
    return ESTIMATORS[name](extra, settings)


def learn(
    method: str, rows: FloatArray, dag: Dag, experiment: Experiment, settings: Settings
) -> GaussianNetwork | Gaussian:
    """What the method makes of the rows, always on one thread and without intercepts."""
    if method in BASELINES:
        return BASELINES[method](rows, dag, settings)
    scale = settings.contaminated_scale if experiment.is_contaminated else MeanSquare()
    estimator = estimator_named(method, settings)
    return fit(rows, dag, estimator, scale=scale, intercept=False, threads=1).network


def _empirical(rows: FloatArray, dag: Dag, settings: Settings) -> Gaussian:
    return baselines.empirical(rows, names=dag.nodes)


def _graphical_lasso(rows: FloatArray, dag: Dag, settings: Settings) -> Gaussian:
    return baselines.graphical_lasso(rows, alpha=settings.lasso_penalty, names=dag.nodes)


def _clime(rows: FloatArray, dag: Dag, settings: Settings) -> Gaussian:
    with warnings.catch_warnings():
        # a matrix that had to be made positive definite is still CLIME's answer
        warnings.simplefilter("ignore")
        return baselines.clime(rows, names=dag.nodes, standardise=True)


BASELINES = {"empirical": _empirical, "graphical-lasso": _graphical_lasso, "clime": _clime}
"""Methods that do not know the graph."""
