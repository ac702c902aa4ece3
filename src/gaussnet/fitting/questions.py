"""Questions that a fit answers beyond its network, as methods."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gaussnet.fitting.effects import Effect
    from gaussnet.fitting.graph_tests import Adjustment, GraphCheck
    from gaussnet.fitting.result import Fit


class Questions:
    """The part of a fit that tests its graph and gives effects with their errors."""

    def check_graph(self, *, level: float = 0.05, adjust: "Adjustment" = "holm") -> "GraphCheck":
        """Where the data disagree with the graph: a test of every missing edge, worst first.

        The graph makes each node independent of the earlier ones that are no parents, given
        its parents; their partial correlation is tested with Student's t. P-values are adjusted
        for their number: "holm" keeps the chance of any false alarm below `level`,
        "benjamini-hochberg" the share of false alarms.

        Examples
        --------
        >>> import gaussnet as gn
        >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|a:b]"), seed=0)
        >>> rows = truth.sample(500, seed=1)
        >>> gn.fit(rows, gn.Dag.parse("[a][b|a][c|b]")).check_graph().verdict
        'The data contradict 1 missing edge at level 0.05 (Holm, 1 tests): look first at a and c.'
        """
        from gaussnet.fitting.graph_tests import check_graph

        return check_graph(cast("Fit", self), level, adjust)

    def effect(
        self,
        cause: str,
        target: str,
        *,
        via: str | Iterable[str] | None = None,
        level: float = 0.95,
        kind: str | None = None,
    ) -> "Effect":
        """The total effect of one node on another with its standard error and an interval.

        As `GaussianNetwork.effect`, with the error of the learnt coefficients carried through
        by the delta method. `kind` is that of `uncertainty`, but for "bootstrap".

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

        return find_effect(cast("Fit", self), (cause, target), via, level, kind)
