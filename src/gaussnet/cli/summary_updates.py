"""`gaussnet update`: rows added to a summary file, and the network that it then gives."""

import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

import gaussnet as gn
from gaussnet.cli.fit import Errors, Learnt, missing_codes, print_fit, require_determined
from gaussnet.cli.options import DEFAULT_METHOD, read_graph
from gaussnet.cli.printing import console, in_shell_words, progress
from gaussnet.cli.reading_plans import tell_plan
from gaussnet.data.missing import Missing
from gaussnet.data.paths import STANDARD_INPUT, files_of
from gaussnet.data.sources import Stamp
from gaussnet.errors import EstimationError, FileError, SettingError
from gaussnet.files import check_folder, read_bytes, suffix, whole_file
from gaussnet.graph.dag import counted
from gaussnet.model.files import check_ending

ADDED = "added"
"""Name of the array in a summary file that lists the files whose rows were added."""
BLOCK_BYTES = 1 << 20
DEFAULT_MISSING = "raise"


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """Which rows to add to which summary, and how a new one begins."""

    summary: Path
    data: str | list[str]
    graph: str | None = None
    method: str | None = None
    intercept: bool | None = None
    missing: str | None = None
    again: bool = False
    """Whether files that were added before may be added once more."""
    out: Path | None = None
    missing_values: str | None = None

    def __post_init__(self) -> None:
        if suffix(self.summary) != ".npz":
            raise FileError(
                f"cannot keep a summary as {str(self.summary)!r}: expected a name that ends in .npz"
            )
        check_folder(self.summary)
        if self.out is not None:
            check_ending(self.out)
            check_folder(self.out)


