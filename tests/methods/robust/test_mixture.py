"""The mixture for wrong cells: its kernel, its likelihood, and what it makes of clean columns."""

import numpy as np
import pytest
from tests.forced import many_rows

import gaussnet as gn
from gaussnet import kernels
from gaussnet.kernels import numpy_mixture
from gaussnet.methods.robust.judge import Judge
from gaussnet.methods.robust.mixture import (
    FEWEST_CELLS,
    Z_SCORES,
    Z_STEP,
    Equation,
    Foreign,
    Metric,
    marginal_variances,
    replace,
)
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.methods.robust.starts import mixture_from
from gaussnet.model.equations import SOURCES_AT_A_TIME

NODES = 8


def a_network(seed: int, nodes: int = NODES, degree: float = 3.0) -> gn.GaussianNetwork:
    dag = gn.simulate.erdos_renyi(nodes, degree, seed=seed)
    return gn.simulate.random_network(dag, seed=seed + 1)


def spoilt(network, rows, share, size, seed):
    """Rows with errors of either sign, of this many standard deviations of the noise."""
    rng = np.random.default_rng(seed)
    data = network.sample(rows, seed=seed)
    wrong = rng.random(data.shape) < share
    signs = rng.choice([-1.0, 1.0], size=data.shape)
    return np.where(wrong, data + size * signs * network.scales, data), wrong


def a_mixture(network, data, wrong):
    layout = SparsePrecision(network.dag.families)
    equation = Equation(network.coefficient_array, network.mean(), network.variance_array)
    return mixture_from(data, layout, True, equation, wrong, np.ones(data.shape[1], dtype=bool))


