"""Rows with missing values: the rows that miss the same nodes are answered together."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray, Seed
from gaussnet.errors import DataError
from gaussnet.model import checks
from gaussnet.model.inference.posterior import Posterior
from gaussnet.seeds import generator

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


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
