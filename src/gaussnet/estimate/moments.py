"""Means and cross-products of every family: the summary that least squares needs."""

from dataclasses import dataclass

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray
from gaussnet.estimate.equations import Equations, Stripe
from gaussnet.kernels.families import Families
from gaussnet.kernels.plain_triangles import places_in_triangle


@dataclass(frozen=True)
class Moments:
    """Row count, column means and packed cross-products about them (about 0 if not centred)."""

    families: Families
    rows: int
    means: FloatArray
    products: FloatArray

    @classmethod
    def of(cls, stripe: Stripe, equations: Equations) -> "Moments":
        """The moments of a stripe's rows, about the mean if there is an intercept."""
        families = equations.families
        means, products = kernels.family_moments(stripe.rows, families, equations.intercept)
        return cls(families, stripe.stop - stripe.start, means, products)

    @property
    def is_finite(self) -> bool:
        """Whether no product overflows, and so no value of the rows is NaN or infinite."""
        return bool(np.isfinite(self.products).all())

    def merge(self, other: "Moments") -> "Moments":
        r"""The moments of the rows of both.

        .. math:: S = S_1 + S_2 + \frac{m_1 m_2}{m_1 + m_2} (\mu_2 - \mu_1)(\mu_2 - \mu_1)'
        """
        rows = self.rows + other.rows
        products = self.products + other.products
        shift = other.means - self.means
        if shift.any():
            row, column = self.families.product_columns
            products += (self.rows * other.rows / rows) * shift[row] * shift[column]
        means = self.means + shift * (other.rows / rows)
        return Moments(self.families, rows, means, products)

    def parent_products(self, size: int, chosen: slice) -> FloatArray:
        """Cross-products among the parents of families of one size: (families, p, p)."""
        start, stop = self.families.product_offsets[[chosen.start, chosen.stop]].tolist()
        packed = self.products[start:stop].reshape(chosen.stop - chosen.start, -1)
        return packed[:, places_in_triangle(size)].reshape(len(packed), size, size)


def intercepts(families: Families, means: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Child's mean minus the parents' means times their coefficients, (families,)."""
    if not means.any():
        return np.zeros(len(families))
    last = families.column_offsets[1:] - 1
    edge_means = np.delete(means, last)
    terms = np.bincount(
        families.family_of_edge, weights=coefficients * edge_means, minlength=len(families)
    )
    return np.asarray(means[last] - terms)
