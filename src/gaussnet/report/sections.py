"""The sections of the page of a fit, in their order."""

import math
from itertools import islice

import numpy as np

from gaussnet.fitting.coefficient_tables import ERRORS
from gaussnet.fitting.measures import r2_note
from gaussnet.fitting.outliers import Outliers
from gaussnet.fitting.residuals import shape_words
from gaussnet.fitting.result import Fit
from gaussnet.planning.targets import information_limit
from gaussnet.report.findings import Findings
from gaussnet.report.markup import MINUS, Sortable, many, number, share, text
from gaussnet.report.network_picture import covariance_key, draw_network, is_drawn, shorten
from gaussnet.report.residuals import Residuals, draw_residuals, shared_shapes, thinning
from gaussnet.tails import PValue
from gaussnet.types import IntArray

MOST_FIGURES = 200
MANY_FIGURES = 12
MOST_CELLS = 500
MOST_STRIPS = 60
STRIP_BINS = 360
DISTANCES = (
    "Two distances to the true distribution: the Kullback-Leibler (KL) divergence, the mean loss "
    "of log density, and total variation (TV), the largest error of any probability, between 0 "
    "and 1. They do not look at the data: see the top of the page for whether the model fits."
)
MOST_PAIRS = 200
LINE, LABELS, WIDTH = 15, 190, 900
"""Height of a strip, width of its label and of the strip itself."""


def head(findings: Findings, title: str) -> str:
    """What the report is about: the sentences on the fit, and its sizes."""
    dag, fit = findings.network.dag, findings.fit
    facts = [
        ("nodes", f"{len(dag):,}"),
        ("edges", f"{len(dag.arrows):,}"),
        ("rows", f"{findings.rows:,}"),
    ]
    how = "A network from a file, shown with these rows."
    if fit is not None:
        constants = "with" if fit.intercept else "without"
        how = f"{fit_words(fit)}, {constants} intercepts."
    listed = "".join(f"<div><dd>{value}</dd><dt>{text(name)}</dt></div>" for name, value in facts)
    return (
        f'<h1>{text(title)}</h1><p class="lead">{text(how)}</p>{_sentences(findings)}'
        f'<dl class="facts">{listed}</dl>'
    )


def fit_words(fit: Fit) -> str:
    """How the network was learnt, in words.

    Examples
    --------
    >>> import gaussnet as gn
    >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]]
    >>> fit_words(gn.fit(rows, gn.Dag.parse("y ~ x"), columns=["y", "x"]))
    'Fitted by least-squares; noise variances from mean squared residuals'
    """
    return f"Fitted by {fit.method.name}; noise variances {fit.scale.source}"


def _sentences(findings: Findings) -> str:
    """The sentences on the fit, marked where one is a warning or restricts trust."""
    kind = "caution" if findings.summary.restricts else "fine"
    kind = "warning" if findings.summary.warns else kind
    lines = "".join(f"<p>{text(one)}</p>" for one in findings.summary.sentences)
    return f'<section id="summary" class="summary {kind}" aria-label="Summary">{lines}</section>'


def network(findings: Findings) -> str:
    """The drawing with its legend and controls."""
    if not is_drawn(findings):
        return (
            "<h2>Network</h2><p>The network is too large for a drawing. A part of it is drawn by "
            "<code>gaussnet explore model.json --around NODE</code>, in Python by "
            '<code>gn.write_explorer(fit, "what-if.html", around=["NODE"])</code>.</p>'
        )
    sure = findings.uncertainty
    unsure = ""
    if sure is not None:
        level = share(sure.confidence_intervals.level)
        unsure = f'<span><i class="key unsure"></i>pale: the {level} interval includes 0</span>'
    buttons = "".join(
        f'<button type="button" data-zoom="{way}" title="{title}" aria-label="{title}">{sign}'
        "</button>"
        for way, sign, title in (
            ("in", "+", "Zoom in"),
            ("out", MINUS, "Zoom out"),
            ("all", "⤢", "Show all"),
        )
    )
    return (
        "<h2>Network</h2>"
        '<div class="controls"><label>Find <input type="search" id="find" placeholder="node" '
        f'autocomplete="off" spellcheck="false"></label><span class="buttons">{buttons}</span>'
        '<span class="faint hint">drag to move; click, then turn the wheel to zoom; point at '
        "nodes and edges for numbers</span></div>"
        f'<figure class="drawing">{draw_network(findings)}<figcaption class="legend">'
        '<span><i class="key plus"></i>positive coefficient</span>'
        '<span><i class="key minus"></i>negative coefficient</span>'
        f"<span>width: size of the standardised coefficient</span>{unsure}"
        f"{covariance_key(findings.network.dag)}{_contradiction_key(findings)}"
        '</figcaption></figure><div id="tip" role="status" hidden></div>'
    )


