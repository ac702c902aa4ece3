"""CPU time of several candidates, by interleaved repeats."""

import time
from collections.abc import Callable


def best_times(
    candidates: dict[str, Callable[[], object]], seconds: float = 2.0, repeats: int = 7
) -> dict[str, float]:
    """The least CPU time of each candidate over rounds in which each runs once.

    A round repeats short candidates until they last long enough to be timed. Rounds end
    when `repeats` are done, or after three once `seconds` of CPU time per candidate are spent.
    """
    loops = {name: _loops(run) for name, run in candidates.items()}
    best = dict.fromkeys(candidates, float("inf"))
    spent = 0.0
    for done in range(repeats):
        if done >= 3 and spent > seconds * len(candidates):
            break
        for name, run in candidates.items():
            took = _cpu_time(run, loops[name])
            spent += took
            best[name] = min(best[name], took / loops[name])
    return best


def _loops(run: Callable[[], object]) -> int:
    """How often it runs in a round; a long first call may have prepared what is kept."""
    took = _cpu_time(run, 1)
    if took < 1.0:
        took = min(took, _cpu_time(run, 1))
    return max(1, min(1_000, int(0.02 / max(took, 1e-6))))


def _cpu_time(run: Callable[[], object], loops: int) -> float:
    start = time.process_time()
    for _ in range(loops):
        run()
    return time.process_time() - start
