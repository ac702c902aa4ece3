r"""Error or shape: whether cells that do not fit are wrong, or the column is not Gaussian.

A wrong cell is contradicted by its neighbours; a real event is carried on by them. For a row with
the wrong cells F two stories are compared. *Errors*: the cells F are wrong, at a price each, and
the others fit. *Events*: all records are right, and some equations, at the same price each, had
unusual noise. Half the difference of what is left, plus the difference of the prices, speaks for
errors:

.. math:: \tfrac12 (Q_\mathrm{events} - Q_\mathrm{errors}) + c\, (|E| - |F|).

The cells F share this by what each of them gains if it is wrong and the others are what is
likeliest then: a row may have a real event at one place and a wrong value at another. A leaf has no
neighbours to ask: there both stories are the same. Then the other columns decide, and if none of
these has a word either, what joins the bulk without a gap is shape, and only what stands apart is
an error. In a column that is believed single cells may be wrong all the same (`stories`).

A row that comes from elsewhere breaks many equations at once, which may look like as many events.
But events are independent, and so are errors: rows that need far more of either than independence
can give have no say, and columns that only such rows make look unusual are not.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.methods.likelihood import Parameters
from gaussnet.methods.robust.directions import RecordedRows
from gaussnet.methods.robust.mixture import MISSING, Equation, Mixture, network_equation
from gaussnet.methods.robust.stories import (
    FREE_WIDTHS,
    UNUSUAL,
    WIDTHS,
    chances_of_errors,
    told,
)
from gaussnet.types import BoolArray, FloatArray, IntArray

PRICE = 5.0
"""Of a wrong cell, or of an equation with unusual noise, in units of log likelihood."""

MOST_PER_ROW = 10.0
"""What one row can say, at most."""

ANY_NOISE = float(WIDTHS[FREE_WIDTHS - 1])
"""Noise may be as wide as it likes up to so many standard deviations."""

CLEARLY_WRONG, FEW_DOUBTED = 0.8, 0.25
"""Single cells are called wrong in a column that is believed if they are so with this probability,
and if no larger share of the column is doubted: else its noise is not known."""

CLEAR = 4.0
"""Log likelihood from which on neighbours have a word."""

MOST_WRONG = 0.5
"""A column of which more would be wrong is not judged: nobody knows which part is right."""

TAIL_SCALES, TAIL_ROUNDS = np.array([0.4, 0.7, 1.0, 1.6, 2.5, 4.0, 8.0, 20.0]), 25
"""Noise with heavy tails is a mixture of Gaussian noise so many times as wide, learnt in so many
rounds."""

BROKEN, MEDIAN_SQUARE = 2.0, 0.4549364
"""An equation is broken if squared residuals have a median so many times that of Gaussian noise."""

MANY_BROKEN = 4
"""If rows break so many equations, a third of all is enough for them to be foreign; fewer may have
an unknown cause in common."""

APART = 3.0
"""What is so many times farther off than the next value below it stands apart."""

CROWDED = 0.05
"""Rows crowd where independent errors or events would give no more than this share of their number.
"""

CROWDED_FROM, FOREIGN_FROM = 2, 3
"""Rows crowd from so many errors and events on, and have no say on the shapes of columns from so
many: a shock to two equations is no rarity."""

VALUES_AT_A_TIME = 1 << 16
"""Of the families whose least squares are found together: so many stay in the cache."""

FEW_NODES = 32
"""If there are no more nodes, residuals are compared in all pairs."""

SAME_DIRECTION = 1e-9
"""Columns that differ by a smaller share of their size say the same."""

FEW_OF_FOREIGN = 0.25
"""No larger share of the foreign rows is few of them."""

UNLIKELY_ERRORS = 5.0
"""Fourth moments so many standard errors off call for the mixture, whatever the walk found."""


def looks_contaminated(
    rows: FloatArray,
    families: Families,
    coefficients: FloatArray,
    intercepts: FloatArray,
    sound: BoolArray | None = None,
) -> bool:
    r"""Whether squared residuals are not those of independent Gaussian noise.

    Many moderate errors widen the noise until none of them stands out, but not its fourth moments.
    With z the residuals in standard deviations and :math:`q = z^2 - 1`, three of these are looked
    at, each in standard errors: the excess kurtosis of a node; the variance of the sum of q over a
    row, which is Mardia's (1970) kurtosis; and the mean of :math:`q_p q_c` of a parent and its
    child, since a wrong value is in the residuals of both, or of any two nodes if these are few.
    Only residuals that are `sound` (nodes, rows) count, if that is given.
    """
    rest = kernels.residuals(rows, families, coefficients) - intercepts[:, None]
    rest /= np.abs(rest).max(axis=1, keepdims=True) + np.finfo(np.float64).tiny
    excess = rest**2
    count: Any = len(rows) if sound is None else np.maximum(sound.sum(axis=1), 1)
    if sound is not None:
        excess *= sound
    means = excess.sum(axis=1) / count
    excess /= np.where(means > 0.0, means, 1.0)[:, None]
    excess -= 1.0 if sound is None else sound
    fourth = np.einsum("ij,ij->i", excess, excess) / count - 2.0
    if (fourth * np.sqrt(count / 24.0) > UNLIKELY_ERRORS).any():
        return True
    whole = excess.sum(axis=0)
    nodes = np.full(len(rows), len(families)) if sound is None else sound.sum(axis=0)
    error = np.sqrt(8.0 * np.sum(nodes * (nodes + 2.0)))
    if abs(float(whole @ whole) - 2.0 * nodes.sum()) > UNLIKELY_ERRORS * error:
        return True
    return bool((np.abs(_joint_excess(excess, families, sound)) > 2.0 * UNLIKELY_ERRORS).any())


def _joint_excess(excess: FloatArray, families: Families, sound: BoolArray | None) -> FloatArray:
    """Sums of products of two nodes' excesses over the root of their rows, (pairs,)."""
    if len(families) <= FEW_NODES:
        pairs = np.triu_indices(len(families), 1)
        products = (excess @ excess.T)[pairs]
    else:
        pairs = (families.children[families.family_of_edge], families.parents)
        products = np.array([excess[c] @ excess[p] for c, p in zip(*pairs, strict=True)])
    if sound is None:
        return np.asarray(products / np.sqrt(excess.shape[1]))
    weights = sound.astype(np.float64)
    rows = np.array([weights[c] @ weights[p] for c, p in zip(*pairs, strict=True)])
    return np.asarray(products / np.sqrt(np.maximum(rows, 1.0)))