def _contradiction_key(findings: Findings) -> str:
    if findings.check is None or findings.check.agrees:
        return ""
    return '<span><i class="key refuted"></i>no edge here, but the data contradict that</span>'


def graph_check(findings: Findings) -> str:
    """Where the data contradict the graph."""
    title = "<h2>Does the graph fit?</h2>"
    check = findings.check
    if check is None:
        return f"{title}<p>{text(findings.summary.fits)}</p>"
    words = (
        "Every missing edge of the graph claims that two nodes are independent, given the parents "
        "of the later one. Each claim is tested; p-values are adjusted for the number of tests."
    )
    notes = "".join(f'<p class="faint">{text(note)}</p>' for note in check.notes)
    start = f'{title}<p>{text(check.verdict)}</p><p class="faint">{words}</p>{notes}'
    if check.agrees:
        return start
    lines = [
        (one.other, one.node, ", ".join(one.given) or "none", one.correlation, PValue(one.adjusted))
        for one in check.rejected[:MOST_PAIRS]
    ]
    heads = ("node", "later node", "given", "partial correlation", "adjusted p-value")
    caption = "One row per contradicted missing edge; click a column heading to sort"
    return start + Sortable("contradicted", caption, heads, lines).to_html()


MEASURES = {
    "chi-square": "chisq",
    "degrees of freedom": "df",
    "p-value of chi-square": "pvalue",
    "CFI": "cfi",
    "TLI": "tli",
    "RMSEA": "rmsea",
    "RMSEA, 90 % interval from": "rmsea.ci.lower",
    "to": "rmsea.ci.upper",
    "SRMR": "srmr",
    "log-likelihood": "logl",
    "AIC": "aic",
    "BIC": "bic",
}
"""What the report calls measures of fit, and their names in lavaan."""
MEASURES_MEAN = (
    "Chi-square compares the graph with one that has every edge, so that a small p-value speaks "
    "against the missing edges taken together; CFI and TLI near 1, RMSEA below about 0.05 and SRMR "
    "below about 0.08 are usually called a close fit, and of graphs on the same rows the one with "
    "the lower AIC or BIC is preferred."
)


def measures(findings: Findings) -> str:
    """The measures of fit as a table; nothing where there are none."""
    found = findings.measures
    if found is None:
        return ""
    told = {words: found[name] for words, name in MEASURES.items() if math.isfinite(found[name])}
    lines = "".join(
        f'<tr><th scope="row" class="text">{text(words)}</th><td>{_measure(words, value)}</td></tr>'
        for words, value in told.items()
    )
    notes = "".join(f'<p class="faint">{text(note)}</p>' for note in found.notes)
    return (
        f'<h2>Measures of fit</h2><p class="faint">{MEASURES_MEAN}</p><div class="wide">'
        f'<table id="measures"><tbody>{lines}</tbody></table></div>{notes}'
    )


def _measure(words: str, value: float) -> str:
    """A p-value or a count as such, other measures in three decimals."""
    if words.startswith("p-value"):
        return text(PValue(value))
    return f"{value:,.0f}" if words.startswith("degrees") else f"{value:,.3f}".replace("-", MINUS)


def drift(findings: Findings) -> str:
    """What differs between the rows and a network that was not learnt from them."""
    found = findings.drift
    if found is None:
        return ""
    start = f"<h2>Do the rows follow the network?</h2><p>{text(found.verdict)}</p>"
    lines = [
        (one.node, one.quantity, one.parent or "", one.before, one.after, PValue(one.adjusted))
        for one in found
        if one.adjusted <= found.level
    ]
    if not lines:
        return start
    heads = ("node", "quantity", "parent", "network", "these rows", "adjusted p-value")
    caption = "One row per quantity that differs; click a column heading to sort"
    return start + Sortable("drift", caption, heads, lines[:MOST_PAIRS]).to_html()


