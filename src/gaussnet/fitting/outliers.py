"""Outliers: the cells that a robust fit found wrong, as a list, and data without them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussnet.data.columns import is_frame
from gaussnet.errors import SettingError
from gaussnet.fitting.imputation import filled_with_levels, given_rows, like_given
from gaussnet.fitting.tables import Column, Format, ResultTable, Tabular, probability_words
from gaussnet.fitting.text import shown, text_table
from gaussnet.graph.dag import counted
from gaussnet.methods.robust.findings import STATUSES, Trimming
from gaussnet.named_rows import named, row_labels
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.data.frames import FrameKind
    from gaussnet.fitting.result import Fit
    from gaussnet.methods.robust.contamination import ContaminationTest

LONGEST_TABLE = 20
"""Lines of a printed table."""
LARGEST_PLAIN = 1e6
"""Larger deviations are printed with a power of ten."""


KINDS: dict[str, Format] = {
    "row": "count",
    "label": "text",
    "node": "text",
    "probability": "probability",
}


class Outlier(NamedTuple):
    """One cell that does not fit."""

    row: int
    node: str
    recorded: float
    expected: float
    """Prediction from the other cells of the row that are believed; of confirmed cells and of
    "sequential-trim" from the parents alone, themselves replaced by their prediction if
    suspicious."""
    z: float
    """Recorded minus expected value, in standard deviations given what it is expected from."""
    probability: float = math.nan
    """That the value is wrong; NaN where the method gives none."""
    label: Any = None
    """What the index of a pandas frame calls the row; None where it counts from 0, or is absent."""


@dataclass(frozen=True, eq=False, repr=False)
class Outliers(Tabular):
    """Cells of one status, worst first, (cells,) each; iterating gives `Outlier` values.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
    >>> rows[[3, 50], 0] = 900.0, -70.0
    >>> found = gn.fit(rows, dag, "robust").outliers()
    >>> [(cell.row, cell.node, cell.recorded) for cell in found]
    [(3, 'wet', 900.0), (50, 'wet', -70.0)]
    >>> found.shares["wet"]
    0.01
    """

    status: str
    rows: IntArray
    """Row numbers in the data, from 0."""
    nodes: tuple[str, ...]
    """Names of the nodes."""
    recorded: FloatArray
    """Values in the data; NaN where missing."""
    expected: FloatArray
    """Predictions from the other cells of their rows that are believed; of confirmed cells and of
    "sequential-trim" from the parents alone, themselves replaced by their prediction if
    suspicious."""
    z: FloatArray
    """Recorded minus expected values, in standard deviations; NaN where missing."""
    shares: Mapping[str, float]
    """Of each node's recorded values (or rows, of missing ones), the part in this list."""
    probabilities: FloatArray
    """That each value is wrong, (cells,); NaN where the method gives none."""
    total: int = 0
    """Cells of this status; of more than 10,000 in large data the worst are listed."""
    categories: Mapping[str, str] = field(default_factory=dict)
    """The category of each node that is an indicator of one: they are one column of the data."""
    labels: tuple[Any, ...] | None = None
    """What the index of a pandas frame calls the row of each cell; None where it counts from 0."""

    @property
    def has_probabilities(self) -> bool:
        """Whether the method says with what probability values are wrong."""
        return not np.isnan(self.probabilities).all()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Outlier]:
        arrays = (self.recorded, self.expected, self.z, self.probabilities)
        values = (array.tolist() for array in arrays)
        labels = repeat(None) if self.labels is None else self.labels
        return map(Outlier, self.rows.tolist(), self.nodes, *values, labels)

    @property
    def fields(self) -> tuple[str, ...]:
        """What there is to show of each cell, in the order of columns."""
        label = () if self.labels is None else ("label",)
        chance = ("probability",) if self.has_probabilities else ()
        return "row", *label, "node", "recorded", "expected", "z", *chance

    def to_dicts(self) -> list[dict[str, Any]]:
        """The cells as plain values, for JSON; a probability that there is none of is None."""
        fields = tuple(dict.fromkeys((*self.fields, "probability")))
        return [{name: _plain(getattr(cell, name)) for name in fields} for cell in self]

    def to_frame(self, kind: "FrameKind" = "pandas") -> Any:
        """The cells as a "pandas" or "polars" data frame, worst first.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain")
        >>> rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
        >>> rows[3, 0] = 900.0
        >>> frame = gn.fit(rows, dag, "robust").outliers().to_frame()
        >>> frame[["row", "node", "recorded", "probability"]].values.tolist()
        [[3, 'wet', 900.0, 1.0]]
        """
        from gaussnet.data.frames import new_frame  # slow to import

        fields = dict.fromkeys((*self.fields, "probability"))
        return new_frame({name: [getattr(cell, name) for cell in self] for name in fields}, kind)

    def __repr__(self) -> str:
        return f"Outliers({self._words})"

    def table(self) -> ResultTable:
        """The cells as a table, for `to_markdown` and `to_latex`."""
        cells = [cell._replace(label=str(cell.label)) for cell in self]
        columns = tuple(
            Column(name, name, [getattr(cell, name) for cell in cells], KINDS.get(name, "number"))
            for name in self.fields
        )
        return ResultTable(self._words, columns)

    @property
    def _words(self) -> str:
        """How many cells there are, in how many nodes; a category counts as one."""
        every = {self.categories.get(node, node) for node in self.shares}
        touched = {self.categories.get(node, node) for node, own in self.shares.items() if own}
        cells = counted(max(self.total, len(self)), f"{self.status} cell")
        listed = f", the worst {len(self):,} listed" if self.total > len(self) else ""
        return f"{cells} in {len(touched)} of {counted(len(every), 'node')}{listed}"

    def _repr_html_(self) -> str:
        """The first cells in a notebook."""
        return self.table().to_html(LONGEST_TABLE)

    def __str__(self) -> str:
        if not len(self):
            return repr(self)
        first = list(islice(self, LONGEST_TABLE))
        fields = self.fields
        lines = [[_words(name, getattr(cell, name)) for name in fields] for cell in first]
        left = [place for place, name in enumerate(fields) if KINDS.get(name) == "text"]
        table = text_table(fields, lines, left)
        more = len(self) - len(first)
        return "\n".join([repr(self), *table, *([f"... and {more} more"] if more else [])])


