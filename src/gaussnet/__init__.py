"""Gaussian Bayesian networks over a known graph: learn their parameters, and know the error."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gaussnet import baselines, networks, simulate
    from gaussnet.errors import (
        CycleError,
        DataError,
        EstimationError,
        FileError,
        GaussnetError,
        GraphError,
        NetworkError,
        SettingError,
    )
    from gaussnet.estimate import (
        Auto,
        BatchAverage,
        BatchMedian,
        Cauchy,
        CauchyTree,
        GaussianCore,
        KlOptimal,
        LeastSquares,
        Mad,
        MeanSquare,
        SequentialTrim,
    )
    from gaussnet.fitting import Fit, fit
    from gaussnet.fitting.claims import GraphCheck, MissingEdge
    from gaussnet.fitting.comparison import ScoreTable, compare
    from gaussnet.fitting.effects import Effect
    from gaussnet.fitting.solving import solve
    from gaussnet.fitting.summaries import Summary, merge, summarize
    from gaussnet.fitting.summary_files import load_summary
    from gaussnet.fitting.validation import CrossValidation, cross_validate
    from gaussnet.graph import Dag
    from gaussnet.graph.files import read_dag, write_dag
    from gaussnet.graph.separation import Independence
    from gaussnet.model import Gaussian, GaussianNetwork
    from gaussnet.model.distances import (
        TotalVariation,
        bhattacharyya,
        hellinger,
        kl_by_node,
        kl_divergence,
        total_variation,
    )
    from gaussnet.model.inference.effects import PathEffect
    from gaussnet.model.inference.prediction import Prediction
    from gaussnet.model.interchange import from_pgmpy, read_network, to_pgmpy, write_network
    from gaussnet.model.scores import robust_score
    from gaussnet.planning import Certificate, Plan, certify, plan
    from gaussnet.report.fit_page import write_report

_HOMES = {
    "gaussnet": ("baselines", "networks", "simulate", "sklearn"),
    "gaussnet.errors": (
        "CycleError",
        "DataError",
        "EstimationError",
        "FileError",
        "GaussnetError",
        "GraphError",
        "NetworkError",
        "SettingError",
    ),
    "gaussnet.estimate": (
        "Auto",
        "BatchAverage",
        "BatchMedian",
        "Cauchy",
        "CauchyTree",
        "GaussianCore",
        "KlOptimal",
        "LeastSquares",
        "Mad",
        "MeanSquare",
        "SequentialTrim",
    ),
    "gaussnet.fitting": ("Fit", "fit"),
    "gaussnet.fitting.comparison": ("ScoreTable", "compare"),
    "gaussnet.fitting.solving": ("solve",),
    "gaussnet.fitting.summaries": ("Summary", "merge", "summarize"),
    "gaussnet.fitting.summary_files": ("load_summary",),
    "gaussnet.fitting.validation": ("CrossValidation", "cross_validate"),
    "gaussnet.fitting.claims": ("GraphCheck", "MissingEdge"),
    "gaussnet.fitting.effects": ("Effect",),
    "gaussnet.graph.separation": ("Independence",),
    "gaussnet.model.inference.effects": ("PathEffect",),
    "gaussnet.model.inference.prediction": ("Prediction",),
    "gaussnet.graph": ("Dag",),
    "gaussnet.graph.files": ("read_dag", "write_dag"),
    "gaussnet.model": ("Gaussian", "GaussianNetwork"),
    "gaussnet.model.distances": (
        "TotalVariation",
        "bhattacharyya",
        "hellinger",
        "kl_by_node",
        "kl_divergence",
        "total_variation",
    ),
    "gaussnet.model.interchange": ("from_pgmpy", "read_network", "to_pgmpy", "write_network"),
    "gaussnet.model.scores": ("robust_score",),
    "gaussnet.planning": ("Certificate", "Plan", "certify", "plan"),
    "gaussnet.report.fit_page": ("write_report",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Auto",
    "BatchAverage",
    "BatchMedian",
    "Cauchy",
    "CauchyTree",
    "Certificate",
    "CrossValidation",
    "CycleError",
    "Dag",
    "DataError",
    "Effect",
    "EstimationError",
    "FileError",
    "Fit",
    "Gaussian",
    "GaussianCore",
    "GaussianNetwork",
    "GaussnetError",
    "GraphCheck",
    "GraphError",
    "Independence",
    "KlOptimal",
    "LeastSquares",
    "Mad",
    "MeanSquare",
    "MissingEdge",
    "NetworkError",
    "PathEffect",
    "Plan",
    "Prediction",
    "ScoreTable",
    "SequentialTrim",
    "SettingError",
    "Summary",
    "TotalVariation",
    "__version__",
    "baselines",
    "bhattacharyya",
    "certify",
    "compare",
    "cross_validate",
    "fit",
    "from_pgmpy",
    "hellinger",
    "kl_by_node",
    "kl_divergence",
    "load_summary",
    "merge",
    "networks",
    "plan",
    "read_dag",
    "read_network",
    "robust_score",
    "simulate",
    "sklearn",
    "solve",
    "summarize",
    "to_pgmpy",
    "total_variation",
    "write_dag",
    "write_network",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import the module that holds a public name when it is first asked for."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'gaussnet' has no attribute {name!r}")
    if home == "gaussnet":
        return import_module(f"gaussnet.{name}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
