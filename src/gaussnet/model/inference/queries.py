"""Questions to a network: conditional laws, interventions, imputation and prediction.

A value may be missing in any cell of many rows; rows with the same missing cells share one
`Posterior`, whose equations are factored once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.errors import DataError, NetworkError
from gaussnet.graph.dag import Dag, indicator, node_name, shorten
from gaussnet.model import checks
from gaussnet.model.equations import blocks
from gaussnet.model.gaussian import SAMPLE_ROWS, Gaussian
from gaussnet.model.inference.levels import LevelNetwork, positions as level_positions
from gaussnet.model.inference.posterior import Posterior
from gaussnet.model.inference.precision import Precision, Response
from gaussnet.model.inference.predicted_rows import OutsideValue, Prediction
from gaussnet.model.inference.solvers import SolverChoice, choose_solver
from gaussnet.model.seen import recoded, unlikely_values
from gaussnet.named_rows import named
from gaussnet.seeds import generator
from gaussnet.types import BoolArray, FloatArray, IntArray, Seed

CACHED_VALUES = 1 << 15
"""Values of a block of rows that stay in the cache while means are found."""

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
    _positions: IntArray
    """Positions of the variables among the nodes."""

    def __init__(self, posterior: Posterior, row: FloatArray, positions: IntArray) -> None:
        nodes = posterior.network.dag.nodes
        object.__setattr__(self, "names", tuple(nodes[i] for i in positions.tolist()))
        object.__setattr__(self, "mean", checks.read_only(row[positions]))
        object.__setattr__(self, "_posterior", posterior)
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_positions", positions)

    @cached_property
    def factor(self) -> FloatArray:
        """F with covariance F F', (names, k), read-only."""
        return checks.read_only(self._posterior.factor(self._positions))

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of each variable, (names,), read-only."""
        if "factor" in self.__dict__ or len(self.names) < len(self._row) // 8:
            return checks.read_only(np.einsum("ij,ij->i", self.factor, self.factor))
        return checks.read_only(self._posterior.variances()[self._positions])

    def marginal(self, names: Iterable[str]) -> "Conditional":
        """The Gaussian of these variables alone, in the order asked for."""
        chosen = self._positions[self._rows_of(checks.as_names(names))]
        return Conditional(self._posterior, self._row, chosen)

    def sample(self, rows: int, *, seed: Seed) -> FloatArray:
        """Independent rows (rows, names); the first are the same however many are asked for."""
        drawn: FloatArray = _draw(self._posterior, self._row, rows, seed)[:, self._positions]
        return named(drawn, self.names)

    def __reduce__(self) -> tuple[object, ...]:
        return Gaussian, (self.names, self.mean, self.factor)


def condition(
    network: "GaussianNetwork",
    evidence: Mapping[str, float | str],
    targets: Iterable[str] | None,
    solver: SolverChoice = choose_solver,
) -> Gaussian:
    """The Gaussian of the targets, or of all nodes without evidence, given the evidence.

    Where evidence tells of the level of a category, it has the moments of the mixture.
    """
    names = None if targets is None else list(checks.as_names(targets))
    found, dag = linear_condition(network, evidence, names, solver), network.dag
    if not dag.factors:
        return found
    positions, values = as_values(dag, evidence, "evidence")
    observed = _mask(dag, positions)
    levels = _levels_told(network, observed)
    if levels is None:
        return found
    row = np.full((1, len(dag)), np.nan)
    row[0, positions] = values
    law = levels.moments(row, found._positions)
    mixed = Gaussian(found.names, law.means[0], np.concatenate((law.shared, law.own[0]), axis=1))
    object.__setattr__(mixed, "has_column_order", found.has_column_order)
    return mixed


def linear_condition(
    network: "GaussianNetwork",
    evidence: Mapping[str, float | str],
    targets: Iterable[str] | None,
    solver: SolverChoice = choose_solver,
) -> Conditional:
    """The same with open categories taken as Gaussian."""
    dag = network.dag
    positions, values = as_values(dag, evidence, "evidence")
    observed = _mask(dag, positions)
    wanted = np.flatnonzero(~observed) if targets is None else _targets(dag, targets, observed)
    posterior = Posterior(network, observed, _mask(dag, wanted), solver)
    row = np.zeros((1, len(dag)))
    row[0, positions] = values
    posterior.check(row)
    posterior.fill(row)
    found = Conditional(posterior, row[0], wanted)
    stated = targets is not None or dag.has_column_order or len(wanted) < 2
    object.__setattr__(found, "has_column_order", stated)
    return found


def _levels_told(network: "GaussianNetwork", observed: BoolArray) -> LevelNetwork | None:
    """The network given its levels, if observed nodes tell of one that is open; else None."""
    if not any((~observed[own]).any() for own in level_positions(network.dag)):
        return None
    levels = network.given_levels
    return levels if levels is not None and levels.informed(observed) else None


def draws_given(
    network: "GaussianNetwork", evidence: Mapping[str, float | str], rows: int, seed: Seed
) -> FloatArray:
    """Independent rows (rows, nodes) of the network given the evidence."""
    dag = network.dag
    fixed = checks.level_values(dag, evidence, "evidence") if dag.factors else evidence
    network.require_levels("rows can be drawn", fixed)
    found = linear_condition(network, evidence, None)
    return named(_draw(found._posterior, found._row, rows, seed), dag.nodes)


def _draw(posterior: Posterior, row: FloatArray, rows: int, seed: Seed) -> FloatArray:
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


def do(network: "GaussianNetwork", values: Mapping[str, float | str]) -> "GaussianNetwork":
    """The network with these nodes cut from their parents, each at its value without noise."""
    positions, numbers = as_values(network.dag, values, "intervention")
    seen = network.seen
    network = _without_covariances_of(network, positions)
    dag = network.dag
    cut = _mask(dag, positions)
    parents = [
        [] if is_cut else own
        for own, is_cut in zip(dag.families.parent_lists, cut.tolist(), strict=True)
    ]
    intercepts = network.intercept_array.copy()
    intercepts[positions] = numbers
    found = type(network).from_arrays(
        dag.with_parents(parents),
        network.coefficient_array[~cut[dag.families.family_of_edge]],
        np.where(cut, 0.0, network.variance_array),
        intercepts,
    )
    return found if seen is None else found.with_seen(seen.without(cut))


def _without_covariances_of(network: "GaussianNetwork", positions: IntArray) -> "GaussianNetwork":
    """The network in which these nodes covary with no other, and all else is as it was."""
    names = {network.dag.nodes[position] for position in positions.tolist()}
    pairs = [pair for pair in network.dag.covariances if names.isdisjoint(pair)]
    if len(pairs) == len(network.dag.covariances):
        return network
    found = network.covariances
    both = {**found, **{(b, a): value for (a, b), value in found.items()}}
    dag = network.dag.without_covariances().with_covariances(pairs)
    kept = {pair: both[pair] for pair in dag.covariances}
    parameters = (network.coefficients, network.variances, network.intercepts)
    return type(network)(dag, *parameters, kept)


def impute(
    network: "GaussianNetwork",
    data: object,
    seed: Seed | None,
    columns: Iterable[object] | None = None,
) -> FloatArray:
    """The rows with every missing value replaced by its conditional mean, or by a draw."""
    opened = open_rows(data, network.dag, columns)
    rows = np.asarray(recoded(network, opened), dtype=np.float64)
    levels = network.given_levels
    if levels is not None and np.isnan(rows[:, levels.fixed]).any():
        rng = None if seed is None else generator(seed)
        return named(levels.filled(rows, rng), network.dag.nodes)
    noise = None if seed is None else generator(seed).standard_normal(rows.shape)
    precision = network.precision
    for observed, chosen in patterns(~np.isnan(rows)):
        if observed.all():
            continue
        response = precision.response(observed) if noise is None else None
        if response is not None:
            known = rows[np.ix_(chosen, response.known)]
            rows[np.ix_(chosen, response.unknown)] = precision.means_of(response, known).T
            continue
        posterior = Posterior(network, observed, ~observed)
        for own, part in _filled(posterior, rows, chosen, noise):
            rows[own] = part
    return named(rows, network.dag.nodes)


def predict_and_look(
    network: "GaussianNetwork",
    data: object,
    targets: Sequence[str],
    level: float,
    given: Iterable[str] | None,
    columns: Iterable[object] | None = None,
) -> dict[str, Prediction]:
    """The predictions, with the values given that are unlikely; known codes are missing."""
    names = None if given is None else list(checks.as_names(given))
    labels = None if columns is None else list(columns)
    frame = data if checks.is_frame(data) else None
    if network.seen is not None and network.seen.missing_values:
        rows = open_rows(data, network.dag, labels)
        data, labels = named(recoded(network, rows), network.dag.nodes), None
    means, scales, reach = _laws(network, data, targets, level, names, labels)
    far = partial(_unlikely, network, data, targets, names, labels)  # found when it is asked for
    return {
        name: Prediction(name, float(level), mean, scale, reach, given_frame=frame, far=far)
        for name, mean, scale in zip(targets, means, scales, strict=True)
    }


def _unlikely(
    network: "GaussianNetwork",
    data: object,
    targets: Sequence[str],
    given: Iterable[str] | None,
    columns: Iterable[object] | None,
) -> tuple[OutsideValue, ...]:
    """The values predicted from that are unlikely."""
    rows = known_rows(network.dag, data, targets, given, columns)
    return unlikely_values(network, rows)


def predict_several(
    network: "GaussianNetwork",
    data: object,
    targets: Sequence[str],
    level: float,
    given: Iterable[str] | None,
    columns: Iterable[object] | None = None,
) -> dict[str, Prediction]:
    """The conditional law of each target in each row; none of them is looked at."""
    means, scales, reach = _laws(network, data, targets, level, given, columns)
    frame = data if checks.is_frame(data) else None
    return {
        name: Prediction(name, float(level), mean, scale, reach, frame)
        for name, mean, scale in zip(targets, means, scales, strict=True)
    }


def _laws(
    network: "GaussianNetwork",
    data: object,
    targets: Sequence[str],
    level: float,
    given: Iterable[str] | None,
    columns: Iterable[object] | None,
) -> tuple[FloatArray, FloatArray, float]:
    """Means and scales (targets, rows), and the reach of intervals in scales."""
    from scipy.special import ndtri

    checks.check_level(level)
    dag = network.dag
    for target in targets:
        if target in dag.indicators:
            raise NetworkError(
                f"{dag.indicators[target][0]!r} is a category, which a linear network cannot "
                "predict: name another node"
            )
    allowed, cells = _given_columns(dag, targets, given), _cells(data, dag, columns)
    nodes = np.array([dag.position(target) for target in targets], dtype=np.int64)
    shape = (len(nodes), len(cells.values))
    means, scales = np.empty(shape), np.empty(shape)
    precision = network.precision
    for present, chosen in cells.patterns(allowed[cells.positions]):
        observed = _mask(dag, cells.positions[present])
        levels = _levels_told(network, observed)
        if levels is not None:
            rows = np.where(observed, cells.rows(len(dag))[chosen], np.nan)
            for block in levels.blocks(observed, len(rows)):
                law = levels.moments(rows[block], nodes)
                own = np.arange(len(cells.values))[chosen][block]
                means[:, own], scales[:, own] = law.means.T, law.scales.T
            continue
        response = precision.response_of(observed, nodes)
        if response is not None:
            _enter_means(means, precision, response, cells, chosen)
            scales[:, chosen] = np.sqrt(response.variances)[:, None]
            continue
        posterior = Posterior(network, observed, _mask(dag, nodes))
        numbers = np.arange(len(cells.values))[chosen]
        for own, part in _filled(posterior, cells.rows(len(dag)), numbers):
            means[:, own] = part[:, nodes].T
        scales[:, chosen] = [[_length(loads)] for loads in posterior.factor(nodes)]
    return means, scales, float(ndtri(0.5 + 0.5 * level))


def _enter_means(
    means: FloatArray,
    precision: Precision,
    response: Response,
    cells: "Cells",
    chosen: "IntArray | slice",
) -> None:
    """Enter the means (targets, rows) of the chosen rows, block by block while these are cached."""
    # Both are ascending, and what a response uses is known: as many of them are the same.
    is_whole = len(response.known) == len(cells.positions)
    places = slice(None) if is_whole else np.searchsorted(cells.positions, response.known)
    count = means.shape[1] if isinstance(chosen, slice) else len(chosen)
    for block in blocks(count, len(cells.positions), CACHED_VALUES):
        if isinstance(chosen, slice):
            precision.means_of(response, cells.values[block, places], means[:, block])
        else:
            own = chosen[block]
            means[:, own] = precision.means_of(response, cells.values[own][:, places])


def known_rows(
    dag: Dag,
    data: object,
    targets: Sequence[str],
    given: Iterable[str] | None,
    columns: Iterable[object] | None = None,
) -> FloatArray:
    """The rows (rows, nodes) with NaN for all that a prediction of the targets may not look at."""
    allowed = _given_columns(dag, targets, given)
    rows = _cells(data, dag, columns).rows(len(dag))
    rows[:, ~allowed] = np.nan
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
    if (known == known[0]).all():
        yield known[0], np.arange(len(known))
        return
    packed = np.packbits(known, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    counts = np.bincount(which.ravel(), minlength=len(first))
    for index, rows in zip(first, np.split(order, np.cumsum(counts)[:-1]), strict=True):
        yield known[index], rows


def _filled(
    posterior: Posterior, rows: FloatArray, chosen: IntArray, noise: FloatArray | None = None
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Blocks of the chosen rows with means or draws filled in, and their numbers in the data."""
    for block in blocks(len(chosen), rows.shape[1]):
        own = chosen[block]
        part = np.where(posterior.observed, rows[own], 0.0)
        try:
            posterior.check(part)
        except DataError as problem:
            raise DataError(f"among rows {own[0]} to {own[-1]} {problem}") from None
        posterior.fill(part, None if noise is None else noise[own])
        yield own, part


