"""Undirected estimates of a Gaussian, to compare with: no graph is used."""

from gaussnet.baselines.clime import BaselineWarning, clime
from gaussnet.baselines.empirical import empirical
from gaussnet.baselines.glasso import graphical_lasso

__all__ = ["BaselineWarning", "clime", "empirical", "graphical_lasso"]
