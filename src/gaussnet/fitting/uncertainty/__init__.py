"""Uncertainty: standard errors and confidence intervals, made when they are asked for."""

from gaussnet.fitting.uncertainty.ask import find_uncertainty
from gaussnet.fitting.uncertainty.values import ConfidenceIntervals, StandardErrors, Uncertainty

__all__ = ["ConfidenceIntervals", "StandardErrors", "Uncertainty", "find_uncertainty"]
