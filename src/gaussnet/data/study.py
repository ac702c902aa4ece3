"""What a user says of rows beside their values, read into the columns of a `Design`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np

from gaussnet.data.columns import Loaded, is_frame, plain_label
from gaussnet.data.design import Design, WeightKind
from gaussnet.data.labels import (
    Beside,
    Coded,
    LabelList,
    label_counts,
    open_labels,
)
from gaussnet.data.sources import ArraySource, Source, open_data
from gaussnet.errors import DataError, SettingError
from gaussnet.graph.dag import shorten
from gaussnet.named_rows import did_you_mean
from gaussnet.types import BoolArray, FloatArray, IntArray

NOTHING = frozenset({"na", "n/a", "#n/a", "nan", "null", "none"})
"""Texts that name no target, whatever their case, unless a node is called so."""

SEPARATORS = re.compile(r"[,;+|]")


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of rows, and what they mean.

    Parameters
    ----------
    by
        The name of a column, or one number of 0 or more for each row.
    kind
        "precision": the noise of a row has the variance of its node over the weight, as where
        a row is a mean of so many measurements. "frequency": the row stands for so many equal
        rows. "sampling": the row was drawn with a chance in inverse proportion to the weight, as
        in surveys. The answer is the same for all three but for the variances; the errors
        differ.

    Examples
    --------
    >>> import gaussnet as gn
    >>> rows, dag = [[0.0, 1.0], [1.0, 3.0], [2.0, 4.9]], gn.Dag.parse("[x][y|x]", nodes="xy")
    >>> counted = gn.fit(rows, dag, weights=gn.Weights([1, 2, 1], "frequency"))
    >>> repeated = gn.fit([rows[0], rows[1], rows[1], rows[2]], dag)
    >>> round(counted.standard_errors.coefficients["x", "y"], 6)
    0.025
    >>> round(repeated.standard_errors.coefficients["x", "y"], 6)
    0.025
    """

    by: Any
    kind: WeightKind

    def __post_init__(self) -> None:
        if self.kind not in get_args(WeightKind):
            raise SettingError(
                f"got weights of kind {self.kind!r}, expected 'precision' (the variance of a row's "
                "noise is in inverse proportion), 'frequency' (the row stands for so many) or "
                "'sampling' (the row was drawn with a chance in inverse proportion)"
            )


