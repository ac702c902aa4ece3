"""Nodes learnt by the compiled kernels agree with their definition in NumPy."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.errors import EstimationError
from gaussnet.graph.dag import Dag
from gaussnet.kernels import numpy_robust
from gaussnet.kernels.numpy_robust import CONFIRMED, MISSING
from gaussnet.methods.robust.all_nodes import Execution, SequentialFit
from gaussnet.methods.robust.sequential_trim import RobustSolution, SequentialTrim

native = pytest.importorskip("gaussnet.kernels.native")
_native = native._native

DAG = Dag.parse("[a][b][c|a:b][d|c][e|a:b:c][f|d:e][g][h|f:g:d:e:c]", nodes="abcdefgh")
ROWS = 400


def clean_rows(rows: int = ROWS, seed: int = 0) -> np.ndarray:
    network = gn.simulate.random_network(DAG, seed=seed)
    return np.array(network.sample(rows, seed=seed + 1))


def wrong_cells(share: float, size: float = 30.0) -> np.ndarray:
    x, rng = clean_rows(), np.random.default_rng(3)
    hit = rng.random(x.shape) < share
    return np.where(hit, x + size * x.std(axis=0), x)


def missing_cells() -> np.ndarray:
    x = wrong_cells(0.05)
    x[np.random.default_rng(4).random(x.shape) < 0.1] = np.nan
    return x


def all_parents_suspicious() -> np.ndarray:
    """Node c is wrong in three rows of four, so that few rows of its children are sound."""
    x = clean_rows(60)
    x[:12, DAG.position("a")] += 1e3
    x[12:24, DAG.position("b")] -= 1e3
    x[24:40, DAG.position("c")] += 1e4 * np.arange(1.0, 17.0)
    x[40:55, DAG.position("d")] -= 1e4
    return x


def events() -> np.ndarray:
    """What happens at c in 30 rows is rare but real: it goes on into its descendants."""
    network = gn.simulate.random_network(DAG, seed=0)
    x = clean_rows()
    node, names = DAG.position("c"), DAG.nodes
    shock = np.zeros(x.shape)
    shock[:30, node] = 20.0 * x[:, node].std() * (1.0 + np.arange(30) / 10.0)
    for child in DAG.order[list(DAG.order).index(node) + 1 :].tolist():
        for parent in DAG.parents(names[child]):
            slope = network.coefficients[parent, names[child]]
            shock[:, child] += slope * shock[:, DAG.position(parent)]
    return x + shock


def constant_parent() -> np.ndarray:
    x = wrong_cells(0.05)
    x[:, DAG.position("a")] = 7.0
    return x


def collinear_parents() -> np.ndarray:
    x = wrong_cells(0.05)
    x[:, DAG.position("e")] = 2.0 * x[:, DAG.position("d")]
    return x


CASES: dict[str, Callable[[], np.ndarray]] = {
    "clean": clean_rows,
    "wrong": lambda: wrong_cells(0.05),
    "many wrong": lambda: wrong_cells(0.25),
    "a little wrong": lambda: wrong_cells(0.05, 4.0),
    "missing": missing_cells,
    "all parents suspicious": all_parents_suspicious,
    "events": events,
    "constant parent": constant_parent,
    "collinear parents": collinear_parents,
    "far from 0": lambda: wrong_cells(0.05) + 1e6,
    "huge and tiny": lambda: wrong_cells(0.05) * 10.0 ** np.linspace(-60.0, 60.0, len(DAG)),
    "few rows": lambda: wrong_cells(0.1)[:14],
    "two rows": lambda: clean_rows(2),
    "one row": lambda: clean_rows(1),
}


class CountingKernels(SimpleNamespace):
    """The compiled kernels, and how many nodes they have learnt and how often a table was full."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes, self.full = 0, 0

    def learn_nodes(self, *given: Any) -> tuple[int, bool]:
        done, full = native.learn_nodes(*given)
        self.nodes, self.full = self.nodes + done, self.full + full
        return done, full


def learn(
    x: np.ndarray,
    backend: Any = native,
    *,
    intercept: bool = True,
    scale: str = "core",
    threads: int = 1,
    **how: Any,
) -> RobustSolution:
    execution = Execution(backend=backend, **how)
    fit = SequentialFit(x, DAG.families, intercept, SequentialTrim(), False, execution)
    return fit.learn(scale, threads)


@pytest.fixture(params=_native.builds())
def build(request: pytest.FixtureRequest) -> Iterator[None]:
    _native.use_build(request.param)
    yield
    _native.use_build(_native.builds()[0])