@dataclass(frozen=True)
class Shape:
    """What the columns are like, (nodes,) each."""

    words: FloatArray
    """What neighbours say for errors, in units of log likelihood; below 0 against them."""
    wrong: BoolArray
    """Columns whose doubted cells are errors."""
    apart: BoolArray
    """Cells of columns that are believed which are wrong all the same: they stand apart from all
    others, or their own row contradicts them, (rows, nodes)."""


def find_shape(mixture: Mixture, doubted: BoolArray) -> Shape:
    """Compare errors and events, column by column; `doubted` cells are (rows, nodes).

    Both are judged by the equations of the rows without a doubted cell: those of the mixture have
    made their peace with what it calls wrong.
    """
    share = doubted.mean(axis=0)
    if (share >= MOST_WRONG).any():  # equations rest on them: first these are believed, then asked
        known_noise = (share > 0.0) & (share < MOST_WRONG)
        return Shape(np.zeros(len(share)), known_noise, np.zeros_like(doubted))
    rows = np.where(mixture.wrong == MISSING, np.nan, mixture.rows)
    recorded = _recorded(mixture, rows, doubted)
    events = recorded.residuals**2
    crowded = doubted & _crowded(doubted, events, FOREIGN_FROM)[:, None]
    single = doubted & ~crowded
    has_event = np.asarray((events > UNUSUAL**2).any(axis=1))[:, None]
    words = _words(recorded, single & has_event)
    has_cells = doubted.any(axis=0)
    known = np.abs(words) > CLEAR
    usual = float(words[known & has_cells].sum()) > 0.0
    foreign = crowded.sum(axis=0) > single.sum(axis=0)
    wrong = has_cells & (foreign | np.where(known, words > 0.0, usual))
    apart = np.zeros_like(doubted)
    believed = has_cells & ~wrong
    if believed.any():
        chances = chances_of_errors(recorded, doubted)
        touched = has_cells & (believed | _parents(recorded.model.families, believed))
        by_cell = touched & (share < FEW_DOUBTED)  # columns that are judged cell by cell
        decidable = ~_alone(recorded.model.families) | (events > ANY_NOISE**2)
        apart = by_cell & (chances > CLEARLY_WRONG) & decidable
        wrong &= ~by_cell
    for column in np.flatnonzero(has_cells & ~wrong & ~known).tolist():
        apart[:, column] |= doubted[:, column] & stands_apart(np.sqrt(events[:, column]))
    return Shape(words, wrong, apart)


