"""What a fit amounts to, in three lines: does it fit, what was wrong, how far to trust it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gaussnet.data.factors import column_positions
from gaussnet.display import escaped
from gaussnet.errors import GaussnetError
from gaussnet.fitting.measures import FitMeasures, find_r2, is_usual, small_sample_pvalue
from gaussnet.fitting.residuals import FAR, SKEWED, ResidualShapes, listed, shapes_of_fit
from gaussnet.fitting.text import shown
from gaussnet.graph.dag import counted, indicator
from gaussnet.methods.robust.findings import MENDED_BY
from gaussnet.tails import PValue
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.graph_tests import GraphCheck
    from gaussnet.fitting.result import Fit

MOST_WORK = 2e9
"""Missing edges times rows up to which the graph is checked without being asked."""
MOST_MEASURED = 200
"""Nodes up to which the measures of fit are found without being asked."""
MOST_MEASURED_WORK = 2e7
"""Rows times squared nodes up to which they are, where graphs must be learnt for them."""
FEW_MISSING = 0.02
"""Levels of a category may be missing in so many of the rows without harm."""
MISFIT = 0.01
"""P-value of chi-square below which all missing edges together are said not to hold."""
FEW_ROWS = 10
"""Fewer rows than this for each parameter of the largest equation are few."""
FEWEST_VALUES = 2
"""Two values among so many are no sign that there are no others."""
SOME = 100
"""Values of a column that are looked at first."""
LEVEL = 0.95
BELOW = -0.1
"""R2 below this is no matter of chance: an equation that explains nothing has an R2 of about 0."""


class FitSummary(str):
    """Plain sentences on a fit in three lines: a string that knows its parts.

    Examples
    --------
    >>> import gaussnet as gn
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc"), seed=0)
    >>> fit = gn.fit(truth.sample(500, seed=1), gn.Dag.parse("[a][b|a][c|b]", nodes="abc"))
    >>> fit.summary().fits
    'The data contradict the graph in its 1 missing edge, a and c, and the residuals look Gaussian.'
    """

    fits: str
    """Whether the data agree with the graph, and residuals with Gaussian noise."""
    data: str
    """What was wrong with the data."""
    trust: str
    """How far the numbers can be trusted."""
    warns: bool
    """Whether one of the sentences is a warning."""
    restricts: bool
    """Whether the last sentence restricts trust, though nothing speaks against the model."""

    def __new__(
        cls, fits: str, data: str, trust: str, warns: bool = False, restricts: bool = False
    ) -> "FitSummary":
        """The sentences as they are printed."""
        summary = super().__new__(cls, "\n".join((fits, data, trust)))
        summary.fits, summary.data, summary.trust = fits, data, trust
        summary.warns, summary.restricts = warns, restricts
        return summary

    def __getnewargs__(self) -> tuple[str, str, str, bool, bool]:  # type: ignore[override]
        """What a copy is made from."""
        return self.fits, self.data, self.trust, self.warns, self.restricts

    @property
    def sentences(self) -> tuple[str, str, str]:
        """The three lines, whether it fits first."""
        return self.fits, self.data, self.trust

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The sentences in a notebook."""
        return "".join(f"<p style='margin:.2em 0'>{escaped(one)}</p>" for one in self.sentences)


class Checked(NamedTuple):
    """The check of the graph, or why there is none."""

    check: "GraphCheck | None"
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class KnownVerdict:
    """What a verdict found in the rows, for a copy of the fit that has none."""

    checked: Checked
    misfit: float | None
    worst: dict[int, float]
    unexplained: dict[str, float]
    two_valued: list[str]
    lacking_levels: list[str]
    summary: FitSummary


T = TypeVar("T")


def found_in_rows(find: "Callable[[Verdict], T]") -> "cached_property[T]":
    """A property that is found when it is first asked for, unless it is known already."""

    def found(verdict: "Verdict") -> T:
        known = verdict.known
        return find(verdict) if known is None else getattr(known, find.__name__)

    found.__doc__ = find.__doc__
    return cached_property(found)