@dataclass(frozen=True, eq=False)
class Study:
    """What is said of rows beside their values; see `gaussnet.fit`."""

    interventions: Any = None
    groups: Any = None
    clusters: Any = None
    weights: Weights | None = None
    shifts: Any = None

    def __post_init__(self) -> None:
        if self.weights is not None and not isinstance(self.weights, Weights):
            raise SettingError(
                f"got weights of type {type(self.weights).__name__}, expected what they mean too: "
                "gn.Weights('column', 'precision'), 'frequency' or 'sampling'"
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return all(one is None for one in self._said)

    @property
    def _said(self) -> tuple[Any, ...]:
        weights = None if self.weights is None else self.weights.by
        return self.interventions, self.groups, self.clusters, weights, self.shifts

    @cached_property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that say it."""
        names = [one for one in self._said if isinstance(one, str)]
        for said in (self.interventions, self.shifts):
            names += [str(name) for name in said] if isinstance(said, Mapping) else []
        return tuple(names)

    @property
    def error_kind(self) -> str | None:
        """The standard errors that it asks for; None for the method's own."""
        if self.clusters is not None:
            return "clustered"
        sampled = self.weights is not None and self.weights.kind == "sampling"
        return "sampling" if sampled else None

    @property
    def has_dependent_rows(self) -> bool:
        """Whether rows do not count alike, or are not independent."""
        return self.weights is not None or self.clusters is not None

    def open(self, data: Any, nodes: Sequence[str]) -> tuple[Design, tuple[Source, ...]]:
        """The design, and a source for each of its columns."""
        design, sources = Design(), []
        if self.interventions is not None:
            regimes, source = open_interventions(self.interventions, data, nodes)
            design = replace(design, targets=regimes.targets, counts=regimes.counts)
            sources.append(source)
        if self.groups is not None:
            names, source = open_levels(self.groups, data, "groups")
            design = replace(design, groups=names)
            sources.append(source)
        if self.shifts is not None:
            names, shifted, source = open_shifts(self.shifts, data, nodes)
            design = replace(design, groups=names, shifted=shifted)
            sources.append(source)
        if self.clusters is not None:
            names, source = open_levels(self.clusters, data, "clusters")
            design = replace(design, clusters=len(names))
            sources.append(source)
        if self.weights is not None:
            design = replace(design, weights=self.weights.kind)
            sources.append(open_weights(self.weights.by, data))
        return design, tuple(sources)


def open_levels(given: Any, data: Any, purpose: str) -> tuple[tuple[str, ...], Source]:
    """The labels in order, and a source of the number of each row's."""
    if isinstance(given, str):
        source = open_labels(data, given, purpose)
    else:
        source = LabelList.of(_one_a_row(given, purpose))
    counts = label_counts(source)
    if None in counts:
        raise DataError(
            f"{counts[None]} rows have no value in {purpose}={_called(given)}: fill them, or "
            "leave these rows out"
        )
    names = tuple(sorted(counts, key=_natural))
    return names, Coded(source, {name: float(number) for number, name in enumerate(names)})


def open_weights(given: Any, data: Any) -> Source:
    """A source of the weight of each row, checked once."""
    if isinstance(given, str):
        opened = open_data(data, [given])
        source = ArraySource(opened.rows) if isinstance(opened, Loaded) else opened
    else:
        values = _one_a_row(given, "weights")
        try:
            source = ArraySource(np.asarray(values, dtype=np.float64).reshape(-1, 1))
        except (TypeError, ValueError):
            raise DataError(
                "got weights that are not numbers, expected one of 0 or more for each row"
            ) from None
    total = 0.0
    for (weights,) in source.chunks():
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise DataError(
                f"the weights {_called(given)} hold values that are missing, infinite or below 0: "
                "give a number of 0 or more for each row"
            )
        total += float(weights.sum())
    if total == 0.0:
        raise DataError(f"the weights {_called(given)} are all 0: give some above 0")
    return source


def _one_a_row(given: Any, purpose: str) -> Any:
    values = _as_array(given)
    if values.ndim != 1:
        raise DataError(
            f"got {purpose} of shape {values.shape}, expected the name of a column or one value "
            "for each row"
        )
    return values


def _called(given: Any) -> str:
    return repr(given) if isinstance(given, str) else "given by row"


def _natural(label: str) -> tuple[int, float, str]:
    """Numbers in their order, then texts in theirs."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


@dataclass(frozen=True, eq=False)
class Regimes:
    """Sets of targets, and how many rows have each."""

    targets: BoolArray
    """(regimes, nodes)."""
    counts: IntArray


def open_interventions(given: Any, data: Any, nodes: Sequence[str]) -> tuple[Regimes, Source]:
    """The regimes that are spoken of, and a source of the number of each row's."""
    if isinstance(given, str):
        return _by_label(open_labels(data, given, "interventions"), Named(nodes, given), nodes)
    if isinstance(given, Mapping) and not is_frame(given):
        column, mapping = _checked_mapping(given)
        source = open_labels(data, column, "interventions")
        return _by_label(source, Mapped(nodes, column, mapping), nodes)
    if is_frame(given):
        return _by_mask(_frame_mask(given, nodes))
    values = _as_array(given)
    if values.ndim == 1 and values.dtype.kind != "b":
        return _by_label(LabelList.of(values), Named(nodes, "interventions"), nodes)
    return _by_mask(_checked_mask(values, nodes))


UNSHIFTED = "none"
"""What the condition is called whose rows have no label."""


def open_shifts(
    given: Any, data: Any, nodes: Sequence[str]
) -> tuple[tuple[str, ...], BoolArray, Source]:
    """The conditions, which nodes each shifts, and a source of the number of each row's."""
    labels: Named | Mapped
    if isinstance(given, Mapping) and not is_frame(given):
        ((column, said),) = given.items() if len(given) == 1 else ((None, None),)
        if not isinstance(said, Mapping | list | tuple) or column is None:
            raise SettingError(
                f"got shifts={given!r:.80}, expected one column and the nodes that its values "
                "shift, {'condition': {'drug': ['node']}}, or the nodes that each of its values "
                "shifts but the first, {'condition': ['node']}"
            )
        source = open_labels(data, str(column), "shifts")
        if not isinstance(said, Mapping):
            present = {label: _condition(label) for label in label_counts(source)}
            first = min(present.values(), key=_rank, default=UNSHIFTED)
            said = {label: said for label, name in present.items() if name != first}
        mapping = {plain_label(one): own for one, own in said.items()}
        labels = Mapped(nodes, str(column), mapping, "shifts")
    elif isinstance(given, str):
        source, labels = open_labels(data, given, "shifts"), Named(nodes, given, "shifts")
    else:
        source, labels = LabelList.of(_one_a_row(given, "shifts")), Named(nodes, "shifts", "shifts")
    counted = label_counts(source)
    labels.check(counted)
    called = {one: str(one) if labels.tells(one) else _condition(one) for one in counted}
    names = tuple(sorted(set(called.values()), key=_rank))
    codes = {label: float(names.index(name)) for label, name in called.items()}
    shifted = np.zeros((len(names), len(nodes)), dtype=bool)
    firsts: dict[str, Any] = {}
    for label, name in called.items():
        targets = labels.targets(label)
        other = firsts.setdefault(name, label)
        if set(labels.targets(other)) != set(targets):
            raise DataError(
                f"the labels {other!r} and {label!r} in {labels.column!r} are both called "
                f"{name!r}, and shift different nodes: give one of them another label"
            )
        shifted[names.index(name), [list(nodes).index(node) for node in targets]] = True
    return names, shifted, Coded(source, codes)


def _rank(condition: str) -> tuple[bool, tuple[int, float, str]]:
    """Conditions in order: that without a name first."""
    return condition != UNSHIFTED, _natural(condition)


def _condition(label: Any) -> str:
    """The name of a row's condition."""
    if isinstance(label, tuple):
        return ", ".join(map(str, label)) or UNSHIFTED
    return UNSHIFTED if label is None or label.lower() in NOTHING else str(label)


@dataclass(frozen=True, eq=False)
class Named:
    """Labels that name their targets."""

    nodes: Sequence[str]
    column: str
    purpose: str = "interventions"
    """The keyword that they were given for."""

    def tells(self, label: Any) -> bool:
        """Whether a label has a meaning although it may look like none."""
        return label in self.nodes

    def targets(self, label: Any) -> tuple[str, ...]:
        """The nodes that a label names."""
        if label is None or label in self.nodes:
            return () if label is None else (label,)
        if isinstance(label, tuple):
            return _known(label, self.nodes, self.column, self.purpose)
        if label.lower() in NOTHING:
            return ()
        parts = [part.strip() for part in SEPARATORS.split(label)]
        named = [part for part in parts if part]
        return _known(named, self.nodes, self.column, self.purpose)

    def check(self, labels: Iterable[Any]) -> None:
        """Nothing more to check."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """Labels whose targets a mapping tells; others have none."""

    nodes: Sequence[str]
    column: str
    mapping: Mapping[Any, Any]
    purpose: str = "interventions"
    """The keyword that they were given for."""

    def tells(self, label: Any) -> bool:
        """Whether a label has a meaning although it may look like none."""
        return label in self.mapping and not isinstance(label, tuple)

    def targets(self, label: Any) -> tuple[str, ...]:
        """The nodes that stand for a label."""
        found = self.mapping.get(label, ())
        names = (found,) if isinstance(found, str) else tuple(found or ())
        plain = [plain_label(name) for name in names]
        return _known(plain, self.nodes, self.column, self.purpose)

    def check(self, labels: Iterable[Any]) -> None:
        """Refuse a value that no row has, which is likely misspelt."""
        present = {label for label in labels if label is not None}
        for value in self.mapping:
            if value not in present:
                raise SettingError(
                    f"no row has {value!r} in the column {self.column!r}"
                    f"{_meant(value, present)}name a value that it has, "
                    f"{shorten(sorted(map(str, present)))}"
                )


def _known(
    names: Iterable[Any], nodes: Sequence[str], column: str, purpose: str = "interventions"
) -> tuple[str, ...]:
    found = tuple(names)
    for name in found:
        if name not in nodes:
            raise DataError(
                f"the {purpose} in {column!r} name {name!r}, which is no node of the graph"
                f"{_meant(name, nodes)}name nodes, with commas between several, and "
                "leave the cell empty where there is none, or say by a mapping what each value "
                f"means, as {purpose}={{'condition': {{'drug': ['node']}}}}"
            )
    return found


def _meant(name: Any, known: Iterable[Any]) -> str:
    """A question that names what was meant, or a colon."""
    asked = did_you_mean(str(name), map(str, known))
    return f"{asked} Else " if asked else ": "


def _by_label(
    source: Source, labels: Named | Mapped, nodes: Sequence[str]
) -> tuple[Regimes, Source]:
    counted = label_counts(source)
    labels.check(counted)
    position = {node: index for index, node in enumerate(nodes)}
    numbers: dict[frozenset[int], int] = {frozenset(): 0}
    codes, counts = {}, [0]
    for label, rows in counted.items():
        targets = frozenset(position[name] for name in labels.targets(label))
        number = numbers.setdefault(targets, len(numbers))
        counts += [0] * (len(numbers) - len(counts))
        codes[label], counts[number] = float(number), counts[number] + rows
    table = np.zeros((len(numbers), len(nodes)), dtype=bool)
    for targets, number in numbers.items():
        table[number, list(targets)] = True
    return Regimes(table, np.array(counts, dtype=np.int64)), Coded(source, codes)


def _by_mask(mask: BoolArray) -> tuple[Regimes, Source]:
    packed = np.packbits(mask, axis=1)
    _, first, codes, counts = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    source = ArraySource(codes.reshape(-1, 1).astype(np.float64))
    return Regimes(mask[first], counts.astype(np.int64)), source


def _checked_mapping(given: Mapping[Any, Any]) -> tuple[str, dict[Any, Any]]:
    if len(given) == 1:
        ((column, mapping),) = given.items()
        if isinstance(mapping, Mapping):
            return str(column), {plain_label(value): one for value, one in mapping.items()}
    raise SettingError(
        f"got interventions with the keys {shorten([str(key) for key in given])}, expected one "
        "column and what its values mean: {'condition': {'drug': ['node']}}"
    )


def _as_array(given: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(given)
    except ValueError:  # lists of names, of several lengths
        values = np.empty(len(given), dtype=object)
        values[:] = given
        return values


def _frame_mask(frame: Any, nodes: Sequence[str]) -> BoolArray:
    """The columns of a frame as cells that were set; nodes without a column were never set."""
    from gaussnet.data.frames import frame_names, frame_rows

    names = frame_names(frame)
    _known(names, nodes, "columns of interventions")
    mask = np.zeros((0, len(nodes)), dtype=bool)
    values = frame_rows(frame, names).rows
    mask = np.zeros((len(values), len(nodes)), dtype=bool)
    _require_flags(values)
    mask[:, [list(nodes).index(name) for name in names]] = values != 0.0
    return mask


def _checked_mask(values: np.ndarray[Any, Any], nodes: Sequence[str]) -> BoolArray:
    if values.ndim != 2 or values.shape[1] != len(nodes):
        raise DataError(
            f"got interventions of shape {values.shape}, expected (rows, {len(nodes)}): one "
            "column per node in the order of dag.nodes, True where the cell was set"
        )
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind not in "iuf":
        raise DataError(
            f"got interventions of type {values.dtype}, expected True where a cell was set"
        )
    _require_flags(values)
    return np.asarray(values != 0)


def _require_flags(values: Any) -> None:
    if not np.isin(values, (0, 1)).all():
        raise DataError(
            "the interventions hold something else than True and False: give True where a cell "
            "was set from outside"
        )


def rows_beside(rows: Any, columns: Sequence[Source]) -> FloatArray:
    """Rows in memory with columns that say something of each."""
    both = Beside((ArraySource(rows), *columns))
    parts = [np.column_stack(chunk) for chunk in both.chunks()]
    if not parts:
        return np.empty((0, both.width))
    return np.asarray(parts[0] if len(parts) == 1 else np.concatenate(parts), dtype=np.float64)