def agree(found: RobustSolution, expected: RobustSolution, x: np.ndarray) -> None:
    """Sums of 400 terms in another order lose up to 1e-13, and columns at 1e6 beside noise of
    about 1 another factor of 1e3; what is expected is a recorded value less a residual, which
    loses the last digit of either."""
    for name in ("coefficients", "intercepts", "variances", "cutoffs"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=0.0)
    assert np.array_equal(found.rows, expected.rows)
    assert np.array_equal(found.ranks, expected.ranks)
    assert found.left_out.keys() == expected.left_out.keys()
    assert found.cells.keys() == expected.cells.keys()
    for node, rows in expected.left_out.items():
        assert np.array_equal(found.left_out[node], rows)
    for node, cells in expected.cells.items():
        assert np.array_equal(found.cells[node].rows, cells.rows)
        assert np.array_equal(found.cells[node].statuses, cells.statuses)
        last = 4.0 * np.finfo(np.float64).eps * np.nanmax(np.abs(x[:, node]))
        for name, atol in (("expected", last), ("variances", 0.0), ("deviations", 0.0)):
            ours, theirs = getattr(found.cells[node], name), getattr(cells, name)
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=atol)


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_kernels_agree_with_the_definition(case: str, intercept: bool) -> None:
    x = CASES[case]()
    found = learn(x, intercept=intercept)
    agree(found, learn(x, numpy_robust, intercept=intercept), x)


@pytest.mark.parametrize("scale", ["kl-optimal", "mean-square"])
@pytest.mark.parametrize("case", ["wrong", "events", "missing"])
def test_other_variances_agree(case: str, scale: str) -> None:
    x = CASES[case]()
    agree(learn(x, scale=scale), learn(x, numpy_robust, scale=scale), x)


def test_kernels_learn_every_node_that_has_digits() -> None:
    counting = CountingKernels()
    learn(CASES["many wrong"](), counting)
    assert counting.nodes == len(DAG)


def test_collinear_parents_are_left_to_the_definition() -> None:
    counting = CountingKernels()
    found = learn(CASES["collinear parents"](), counting)
    assert 0 < counting.nodes < len(DAG)
    assert found.ranks[DAG.position("f")] == 1


def test_real_events_come_back() -> None:
    found = learn(CASES["events"]())
    node, child = DAG.position("c"), DAG.position("d")
    assert set(range(30)) <= set(found.left_out[node].tolist())
    assert np.count_nonzero(found.cells[node].statuses == CONFIRMED) >= 30
    assert found.rows[child] > ROWS - 30


def test_missing_cells_keep_their_status() -> None:
    x = CASES["missing"]()
    found = learn(x)
    for node in range(len(DAG)):
        cells = found.cells[node]
        missing = cells.rows[cells.statuses == MISSING]
        assert np.array_equal(missing, np.flatnonzero(np.isnan(x[:, node])))


def same_bits(found: RobustSolution, expected: RobustSolution) -> None:
    for name in ("coefficients", "intercepts", "variances", "cutoffs", "rows", "ranks"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert found.cells.keys() == expected.cells.keys()
    for node, cells in expected.cells.items():
        for name in ("rows", "statuses", "expected", "variances", "deviations"):
            assert np.array_equal(getattr(found.cells[node], name), getattr(cells, name))


@pytest.mark.parametrize("capacity", [1, 500])
def test_table_grows_when_it_is_full(capacity: int) -> None:
    x = CASES["many wrong"]()
    counting = CountingKernels()
    expected = learn(x, counting)
    assert counting.full == 0
    found = learn(x, counting, capacity=capacity)
    assert counting.full > 0
    same_bits(found, expected)


@pytest.mark.parametrize("case", ["many wrong", "events", "collinear parents"])
@pytest.mark.parametrize("backend", [native, numpy_robust], ids=["native", "numpy"])
def test_threads_do_not_change_a_bit(case: str, backend: Any) -> None:
    x = CASES[case]()
    same_bits(learn(x, backend, threads=2, fewest_rows=0), learn(x, backend))


def test_nothing_but_missing_cells_is_an_error() -> None:
    x = clean_rows(30)
    x[::2, DAG.position("a")], x[1::2, DAG.position("b")] = np.nan, np.nan
    with pytest.raises(EstimationError, match="has no row in which"):
        learn(x)


def test_task_that_points_outside_is_refused() -> None:
    x = np.asfortranarray(clean_rows())
    limits, many = np.ones(9), np.ones(len(DAG))
    verdicts = np.zeros(len(DAG), dtype=np.uint8)
    task = numpy_robust.LearningTask(DAG.families, True, False, limits, many, many, verdicts)
    table = numpy_robust.CellTable.empty(len(DAG), ROWS)
    learnt = numpy_robust.Learnt.blank(DAG.families, ROWS)
    with pytest.raises(ValueError, match=r"contradict|point outside"):
        native.learn_nodes(x, task, np.array([len(DAG)]), learnt, (table, table))
    table.add(0, np.array([ROWS]), np.array([2], dtype=np.uint8), (many[:1], many[:1], many[:1]))
    with pytest.raises(ValueError, match=r"contradict|point outside"):
        native.learn_nodes(x, task, np.array([0]), learnt, (table, table))
