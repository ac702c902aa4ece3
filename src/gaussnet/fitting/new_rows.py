"""What new rows say of a network that is known already: three lines, and what they rest on."""

from dataclasses import dataclass
from functools import cached_property

from gaussnet.fitting.drift import DriftCheck, NewRows
from gaussnet.fitting.graph_tests import GraphCheck
from gaussnet.fitting.residuals import listed
from gaussnet.fitting.text import shown
from gaussnet.fitting.verdicts import FitSummary, Verdict


@dataclass(frozen=True, eq=False)
class NetworkOnRows:
    """A network beside rows that it was not learnt from.

    Examples
    --------
    >>> import gaussnet as gn
    >>> from gaussnet.fitting.drift import drift_between, learn_new_rows
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]"), seed=0)
    >>> new = learn_new_rows(truth.sample(500, seed=1), truth.dag, 0.01)
    >>> print(NetworkOnRows(new, drift_between(truth, None, new, 0.01)).summary().trust)
    The rows give no reason to doubt the network; effects hold only if the graph is right.
    """

    new: NewRows
    drift: DriftCheck

    @cached_property
    def verdict(self) -> Verdict:
        """What the rows say of the graph and of themselves, by equations learnt from them."""
        return Verdict(self.new.fit)

    @property
    def check(self) -> GraphCheck | None:
        """The check of the graph on these rows."""
        return self.verdict.check

    def summary(self) -> FitSummary:
        """Whether the graph holds, whether the rows are as expected, what can be trusted."""
        data = f"{self.drift.verdict} {self.verdict.data}"
        return FitSummary(self.verdict.fits, data, self._trust, self._warns)

    @property
    def _warns(self) -> bool:
        return self.drift.drifted or self.verdict.warns

    @property
    def _trust(self) -> str:
        """What can be trusted, the most serious reason first."""
        if self.drift.drifted:
            names = listed(shown(name) for name in self.drift.columns)
            return (
                f"Do not trust what the network says of {names} on rows like these: find out what "
                "changed, or learn it again."
            )
        if self.verdict.is_small or not self.drift.tests:
            return "The rows are too few to say whether the network can be trusted."
        if self.verdict.doubts_graph:
            return (
                "Trust predictions more than effects: the equations still hold, but the graph is "
                "contradicted, and effects hold only if it is right."
            )
        if self.verdict.contaminated or self.verdict.wild:
            return "Trust the network, but not these rows as they are: some values are wrong."
        return (
            "The rows give no reason to doubt the network; effects hold only if the graph is right."
        )


def no_comparison(reason: str) -> FitSummary:
    """The sentences where rows cannot be compared with a network.

    Examples
    --------
    >>> print(no_comparison("1 value is infinite").data)
    The rows could not be compared with the network: 1 value is infinite.
    """
    return FitSummary(
        "Whether the data agree with the graph was not checked.",
        f"The rows could not be compared with the network: {reason}.",
        "Do not trust the network on these rows before they can be compared.",
        warns=True,
    )
