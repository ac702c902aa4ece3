"""Rows from a network whose noise is not the Gaussian noise it states."""

import math
from typing import Literal

import numpy as np

from gaussnet._types import FloatArray, Seed
from gaussnet.model.network import GaussianNetwork
from gaussnet.seeds import generator
from gaussnet.simulate.checks import choice, real_number, whole_number
from gaussnet.simulate.contamination import (
    Contaminated,
    Contamination,
    Pattern,
    Value,
)


def sample_contaminated(  # noqa: PLR0913 - the settings are the interface
    network: GaussianNetwork,
    rows: int,
    *,
    seed: Seed,
    share: float = 0.05,
    nodes: int = 5,
    pattern: Pattern = "fresh",
    value: Value = "gaussian",
    size: float | None = None,
) -> Contaminated:
    """Rows in which wrong noise spreads from a node to its descendants.

    The settings are those of `contaminate`, applied to the noise of the network instead of
    the values: an event that really happened at a node, not a slip of the pen. A shift is in
    standard deviations of the node's noise. The mask marks where the wrong noise entered,
    not where it spread to.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> from gaussnet.simulate.parameters import random_network
    >>> network = random_network(Dag.from_edges([("a", "b")]), seed=0)
    >>> spoilt = sample_contaminated(network, 100, seed=0, share=0.01, nodes=1)
    >>> int(spoilt.cells.sum())
    1
    """
    settings = Contamination(share, nodes, pattern, value, size)
    rng = generator(seed)
    count = whole_number("rows", rows)
    scales = np.sqrt(network.variance_array)
    noise = rng.standard_normal((count, len(scales))) * scales
    cells = settings.choose_cells((count, len(scales)), rng)
    wrong = settings.write(noise, cells, scales, rng)
    return Contaminated(_follow_equations(network, wrong), cells)


def sample_heavy_tailed(
    network: GaussianNetwork,
    rows: int,
    *,
    seed: Seed,
    noise: Literal["student-t", "laplace"] = "student-t",
    degrees: float = 3.0,
) -> FloatArray:
    """Rows with Student's t or Laplace noise of the same variances as the network's.

    `degrees` of freedom belong to Student's t and are more than 2, so that the variance is
    finite.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> from gaussnet.simulate.parameters import random_network
    >>> network = random_network(Dag.from_edges([("a", "b")]), seed=0)
    >>> sample_heavy_tailed(network, 4, seed=0).shape
    (4, 2)
    """
    choice("noise", noise, ("student-t", "laplace"))
    freedom = real_number("degrees", degrees, math.nextafter(2.0, 3.0))
    rng = generator(seed)
    shape = (whole_number("rows", rows), len(network.variance_array))
    if noise == "laplace":
        standard = rng.laplace(scale=math.sqrt(0.5), size=shape)
    else:
        standard = rng.standard_t(freedom, size=shape) * math.sqrt((freedom - 2.0) / freedom)
    return _follow_equations(network, standard * np.sqrt(network.variance_array))


def _follow_equations(network: GaussianNetwork, noise: FloatArray) -> FloatArray:
    """The values that this noise leads to, node after node in topological order.

    Both are (rows, nodes); inside, a node's values lie side by side in memory.
    """
    families = network.dag.families
    offsets, parents = families.offsets, families.parents
    values = np.ascontiguousarray(noise.T)
    values += network.intercept_array[:, None]
    for node in network.dag.order.tolist():
        edges = slice(int(offsets[node]), int(offsets[node + 1]))
        values[node] += network.coefficient_array[edges] @ values[parents[edges]]
    return np.ascontiguousarray(values.T)