class Cells(NamedTuple):
    """The columns of the data that are nodes, not to be written to."""

    positions: IntArray
    """Positions of the nodes, ascending."""
    values: FloatArray
    """(rows, positions); NaN where missing."""
    is_complete: bool
    """Whether nothing is missing."""

    def patterns(self, allowed: BoolArray) -> "Iterator[tuple[BoolArray, IntArray | slice]]":
        """Each set of known columns, (positions,), among those allowed, and the rows with it."""
        if self.is_complete and len(self.values):
            yield allowed, slice(0, len(self.values))
        elif not self.is_complete:
            yield from patterns(~np.isnan(self.values) & allowed)

    def rows(self, nodes: int) -> FloatArray:
        """A copy (rows, nodes), with NaN in the columns that are absent."""
        whole = np.full((len(self.values), nodes), np.nan)
        whole[:, self.positions] = self.values
        return whole


def open_rows(data: object, dag: Dag, columns: Iterable[object] | None) -> FloatArray:
    """A copy of the data, (rows, nodes) float64; a named column that is absent is missing."""
    return _cells(data, dag, columns).rows(len(dag))


def _cells(data: object, dag: Dag, columns: Iterable[object] | None) -> Cells:
    """The columns of the data that are nodes."""
    names = dag.nodes
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        data = _columns_of(data, dag)
    if isinstance(data, Mapping):
        data = _named_columns(_level_columns(data, dag))
    data = checks.with_levels(data, dag)
    labels = checks.labels_by(data, dag, columns)
    place = dag.positions
    present = sorted(place[label] for label in set(labels) if label in place)
    checks.check_near_names(labels, names)
    if not present:
        raise DataError("the data have no column for any node: name the columns by the nodes")
    chosen = [names[index] for index in present]
    found = np.asarray(checks.as_rows(data, chosen, labels), dtype=np.float64)
    is_complete = kernels.all_finite(found)
    if not is_complete and np.isinf(found).any():
        row, column = np.argwhere(np.isinf(found))[0].tolist()
        raise DataError(
            f"the data have {found[row, column]} at row {row}, column {chosen[column]!r}: mend it, "
            "or give NaN for a missing value"
        )
    return Cells(np.array(present, dtype=np.int64), found, is_complete)


