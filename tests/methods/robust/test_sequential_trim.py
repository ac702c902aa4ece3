"""What the robust estimator promises, on small problems."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.errors import EstimationError, SettingError
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import CONFIRMED, FLAGGED, MISSING
from gaussnet.methods.robust.sequential_trim import SequentialTrim


def learn(x, dag, **options):
    return SequentialTrim().learn(x, dag.families, **options)


def network(seed=0, nodes=40, degree=4, **options):
    dag = gn.simulate.erdos_renyi(nodes, degree, seed=seed)
    return gn.simulate.random_network(dag, seed=seed, intercepts=(-5.0, 5.0), **options)


def contaminated_rows(truth, rows=800, seed=1, **options):
    return gn.simulate.contaminate(truth.sample(rows, seed=seed), seed=seed, **options)


def arrays(solution):
    return np.concatenate((solution.coefficients, solution.intercepts, solution.variances))


def flags(solution, shape):
    flagged = np.zeros(shape, dtype=bool)
    for node, cells in solution.cells.items():
        flagged[cells.rows[cells.statuses == FLAGGED], node] = True
    return flagged


class TestCleanRows:
    def test_answer_is_least_squares_where_nothing_is_rejected(self):
        truth = network()
        x = truth.sample(1000, seed=3)
        solution = learn(x, truth.dag)
        expected = gn.fit(x, truth.dag).network
        untouched = [node for node in range(40) if node not in solution.left_out]
        assert len(untouched) >= 36
        for node in untouched:
            name = truth.dag.nodes[node]
            edges = truth.dag.families.edges_of(np.array([node]))
            for edge, parent in zip(edges, truth.dag.parents(name), strict=True):
                assert solution.coefficients[edge] == expected.coefficients[parent, name]
            assert solution.variances[node] == expected.variances[name]
            assert solution.cutoffs[node] == np.inf
            assert solution.rows[node] == 1000

    def test_kl_optimal_variance_is_that_of_least_squares(self):
        truth = network(nodes=10)
        x = truth.sample(60, seed=1)
        solution = learn(x, truth.dag, scale="kl-optimal")
        expected = gn.fit(x, truth.dag, scale="kl-optimal").network.variance_array
        untouched = [node for node in range(10) if node not in solution.left_out]
        assert len(untouched) >= 8
        assert solution.variances[untouched] == pytest.approx(expected[untouched], rel=1e-12)


class TestWrongRows:
    def test_wrong_cells_are_flagged_with_what_was_expected(self):
        truth = network()
        clean = truth.sample(800, seed=1)
        contaminated = contaminated_rows(truth, share=0.2, pattern="fixed")
        solution = learn(contaminated.data, truth.dag)
        found = flags(solution, contaminated.data.shape)
        assert np.count_nonzero(found & contaminated.cells) == np.count_nonzero(contaminated.cells)
        assert np.count_nonzero(found & ~contaminated.cells) <= 0.02 * np.count_nonzero(
            contaminated.cells
        )
        for node in np.flatnonzero(contaminated.cells.any(axis=0)):
            cells = solution.cells[node]
            distance = (clean[cells.rows, node] - cells.expected) / np.sqrt(cells.variances)
            # The true values scatter about the expected ones by the stated variance; the sample
            # variance of 160 values has a relative standard error of 11 per cent.
            assert np.mean(distance**2) == pytest.approx(1.0, abs=0.4)
            assert np.all(np.diff(cells.rows) > 0)
            own = contaminated.cells[cells.rows, node]
            assert np.all(np.abs(cells.deviations[own]) > solution.cutoffs[node] * 0.9)

    def test_answer_is_least_squares_over_the_right_rows_when_all_wrong_ones_are_found(self):
        dag = gn.Dag.parse("[x][y|x]", nodes="xy")
        rng = np.random.default_rng(5)
        x = rng.standard_normal((500, 2))
        x[:, 1] += 2.0 * x[:, 0]
        x[:200, 1] = 1e6
        solution = learn(x, dag)
        expected = learn(x[200:], dag)
        kept = np.setdiff1d(np.arange(500), solution.left_out[1])
        assert kept.tolist() == list(range(200, 500))
        assert solution.coefficients == pytest.approx(expected.coefficients, rel=1e-9)

    @pytest.mark.parametrize("size", [1e3, 1e9, 1e100, 1e300])
    def test_size_of_garbage_does_not_matter(self, size):
        truth = network(nodes=15)
        contaminated = contaminated_rows(truth, share=0.1, pattern="cells")
        x = np.where(contaminated.cells, size * np.sign(contaminated.data), contaminated.data)
        solution = learn(x, truth.dag)
        found = gn.GaussianNetwork.from_arrays(
            truth.dag, solution.coefficients, solution.variances, solution.intercepts
        )
        # The information limit of the 800 rows; of most families half the rows are right.
        limit = (len(truth.dag.edges) + 2 * 15) / (2 * 800)
        assert gn.kl_divergence(truth, found) < 3 * limit

    @pytest.mark.parametrize("seed", range(6))
    def test_squares_that_overflow_are_no_error(self, seed):
        rng = np.random.default_rng(seed)
        x = np.cumsum(rng.standard_normal((8, 3)), axis=1)
        x[rng.random(x.shape) < 0.4] = 1e300
        solution = learn(x, gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc"), intercept=False)
        assert (solution.variances >= 0.0).all()

    def test_real_events_are_confirmed_and_taken_back_as_good_leverage_points(self):
        dag = gn.simulate.chain(4)
        truth = gn.simulate.random_network(dag, seed=0)
        x = truth.sample(1000, seed=0)
        event = np.zeros(x.shape)
        event[:50, 1] = 50.0
        event[:50, 2] = 50.0 * truth.coefficient_array[1]
        event[:50, 3] = event[:50, 2] * truth.coefficient_array[2]
        solution = learn(x + event, dag)
        cells = solution.cells[1]
        assert cells.rows[cells.statuses == CONFIRMED].tolist() == list(range(50))
        assert len(solution.left_out.get(2, ())) < 5
        # The events make the slope ten times as sharp as its standard error on clean rows.
        assert solution.coefficients[1] == pytest.approx(truth.coefficient_array[1], abs=0.015)

    def test_wrong_record_is_not_confirmed_by_children_that_know_nothing_of_it(self):
        dag = gn.simulate.chain(4)
        truth = gn.simulate.random_network(dag, seed=0)
        x = truth.sample(1000, seed=0)
        x[:50, 1] += 50.0
        solution = learn(x, dag)
        cells = solution.cells[1]
        assert cells.rows[cells.statuses == FLAGGED].tolist() == list(range(50))
        others = [cells.flagged for node, cells in solution.cells.items() if node != 1]
        assert sum(others) <= 3

    def test_scale_mean_square_counts_the_outliers_of_rows_with_sound_parents(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((1000, 1))
        x[:50] = 10.0
        dag = gn.Dag.from_edges([], nodes=["x"])
        core = learn(x, dag, intercept=False)
        all_rows = learn(x, dag, intercept=False, scale="mean-square")
        assert core.variances[0] == pytest.approx(1.0, abs=0.15)
        assert all_rows.variances[0] == pytest.approx(np.mean(x**2))


class TestInvariance:
    def test_order_of_rows_does_not_matter(self):
        truth = network()
        x = contaminated_rows(truth, share=0.05, pattern="cells").data
        order = np.random.default_rng(0).permutation(len(x))
        one, other = learn(x, truth.dag), learn(x[order], truth.dag)
        assert arrays(other) == pytest.approx(arrays(one), rel=1e-10, abs=1e-10)
        assert np.array_equal(flags(other, x.shape), flags(one, x.shape)[order])

    def test_units_of_columns_do_not_matter(self):
        truth = network()
        x = contaminated_rows(truth, share=0.05, pattern="cells").data
        units = 10.0 ** np.random.default_rng(0).uniform(-6, 6, x.shape[1])
        one, other = learn(x, truth.dag), learn(x * units, truth.dag)
        families = truth.dag.families
        ratios = units[families.children[families.family_of_edge]] / units[families.parents]
        assert other.coefficients == pytest.approx(one.coefficients * ratios, rel=1e-10)
        assert other.variances == pytest.approx(one.variances * units**2, rel=1e-10)
        assert np.array_equal(flags(other, x.shape), flags(one, x.shape))

    def test_origin_of_columns_does_not_matter_with_an_intercept(self):
        truth = network()
        x = contaminated_rows(truth, share=0.05, pattern="cells", value="shift").data
        shift = np.random.default_rng(0).uniform(-1e6, 1e6, x.shape[1])
        one, other = learn(x, truth.dag), learn(x + shift, truth.dag)
        # Adding 1e6 rounds the data to 1e-10.
        assert other.coefficients == pytest.approx(one.coefficients, abs=1e-8)
        assert other.variances == pytest.approx(one.variances, rel=1e-8)

    @pytest.mark.parametrize("rows", [500, 25_000])
    def test_threads_and_layout_do_not_matter(self, rows):
        truth = network(nodes=20)
        x = contaminated_rows(truth, rows=rows, share=0.05, pattern="cells").data
        one = learn(x, truth.dag)
        assert np.array_equal(arrays(learn(x, truth.dag, threads=4)), arrays(one))
        fortran = learn(np.asfortranarray(x), truth.dag)
        assert arrays(fortran) == pytest.approx(arrays(one), rel=1e-10, abs=1e-10)
        single = x.astype(np.float32)
        expected = arrays(learn(single.astype(np.float64), truth.dag))
        assert arrays(learn(single, truth.dag)) == pytest.approx(expected, rel=1e-10, abs=1e-10)


class TestMissingCells:
    def test_missing_cells_are_expected_from_the_parents(self):
        truth = network()
        x = truth.sample(1000, seed=2)
        holes = np.random.default_rng(0).random(x.shape) < 0.05
        solution = learn(np.where(holes, np.nan, x), truth.dag)
        assert np.isfinite(arrays(solution)).all()
        distances = []
        for node, cells in solution.cells.items():
            missing = cells.rows[cells.statuses == MISSING]
            assert np.array_equal(missing, np.flatnonzero(holes[:, node]))
            own = cells.statuses == MISSING
            assert np.isnan(cells.deviations[own]).all()
            error = x[missing, node] - cells.expected[own]
            distances.append(error**2 / cells.variances[own])
        # About 2,000 squared deviations of mean 1, those of one row dependent.
        assert np.mean(np.concatenate(distances)) == pytest.approx(1.0, abs=0.15)

    def test_column_without_a_complete_row_is_an_error(self):
        x = np.random.default_rng(0).standard_normal((30, 2))
        x[::2, 0] = np.nan
        x[1::2, 1] = np.nan
        with pytest.raises(EstimationError, match="column 1 has no row"):
            learn(x, gn.Dag.parse("[a][b|a]", nodes="ab"))


class TestEdges:
    @pytest.mark.parametrize("intercept", [False, True])
    @pytest.mark.parametrize("rows", [1, 2, 3, 5, 8])
    def test_few_rows_give_least_squares(self, rows, intercept):
        truth = network(nodes=12)
        x = truth.sample(rows, seed=0)
        solution = learn(x, truth.dag, intercept=intercept)
        assert np.isfinite(arrays(solution)).all()

    def test_empty_graph_has_an_empty_answer(self):
        empty = Families(np.arange(0), np.zeros(1, dtype=np.int64), np.arange(0))
        solution = SequentialTrim().learn(np.zeros((5, 0)), empty)
        assert len(solution.coefficients) == len(solution.variances) == 0

    def test_constant_columns_have_variance_zero(self):
        x = np.random.default_rng(0).standard_normal((100, 3))
        x[:, 0] = 7.0
        x[:, 2] = 2.0 * x[:, 1] + 7.0
        solution = learn(x, gn.Dag.parse("[a][b|a][c|b:a]", nodes="abc"))
        assert solution.intercepts[0] == 7.0
        assert solution.variances[0] == 0.0
        assert solution.variances[2] == pytest.approx(0.0, abs=1e-28)
        assert not solution.cells

    def test_exact_equation_with_wrong_cells_is_found(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((300, 2))
        x[:, 1] = 3.0 * x[:, 0] - 1.0
        x[:60, 1] = rng.standard_normal(60)
        solution = learn(x, gn.Dag.parse("[a][b|a]", nodes="ab"))
        assert solution.coefficients[0] == pytest.approx(3.0, abs=1e-12)
        assert solution.cells[1].flagged == 60

    def test_collinear_parents_lose_rank_not_the_fit(self):
        rng = np.random.default_rng(0)
        a, b, noise = rng.standard_normal((3, 400))
        x = np.column_stack((a, a, a + b, 2.0 * a + noise))
        x[:40, 3] = 500.0
        solution = learn(x, gn.Dag.parse("[a][b|a][c|a][d|a:b]", nodes="abcd"))
        assert solution.ranks.tolist() == [0, 1, 1, 1]
        assert solution.coefficients[-2:].sum() == pytest.approx(2.0, abs=0.3)


class TestSettings:
    @pytest.mark.parametrize(
        "options",
        [
            {"gate_level": 0.0},
            {"gate_level": 0.1},
            {"half_level": 1.0},
            {"cap": 0.0},
            {"evidence": float("nan")},
        ],
    )
    def test_impossible_settings_are_refused(self, options):
        with pytest.raises(SettingError, match=next(iter(options))):
            SequentialTrim(**options)

    def test_unknown_scale_is_refused(self):
        with pytest.raises(SettingError, match="'core', 'kl-optimal', 'mean-square'"):
            learn(np.zeros((3, 1)), gn.Dag.from_edges([], nodes=["a"]), scale="mad")
