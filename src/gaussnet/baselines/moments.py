"""Mean and covariance of the data, and the way back from a precision matrix."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gaussnet._types import FloatArray
from gaussnet.errors import DataError, EstimationError, SettingError
from gaussnet.model.gaussian import Gaussian


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What the baselines need to know of the data.

    `table` holds the rows less the mean (0 if not centred), each column divided by its
    scale, so that its mean square is 1.
    """

    names: tuple[str, ...]
    mean: FloatArray
    scales: FloatArray
    table: FloatArray

    @property
    def correlation(self) -> FloatArray:
        """The covariance of the table, (columns, columns), with the divisor `rows`."""
        correlation = self.table.T @ self.table / len(self.table)
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation)

    def gaussian(self, precision: FloatArray) -> Gaussian:
        """The Gaussian of the data if the table has this precision matrix."""
        inverse = np.linalg.inv(np.linalg.cholesky(precision))
        return Gaussian(self.names, self.mean, self.scales[:, None] * inverse.T)


def moments(data: ArrayLike, names: Sequence[str] | None, centre: bool) -> Moments:
    """Mean and scales of a table of rows; columns are X1, X2, ... unless named."""
    table = _table(data)
    columns = table.shape[1]
    labels = tuple(f"X{k + 1}" for k in range(columns)) if names is None else tuple(names)
    if len(labels) != columns:
        raise DataError(f"got {len(labels)} names for {columns} columns: give one name for each")
    largest = np.abs(table).max(axis=0)
    table /= np.where(largest > 0.0, largest, 1.0)
    mean = table.mean(axis=0) if centre else np.zeros(columns)
    table -= mean
    roots = np.sqrt(np.mean(table**2, axis=0))
    flat = np.flatnonzero(roots <= 1e-14 * np.abs(mean))
    if len(flat):
        raise EstimationError(
            f"the column {labels[flat[0]]!r} does not vary, so it has no variance: drop it"
        )
    table /= roots
    return Moments(labels, mean * largest, roots * largest, table)


def penalty_rule(rows: int, columns: int) -> float:
    r"""The penalty by the rule :math:`\sqrt{\log n / m}` for m rows and n columns.

    This is the size of the largest chance correlation among n independent columns.

    Examples
    --------
    >>> round(penalty_rule(1000, 100), 4)
    0.0679
    """
    return math.sqrt(math.log(columns) / rows)


def checked_penalty(name: str, value: float) -> float:
    """A penalty that a user gave: finite and not negative."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not is_number or not 0.0 <= value < math.inf:
        raise SettingError(f"got {name}={value!r}, expected a finite number of at least 0")
    return float(value)


def _table(data: ArrayLike) -> FloatArray:
    """The data as a new float64 table with at least one row and one column."""
    try:
        table = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the data hold something that is not a number: give numbers only") from None
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"got data of shape {table.shape}, expected (rows, columns), not empty")
    if not np.isfinite(table).all():
        raise DataError("the data hold NaN or infinite values: fill or drop them first")
    return table
