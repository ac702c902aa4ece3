"""Checks of settings that several public functions share."""

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