@dataclass(frozen=True, eq=False)
class Updated:
    """A summary with more rows, and its network if these determine one."""

    summary: Path
    added: int
    rows: int
    dropped: int
    """Rows of all that were added which lack a value and do not count."""
    is_new: bool
    learnt: Learnt | None
    reason: str = ""
    """Why there is no network."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        told: dict[str, Any] = {"summary": str(self.summary), "added": self.added}
        told["new"] = self.is_new
        if self.learnt is None:
            return told | {"rows": self.rows, "network": None, "reason": self.reason}
        return told | {
            ("sentences" if name == "summary" else name): value
            for name, value in self.learnt.to_dict().items()
        }


def update_summary(request: UpdateRequest, verbose: bool = False) -> Updated:
    """Add rows, write the summary, and then the network if a file is named for it."""
    stamp = _stamp(request.summary)
    history = _history(request.summary)
    files = _fingerprints(request, history)
    old = gn.load_summary(request.summary) if history is not None else None
    if old is not None:
        often = "once or more" if old.method.keeps_sample else "once"
        tell_plan(verbose, request.data, old.dag, f"the new rows are read {often}")
    with progress(3) as tell:
        tell("adding rows")
        new = _begun(request) if old is None else _added(request, old)
        tell("writing the summary")
        if _stamp(request.summary) != stamp:
            raise FileError(
                f"{str(request.summary)!r} has changed while rows were added to it: run one update "
                "at a time, and this one again"
            )
        before = 0 if old is None else old.rows + old.dropped
        # A file without rows may come again, every quiet day.
        added = files if new.rows + new.dropped > before else []
        _save(new, request.summary, [*(history or ()), *added])
        tell("solving")
        counts = (new.rows + new.dropped - before, new.rows, new.dropped, old is None)
        try:
            learnt = _network(new, request.out)
        except EstimationError as problem:
            if request.out is not None:
                raise EstimationError(
                    f"the rows were added to {str(request.summary)!r}, but there is no network to "
                    f"write yet: {problem}"
                ) from None
            return Updated(request.summary, *counts, None, in_shell_words(str(problem)))
    return Updated(request.summary, *counts, learnt)


def _stamp(path: Path) -> Stamp | None:
    """Size and time of the summary; None if there is none."""
    return Stamp.of(str(path)) if os.path.exists(path) else None


def _begun(request: UpdateRequest) -> gn.Summary:
    if request.graph is None:
        raise SettingError(
            f"there is no summary {str(request.summary)!r} yet: give --dag, the graph that it is "
            "for, to begin one"
        )
    return gn.summarize(
        request.data,
        read_graph(request.graph),
        request.method or DEFAULT_METHOD,
        intercept=request.intercept is not False,
        missing=cast(Missing, request.missing or DEFAULT_MISSING),
        missing_values=missing_codes(request.missing_values),
    )


def _added(request: UpdateRequest, old: gn.Summary) -> gn.Summary:
    """The rows after those of a summary, if nothing that was said contradicts it."""
    if request.graph is not None:
        _check_same("--dag", _arrows(read_graph(request.graph)), _arrows(old.dag))
    if request.method is not None:
        _check_same("--method", request.method, old.method.name)
    if request.missing is not None:
        _check_same("--missing", request.missing, old.missing)
    if request.missing_values is not None:
        codes = tuple(missing_codes(request.missing_values) or ())
        _check_same("--missing-values", _codes(codes), _codes(old.missing_values))
    if request.intercept is not None:
        _check_same("--intercept", request.intercept, old.intercept)
    return old.add(request.data)


def _codes(values: tuple[float, ...]) -> str:
    return ",".join(f"{value:.15g}" for value in sorted(values)) or "none"


def _arrows(dag: gn.Dag) -> tuple[set[str], set[Any]]:
    plain = dag.without_factors()
    return set(plain.nodes), set(plain.arrows) | {frozenset(pair) for pair in plain.covariances}


def _check_same(option: str, given: Any, kept: Any) -> None:
    if given != kept:
        what = f"{option} {given}, other" if isinstance(given, str) else f"another {option}"
        had = f" ({kept})" if isinstance(kept, str) else ""
        raise SettingError(
            f"got {what} than the summary was begun with{had}: leave it out, or begin another "
            "summary"
        )


def _network(summary: gn.Summary, out: Path | None) -> Learnt:
    fit = gn.solve(summary)
    require_determined(fit)
    errors = Errors.of(fit)
    if out is not None:
        fit.save_network(out)
    return Learnt(fit, errors, out, (), None, fit._verdict)


def _fingerprints(request: UpdateRequest, history: Sequence[str] | None) -> list[str]:
    """The hashes of the files, none of which was added before."""
    found: list[str] = []
    for file in files_of(request.data):
        if file == STANDARD_INPUT:
            continue
        own = _hash(file)
        if own in (*(history or ()), *found) and not request.again:
            raise SettingError(
                f"the rows of {file!r} are in the summary already: give --again to add them once "
                "more"
            )
        found.append(own)
    return found


def _hash(file: str) -> str:
    found = hashlib.sha256()
    for block in _blocks(file):
        found.update(block)
    return found.hexdigest()


def _blocks(file: str) -> Iterator[bytes]:
    if not os.path.isfile(file):
        read_bytes(file)  # says what is wrong
    with open(file, "rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            yield block


def _history(path: Path) -> list[str] | None:
    """The hashes of all files that were added to a summary; None if there is no summary."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(io.BytesIO(read_bytes(path)), allow_pickle=False) as arrays:
            if ADDED not in arrays:
                return []
            return [str(one) for one in json.loads(arrays[ADDED].tobytes().decode())]
    except FileError:
        raise
    except Exception:  # `load_summary` says what is wrong
        return []


def _save(summary: gn.Summary, path: Path, history: Sequence[str]) -> None:
    """Write a summary with the hashes of its files, whole or not at all."""
    arrays = summary.to_arrays()
    arrays[ADDED] = np.frombuffer(json.dumps(list(history)).encode(), dtype=np.uint8)
    with whole_file(path) as stream:
        np.savez(stream, **arrays)


def print_update(found: Updated) -> None:
    """Print how many rows were added, and the network."""
    page = console()
    verb = "begun with" if found.is_new else "with"
    added = counted(found.added, "row" if found.is_new else "more row")
    total = f"{counted(found.rows, 'row')} in all"
    if found.dropped:
        of = counted(found.rows + found.dropped, "row")
        total = f"{found.rows:,} of {of} in all are complete and count"
    page.print(f"{found.summary}: {verb} {added}; {total}", soft_wrap=True)
    if not found.added:
        page.print("note: the data hold no rows, so that nothing was added")
    if found.learnt is None:
        page.print(f"no network yet: {found.reason}")
    else:
        print_fit(found.learnt)
