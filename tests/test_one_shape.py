"""Outside `methods` and `data` nobody asks which method, scale or kind of table it has.

When this was first counted there were 98 such questions. A new method or table would have had to
answer each of them; now it derives from its base class and is done.
"""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import gaussnet
from gaussnet.data.table import Table
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.names import METHODS, SCALES

SOURCE = Path(gaussnet.__file__).parent
MAY_ASK = ("methods", "data")
NAMES = {*METHODS, *SCALES}


def family(base: type) -> Iterator[type]:
    """A class and all that derive from it."""
    yield base
    for kind in base.__subclasses__():
        yield from family(kind)


def kinds() -> set[str]:
    """Names of all classes of methods, scales and tables, and of the laws of methods."""
    for module in pkgutil.walk_packages([str(SOURCE)], "gaussnet."):
        if module.name.split(".")[1] in ("methods", "data", "planning"):
            importlib.import_module(module.name)
    from gaussnet.planning.laws import MethodLaw

    bases = (Method, Scale, Table, MethodLaw)
    found = {kind for base in bases for kind in family(base)}
    return {kind.__name__ for kind in found if kind.__module__.startswith("gaussnet.")}


def words(node: ast.AST) -> set[str]:
    """All names, attributes and texts in a piece of code."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.add(part.value)
    return found


def is_call_of(node: ast.AST, *functions: str) -> bool:
    """Whether this calls one of some built-in functions."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
    )


def asks_kind(node: ast.AST, classes: set[str]) -> bool:
    """Whether this asks for the class of something that is a method, scale or table."""
    if is_call_of(node, "isinstance", "issubclass"):
        return bool(words(node.args[1]) & classes)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        of_type = any(is_call_of(side, "type") or "__class__" in words(side) for side in sides)
        return of_type and bool(set().union(*map(words, sides)) & classes)
    if isinstance(node, ast.MatchClass):
        return bool(words(node.cls) & classes)
    return False


def asks_name(node: ast.AST) -> bool:
    """Whether this compares a name, method or scale with the name of a method or scale."""
    if isinstance(node, ast.Match):
        sides: list[ast.AST] = [node.subject]
        values = [part.value for part in ast.walk(node) if isinstance(part, ast.MatchValue)]
    elif isinstance(node, ast.Compare):
        sides = values = [node.left, *node.comparators]
    else:
        return False
    asked = set().union(*map(words, sides))
    is_named = any(word.endswith(("name", "method", "scale")) for word in asked)
    return is_named and any(texts(value) & NAMES for value in values)


def texts(node: ast.AST) -> set[str]:
    """A text, or the texts in a tuple, list or set of them."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {str(one.value) for one in parts if isinstance(one, ast.Constant)}


def questions(text: str, classes: set[str]) -> list[int]:
    """The lines that ask which method, scale or table it is."""
    nodes = ast.walk(ast.parse(text))
    return sorted(one.lineno for one in nodes if asks_kind(one, classes) or asks_name(one))


def test_nobody_asks_which_method_scale_or_table_it_is():
    classes, found = kinds(), []
    assert {"LeastSquares", "SequentialTrim", "Mad", "MemoryTable", "ClusterTable"} <= classes
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE)
        if place.parts[0] not in MAY_ASK:
            found += [f"{place}:{line}" for line in questions(file.read_text(), classes)]
    assert not found, f"{len(found)} questions: {', '.join(found)}"


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("isinstance(fit.method, BatchMedian)", True),
        ("isinstance(one, str | methods.cauchy.Cauchy)", True),
        ("issubclass(kind, (int, Mad))", True),
        ("type(self.scale) is Mad", True),
        ("table.__class__ == FileTable", True),
        ("match method:\n    case LeastSquares():\n        pass", True),
        ("match name:\n    case 'robust':\n        pass", True),
        ("fit.method.name == 'robust'", True),
        ("method in ('auto', 'robust')", True),
        ("'mad' != scale", True),
        ("isinstance(given, str)", False),
        ("type(value) is int", False),
        ("method.needs_all_rows", False),
        ("kind == 'bootstrap'", False),
        ("noise == 'cauchy'", False),
        ("{'robust': 1}[name]", False),
    ],
)
def test_questions_are_recognised(code, is_found):
    assert bool(questions(code, kinds())) == is_found
