"""Checks of what users give: numbers by name, names, settings, rows; and of overflowing results."""

import math
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gaussnet import display
from gaussnet.errors import DataError, NetworkError, SettingError
from gaussnet.graph.dag import Dag, indicator, node_name, shorten
from gaussnet.named_rows import bare_name, did_you_mean, names_of
from gaussnet.types import FloatArray, Rows

Name = TypeVar("Name", bound=Hashable)


def check_dag(dag: object) -> None:
    """Refuse what is not a graph."""
    if not isinstance(dag, Dag):
        raise NetworkError(
            f"got {type(dag).__name__} for the graph, expected a Dag: make one with Dag.from_edges"
        )


def values_by_name(given: Mapping[Name, float], expected: Sequence[Name], what: str) -> FloatArray:
    """The numbers of a mapping in the order expected; every name present, and no other."""
    if not isinstance(given, Mapping):
        raise NetworkError(
            f"got {type(given).__name__} for the {what}s, expected a mapping by name: "
            "give a dict, or arrays through GaussianNetwork.from_arrays"
        )
    missing = [name for name in expected if name not in given]
    if missing:
        told = _names_of(missing, what)
        raise NetworkError(f"there is no {what} for {told}: give one for each, in {what}s=")
    if len(given) > len(expected):
        known = set(expected)
        unknown = [name for name in given if name not in known]
        raise NetworkError(
            f"there is a {what} for {_names_of(unknown, what)}, which the graph does not have: "
            "drop it"
        )
    return np.array([finite_number(given[name], name, what) for name in expected], dtype=np.float64)


