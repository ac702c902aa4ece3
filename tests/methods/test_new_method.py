"""A method is one class in one place: these two are nowhere but here, and work everywhere."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import dask
import dask.array
import numpy as np
import pytest
from distributed import Client, LocalCluster
from tests.forced import fit_streamed
from tests.reference import estimators

import gaussnet as gn
from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.write import write_rows
from gaussnet.errors import SettingError
from gaussnet.methods.base import Equations, Method, Scale, Solution, SummaryPass
from gaussnet.methods.moments import Moments, MomentsPass, with_mean_squares
from gaussnet.types import FloatArray

pytestmark = [
    pytest.mark.filterwarnings("ignore:Port 8787 is already in use:UserWarning"),
    pytest.mark.xdist_group("dask"),
]


@dataclass(frozen=True, slots=True)
class Huber(Method):
    """Huber's M-estimator: least squares, but residuals beyond a bound pull no harder."""

    name = "huber"
    tuning: float = 1.345
    """The bound, in standard deviations of the residuals of least squares."""

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """Least squares; then the same with weights, until nothing moves."""
        return ReweightedPass(equations, self.tuning)

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """As many as there are numbers to be found."""
        return max(parents + intercept, 1)


@dataclass(frozen=True)
class ReweightedPass(Pass):
    """Asks for the weighted cross-products of each family; the first time all weights are 1."""

    equations: Equations
    tuning: float
    found: tuple[FloatArray, ...] | None = None
    """Intercept and slopes of each family by the pass before."""
    bounds: tuple[float, ...] = ()
    passes: int = 1

    def summarize(self, stripe: Stripe) -> list[FloatArray]:
        """Cross-products of intercept, parents and child, (1 + p + 1, 1 + p + 1) each."""
        return [self._products(stripe, family) for family in range(len(self.equations.families))]

    def merge(self, left: list[FloatArray], right: list[FloatArray]) -> list[FloatArray]:
        """The sums of both."""
        return [one + other for one, other in zip(left, right, strict=True)]

    def then(self, summary: list[FloatArray]) -> Any:
        """Another pass with the weights that follow, or the solution."""
        first = 1 - self.equations.intercept
        found, squares = [], []
        for products in summary:
            inner, outer = products[first:-1, first:-1], products[first:-1, -1]
            answer = np.zeros(len(products) - 1)
            answer[first:] = np.linalg.solve(inner, outer)
            found.append(answer)
            squares.append((products[-1, -1] - answer[first:] @ outer) / products[0, 0])
        if self.found is None:
            bounds = tuple(self.tuning * float(np.sqrt(square)) for square in squares)
            return replace(self, found=tuple(found), bounds=bounds)
        moved = max(map(_change, found, self.found))
        if moved < 1e-12 or self.passes == 200:
            return Solution.of(self.equations, np.concatenate([one[1:] for one in found]))
        return replace(self, found=tuple(found), passes=self.passes + 1)

    def _products(self, stripe: Stripe, family: int) -> FloatArray:
        families = self.equations.families
        span = slice(*families.column_offsets[family : family + 2].tolist())
        columns = stripe.rows[:, families.columns[span]]
        table = np.column_stack((np.ones(len(columns)), columns))
        if self.found is None:
            return table.T @ table
        residuals = np.abs(table[:, -1] - table[:, :-1] @ self.found[family])
        with np.errstate(divide="ignore"):
            weights = np.minimum(1.0, self.bounds[family] / residuals)
        return (weights[:, None] * table).T @ table


def _change(new: FloatArray, old: FloatArray) -> float:
    return float(np.abs(new - old).max() / np.abs(new).max(initial=1.0))


@dataclass(frozen=True, slots=True)
class Ridge(Method):
    """Least squares with a penalty on the squares of the coefficients."""

    name = "ridge"
    penalty: float = 0.1
    finds_mean_squares = True

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """Moments."""
        return RidgePass(equations, self.penalty)

    def summary_pass(self, equations: Equations) -> SummaryPass:
        """Moments."""
        return RidgePass(equations, self.penalty)


@dataclass(frozen=True)
class RidgePass(MomentsPass, SummaryPass):
    """Asks for moments, which say all of ridge regression."""

    penalty: float

    def then(self, summary: Moments) -> Solution:
        """The solution."""
        return self.solve(summary)

    def solve(self, summary: Moments) -> Solution:
        """From the cross-products of each family, a packed lower triangle."""
        families, slopes = summary.families, [np.zeros(0)]
        for family, size in enumerate(families.sizes.tolist()):
            span = slice(*families.product_offsets[family : family + 2].tolist())
            lower = np.zeros((size + 1, size + 1))
            lower[np.tril_indices(size + 1)] = summary.products[span]
            parents = lower[:size, :size] + np.tril(lower[:size, :size], -1).T
            penalty = summary.rows * self.penalty * np.eye(size)
            slopes.append(np.linalg.solve(parents + penalty, lower[size, :size]))
        solution = Solution.of(self.equations, np.concatenate(slopes))
        return with_mean_squares(solution, summary)

    def rows(self, summary: Moments) -> int:
        """Rows of the moments."""
        return summary.rows

    def to_arrays(self, summary: Moments) -> dict[str, Any]:
        """The moments as plain arrays."""
        return summary.to_arrays()

    def from_arrays(self, arrays: dict[str, Any]) -> Moments:
        """The moments that `to_arrays` gave."""
        return Moments.from_arrays(self.equations.families, arrays)


