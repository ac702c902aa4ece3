"""`Fit`: a learnt network, how it was learnt, and what can be asked of it."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from gaussnet import display
from gaussnet.errors import EstimationError, GaussnetError, GraphError, SettingError
from gaussnet.fitting.notes import (
    NodeReport,
    Note,
    factor_notes,
    level_notes,
    node_notes,
)
from gaussnet.graph.dag import Dag, counted
from gaussnet.methods.base import Method, Scale
from gaussnet.model.checks import as_names
from gaussnet.model.network import GaussianNetwork
from gaussnet.named_rows import unknown_words
from gaussnet.types import IntArray

if TYPE_CHECKING:
    from gaussnet.data.codes import Codes
    from gaussnet.data.passes import Progress
    from gaussnet.fitting.comparison import Scores
    from gaussnet.fitting.effects import Effect
    from gaussnet.fitting.graph_tests import GraphCheck, Noise
    from gaussnet.fitting.measures import FitMeasures
    from gaussnet.fitting.outliers import Outliers
    from gaussnet.fitting.prediction import LearntErrors
    from gaussnet.fitting.residuals import ResidualShapes
    from gaussnet.fitting.sensitivity import Sensitivity
    from gaussnet.fitting.standardized import SampleScales
    from gaussnet.fitting.summaries import Summary
    from gaussnet.fitting.suspected_codes import SuspectedCode
    from gaussnet.fitting.tables import ResultTable
    from gaussnet.fitting.uncertainty import ConfidenceIntervals, StandardErrors, Uncertainty
    from gaussnet.fitting.verdicts import FitSummary, KnownVerdict, Verdict
    from gaussnet.methods.groups import FitData
    from gaussnet.methods.robust.contamination import ContaminationTest
    from gaussnet.methods.robust.findings import Trimming
    from gaussnet.methods.standard_errors import Adjustment
    from gaussnet.methods.sums import KeptSums
    from gaussnet.model.inference.counterfactual import Counterfactual
    from gaussnet.model.inference.predicted_rows import Prediction
    from gaussnet.model.seen import Seen
    from gaussnet.planning import Certificate


MEANT = {
    "save": "use fit.save_network(path)",
    "r2": "use fit.node_table()['r2']",
    "rsquared": "use fit.node_table()['r2']",
    "coefficients": "use fit.network.coefficients, or fit.table() with standard errors",
    "coef": "use fit.network.coefficients, or fit.table() with standard errors",
    "params": "use fit.table() for coefficients and fit.node_table() for intercepts and noise",
    "bse": "use fit.table()['std_error']",
    "pvalues": "use fit.table()['p_value']",
    "conf_int": "use fit.confidence_intervals()",
    "resid": "use fit.residuals()",
    "p_values": "use fit.table()['p_value']",
    "condition": "use fit.network.condition(...)",
    "do": "use fit.network.do(...)",
    "sample": "use fit.network.sample(...)",
    "adjustment_sets": "use fit.network.adjustment_sets(...)",
}
"""What attributes that people try stand for."""


@dataclass(frozen=True, eq=False)
class Details:
    """The numbers behind the notes, (nodes,) each, in the order of the graph's nodes."""

    rows: IntArray
    dropped: IntArray
    batches: IntArray
    singular: IntArray
    ranks: IntArray
    set_rows: IntArray
    """Rows left out because the node was set from outside."""


