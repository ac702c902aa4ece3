"""Soft interventions: own intercepts and variances by condition, against other programs."""

import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from tests.forced import STREAMED
from tests.reference.shifts import maximum_likelihood

import gaussnet as gn
from gaussnet.cli import main
from gaussnet.data.passes import Run
from gaussnet.data.study import Study
from gaussnet.errors import DataError, EstimationError, GaussnetError, SettingError
from gaussnet.fitting.shifts import Strata, _shifts, fit_shifts
from gaussnet.methods.groups import ReadOptions
from gaussnet.methods.names import method_named, scale_named
from gaussnet.methods.standard_errors import adjusted

TEXT = "dose; enzyme ~ dose; product ~ enzyme + dose; waste ~ product"
SAID = {"condition": {"drug": ["product"], "heat": ["product", "waste"]}}


def study(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    condition = rng.choice(["control", "drug", "heat"], rows, p=[0.5, 0.3, 0.2])
    dose = rng.normal(3.0, 1.0, rows)
    enzyme = 0.8 * dose + rng.normal(size=rows) + (condition == "drug")
    shift = 2.0 * (condition == "drug") - 1.0 * (condition == "heat")
    noise = np.where(condition == "heat", 3.0, 1.0) * rng.normal(size=rows)
    product = 1.5 * enzyme - 0.4 * dose + shift + noise
    waste = 0.5 * product + rng.normal(size=rows) + 4.0 * (condition == "heat")
    return pd.DataFrame(
        {"dose": dose, "enzyme": enzyme, "product": product, "waste": waste, "condition": condition}
    )


def streamed(path, dag, missing="raise", page_rows=40, said=SAID):
    """The fit to a file of any size that is read page by page."""
    least = method_named("least-squares")
    options = ReadOptions(dag, True, None, missing, page_rows, Study(shifts=said))
    return fit_shifts(Run(**STREAMED), path, options, (least, scale_named(None, least)))


FRAME = study()
FIT = gn.fit(FRAME, TEXT, shifts=SAID)
STRATA = FRAME["condition"].map({"control": 0, "drug": 1, "heat": 2}).to_numpy()


def test_the_answer_is_that_of_a_plain_search_for_the_maximum():
    x, y = FRAME[["dose", "enzyme"]].to_numpy(), FRAME["product"].to_numpy()
    slopes, places, variances, likelihood = maximum_likelihood(x, y, STRATA)
    for condition, number in (("control", 0), ("drug", 1), ("heat", 2)):
        network = FIT.networks[condition]
        found = [network.coefficients[parent, "product"] for parent in ("dose", "enzyme")]
        assert found == pytest.approx(slopes, abs=1e-7)
        assert network.intercepts["product"] == pytest.approx(places[number], abs=1e-7)
        assert network.variances["product"] == pytest.approx(variances[number], rel=1e-6)
    own = FIT.strata[FIT.dag.position("product")]
    assert own.log_likelihood == pytest.approx(likelihood, rel=1e-12)


def test_given_the_variances_it_is_weighted_least_squares_and_so_are_the_errors():
    own = FIT.strata[FIT.dag.position("product")]
    columns = np.column_stack([FRAME[["dose", "enzyme"]], np.eye(3)[STRATA]])
    plain = sm.WLS(FRAME["product"], columns, weights=1.0 / own.variances[STRATA]).fit()
    assert own.coefficients == pytest.approx(plain.params[:2], rel=1e-10)
    assert own.intercepts == pytest.approx(plain.params[2:], rel=1e-10)
    weights = 1.0 / own.errors.unbiased[STRATA]
    wide = np.asarray(
        sm.WLS(FRAME["product"], columns, weights=weights).fit().normalized_cov_params
    )
    for place, parent in enumerate(("dose", "enzyme")):
        found = FIT.coefficient(parent, "product").error
        assert found == pytest.approx(np.sqrt(wide[place, place]), rel=1e-9)
    for one in FIT.shifts[:2]:  # of product, by drug and heat
        place = 2 + ["control", "drug", "heat"].index(one.condition)
        variance = wide[2, 2] + wide[place, place] - 2.0 * wide[2, place]
        assert one.intercept.error == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_what_no_condition_shifts_is_least_squares_of_all_rows():
    """Estimates, errors and degrees of freedom."""
    fit = gn.fit(FRAME, TEXT)
    assert FIT.network.coefficients["dose", "enzyme"] == pytest.approx(
        fit.network.coefficients["dose", "enzyme"], rel=1e-12
    )
    found = FIT.coefficient("dose", "enzyme")
    assert found.error == pytest.approx(fit.standard_errors.coefficients["dose", "enzyme"])
    assert found.freedom == pytest.approx(298.0)


def test_without_parents_it_is_welchs_test():
    said = gn.fit(FRAME, TEXT, shifts={"condition": {"drug": "dose"}})
    (one,) = said.shifts
    here = FRAME["dose"][FRAME["condition"] == "drug"]
    there = FRAME["dose"][FRAME["condition"] != "drug"]
    welch = stats.ttest_ind(here, there, equal_var=False)
    assert one.intercept.value == pytest.approx(here.mean() - there.mean(), rel=1e-9)
    assert one.intercept.p_value() == pytest.approx(welch.pvalue, rel=1e-9)
    assert one.intercept.freedom == pytest.approx(welch.df, rel=1e-9)
    assert one.intercept.interval(0.9) == pytest.approx(tuple(welch.confidence_interval(0.9)))
    assert one.noise_ratio == pytest.approx(here.std() / there.std(), rel=1e-9)


def test_shifts_of_every_node_are_groups_with_common_coefficients():
    """That is what lavaan calls group.equal = "regressions"; golden numbers hold for the pool."""
    nodes = ["dose", "enzyme", "product", "waste"]
    every = gn.fit(FRAME, TEXT, shifts={"condition": nodes})
    pool = gn.fit(FRAME, TEXT, groups="condition").pool("coefficients")
    for name, network in pool.networks.items():
        assert every.networks[name].coefficient_array == pytest.approx(
            network.coefficient_array, rel=1e-9
        )
        assert every.networks[name].variance_array == pytest.approx(network.variance_array)
    assert every.freedom == 2 * 4 * 2


def test_the_likelihood_ratio_compares_with_the_plain_fit():
    fit = gn.fit(FRAME, TEXT)
    assert FIT.unshifted_log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-12)
    assert FIT.freedom == 6
    assert FIT.p_value < 1e-9
    assert "show that the conditions shift" in FIT.verdict
    none = gn.fit(FRAME, TEXT, shifts=np.where(np.arange(300) % 3 == 0, "waste", ""))
    assert none.p_value > 1e-3
    assert list(none.networks) == ["none", "waste"]


