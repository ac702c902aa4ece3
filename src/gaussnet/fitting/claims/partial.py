"""Partial correlations of a node with many others, given its parents, all at once."""

from typing import NamedTuple

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray

LITTLE = 1e-6
"""A sum of squares of which less than this share is left is found again from the residuals."""

NOTHING = 1e-10
"""Residuals below this share of the values are rounding: nothing is left to correlate."""


class Correlated(NamedTuple):
    """Partial correlations with the candidates, NaN where there is none, and their freedom."""

    correlations: FloatArray
    """(candidates,)."""
    freedom: FloatArray
    """Rows less parents, less 2, or less 1 without an intercept, (candidates,)."""


class Complete:
    """Rows without missing values, (rows, nodes): orthogonal factors of each node's parents."""

    def __init__(self, rows: FloatArray, intercept: bool) -> None:
        # Columns are picked again and again, so each lies in one piece.
        self.values = np.asfortranarray(standardised(rows, intercept))
        self.intercept = intercept
        self.squares = np.einsum("ij,ij->j", self.values, self.values)

    def correlate(self, node: int, parents: IntArray, others: IntArray) -> Correlated:
        r"""Correlations of residuals on the parents.

        .. math:: r_j = \frac{e' x_j}{|e| |x_j - Q Q' x_j|}, \quad e = x_i - Q Q' x_i

        Q is an orthonormal basis of the parents; e is orthogonal to it, so that the products
        with all candidates are one matrix product.
        """
        values = self.values
        basis = _basis(values[:, parents])
        rest = _without(values[:, [node]], basis)
        length = float(np.linalg.norm(rest))
        chosen = values[:, others]
        products = (rest.T @ chosen)[0]
        loads = basis.T @ chosen
        left = self.squares[others] - np.einsum("ij,ij->j", loads, loads)
        for place in np.flatnonzero(left < LITTLE * self.squares[others]).tolist():
            own = _without(chosen[:, [place]], basis)
            left[place], products[place] = (own.T @ own).item(), (own.T @ rest).item()
        nothing = left <= NOTHING**2 * self.squares[others]
        if length <= NOTHING * np.sqrt(self.squares[node]):
            nothing[:] = True
        sizes = length * np.sqrt(np.where(nothing, 1.0, left))
        found = np.where(nothing, np.nan, products / np.where(nothing, 1.0, sizes))
        freedom = len(values) - basis.shape[1] - 1.0 - self.intercept
        return Correlated(found, np.full(len(others), freedom))


class Holed:
    """Rows with missing values as NaN: each pair uses the rows that it and the parents have.

    Works from sums of products over those rows, of values brought to mean 0 and size 1.
    """

    def __init__(self, rows: FloatArray, intercept: bool) -> None:
        self.known: BoolArray = ~np.isnan(rows)
        self.values = np.where(self.known, standardised(rows, intercept), 0.0)
        self.intercept = intercept

    def correlate(self, node: int, parents: IntArray, others: IntArray) -> Correlated:
        """Correlations from the cross-products of (1, parents, node, candidate)."""
        family = np.append(parents, node)
        whole = self.known[:, family].all(axis=1)
        design = self.values[np.ix_(whole, family)]
        if self.intercept:
            design = np.column_stack((np.ones(len(design)), design))
        mask = self.known[np.ix_(whole, others)].astype(np.float64)
        chosen = self.values[np.ix_(whole, others)]
        size = design.shape[1]
        pairs = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
        table = np.empty((len(others), size + 1, size + 1))
        table[:, :size, :size] = (mask.T @ pairs).reshape(-1, size, size)
        table[:, size, :size] = table[:, :size, size] = chosen.T @ design
        table[:, size, size] = np.einsum("ij,ij->j", chosen, chosen)
        found, ranks = _partial(table)
        return Correlated(found, mask.sum(axis=0) - ranks - 1.0)


def standardised(rows: FloatArray, intercept: bool) -> FloatArray:
    """Columns at size 1, and with an intercept at mean 0; NaN stays."""
    known = ~np.isnan(rows)
    values = rows / np.maximum(np.nanmax(np.abs(rows), axis=0, initial=0.0), np.finfo(float).tiny)
    if intercept:
        counts = np.maximum(known.sum(axis=0), 1)
        values -= np.where(known, values, 0.0).sum(axis=0) / counts
        # Once more, for the rounding of a mean that is large beside the spread.
        values -= np.where(known, values, 0.0).sum(axis=0) / counts
    sizes = np.sqrt(np.where(known, values**2, 0.0).sum(axis=0))
    return np.asarray(values / np.where(sizes > NOTHING, sizes, np.inf))


def _basis(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns, as many as their rank."""
    if not columns.shape[1]:
        return columns
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > NOTHING * max(float(values[0]), NOTHING)])


def _without(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """The columns less their part in the basis, twice for rounding."""
    once = columns - basis @ (basis.T @ columns)
    return np.asarray(once - basis @ (basis.T @ once))


def _partial(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Partial correlations of the last two of each (k, k) table given the rest, and ranks."""
    lengths = np.sqrt(np.diagonal(table, axis1=1, axis2=2))
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    unit = table / lengths[:, :, None] / lengths[:, None, :]
    given, cross = unit[:, :-2, :-2], unit[:, :-2, -2:]
    values, vectors = np.linalg.eigh(given)
    kept = values > LITTLE**2 * values.shape[1]
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    turned = vectors.transpose(0, 2, 1) @ cross
    left = unit[:, -2:, -2:] - turned.transpose(0, 2, 1) @ (inverse[:, :, None] * turned)
    first, last = left[:, 0, 0], left[:, 1, 1]
    nothing = (first <= LITTLE**2) | (last <= LITTLE**2)
    sizes = np.sqrt(np.where(nothing, 1.0, first * last))
    return np.where(nothing, np.nan, left[:, 0, 1] / sizes), kept.sum(axis=1).astype(np.float64)
