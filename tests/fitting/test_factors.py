"""Categories: columns of text as causes, against regressions with dummies."""

import html
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf
from tests.forced import fit_streamed

import gaussnet as gn
from gaussnet.errors import DataError, GaussnetError, GraphError, NetworkError, SettingError

TEXT = "weight ~ fuel; mpg ~ fuel + weight"


def cars(rows=500, seed=0):
    rng = np.random.default_rng(seed)
    fuel = rng.choice(["Petrol", "Diesel", "Gas"], rows, p=[0.5, 0.3, 0.2])
    weight = rng.normal(size=rows) + (fuel == "Gas")
    mpg = 40.0 + 5.0 * (fuel == "Gas") - 8.0 * (fuel == "Petrol") - 2.0 * weight
    frame = pd.DataFrame({"fuel": fuel, "weight": weight, "mpg": mpg + rng.normal(size=rows)})
    return frame.sample(frac=1.0, random_state=1)


FRAME = cars()
FIT = gn.fit(FRAME, TEXT)
DUMMIES = smf.ols("mpg ~ C(fuel) + weight", FRAME).fit()


def test_coefficients_errors_and_predictions_are_those_of_dummies():
    table = {row["parent"]: row for row in FIT.table() if row["child"] == "mpg"}
    for parent, name in (("fuel[Gas]", "C(fuel)[T.Gas]"), ("fuel[Petrol]", "C(fuel)[T.Petrol]")):
        assert table[parent]["estimate"] == pytest.approx(DUMMIES.params[name], rel=1e-9)
        assert table[parent]["std_error"] == pytest.approx(DUMMIES.bse[name], rel=1e-9)
    new = FRAME.iloc[:20][["weight", "fuel"]]
    assert FIT.predict(new, "mpg").mean == pytest.approx(DUMMIES.predict(new).to_numpy())
    assert FIT.dag.factors == {"fuel": ("Diesel", "Gas", "Petrol")}


@pytest.mark.parametrize("level", ["Diesel", "Gas", "Petrol"])
def test_an_action_gives_the_means_of_a_level(level):
    """All nodes follow from the level alone, so these are the means of its rows."""
    own = FRAME[FRAME["fuel"] == level][["weight", "mpg"]].mean()
    for law in (FIT.network.do({"fuel": level}).to_gaussian(),
                FIT.network.condition({"fuel": level})):  # fmt: skip
        means = dict(zip(law.names, law.mean, strict=True))
        assert [means["weight"], means["mpg"]] == pytest.approx(own.tolist(), rel=1e-9)


def test_total_effects_compare_with_the_reference():
    means = FRAME.groupby("fuel")["mpg"].mean()
    for level in ("Gas", "Petrol"):
        found = FIT.effect(f"fuel[{level}]", "mpg").value
        assert found == pytest.approx(means[level] - means["Diesel"], rel=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "categorical", "polars", "enum", "arrow"])
def test_frames_of_every_kind_give_the_same(kind):
    order = ["Diesel", "Gas", "Petrol", "Coal"]
    made = {
        "pandas": lambda: FRAME,
        "categorical": lambda: FRAME.assign(fuel=pd.Categorical(FRAME["fuel"], order)),
        "polars": lambda: pl.DataFrame(FRAME.to_dict("list")),
        "enum": lambda: pl.DataFrame(FRAME.to_dict("list")).with_columns(
            pl.col("fuel").cast(pl.Enum(order))
        ),
        "arrow": lambda: pa.table(FRAME.to_dict("list")),
    }[kind]()
    found = gn.fit(made, TEXT)
    assert found.network.coefficients == FIT.network.coefficients
    assert found.dag.factors == FIT.dag.factors


