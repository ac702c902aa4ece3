"""Frames in, frames out: index and names are kept."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gaussnet as gn

DAG = gn.Dag.parse("wet ~ rain; mud ~ wet", nodes=["wet", "rain", "mud"])
NETWORK = gn.simulate.random_network(DAG, seed=0, intercepts=(1.0, 2.0))
ROWS = NETWORK.sample(6, seed=1)
HOLES = np.where(np.eye(6, 3, dtype=bool), np.nan, ROWS)
INDEX = list("uvwxyz")
FRAMES = {
    "pandas": pd.DataFrame(HOLES[:, ::-1], columns=DAG.nodes[::-1], index=INDEX),
    "polars": pl.DataFrame(HOLES, schema=list(DAG.nodes)),
    "pyarrow": pa.table(dict(zip(DAG.nodes, HOLES.T, strict=True))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_imputed_frames_are_frames(kind):
    frame = FRAMES[kind]
    filled = NETWORK.impute(frame)
    assert type(filled) is type(frame)
    expected = NETWORK.impute(HOLES)
    found = np.column_stack([np.asarray(filled[node]) for node in DAG.nodes])
    assert found == pytest.approx(expected)
    if kind == "pandas":
        assert list(filled.index) == INDEX


@pytest.mark.parametrize("kind", FRAMES)
def test_predictions_become_frames_like_the_one_given(kind):
    for asked in (NETWORK, gn.fit(NETWORK.sample(50, seed=2), DAG)):
        found = asked.predict(FRAMES[kind], "mud")
        frame = found.to_frame()
        assert type(frame) is type(FRAMES[kind])
        assert np.asarray(frame["low"]) == pytest.approx(found.low)
        if kind == "pandas":
            assert list(frame.index) == INDEX


def test_arrays_stay_arrays():
    assert isinstance(NETWORK.impute(HOLES), np.ndarray)
    assert isinstance(NETWORK.sample(3, seed=0), np.ndarray)
    assert list(NETWORK.predict(HOLES, "mud").to_frame("polars").columns) == [
        "mean", "scale", "low", "high",
    ]  # fmt: skip


def test_samples_means_and_covariances_have_names():
    drawn = NETWORK.sample(6, seed=1, frame="pandas")
    assert list(drawn.columns) == list(DAG.nodes)
    assert drawn.to_numpy() == pytest.approx(ROWS)
    covariance = NETWORK.covariance(frame="pandas")
    assert covariance.loc["mud", "rain"] == NETWORK.covariance()[2, 1]
    assert NETWORK.covariance(frame="polars").columns == ["node", *DAG.nodes]
    assert NETWORK.mean(frame="polars")["mud"][0] == NETWORK.mean()[2]
    given = NETWORK.sample(4, seed=0, given={"wet": 1.0}, frame="polars")
    assert set(given["wet"]) == {1.0}
    assert set(NETWORK.sample(4, seed=0, do={"wet": 1.0}, frame="pandas")["wet"]) == {1.0}
    with pytest.raises(gn.SettingError, match="'pandas' or 'polars'"):
        NETWORK.sample(4, seed=0, frame="excel")


@pytest.mark.parametrize("kind", FRAMES)
def test_residuals_of_a_frame_are_a_frame(kind):
    whole = NETWORK.sample(30, seed=3)
    if kind == "pandas":
        frame = pd.DataFrame(whole, columns=DAG.nodes, index=range(100, 130))
    elif kind == "polars":
        frame = pl.DataFrame(whole, schema=list(DAG.nodes))
    else:
        frame = pa.table(dict(zip(DAG.nodes, whole.T, strict=True)))
    fit = gn.fit(frame, DAG)
    left = fit.residuals()
    assert type(left) is type(frame)
    assert np.asarray(left["mud"]) == pytest.approx(gn.fit(whole, DAG).residuals()[:, 2])
    if kind == "pandas":
        assert list(left.index) == list(range(100, 130))