def test_intervals_hold_the_truth_as_often_as_they_say():
    """300 small studies; the share inside lies within four standard errors of 95 %."""
    inside = np.zeros(3)
    for seed in range(300):
        found = gn.fit(
            study(40, seed + 1), TEXT, shifts={"condition": {"drug": "product", "heat": "product"}}
        )
        truths = [(found.coefficient("enzyme", "product"), 1.5)]
        truths += [
            (one.intercept, {"drug": 2.0, "heat": -1.0}[one.condition]) for one in found.shifts
        ]
        for place, (one, truth) in enumerate(truths):
            low, high = one.interval(0.95)
            inside[place] += low <= truth <= high
    assert (np.abs(inside / 300 - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / 300)).all(), inside / 300


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_files_give_the_same_bits_read_whole_or_page_by_page(tmp_path, name):
    path = tmp_path / name
    FRAME.to_csv(path, index=False) if name == "rows.csv" else FRAME.to_parquet(path)
    dag = gn.Dag.parse(TEXT)
    paged = gn.fit(FRAME, dag, shifts=SAID, page_rows=40)
    for found in (gn.fit(path, dag, shifts=SAID, page_rows=40), streamed(path, dag)):
        assert found.networks == paged.networks
        assert found.shifts == paged.shifts


def test_categories_of_files_may_be_among_the_causes(tmp_path):
    site = np.array(["a", "b", "c"])[np.arange(300) % 3]
    frame = FRAME.assign(site=site)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    text = TEXT + "; waste ~ site"
    found = gn.fit(tmp_path / "rows.csv", text, shifts=SAID)
    assert found.networks == gn.fit(frame, text, shifts=SAID).networks
    assert ("site[b]", "waste") in found.network.coefficients


