"""The command line: the demonstration, versions, and how errors look."""

import json
import subprocess
import sys

import pytest
from tests.cli.in_process import run


def test_demo_prints_a_line_for_each_method_in_a_process_of_its_own():
    words = ["demo", "--nodes", "20", "--rows", "500"]
    done = subprocess.run(
        [sys.executable, "-c", "from gaussnet.cli import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert run(*words).stdout == done.stdout
    methods = ("least-squares", "batch-average", "batch-median", "cauchy-tree", "cauchy", "robust")
    for method in methods:
        assert f" {method} " in done.stdout


def test_demo_shows_that_robust_is_as_good_on_spoilt_rows_as_least_squares_on_clean_ones():
    lines = {line["method"]: line for line in json.loads(run("demo", "--json").stdout)["lines"]}
    limit = lines["least-squares"]["clean"]
    assert lines["robust"]["clean"] == pytest.approx(limit, rel=0.05)
    # 5 values in 5 % of the rows of 100 nodes leave each family 96 % of its rows or so
    assert lines["robust"]["spoilt"] == pytest.approx(limit, rel=0.15)


def test_demo_shows_that_medians_survive_and_means_do_not():
    done = run("demo", "--json", "--seed", "3")
    lines = {line["method"]: line for line in json.loads(done.stdout)["lines"]}
    limit = json.loads(done.stdout)["limit"]
    assert lines["least-squares"]["clean"] == pytest.approx(limit, rel=0.5)
    for method in ("batch-median", "cauchy-tree", "cauchy"):
        assert lines[method]["spoilt"] < lines["batch-average"]["spoilt"] / 10
        assert lines[method]["spoilt"] < lines["least-squares"]["spoilt"] / 10


def test_demo_is_the_same_for_the_same_seed():
    first, second = (run("demo", "--json", "--nodes", "10", "--rows", "300") for _ in range(2))
    assert first.stdout == second.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demo", "--rows", "10"], "gaussnet: the node"),
        (["demo", "--rows", "0"], "gaussnet: "),
        (["demo", "--nodes", "0"], "gaussnet: "),
        (["demo", "--share", "1.5"], "gaussnet: "),
        (["demo", "--seed", "-1"], "gaussnet: "),
    ],
)
def test_bad_input_is_one_sentence_and_exit_one(arguments, sentence):
    done = run(*arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_wrong_usage_is_exit_two():
    assert run("demo", "--colour", "red").returncode == 2


def test_version_names_the_kernels():
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("gaussnet 0.")
    assert "kernels" in done.stdout


def test_help_loads_no_numerical_package():
    code = (
        "import sys; sys.argv = ['gaussnet', '--help']\n"
        "from gaussnet.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "loaded = {'numpy', 'scipy', 'pandas', 'networkx', 'matplotlib'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
