"""Estimators: each is its settings and three verbs, summarize, merge, solve."""

from gaussnet.estimate.batches import BatchAverage, BatchMedian
from gaussnet.estimate.cauchy import Cauchy, CauchyTree
from gaussnet.estimate.least_squares import LeastSquares
from gaussnet.estimate.scales import KlOptimal, Mad, MeanSquare
from gaussnet.estimate.solution import Estimator

__all__ = [
    "BatchAverage",
    "BatchMedian",
    "Cauchy",
    "CauchyTree",
    "Estimator",
    "KlOptimal",
    "LeastSquares",
    "Mad",
    "MeanSquare",
]
