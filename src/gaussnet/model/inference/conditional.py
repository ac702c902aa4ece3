"""Conditioning: the Gaussian of the other nodes, its covariance made when it is asked for."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaussnet._types import FloatArray, IntArray, Seed
from gaussnet.errors import NetworkError
from gaussnet.graph.dag import shorten
from gaussnet.model import checks
from gaussnet.model.gaussian import SAMPLE_ROWS, Gaussian
from gaussnet.model.inference.evidence import as_positions, as_values, marked
from gaussnet.model.inference.posterior import Posterior
from gaussnet.seeds import generator

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


class Conditional(Gaussian):
    """A Gaussian that knows its mean, and finds variances, covariance or factor on demand.

    Each is found from the sparse equations of the network when first asked for: `variances`
    without the covariance, and `marginal` without what it leaves out.
    """

    _posterior: Posterior
    _row: FloatArray
    """The mean of every target, the evidence elsewhere, (nodes,)."""
    _places: IntArray
    """Where the variables stand among the nodes."""

    def __init__(self, posterior: Posterior, row: FloatArray, places: IntArray) -> None:
        names = tuple(posterior.network.dag.nodes[place] for place in places.tolist())
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "mean", checks.read_only(row[places]))
        object.__setattr__(self, "_posterior", posterior)
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_places", places)

    @cached_property
    def factor(self) -> FloatArray:
        """F with covariance F F', (names, k), read-only."""
        return checks.read_only(self._posterior.factor(self._places))

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of each variable, (names,), read-only."""
        if "factor" in self.__dict__ or len(self.names) < len(self._row) // 8:
            return checks.read_only(np.einsum("ij,ij->i", self.factor, self.factor))
        return checks.read_only(self._posterior.variances()[self._places])

    def marginal(self, names: Iterable[str]) -> "Conditional":
        """The Gaussian of these variables alone, in the order asked for."""
        chosen = checks.as_names(names)
        unknown = [name for name in chosen if name not in self.names]
        if unknown:
            raise NetworkError(
                f"there is no variable {shorten(unknown)}: the names are {shorten(self.names)}"
            )
        dag = self._posterior.network.dag
        places = np.array([dag.positions[name] for name in chosen], dtype=np.int64)
        return Conditional(self._posterior, self._row, places)

    def sample(self, rows: int, *, seed: Seed) -> FloatArray:
        """Independent rows (rows, names); the first are the same however many are asked for."""
        drawn: FloatArray = draw(self._posterior, self._row, rows, seed)[:, self._places]
        return drawn

    def __reduce__(self) -> tuple[object, ...]:
        return Gaussian, (self.names, self.mean, self.factor)


def condition(
    network: "GaussianNetwork", evidence: Mapping[str, float], targets: Iterable[str] | None
) -> Conditional:
    """The Gaussian of the targets, or of all nodes without evidence, given the evidence."""
    dag = network.dag
    posterior, row = given(network, evidence, targets)
    places = (
        np.flatnonzero(~posterior.observed)
        if targets is None
        else as_positions(dag, targets, posterior.observed)
    )
    posterior.fill(row)
    return Conditional(posterior, row[0], places)


def given(
    network: "GaussianNetwork", evidence: Mapping[str, float], targets: Iterable[str] | None = None
) -> tuple[Posterior, FloatArray]:
    """The posterior, and one row (1, nodes) that holds the evidence, which is possible."""
    dag = network.dag
    places, values = as_values(dag, evidence, "evidence")
    observed = marked(dag, places)
    wanted = ~observed if targets is None else marked(dag, as_positions(dag, targets, observed))
    posterior = Posterior(network, observed, wanted)
    row = np.zeros((1, len(dag)))
    row[0, places] = values
    posterior.check(row)
    return posterior, row


def draw(posterior: Posterior, row: FloatArray, rows: int, seed: Seed) -> FloatArray:
    """Rows (rows, nodes) given the observed values in `row` (nodes,)."""
    count = checks.row_count(rows)
    stream = generator(seed)
    drawn = np.empty((count, len(row)))
    block, noise = np.empty((SAMPLE_ROWS, len(row))), np.zeros((SAMPLE_ROWS, len(row)))
    for start in range(0, count, SAMPLE_ROWS):
        part = drawn[start : start + SAMPLE_ROWS]
        stream.standard_normal(out=noise[: len(part)])
        # Always as many rows, so that a row does not depend on how many follow.
        block[:] = row
        posterior.fill(block, noise)
        part[:] = block[: len(part)]
    return drawn


def draws_given(
    network: "GaussianNetwork", evidence: Mapping[str, float], rows: int, seed: Seed
) -> FloatArray:
    """Independent rows (rows, nodes) of the network given the evidence."""
    posterior, row = given(network, evidence)
    return draw(posterior, row[0], rows, seed)
