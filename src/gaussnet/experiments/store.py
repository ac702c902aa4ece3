"""The folder of a run: one small file a finished task, so that a killed run can go on."""

import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gaussnet.errors import FileError
from gaussnet.experiments.run import Run
from gaussnet.experiments.tasks import Record, Task

RUN_FILE = "run.json"


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
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as problem:
            with suppress(OSError):
                temporary.unlink()
            raise FileError(f"cannot write {str(path)!r}: {problem.strerror or problem}") from None
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
        for place in (self.folder, self.folder / "tasks"):
            for path in place.glob(".*.*"):
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
