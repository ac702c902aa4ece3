"""Random parameters of a network, and rows with noise that is not Gaussian."""

import math
from typing import Literal

import numpy as np

from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork
from gaussnet.seeds import generator
from gaussnet.simulate.contamination import Contaminated, Contamination, Pattern, Value
from gaussnet.simulate.graphs import (
    Interval,
    bipartite,
    choice,
    interval,
    real_number,
    whole_number,
)
from gaussnet.types import FloatArray, Seed

ILL_CONDITIONED_SCALE = 1e-10
"""Standard deviation of the noise of an ill-conditioned node."""


def random_network(
    dag: Dag,
    *,
    seed: Seed,
    weights: tuple[float, float] = (1.0, 2.0),
    variances: Interval = 1.0,
    intercepts: Interval = 0.0,
    ill_conditioned: int = 0,
) -> GaussianNetwork:
    r"""A network on this graph with coefficients away from zero.

    Coefficients are uniform on :math:`(-b, -a] \cup [a, b)` for ``weights=(a, b)``.
    `variances` and `intercepts` are one number for all nodes or the ends (low, high) of a
    uniform law. `ill_conditioned` nodes, drawn at random, get noise of standard deviation
    1e-10. The draws are made in this order, so the same seed gives the same coefficients
    whatever the other settings.

    Examples
    --------
    >>> network = random_network(Dag.from_edges([("a", "b")]), seed=0)
    >>> 1.0 <= abs(network.coefficients["a", "b"]) < 2.0, network.variances["b"]
    (True, 1.0)
    """
    low, high = interval("weights", weights, 0.0)
    variance_ends = interval("variances", variances, 0.0)
    intercept_ends = interval("intercepts", intercepts)
    ill = whole_number("ill_conditioned", ill_conditioned, 0, len(dag))
    if variance_ends[0] == 0.0:
        real_number("variances", variance_ends[0], math.ulp(0.0))
    rng = generator(seed)
    edges = len(dag.families.parents)
    signs = rng.integers(2, size=edges) * 2.0 - 1.0
    coefficients = signs * _uniform((low, high), edges, rng)
    variance_array = _uniform(variance_ends, len(dag), rng)
    intercept_array = _uniform(intercept_ends, len(dag), rng)
    variance_array[rng.permutation(len(dag))[:ill]] = ILL_CONDITIONED_SCALE**2
    return GaussianNetwork.from_arrays(dag, coefficients, variance_array, intercept_array)


def hard_instance(nodes: int, degree: int, eps: float, *, seed: Seed) -> GaussianNetwork:
    r"""A network from the family on which learning needs on the order of n d / eps^2 rows.

    The first d = `degree` nodes are sources, every one of them a parent of each of the
    other n - d nodes; all noise has variance 1. Each edge carries one fair random bit:

    .. math:: a_{ij} = \frac{1}{\sqrt{d (n - d)}} \quad\text{or}\quad
              a_{ij} = \frac{1 + \epsilon}{\sqrt{d (n - d)}}

    The lower bound takes the bits from a code whose words differ in a fixed share of their
    places; random words do so with probability close to 1. Two such networks that differ in
    k bits are at KL divergence k eps^2 / (2 d (n - d)).

    Examples
    --------
    >>> network = hard_instance(12, 4, 0.5, seed=0)
    >>> sorted(set((network.coefficient_array * 32**0.5).round(9).tolist()))
    [1.0, 1.5]
    >>> len(network.dag.edges)
    32
    """
    count = whole_number("nodes", nodes, 2)
    sources = whole_number("degree", degree, 1, count // 2)
    step = real_number("eps", eps, math.ulp(0.0), 1.0)
    dag = bipartite(sources, count - sources)
    bits = generator(seed).integers(2, size=sources * (count - sources))
    coefficients = (1.0 + step * bits) / math.sqrt(sources * (count - sources))
    return GaussianNetwork.from_arrays(dag, coefficients, np.ones(count), None)


def _uniform(ends: tuple[float, float], count: int, rng: np.random.Generator) -> FloatArray:
    """Uniform on [low, high); nothing is drawn if the ends meet."""
    low, high = ends
    if low == high:
        return np.full(count, low)
    return np.asarray(low + (high - low) * rng.random(count))


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
