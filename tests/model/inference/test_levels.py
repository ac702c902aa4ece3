"""Answers while the level of a category is not known, against sums over all levels."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn
from gaussnet.model.inference.levels import joint_shares

LEVELS = {"soil": ("clay", "loam", "sand"), "crop": ("oats", "rye")}
GRAPH = "ph ~ soil; yield ~ soil + crop + ph + rain; price ~ yield"
DAG = gn.Dag.parse(GRAPH).with_factors(LEVELS)


def learnt(rows=400):
    rng = np.random.default_rng(1)
    soil = rng.choice(["clay", "loam", "sand"], rows, p=[0.5, 0.3, 0.2])
    crop = rng.choice(["oats", "rye"], rows, p=[0.7, 0.3])
    rain, ph = rng.normal(size=rows), 3.0 * (soil == "loam") + rng.normal(size=rows)
    grown = 2.0 * (soil == "sand") - 4.0 * (crop == "rye") + rain - ph + rng.normal(size=rows)
    price = 1.0 - 0.5 * grown + rng.normal(size=rows)
    frame = {"soil": soil, "crop": crop, "rain": rain, "ph": ph, "yield": grown, "price": price}
    return gn.fit(pd.DataFrame(frame), DAG)


FIT = learnt()
NETWORK = FIT.network


def by_levels(given):
    """Shares, and the law given the evidence and all levels, for every combination of levels."""
    names = list(NETWORK.dag.factors)
    means = dict(zip(NETWORK.dag.nodes, NETWORK.mean().tolist(), strict=True))
    for levels in product(*NETWORK.dag.factors.values()):
        share = 1.0
        for name, level in zip(names, levels, strict=True):
            others = [means[f"{name}[{one}]"] for one in NETWORK.dag.factors[name][1:]]
            share *= means.get(f"{name}[{level}]", 1.0 - sum(others))
        at = NETWORK.do(dict(zip(names, levels, strict=True)))
        seen = [name for name in given if name not in names]
        known = at.condition({}).marginal(seen)
        density = known.log_density(np.array([[given[name] for name in seen]]))[0] if seen else 0.0
        yield share * np.exp(density), levels, at.condition({k: given[k] for k in seen})


def brute_force(given, node):
    """Mean and standard deviation of a node by Bayes' theorem."""
    parts = [(weight, law.marginal([node])) for weight, _, law in by_levels(given)]
    total = sum(weight for weight, _ in parts)
    mean = sum(weight * law.mean[0] for weight, law in parts) / total
    square = sum(w * (law.variances[0] + (law.mean[0] - mean) ** 2) for w, law in parts) / total
    return mean, np.sqrt(square)


