"""A sample of rows in the place of all of them, for the errors of a fit whose rows are gone."""

from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

import numpy as np

from gaussnet.data.passes import Run
from gaussnet.data.table import MemoryTable, Table
from gaussnet.errors import EstimationError
from gaussnet.graph.dag import Dag
from gaussnet.methods.groups import FitData, Groups, ReadOptions
from gaussnet.methods.sums import KeptSums
from gaussnet.types import FloatArray

ONLY_SAMPLE = (
    "this fit comes from a summary that has a sample of its rows and no longer the rows "
    "themselves, which this needs: ask where the data are, or fit again"
)


@dataclass(frozen=True, eq=False)
class KeptSample(KeptSums):
    """Rows drawn from all: they say how precise parameters are, and no more is asked of them."""

    holds_rows: ClassVar[bool] = True

    sample: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    rows: int = 0
    """Rows that the sample is of."""

    @property
    def has_errors(self) -> bool:
        """It has."""
        return True

    def data(self, dag: Dag, intercept: bool) -> "SampledData":
        """What answers for the rows."""
        options = ReadOptions(dag, intercept, None, "likelihood", max(len(self.sample), 1))
        return SampledData(self.sample, options, Run(), rows=self.rows)


@dataclass(frozen=True, eq=False)
class SampledData(FitData):
    """A sample in the place of the data behind a fit."""

    has_all_rows: ClassVar[bool] = False

    rows: int = 0

    def informing_rows(self) -> tuple[Table, float]:
        """The sample, and the rows that each of it stands for."""
        options = self.options
        table = MemoryTable.of(self.given, options.dag.nodes, options.page_rows, self.run)
        return table.surveyed(False), self.rows / len(self.given)

    def table(self) -> Table:
        """There is none."""
        self._refuse()

    all_rows = table

    def groups(self) -> tuple[Groups, Groups]:
        """There are none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise EstimationError(ONLY_SAMPLE)