def _columns_of(rows: Sequence[Mapping[Any, Any]], dag: Dag) -> dict[Any, list[Any]]:
    """Values by node, as lists, of rows that are such values; a row may lack some."""
    known = (
        {name: value for name, value in row.items() if not checks.is_missing(value)} for row in rows
    )
    made = [checks.level_values(dag, row, "value") for row in known]
    names = dict.fromkeys(name for row in made for name in row)
    return {name: [row.get(name, np.nan) for row in made] for name in names}


def _level_columns(values: Mapping[Any, Any], dag: Dag) -> Mapping[Any, Any]:
    """Values by node, with the indicators of categories in place of their levels."""
    found: dict[Any, Any] = {}
    for name, own in values.items():
        if name not in dag.factors:
            found[name] = own
            continue
        labels = [own] if isinstance(own, str) else list(np.atleast_1d(np.asarray(own)))
        rows = [checks.level_values(dag, {name: label}, "value") for label in labels]
        found |= {node: [row[node] for row in rows] for node in rows[0]} if rows else {}
    return found


def _named_columns(values: Mapping[Any, Any]) -> FloatArray:
    """Rows that know their names, of values by node: numbers for one row, or lists."""
    try:
        columns = [np.atleast_1d(np.asarray(own, dtype=np.float64)) for own in values.values()]
        rows = np.column_stack(columns)
    except (TypeError, ValueError):
        raise DataError(
            "got values by node that are not numbers, or not as many for each: give a number or "
            'an equally long list for each node, such as {"rain": 2.0}'
        ) from None
    return named(rows, [node_name(name) for name in values])


