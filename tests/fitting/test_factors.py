"""Categories: columns of text as causes, against regressions with dummies."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf

import gaussnet as gn
from gaussnet.errors import DataError, GraphError, NetworkError, SettingError

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
        (lambda: FIT.effect("fuel", "mpg"), GraphError, "as 'fuel.Petrol.'"),
        (lambda: FIT.network.sample(3, seed=1), NetworkError, "one level of it at a time"),
        (lambda: FIT.network.do({"fuel[Gas]": 1.0}), NetworkError, "name the level"),
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
        (lambda: gn.write_explorer(FIT, "page.html"), NetworkError, "one level"),
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
        (lambda: gn.summarize(FRAME, gn.Dag.parse(TEXT)), DataError, "takes text in a frame"),
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
