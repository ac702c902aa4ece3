"""Tables of results: every number, and the curves that they make; as CSV and as Parquet."""

import csv
import io
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gaussnet.errors import FileError
from gaussnet.reproduce.catalogue import experiment_named, settings_named
from gaussnet.reproduce.tasks import Record


class Point(NamedTuple):
    """A point of a curve: one method at one number of rows, over all repetitions."""

    settings: str
    experiment: str
    method: str
    measure: str
    rows: int
    repetitions: int
    """How many gave a value."""
    value: float
    """The mean; or the median where the figure shows it."""
    shown: str
    """"mean" or "median"."""
    standard_error: float
    """Of the mean; 0 for one repetition."""
    mean: float
    median: float
    limit: float


def summarise(records: Iterable[Record]) -> tuple[Point, ...]:
    """The points of all curves, in the order in which their first records come.

    Examples
    --------
    >>> records = [Record("written", "er5", "cauchy", "kl", 1000, r, 1.0 + r, 0.2) for r in (0, 1)]
    >>> summarise(records)[0].value
    1.5
    """
    groups: dict[tuple[str, str, str, str, int], list[Record]] = {}
    for record in records:
        groups.setdefault(record[:5], []).append(record)
    return tuple(_point(group) for group in groups.values())


def _point(group: list[Record]) -> Point:
    first = group[0]
    # a baseline that gave up has no value
    values = [r.value for r in group if not math.isnan(r.value)] or [math.nan]
    mean = statistics.fmean(values)
    median = statistics.median(values)
    shown = "median" if _shows_median(first) else "mean"
    return Point(
        *first[:5],
        repetitions=sum(not math.isnan(record.value) for record in group),
        value=median if shown == "median" else mean,
        shown=shown,
        standard_error=_standard_error(values),
        mean=mean,
        median=median,
        limit=statistics.fmean(record.limit for record in group),
    )


def _standard_error(values: list[float]) -> float:
    if not all(map(math.isfinite, values)):
        return math.inf
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return spread / math.sqrt(len(values))


def _shows_median(record: Record) -> bool:
    experiment = experiment_named(record.experiment)
    if experiment.is_timed:
        return True
    is_listed = record.method in settings_named(record.settings).median_methods
    return is_listed and experiment.condition == "ill-conditioned"


def csv_bytes(rows: Sequence[Any], fields: Sequence[str]) -> bytes:
    """The rows as CSV; floats keep every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet_bytes(rows: Sequence[Any], fields: Sequence[str]) -> bytes:
    """The rows as Parquet."""
    arrow, parquet = parquet_package()
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    table = arrow.table(dict(zip(fields, map(list, columns), strict=True)))
    sink = arrow.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def parquet_package() -> tuple[Any, Any]:
    """The modules that write Parquet, or an error that says how to get them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise FileError("Parquet files need pyarrow: pip install 'gaussnet[reproduce]'") from None
    return pyarrow, pyarrow.parquet