class Verdict:
    """What the sentences rest on, each found when it is first asked for."""

    def __init__(self, fit: "Fit", known: KnownVerdict | None = None) -> None:
        self.fit, self.known = fit, known

    def found(self) -> KnownVerdict:
        """All that is found in the rows."""
        return KnownVerdict(
            self.checked,
            self.misfit,
            self.worst,
            self.unexplained,
            self.two_valued,
            self.lacking_levels,
            self.summary,
        )

    @property
    def check(self) -> "GraphCheck | None":
        """The check of the graph, unless there are no rows or it would take long."""
        return self.checked.check

    @found_in_rows
    def checked(self) -> Checked:
        """The same, or why there is none."""
        fit = self.fit
        nodes = len(fit.dag)
        missing = nodes * (nodes - 1) // 2 - len(fit.dag.edges)
        try:
            gone = fit.data is None and fit.sums is not None and fit.sums.cross is not None
            if not gone and not fit.required_data("").table().is_in_memory:
                return Checked(None, "the rows are in a file: call check_graph()")
        except GaussnetError as problem:
            return Checked(None, str(problem) if fit.data else "the fit no longer has its rows")
        if missing * fit.rows > MOST_WORK:
            words = f"there are {counted(missing, 'missing edge')}: call check_graph()"
            return Checked(None, words)
        try:
            return Checked(fit.check_graph())
        except GaussnetError as problem:
            return Checked(None, str(problem))

    @cached_property
    def measures(self) -> FitMeasures | None:
        """Measures of fit; None where they are refused or would take long."""
        if self._measures_take_long:
            return None
        try:
            return self.fit.fit_measures()
        except GaussnetError:
            return None

    @property
    def _measures_take_long(self) -> bool:
        fit, nodes = self.fit, len(self.fit.dag)
        learns = fit.method.fills_holes or fit.trimming is not None
        most = MOST_MEASURED_WORK if learns else MOST_WORK
        return nodes > MOST_MEASURED or fit.rows * nodes**2 > most

    @property
    def _is_usual(self) -> bool:
        """Whether chi-square is clearly no larger than chance makes it, or is not to be had."""
        try:
            return self._measures_take_long or is_usual(self.fit)
        except GaussnetError:
            return True

    @found_in_rows
    def misfit(self) -> float | None:
        """P-value of chi-square if it contradicts all missing edges together and no test does one.

        It does if it also is below 0.01 when the number of rows is allowed for.
        """
        if self.check is None or not (self.check.tests > 1 and self.check.agrees):
            return None
        if self._is_usual or self.measures is None or not self.measures["pvalue"] < MISFIT:
            return None
        if (self.fit.network.variance_array == 0.0).any():
            return None
        fit, chisq = self.fit, self.measures["chisq"]
        fewest = int(fit.details.rows.min(initial=fit.rows))
        is_small = small_sample_pvalue(fit.dag, chisq, fewest, fit.intercept) < MISFIT
        return self.measures["pvalue"] if is_small else None

    @cached_property
    def shapes(self) -> ResidualShapes | None:
        """The shapes of the residuals; None without rows."""
        return self.fit.residual_shapes

    @found_in_rows
    def summary(self) -> FitSummary:
        """The three lines."""
        restricts = bool(self.heavy_tailed) and not self.warns
        return FitSummary(self.fits, self.data, self.trust, self.warns, restricts)

    @property
    def contradicted(self) -> bool:
        """Whether the data contradict the graph."""
        return self.check is not None and not self.check.agrees

    @property
    def doubts_graph(self) -> bool:
        """Whether they do, or contradict all missing edges together though no single one."""
        return self.contradicted or self.misfit is not None

    @property
    def warns(self) -> bool:
        """Whether there is something to warn of."""
        shapes = (self.wild, self.odd_shapes, self.believed, self.skewed, self.two_valued)
        values = (self.fit.suspected_codes, self.far, self.unexplained, self.largely_flagged)
        equations = (self.is_singular, self.is_exact, self.is_small, self.lacking_levels)
        return self.doubts_graph or any((*shapes, *values, *equations, self.contaminated))

    @property
    def wild(self) -> list[str]:
        """Nodes with wild values."""
        return self._named("wild values")

    @cached_property
    def largely_flagged(self) -> list[str]:
        """Nodes with so many flagged values that are usual that the graph may be wrong instead."""
        lenient = None if self.fit.trimming is None else self.fit.trimming.lenient
        names = self.fit.dag.nodes
        return [] if lenient is None else [shown(names[node]) for node in lenient.nodes]

    @property
    def far(self) -> list[str]:
        """Nodes with believed values so far off that no noise explains them, in robust fits."""
        names, worst = self.fit.dag.nodes, self.worst
        return [shown(names[node]) for node in sorted(worst, key=lambda node: -worst[node])]

    @found_in_rows
    def worst(self) -> dict[int, float]:
        """The same by position, with the worst value of each in standard deviations of its noise.

        Where the fit does not believe a parent there is no residual. Then a value of a column that
        was not judged counts by what it was suspected for: perhaps the parent was flagged for it.
        """
        trimming, shapes = self.fit.trimming, self.shapes
        if trimming is None or shapes is None:
            return {}
        worst, sizes = np.abs(np.nan_to_num(shapes.worst)), np.abs(np.nan_to_num(shapes.furthest))
        for node, indices in trimming.found("confirmed"):
            cells, left_out = trimming.cells[node], trimming.left_out.get(node, ())
            unseen = indices[np.isin(cells.rows[indices], left_out)]
            if trimming.is_judged(node) or not len(unseen):
                continue
            far = (trimming.recorded[node] - cells.expected)[unseen]
            noise = float(self.fit.network.noise_scales[node])
            worst[node] = max(worst[node], np.abs(far).max() / noise)
            sizes[node] = max(sizes[node], np.abs(cells.deviations[unseen]).max())
        return {node: float(worst[node]) for node in np.flatnonzero(sizes > FAR).tolist()}

    @found_in_rows
    def unexplained(self) -> dict[str, float]:
        """Nodes of a robust fit whose R2 is clearly below 0, and this."""
        if self.fit.trimming is None or self.shapes is None:
            return {}
        try:
            found = find_r2(self.fit)
        except GaussnetError:
            return {}
        below = np.flatnonzero(found < BELOW).tolist()
        below.sort(key=lambda node: float(found[node]))
        return {shown(self.fit.dag.nodes[node]): float(found[node]) for node in below}

    @property
    def odd_shapes(self) -> list[str]:
        """Nodes whose residuals are not Gaussian in another way."""
        return self._named("skewed", "heavy tails", "light tails")

    @found_in_rows
    def two_valued(self) -> list[str]:
        """Nodes with parents that have only two values, as 0 and 1: noise is not Gaussian there."""
        dag = self.fit.dag
        rows = self._rows_in_memory()
        nodes = set(np.flatnonzero(dag.in_degrees).tolist())
        nodes -= {dag.position(name) for name in dag.indicators}
        columns = () if rows is None else sorted(nodes)
        return [shown(dag.nodes[node]) for node in columns if _has_two(rows[:, node])]

    def _rows_in_memory(self) -> Any:
        """The rows as an array; None where they are gone, changed or in a file."""
        try:
            table = self.fit.required_data("").table()
            return table.in_memory("its values").array if table.is_in_memory else None
        except GaussnetError:
            return None

    @property
    def believed(self) -> list[str]:
        """Nodes that a robust fit believed although they do not look Gaussian."""
        trimming = self.fit.trimming
        nodes = () if trimming is None else (*trimming.shaped, *trimming.tied)
        return [shown(self.fit.dag.nodes[node]) for node in dict.fromkeys(nodes)]

    @property
    def tied(self) -> list[str]:
        """Nodes so many values of which are equal that wrong ones cannot be told."""
        trimming = self.fit.trimming
        return [] if trimming is None else [shown(self.fit.dag.nodes[n]) for n in trimming.tied]

    def _unjudged_words(self) -> list[str]:
        """That wrong values of believed columns could not be told from their shape."""
        trimming, shapes = self.fit.trimming, self.shapes
        nodes = () if trimming is None or shapes is None else trimming.shaped
        advised: dict[str, list[str]] = {}
        for node in nodes:
            assert shapes is not None
            advice = _shape_advice(float(shapes.skewness[node]), self._is_positive(node))
            advised.setdefault(advice, []).append(repr(shown(self.fit.dag.nodes[node])))
        for name in self.tied:
            others = ", unless far beyond all others" * (name in self._flags)
            advised.setdefault(f"its many equal values{others}", []).append(repr(name))
        return [
            f"wrong values in {listed(names)} could not be told from "
            f"{advice if len(names) == 1 else advice.replace('its', 'their')}"
            for advice, names in advised.items()
        ]

    def _is_positive(self, node: int) -> bool:
        """Whether all values of a node have a logarithm; False where the rows are gone."""
        rows = self._rows_in_memory()
        return rows is not None and float(np.nanmin(rows[:, node])) > 0.0

    @property
    def skewed(self) -> list[str]:
        """Nodes whose flagged values may be right, because they look like those of a skewed one."""
        trimming = self.fit.trimming
        return [] if trimming is None else [shown(self.fit.dag.nodes[n]) for n in trimming.skewed]

    @property
    def heavy_tailed(self) -> list[str]:
        """Nodes whose flagged values may be the heavy tails of right noise."""
        trimming = self.fit.trimming
        nodes = () if trimming is None else trimming.heavy_tailed
        return [shown(self.fit.dag.nodes[node]) for node in nodes]

    def _named(self, *kinds: str) -> list[str]:
        if self.shapes is None:
            return []
        found = self.shapes.nodes(*kinds)  # type: ignore[arg-type]
        return [shown(self.fit.dag.nodes[node]) for node in found]

    @property
    def is_singular(self) -> bool:
        """Whether the rows leave some coefficients open."""
        return bool((self.fit.details.ranks < self.fit.dag.in_degrees).any())

    @property
    def is_exact(self) -> bool:
        """Whether some nodes have no noise."""
        return bool((self.fit.network.variance_array == 0.0).any())

    @property
    def is_small(self) -> bool:
        """Whether there are few rows for the largest equation."""
        fewest = int(self.fit.details.rows.min(initial=self.fit.rows))
        return fewest < FEW_ROWS * self._most_coefficients

    @property
    def _most_coefficients(self) -> int:
        """Coefficients of the largest equation, with its intercept if it has one."""
        return self.fit.dag.max_in_degree + self.fit.intercept

    @property
    def contaminated(self) -> bool:
        """Whether a test finds the data contaminated."""
        trimming = self.fit.trimming
        test = None if trimming is None else trimming.contamination
        return test is not None and bool(test.contaminated)

    @property
    def fits(self) -> str:
        """Whether graph and residuals agree with the data."""
        return f"{self._graph_words()}, and {self._shape_words()}."

    def _graph_words(self) -> str:
        check = self.check
        if check is None:
            return f"Whether the data agree with the graph was not checked ({self.checked.reason})"
        if not check.tests and check.untested:
            return "The rows cannot tell whether they agree with the graph"
        if not check.tests:
            return "The graph has no missing edge that the data could contradict"
        tests = counted(check.tests, "missing edge")
        if check.agrees:
            return self._agreement(tests)
        worst = check.rejected[0]
        names = f"{shown(worst.other)} and {shown(worst.node)}"
        if check.tests == 1:
            return f"The data contradict the graph in its {tests}, {names}"
        count = len(check.rejected)
        return (
            f"The data contradict the graph in {count:,} of its {tests}, "
            f"{'namely' if count == 1 else 'first of all'} {names}"
        )

    def _agreement(self, tests: str) -> str:
        """That no missing edge is contradicted; but perhaps all of them together."""
        if self.misfit is None and self.check is not None and self.check.hardly_tells:
            return (
                f"The rows are too few to contradict the graph ({tests} tested; only partial "
                f"correlations beyond {self.check.detectable:.2f} would be found)"
            )
        if self.misfit is None:
            hidden = ", though wild values can hide what contradicts it" * self._may_hide
            return f"The data agree with the graph ({tests} tested){hidden}"
        return (
            f"The data contradict no single one of the {tests}, but all of them together "
            f"(chi-square p-value {PValue(self.misfit)!s})"
        )

    @property
    def _may_hide(self) -> bool:
        """Whether wild values or codes count in the tests of the graph."""
        wild = set(self.wild).difference(self.logarithmic)
        return self.fit.trimming is None and bool(wild or self.fit.suspected_codes)

    def _shape_words(self) -> str:
        odd = [words for words in (self._odd_words(), self._two_words()) if words]
        if odd or self.shapes is None:
            return ", and ".join(odd) or "the residuals were not looked at"
        if self.shapes.are_few:
            return "there are too few rows to judge the residuals"
        without = " without the flagged values" * bool(self._flags)
        return f"the residuals look Gaussian{without}"

    def _two_words(self) -> str:
        """Which nodes with parents have only two values; or ""."""
        names = listed(self.two_valued)
        return f"the values of {names} are only two numbers" if self.two_valued else ""

    def _odd_words(self) -> str:
        """Which nodes do not look Gaussian; or ""."""
        if self.skewed:
            return f"the values of {listed(self.skewed)} look skewed"
        odd = [*self.wild, *self.odd_shapes]
        if not odd or self.shapes is None:
            names = listed(self.believed)
            return f"the values of {names} do not look Gaussian" if self.believed else ""
        nodes = self.shapes.nodes("wild values", "skewed", "heavy tails", "light tails")
        worst = float(np.abs(self.shapes.worst[nodes]).max())
        skewness = [self.shapes.skewness[node] for node in self.shapes.nodes("skewed")]
        strength = [f"worst {worst:.3g} sd of the noise"]
        if skewness:
            strength.append(f"skewness {max(skewness, key=abs):.2g}")
        subject = _subject(self.fit, nodes)
        return f"the {subject} of {listed(odd)} are not Gaussian ({', '.join(strength)})"

    @property
    def data(self) -> str:
        """What was wrong with the data."""
        fit = self.fit
        codes = [f"{code.found} and may mean missing" for code in fit.suspected_codes]
        found = [*self._missing_words(), *codes, *self._flag_words(), *self._singular_words()]
        found += self._unjudged_words()
        wild = [] if fit.trimming is not None else self.wild
        wild = [name for name in wild if name not in self.logarithmic]
        if wild:
            found.append(f"there are wild values in {listed(wild)}")
        if self.logarithmic:
            names = listed(self.logarithmic)
            found.append(f"the values of {names} look skewed, and their logarithms Gaussian")
        if found:
            sentence = "; ".join(found)
            return f"{sentence[0].upper()}{sentence[1:]}."
        if fit.trimming is not None and self.far:
            return f"No value is missing or flagged, but values of {listed(self.far)} are far off."
        if fit.trimming is not None:
            return "Nothing was found wrong with the data: no value is missing or flagged."
        if self.shapes is None:
            return "Wrong values were not looked for: that needs the rows in memory, unchanged."
        return "No value is missing or clearly wrong; wrong values that look usual cannot be seen."

    def _missing_words(self) -> list[str]:
        fit = self.fit
        survey = None if fit.data is None else fit.data.survey
        columns = column_positions(fit.dag)
        given = None if survey is None else survey.rows
        if survey is not None and fit.method.fills_holes and survey.holes.any():
            return _hole_words(int(survey.holes[columns].sum()), fit.rows * len(columns))
        if fit.trimming is not None and fit.trimming.bridged:
            holes = sum(fit.trimming.count(node, "missing") for node in columns)
            return _hole_words(holes, fit.rows * len(columns))
        if given is not None and fit.rows < given:
            dropped = given - fit.rows
            return [f"{dropped:,} of {given:,} rows have missing values and were left out"]
        touched = np.flatnonzero(fit.details.dropped > 0)
        if not len(touched):
            return []
        names = [shown(fit.dag.nodes[node]) for node in touched.tolist()]
        most = int(fit.details.dropped.max())
        return [f"missing values cost {listed(names)} up to {most:,} of {fit.rows:,} rows"]

    @found_in_rows
    def lacking_levels(self) -> list[str]:
        """Categories whose missing levels were bridged as if they were Gaussian, if they are many.

        Their coefficients are biased unless levels are missing by chance alone.
        """
        dag, most = self.fit.dag, FEW_MISSING * self.fit.rows
        first = {name: dag.position(indicator(name, own[1])) for name, own in dag.factors.items()}
        return [shown(name) for name, node in first.items() if self._bridged(node) > most]

    def _bridged(self, node: int) -> int:
        """The missing values of a node whose rows count all the same."""
        survey = None if self.fit.data is None else self.fit.data.survey
        if self.fit.trimming is not None and self.fit.trimming.bridged:
            return self.fit.trimming.count(node, "missing")
        if survey is None or not self.fit.method.fills_holes:
            return 0
        return int(survey.holes[node])

    @property
    def _flags(self) -> dict[str, int]:
        """The number of flagged values of each node that has any."""
        trimming, nodes = self.fit.trimming, self.fit.dag.nodes
        if trimming is None:
            return {}
        counts = ((node, trimming.count(place, "flagged")) for place, node in enumerate(nodes))
        return {shown(node): count for node, count in counts if count}

    def _flag_words(self) -> list[str]:
        if not self._flags:
            return []
        total = sum(self._flags.values())
        words = "value does not fit and was" if total == 1 else "values do not fit and were"
        return [f"{total:,} {words} flagged, in {listed(self._flags)}", *self._foreign_words()]

    def _foreign_words(self) -> list[str]:
        trimming = self.fit.trimming
        if trimming is None or len(trimming.foreign_rows) < 2:
            return []
        count = len(trimming.foreign_rows)
        many = ", or relations are no straight lines" * (count >= trimming.many_foreign)
        return [f"{count:,} rows fit in none of their values: they may be from elsewhere{many}"]

    def _singular_words(self) -> list[str]:
        fit, found = self.fit, []
        short = np.flatnonzero(fit.details.ranks < fit.dag.in_degrees).tolist()
        if short:
            names = listed(shown(fit.dag.nodes[node]) for node in short)
            found.append(f"the parents of {names} are constant or collinear")
        still = np.flatnonzero(fit.network.variance_array == 0.0).tolist()
        if still:
            names = listed(shown(fit.dag.nodes[node]) for node in still)
            found.append(f"there is no noise in {names}")
        return found

    @property
    def trust(self) -> str:
        """How far the numbers can be trusted, the most serious reason first."""
        wrong = self._wrong_values()
        if wrong:
            return wrong
        model, flags = self._model_words(), self._flag_caution()
        if model or self.skewed:
            return " ".join(filter(None, (model, self._root_words(), flags)))
        odd = {*self.odd_shapes, *self.wild, *self.believed, *self.two_valued}
        roots = self._root_words()
        conditions = [*(["they are wrong"] if flags else []), "the graph is right"]
        conditions[-1:] = [] if roots else conditions[-1:]
        conditions.append("relations are linear")
        if self.believed:
            conditions.append(f"no value of {listed(self.believed)} is wrong")
        condition = f"If {listed(conditions)}"
        promise = self._cautious(odd, condition) if odd else self._promise(condition)
        return " ".join(filter(None, (roots, flags, promise)))

    def _model_words(self) -> str:
        """Why not to trust the numbers even if all flagged values are wrong; or ""."""
        fit = self.fit
        if self.doubts_equations:
            return (
                "Do not trust effects and standard errors before the graph is corrected: they hold "
                "only if it is right."
            )
        if self.is_singular:
            return "Do not trust coefficients of collinear parents: the rows do not determine them."
        if self.is_small:
            rows = int(fit.details.rows.min(initial=fit.rows))
            return (
                f"Trust the numbers little: {rows:,} rows are few for an equation with "
                f"{counted(self._most_coefficients, 'coefficient')}."
            )
        if self.lacking_levels:
            names = listed(self.lacking_levels)
            return (
                f"Trust the coefficients of {names} and their intervals only if levels are missing "
                "by chance alone: missing levels are taken as Gaussian, which is biased if they "
                "depend on other columns."
            )
        if self.is_exact:
            still = np.flatnonzero(fit.network.variance_array == 0.0).tolist()
            names = listed(shown(fit.dag.nodes[node]) for node in still)
            return (
                f"There is no noise in {names}, as in a column that is constant or computed from "
                "its parents: trust the equation only if that is so."
            )
        return ""

    @cached_property
    def correlated_roots(self) -> frozenset[str]:
        """Nodes without parents that are found correlated, if nothing else is contradicted."""
        dag, pairs = self.fit.dag, () if self.check is None else self.check.rejected
        ends = frozenset(node for pair in pairs for node in (pair.node, pair.other))
        return frozenset() if any(map(dag.parents, ends)) else ends

    @property
    def doubts_equations(self) -> bool:
        """Whether the data contradict the graph in more than that roots are uncorrelated.

        Which says nothing of the equations.
        """
        return self.doubts_graph and not self.correlated_roots

    def _root_words(self) -> str:
        """What holds although nodes without parents are correlated; or ""."""
        if not self.correlated_roots:
            return ""
        return (
            "Only nodes without parents are found correlated, which the graph says they are not: "
            "equations hold as in regression, and the effects of such a node if it causes none of "
            "the others; use roots='correlated' for variances, predictions and measures of fit."
        )

    def _cautious(self, odd: set[str], condition: str) -> str:
        """What can be trusted if the values of these nodes do not look Gaussian."""
        dag = self.fit.dag
        intervals = "can be trusted, but intervals need the bootstrap, and"
        if odd <= {shown(node) for node in dag.nodes if not dag.parents(node)}:
            intervals = "and their intervals can be trusted, but"
        return f"{condition}, the coefficients {intervals} probabilities of rare values are rough."

    def _wrong_values(self) -> str:
        """What wrong values do to the numbers, which no graph could mend; or ""."""
        fit = self.fit
        if self.wild and fit.trimming is None:
            whose = "its" if len(self.wild) == 1 else "their"
            tests = ", nor what contradicts the graph" * self.contradicted
            return (
                f"Do not trust the numbers of {listed(self.wild)} and of {whose} children{tests}: "
                f"{self._wild_advice()}."
            )
        if self.largely_flagged:
            whose = "its" if len(self.largely_flagged) == 1 else "their"
            return (
                f"Do not trust the numbers of {listed(self.largely_flagged)} and of {whose} "
                f"parents and children: more than a quarter of {whose} values were flagged though "
                "they are usual; either they are wrong, or the graph lacks an edge nearby."
            )
        if self.unexplained:
            names = list(self.unexplained)
            whose = "its" if len(names) == 1 else "their"
            return (
                f"Do not trust the numbers of {listed(names)} and of {whose} children: {whose} R2 "
                f"is {self.unexplained[names[0]]:.2g}, so that values which were believed do not "
                f"follow the equation; look at them{self._trim_advice(names)}."
            )
        if self.far:
            worst, children = max(self.worst.values()), self._children_words(self.worst)
            return (
                f"Trust the numbers of {listed(self.far)}{children} only if values up to "
                f"{worst:.0f} standard deviations of the noise off are right: the fit believes "
                f"them; look at them{self._trim_advice(self.far)}."
            )
        return ""

    def _children_words(self, nodes: Collection[int]) -> str:
        """That the children of these nodes are meant too; "" if there are none."""
        dag = self.fit.dag
        whose = "its" if len(nodes) == 1 else "their"
        return f" and of {whose} children" * any(dag.children(dag.nodes[node]) for node in nodes)

    def _trim_advice(self, names: Sequence[str]) -> str:
        """To try another robust method, if there is one and it could judge these nodes."""
        other, cannot = self.fit.method.other_robust, {*names} <= {*self.tied, *self.two_valued}
        return "" if other is None or cannot else f", and try method={other!r}"

    def _wild_advice(self) -> str:
        """What to do about wild values of a fit that is not robust."""
        wild = [name for name in self.wild if name not in self.logarithmic]
        skewed = [name for name in self.wild if name in self.logarithmic]
        advice = []
        if skewed:
            advice.append(f"first take the logarithm of {listed(skewed)} and fit again")
        if wild:
            advice.append(f"{_method_words(self.fit)} follows wild values, so try method='robust'")
        return "; ".join(advice)

    @property
    def logarithmic(self) -> list[str]:
        """Nodes of a fit that is not robust whose odd residuals a logarithm would mend."""
        if self.shapes is None or self.fit.trimming is not None:
            return []
        return [shown(self.fit.dag.nodes[node]) for node in self.shapes.logarithmic]

    def _flag_caution(self) -> str:
        """What to know if flagged values are right, as in a skewed column or heavy tails; or ""."""
        fit = self.fit
        if not self.skewed:
            return self._tails()
        assert fit.trimming is not None
        whose = "its" if len(self.skewed) == 1 else "their"
        sides = set(fit.trimming.skewed.values())
        mends = "; where they lie below, ".join(
            MENDED_BY[side] for side in (1, -1) if side in sides
        )
        return (
            f"Trust the numbers of {listed(self.skewed)} and of {whose} parents and children only "
            "if the flagged values are wrong: they lie on one side and join the others, as in a "
            f"skewed column, so {mends}."
        )

    def _tails(self) -> str:
        """That intervals are too short if flagged values are right; or ""."""
        if not self.heavy_tailed:
            return ""
        return (
            f"Trust the intervals at {listed(self.heavy_tailed)} only if the flagged values there "
            "are wrong: many join the others without a gap, as heavy tails do, so compare those of "
            "kind='bootstrap'."
        )

    def _promise(self, condition: str) -> str:
        """How sure the coefficients are, if the model is right."""
        fit = self.fit
        start = f"{condition}, {counted(fit.rows, 'row')} tell"
        try:
            ends = np.array(list(fit.confidence_intervals(LEVEL).coefficients.values()))
        except GaussnetError:
            return f"{condition}, the coefficients rest on {counted(fit.rows, 'row')}."
        if not len(ends):
            return f"{condition}, means and variances rest on {counted(fit.rows, 'row')}."
        apart = int(((ends[:, 0] > 0.0) | (ends[:, 1] < 0.0)).sum())
        edges = counted(len(ends), "coefficient")
        return f"{start} {apart:,} of {edges} apart from 0 (95 % intervals)."


