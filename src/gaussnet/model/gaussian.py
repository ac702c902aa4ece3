"""One multivariate Gaussian over named variables."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gaussnet import display
from gaussnet.errors import NetworkError
from gaussnet.graph.dag import counted, shorten, unstated_order
from gaussnet.model import checks
from gaussnet.model.equations import blocks
from gaussnet.named_rows import named
from gaussnet.seeds import generator
from gaussnet.types import FloatArray, Seed

SAMPLE_ROWS = 256
"""Rows drawn at a time: always as many, so that a row does not depend on how many follow."""
MOST_PRINTED = 20
"""Variables of which the numbers are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian:
    r"""A Gaussian with covariance :math:`F F'`, kept as its factor F; it may be singular.

    Parameters
    ----------
    names
        The variables.
    mean
        The mean of each, (names,).
    factor
        F, (names, k), any k: the variables are ``mean + factor @ noise``.

    Examples
    --------
    >>> pair = Gaussian(["a", "b"], mean=[0.0, 1.0], factor=[[1.0, 0.0], [2.0, 3.0]])
    >>> pair.covariance.tolist()
    [[1.0, 2.0], [2.0, 13.0]]
    """

    names: tuple[str, ...]
    mean: FloatArray
    factor: FloatArray
    has_column_order = True
    """Whether columns without names may follow the order of the names; see `Dag`."""

    def __init__(self, names: Iterable[str], mean: ArrayLike, factor: ArrayLike) -> None:
        kept = checks.as_names(names)
        loads = checks.as_numbers(factor, "factor")
        if loads.ndim != 2 or len(loads) != len(kept):
            raise NetworkError(
                f"got a factor of shape {loads.shape}, expected ({len(kept)}, any): give one row "
                "for each name"
            )
        if not np.isfinite(loads).all():
            raise NetworkError("the factor holds NaN or infinite values, expected finite numbers")
        object.__setattr__(self, "names", kept)
        object.__setattr__(self, "mean", checks.frozen_array(mean, kept, "mean"))
        object.__setattr__(self, "factor", checks.read_only(loads))

    @classmethod
    def from_covariance(cls, names: Iterable[str], mean: ArrayLike, covariance: ArrayLike) -> Self:
        """The Gaussian with this covariance, which must be symmetric without negative directions.

        Examples
        --------
        >>> pair = Gaussian.from_covariance(["a", "b"], [0.0, 0.0], [[4.0, 2.0], [2.0, 5.0]])
        >>> pair.factor.round(12).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
        """
        kept = checks.as_names(names)
        return cls(kept, mean, _factor(checks.as_numbers(covariance, "covariance"), len(kept)))

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance, (names, names), read-only."""
        with np.errstate(over="ignore", invalid="ignore"):
            covariance = self.factor @ self.factor.T
        if not np.isfinite(covariance).all():
            raise NetworkError("the covariance overflows: rescale the variables")
        return checks.read_only(covariance)

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of each variable, (names,), read-only."""
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", self.factor, self.factor)
        checks.check_overflow(squares)
        return checks.read_only(squares)

    @cached_property
    def lower_factor(self) -> FloatArray:
        """The lower triangular factor with positive diagonal, (names, names), read-only.

        Found from the factor by orthogonal rotation, so that no digit is lost to squaring.
        """
        count = len(self.names)
        if self.factor.shape[1] < count:
            raise self._singular(self.names[self.factor.shape[1]])
        sizes = np.abs(self.factor).max(axis=1, initial=0.0)
        rows = self.factor / np.where(sizes > 0.0, sizes, 1.0)[:, None]
        lower: FloatArray = np.linalg.qr(rows.T).R.T
        lower = lower * np.where(np.diag(lower) < 0.0, -1.0, 1.0)
        rounding = 4.0 * count * np.finfo(np.float64).eps * np.linalg.norm(lower, axis=1)
        flat = np.flatnonzero(np.diag(lower) <= rounding)
        if len(flat):
            raise self._singular(self.names[flat[0]])
        return checks.read_only(np.ascontiguousarray(sizes[:, None] * lower))

    def sample(self, rows: int, *, seed: Seed) -> FloatArray:
        """Independent rows (rows, names); the first are the same however many are asked for.

        Examples
        --------
        >>> Gaussian(["a"], [3.0], [[0.0]]).sample(2, seed=0).tolist()
        [[3.0], [3.0]]
        """
        count = checks.row_count(rows)
        stream = generator(seed)
        drawn = np.empty((count, len(self.names)))
        noise = np.zeros((SAMPLE_ROWS, self.factor.shape[1]))
        for start in range(0, count, SAMPLE_ROWS):
            part = drawn[start : start + SAMPLE_ROWS]
            stream.standard_normal(out=noise[: len(part)])
            part[:] = (noise @ self.factor.T)[: len(part)] + self.mean
        return named(drawn, self.names)

    def log_density(self, data: object) -> FloatArray:
        """The log density of each row, (rows,); the covariance must not be singular.

        Examples
        --------
        >>> Gaussian(["a"], [0.0], [[1.0]]).log_density([[0.0]]).round(4).tolist()
        [-0.9189]
        """
        from scipy.linalg import solve_triangular

        if not self.has_column_order and checks.column_labels(data) is None:
            raise unstated_order(self.names)
        rows = checks.as_rows(data, self.names)
        lower = self.lower_factor
        constant = 0.5 * len(self.names) * np.log(2.0 * np.pi) + np.log(np.diag(lower)).sum()
        result = np.empty(len(rows))
        for block in blocks(*rows.shape):
            checks.check_finite(rows[block], self.names, block.start)
            with np.errstate(over="ignore", invalid="ignore"):
                gaps = (rows[block] - self.mean).T
                noise = solve_triangular(lower, gaps, lower=True, check_finite=False)
                result[block] = -constant - 0.5 * np.einsum("ij,ij->j", noise, noise)
        checks.check_densities(result)
        return result

    def marginal(self, names: Iterable[str]) -> Self:
        """The Gaussian of these variables alone, in the order asked for.

        Examples
        --------
        >>> Gaussian(["a", "b"], [1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]).marginal(["b"]).mean.tolist()
        [2.0]
        """
        chosen = checks.as_names(names)
        rows = self._rows_of(chosen)
        return type(self)(chosen, self.mean[rows], self.factor[rows])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gaussian):
            return NotImplemented
        return (
            self.names == other.names
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.factor, other.factor)
        )

    def __hash__(self) -> int:
        return hash((self.names, (self.mean + 0.0).tobytes(), (self.factor + 0.0).tobytes()))

    def __repr__(self) -> str:
        return f"Gaussian({counted(len(self.names), 'variable')}: {shorten(self.names)})"

    def __str__(self) -> str:
        deviations = np.sqrt(self.variances).tolist()
        lines = [
            f"{name}: mean {mean:.4g}, standard deviation {deviation:.4g}"
            for name, mean, deviation in zip(
                self.names[:MOST_PRINTED], self.mean.tolist(), deviations, strict=False
            )
        ]
        more = len(self.names) - len(lines)
        return "\n".join([*lines, *([f"... and {more} more"] if more else [])])

    def _repr_html_(self) -> str:
        """Means and standard deviations, in a notebook."""
        return display.html("gaussian", self)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.names, self.mean, self.factor)

    def _rows_of(self, names: tuple[str, ...]) -> list[int]:
        """The numbers of these variables among all."""
        index = {name: row for row, name in enumerate(self.names)}
        unknown = [name for name in names if name not in index]
        if unknown:
            raise NetworkError(
                f"there is no variable {shorten(unknown)}: the names are {shorten(self.names)}"
            )
        return [index[name] for name in names]

    def _singular(self, name: str) -> NetworkError:
        return NetworkError(
            f"the covariance is singular: {name!r} is a linear function of the variables before "
            "it, so leave it out with marginal"
        )


