"""Scores of fits: log-likelihood, AIC and BIC on their own rows, and a table of several fits."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gaussnet.data.column_order import has_names, in_column_order
from gaussnet.data.passes import Run, Stripe
from gaussnet.data.table import Table, ask, open_table
from gaussnet.errors import EstimationError, NetworkError, SettingError
from gaussnet.fitting.residuals import doubted_cells, doubted_count
from gaussnet.fitting.result import Fit
from gaussnet.fitting.tables import Column, ResultTable, Tabular
from gaussnet.fitting.text import text_table
from gaussnet.graph.dag import counted, shorten
from gaussnet.methods.likelihood import ObservedLikelihoodPass, Parameters
from gaussnet.model.scores import robust_score
from gaussnet.named_rows import NamedRows, named
from gaussnet.types import FloatArray, IntArray, Rows

Fits = Mapping[str, Fit] | Iterable[Fit]


@dataclass(frozen=True, slots=True)
class Scores:
    """What the rows of a fit say about it, and how many numbers were learnt from them."""

    log_likelihood: float
    parameters: int
    """Coefficients that the rows determine, variances, and intercepts if there are any."""
    aic: float
    bic: float


def find_scores(fit: Fit) -> Scores:
    r"""Scores on all rows that the network was learnt from; refused where values are not believed.

    .. math:: AIC = -2 \ell + 2 k, \qquad BIC = -2 \ell + \sum_i k_i \log m_i

    with :math:`k_i` the parameters of node i and :math:`m_i` its rows: all of them, but for
    ``missing="drop-by-node"`` and rows in which the node was set from outside. With
    ``missing="likelihood"`` and robust fits it is the likelihood of the cells that are there.
    A robust fit that flags cells rests on the others, and another fit on others again: such
    likelihoods do not compare, so that `compare` alone finds them, on cells common to all.
    """
    doubted = doubted_count(fit)
    if doubted:
        raise EstimationError(
            f"this fit does not believe {counted(doubted, 'value')} (flagged, or too uncertain to "
            "judge), and a likelihood of the others does not compare with that of a fit that "
            "believes other values: gaussnet.compare([fit, ...]) scores fits of rows in memory on "
            "the values that all of them believe"
        )
    if fit.rests_on_sums:
        return _scores(fit, _summed_likelihoods(fit))
    table = _scored_table(fit)
    trimming = fit.trimming
    if trimming is not None and trimming.bridged and not trimming.is_untouched:  # cells are missing
        return _observed_scores(fit, table.in_memory("this").array)
    return _scores(fit, ask(table, fit.method.likelihood_pass(fit.network)))


def _scores(fit: Fit, found: tuple[FloatArray, IntArray]) -> Scores:
    """From log-likelihoods, (any,), and the rows that each node rests on, (nodes,)."""
    total = float(found[0].sum())
    parameters = fit.details.ranks + 1 + int(fit.intercept)
    count = int(parameters.sum())
    penalty = float((parameters * np.log(found[1])).sum())
    return Scores(total, count, 2.0 * count - 2.0 * total, penalty - 2.0 * total)


def _observed_scores(fit: Fit, rows: Rows) -> Scores:
    """On the cells of these rows that are there."""
    fit.network._check_has_density()
    question = ObservedLikelihoodPass(Parameters.of(fit.network))
    return _scores(fit, question.summarize(Stripe(rows, 0, len(rows))))


def _scored_table(fit: Fit) -> Table:
    """The rows of a fit, if they have a likelihood."""
    data = fit.required_data("score it where the data are, or give rows to network.score")
    _refuse_dependent_rows(fit)
    return data.table()


def _refuse_dependent_rows(fit: Fit) -> None:
    if fit.has_dependent_rows:
        raise EstimationError(
            "the rows have weights or clusters, so that their likelihood is not known: compare "
            "fits without them"
        )


def _summed_likelihoods(fit: Fit) -> tuple[FloatArray, IntArray]:
    """Log-likelihood of each node, and its rows, where only sums over these are left.

    At the maximum the squared residuals add up to the rows times the mean square.
    """
    _refuse_dependent_rows(fit)
    network, rows = fit.network, fit.details.rows
    network._check_has_density()
    factors = fit.scale.factors(rows, fit.details.ranks, fit.intercept)
    constants = np.log(2.0 * np.pi) + np.log(network.variance_array)
    return -0.5 * rows * (constants + 1.0 / factors), rows


def _common_rows(fits: list[Fit]) -> FloatArray:
    """The rows that all fits share, with NaN in every cell that one of them does not believe.

    Columns are in the order of the first fit's nodes.
    """
    nodes = fits[0].dag.nodes
    common = _own_rows(fits[0], nodes).copy()
    first = common.copy()
    for fit in fits:
        if not np.array_equal(first, _own_rows(fit, nodes), equal_nan=True):
            raise EstimationError(
                "the fits rest on different rows, and one of them flags values: compare fits to "
                "the same rows"
            )
        for node, rows in doubted_cells(fit).items():
            common[rows, nodes.index(fit.dag.nodes[node])] = np.nan
    return common


def _own_rows(fit: Fit, nodes: Sequence[str]) -> FloatArray:
    """The rows of a fit, with columns in the order of these nodes."""
    table = _scored_table(fit)
    if fit.details.set_rows.any():
        raise EstimationError(
            "some values were set from outside, which a likelihood without the flagged values does "
            "not allow for: compare on rows that no fit has seen"
        )
    order = [fit.dag.position(node) for node in nodes]
    return np.asarray(table.in_memory("a comparison").array, dtype=np.float64)[:, order]


NO_SCORES = Scores(math.nan, 0, math.nan, math.nan)
"""Of fits that share no rows."""
UNSEEN = ("held_out", "robust")
SCORES = {
    "log_likelihood": "log-likelihood",
    "aic": "AIC",
    "bic": "BIC",
    "held_out": "held-out",
    "robust": "robust",
}
"""Headings of the scores; those of `UNSEEN` are on rows that no fit has seen."""


@dataclass(frozen=True, slots=True)
class FitScores:
    """One fit among others; NaN where a number does not exist, and `notes` say why."""

    name: str
    rows: int
    parameters: int
    log_likelihood: float
    aic: float
    bic: float
    held_out: float
    """Mean log density of the rows given to `compare`."""
    robust: float
    """`robust_score` of the same rows."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoreTable(Tabular):
    """The scores of several fits, in the order given; printing it shows a table."""

    fits: tuple[FitScores, ...]
    notes: tuple[str, ...] = ()
    """What speaks against comparing these numbers."""

    def __iter__(self) -> Iterator[FitScores]:
        """Fit by fit."""
        return iter(self.fits)

    def __len__(self) -> int:
        """Number of fits."""
        return len(self.fits)

    def __getitem__(self, name: str) -> FitScores:
        """The scores of the fit of this name."""
        for one in self.fits:
            if one.name == name:
                return one
        raise SettingError(
            f"there is no fit {name!r}: the fits are {shorten([one.name for one in self.fits])}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON or a data frame; what does not exist is None there."""
        rows = [{key: _plain(value) for key, value in asdict(one).items()} for one in self.fits]
        return {"fits": rows, "notes": list(self.notes)}

    def table(self) -> ResultTable:
        """The scores as a table, for `to_frame`, `to_markdown` and `to_latex`."""
        columns = [
            Column("fit", "fit", [one.name for one in self.fits], "text"),
            Column("rows", "rows", [one.rows for one in self.fits], "count"),
            Column("parameters", "parameters", [one.parameters for one in self.fits], "count"),
        ]
        columns += [
            Column(name, heading, [getattr(one, name) for one in self.fits], "measure")
            for name, heading in SCORES.items()
            if name not in UNSEEN or self._has_unseen
        ]
        own = [f"{one.name}: {note}" for one in self.fits for note in one.notes]
        return ResultTable("Scores", tuple(columns), (*own, *self.notes))

    @property
    def _has_unseen(self) -> bool:
        return any(not math.isnan(one.held_out) for one in self.fits)

    def __str__(self) -> str:
        heads = ["fit", "rows", "parameters", *SCORES.values()]
        heads = heads if self._has_unseen else heads[: -len(UNSEEN)]
        text = text_table(heads, (_cells(one)[: len(heads)] for one in self.fits))
        text += [f"{one.name}: {note}" for one in self.fits for note in one.notes]
        return "\n".join([*text, *self.notes])


def compare(fits: Fits, data: Any = None, *, columns: Iterable[object] | None = None) -> ScoreTable:
    """The scores of several fits over the same nodes, as a table that prints.

    Log-likelihood, AIC and BIC are on the rows that each fit was learnt from; AIC and BIC are
    made for least squares, and a note says so for other methods. If robust fits flag values, all
    fits are scored on the values that every one of them believes. With `data` there are two
    more columns, the mean log density of those rows and their `robust_score`. To see how far
    apart two *networks* are, use `kl_divergence`, `hellinger` or `total_variation`.

    Parameters
    ----------
    fits
        A mapping from names to fits, or fits alone, which are then called by their methods.
    data
        Rows that no fit has seen, in any form that `fit` takes.
    columns
        The names of the columns of an array, as in `fit`.

    Examples
    --------
    >>> import gaussnet as gn
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]"), seed=0)
    >>> rows = truth.sample(500, seed=1)
    >>> graphs = {"chain": gn.Dag.parse("[a][b|a][c|b]"), "no c": gn.Dag.parse("[a][b|a][c]")}
    >>> table = compare({name: gn.fit(rows, dag) for name, dag in graphs.items()})
    >>> min(table, key=lambda one: one.bic).name
    'chain'
    """
    by_name = _fits_by_name(fits)
    if isinstance(data, Fit):
        raise SettingError(
            "got a fit as data, expected rows: to compare fits give a list, [first, second]"
        )
    unseen = None if data is None else _unseen(data, columns, list(by_name.values()))
    scoring, notes = _scoring(list(by_name.values()))
    table = tuple(_scored(name, fit, scoring, unseen) for name, fit in by_name.items())
    if len({one.rows for one in table}) > 1:
        notes.append(
            "the fits rest on different numbers of rows: their log-likelihoods, AIC and BIC do "
            "not compare"
        )
    return ScoreTable(table, tuple(notes))


def _scoring(fits: list[Fit]) -> tuple[Callable[[Fit], Scores], list[str]]:
    """How fits are scored on their rows so that scores compare, and what is to be said of it."""
    if not any(doubted_cells(fit) for fit in fits):
        return lambda fit: fit.scores, []
    try:
        rows = _common_rows(fits)
    except EstimationError as problem:
        return lambda fit: NO_SCORES, [f"there is no common likelihood: {problem}"]

    def scored(fit: Fit) -> Scores:
        order = [fits[0].dag.position(node) for node in fit.dag.nodes]
        return _observed_scores(fit, rows[:, order])

    there = int(np.isfinite(rows).sum())
    whose = "that it believes" if len(fits) == 1 else "that every fit believes"
    note = f"log-likelihood, AIC and BIC are of the {there:,} values {whose}"
    return scored, [note + "; AIC and BIC are approximate there"]


def _unseen(data: Any, columns: Iterable[object] | None, fits: list[Fit]) -> NamedRows:
    """The rows, with the names of their columns."""
    first = fits[0].dag
    if columns is None and not has_names(data):
        for fit in fits:
            if fit.dag.column_order() != first.column_order():
                raise SettingError(
                    "the columns have no names, and the fits differ in the order of their nodes: "
                    "say which column is which with columns=[...]"
                )
    given, ordered = in_column_order(data, first, columns)
    table = open_table(given, ordered.nodes, 1, Run(), factors=ordered.factors)
    return named(table.in_memory("a comparison on new rows").array, ordered.nodes)


def _fits_by_name(fits: Fits) -> dict[str, Fit]:
    if isinstance(fits, Mapping):
        found = {str(name): fit for name, fit in fits.items()}
    else:
        given = list(fits) if isinstance(fits, Iterable) else [fits]
        found = dict(zip(fit_labels(given), given, strict=True))
    if not found:
        raise SettingError("got no fit to compare, expected at least one")
    for fit in found.values():
        if not isinstance(fit, Fit):
            raise SettingError(
                f"got a {type(fit).__name__} to compare, expected what gaussnet.fit gives: for two "
                "networks use kl_divergence or total_variation"
            )
    _check_same_nodes(found)
    return found


def _check_same_nodes(named: Mapping[str, Fit]) -> None:
    first, *others = (set(fit.dag.nodes) for fit in named.values())
    for nodes in others:
        if nodes != first:
            raise SettingError(
                f"only some of the fits have {shorten(sorted(nodes ^ first))}: compare fits over "
                "the same nodes"
            )


def fit_labels(fits: list[Fit]) -> list[str]:
    """The methods' names, numbered where one comes more than once."""
    names = [str(getattr(getattr(fit, "method", None), "name", "fit")) for fit in fits]
    counts, seen = Counter(names), Counter[str]()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name} {seen[name]}" if counts[name] > 1 else name)
    return labels


