"""The estimator keeps scikit-learn's rules, and says what the network says."""

import os
import pickle
import subprocess
import sys

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.model.exact import log_density_rounding

import gaussnet as gn
from gaussnet.errors import DataError, EstimationError, GraphError, NetworkError, SettingError
from gaussnet.sklearn import GaussianBayesianNetwork, robust_score, simplest_within_noise
from gaussnet.sklearn.estimator import quartiles

DAG = gn.Dag.parse("[a][b|a][c|a:b][d]", nodes="abcd")
CHECKED = [
    GaussianBayesianNetwork(),
    GaussianBayesianNetwork(target=0),
    GaussianBayesianNetwork(intercept=False),
    GaussianBayesianNetwork(scale="mad"),
    GaussianBayesianNetwork(method="robust"),
]
UNWEIGHTED = [{"scale": "mad"}, {"method": "robust"}]
NO_WEIGHTS = "medians and the robust method cannot use weights other than 1, and say so"


def not_kept(estimator):
    """The rules that give weights other than 1, where the estimator refuses such weights."""
    if not any(settings.items() <= estimator.get_params().items() for settings in UNWEIGHTED):
        return {}
    rules = ["list", "not_overwritten"]
    names = [f"check_sample_weights_{rule}" for rule in rules]
    return dict.fromkeys([*names, "check_sample_weight_equivalence_on_dense_data"], NO_WEIGHTS)


@parametrize_with_checks(CHECKED, expected_failed_checks=not_kept)
def test_the_rules_of_scikit_learn_are_kept(estimator, check):
    check(estimator)


def test_no_rule_is_skipped_either():
    """One check runs only where SciPy's array API is switched on before anything is imported."""
    script = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from gaussnet.sklearn import GaussianBayesianNetwork\n"
        "found = check_estimator(GaussianBayesianNetwork(), on_skip=None, on_fail='raise')\n"
        "print(sorted({one['status'] for one in found}), len(found) > 30)\n"
    )
    places = {"PYTHONPATH": os.pathsep.join(sys.path), "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **places},
        check=False,
    )
    assert run.stdout.strip() == "['passed'] True", run.stderr


@pytest.mark.parametrize("settings", UNWEIGHTED, ids=str)
def test_weights_that_cannot_be_used_are_refused_unless_all_are_1(settings, frame):
    model = GaussianBayesianNetwork(DAG, **settings)
    alike = clone(model).fit(frame, sample_weight=np.ones(len(frame)))
    assert alike.network_ == model.fit(frame).network_
    for weights in ([3] * len(frame), [10] + [1] * (len(frame) - 1)):
        with pytest.raises(SettingError, match=r"got weights with method=.*give method='least-sq"):
            model.fit(frame, sample_weight=weights)


def test_weights_that_are_all_1_say_nothing(frame):
    plain = GaussianBayesianNetwork(DAG).fit(frame)
    model = GaussianBayesianNetwork(DAG).fit(frame, sample_weight=[1] * len(frame))
    assert model.network_ == plain.network_
    errors, expected = model.fit_.standard_errors, plain.fit_.standard_errors
    assert dict(errors.coefficients) == dict(expected.coefficients)


@pytest.mark.parametrize("seed", range(5))
def test_the_least_noise_of_weighted_rows_is_that_of_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(rng.integers(1, 30), 3)), 1)
    weights = rng.integers(0, 4, len(rows))
    weights[0] = 1
    expected = quartiles(np.repeat(rows, weights, axis=0))
    for factor in (1.0, 2.0**-20, 3.0):
        np.testing.assert_array_equal(quartiles(rows, factor * weights), expected)


@pytest.fixture
def truth():
    return gn.simulate.random_network(DAG, seed=1)


@pytest.fixture
def frame(truth):
    return pd.DataFrame(truth.sample(400, seed=2), columns=list(DAG.nodes))


