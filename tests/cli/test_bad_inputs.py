"""Every bad input gives one sentence and exit 1, and leaves no file behind."""

import shlex
import sys

import pytest
from tests.cli.bad_inputs import BAD_INPUTS
from tests.cli.in_process import run

from gaussnet.cli import main

STARTS = {
    "--method": "got --method 'magic', expected 'least-squares'",
    "--scale": "got --scale 'magic'",
}


def put(folder, files):
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def listing(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_table_is_long_and_has_no_line_twice():
    assert len(BAD_INPUTS) >= 60
    assert len({(command, repr(files)) for command, files, _ in BAD_INPUTS}) == len(BAD_INPUTS)


@pytest.mark.parametrize(
    ("command", "files", "sentence"),
    BAD_INPUTS,
    ids=[f"{index}-{command}" for index, (command, _, _) in enumerate(BAD_INPUTS)],
)
def test_a_bad_input_is_one_sentence(tmp_path, monkeypatch, capsys, command, files, sentence):
    put(tmp_path, files)
    before = listing(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gaussnet", *shlex.split(command)])
    with pytest.raises(SystemExit) as stopped:
        main()
    output = capsys.readouterr()
    assert stopped.value.code == 1
    if sentence is None:
        start = next(words for option, words in STARTS.items() if option in command)
        assert output.err.startswith(f"gaussnet: {start}")
        assert output.err.count("\n") == 1
    else:
        assert output.err == f"gaussnet: {sentence}\n"
    assert output.out == ""
    assert listing(tmp_path) == before


def test_a_process_shows_the_same_and_no_traceback(tmp_path):
    done = run("fit", str(tmp_path / "absent.csv"), "--dag", str(tmp_path / "absent.txt"))
    assert done.returncode == 1
    assert done.stderr.startswith("gaussnet: cannot read ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_too_much_memory_is_one_sentence(tmp_path, monkeypatch, capsys):
    def full(*arguments, **settings):
        raise MemoryError

    monkeypatch.setattr("gaussnet.GaussianNetwork.sample", full)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gaussnet", "simulate", "tree", "--out", "rows.csv"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err == (
        "gaussnet: there is not enough memory: ask for fewer rows or nodes\n"
    )
    assert not any(tmp_path.iterdir())
