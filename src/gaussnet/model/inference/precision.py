r"""Missing nodes given the others, by the precision matrix of a network.

With :math:`K = (I - A)' S^{-1} (I - A)`, which is as sparse as the graph with the parents of each
node married, the unknown nodes U given the known ones O have

.. math:: E(x_U) = \mu_U - K_{UU}^{-1} K_{UO} (x_O - \mu_O), \qquad Var(x_U) = K_{UU}^{-1}

Only the neighbours of U matter, so that a few missing cells of a large network cost little. K has
the squares of what the equations have, so this is used only where few digits are lost; else, and
for nodes without noise, `posterior` solves the equations themselves.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork

MOST_UNKNOWN = 400
"""More unknown nodes are left to `posterior`, which uses that parts know nothing of each other."""
MOST_KEPT = 16
"""Responses that are kept for the next question."""
LEAST_PIVOT = 1e-6
"""Squared pivots of a unit matrix below this lose more than six digits."""


class Response(NamedTuple):
    """How unknown nodes follow known ones: means are a matrix product for all rows."""

    unknown: IntArray
    known: IntArray
    """The known nodes that matter."""
    weights: FloatArray
    """(known, unknown)."""
    variances: FloatArray
    """(unknown,)."""

    def only(self, nodes: IntArray) -> "Response":
        """The response of these unknown nodes alone."""
        chosen = np.searchsorted(self.unknown, nodes)
        return Response(nodes, self.known, self.weights[:, chosen], self.variances[chosen])


@dataclass(frozen=True)
class Precision:
    """The precision matrix of a network, row by row, and its means."""

    network: "GaussianNetwork"

    @cached_property
    def means(self) -> FloatArray:
        """Means of all nodes, (nodes,)."""
        return np.asarray(self.network.mean())

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of all nodes, (nodes, nodes): for small networks."""
        return np.asarray(self.network.covariance())

    @cached_property
    def rows(self) -> tuple[IntArray, IntArray, FloatArray] | None:
        """Offsets, columns and values of the rows; None where they are no numbers."""
        network, families = self.network, self.network.dag.families
        nodes = len(network.dag)
        if not (network.scales > 0.0).all():
            return None
        members = np.concatenate((families.parents, np.arange(nodes)))
        owners = np.concatenate((families.family_of_edge, np.arange(nodes)))
        values = np.concatenate((-network.coefficient_array, np.ones(nodes)))
        order = np.argsort(owners, kind="stable")
        members, owners, values = members[order], owners[order], values[order]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            values = values / network.scales[owners]
            sizes = np.bincount(owners, minlength=nodes)
            starts = np.cumsum(sizes) - sizes
            # All pairs of members of each family.
            first = np.repeat(np.arange(len(members)), sizes[owners])
            within = np.arange(len(first)) - np.repeat(
                np.cumsum(sizes[owners]) - sizes[owners], sizes[owners]
            )
            second = starts[owners[first]] + within
            keys = members[first] * nodes + members[second]
            products = values[first] * values[second]
        if not np.isfinite(products).all():
            return None
        places, inverse = np.unique(keys, return_inverse=True)
        totals = np.bincount(inverse, weights=products).astype(np.float64)
        offsets = np.searchsorted(places, np.arange(nodes + 1) * nodes).astype(np.int64)
        return offsets, (places % nodes).astype(np.int64), totals

    def response(self, known: BoolArray) -> Response | None:
        """How the unknown nodes follow the known ones, (nodes,); None where digits are lost."""
        unknown = np.flatnonzero(~known)
        if self.rows is None or not 0 < len(unknown) <= MOST_UNKNOWN:
            return None
        offsets, columns, values = self.rows
        sizes = offsets[unknown + 1] - offsets[unknown]
        owners = np.repeat(np.arange(len(unknown)), sizes)
        picked = np.arange(len(owners)) + np.repeat(
            offsets[unknown] - np.cumsum(sizes) + sizes, sizes
        )
        others = columns[picked]
        inside = ~known[others]
        own = np.zeros((len(unknown), len(unknown)))
        own[owners[inside], np.searchsorted(unknown, others[inside])] = values[picked[inside]]
        neighbours, places = np.unique(others[~inside], return_inverse=True)
        cross = np.zeros((len(unknown), len(neighbours)))
        cross[owners[~inside], places] = values[picked[~inside]]
        units = 1.0 / np.sqrt(own.diagonal())
        try:
            factor = np.linalg.cholesky(own * units * units[:, None])
        except np.linalg.LinAlgError:
            return None
        if factor.diagonal().min() ** 2 < LEAST_PIVOT:
            return None
        inverse = np.linalg.inv(factor)
        weights = inverse.T @ (inverse @ (cross * units[:, None])) * units[:, None]
        variances = np.einsum("ij,ij->j", inverse, inverse) * units**2
        if not (np.isfinite(weights).all() and np.isfinite(variances).all()):
            return None
        return Response(unknown, neighbours, -weights.T, variances)

    @cached_property
    def _responses(self) -> dict[tuple[bytes, bytes], Response | None]:
        """The last responses that were asked for, by known nodes and targets."""
        return {}

    def response_of(self, known: BoolArray, targets: IntArray) -> Response | None:
        """How these unknown nodes follow the known ones; the last ones are kept."""
        key = known.tobytes(), targets.tobytes()
        if key not in self._responses:
            if len(self._responses) >= MOST_KEPT:
                self._responses.clear()
            self._responses[key] = self._new_response(known, targets)
        return self._responses[key]

    def _new_response(self, known: BoolArray, targets: IntArray) -> Response | None:
        """By the cheaper of two ways."""
        found = None
        if 2 * np.count_nonzero(known) <= len(known) <= MOST_UNKNOWN:
            found = self._by_covariances(np.flatnonzero(known), targets)
        if found is None:
            found = self.response(known)
            found = None if found is None else found.only(targets)
        return found

    def _by_covariances(self, known: IntArray, targets: IntArray) -> Response | None:
        r"""With few known nodes O: :math:`W = \Sigma_{OO}^{-1} \Sigma_{OT}`.

        None where digits are lost: in :math:`\Sigma_{OO}`, or in what is left of a variance.
        """
        covariance = self.covariance
        own = covariance[np.ix_(known, known)]
        total = covariance[targets, targets]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            units = 1.0 / np.sqrt(own.diagonal())
            try:
                factor = np.linalg.cholesky(own * units * units[:, None])
                half = np.linalg.solve(factor, covariance[np.ix_(known, targets)] * units[:, None])
            except np.linalg.LinAlgError:
                return None
            variances = total - np.einsum("ij,ij->j", half, half)
            sound = (variances >= LEAST_PIVOT * total).all() and np.isfinite(half).all()
        if not sound or factor.diagonal().min(initial=1.0) ** 2 < LEAST_PIVOT:
            return None
        return Response(targets, known, np.linalg.solve(factor.T, half) * units[:, None], variances)

    def means_of(
        self, response: Response, known: FloatArray, out: FloatArray | None = None
    ) -> FloatArray:
        """Means of the unknown nodes, from values (rows, known): (unknown, rows)."""
        given = known - self.means[response.known]
        found = np.matmul(response.weights.T, given.T, out=out)
        found += self.means[response.unknown][:, None]
        return found