def test_the_order_of_categories_states_the_reference():
    frame = FRAME.assign(fuel=pd.Categorical(FRAME["fuel"], ["Petrol", "Gas", "Diesel"]))
    fit = gn.fit(frame, TEXT)
    assert set(fit.dag.parents("mpg")) == {"fuel[Gas]", "fuel[Diesel]", "weight"}
    turned = fit.network.coefficients["fuel[Diesel]", "mpg"]
    assert turned == pytest.approx(-FIT.network.coefficients["fuel[Petrol]", "mpg"])


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: gn.fit(FRAME, "fuel ~ weight"), GraphError, "cannot give a category"),
        (
            lambda: FIT.network.effect("fuel", "mpg"),
            GraphError,
            "one of 'fuel.Gas.', 'fuel.Petrol.'",
        ),
        (lambda: FIT.network.sample(3, seed=1), NetworkError, "one level of it at a time"),
        (lambda: FIT.network.do({"fuel[Gas]": 0.0}), NetworkError, "name the level"),
        (
            lambda: FIT.network.do({"fuel[Gas]": 1.0, "fuel[Petrol]": 1.0}),
            NetworkError,
            "name the level",
        ),
        (
            lambda: FIT.network.condition({"fuel[Gas]": 0.3, "fuel[Petrol]": 0.0}),
            NetworkError,
            "name the level",
        ),
        (lambda: FIT.network.do({"fuel": "Coal"}), NetworkError, "expected one of 'Diesel'"),
        (lambda: FIT.predict(FRAME.assign(fuel="Coal"), "mpg"), DataError, "does not know"),
        (lambda: FIT.predict(FRAME, "fuel[Gas]"), NetworkError, "cannot predict"),
        (FIT.certificate, SettingError, "Gaussian causes"),
        (lambda: gn.fit(FRAME.assign(fuel="Gas"), TEXT), DataError, "in every row"),
        (
            lambda: gn.fit(FRAME.assign(fuel=[f"car {k}" for k in range(500)]), TEXT),
            DataError,
            "if it is a name",
        ),
        (
            lambda: gn.fit(FRAME.assign(fuel=pd.date_range("2020", periods=500)), TEXT),
            DataError,
            "days since a start",
        ),
        (
            lambda: gn.fit(FRAME.assign(fuel=FRAME["weight"].astype(str)), TEXT),
            DataError,
            "numbers written as text",
        ),
        (lambda: gn.fit(FRAME.assign(weight=FRAME["weight"] > 0.0), TEXT), GraphError, "category"),
        (
            lambda: gn.Dag.parse(TEXT).with_factors({"fuel": ("Gas", "Gas")}),
            GraphError,
            "each once, the reference first",
        ),
        (
            lambda: gn.Dag.parse(TEXT).with_factors({"weight": ("1", "2")}),
            GraphError,
            "cannot give a category",
        ),
        (lambda: gn.fit(FRAME, "mpg ~ b*fuel + weight"), GraphError, "has several"),
    ],
)
def test_what_a_category_cannot_do_is_told(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_a_missing_level_is_missing():
    holes = FRAME.copy()
    holes.loc[holes.index[:30], "fuel"] = None
    with pytest.raises(DataError, match="missing"):
        gn.fit(holes, TEXT)
    assert gn.fit(holes, TEXT, missing="drop-rows").rows == 470


def test_files_keep_the_levels_and_new_frames_are_understood(tmp_path):
    FIT.network.save(tmp_path / "net.json")
    network = gn.read_network(tmp_path / "net.json")
    assert network == FIT.network
    assert network.dag.factors == FIT.dag.factors
    assert network.score(FRAME) == pytest.approx(FIT.network.score(FRAME))
    drawn = network.sample(4, seed=1, do={"fuel": "Gas"})
    assert set(drawn[:, network.dag.position("fuel[Gas]")]) == {1.0}
    case = {"fuel": "Gas", "weight": 1.0, "mpg": 44.0}
    after = network.counterfactual(case, do={"fuel": "Petrol"}).after
    moved = FIT.effect("fuel[Petrol]", "mpg").value - FIT.effect("fuel[Gas]", "mpg").value
    assert dict(zip(after.names, after.mean, strict=True))["mpg"] == pytest.approx(44.0 + moved)
    assert FIT.update(FRAME).rows == 1_000


def test_two_levels_may_have_a_label_and_reports_name_levels(tmp_path):
    frame = FRAME[FRAME["fuel"] != "Gas"]
    fit = gn.fit(frame, "mpg ~ b*fuel + weight; twice := 2*b")
    assert fit.dag.labels == {"b": ("fuel[Petrol]", "mpg")}
    gn.write_report(FIT, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "fuel[Petrol]" in page
    assert "compared with" in page
    shapes = FIT.residual_shapes
    assert shapes is not None
    assert not shapes.nodes("light tails", "heavy tails", "skewed", "wild values")


# Files.

WRITERS = {
    "rows.csv": lambda frame, path: frame.to_csv(path, index=False),
    "rows.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "rows.parquet": lambda frame, path: frame.to_parquet(path, index=False, row_group_size=70),
    "rows.arrow": lambda frame, path: frame.reset_index(drop=True).to_feather(path),
}


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    path = tmp_path / request.param
    WRITERS[request.param](FRAME, path)
    return path


def write_csv(path, frame):
    frame.to_csv(path, index=False)
    return path


def test_files_give_the_bits_of_frames_read_whole_or_page_by_page(file):
    assert gn.fit(file, TEXT).network == FIT.network
    assert gn.fit(file, TEXT).dag.factors == FIT.dag.factors
    paged = gn.fit(FRAME, TEXT, page_rows=60)
    assert fit_streamed(file, FIT.dag, page_rows=60).network == paged.network
    assert gn.fit(file, TEXT).standard_errors.coefficients == FIT.standard_errors.coefficients
    assert gn.fit(file, TEXT).update(FRAME).rows == 1_000


def test_several_files_share_their_levels(tmp_path):
    files = [
        write_csv(tmp_path / f"{level}.csv", FRAME[FRAME["fuel"] == level])
        for level in ("Petrol", "Diesel", "Gas")
    ]
    whole = pd.concat([FRAME[FRAME["fuel"] == level] for level in ("Petrol", "Diesel", "Gas")])
    assert gn.fit(files, TEXT).network == gn.fit(whole, TEXT).network


def test_summaries_know_the_levels(file, tmp_path):
    first = gn.summarize(file, TEXT)
    assert gn.solve(first).network == FIT.network
    assert gn.solve(first.add(FRAME)).network == gn.fit(pd.concat([FRAME, FRAME]), TEXT).network
    first.save(tmp_path / "site.npz")
    again = gn.load_summary(tmp_path / "site.npz").add(file)
    assert gn.solve(again).network == gn.solve(first.add(FRAME)).network
    with pytest.raises(DataError, match="'Coal', which the network does not know"):
        first.add(FRAME.assign(fuel="Coal"))


def test_sites_that_lack_a_level_are_told_of_it():
    """Without a word each site has levels of its own."""
    petrol = FRAME[FRAME["fuel"] != "Gas"]
    with pytest.raises(SettingError, match="tell both of all levels, the reference first"):
        gn.merge(gn.summarize(FRAME, TEXT), gn.summarize(petrol, TEXT))
    dag = gn.Dag.parse(TEXT).with_factors({"fuel": ("Diesel", "Gas", "Petrol")})
    both = gn.merge(gn.summarize(FRAME, dag), gn.summarize(petrol, dag))
    whole = gn.fit(pd.concat([FRAME, petrol]), TEXT).network
    found = gn.solve(both).network
    assert found.coefficient_array == pytest.approx(whole.coefficient_array, rel=1e-10)


def test_levels_that_are_given_state_the_reference_also_for_numbers(tmp_path):
    coded = FRAME.assign(fuel=FRAME["fuel"].map({"Diesel": 1, "Gas": 2, "Petrol": 3}))
    dag = gn.Dag.parse(TEXT).with_factors({"fuel": ("3", "1", "2")})
    fit = gn.fit(coded, dag)
    turned = fit.network.coefficients["fuel[1]", "mpg"]
    assert turned == pytest.approx(-FIT.network.coefficients["fuel[Petrol]", "mpg"])
    for one in (coded, coded.astype({"fuel": float})):
        assert gn.fit(write_csv(tmp_path / "coded.csv", one), dag).network == fit.network


@pytest.mark.parametrize("words", [("False", "True"), ("no", "yes")])
def test_true_and_false_are_levels(tmp_path, words):
    frame = FRAME.assign(gas=FRAME["fuel"] == "Gas")
    fit = gn.fit(frame, "mpg ~ gas + weight")
    assert fit.dag.factors == {"gas": ("False", "True")}
    own = frame.assign(gas=np.where(frame["gas"], words[1], words[0]))
    made = [write_csv(tmp_path / "gas.csv", own)]
    if words[1] == "True":
        frame.to_parquet(tmp_path / "gas.parquet", index=False)
        made += [tmp_path / "gas.parquet", pl.DataFrame(frame.to_dict("list")), pa.table(frame)]
    for data in made:
        found = gn.fit(data, "mpg ~ gas + weight")
        assert found.network.coefficient_array.tolist() == fit.network.coefficient_array.tolist()


def test_words_for_missing_values_are_missing_and_none_is_a_level(tmp_path):
    frame = FRAME.assign(fuel=FRAME["fuel"].where(FRAME["fuel"] != "Gas", "none"))
    frame.loc[frame.index[:30], "fuel"] = None
    path = tmp_path / "holes.csv"
    frame.to_csv(path, index=False, na_rep="NA")
    with pytest.raises(DataError, match="missing"):
        gn.fit(path, TEXT)
    fit = gn.fit(path, TEXT, missing="drop-rows")
    assert fit.rows == 470
    assert fit.dag.factors == {"fuel": ("Diesel", "Petrol", "none")}
    assert gn.fit(frame, TEXT, missing="drop-rows").network == fit.network


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.assign(fuel=np.where(np.arange(500) == 7, "<0.1", "2.5")), "'<0.1' in line 9"),
        (
            lambda f: f.assign(weight=np.where(f["weight"] > 0, "fat", "thin")),
            "cannot give a categ",
        ),
        (lambda f: f.assign(fuel=[f"car {k}" for k in range(500)]), "if it is a name"),
        (lambda f: f.assign(fuel="Gas"), "'Gas' in every row"),
        (lambda f: f.rename(columns={"fuel": "Fuel"}), "did you mean 'Fuel'"),
        (
            lambda f: f.assign(fuel=np.where(f["fuel"] == "Gas", "-999", f["fuel"])),
            "stands for a mi",
        ),
        (lambda f: f.assign(fuel="2020-01-01"), "expected a number"),
    ],
)
def test_what_a_file_cannot_do_is_told(tmp_path, change, said):
    path = write_csv(tmp_path / "odd.csv", change(FRAME))
    with pytest.raises(GaussnetError, match=said):
        gn.fit(path, TEXT, missing_values=[-999])


