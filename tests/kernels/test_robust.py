"""The compiled kernels of the robust method agree with their definitions."""

import numpy as np
import pytest
from tests.kernels.examples import family_table

from gaussnet.kernels import numpy_robust
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import CellTable
from gaussnet.methods.robust.all_nodes import SequentialFit
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.types import FloatArray

native = pytest.importorskip("gaussnet.kernels.native")
pytestmark = pytest.mark.usefixtures("build")


def contaminated_columns(rng: np.random.Generator, parents: int, rows: int) -> FloatArray:
    """A child in the last column, of which up to two fifths are wrong in one of several ways."""
    x = rng.normal(size=(rows, parents + 1)) + rng.choice([0.0, 3.0])
    noise = 10.0 ** rng.uniform(-2.0, 0.5)
    x[:, -1] = x[:, :-1] @ rng.normal(size=parents) + noise * rng.normal(size=rows) + 1.0
    wrong = rng.random(rows) < rng.uniform(0.0, 0.4)
    shifts = rng.choice([0.0, 4.0 * noise, 40.0, 1e3, 1e6]) * rng.choice([1.0, rng.random()], rows)
    x[:, -1] += wrong * shifts
    return np.asfortranarray(x)


def child_of_all(x: FloatArray, intercept: bool, failed: bool) -> SequentialFit:
    """A fit of a child in the last column whose parents are all other columns."""
    count = x.shape[1] - 1
    families = family_table([np.array([k]) for k in range(count)] + [np.arange(count + 1)])
    fit = SequentialFit(x, families, intercept, SequentialTrim())
    fit.clean[:count] = True
    fit.failed[count] = failed
    fit.table = CellTable.empty(count + 1, len(x))
    return fit


def learn_child(fit: SequentialFit) -> int:
    """Let the compiled kernel learn the child; says whether it did."""
    task, last = fit._task("core"), len(fit.families) - 1
    tables = fit.table, fit.table
    return native.learn_nodes(fit.columns, task, np.array([last]), fit.learnt, tables)[0]


@pytest.mark.parametrize("seed", range(60))
def test_a_node_is_learnt_as_its_definition_says_whatever_is_wrong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, height = int(rng.integers(0, 8)), int(rng.integers(30, 1200))
    x, intercept, failed = contaminated_columns(rng, count, height), seed % 2 == 0, seed % 3 == 0
    x[rng.random(height) < rng.choice([0.0, 0.1, 0.4]), -1] = np.nan
    fit = child_of_all(x, intercept, failed)
    expected = fit._learn_by_definition(fit._task("core"), count)
    assert learn_child(fit) == 1
    assert np.array_equal(fit.table.left_out(count), expected.left_out)
    # Sums of 1200 terms in another order; with wrong values of 1e6 the definition itself has
    # 16 - 6 digits of a coefficient of size 1 before it mends them.
    learnt = fit.learnt
    largest = np.abs(expected.coefficients).max(initial=1.0)
    ours = np.append(learnt.coefficients, learnt.intercepts[count])
    theirs = np.append(expected.coefficients, expected.intercept)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * largest)
    numbers = learnt.variances[count], learnt.noise[count], learnt.cutoffs[count]
    definition = expected.variance, expected.noise, expected.cutoff
    np.testing.assert_allclose(numbers, definition, rtol=1e-9)


def test_collinear_parents_are_left_to_the_definition() -> None:
    x = contaminated_columns(np.random.default_rng(5), 3, 400)
    x[:, 1] = x[:, 0]
    assert learn_child(child_of_all(x, True, True)) == 0


def test_listed_parents_agree() -> None:
    rng = np.random.default_rng(8)
    families = Families(np.arange(4), np.array([0, 0, 1, 3, 5]), np.array([0, 0, 1, 1, 2]))
    table = CellTable.empty(4, 400)
    for node in (2, 0, 3):
        rows = np.sort(rng.permutation(100)[:60])
        statuses = rng.integers(1, 5, 60).astype(np.uint8)
        table.add(node, rows, statuses, tuple(rng.normal(size=(3, 60))))
    reach = np.array([0.0, 1.0, 1.0, 0.5])
    found = native.list_parents(table, families, reach, 100)
    assert np.array_equal(found, numpy_robust.list_parents(table, families, reach, 100))
    nodes, rows = np.divmod(found, 100)
    assert np.array_equal(np.unique(nodes), [0, 1, 2])
    assert np.array_equal(native.find_cells(table, nodes, rows), np.full(len(nodes), -1))


def test_cells_are_found() -> None:
    rng = np.random.default_rng(9)
    table = CellTable.empty(4, 200)
    for node in (2, 0, 3):
        rows = np.sort(rng.permutation(100)[:50])
        table.add(node, rows, np.full(50, 2, dtype=np.uint8), tuple(rng.normal(size=(3, 50))))
    nodes, rows = np.divmod(rng.permutation(400), 100)
    found = native.find_cells(table, nodes, rows)
    assert np.array_equal(found, numpy_robust.find_cells(table, nodes, rows))
    there = found >= 0
    assert np.count_nonzero(there) == 150
    assert np.array_equal(table.rows[0, found[there]], rows[there])
    assert not np.any(nodes[there] == 1)
    with pytest.raises(ValueError, match="indices point outside"):
        native.find_cells(table, np.array([4]), np.array([0]))