def effects(findings: Findings) -> str:
    """Total effects with their intervals."""
    if not findings.effects:
        return ""
    level = share(findings.effects[0].level)
    lines = [
        (one.cause, one.target, one.value, one.standard_error, one.low, one.high)
        for one in findings.effects
    ]
    heads = ("cause", "target", "total effect", "std. error", f"{level} from", "to")
    caption = (
        "What one unit more of the cause, set from outside, adds to the target along all directed "
        "paths, if the graph is right"
    )
    listed = findings.effects_listed
    below = f'<p class="faint">{text(listed)}</p>' if listed else ""
    return f"<h2>Effects</h2>{Sortable('effects', caption, heads, lines).to_html()}{below}"


def interventions(findings: Findings) -> str:
    """The nodes that were set from outside, and in how many rows; nothing where none was."""
    fit = findings.fit
    if fit is None or not fit.details.set_rows.any():
        return ""
    counts = fit.details.set_rows.tolist()
    lines = [
        (node, count, used)
        for node, count, used in zip(fit.dag.nodes, counts, fit.details.rows.tolist(), strict=True)
        if count
    ]
    caption = "A cell that was set from outside does not serve its own node's equation"
    heads = ("node", "rows in which it was set", "rows for its equation")
    return f"<h2>Interventions</h2>{Sortable('set', caption, heads, lines).to_html()}"


def coefficients(findings: Findings) -> str:
    """The coefficients of the edges and the parameters of the nodes, as tables."""
    why = findings.reasons.get("uncertainty")
    missing = f'<p class="faint">No standard errors: {text(why)}.</p>' if why else ""
    return (
        f"<h2>Coefficients</h2>{missing}{_edge_table(findings)}{_covariance_table(findings)}"
        f"<h2>Nodes</h2>{_node_table(findings)}"
    )


def defined(findings: Findings) -> str:
    """The quantities that the text of the graph defines, as a table; nothing if there are none."""
    if not findings.network.dag.definitions:
        return ""
    title, found = "<h2>Defined quantities</h2>", findings.defined
    if found is None:
        why = findings.reasons.get("defined", "that needs a fit")
        return f"{title}<p>They are not known: {text(why)}.</p>"
    caption = f"One row per quantity. {'; '.join(found.notes)}"
    heads = [column.heading for column in found.columns]
    return f"{title}{Sortable('defined', caption, heads, found.lines()).to_html()}"


def _covariance_table(findings: Findings) -> str:
    net = findings.network
    if not net.dag.covariances:
        return ""
    scales = dict(zip(net.dag.nodes, net.noise_scales.tolist(), strict=True))
    lines = [
        (one, other, value, value / (scales[one] * scales[other] or math.nan))
        for (one, other), value in net.covariances.items()
    ]
    caption = "Nodes without parents that covary: neither causes the other"
    heads = ["first", "second", "covariance", "correlation"]
    return f"<h2>Covariances</h2>{Sortable('covariances', caption, heads, lines).to_html()}"


def _edge_table(findings: Findings) -> str:
    net, sure = findings.network, findings.uncertainty
    if not net.dag.arrows:
        return "<p>The graph has no edges.</p>"
    heads = ["parent", "child", "coefficient"]
    columns: list[list[float]] = [net.coefficient_array.tolist()]
    caption = "One row per edge; click a column heading to sort"
    if sure is not None:
        level = share(sure.confidence_intervals.level)
        heads += ["std. error", "p-value", f"{level} from", "to"]
        columns.append(sure.standard_errors.coefficient_array.tolist())
        columns.append([PValue(value) for value in findings.p_values.tolist()])
        columns += sure.confidence_intervals.coefficient_array.T.tolist()
        caption += (
            f". Standard errors: {ERRORS.get(sure.kind, sure.kind)}; {findings.p_value_words}"
        )
    heads.append("standardised")
    columns.append(findings.standardised.tolist())
    lines = [
        (*edge, *values)
        for edge, values, covary in zip(
            net.dag.edges, zip(*columns, strict=True), net.dag.is_covariance, strict=True
        )
        if not covary
    ]
    return Sortable("coefficients", caption, heads, lines).to_html()


