"""Test beds: random graphs, networks on them, and data that went wrong."""

from gaussnet.simulate.contamination import Contaminated, Contamination, contaminate
from gaussnet.simulate.graphs import (
    bipartite,
    chain,
    erdos_renyi,
    random_polytree,
    random_tree,
    scale_free,
)
from gaussnet.simulate.parameters import (
    hard_instance,
    random_network,
    sample_contaminated,
    sample_heavy_tailed,
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
