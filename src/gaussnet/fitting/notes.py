"""How one node was learnt, and what is worth saying about it and about the data."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from gaussnet.graph.dag import Dag, counted, indicator, shorten
from gaussnet.named_rows import bare_name

SHORTEST, ALIKE, RARE = 5, 0.8, 0.2
"""Levels of so many letters or more, so similar, one so much rarer, may be misspelt."""
SHORTEST_ONCE, OFTEN = 3, 10
"""A level of a single row may be misspelt if it has so many letters, one of them other than in a
level of so many rows or more."""
RARE_REFERENCE = 0.02
"""A reference level with a smaller share of the rows is told of."""
FEWEST_GROUPED, MOST_NAMED = 3, 10
"""So many notes that say the same are printed as one, which names so many nodes."""
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
"""A count in a sentence."""


class Note(str):
    """One thing worth knowing about a fit: a sentence, after the name of its node if it has one.

    Examples
    --------
    >>> note = Note("rain", "3 of its values flagged")
    >>> note, note.node, note.text
    ('rain: 3 of its values flagged', 'rain', '3 of its values flagged')
    """

    node: str | None
    """None where it concerns all nodes."""
    text: str
    """The sentence alone."""

    def __new__(cls, node: str | None, text: str) -> "Note":
        """The note as it is printed."""
        note = super().__new__(cls, text if node is None else f"{node}: {text}")
        note.node, note.text = node, text
        return note

    def __getnewargs__(self) -> tuple[str | None, str]:  # type: ignore[override]
        """What a copy is made from."""
        return self.node, self.text


def grouped_notes(notes: Iterable[str]) -> list[str]:
    """The notes as they are printed: of more than two that say the same of nodes there is one.

    It is that of the node with the largest number, and names the others.

    Examples
    --------
    >>> notes = [Note("a", "3 of its values flagged"), Note("b", "18 of its values flagged")]
    >>> grouped_notes([*notes, Note("c", "1 of its values flagged"), "all else is well"])
    ['b: 18 of its values flagged (likewise a: 3, c: 1)', 'all else is well']
    """
    kinds: dict[str, list[str]] = {}
    for note in notes:
        kinds.setdefault(_kind_of_note(note), []).append(note)
    found: list[str] = []
    for kind in kinds.values():
        found += [_as_one(kind)] if len(kind) >= FEWEST_GROUPED else map(str, kind)
    return found


def _kind_of_note(note: str) -> str:
    """The sentence without its node and numbers, in the singular; of all nodes the note itself."""
    if not isinstance(note, Note) or note.node is None:
        return str(note)
    return NUMBER.sub("#", note.text).replace("# rows", "# row").replace("its other ", "its ")


def _as_one(notes: Sequence[str]) -> str:
    """One note for several nodes of which the same is said, the largest number first."""
    own = [note for note in notes if isinstance(note, Note)]
    if len(own) < len(notes):  # the same sentence on all nodes
        return str(notes[0])
    numbers = [NUMBER.findall(note.text) for note in own]
    places = [
        place for place, column in enumerate(zip(*numbers, strict=True)) if len(set(column)) > 1
    ]
    if not places:
        others = ", ".join(str(note.node) for note in own[1 : 1 + MOST_NAMED])
        return f"{own[0]} (likewise {others}{_and_more(own)})"
    order = sorted(
        range(len(own)), key=lambda index: -float(numbers[index][places[0]].replace(",", ""))
    )
    told = (" and ".join(numbers[index][: places[-1] + 1]) for index in order)
    named = [f"{own[index].node}: {text}" for index, text in zip(order, told, strict=True)]
    return f"{own[order[0]]} (likewise {', '.join(named[1 : 1 + MOST_NAMED])}{_and_more(own)})"


def _and_more(notes: Sequence[str]) -> str:
    more = len(notes) - 1 - MOST_NAMED
    return f" and {counted(more, 'node')} more; see fit.notes" if more > 0 else ""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """How one node was learnt."""

    node: str
    parents: tuple[str, ...]
    rows: int
    """Rows used, of both phases together if they were split."""
    dropped: int
    """Rows left out because a value of this node or a parent was missing."""
    batches: int
    """Batches or windows used; 0 where the method uses none."""
    singular: int
    """Batches or windows set aside as singular."""
    rank: int
    """Rank of the parents; below their number the coefficients are those of least norm."""
    trimmed: int = 0
    """Rows left out because the robust method does not trust a value of them."""
    flagged: int = 0
    """Values of this node that do not fit."""
    confirmed: int = 0
    """Values of this node that do not fit, but that its children or parents agree with."""
    discrete: bool = False
    """Whether its values are few and recur, so that only what lies apart is flagged."""
    shaped: bool = False
    """Whether its values were believed although they do not look Gaussian."""
    tied: bool = False
    """Whether so many of its values are equal that wrong ones cannot be told."""
    set_rows: int = 0
    """Rows left out because the node was set from outside."""
    bridged: bool = False
    """Whether the other values of a row count where one is flagged or missing."""
    missing: int = 0
    """Values of this node that are missing, where they were bridged."""
    covaries: tuple[str, ...] = ()
    """The nodes without parents that it was regressed on, as their covariances are free."""

    @property
    def regressors(self) -> int:
        """The number of coefficients in its equation."""
        return len(self.parents) + len(self.covaries)


def node_notes(report: NodeReport, zero_variance: bool) -> list[str]:
    """What there is to say about one node, a sentence each."""
    found = []
    if report.set_rows:
        rows = counted(report.set_rows, "row")
        found.append(f"{rows} in which it was set from outside left out of its equation")
    if report.bridged:
        found += _bridged(report)
    elif report.dropped:
        rows, used = counted(report.dropped, "row"), report.rows + report.trimmed
        found.append(f"{rows} with missing values left out of {report.dropped + used}")
    if not report.bridged and (report.trimmed or report.flagged or report.confirmed):
        found.append(_trimmed(report))
    found += _kind_of_values(report)
    if report.singular:
        total = report.batches + report.singular
        found.append(f"{report.singular} of {total} batches are singular and were set aside")
    if report.rank < report.regressors:
        found.append(
            f"{rank_words(report)}: of all least-squares solutions this is the one of least norm"
        )
    if zero_variance:
        found.append(
            f"the residual variance is zero: the {'others' if report.covaries else 'parents'} "
            "determine this node exactly"
            if report.regressors
            else "the variance is zero: all values are the same"
        )
    return found


def rank_words(report: NodeReport) -> str:
    """How many parents there are, or nodes that it covaries with, and their rank."""
    count = report.regressors
    words = "node", "nodes", " that it covaries with"
    one, many, which = words if report.covaries else ("parent", "parents", "")
    subject = f"the {one}{which} has" if count == 1 else f"the {count} {many}{which} have"
    return f"{subject} rank {report.rank}"


def _trimmed(report: NodeReport) -> str:
    """What the robust method left out, and why."""
    total = report.rows + report.trimmed
    parts = [f"{report.trimmed} of {total} rows ({report.trimmed / total:.1%}) left out"]
    if report.flagged:
        parts.append(f"{report.flagged} of its values flagged")
    if report.confirmed:
        parts.append(f"{report.confirmed} far from expected but kept: unusual rather than wrong")
    return ", ".join(parts)


def _bridged(report: NodeReport) -> list[str]:
    """What the robust method does not use where the other values of a row still count."""
    unused = [f"{report.flagged} of its values flagged"] if report.flagged else []
    if report.missing:
        unused.append(f"{report.missing} {'missing' if unused else 'of its values missing'}")
    found = [f"{' and '.join(unused)}; the other values of these rows are used"] if unused else []
    if report.confirmed:
        found.append(f"{report.confirmed} far from expected but kept: unusual rather than wrong")
    return found


def general_notes(ignored: tuple[str, ...], given: int, used: int) -> tuple[str, ...]:
    """What is worth knowing of the data as a whole: columns ignored, rows dropped."""
    notes = []
    if ignored:
        many = "column is" if len(ignored) == 1 else "columns are"
        notes.append(f"{len(ignored)} {many} not in the graph and ignored: {shorten(ignored)}")
    if used < given:
        notes.append(f"{given - used} of {given} rows have missing values and were dropped")
    return tuple(notes)


def missing_note(holes: int, cells: int, lacks_levels: bool = False) -> str:
    """What maximum likelihood over the cells that are there takes for granted."""
    levels = "; levels of categories, which are taken as Gaussian, must be missing by chance alone"
    return (
        f"{holes} of {cells} cells ({holes / cells:.2%}) are missing: the likelihood of the "
        "others was maximised, which is right if what is missing depends only on cells of the "
        f"same row that are there (missing at random){levels * lacks_levels}"
    )


def factor_notes(dag: Dag) -> list[str]:
    """What the nodes of categories are."""
    return [
        f"{name} is a category: its levels {shorten(levels[1:])} are nodes, 1 or 0, and are "
        f"compared with {levels[0]!r}"
        for name, levels in dag.factors.items()
    ]


def level_notes(dag: Dag, shares: Mapping[str, float], rows: int) -> list[str]:
    """Levels of a category that may be one, spelt in two ways; `shares` are means of nodes.

    Examples
    --------
    >>> dag = Dag.parse("y ~ g").with_factors({"g": ("diesel", "Diesel ", "petrol")})
    >>> level_notes(dag, {"g[Diesel ]": 0.1, "g[petrol]": 0.5}, 100)[0][:49]
    "the levels 'diesel' and 'Diesel ' of g look alike"
    """
    found = []
    for name, levels in dag.factors.items():
        others = {level: shares[indicator(name, level)] for level in levels[1:]}
        known = {levels[0]: 1.0 - sum(others.values()), **others}
        for pair in combinations(levels, 2):
            common, rare = sorted(pair, key=lambda level: -known[level])
            if round(known[rare] * rows) == 1 and _is_misspelt(rare, common, known[common] * rows):
                found.append(
                    f"the level {rare!r} of {name} stands in one row and looks like {common!r}: if "
                    "it is misspelt, mend it in the data"
                )
            elif _look_alike(*pair, known[rare], known[common]):
                found.append(
                    f"the levels {pair[0]!r} and {pair[1]!r} of {name} look alike: if they are the "
                    "same, write them alike in the data"
                )
        if known[levels[0]] < RARE_REFERENCE:
            found.append(
                f"the levels of {name} are compared with {levels[0]!r}, a level of few rows "
                f"({max(known[levels[0]], 0.0):.1%}): state its levels with a common one first"
            )
    return found


def _is_misspelt(rare: str, common: str, rows: float) -> bool:
    """Whether a level of one row is a frequent one but for one letter, no digit."""
    first, second = bare_name(rare), bare_name(common)
    if rows < OFTEN or min(len(first), len(second)) < SHORTEST_ONCE:
        return False
    start = _common_start(first, second)
    end = min(_common_start(first[::-1], second[::-1]), min(len(first), len(second)) - start)
    left = first[start : len(first) - end], second[start : len(second) - end]
    is_swap = len(left[0]) == 2 and left[0] == left[1][::-1]
    return (is_swap or max(map(len, left)) <= 1) and not any(map(str.isdigit, "".join(left)))


def _common_start(first: str, second: str) -> int:
    """How many letters two texts begin with alike."""
    pairs = zip(first, second, strict=False)
    apart = (place for place, (a, b) in enumerate(pairs) if a != b)
    return next(apart, min(len(first), len(second)))


def _look_alike(one: str, other: str, rarer: float, commoner: float) -> bool:
    """Whether two levels differ in case or blanks, or one is rare and nearly spelt as the other."""
    first, second = bare_name(one), bare_name(other)
    if first == second:
        return True
    if min(len(first), len(second)) < SHORTEST or abs(len(first) - len(second)) > 1:
        return False
    numbered = first.rstrip("0123456789") != first or first[:-1] == second[:-1]
    from difflib import SequenceMatcher  # slow to import

    alike = SequenceMatcher(None, first, second).ratio() > ALIKE
    return rarer < RARE * commoner and alike and not numbered


def _kind_of_values(report: NodeReport) -> list[str]:
    """What the shape of a column means for what was flagged in it."""
    found = []
    if report.shaped:
        agreeing = "parents and children" if report.parents else "children"
        found.append(
            f"does not look Gaussian (skewed, heavy tails or groups), but its {agreeing} "
            f"do not contradict its {'other ' * bool(report.flagged)}values, which were kept: "
            "consider a transformation, or a variable that is missing from the graph"
        )
    if report.tied:
        others = ", unless they lie far beyond all others" * bool(report.flagged)
        found.append(
            f"so many of its values are equal that wrong values in it cannot be told{others}; it "
            "is fitted by least squares"
        )
    elif report.discrete and report.flagged:
        found.append("it has few distinct values: only values far from these were flagged")
    return found