def _has_two(values: FloatArray) -> bool:
    """Whether a column has two values and no others; NaN is none.

    Examples
    --------
    >>> _has_two(np.array([0.0, 1.0, np.nan, 1.0])), _has_two(np.array([0.0, 1.0, 2.0, 0.0]))
    (True, False)
    """
    known = np.asarray(values[~np.isnan(values)], np.float64)
    if len(known) <= FEWEST_VALUES or _varies_within(known[:SOME]):
        return False
    return bool(known.min() < known.max()) and not _varies_within(known)


def _varies_within(values: FloatArray) -> bool:
    """Whether some values are neither the least nor the largest; no sort as in `numpy.unique`."""
    return bool(((values != values.min()) & (values != values.max())).any())


def _method_words(fit: "Fit") -> str:
    """What the method is called in a sentence."""
    return "maximum likelihood" if fit.method.fills_holes else fit.method.name


def _shape_advice(skewness: float, is_positive: bool) -> str:
    """What hides wrong values of a column, and what shows them.

    Examples
    --------
    >>> _shape_advice(2.0, is_positive=True)
    'its skew: take its logarithm and fit again'
    """
    if skewness > SKEWED and is_positive:
        return "its skew: take its logarithm and fit again"
    if abs(skewness) > SKEWED:
        return "its skew: look at its smallest and largest values, or transform it and fit again"
    return "its tails or groups: look at its smallest and largest values"


