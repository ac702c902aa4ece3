"""The methods that the experiments compare."""

import warnings

from gaussnet.errors import SettingError
from gaussnet.fitting import fit
from gaussnet.graph.dag import Dag
from gaussnet.methods.base import Estimator
from gaussnet.methods.batches import BatchAverage, BatchMedian
from gaussnet.methods.cauchy import Cauchy, CauchyTree
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.scales import MeanSquare
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.network import GaussianNetwork
from gaussnet.reproduce import baselines
from gaussnet.reproduce.catalogue import UNDIRECTED, Experiment, Settings
from gaussnet.types import FloatArray

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
    >>> from gaussnet.reproduce.catalogue import PLOTTED
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
