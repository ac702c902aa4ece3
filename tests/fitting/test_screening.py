"""Screening in single precision: its bound holds, and no answer of `check_graph` changes by it."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.fitting import graph_tests, screening
from gaussnet.fitting.screening import single_products, unit_columns


def checked(fit, monkeypatch, *, screened, listed, **settings):
    """The check with few edges listed, by screening or not."""
    monkeypatch.setattr(graph_tests, "MOST_LISTED", listed)
    monkeypatch.setattr(graph_tests, "SCREENED", 0 if screened else 10**9)
    used, real = [], screening.ScreenedRows.of

    def of(*arguments):
        used.append(real(*arguments))
        return used[-1]

    monkeypatch.setattr(screening.ScreenedRows, "of", of)
    found = fit.check_graph(**settings)
    monkeypatch.setattr(screening.ScreenedRows, "of", real)
    return found, bool(used) and used[-1] is not None


def same(plain, screened):
    """Both check the same edges, with the same numbers to within rounding."""
    assert (plain.tests, plain.untested, plain.notes) == (
        screened.tests, screened.untested, screened.notes,
    )  # fmt: skip
    known = {(edge.node, edge.other): edge for edge in plain}
    found = {(edge.node, edge.other): edge for edge in screened}
    assert known.keys() == found.keys()
    for pair, edge in known.items():
        # Products of unit columns are sums of n rounded terms, and what is left of the squares
        # may be a millionth of them before it is found in another way.
        assert found[pair].correlation == pytest.approx(edge.correlation, abs=1e-8)
        assert found[pair].p_value == pytest.approx(edge.p_value, rel=1e-5)
        assert found[pair].adjusted == pytest.approx(edge.adjusted, rel=1e-5)


def problem(seed, nodes=60, rows=700, degree=5):
    dag = gn.simulate.erdos_renyi(nodes, degree, seed=seed)
    network = gn.simulate.random_network(dag, seed=seed)
    return dag, np.array(network.sample(rows, seed=seed + 1))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("adjust", ["holm", "benjamini-hochberg"])
def test_screening_changes_no_answer(seed, adjust, monkeypatch):
    dag, rows = problem(seed, rows=(300, 512, 700)[seed % 3])
    fewer = gn.Dag.from_edges([e for k, e in enumerate(dag.edges) if k % 7], nodes=dag.nodes)
    fit = gn.fit(rows, fewer, intercept=seed % 4 > 0)
    plain, _ = checked(fit, monkeypatch, screened=False, listed=100, adjust=adjust)
    found, used = checked(fit, monkeypatch, screened=True, listed=100, adjust=adjust)
    assert used
    assert len(plain) > 20
    same(plain, found)


def _shifted(rows):
    rows += 1e8


def _rescaled(rows):
    rows *= 10.0 ** np.linspace(-100, 100, rows.shape[1])


def _copied(rows):
    noise = np.random.default_rng(0).normal(size=len(rows))
    rows[:, 40] = rows[:, 3] + 1e-5 * rows[:, 3].std() * noise


def _doubled(rows):
    rows[:, 40] = 2.0 * rows[:, 3]


def _explained(rows):
    rows[:, 50] = rows[:, :5].sum(axis=1) + 1e-6 * rows[:, 50]


@pytest.mark.parametrize("change", [_shifted, _rescaled, _copied, _doubled, _explained])
@pytest.mark.parametrize("seed", range(3))
def test_screening_changes_no_answer_of_awkward_rows(change, seed, monkeypatch):
    dag, rows = problem(seed)
    change(rows)
    fit = gn.fit(rows, dag)
    plain, _ = checked(fit, monkeypatch, screened=False, listed=100)
    found, used = checked(fit, monkeypatch, screened=True, listed=100)
    assert used
    same(plain, found)


@pytest.mark.parametrize("rows", [8, 12])
def test_screening_changes_no_answer_of_few_rows(rows, monkeypatch):
    dag, values = problem(5, rows=rows)
    fit = gn.fit(values, dag)
    plain, _ = checked(fit, monkeypatch, screened=False, listed=100)
    found, _ = checked(fit, monkeypatch, screened=True, listed=100)
    same(plain, found)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda rows: rows.astype(np.float32)])
def test_screening_reads_any_layout(layout, monkeypatch):
    dag, rows = problem(2)
    fit = gn.fit(layout(rows), dag)
    plain, _ = checked(fit, monkeypatch, screened=False, listed=100)
    found, used = checked(fit, monkeypatch, screened=True, listed=100)
    assert used
    same(plain, found)


@pytest.mark.parametrize("value", [0.0, 7.0, 1e160])
def test_columns_without_noise_or_digits_are_not_screened(value):
    rows = np.random.default_rng(0).normal(size=(50, 3))
    rows[:, 1] = value * (1.0 + (value > 1e100) * rows[:, 0])
    assert unit_columns(rows, np.arange(3), True) is None


@pytest.mark.parametrize("rows", [5, 256, 257, 3_000])
def test_products_in_single_precision_are_within_their_bound(rows):
    rng = np.random.default_rng(rows)
    values = rng.normal(size=(rows, 40))
    values[:, ::2] = np.abs(values[:, ::2]) + 1.0  # terms of one sign add up their errors
    units = unit_columns(values, np.arange(40), False)
    products, error = single_products(units)
    exact = units.astype(np.longdouble) @ units.T.astype(np.longdouble)
    assert np.abs(products - exact).max() <= error
    assert error < 3e-5


def test_products_of_several_blocks_keep_their_bound_on_both_sides(monkeypatch):
    monkeypatch.setattr(screening, "BLOCK", 16)
    units = unit_columns(np.random.default_rng(1).normal(size=(600, 50)), np.arange(50), True)
    products, error = single_products(units)
    for found in (products, products.T):  # BLAS promises no symmetry within a block
        np.testing.assert_allclose(found, units @ units.T, rtol=0.0, atol=error)