def test_text_that_is_not_utf8_makes_no_levels(tmp_path):
    path = tmp_path / "latin.csv"
    frame = FRAME.assign(fuel=np.where(FRAME["fuel"] == "Gas", "\u00d6l", FRAME["fuel"]))
    frame.to_csv(path, index=False, encoding="latin-1")
    with pytest.raises(DataError, match="not UTF-8: save the file as UTF-8"):
        gn.fit(path, TEXT)
    frame.to_csv(path, index=False)
    assert gn.fit(path, TEXT).dag.factors["fuel"] == ("Diesel", "Petrol", "\u00d6l")


def test_a_graph_of_categories_alone(file):
    fit = gn.fit(file, "[fuel]")
    assert fit.network == gn.fit(FRAME, "[fuel]").network
    assert set(fit.ignored) == {"weight", "mpg"}


def test_a_category_that_begins_late_is_seen(tmp_path):
    """The first rows of a long file lack it, and the head of the file tells nothing."""
    frame = pd.concat([FRAME.assign(fuel=None)] * 12 + [FRAME])
    path = write_csv(tmp_path / "late.csv", frame)
    assert path.stat().st_size > 3 * 65_536
    fit = gn.fit(path, TEXT, missing="drop-rows")
    assert fit.network == gn.fit(frame, TEXT, missing="drop-rows").network


