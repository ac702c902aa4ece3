"""Missing levels of categories, filled by Bayes' theorem: against densities of scipy."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import gaussnet as gn

TEXT = "hours ~ school; score ~ school + hours"
LEVELS = ("North", "Old Town", "South")
ROWS = 600


def holed(seed=0, shift=4.0):
    """A frame with a tenth of schools and hours missing, and the schools as they were."""
    rng = np.random.default_rng(seed)
    school = rng.choice(LEVELS, ROWS, p=[0.5, 0.3, 0.2])
    hours = rng.normal(40.0, 5.0, ROWS) + 3.0 * (school == "South")
    score = 0.5 * hours + shift * (school == "Old Town") - 2.0 * (school == "South")
    score += rng.normal(0.0, 1.5, ROWS)
    frame = pd.DataFrame({"school": school, "hours": hours, "score": score, "pupil": range(ROWS)})
    frame["school"] = frame["school"].mask(rng.random(ROWS) < 0.1)
    frame["hours"] = frame["hours"].mask(rng.random(ROWS) < 0.1)
    return frame, school


def probabilities(network, row):
    """Of the levels given hours and score of one row, of which hours may be missing."""
    means = network.mean(frame="pandas").iloc[0]
    shares = [means[f"school[{one}]"] for one in LEVELS[1:]]
    weights = []
    for level, share in zip(LEVELS, (1.0 - sum(shares), *shares), strict=True):
        law = network.do({"school": level}).to_gaussian()
        places = [law.names.index(name) for name in ("hours", "score") if not np.isnan(row[name])]
        values = [row[law.names[place]] for place in places]
        cov = law.covariance[np.ix_(places, places)]
        weights.append(share * stats.multivariate_normal(law.mean[places], cov).pdf(values))
    return np.array(weights) / np.sum(weights)


@pytest.mark.parametrize("method", ["least-squares", "robust"])
def test_missing_levels_are_the_most_probable_ones(method):
    frame, school = holed()
    fit = gn.fit(frame, TEXT, method, missing="likelihood")
    found = fit.impute()
    assert list(found.columns) == list(frame.columns)
    assert not found.isna().any().any()
    lacking = frame["school"].isna()
    assert (found["school"] == frame["school"])[~lacking].all()
    for number in np.flatnonzero(lacking):
        best = probabilities(fit.network, frame.iloc[number]).argmax()
        assert found["school"].iloc[number] == LEVELS[best]
    # The commonest level alone is right in half of the rows.
    assert (found["school"] == school)[lacking].mean() > 0.65


def test_missing_numbers_are_means_over_the_levels():
    frame, _ = holed()
    fit = gn.fit(frame, TEXT, missing="likelihood")
    both = np.flatnonzero(frame["school"].isna() & frame["hours"].isna())
    assert len(both)
    found = fit.impute()["hours"]
    for number in both:
        row, expected = frame.iloc[number], 0.0
        for level, chance in zip(LEVELS, probabilities(fit.network, row), strict=True):
            rest = pd.DataFrame({"school": [level], "score": [row["score"]]})
            expected += chance * fit.network.predict(rest, "hours").mean[0]
        assert found.iloc[number] == pytest.approx(expected, rel=1e-9)


def test_cleaned_frames_have_no_hole():
    frame, _ = holed()
    fit = gn.fit(frame, TEXT, "robust", missing="likelihood")
    cleaned = fit.cleaned()
    assert list(cleaned.columns) == list(frame.columns)
    assert not cleaned.isna().any().any()
    assert (cleaned["school"] == fit.impute()["school"]).all()


def test_levels_are_drawn_by_their_probabilities():
    """Shares of draws about their probabilities: chi-square of about as many as there are cells.

    Drawn parameters add a few percent to the variances; 6 sd of chi-square allow for it.
    """
    frame, _ = holed(shift=2.0)
    fit = gn.fit(frame, TEXT, missing="likelihood")
    count = 200
    copies = fit.draw_imputations(count, seed=0)
    assert all(list(one.columns) == list(frame.columns) for one in copies)
    assert not any(one.isna().any().any() for one in copies)
    numbers = np.flatnonzero(frame["school"].isna() & frame["hours"].notna())
    drawn = np.array([one["school"].to_numpy(str)[numbers] == "South" for one in copies])
    chances = np.array([probabilities(fit.network, frame.iloc[n])[2] for n in numbers])
    clear = (chances > 0.05) & (chances < 0.95)
    assert clear.sum() > 10
    z = (drawn.mean(axis=0) - chances)[clear] / np.sqrt(chances * (1 - chances) / count)[clear]
    assert (z**2).sum() < clear.sum() + 6.0 * np.sqrt(2.0 * clear.sum())


@pytest.mark.parametrize("kind", ["category", "polars", "polars category", "boolean"])
def test_columns_keep_their_kind(kind):
    frame, _ = holed()
    if kind == "boolean":
        frame["school"] = (
            (frame["school"] == "South").astype("boolean").mask(frame["school"].isna())
        )
    elif kind == "category":
        frame["school"] = frame["school"].astype("category")
    elif kind.startswith("polars"):
        frame = pl.from_pandas(frame)
        if kind == "polars category":
            frame = frame.with_columns(pl.col("school").cast(pl.Categorical))
    found = gn.fit(frame, TEXT, missing="likelihood").impute()
    assert type(found) is type(frame)
    assert found["school"].dtype == frame["school"].dtype
    lacking = found["school"].is_null() if kind.startswith("polars") else found["school"].isna()
    assert not lacking.any()


def test_a_node_without_noise_tells_the_level():
    frame, school = holed()
    frame["code"] = 7.0 * (school == "South") + 3.0 * (school == "Old Town")
    fit = gn.fit(frame, f"{TEXT}; code ~ school", missing="drop-by-node")
    assert (fit.impute()["school"] == school).all()


def test_categories_that_covary_with_numbers_are_filled_alike_whichever_come_first():
    frame, _ = holed()
    fits = [
        gn.fit(frame, text, roots="correlated", missing="likelihood")
        for text in ("score ~ hours + school", "score ~ school + hours")
    ]
    first, second = (fit.impute() for fit in fits)
    assert (first["school"] == second["school"]).all()
    np.testing.assert_allclose(first["score"], second["score"], rtol=1e-6)
