"""Test beds: random graphs, networks on them, and data that went wrong."""

from gaussnet.simulate.contamination import (
    Contaminated,
    Contamination,
    contaminate,
    sample_contaminated,
    sample_heavy_tailed,
)
from gaussnet.simulate.graphs import (
    bipartite,
    chain,
    erdos_renyi,
    hard_instance,
    random_network,
    random_polytree,
    random_tree,
    scale_free,
)

__all__ = [
    "Contaminated",
    "Contamination",
    "bipartite",
    "chain",
    "contaminate",
    "erdos_renyi",
    "hard_instance",
    "random_network",
    "random_polytree",
    "random_tree",
    "sample_contaminated",
    "sample_heavy_tailed",
    "scale_free",
]
