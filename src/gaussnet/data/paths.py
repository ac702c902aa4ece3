"""Which files data mean: a path, a folder, a pattern such as day-*.csv, or a list of these."""

import glob
import io
import os
import zlib
from collections.abc import Iterable
from typing import Any, BinaryIO, Self

from gaussnet.errors import DataError, FileError, SettingError
from gaussnet.files import Path, file_name, suffix

STANDARD_INPUT = "-"
TEXT_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""Of files whose first line names the columns."""
ARROW_ENDINGS = (".parquet", ".arrow", ".feather")
ROW_ENDINGS = (*TEXT_ENDINGS, *ARROW_ENDINGS, ".npy")


class CsvPath(str):
    """The path of a text file of rows which says how its cells are separated and written.

    It may be given wherever the path of a file can: also a folder or a pattern. `sep` stands
    between cells and `decimal` before the digits after the point; by default the ending of the
    name says the first (a tab for .tsv, else a comma), and the second is a point.

    Examples
    --------
    >>> import os, tempfile
    >>> import gaussnet as gn
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("rain;wet\\n0;1\\n0,5;2,25\\n1;3\\n")
    >>> fit = gn.fit(gn.CsvPath(path, sep=";", decimal=","), "wet ~ rain")
    >>> round(fit.network.coefficients["rain", "wet"], 3)
    2.0
    """

    __slots__ = ("decimal", "sep")
    sep: str | None
    decimal: str

    def __new__(cls, path: Path, sep: str | None = None, decimal: str = ".") -> Self:
        """Refuses signs that cannot be told from numbers."""
        found = super().__new__(cls, file_name(path))
        found.sep, found.decimal = _checked_separator(sep), decimal
        if decimal not in (".", ","):
            raise SettingError(f"got decimal={decimal!r}, expected '.' or ','")
        if delimiter(found) == decimal:
            raise SettingError(
                f"got decimal={decimal!r} for cells that {decimal!r} separates: give sep=';' or "
                "what else stands between the cells"
            )
        return found

    def __getnewargs__(self) -> tuple[str, str | None, str]:  # type: ignore[override]
        """So that it passes to other processes."""
        return str(self), self.sep, self.decimal

    def at(self, file: str) -> "CsvPath":
        """Another file whose cells are written in the same way."""
        return CsvPath(file, self.sep, self.decimal)


def _checked_separator(sep: str | None) -> str | None:
    if sep in ("\\t", "tab"):
        return "\t"
    if sep is None or (
        len(sep) == 1 and sep.isascii() and sep not in '"\r\n' and not sep.isalnum()
    ):
        return sep
    raise SettingError(f"got sep={sep!r}, expected one sign such as ';', or '\\t' for a tab")


def delimiter(file: str) -> str:
    """What stands between the cells of a text file.

    Examples
    --------
    >>> delimiter("rows.csv"), delimiter("rows.tsv.gz"), delimiter(CsvPath("rows.csv", sep=";"))
    (',', '\\t', ';')
    """
    said = file.sep if isinstance(file, CsvPath) else None
    usual = "\t" if suffix(file).startswith(".tsv") else ","
    return usual if said is None else said


def decimal_sign(file: str) -> str:
    """What stands before the digits after the point in a text file."""
    return file.decimal if isinstance(file, CsvPath) else "."


def is_paths(data: Any) -> bool:
    """Whether the data are a list of files."""
    return (
        isinstance(data, list | tuple)
        and len(data) > 0
        and all(isinstance(one, str | os.PathLike) for one in data)
    )


def is_path(data: Any) -> bool:
    """Whether the data are a file, a folder, a pattern or a list of these."""
    return isinstance(data, str | os.PathLike) or is_paths(data)


def files_of(data: Any) -> list[str]:
    """The files that a path, a folder, a pattern or a list of these means, in order.

    A name that has ``*``, ``?`` or ``[`` in it and is no file itself is a pattern, and ``**``
    means any folders; its files come in the order of their names. No file of several may be meant
    twice or be absent, so that none is read before that is known.
    """
    if is_paths(data):
        files = _once([file for one in data for file in _files(file_name(one))])
        for file in files:
            _check_is_there(file)
        return files
    if not isinstance(data, str | os.PathLike):
        raise DataError(
            f"got data of type {type(data).__name__}, expected a Dask DataFrame or array, the path "
            "of a file or folder, or a list of paths"
        )
    return _files(file_name(data))


def _files(name: str) -> list[str]:
    """The files that one name means; they are read as a `CsvPath` says."""
    if name == STANDARD_INPUT:
        return [name]
    if os.path.isdir(name):
        found: list[str] = files_in(name)
    elif glob.has_magic(name) and not os.path.lexists(name):
        found = _matching(str(name))
    else:
        return [name]
    return [name.at(file) for file in found] if isinstance(name, CsvPath) else found


def _matching(pattern: str) -> list[str]:
    """The files of a pattern, and those in its folders."""
    names = sorted(glob.glob(pattern, recursive=True))
    found = list(dict.fromkeys(file for name in names for file in _files(name)))
    if not found:
        raise FileError(f"no file matches {pattern!r}: look at the folder and the pattern")
    return found


def _once(files: list[str]) -> list[str]:
    """The files, each of which is another."""
    seen: set[str] = set()
    for file in files:
        real = os.path.realpath(file)
        if real in seen:
            raise FileError(f"the file {file!r} is given twice: give each file once")
        seen.add(real)
    return files


def _check_is_there(file: str) -> None:
    """Refuse a file that does not exist; what else may be wrong is told where it is read."""
    if file == STANDARD_INPUT:
        return
    try:
        os.stat(file)
    except FileNotFoundError:
        raise FileError(f"cannot read {file!r}: no such file") from None
    except (OSError, ValueError):
        return


def files_in(folder: Path) -> list[str]:
    """The files of rows in a folder and the folders in it, in the order of their names.

    Names that begin with a dot or an underscore are passed over.
    """
    found = []
    for inner, folders, files in os.walk(file_name(folder)):
        folders[:] = sorted(one for one in folders if one[0] not in "._")
        found += [
            os.path.join(inner, one)
            for one in sorted(files)
            if one[0] not in "._" and suffix(one) in ROW_ENDINGS
        ]
    if not found:
        raise FileError(
            f"the folder {file_name(folder)!r} has no file of rows: expected names that end in "
            f"{', '.join(ROW_ENDINGS)}"
        )
    return found


def bytes_of(files: Iterable[str]) -> int:
    """How many bytes files have, as far as they can be read; compressed ones as they unpack."""
    return sum(_size(file) for file in files if os.path.isfile(file))


def _size(file: str) -> int:
    size = os.path.getsize(file)
    if not file.lower().endswith(".gz") or size < 4:
        return size
    with open(file, "rb") as stream:
        stream.seek(-4, os.SEEK_END)
        # The length before it was packed, modulo 4 GiB: the last bytes of a gzip file.
        return max(int.from_bytes(stream.read(4), "little"), 2 * size)


def open_text(file: str) -> BinaryIO:
    """A text file to be read from its start, unpacked if its name ends in .gz."""
    if not file.lower().endswith(".gz"):
        return open(file, "rb")
    return io.BufferedReader(_Unpacked(file), 1 << 18)


class _Unpacked(io.RawIOBase):
    """What a gzip file holds; a broken one is told of in one sentence."""

    def __init__(self, file: str) -> None:
        import gzip

        self._file, self._stream = file, gzip.open(file, "rb")  # noqa: SIM115 (`close` closes it)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._stream.read(len(buffer))
        except (OSError, EOFError, zlib.error):
            raise FileError(
                f"{self._file!r} is not a whole gzip file: pack it again, or give it unpacked"
            ) from None
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._stream.close()
        super().close()