def test_noise_by_level_of_a_category():
    """Each level has its own noise variance: the levels are conditions of the node."""
    found = gn.fit(FRAME, TEXT, shifts={"condition": ["product"]})
    x, y = FRAME[["dose", "enzyme"]].to_numpy(), FRAME["product"].to_numpy()
    _, _, variances, _ = maximum_likelihood(x, y, STRATA)
    own = found.strata[found.dag.position("product")].variances
    assert own == pytest.approx(variances, rel=1e-6)
    assert [one.condition for one in found.shifts] == ["drug", "heat"]


@pytest.mark.parametrize("called", ["none", None, ""])
def test_the_condition_without_a_name_is_the_one_to_compare_with(called):
    frame = FRAME.assign(condition=FRAME["condition"].replace("control", called))
    found = gn.fit(frame, TEXT, shifts={"condition": ["product"]})
    assert list(found.networks) == ["none", "drug", "heat"]
    assert [one.condition for one in found.shifts] == ["drug", "heat"]
    assert found.network == found.networks["none"]


def test_cells_set_from_outside_serve_their_children_alone():
    """Hard and soft at once: drug sets enzyme in all its rows, and shifts product."""
    frame = FRAME.copy()
    frame.loc[frame["condition"] == "drug", "enzyme"] = 7.0 + FRAME["dose"] ** 2
    said = {"condition": {"drug": ["enzyme"]}}
    found = gn.fit(frame, TEXT, shifts=SAID, interventions=said)
    free = frame[frame["condition"] != "drug"]
    alone = sm.OLS(free["enzyme"], sm.add_constant(free["dose"])).fit()
    assert found.network.coefficients["dose", "enzyme"] == pytest.approx(alone.params["dose"])
    assert found.coefficient("dose", "enzyme").error == pytest.approx(alone.bse["dose"])
    x, y = frame[["dose", "enzyme"]].to_numpy(), frame["product"].to_numpy()
    slopes, *_ = maximum_likelihood(x, y, STRATA)
    assert found.network.coefficients["enzyme", "product"] == pytest.approx(slopes[1], abs=1e-7)


def test_missing_values_are_treated_as_ever():
    holes = FRAME.copy()
    holes.loc[holes.index[::7], "dose"] = np.nan
    with pytest.raises(DataError, match="missing"):
        gn.fit(holes, TEXT, shifts=SAID)
    found = gn.fit(holes, TEXT, shifts=SAID, missing="drop-rows")
    assert found.networks == gn.fit(holes.dropna(), TEXT, shifts=SAID).networks
    by_node = gn.fit(holes, TEXT, shifts=SAID, missing="drop-by-node")
    x, y = FRAME[["product"]].to_numpy(), FRAME["waste"].to_numpy()
    slopes, *_ = maximum_likelihood(x, y, (STRATA == 2).astype(int))
    assert by_node.network.coefficients["product", "waste"] == pytest.approx(slopes[0], abs=1e-7)


HOLED = FRAME.assign(dose=FRAME["dose"].where(np.arange(300) != 123))
"""With one missing value, in row 123."""


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_missing_values_of_streamed_files(tmp_path, name):
    path, dag = tmp_path / name, gn.Dag.parse(TEXT)
    HOLED.to_csv(path, index=False) if name == "rows.csv" else HOLED.to_parquet(path)
    with pytest.raises(DataError, match=r"^1 value is missing, the first in row 123 of .*fill"):
        streamed(path, dag)
    for missing in ("drop-rows", "drop-by-node"):
        held = gn.fit(HOLED, dag, shifts=SAID, missing=missing, page_rows=40)
        found = streamed(path, dag, missing)
        assert found.networks == held.networks
        assert found.shifts == held.shifts
        assert found.rows == (299 if missing == "drop-rows" else 300)


