"""Sums over all rows from those over a sample."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.data.passes import Stripe
from gaussnet.methods.robust.control_variate import ControlVariate, moved
from gaussnet.methods.robust.judge import Judge
from gaussnet.methods.robust.samples import SamplePass, row_keys

DAG = gn.Dag.parse("[a][b|a][c|a:b]", nodes=["a", "b", "c"])
NETWORK = gn.simulate.random_network(DAG, seed=3, weights=(0.5, 1.5))


def other_network(part):
    """A network whose parameters differ from the first in this part of their size."""
    shifts = part * np.array([1.0, -2.0, 0.5])
    slopes = NETWORK.coefficient_array * (1.0 + part)
    return gn.GaussianNetwork.from_arrays(
        DAG, slopes, NETWORK.variance_array * (1.0 - part), shifts
    )


def rows_of(count, seed=0):
    rows = np.array(NETWORK.sample(count, seed=seed))
    rows[::20, 1] += 7.0
    return rows


def test_a_sample_of_all_rows_is_exact():
    rows = rows_of(400)
    here, there = (Judge.of_network(one) for one in (NETWORK, other_network(0.1)))
    sums = here.judged(rows).sums
    found = ControlVariate.of(here.mixture, sums, sums).total(
        there.mixture, there.judged(rows).sums
    )
    for one, other in zip(found, there.judged(rows).sums, strict=True):
        # What is left of the first sums is 0.
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_parameters_that_stay_give_the_sums_of_all_rows():
    rows = rows_of(2_000)
    judge = Judge.of_network(NETWORK)
    total, some = judge.judged(rows).sums, judge.judged(rows[:100]).sums
    found = ControlVariate.of(judge.mixture, total, some).total(judge.mixture, some)
    for one, other in zip(found, total, strict=True):
        # T - (n/m) S + (n/m) S with sums of 2,000 terms of size 1 to 100.
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-9)


def test_the_change_alone_is_left_to_chance():
    rows = rows_of(20_000)
    here, there = (Judge.of_network(one) for one in (NETWORK, other_network(0.01)))
    exact = there.judged(rows).sums.products
    before = here.judged(rows).sums
    errors, plain = [], []
    for first in range(0, 20_000, 1_000):
        some = rows[first : first + 1_000]
        own = there.judged(some).sums
        variate = ControlVariate.of(here.mixture, before, here.judged(some).sums)
        errors.append(variate.total(there.mixture, own).products - exact)
        plain.append(20.0 * own.products - exact)
    # Parameters move by 1 %, so that the change is a hundredth of the sums or so.
    assert np.std(errors, axis=0).max() < 0.05 * np.std(plain, axis=0).max()


def test_sums_about_other_points():
    rows = rows_of(300)
    centre = np.array([0.3, -1.0, 2.0])
    judge = Judge.of_network(NETWORK)
    mixture, sums = judge.mixture, judge.judged(rows).sums
    found = moved(sums, mixture.layout, centre, np.zeros(3))
    one, other = mixture.layout.pairs
    filled = judge.judged(rows).filled - mixture.equation.means
    about = filled + centre
    # Products of expectations and of their moves; the covariances of cells in doubt stay.
    differences = (about[:, one] * about[:, other] - filled[:, one] * filled[:, other]).sum(axis=0)
    entries = mixture.layout.of_product[0]
    np.testing.assert_allclose(
        found.products[entries] - sums.products[entries], differences, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(found.sums, about.sum(axis=0), rtol=1e-9)


def test_a_sample_does_not_depend_on_stripes():
    page = rows_of(5_000)
    question = SamplePass(500, 5_000)
    whole = question.then(question.summarize(Stripe(page, 0, 5_000)))
    parts = [question.summarize(Stripe(page, at, at + 1_250)) for at in range(0, 5_000, 1_250)]
    merged = parts[0]
    for part in parts[1:]:
        merged = question.merge(merged, part)
    found = question.then(merged)
    assert len(whole.keys) == 500
    np.testing.assert_array_equal(found.rows, whole.rows)
    unlimited = SamplePass(500)
    np.testing.assert_array_equal(
        unlimited.then(unlimited.summarize(Stripe(page, 0, 5_000))).rows, whole.rows
    )


@pytest.mark.parametrize("values", ["continuous", "constant", "holes"])
def test_keys_are_uniform(values):
    rows = np.zeros((20_000, 4))
    if values != "constant":
        rows = np.random.default_rng(1).normal(size=rows.shape).round(1)
    if values == "holes":
        rows[::2, 1] = np.nan
    keys = row_keys(rows, 0, 7).astype(np.float64) / 2.0**64
    # Kolmogorov's distance is below 1.95 / sqrt(n) in 999 of 1,000 samples.
    distance = np.abs(np.sort(keys) - np.arange(0.5, 20_000) / 20_000).max()
    assert distance < 1.95 / np.sqrt(20_000)
