"""Rows with where each stands, its file and number in it, and what it is called by a key."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np

from gaussnet.data.codes import Codes, recoded
from gaussnet.data.column_order import in_column_order
from gaussnet.data.columns import Loaded
from gaussnet.data.labels import Beside, open_labels
from gaussnet.data.paths import STANDARD_INPUT, TEXT_ENDINGS, files_of, is_path
from gaussnet.data.sources import ArraySource, open_data
from gaussnet.data.write import check_table_file, check_texts
from gaussnet.errors import SettingError
from gaussnet.files import Path, file_name, suffix
from gaussnet.graph.dag import Dag
from gaussnet.types import FloatArray

KINDS: dict[str, type] = {"file": str, "row": int, "key": str, "column": str}
"""What stands in the columns of tables that have no numbers with a point."""


class LabelledPage(NamedTuple):
    """Successive rows of one file, or of data in memory."""

    file: str | None
    """None if the rows do not come from a file."""
    first: int
    """Number of the first row in the file, from 0."""
    rows: FloatArray
    """(rows, nodes)."""
    keys: list[Any] | None
    """What each row is called, if a column says so."""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Data by the nodes of a network, to be read file by file with the place of every row."""

    data: Any
    codes: Codes = ()
    """Numbers that stand for a missing value."""
    columns: list[str] | None = None
    """Names of the columns of data that have none, from left to right."""
    key: str | None = None
    """The column that says what rows are called."""

    @property
    def has_files(self) -> bool:
        """Whether the rows come from files."""
        return is_path(self.data)

    def heads(self, fields: Sequence[str]) -> dict[str, type]:
        """The columns of a table with these fields, of which the first are file, row and key.

        That of the keys is called as in the data; those of files and keys are left out if there
        are none.

        Examples
        --------
        >>> rows = LabelledRows("rows.csv", key="time")
        >>> rows.heads(("file", "row", "key", "z"))
        {'file': <class 'str'>, 'row': <class 'int'>, 'time': <class 'str'>, 'z': <class 'float'>}
        """
        called = "key" if self.key in fields else str(self.key)
        names = (called if name == "key" else name for name in fields)
        kinds = (KINDS.get(name, float) for name in fields)
        return dict(self.line(tuple(zip(names, kinds, strict=True))))

    def line(self, cells: Sequence[Any]) -> tuple[Any, ...]:
        """The cells of a line, without those of file and key if there are none."""
        file, row, key, *others = cells
        return (*((file,) * self.has_files), row, *((key,) * (self.key is not None)), *others)

    def check_table(self, path: Path | None, setting: str) -> None:
        """Refuse early a file for a table of these rows that cannot be written, or holds them."""
        check_table_file(path)
        if path is not None and self.has_files and _is_among(path, self.data):
            raise SettingError(
                f"got {setting}={str(path)!r}, which is one of the files that the rows are read "
                "from, or lies in their folder: name another file"
            )

    def check_key(self, path: Path | None = None) -> None:
        """Refuse a column of keys that is not there, in any of the files, or cannot be written.

        `path` is where they are to be written: if as text, all keys are looked at.
        """
        if self.key is None:
            return
        for part in self._parts:
            chunks = open_labels(part, self.key, "key").chunks()
            if path is None or suffix(file_name(path)) not in TEXT_ENDINGS:
                next(iter(chunks), None)
            else:
                for (keys,) in chunks:
                    check_texts(keys.tolist())

    def opened(self, dag: Dag) -> Any:
        """All rows as they can be read more than once, in the order of the nodes."""
        return self._opened(self.data, dag)

    def pages(
        self, dag: Dag, tell: Callable[[int, int | None], None] | None = None
    ) -> Iterator[LabelledPage]:
        """Some rows at a time, file by file; `tell` hears how many of a file are read."""
        for part in self._parts:
            source = recoded(self._opened(part, dag), self.codes)
            if isinstance(source, Loaded):
                source = ArraySource(source.rows, source.ignored)
            total, first = source.count(), 0
            if self.key is not None:
                source = Beside((source, open_labels(part, self.key, "key")))
            for chunk in source.chunks():
                numbers = [np.asarray(column, dtype=np.float64) for column in chunk[: len(dag)]]
                keys = None if self.key is None else list(chunk[len(dag)])
                rows = np.column_stack(numbers)
                yield LabelledPage(part if self.has_files else None, first, rows, keys)
                first += len(rows)
                if tell is not None:
                    tell(first, total)

    @property
    def _parts(self) -> list[Any]:
        """The files, or the data themselves."""
        return list(files_of(self.data)) if self.has_files else [self.data]

    def _opened(self, data: Any, dag: Dag) -> Any:
        given, ordered = in_column_order(data, dag, self.columns)
        if ordered.nodes != dag.nodes:
            raise SettingError(
                "the columns without names are in another order than the nodes of the model: "
                "give a file with named columns"
            )
        return open_data(given, dag.nodes, factors=dag.factors)


def _is_among(path: Path, data: Any) -> bool:
    """Whether a file is one of the data's, or would be read with them the next time."""
    target, given = FilePath(path).resolve(), data if isinstance(data, (list, tuple)) else [data]
    given = [one for one in given if one != STANDARD_INPUT]
    folders = {FilePath(one).resolve() for one in given if FilePath(one).is_dir()}
    files = {FilePath(one).resolve() for one in files_of(data) if one != STANDARD_INPUT}
    return target in files or bool(folders & set(target.parents))