def _scored(name: str, fit: Fit, scoring: Callable[[Fit], Scores], data: Any) -> FitScores:
    notes = []
    if not fit.method.maximizes_likelihood and fit.trimming is None:
        notes.append("AIC and BIC are made for least squares, not for this method")
    if len(fit.notes):
        notes.append(f"{counted(len(fit.notes), 'note')} on the fit, in fit.notes")
    held_out = robust = likelihood = aic = bic = math.nan
    try:
        found = scoring(fit)
        likelihood, aic, bic = found.log_likelihood, found.aic, found.bic
    except (EstimationError, NetworkError) as problem:
        notes.append(str(problem))
    if data is not None:
        try:
            held_out, robust = fit.network.score(data), robust_score(fit.network, data)
        except NetworkError as problem:
            notes += [str(problem)] if str(problem) not in notes else []
    count = int(fit.details.ranks.sum()) + len(fit.dag) * (1 + fit.intercept)
    return FitScores(name, fit.rows, count, likelihood, aic, bic, held_out, robust, tuple(notes))


def _cells(one: FitScores) -> list[str]:
    likelihoods = (one.log_likelihood, one.aic, one.bic)
    numbers = [f"{value:.1f}" for value in likelihoods]
    numbers += [f"{value:.4f}" for value in (one.held_out, one.robust)]
    counts = [str(one.rows), str(one.parameters)]
    return [one.name, *counts, *("-" if number == "nan" else number for number in numbers)]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
