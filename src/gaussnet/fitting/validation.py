"""Cross-validation: every method scored on rows that it was not shown."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from gaussnet.data.column_order import check_mask_order, in_column_order
from gaussnet.data.factors import with_factors
from gaussnet.data.passes import Run
from gaussnet.data.study import Study
from gaussnet.data.table import MemoryTable, default_page_rows, open_table
from gaussnet.errors import DataError, EstimationError, GaussnetError, SettingError
from gaussnet.fitting.learn import fit
from gaussnet.fitting.tables import Column, ResultTable
from gaussnet.graph.dag import Dag, indicator, shorten
from gaussnet.graph.graph_like import GraphLike, as_dag
from gaussnet.methods.base import Method
from gaussnet.methods.names import method_named
from gaussnet.model.checks import check_finite
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.scores import DISCOUNT, gamma_score, log_likelihoods, robust_score
from gaussnet.named_rows import named, unknown_words
from gaussnet.seeds import generator
from gaussnet.types import FloatArray, IntArray, Rows, Seed

Settings = Mapping[str, Any]
Methods = Sequence[str | Method] | Mapping[str, str | Method | Settings]

OTHER_SETTINGS = dict.fromkeys(("cv", "k", "n_splits"), "folds") | {"method": "methods"}
"""What settings of `cross_validate` are called elsewhere."""

STANDARD_ERRORS = 2.0
"""A method must be better by more than so many standard errors to displace one named before."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Scores of each method on each fold, (methods, folds); higher is better."""

    methods: tuple[str, ...]
    held_out: FloatArray
    """Mean log density of the fold's rows. One wild row can decide it."""
    robust: FloatArray
    """`robust_score` of the fold's rows, which wild rows cannot move."""

    @property
    def best(self) -> str:
        """The first method that no other beats beyond noise, by the robust score.

        Beyond noise means by more than two standard errors of the difference over the folds.
        So list the methods simplest first: a later one is taken only if it is truly better.
        """
        return self.methods[first_within_noise(self.robust)]

    def table(self) -> ResultTable:
        """Mean scores of the methods, for `to_frame`, `to_markdown` and `to_latex`."""
        columns = (
            Column("method", "method", list(self.methods), "text"),
            Column("held_out", "held-out", self.held_out.mean(axis=1).tolist()),
            Column("robust", "robust", self.robust.mean(axis=1).tolist()),
        )
        folds = f"mean log densities over {self.robust.shape[1]} folds, higher is better"
        return ResultTable("Cross-validation", columns, (folds, f"best: {self.best}"))

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return self.table()._repr_html_()

    def __str__(self) -> str:
        width = max(len("method"), *map(len, self.methods))
        lines = [f"{'method':{width}}  {'held-out':>12}  {'robust':>12}"]
        means = zip(self.methods, self.held_out.mean(axis=1), self.robust.mean(axis=1), strict=True)
        lines += [f"{name:{width}}  {plain:12.6g}  {robust:12.6g}" for name, plain, robust in means]
        return "\n".join([*lines, f"best: {self.best}"])


def cross_validate(  # noqa: PLR0913 (every setting is one keyword)
    data: Any,
    dag: GraphLike,
    methods: Methods = ("least-squares", "robust"),
    *,
    folds: int = 5,
    seed: Seed = 0,
    intercept: bool = True,
    interventions: Any = None,
    columns: Iterable[object] | None = None,
    **unknown: Any,
) -> CrossValidation:
    """Scores of methods on held-out rows: each fold by a fit to the others.

    Which rows make a fold is decided by `seed` and their number alone, and is the same for
    all methods.

    Parameters
    ----------
    data
        Complete rows, in any form that `fit` takes, with `columns` for an array.
    dag
        The graph, in any form that `fit` takes.
    methods
        Names or estimators, simplest first; or a mapping from names to them, or to settings of
        `fit`: ``{"kl": {"method": "least-squares", "scale": "kl-optimal"}}``.
    interventions
        As in `fit`: cells that were set from outside neither teach nor score their own equation.
    unknown
        Nothing else: any other keyword is refused with the settings that there are.

    Examples
    --------
    >>> import gaussnet as gn
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]"), seed=0)
    >>> rows = truth.sample(500, seed=1)
    >>> cross_validate(rows, truth.dag).best
    'least-squares'
    >>> rows[:25, 1] = 1000.0
    >>> cross_validate(rows, truth.dag).best
    'robust'
    """
    if unknown:
        raise TypeError(_unknown_setting(next(iter(unknown))))
    settings = _settings(methods, intercept)
    given, ordered = in_column_order(*with_factors(data, as_dag(dag)), columns)
    check_mask_order(interventions, ordered)
    nodes, study = ordered.nodes, Study(interventions)
    height, factors = default_page_rows(len(nodes)), ordered.factors
    table = open_table(given, nodes, height, Run(), study=study, factors=factors)
    rows = table.in_memory("cross-validation")
    _check_complete(rows.array, nodes)
    parts = _folds(rows.rows, folds, seed)
    scores = np.empty((2, len(settings), len(parts)))
    for fold, part in enumerate(parts):
        unseen = rows.taken(part)
        seen = rows.taken(np.delete(np.arange(rows.rows), part))
        _check_levels(seen.array, ordered, fold)
        for position, (name, chosen) in enumerate(settings.items()):
            network = _learn(seen, ordered, name, chosen)
            scores[:, position, fold] = _held_out(network, unseen)
    return CrossValidation(tuple(settings), scores[0], scores[1])