GIVEN = [
    {"ph": 3.0},
    {"price": 2.5},
    {"yield": -4.0, "rain": 0.5},
    {"ph": 1.5, "price": -1.0},
    {"rain": 1.0},
    {},
]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_conditional_moments_are_those_of_the_mixture(given):
    law = NETWORK.condition(given)
    for node in ("ph", "yield", "price", "rain"):
        if node in given:
            continue
        found = law.marginal([node])
        assert (found.mean[0], np.sqrt(found.variances[0])) == pytest.approx(
            brute_force(given, node), rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize("given", GIVEN[:-1], ids=str)
def test_indicators_have_the_chances_of_their_levels(given):
    parts = list(by_levels(given))
    total = sum(weight for weight, *_ in parts)
    law = NETWORK.condition(given, targets=["soil[loam]", "crop[rye]"])
    loam = sum(weight for weight, levels, _ in parts if levels[0] == "loam") / total
    rye = sum(weight for weight, levels, _ in parts if levels[1] == "rye") / total
    both = sum(weight for weight, levels, _ in parts if levels == ("loam", "rye")) / total
    assert law.mean.tolist() == pytest.approx([loam, rye], abs=1e-9)
    assert law.covariance[0, 1] == pytest.approx(both - loam * rye, abs=1e-9)
    assert law.covariance[0, 0] == pytest.approx(loam * (1.0 - loam), abs=1e-9)


def test_predictions_of_many_rows_are_those_of_the_mixture():
    frame = pd.DataFrame({"ph": [3.0, -1.0, np.nan, 2.0], "price": [2.5, 0.0, 1.0, np.nan]})
    found = NETWORK.predict(frame, "yield")
    for row, (mean, scale) in enumerate(zip(found.mean, found.scale, strict=True)):
        given = {name: value for name, value in frame.loc[row].items() if not np.isnan(value)}
        assert (mean, scale) == pytest.approx(brute_force(given, "yield"), rel=1e-9, abs=1e-9)
    of_fit = FIT.predict(frame, "yield")
    np.testing.assert_allclose(of_fit.mean, found.mean)
    assert (of_fit.scale > found.scale).all()  # the numbers of a fit have errors


def test_a_level_that_is_given_is_taken_as_it_is():
    given = {"soil": "loam", "crop": "rye", "ph": 2.0}
    at = NETWORK.do({"soil": "loam", "crop": "rye"}).condition({"ph": 2.0}, targets=["yield"])
    found = NETWORK.condition(given, targets=["yield"])
    assert found.mean[0] == pytest.approx(at.mean[0], rel=1e-12)
    assert found.variances[0] == pytest.approx(at.variances[0], rel=1e-12)


def test_missing_levels_are_filled_with_the_likeliest():
    rows = {"ph": [3.0, 0.0], "yield": [-3.0, 0.0], "rain": [0.0, 0.0], "price": [2.5, 1.0]}
    found = NETWORK.impute(rows)
    levels = [NETWORK.dag.position(node) for node in NETWORK.dag.indicators]
    assert set(np.unique(found[:, levels])) <= {0.0, 1.0}
    assert found[0, NETWORK.dag.position("soil[loam]")] == 1.0
    assert found[1, NETWORK.dag.position("soil[loam]")] == 0.0


def test_rows_given_evidence_are_drawn_for_one_level_at_a_time():
    with pytest.raises(gn.NetworkError, match="'soil' is a category"):
        NETWORK.sample(5, seed=0, given={"ph": 1.0, "crop": "rye"})
    drawn = NETWORK.sample(5, seed=0, given={"ph": 1.0, "crop": "rye", "soil": "sand"})
    assert (drawn[:, NETWORK.dag.position("soil[sand]")] == 1.0).all()


def test_too_many_combinations_of_levels_are_refused():
    names = [f"c{k}" for k in range(9)]
    dag = gn.Dag.parse("y ~ " + " + ".join(names)).with_factors({n: ("a", "b", "c") for n in names})
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(["a", "b", "c"], 200) for name in names})
    fit = gn.fit(frame.assign(y=rng.normal(size=200)), dag)
    with pytest.raises(gn.SettingError, match="19,683 combinations"):
        fit.network.condition({"y": 1.0})


@pytest.mark.parametrize("text", ["rain ~~ soil", "soil ~~ rain"])
def test_a_category_may_covary_with_a_number_whichever_comes_first(text):
    """The law given a level is that of the rows of this level: a regression on the indicators."""
    rng = np.random.default_rng(3)
    soil = rng.choice(["clay", "loam", "sand"], 600, p=[0.5, 0.3, 0.2])
    rain = rng.normal(size=600) + 2.0 * (soil == "sand")
    frame = pd.DataFrame({"rain": rain, "soil": soil})
    network = gn.fit(frame, text).network
    at = [soil == level for level in LEVELS["soil"]]
    within = sum(np.mean(own) * np.var(rain[own]) for own in at)
    far = np.array([1.0 - rain[own].mean() for own in at])
    densities = np.array([own.mean() for own in at]) * np.exp(-0.5 * far**2 / within)
    law = network.condition({"rain": 1.0}, targets=["soil[loam]", "soil[sand]"])
    assert law.mean == pytest.approx(densities[1:] / densities.sum(), rel=1e-9)


def covarying(rows=3_000, third=False):
    """Rows of categories that covary, with a number of each."""
    rng = np.random.default_rng(7)
    soil = rng.choice(["clay", "loam", "sand"], rows, p=[0.5, 0.3, 0.2])
    crop = np.where(rng.random(rows) < np.where(soil == "clay", 0.9, 0.2), "oats", "rye")
    frame = {"soil": soil, "crop": crop}
    if third:
        frame["plot"] = np.where(rng.random(rows) < np.where(crop == "rye", 0.7, 0.3), "n", "s")
        frame["yield"] = 2.0 * (frame["plot"] == "s") + rng.normal(size=rows)
    frame["ph"] = 3.0 * (soil == "loam") + rng.normal(size=rows)
    frame["price"] = 2.0 * (soil == "sand") - (crop == "rye") + rng.normal(size=rows)
    return pd.DataFrame(frame)


PAIR = covarying()
CORRELATED = gn.fit(PAIR, "ph ~ soil; price ~ soil + crop", roots="correlated").network