def find_outliers(fit: "Fit", status: str) -> Outliers:
    """The cells of a fit that have this status, worst first."""
    trimming = required_trimming(fit)
    if status not in tuple(STATUSES):
        known = ", ".join(map(repr, STATUSES))
        raise SettingError(f"got status={status!r}, expected {known}")
    names, parts = [], []
    shares = dict.fromkeys(fit.dag.nodes, 0.0)
    for node, indices in trimming.found(status):
        cells = trimming.cells[node]
        numbers = trimming.numbered(cells.rows[indices])
        name = fit.dag.nodes[node]
        names += [name] * len(indices)
        chances = cells.chances if len(cells.chances) else np.full(len(cells.rows), np.nan)
        values = (trimming.recorded[node], cells.expected, cells.deviations, chances)
        parts.append((numbers, *(array[indices] for array in values)))
    counts = {name: trimming.count(node, status) for node, name in enumerate(fit.dag.nodes)}
    for node, (name, count) in enumerate(counts.items()):
        whole = trimming.rows if status == "missing" else trimming.recorded_rows(node)
        shares[name] = count / max(whole, 1)
    empty = (np.empty(0, dtype=np.int64), *np.empty((4, 0)))
    rows, recorded, expected, z, chances = map(np.concatenate, zip(empty, *parts, strict=True))
    # Sorting is stable: cells that are equally far off stay in the order of nodes and rows.
    order = np.argsort(-np.abs(z), kind="stable")
    return Outliers(
        status,
        rows[order],
        tuple(names[index] for index in order.tolist()),
        recorded[order],
        expected[order],
        z[order],
        MappingProxyType(shares),
        chances[order],
        sum(counts.values()),
        MappingProxyType({node: name for node, (name, _) in fit.dag.indicators.items()}),
        _labels(fit, rows[order]),
    )


def _labels(fit: "Fit", rows: IntArray) -> tuple[Any, ...] | None:
    """What the index of the data calls these rows, if it has names for them."""
    labels = None if fit.data is None else row_labels(fit.data.given)
    return None if labels is None else tuple(labels[row] for row in rows.tolist())


def cleaned_data(fit: "Fit") -> Any:
    """The data of a fit with flagged and missing cells replaced by their expected values.

    A frame gives a frame, anything else an array. Missing levels of categories are the most
    probable ones.
    """
    trimming = required_trimming(fit)
    behind = fit.required_data("ask for cleaned data where the data are, or fit again")
    data, given = behind.given, behind.all_rows().in_memory("this")
    cleaned = np.array(given.array, dtype=np.float64, order="C")
    for node, indices in trimming.found("flagged", "missing"):
        cells = trimming.cells[node]
        cleaned[trimming.numbered(cells.rows[indices]), node] = cells.expected[indices]
    levels = [fit.dag.position(node) for node in fit.dag.indicators]
    lacking = np.isnan(given.array[:, levels])
    if trimming.row_numbers is not None:
        lacking[np.setdiff1d(np.arange(len(lacking)), trimming.row_numbers)] = False
    if lacking.any():
        filled = filled_with_levels(fit, given_rows(behind))
        cleaned[:, levels] = np.where(lacking, filled[:, levels], given.array[:, levels])
    return named(cleaned, fit.dag.nodes) if not is_frame(data) else like_given(behind, cleaned)


def required_trimming(fit: "Fit") -> Trimming:
    """What a robust fit found, or one sentence that other methods look for nothing."""
    if fit.trimming is None:
        raise SettingError(
            f"the method {fit.method.name!r} does not look for outliers: fit with "
            "method='robust' or 'auto' to have cells flagged"
        )
    return fit.trimming


def required_test(fit: "Fit") -> "ContaminationTest":
    """The test for contamination, or one sentence that other methods do none."""
    if fit.trimming is None or fit.trimming.contamination is None:
        raise SettingError(
            f"the method {fit.method.name!r} does not test for contamination: fit with "
            "method='auto'"
        )
    return fit.trimming.contamination


def _words(name: str, value: Any) -> str:
    """One number, name or label of a cell, as it is printed."""
    if name == "probability":
        return probability_words(value)
    if name == "z":
        return f"{value:.1f}" if abs(value) < LARGEST_PLAIN else f"{value:.4g}"
    return shown(str(value)) if name in KINDS else f"{value:.4g}"


def _plain(value: Any) -> Any:
    """A value as JSON has it: NaN as None, and labels that are no text or number as text."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, str | int | float) else str(value)