def frozen_array(values: ArrayLike, names: Sequence[object], what: str) -> FloatArray:
    """A read-only copy (names,) of finite numbers; `names` says whose each number is."""
    array = as_numbers(values, what)
    if array.shape != (len(names),):
        raise NetworkError(
            f"got {what}s of shape {array.shape}, expected ({len(names)},): give one for each"
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise NetworkError(
            f"the {what} of {shorten([names[bad[0]]])} is {array[bad[0]]}, expected a finite number"
        )
    return read_only(array)


def finite_number(value: object, name: Hashable, what: str) -> float:
    """A finite real number, not a bool; `name` says whose it is."""
    try:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError
        number = float(value)
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise NetworkError(
            f"the {what} of {_names_of([name], what)} is {value!r}, expected a finite number"
        )
    return number


def _names_of(names: Sequence[object], what: str) -> str:
    """The names of nodes, edges, or pairs that covary, for a message.

    Examples
    --------
    >>> _names_of([("a", "b")], "covariance"), _names_of([("a", "b")], "coefficient")
    ("'a' ~~ 'b'", "'a' -> 'b'")
    """
    return shorten(names, between="~~" if what == "covariance" else "->")


def as_numbers(values: ArrayLike, what: str) -> FloatArray:
    """A fresh float64 array of any shape, or one sentence why not."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise NetworkError(f"the {what}s are not all numbers: give an array of floats") from None


def read_only(array: FloatArray) -> FloatArray:
    """The array itself, closed to writing."""
    array.setflags(write=False)
    return array


def check_not_negative(variances: FloatArray, names: Sequence[str]) -> None:
    """Refuse variances below 0."""
    if (variances < 0.0).any():
        worst = int(np.argmin(variances))
        raise NetworkError(
            f"the variance of {names[worst]!r} is {variances[worst]}, expected 0 or more"
        )


def check_has_density(variances: FloatArray, names: Sequence[str]) -> None:
    """Refuse a network with a node that has no noise."""
    exact = np.flatnonzero(variances == 0.0)
    if len(exact):
        raise NetworkError(
            f"the node {names[exact[0]]!r} has variance 0, so the network has no density: give "
            "the node a positive variance, or leave it out with to_gaussian().marginal(...)"
        )


def check_overflow(values: FloatArray) -> None:
    """Refuse results that ran out of the range of floating point."""
    if not np.isfinite(values).all():
        raise NetworkError(
            "the values of the network overflow: its coefficients or variances are too large"
        )


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of variables: non-empty strings, each once."""
    if isinstance(names, str):
        raise NetworkError(f"got the string {names!r} for names, expected several: give a list")
    if not isinstance(names, Iterable):
        raise NetworkError(f"got {names!r} for names, expected several: give a list of strings")
    kept = tuple(names)
    for name in kept:
        if not isinstance(name, str) or not name:
            raise NetworkError(f"got the name {name!r}, expected a non-empty string")
    if len(set(kept)) < len(kept):
        twice = next(name for index, name in enumerate(kept) if name in kept[:index])
        raise NetworkError(f"the name {twice!r} is listed twice: give each variable its own name")
    return kept


def row_count(rows: int) -> int:
    """A number of rows: a whole number, 0 or more."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
        raise SettingError(f"got rows={rows!r}, expected a whole number of 0 or more")
    return int(rows)


def whole_number(name: str, value: object, least: int = 0, most: float = math.inf) -> int:
    """The setting as an integer between `least` and `most`.

    Examples
    --------
    >>> whole_number("nodes", 5)
    5
    """
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:  # type: ignore[operator]
        raise SettingError(f"got {name}={value!r}, expected a whole number {_range(least, most)}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def real_number(
    name: str, value: object, least: float = -math.inf, most: float = math.inf
) -> float:
    """The setting as a finite float between `least` and `most`.

    Examples
    --------
    >>> real_number("share", 0.05, 0.0, 1.0)
    0.05
    """
    is_real = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not is_real or not math.isfinite(value):  # type: ignore[arg-type]
        raise SettingError(f"got {name}={value!r}, expected a finite number")
    number = float(value)  # type: ignore[arg-type]
    if not least <= number <= most:
        raise SettingError(f"got {name}={value!r}, expected a number {_range(least, most)}")
    return number


def choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed."""
    if value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise SettingError(f"got {name}={value!r}, expected one of {words}")


def node_rows(data: object, dag: Dag, columns: Iterable[object] | None = None) -> Rows:
    """Data as an array (rows, nodes), not copied if it can be helped.

    Columns with names find their nodes by name. Those without follow `columns`, or the order of
    the nodes if the graph states it.
    """
    data = with_levels(data, dag)
    labels = labels_by(data, dag, columns)
    return as_rows(data, dag.nodes, labels)


def check_level(level: Any, example: float = 0.95) -> None:
    """Refuse a level that is no chance."""
    if not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise SettingError(
            f"got level={level!r}, expected a number between 0 and 1 such as {example}"
        )


def with_levels(data: object, dag: Dag) -> object:
    """The data with indicators in place of categories that the graph knows."""
    if not dag.factors or column_labels(data) is None or names_of(data) is not None:
        return data
    return display.with_indicators(data, dag.factors)


def level_values(dag: Dag, given: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Values by node, with categories named by their levels: ``{"fuel": "Petrol"}``.

    An indicator that is 1 names a level, and all indicators are fixed together: one that is 0 says
    nothing of the others.
    """
    if not dag.factors:
        return given
    found: dict[str, Any] = {}
    for name, value in _named_levels(dag, given).items():
        levels = dag.factors.get(name)
        if levels is None:
            found[name] = value
            continue
        if str(value) not in levels:
            raise NetworkError(
                f"the {what} of {name!r} is {value!r}, expected one of {shorten(levels)}"
                f"{did_you_mean(str(value), levels)}"
            )
        found |= {indicator(name, level): float(level == str(value)) for level in levels[1:]}
    for name, levels in dag.factors.items():
        own = [found[node] for level in levels[1:] if (node := indicator(name, level)) in found]
        if own and (len(own) < len(levels) - 1 or not set(own) <= {0.0, 1.0} or sum(own) > 1.0):
            raise NetworkError(
                f"the {what} names indicators of {name!r} that are not those of one level: name "
                f"the level, as {{{name!r}: {levels[-1]!r}}}"
            )
    return found


def _named_levels(dag: Dag, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with levels in place of indicators that are 1 and alone of their category."""
    named = dict(given)
    for name, levels in dag.factors.items():
        nodes = {indicator(name, level): level for level in levels}
        own = [node for node in given if node in nodes]
        if len(own) == 1 and name not in given and str(given[own[0]]) in {"1", "1.0", "True"}:
            del named[own[0]]
            named[name] = nodes[own[0]]
    return named


def labels_by(data: Any, dag: Dag, columns: Iterable[object] | None) -> list[str]:
    """A name for each column: its own, or by `columns`, or by the graph if it states an order."""
    own = column_labels(data)
    if columns is None:
        return _unnamed_labels(data, dag) if own is None else own
    if isinstance(columns, str):
        raise DataError(f"got columns={columns!r}, expected several: give a list of names")
    names = list(as_names(node_name(column) for column in columns))
    if own is not None and own != names:
        raise DataError(
            "got columns for data whose columns have names already: leave columns out, or rename "
            "the columns of the data"
        )
    return _checked_width(data, names)


def _unnamed_labels(data: Any, dag: Dag) -> list[str]:
    nodes = _checked_width(data, list(dag.nodes))
    return list(dag.column_order()) if nodes else nodes


def _checked_width(data: Any, names: list[str]) -> list[str]:
    """The names, one for each column of an array."""
    if getattr(getattr(data, "dtype", None), "names", None):
        raise DataError(
            "got a record array, expected an array of numbers or a frame: give "
            "pandas.DataFrame(records)"
        )
    try:
        shape = np.shape(data)
    except ValueError:
        shape = ()
    if len(shape) != 2 or shape[1] != len(names):
        raise DataError(
            f"got data of shape {shape}, expected (rows, {len(names)}): give one column for each "
            f"of {shorten(names)}"
        )
    return names


def as_rows(data: Any, names: Sequence[str], labels: Sequence[str] | None = None) -> Rows:
    """Data as an array (rows, names), not copied if it can be helped.

    Columns are matched by their names, which are `labels` where the data have none; without
    labels an array has its columns in the order of `names`.
    """
    columns = _column_order(column_labels(data) if labels is None else labels, names)
    try:
        # pandas takes 30 times as long by np.asarray
        rows = np.asarray(data.to_numpy() if hasattr(type(data), "to_numpy") else data)
        if _is_masked(data) or rows.dtype.kind not in "biufO":
            raise TypeError
        rows = rows if columns is None else rows[:, columns]
        kept: Rows = rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)
    except (IndexError, TypeError, ValueError):
        raise DataError(
            "the data are not a table of numbers: give a float array (rows, columns)"
        ) from None
    if kept.ndim != 2 or kept.shape[1] != len(names):
        raise DataError(
            f"got data of shape {kept.shape}, expected (rows, {len(names)}): give one column "
            "for each node, in the order of the nodes"
        )
    return kept


def _is_masked(data: object) -> bool:
    """Whether cells of a masked array are masked; who has one has imported its module."""
    if "numpy.ma" not in sys.modules or not isinstance(data, np.ma.MaskedArray):
        return False
    return bool(np.ma.is_masked(data))


def check_near_names(labels: Sequence[str], nodes: tuple[str, ...]) -> None:
    """Refuse columns that are those of nodes without a column but for case and blanks."""
    given, bare = set(labels), _bare_names(nodes)
    for label in labels:
        for name in bare.get(bare_name(label), ()):
            if name not in given:
                raise DataError(
                    f"the data have no column {name!r} but {label!r}: rename the column, or drop "
                    "it to do without"
                )


@lru_cache(maxsize=16)
def _bare_names(nodes: tuple[str, ...]) -> dict[str, list[str]]:
    """The nodes by their names without case and blanks."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(bare_name(node), []).append(node)
    return found


def column_labels(data: object) -> list[str] | None:
    """The names of the columns of a data frame or of named rows; None for a plain array."""
    columns = names_of(data)
    columns = _frame_columns(data) if columns is None else columns
    # The index of a pandas frame takes twice as long to iterate over as to turn into a list.
    listed = columns.tolist() if hasattr(columns, "tolist") else columns
    return None if listed is None else [str(column) for column in listed]


def is_frame(data: object) -> bool:
    """Whether the data are a data frame."""
    return names_of(data) is None and _frame_columns(data) is not None


def _frame_columns(data: object) -> Any:
    # Asked of the type first: an attribute that a pandas frame lacks is looked for in its columns.
    owner = data if isinstance(data, np.ndarray) else type(data)
    for name in ("column_names", "columns"):
        if hasattr(owner, name) or (owner is not data and name in getattr(data, "__dict__", ())):
            columns = getattr(data, name)
            return None if callable(columns) else columns
    return None


def check_finite(rows: Rows, names: Sequence[str], first_row: int = 0) -> None:
    """Refuse rows with a missing or infinite value; `first_row` is the number of rows before."""
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise DataError(
            f"the data have {rows[row, column]} at row {first_row + row}, column "
            f"{names[column]!r}: drop or mend the rows with missing or infinite values"
        )


def check_densities(densities: FloatArray) -> None:
    """Refuse rows whose residuals ran out of the range of floating point."""
    if np.isnan(densities).any():
        row = int(np.isnan(densities).argmax())
        raise DataError(f"row {row} is too large: its residuals overflow, so rescale the data")


def _column_order(labels: Sequence[str] | None, names: Sequence[str]) -> list[int] | None:
    """Where each name stands among the columns; None if they have no names or are the names."""
    if labels is None or tuple(labels) == tuple(names):
        return None
    counts = Counter(labels)
    missing = [name for name in names if not counts[name]]
    if missing:
        others = [label for label in labels if label not in set(names)]
        raise DataError(
            f"the data have no column {shorten(missing)}: name the columns by the nodes"
            f"{did_you_mean(missing[0], others)}"
        )
    repeated = [name for name in names if counts[name] > 1]
    if repeated:
        raise DataError(f"the data have several columns {shorten(repeated)}: keep one of each")
    position = {label: index for index, label in enumerate(labels)}
    return [position[name] for name in names]


def _range(least: float, most: float) -> str:
    if math.isinf(most):
        return f"of at least {least:g}"
    return f"from {least:g} to {most:g}"


def is_missing(value: object) -> bool:
    """Whether this is None, NaN or the NA of pandas, which no comparison decides."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 (NaN is not itself)
    except TypeError:
        return True