def test_a_missing_value_is_told_by_its_row_in_the_data_and_with_what_shifts_take():
    with pytest.raises(DataError) as caught:
        gn.fit(HOLED, TEXT, shifts=SAID)
    assert str(caught.value) == (
        "1 value is missing, the first in row 123 of column 'dose', counted from 0: "
        "give missing='drop-by-node' or 'drop-rows', or fill them"
    )
    every = FRAME.assign(
        dose=FRAME["dose"].where(np.arange(300) % 2 == 0),
        waste=FRAME["waste"].where(np.arange(300) % 2 == 1),
    )
    with pytest.raises(DataError, match=r"each of the 300 rows .*give missing='drop-by-node'$"):
        gn.fit(every, TEXT, shifts=SAID, missing="drop-rows")


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node"])
def test_a_condition_without_a_whole_row_says_nothing(tmp_path, missing):
    """Unless it shifts a node, which then has nothing to learn the shift from."""
    drug = FRAME["condition"] == "drug"
    holes, dag = FRAME.assign(enzyme=FRAME["enzyme"].where(~drug)), gn.Dag.parse(TEXT)
    holes.to_csv(tmp_path / "rows.csv", index=False)
    said = {"condition": {"heat": ["product"]}}
    found = gn.fit(holes, dag, shifts=said, missing=missing)
    alone = gn.fit(FRAME[~drug], dag, shifts=said)
    assert found.networks["heat"].coefficients["enzyme", "product"] == pytest.approx(
        alone.networks["heat"].coefficients["enzyme", "product"], rel=1e-12
    )
    assert streamed(tmp_path / "rows.csv", dag, missing, 65_536, said).networks == found.networks
    with pytest.raises(EstimationError, match="'product' has no row that serves"):
        gn.fit(holes, dag, shifts=SAID, missing=missing)


def labelled(**called):
    """The conditions of the study under other labels."""
    own = np.array([called[one] for one in FRAME["condition"]], dtype=object)
    return FRAME.assign(condition=pd.Series(own, dtype=object))


def test_labels_that_a_mapping_names_are_conditions_of_their_own():
    """However much they look like no label."""
    frame = labelled(control="none", drug="NA", heat=None)
    found = gn.fit(frame, TEXT, shifts={"condition": {"NA": ["product"]}})
    plain = gn.fit(FRAME, TEXT, shifts={"condition": {"drug": ["product"]}})
    assert list(found.networks) == ["none", "NA"]
    (one,), (other,) = found.shifts, plain.shifts
    assert (one.condition, one.rows) == ("NA", (FRAME["condition"] == "drug").sum())
    assert one.intercept.value == pytest.approx(other.intercept.value, rel=1e-9)
    with pytest.raises(DataError, match="are both called 'none', and shift different nodes"):
        gn.fit(frame, TEXT, shifts={"condition": {"none": ["product"]}})


def test_all_labels_that_say_nothing_are_the_condition_to_compare_with():
    found = gn.fit(
        labelled(control=None, drug="none", heat="heat"), TEXT, shifts={"condition": ["waste"]}
    )
    plain = gn.fit(FRAME, TEXT, shifts={"condition": {"heat": ["waste"]}})
    assert list(found.networks) == ["none", "heat"]
    (one,), (other,) = found.shifts, plain.shifts
    assert one.rows == other.rows
    assert one.intercept.value == pytest.approx(other.intercept.value, rel=1e-9)


def test_a_node_may_be_called_as_what_says_nothing():
    frame = FRAME.rename(columns={"waste": "NA"})
    target = np.where(FRAME["condition"] == "heat", "NA", "")
    found = gn.fit(frame, TEXT.replace("waste", "NA"), shifts=target)
    assert list(found.networks) == ["none", "NA"]
    assert [one.rows for one in found.shifts] == [(FRAME["condition"] == "heat").sum()]


@pytest.mark.parametrize("keyword", ["shifts", "interventions"])
@pytest.mark.parametrize("said", [{"condition": {"drug": ["produkt"]}}, "condition"])
def test_an_unknown_node_is_told_with_the_keyword_that_was_given(keyword, said):
    with pytest.raises(DataError) as caught:
        gn.fit(FRAME, TEXT, **{keyword: said})
    (other,) = {"shifts", "interventions"} - {keyword}
    assert str(caught.value).startswith(f"the {keyword} in 'condition' name ")
    assert f"as {keyword}={{'condition': {{'drug': ['node']}}}}" in str(caught.value)
    assert other not in str(caught.value)