def _hole_words(holes: int, cells: int) -> list[str]:
    """How many values are missing where each of the others counts."""
    are = "value is" if holes == 1 else f"of {cells:,} values are"
    return [f"{holes:,} {are} missing, and the fit uses all others"] if holes else []


def _subject(fit: "Fit", nodes: Sequence[int]) -> str:
    """What is told of: nodes without parents have values, others residuals."""
    return "residuals" if fit.dag.in_degrees[list(nodes)].any() else "values"


def wild_note(fit: "Fit") -> str | None:
    """A note on residuals that least squares should not have met; None if there are none."""
    shapes = fit.residual_shapes
    if shapes is None or not shapes.wild.any():
        return None
    nodes = shapes.nodes("wild values")
    only_skewed = fit.trimming is None and set(nodes) <= {*shapes.logarithmic}
    advice = "take logarithms first" if only_skewed else "try robust"
    worst = float(np.abs(shapes.worst[nodes]).max())
    names = listed(shown(fit.dag.nodes[node]) for node in nodes)
    strength = f"worst {worst:.3g} sd of the noise"
    return f"{_subject(fit, nodes)} of {names} are far from Gaussian ({strength}): {advice}"


def find_fit_shapes(fit: "Fit") -> ResidualShapes | None:
    """The shapes of the residuals, None where the rows are gone, changed or in a file."""
    try:
        if fit.data is None or not fit.data.table().is_in_memory:
            return None
        return shapes_of_fit(fit)
    except GaussnetError:
        return None
