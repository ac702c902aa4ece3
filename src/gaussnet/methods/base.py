"""What a method is: settings, the passes that it asks for, and what follows from its answer.

A new method is one class: a frozen dataclass that derives from `Method`, has a `name` and says in
`first` what it asks of the rows. It then works in memory, on files and on a cluster, with
bootstrap errors, in comparisons and reports. Errors of its own, summaries that can be kept and
certificates are further methods of the same class, for those that have them. Scales, which find
the variances, are made in the same way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from gaussnet.data.design import Design, Part
from gaussnet.data.passes import Limits, Pass, Run, Stripe
from gaussnet.data.table import Layout, Table, page_summary
from gaussnet.errors import SettingError
from gaussnet.kernels.families import Block, Families
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.scores import log_likelihoods
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from gaussnet.methods.groups import Fitted
    from gaussnet.methods.standard_errors import Assembly, Slopes, Spreads
    from gaussnet.methods.standard_errors.observed_information import ParameterLaw
    from gaussnet.methods.sums import FamilySums

MANY_ROWS = 1 << 28
"""Rows to be ready for where their number is not known."""


@dataclass(frozen=True)
class Equations:
    """One regression of a child on its parents for each family, with or without intercept.

    The families are sorted by their number of parents. `limits` says what is known of the table
    that they are learnt from.
    """

    families: Families
    intercept: bool
    limits: Limits = field(default_factory=partial(Limits, None, False, Run(threads=1)))

    def blocks(self, *, with_roots: bool = False) -> list[Block]:
        """The families size by size; roots, which have no parents, only with `with_roots`."""
        return [block for block in self.families.blocks if block.size or with_roots]

    def only(self, chosen: IntArray) -> "Equations":
        """The chosen equations alone."""
        return replace(self, families=self.families.subset(chosen))


@dataclass(frozen=True)
class EquationGroup:
    """Equations that share their rows, and the table of those rows."""

    nodes: IntArray
    """Positions of the nodes in the graph, sorted by number of parents."""
    equations: Equations
    """Their families; columns are numbered as in the table."""
    table: Table
    set_rows: int = 0
    """Rows that are not in the table because the nodes were set from outside in them."""
    known: dict[str, Any] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What the rows have answered before, so that a method and a scale need not both ask."""

    @property
    def likely_rows(self) -> int:
        """Number of rows if it is known, else as many as one should be ready for."""
        known = self.table.known_rows
        return MANY_ROWS if known is None else known

    def only(self, chosen: IntArray) -> "EquationGroup":
        """The chosen equations alone."""
        if len(chosen) == len(self.nodes):
            return self
        return replace(self, nodes=self.nodes[chosen], equations=self.equations.only(chosen))

    def parts(self, kept_values: Callable[[Equations], FloatArray]) -> "Iterator[EquationGroup]":
        """The group in parts whose summaries keep within the table's budget (or one node).

        `kept_values` says how many values a summary keeps per row, (families,).
        """
        rows, budget = self.likely_rows, self.table.budget
        most = 4 * len(self.equations.families.columns)  # nobody keeps more than so many copies
        if rows * most <= budget:
            yield self
            return
        totals = np.cumsum(kept_values(self.equations) * rows)
        number = (totals // max(budget, 1)).astype(np.int64)
        for part in sorted(set(number.tolist())):
            yield self.only(np.flatnonzero(number == part))


@dataclass(frozen=True)
class Solution:
    """Coefficients of the equations, and what was found on the way to them; (families,) each."""

    coefficients: FloatArray
    """(edges,); NaN where nothing determines them."""
    ranks: IntArray
    """Rank of the parents."""
    batches: IntArray
    """Batches or windows used; 0 where the method uses none."""
    singular: IntArray
    """Singular batches or windows set aside."""
    intercepts: FloatArray | None = None
    """Where the method finds them on its way."""
    mean_squares: FloatArray | None = None
    """Mean squared residuals, where the method finds them; NaN where digits are lacking."""
    variances: FloatArray | None = None
    """Of the scale that was asked for, where the method finds them itself."""
    rows: IntArray | None = None
    """Rows that the coefficients rest on, where these differ by family."""
    dropped: IntArray | None = None
    """Rows that lack a value, where the method leaves them out itself."""
    set_rows: IntArray | None = None
    """Rows in which the node was set from outside, where the method leaves them out itself."""
    passes: int = 1
    """Passes that medians took over all rows."""
    findings: Any = None
    """What a method that looks for wrong cells has found."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of the solution as a whole."""
    unbounded: BoolArray | None = None
    """Families whose likelihood has no maximum, where the method looks for one."""
    sums: "tuple[FamilySums, ...]" = ()
    """What least squares was solved from; their nodes are numbers of families."""

    @classmethod
    def of(cls, equations: Equations, coefficients: FloatArray, **found: Any) -> "Solution":
        """Full ranks and no batches, but for what is `found`.

        Examples
        --------
        >>> families = Families(np.array([1]), np.array([0, 1]), np.array([0]))
        >>> Solution.of(Equations(families, True), np.array([2.0])).ranks
        array([1])
        """
        none = np.zeros(len(equations.families), dtype=np.int64)
        usual = {"ranks": equations.families.sizes, "batches": none, "singular": none}
        return cls(coefficients, **(usual | found))

    def patched(self, families: Families, chosen: IntArray, part: "Solution") -> "Solution":
        """This solution with the chosen families taken from `part`."""
        edges = families.edges_of(chosen)
        changes: dict[str, Any] = {"passes": max(self.passes, part.passes)}
        for name in ("ranks", "batches", "singular", "intercepts", "mean_squares"):
            changes[name] = _patched(getattr(self, name), chosen, getattr(part, name))
        changes["coefficients"] = _patched(self.coefficients, edges, part.coefficients)
        return replace(self, **changes)


class Spread(NamedTuple):
    """Location and variance of each family's residuals, (families,) each."""

    locations: FloatArray
    variances: FloatArray
    passes: int = 1
    """Passes that medians took over all rows."""


class SummaryPass(Pass):
    """A pass whose summary can be kept, added to, merged, and solved by itself."""

    __slots__ = ()

    def page(self, page: Rows, design: Design | None = None) -> Any:
        """The summary of a page, whose last columns are what the design says."""
        return page_summary(self, page, layout=Layout(design))

    @abstractmethod
    def rows(self, summary: Any) -> int:
        """Rows that a summary is of."""

    def node_rows(self, summary: Any, nodes: int) -> IntArray:
        """Rows that serve each node's equation, (nodes,)."""
        return np.full(nodes, self.rows(summary))

    @abstractmethod
    def solve(self, summary: Any) -> Solution:
        """The solution with intercepts and mean squares; NaN where the summary lacks digits."""

    def notes(self, summary: Any) -> tuple[str, ...]:
        """What is worth knowing of a solution that is not exact; nothing if it is."""
        return ()

    @abstractmethod
    def to_arrays(self, summary: Any) -> dict[str, Any]:
        """The summary as plain arrays."""

    @abstractmethod
    def from_arrays(self, arrays: dict[str, Any]) -> Any:
        """The summary that `to_arrays` gave; ValueError if it cannot be one of this pass."""


class Method(ABC):
    """How coefficients are found."""

    __slots__ = ()
    name: ClassVar[str]
    """The name that `fit` knows the method by."""
    default_scale: ClassVar[str] = "mean-square"
    finds_mean_squares: ClassVar[bool] = False
    """Whether the solution has intercepts and mean squares, so that no other pass is needed."""
    needs_all_rows: ClassVar[bool] = False
    """Whether all rows must be in memory; then it also treats missing values itself."""
    passes: ClassVar[str] = "all rows are read several times"
    """How often rows are read that are not in memory, in words for who waits for it."""
    reads_pages: ClassVar[bool] = False
    """Whether a method that needs all rows can do with pages of them where they are too many."""
    flags_cells: ClassVar[bool] = False
    """Whether it says which cells are wrong."""
    other_robust: ClassVar[str | None] = None
    """A robust method that judges cells in another way, to compare with."""
    summarized_by: ClassVar[str | None] = None
    """Name of the method whose summaries give its network; None if there is none."""
    keeps_sample: ClassVar[bool] = False
    """Whether its summaries hold a sample of the rows beside sums over all."""
    fills_holes: ClassVar[bool] = False
    """Whether missing cells are left in the rows, because it knows what to expect of them."""
    maximizes_likelihood: ClassVar[bool] = False
    uses_row_order: ClassVar[bool] = False
    """Whether the answer depends on the order of the rows, as that of batches does."""
    error_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of standard errors that the method has itself, its own first."""
    uses: ClassVar[frozenset[Part]] = frozenset({"regime"})
    """What it can use of what is known of rows beside their values."""

    @abstractmethod
    def first(self, equations: Equations, scale: "Scale") -> Pass:
        """The first question; its last answer is a `Solution`.

        `scale` is the one that variances will be asked of, for a method that finds them on its
        way.
        """

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows with which an equation with so many parents has an answer."""
        return 1

    def kept_values(self, equations: Equations) -> FloatArray:
        """Values that a summary keeps per row, (families,)."""
        return np.zeros(len(equations.families))

    def summary_pass(self, equations: Equations) -> SummaryPass:
        """The pass whose summary says all that the method needs; refused if there is none."""
        raise SettingError(
            f"got method={self.name!r}, which needs all rows more than once, expected "
            "'least-squares', 'batch-average', 'batch-median', 'cauchy-tree' or 'robust': use one "
            "of these, or fit the rows themselves"
        )

    def slopes(self, group: EquationGroup, kind: str, level: float) -> "list[Slopes]":
        """Errors of the coefficients of a group, size by size, roots first."""
        raise SettingError(
            f"the method {self.name!r} has no standard errors of its own: give kind='bootstrap'"
        )

    def error_values(self, equations: Equations) -> FloatArray:
        """Values that `slopes` keeps per row, (families,)."""
        return np.zeros(len(equations.families))

    def fewest_batches(self, level: float) -> int:
        """Batches below which a coefficient has no interval."""
        return 0

    def find_errors(self, fitted: "Fitted", kind: str, level: float) -> "Assembly":
        """Standard errors and interval ends of all parameters, by one of `error_kinds`."""
        from gaussnet.methods.standard_errors import assemble

        return assemble(self, fitted, kind, level)

    def parameter_law(self, fitted: "Fitted") -> "ParameterLaw":
        """The law that the data leave the parameters, to draw networks from."""
        raise SettingError(
            "the law of the parameters is known where cells are missing and the likelihood was "
            "maximised: fit by least squares or robust, with missing='likelihood', to draw "
            "imputations"
        )

    def prediction_law(self, fitted: "Fitted") -> "ParameterLaw":
        """The law of the parameters that the errors of predictions rest on."""
        return self.parameter_law(fitted)

    def examined(self, fitted: "Fitted", table: Table) -> Any:
        """The findings, after a look at the learnt network beside its rows."""
        return fitted.findings

    def likelihood_pass(self, network: GaussianNetwork) -> Pass:
        """Asks for log-likelihoods, (any,), and for the rows that each node rests on, (nodes,)."""
        return LikelihoodPass(network)

    def over_holes(self) -> "Method":
        """The method that learns from all cells that are there; refused if there is none."""
        raise SettingError(
            f"got missing='likelihood' with method={self.name!r}, expected 'least-squares' or "
            "'robust': only there the likelihood of the cells that are there says how to learn, so "
            "give another method, or missing='drop-by-node'"
        )

    def certified_as(self, scale: "Scale", findings: Any) -> "tuple[Method, Scale]":
        """The method and scale whose certificate holds for an answer with these findings."""
        return self, scale


@dataclass(frozen=True)
class LikelihoodPass(Pass):
    """Asks for the log-likelihood of each node given its parents, and the rows it rests on."""

    purpose = "log-likelihood"

    network: GaussianNetwork

    def summarize(self, stripe: Stripe) -> tuple[FloatArray, IntArray]:
        """Log-likelihoods and rows of a stripe, (nodes,) each."""
        return log_likelihoods(self.network, stripe.rows, stripe.set_cells)

    def merge(
        self, left: tuple[FloatArray, IntArray], right: tuple[FloatArray, IntArray]
    ) -> tuple[FloatArray, IntArray]:
        """Sums of both."""
        return left[0] + right[0], left[1] + right[1]


class Scale(ABC):
    """How variances are found from the residuals."""

    __slots__ = ()
    name: ClassVar[str]
    """The name that `fit` knows the scale by."""
    source: ClassVar[str] = "from the residuals"
    """Where the variances come from, in words."""
    uses_mean_squares: ClassVar[bool] = False
    """Whether mean squared residuals are all that it needs."""
    has_factors: ClassVar[bool] = False
    """Whether variances are to be multiplied by `factors`."""
    uses_weights: ClassVar[bool] = False
    """Whether rows may have weights."""
    takes_medians: ClassVar[bool] = False
    """Whether locations and variances come from medians."""
    counts_flagged: ClassVar[bool] = True
    """Whether variances count the values that a robust method flags."""

    @abstractmethod
    def first(self, equations: Equations, coefficients: FloatArray) -> Pass:
        """The first question about residuals; its last answer is a `Spread`."""

    def kept_values(self, equations: Equations) -> FloatArray:
        """Values that a summary keeps per row, (families,)."""
        return np.zeros(len(equations.families))

    def factors(self, rows: int | IntArray, parents: IntArray, intercept: bool) -> FloatArray:
        """What mean squares, or variances, are to be multiplied by, (families,); NaN if refused."""
        return np.ones(len(parents))

    def enter_errors(
        self,
        spreads: "Spreads",
        group: EquationGroup,
        coefficients: FloatArray,
        kind: str,
        level: float,
    ) -> None:
        """Enter the errors of location and variance of a group; `coefficients` are the graph's."""
        raise SettingError(
            f"the scale {self.name!r} has no standard errors of its own: give kind='bootstrap'"
        )


def _patched(whole: Any, positions: IntArray, part: Any) -> Any:
    if whole is None or part is None:
        return None
    out = whole.copy()
    out[positions] = part
    return out
