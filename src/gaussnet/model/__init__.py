"""Networks and Gaussians as values, and how far apart two of them are."""

from gaussnet.model.distances import (
    TotalVariation,
    bhattacharyya,
    hellinger,
    kl_by_node,
    kl_divergence,
    total_variation,
)
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.network import GaussianNetwork

__all__ = [
    "Gaussian",
    "GaussianNetwork",
    "TotalVariation",
    "bhattacharyya",
    "hellinger",
    "kl_by_node",
    "kl_divergence",
    "total_variation",
]
