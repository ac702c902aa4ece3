"""The methods of the experiments by name, and what they learn from rows."""

import warnings

from gaussnet import baselines
from gaussnet._types import FloatArray
from gaussnet.errors import SettingError
from gaussnet.estimate import BatchAverage, BatchMedian, Cauchy, CauchyTree, Estimator, LeastSquares
from gaussnet.estimate.scales import MeanSquare
from gaussnet.experiments.catalogue import UNDIRECTED, Experiment
from gaussnet.experiments.settings import Settings
from gaussnet.fitting import fit
from gaussnet.graph.dag import Dag
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.network import GaussianNetwork

LABELS = {
    "least-squares": "LeastSquares",
    "cauchy-tree": "CauchyEstTree",
    "cauchy": "CauchyEst",
    "empirical": "MLE",
    "graphical-lasso": "GLASSO",
    "clime": "CLIME",
    "projection": "best network on the graph",
}


def label_of(method: str) -> str:
    """The paper's name of a method.

    Examples
    --------
    >>> label_of("batch-median+20"), label_of("cauchy")
    ('BatchMed+20', 'CauchyEst')
    """
    name, plus, extra = method.partition("+")
    if plus:
        return f"{'BatchAvg' if name == 'batch-average' else 'BatchMed'}+{extra}"
    return LABELS[method]


def estimator_named(method: str, settings: Settings) -> Estimator:
    """The estimator of this name under these settings.

    Examples
    --------
    >>> from gaussnet.experiments.settings import PLOTTED
    >>> estimator_named("batch-average+5", PLOTTED), estimator_named("cauchy", PLOTTED)
    (BatchAverage(extra_rows=5), Cauchy(windows='sliding'))
    """
    name, _, extra = method.partition("+")
    if name == "batch-average":
        return BatchAverage(int(extra))
    if name == "batch-median":
        return BatchMedian(int(extra))
    if name == "cauchy":
        return Cauchy(settings.windows)
    if name == "cauchy-tree":
        return CauchyTree(settings.windows)
    if name != "least-squares":
        raise SettingError(f"there is no method {method!r} in the experiments")
    return LeastSquares()


def learn(
    method: str, rows: FloatArray, dag: Dag, experiment: Experiment, settings: Settings
) -> GaussianNetwork | Gaussian:
    """What the method makes of the rows, always on one thread and without intercepts."""
    if method in UNDIRECTED:
        return _learn_undirected(method, rows, dag, settings)
    scale = settings.contaminated_scale if experiment.is_contaminated else MeanSquare()
    estimator = estimator_named(method, settings)
    return fit(rows, dag, estimator, scale=scale, intercept=False, threads=1).network


def _learn_undirected(method: str, rows: FloatArray, dag: Dag, settings: Settings) -> Gaussian:
    if method == "empirical":
        return baselines.empirical(rows, names=dag.nodes)
    if method == "graphical-lasso":
        return baselines.graphical_lasso(rows, alpha=settings.lasso_penalty, names=dag.nodes)
    with warnings.catch_warnings():
        # a matrix that had to be made positive definite is still CLIME's answer
        warnings.simplefilter("ignore")
        return baselines.clime(rows, names=dag.nodes, standardise=True)