def _node_table(findings: Findings) -> str:
    net, sure = findings.network, findings.uncertainty
    share_of = "R2, %" if findings.r2 is not None else "implied R2, %"
    heads = ["node", "parents", "intercept", "noise std. dev.", share_of]
    columns: list[list[float]] = [
        net.dag.parent_columns.tolist(),
        net.constants.tolist(),
        net.noise_scales.tolist(),
        (100.0 * findings.explained).tolist(),
    ]
    if sure is not None:
        heads[3:3] = ["std. error"]
        columns[2:2] = [sure.standard_errors.intercept_array.tolist()]
    if findings.fit is not None and (findings.fit.details.rows != findings.rows).any():
        heads.append("rows")
        columns.append(findings.fit.details.rows.tolist())
    lines = [
        (node, *values)
        for node, values in zip(net.dag.nodes, zip(*columns, strict=True), strict=True)
    ]
    caption = "One row per node"
    if findings.r2 is None:
        caption += ". Implied R2: of the variance that the network implies, not of that of the rows"
    elif findings.fit is None:
        caption += ". R2: how much of the variance of these rows the equations explain"
    table = Sortable("nodes", caption, heads, lines).to_html()
    below = r2_note(net.dag.nodes, findings.explained)
    return table if below is None else f'{table}<p class="faint">{text(below)}.</p>'


def certificate(findings: Findings) -> str:
    """How far the learnt network can be from the truth."""
    title = "<h2>If the model is right</h2>"
    promise = findings.certificate
    if promise is None:
        why = findings.reasons.get("certificate", "")
        return f"{title}<p>There is no certificate: {text(why)}.</p>{_limit(findings)}"
    chance = share(1 - promise.delta)
    rows = "".join(
        f'<tr><td class="text">{text(name)}</td><td>{number(value)}</td></tr>'
        for name, value in (
            ("expected KL divergence from the truth", promise.expected_kl),
            (f"KL divergence, at most, with probability {chance}", promise.kl),
            (f"total variation, at most, with probability {chance}", promise.tv),
            ("information limit: expected KL of the best estimator", promise.information_limit),
        )
    )
    conditions = "".join(f"<li>{text(one)}</li>" for one in promise.assumptions)
    return (
        f"{title}<p>{DISTANCES}</p>"
        f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'
        f"<p>Reached by: {text(promise.argument)}. All of it holds only if</p>"
        f"<ul>{conditions}</ul>"
    )


def _limit(findings: Findings) -> str:
    """What no estimator can beat, for a fit without certificate."""
    fit = findings.fit
    if fit is None:
        return ""
    limit = information_limit(fit.dag, fit.rows, intercept=fit.intercept)
    return (
        f"<p>The information limit, the expected KL divergence of the best estimator from as many "
        f"clean rows, is {number(limit)}.</p>"
    )


def residuals(findings: Findings) -> str:
    """Small pictures of the residuals of every node."""
    title = "<h2>Residuals</h2>"
    if not findings.residuals:
        why = findings.reasons.get("residuals", "the network has no nodes")
        return f"{title}<p>No pictures of residuals: {text(why)}.</p>"
    found = [own for own in findings.residuals if own is not None]
    still = len(findings.residuals) - len(found)
    shown = _least_gaussian(found)[:MOST_FIGURES] if len(found) > MOST_FIGURES else found
    words = (
        f"Residuals in standard deviations of the noise, from {MINUS}4 to 4. Left: histogram and "
        "the Gaussian. Right: quantiles found (vertical) against those of the Gaussian "
        "(horizontal), with the band in which each point of Gaussian residuals lies with 95 %. D "
        "is the largest difference of the distribution functions."
    )
    if (step := thinning(findings.rows)) > 1:
        words += f" One row in {step} is drawn."
    if still:
        words += f" {many(still, 'node')} without noise, or levels of a category, have none."
    if len(shown) < len(found):
        words += f" Shown are the {len(shown)} least Gaussian of {len(found)} nodes."
    controls = (
        '<div class="controls"><label>Filter <input type="search" data-filter="residuals" '
        'placeholder="part of a name" autocomplete="off" spellcheck="false"></label><label>Order '
        '<select id="order"><option value="graph">as in the graph</option><option value="worst">'
        "least Gaussian first</option></select></label>"
        f'<span class="count" role="status" data-count="residuals">{len(shown):,}</span></div>'
        if len(shown) > MANY_FIGURES
        else ""
    )
    shapes, dag = findings.shapes, findings.network.dag
    figures = "\n".join(
        draw_residuals(own, shape_words(findings.robust, shapes, dag.position(own.node)))
        for own in shown
    )
    return (
        f'{title}<p class="faint">{words}</p>{shared_shapes()}{controls}'
        f'<div id="residuals" class="residuals">{figures}</div>'
    )


def _least_gaussian(found: list[Residuals]) -> list[Residuals]:
    return sorted(found, key=lambda own: -own.departure * own.count**0.5)