@many_rows
def test_a_wrong_cell_with_many_children_is_flagged_alone():
    children = [f"c{number}" for number in range(700)]
    dag = gn.Dag.parse("; ".join(f"{child} ~ hub" for child in children), nodes=["hub", *children])
    network = gn.GaussianNetwork.from_arrays(dag, np.ones(700), np.ones(701))
    rows = np.array(network.sample(16, seed=1))
    rows[3, 0] += 30.0
    flagged = Judge.of_network(network).judged(rows).flagged
    assert np.argwhere(flagged).tolist() == [[3, 0]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize(
    ("nodes", "degree", "share"), [(8, 3.0, 0.1), (40, 0.7, 0.3), (60, 2.0, 0.2)]
)
def test_the_compiled_kernel_agrees_with_its_definition(seed, foreign, nodes, degree, share):
    network = a_network(seed, nodes, degree)
    data, wrong = spoilt(network, 80 if nodes == 8 else 8, share, 4.0, seed)
    data[3, 2] = data[5, 1] = data[5, 4] = np.nan
    mixture = a_mixture(network, data, wrong)
    densities = None
    if foreign:
        densities = np.random.default_rng(seed).normal(-2.0 * nodes, 3.0, len(data))
        second = Foreign(0.1, mixture.equation, np.zeros(nodes), densities)
        mixture = replace(mixture, foreign=second)
    task, found = mixture.task(), []
    for kernel in (kernels.mixture_moments, numpy_mixture.mixture_moments):
        own, filled, chances = mixture.wrong.copy(), np.zeros(data.shape), np.zeros(data.shape)
        lost = np.zeros(int(np.sum((network.dag.families.sizes + 2) ** 2)))
        sums = kernel(data, task, own, densities, filled, chances, lost)
        found.append((sums, own, filled, chances, lost / np.abs(lost).max()))
    (one, *ours), (other, *theirs) = found
    rows_of = np.repeat(np.arange(nodes), np.diff(task.precision[1]))
    below = rows_of >= task.precision[2]  # entries above the diagonal are not filled
    for name in one._fields:
        a, b = getattr(one, name), getattr(other, name)
        a, b = (a[below], b[below]) if name == "products" else (a, b)
        # Sums over 80 rows of products of up to 8 terms, with room for cancellation.
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_families_of_a_coefficient_of_0_are_in_one_group_of_doubts():
    dag = gn.Dag.parse("[a][b][c|a:b]", nodes=list("abc"))
    network = gn.GaussianNetwork.from_arrays(dag, [0.0, 0.0], [1.0, 1.0, 1.0])
    data, wrong = spoilt(network, 60, 0.3, 3.0, 6)
    mixture = a_mixture(network, data, wrong)
    lost = [np.zeros(4 + 4 + 16) for _ in range(2)]
    for kernel, own in zip(
        (kernels.mixture_moments, numpy_mixture.mixture_moments), lost, strict=True
    ):
        kernel(data, mixture.task(), mixture.wrong.copy(), None, None, None, own)
    assert lost[1][8:].max() > 0.0
    np.testing.assert_allclose(*lost, rtol=1e-9, atol=1e-9 * lost[1].max())


@pytest.mark.parametrize(
    "kernel", [kernels.mixture_moments, numpy_mixture.mixture_moments], ids=("compiled", "numpy")
)
def test_rows_with_too_many_wrong_cells_are_no_likelier_for_being_left_out(kernel):
    nodes = 120  # more than a pattern can hold
    dag = gn.Dag.from_edges([], nodes=[f"X{number}" for number in range(nodes)])
    network = gn.GaussianNetwork.from_arrays(dag, np.zeros(0), np.ones(nodes))
    data = np.array(network.sample(2, seed=1))
    data[1] += 30.0
    mixture = replace(a_mixture(network, data, data > 15.0), chances=np.full(nodes, 0.2))
    found = kernel(data, mixture.task(), mixture.wrong.copy())
    assert found.foreign[1] == 1.0
    expected = nodes * np.log(0.8) + network.log_density(data[1:])
    np.testing.assert_allclose(found.densities[1:], expected, rtol=1e-12)
    left_out = mixture.maximized(mixture.round().sums._replace(weight=0.0))
    assert left_out.equation is mixture.equation


def test_the_expectation_of_one_row_is_that_of_all_patterns():
    """Against all 2^4 patterns of a row of four cells, none of them left out."""
    network = a_network(5, nodes=4, degree=2.0)
    data, wrong = spoilt(network, 1, 0.0, 0.0, 3)
    data[0, 1] += 3.0 * network.scales[1]
    mixture = a_mixture(network, data, wrong)
    mixture = replace(mixture, chances=np.full(4, 0.2), slight=1e-12)
    task = mixture.task()._replace(settings=np.log([1e-12, 1e-12]))  # all are combined
    chances, filled = np.zeros((1, 4)), np.zeros((1, 4))
    found = kernels.mixture_moments(data, task, mixture.wrong.copy(), None, filled, chances)
    precision = mixture.layout.values(network.coefficient_array, network.variance_array)
    omega = np.zeros((4, 4))
    omega[np.repeat(np.arange(4), np.diff(mixture.layout.starts)), mixture.layout.neighbours] = (
        precision
    )
    numbers = mixture.laws.by_column(network.variance_array, mixture.marginal)
    rest = data[0] - network.mean()
    scores, members = [], []
    for pattern in range(16):
        cells = [cell for cell in range(4) if pattern >> cell & 1]
        right = [cell for cell in range(4) if cell not in cells]
        covariance = np.linalg.inv(omega)
        score = np.log(0.8) * len(right) + np.log(0.2) * len(cells)
        if right:
            own = covariance[np.ix_(right, right)]
            score -= 0.5 * rest[right] @ np.linalg.solve(own, rest[right])
            score -= 0.5 * np.linalg.slogdet(2.0 * np.pi * own)[1]
        if cells:
            spread = np.linalg.inv(omega[np.ix_(cells, cells)])
            errors = spread @ (omega @ rest)[cells]
            laws = kernels.log_wrong_values(
                mixture.laws.shared(),
                numbers[cells],
                errors,
                np.diag(spread),
                (rest[cells], data[0, cells]),
            )
            score += laws.sum()
        scores.append(score)
        members.append([cell in cells for cell in range(4)])
    weights = np.exp(np.array(scores) - np.logaddexp.reduce(scores))
    # Combinations below a millionth are left out of the chances.
    np.testing.assert_allclose(chances[0], weights @ np.array(members), atol=2e-5)
    assert found.densities[0] == pytest.approx(np.logaddexp.reduce(scores), abs=1e-9)


@pytest.mark.parametrize("size", [3.0, 5.0, 1000.0])
def test_the_likelihood_hardly_ever_falls(size):
    network = a_network(11)
    data, wrong = spoilt(network, 400, 0.05, size, 2)
    mixture, found = a_mixture(network, data, wrong), []
    for _ in range(12):
        mixture = mixture.round()
        found.append(mixture.log_likelihood)
    # A kind of error that dies out takes FEWEST_CELLS cells with it, at odds of a few to one.
    assert min(np.diff(found)) > -2.0 * FEWEST_CELLS
    assert found[-1] > found[0]


def test_threads_do_not_change_a_bit():
    network = a_network(3)
    data, wrong = spoilt(network, 1_500, 0.05, 4.0, 5)
    one = replace(a_mixture(network, data, wrong), threads=1).run(5)
    two = replace(a_mixture(network, data, wrong), threads=2).run(5)
    assert (one.equation.coefficients == two.equation.coefficients).all()
    assert (one.equation.variances == two.equation.variances).all()


@pytest.mark.parametrize("kernel", [kernels.mixture_moments, numpy_mixture.mixture_moments])
def test_missing_cells_are_missing_however_many_others_are_far_off(kernel):
    # More cells are far off than a pattern has room for, and the missing ones come last.
    dag = gn.simulate.chain(130)
    network = gn.simulate.random_network(dag, seed=1, weights=(0.3, 0.9))
    data = np.asarray(network.sample(2, seed=2))
    data[:, :110:2] += 40.0
    data[0, -5:] = np.nan
    mixture = a_mixture(network, data, np.zeros(data.shape, dtype=bool))
    chances, wrong = np.zeros(data.shape), mixture.wrong.copy()
    found = kernel(data, mixture.task(), wrong, None, np.zeros(data.shape), chances)
    assert (found.foreign == 0.0).all()
    assert (wrong[0, -5:] == 2).all()
    assert (chances[0, -5:] == 1.0).all()
    assert ((wrong == 1).sum(axis=1) > 40).all()


@pytest.mark.filterwarnings("error")
def test_steps_are_measured_where_noise_has_vanished():
    network = a_network(3, 8)
    mixture = a_mixture(network, *spoilt(network, 60, 0.05, 6.0, 3))
    variances = np.where(network.dag.in_degrees > 0, 1e-300, 1e20)
    equation = replace(mixture.equation, variances=variances)
    metric = Metric.of(replace(mixture, equation=equation), None)
    point = metric.point(mixture)
    assert np.isfinite(point).all()
    np.testing.assert_allclose(
        metric.at(point, mixture).equation.coefficients, mixture.equation.coefficients, rtol=1e-12
    )
    assert np.isfinite(metric.at(-1e6 * np.abs(point), mixture).precision).all()


def test_variances_of_many_nodes_are_the_diagonal_of_the_covariance():
    network = a_network(1, 2 * SOURCES_AT_A_TIME + 5)
    equation = Equation(network.coefficient_array, network.mean(), network.variance_array)
    found = marginal_variances(network.dag.families, equation)
    # Sums of a few hundred squares.
    np.testing.assert_allclose(found, np.diag(network.covariance()), rtol=1e-12)


@pytest.mark.parametrize("slight", [1e-4, 0.02])
def test_no_z_score_below_its_limit_leaves_a_cell_in_doubt(slight):
    network = a_network(2, 12)
    mixture = replace(a_mixture(network, *spoilt(network, 60, 0.05, 6.0, 3)), slight=slight)
    mixture = replace(mixture, chances=np.geomspace(1e-5, 0.4, 12) * (np.arange(12) != 5))
    entries = mixture.precision[mixture.layout.diagonal]
    numbers = mixture.laws.by_column(mixture.equation.variances, mixture.marginal)
    with np.errstate(divide="ignore"):
        odds = np.maximum(np.log(mixture.chances / (1.0 - mixture.chances)), -1e300)
    found = np.sqrt(mixture._thresholds(odds, entries, numbers))
    assert np.isinf(found[5])
    centres = mixture.laws.kinds[0]
    apart = np.abs(centres - mixture.equation.means) - 4.0 * np.sqrt(mixture.marginal)
    values = (np.zeros(12), centres + np.maximum(apart, 0.0))
    errors = Z_SCORES[:, None] / np.sqrt(entries)
    laws = kernels.log_wrong_values(mixture.laws.shared(), numbers, errors, 1.0 / entries, values)
    constant = 0.5 * np.log(2.0 * np.pi) - 0.5 * np.log(entries) + odds
    doubtful = 0.5 * Z_SCORES[:, None] ** 2 + constant + laws > np.log(slight)
    for column in np.flatnonzero(mixture.judged).tolist():
        scores = Z_SCORES[doubtful[:, column]]
        limit = scores[0] - Z_STEP if len(scores) else Z_SCORES[-1]
        assert found[column] == pytest.approx(limit)