FORMS = {
    "dag": DAG,
    "other order": gn.Dag.from_edges(DAG.edges, nodes=["d", "c", "b", "a"]),
    "model string": "[d][a][b|a][c|a:b]",
    "formulas": "c ~ a + b; b ~ a; d",
    "edges": [("a", "b"), ("a", "c"), ("b", "c")],
    "numbers": [(0, 1), (0, 2), (1, 2)],
    "adjacency": np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    "networkx": networkx.DiGraph([("a", "b"), ("a", "c"), ("b", "c"), ("d", "d2")][:3]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_graph_may_come_in_any_form(form, frame):
    model = GaussianBayesianNetwork(FORMS[form]).fit(frame)
    nodes = [node for node in DAG.nodes if form != "networkx" or node != "d"]
    expected = gn.fit(frame[nodes], gn.Dag.from_edges(DAG.edges, nodes=nodes)).network
    assert model.network_ == expected
    assert model.get_feature_names_out().tolist() == nodes
    gap = model.score_samples(frame) - expected.log_density(frame[nodes])
    assert (np.abs(gap) <= log_density_rounding(expected, frame[nodes])).all()
    assert clone(model).fit(frame).network_ == expected


def test_columns_are_found_by_name_in_any_order(frame):
    shuffled = frame[["c", "d", "a", "b"]]
    model = GaussianBayesianNetwork("[a][b|a][c|a:b]").fit(shuffled)
    assert model.dag_.nodes == ("c", "a", "b")
    assert model.n_features_in_ == 4
    drawn = model.sample(5, random_state=0)
    assert drawn.shape == (5, 3)
    np.testing.assert_array_equal(drawn, model.sample(5, random_state=0))
    straight = gn.fit(frame, gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")).network
    np.testing.assert_allclose(model.score(shuffled), straight.score(frame), rtol=1e-12)
    assert model.get_feature_names_out(list("cdab")).tolist() == ["c", "a", "b"]


def test_columns_without_names_stand_in_the_order_of_the_nodes(frame):
    rows = frame.to_numpy()
    model = GaussianBayesianNetwork(DAG).fit(rows)
    assert model.network_ == gn.fit(rows, DAG).network
    digits = gn.Dag.from_edges([(2, 0), (0, 1)], nodes=[3, 2, 1, 0])
    by_number = GaussianBayesianNetwork(digits).fit(rows)
    assert by_number.dag_.nodes == ("0", "1", "2", "3")
    assert set(by_number.dag_.edges) == {("2", "0"), ("0", "1")}
    same = GaussianBayesianNetwork([(2, 0), (0, 1)]).fit(rows)
    assert same.score(rows) == by_number.score(rows)
    assert same.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert same.get_feature_names_out(list("wxyz")).tolist() == ["w", "x", "y", "z"]


def test_frames_of_polars_are_taken(frame):
    table = pl.from_pandas(frame)
    model = GaussianBayesianNetwork(DAG).fit(table)
    assert model.network_ == gn.fit(frame, DAG).network
    assert model.score(table) == model.score(frame)


def test_without_a_graph_it_is_the_unconstrained_gaussian(frame):
    model = GaussianBayesianNetwork().fit(frame)
    rows = frame.to_numpy()
    np.testing.assert_allclose(model.network_.mean(), rows.mean(axis=0), atol=1e-12)
    covariance = np.cov(rows.T, bias=True)
    np.testing.assert_allclose(model.network_.covariance(), covariance, rtol=1e-9)


def conditional_means(network, rows):
    """Column by column from the dense covariance."""
    mean, covariance = network.mean(), network.covariance()
    found = np.empty_like(rows)
    for node in range(len(mean)):
        rest = np.delete(np.arange(len(mean)), node)
        gain = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, node])
        found[:, node] = mean[node] + (rows[:, rest] - mean[rest]) @ gain
    return found


@pytest.mark.parametrize("dag", [DAG, None, "[a|c][b|a][c][d|a:b]"])
def test_predictions_are_conditional_means(dag, frame):
    model = GaussianBayesianNetwork(dag).fit(frame)
    found = model.predict(frame)
    expected = conditional_means(model.network_, frame.to_numpy())
    # four nodes, condition number of the covariance below 1e4
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    for column, name in enumerate("abcd"):
        alone = model.predict(frame, target=name)
        np.testing.assert_allclose(alone, found[:, column], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(alone, model.predict(frame, target=column))
        np.testing.assert_array_equal(alone, model.predict(frame.drop(columns=name), target=name))
        assert np.array_equal(alone, clone(model).set_params(target=name).fit(frame).predict(frame))
    np.testing.assert_array_equal(model.predict(frame, -1), model.predict(frame, "d"))


def test_predictions_do_not_look_at_the_target(frame):
    model = GaussianBayesianNetwork(DAG, target="c").fit(frame)
    assert np.array_equal(model.predict(frame), model.predict(frame.assign(c=1e12)))
    rows = frame.to_numpy()
    bare = GaussianBayesianNetwork(DAG, target=2).fit(rows)
    assert np.array_equal(bare.predict(rows), bare.predict(np.delete(rows, 2, axis=1)))


def test_columns_that_others_determine_have_a_density_unless_told(frame):
    twice = frame.assign(e=frame["a"] - 2 * frame["c"])
    model = GaussianBayesianNetwork(target="a").fit(twice)
    assert model.fit_.network.variances["e"] == 0.0
    # 400 rows: a quarter of them do not exceed the 100th, three quarters not the 300th
    ordered = np.sort(twice["e"])
    floor = 1e-12 * (ordered[299] - ordered[99]) ** 2
    np.testing.assert_allclose(model.network_.variances["e"], floor, rtol=1e-12)
    assert np.isfinite(model.score(twice))
    # e and c tell a; the floor is 1e-6 of a standard deviation
    np.testing.assert_allclose(model.predict(twice), twice["a"], atol=1e-4)
    strict = GaussianBayesianNetwork(variance_floor=0).fit(twice)
    with pytest.raises(NetworkError, match="the node 'e' has variance 0"):
        strict.score(twice)
    with pytest.raises(SettingError, match="variance_floor=-1"):
        GaussianBayesianNetwork(variance_floor=-1).fit(twice)


def test_a_constant_column_is_learnt_but_has_no_density(frame):
    model = GaussianBayesianNetwork().fit(frame.assign(e=1.0))
    with pytest.raises(NetworkError, match="the node 'e' has variance 0"):
        model.score(frame.assign(e=1.0))


def test_it_scores_samples_and_travels(frame):
    model = GaussianBayesianNetwork(DAG).fit(frame)
    assert model.score(frame) == pytest.approx(gn.fit(frame, DAG).network.score(frame), rel=1e-12)
    again = pickle.loads(pickle.dumps(model))
    assert again.network_ == model.network_
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(
        model.sample(4, random_state=generator), model.network_.sample(4, seed=3)
    )
    assert model.sample().shape == (1, 4)


def test_samples_have_the_learnt_moments(frame):
    model = GaussianBayesianNetwork(DAG).fit(frame)
    drawn = model.sample(50_000, random_state=1)
    scales = np.sqrt(np.diag(model.network_.covariance()))
    # 4.5 standard errors of a mean of 50,000
    assert (abs(drawn.mean(axis=0) - model.network_.mean()) < 4.5 * scales / 50_000**0.5).all()


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"dag": "[a][z|a]"}, GraphError, "X has no column for 'z'"),
        ({"dag": [("a", "z")]}, GraphError, "'z', which is not among the nodes"),
        ({"dag": [(0, 7)]}, GraphError, "there is no column 7"),
        ({"dag": 3}, SettingError, "got dag of type int, expected a gaussnet.Dag, a model text"),
        ({"dag": ["ab", "abc"]}, GraphError, "got the edge 'abc'"),
        ({"dag": [("a", "b"), ("b", "a")]}, GraphError, "cycle"),
        ({"method": "nothing"}, SettingError, "got method='nothing'"),
        ({"scale": "nothing"}, SettingError, "got scale='nothing'"),
        ({"dag": "[a][b][c][d]", "target": "z"}, GraphError, "no node 'z'"),
        ({"dag": "[b|c][c][d]", "target": "a"}, GraphError, "no node 'a'"),
        ({"dag": "[b|c][c][d]", "target": 0}, DataError, "got target=0, expected a column"),
        ({"target": 1.5}, SettingError, "got target=1.5"),
    ],
)
def test_wrong_settings_are_one_sentence(frame, settings, error, sentence):
    with pytest.raises(error, match=sentence):
        GaussianBayesianNetwork(**settings).fit(frame).predict(frame)


