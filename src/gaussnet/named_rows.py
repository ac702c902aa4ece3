"""Rows whose columns have names: an array that knows which column is which."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np


class NamedRows(np.ndarray[Any, np.dtype[np.float64]]):
    """An array (rows, columns) with a name for each column, as `GaussianNetwork.sample` gives it.

    It is an array like any other, and wherever data are taken its columns find their nodes by
    name. Rows and columns taken out of it, and copies, keep their names; the result of arithmetic
    is a plain array without names.

    Examples
    --------
    >>> rows = named([[1.0, 2.0], [3.0, 4.0]], ["rain", "wet"])
    >>> rows[:1].names, rows[:, ::-1].names, (rows + 1.0).tolist()
    (('rain', 'wet'), ('wet', 'rain'), [[2.0, 3.0], [4.0, 5.0]])
    """

    names: tuple[str, ...] | None
    """A name for each column, also of one row alone; None where columns are no longer these."""

    def __array_finalize__(self, source: Any) -> None:
        self.names = None  # whoever knows the names of a new view sets them

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False
    ) -> np.ndarray[Any, Any]:
        """Results of arithmetic are plain arrays and numbers."""
        plain = np.asarray(array)
        return plain if plain.ndim else plain[()]  # NumPy 1.26 does not say that it wants a number

    def __getitem__(self, key: Any) -> Any:
        taken = super().__getitem__(key)
        if self.names is not None and self.ndim == 2:
            if np.ndim(taken) == 2:
                taken.names = _names_taken(self.names, key)
            elif isinstance(key, int | np.integer):
                taken.names = self.names
        return taken

    def copy(self, order: Any = "C") -> "NamedRows":
        """A copy with the same names."""
        return _with_names(super().copy(order), self.names)

    def astype(self, *settings: Any, **more: Any) -> Any:
        """The numbers in another type, with the same names."""
        return named(super().astype(*settings, **more), self.names)

    def sort(self, axis: Any = -1, *settings: Any, **more: Any) -> None:
        """Sort in place; columns that are sorted into each other lose their names."""
        super().sort(axis, *settings, **more)
        if axis % self.ndim:
            self.names = None

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (np.asarray(self), self.names)


def named(rows: Any, names: Iterable[str] | None) -> NamedRows:
    """A view of rows (rows, columns) with these names."""
    return _with_names(np.asarray(rows).view(NamedRows), None if names is None else tuple(names))


def names_of(data: object) -> tuple[str, ...] | None:
    """The names that an array carries; None for any other data."""
    return data.names if isinstance(data, NamedRows) else None


def row_labels(data: object) -> list[Any] | None:
    """The labels of the rows of a pandas frame; None where they are numbers from 0, or absent.

    Examples
    --------
    >>> import pandas as pd
    >>> row_labels(pd.Series([1.0, 2.0], index=["ann", "bob"])), row_labels(pd.Series([1.0, 2.0]))
    (['ann', 'bob'], None)
    """
    index: Any = getattr(data, "index", None)
    if type(index).__module__.split(".")[0] != "pandas":
        return None
    labels = np.asarray(index)
    is_counted = labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels)))
    return None if is_counted else list(index)


def did_you_mean(name: str, columns: Iterable[str]) -> str:
    """A question that adds the column which is most like a name, or nothing.

    Examples
    --------
    >>> did_you_mean("plcg", ["Akt", "Plcg"]), did_you_mean("rain", ["time"])
    (", did you mean 'Plcg'?", '')
    """
    from difflib import get_close_matches

    plain = {bare_name(column): column for column in columns}
    found = get_close_matches(bare_name(name), plain, n=1, cutoff=0.75)
    return f", did you mean {plain[found[0]]!r}?" if found else ""


def is_number(label: object) -> bool:
    """Whether a label is a number, with a point or a comma.

    Examples
    --------
    >>> is_number("3,5"), is_number("3rd")
    (True, False)
    """
    try:
        float(str(label).replace(",", "."))
    except ValueError:
        return False
    return True


def called_here(name: str, others: Mapping[str, str]) -> str:
    """What a name from elsewhere is called here, to end a message; or nothing.

    Examples
    --------
    >>> called_here("OLS", {"ols": "least-squares"}), called_here("x", {})
    ("; 'OLS' is 'least-squares' here", '')
    """
    own = others.get(bare_name(name))
    return "" if own is None else f"; {name!r} is {own!r} here"


def bare_name(name: str) -> str:
    """A name without what eyes pass over: case, blanks at its ends, several blanks for one."""
    return " ".join(name.split()).casefold()


def _with_names(rows: NamedRows, names: tuple[str, ...] | None) -> NamedRows:
    rows.names = names
    return rows


def _names_taken(names: tuple[str, ...], key: Any) -> tuple[str, ...] | None:
    """The names of the columns that an index takes; None where it does more than that."""
    if not isinstance(key, tuple):
        return None if key is None else names
    if len(key) != 2 or any(part is None or part is Ellipsis for part in key):
        return None
    taken = np.array(names, dtype=object)[key[1]]
    return tuple(taken.tolist()) if isinstance(taken, np.ndarray) and taken.ndim == 1 else None


def unknown_words(function: Callable[..., Any], name: str, others: Mapping[str, str]) -> str:
    """That a function has no such keyword, and which one may be meant.

    `others` are what its settings are called elsewhere.

    Examples
    --------
    >>> def fit(data, *, missing=None): ...
    >>> unknown_words(fit, "mising", {})
    "fit() has no setting mising=, did you mean 'missing'?"
    """
    from inspect import signature

    parameters = signature(function).parameters.values()
    known = [own.name for own in parameters if own.default is not own.empty]
    meant = did_you_mean(name, known) or f": its settings are {', '.join(known)}"
    return f"{function.__name__}() has no setting {name}={called_here(name, others) or meant}"
