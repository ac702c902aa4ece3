"""Medians looked for where a sample says are the medians, to the last bit, whatever the values."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.forced import KEPT, SAMPLED, STREAMED, fit_with_run
from tests.methods.medians.streams import (
    STREAMS,
    GivenValues,
    medians_of,
    passes_over,
    sorted_median,
)

import gaussnet as gn
from gaussnet import kernels
from gaussnet.data.passes import Limits, Run
from gaussnet.data.sources import ArraySource
from gaussnet.data.table import FileTable, MemoryTable, ask
from gaussnet.data.write import write_rows
from gaussnet.kernels import Ends
from gaussnet.methods.base import Equations
from gaussnet.methods.mad import ResidualValues
from gaussnet.methods.medians.passes import MedianPass, Plan
from gaussnet.types import FloatArray

SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan]


def expected_medians(values: FloatArray) -> FloatArray:
    return np.array([sorted_median(row) for row in values])


def same_bits(left: FloatArray, right: FloatArray) -> bool:
    """Equal in every bit; all NaN are alike."""
    return np.array_equal(left, right, equal_nan=True) and np.array_equal(
        np.signbit(left[~np.isnan(left)]), np.signbit(right[~np.isnan(right)])
    )


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 1_000, 4_097, 60_000])
@pytest.mark.parametrize("sample", [0, 100], ids=["no sample", "a sample"])
def test_streamed_medians_are_the_sorted_medians(kind: str, count: int, sample: int) -> None:
    rng = np.random.default_rng(count)
    values = np.stack([STREAMS[kind](count, rng) for _ in range(3)])
    pages = np.arange(1_000, count, 1_000).tolist()
    (medians, lengths, *_), passes = medians_of(values, pages, sample_rows=sample, capacity=500)
    assert medians.proven.all()
    assert not medians.rank_errors.any()
    assert same_bits(medians.values, expected_medians(values))
    assert medians.used.tolist() == np.count_nonzero(~np.isnan(values), axis=1).tolist()
    assert lengths.tolist() == [count] * 3
    # One pass, two that believe the sample of 60,000 / 64 values, ten that halve it.
    assert passes <= 13


@pytest.mark.parametrize("kind", ["random", "ties", "holes", "constant", "two clusters"])
def test_exchangeable_rows_take_one_pass(kind: str) -> None:
    rng = np.random.default_rng(1)
    values = np.stack([STREAMS[kind](200_000, rng) for _ in range(4)])
    for is_stream in (True, False):
        plan = Plan.of(Limits(200_000, is_stream, Run(**SAMPLED)), 4.0, 4)
        assert not plan.keep_all
        settings = {"sample_rows": plan.sample_rows, "capacity": plan.capacity}
        found, passes = medians_of(values, range(10_000, 200_000, 10_000), **settings)
        assert passes == found.passes == 1
        assert same_bits(found.medians.values, expected_medians(values))


@pytest.mark.parametrize("kind", ["sorted", "reversed", "drifting", "half below half"])
def test_rows_that_drift_take_a_second_pass_that_is_reported(kind: str) -> None:
    values = STREAMS[kind](200_000, np.random.default_rng(2))[None]
    cuts = range(10_000, 200_000, 10_000)
    found, passes = medians_of(values, cuts, sample_rows=7_000, capacity=150_000)
    assert passes == found.passes == 2
    assert same_bits(found.medians.values, expected_medians(values))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_values_any_cuts_and_any_tree_give_the_same_bits(data: st.DataObject) -> None:
    floats = st.one_of(st.floats(width=64), st.integers(-3, 3).map(float), st.sampled_from(SPECIAL))
    row = data.draw(st.lists(floats, max_size=120))
    values = np.array([row, row[::-1], sorted(row, key=str)], dtype=np.float64).reshape(3, -1)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(row)), max_size=8)))
    order = np.random.default_rng(data.draw(st.integers(0, 99)))
    found, _ = medians_of(
        values,
        cuts,
        order,
        sample_rows=data.draw(st.sampled_from([0, 1, 10, 200])),
        capacity=data.draw(st.sampled_from([None, 1, 8, 50])),
        together=data.draw(st.sampled_from([1, 3])),
    )
    with np.errstate(invalid="ignore"):
        assert same_bits(found.medians.values, expected_medians(values))
    assert found.medians.proven.all()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.integers(0, 3_000), st.integers(0, 2**32))
def test_hard_streams_cut_anywhere_give_the_same_bits(kind: str, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.stack([STREAMS[kind](count, rng) for _ in range(2)])
    cuts = np.sort(rng.integers(0, count + 1, rng.integers(0, 30))).tolist()
    capacity = int(rng.choice([1, 40, 400])) if seed % 3 else None
    sample = int(rng.integers(0, 60))
    found, _ = medians_of(values, cuts, rng, sample_rows=sample, capacity=capacity, together=2)
    assert same_bits(found.medians.values, expected_medians(values))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=20),
    st.tuples(st.integers(-13, 13), st.integers(-13, 13)).map(sorted),
    st.sampled_from([None, 1, 3]),
)
def test_any_brackets_end_at_the_exact_medians(
    row: list[int], ends: list[int], capacity: int | None
) -> None:
    # Odd halves are between the values, so that the middle two may lie on either side of an end.
    values = np.array([row], dtype=np.float64)
    low, high = (np.array([end / 2.0]) for end in ends)
    question = MedianPass(
        GivenValues(values),
        finish=lambda found: found,
        keep_all=False,
        capacity=capacity,
        ends=Ends(low, high, np.ones(1)),
    )
    found, passes = passes_over(question, range(4, len(row), 4))
    assert same_bits(found.medians.values, expected_medians(values))
    if capacity is None:
        assert passes <= 3


@pytest.mark.parametrize("page_rows", [500, 7_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_tables_in_memory_give_the_medians_of_all_values(page_rows: int, threads: int) -> None:
    values = np.random.default_rng(3).standard_cauchy((5, 50_001))
    values[2, ::3] = np.nan
    values[3].sort()
    used = np.count_nonzero(~np.isnan(values), axis=1)
    positions = np.arange(50_001.0)[:, None]
    table = MemoryTable.of(positions, ["position"], page_rows, Run(threads))
    keeping_all = Plan(True, None, None, 1.0)
    for plan in (keeping_all, Plan(False, 1_000, None, 1.0), Plan(False, 1_000, 700, 1.0)):
        found = ask(table, MedianPass.first(GivenValues(values), plan, lambda found: found))
        assert same_bits(found.medians.values, expected_medians(values))
        assert np.array_equal(found.medians.used, used)


@pytest.mark.parametrize("kind", ["random", "sorted", "drifting", "random walk"])
def test_ten_million_values_take_two_passes_and_few_megabytes(kind: str) -> None:
    values = STREAMS[kind](10_000_000, np.random.default_rng(8))[None]
    largest = 0

    class Weighed(MedianPass):
        def merge(self, left, right):
            nonlocal largest
            merged = super().merge(left, right)
            sample = () if merged.sample is None else merged.sample.parts
            arrays = [*(part.values for part in merged.kept.parts), *sample]
            largest = max(largest, sum(array.nbytes for array in arrays))
            return merged

    positions = ArraySource(np.arange(10_000_000.0)[:, None])
    table = FileTable(positions, ("position",), 65_536, Run(1), is_complete=True)
    plan = Plan.of(table.limits, 1.0, 1)
    found = ask(table, Weighed.first(GivenValues(values), plan, lambda found: found))
    assert found.medians.values[0] == np.median(values)
    assert found.passes == (1 if kind == "random" else 2)
    # A sample of 93,000 rows has brackets of 148,000 values, and one of 65,536 values reaches as
    # far as 6 of its standard deviations, 768 values, to either side of a median: 234,000 of all.
    # With the sample itself that is 2.4 megabytes, of 80.
    assert largest < 4_000_000


def test_no_rows_of_values_have_no_medians() -> None:
    found, passes = medians_of(np.zeros((0, 50)), [20], sample_rows=10)
    assert (len(found.medians.values), passes) == (0, 1)


METHODS = [
    gn.BatchMedian(8),
    *(kind(windows) for kind in (gn.CauchyTree, gn.Cauchy) for windows in ("disjoint", "sliding")),
]
DAG = gn.simulate.erdos_renyi(12, 4, seed=3)
NETWORK = gn.simulate.random_network(DAG, seed=4)
FEW = {"capacity": 16}


def assert_same(one, other):
    assert one.network == other.network
    for name in ("batches", "singular", "ranks", "rows"):
        np.testing.assert_array_equal(getattr(one.details, name), getattr(other.details, name))


@pytest.fixture
def file_of(tmp_path):
    def put(data):
        write_rows(tmp_path / "rows.parquet", DAG.nodes, [data])
        return tmp_path / "rows.parquet"

    return put


def assert_sampled_as_kept(data, path, method, **settings):
    """Fits with a sample are those that keep all values, in memory and streamed."""
    whole = fit_with_run(Run(**KEPT), data, DAG, method, **settings)
    assert_same(fit_with_run(Run(1, **SAMPLED), data, DAG, method, **settings), whole)
    for run in (Run(2, **SAMPLED, **STREAMED), Run(1, **SAMPLED, **STREAMED, **FEW)):
        assert_same(fit_with_run(run, path, DAG, method, **settings), whole)
    return whole


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_sample_changes_no_bit_of_a_fit(file_of, method, scale, intercept):
    data = NETWORK.sample(3_001, seed=5)
    path = file_of(data)
    for page_rows in (None, 1_000):
        settings = {"scale": scale, "intercept": intercept, "page_rows": page_rows}
        assert_sampled_as_kept(data, path, method, **settings)


@pytest.mark.parametrize("rows", [9, 65, 700])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_few_rows_are_sampled_all_the_same(file_of, method, rows):
    data = NETWORK.sample(rows, seed=6)
    dag = gn.Dag.from_edges([(DAG.nodes[0], DAG.nodes[1])], nodes=DAG.nodes)
    method = gn.BatchMedian(2) if isinstance(method, gn.BatchMedian) else method
    whole = fit_with_run(Run(**KEPT), data, dag, method, scale="mad")
    path = file_of(data)
    for run, given_rows in ((Run(**SAMPLED), data), (Run(**SAMPLED, **STREAMED, **FEW), path)):
        assert_same(fit_with_run(run, given_rows, dag, method, scale="mad"), whole)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("kind", ["sorted", "drifting", "two halves", "integers", "repeated"])
def test_rows_in_any_order_and_with_ties_give_the_exact_medians(file_of, method, kind):
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
    assert_sampled_as_kept(data, file_of(data), method, scale="mad", page_rows=300)


@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_sample_that_says_nothing_of_the_rest_takes_more_passes(file_of, method, scale):
    # The sample of a stream are its first rows: here those of a network with other coefficients.
    other = gn.GaussianNetwork.from_arrays(
        DAG, NETWORK.coefficient_array + 3.0, 1e-4 * NETWORK.variance_array
    )
    data = np.concatenate((other.sample(1_500, seed=8), NETWORK.sample(2_500, seed=9)))
    path = file_of(data)
    run = Run(1, **SAMPLED, **STREAMED)
    whole = assert_sampled_as_kept(data, path, method, scale=scale, page_rows=256)
    fit = fit_with_run(run, path, DAG, method, scale=scale, page_rows=256)
    assert_same(fit, whole)
    (note,) = [note.text for note in fit.notes if "passes" in note.text]
    assert note.startswith("the rows drift, so that exact medians took ")


def test_singular_windows_are_set_aside_and_counted(file_of):
    data = NETWORK.sample(3_000, seed=9)
    data[600:900] = 0.0
    fit = assert_sampled_as_kept(data, file_of(data), "cauchy-tree", intercept=False)
    singular = fit.details.singular[DAG.in_degrees > 0]
    assert (singular > 300 // (DAG.max_in_degree + 1)).all()


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_sample_in_which_a_node_has_no_value_does_no_harm(file_of, method, missing):
    data = NETWORK.sample(6_000, seed=10)
    lacking = np.flatnonzero(DAG.in_degrees)[0]
    data[:3_000, lacking] = np.nan
    settings = {"scale": "mad", "missing": missing, "page_rows": 256}
    assert_sampled_as_kept(data, file_of(data), method, **settings)


def test_kernels_run_out_of_memory_for_what_they_keep_and_take_more():
    data = NETWORK.sample(1_000, seed=10)
    families = DAG.families.sorted_by_size[1]
    everything = Ends.open(len(families.parents))
    little = everything._replace(shares=np.full(len(families.parents), 1e-6))
    one, other = (
        kernels.split_solutions(data, 0, len(data), families, True, False, None, ends, None)
        for ends in (everything, little)
    )
    np.testing.assert_array_equal(one.kept, other.kept)
    np.testing.assert_array_equal(one.starts, other.starts)


def test_a_sample_of_rows_in_memory_is_spread_over_all_pages():
    rows = np.arange(15_000.0)[:, None]
    drawn = MemoryTable.of(rows, ["a"], 5_000).sample(1_200).array.ravel()
    assert abs(len(drawn) - 1_200) <= 3 * 64
    assert set(drawn) <= set(range(15_000))
    assert np.histogram(drawn, bins=5, range=(0, 15_000))[0].min() > 0.5 * 1_200 / 5


def test_brackets_of_a_sample_keep_the_share_that_the_plan_says():
    data = np.random.default_rng(11).standard_cauchy((40_000, 1))
    table = MemoryTable.of(data, ["a"], run=Run(**SAMPLED))
    families = gn.Dag.from_edges([], nodes=["a"]).families
    values = ResidualValues(Equations(families, False, table.limits), np.zeros(0))
    plan = Plan.of(table.limits, 1.0, 1)
    sampled = MedianPass.first(values, plan, lambda found: found)
    asked = sampled.then(table.fold(sampled))
    kept = table.fold(asked).kept.lengths[0]
    # The bracket's content has the mean that the plan says, and a standard deviation of
    # sqrt(share / sample) about it; five of these.
    assert abs(kept / len(data) - plan.share) < 5.0 * np.sqrt(plan.share / plan.sample_rows)
    assert Plan.of(table.limits._replace(run=Run()), 1.0, 1).keep_all
