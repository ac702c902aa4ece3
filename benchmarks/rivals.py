"""Other programs that learn the same network, node by node. Each may be absent."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks.workloads import Workload

Columns = list[tuple[np.ndarray, np.ndarray]]


def node_columns(work: Workload, nodes: int | None = None) -> Columns:
    """Parents (rows, p) and child (rows,) of the nodes that have parents, ready for a rival."""
    families = work.dag.families
    chosen = np.flatnonzero(families.sizes > 0)[:nodes]
    data = np.asfortranarray(work.data)
    pairs = []
    for node in chosen.tolist():
        start, stop = families.offsets[node : node + 2]
        pairs.append((data[:, families.parents[start:stop]], data[:, node]))
    return pairs


def lstsq_loop(work: Workload) -> list[np.ndarray]:
    """Coefficients and variance of every node by numpy.linalg.lstsq, no intercept."""
    families, data = work.dag.families, work.data
    answers = []
    for node in range(len(work.dag)):
        parents = families.parents[families.offsets[node] : families.offsets[node + 1]]
        x, y = data[:, parents], data[:, node]
        slopes = np.linalg.lstsq(x, y, rcond=None)[0] if len(parents) else np.zeros(0)
        rest = y - x @ slopes
        answers.append(np.append(slopes, rest @ rest / len(rest)))
    return answers


def sklearn_loop(columns: Columns, name: str) -> list[np.ndarray]:
    """A scikit-learn regressor of this name at its defaults, node by node."""
    from sklearn import linear_model

    kind = getattr(linear_model, name)
    settings = {"random_state": 0} if name == "TheilSenRegressor" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [kind(**settings).fit(x, y).coef_ for x, y in columns]


def statsmodels_loop(columns: Columns, name: str) -> list[np.ndarray]:
    """statsmodels OLS or RLM at its defaults, node by node, with a constant."""
    import statsmodels.api as sm

    kind = getattr(sm, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [kind(y, sm.add_constant(x)).fit().params[1:] for x, y in columns]


def pgmpy_fit(work: Workload) -> Callable[[], object]:
    """pgmpy's LinearGaussianBayesianNetwork.fit on the same rows."""
    import pandas as pd
    from pgmpy.models import LinearGaussianBayesianNetwork

    model = LinearGaussianBayesianNetwork(list(work.dag.edges))
    model.add_nodes_from(work.dag.nodes)
    frame = pd.DataFrame(work.data, columns=list(work.dag.nodes))
    return lambda: model.fit(frame)


def present(package: str) -> bool:
    """Whether a rival's package is installed."""
    return find_spec(package) is not None
