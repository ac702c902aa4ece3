"""What groups of rows have in common, and which of their parameters cannot be compared, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gaussnet.fitting.common_points import APART, common_point, constant_combinations
from gaussnet.fitting.residuals import listed
from gaussnet.fitting.result import Fit
from gaussnet.fitting.uncertainty import checked_kind, find_errors
from gaussnet.graph.dag import Dag, counted
from gaussnet.methods.standard_errors import Assembly
from gaussnet.named_rows import did_you_mean, is_number
from gaussnet.types import BoolArray, FloatArray, IntArray

MOST_NAMED = 6
"""Parameters and groups that a note names."""


class Compared(NamedTuple):
    """One parameter of the groups, before p-values are adjusted."""

    kind: str
    name: str
    node: int
    estimates: FloatArray
    """(groups,)."""
    known: BoolArray
    """Which groups say something of it, (groups,)."""
    verdict: tuple[float, float, float, float]
    """Statistic, both degrees of freedom and p-value; NaN where there is no test."""

    @property
    def is_tested(self) -> bool:
        """Whether there is a test."""
        return not np.isnan(self.verdict[3])

    @property
    def parameter(self) -> str:
        """The parameter in words."""
        return f"{self.kind} of {self.name}"


def freedom_of_errors(fit: Fit) -> FloatArray:
    """Degrees of freedom of each node's errors, (nodes,)."""
    left = (fit.details.rows - fit.details.ranks - int(fit.intercept)).astype(np.float64)
    return np.where(left > 0.0, left, np.nan)


class CommonPoints:
    """Where the levels of the groups' equations are compared: the means of the parents over all
    groups, or the nearest point of which every group tells the level."""

    def __init__(self, fits: Sequence[Fit]) -> None:
        self.fits, self.dag = fits, fits[0].dag
        self.known = [_assembly(fit) for fit in fits]
        self.points = _common_means(fits, self.known)
        self.moved: dict[int, tuple[IntArray, FloatArray]] = {}
        """Nodes whose point is not at the means, with the parents that are elsewhere, and where."""
        self.none: set[int] = set()
        """Nodes without a common point."""
        degrees = self.dag.in_degrees
        is_short = np.array([fit.details.ranks < degrees for fit in fits])
        for node in np.flatnonzero(is_short.any(axis=0)).tolist():
            self._move(node, [place for place, fit in enumerate(fits) if _tells(fit, node)])

    def _move(self, node: int, groups: Sequence[int]) -> None:
        families = self.dag.families
        edges = slice(*families.offsets[node : node + 2].tolist())
        centres = [self.known[place].centres[edges] for place in groups]
        if not centres:
            return
        tables = [self._covariance(place, node) for place in groups]
        ranks = [int(self.fits[place].details.ranks[node]) for place in groups]
        constant = list(map(constant_combinations, tables, centres, ranks))
        wanted = self.points[edges]
        squares = [np.diagonal(t) + (c - wanted) ** 2 for t, c in zip(tables, centres, strict=True)]
        scales = np.sqrt(np.mean(squares, axis=0))
        point = common_point(wanted, scales, centres, constant)
        if point is None:
            self.none.add(node)
            return
        apart = np.flatnonzero(np.abs(point - wanted) > APART * scales)
        if len(apart):
            self.moved[node] = families.parents[edges][apart], point[apart]
        self.points[edges] = point

    def _covariance(self, place: int, node: int) -> FloatArray:
        spreads, size = self.known[place].spreads, int(self.dag.in_degrees[node])
        found: FloatArray = spreads.parent_covariances(np.array([node]), size)[0]
        return found


def _tells(fit: Fit, node: int) -> bool:
    """Whether a group has rows enough for a node, whatever its parents are."""
    return bool(freedom_of_errors(fit)[node] > 0.0)


def _assembly(fit: Fit) -> Assembly:
    """The errors of a fit, of its method's own kind."""
    level = fit.uncertainty().confidence_intervals.level
    found = find_errors(fit, checked_kind(fit, None, level), level)
    assert isinstance(found, Assembly)
    return found


def _common_means(fits: Sequence[Fit], known: Sequence[Assembly]) -> FloatArray:
    """Means of the parents over all groups, (edges,), by the rows that each equation rests on."""
    of_edge = fits[0].dag.families.family_of_edge
    rows = np.array([fit.details.rows[of_edge] for fit in fits], dtype=np.float64)
    centres = np.array([own.centres for own in known])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((rows * centres).sum(axis=0) / rows.sum(axis=0))