def test_interventions_and_groups_go_with_categories_of_files(file, tmp_path):
    target = np.where(np.arange(500) < 100, "weight", "")
    frame = FRAME.assign(target=target, site=np.arange(500) % 2)
    WRITERS[file.name](frame, tmp_path / f"more-{file.name}")
    path = tmp_path / f"more-{file.name}"
    said = gn.fit(frame, TEXT, interventions="target")
    assert gn.fit(path, TEXT, interventions="target").network == said.network
    summary = gn.summarize(path, TEXT, interventions="target")
    assert gn.solve(summary).network == said.network
    groups = gn.fit(path, TEXT, groups="site")
    alone = gn.fit(frame[frame["site"] == 1], FIT.dag)
    assert groups.fits["1"].network == alone.network


def test_cross_validation_scores_what_follows_from_categories(file):
    """Held out by hand: regressions with dummies on the other folds; the category is no target."""
    found = gn.cross_validate(file, TEXT, ["least-squares"], folds=4, seed=3)
    order = np.random.default_rng(3).permutation(500)
    scores = []
    for part in np.array_split(order, 4):
        seen, unseen = FRAME.drop(FRAME.index[part]), FRAME.iloc[np.sort(part)]
        total = 0.0
        for text in ("weight ~ C(fuel)", "mpg ~ C(fuel) + weight"):
            fit = smf.ols(text, seen).fit()
            child, variance = text.split(" ~ ")[0], fit.ssr / len(seen)
            errors = unseen[child] - fit.predict(unseen)
            total -= 0.5 * (np.log(2.0 * np.pi * variance) + np.mean(errors**2) / variance)
        scores.append(total)
    assert found.held_out[0] == pytest.approx(scores, rel=1e-9)
    own = {"all": {"method": "least-squares", "dag": "mpg ~ fuel + weight"}, "least-squares": {}}
    assert gn.cross_validate(FRAME, TEXT, own).methods == ("all", "least-squares")
    rare = FRAME.assign(fuel=np.where(np.arange(500) < 1, "Coal", FRAME["fuel"]))
    with pytest.raises(DataError, match="all rows with 'Coal' in 'fuel' are in fold"):
        gn.cross_validate(rare, TEXT)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (TEXT, {}),
        (TEXT + "; age; age ~~ fuel", {}),
        (TEXT, {"interventions": {"site": {"1": ["weight"]}}}),
        (TEXT, {"weights": gn.Weights("w", "sampling"), "clusters": "site"}),
    ],
)
def test_the_lines_of_a_report_give_the_same_fit_again(tmp_path, text, settings):
    frame = FRAME.assign(
        age=np.arange(500.0), site=np.arange(500) % 25, w=1.0 + FRAME["weight"] ** 2
    )
    fit = gn.fit(frame, text, **settings)
    path = tmp_path / "report.html"
    gn.write_report(fit, path)
    (code,) = re.findall(r"again</h2><pre>(.*?)</pre>", path.read_text(), re.DOTALL)
    scope = {"gn": gn, "rows": frame, "path": tmp_path / "again.html"}
    exec(html.unescape(code), scope)  # as a reader would
    assert scope["fit"].network == fit.network
    assert (tmp_path / "again.html").read_text() == path.read_text()


