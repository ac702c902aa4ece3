"""Conditional distributions: of a dense Gaussian, of a network, and of many rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.errors import DataError, NetworkError
from gaussnet.graph.dag import Dag, shorten
from gaussnet.model import checks
from gaussnet.model.gaussian import SAMPLE_ROWS, Gaussian
from gaussnet.model.inference.posterior import Posterior
from gaussnet.seeds import generator
from gaussnet.types import BoolArray, FloatArray, IntArray, Seed

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


def impute(network: "GaussianNetwork", data: object, seed: Seed | None) -> FloatArray:
    """The rows with every missing value replaced by its conditional mean, or by a draw."""
    rows = open_rows(data, network.dag.nodes)
    noise = None if seed is None else generator(seed).standard_normal(rows.shape)
    for observed, chosen in patterns(~np.isnan(rows)):
        if observed.all():
            continue
        posterior = Posterior(network, observed, ~observed)
        for block in checks.blocks(len(chosen), rows.shape[1]):
            own = chosen[block]
            part = np.where(observed, rows[own], 0.0)
            check_rows(posterior, part, own)
            posterior.fill(part, None if noise is None else noise[own])
            rows[own] = part
    return rows


def open_rows(data: object, names: Sequence[str]) -> FloatArray:
    """A copy of the data, (rows, names) float64; a frame's absent columns are missing."""
    columns = checks.column_labels(data)
    if columns is None:
        rows = np.array(checks.as_rows(data, names), dtype=np.float64, order="C")
    else:
        labels = set(columns)
        present = [place for place, name in enumerate(names) if name in labels]
        if not present:
            raise DataError("the data have no column for any node: name the columns by the nodes")
        found = checks.as_rows(data, [names[place] for place in present])
        rows = np.full((len(found), len(names)), np.nan)
        rows[:, present] = found
    infinite = np.argwhere(np.isinf(rows))
    if len(infinite):
        row, column = infinite[0].tolist()
        raise DataError(
            f"the data have {rows[row, column]} at row {row}, column {names[column]!r}: mend it, "
            "or give NaN for a missing value"
        )
    return rows


def patterns(known: BoolArray) -> Iterator[tuple[BoolArray, IntArray]]:
    """Each set of known nodes (nodes,), and the rows that have it.

    Examples
    --------
    >>> known = np.array([[True, False], [True, True], [True, False]])
    >>> [(mask.tolist(), rows.tolist()) for mask, rows in patterns(known)]
    [([True, False], [0, 2]), ([True, True], [1])]
    """
    if not len(known):
        return
    packed = np.packbits(known, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    counts = np.bincount(which.ravel(), minlength=len(first))
    for index, rows in zip(first, np.split(order, np.cumsum(counts)[:-1]), strict=True):
        yield known[index], rows


def given_columns(
    network: "GaussianNetwork", target: str, given: Iterable[str] | None
) -> BoolArray:
    """The nodes that a prediction may look at, (nodes,)."""
    dag = network.dag
    place = dag.position(target)
    allowed = np.ones(len(dag), dtype=bool)
    if given is not None:
        allowed[:] = False
        allowed[[dag.position(node) for node in checks.as_names(given)]] = True
        if allowed[place]:
            raise DataError(f"{target!r} is the target: leave it out of the given nodes")
    allowed[place] = False
    return allowed


def check_rows(posterior: Posterior, rows: FloatArray, numbers: IntArray) -> None:
    """Refuse rows that hold impossible values; `numbers` are theirs in the data."""
    try:
        posterior.check(rows)
    except DataError as problem:
        raise DataError(f"among rows {numbers[0]} to {numbers[-1]} {problem}") from None


def as_values(dag: Dag, given: object, what: str) -> tuple[IntArray, FloatArray]:
    """Positions and values of a mapping from nodes to finite numbers.

    Examples
    --------
    >>> as_values(Dag.parse("wet ~ rain"), {"rain": 2}, "evidence")
    (array([1]), array([2.]))
    """
    if not isinstance(given, Mapping):
        raise NetworkError(
            f"got {type(given).__name__} for the {what}, expected values by node such as "
            '{"wet": 2.0}: give a dict'
        )
    places = np.array([dag.position(node) for node in given], dtype=np.int64)
    values = [checks.finite_number(value, node, what) for node, value in given.items()]
    return places, np.array(values, dtype=np.float64)


def as_positions(dag: Dag, nodes: Iterable[str], observed: BoolArray) -> IntArray:
    """Positions of target nodes, none of them observed, each once."""
    places = [dag.position(node) for node in checks.as_names(nodes)]
    known = [dag.nodes[place] for place in places if observed[place]]
    if known:
        raise NetworkError(
            f"{shorten(known)} has a given value, so it cannot be a target: leave it out of one"
        )
    return np.array(places, dtype=np.int64)


def marked(dag: Dag, places: IntArray) -> BoolArray:
    """Which nodes stand at these places, (nodes,)."""
    mask = np.zeros(len(dag), dtype=bool)
    mask[places] = True
    return mask