@dataclass(frozen=True)
class Reasons:
    """Why some parameters were not compared, or not among all groups."""

    dag: Dag
    groups: Mapping[str, Fit]
    tests: Sequence[Compared]
    freedoms: FloatArray
    """Of means and variances, (groups, nodes); NaN where the rows are too few."""
    common: CommonPoints

    @property
    def left_out(self) -> tuple[str, ...]:
        """Groups of too few rows for any test."""
        return tuple(np.array(list(self.groups), dtype=object)[self._is_out].tolist())

    @cached_property
    def _is_out(self) -> BoolArray:
        """Which groups are in no test, (groups,)."""
        return np.asarray(~np.array([one.known for one in self.tests]).any(axis=0))

    def notes(self) -> Iterator[str]:
        """Groups that were left out; what was not compared; what was compared elsewhere."""
        if self.left_out:
            out = listed(self._with_rows(self.left_out))
            yield f"left out of all comparisons, for too few rows: {out}"
        told: dict[tuple[str, str], list[str]] = {}
        for one in self.tests:
            lost = np.flatnonzero(~one.known & ~self._is_out).tolist()
            if lost or not (one.is_tested or self.left_out):
                told.setdefault(self._words(one, lost), []).append(one.parameter)
        for (how, reason), names in told.items():
            yield f"{how}: {listed(names, MOST_NAMED)} ({reason})"
        levels = {one.node for one in self.tests if one.is_tested and one.kind == "level"}
        yield from (self._point_words(node) for node in self.common.moved if node in levels)

    def _words(self, one: Compared, lost: Sequence[int]) -> tuple[str, str]:
        """How a parameter was compared, and why not among all groups."""
        reason, is_short = self._reason(one, lost)
        names = [list(self.groups)[place] for place in lost]
        where = listed(self._with_rows(names) if is_short else names)
        if one.is_tested:
            return f"compared without {where}", f"{reason} there"
        if one.kind == "level" and one.node in self.common.none:
            return "not compared", reason
        return "not compared", f"{reason} in {where or 'all groups but one'}"

    def _with_rows(self, names: Sequence[str]) -> list[str]:
        """Groups with their rows, and larger groups of similar names."""
        fits, found = self.groups, []
        for name in names:
            larger = [one for one in fits if fits[one].rows > fits[name].rows]
            hint = "" if is_number(name) else did_you_mean(name, larger)
            found.append(f"{name!r} ({counted(fits[name].rows, 'row')}{hint})")
        return found

    def _reason(self, one: Compared, lost: Sequence[int]) -> tuple[str, bool]:
        """Why these groups say nothing of a parameter, and whether their rows are too few."""
        dag, node = self.dag, one.node
        fits = list(self.groups.values())
        if one.kind == "level" and node in self.common.none:
            return self._no_point(node), False
        short = [place for place in lost if fits[place].details.ranks[node] < dag.in_degrees[node]]
        if any(not self.freedoms[place, node] > 0.0 for place in lost):
            return "too few rows", True
        if short and one.kind in ("coefficient", "level"):
            return self._constant_words(node, short), False
        still = [place for place in lost if fits[place].network.variance_array[node] == 0.0]
        if still:
            constant = all(_is_constant(fits[place], node) for place in still)
            return f"{dag.nodes[node]!r} {'is constant' if constant else 'has no noise'}", False
        if one.kind == "covariance":
            return "no standard error", False
        return "too few rows", True

    def _constant_words(self, node: int, groups: Sequence[int]) -> str:
        """Which parents of a node are constant in some groups, or that they are collinear."""
        fits = list(self.groups.values())
        parents = self.dag.families.parent_lists[node]
        still = [p for p in parents if all(_is_constant(fits[place], p) for place in groups)]
        if not still:
            return f"the parents of {self.dag.nodes[node]!r} are constant or collinear"
        names = [repr(self.dag.nodes[parent]) for parent in still]
        return f"{listed(names)} {'is' if len(names) == 1 else 'are'} constant"

    def _no_point(self, node: int) -> str:
        """Why the groups have no common point, and what to do."""
        fits = list(self.groups.values())
        name, names = self.dag.nodes[node], []
        for parent in self.dag.families.parent_lists[node]:
            means = [float(fit.network.mean()[parent]) for fit in fits if _is_constant(fit, parent)]
            if len(means) > 1 and max(means) > min(means):
                names.append(self.dag.nodes[parent])
        if not names:
            return f"the groups have no values of the parents of {name!r} in common"
        made = self.dag.indicators
        columns = dict.fromkeys(made[one][0] if one in made else one for one in names)
        return (
            f"{listed(map(repr, columns))} has one value within each group, not the same in all, "
            "so that its effect cannot be told from that of the groups: take it out of the graph"
        )

    def _point_words(self, node: int) -> str:
        """Where the level of a node was compared, if not at the means of its parents."""
        dag = self.dag
        parents, values = self.common.moved[node]
        places = (
            f"{dag.nodes[parent]} = {value:.4g}"
            for parent, value in zip(parents.tolist(), values.tolist(), strict=True)
        )
        return (
            f"the level of {dag.nodes[node]!r} is compared where {listed(places)}, not at the mean "
            "of its parents: only there do all groups tell it"
        )


def _is_constant(fit: Fit, node: int) -> bool:
    """Whether a column is the same in all rows of a group."""
    network, families = fit.network, fit.dag.families
    edges = slice(*families.offsets[node : node + 2].tolist())
    return bool(network.variance_array[node] == 0.0 and not network.coefficient_array[edges].any())
