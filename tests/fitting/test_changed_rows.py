"""Rows that change or vanish after a fit: every later question is answered right or refused.

Each way of changing rows is put to fits in memory or of streamed files; what a question gives
afterwards is the answer of a fit to untouched rows, or one sentence. docs/trust.md has the table.
"""

import dataclasses
import os

import numpy as np
import pandas as pd
import pytest
from tests.forced import fit_streamed

import gaussnet as gn
from gaussnet import kernels
from gaussnet.data.sources import ArraySource, Chain, watched
from gaussnet.data.write import write_rows
from gaussnet.kernels import numpy_core

DAG = gn.Dag.parse("[a][b|a][c|a:b][d|c]", nodes="abcd")
TRUTH = gn.simulate.random_network(DAG, seed=1)
OLD = TRUTH.sample(400, seed=2)
OLD[7, 2] = 900.0
NEW = TRUTH.sample(400, seed=3)
MORE = TRUTH.sample(100, seed=4)
CHANGED = "changed|cannot read|shorter|not a whole|is no longer"


def same_stamp(path, write):
    """Write to a file and give it its old time again."""
    times = os.stat(path)
    write(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def put(path, rows=OLD):
    write_rows(path, DAG.nodes, [rows])
    return path


def shrink(path):
    os.truncate(path, os.path.getsize(path) // 2)


class Buffer:
    """An array in memory."""

    def __init__(self, folder, order="C"):
        self.data = np.array(OLD, order=order)

    def overwrite(self):
        self.data[:] = NEW

    def change_one_cell(self):
        self.data[399, 3] = np.nextafter(self.data[399, 3], np.inf)

    def swap_rows(self):
        self.data[[3, 300]] = self.data[[300, 3]]


class Frame:
    """A pandas frame."""

    def __init__(self, folder):
        self.data = pd.DataFrame(OLD.copy(), columns=DAG.nodes)

    def overwrite(self):
        self.data.loc[:, :] = NEW

    def grow(self):
        self.data.loc[400] = NEW[0]

    def change_a_column(self):
        self.data["b"] = NEW[:, 1]


class File:
    """A file of some format."""

    def __init__(self, folder, ending):
        self.data = put(folder / f"rows{ending}")

    def overwrite(self):
        put(self.data, NEW)

    def overwrite_in_time(self):
        same_stamp(self.data, lambda path: put(path, NEW))

    def shrink(self):
        shrink(self.data)

    def grow(self):
        put(self.data, np.concatenate((OLD, NEW)))

    def delete(self):
        self.data.unlink()


class Folder:
    """A folder of two files."""

    def __init__(self, folder):
        self.data = folder / "days"
        self.data.mkdir()
        put(self.data / "one.csv", OLD[:150])
        put(self.data / "two.csv", OLD[150:])

    def overwrite(self):
        put(self.data / "one.csv", NEW[:150])

    def grow(self):
        put(self.data / "three.csv", NEW)

    def delete(self):
        (self.data / "two.csv").unlink()


class Map:
    """A memory map of the caller's own."""

    def __init__(self, folder):
        self.path = put(folder / "rows.npy")
        self.data = np.load(self.path, mmap_mode="r")

    def overwrite(self):
        np.load(self.path, mmap_mode="r+")[:] = NEW

    def shrink(self):
        os.truncate(self.path, 512)


WAYS = {
    "buffer overwritten": (Buffer, (), "overwrite"),
    "buffer, one cell by one bit": (Buffer, ("F",), "change_one_cell"),
    "buffer, two rows swapped": (Buffer, (), "swap_rows"),
    "frame overwritten": (Frame, (), "overwrite"),
    "frame grown": (Frame, (), "grow"),
    "frame, a column replaced": (Frame, (), "change_a_column"),
    ".npy overwritten, time set back": (File, (".npy",), "overwrite_in_time"),
    ".npy shrunk": (File, (".npy",), "shrink"),
    ".npy grown": (File, (".npy",), "grow"),
    ".npy deleted": (File, (".npy",), "delete"),
    "CSV overwritten": (File, (".csv",), "overwrite"),
    "CSV grown": (File, (".csv",), "grow"),
    "CSV shrunk": (File, (".csv",), "shrink"),
    "Parquet overwritten, time set back": (File, (".parquet",), "overwrite_in_time"),
    "Parquet shrunk": (File, (".parquet",), "shrink"),
    "Parquet deleted": (File, (".parquet",), "delete"),
    "Arrow shrunk": (File, (".arrow",), "shrink"),
    "folder, a file overwritten": (Folder, (), "overwrite"),
    "folder, a file more": (Folder, (), "grow"),
    "folder, a file deleted": (Folder, (), "delete"),
    "map overwritten": (Map, (), "overwrite"),
    "map shrunk": (Map, (), "shrink"),
}


def page(fit, folder):
    gn.write_report(fit, folder / "page.html", date="2000-01-01")
    return "done"


def plotted(fit, _):
    from matplotlib import pyplot

    panel = fit.plot_residuals(["d"])[0, 0]
    pyplot.close(panel.figure)
    return panel.lines[0].get_ydata()


QUESTIONS = {
    "print": lambda fit, _: str(fit.network),
    "update": lambda fit, _: fit.update(MORE).network.coefficient_array,
    "check_graph": lambda fit, _: fit.check_graph().p_values,
    "scores": lambda fit, _: np.array([fit.log_likelihood, fit.aic, fit.bic]),
    "fit_measures": lambda fit, _: np.array(list(fit.fit_measures().values())),
    "standard_errors": lambda fit, _: fit.standard_errors.coefficient_array,
    "confidence_intervals": lambda fit, _: fit.confidence_intervals().coefficient_array,
    "bootstrap": lambda fit, _: (
        fit.uncertainty("bootstrap", repetitions=40).standard_errors.coefficient_array
    ),
    "effect": lambda fit, _: fit.effect("a", "d").standard_error,
    "sensitivity": lambda fit, _: fit.sensitivity("a", "d").robustness_value,
    "predict": lambda fit, _: fit.predict(MORE, "d").high,
    "counterfactual": lambda fit, _: (
        fit.counterfactual(dict(zip(DAG.nodes, MORE[0], strict=True)), do={"a": 1.0}).after.mean
    ),
    "certificate": lambda fit, _: fit.certificate().kl,
    "residuals": lambda fit, _: np.asarray(fit.residuals()),
    "plot_residuals": plotted,
    "impute": lambda fit, _: np.asarray(fit.impute()),
    "draw_imputations": lambda fit, _: np.asarray(fit.draw_imputations(1)[0]),
    "cleaned": lambda fit, _: np.asarray(fit.cleaned()),
    "outliers": lambda fit, _: [(one.row, one.node) for one in fit.outliers()],
    "report": page,
}


ASKED_BY_OTHERS = {
    *("aic", "bic", "log_likelihood", "uncertainty", "bootstraps"),  # above, under other names
    *("table", "node_table", "covariance_table", "defined", "plot", "plot_coefficients"),
    *("learnt_errors", "residual_shapes", "sample_scales", "summary", "notes", "plot_outliers"),
    *("suspected_codes", "seen_range", "save_network", "level_effects"),
}
"""What is made of the questions above, and tells in words what these refuse."""
READ_NO_ROWS = {
    *("dag", "ignored", "node", "contamination", "maximizes_likelihood", "required_data"),
    *("data_or_sums", "rests_on_sums", "known_errors", "error_kind", "has_dependent_rows"),
    "missing_values",
}


def test_every_question_of_a_fit_is_here():
    fields = {one.name for one in dataclasses.fields(gn.Fit)}
    names = {name for name in dir(gn.Fit) if not name.startswith("_")} - fields
    new = names - QUESTIONS.keys() - ASKED_BY_OTHERS - READ_NO_ROWS
    assert not new, f"put {sorted(new)} to changed rows, in QUESTIONS above"


def agree(found, expected, name):
    """Whether answers are the same but for rounding: wrong rows would change a first digit."""
    if isinstance(expected, float | np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=name)
    else:
        assert found == expected, name


def answer(question, fit, folder):
    """What a question gives: an answer, or the sentence that refuses it."""
    try:
        return question(fit, folder)
    except gn.GaussnetError as problem:
        return f"refused: {problem}"


@pytest.fixture(scope="module", params=["least-squares", "robust"])
def asked(request, tmp_path_factory):
    """A method, and what a fit of it to untouched rows answers to every question."""
    folder = tmp_path_factory.mktemp("untouched")
    fit = gn.fit(OLD.copy(), DAG, request.param)
    return request.param, {
        name: answer(question, fit, folder) for name, question in QUESTIONS.items()
    }


@pytest.mark.parametrize("way", WAYS)
def test_later_questions_are_answered_right_or_refused(way, asked, tmp_path):
    kind, settings, change = WAYS[way]
    method, answers = asked
    place = kind(tmp_path, *settings)
    fit = fit_streamed(place.data, DAG, method, threads=1)
    getattr(place, change)()
    for name, question in QUESTIONS.items():
        expected = answers[name]
        found = answer(question, fit, tmp_path)
        if isinstance(found, str) and found.startswith("refused"):
            words = [*CHANGED.split("|"), *([expected] if isinstance(expected, str) else [])]
            assert any(word in found for word in words), (name, found)
        else:
            agree(found, expected, name)


@pytest.mark.parametrize("method", ["least-squares", "cauchy-tree", "robust"])
def test_a_buffer_that_is_used_again_does_not_lose_its_first_rows(method):
    buffer = OLD.copy()
    fit = gn.fit(buffer, DAG, method)
    buffer[:] = NEW
    with pytest.raises(gn.EstimationError, match="the data have changed since"):
        fit.update(buffer)
    kept = gn.fit(OLD, DAG).update(buffer)  # from here on a summary says all
    buffer[:] = MORE[:1]
    later = kept.update(MORE)
    expected = gn.fit(np.concatenate((OLD, NEW, MORE)), DAG)
    assert later.network == expected.network
    with pytest.raises(gn.EstimationError, match="the data have changed since"):
        _ = later.standard_errors


def test_rows_with_missing_values_and_split_rows_are_watched_too():
    for settings in ({"missing": "drop-rows"}, {"missing": "drop-by-node"}, {"split": (200, 150)}):
        rows = OLD.copy()
        rows[5, 1] = rows[5, 1] if "split" in settings else np.nan
        fit = gn.fit(rows, DAG, **settings)
        assert np.isfinite(fit.log_likelihood)
        rows[8, 0] += 1.0
        with pytest.raises(gn.EstimationError, match="the data have changed since"):
            fit.confidence_intervals()


@pytest.mark.parametrize("checksum", [kernels.checksum, numpy_core.checksum])
def test_a_checksum_sees_every_kind_of_change(checksum):
    # Zeros and ones: their bits differ in the upper places alone, and repeat.
    rows = np.array(np.random.default_rng(0).integers(0, 2, (9_000, 3)), dtype=np.float64)
    known = checksum(rows, 0, 0)
    assert checksum(rows.copy(), 0, 0) == known
    assert checksum(rows, 1, 0) != known
    for distance in (1, 8, 64, 512, 4_096, 8_192):
        first = int(np.flatnonzero(rows[:-distance, 1] != rows[distance:, 1])[0])
        swapped = rows.copy()
        swapped[[first, first + distance]] = swapped[[first + distance, first]]
        assert checksum(swapped, 0, 0) != known
    for value in (np.nextafter(rows[70, 2], 5.0), -0.0, np.nan, np.inf):
        changed = rows.copy()
        changed[70, 2] = value if value != 0.0 or rows[70, 2] != 0.0 else -0.0
        assert checksum(changed, 0, 0) != known
    for other in (rows[::-1], rows[:, ::-1], rows + 1.0, np.roll(rows, 1, axis=0), rows[:-1]):
        assert checksum(np.ascontiguousarray(other), 0, 0) != known


def test_sources_in_a_chain_are_watched_one_by_one():
    first, second = OLD.copy(), NEW.copy()
    chain = watched(Chain((ArraySource(first), ArraySource(second))))
    assert watched(chain).sources == chain.sources
    rows = [len(chunk[0]) for chunk in chain.chunks()]
    assert rows == [400, 400]
    second[0, 0] = 0.0
    with pytest.raises(gn.EstimationError, match="the data have changed"):
        list(chain.chunks())
    assert len(next(chain.chunks())[0]) == 400
