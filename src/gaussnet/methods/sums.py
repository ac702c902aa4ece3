"""What is left of rows that are gone: the sums that least squares was solved from.

A fit from a summary, and one that was copied or loaded, has no rows. The sums of its equations
still answer what follows from them: standard errors, intervals, R2, effects. `SummedRows` stands
for the rows of such equations and answers those questions; any other is refused with the reason.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np

from gaussnet.data.design import Design, Selection
from gaussnet.data.passes import Pass, Run
from gaussnet.data.sources import Source
from gaussnet.data.table import MemoryTable, Table
from gaussnet.errors import EstimationError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.families import Families
from gaussnet.methods.base import EquationGroup, Equations
from gaussnet.methods.groups import FitData, Groups, ReadOptions
from gaussnet.methods.moments import CrossMoments, Factors, FactorsPass, Moments, MomentsPass
from gaussnet.types import IntArray

ONLY_SUMS = (
    "this fit has sums over its rows and no longer the rows themselves, which this needs: ask "
    "where the data are, or fit again"
)


class FamilySums(NamedTuple):
    """Sums over the rows of some equations, and which nodes these are of."""

    nodes: IntArray
    equations: Equations
    moments: Moments
    factors: Factors | None = None
    """Of the equations for which moments lack digits."""

    def alone(self, index: int) -> "FamilySums":
        """One of the nodes as if it had no parents."""
        moments = self.moments
        last = int(moments.families.column_offsets[index + 1]) - 1
        square = int(moments.families.product_offsets[index + 1]) - 1
        family = Families(np.array([0]), np.array([0, 0]), np.empty(0, dtype=np.int64))
        means, products = moments.means[[last]], moments.products[[square]]
        own = Moments(family, moments.rows, means, products, moments.weighing)
        equations = Equations(family, self.equations.intercept)
        return FamilySums(self.nodes[[index]], equations, own)

    def only(self, chosen: IntArray) -> "FamilySums":
        """The chosen equations."""
        families = self.moments.families.subset(chosen)
        starts, columns = self.moments.families.product_offsets, self.moments.families
        products = [np.arange(starts[f], starts[f + 1]) for f in chosen.tolist()]
        places = [np.arange(*columns.column_offsets[f : f + 2].tolist()) for f in chosen.tolist()]
        nothing = np.empty(0, dtype=np.int64)
        moments = Moments(
            families,
            self.moments.rows,
            self.moments.means[np.concatenate([nothing, *places])],
            self.moments.products[np.concatenate([nothing, *products])],
            self.moments.weighing,
        )
        equations = Equations(families, self.equations.intercept)
        return FamilySums(self.nodes[chosen], equations, moments, self._factors_of(chosen))

    def _factors_of(self, chosen: IntArray) -> Factors | None:
        """The factors of those of the chosen equations that have any."""
        if self.factors is None:
            return None
        children = self.equations.families.children[chosen]
        kept = np.flatnonzero(np.isin(self.factors.families.children, children))
        return self.factors.subset(kept) if len(kept) else None


@dataclass(eq=False)
class SummedRows(Table):
    """Rows of which only the sums of some equations are left."""

    sums: FamilySums
    names: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    page_rows: int = 1
    run: Run = field(default_factory=lambda: Run(threads=1))
    is_complete: bool | None = True
    design: Design | None = None
    is_stream: ClassVar[bool] = False

    @property
    def known_rows(self) -> int:
        """Number of rows."""
        return self.sums.moments.rows

    def _fold(self, question: Pass) -> Any:
        """The sums, where it is these that are asked for."""
        own, factors = self.sums.equations.families, self.sums.factors
        if isinstance(question, MomentsPass) and question.equations.families is own:
            return self.sums.moments
        if isinstance(question, FactorsPass) and factors is not None:
            return factors
        raise EstimationError(ONLY_SUMS)

    def sample(self, rows: int) -> Self:
        """There is none."""
        self._refuse()

    def part(self, first: int, last: int) -> Self:
        """There is none."""
        self._refuse()

    def only(self, selection: Selection, rows: int) -> Self:
        """There are none."""
        self._refuse()

    def complete(self, rows: int) -> Self:
        """There are none."""
        self._refuse()

    def in_memory(self, purpose: str) -> MemoryTable:
        """There are none."""
        self._refuse()

    def as_source(self) -> Source:
        """There is none."""
        self._refuse()

    def surveyed(self, is_complete: bool) -> Self:
        """There are none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise EstimationError(ONLY_SUMS)


@dataclass(frozen=True, eq=False)
class KeptSums:
    """The sums that all equations of a network were learnt from, and what the rows were like."""

    holds_rows: ClassVar[bool] = False

    groups: tuple[FamilySums, ...]
    error_kind: str | None = None
    """The standard errors that the rows ask for; None for the method's own."""
    dependent: bool = False
    """Whether rows had weights or were not independent."""
    cross: CrossMoments | None = None
    """Of all pairs of nodes, where somebody asked for them."""

    @property
    def has_errors(self) -> bool:
        """Whether standard errors follow from what is kept."""
        return bool(self.groups)

    def data(self, dag: Dag, intercept: bool) -> FitData:
        """What answers for the rows; over a graph with fewer parents for nodes that lost all."""
        options = ReadOptions(dag, intercept, None, "raise", 1)
        sizes, groups = dag.families.sizes, []
        for own in self.groups:
            lost = (sizes[own.nodes] == 0) & (own.moments.families.sizes > 0)
            groups += [own.alone(index) for index in np.flatnonzero(lost).tolist()]
            groups.append(own.only(np.flatnonzero(~lost)) if lost.any() else own)
        return SummedData(self, options, Run(threads=1), kept=tuple(groups))


@dataclass(frozen=True, eq=False)
class SummedData(FitData):
    """Sums in the place of the data behind a fit."""

    kept: tuple[FamilySums, ...] = ()

    def table(self) -> Table:
        """There is none."""
        raise EstimationError(ONLY_SUMS)

    all_rows = table

    def groups(self) -> tuple[Groups, Groups]:
        """The equations with their sums."""
        groups = [EquationGroup(own.nodes, own.equations, SummedRows(own)) for own in self.kept]
        return groups, groups
