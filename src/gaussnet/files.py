"""Files read with one clear sentence if that fails, written whole or not at all; small tables."""

import io
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EISDIR, ENOENT, ENOTDIR
from typing import BinaryIO, NamedTuple, TypeAlias

from gaussnet.errors import FileError, GaussnetError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Path: TypeAlias = str | os.PathLike[str]

LARGEST_UNPACKED = 256 << 20
"""Bytes that a compressed file may unpack to: a short one may unpack to more than memory holds."""

_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_CELL = re.compile(
    r"""[ \t]*(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"[ \t]*|(?P<bare>(?!")[^,\r\n]*))"""
    r"(?P<end>,|\r\n|\r|\n|\Z)"
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_LEFT_OVER = re.compile(r"\.gaussnet-[0-9a-f]{16}\.tmp")
_NEEDS_QUOTES = re.compile(r'[",\t\r\n]|^\s|\s$')


def file_name(path: Path) -> str:
    """The path as a string.

    Examples
    --------
    >>> file_name("rows.csv")
    'rows.csv'
    """
    if not isinstance(path, str | bytes | os.PathLike):
        order = ": the path comes second" if hasattr(path, "dag") else ""
        raise FileError(f"got a {type(path).__name__} where the path of a file is expected{order}")
    name = os.fspath(path)
    if not isinstance(name, str):
        raise FileError(f"got the path {name!r}, expected a string: decode it first")
    return name


def suffix(path: Path) -> str:
    """The ending of a file name in small letters, with its dot; "" if there is none.

    That of a compressed file has two parts.

    Examples
    --------
    >>> suffix("data/Rows.CSV"), suffix("rows"), suffix("rows.csv.gz")
    ('.csv', '', '.csv.gz')
    """
    stem, ending = os.path.splitext(file_name(path).lower())
    return os.path.splitext(stem)[1] + ending if ending == ".gz" else ending


def read_bytes(path: Path) -> bytes:
    """All bytes of a file."""
    file = file_name(path)
    check_not_pipe(file)
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {file!r}: {reason(problem)}") from None


def check_not_pipe(file: str) -> None:
    """Refuse a named pipe: to open one waits until somebody writes to it, maybe for ever."""
    is_pipe = False
    with suppress(OSError, ValueError):
        is_pipe = stat.S_ISFIFO(os.lstat(file).st_mode)
    if is_pipe:
        raise FileError(f"{file!r} is a named pipe, which can wait for ever: write to a file first")


def unpacked(raw: bytes, open_packed: Callable[[BinaryIO], BinaryIO], file: str) -> bytes:
    """Compressed bytes as they were; refused if they are many times more, or very many.

    Numbers shrink to a tenth at best; what shrinks to a hundredth is no network.
    """
    most = min(LARGEST_UNPACKED, max(LARGEST_UNPACKED // 16, 100 * len(raw)))
    with open_packed(io.BytesIO(raw)) as stream:
        found = stream.read(most + 1)
    if len(found) > most:
        raise too_large(file, most)
    return found


def too_large(file: str, most: int) -> FileError:
    """The error for a file that unpacks to more bytes than a network or summary has use for."""
    return FileError(
        f"{file!r} unpacks to more than {most >> 20} MiB, which no network or summary of its size "
        "does: is it the right file?"
    )


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, line ends as they are, without a byte order mark."""
    return decode(read_bytes(path), file_name(path))


def decode(raw: bytes, file: str) -> str:
    """The text of UTF-8 bytes without a byte order mark; `file` is for the message.

    Examples
    --------
    >>> decode(b"\\xef\\xbb\\xbfrain", "rows.csv")
    'rain'
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise not_utf8(raw, file, problem.start) from None


def not_utf8(raw: bytes, file: str, position: int) -> FileError:
    """The error for bytes that are no UTF-8 from this position on."""
    guess = _MARKS.get(raw[:2])
    kind = f"but {guess}" if guess else f"(byte 0x{raw[position]:02x} at offset {position})"
    return FileError(f"{file!r} is not UTF-8 text {kind}: save it as UTF-8")


def reason(problem: Exception) -> str:
    """Why the system refused, in small letters.

    Examples
    --------
    >>> reason(FileNotFoundError(2, "No such file or directory"))
    'no such file or directory'
    """
    return (getattr(problem, "strerror", None) or str(problem)).lower()


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream beside the target that replaces it at the end, or vanishes on any error.

    A reader sees the old file or the new one. What is no regular file, such as a pipe or
    /dev/stdout, is written directly.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "note.txt")
    >>> with whole_file(path) as stream:
    ...     _ = stream.write(b"wet")
    >>> os.path.getsize(path)
    3
    """
    try:
        target = os.path.realpath(file_name(path))
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as stream:
                yield stream
        else:
            yield from _beside(target)
    except (GaussnetError, BrokenPipeError):
        raise
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot write {file_name(path)!r}: {reason(problem)}") from None


def _beside(target: str) -> Iterator[BinaryIO]:
    folder = os.path.dirname(target)
    _sweep(folder)
    beside = os.path.join(folder, f".gaussnet-{os.urandom(8).hex()}.tmp")
    try:
        with open(beside, "xb") as stream:
            _lock(stream)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if os.path.exists(target):
                from shutil import copymode  # slow to import

                copymode(target, beside)
            if fcntl is not None:  # elsewhere an open file cannot be renamed
                os.replace(beside, target)
        if fcntl is None:
            os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _lock(stream: BinaryIO) -> None:
    """Hold a file until it is closed, or its process is gone."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(folder: str) -> None:
    """Remove what writers that were killed have left here: nobody holds it any more."""
    with suppress(OSError):
        for entry in os.scandir(folder or "."):
            if _LEFT_OVER.fullmatch(entry.name) and entry.stat().st_mtime < time.time() - 1.0:
                _remove_unless_held(entry.path)


def _remove_unless_held(path: str) -> None:
    with suppress(OSError), open(path, "rb") as stream:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    with suppress(OSError):
        if fcntl is None:  # refused while a writer has it open
            os.unlink(path)


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there or may not be written, before work is done for it."""
    folder = os.path.dirname(os.path.realpath(file_name(path)))
    if os.path.isdir(file_name(path)):
        problem = OSError(EISDIR, os.strerror(EISDIR))
    elif os.path.isdir(folder):
        if os.access(folder, os.W_OK):
            return
        problem = OSError(EACCES, os.strerror(EACCES))
    else:
        code = ENOTDIR if _has_file_above(folder) else ENOENT
        problem = OSError(code, os.strerror(code))
    raise FileError(f"cannot write {file_name(path)!r}: {reason(problem)}")


def _has_file_above(folder: str) -> bool:
    while folder != os.path.dirname(folder):
        if os.path.exists(folder):
            return os.path.isfile(folder)
        folder = os.path.dirname(folder)
    return False


def write_bytes(path: Path, raw: bytes) -> None:
    """Write these bytes, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(raw)


def write_text(path: Path, text: str) -> None:
    """Write this text as UTF-8, whole or not at all."""
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise FileError(
            f"cannot write {file_name(path)!r}: a name holds the half character "
            f"{problem.object[problem.start]!r}, which UTF-8 has not, so rename it"
        ) from None
    write_bytes(path, raw)


class Line(NamedTuple):
    """The cells of one line and its number in the file, counted from 1."""

    number: int
    cells: tuple[str, ...]


def split_lines(text: str, file: str) -> Iterator[Line]:
    r"""The lines of a table of comma-separated cells; `file` is for the message.

    A cell may stand in double quotes; then each character between them stands for itself and the
    quote is written twice. Blanks around an unquoted cell do not count. Blank lines are skipped.

    Examples
    --------
    >>> list(split_lines('from, to\n"a ""b"" c", 7\n', "edges.csv"))
    [Line(number=1, cells=('from', 'to')), Line(number=2, cells=('a "b" c', '7'))]
    """
    start = 0
    number = 1
    while start < len(text):
        cells, stop = _one_line(text, start, f"line {number} of {file!r}")
        if cells != [""]:
            yield Line(number, tuple(cells))
        number += len(_LINE_END.findall(text, start, stop))
        start = stop


def join_line(cells: Iterable[str], delimiter: str = ",") -> str:
    r"""One line of a table, quotes only where they are needed.

    Examples
    --------
    >>> join_line(["rain", '5" pipe', "a, b", " wet"])
    'rain,"5"" pipe","a, b"," wet"\n'
    """
    return delimiter.join(map(_quoted, cells)) + "\n"


def _one_line(text: str, start: int, where: str) -> tuple[list[str], int]:
    """The cells of the line that starts here, and where the next one starts."""
    cells: list[str] = []
    while True:
        match = _CELL.match(text, start)
        if match is None:
            raise FileError(
                f"{where} has a quote that is not closed at the end of its cell: write a quote "
                'inside quotes twice, as in "a ""b"""'
            )
        bare = match["bare"]
        cells.append(match["quoted"].replace('""', '"') if bare is None else bare.strip())
        start = match.end()
        if match["end"] != ",":
            return cells, start


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell
