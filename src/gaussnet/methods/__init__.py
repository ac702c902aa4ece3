"""Estimators: each is its settings and three verbs; the robust one walks over whole rows."""

from gaussnet.methods.base import Estimator
from gaussnet.methods.batches import BatchAverage, BatchMedian
from gaussnet.methods.cauchy import Cauchy, CauchyTree
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.robust.sequential_trim import Auto, SequentialTrim
from gaussnet.methods.scales import GaussianCore, KlOptimal, Mad, MeanSquare

__all__ = [
    "Auto",
    "BatchAverage",
    "BatchMedian",
    "Cauchy",
    "CauchyTree",
    "Estimator",
    "GaussianCore",
    "KlOptimal",
    "LeastSquares",
    "Mad",
    "MeanSquare",
    "SequentialTrim",
]
