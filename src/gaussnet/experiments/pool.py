"""Runs tasks in worker processes and keeps what they find, one by one."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from gaussnet.errors import EstimationError
from gaussnet.experiments.run import Run
from gaussnet.experiments.store import Store
from gaussnet.experiments.tasks import Record, Task

THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
Progress = Callable[[float, float], None]
"""Is told the cost that is done and the cost of all tasks."""


def work(run: Run, store: Store, workers: int, progress: Progress) -> None:
    """Do all tasks of the run that are not done yet.

    Workers are fresh processes with one linear-algebra thread each, even if there is one
    only, so the results are the same bits for any number of them. Long tasks go first. Tasks
    that measure time come last, one worker at a time.
    """
    plain, timed = run.tasks(), run.tasks(timed=True)
    todo = [[task for task in some if store.read(task) is None] for some in (plain, timed)]
    total = sum(task.cost for task in (*plain, *timed))
    done = total - sum(task.cost for some in todo for task in some)
    progress(done, total)
    for tasks, count in zip(todo, (workers, 1), strict=True):
        longest_first = sorted(tasks, key=lambda task: -task.cost)
        for task, records in _results(longest_first, min(count, len(tasks))):
            store.keep(task, records)
            done += task.cost
            progress(done, total)


def _results(tasks: list[Task], workers: int) -> Iterator[tuple[Task, tuple[Record, ...]]]:
    """Each task and what it found, as they finish."""
    if not tasks:
        return
    context = multiprocessing.get_context("spawn")
    with _single_threaded():
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
        try:
            waiting: dict[Future[tuple[Record, ...]], Task] = {
                pool.submit(Task.run, task): task for task in tasks
            }
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield waiting.pop(future), future.result()
        except BrokenProcessPool:
            raise EstimationError(
                "a worker process was killed, perhaps for lack of memory: run the same command "
                "again to go on, with fewer --workers"
            ) from None
        finally:
            _stop(pool)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers at once; whatever they were at is done anew by the next run."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Processes started in here use one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