DAG = gn.Dag.parse("[a][b|a][c|a:b][d][e|c:d][f|e]", nodes="abcdef")
PAGE = 256
METHODS = (Huber(), Huber(0.7), Ridge())


def problem(rows=2_345):
    data = gn.simulate.random_network(DAG, seed=1).sample(rows, seed=2) + np.arange(6.0)
    data[::31, 2] += 50.0
    data[::47, 4] -= 90.0
    return data


ROWS = problem()


@pytest.fixture(scope="module")
def client():
    # As a class that is defined in a notebook: the workers get it with the first pass.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster, timeout=90.0) as found,
    ):  # fmt: skip
        yield found
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def reference(method, intercept):
    """The coefficients of all edges by a slow, obvious program."""
    slow = estimators.huber if isinstance(method, Huber) else estimators.ridge
    (setting,) = (getattr(method, name) for name in method.__dataclass_fields__)
    found = []
    for node in DAG.nodes:
        parents = [DAG.position(parent) for parent in DAG.parents(node)]
        if parents:
            found.append(slow(ROWS[:, parents], ROWS[:, DAG.position(node)], intercept, setting))
    return np.concatenate(found)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_coefficients_are_those_of_the_definition(method, intercept):
    found = gn.fit(ROWS, DAG, method, intercept=intercept).network.coefficient_array
    np.testing.assert_allclose(found, reference(method, intercept), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("method", "scale"),
    [(Huber(), "mad"), (Huber(0.7), "mean-square"), (Ridge(), "mad"), (Ridge(), "mean-square")],
    ids=repr,
)
def test_memory_files_and_cluster_give_the_same_bits(client, tmp_path, method, scale):
    rows = ROWS[:700]  # three pages, and every pass on the cluster takes a while
    settings = {"scale": scale, "page_rows": PAGE}
    held = gn.fit(rows, DAG, method, threads=1, **settings)
    write_rows(tmp_path / "rows.parquet", DAG.nodes, [rows[:300], rows[300:]])
    array = dask.array.from_array(rows, chunks=(389, 4))
    for other in (
        gn.fit(np.asfortranarray(rows), DAG, method, threads=2, **settings),
        fit_streamed(tmp_path / "rows.parquet", DAG, method, threads=3, **settings),
        gn.fit(array, DAG, method, client=client, **settings),
    ):
        assert other.network == held.network
        np.testing.assert_array_equal(other.network.variance_array, held.network.variance_array)
        assert other.notes == held.notes


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_missing_values_and_split_rows_are_treated_as_for_any_method(method):
    rows = ROWS.copy()
    rows[5::40, 0] = np.nan
    complete = rows[~np.isnan(rows[:, 0])]
    dropped = gn.fit(rows, DAG, method, missing="drop-rows")
    assert dropped.network == gn.fit(complete, DAG, method).network
    by_node = gn.fit(rows, DAG, method, missing="drop-by-node")
    assert by_node.node("b").dropped == np.count_nonzero(np.isnan(rows[:, 0]))
    split = gn.fit(ROWS, DAG, method, split=(1_000, 800))
    first = gn.fit(ROWS[:1_000], DAG, method).network.coefficient_array
    np.testing.assert_array_equal(split.network.coefficient_array, first)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_errors_come_from_the_bootstrap(method):
    fit = gn.fit(ROWS[:400], DAG, method)
    found = fit.uncertainty("bootstrap", repetitions=40)
    low, high = found.confidence_intervals.coefficient_array.T
    assert (low < high).all()
    with pytest.raises(SettingError, match="has no standard errors of its own"):
        fit.uncertainty()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_fits_print_compare_and_are_reported(tmp_path, method):
    fit = gn.fit(ROWS, DAG, method)
    assert f"{len(ROWS):,} rows; fitted by {method.name}, noise variances from" in str(fit)
    table = gn.compare([fit, gn.fit(ROWS, DAG)], data=problem(500))
    assert table[method.name].held_out < 0.0
    assert gn.cross_validate(ROWS[:300], DAG, [method, "least-squares"], folds=3)
    gn.write_report(fit, tmp_path / "report.html")
    assert method.name in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_more_rows_may_follow(method):
    fit = gn.fit(ROWS[:1_000], DAG, method, page_rows=PAGE).update(ROWS[1_000:])
    assert fit.network == gn.fit(ROWS, DAG, method, page_rows=PAGE).network


def test_a_method_of_several_passes_has_no_summary():
    with pytest.raises(SettingError, match="got method='huber', which needs all rows more than"):
        gn.summarize(ROWS, DAG, Huber())


def test_a_method_of_one_pass_is_summarised_merged_and_solved():
    whole = gn.fit(ROWS, DAG, Ridge(), page_rows=PAGE)
    summary = gn.summarize(ROWS[:700], DAG, Ridge(), page_rows=PAGE).add(ROWS[700:])
    assert gn.solve(summary).network == whole.network
    sites = [gn.summarize(rows, DAG, Ridge(), page_rows=PAGE) for rows in np.split(ROWS, [700])]
    found = gn.solve(gn.merge(*sites)).network
    np.testing.assert_allclose(found.coefficient_array, whole.network.coefficient_array, rtol=1e-9)
