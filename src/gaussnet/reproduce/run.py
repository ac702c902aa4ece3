"""Runs of experiments on several processes, and where their results are kept."""

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from gaussnet import __version__, kernels
from gaussnet.errors import EstimationError, FileError, SettingError
from gaussnet.files import write_bytes
from gaussnet.reproduce.catalogue import (
    EXPERIMENTS,
    SETTINGS,
    experiment_named,
    settings_named,
)
from gaussnet.reproduce.tasks import Record, Task
from gaussnet.seeds import check_seed

RUN_FILE = "run.json"
PAPER_NODES = 100
FEWEST_NODES = 20
FEWEST_ROWS = 50
MOST_REPETITIONS = 10_000
THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

Listener = Callable[[float, float], None]
"""Is told the cost that is done and the cost of all tasks."""


@dataclass(frozen=True, slots=True)
class Run:
    """Experiments, settings, repetitions and seed; experiments in the order of the paper.

    `nodes` and `rows` replace the paper's for a quick look; the real networks keep their nodes.

    Examples
    --------
    >>> run = Run.of(["tree", "er5"], ["plotted"], repetitions=2)
    >>> run.experiments, [task.name for task in run.tasks()]
    (('er5', 'tree'), ['plotted.er5.0000', 'plotted.er5.0001', 'plotted.tree.0000', ...])
    """

    experiments: tuple[str, ...]
    settings: tuple[str, ...]
    repetitions: int = 20
    seed: int = 0
    nodes: int = PAPER_NODES
    rows: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not 1 <= self.repetitions <= MOST_REPETITIONS:
            raise SettingError(
                f"got repetitions={self.repetitions}, expected 1 to {MOST_REPETITIONS:,}"
            )
        if self.nodes < FEWEST_NODES:
            raise SettingError(f"got nodes={self.nodes}, expected at least {FEWEST_NODES}")
        if self.rows is not None and (not self.rows or min(self.rows) < FEWEST_ROWS):
            raise SettingError(f"got rows={self.rows}, expected at least {FEWEST_ROWS} each")

    @classmethod
    def of(
        cls,
        experiments: Iterable[str] = (),
        settings: Iterable[str] = (),
        *,
        repetitions: int = 20,
        seed: int = 0,
        nodes: int = PAPER_NODES,
        rows: Iterable[int] = (),
    ) -> "Run":
        """A run of the named experiments and settings, or of all where none is named."""
        asked = {experiment_named(name).name for name in experiments}
        kinds = {settings_named(name).name for name in settings}
        return cls(
            tuple(one.name for one in EXPERIMENTS if not asked or one.name in asked),
            tuple(one.name for one in SETTINGS if not kinds or one.name in kinds),
            repetitions,
            seed,
            nodes,
            tuple(sorted(set(rows))) or None,
        )

    def tasks(self, *, timed: bool = False) -> list[Task]:
        """All tasks whose results can be had again, in the order of the results.

        With `timed`, those that measure time instead.
        """
        return [
            Task(settings, name, repetition, self.seed, self.nodes, self.rows)
            for settings in self.settings
            for name in self.experiments
            if experiment_named(name).is_timed == timed
            for repetition in range(self.repetitions)
        ]

    def description(self) -> dict[str, object]:
        """All that the results depend on, in plain values."""
        fields = asdict(self)
        lists = {key: list(value) for key, value in fields.items() if isinstance(value, tuple)}
        return {"gaussnet": __version__, "kernels": kernels.backend, **fields, **lists}


@dataclass(frozen=True, slots=True)
class Store:
    """The folder that holds the results of one run.

    Its `run.json` says which run that is; `tasks/` has a file for each finished task. Every
    file is written to a temporary name and then renamed, so it is whole or not there.
    """

    folder: Path

    @classmethod
    def open(cls, folder: Path, run: Run) -> "Store":
        """The folder of this run, new or to be gone on with; that of another run is refused."""
        store = cls(folder)
        wanted = run.description()
        try:
            (folder / "tasks").mkdir(parents=True, exist_ok=True)
            if not (folder / RUN_FILE).exists():
                store.write(RUN_FILE, (json.dumps(wanted, indent=1) + "\n").encode())
            found = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        except OSError as problem:
            raise FileError(
                f"cannot use the folder {str(folder)!r}: {problem.strerror or problem}"
            ) from None
        except ValueError:
            found = {}
        _refuse_other(folder, found, wanted)
        return store

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the folder, whole or not at all."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
        return path

    def keep(self, task: Task, records: tuple[Record, ...]) -> None:
        """Note that a task is done."""
        self.write(f"tasks/{task.name}.json", json.dumps(records).encode())

    def read(self, task: Task) -> tuple[Record, ...] | None:
        """What a task found, or None if it is not done; a damaged file counts as not done."""
        try:
            text = (self.folder / "tasks" / f"{task.name}.json").read_text(encoding="utf-8")
            return tuple(Record(*entry) for entry in json.loads(text))
        except (OSError, ValueError, TypeError):
            return None

    def tidy(self) -> None:
        """Remove temporary files that a killed run left behind."""
        for folder in (self.folder, self.folder / "tasks"):
            for path in folder.glob(".*.*"):
                if path.is_file():
                    path.unlink(missing_ok=True)


def _refuse_other(folder: Path, found: object, wanted: dict[str, object]) -> None:
    if found == wanted:
        return
    if not isinstance(found, dict) or set(found) != set(wanted):
        raise FileError(
            f"the file {str(folder / RUN_FILE)!r} is not that of a run: give another --out"
        )
    key = next(key for key in wanted if found[key] != wanted[key])
    raise FileError(
        f"the folder {str(folder)!r} holds a run with {key} = {_shown(found[key])}, asked for is "
        f"{_shown(wanted[key])}: repeat the first command to go on with it, or give another --out"
    )


def _shown(value: object) -> str:
    return " ".join(str(part) for part in value) if isinstance(value, list) else str(value)


def work(run: Run, store: Store, workers: int, progress: Listener) -> None:
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
    for process in list((pool._processes or {}).values()):
        process.terminate()
    # Waits for the pool's own thread too: an interpreter that ends beside it may print a traceback.
    pool.shutdown(wait=True, cancel_futures=True)


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
