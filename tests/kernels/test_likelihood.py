"""What a network expects of missing cells: both kernels agree, and equal dense conditioning."""

import numpy as np
import pytest
from tests.kernels.examples import EPSILON, LAYOUTS, family_table

from gaussnet.kernels import numpy_likelihood
from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray

native = pytest.importorskip("gaussnet.kernels.native")
pytestmark = pytest.mark.usefixtures("build")


def network(columns: int, seed: int) -> tuple[Families, FloatArray, FloatArray, FloatArray]:
    """Families of a random graph in random order, coefficients, means and variances."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(columns)
    chosen = []
    for index in rng.permutation(columns):
        size = min(rng.integers(0, 5), index)
        parents = rng.choice(order[:index], size, replace=False)
        chosen.append(np.append(parents, order[index]).astype(np.int64))
    families = family_table(chosen)
    coefficients = rng.uniform(0.3, 1.0, len(families.parents)) * rng.choice(
        [-1.0, 1.0], len(families.parents)
    )
    return families, coefficients, rng.normal(size=columns), rng.uniform(0.5, 2.0, columns)


def holed(rows: int, columns: int, share: float, seed: int = 5) -> FloatArray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    x[rng.random(x.shape) < share] = np.nan
    return x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("rows", "columns", "share"),
    [(0, 4, 0.5), (1, 1, 1.0), (40, 9, 0.3), (60, 9, 0.0), (30, 40, 0.1), (12, 60, 0.9)],
)
def test_expectations_agree(rows: int, columns: int, share: float, layout: str) -> None:
    x = LAYOUTS[layout](holed(rows, columns, share))
    settings = network(columns, seed=columns)
    ours, theirs = native.expected_rows(x, *settings), numpy_likelihood.expected_rows(x, *settings)
    # Condition of the precision times rounding, for values of size 1 to 10.
    precision = dense_precision(settings)
    margin = 64 * columns * EPSILON * np.linalg.cond(precision)
    for own, other in zip(ours, theirs, strict=True):
        assert own.shape == other.shape
        np.testing.assert_allclose(own, other, rtol=margin, atol=margin * (1 + rows))


def dense_precision(settings: tuple[Families, FloatArray, FloatArray, FloatArray]) -> FloatArray:
    families, coefficients, _, variances = settings
    matrix = numpy_likelihood.equation_matrix(families, coefficients)
    return matrix.T @ np.diag(1.0 / variances) @ matrix


def test_expectations_are_those_of_the_dense_conditional_law() -> None:
    x = holed(25, 7, 0.4)
    settings = network(7, seed=1)
    families, _, means, _ = settings
    covariance = np.linalg.inv(dense_precision(settings))
    found = native.expected_rows(x, *settings)
    added = np.zeros((7, 7))
    for row, filled, likelihood in zip(x, found.rows, found.log_likelihoods, strict=True):
        gone, there = np.isnan(row), ~np.isnan(row)
        inner = covariance[np.ix_(there, there)]
        gain = np.linalg.solve(inner, covariance[np.ix_(there, gone)]).T
        rest = (row - means)[there]
        np.testing.assert_allclose(filled[gone], means[gone] + gain @ rest, rtol=1e-10, atol=1e-10)
        assert np.array_equal(filled[there], row[there])
        own = covariance[np.ix_(gone, gone)] - gain @ covariance[np.ix_(there, gone)]
        added[np.ix_(gone, gone)] += own
        density = there.sum() * np.log(2 * np.pi) + np.linalg.slogdet(inner)[1]
        density += rest @ np.linalg.solve(inner, rest)
        assert likelihood == pytest.approx(-0.5 * density, abs=1e-10)
    row, column = (families.columns[side] for side in families.product_columns)
    np.testing.assert_allclose(found.products, added[row, column], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("rows", "columns", "share"), [(0, 3, 0.5), (20, 8, 0.3), (9, 30, 0.2)])
def test_missing_information_agrees(rows: int, columns: int, share: float) -> None:
    x, settings = holed(rows, columns, share), network(columns, seed=columns)
    ours = native.missing_information(x, *settings)
    theirs = numpy_likelihood.missing_information(x, *settings)
    size = np.abs(theirs).max(initial=1.0)
    margin = 64 * columns * EPSILON * np.linalg.cond(dense_precision(settings)) * size
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=margin)


def test_missing_information_is_the_covariance_of_the_scores_of_drawn_rows() -> None:
    """One row, its missing cells drawn 200,000 times: entries to 5 standard errors."""
    families, coefficients, means, _ = settings = network(5, seed=3)
    x = np.array([[0.3, np.nan, np.nan, -1.0, np.nan]])
    gone = np.isnan(x[0])
    precision = dense_precision(settings)
    covariance = np.linalg.inv(precision[np.ix_(gone, gone)])
    filled = native.expected_rows(x, *settings).rows[0]
    rng = np.random.default_rng(0)
    drawn = np.repeat((filled - means)[None], 200_000, axis=0)
    drawn[:, gone] += rng.multivariate_normal(np.zeros(3), covariance, len(drawn))
    scores = []
    for family in range(5):
        span = slice(*families.offsets[family : family + 2])
        parents = drawn[:, families.parents[span]]
        rest = drawn[:, families.children[family]] - parents @ coefficients[span]
        scores += [*(rest[:, None] * parents).T, rest, 0.5 * rest**2]
    table = np.array(scores)
    table -= table.mean(axis=1, keepdims=True)
    expected = table @ table.T / len(drawn)
    products = table[:, None] * table[None]
    errors = products.std(axis=2) / np.sqrt(len(drawn))
    found = native.missing_information(x, *settings)
    assert (np.abs(found - expected) <= 5 * errors + 1e-12).all()


def test_families_that_do_not_cover_the_columns_are_refused() -> None:
    families = family_table([np.array([0]), np.array([1, 0])])
    with pytest.raises(ValueError, match="contradict"):
        native.expected_rows(np.zeros((3, 2)), families, np.ones(1), np.zeros(2), np.ones(2))