def test_what_is_not_known_has_no_p_value_and_leaves_the_others_alone():
    """A condition that pays for all its rows: leverage 1 of 2 rows leaves no freedom."""
    own = Strata(
        np.ones(1),
        np.zeros(2),
        np.array([1.0, 1e-20]),
        np.array([50.0, 2.0]),
        np.zeros((2, 1)),
        np.array([[[50.0]], [[1.0]]]),
    )
    lone = Strata(
        np.empty(0), np.zeros(1), np.ones(1), np.ones(1), np.empty((1, 0)), np.empty((1, 0, 0))
    )
    shifted = np.array([[False, False], [False, True]])
    (unknown,) = _shifts(gn.Dag.parse("x; y ~ x"), ("none", "heat"), shifted, [lone, own])
    assert np.isnan(unknown.noise_p_value)
    assert np.isnan(unknown.intercept.p_value())
    known = [one.intercept.p_value() for one in FIT.shifts]
    known += [one.noise_p_value for one in FIT.shifts]
    for adjust in ("holm", "benjamini-hochberg"):
        table = replace(FIT, shifts=(unknown, *FIT.shifts)).shift_table(adjust=adjust)
        assert np.isnan([table["p_value"][0], table["noise_p_value"][0]]).all()
        found = table["p_value"][1:] + table["noise_p_value"][1:]
        assert found == adjusted(np.array(known), adjust).tolist()


@pytest.mark.parametrize(
    ("said", "settings", "error", "words"),
    [
        ({"condition": {"drug": ["produkt"]}}, {}, DataError, "did you mean 'product'"),
        ({"condition": {"drugs": ["product"]}}, {}, SettingError, "did you mean 'drug'"),
        ({"a": {}, "b": {}}, {}, SettingError, "expected one column"),
        ({"condition": {}}, {}, SettingError, "name no node"),
        (["product"] * 300, {}, SettingError, "shifted in every condition"),
        (["product"] * 299, {}, DataError, "more rows than values"),
        (SAID, {"method": "batch-median"}, SettingError, "expected 'least-squares'"),
        (SAID, {"scale": "mad"}, SettingError, "mean-square"),
        (SAID, {"groups": "condition"}, SettingError, "groups, which do not go together"),
        (SAID, {"clusters": "condition"}, SettingError, "weights or clusters"),
        (SAID, {"intercept": False}, SettingError, "intercept=False"),
        (SAID, {"split": (100, 200)}, SettingError, "a split"),
        (SAID, {"missing": "likelihood"}, SettingError, "likelihood"),
        ({"condition": {"drug": "dose"}}, {"dag": TEXT + "; z; z ~~ dose"}, SettingError, "covar"),
        (
            {"condition": {"drug": "waste"}},
            {"dag": "waste ~ flag + product"},
            EstimationError,
            "do not vary within the conditions",
        ),
        (["waste" if row == 5 else "" for row in range(300)], {}, EstimationError, "at least 2"),
    ],
)
def test_what_cannot_be_done_is_told(said, settings, error, words):
    frame = FRAME.assign(z=0.0, flag=(FRAME["condition"] == "drug") * 1.0)
    frame["z"] = np.arange(300.0)
    own = {"dag": TEXT} | settings
    with pytest.raises(error, match=words):
        gn.fit(frame, own.pop("dag"), own.pop("method", "least-squares"), shifts=said, **own)


def test_a_node_without_noise_in_a_condition_is_refused():
    frame = FRAME.copy()
    heat = frame["condition"] == "heat"
    frame.loc[heat, "waste"] = 2.0
    with pytest.raises(EstimationError, match="without noise in one of its conditions"):
        gn.fit(
            frame,
            "dose; enzyme ~ dose; product ~ enzyme; waste",
            shifts={"condition": {"heat": "waste"}},
        )


