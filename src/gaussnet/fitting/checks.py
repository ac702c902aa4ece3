"""Checks of settings that several public functions share."""

from typing import Any

from gaussnet.errors import SettingError
from gaussnet.kernels.threads import available_threads


def thread_count(threads: int | None) -> int:
    """So many threads, or by default as many as there are processors."""
    if threads is None:
        return available_threads()
    if not isinstance(threads, int) or threads < 1:
        raise SettingError(
            f"got threads={threads!r}, expected at least 1 or None for all processors"
        )
    return threads


def check_level(level: Any, example: float = 0.95) -> None:
    """Refuse a level that is no chance."""
    if not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise SettingError(
            f"got level={level!r}, expected a number between 0 and 1 such as {example}"
        )
