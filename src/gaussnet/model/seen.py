"""What was seen in the rows that a network was learnt from: ranges, columns that are not Gaussian.

A network is a Gaussian law, and cannot tell by itself that a column is skewed, or that -999 stands
for a missing value. `Seen` keeps what a fit knows of this beside the numbers of its network, in
memory and in model files; also the sentences on whether the model fits.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussnet.errors import FileError, NetworkError
from gaussnet.graph.dag import Dag
from gaussnet.model.inference.predicted_rows import OutsideValue
from gaussnet.types import BoolArray, FloatArray, Rows

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork

FAR = 0.25
"""A value is told of if it lies farther beyond the range than this share of its width."""
FIELDS = ("seen", "seen_z", "residuals")
"""What the entry of a node in a model file may have."""
GAUSSIAN = "Gaussian"
"""What a model file says of residuals that look so."""
MOST_SENTENCES = 3
"""Of a verdict."""
IMPOSSIBLE = 8.0
"""Where no range is known: a value so many standard deviations from the mean of its node is told
of. A Gaussian value is so far off once in 10^15."""


class SavedVerdict(NamedTuple):
    """The sentences of a fit on itself, as a model file keeps them.

    Examples
    --------
    >>> kept = SavedVerdict(("The data agree with the graph.",), warns=False)
    >>> SavedVerdict.of(kept.fields) == kept
    True
    """

    sentences: tuple[str, ...]
    """Whether the model fits, what was wrong with the data, how far to trust the numbers."""
    warns: bool
    """Whether there is something to warn of, or the graph was not checked."""

    @property
    def fields(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"warns": self.warns, "sentences": list(self.sentences)}

    @classmethod
    def of(cls, fields: object) -> "SavedVerdict":
        """What a model file says, refused if it is something else."""
        own = fields if isinstance(fields, dict) else {}
        warns, sentences = own.get("warns"), own.get("sentences")
        texts = sentences if isinstance(sentences, list) else []
        count = sum(isinstance(one, str) for one in texts)
        if not 0 < count == len(texts) <= MOST_SENTENCES or not isinstance(warns, bool):
            raise FileError(
                f"the file has the verdict {fields!r:.60}, expected warns and 1 to "
                f"{MOST_SENTENCES} sentences: save the network again"
            )
        return cls(tuple(texts), warns)


@dataclass(frozen=True, eq=False)
class Seen:
    """Ranges of the values of each node, (nodes,) each; NaN where they are not known.

    Examples
    --------
    >>> seen = Seen(np.array([0.0]), np.array([10.0]))
    >>> seen.beyond(np.array([[12.0], [13.0], [-3.0], [np.nan]]), FAR).ravel().tolist()
    [False, True, True, False]
    """

    low: FloatArray
    high: FloatArray
    """The least and the largest value that is believed."""
    z_low: FloatArray | None = None
    z_high: FloatArray | None = None
    """The least and the largest z of believed values given the others of their rows; known of
    nodes that did not look Gaussian and were believed, and of their neighbours."""
    shapes: tuple[str, ...] = ()
    """What the residuals of each node looked like, "" for Gaussian ones; () where not known."""
    missing_values: tuple[float, ...] = ()
    """Numbers that stand for a missing value."""
    verdict: "SavedVerdict | None" = None
    """What the fit said of itself; None where that is not known."""

    @classmethod
    def of(
        cls,
        dag: Dag,
        by_node: Mapping[str, Mapping[str, Any]],
        codes: Sequence[float] = (),
        verdict: "SavedVerdict | None" = None,
    ) -> "Seen | None":
        """What the entries of a model file say; None where they say nothing."""
        entries = [by_node[node] for node in dag.nodes]
        told = codes or verdict is not None
        if not told and not any(name in own for own in entries for name in FIELDS):
            return None
        low, high = _pairs(by_node, "seen")
        z_low, z_high = _pairs(by_node, "seen_z")
        shapes = tuple(_shape(node, own) for node, own in by_node.items())
        if not any("residuals" in own for own in entries):
            shapes = ()
        return cls(low, high, z_low, z_high, shapes, tuple(map(float, codes)), verdict)

    def fields(self, node: int) -> dict[str, Any]:
        """What a model file keeps of a node."""
        pairs = {"seen": (self.low, self.high), "seen_z": (self.z_low, self.z_high)}
        known = {
            name: [float(low[node]), float(high[node])]
            for name, (low, high) in pairs.items()
            if low is not None and high is not None and np.isfinite(high[node] - low[node])
        }
        return known | ({"residuals": self.shapes[node] or GAUSSIAN} if self.shapes else {})

    def without(self, cut: BoolArray) -> "Seen":
        """The same where nodes (nodes,) are set from outside: their ranges are not known.

        Neither are those of z, for values now stand beside other ones than they did.
        """
        low, high = (np.where(cut, np.nan, ends) for ends in (self.low, self.high))
        return replace(self, low=low, high=high, z_low=None, z_high=None)

    def reach(self, share: float) -> tuple[FloatArray, FloatArray]:
        """The range with so much of its width added at both ends; all values if it has none."""
        width = self.high - self.low
        more = np.where(width > 0.0, share * width, np.inf)
        return self.low - more, self.high + more

    def beyond(self, rows: FloatArray, share: float) -> BoolArray:
        """Which values of rows (rows, nodes) lie farther beyond the range than this."""
        low, high = self.reach(share)
        with np.errstate(invalid="ignore"):
            return np.asarray((rows < low) | (rows > high))

    def outside(self, dag: Dag, rows: FloatArray, share: float = FAR) -> Iterator[OutsideValue]:
        """The values of rows that lie far beyond the range, row by row."""
        for row, node in np.argwhere(self.beyond(rows, share)).tolist():
            ends = (float(self.low[node]), float(self.high[node]))
            yield OutsideValue(dag.nodes[node], float(rows[row, node]), *ends, row)

    @property
    def is_known(self) -> BoolArray:
        """Which nodes have a range, (nodes,)."""
        return np.asarray(np.isfinite(self.high - self.low))

    @property
    def codes(self) -> tuple[float, ...]:
        """The codes for missing values, as rows of float64 and of float32 have them."""
        codes = np.array(self.missing_values)
        return (*self.missing_values, *codes.astype(np.float32).astype(np.float64).tolist())

    def check_values(self, values: Mapping[str, float | str]) -> None:
        """Refuse a value that stands for a missing one."""
        for node, value in values.items():
            if value in self.codes:
                raise NetworkError(
                    f"got {node} = {value:g}, which stands for a missing value in the rows that "
                    f"the network was learnt from: leave {node!r} out if it is not known"
                )


def recoded(network: "GaussianNetwork", rows: Rows) -> Rows:
    """The rows with NaN for the codes that the network knows; a copy if there is one."""
    if network.seen is None or not network.seen.missing_values:
        return rows
    found = np.isin(rows, network.seen.codes)
    return np.where(found, np.nan, rows) if found.any() else rows


def unlikely_values(network: "GaussianNetwork", rows: FloatArray) -> tuple[OutsideValue, ...]:
    """The values of rows (rows, nodes) that lie far outside what was seen, row by row.

    Where it is not known what was seen, values are named that the law of the network rules out.

    Examples
    --------
    >>> from gaussnet.model.network import GaussianNetwork
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[age]"), [], [100.0], [45.0])
    >>> unlikely_values(network, np.array([[80.0], [-999.0]]))[0].said()
    'age = -999 lies far outside what the network expects (-35 to 125)'
    """
    dag, seen = network.dag, network.seen
    known = np.zeros(len(dag), dtype=bool) if seen is None else seen.is_known
    found = [] if seen is None else list(seen.outside(dag, rows))
    if not known.all():
        others = network.expected_range.outside(dag, np.where(known, np.nan, rows), 0.0)
        found += [value._replace(is_seen=False) for value in others]
    return tuple(sorted(found, key=lambda value: value.row))


def usual_range(network: "GaussianNetwork") -> tuple[FloatArray, FloatArray]:
    """Ends (nodes,) beyond which values are told of, -inf and inf where there is no range."""
    expected = network.expected_range
    low, high = expected.low, expected.high
    if network.seen is not None:
        own_low, own_high = network.seen.reach(FAR)
        known = network.seen.is_known
        low, high = np.where(known, own_low, low), np.where(known, own_high, high)
    return np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)


def _pairs(entries: Mapping[str, Mapping[str, Any]], name: str) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends by node, (nodes,) each, NaN where an entry has none."""
    ends = np.full((2, len(entries)), np.nan)
    for place, (node, own) in enumerate(entries.items()):
        if name not in own:
            continue
        pair = own[name]
        is_pair = isinstance(pair, list) and len(pair) == 2 and all(map(is_finite_number, pair))
        if not is_pair or pair[0] > pair[1]:
            raise FileError(
                f"node {node!r} has {name} {pair!r:.40}, expected two numbers, the lower "
                "first: save the network again"
            )
        ends[:, place] = pair
    return ends[0], ends[1]


def is_finite_number(value: object) -> bool:
    """Whether a value of a JSON file is a number that a float can hold.

    Examples
    --------
    >>> is_finite_number(-999), is_finite_number(True), is_finite_number(10**400)
    (True, False, False)
    """
    try:
        return type(value) in (int, float) and math.isfinite(float(value))  # type: ignore[arg-type]
    except OverflowError:
        return False


def _shape(node: str, entry: Mapping[str, Any]) -> str:
    """What the residuals of a node looked like, "" if Gaussian or if the entry does not say."""
    shape = entry.get("residuals", GAUSSIAN)
    if not isinstance(shape, str):
        raise FileError(
            f"node {node!r} has the residuals {shape!r:.40}, expected a word such as {GAUSSIAN!r}: "
            "save the network again"
        )
    return "" if shape == GAUSSIAN else shape
