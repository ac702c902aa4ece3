"""Categories: columns of text become one column of 0 and 1 for each level but the reference.

A graph knows its factors by name and levels (`Dag.factors`); the first level is the reference, and
``fuel[Petrol]`` is 1 where the fuel is Petrol. Frames and files with the same columns of text are
turned into such columns wherever they are asked about.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussnet.data.columns import DATE, Loaded, is_frame, plain_label
from gaussnet.data.labels import Beside, label_counts, open_labels
from gaussnet.data.paths import (
    ARROW_ENDINGS,
    STANDARD_INPUT,
    TEXT_ENDINGS,
    files_of,
    is_path,
)
from gaussnet.data.sources import (
    ArraySource,
    Chunk,
    Derived,
    Source,
    Stamp,
    open_data,
)
from gaussnet.errors import DataError, GaussnetError
from gaussnet.files import suffix
from gaussnet.graph.dag import Dag, indicator, shorten
from gaussnet.named_rows import did_you_mean, is_number
from gaussnet.types import FloatArray, IntArray

MOST_LEVELS = 30
"""A column of more different texts is rather a name than a category."""

RARE, SOME_ROWS = 0.1, 5
"""A level of fewer rows than this share of those of the commonest one is rare, and one of a single
row where the commonest has so many."""
BOOLEAN = {"false", "true"}

Levels = Mapping[str, tuple[str, ...]]


def with_factors(data: Any, dag: Dag, codes: Iterable[float] = ()) -> tuple[Any, Dag]:
    """The data and the graph with indicators in place of nodes whose columns hold categories.

    Files stay as they are: one reading finds the levels, and `open_factors` the indicators. Numbers
    that stand for a missing value are no levels.

    Examples
    --------
    >>> import pandas as pd
    >>> cars = pd.DataFrame({"fuel": ["Petrol", "Diesel", "Petrol"], "mpg": [40.0, 60.0, 45.0]})
    >>> frame, dag = with_factors(cars, Dag.parse("mpg ~ fuel"))
    >>> dag.edges, frame["fuel[Petrol]"].tolist()
    ((('fuel[Petrol]', 'mpg'),), [1.0, 0.0, 1.0])
    """
    if is_path(data):
        found = _file_levels(data, dag)
    elif is_frame(data):
        from gaussnet.data.frames import frame_categories  # much to import, for frames alone

        columns = frame_categories(data, dag.nodes)
        found = {
            node: _levels(one.counts, node, one.stated)
            for node, one in columns.items()
            if one.is_stated or not _are_numbers(one.counts)
        }
    else:
        return data, dag
    if not found:
        return data, dag
    for node, levels in found.items():
        coded = [level for level in levels if _plain_number(level) in map(plain_label, codes)]
        if coded:
            raise DataError(
                f"the category {node!r} holds {shorten(coded)}, which stands for a missing value: "
                "leave these cells empty"
            )
    factored = dag.with_factors(found)
    return with_indicators(data, found), factored


def column_positions(dag: Dag) -> list[int]:
    """One node for each column of the data: of a category, which has several, the first.

    Examples
    --------
    >>> dag = Dag.parse("y ~ x + g").with_factors({"g": ("a", "b", "c")})
    >>> [dag.nodes[position] for position in column_positions(dag)]
    ['y', 'x', 'g[b]']
    """
    later = {indicator(name, level) for name, levels in dag.factors.items() for level in levels[2:]}
    return [position for position, node in enumerate(dag.nodes) if node not in later]


def _file_levels(data: Any, dag: Dag) -> dict[str, tuple[str, ...]]:
    """The levels of the nodes whose columns in files hold categories, found by one reading."""
    try:
        files = files_of(data)
        text = {name: own for file in files for name, own in _columns_of_text(file).items()}
    except (GaussnetError, OSError):  # told where the files are read
        return {}
    found = {}
    for node in dag.nodes:
        if node in text:
            counts = label_counts(open_labels(data, node, "categories", is_category=True))
            if text[node] or not _are_numbers(counts):
                found[node] = _levels(counts, node, _stated(files[0], node) if text[node] else ())
    return found


def _stated(file: str, column: str) -> tuple[str, ...]:
    """The levels of a column of an Arrow or Parquet file in the order that its type states."""
    from gaussnet.data import arrow

    return tuple(plain_label(level) for level in arrow.stated_levels(file, column))


def _columns_of_text(file: str) -> Mapping[str, bool]:
    """The columns of a file that may hold categories, and whether their types state levels."""
    if file == STANDARD_INPUT:  # cannot be read twice
        return {}
    Stamp.of(file)  # refuses what cannot be read
    if suffix(file) in TEXT_ENDINGS:
        from gaussnet.data import csv

        return dict.fromkeys(csv.columns_of_text(csv.open_csv(file)), False)
    if suffix(file) in ARROW_ENDINGS:
        from gaussnet.data import arrow

        return arrow.columns_of_text(file)
    return {}


def with_indicators(data: Any, factors: Levels) -> Any:
    """The frame with columns of 0 and 1 for the levels of these factors, where it has them."""
    if not factors or not is_frame(data):
        return data
    from gaussnet.data.frames import frame_labels, has_column, with_more_columns

    for name, levels in factors.items():
        own = [indicator(name, level) for level in levels]
        if has_column(data, name) and not any(has_column(data, one) for one in own):
            values = [plain_label(one) for one in frame_labels(data, name)]
            made = _indicators(values, name, levels)
            data = with_more_columns(data, dict(zip(own[1:], made, strict=True)))
    return data


def open_factors(
    data: Any, names: Sequence[str], factors: Levels, largest_whole: int
) -> Loaded | Source:
    """Files by these names, the indicators of factors among them, as `open_data` opens others.

    A file that has a column ``fuel[Petrol]`` already is taken at its word.
    """
    coded = _coded_factors(data, names, factors)
    made = {indicator(name, level) for name, levels in coded.items() for level in levels[1:]}
    plain = [name for name in names if name not in made]
    opened = open_data(data, plain, largest_whole)
    if not coded:
        return opened
    order = plain + [indicator(name, one) for name, levels in coded.items() for one in levels[1:]]
    places = np.array([order.index(name) for name in names])
    parts = tuple(
        Indicators(open_labels(data, name, "categories", is_category=True), name, levels)
        for name, levels in coded.items()
    )
    numbers = ArraySource(opened.rows, opened.ignored) if isinstance(opened, Loaded) else opened
    # The first part tells of columns that nobody asked for, and has none itself without numbers.
    first = (numbers,) if plain else (replace(parts[0], ignored=numbers.ignored),)
    source = Reordered(Beside((*first, *parts[not plain :]), tuple(coded)), places)
    if not isinstance(opened, Loaded):
        return source
    chunks = [np.column_stack(chunk) for chunk in source.chunks()]
    whole = np.concatenate(chunks) if chunks else np.empty((0, len(names)))
    return Loaded(np.asarray(whole, dtype=np.float64), source.ignored)


def _coded_factors(data: Any, names: Sequence[str], factors: Levels) -> Levels:
    """The factors whose column the files have, and not their indicators."""
    found = {}
    for name, levels in factors.items():
        own = [indicator(name, level) for level in levels[1:]]
        if set(own) <= set(names) and not _has_column(data, own):
            found[name] = levels
    return found


def _has_column(data: Any, wanted: Sequence[str]) -> bool:
    """Whether the files have one of these columns; without one they name what they lack."""
    first = files_of(data)[0]
    if first == STANDARD_INPUT or suffix(first) == ".npy":  # columns without names
        return True
    opened = open_data(first, [], 0)
    return not {name.strip() for name in opened.ignored}.isdisjoint(wanted)


@dataclass(frozen=True, eq=False)
class Indicators:
    """Labels as columns of 0 and 1, one for each level but the first."""

    source: Source
    """Of the labels."""
    name: str
    levels: tuple[str, ...]
    ignored: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.levels) - 1

    def count(self) -> int | None:
        """Number of rows, if it is known."""
        return self.source.count()

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The indicators of the labels, chunk by chunk."""
        for (labels,) in self.source.chunks(first, last):
            yield list(_indicators(labels.tolist(), self.name, self.levels))