def test_wrong_rows_are_refused(frame):
    model = GaussianBayesianNetwork(DAG)
    with pytest.raises(NotFittedError):
        model.sample()
    with pytest.raises(GraphError, match="has 4 nodes and X has 3 columns without names"):
        model.fit(frame.to_numpy()[:, :3])
    with pytest.raises(EstimationError, match="needs 22"):
        clone(model).set_params(method="batch-median").fit(frame[:5])
    model.fit(frame)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(frame.assign(a=np.nan), target="b")
    with pytest.raises(SettingError, match="is not equal to feature_names_in_"):
        model.get_feature_names_out(list("abcx"))
    with pytest.raises(SettingError, match="has 2 names"):
        model.get_feature_names_out(["a", "b"])


def test_it_ends_a_pipeline(frame):
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, GaussianBayesianNetwork(DAG)).fit(frame)
    plain = GaussianBayesianNetwork(DAG).fit(frame)
    # densities of scaled rows differ by the log of the scales, which a linear network absorbs
    shift = np.log(scaler.scale_).sum()
    np.testing.assert_allclose(pipeline.score(frame) - shift, plain.score(frame), rtol=1e-9)
    np.testing.assert_allclose(
        robust_score(pipeline, frame) - shift, robust_score(plain, frame), rtol=1e-9
    )
    passing = make_pipeline("passthrough", FunctionTransformer(), GaussianBayesianNetwork(DAG))
    assert robust_score(passing.fit(frame), frame) == robust_score(plain, frame)
    assert len(cross_val_score(pipeline, frame, cv=3)) == 3


