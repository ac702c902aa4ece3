"""Networks and Gaussians as values, and how far apart two of them are."""

from gaussnet.model.gaussian import Gaussian
from gaussnet.model.network import GaussianNetwork

__all__ = ["Gaussian", "GaussianNetwork"]