@pytest.mark.parametrize("unit", [1e-120, 1e-60, 1e60, 1e120])
def test_units_do_not_matter(unit):
    nodes = ["dose", "enzyme", "product", "waste"]
    found = gn.fit(FRAME.assign(**{one: unit * FRAME[one] for one in nodes}), TEXT, shifts=SAID)
    for parent, child in found.dag.arrows:
        own, other = found.coefficient(parent, child), FIT.coefficient(parent, child)
        assert own.value == pytest.approx(other.value, rel=1e-9)
        assert own.error == pytest.approx(other.error, rel=1e-9)
        assert own.freedom == pytest.approx(other.freedom, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(waste=1e160 * f["waste"]), "no finite answer"),
        (lambda f: f.assign(enzyme=2.0 * f["dose"]), "collinear|without noise"),
        (lambda f: f.assign(dose=1.0), "without noise|do not vary"),
        (lambda f: f.assign(waste=2.0 * f["product"]), "without noise"),
        (lambda f: f.assign(dose=np.inf), "infinite"),
    ],
)
def test_columns_that_have_no_answer_are_told(change, words):
    with pytest.raises(GaussnetError, match=words):
        gn.fit(change(FRAME), TEXT, shifts=SAID)


def test_too_few_rows_have_no_errors_or_no_answer():
    """Whatever the rows, there is an answer or a sentence, and no error where none is known."""
    for rows in range(3, 14):
        try:
            found = gn.fit(FRAME.iloc[:rows], TEXT, shifts=SAID)
        except GaussnetError:
            continue
        errors = [found.coefficient(*edge).error for edge in found.dag.arrows]
        assert all(np.isnan(error) or error > 0.0 for error in errors)
        str(found)


def test_the_condition_may_be_a_cause_too():
    """A category of the graph, in a frame: its text still tells the conditions."""
    found = gn.fit(FRAME, TEXT + "; dose ~ condition", shifts=SAID)
    assert list(found.networks) == ["control", "drug", "heat"]
    own = [found.network.coefficients[f"condition[{one}]", "dose"] for one in ("drug", "heat")]
    means = FRAME.groupby("condition")["dose"].mean()
    assert own == pytest.approx(
        [means["drug"] - means["control"], means["heat"] - means["control"]]
    )
    groups = gn.fit(FRAME, "dose ~ enzyme; waste ~ condition", groups=STRATA % 2)
    assert groups.pooled.ignored == ("product",)


def test_tables_and_words():
    table = FIT.shift_table()
    assert table["node"] == ["product", "product", "waste"]
    assert table["condition"] == ["drug", "heat", "heat"]
    assert sum(row["p_value"] < 0.05 for row in table) == 3
    assert {"estimate", "std_error", "low", "high"} <= set(FIT.table().names)
    assert "Shifts by condition" in str(FIT)
    assert repr(FIT) == "ShiftFit(by 'condition', 3 conditions, 3 shifts, 300 rows)"
    with pytest.raises(SettingError, match="there is no edge"):
        FIT.coefficient("waste", "dose")


def test_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    target = FRAME["condition"].map({"control": "", "drug": "product", "heat": "product, waste"})
    FRAME.assign(target=target).to_csv("rows.csv", index=False)
    gn.write_dag(gn.Dag.parse(TEXT), "graph.txt")

    def call(*more):
        words = ["gaussnet", "fit", "rows.csv", "--dag", "graph.txt", "--shifts", "target", *more]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, capsys.readouterr()

    code, output = call("--json", "--out", "model.json")
    found = json.loads(output.out)
    assert code == 0
    assert gn.read_network("model.json") == FIT.network
    own = [line["shift"] for line in found["shifts"]]
    assert own == pytest.approx([one.intercept.value for one in FIT.shifts], rel=1e-9)
    code, output = call()
    assert code == 0
    assert "Shifts by target" in output.out
    code, output = call("--report", "page.html")
    assert code == 1
    assert "a report is of one condition" in output.err


def test_others_refuse_it_in_one_sentence():
    with pytest.raises(GaussnetError, match="expected a gaussnet"):
        gn.write_report(FIT, "page.html")
    with pytest.raises(TypeError):
        gn.summarize(FRAME, TEXT, shifts=SAID)
