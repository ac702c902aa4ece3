"""The progress bar: only on a terminal, only for work that takes a while."""

import io
import sys

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.cli.printing import progress
from gaussnet.errors import SettingError


class Terminal(io.StringIO):
    def isatty(self):
        return True


def pretend_terminal(monkeypatch):
    """Called in the test itself: pytest sets its own stream between fixtures and test."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def wait_until_shown(stream, words):
    import time

    end = time.monotonic() + 20.0
    while words not in stream.getvalue():
        assert time.monotonic() < end, "the bar did not show"
        time.sleep(0.01)


def test_long_work_shows_what_is_done_now(monkeypatch):
    terminal = pretend_terminal(monkeypatch)
    with progress(2, delay=0.0) as tell:
        tell("reading [red]rows")
        wait_until_shown(terminal, "reading")
        tell("learning")
        wait_until_shown(terminal, "learning")


def test_a_pass_over_rows_shows_what_it_is_for(monkeypatch):
    terminal = pretend_terminal(monkeypatch)
    with progress(1, delay=0.0) as tell:
        tell("learning")
        told = tell.rows
        told.begin("moments")
        told(65_536, 100_000)
        wait_until_shown(terminal, "learning (moments): 65,536 of 100,000 rows")


def test_every_reading_of_a_fit_says_what_it_is_for():
    dag = gn.Dag.parse("wet ~ rain", nodes=["rain", "wet"])
    rows = np.array(gn.simulate.random_network(dag, seed=0).sample(500, seed=1))
    rows[::7, 1] = np.nan
    heard = []

    class Listener:
        def begin(self, purpose):
            heard.append(purpose)

        def __call__(self, done, total):
            pass

    for how in (
        {"missing": "likelihood"},
        {"missing": "drop-rows"},
        {"missing": "drop-rows", "method": "batch-median"},
    ):
        gn.fit(rows, dag, progress=Listener(), **how)
    expected = {"moments", "missing values", "medians, moments"}
    assert expected | {"expected moments of missing cells"} <= set(heard)
    assert all(heard)


def test_short_work_shows_nothing(monkeypatch):
    terminal = pretend_terminal(monkeypatch)
    with progress(1, delay=1_000.0) as tell:
        tell("reading")
    assert terminal.getvalue().strip("\x1b[?25hl\r\n") == ""


def test_no_terminal_no_bar(capsys):
    with progress(1, delay=0.0) as tell:
        tell("reading")
    assert capsys.readouterr().err == ""


def test_an_error_passes_and_the_bar_goes(monkeypatch):
    terminal = pretend_terminal(monkeypatch)

    def divide():
        with progress(1, delay=0.0) as tell:
            tell("dividing")
            wait_until_shown(terminal, "dividing")
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        divide()


def test_a_bootstrap_tells_how_far_it_is():
    dag = gn.Dag.parse("wet ~ rain", nodes=["rain", "wet"])
    rows = gn.simulate.random_network(dag, seed=0).sample(100, seed=1)
    fit, told = gn.fit(rows, dag), []
    found = fit.uncertainty(
        "bootstrap", repetitions=40, progress=lambda done, total: told.append((done, total))
    )
    assert told == [(100 * done, 4_000) for done in range(1, 41)]
    same = fit.uncertainty("bootstrap", repetitions=40)
    assert found.standard_errors.coefficients == same.standard_errors.coefficients
    assert len(told) == 40  # the repetitions are kept


def test_the_shell_shows_the_bootstrap_and_prints_its_errors(monkeypatch, tmp_path):
    from gaussnet.cli.fit import Errors, FitRequest, learn

    dag = gn.Dag.parse("wet ~ rain", nodes=["rain", "wet"])
    rows = np.array(gn.simulate.random_network(dag, seed=0).sample(100, seed=1))
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="rain,wet", comments="")
    (tmp_path / "graph.txt").write_text("wet ~ rain")
    terminal = pretend_terminal(monkeypatch)
    request = FitRequest(str(tmp_path / "rows.csv"), str(tmp_path / "graph.txt"), bootstrap=40)
    with progress(3, delay=0.0) as tell:
        fit, _ = learn(request, tell)
        tell("finding standard errors")
        errors = Errors.of(fit, request.bootstrap)
        wait_until_shown(terminal, "finding standard errors (bootstrap)")
    expected = gn.fit(rows, dag).uncertainty("bootstrap", repetitions=40)
    np.testing.assert_allclose(
        errors.standard.coefficient_array, expected.standard_errors.coefficient_array, rtol=1e-9
    )


def test_too_few_repetitions_are_refused_before_anything_is_read(tmp_path):
    from gaussnet.cli.fit import FitRequest

    with pytest.raises(SettingError) as told:
        FitRequest(str(tmp_path / "rows.csv"), str(tmp_path / "graph.txt"), bootstrap=5)
    assert str(told.value) == (
        "got --bootstrap 5, expected at least 39 for intervals of level 0.95"
    )


def test_the_shell_says_where_errors_of_the_bootstrap_come_from(tmp_path, capsys):
    from gaussnet.cli.fit import FitRequest, ReportRequest, print_fit, run_fit

    dag = gn.Dag.parse("wet ~ rain", nodes=["rain", "wet"])
    rows = np.array(gn.simulate.random_network(dag, seed=0).sample(100, seed=1))
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="rain,wet", comments="")
    (tmp_path / "graph.txt").write_text("wet ~ rain")
    request = FitRequest(str(tmp_path / "rows.csv"), str(tmp_path / "graph.txt"), bootstrap=50)
    learnt = run_fit(request)
    print_fit(learnt)
    printed = " ".join(capsys.readouterr().out.split())
    assert "bootstrap, 50 repetitions, seed 0" in printed
    assert "<0.040" in printed  # 2 / 51, which 50 repetitions cannot go below
    assert learnt.to_dict()["errors"]["kind"] == "bootstrap"
    with pytest.raises(SettingError, match="--bootstrap with --report"):
        run_fit(request, ReportRequest(tmp_path / "report.html"))


def test_a_bootstrap_that_is_refused_learns_nothing(monkeypatch):
    dag = gn.Dag.parse("wet ~ rain", nodes=["rain", "wet"])
    rows = gn.simulate.random_network(dag, seed=0).sample(100, seed=1)
    fit, told = gn.fit(rows, dag), []

    def tell(*numbers):
        told.append(numbers)

    with pytest.raises(SettingError, match="level"):
        fit.uncertainty("bootstrap", level=95, repetitions=40, progress=tell)
    assert told == []
    monkeypatch.setattr("gaussnet.fitting.uncertainty.MOST_KEPT", 1)
    fit.uncertainty("bootstrap", repetitions=40, progress=tell)
    assert len(told) == 40
