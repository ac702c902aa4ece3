"""Estimators: each is its settings and three verbs; the robust one walks over whole rows."""

from gaussnet.estimate.auto import Auto
from gaussnet.estimate.batches import BatchAverage, BatchMedian
from gaussnet.estimate.cauchy import Cauchy, CauchyTree
from gaussnet.estimate.least_squares import LeastSquares
from gaussnet.estimate.robust import SequentialTrim
from gaussnet.estimate.scales import GaussianCore, KlOptimal, Mad, MeanSquare
from gaussnet.estimate.solution import Estimator

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
