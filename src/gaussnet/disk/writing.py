"""Files out: written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EISDIR, ENOENT, ENOTDIR
from typing import BinaryIO

from gaussnet.disk.reading import Path, file_name, reason
from gaussnet.errors import FileError, GaussnetError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream beside the target that takes its place at the end, or vanishes on any error.

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
    beside = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.exists(target):
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


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