def test_a_category_is_one_node_before_it_has_levels():
    dag = gn.Dag.parse("mpg ~ fuel + weight; weight ~~ fuel; age")
    levels = {"fuel": ("Diesel", "Gas", "Petrol")}
    assert dag.with_factors(levels).without_factors() == dag
    assert dag.without_factors() is dag


def test_new_rows_in_files_are_compared_and_reported(file, tmp_path):
    (scores,) = gn.compare([FIT], file)
    assert scores.held_out == pytest.approx(FIT.network.score(FRAME))
    gn.write_report(FIT.network, tmp_path / "new.html", data=file)
    assert "fuel[Petrol]" in (tmp_path / "new.html").read_text()


def a_study(rows=300):
    rng = np.random.default_rng(12)
    group = rng.choice(["b", "a", "c"], rows)
    x = rng.normal(size=rows)
    y = x + 1.2 * (group == "a") + rng.normal(size=rows)
    return pd.DataFrame({"group": pd.Categorical(group, ["b", "a", "c"]), "x": x, "y": y})


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_files_keep_the_order_of_stated_levels(tmp_path, kind):
    frame, path = a_study(), str(tmp_path / f"study.{kind}")
    getattr(frame, f"to_{kind}")(path)
    ours, theirs = gn.fit(path, "y ~ group + x"), gn.fit(frame, "y ~ group + x")
    assert ours.dag.factors == theirs.dag.factors == {"group": ("b", "a", "c")}
    assert ours.network == theirs.network


@pytest.mark.parametrize("code", [0, 1])
def test_codes_that_would_empty_indicators_are_refused(code):
    with pytest.raises(gn.DataError, match="columns of 0 and 1 that stand for 'group'"):
        gn.fit(a_study(), "y ~ group + x", missing_values=[code], missing="likelihood")
    assert gn.fit(a_study(), "y ~ group + x", missing_values=[-9]).rows == 300


def test_predictions_take_levels_by_node():
    network = gn.fit(a_study(), "y ~ group + x").network
    rows = pd.DataFrame({"group": ["a", "b"], "x": [1.0, 2.0]})
    expected = np.asarray(network.predict(rows, "y").mean)
    several = network.predict({"group": ["a", "b"], "x": [1.0, 2.0]}, "y")
    one = network.predict({"group": "a", "x": 1.0}, "y")
    assert np.allclose(several.mean, expected)
    assert np.allclose(one.mean, expected[:1])
    with pytest.raises(gn.NetworkError, match="expected one of"):
        network.predict({"group": "z", "x": 1.0}, "y")


def test_a_graph_with_a_category_has_no_certificate():
    dag = gn.fit(a_study(), "y ~ group + x").dag
    with pytest.raises(gn.SettingError, match="has the category 'group'"):
        gn.certify(dag, rows=300)


