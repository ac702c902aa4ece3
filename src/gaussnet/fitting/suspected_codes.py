"""Values that recur far from the others of their column, as codes for a missing value do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from gaussnet.errors import GaussnetError
from gaussnet.fitting.residuals import MOST_ROWS, MOST_SORTED, listed
from gaussnet.fitting.text import shown
from gaussnet.graph.dag import counted
from gaussnet.types import FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

FEWEST, FEWEST_OTHERS = 3, 10
"""A code recurs so often at least, and so many other values tell what is usual."""
FAR = 6.0
"""A code is so many standard deviations of the middle values from their median."""
MOSTLY = 0.5
"""At least this share of the values halfway out or farther is the code itself."""
MOST_TRIED = 5
QUARTILES, TAILS = 1.3489795003921634, 3.289707253902945
"""Distance of the quartiles of the Gaussian, and of its 5 % and 95 % points."""


@dataclass(frozen=True, slots=True)
class SuspectedCode:
    """A value that may stand for a missing one."""

    value: float
    counts: tuple[tuple[str, int], ...]
    """How often it appears, by node, where it is far from the other values."""
    within: tuple[tuple[str, int], ...] = ()
    """How often it appears in other nodes or categories, among their values."""
    below: tuple[tuple[str, int], ...] = ()
    """How often it appears in other nodes, below all other values but not far from them."""
    above: tuple[tuple[str, int], ...] = ()
    """The same above all other values."""
    alone: tuple[tuple[str, int], ...] = ()
    """How often it appears in other nodes that hold no other value."""

    @property
    def found(self) -> str:
        """How often it appears, and where."""
        return f"{self.value:.15g} appears {_times(self.counts)}"

    def note(self, missing: str) -> str:
        """The same, and what to do if it means missing; `missing` is the setting of the fit."""
        start = f"{self.found}, far from the other values: if it means missing"
        fill = " and missing='likelihood'" if missing == "raise" else ""
        give = f"give missing_values=[{self.value:.15g}]{fill}"
        places = {
            "below all other values": self.below,
            "above all other values": self.above,
            "within the other values": self.within,
            "and nothing else there": self.alone,
        }
        others = [f"{_times(own)}, {place}" for place, own in places.items() if own]
        if others:
            return (
                f"{start}, set these cells to NaN. It also appears {'; '.join(others)}: look at "
                f"it, and if it means missing there too, {give}"
            )
        return f"{start}, {give}"


def _times(counts: Iterable[tuple[str, int]]) -> str:
    return listed(f"{counted(count, 'time')} in {shown(name)}" for name, count in counts)


def find_suspected_codes(fit: "Fit") -> tuple[SuspectedCode, ...]:
    """Values that may stand for missing ones, if the rows are in memory, unchanged.

    They are looked for in about 200,000 rows at most, and counted in all. Cells that were set from
    outside do not count.
    """
    try:
        if fit.data is None or not fit.data.table().is_in_memory:
            return ()
        table = fit.data.all_rows()
    except GaussnetError:  # they were changed since
        return ()
    step = max(1, -(-(table.known_rows or 0) // MOST_ROWS))
    rows, was_set = table.every_row(step), table.every_set_cell(step)
    if was_set is not None:
        rows[was_set] = np.nan
    indicators = fit.dag.indicators
    positions: dict[float, list[int]] = {}
    for position, node in enumerate(fit.dag.nodes):
        if node not in indicators:
            for value in far_repeats(rows[:, position]):
                positions.setdefault(value, []).append(position)
    whole = rows if step == 1 or not positions else table.every_row(1)
    return tuple(_counted(fit, whole, value, own) for value, own in positions.items())


def _counted(fit: "Fit", rows: Rows, value: float, positions: list[int]) -> SuspectedCode:
    nodes, counts = fit.dag.nodes, np.count_nonzero(rows == value, axis=0).tolist()
    others: dict[str, dict[str, int]] = {"within": {}, "below": {}, "above": {}, "alone": {}}
    for place, node in enumerate(nodes):
        if counts[place] and place not in positions:
            name, is_level = fit.dag.indicators.get(node, (node, ""))[0], node in fit.dag.indicators
            own = others["within" if is_level else _side(rows[:, place], value)]
            own[name] = max(counts[place], own.get(name, 0))
    far = tuple((nodes[place], counts[place]) for place in positions)
    return SuspectedCode(value, far, **{key: tuple(own.items()) for key, own in others.items()})


def _side(column: Rows, value: float) -> Literal["within", "below", "above", "alone"]:
    """Where a value stands among the others of a column.

    Examples
    --------
    >>> _side(np.array([-999.0, 1.0, 5.0]), -999.0), _side(np.array([0.0, 1.0, 2.0]), 1.0)
    ('below', 'within')
    >>> _side(np.array([-999.0, -999.0]), -999.0)
    'alone'
    """
    is_above, is_below = bool((column < value).any()), bool((column > value).any())
    if is_above == is_below:
        return "within" if is_above else "alone"
    return "above" if is_above else "below"


def far_repeats(values: FloatArray) -> list[float]:
    """Values that recur far from the others of a column, the farthest first.

    Examples
    --------
    >>> far_repeats(np.append(np.linspace(10.0, 30.0, 50), [-999.0] * 4 + [1e4]))
    [-999.0]
    """
    known = values[np.isfinite(values)]
    middle, spread = _middle(known[:: -(-len(known) // MOST_SORTED) or 1])
    if not spread:
        return []
    distances = known - middle
    kinds, counts = _counted_kinds(known[np.abs(distances) > FAR * spread])
    often = np.flatnonzero(counts >= FEWEST)
    often = often[np.argsort(-np.abs(kinds[often] - middle), kind="stable")][:MOST_TRIED]
    found: list[float] = []
    for value, count in zip(kinds[often].tolist(), counts[often].tolist(), strict=True):
        side = np.sign(value - middle)
        beyond = np.count_nonzero(side * distances >= 0.5 * abs(value - middle))
        if count >= MOSTLY * beyond:
            found.append(value)
            distances = distances[distances != value - middle]
    return found


def _counted_kinds(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct values in ascending order, and how often each appears.

    As `numpy.unique`, which takes long to start.
    """
    ordered = np.sort(values)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def _middle(sample: FloatArray) -> tuple[float, float]:
    """Median and standard deviation of the middle of a column; 0 if that is not known.

    A code may be the commonest value: the column without it counts if it is narrower. The standard
    deviation is at least the step between neighbouring values, as 1 between whole numbers.
    """
    ordered = np.sort(sample)
    kinds, counts = _counted_kinds(ordered)
    parts = [ordered]
    if len(kinds) > 1 and counts.max() >= FEWEST:
        parts.append(ordered[ordered != kinds[counts.argmax()]])
    known = [_median_and_spread(part) for part in parts if len(part) >= FEWEST_OTHERS]
    if len(kinds) < 2 or not known:
        return 0.0, 0.0
    spread, median = min(known)
    return median, max(spread, float(np.diff(kinds).min()))


def _median_and_spread(ordered: FloatArray) -> tuple[float, float]:
    low, first, median, last, high = (
        _quantile(ordered, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)
    )
    return (last - first) / QUARTILES or (high - low) / TAILS, median


def _quantile(ordered: FloatArray, share: float) -> float:
    """The quantile of values in ascending order, as `numpy.quantile`, which takes long to start.

    Examples
    --------
    >>> _quantile(np.array([1.0, 2.0, 4.0]), 0.75)
    3.0
    """
    place = share * (len(ordered) - 1)
    first = int(place)
    low, high = float(ordered[first]), float(ordered[min(first + 1, len(ordered) - 1)])
    part = place - first
    return high - (high - low) * (1.0 - part) if part >= 0.5 else low + (high - low) * part