def _alone(families: Families) -> BoolArray:
    """Nodes without parents and children: nothing tells noise from errors there, (nodes,)."""
    is_parent = _parents(families, np.ones(len(families), dtype=bool))
    return np.asarray((families.sizes == 0) & ~is_parent)


def _parents(families: Families, children: BoolArray) -> BoolArray:
    """Nodes that have one of these children: their cells are judged by its noise too, (nodes,)."""
    found = np.zeros(len(families), dtype=bool)
    found[families.parents[children[families.family_of_edge]]] = True
    return found


def _words(recorded: RecordedRows, doubted: BoolArray) -> FloatArray:
    """What the rows with doubted cells say for errors, (nodes,)."""
    said = np.zeros(doubted.shape[1])
    for _, stories in told(recorded, doubted, np.arange(len(doubted))):
        words = stories.words(PRICE, MOST_PER_ROW)
        said += np.bincount(stories.cells.ravel(), words.ravel(), len(said))
    return said


def crowded_rows(mixture: Mixture, doubted: BoolArray) -> BoolArray:
    """Rows that need more errors, and more events, than independence can give, (rows,)."""
    if not _crowded(doubted, np.full(doubted.shape, np.inf), CROWDED_FROM).any():
        return np.zeros(len(doubted), dtype=bool)
    rows = np.where(mixture.wrong == MISSING, np.nan, mixture.rows)
    events = _recorded(mixture, rows, doubted).residuals ** 2 * mixture.judged
    return _crowded(doubted, events, CROWDED_FROM)


def _recorded(mixture: Mixture, rows: FloatArray, doubted: BoolArray) -> RecordedRows:
    """The rows beside the believed equations."""
    equation = _believed_equation(mixture, rows, doubted)
    own = (equation.coefficients, equation.means, equation.variances)
    model = Parameters(mixture.layout.families, *own)
    return RecordedRows.of(model, rows, np.sqrt(mixture.marginal))


def _crowded(doubted: BoolArray, events: FloatArray, fewest: int) -> BoolArray:
    r"""Rows that need more errors, and more events, than independence can give, (rows,).

    With k the smaller of both in a row and :math:`\lambda` the mean number of doubted cells, there
    are about :math:`n P(\mathrm{Poisson}(\lambda) \ge k)` rows with k or more; independent cells
    that are not equally often wrong give fewer (Hoeffding, 1956).
    """
    from scipy.special import pdtrc  # slow to import

    needed = np.minimum(doubted.sum(axis=1), (events > UNUSUAL**2).sum(axis=1))
    sizes = np.arange(fewest, int(needed.max(initial=0)) + 1)
    found = np.array([np.count_nonzero(needed >= size) for size in sizes])
    expected = len(needed) * pdtrc(sizes - 1, float(doubted.sum(axis=1).mean()))
    unlikely = sizes[expected <= CROWDED * found]
    return np.asarray(needed >= (unlikely[0] if len(unlikely) else np.inf))


