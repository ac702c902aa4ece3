"""`write_explorer`: one HTML file in which a network answers what-if questions."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from gaussnet.errors import FileError, SettingError
from gaussnet.files import Path, file_name, suffix, write_text
from gaussnet.fitting.residuals import listed
from gaussnet.fitting.result import Fit
from gaussnet.fitting.seen_ranges import seen_for_file
from gaussnet.graph.algorithms import reachable
from gaussnet.graph.dag import Dag, indicator
from gaussnet.model.checks import check_level
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.seen import usual_range
from gaussnet.report.layout import Layout, Sizes, lay_out
from gaussnet.report.markup import MINUS, many, share, text, whole_page
from gaussnet.report.network_picture import (
    COMFORT,
    LARGEST,
    MARGIN,
    arc,
    covariance_key,
    edge_path,
    letters,
    shorten,
)

MOST_SHOWN = 300
"""A network of more nodes is shown by a neighbourhood."""
NEIGHBOURHOOD = 100
"""Nodes of a neighbourhood, at most."""
MOST_EDGES = 1_200
"""Edges that are drawn, at most."""
MOST_CARRIED = 20_000
"""Nodes that a page can carry along, shown or not."""
FEW_NODES = 60
"""So many nodes can carry their mean."""
ROOMY_NODES = 20
"""So many nodes leave room between their layers."""
ENDINGS = (".html", ".htm")
UNSAVED = "model.json"
"""What copied lines call a file that is yet to be written."""
UNKNOWN = (
    "Whether the data agree with this graph is not known: the network does not say it. One that is "
    "saved by fit.save_network, or by gaussnet fit --out, does."
)
LETTER = 7.0
THIN, THICK = 1.2, 4.6


def write_explorer(
    result: Fit | GaussianNetwork,
    path: Path,
    *,
    around: str | Iterable[str] | None = None,
    level: float = 0.95,
    title: str | None = None,
    source: str | None = None,
) -> None:
    """Write a what-if page of a network or a fit: one HTML file that needs no server.

    The network is drawn. Choose a node and move its slider to *observe* it (what a reading tells)
    or to *set* it (what an action would do); all other nodes show their new mean, interval and
    shift at once, and the paths that carry the effect light up. Two scenarios can be compared. The
    page copies the Python or shell line that gives the same numbers. It warns of values far outside
    those that the network was learnt from, or that it can give, and of codes for missing values. It
    begins with what speaks against the model, as the fit or the file of the network says it.

    Parameters
    ----------
    result
        A network, or a fit, whose network is shown. Intervals take the numbers of the network
        as they are.
    around
        The page shows the neighbourhood of this node, or of these, up to 100 nodes. A network of
        more than 300 nodes is always shown so; by default around the node with the most
        neighbours. The answers are those of the whole network.
    level
        Of the intervals.
    title
        Of the page.
    source
        The file of the network that the copied lines read. Without one they ask `fit` or
        `network`, as the result at hand is usually called.

    Examples
    --------
    >>> import os, tempfile
    >>> import gaussnet as gn
    >>> network = gn.networks.load("ecoli70")
    >>> path = os.path.join(tempfile.mkdtemp(), "what-if.html")
    >>> gn.write_explorer(network, path)
    >>> os.path.getsize(path) < 200_000
    True
    """
    check_explorer(path)
    check_level(level)
    network = result.network if isinstance(result, Fit) else result
    if not isinstance(network, GaussianNetwork):
        raise SettingError(
            f"got {type(result).__name__}, expected a gaussnet.Fit or a gaussnet.GaussianNetwork"
        )
    if isinstance(result, Fit):
        network = network.with_seen(seen_for_file(result))
    view = choose_view(network.dag, around)
    model = model_data(network, view) | {
        "level": float(level),
        "point": float(ndtri(0.5 + 0.5 * level)),
        "source": source,
        **_at_hand(result),
    }
    sections = [
        _head(title or "What if?", network, view),
        _stage(network, view),
        _answers(level),
        f'<script type="application/json" id="model">{_as_json(model)}</script>',
    ]
    styles = ("page.css", "fit.css", "explorer.css")
    write_text(
        path,
        whole_page(
            title or "What if?", sections, styles, "algebra.js", "drawing.js", "explorer.js"
        ),
    )


def check_explorer(path: Path) -> None:
    """Refuse a file name that does not end as a page does."""
    if suffix(path) not in ENDINGS:
        raise FileError(
            f"cannot write a what-if page as {file_name(path)!r}: expected a name that ends in "
            ".html"
        )


@dataclass(frozen=True, slots=True)
class View:
    """The nodes that a page shows, and those that it must carry along for exact answers."""

    shown: tuple[int, ...]
    """Positions of the nodes shown, in node order."""
    carried: tuple[int, ...]
    """The nodes shown and all their ancestors, in topological order."""
    centre: tuple[str, ...] = ()
    """What the view is the neighbourhood of; nothing if all nodes are shown."""


def choose_view(dag: Dag, around: str | Iterable[str] | None = None) -> View:
    """All nodes of a small network, or the neighbourhood of some.

    What happens at nodes that no shown node descends from tells nothing about those shown, as long
    as only these are observed or set: the shown nodes and their ancestors give exact answers.

    Examples
    --------
    >>> choose_view(Dag.parse("[a][b|a][c|b]"), "a")
    View(shown=(0, 1, 2), carried=(0, 1, 2), centre=('a',))
    """
    if not len(dag):
        raise SettingError("the network has no nodes: give one with at least 1")
    if around is None and len(dag) <= MOST_SHOWN and len(dag.edges) <= MOST_EDGES:
        return View(tuple(range(len(dag))), tuple(dag.order.tolist()))
    centre = _centre(dag, around)
    shown = _neighbourhood(dag, [dag.position(node) for node in centre])
    for levels in _indicators(dag).values():  # a level is chosen among all of them
        shown += [node for node in levels if node not in shown and set(levels) & set(shown)]
    kept = reachable(dag.families.parent_lists, set(shown))
    if len(kept) > MOST_CARRIED:
        raise SettingError(
            f"the nodes shown have {len(kept):,} ancestors, and a page carries at most "
            f"{MOST_CARRIED:,}: give around= a node nearer to the roots"
        )
    carried = tuple(node for node in dag.order.tolist() if node in kept)
    return View(tuple(sorted(shown)), carried, centre)


def _centre(dag: Dag, around: str | Iterable[str] | None) -> tuple[str, ...]:
    if around is not None:
        named = (around,) if isinstance(around, str) else tuple(around)
        levels = _indicators(dag)
        centre = tuple(
            node
            for name in named
            for node in ([dag.nodes[own] for own in levels[name]] if name in levels else [name])
        )
        if not centre:
            raise SettingError("got around=[], expected at least one node: name one, or leave it")
        return centre
    counts = dag.in_degrees + np.bincount(dag.families.parents, minlength=len(dag))
    return (dag.nodes[int(np.argmax(counts))],)


def _indicators(dag: Dag) -> dict[str, list[int]]:
    """The nodes of each category, one for each level but the reference."""
    return {
        name: [dag.position(indicator(name, level)) for level in levels[1:]]
        for name, levels in dag.factors.items()
    }


def _open_categories(network: GaussianNetwork, view: View) -> list[str]:
    """What to know of categories whose level is not fixed."""
    names = [
        shorten(name)
        for name, nodes in _indicators(network.dag).items()
        if set(nodes) <= set(view.shown) and network.variance_array[nodes].any()
    ]
    if not names:
        return []
    which = f"{names[0]} is a category: choose one of its boxes to fix the level"
    if len(names) > 1:
        which = f"{listed(names)} are categories: choose a box of one to fix its level"
    return [
        f"{which}. While a level is open, means are "
        "averages over the levels, as frequent as what is observed makes them, and intervals take "
        "the mixture of levels as Gaussian."
    ]


def _neighbourhood(dag: Dag, centre: Sequence[int]) -> list[int]:
    """Nodes nearest to the centre when arrows are forgotten, as many as can be drawn."""
    neighbours: list[set[int]] = [set(own) for own in dag.families.parent_lists]
    for child, parents in enumerate(dag.families.parent_lists):
        for parent in parents:
            neighbours[parent].add(child)
    found, edges = list(dict.fromkeys(centre)), 0
    known = set(found)
    for node in found:
        for other in sorted(neighbours[node] - known):
            edges += len(neighbours[other] & known)
            if len(found) >= max(NEIGHBOURHOOD, len(centre)) or edges > MOST_EDGES:
                return found
            known.add(other)
            found.append(other)
    return found


def model_data(network: GaussianNetwork, view: View) -> dict[str, Any]:
    """The numbers of the nodes carried along, in topological order, for JSON."""
    dag = network.dag
    hidden = _hidden_causes(network, view)
    place = {node: len(hidden) + index for index, node in enumerate(view.carried)}
    offsets, slopes = dag.families.offsets, network.coefficient_array
    parents = {node: [place[own] for own in dag.parent_lists[node]] for node in view.carried}
    weights = {node: slopes[offsets[node] : offsets[node + 1]].tolist() for node in view.carried}
    scales = dict(zip(view.carried, network.scales[list(view.carried)].tolist(), strict=True))
    for node in hidden:
        loads = network.root_moments.loads[hidden.index(node)]
        parents[node], weights[node] = list(range(len(hidden))), loads.tolist()
        scales[node] = 0.0
    return {
        "nodes": [f"hidden cause {rank + 1}" for rank in range(len(hidden))]
        + [dag.nodes[node] for node in view.carried],
        "shown": [place[node] for node in view.shown],
        "parents": [[]] * len(hidden) + [parents[node] for node in view.carried],
        "coefficients": [[]] * len(hidden) + [weights[node] for node in view.carried],
        **_factors(network, view, place),
        "usual": _usual(network, view),
        "codes": [] if network.seen is None else list(network.seen.missing_values),
        "intercepts": [0.0] * len(hidden) + network.constants[list(view.carried)].tolist(),
        "scales": [1.0] * len(hidden) + [scales[node] for node in view.carried],
    }


def _factors(
    network: GaussianNetwork, view: View, place: dict[int, int]
) -> dict[str, list[dict[str, Any]]]:
    """The categories that are shown, and the shares of their levels.

    A category has no joint shares if it covaries with so many that their combinations are too many.
    """
    dag, levels = network.dag, network.given_levels
    if levels is None:
        return {"factors": [], "shares": []}
    shown = [
        number
        for number, (name, nodes) in enumerate(_indicators(dag).items())
        if set(nodes) <= set(view.shown)
    ]
    covary = {node for pair in dag.free_covariances for node in pair}
    names, shares, joint = list(dag.factors), list[dict[str, Any]](), set[int]()
    for group in levels.groups:
        kept = [one for one in group.members if one in shown]
        if group.shares is not None and kept:
            hidden = tuple(k for k, one in enumerate(group.members) if one not in shown)
            own = group.shares.sum(axis=hidden).ravel().tolist()
            shares.append({"members": [shown.index(one) for one in kept], "shares": own})
            joint |= set(kept)
    factors = [
        {
            "name": names[number],
            "levels": list(dag.factors[names[number]]),
            "nodes": [place[node] for node in levels.categories[number].tolist()],
            "covaries": any(dag.nodes[node] in covary for node in levels.categories[number]),
            "joint": number in joint,
        }
        for number in shown
    ]
    return {"factors": factors, "shares": shares}


def _usual(network: GaussianNetwork, view: View) -> list[dict[str, Any] | None]:
    """Of each node shown, the range of its values and the ends beyond which the page warns."""
    seen, expected = network.seen, network.expected_range
    low, high = usual_range(network)
    known = np.zeros(len(low), dtype=bool) if seen is None else seen.is_known
    found: list[dict[str, Any] | None] = []
    for node in view.shown:
        own = seen if seen is not None and known[node] else expected
        ends, span = (low[node], high[node]), (own.low[node], own.high[node])
        words = "was seen" if known[node] else "the network expects"
        entry = {"ends": list(map(float, ends)), "range": list(map(float, span)), "words": words}
        found.append(entry if np.isfinite([*ends, *span]).all() else None)
    return found


def _hidden_causes(network: GaussianNetwork, view: View) -> list[int]:
    """The nodes that covary, if the page carries one: each has a noise that others share.

    A node that is set is cut from these noises, and the others are not.
    """
    covary = network.root_moments.nodes.tolist() if network.dag.covariances else []
    return covary if set(covary) & set(view.carried) else []


def _as_json(model: dict[str, Any]) -> str:
    """JSON that ends no script and begins no comment."""
    return json.dumps(model, separators=(",", ":")).replace("<", "\\u003c")


def _at_hand(result: Fit | GaussianNetwork) -> dict[str, str]:
    """What copied lines call the network that no file holds, and the line that saves it."""
    if isinstance(result, Fit):
        return {"held": "fit.network", "saving": f'fit.save_network("{UNSAVED}")'}
    return {"held": "network", "saving": f'network.save("{UNSAVED}")'}


def _doubts(network: GaussianNetwork) -> list[str]:
    """What speaks against the model, or that nobody knows."""
    verdict = None if network.seen is None else network.seen.verdict
    if verdict is None:
        return [UNKNOWN]
    if not verdict.warns:
        return []
    return [f"{' '.join(verdict.sentences[:2])} Answers take the graph and its numbers as right."]


def _head(title: str, network: GaussianNetwork, view: View) -> str:
    """The title, what speaks against the model as warnings, and hints in a neutral colour."""
    hints = _open_categories(network, view)
    if view.centre:
        names = ", ".join(shorten(node) for node in view.centre[:3])
        hints.append(
            f"The network has {many(len(network.dag), 'node')}; shown are the {len(view.shown):,} "
            f"nearest to {names}. Answers are exact for the whole network. Nodes with a dashed "
            "border have neighbours that are not shown; give around= (--around in a shell) for "
            "others."
        )
    notices = "".join(f'<p class="notice">{text(doubt)}</p>' for doubt in _doubts(network))
    notices += "".join(f'<p class="notice hint">{text(hint)}</p>' for hint in hints)
    return (
        f'<header><h1>{text(title)}</h1><p class="lead">Choose a node, then observe it (what would '
        "a reading tell?) or set it (what would an action do?). Every other node answers at once."
        f"</p>{notices}</header>"
    )


def _stage(network: GaussianNetwork, view: View) -> str:
    """The drawing beside the panel that controls it."""
    buttons = "".join(
        f'<button type="button" data-zoom="{way}" title="{title}" aria-label="{title}">{sign}'
        "</button>"
        for way, sign, title in (
            ("in", "+", "Zoom in"),
            ("out", MINUS, "Zoom out"),
            ("all", "⤢", "Show all"),
        )
    )
    names = "".join(
        f'<option value="{text(network.dag.nodes[node])}"></option>' for node in view.shown
    )
    return (
        '<div class="stage"><section aria-label="The network"><div class="controls"><label>Find '
        '<input type="search" id="find" list="names" placeholder="node" autocomplete="off" '
        f'spellcheck="false"></label><datalist id="names">{names}</datalist>'
        f'<span class="buttons">{buttons}</span><span class="faint hint">Keys: arrows, Enter '
        "chooses, O observes, S sets, Delete frees</span></div><figure "
        f'class="drawing">{_drawing(network, view)}{_legend(network)}</figure></section>'
        f"{_panel()}</div>"
    )


def _legend(network: GaussianNetwork) -> str:
    return (
        '<figcaption class="legend"><span><i class="swatch up"></i>higher <span '
        'class="alone">than before</span><span class="other">in B than in A</span></span>'
        '<span><i class="swatch down"></i>lower</span><span><i class="swatch seen"></i>observed'
        '</span><span><i class="swatch set"></i>set</span><span><i class="key plus"></i>carries '
        'the effect, positive coefficient</span><span><i class="key minus"></i>negative</span>'
        f"{covariance_key(network.dag)}</figcaption>"
    )


def _panel() -> str:
    """Scenario, chosen node, what is fixed, and the lines to copy."""
    scenarios = "".join(
        f'<label><input type="radio" name="scenario" value="{name}"{checked}> {name}</label>'
        for name, checked in (("A", " checked"), ("B", ""))
    )
    modes = "".join(
        f'<label title="{title}"><input type="radio" name="mode" value="{mode}"{checked}> {word}'
        "</label>"
        for mode, word, title, checked in (
            ("free", "Free", "The node follows its equation", " checked"),
            ("seen", "Observe", "Its value is known: what does that tell of the others?", ""),
            ("set", "Set", "Its value is set from outside: what would that do?", ""),
        )
    )
    copies = "".join(
        f'<div class="line"><h3>{head}</h3><button type="button" data-copy="{name}">Copy</button>'
        f'</div><pre id="{name}" tabindex="0" aria-label="{head} line"></pre>'
        for name, head in (("python", "Python"), ("shell", "Shell"))
    )
    return (
        '<section class="panel" aria-label="Scenario"><div class="row"><fieldset class="pick">'
        f"<legend>Scenario</legend>{scenarios}</fieldset><label><input "
        'type="checkbox" id="compare"> Compare A and B</label></div>'
        '<h2 id="chosen">Choose a node</h2><p id="state" class="faint">Click one in the drawing or '
        'in the table, or type its name.</p><div id="editor" hidden><fieldset class="pick modes">'
        f'<legend class="quiet">What happens to it</legend>{modes}</fieldset>'
        '<div id="values"><input type="range" id="slider" aria-label="Value"><div class="row ends">'
        '<span id="least"></span><label>Value <input type="number" id="value" step="any">'
        '</label><span id="most"></span></div></div><label id="levels" hidden>Level <select '
        'id="level"></select></label><div id="routes"></div></div>'
        '<h3>Fixed in this scenario</h3><ul id="fixed"></ul><div class="buttons"><button '
        'type="button" id="clear">Clear all</button><button type="button" id="same">Copy from B'
        f'</button></div><p id="problem" role="alert" hidden></p>{copies}'
        '<div id="live" class="quiet" role="status" aria-live="polite"></div></section>'
    )


def _answers(level: float) -> str:
    interval = f"{share(level)} interval"
    heads = (
        ("text", "Node"),
        ("", "Before"),
        ("", '<span class="other">A: now</span><span class="alone">Now</span>'),
        ("", interval),
        ("other", "B: now"),
        ("other", interval),
        ("", f'<span class="alone">Shift</span><span class="other">B {MINUS} A</span>'),
        ("", "in sd"),
        ("bar", ""),
    )
    cells = "".join(f'<th scope="col" class="{kind}">{head}</th>' for kind, head in heads)
    return (
        '<section aria-label="Answers"><h2>Answers</h2><div class="controls"><label>Filter <input '
        'type="search" id="filter" placeholder="part of a name" autocomplete="off" '
        'spellcheck="false"></label><label>Order <select id="order"><option value="shift">largest '
        'shift first</option><option value="graph">as in the graph</option><option value="name">'
        "by name</option></select></label></div>"
        '<div class="wide tall"><table id="answers"><caption>Mean of every node before anything is '
        "fixed, and now. The shift is also told in standard deviations (sd) of the node before. "
        "Intervals take the numbers of the network as they are.</caption>"
        f"<thead><tr>{cells}</tr></thead><tbody></tbody></table></div></section>"
    )


def _drawing(network: GaussianNetwork, view: View) -> str:
    """Boxes and edges as SVG; the script fills in what the nodes answer."""
    dag = network.dag
    place = {node: index for index, node in enumerate(view.shown)}
    arrows = [
        (index, (place[parent], place[child]))
        for index, (parent, child) in _arrows(dag)
        if parent in place and child in place
    ]
    labels = [shorten(dag.nodes[node]) for node in view.shown]
    sizes = _sizes(labels)
    layout = lay_out(len(labels), [arrow for _, arrow in arrows], sizes)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    box = f"{-MARGIN:.0f} {-MARGIN:.0f} {width:.0f} {height:.0f}"
    zoom = max(1.0, min(LARGEST, COMFORT[0] / width, COMFORT[1] / height))
    edges = _edges(network, layout, arrows)
    bows = "".join(
        f'<path class="covary" d="{arc(layout.centres[one], layout.centres[other])}"/>'
        for one, other in (
            tuple(place.get(dag.positions[node], -1) for node in pair)
            for pair in dag.free_covariances
        )
        if min(one, other) >= 0
    )
    every = np.array([arrow for _, arrow in _arrows(dag)], dtype=np.int64).ravel()
    degrees = np.bincount(every, minlength=len(dag))
    ends = np.array([arrow for _, arrow in arrows], dtype=np.int64).ravel()
    inside = np.bincount(ends, minlength=len(labels))
    cut = degrees[list(view.shown)] > inside
    nodes = "".join(
        _node(index, label, layout, sizes, bool(cut[index])) for index, label in enumerate(labels)
    )
    return (
        f'<svg id="network" class="network" viewBox="{box}" data-box="{box}" '
        f'style="--tall: {zoom * height:.0f}px" role="group" '
        f'aria-label="The network: {many(len(labels), "node")}, {many(len(arrows), "edge")}">'
        f'<g class="covariances">{bows}</g><g class="edges">{edges}</g>'
        f'<g class="nodes">{nodes}</g></svg>'
    )


def _arrows(dag: Dag) -> list[tuple[int, tuple[int, int]]]:
    """Number and ends of every edge that is no covariance."""
    families = dag.families
    pairs = zip(families.parents.tolist(), families.family_of_edge.tolist(), strict=True)
    marked = zip(pairs, dag.is_covariance.tolist(), strict=True)
    return [(index, pair) for index, (pair, covary) in enumerate(marked) if not covary]


def _sizes(labels: Sequence[str]) -> Sizes:
    few = len(labels) <= FEW_NODES
    widths = [max(110.0 if few else 58.0, 16.0 + LETTER * letters(label)) for label in labels]
    if few:
        between = 58.0 if len(labels) <= ROOMY_NODES else 34.0
        return Sizes(widths, height=50.0, gap=16.0, bend=3.0, between=between)
    return Sizes(widths, height=22.0, gap=4.0, bend=1.0, between=56.0)


def _edges(
    network: GaussianNetwork, layout: Layout, arrows: Sequence[tuple[int, tuple[int, int]]]
) -> str:
    strengths = _strengths(network)
    drawn = []
    for (index, (parent, child)), route in zip(arrows, layout.routes, strict=True):
        value = float(network.coefficient_array[index])
        width = THIN + (THICK - THIN) * float(strengths[index])
        line, head = edge_path(route, layout.rightward, width)
        drawn.append(
            f'<g class="edge {"minus" if value < 0 else "plus"}" data-from="{parent}" '
            f'data-to="{child}" data-v="{value!r}"><path class="line" d="{line}" '
            f'stroke-width="{width:.1f}"/><path class="head" d="{head}"/></g>'
        )
    return "".join(drawn)


def _strengths(network: GaussianNetwork) -> Any:
    """Sizes of the standardised coefficients, the largest 1, (edges,)."""
    families = network.dag.families
    spread = _spreads(network)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = spread[families.parents] / spread[families.family_of_edge]
        sizes = np.abs(network.coefficient_array * ratio)
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    return sizes / max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)


def _spreads(network: GaussianNetwork) -> Any:
    """Standard deviations of all nodes, (nodes,)."""
    return np.sqrt(network.condition({}).variances)


def _node(index: int, label: str, layout: Layout, sizes: Sizes, cut: bool) -> str:
    """A box with its name, a line for the answer, and a strip for its interval."""
    x, y = layout.centres[index]
    width, height = sizes.widths[index], sizes.height
    few = len(sizes.widths) <= FEW_NODES
    left, top, strip = x - width / 2, y - height / 2, width - 16.0
    radius = 3.0 if few else 2.2
    answer = f'<text class="mean" x="{x:.1f}" y="{top + 30:.1f}"></text>' if few else ""
    base = top + height - (8.0 if few else 5.0)
    return (
        f'<g class="node{" partial" if cut else ""}" data-node="{index}" role="button" '
        f'tabindex="{0 if index == 0 else -1}"><rect class="box" x="{left:.1f}" y="{top:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" rx="6"/>'
        f'<text class="name" x="{x:.1f}" y="{top + (15.5 if few else 12):.1f}">{text(label)}</text>'
        f'{answer}<g transform="translate({left + 8.0:.1f} {base:.1f})" data-w="{strip:.1f}">'
        f'<path class="track" d="M0 0H{strip:.1f}"/>'
        f'<path class="tick" d="M{strip / 2:.1f} -{radius + 0.5}v{2 * radius + 1.0}"/>'
        f'<path class="reach"/><circle class="dot" r="{radius}"/><path class="reach other"/>'
        f'<circle class="dot other" r="{radius}"/></g></g>'
    )
