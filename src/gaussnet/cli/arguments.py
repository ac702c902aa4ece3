"""Commands from annotated functions: each parameter is an argument or an option of the shell."""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, cleandoc, signature
from itertools import takewhile
from textwrap import wrap
from types import NoneType
from typing import Any, get_args, get_origin

from gaussnet.errors import SettingError

Command = Callable[..., None]


class UsageError(SettingError):
    """A word that an option does not know: the command was typed wrongly."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter that is given by its place."""

    help: str


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter that is given by its name, which is that of the parameter if none is said."""

    name: str | None = None
    help: str = ""
    is_list: bool = False
    """Whether its value is a list with commas, so that further values are added to it."""


class _Joined(argparse.Action):
    """The values of an option that is given several times, with commas between them."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before},{values}")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that keeps names such as cauchy-tree in one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_help_width())

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width, break_on_hyphens=False)


@cache
def _help_width() -> int:
    """Two columns less than the terminal has; argparse imports much to find them."""
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size().columns) - 2
    except (OSError, ValueError):
        return 78


def run(commands: Mapping[str, Command], words: Sequence[str], about: str) -> None:
    """Call the command that the words name, with the values that they give.

    A name may be of two words, as "networks import". Wrong usage ends the process with status 2.

    Examples
    --------
    >>> from typing import Annotated
    >>> def double(number: Annotated[int, Argument("A number.")]) -> None:
    ...     print(2 * number)
    >>> run({"double": double}, ["double", "21"], "Arithmetic.")
    42
    """
    for length in (2, 1):
        command = commands.get(" ".join(words[:length]))
        if command is not None:
            name = " ".join(words[:length])
            command(**_values(f"gaussnet {name}", command, words[length:]))
            return
    _parser_of_all(commands, about).parse_args(words or ["--help"])


def _parser_of_all(commands: Mapping[str, Command], about: str) -> argparse.ArgumentParser:
    """For the help on all commands, and for words that name none."""
    parser = argparse.ArgumentParser("gaussnet", description=about, allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="Show the version and stop.")
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in commands.items():
        parts.add_parser(name, help=_escaped(cleandoc(command.__doc__ or "").split("\n\n")[0]))
    return parser


def _values(name: str, command: Command, words: Sequence[str]) -> dict[str, Any]:
    """The values of a command's parameters."""
    parser = argparse.ArgumentParser(
        name,
        description=_escaped(cleandoc(command.__doc__ or "")),
        formatter_class=_Help,
        allow_abbrev=False,
    )
    for parameter in signature(command).parameters.values():
        _add(parser, parameter)
    known = parser._option_string_actions
    ordered = list(_options_first(words, known))
    given, unknown = parser.parse_known_args(ordered)
    if unknown:
        parser.error(f"no such option or argument: {unknown[0]}{_similar(unknown[0], known)}")
    twice = _said_twice(ordered, known)
    if twice is not None:
        parser.error(f"got both {twice[0]} and {twice[1]}: give one of them")
    return vars(given)


def _add(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    """Add a parameter to the parser."""
    annotated, shape = get_args(parameter.annotation)
    kind = _without_none(annotated)
    several = get_origin(kind) is list
    needed = parameter.default is Parameter.empty
    settings: dict[str, Any] = {"help": _escaped(shape.help), "type": kind}
    if several:
        settings["type"] = get_args(kind)[0]
    if isinstance(shape, Argument):
        settings["nargs"] = ("+" if needed else "*") if several else None
        parser.add_argument(parameter.name, **settings)
        return
    settings |= {"dest": parameter.name, "required": needed, "metavar": _metavar(settings["type"])}
    settings["default"] = None if needed else parameter.default
    if several:
        settings["action"] = "append"
    if shape.is_list:
        settings["action"] = _Joined
    if kind is bool:
        paired = shape.name is None
        settings["action"] = argparse.BooleanOptionalAction if paired else "store_true"
        del settings["type"], settings["metavar"]
    if not needed and parameter.default is not None and parameter.default is not False:
        settings["help"] += " (default: %(default)s)"
    parser.add_argument(shape.name or f"--{parameter.name.replace('_', '-')}", **settings)


def _options_first(words: Sequence[str], known: Mapping[str, argparse.Action]) -> Iterator[str]:
    """The options, each in one word with its value, and then the arguments.

    So a value may begin with a minus, as in ``--missing-values -999,-99``, and options may stand
    between arguments.
    """
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            arguments += rest
        elif word in known and known[word].nargs is None:
            value = next(rest, None)
            yield word if value is None else f"{word}={value}"
        elif word.startswith("-") and word != "-":
            yield word
        else:
            arguments.append(word)
    yield from ["--", *arguments] if arguments else []


def _said_twice(
    options: Sequence[str], known: Mapping[str, argparse.Action]
) -> tuple[str, str] | None:
    """Two values of an option that takes one, as ``--seed=1`` and ``--seed=2``, if there are."""
    said: dict[str, str] = {}
    for word in takewhile(lambda one: one != "--", options):
        action = known.get(word.partition("=")[0])
        if action is None or isinstance(action, _Joined | argparse._AppendAction):
            continue
        first = said.setdefault(action.dest, word)
        if first != word:
            return first, word
    return None


def _without_none(annotated: Any) -> Any:
    """The type T of an annotation T | None."""
    kinds = [kind for kind in get_args(annotated) if kind is not NoneType]
    return kinds[0] if NoneType in get_args(annotated) else annotated


def _metavar(kind: type) -> str:
    return {str: "TEXT", int: "INTEGER", float: "NUMBER"}.get(kind, "PATH")


def _escaped(text: str) -> str:
    """A text in which argparse finds nothing to fill in."""
    return text.replace("%", "%%")


def _similar(word: str, known: Mapping[str, argparse.Action]) -> str:
    """The option that was meant, perhaps."""
    from difflib import get_close_matches

    found = get_close_matches(word.partition("=")[0], list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""