def _believed_equation(mixture: Mixture, rows: FloatArray, doubted: BoolArray) -> Equation:
    """Least squares of each family over the rows in which no cell of it is doubted or missing."""
    families, old = mixture.layout.families, mixture.equation
    bad = doubted | np.isnan(rows) | mixture.foreign_rows[:, None]
    centred = np.ascontiguousarray(np.where(bad, 0.0, rows - old.means).T)
    good = np.ascontiguousarray(~bad.T)
    centres = None if mixture.intercept else -old.means
    coefficients, variances = old.coefficients.copy(), old.variances.copy()
    constants = old.constants(families)
    for size, every, columns in families.by_size:
        at_once = max(VALUES_AT_A_TIME // ((size + 1) * len(rows)), 1)
        for first in range(0, len(every), at_once):
            part = slice(first, first + at_once)
            found = _least_squares(centred, good, columns[part], centres)
            own, slopes = every[part][found.sound], found.slopes[found.sound]
            middle = (found.centres + old.means[columns[part]])[found.sound]
            coefficients[families.edges_of(own)] = slopes.ravel()
            variances[own] = found.variances[found.sound]
            constants[own] = middle[:, -1] - np.einsum("fp,fp->f", middle[:, :-1], slopes)
    return network_equation(families, coefficients, constants, variances)


class FamilySolutions(NamedTuple):
    """Least squares of some families with as many parents each."""

    slopes: FloatArray
    """(families, parents)."""
    centres: FloatArray
    """Means of parents and child, (families, parents + 1)."""
    variances: FloatArray
    sound: BoolArray
    """Whether there are rows enough."""


def _least_squares(
    columns: FloatArray, good: BoolArray, chosen: IntArray, centres: FloatArray | None
) -> FamilySolutions:
    """Of the chosen columns (families, parents + 1), over the rows in which all cells are good.

    Columns are (nodes, rows), 0 where a cell is not good; `centres` (nodes,) stand for means.
    """
    sound = np.asarray(good[chosen].all(axis=1))
    counts, size = sound.sum(axis=1), chosen.shape[1] - 1
    own = columns[chosen] * sound[:, None]
    if centres is None:
        middle = own.sum(axis=2) / np.maximum(counts, 1)[:, None]
    else:
        middle = centres[chosen]
    own -= middle[:, :, None]
    own *= sound[:, None]
    slopes, squares = _solved(own @ own.transpose(0, 2, 1))
    enough = (counts >= 3 * size + 10) & (squares > 0.0)
    return FamilySolutions(slopes, middle, squares / np.maximum(counts, 1), enough)


def _solved(products: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coefficients (families, parents) and residual sums of squares (families,) from products.

    Products are (families, parents + 1, parents + 1), with the child last.
    """
    scales = np.sqrt(np.maximum(np.einsum("fii->fi", products), np.finfo(np.float64).tiny))
    scaled = products / (scales[:, :, None] * scales[:, None, :])
    parents, across = scaled[:, :-1, :-1], scaled[:, :-1, -1]
    inverse = np.linalg.pinv(parents, rcond=1e-10, hermitian=True)
    found = np.einsum("fpq,fq->fp", inverse, across)
    squares = (scaled[:, -1, -1] - np.einsum("fp,fp->f", across, found)) * scales[:, -1] ** 2
    return found * scales[:, -1:] / scales[:, :-1], squares


def rows_are_foreign(mixture: Mixture) -> bool:
    """Whether the rows of the second network break most equations of the first, or many.

    Rows that follow all equations but one or a few have unusual noise there, which is shape;
    medians tell, of residuals in units of their own standard deviation. And a second network must
    explain the rows better than noise with heavy tails does.
    """
    families, foreign = mixture.layout.families, mixture.foreign
    chosen = np.flatnonzero(mixture.foreign_rows)
    children = np.flatnonzero((families.sizes > 0) & ~mixture.common)
    if len(chosen) == 0 or len(children) == 0 or foreign is None or not _levels_remain(mixture):
        return False
    whole = np.where(np.isnan(mixture.rows), mixture.equation.means, mixture.rows)
    squares = _squares(mixture, mixture.equation, whole)
    medians = [
        np.median(squares[chosen, child] / (1.0 + _leverages(mixture, whole, child)))
        for child in children.tolist()
    ]
    tails = _tail_likelihood(squares, mixture.equation.variances, mixture.common)
    is_better = mixture.log_likelihood - mixture.price_of_foreign > tails
    broken = np.array(medians) > BROKEN * MEDIAN_SQUARE
    least = 0.5 if broken.sum() < MANY_BROKEN else 1.0 / 3.0
    return bool(broken.sum() > 1 and np.mean(broken) >= least and is_better)


def _levels_remain(mixture: Mixture) -> bool:
    """Whether the other rows hold half at least of what columns in common tell apart.

    Rows of one level of a category follow equations of their own: they cannot be told from foreign
    ones where these are most of the level. With an orthonormal basis U of these columns and the
    constant, U' U over the other rows has no eigenvalue below a half; but for directions in which
    few of the foreign rows lie, such as that of a rare level, as long as a row of it remains.
    """
    asked = mixture.rows[:, mixture.common]
    if not asked.shape[1]:
        return True
    asked = np.where(np.isnan(asked), np.nanmean(asked, axis=0), asked)
    asked = np.column_stack((asked - asked.mean(axis=0), np.ones(len(asked))))
    sizes = np.sqrt(np.einsum("ij,ij->j", asked, asked))
    basis, scales, _ = np.linalg.svd(asked / np.where(sizes > 0.0, sizes, 1.0), full_matrices=False)
    basis = basis[:, scales > SAME_DIRECTION * scales[0]]
    kept = basis[~mixture.foreign_rows]
    values, directions = np.linalg.eigh(kept.T @ kept)
    lost = (basis[mixture.foreign_rows] @ directions) ** 2
    # Squares spread evenly over m rows have this ratio m.
    rows = lost.sum(axis=0) ** 2 / np.maximum(np.sum(lost**2, axis=0), np.finfo(np.float64).tiny)
    least = np.where(rows > FEW_OF_FOREIGN * len(lost), 0.5 - SAME_DIRECTION, SAME_DIRECTION)
    return bool((values > least).all())


def _leverages(mixture: Mixture, rows: FloatArray, child: int) -> FloatArray:
    """How far off coefficients make the foreign rows seem, over the noise variance, (foreign,).

    Real events far out have large residuals in an equation that was learnt without them.
    """
    families = mixture.layout.families
    parents = families.parents[slice(*families.offsets[child : child + 2].tolist())]
    design = rows[:, parents] - mixture.equation.means[parents]
    own = 1.0 - mixture.foreign_chances
    scales = np.sqrt(own @ design**2) + np.finfo(np.float64).tiny
    design = design / scales
    inverse = np.linalg.pinv((design * own[:, None]).T @ design, rcond=1e-12, hermitian=True)
    far = design[mixture.foreign_rows]
    return np.asarray(np.einsum("ij,jk,ik->i", far, inverse, far) + 1.0 / max(own.sum(), 1.0))


def _tail_likelihood(squares: FloatArray, variances: FloatArray, common: BoolArray) -> float:
    """Log-likelihood of noise of several widths, of single equations or of whole rows.

    Columns that both networks have in common have the noise of their equations.
    """
    constant = 0.5 * len(squares) * np.log(2.0 * np.pi * variances).sum()
    constant += 0.5 * squares[:, common].sum()
    squares = squares[:, ~common]
    cells = _log_widths(squares.reshape(-1, 1))
    return max(cells, _log_widths(squares)) - float(constant)


def _log_widths(squares: FloatArray) -> float:
    """Log-likelihood of a mixture of widths that the equations of a row have in common."""
    logs = -0.5 * squares.sum(axis=1)[:, None] / TAIL_SCALES**2
    logs -= squares.shape[1] * np.log(TAIL_SCALES)
    largest = logs.max(axis=1, keepdims=True)
    densities = np.exp(logs - largest)
    shares = np.full(len(TAIL_SCALES), 1.0 / len(TAIL_SCALES))
    for _ in range(TAIL_ROUNDS):
        parts = densities * shares
        shares = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    return float(np.log(densities @ shares).sum() + largest.sum())


def _squares(mixture: Mixture, equation: Equation, rows: FloatArray) -> FloatArray:
    """Squared residuals of all equations in units of the noise, (rows, nodes)."""
    families = mixture.layout.families
    rest = kernels.residuals(rows - equation.means, families, equation.coefficients).T
    return np.asarray(rest**2 / equation.variances)


def stands_apart(sizes: FloatArray) -> BoolArray:
    """Whether values lie beyond the first gap outside the bulk, (rows,)."""
    order = np.sort(sizes)
    outside = int(np.searchsorted(order, FAR_ENOUGH))
    below = np.maximum(order[max(outside - 1, 0) : -1], FAR_ENOUGH)
    gaps = np.flatnonzero(order[max(outside - 1, 0) + 1 :] > APART * below)
    if len(gaps) == 0:
        return np.zeros(len(sizes), dtype=bool)
    return np.asarray(sizes > below[gaps[0]])


FAR_ENOUGH = 3.0
"""The bulk ends so many standard deviations from the middle."""
