"""The workloads: random graphs of mean in-degree 2.5 and rows of networks on them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import gaussnet as gn
from gaussnet.seeds import children


@dataclass(frozen=True)
class Workload:
    """A graph and its rows, made when first asked for."""

    name: str
    nodes: int
    rows: int

    @cached_property
    def dag(self) -> gn.Dag:
        graph, _, _ = children(self.nodes, 3)
        return gn.simulate.erdos_renyi(self.nodes, 5, seed=graph)

    @cached_property
    def data(self) -> np.ndarray:
        _, weights, sample = children(self.nodes, 3)
        return gn.simulate.random_network(self.dag, seed=weights).sample(self.rows, seed=sample)

    def __str__(self) -> str:
        return f"{self.name}: {self.nodes:,} nodes x {self.rows:,} rows"


W1 = Workload("W1", 100, 500)
W2 = Workload("W2", 100, 5_000)
W3 = Workload("W3", 1_000, 10_000)
W4 = Workload("W4", 100, 1_000_000)
W5 = Workload("W5", 10_000, 2_000)
ALL = (W1, W2, W3, W4, W5)