@dataclass(frozen=True, eq=False)
class Reordered(Derived):
    """A source with its columns in another order."""

    places: IntArray
    """Where each column stands in the source."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.places)

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of the source."""
        for chunk in self.source.chunks(first, last):
            yield [chunk[place] for place in self.places]


def _indicators(values: Sequence[Any], name: str, levels: tuple[str, ...]) -> FloatArray:
    """Whether each label is one of the levels but the first, (levels - 1, rows); NaN for None."""
    codes = {level: float(number) for number, level in enumerate(levels)} | {None: np.nan}
    for value in set(values) - set(codes):  # 1.0 in a file is the level 1
        level = _plain_number(value)
        if level in codes:
            codes[value] = codes[level]
    unknown = sorted(set(values) - set(codes))
    if unknown:
        raise DataError(
            f"the column {name!r} holds {shorten(unknown)}, which the network does not know: its "
            f"levels are {shorten(levels)}{did_you_mean(str(unknown[0]), levels)}"
        )
    found = np.array([codes[value] for value in values])
    columns: FloatArray = np.equal.outer(np.arange(1.0, len(levels)), found).astype(np.float64)
    columns[:, np.isnan(found)] = np.nan
    return columns


def _plain_number(label: str) -> Any:
    """A number as a level is written."""
    try:
        return plain_label(float(label))
    except ValueError:
        return label


