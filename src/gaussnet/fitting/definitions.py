"""Quantities defined from coefficients, as ``ind := a*b``, with errors by delta or bootstrap."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaussnet.errors import GraphError, SettingError
from gaussnet.fitting.coefficient_tables import p_value_words
from gaussnet.fitting.effects import doubt_of, effect_error
from gaussnet.fitting.repetitions import (
    WORDS,
    BootstrapErrors,
    percentiles,
    shown_p_values,
)
from gaussnet.fitting.tables import Column, ResultTable
from gaussnet.fitting.uncertainty import (
    PURPOSE,
    ErrorChoice,
    bootstrap_networks,
    check_repetitions,
    checked_kind,
    repetitions_of,
)
from gaussnet.graph.dag import Dag, shorten
from gaussnet.graph.formats.text import parse_labels
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

LONGEST = 1_000
"""Signs of an expression, at most."""
_NAME = re.compile(r"(?<![\w.])(?:[^\W\d_]|\.(?!\d))[\w.]*")
_ALLOWED = re.compile(r"[\w.+\-*/^()\s]*")


class Dual(NamedTuple):
    """A value and its derivatives by all coefficients, (edges,)."""

    value: float
    gradient: FloatArray


_FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "exp": (math.exp, math.exp),
    "log": (math.log, lambda x: 1.0 / x),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x)),
    "abs": (abs, lambda x: math.copysign(1.0, x)),
}
"""Functions that a definition may use, with their derivatives."""


def evaluate(expression: str, known: Mapping[str, Dual], edges: int) -> Dual:
    """The value of an expression of known quantities, and its gradient.

    Allowed are numbers, names, ``+ - * / ^``, brackets, exp, log, sqrt and abs.

    Examples
    --------
    >>> known = {"a": Dual(2.0, np.array([1.0, 0.0])), "b": Dual(3.0, np.array([0.0, 1.0]))}
    >>> found = evaluate("a*b^2 - 1", known, 2)
    >>> found.value, found.gradient.tolist()
    (17.0, [9.0, 12.0])
    """
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        names.append(match.group())
        return f"_{len(names) - 1}"

    if len(expression) > LONGEST or not _ALLOWED.fullmatch(expression):
        raise _refusal(expression, "numbers, labels, + - * / ^ and brackets")
    code = " ".join(_NAME.sub(number, expression).replace("^", "**").split())
    try:
        tree = ast.parse(code, mode="eval")
        return _Evaluation(names, known, edges).of(tree.body)
    except (SyntaxError, RecursionError):
        raise _refusal(expression, "an expression such as a*b + c") from None
    except (ZeroDivisionError, OverflowError, ValueError, TypeError):
        raise SettingError(
            f"the definition {expression!r} has no value at these coefficients: it divides by 0, "
            "overflows, or takes a logarithm or root of a negative number"
        ) from None


class _Evaluation:
    """The value of a syntax tree, with derivatives carried along."""

    def __init__(self, names: list[str], known: Mapping[str, Dual], edges: int) -> None:
        self.names, self.known, self.none = names, known, np.zeros(edges)

    def of(self, node: ast.expr) -> Dual:
        match node:
            case ast.Constant(value=int() | float() as value):
                return Dual(float(value), self.none)
            case ast.Name(id=name):
                return self._quantity(self._word(name))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=inner):
                sign, found = (-1.0 if isinstance(op, ast.USub) else 1.0), self.of(inner)
                return Dual(sign * found.value, sign * found.gradient)
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(op, self.of(left), self.of(right))
            case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]):
                return self._function(self._word(name), self.of(inner))
        raise SyntaxError

    def _word(self, identifier: str) -> str:
        if not identifier[1:].isdecimal():
            raise SyntaxError
        return self.names[int(identifier[1:])]

    def _quantity(self, name: str) -> Dual:
        if name not in self.known:
            raise GraphError(
                f"there is no label {name!r} for a definition: the labels are "
                f"{shorten(list(self.known))}; give one in the model text, as in 'y ~ {name}*x'"
            )
        return self.known[name]

    def _function(self, name: str, inner: Dual) -> Dual:
        if name not in _FUNCTIONS:
            raise SettingError(
                f"there is no function {name!r} for a definition, expected one of "
                f"{', '.join(_FUNCTIONS)}"
            )
        function, slope = _FUNCTIONS[name]
        return Dual(float(function(inner.value)), slope(inner.value) * inner.gradient)


def _combined(op: ast.operator, left: Dual, right: Dual) -> Dual:
    """Two values combined, and the gradient by the rules of calculus."""
    (x, dx), (y, dy) = left, right
    match op:
        case ast.Add() | ast.Sub():
            sign = 1.0 if isinstance(op, ast.Add) else -1.0
            return Dual(x + sign * y, dx + sign * dy)
        case ast.Mult():
            return Dual(x * y, y * dx + x * dy)
        case ast.Div():
            return Dual(x / y, (dx - x / y * dy) / y)
        case ast.Pow():
            value = float(operator.pow(x, y))
            log = math.log(x) if dy.any() else 0.0
            return Dual(value, (y * operator.pow(x, y - 1.0) if y else 0.0) * dx + value * log * dy)
    raise SyntaxError


def _refusal(expression: str, expected: str) -> SettingError:
    return SettingError(f"got the definition {expression!r:.80}, expected {expected}")


def definition_values(dag: Dag, definitions: Mapping[str, str], values: FloatArray) -> list[Dual]:
    """The defined quantities at these coefficients; one may use those before it."""
    place = {edge: index for index, edge in enumerate(dag.edges)}
    units = np.eye(len(values))
    known = {
        label: Dual(float(values[place[edge]]), units[place[edge]])
        for label, edge in dag.labels.items()
    }
    found = []
    for name, expression in definitions.items():
        found.append(evaluate(expression, known, len(values)))
        known[name] = found[-1]
    return found


def find_defined(fit: "Fit", more: str | None, choice: ErrorChoice) -> ResultTable:
    """The defined quantities with standard errors and intervals, one row each."""
    definitions = dict(fit.dag.definitions)
    if more is not None:
        known = (*fit.dag.labels, *definitions)
        definitions |= parse_labels(f"_ ~ 1\n{more}", known).definitions
    if not definitions:
        raise SettingError(
            "the model text defines no quantity: give lines such as 'ind := a*b' in it, with "
            "labels as in 'y ~ b*m', or here"
        )
    duals = definition_values(fit.dag, definitions, fit.network.coefficient_array)
    chosen = checked_kind(fit, choice.kind, choice.level)
    estimates, notes = np.array([one.value for one in duals]), []
    if chosen == "bootstrap":
        drawn = _bootstrap(fit, definitions, estimates, choice)
        (errors, low, high), words = drawn.table, WORDS
        tests = shown_p_values(drawn.p_values, drawn.repetitions)
        notes += [] if drawn.note is None else [drawn.note]
    else:
        rows = [effect_error(fit, one.value, one.gradient, choice.level, chosen) for one in duals]
        errors, low, high, p_values, freedom = np.array([one[:5] for one in rows]).T
        tests, words = p_values.tolist(), p_value_words(freedom)
        notes += dict.fromkeys(one.note for one in rows if one.note)
    level = f"{100 * choice.level:.4g}%"
    columns = (
        Column("name", "name", list(definitions), "text"),
        Column("definition", "definition", list(definitions.values()), "text"),
        Column("estimate", "estimate", estimates.tolist()),
        Column("std_error", "std. error", errors.tolist()),
        Column("p_value", "p-value", tests, "p-value"),
        Column("low", f"{level} low", low.tolist()),
        Column("high", f"{level} high", high.tolist()),
    )
    how = "delta method"
    if chosen == "bootstrap":
        how = f"bootstrap, {repetitions_of(fit, choice.repetitions)} repetitions"
    notes = [f"standard errors: {how}; {words}", *notes, *filter(None, [doubt_of(fit)])]
    return ResultTable("Defined quantities", columns, tuple(notes))


def _bootstrap(
    fit: "Fit", definitions: Mapping[str, str], estimates: FloatArray, choice: ErrorChoice
) -> BootstrapErrors:
    """Standard error, interval and p-value of each quantity, from rows drawn again."""
    check_repetitions(fit, choice.repetitions, choice.level)
    drawn = bootstrap_networks(fit, fit.required_data(PURPOSE), choice.repetitions, choice.seed)
    found = [
        [one.value for one in definition_values(fit.dag, definitions, net.coefficient_array)]
        for net in drawn
    ]
    return percentiles(np.array(found), estimates, choice.level, fit.method.uses_row_order)
