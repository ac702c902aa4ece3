"""Sifted medians are the medians: the same bits as from all values kept and searched."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet import kernels
from gaussnet.fitting import phases, sifting
from gaussnet.fitting.folds import Work
from gaussnet.fitting.portions import Portion, make_portions
from gaussnet.kernels.numpy_medians import Sieve
from gaussnet.methods.base import Equations, Stripe
from gaussnet.methods.medians.sifting import Siftings, draw_rows, kept_share, sample_rows

METHODS = [
    kind(windows) for kind in (gn.CauchyTree, gn.Cauchy) for windows in ("disjoint", "sliding")
]
DAG = gn.simulate.erdos_renyi(12, 4, seed=3)
NETWORK = gn.simulate.random_network(DAG, seed=4)


@pytest.fixture
def sifted(monkeypatch):
    """Sift however few the values are."""
    monkeypatch.setattr(sifting, "LEAST_ROWS", 1)
    monkeypatch.setattr(sifting, "LEAST_VALUES", 1)


def kept_whole(data, method, **settings):
    """The fit that keeps all values and searches them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sifting, "LEAST_ROWS", 1 << 60)
        return gn.fit(data, DAG, method, **settings)


def assert_same(one, other):
    assert one.network == other.network
    for name in ("batches", "singular", "ranks", "rows"):
        np.testing.assert_array_equal(getattr(one.details, name), getattr(other.details, name))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_sifting_changes_no_bit_of_a_fit(sifted, method, scale, intercept):
    data = NETWORK.sample(3_001, seed=5)
    settings = {"scale": scale, "intercept": intercept}
    whole = kept_whole(data, method, **settings)
    for threads, page_rows in ((1, None), (2, None), (1, 1_000)):
        if page_rows:
            whole = kept_whole(data, method, page_rows=page_rows, **settings)
        fit = gn.fit(data, DAG, method, threads=threads, page_rows=page_rows, **settings)
        assert_same(fit, whole)


@pytest.mark.parametrize("rows", [8, 65, 700])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_few_rows_are_sifted_all_the_same(sifted, method, rows):
    data = NETWORK.sample(rows, seed=6)
    dag = gn.Dag.from_edges([(DAG.nodes[0], DAG.nodes[1])], nodes=DAG.nodes)
    fit = gn.fit(data, dag, method, scale="mad")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sifting, "LEAST_ROWS", 1 << 60)
        assert_same(fit, gn.fit(data, dag, method, scale="mad"))


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("kind", ["sorted", "drifting", "two halves", "integers", "repeated"])
def test_rows_in_any_order_and_with_ties_give_the_exact_medians(sifted, method, kind):
    data = NETWORK.sample(2_500, seed=7)
    if kind == "sorted":
        data = data[np.argsort(data[:, 5])]
    elif kind == "drifting":
        data = data * np.linspace(0.01, 10.0, len(data))[:, None]
    elif kind == "two halves":
        data[1_250:, ::2] *= -3.0
    elif kind == "integers":
        data = np.round(data)
    else:
        data[1_250:] = data[:1_250]
    assert_same(gn.fit(data, DAG, method, scale="mad"), kept_whole(data, method, scale="mad"))


def portion(data, intercept=False):
    [own] = make_portions(data, DAG.families, intercept, 1 << 16, False)
    return own


def test_what_a_sieve_misses_is_learnt_from_all_values(sifted, monkeypatch):
    data = NETWORK.sample(2_000, seed=8)
    method = gn.Cauchy("disjoint")
    whole = phases._folded(method, portion(data), Work(1, 1 << 23))
    misled = Siftings.sieve

    def beside(self):
        sieve = misled(self)
        lows, highs = sieve.lows.copy(), sieve.highs.copy()
        lows[::3], highs[::3] = 1e6, 2e6  # where no median is
        return Sieve(lows, highs, sieve.shares)

    monkeypatch.setattr(Siftings, "sieve", beside)
    _, missed, _ = sifting.sift_medians(method, portion(data), Work(1, 1 << 23), False)
    found = phases.find_coefficients(method, portion(data), Work(1, 1_000))
    assert 0 < len(missed) <= len(DAG)
    np.testing.assert_array_equal(found.coefficients, whole.coefficients)
    np.testing.assert_array_equal(found.batches, whole.batches)
    spread = phases.find_spread(gn.Mad(), portion(data), whole.coefficients, Work(1, 1 << 23))
    other = phases._folded_spread(gn.Mad(), portion(data), whole.coefficients, Work(1, 1 << 23))
    np.testing.assert_array_equal(spread.variances, other.variances)


def test_singular_windows_are_set_aside_and_counted(sifted):
    data = NETWORK.sample(3_000, seed=9)
    data[600:900] = 0.0
    fit = gn.fit(data, DAG, "cauchy-tree", intercept=False)
    singular = fit.details.singular[DAG.in_degrees > 0]
    assert (singular > 300 // (DAG.max_in_degree + 1)).all()
    assert_same(fit, kept_whole(data, "cauchy-tree", intercept=False))


def test_a_sieve_runs_out_of_room_and_takes_more():
    data = NETWORK.sample(1_000, seed=10)
    own = portion(data)
    families, stripe = own.equations.families, Stripe(data, 0, len(data))
    everything = Sieve.open(len(families.parents))
    little = Sieve(everything.lows, everything.highs, np.full(len(families.parents), 1e-6))
    one, other = (
        kernels.sift_solutions(stripe, families, (True, False), None, sieve)
        for sieve in (everything, little)
    )
    np.testing.assert_array_equal(one.kept, other.kept)
    np.testing.assert_array_equal(one.starts, other.starts)


def test_a_sample_is_spread_over_all_pages():
    pages = [np.arange(first, first + 5_000.0)[:, None] for first in (0, 5_000, 10_000)]
    drawn = draw_rows(pages).ravel()
    wanted = sample_rows(15_000)
    assert abs(len(drawn) - wanted) <= 3 * 64
    assert set(drawn) <= set(range(15_000))
    assert np.histogram(drawn, bins=5, range=(0, 15_000))[0].min() > 0.5 * wanted / 5


def test_sieves_keep_a_small_share_of_a_million_rows():
    data = np.random.default_rng(11).standard_cauchy((40_000, 1))
    equations = Equations(gn.Dag.from_edges([], nodes=["a"]).families, False)
    own = Portion(np.array([0]), equations, [data])
    sample = draw_rows([data])
    none = np.zeros(0)
    sieve = Siftings(
        (kernels.sift_residuals(sample, equations.families, none, None, Sieve.open(1)),)
    ).sieve()
    kept = kernels.sift_residuals(data, equations.families, none, None, sieve).kept
    # The bracket's content has the mean that kept_share says, and a standard deviation of
    # sqrt(share / sample) about it; five of these.
    share = kept_share(len(data), 1)
    assert abs(len(kept) / len(data) - share) < 5.0 * np.sqrt(share / len(sample))
    assert sifting.sifted_residuals(own) is None