def _given_columns(dag: Dag, targets: Sequence[str], given: Iterable[str] | None) -> BoolArray:
    """The nodes that a prediction may look at, (nodes,)."""
    positions = np.array([dag.position(target) for target in targets], dtype=np.int64)
    if given is None:
        return ~_mask(dag, positions)
    own = {name: [indicator(name, one) for one in rest] for name, (_, *rest) in dag.factors.items()}
    names = [node for name in checks.as_names(given) for node in own.get(name, [name])]
    allowed = _mask(dag, np.array([dag.position(node) for node in names], dtype=np.int64))
    for target, position in zip(targets, positions.tolist(), strict=True):
        if allowed[position]:
            raise DataError(f"{target!r} is the target: leave it out of the given nodes")
    return allowed


def as_values(dag: Dag, given: object, what: str) -> tuple[IntArray, FloatArray]:
    """Positions and values of a mapping from nodes to finite numbers."""
    if not isinstance(given, Mapping):
        raise NetworkError(
            f"got {type(given).__name__} for the {what}, expected values by node such as "
            '{"wet": 2.0}: give a dict'
        )
    given = checks.level_values(dag, given, what)
    positions = np.array([dag.position(node) for node in given], dtype=np.int64)
    values = [checks.finite_number(value, node, what) for node, value in given.items()]
    return positions, np.array(values, dtype=np.float64)


def _targets(dag: Dag, nodes: Iterable[str], observed: BoolArray) -> IntArray:
    """Positions of target nodes, none of them observed, each once."""
    positions = [dag.position(node) for node in checks.as_names(nodes)]
    known = [dag.nodes[i] for i in positions if observed[i]]
    if known:
        raise NetworkError(
            f"{shorten(known)} has a given value, so it cannot be a target: leave it out of one"
        )
    return np.array(positions, dtype=np.int64)


def _mask(dag: Dag, positions: IntArray) -> BoolArray:
    """Which nodes are at these positions, (nodes,)."""
    mask = np.zeros(len(dag), dtype=bool)
    mask[positions] = True
    return mask


def _length(vector: FloatArray) -> float:
    """The Euclidean length, also where squares leave the range of floating point."""
    size = np.abs(vector).max(initial=0.0)
    unit = vector / (size if size > 0.0 else 1.0)
    return float(size * np.sqrt(np.einsum("i,i->", unit, unit)))