def _factor(covariance: FloatArray, count: int) -> FloatArray:
    """A factor of a covariance: Cholesky where it is positive definite, else by eigenvectors.

    Works on the correlations, so that variables of very different scale do not drown each other.
    """
    if covariance.shape != (count, count):
        raise NetworkError(
            f"got a covariance of shape {covariance.shape}, expected ({count}, {count})"
        )
    if not np.isfinite(covariance).all() or (np.diag(covariance) < 0.0).any():
        raise NetworkError(
            "the covariance holds NaN, infinite values or a negative variance on its diagonal"
        )
    scales = np.sqrt(np.diag(covariance))
    divisors = np.where(scales > 0.0, scales, 1.0)
    correlation = covariance / divisors[:, None] / divisors
    if np.abs(correlation - correlation.T).max(initial=0.0) > 1e-8:
        raise NetworkError("the covariance is not symmetric: give (C + C.T) / 2 if it should be")
    try:
        factor = np.linalg.cholesky((correlation + correlation.T) / 2.0).astype(
            np.float64, copy=False
        )
    except np.linalg.LinAlgError:
        factor = _flat_factor((correlation + correlation.T) / 2.0)
    return scales[:, None] * factor


def _flat_factor(correlation: FloatArray) -> FloatArray:
    """A factor of a correlation matrix with directions of variance 0."""
    values, vectors = np.linalg.eigh(correlation)
    rounding = len(values) * 1e-14 * np.abs(values).max(initial=0.0)
    if values.min(initial=0.0) < -rounding:
        raise NetworkError(
            f"the covariance has a direction of negative variance ({values.min():.3g} on the "
            "scale of correlations): it is not a covariance"
        )
    kept = values > rounding
    factor: FloatArray = vectors[:, kept] * np.sqrt(values[kept])
    return factor