def _are_numbers(counts: Counter[Any]) -> bool:
    """Whether half of these or more are numbers, with a point or a comma, or dates."""
    numbers = sum(rows for label, rows in counts.items() if _is_number(label))
    return 2 * numbers >= counts.total() - counts[None]


def _is_number(label: Any) -> bool:
    return is_number(label) or DATE.match(str(label)) is not None


def _reference(counts: Counter[Any], ordered: Sequence[str]) -> str | None:
    """The first of some levels that is not rare; None of no levels.

    Examples
    --------
    >>> _reference(Counter({"Deisel": 1, "Diesel": 60, "Gas": 40}), ["Deisel", "Diesel", "Gas"])
    'Diesel'
    """
    most = max((counts[level] for level in ordered), default=0)
    fewest = max(RARE * most, 2 if most >= SOME_ROWS else 1)
    return next((level for level in ordered if counts[level] >= fewest), None)


def _levels(counts: Counter[Any], name: str, stated: Sequence[str]) -> tuple[str, ...]:
    """The levels, the reference first: in the order that the column states, or of letters.

    By letters the reference is the first that is not rare: one that was misspelt once is no level
    to compare with. False stays before True.
    """
    used = {label for label in counts if label is not None}
    is_stated = bool(used) and used <= set(stated)
    ordered = [level for level in stated if level in used] if is_stated else sorted(used)
    if not is_stated and {str(level).casefold() for level in used} != BOOLEAN:
        first = _reference(counts, ordered)
        ordered.sort(key=lambda level: (level != first, level))
    if len(ordered) < 2:
        if counts.total() == 1:
            raise DataError(
                f"the data have 1 row, and the category {name!r} needs rows of 2 levels at least: "
                "give more rows"
            )
        held = "no value" if not ordered else f"{ordered[0]!r} in every row"
        raise DataError(f"the column {name!r} holds {held}: leave the node out of the graph")
    if len(ordered) > MOST_LEVELS:
        raise DataError(
            f"the column {name!r} holds {len(ordered)} different texts, more than {MOST_LEVELS}: "
            "leave it out if it is a name, merge rare levels if it is a category, or convert it "
            "to numbers"
        )
    return tuple(ordered)
