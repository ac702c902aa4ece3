"""Files of rows out, page by page: the format goes by the ending of the file's name."""

from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO, cast

import numpy as np

from gaussnet.data.paths import delimiter
from gaussnet.errors import DataError, FileError
from gaussnet.files import Path, file_name, join_line, suffix, whole_file
from gaussnet.types import FloatArray

Pages = Iterable[FloatArray]


def write_rows(path: Path, names: Sequence[str], pages: Pages) -> None:
    """Write pages of rows, (rows, names) each, as one file, whole or not at all.

    The endings are ``.csv``, ``.tsv``, both also with ``.gz``, ``.parquet``, ``.arrow``,
    ``.feather`` and ``.npy``, which keeps no names. Every number keeps all digits.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> write_rows(path, ["rain", "wet"], [np.array([[0.1, 2.0]])])
    >>> print(path.read_text(), end="")
    rain,wet
    0.1,2.0
    """
    file = file_name(path)
    ending = suffix(file)
    if ending not in _WRITERS:
        raise FileError(
            f"cannot write rows as {file!r}: expected a name that ends in {', '.join(_WRITERS)}"
        )
    with whole_file(file) as stream:
        _WRITERS[ending](stream, names, pages, file)


def write_csv(stream: BinaryIO, names: Sequence[str], pages: Pages, delimiter: str = ",") -> None:
    """Write pages of rows as CSV to an open stream.

    Names that a spreadsheet would take for a formula are refused: such a file is opened by others.
    """
    formula = next((name for name in names if name.lstrip()[:1] in ("=", "@", "+")), None)
    if formula is not None:
        raise DataError(
            f"the column {formula!r:.60} begins with {formula.lstrip()[0]!r}, which spreadsheets "
            "take for a formula: rename it, or write Parquet"
        )
    stream.write(join_line(names, delimiter).encode("utf-8"))
    for page in pages:
        lines = (delimiter.join(map(repr, row)) for row in page.tolist())
        stream.write(("\n".join(lines) + "\n" * bool(len(page))).encode("ascii"))


def _write_csv(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    write_csv(stream, names, pages)


def _write_tsv(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    write_csv(stream, names, pages, "\t")


def _write_packed(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    """Text, compressed; the same rows give the same bytes."""
    import gzip

    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        write_csv(cast(BinaryIO, packed), names, pages, delimiter(file))


def _write_parquet(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    from gaussnet.data.arrow import write_parquet

    write_parquet(stream, names, pages, file)


def _write_arrow(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    from gaussnet.data.arrow import write_arrow

    write_arrow(stream, names, pages, file)


def _write_npy(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    np.save(stream, np.concatenate([np.empty((0, len(names))), *pages]), allow_pickle=False)


_WRITERS: dict[str, Callable[[BinaryIO, Sequence[str], Pages, str], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".csv.gz": _write_packed,
    ".tsv.gz": _write_packed,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
    ".npy": _write_npy,
}
