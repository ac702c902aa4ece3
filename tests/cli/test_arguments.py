"""Commands from annotated functions: values, and wrong usage."""

from pathlib import Path
from typing import Annotated

import pytest

from gaussnet.cli.app import ABOUT, COMMANDS
from gaussnet.cli.arguments import Argument, Option, run

CALLS = []


def gather(
    files: Annotated[list[str], Argument(help="Some files, 100 % of them.")],
    count: Annotated[int, Option(help="How many.")],
    codes: Annotated[str | None, Option("--missing-values", help="Codes.", is_list=True)] = None,
    share: Annotated[float, Option(help="A share.")] = 0.5,
    out: Annotated[Path | None, Option(help="A file.")] = None,
    given: Annotated[list[str] | None, Option(help="Several.")] = None,
    intercept: Annotated[bool, Option(help="Whether.")] = True,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Gather values.

    Example: gaussnet gather a.csv --count 1
    """
    CALLS.append((files, count, codes, share, out, given, intercept, as_json))


def call(*words):
    CALLS.clear()
    run({"gather": gather}, ["gather", *words], ABOUT)
    return CALLS[0]


def test_what_is_not_given_has_its_default():
    assert call("a", "--count", "2") == (["a"], 2, None, 0.5, None, None, True, False)


def test_options_stand_anywhere_and_values_may_begin_with_a_minus():
    words = "a --count -3 --missing-values -999,-99 b --no-intercept --json c --share=-.5"
    assert call(*words.split()) == (["a", "b", "c"], -3, "-999,-99", -0.5, None, None, False, True)


def test_several_values_are_gathered():
    words = "- --count 2 --given x=1 --given y=-2 --out o.csv"
    assert call(*words.split())[1:6] == (2, None, 0.5, Path("o.csv"), ["x=1", "y=-2"])


def test_lists_with_commas_are_joined():
    words = "- --count 2 --missing-values -999,-99 --missing-values 9999"
    assert call(*words.split())[2] == "-999,-99,9999"


def test_the_same_value_twice_is_the_value():
    assert call(*["-", "--count", "2", "--count=2", "--json", "--json"])[1] == 2


def test_after_two_dashes_all_are_arguments():
    assert call("--count", "1", "--", "-a.csv", "--json")[0] == ["-a.csv", "--json"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--count", "1"], "arguments are required: files"),
        (["a"], "arguments are required: --count"),
        (["a", "--count", "one"], "argument --count: invalid int value: 'one'"),
        (["a", "--count"], "argument --count: expected one argument"),
        (["a", "--count", "1", "--shar", "1"], "no such option or argument: --shar; did you mean"),
        (["a", "--count", "1", "--count", "2"], "got both --count=1 and --count=2: give one of"),
        (["a", "--count=1", "--intercept", "--no-intercept"], "both --intercept and --no-inter"),
        (["a", "--count", "1", "--json=yes"], "argument --json: ignored explicit argument 'yes'"),
    ],
)
def test_wrong_usage_is_a_sentence_and_status_two(words, sentence, capsys):
    with pytest.raises(SystemExit) as stopped:
        call(*words)
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_word_that_is_no_command_is_refused(capsys):
    with pytest.raises(SystemExit) as stopped:
        run(COMMANDS, ["learn"], ABOUT)
    assert stopped.value.code == 2
    assert "invalid choice: 'learn'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["-h"], *([*name.split(), "-h"] for name in COMMANDS)])
def test_every_help_tells_what_is_done(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(COMMANDS, words, ABOUT)
    assert stopped.value.code == 0
    command = COMMANDS.get(" ".join(words[:-1]))
    told = ABOUT if command is None else command.__doc__.splitlines()[0]
    assert told in capsys.readouterr().out


def test_the_help_of_a_share_keeps_its_sign(capsys):
    with pytest.raises(SystemExit):
        call("--help")
    out = capsys.readouterr().out
    assert "100 % of them" in out
    assert "(default: 0.5)" in out