def _unknown_setting(name: str) -> str:
    """That `cross_validate` has no such keyword, and what to do."""
    words = unknown_words(cross_validate, name, OTHER_SETTINGS)
    if name not in signature(fit).parameters:
        return words
    return (
        f"{words}; settings of gaussnet.fit are given by method, as in methods={{'name': {{...}}}}"
    )


def _check_complete(rows: Rows, nodes: Sequence[str]) -> None:
    """Refuse rows with a missing or infinite value."""
    missing = np.argwhere(np.isnan(rows))
    if len(missing):
        row, column = missing[0].tolist()
        raise DataError(
            f"cross-validation takes complete rows, and these have nan at row {row}, column "
            f"{nodes[column]!r}: give the rows without missing cells, as frame.dropna(), or use "
            "gaussnet.fit with missing='likelihood'"
        )
    check_finite(rows, nodes)


def first_within_noise(scores: FloatArray) -> int:
    """The first row of (candidates, folds) that is not worse than the best beyond noise.

    Examples
    --------
    >>> first_within_noise(np.array([[1.0, 2.0, 3.0], [1.1, 1.9, 3.1], [9.0, 9.0, 9.0]]))
    2
    >>> first_within_noise(np.array([[1.0, 2.0, 3.0], [1.1, 1.9, 3.1]]))
    0
    """
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise SettingError("no candidate has a score: mend the fits that failed")
    short = scores[np.nanargmax(means)] - scores
    with np.errstate(invalid="ignore"):
        errors = short.std(axis=1, ddof=1) / math.sqrt(scores.shape[1])
    return int(np.flatnonzero(short.mean(axis=1) <= STANDARD_ERRORS * errors)[0])


def _held_out(network: GaussianNetwork, unseen: MemoryTable) -> tuple[float, float]:
    """Mean log density and robust score of rows, without the cells that were set from outside.

    With these the mean is one for each node, over the rows in which it was not set. Categories
    are causes that nobody predicts, and count as set.
    """
    rows, set_cells = named(unseen.array, unseen.names), unseen.set_cells
    levels = [network.dag.position(node) for node in network.dag.indicators]
    if levels:
        set_cells = np.zeros(rows.shape, dtype=bool) if set_cells is None else set_cells.copy()
        set_cells[:, levels] = True
    if set_cells is None:
        return network.score(rows), robust_score(network, rows)
    sums, counts = log_likelihoods(network, rows, set_cells)
    return float((sums / np.maximum(counts, 1)).sum()), gamma_score(
        network, rows, DISCOUNT, set_cells
    )


def _check_levels(rows: Rows, dag: Dag, fold: int) -> None:
    """Refuse rows to learn from that lack a level of a category."""
    for name, levels in dag.factors.items():
        own = rows[:, [dag.position(indicator(name, level)) for level in levels[1:]]]
        counts = [len(own) - own.sum(), *own.sum(axis=0)]
        for level, count in zip(levels, counts, strict=True):
            if count == 0.0:
                raise DataError(
                    f"all rows with {level!r} in {name!r} are in fold {fold}, so that none is left "
                    "to learn from: merge rare levels, or give other folds or another seed"
                )


def _learn(rows: MemoryTable, dag: Dag, name: str, settings: Settings) -> GaussianNetwork:
    try:
        chosen = {"dag": dag, **settings}
        own = as_dag(chosen["dag"])
        levels = {name: dag.factors[name] for name in own.nodes if name in dag.factors}
        own = (own.with_factors(levels) if levels else own).reordered(rows.names)
        network: GaussianNetwork = fit(rows, **{**chosen, "dag": own}).network
        network._check_has_density()
    except GaussnetError as problem:
        raise EstimationError(f"{name!r} cannot be scored: {problem}") from None
    return network


def _settings(methods: Methods, intercept: bool) -> dict[str, Settings]:
    if isinstance(methods, str | bytes) or not isinstance(methods, Mapping | Sequence):
        raise SettingError(f"got methods={methods!r}, expected several: give a list or a mapping")
    named = methods if isinstance(methods, Mapping) else dict(_by_name(methods))
    if not named or len(named) < len(methods):
        raise SettingError(
            f"got the methods {shorten([str(one) for one in methods])}, expected at least one, and "
            "none twice: give a mapping from names to settings"
        )
    return {
        str(name): {"intercept": intercept}
        | (_known(one) if isinstance(one, Mapping) else {"method": one})
        for name, one in named.items()
    }


def _known(settings: Settings) -> dict[str, Any]:
    """The settings, if `fit` has them all."""
    apart = ("data", "interventions", "groups", "clusters", "weights", "shifts")
    known = [name for name in signature(fit).parameters if name not in apart]
    unknown = [str(name) for name in settings if name not in known]
    if unknown:
        raise SettingError(
            f"got the settings {shorten(unknown)}, expected those of gaussnet.fit: {shorten(known)}"
        )
    return dict(settings)


def _by_name(methods: Sequence[str | Method]) -> Iterator[tuple[str, str | Method]]:
    return ((one if isinstance(one, str) else method_named(one).name, one) for one in methods)


def _folds(rows: int, folds: int, seed: Seed) -> list[IntArray]:
    if isinstance(folds, bool) or not isinstance(folds, int) or not 2 <= folds <= rows:
        raise SettingError(
            f"got folds={folds!r}, expected a whole number from 2 to the {rows} rows"
        )
    order = generator(seed).permutation(rows)
    return [np.sort(part) for part in np.array_split(order, folds)]
