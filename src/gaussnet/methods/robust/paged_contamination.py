"""The test for contamination on rows that are read page by page: from sums over rows of each kind.

For each node three kinds of rows count, as in `contamination`: those *kept*, in which the judge
believes the node and its parents; those kept and *rejected*, in which the parents are believed; and
all that lack no value. Least squares over each follows from sums and cross-products. Rows with
suspicious parents are left out of the test, which stays valid.
"""

from dataclasses import dataclass
from math import exp, inf, sqrt
from typing import NamedTuple

import numpy as np

from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import Table, ask
from gaussnet.kernels.families import Families
from gaussnet.methods.groups import Fitted
from gaussnet.methods.robust.contamination import (
    ContaminationTest,
    log_beta_chance,
    log_choices,
)
from gaussnet.methods.robust.judge import Judge
from gaussnet.methods.standard_errors import adjusted
from gaussnet.types import BoolArray, FloatArray

KEPT = 0
"""The first of the three kinds."""


def find_paged_contamination(fitted: Fitted, table: Table, level: float) -> ContaminationTest:
    """Test every node in one pass over the rows."""
    judge: Judge = fitted.findings.judge
    sums: list[FloatArray] = ask(table, MisfitPass(judge))
    dag = fitted.network.dag
    statistics, shifts, shares = np.zeros((3, len(dag)))
    p_values = np.ones(len(dag))
    intercept = fitted.data.options.intercept
    equation, offsets = judge.mixture.equation, dag.families.offsets
    with np.errstate(all="ignore"):
        for node, own in enumerate(sums):
            misfit = PagedMisfit(*(solved(part, intercept) for part in own))
            statistics[node], p_values[node] = misfit.test()
            slopes = equation.coefficients[slice(*offsets[node : node + 2].tolist())]
            shifts[node] = misfit.shift(own[KEPT], slopes, intercept)
            shares[node] = misfit.share
    by_holm = adjusted(p_values, "holm")
    return ContaminationTest(dag, level, statistics, p_values, by_holm, shifts, shares)


@dataclass(frozen=True)
class MisfitPass(Pass):
    """Asks for cross-products of each family over rows of three kinds.

    They are about the means of the network, with a constant first: the first entry is the number
    of rows. One array (kinds, columns + 1, columns + 1) a node.
    """

    judge: Judge

    def summarize(self, stripe: Stripe) -> list[FloatArray]:
        """Those of a stripe: rows without a bad cell serve every kind."""
        found, families = self.judge.judged(stripe.rows), self.judge.families
        bad = found.flagged | found.missing
        spoilt = bad.any(axis=1)
        centred = np.asarray(stripe.rows, dtype=np.float64) - self.judge.mixture.equation.means
        clean, rest = centred[~spoilt], np.where(found.missing, np.nan, centred)[spoilt]
        flagged = found.flagged[spoilt]
        return [
            _products(clean[:, columns]) + _spoilt_products(rest[:, columns], flagged[:, columns])
            for columns in _columns(families)
        ]

    def merge(self, left: list[FloatArray], right: list[FloatArray]) -> list[FloatArray]:
        """The sums of both."""
        return [a + b for a, b in zip(left, right, strict=True)]


def _columns(families: Families) -> list[list[int]]:
    """Parents and child of each family."""
    return [[*parents, child] for child, parents in enumerate(families.parent_lists)]


def _products(rows: FloatArray) -> FloatArray:
    """Cross-products of rows with a constant before them, (columns + 1, columns + 1)."""
    whole = np.column_stack((np.ones(len(rows)), rows))
    return np.asarray(whole.T @ whole)


def _spoilt_products(rows: FloatArray, flagged: BoolArray) -> FloatArray:
    """Of rows with bad cells somewhere, the products for each kind."""
    complete = ~np.isnan(rows).any(axis=1)
    sound = complete & ~flagged[:, :-1].any(axis=1)
    kinds = (sound & ~flagged[:, -1], sound, complete)
    return np.stack([_products(rows[kind]) for kind in kinds])


class Regression(NamedTuple):
    """Least squares of one node over rows of one kind."""

    rows: float
    slopes: FloatArray
    constant: float
    squares: float
    freedom: float


def solved(products: FloatArray, intercept: bool) -> Regression:
    """Least squares from cross-products with a constant first and the child last."""
    rows, size = float(products[0, 0]), len(products) - 2
    first = 0 if intercept else 1
    gram, target = products[first:-1, first:-1], products[first:-1, -1]
    sizes = np.sqrt(np.maximum(np.diag(gram), np.finfo(np.float64).tiny))
    found = np.linalg.lstsq(gram / np.outer(sizes, sizes), target / sizes, rcond=1e-12)[0] / sizes
    squares = max(float(products[-1, -1] - target @ found), 0.0)
    slopes, constant = (found[1:], float(found[0])) if intercept else (found, 0.0)
    return Regression(rows, slopes, constant, squares, rows - size - intercept)


class PagedMisfit(NamedTuple):
    """Least squares of a node over the rows kept, with those rejected, and over all complete."""

    kept: Regression
    both: Regression
    every: Regression

    @property
    def rejected(self) -> int:
        """Rows whose own value does not fit beside believed parents."""
        return round(self.both.rows - self.kept.rows)

    @property
    def share(self) -> float:
        """Of the rows with believed parents, the part whose own value does not fit."""
        return self.rejected / max(self.both.rows, 1.0)

    def test(self) -> tuple[float, float]:
        """F statistic of the rejected rows, and its p-value for the best choice of them."""
        kept, count = self.kept, self.rejected
        added = self.both.squares - kept.squares
        if not count or not kept.freedom > 0.0 or not added > 0.0:
            return 0.0, 1.0
        statistic = added / count / (kept.squares / kept.freedom) if kept.squares else inf
        ratio = 1.0 / (1.0 + statistic * count / kept.freedom)
        chance = log_beta_chance(ratio, 0.5 * kept.freedom, 0.5 * count)
        return statistic, exp(min(chance + log_choices(round(self.both.rows), count), 0.0))

    def shift(self, products: FloatArray, slopes: FloatArray, intercept: bool) -> float:
        """How far least squares over all rows lies from the network's equation, in its errors.

        About the means of the network its constant is 0.
        """
        kept, every = self.kept, self.every
        move = np.append(every.constant, every.slopes - slopes)
        noise = kept.squares / kept.freedom if kept.freedom > 0.0 else 0.0
        parameters = len(kept.slopes) + intercept
        if not noise > 0.0 or not parameters or not self.rejected:
            return 0.0
        return sqrt(max(float(move @ products[:-1, :-1] @ move), 0.0) / parameters / noise)
