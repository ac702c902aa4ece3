"""Files in: bytes, UTF-8 text, and one sentence when that is not what is there."""

import os
from typing import TypeAlias

from gaussnet.errors import FileError

Path: TypeAlias = str | os.PathLike[str]

_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def file_name(path: Path) -> str:
    """The path as a string.

    Examples
    --------
    >>> file_name("rows.csv")
    'rows.csv'
    """
    name = os.fspath(path)
    if not isinstance(name, str):
        raise FileError(f"got the path {name!r}, expected a string: decode it first")
    return name


def suffix(path: Path) -> str:
    """The ending of a file name in small letters, with its dot; "" if there is none.

    Examples
    --------
    >>> suffix("data/Rows.CSV"), suffix("rows")
    ('.csv', '')
    """
    return os.path.splitext(file_name(path))[1].lower()


def read_bytes(path: Path) -> bytes:
    """All bytes of a file."""
    file = file_name(path)
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {file!r}: {reason(problem)}") from None


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