def test_indicators_of_an_npy_file_are_taken_at_their_word(tmp_path):
    frame, path = a_study(), tmp_path / "rows.npy"
    fit = gn.fit(frame, "y ~ group + x")
    columns = [(frame.group == level).to_numpy(dtype=float) for level in ("a", "c")]
    np.save(path, np.column_stack((*columns, frame.x, frame.y)))
    again = gn.fit(str(path), fit.dag, columns=["group[a]", "group[c]", "x", "y"])
    assert again.network.coefficients == fit.network.coefficients


def two_spellings():
    rng = np.random.default_rng(0)
    fuel = np.where(rng.random(300) < 0.5, "Petrol", "Diesel").astype(object)
    fuel[:4], fuel[4:8] = "diesel ", "Pertol"
    frame = pd.DataFrame({"fuel": fuel, "mpg": rng.normal(40.0, 5.0, 300)})
    frame["price"] = frame["mpg"] + rng.standard_normal(300)
    return frame


def test_levels_that_look_alike_are_told():
    notes = [note for note in gn.fit(two_spellings(), "mpg ~ fuel").notes if "look alike" in note]
    assert notes == [
        "the levels 'Diesel' and 'diesel' of fuel look alike: if they are the same, write them "
        "alike in the data",
        "the levels 'Pertol' and 'Petrol' of fuel look alike: if they are the same, write them "
        "alike in the data",
    ]


def misspelt_once(wrong, rows=500):
    rng = np.random.default_rng(1)
    fuel = rng.choice(["Diesel", "Gas", "Petrol"], rows).astype(object)
    fuel[7] = wrong
    return pd.DataFrame({"fuel": fuel, "mpg": rng.normal(40.0, 5.0, rows)})


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("Deisel", "Diesel"), ("Cas", "Gas"), ("Gaz", "Gas"), ("Ga", ""), ("Dieseel", "Diesel"),
     ("Coal", ""), ("Gas2", "")],
)  # fmt: skip
@pytest.mark.parametrize("rows", [40, 500])
def test_a_level_misspelt_once_is_named_and_never_the_reference(wrong, meant, rows, tmp_path):
    frame = misspelt_once(wrong, rows)
    frame.to_csv(tmp_path / "cars.csv", index=False)
    for data in (frame, str(tmp_path / "cars.csv")):
        fit = gn.fit(data, "mpg ~ fuel")
        assert fit.dag.factors["fuel"] == ("Diesel", *sorted(["Gas", "Petrol", wrong]))
        told = [note for note in fit.notes if "stands in one row" in note]
        expected = f"the level {wrong!r} of fuel stands in one row and looks like {meant!r}"
        assert [note.split(": if")[0] for note in told] == [expected] * bool(meant)


def test_stated_levels_keep_their_reference_and_a_rare_one_is_told():
    frame = misspelt_once("Deisel")
    levels = ("Deisel", "Diesel", "Gas", "Petrol")
    stated = frame.assign(fuel=pd.Categorical(frame["fuel"], levels))
    by_graph = gn.Dag.parse("mpg ~ fuel").with_factors({"fuel": levels})
    for fit in (gn.fit(stated, "mpg ~ fuel"), gn.fit(frame, by_graph)):
        assert fit.dag.factors["fuel"] == levels
        said = "compared with 'Deisel', a level of few rows (0.2%)"
        assert any(said in note for note in fit.notes)


def test_false_is_the_reference_also_where_it_is_rare():
    frame = pd.DataFrame({"on": [False] + [True] * 99, "y": np.arange(100.0) % 7})
    assert gn.fit(frame, "y ~ on").dag.factors["on"] == ("False", "True")
    frame["on"] = frame["on"].astype(str)
    assert gn.fit(frame, "y ~ on").dag.factors["on"] == ("False", "True")


@pytest.mark.parametrize(
    "levels",
    [["male", "female"], ["site 1", "site 2"], ["Group A", "Group B"], ["treated", "untreated"]],
)
def test_levels_that_are_meant_are_not_told(levels):
    rng = np.random.default_rng(0)
    group = np.where(rng.random(400) < 0.05, *levels)
    frame = pd.DataFrame({"group": group, "y": rng.standard_normal(400)})
    assert not any("look alike" in note for note in gn.fit(frame, "y ~ group").notes)


def test_a_misspelt_level_is_answered_with_the_one_that_was_meant():
    frame = two_spellings().iloc[8:]
    fit = gn.fit(frame, "mpg ~ fuel")
    with pytest.raises(gn.NetworkError, match="did you mean 'Petrol'"):
        fit.network.condition({"fuel": "petrol"})
    with pytest.raises(gn.DataError, match="did you mean 'Diesel'"):
        fit.predict(pd.DataFrame({"fuel": ["Deisel"]}), "mpg")


def test_columns_that_are_lacking_beside_a_category_are_told_as_the_user_sees_them(tmp_path):
    renamed = FRAME.rename(columns={"weight": "wieght"})
    write_csv(tmp_path / "cars.csv", renamed)
    for data in (renamed, tmp_path / "cars.csv"):
        with pytest.raises(gn.DataError) as told:
            gn.fit(data, FIT.dag)
        assert "no column for 1 node ('weight'), only " in str(told.value)
        assert str(told.value).endswith("did you mean 'wieght'?")
        assert "fuel[" not in str(told.value)
    with pytest.raises(gn.DataError, match="did you mean 'fuell'"):
        gn.fit(FRAME.rename(columns={"fuel": "fuell"}), FIT.dag)


def test_missing_values_are_counted_by_column_and_not_by_level():
    frame = two_spellings()
    frame.loc[50:80, "fuel"] = "Electric"
    frame.loc[:19, "fuel"] = None
    frame.loc[20:22, "mpg"] = np.nan
    for method in ("least-squares", "robust"):
        fit = gn.fit(frame, "mpg ~ fuel; price ~ mpg", method, missing="likelihood")
        assert fit.summary().data.startswith("23 of 900 values are missing")
    notes = [note for note in fit.notes if "20 of its values missing" in note]
    assert len(notes) == 1
    assert any("23 of 900 cells" in note for note in gn.fit(
        frame, "mpg ~ fuel; price ~ mpg", missing="likelihood").notes)  # fmt: skip
    with pytest.raises(DataError, match=r"^23 values are missing, .* of column .fuel."):
        gn.fit(frame, "mpg ~ fuel; price ~ mpg")


def test_flagged_values_are_counted_in_every_column_beside_a_category():
    """The last node counts too where a category has several."""
    frame = FRAME.reset_index(drop=True)
    frame["price"] = frame["mpg"] + np.random.default_rng(3).standard_normal(len(frame))
    frame.loc[10:19, "price"] += 1e3
    fit = gn.fit(frame, "weight ~ fuel; mpg ~ fuel + weight; price ~ mpg", "robust")
    counts = [fit.node(node).flagged for node in fit.dag.nodes]
    assert fit.dag.nodes[-1] == "price"
    assert counts[-1] == 10
    touched = sum(count > 0 for count in counts)
    said = f"{sum(counts)} of 2000 values ({sum(counts) / 2000:.2%}) do not fit and were flagged, "
    assert any(note.startswith(f"{said}in {touched} of 4 nodes") for note in fit.notes)


def test_who_names_a_category_is_told_its_nodes():
    network = FIT.network
    with pytest.raises(GraphError) as told:
        FIT.effect("fuel", "mpg")
    assert str(told.value) == (
        "'fuel' is a category, whose levels have one effect each: fit.level_effects('fuel', 'mpg') "
        "compares all of them with 'Diesel'"
    )
    with pytest.raises(GraphError) as told:
        network.effect("fuel[Diesel]", "mpg")
    assert str(told.value) == (
        "there is no node 'fuel[Diesel]', for 'Diesel' is the reference of the category 'fuel': "
        "name one of 'fuel[Gas]', 'fuel[Petrol]', which are compared with it"
    )


@pytest.mark.parametrize("level", ["Diesel", "Gas", "Petrol"])
def test_an_indicator_that_is_1_names_its_level(level):
    network = FIT.network
    for value in (1, 1.0, True):
        given = {f"fuel[{level}]": value, "weight": 0.5}
        named = {"fuel": level, "weight": 0.5}
        assert np.array_equal(network.do(given).mean(), network.do(named).mean())
        assert np.array_equal(network.condition(given).mean, network.condition(named).mean)
    with pytest.raises(NetworkError, match="not those of one level"):
        network.do({"fuel[Gas]": 0.0})
    with pytest.raises(NetworkError, match="not those of one level"):
        network.do({"fuel[Gas]": 1.0, "fuel[Petrol]": 1.0})


def test_the_baseline_of_measures_of_fit_keeps_covariances_within_a_category():
    rng = np.random.default_rng(4)
    codes = rng.integers(3, size=200)
    cars = pd.DataFrame({"fuel": np.array(["a", "b", "c"])[codes], "age": rng.normal(size=200)})
    cars["y"] = codes + 0.5 * cars["age"] + rng.normal(size=200)
    found = gn.fit(cars, gn.Dag.parse("y ~ fuel + age")).fit_measures()
    rows = np.column_stack((codes == 1, codes == 2, cars["age"], cars["y"])).astype(float)
    full = np.cov(rows.T, bias=True)
    blocks = full * np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    expected = 200.0 * (np.linalg.slogdet(blocks)[1] - np.linalg.slogdet(full)[1])
    assert found["baseline.chisq"] == pytest.approx(expected, rel=1e-10)
    assert found["baseline.df"] == 6 - 1
    cars.loc[::7, "age"] = np.nan
    fit = gn.fit(cars, gn.Dag.parse("y ~ fuel + age"), missing="likelihood")
    alone = gn.fit(cars, gn.Dag.parse("fuel; age; y"), missing="likelihood").log_likelihood
    holed = fit.fit_measures()
    # Both are maxima of one likelihood, which EM finds to 1e-7 of itself.
    expected = 2.0 * (holed["unrestricted.logl"] - alone)
    assert holed["baseline.chisq"] == pytest.approx(expected, rel=1e-5)


def sites():
    """Rows with a category, of which one level and one value are wrong or missing."""
    rng = np.random.default_rng(1)
    site = np.array(["A", "B", "C"], dtype=object)[rng.integers(3, size=300)]
    age = rng.normal(50.0, 10.0, 300)
    bmi = 20.0 + 0.1 * age + 2.0 * (site == "B") + rng.normal(size=300)
    frame = pd.DataFrame(
        {"site": site, "age": age, "bmi": bmi, "score": bmi + rng.normal(size=300)}
    )
    frame.loc[3, "site"] = None
    frame.loc[7, "bmi"] = 900.0
    return frame


def site_fit(frame):
    return gn.fit(frame, "bmi ~ age + site; score ~ bmi", "robust", missing="likelihood")


def test_the_name_of_a_category_stands_for_its_levels_among_the_given_nodes():
    frame = sites()
    fit = site_fit(frame)
    found = fit.predict(frame[:5], "score", given=["age", "site"])
    same = fit.predict(frame[:5], "score", given=["age", "site[B]", "site[C]"])
    assert found.mean.tolist() == same.mean.tolist()
    with pytest.raises(gn.GraphError, match="no node 'sites'"):
        fit.predict(frame[:5], "score", given=["sites"])


def test_rows_may_be_a_list_of_values_by_node():
    fit = site_fit(sites())
    rows = [{"age": 60.0, "site": "B"}, {"age": 50.0, "site": None}, {"site": "A"}]
    together = fit.predict(rows, "bmi")
    alone = [fit.predict(row, "bmi").mean[0] for row in ({**rows[0]}, {"age": 50.0}, {"site": "A"})]
    np.testing.assert_allclose(together.mean, alone, rtol=1e-12)
    assert fit.network.predict(rows, "bmi").mean.tolist() == together.mean.tolist()


def test_tables_count_a_category_as_one_parent():
    table = site_fit(sites()).node_table()
    counts = dict(zip(table["node"], table["parents"], strict=True))
    assert counts == {"bmi": 2, "age": 0, "site[B]": 0, "site[C]": 0, "score": 1}


def test_cleaned_frames_have_the_columns_of_the_user_and_levels_where_they_were_missing():
    frame = sites()
    cleaned = site_fit(frame).cleaned()
    assert list(cleaned.columns) == list(frame.columns)
    known = frame["site"].notna()
    assert cleaned.loc[~known, "site"].tolist() == [site_fit(frame).impute().loc[3, "site"]]
    assert set(cleaned["site"]) == set(frame.loc[known, "site"])
    assert (cleaned["site"] == frame["site"])[known].all()
    assert cleaned.loc[7, "bmi"] < 40.0


def test_levels_of_one_category_are_not_printed_as_covarying():
    frame = pd.DataFrame({"g": list("abc") * 20, "y": np.arange(60.0) % 7})
    fit = gn.fit(frame, "y ~ g")
    assert fit.dag.covariances
    assert "~~" not in str(fit)


def test_levels_of_one_category_are_not_counted_as_covariances():
    assert FIT.dag.covariances
    assert "covariance" not in FIT.dag.sizes
    assert "covariance" not in repr(FIT.dag)