def flagged(findings: Findings) -> str:
    """Picture and table of the cells that a robust fit flagged; nothing where there is none."""
    found = findings.outliers
    if found is None:
        return ""
    title = "<h2>Flagged cells</h2>"
    if not len(found):
        return f"{title}<p>None: every value fits its equation.</p>"
    touched = sum(part > 0.0 for part in found.shares.values())
    rest, known = _judged_by(found)
    words = (
        f"{many(len(found), 'value')} in {many(touched, 'node')} "
        f"{'does' if len(found) == 1 else 'do'} not fit {rest}. "
        f"{_left_out_words(findings)} Rows are counted from 0; z is recorded minus "
        f"expected value, in standard deviations of the value given {known}."
    )
    if found.has_probabilities:
        words += " The probability is that of the value being wrong."
    if found.labels is not None:
        words += " Labels are those of the data frame's index."
    fields = found.fields
    caption = "One row per flagged value, worst first"
    if len(found) > MOST_CELLS:
        caption += f"; the worst {MOST_CELLS:,} of {len(found):,}"
    named = (cell._replace(label=str(cell.label)) for cell in islice(found, MOST_CELLS))
    cells = [tuple(getattr(cell, name) for name in fields) for cell in named]
    table = Sortable("flagged", caption, fields, cells)
    return f"{title}<p>{words}</p>{_strips(found, findings.rows)}{table.to_html()}"


def _judged_by(found: Outliers) -> tuple[str, str]:
    """What flagged values do not fit, and what is known where a value is expected."""
    if found.has_probabilities:
        return "the rest of the row", "the other cells of its row"
    return "the equation of the node", "the parents of its node"


def _left_out_words(findings: Findings) -> str:
    """What the equations do without because of flagged values."""
    fit = findings.fit
    if fit is None:
        return "They count neither in R2 nor in the residuals above."
    if fit.trimming is not None and fit.trimming.bridged:
        return "They were not used; the other values of their rows were."
    counts = [fit.node(node).trimmed for node in fit.dag.nodes]
    if not any(counts):
        return "No equation leaves out a row because of them."
    return f"Equations leave out up to {many(max(counts), 'row')} because of them."


def _strips(found: Outliers, rows: int) -> str:
    """One strip per node, from the first row to the last, with a mark where cells are flagged."""
    names = np.array(found.nodes, dtype=object)
    nodes = sorted(
        (node for node in found.shares if found.shares[node]), key=lambda node: -found.shares[node]
    )
    shown = nodes[:MOST_STRIPS]
    rows = max(rows, int(found.rows.max()) + 1)  # dropped rows are counted too
    strips = [
        _strip(node, found.shares[node], found.rows[names == node], rows, LINE * line)
        for line, node in enumerate(shown)
    ]
    more = len(nodes) - len(shown)
    rest = f" {many(more, 'node')} with smaller shares are not shown." if more else ""
    height = LINE * len(shown) + 2
    return (
        f'<figure class="strips"><svg viewBox="0 0 {LABELS + WIDTH + 2} {height}" role="img" '
        f'aria-label="Flagged cells by node and row">{"".join(strips)}</svg><figcaption>Left to '
        f"right: the {many(rows, 'row')} in their order. Per cent: share of a node's values that "
        f"is flagged.{rest}</figcaption></figure>"
    )


def _strip(node: str, part: float, marked: IntArray, rows: int, top: int) -> str:
    bins = min(STRIP_BINS, rows)
    step = WIDTH / bins
    marks = "".join(
        f"M{LABELS + step * mark:.1f} {top + 1}h{max(step, 1.5):.1f}"
        for mark in np.unique(marked * bins // rows).tolist()
    )
    height = LINE - 3
    return (
        f"<g><title>{text(node)}: {share(part)} flagged</title>"
        f'<text x="{LABELS - 8}" y="{top + 10}">{text(shorten(node))} {share(part)}</text>'
        f'<rect x="{LABELS}" y="{top + 1}" width="{WIDTH}" height="{height}"/>'
        f'<path d="{marks}" transform="translate(0 {height / 2:g})" stroke-width="{height}"/></g>'
    )


def notes(findings: Findings) -> str:
    """What is worth knowing about the data."""
    if not findings.notes:
        return "<h2>Notes on the data</h2><p>None: all rows and columns were used as they are.</p>"
    listed = "".join(f"<li>{text(note)}</li>" for note in findings.notes)
    return f"<h2>Notes on the data</h2><ul>{listed}</ul>"