def test_the_robust_score_is_that_of_the_network(frame):
    model = GaussianBayesianNetwork(DAG).fit(frame)
    assert robust_score(model, frame) == gn.robust_score(model.network_, frame)
    with pytest.raises(SettingError, match="got a StandardScaler to score"):
        robust_score(StandardScaler(), frame)


def test_a_search_chooses_the_graph_by_held_out_likelihood(frame):
    graphs = ["[a][b][c][d]", "[a][b|a][c|a:b][d]"]
    search = GridSearchCV(GaussianBayesianNetwork(), {"dag": graphs}).fit(frame)
    assert search.best_params_ == {"dag": graphs[1]}
    assert search.best_estimator_.network_ == gn.fit(frame, gn.Dag.parse(graphs[1])).network


METHODS = {"method": ["least-squares", "robust"]}
CHOICE = {"scoring": robust_score, "refit": simplest_within_noise}


@pytest.mark.parametrize("seed", range(3))
def test_a_search_picks_robust_on_dirty_rows_and_least_squares_on_clean_ones(seed):
    dag = gn.simulate.erdos_renyi(12, 3, seed=seed)
    rows = gn.simulate.random_network(dag, seed=seed + 10).sample(400, seed=seed + 20)
    wrong = gn.simulate.contaminate(rows, seed=seed, share=0.05, nodes=2).data
    shifted = gn.simulate.contaminate(
        rows, seed=seed, share=0.03, pattern="cells", value="shift", size=6
    ).data
    model = GaussianBayesianNetwork(dag)

    def chosen(table, **choice):
        return GridSearchCV(model, METHODS, **choice).fit(table).best_params_["method"]

    assert chosen(rows, **CHOICE) == "least-squares"
    assert chosen(wrong, **CHOICE) == "robust"
    assert chosen(shifted, **CHOICE) == "robust"
    # the plain likelihood of wrong rows prefers inflated variances
    assert chosen(wrong) == "least-squares"
    assert gn.cross_validate(rows, dag).best == "least-squares"
    assert gn.cross_validate(wrong, dag).best == "robust"


def test_the_chosen_method_is_refitted_on_all_rows(truth):
    rows = truth.sample(300, seed=4)
    search = GridSearchCV(GaussianBayesianNetwork(DAG), METHODS, **CHOICE).fit(rows)
    assert search.best_estimator_.network_ == gn.fit(rows, DAG).network
    assert search.score(rows) == robust_score(search.best_estimator_, rows)


def test_results_without_folds_are_refused():
    with pytest.raises(SettingError, match="at least two folds"):
        simplest_within_noise({"split0_test_score": [1.0]})


def test_without_scikit_learn_the_error_says_what_to_install():
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import gaussnet as gn\n"
        "try:\n    gn.sklearn\nexcept gn.GaussnetError as problem:\n    print(problem)\n"
    )
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=places, text=True, check=True
    )
    assert "pip install gaussnet[sklearn]" in run.stdout


def test_scikit_learn_is_loaded_only_when_it_is_asked_for():
    script = "import sys, gaussnet as gn; gn.fit; print('sklearn' in sys.modules)"
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=places, text=True, check=True
    )
    assert run.stdout.strip() == "False"


def test_predictions_are_those_of_the_network(frame):
    model = GaussianBayesianNetwork(DAG).fit(frame)
    for node in DAG.nodes:
        expected = model.network_.predict(frame, node).mean
        np.testing.assert_allclose(model.predict(frame, node), expected, rtol=1e-9, atol=1e-9)


def test_labels_and_definitions_of_a_text_are_kept(frame):
    text = "b ~ p*a; c ~ q*b; far := p*q"
    model = GaussianBayesianNetwork(text).fit(frame)
    assert model.dag_.definitions == {"far": "p*q"}
    assert str(model.fit_.defined()) == str(gn.fit(frame, text).defined())