@dataclass(frozen=True, repr=False, eq=False)
class Fit:
    """A learnt network and how it was learnt; printing it shows tables.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
    >>> fit = gn.fit([[2.0, 1.0], [4.1, 2.0], [5.9, 3.0]], dag)
    >>> fit.rows, round(fit.network.coefficients["rain", "wet"], 3)
    (3, 1.95)
    >>> print(fit)
    2 nodes, 1 edge, 3 rows; fitted by least-squares, noise variances from mean squared residuals
    edge         coefficient    95% interval
    rain -> wet         1.95  0.8496 to 3.05
    node  intercept  noise sd
    wet         0.1   0.07071
    rain          2    0.8165
    """

    network: GaussianNetwork
    rows: int
    """Rows of the data, without those dropped for all nodes."""
    method: Method
    scale: Scale
    intercept: bool
    split: tuple[int, int] | None
    details: Details
    general_notes: tuple[str, ...] = ()
    data: "FitData | None" = field(default=None, repr=False, compare=False)
    """The data behind the fit; None if it was loaded or copied, or comes from a summary."""
    trimming: "Trimming | None" = field(default=None, repr=False, compare=False)
    """What the robust method found wrong with the data; None for the other methods."""
    kept: "Summary | None" = field(default=None, repr=False, compare=False)
    """What rows that are added later go on from, if there is one."""
    sums: "KeptSums | None" = field(default=None, repr=False, compare=False)
    """What least squares was solved from, which answers where the rows are gone."""
    known_verdict: "KnownVerdict | None" = field(
        default=None, init=False, repr=False, compare=False
    )
    """What a copy without rows knows of them; None where they are at hand."""

    def __post_init__(self) -> None:
        if self.missing_values and self.network.seen is None:
            from gaussnet.model.seen import Seen

            unknown = np.full(len(self.dag), np.nan)
            seen = Seen(unknown, unknown, missing_values=tuple(self.missing_values))
            object.__setattr__(self, "network", self.network.with_seen(seen))

    if not TYPE_CHECKING:  # else no misspelt attribute would be an error of types

        def __getattr__(self, name: str) -> Any:
            """Refuse an unknown attribute, and say what may be meant."""
            if name in MEANT:
                raise AttributeError(f"'Fit' object has no attribute {name!r}: {MEANT[name]}")
            return object.__getattribute__(self, name)  # says what it always said

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns of the data that are not in the graph."""
        return () if self.data is None else self.data.ignored

    @cached_property
    def missing_values(self) -> "Codes":
        """Numbers that stand for a missing value, in rows that are asked about too."""
        if self.data is not None:
            return self.data.options.missing_values
        return () if self.kept is None else self.kept.missing_values

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.network.dag

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What is worth knowing: values dropped, rows trimmed, windows set aside, ranks, ..."""
        notes = [Note(None, text) for text in self.general_notes]
        notes += [Note(None, text) for text in factor_notes(self.dag)]
        if self.dag.factors:
            shares = dict(zip(self.dag.nodes, self.network.mean().tolist(), strict=True))
            notes += [Note(None, text) for text in level_notes(self.dag, shares, self.rows)]
        missing = "" if self.data is None else self.data.options.missing
        notes += [Note(None, code.note(missing)) for code in self.suspected_codes]
        odd = (
            (self.details.dropped > 0)
            | (self.details.set_rows > 0)
            | (self.details.singular > 0)
            | (self.details.ranks < self.dag.in_degrees)
            | (self.network.variance_array == 0.0)
        )
        if self.trimming is not None:
            trimming = self.trimming
            touched = (*trimming.left_out, *trimming.cells, *trimming.discrete, *trimming.shaped)
            odd[list(touched)] = True
            if trimming.counts is not None:  # not all cells are listed
                odd |= trimming.counts.any(axis=0)
        by_column: dict[tuple[str, str], Note] = {}  # levels of a category share what is missing
        levels = self.dag.indicators
        for position in np.flatnonzero(odd).tolist():
            node = self.dag.nodes[position]
            column, _ = levels.get(node, (node, ""))
            zero = self.network.variance_array[position] == 0.0
            for text in node_notes(self.node(node), bool(zero)):
                by_column.setdefault((column, text), Note(node, text))
        notes += by_column.values()
        follows_all = self.maximizes_likelihood or self.method.fills_holes
        if follows_all and self.trimming is None:
            from gaussnet.fitting.verdicts import wild_note

            wild = wild_note(self)
            notes += [] if wild is None else [Note(None, wild)]
        return tuple(notes)

    def summary(self) -> "FitSummary":
        """Three plain lines: does the model fit, what was wrong, how far to trust it.

        The graph is checked as by `check_graph`, unless that would take long, and residuals are
        looked at; both need the rows.

        Examples
        --------
        >>> import gaussnet as gn
        >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]"), seed=0)
        >>> fit = gn.fit(truth.sample(500, seed=1), truth.dag)
        >>> print(fit.summary())  # doctest: +NORMALIZE_WHITESPACE
        The data agree with the graph (1 missing edge tested), and the residuals look Gaussian.
        No value is missing or clearly wrong; wrong values that look usual cannot be seen.
        If the graph is right and relations are linear, 500 rows tell 2 of 2 coefficients apart
        from 0 (95 % intervals).
        """
        return self._verdict.summary

    @cached_property
    def _verdict(self) -> "Verdict":
        """What the sentences of `summary` rest on, each found when it is first asked for."""
        from gaussnet.fitting.verdicts import Verdict

        return Verdict(self, self.known_verdict)

    @cached_property
    def residual_shapes(self) -> "ResidualShapes | None":
        """What the residuals of each node look like; None where the rows are not in memory."""
        from gaussnet.fitting.verdicts import find_fit_shapes

        return find_fit_shapes(self)

    @cached_property
    def suspected_codes(self) -> "tuple[SuspectedCode, ...]":
        """Values that recur far from the others, as -999 for missing; () without rows in memory."""
        from gaussnet.fitting.suspected_codes import find_suspected_codes

        return find_suspected_codes(self)

    @cached_property
    def sample_scales(self) -> "SampleScales | None":
        """Standard deviations in the rows of each equation; None where these tell nothing."""
        from gaussnet.fitting.standardized import find_sample_scales

        return find_sample_scales(self)

    def residuals(self, *, standardized: bool = False) -> Any:
        """Child minus its equation, in every row of the data; NaN where a value is missing.

        A frame gives a frame with the same index, anything else an array (rows, nodes). With
        `standardized` they are in standard deviations of the noise.

        Examples
        --------
        >>> import gaussnet as gn
        >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]]
        >>> fit = gn.fit(rows, gn.Dag.parse("y ~ x"), columns=["y", "x"])
        >>> fit.residuals().round(2).tolist()[0]
        [0.04, -1.5]
        """
        from gaussnet.fitting.residuals import find_residuals

        return find_residuals(self, standardized)

    def node(self, name: str) -> NodeReport:
        """How the node of this name was learnt."""
        position = self.dag.position(name)
        details, left_out, flagged, confirmed = self.details, 0, 0, 0
        discrete = shaped = tied = bridged = False
        missing = 0
        if self.trimming is not None:
            bridged = self.trimming.bridged
            missing = self.trimming.count(position, "missing") if bridged else 0
            left_out = len(self.trimming.left_out.get(position, ()))
            flagged = self.trimming.count(position, "flagged")
            confirmed = self.trimming.count(position, "confirmed")
            discrete = position in self.trimming.discrete
            shaped = position in self.trimming.shaped
            tied = position in self.trimming.tied
        return NodeReport(
            node=name,
            parents=self.dag.parents(name),
            covaries=() if self.dag.parents(name) else self.dag.conditioned_on(name),
            rows=int(details.rows[position]),
            dropped=int(details.dropped[position]),
            batches=int(details.batches[position]),
            singular=int(details.singular[position]),
            rank=int(details.ranks[position]),
            trimmed=max(left_out - int(details.dropped[position] + details.set_rows[position]), 0),
            flagged=flagged,
            confirmed=confirmed,
            discrete=discrete,
            shaped=shaped,
            tied=tied,
            bridged=bridged,
            missing=missing,
            set_rows=int(details.set_rows[position]),
        )

    @property
    def maximizes_likelihood(self) -> bool:
        """Whether the network is the one of largest likelihood for the rows it was learnt from."""
        if self.split is not None:
            return False
        try:
            method, _ = self.method.certified_as(self.scale, self.trimming)
        except SettingError:
            return False
        return method.maximizes_likelihood

    def table(
        self,
        standardized: bool = False,
        *,
        level: float = 0.95,
        kind: str | None = None,
        repetitions: int | None = None,
        seed: int = 0,
        implied: bool = False,
        **unknown: Any,
    ) -> "ResultTable":
        """Coefficients with standard errors, p-values and intervals, one row per edge.

        The table prints, and goes to `to_frame("pandas")`, `to_markdown()` and `to_latex()`.

        Parameters
        ----------
        standardized
            Whether estimates are in standard deviations of child and parent in the rows, with
            standard errors and intervals of their own by the delta method.
        kind, level, repetitions, seed
            Of the standard errors and intervals, as in `uncertainty`.
        implied
            Whether to standardise by the standard deviations that the network implies instead:
            lavaan's "std.all". Both are the same unless the graph implies a wrong covariance
            between parents. Methods that distrust some values always do so.
        unknown
            Nothing: a setting that does not exist is refused, with the one that is most like it.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], dag)
        >>> print(fit.table())
        Coefficients
        parent  child  estimate  std. error  p-value  95% low  95% high  standardised
        rain    wet       2.060     0.03464   <0.001    1.911     2.209        0.9997
        note: standard errors: least squares; p-values: two-sided t tests
        """
        from gaussnet.fitting.coefficient_tables import edge_table
        from gaussnet.fitting.uncertainty import ErrorChoice

        if unknown:
            raise TypeError(unknown_words(Fit.table, next(iter(unknown)), {}))
        choice = ErrorChoice(kind, level, repetitions, seed)
        return edge_table(self, standardized, choice, implied)

    def covariance_table(
        self,
        *,
        level: float = 0.95,
        kind: str | None = None,
        repetitions: int | None = None,
        seed: int = 0,
    ) -> "ResultTable":
        """Covariances of nodes without parents, as ``x1 ~~ x2`` allows them, one row per pair.

        Standard errors are by the delta method from those of `uncertainty`.

        Examples
        --------
        >>> import gaussnet as gn
        >>> frame = {"x1": [0.0, 1.0, 2.0, 3.0], "x2": [1.0, 0.0, 3.0, 2.0]}
        >>> import pandas as pd
        >>> fit = gn.fit(pd.DataFrame(frame), "x1 ~~ x2")
        >>> correlation = fit.covariance_table(kind="expected").to_dicts()[0]["correlation"]
        >>> round(correlation, 12)
        0.6
        """
        from gaussnet.fitting.coefficient_tables import covariance_table
        from gaussnet.fitting.uncertainty import ErrorChoice

        return covariance_table(self, ErrorChoice(kind, level, repetitions, seed))

    def node_table(
        self,
        *,
        level: float = 0.95,
        kind: str | None = None,
        repetitions: int | None = None,
        seed: int = 0,
        implied: bool = False,
    ) -> "ResultTable":
        """Intercepts, noise, R2 and rows used, one row per node.

        R2 is the share of the variance in the data that the parents explain; with `implied`, of
        the variance that the network implies, which is lavaan's. It is below 0 where the values
        lie farther from the equation than from their own mean: this happens where a method does
        not follow wrong values that are in these rows, and with missing values.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], dag)
        >>> print(fit.node_table())
        Nodes
        node  parents  intercept  std. error  noise sd      R2  rows
        wet         1     0.9600     0.06481   0.05477  0.9994     4
        rain        0      1.500      0.6455     1.118       -     4
        """
        from gaussnet.fitting.coefficient_tables import node_table
        from gaussnet.fitting.uncertainty import ErrorChoice

        return node_table(self, ErrorChoice(kind, level, repetitions, seed), implied)

    def fit_measures(self) -> "FitMeasures":
        """How well the model fits, by lavaan's names: chisq, df, pvalue, cfi, tli, rmsea, srmr, ...

        For least squares, ``missing="likelihood"``, and robust fits to rows in memory, of which
        flagged values are taken as missing, as a note says; for others there is `check_graph`.
        Found in one more pass over the rows; with missing or flagged cells the graphs with every
        edge and without any are learnt for it.

        Examples
        --------
        >>> import gaussnet as gn
        >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]"), seed=0)
        >>> measures = gn.fit(truth.sample(500, seed=1), truth.dag).fit_measures()
        >>> measures["df"], round(measures["pvalue"], 3), round(measures["rmsea"], 4)
        (1.0, 0.169, 0.0423)
        """
        from gaussnet.fitting.measures import find_measures

        return find_measures(self)

    def check_graph(
        self,
        *,
        level: float = 0.05,
        adjust: "Adjustment" = "holm",
        errors: "Noise" = "classical",
        nodes: Iterable[str] | None = None,
    ) -> "GraphCheck":
        """Where the data disagree with the graph: a test of every missing edge, worst first.

        The graph makes each node independent of the earlier ones that are no parents, given
        its parents; their partial correlation is tested with Student's t. P-values are adjusted
        for their number: "holm" keeps the chance of any false alarm below `level`,
        "benjamini-hochberg" the share of false alarms. The test takes the noise of a node as of
        one variance; with ``errors="heteroscedastic"`` each row may have its own (HC3), for a
        little less power. `nodes` asks for the missing edges that touch these alone.

        Of more than 20,000 missing edges only those with the smallest p-values are listed; all
        are tested and counted.

        Examples
        --------
        >>> import gaussnet as gn
        >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|a:b]"), seed=0)
        >>> rows = truth.sample(500, seed=1)
        >>> gn.fit(rows, gn.Dag.parse("[a][b|a][c|b]")).check_graph().verdict
        'The data contradict 1 missing edge at level 0.05 (Holm, 1 test): look first at a and c.'
        """
        from gaussnet.fitting.graph_tests import check_graph

        return check_graph(self, level, adjust, errors, nodes)

    def effect(  # noqa: PLR0913 (every setting is one keyword)
        self,
        cause: str,
        target: str,
        *,
        via: str | Iterable[str] | None = None,
        level: float = 0.95,
        kind: str | None = None,
        repetitions: int | None = None,
        seed: int = 0,
    ) -> "Effect":
        """The total effect of one node on another with its standard error and an interval.

        As `GaussianNetwork.effect`, with the error of the learnt coefficients carried through
        by the delta method. `kind`, `repetitions` and `seed` are those of `uncertainty`.
        `sensitivity` shows it beside the estimate of one regression, and `level_effects` has those
        of a category. The graph is checked as by `summary`; where the data contradict it, the
        printed effect says so.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("[a][b|a][c|a:b]")
        >>> truth = gn.GaussianNetwork.from_arrays(dag, [2.0, 1.0, 3.0], [1.0, 1.0, 1.0])
        >>> found = gn.fit(truth.sample(1_000, seed=0), dag).effect("a", "c")
        >>> round(found.value, 2), round(found.standard_error, 3), found.low < 7.0 < found.high
        (6.96, 0.098, True)
        """
        from gaussnet.fitting.effects import find_effect
        from gaussnet.fitting.uncertainty import ErrorChoice

        if cause in self.dag.factors:
            raise GraphError(
                f"{cause!r} is a category, whose levels have one effect each: "
                f"fit.level_effects({cause!r}, {target!r}) compares all of them with "
                f"{self.dag.factors[cause][0]!r}"
            )
        choice = ErrorChoice(kind, level, repetitions, seed)
        return find_effect(self, (cause, target), via, choice)

    def level_effects(  # noqa: PLR0913 (as effect)
        self,
        category: str,
        target: str,
        *,
        reference: str | None = None,
        level: float = 0.95,
        kind: str | None = None,
        repetitions: int | None = None,
        seed: int = 0,
    ) -> "ResultTable":
        """The total effect of each level of a category on a node, compared with one level.

        One row per level, with standard error, p-value and interval as in `effect`. `reference` is
        the level that the others are compared with; by default the reference of the fit.

        Examples
        --------
        >>> import gaussnet as gn
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"site": list("aabbcc"), "y": [1.0, 1.2, 2.0, 2.4, 5.1, 4.9]})
        >>> table = gn.fit(frame, "y ~ site").level_effects("site", "y", reference="b")
        >>> [(row["level"], round(row["estimate"], 2)) for row in table]
        [('a', -1.1), ('c', 2.8)]
        """
        from gaussnet.fitting.effects import find_level_effects
        from gaussnet.fitting.uncertainty import ErrorChoice

        choice = ErrorChoice(kind, level, repetitions, seed)
        return find_level_effects(self, (category, target), reference, choice)

    def sensitivity(
        self,
        cause: str,
        target: str,
        *,
        given: Iterable[str] | None = None,
        level: float = 0.95,
    ) -> "Sensitivity":
        """How strong an unmeasured common cause must be to explain an effect away.

        The total effect is estimated by a least-squares regression of `target` on `cause` and
        `given`, a set that satisfies the back-door criterion; by default the one with the least
        variance. The robustness value is that of Cinelli and Hazlett (2020).

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("[age][diet|age][weight|diet:age]", nodes=["age", "diet", "weight"])
        >>> rows = gn.simulate.random_network(dag, seed=2).sample(500, seed=1)
        >>> found = gn.fit(rows, dag).sensitivity("diet", "weight")
        >>> found.given, round(found.estimate, 3), round(found.robustness_value, 3)
        (('age',), -1.674, 0.771)
        """
        from gaussnet.fitting.sensitivity import find_sensitivity

        return find_sensitivity(self, (cause, target), given, level)

    def defined(
        self,
        more: str | None = None,
        *,
        level: float = 0.95,
        kind: str | None = None,
        repetitions: int | None = None,
        seed: int = 0,
    ) -> "ResultTable":
        """Quantities that the model text defines from labels, with errors and intervals.

        Standard errors are by the delta method, or by ``kind="bootstrap"``, whose intervals are
        percentiles corrected for bias. `more` holds further definitions, one per line.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("m ~ a*x; y ~ b*m + c*x; indirect := a*b; total := indirect + c")
        >>> rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
        >>> table = gn.fit(rows, dag).defined("share := indirect / total")
        >>> [(row["name"], round(row["estimate"], 2)) for row in table]
        [('indirect', 0.92), ('total', 2.84), ('share', 0.33)]
        """
        from gaussnet.fitting.definitions import find_defined
        from gaussnet.fitting.uncertainty import ErrorChoice

        return find_defined(self, more, ErrorChoice(kind, level, repetitions, seed))

    @cached_property
    def scores(self) -> "Scores":
        """Log-likelihood, number of parameters, AIC and BIC on the rows learnt from.

        Found when first asked for, in one more pass over the rows. AIC and BIC are on the scale
        of -2 log-likelihood, lower is better; bnlearn and pgmpy give -1/2 of that.

        Examples
        --------
        >>> import gaussnet as gn
        >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]]
        >>> fit = gn.fit(rows, gn.Dag.parse("y ~ x", nodes="yx"), columns=["y", "x"])
        >>> fit.scores.parameters, round(fit.log_likelihood, 3), round(fit.bic, 3)
        (5, -0.18, 7.29)
        """
        from gaussnet.fitting.comparison import find_scores

        return find_scores(self)

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the rows learnt from."""
        return self.scores.log_likelihood

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 log-likelihood + 2 parameters; lower is better."""
        return self.scores.aic

    @property
    def bic(self) -> float:
        """The Bayesian criterion, -2 log-likelihood + parameters log(rows); lower is better."""
        return self.scores.bic

    def outliers(self, status: str = "flagged") -> "Outliers":
        """The cells that do not fit, worst first; for the robust methods only.

        A "flagged" cell is more likely wrong than not. One that is "confirmed" is far from what
        its equation expects, but its parents and children agree with it: rare, yet real. One
        that is "unverified" is in doubt, and one that is "missing" has no value. Expected value and
        z of a confirmed cell are those for which it was suspected, by its own equation.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
        >>> rows[7, 1] = 900.0
        >>> worst = next(iter(gn.fit(rows, dag, "robust").outliers()))
        >>> worst.row, worst.node, worst.recorded
        (7, 'rain', 900.0)
        """
        from gaussnet.fitting.outliers import find_outliers

        return find_outliers(self, status)

    def cleaned(self) -> Any:
        """The data with flagged and missing cells replaced by expected values.

        A pandas, polars or pyarrow frame in memory comes back as one, with all its columns; else
        there is an array (rows, nodes), in the order of ``dag.nodes``.

        Expected is the prediction from the parents; if a parent's cell is suspicious itself,
        from what is expected there. A missing level of a category becomes the most probable one,
        as `impute` has it. Rows dropped by ``missing="drop-rows"`` stay as they were.
        """
        from gaussnet.fitting.outliers import cleaned_data

        return cleaned_data(self)

    @overload
    def predict(
        self,
        data: object,
        node: str,
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
        columns: Iterable[object] | None = None,
        believe: bool = False,
    ) -> "Prediction": ...
    @overload
    def predict(
        self,
        data: object,
        node: list[str] | tuple[str, ...],
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
        columns: Iterable[object] | None = None,
        believe: bool = False,
    ) -> "dict[str, Prediction]": ...
    def predict(
        self,
        data: object,
        node: str | list[str] | tuple[str, ...],
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
        columns: Iterable[object] | None = None,
        believe: bool = False,
    ) -> "Prediction | dict[str, Prediction]":
        """One node in each row, from the other columns: mean, scale and an interval.

        A list of nodes gives their predictions by name, at once; none of them is looked at.

        As `GaussianNetwork.predict`, with the error of the learnt parameters: the scale holds the
        noise and that error, and the interval is Student's t. Given its parents alone this is
        the prediction interval of a regression, which holds a new value with the chance
        `level` however few the rows are. The codes that the fit was given as `missing_values`
        are missing here too.

        A robust fit judges the values that it predicts from, as it judged those that it was learnt
        from. One that is more likely wrong than not is listed in `doubtful`, with a warning above
        the printed table, and does not count, as if it were missing; with `believe` it does. Other
        values far outside those that the fit was learnt from are listed in `outside`, with a
        warning that the prediction extrapolates; this is known of rows in memory.

        Examples
        --------
        >>> import gaussnet as gn
        >>> truth = gn.simulate.random_network(gn.Dag.parse("wet ~ rain"), seed=0)
        >>> fit = gn.fit(truth.sample(10, seed=1), truth.dag)
        >>> new = truth.sample(1, seed=2)
        >>> known, learnt = fit.network.predict(new, "wet"), fit.predict(new, "wet")
        >>> bool(known.mean == learnt.mean), bool(learnt.high > known.high)
        (True, True)
        >>> robust = gn.fit(truth.sample(500, seed=1), truth.dag, "robust")
        >>> found = robust.predict({"rain": 480.0}, "wet")
        >>> [(value.node, value.recorded) for value in found.doubtful]
        [('rain', 480.0)]
        """
        from gaussnet.fitting.prediction import predict_with_errors

        targets = [node] if isinstance(node, str) else as_names(node)
        found = predict_with_errors(self, data, targets, level, given, columns, believe)
        return found[node] if isinstance(node, str) else found

    def counterfactual(
        self, row: object, *, do: "Mapping[str, float | str]", believe: bool = False
    ) -> "Counterfactual":
        """What a case that was observed would have been, had nodes been set to other values.

        As `GaussianNetwork.counterfactual`; the codes that the fit was given as `missing_values`
        are not observed. The variances of `after` and `change` are what the row leaves open;
        `intervals` and the printed table hold the errors of the learnt parameters too.

        A robust fit judges the values of the case as it judged those that it was learnt from. One
        that is more likely wrong than not is listed in `doubtful`, with a warning above the printed
        table, and does not count, as if it had not been observed; with `believe` it does. Other
        values, observed or set, far outside those that the fit was learnt from are in `outside`.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], dag)
        >>> case = fit.counterfactual({"rain": 2.0, "wet": 6.0}, do={"rain": 0.0})
        >>> case.after.mean.round(2).tolist()
        [1.88, 0.0]
        >>> case.intervals(0.95).round(2).tolist()
        [[1.58, 2.18], [0.0, 0.0]]
        >>> truth = gn.GaussianNetwork(dag, {("rain", "wet"): 2.0}, {"rain": 1.0, "wet": 0.1})
        >>> robust = gn.fit(truth.sample(500, seed=0), dag, "robust")
        >>> case = robust.counterfactual({"rain": 1.0, "wet": 90.0}, do={"rain": 0.0})
        >>> [(value.node, round(value.expected, 1)) for value in case.doubtful]
        [('wet', 2.0)]
        >>> case.after.mean.round(1).tolist(), case.after.variances.round(1).tolist()
        ([-0.0, 0.0], [0.1, 0.0])
        """
        from gaussnet.fitting.case_errors import counterfactual_of_fit

        return counterfactual_of_fit(self, row, do, believe)

    @cached_property
    def learnt_errors(self) -> "LearntErrors":
        """What the data leave open about the network, as `predict` uses it; found once."""
        from gaussnet.fitting.prediction import find_learnt_errors

        return find_learnt_errors(self)

    @cached_property
    def seen_range(self) -> "Seen | None":
        """The range of the values learnt from; None where the rows are not in memory."""
        from gaussnet.fitting.seen_ranges import find_seen_range

        return find_seen_range(self)

    def save_network(self, path: "str | os.PathLike[str]") -> None:
        """Write the network to a file, with what was seen in the rows; `read_network` reads it.

        As `gaussnet.write_network`, and as ``gaussnet fit --out`` does. A ``.json`` file keeps
        beside the numbers: the method, the rows behind each node, the codes for missing values, the
        range of the believed values, which columns did not look Gaussian, and the sentences of
        `summary`. With these, ``gaussnet outliers`` does not flag right values of a skewed column
        that a robust fit believes, predictions, queries and what-if pages of the network warn of
        values far outside what was seen, and what-if pages begin with what speaks against the
        model. Ranges are known for rows in memory.

        Examples
        --------
        >>> import os, tempfile
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], dag)
        >>> path = os.path.join(tempfile.mkdtemp(), "wet.json")
        >>> fit.save_network(path)
        >>> network = gn.read_network(path)
        >>> print(network.predict({"rain": -999.0}, "wet").outside[0].said())
        rain = -999 lies far outside what the fit has seen (0 to 3)
        """
        from gaussnet.fitting.equation_changes import rows_behind
        from gaussnet.fitting.seen_ranges import seen_for_file
        from gaussnet.model.files import write_network

        network, codes = self.network.with_seen(seen_for_file(self)), self.missing_values
        rows = rows_behind(self)
        write_network(network, path, rows=rows, method=self.method.name, missing_values=codes)

    def impute(self) -> Any:
        """The data with every missing cell at what is expected there, given the rest of its row.

        Cells that a robust fit has flagged stay as they are and say nothing of the missing ones;
        `cleaned` replaces them as well.

        A pandas, polars or pyarrow frame in memory comes back as one, with all its columns; else
        there is an array (rows, nodes), in the order of ``dag.nodes``. Conditional means vary
        less than values do: for what is to be analysed further use `draw_imputations`.

        A missing level of a category is filled by the one that is most probable given the rest of
        the row: by Bayes' theorem from the shares of the levels and the density of the numbers at
        each. Missing numbers of such a row are at their mean over the levels.

        Examples
        --------
        >>> import gaussnet as gn
        >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.0, 3.2], [float("nan"), 4.0]]
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit(rows, dag, missing="likelihood")
        >>> fit.impute().round(2).tolist()[-1]
        [8.61, 4.0]
        """
        from gaussnet.fitting.imputation import impute

        return impute(self)

    def draw_imputations(self, count: int, *, seed: int = 0) -> list[Any]:
        """So many copies of the data with missing cells drawn, for multiple imputation.

        For each copy the parameters are drawn first, from the normal law that the likelihood
        has about its maximum (variances as logarithms), and then the missing cells of each
        row, jointly, given its other cells; missing levels of categories by their probabilities,
        and the numbers given these. So the copies differ by the noise of the cells and
        by what the data leave open about the network: proper imputations in Rubin's sense. Do
        your analysis on each copy and combine by his rules. For ``missing="likelihood"``.

        Examples
        --------
        >>> import gaussnet as gn
        >>> rows = gn.simulate.random_network(gn.Dag.parse("wet ~ rain"), seed=0).sample(50, seed=1)
        >>> rows[7, 1] = float("nan")
        >>> fit = gn.fit(rows, gn.Dag.parse("wet ~ rain"), missing="likelihood")
        >>> first, second = fit.draw_imputations(2, seed=3)
        >>> bool(first[7, 1] != second[7, 1]), bool((first[8] == rows[8]).all())
        (True, True)
        """
        from gaussnet.fitting.imputation import draw_imputations

        return draw_imputations(self, count, seed)

    def update(self, more_rows: Any) -> "Fit":
        """The fit to these rows and then more, the same as to all of them at once.

        Works from a summary where the method has one, and else reads all rows again.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0]], dag).update([[5.0, 2.0], [7.2, 3.0]])
        >>> fit.rows, round(fit.network.coefficients["rain", "wet"], 2)
        (4, 2.06)
        """
        from gaussnet.fitting.summaries import update

        return update(self, more_rows)

    @property
    def contamination(self) -> "ContaminationTest":
        """Whether the data look contaminated, and where; for method="auto" only.

        For each node, the p-value that its rejected values follow the same equation as the
        others, valid although they were chosen for being far off; adjusted for all nodes.
        """
        from gaussnet.fitting.outliers import required_test

        return required_test(self)

    def certificate(self, delta: float = 0.05) -> "Certificate":
        """How far the learnt network can be from the truth, with what probability, and if what.

        The promise of `gaussnet.certify` for this fit's own rows, method, scale and split. It
        is one about clean rows of a Gaussian network over this graph; it does not look at the
        data. The robust method has the certificate of least squares if it left out nothing:
        the bound fails with probability delta for least squares, so no more often for an
        answer that is the same or is not certified.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> rows = gn.simulate.random_network(dag, seed=0).sample(1_000, seed=1)
        >>> promise = gn.fit(rows, dag).certificate(delta=0.05)
        >>> round(promise.expected_kl, 5), round(promise.kl, 4)
        (0.00252, 0.006)
        """
        from gaussnet.fitting.uncertainty import certificate_of

        return certificate_of(self, delta)

    @cached_property
    def standard_errors(self) -> "StandardErrors":
        """Standard errors of coefficients, intercepts and variances, as the method has them.

        Found when first asked for, in one more pass over the rows; see `uncertainty`.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], dag)
        >>> round(fit.standard_errors.coefficients["rain", "wet"], 4)
        0.0346
        """
        return self.uncertainty().standard_errors

    def confidence_intervals(self, level: float = 0.95) -> "ConfidenceIntervals":
        """Intervals (low, high) that hold each parameter with this chance; see `uncertainty`.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], dag)
        >>> low, high = fit.confidence_intervals(0.9).coefficients["rain", "wet"]
        >>> round(low, 3), round(high, 3)
        (1.959, 2.161)
        """
        return self.uncertainty(level=level).confidence_intervals

    @cached_property
    def bootstraps(self) -> dict[tuple[int, int], tuple[GaussianNetwork, ...]]:
        """The networks of the last bootstrap, by repetitions and seed, for the next table."""
        return {}

    def uncertainty(
        self,
        kind: str | None = None,
        *,
        level: float = 0.95,
        repetitions: int | None = None,
        seed: int = 0,
        progress: "Progress | None" = None,
    ) -> "Uncertainty":
        """Standard errors, confidence intervals, and notes on what has none.

        Parameters
        ----------
        kind
            None for the method's own. For least squares "classical" (its own: noise of one
            variance), "heteroscedastic" (a variance for every row) or "expected" (maximum
            likelihood, with normal quantiles, as lavaan's default); for robust
            "believed-cells", for sequential-trim "fitted-rows", their own; for any "bootstrap",
            which learns again from rows drawn with replacement and so costs `repetitions` fits.
        level
            The chance with which an interval contains the parameter.
        repetitions, seed
            Of the bootstrap: 500 by default, 200 for the robust methods, whose fits take
            longer. The same ones serve all tables of a fit.
        progress
            A function that the bootstrap tells, after each repetition, how many rows are learnt
            from, and of how many in all; by default the one that `fit` was given.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0], [8.9, 4.0]], dag)
        >>> told = []
        >>> found = fit.uncertainty("bootstrap", repetitions=50, progress=lambda *n: told.append(n))
        >>> told[0], told[-1]
        ((5, 250), (250, 250))
        """
        from gaussnet.fitting.uncertainty import find_uncertainty

        return find_uncertainty(self, kind, level, repetitions, seed, progress)

    def data_or_sums(self, purpose: str) -> "FitData":
        """The data behind the fit, or sums over them for questions that these can answer.

        Rows in memory and files that were changed since are refused; other rows that are read anew
        are read again, to see that.
        """
        if self.sums is None or not self.sums.has_errors:
            return self.required_data(purpose)
        if self.data is not None:
            rows = self.data.all_rows()
            if rows.is_stream and not rows.are_same_files():
                return self.data
        return self.sums.data(self.dag, self.intercept)

    @cached_property
    def known_errors(self) -> dict[tuple[str, float], Any]:
        """The last errors of all parameters that were asked for, by their kind and level."""
        return {}

    @property
    def rests_on_sums(self) -> bool:
        """Whether the rows are gone, and the sums of all equations are left."""
        return self.data is None and self.sums is not None and bool(self.sums.groups)

    @property
    def error_kind(self) -> str | None:
        """The standard errors that the rows learnt from ask for; None for the method's own."""
        if self.data is not None:
            return self.data.options.study.error_kind
        return None if self.sums is None else self.sums.error_kind

    @property
    def has_dependent_rows(self) -> bool:
        """Whether the rows learnt from have weights or clusters."""
        if self.data is not None:
            return self.data.options.study.has_dependent_rows
        return self.sums is not None and self.sums.dependent

    def required_data(self, purpose: str) -> "FitData":
        """The data behind the fit; else one sentence that says for what they are missing."""
        if self.data is None:
            was = "comes from a summary"
            if self.kept is None:
                was = "was copied or loaded, which keeps the numbers and not the rows"
            raise EstimationError(
                "this fit no longer has the rows that it was learnt from, because it "
                f"{was}: {purpose}"
            )
        return self.data

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the data, and what the notes tell of it."""
        left = ("bootstraps", "known_errors", "_verdict")
        own = {name: value for name, value in self.__dict__.items() if name not in left}
        said = ("notes", "suspected_codes", "missing_values", "seen_range", "residual_shapes")
        own |= {name: getattr(self, name) for name in said}
        own["known_verdict"] = self._verdict.found()
        try:
            own["sample_scales"] = self.sample_scales
        except GaussnetError:  # rows that were changed since
            own["sample_scales"] = None
        if self.sums is not None and self.sums.holds_rows:
            own["sums"] = None
        return own | {"data": None, "kept": None}

    def __repr__(self) -> str:
        return (
            f"Fit({counted(len(self.dag), 'node')}, {counted(self.rows, 'row')}, "
            f"method={self.method.name!r}, "
            f"scale={self.scale.name!r}, {counted(len(self.notes), 'note')})"
        )

    def plot(self, *, ax: Any = None) -> Any:
        """The network drawn with matplotlib, contradicted missing edges dotted; gives the axes.

        The width of an edge is the size of its standardised coefficient. Up to 20 edges have their
        coefficients beside them; `plot_coefficients` and `table` show those of larger graphs.
        """
        return display.plot("network", self, ax=ax)

    def plot_residuals(self, nodes: Iterable[str] | None = None) -> Any:
        """Residuals against Gaussian quantiles, a panel and a verdict per node; gives the axes."""
        return display.plot("residuals", self, nodes)

    def plot_coefficients(
        self,
        others: "Fit | Mapping[str, Fit] | Iterable[Fit]" = (),
        *,
        level: float = 0.95,
        standardized: bool = False,
        ax: Any = None,
    ) -> Any:
        """A forest plot of the coefficients with their intervals; gives the axes of matplotlib.

        `others` is a fit to show beside, or several, by name or in a list. Coefficients are in
        units of child and parent, so compare their sizes only with `standardized`.
        """
        fits, names = display.plot("named_fits", self, others)
        settings = {"level": level, "standardized": standardized, "ax": ax}
        return display.plot("coefficients", fits, names, **settings)

    def plot_outliers(self, *, ax: Any = None) -> Any:
        """Flagged cells by node and row, for robust fits; gives the axes of matplotlib."""
        return display.plot("outliers", self, ax=ax)

    def _repr_html_(self) -> str:
        """The sentences, the network drawn and its coefficients, in a notebook."""
        return display.html("fit", self)

    def __str__(self) -> str:
        from gaussnet.fitting.text import describe

        return describe(self)
