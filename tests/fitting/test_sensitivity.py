"""Robustness of effects to an unmeasured common cause."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

import gaussnet as gn
from gaussnet.fitting.sensitivity import interval_robustness_value, robustness_value

DAG = gn.Dag.parse(
    "[age][sex][diet|age:sex][weight|diet:age:sex]", nodes=["age", "sex", "diet", "weight"]
)


def ols(rows, target, columns):
    """Coefficients and standard errors of a textbook regression with a constant first."""
    design = np.column_stack((np.ones(len(rows)), rows[:, columns]))
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ design.T @ rows[:, target]
    rest = rows[:, target] - design @ slopes
    freedom = len(rows) - design.shape[1]
    return slopes, np.sqrt(np.diag(inverse) * (rest @ rest) / freedom), freedom


def partial_r2(rows, target, own, others):
    slopes, errors, freedom = ols(rows, target, [own, *others])
    t = slopes[1] / errors[1]
    return t * t / (t * t + freedom)


@pytest.fixture(scope="module")
def rows():
    return gn.simulate.random_network(DAG, seed=3, intercepts=(-5.0, 5.0)).sample(400, seed=1)


def test_published_numbers_of_the_darfur_example():
    # Cinelli and Hazlett (2020), section 5, with the digits that their R package sensemakr gives
    # for its data set darfur (tests/testthat/test-02-darfur.R, manual input): estimate 0.09731582,
    # standard error 0.02325654, 783 degrees of freedom; the covariate compared with is "female".
    estimate, error, freedom = 0.09731582, 0.02325654, 783
    t = estimate / error
    r2 = t * t / (t * t + freedom)
    values = r2, robustness_value(r2), interval_robustness_value(r2, freedom, 0.95)
    # Eight digits went in, and seven come out: the relative error of t is below 4e-8.
    assert values == pytest.approx((0.02187309, 0.1387764, 0.07625797), rel=5e-7)
    found = gn.Sensitivity("harmed", "peace", (), estimate, error, freedom, 0.95, *values, ())
    shares = (
        (0.00916428667504862, 0.12464092303637, 0.0752202698486415),
        (0.0183285733500972, 0.249324064199975, 0.0529151689180575),
        (0.0274928600251459, 0.374050471038094, 0.0303960178770157),
    )
    for cause_r2, target_r2, left in shares:
        assert found.adjusted(cause_r2, target_r2) == pytest.approx(left, rel=1e-10)


def test_a_sensitivity_is_a_table_of_one_row_with_comparisons_below(rows):
    found = gn.fit(rows, DAG).sensitivity("diet", "weight")
    line = found.to_frame().iloc[0]
    assert (line["effect"], line["given"]) == ("diet -> weight", "age, sex")
    assert line["robustness_value"] == found.robustness_value
    text = found.to_latex()
    assert r"diet $\to$ weight & age, sex & " in text
    assert text.count("One as strong as") == len(found.benchmarks)
    assert "RV" not in found.to_markdown(notes=False).splitlines()[2]


def test_the_regression_is_a_textbook_one(rows):
    found = gn.fit(rows, DAG).sensitivity("diet", "weight")
    assert found.given == ("age", "sex")
    slopes, errors, freedom = ols(rows, 3, [2, 0, 1])
    assert found.estimate == pytest.approx(slopes[1], rel=1e-10)
    assert found.standard_error == pytest.approx(errors[1], rel=1e-10)
    assert found.degrees_of_freedom == freedom == 396
    assert found.partial_r2 == pytest.approx(partial_r2(rows, 3, 2, [0, 1]), rel=1e-9)
    by_fit = gn.fit(rows, DAG).effect("diet", "weight")
    assert found.estimate == pytest.approx(by_fit.value, rel=1e-9)
    assert found.standard_error == pytest.approx(by_fit.standard_error, rel=1e-6)


def confounder(rows, cause_r2, target_r2, sign):
    """A column with exactly these partial R2 of cause and of target, as the theory has them."""
    design = np.column_stack((np.ones(len(rows)), rows[:, [0, 1]]))
    basis = np.linalg.qr(design)[0]

    def rest(values, basis):
        values = values - basis @ (basis.T @ values)
        return values / np.linalg.norm(values)

    cause = rest(rows[:, 2], basis)
    wider = np.column_stack((basis, cause))
    target = rest(rows[:, 3], wider)
    free = rest(np.random.default_rng(0).normal(size=len(rows)), np.column_stack((wider, target)))
    # Given the cause, the column is a mixture of the target's rest and of something unrelated.
    left = math.sqrt(target_r2) * target + math.sqrt(1.0 - target_r2) * free
    return sign * math.sqrt(cause_r2) * cause + math.sqrt(1.0 - cause_r2) * left


@pytest.mark.parametrize(("cause_r2", "target_r2"), [(0.1, 0.3), (0.5, 0.05), (0.02, 0.9)])
def test_a_common_cause_of_this_strength_does_what_is_foretold(rows, cause_r2, target_r2):
    found = gn.fit(rows, DAG).sensitivity("diet", "weight")
    sign = math.copysign(1.0, found.estimate)
    more = np.column_stack((rows, confounder(rows, cause_r2, target_r2, sign)))
    assert partial_r2(more, 2, 4, [0, 1]) == pytest.approx(cause_r2, rel=1e-9)
    assert partial_r2(more, 3, 4, [0, 1, 2]) == pytest.approx(target_r2, rel=1e-9)
    slopes, _, _ = ols(more, 3, [2, 0, 1, 4])
    assert found.adjusted(cause_r2, target_r2) == pytest.approx(slopes[1], rel=1e-8, abs=1e-10)


def test_a_common_cause_as_strong_as_the_robustness_value_leaves_nothing(rows):
    found = gn.fit(rows, DAG).sensitivity("diet", "weight")
    value = found.robustness_value
    assert 0.05 < value < 0.95
    sign = math.copysign(1.0, found.estimate)
    more = np.column_stack((rows, confounder(rows, value, value, sign)))
    slopes, _, _ = ols(more, 3, [2, 0, 1, 4])
    # Exactly 0 but for the rounding of sums over 400 rows.
    assert abs(slopes[1]) < 1e-10 * abs(found.estimate)
    assert abs(found.adjusted(value, value)) < 1e-12 * abs(found.estimate)


def test_a_common_cause_as_strong_as_the_second_value_takes_significance(rows):
    from scipy.stats import t as student

    found = gn.fit(rows, DAG).sensitivity("diet", "weight", level=0.99)
    value = found.robustness_value_interval
    assert 0.0 < value < found.robustness_value
    sign = math.copysign(1.0, found.estimate)
    more = np.column_stack((rows, confounder(rows, value, value, sign)))
    slopes, errors, freedom = ols(more, 3, [2, 0, 1, 4])
    assert abs(slopes[1] / errors[1]) == pytest.approx(student.ppf(0.995, freedom), rel=1e-8)


def as_strong_as(rows, own, other):
    """Columns unrelated to both measured causes that explain as much as one of them does.

    As much of the cause given the other measured one, and as much of the target given both.
    """
    base = np.linalg.qr(np.column_stack((np.ones(len(rows)), rows[:, [own, other]])))[0]
    free = np.random.default_rng(1).normal(size=len(rows))
    axes = np.linalg.qr(np.column_stack((base, rows[:, [2, 3]], free)))[0][:, 3:]
    share, strength = partial_r2(rows, 2, own, [other]), partial_r2(rows, 3, own, [other, 2])
    along = math.sqrt(share / (1.0 - share))

    def column(angle):
        return axes @ [
            along,
            *(math.sqrt(1.0 - along**2) * np.array([np.sin(angle), np.cos(angle)])),
        ]

    def excess(angle):
        return partial_r2(np.column_stack((rows, column(angle))), 3, 4, [other, 2]) - strength

    grid = np.linspace(-np.pi / 2, np.pi / 2, 181)
    found = [excess(angle) for angle in grid]
    for left, right, a, b in zip(grid, grid[1:], found, found[1:], strict=False):
        if a * b < 0.0:
            yield column(brentq(excess, left, right, xtol=1e-14))


def test_benchmarks_are_the_strongest_cause_that_explains_as_much_as_a_measured_one():
    truth = gn.GaussianNetwork.from_arrays(DAG, [0.6, -0.4, 0.5, 0.3, 0.7], np.ones(4))
    rows = truth.sample(300, seed=2)
    found = gn.fit(rows, DAG).sensitivity("diet", "weight")
    assert {one.node for one in found.benchmarks} == {"age", "sex"}
    for one in found.benchmarks:
        own = DAG.position(one.node)
        drawn = [np.column_stack((rows, z)) for z in as_strong_as(rows, own, 1 - own)]
        assert drawn
        for more in drawn:
            assert partial_r2(more, 2, 4, [0, 1]) == pytest.approx(one.cause_r2, rel=1e-8)
        strengths = [partial_r2(more, 3, 4, [0, 1, 2]) for more in drawn]
        assert max(strengths) == pytest.approx(one.target_r2, rel=1e-6)
        assert one.adjusted == pytest.approx(found.adjusted(one.cause_r2, one.target_r2))


def test_a_measured_cause_that_is_too_strong_for_a_double_is_told(rows):
    found = gn.fit(rows, DAG).sensitivity("diet", "weight")
    assert not found.benchmarks
    assert [note.split(":")[0] for note in found.notes] == [
        "no unmeasured cause can be as strong as age",
        "no unmeasured cause can be as strong as sex",
    ]


def test_total_effects_through_others_use_a_set_without_them():
    dag = gn.Dag.parse("[a][x|a][m|x][y|m:a]", nodes="axmy")
    truth = gn.GaussianNetwork.from_arrays(dag, [1.0, 2.0, 1.0, 1.5], [1.0] * 4)
    data = truth.sample(4_000, seed=0)
    found = gn.fit(data, dag).sensitivity("x", "y")
    assert found.given == ("a",)
    assert truth.effect("x", "y") == 3.0
    assert abs(found.estimate - 3.0) < 4 * found.standard_error
    assert gn.fit(data, dag).sensitivity("x", "y", given=["a"]).estimate == found.estimate


def test_robust_fits_leave_their_flagged_cells_out(rows):
    spoilt = rows.copy()
    spoilt[::50, 3] = 1e4
    found = gn.fit(spoilt, DAG, "robust").sensitivity("diet", "weight")
    clean = gn.fit(rows, DAG).sensitivity("diet", "weight")
    assert abs(found.estimate - clean.estimate) < 3 * clean.standard_error
    assert any("rows used" in note for note in found.notes)


def test_scales_do_not_matter(rows):
    clean = gn.fit(rows, DAG).sensitivity("diet", "weight")
    factors = np.array([1e-120, 1e120, 1e90, 1e-90])
    found = gn.fit(rows * factors, DAG).sensitivity("diet", "weight")
    assert found.robustness_value == pytest.approx(clean.robustness_value, rel=1e-9)
    assert found.estimate == pytest.approx(clean.estimate * 1e-180, rel=1e-9)


def test_a_perfect_relation_cannot_be_explained_away():
    values = np.arange(10.0)
    found = gn.fit(np.column_stack((values, values)), gn.Dag.parse("[x][y|x]", nodes="xy"))
    found = found.sensitivity("x", "y")
    assert found.partial_r2 == pytest.approx(1.0)
    assert found.robustness_value == pytest.approx(1.0)
    assert found.robustness_value_interval == pytest.approx(1.0)


def test_printing_tells_in_sentences(rows):
    found = gn.fit(rows, DAG).sensitivity("diet", "weight")
    lines = str(found).splitlines()
    assert lines[0].startswith("diet -> weight given age, sex: ")
    assert "would explain the effect away" in lines[1]
    assert lines[4:] == list(found.notes)


def test_bad_questions_are_refused(rows):
    fit = gn.fit(rows, DAG)
    with pytest.raises(gn.GraphError, match="no directed path from 'weight' to 'diet'"):
        fit.sensitivity("weight", "diet")
    with pytest.raises(gn.GraphError, match=r"does not remove confounding .* give 'age', 'sex'"):
        fit.sensitivity("diet", "weight", given=["age"])
    with pytest.raises(gn.GraphError, match="does not remove confounding"):
        fit.sensitivity("age", "diet", given=["weight"])
    with pytest.raises(gn.SettingError, match="got level=2"):
        fit.sensitivity("diet", "weight", level=2)
    with pytest.raises(gn.SettingError, match="got cause_r2"):
        fit.sensitivity("diet", "weight").adjusted(1.5, 0.0)
    short = gn.fit(rows[:4], DAG)
    with pytest.raises(gn.EstimationError, match="leave no degree of freedom"):
        short.sensitivity("diet", "weight")
    flat = rows.copy()
    flat[:, 0] = 1.0
    with pytest.raises(gn.EstimationError, match="constant or collinear"):
        gn.fit(flat, DAG).sensitivity("diet", "weight")


def test_the_effect_by_all_coefficients_stands_beside_that_of_one_regression():
    rows = gn.simulate.random_network(DAG, seed=2).sample(500, seed=1)
    fit = gn.fit(rows, DAG)
    found, effect = (
        fit.sensitivity("diet", "weight", level=0.9),
        fit.effect("diet", "weight", level=0.9),
    )
    assert found.effect == effect
    for words in (str(found), str(found.table())):
        assert f"(fit.effect): {effect}" in words


def schools():
    rng = np.random.default_rng(5)
    school = rng.choice(["North", "Old Town", "South"], 300)
    hours = rng.normal(size=300) + 0.8 * (school == "South") - 0.5 * (school == "Old Town")
    age = rng.normal(size=300)
    score = hours + age + 1.5 * (school == "Old Town") - (school == "South") + rng.normal(size=300)
    frame = pd.DataFrame({"school": school, "age": age, "hours": hours, "score": score})
    return frame, gn.fit(frame, "hours ~ school + age; score ~ hours + school + age")


def test_levels_of_the_same_category_are_no_benchmarks():
    _, fit = schools()
    found = fit.sensitivity("school[South]", "score")
    assert "school[Old Town]" in found.given
    assert not any("school" in one.node for one in found.benchmarks)
    assert "as strong as school" not in str(found)


def test_a_category_is_one_benchmark_as_a_whole():
    """Partial R2 of both indicators together, from residual sums of squares with and without."""
    frame, fit = schools()
    found = fit.sensitivity("hours", "score")
    own = {one.node: one for one in found.benchmarks}
    assert set(own) == {"age", "school"}
    rows = np.column_stack((frame[["score", "hours", "age"]], pd.get_dummies(frame["school"])))
    rows = rows.astype(float)

    def left(target, columns):
        design = np.column_stack((np.ones(len(rows)), rows[:, columns]))
        found = np.linalg.lstsq(design, rows[:, target], rcond=None)[0]
        return np.sum((rows[:, target] - design @ found) ** 2)

    cause = 1.0 - left(1, [2, 4, 5]) / left(1, [2])
    target = 1.0 - left(0, [1, 2, 4, 5]) / left(0, [1, 2])
    share = cause / (1.0 - cause)
    other = min(1.0, (1.0 + share) / (1.0 - share) * target / (1.0 - target))
    assert own["school"].cause_r2 == pytest.approx(share, rel=1e-9)
    assert own["school"].target_r2 == pytest.approx(other, rel=1e-9)


def test_flagged_cells_are_told_without_p_values(rows):
    spoilt = rows.copy()
    spoilt[:5, 2] = 1e4
    found = gn.fit(spoilt, DAG, "robust").sensitivity("diet", "weight")
    assert any("flagged" in note for note in found.notes)
    assert not any("p-values" in note for note in found.notes)