def of_covarying(given, node):
    """Mean and standard deviation of a node by Bayes' theorem, with the shares of the rows."""
    weights, laws = [], []
    for levels, rows in PAIR.groupby(["soil", "crop"]):
        at = CORRELATED.do(dict(zip(("soil", "crop"), levels, strict=True)))
        if any(given.get(k, v) != v for k, v in zip(("soil", "crop"), levels, strict=True)):
            continue
        seen = {name: value for name, value in given.items() if name in {"ph", "price"}}
        known = at.condition({}).marginal(list(seen))
        density = known.log_density(np.array([list(seen.values())]))[0] if seen else 0.0
        weights.append(len(rows) * np.exp(density))
        laws.append(at.condition(seen, targets=[node]))
    weights = np.array(weights) / sum(weights)
    mean = sum(w * law.mean[0] for w, law in zip(weights, laws, strict=True))
    square = sum(
        w * (law.variances[0] + (law.mean[0] - mean) ** 2)
        for w, law in zip(weights, laws, strict=True)
    )
    return mean, np.sqrt(square)


@pytest.mark.parametrize(
    "given", [{"ph": 2.0}, {"crop": "rye", "ph": 1.5}, {"crop": "oats"}, {"soil": "sand"}], ids=str
)
def test_categories_that_covary_tell_of_each_other(given):
    found = CORRELATED.condition(given, targets=["price"])
    assert (found.mean[0], np.sqrt(found.variances[0])) == pytest.approx(
        of_covarying(given, "price"), rel=1e-9
    )


def test_missing_levels_are_filled_by_what_covaries_with_them():
    levels = ["soil[loam]", "soil[sand]"]
    found = CORRELATED.impute(pd.DataFrame({"crop": ["oats", "rye"], "price": [0.0, 0.5]}))
    assert found[levels].iloc[0].tolist() == [0.0, 0.0]
    drawn = CORRELATED.impute(pd.DataFrame({"crop": ["rye"] * 4_000}), seed=1)
    shares = drawn[levels].mean().to_numpy()
    rye = PAIR[PAIR["crop"] == "rye"]["soil"]
    expected = np.array([np.mean(rye == "loam"), np.mean(rye == "sand")])
    # Four standard errors of a share among 4,000 draws.
    assert np.abs(shares - expected).max() < 4.0 * np.sqrt(0.25 / 4_000)


def test_joint_shares_of_three_categories_have_the_margins_of_all_pairs():
    frame = covarying(third=True)
    text = "ph ~ soil; price ~ soil + crop; yield ~ plot"
    network = gn.fit(frame, text, roots="correlated").network
    (group,) = joint_shares(network)
    names = list(network.dag.factors)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        rest = ({0, 1, 2} - {one, other}).pop()
        pair = pd.crosstab(frame[names[one]], frame[names[other]], normalize=True)
        wanted = pair.loc[
            list(network.dag.factors[names[one]]), list(network.dag.factors[names[other]])
        ]
        np.testing.assert_allclose(group.shares.sum(axis=rest), wanted, atol=1e-10)
    # "plot" depends on "crop" alone, so that shares fitted to pairs are those of the rows, but for
    # chance: four standard errors of a share among 3,000 rows.
    counts = frame.groupby(names).size() / len(frame)
    for levels, share in counts.items():
        place = tuple(
            list(network.dag.factors[name]).index(level)
            for name, level in zip(names, levels, strict=True)
        )
        assert abs(group.shares[place] - share) < 4.0 * np.sqrt(share / len(frame))


def test_evidence_far_beyond_all_levels_has_a_finite_answer():
    rows = PAIR[["soil", "ph"]].assign(rain=PAIR["ph"] + PAIR["price"])
    network = gn.fit(rows, "ph ~ soil; rain ~ ph").network
    slope = network.coefficients["ph", "rain"]
    found = network.condition({"ph": 1e155}, targets=["rain"])
    assert found.mean[0] == pytest.approx(slope * 1e155, rel=1e-12)
    filled = network.impute(pd.DataFrame({"ph": [1e155]}))
    assert filled["rain"].iloc[0] == pytest.approx(slope * 1e155, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e140])
def test_answers_do_not_depend_on_units(unit):
    rows = PAIR.assign(ph=PAIR["ph"] * unit, price=PAIR["price"] * unit)
    law = gn.fit(rows, "ph ~ soil; price ~ soil + ph").network.condition({"ph": unit})
    plain = gn.fit(PAIR, "ph ~ soil; price ~ soil + ph").network.condition({"ph": 1.0})
    at, same = law.marginal(["price"]), plain.marginal(["price"])
    assert at.mean[0] / unit == pytest.approx(same.mean[0], rel=1e-9)
    assert at.variances[0] / unit**2 == pytest.approx(same.variances[0], rel=1e-9)


def test_a_category_tells_of_another_where_there_are_no_numbers():
    network = gn.fit(PAIR[["soil", "crop"]], "soil ~~ crop").network
    law = network.condition({"crop": "rye"})
    rye = PAIR[PAIR["crop"] == "rye"]["soil"]
    assert law.names == ("soil[loam]", "soil[sand]")
    assert law.mean.tolist() == pytest.approx([np.mean(rye == "loam"), np.mean(rye == "sand")])
