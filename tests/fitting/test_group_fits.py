"""Fits by group: against separate fits, lavaan and tests of scipy."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.forced import STREAMED

import gaussnet as gn
from gaussnet.data.passes import Run
from gaussnet.data.study import Study
from gaussnet.errors import DataError, EstimationError, SettingError
from gaussnet.fitting.group_fits import fit_groups
from gaussnet.fitting.uncertainty import checked_kind, find_errors
from gaussnet.methods.groups import ReadOptions
from gaussnet.methods.names import method_named, scale_named

GOLDEN = Path(__file__).parents[1] / "golden"
FRAME = pd.read_csv(GOLDEN / "groups.csv")
LAVAAN = json.loads((GOLDEN / "groups.json").read_text())
DAG = gn.Dag.parse("[a][b|a][c|a:b][d|b:c]", nodes="abcd")
SITES = ("Graz", "Oslo", "Ulm")


def part(site):
    return FRAME[FRAME.site == site]


@pytest.mark.parametrize("method", ["least-squares", "batch-median", "cauchy", "robust"])
def test_fits_are_those_of_each_group_alone_and_of_all_rows(method):
    found = gn.fit(FRAME, DAG, method, groups="site")
    assert tuple(found.fits) == SITES
    for site in SITES:
        alone = gn.fit(part(site), DAG, method)
        assert found.fits[site].network == alone.network
        assert found[site].rows == len(part(site))
        errors = (one.standard_errors.coefficient_array for one in (found[site], alone))
        assert np.array_equal(*errors, equal_nan=True)
        assert found[site].notes == tuple(n for n in alone.notes if "ignored" not in str(n))
    assert found.pooled.network == gn.fit(FRAME, DAG, method).network


def test_streams_and_memory_are_alike(tmp_path):
    path = tmp_path / "rows.csv"
    FRAME.to_csv(path, index=False)
    least_squares = method_named("least-squares")
    how = (least_squares, scale_named(None, least_squares))
    options = ReadOptions(DAG, True, None, "raise", 64, Study(groups="site"))
    streamed = fit_groups(Run(2, **STREAMED), path, options, how)
    expected = gn.fit(FRAME, DAG, groups="site", page_rows=64)
    for site in SITES:
        assert streamed[site].network == expected[site].network
        assert streamed[site].rows == len(part(site))
        errors = (one[site].standard_errors.coefficient_array for one in (streamed, expected))
        assert np.array_equal(*errors, equal_nan=True)
    assert streamed.pooled.network == expected.pooled.network


def test_interventions_and_weights_go_with_groups():
    rng = np.random.default_rng(0)
    mask = np.zeros((len(FRAME), 4), dtype=bool)
    mask[rng.random(len(FRAME)) < 0.2, 1] = True
    weights = rng.gamma(2.0, size=len(FRAME))
    found = gn.fit(
        FRAME,
        DAG,
        groups="site",
        interventions=mask,
        weights=gn.Weights(weights, "precision"),
    )
    for site in SITES:
        own = (FRAME.site == site).to_numpy()
        alone = gn.fit(
            FRAME[own],
            DAG,
            interventions=mask[own],
            weights=gn.Weights(weights[own], "precision"),
        )
        assert found[site].network == alone.network
        assert np.array_equal(found[site].details.set_rows, mask[own].sum(axis=0))


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("coefficients", "regressions"),
        (("coefficients", "intercepts"), "regressions, intercepts"),
        (("coefficients", "variances"), "regressions, residuals"),
    ],
)
def test_likelihood_ratios_and_estimates_are_lavaans(what, name):
    """lavaan leaves the mean and variance of the root free, which a graph without it does too."""
    pool = gn.fit(FRAME, DAG, groups="site").pool(what)
    golden = LAVAAN[name]
    root = gn.fit(FRAME, gn.Dag.parse("[a]"), groups="site").pool(what)
    statistic, freedom = pool.statistic - root.statistic, pool.freedom - root.freedom
    assert freedom == golden["df"]
    # lavaan's search ends where its gradient is 1e-5, which the likelihood has squared.
    assert statistic == pytest.approx(golden["statistic"], rel=1e-7)
    for one in golden["parameters"]:
        network = pool.networks[LAVAAN["groups"][one["group"] - 1]]
        found = {
            "~": lambda n=network, o=one: n.coefficients[o["rhs"], o["lhs"]],
            "~1": lambda n=network, o=one: n.intercepts[o["lhs"]],
            "~~": lambda n=network, o=one: n.variances[o["lhs"]],
        }[one["op"]]()
        assert found == pytest.approx(one["est"], abs=2e-5)
        if one["op"] == "~":
            # lavaan takes the parents' covariance that the model implies, we that of the rows;
            # where the model is contradicted these differ by some percent.
            error = pool.standard_errors[one["rhs"], one["lhs"]]
            assert error == pytest.approx(one["se"], rel=0.1)


def test_free_groups_are_lavaans():
    found = gn.fit(FRAME, DAG, groups="site")
    for one in LAVAAN["free"]["parameters"]:
        network = found[LAVAAN["groups"][one["group"] - 1]].network
        if one["op"] == "~":
            assert network.coefficients[one["rhs"], one["lhs"]] == pytest.approx(
                one["est"], abs=2e-5
            )


def test_pooling_everything_is_the_pooled_fit():
    found = gn.fit(FRAME, DAG, groups="site")
    pool = found.pool(("coefficients", "intercepts", "variances"))
    for network in pool.networks.values():
        for name in ("coefficient_array", "intercept_array", "variance_array"):
            gap = getattr(network, name) - getattr(found.pooled.network, name)
            assert np.abs(gap).max() < 1e-10
    assert pool.freedom == 2 * (5 + 4 + 4)
    total = sum(fit.log_likelihood for fit in found.fits.values())
    assert pool.statistic == pytest.approx(2 * (total - found.pooled.log_likelihood), rel=1e-9)


def test_several_parameters_are_pooled_by_a_list_or_one_after_another():
    found = gn.fit(FRAME, DAG, groups="site")
    listed = found.pool(["intercepts", "coefficients"])
    assert found.pool("coefficients", "intercepts").statistic == listed.statistic
    assert listed.what == ("coefficients", "intercepts")
    with pytest.raises(SettingError, match="got pool\\('coefficients', 'slopes'\\), expected"):
        found.pool("coefficients", "slopes")


def test_the_likelihood_of_a_pool_is_what_its_networks_say():
    found = gn.fit(FRAME, DAG, groups="site")
    total = sum(fit.log_likelihood for fit in found.fits.values())
    for what in ("coefficients", "intercepts", "variances", ("intercepts", "variances")):
        pool = found.pool(what)
        own = sum(
            pool.networks[site].log_density(part(site)[list("abcd")].to_numpy()).sum()
            for site in SITES
        )
        assert pool.statistic == pytest.approx(2.0 * (total - own), rel=1e-9)
        # No nearby values are more likely: the same with one coefficient moved.
        nudged = 0.0
        for site in SITES:
            network = pool.networks[site]
            arrays = [network.coefficient_array.copy(), network.variance_array]
            arrays[0][0] += 1e-4
            moved = gn.GaussianNetwork.from_arrays(DAG, *arrays, network.intercept_array)
            nudged += moved.log_density(part(site)[list("abcd")].to_numpy()).sum()
        assert nudged < own


def test_parameters_are_compared_by_welch_and_bartlett():
    tests = {(one.kind, one.name): one for one in gn.fit(FRAME, DAG, groups="site").test_equal()}
    values = [part(site).a.to_numpy() for site in SITES]
    assert tests["variance", "a"].p_value == pytest.approx(stats.bartlett(*values).pvalue, 1e-9)
    pair = FRAME[FRAME.site != "Ulm"]
    two = {(one.kind, one.name): one for one in gn.fit(pair, DAG, groups="site").test_equal()}
    expected = stats.ttest_ind(*values[:2], equal_var=False)
    assert two["intercept", "a"].p_value == pytest.approx(expected.pvalue, 1e-9)
    assert two["intercept", "a"].statistic == pytest.approx(expected.statistic**2, 1e-9)
    assert len(tests) == 5 + 4 + 4


def test_false_alarms_come_as_often_as_the_level_says():
    """Of 300 data sets with equal groups of 15 rows a share of 5 % may alarm; 4 sd are 5 %."""
    truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a]", nodes="ab"), seed=1)
    sites = np.repeat(["x", "y", "z"], 15)
    alarms = np.zeros(3)
    for seed in range(300):
        tests = gn.fit(truth.sample(45, seed=seed), truth.dag, groups=sites).test_equal()
        own = {one.kind if one.name != "a" else one.name + one.kind: one for one in tests}
        kinds = ("coefficient", "level", "variance")
        alarms += [own[kind].p_value <= 0.05 for kind in kinds]
    # sd of a share of 5 % in 300: 1.26 %; Welch's and Bartlett's tests are good to 1 % here.
    assert (np.abs(alarms / 300 - 0.05) < 0.05).all()


def schools(seed, shift=0.0, rows=60):
    """Scores of three schools by two causes far from 0, with one noise variance."""
    rng = np.random.default_rng(seed)
    school = np.repeat(["x", "y", "z"], rows)
    hours, age = rng.normal(40.0, 5.0, 3 * rows), rng.normal(12.0, 0.5, 3 * rows)
    score = 0.5 * hours + 2.0 * age + rng.normal(0.0, 3.0, 3 * rows)
    score += shift * np.select([school == "x", school == "y"], [4.0, -2.0], 0.0)
    return pd.DataFrame({"hours": hours, "age": age, "score": score, "school": school})


def level_test(frame):
    tests = gn.fit(frame, "score ~ hours + age", groups="school").test_equal()
    return tests, next(one for one in tests if one.kind == "level")


def chow_test(frame):
    """The F test of a level of its own for each school, with common coefficients."""
    design = np.column_stack((np.ones(len(frame)), frame["hours"], frame["age"]))
    own = np.column_stack((design, pd.get_dummies(frame["school"]).to_numpy(float)[:, 1:]))
    squares = [
        np.sum((frame["score"] - x @ np.linalg.lstsq(x, frame["score"], rcond=None)[0]) ** 2)
        for x in (design, own)
    ]
    left = len(frame) - own.shape[1]
    return stats.f.sf((squares[0] - squares[1]) / 2 / (squares[1] / left), 2, left)


def test_levels_that_differ_are_found_however_far_the_parents_are_from_0():
    tests, level = level_test(schools(1, shift=1.0))
    assert level.adjusted < 1e-6
    assert "level of score at the mean of its parents" in tests.verdict
    assert "their means over all groups" in str(tests)
    # Coefficients of its own for each school cost 4 of 177 degrees of freedom, and no more.
    assert np.log10(level.p_value) == pytest.approx(np.log10(chow_test(schools(1, shift=1.0))), 0.2)


def test_levels_are_the_equations_at_the_common_mean_of_the_parents():
    frame = schools(2, shift=0.2)
    _, level = level_test(frame)
    means = frame[["hours", "age"]].mean()
    moved = frame.assign(hours=frame["hours"] - means["hours"], age=frame["age"] - means["age"])
    found = gn.fit(moved, "score ~ hours + age", groups="school")
    place = found.dag.position("score")
    expected = [fit.network.constants[place] for fit in found.fits.values()]
    assert level.estimates == pytest.approx(expected, rel=1e-9)
    again = next(one for one in found.test_equal() if one.kind == "level")
    assert level.p_value == pytest.approx(again.p_value, rel=1e-6)


def test_p_values_of_equal_levels_are_uniform_and_small_shifts_are_found_as_by_chow():
    """200 data sets: Kolmogorov-Smirnov at level 1e-4, and shares of alarms within 4 sd."""
    equal = [level_test(schools(seed, rows=20))[1].p_value for seed in range(200)]
    assert stats.kstest(equal, "uniform").pvalue > 1e-4
    shifted = [schools(seed, shift=0.3, rows=20) for seed in range(200)]
    found = np.mean([level_test(frame)[1].p_value <= 0.05 for frame in shifted])
    chow = np.mean([chow_test(frame) <= 0.05 for frame in shifted])
    # Errors of each group's own cost some power in groups of 20; a share has sd of at most 3.5 %.
    assert found > chow - 0.14


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("least-squares", {}),
        ("least-squares", {"missing": "likelihood"}),
        ("least-squares", {"clusters": np.arange(180) // 6}),
        ("batch-median", {}),
        ("cauchy", {}),
        ("robust", {}),
        ("sequential-trim", {}),
    ],
)
def test_errors_of_levels_at_0_are_those_of_intercepts(method, options):
    frame = schools(3).drop(columns="school")
    if options.get("missing"):
        frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    fit = gn.fit(frame, "score ~ hours + age", method, **options)
    kind = checked_kind(fit, None, 0.95)
    found = find_errors(fit, kind, 0.95).level_errors(np.zeros(2))
    # Two sums of a few terms each, of which the largest are the errors squared.
    assert found == pytest.approx(fit.standard_errors.intercept_array, rel=1e-9)


def test_verdict_names_what_differs_most():
    found = gn.fit(FRAME, DAG, groups="site")
    tests = found.test_equal()
    first = tests.differing[0]
    assert first.name in tests.verdict
    assert str(len(tests.differing)) in tests.verdict
    assert found.test_equal(adjust="benjamini-hochberg").adjustment == "benjamini-hochberg"
    assert "contradict" in str(found.pool("coefficients"))


def test_tables_have_a_row_for_each_group():
    table = gn.fit(FRAME, DAG, groups="site").table()
    assert len(table) == 5 * 4
    assert table["group"][:4] == [*SITES, "all rows"]
    assert "Coefficients by site" in str(table)


@pytest.mark.parametrize(
    ("groups", "error", "sentence"),
    [
        ("city", DataError, "no column .city."),
        ([None] * len(FRAME), DataError, "360 rows have no value in groups"),
        (["x"] * 10, DataError, "one value for each row"),
        (np.ones((len(FRAME), 2)), DataError, "of shape"),
    ],
)
def test_what_cannot_be_meant_is_refused(groups, error, sentence):
    with pytest.raises(error, match=sentence):
        gn.fit(FRAME, DAG, groups=groups)


def test_groups_that_are_too_small_are_named():
    sites = ["x"] * (len(FRAME) - 3) + ["y"] * 3
    with pytest.raises(EstimationError, match="in the group 'y' of 'group'"):
        gn.fit(FRAME, DAG, "batch-median", groups=sites)
    small = gn.fit(FRAME, DAG, groups=sites).test_equal()
    assert small.untested > 0
    one = gn.fit(FRAME, DAG, groups=["x"] * len(FRAME))
    with pytest.raises(SettingError, match="one group only"):
        one.test_equal()
    with pytest.raises(SettingError, match="there is no group 'q'"):
        one["q"]
    with pytest.raises(SettingError, match="expected 'coefficients'"):
        one.pool("slopes")
    with pytest.raises(SettingError, match="have a likelihood"):
        gn.fit(FRAME, DAG, "batch-median", groups="site").pool()


def test_notes_and_summaries_name_their_groups():
    frame = FRAME.assign(site=FRAME.site.where(np.arange(len(FRAME)) >= 4, "tiny"))
    frame = frame.assign(
        site=frame.site.where(~np.isin(np.arange(len(FRAME)), range(4, 7)), "none")
    )
    frame.loc[frame.index[frame.site == "Ulm"][:2], "a"] = 450.0
    found = gn.fit(frame, DAG, groups="site")
    few = "no more rows than the 3 coefficients of the largest equation (group none)"
    assert found.notes[0] == few
    assert found.notes[1] == "few rows for an equation with 3 coefficients (group tiny)"
    assert sum("far from Gaussian" in note and "group Ulm" in note for note in found.notes) == 1
    assert "The summaries of 3 of 5 groups warn" in found.summary()
    assert found["Ulm"].summary().trust in found.summary()
    for text in (str(found), found._repr_html_()):
        assert "The summaries of 3 of 5 groups warn" in text
        assert "few rows for an equation with 3 coefficients (group tiny)" in text


def test_groups_without_intercept_have_one_coefficient_less():
    frame = FRAME.assign(site=FRAME.site.where(np.arange(len(FRAME)) >= 4, "tiny"))
    found = gn.fit(frame, DAG, groups="site", intercept=False)
    assert "few rows for an equation with 2 coefficients (group tiny)" in found.notes


def test_many_groups_are_told_in_few_lines():
    rows = gn.simulate.random_network(DAG, seed=0).sample(600, seed=1)
    found = gn.fit(rows, DAG, groups=np.arange(600) // 20)
    assert len(repr(found)) < 300
    assert repr(found).endswith("and 18 more groups)")
    below = str(found).split("The groups ")[-1].splitlines()
    assert len(below) <= 11
    assert "and 27 more groups" in below
    assert found.summary().count("\n") == 30


def test_pairs_of_rows_are_groups_though_one_has_lost_its_second():
    rows = gn.simulate.random_network(DAG, seed=0).sample(59, seed=1)
    assert len(gn.fit(rows, DAG, groups=np.arange(59) // 2).fits) == 30


def test_a_key_of_the_rows_is_no_grouping():
    frame = FRAME.assign(id=np.arange(len(FRAME)))
    with pytest.raises(SettingError, match="looks like a key of the rows"):
        gn.fit(frame, DAG, groups="id")
    twins = gn.fit(FRAME[["a", "b"]][:60], "b ~ a", groups=np.arange(60) // 2)
    assert len(twins) == 30


def test_one_group_can_be_printed():
    assert "one group only" in str(gn.fit(FRAME, DAG, groups=["all"] * len(FRAME)))


def test_a_group_that_lacks_levels_has_a_table():
    frame = FRAME.assign(kind=np.array(list("xyz"))[np.arange(len(FRAME)) % 3])
    frame.loc[frame.index[(frame.kind == "z") & (frame.site == "Ulm")], "kind"] = "x"
    found = gn.fit(frame, "b ~ kind", groups="site")
    assert "The groups" in str(found)


def years(rows=300):
    """Means 10 sd apart; the dose does not vary in 2019."""
    rng = np.random.default_rng(2)
    year = np.repeat([2019, 2024], rows)
    dose = np.where(year == 2019, 0.0, rng.normal(size=2 * rows))
    y = rng.normal(size=2 * rows) + 10.0 * (year == 2024)
    return pd.DataFrame({"y": y, "dose": dose, "x": rng.normal(size=2 * rows), "year": year})


def level_of(tests):
    return next(one for one in tests if one.kind == "level")


@pytest.mark.parametrize("method", ["least-squares", "robust", "sequential-trim"])
def test_means_that_differ_are_found_though_a_parent_is_constant_in_one_group(method):
    tests = gn.fit(years(), "y ~ dose + x", method, groups="year").test_equal()
    assert tests.differing[0].name == "y"
    assert "3 more could not be compared" in tests.verdict
    assert any("'dose' is constant in 2019" in note for note in tests.notes)
    assert any("compared where dose = 0" in note for note in tests.notes)


def test_levels_beside_a_constant_parent_are_those_of_the_other_parents_there():
    """In 2019 the equation is that without dose; in 2024 its value at dose 0."""
    frame = years()
    level = level_of(gn.fit(frame, "y ~ dose + x", groups="year").test_equal())
    old, new = (frame[frame.year == year] for year in (2019, 2024))
    alone = gn.fit(old, "y ~ x").network
    both = gn.fit(new, "y ~ dose + x").network
    mean = frame.x.mean()
    expected = [one.intercepts["y"] + one.coefficients["x", "y"] * mean for one in (alone, both)]
    assert level.estimates == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["classical", "heteroscedastic"])
def test_errors_of_levels_beside_a_copied_parent_are_those_without_it(kind):
    frame = years()[["y", "x"]].assign(copy=lambda one: one.x)
    points = {"y ~ x": [0.3], "y ~ x + copy": [0.3, 0.3]}
    with_copy, alone = (
        find_errors(gn.fit(frame[names], text), kind, 0.95).level_errors(np.array(points[text]))[0]
        for text, names in (("y ~ x + copy", ["y", "x", "copy"]), ("y ~ x", ["y", "x"]))
    )
    assert with_copy == pytest.approx(alone, rel=1e-9)


def test_a_level_of_a_category_in_one_group_only_leaves_the_other_means_comparable():
    frame, rng = years(), np.random.default_rng(0)
    kind = np.where(rng.random(len(frame)) < 0.5, "A", "B")
    frame["kind"] = np.where((frame.year == 2024) & (rng.random(len(frame)) < 0.2), "C", kind)
    tests = gn.fit(frame, "y ~ kind", groups="year").test_equal()
    assert tests.differing[0].name == "y"
    assert "kind[C]' is constant in 2019" in "".join(tests.notes)


@pytest.mark.parametrize("column", ["site", "year"])
def test_a_column_of_the_groups_in_the_graph_is_to_be_taken_out(column):
    frame = years().assign(site=lambda one: np.where(one.year == 2019, "Graz", "Linz"))
    tests = gn.fit(frame, f"y ~ {column} + x", groups=column).test_equal()
    assert "any parameter" not in tests.verdict
    assert "4 more could not be compared" in tests.verdict
    assert f"{column!r} has one value within each group" in "".join(tests.notes)
    assert "take it out of the graph" in "".join(tests.notes)


def test_one_test_is_written_without_an_s():
    tests = gn.fit(years()[["dose", "year"]], gn.Dag.parse("[dose]"), groups="year").test_equal()
    assert "Nothing could be compared: " in tests.verdict
    one = gn.fit(years()[["x", "year"]], gn.Dag.parse("[x]"), intercept=False, groups="year")
    assert "1 test)" in one.test_equal().verdict


def misspelt():
    rng = np.random.default_rng(2)
    site = np.repeat(["Graz", "Linz", "Wien"], [602, 400, 242]).astype(object)
    frame = pd.DataFrame({"x": rng.normal(size=len(site)), "site": site})
    frame["y"] = frame.x * np.where(site == "Wien", 1.5, 1.0) + rng.normal(size=len(site))
    frame.loc[0, "site"] = "Gratz"
    return frame


def test_a_group_of_one_row_is_left_out_and_the_others_are_compared():
    found = gn.fit(misspelt(), "y ~ x", groups="site")
    tests = found.test_equal()
    assert (len(tests), tests.left_out) == (5, ("Gratz",))
    assert tests.differing[0].name == "x -> y"
    assert "without 1 group of too few rows" in tests.verdict
    note = "left out of all comparisons, for too few rows: 'Gratz' (1 row, did you mean 'Graz'?)"
    assert tests.notes == (note,)
    assert f"note: {note}" in str(found)
    rest = misspelt().iloc[1:]
    for one, other in zip(tests, gn.fit(rest, "y ~ x", groups="site").test_equal(), strict=True):
        assert one.p_value == pytest.approx(other.p_value, rel=1e-2)  # levels: at other means


def test_groups_of_few_rows_make_no_false_alarms():
    """400 groups of 2 to 5 rows that do not differ, beside 3 large ones."""
    rng = np.random.default_rng(1)
    groups = np.concatenate((rng.integers(0, 400, 1_200), np.repeat([500, 501, 502], 300)))
    frame = pd.DataFrame(rng.normal(size=(2_100, 2)), columns=["x", "y"])
    tests = gn.fit(frame, "y ~ x", groups=groups).test_equal()
    assert not tests.differing


def test_pools_refuse_groups_that_leave_coefficients_open():
    for text in ("y ~ dose", "y ~ dose + x"):
        with pytest.raises(EstimationError, match=r"parents of 'y' are constant.* in group 2019"):
            gn.fit(years(), text, groups="year").pool("coefficients")
