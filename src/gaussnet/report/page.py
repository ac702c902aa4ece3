"""The HTML page of a reproduction: claims, deviations and figures, in one file."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from gaussnet.experiments.catalogue import experiment_named
from gaussnet.experiments.claims import Claim
from gaussnet.experiments.methods import label_of
from gaussnet.experiments.readings import Deviation, summary_of
from gaussnet.experiments.run import Run
from gaussnet.experiments.tables import Point
from gaussnet.figures.style import Picture

STYLE = """
:root { color-scheme: light dark; --ink: #20242b; --page: #fbfbfa; --faint: #6a717c;
  --line: #d9dce1; --good: #157347; --bad: #b3261e; --card: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe3ea; --page: #15181d; --faint: #9aa2ae;
  --line: #333943; --good: #5fce97; --bad: #ff8a80; --card: #1b1f26; } }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 4rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { margin-top: 2.6rem; font-size: 1.25rem; }
h3 { margin: 0 0 .3rem; font-size: 1rem; } p, li { max-width: 48rem; }
.faint, figcaption, caption { color: var(--faint); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .28rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; }
th.text, td.text { text-align: left; } th { font-weight: 600; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 33rem), 1fr));
  gap: 1rem; }
figure { margin: 0; padding: .8rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 8px; } figure img { width: 100%; height: auto; }
details { margin: .6rem 0 0; } summary { cursor: pointer; color: var(--faint); }
"""


def reproduction_page(
    run: Run,
    points: Sequence[Point],
    claims: Sequence[Claim],
    found: Sequence[Deviation],
    pictures: Mapping[tuple[str, str], Picture],
) -> str:
    """The page, complete in itself: no script, no other file."""
    sections = [
        _head(run),
        "<h2>Claims of the paper</h2>",
        *(_claims(settings, claims) for settings in run.settings),
        _deviations(found),
        "<h2>Figures</h2>",
        '<p class="faint">Means over the repetitions with their standard errors; a median where '
        "the legend says so. Crosses: the paper's own points, read off its figures.</p>",
        *(_experiment(name, run, points, pictures) for name in run.experiments),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, reproduced</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body></html>\n"
    )


def _head(run: Run) -> str:
    rows = "" if run.rows is None else f", rows {', '.join(f'{size:,}' for size in run.rows)}"
    return (
        "<h1>Learning Gaussian networks with a known graph: the experiments, reproduced</h1>"
        f"<p>{run.repetitions} repetitions, seed {run.seed}, random networks of {run.nodes} nodes"
        f"{rows}. Settings: {' and '.join(run.settings)}. <i>Written</i> follows the paper's text, "
        "<i>plotted</i> what its figures were made with; the two differ, and both are worth "
        "having.</p>"
    )


def _claims(settings: str, claims: Sequence[Claim]) -> str:
    rows = [
        [
            str(claim.number),
            _text(claim.text),
            _verdict(claim.verdict),
            f"{claim.held} of {claim.tested}" if claim.tested else "",
            _text(claim.numbers),
        ]
        for claim in claims
        if claim.settings == settings
    ]
    heads = ["", "claim", "verdict", "comparisons", "numbers"]
    return _table(f"Settings: {settings}", heads, rows, text=(1, 2, 4))


def _deviations(found: Sequence[Deviation]) -> str:
    if not found:
        return ""
    rows = [
        [
            _text(one.experiment),
            _text(label_of(one.method)),
            f"{one.rows:,}",
            f"{one.reading:.4g}",
            f"{one.ours:.4g}",
            f"{one.standard_error / one.ours:.0%}",
            f"{one.deviation:+.1%}",
            f"{one.tolerance:.0%}",
            f'<span class="{"bad" if one.verdict == "off" else "good"}">{one.verdict}</span>',
        ]
        for one in found
    ]
    heads = ["experiment", "method", "rows", "paper", "ours", "std. error", "deviation", "allowed"]
    table = _table("Plotted settings", [*heads, "verdict"], rows, text=(0, 1, 8))
    return (
        "<h2>Deviation from the paper's figures</h2>"
        f"<p>{_text(summary_of(found))}</p>"
        f"<details><summary>All points</summary>{table}</details>"
    )


def _experiment(
    name: str,
    run: Run,
    points: Sequence[Point],
    pictures: Mapping[tuple[str, str], Picture],
) -> str:
    experiment = experiment_named(name)
    figures = "".join(
        f"<figure><h3>{settings}</h3>{_image(pictures[settings, name], experiment.title)}</figure>"
        for settings in run.settings
    )
    own = [point for point in points if point.experiment == name]
    return (
        f'<h2 id="{name}">{_text(experiment.title)} <span class="faint">{name}</span></h2>'
        f'<div class="pair">{figures}</div>'
        f"<details><summary>Numbers</summary>{_numbers(own)}</details>"
    )


def _numbers(points: Sequence[Point]) -> str:
    tables = []
    for settings, measure in dict.fromkeys((point.settings, point.measure) for point in points):
        own = [p for p in points if (p.settings, p.measure) == (settings, measure)]
        sizes = sorted({point.rows for point in own})
        values = {(p.method, p.rows): f"{p.value:.4g} ± {p.standard_error:.2g}" for p in own}
        rows = [
            [_text(label_of(method)), *(values[method, size] for size in sizes)]
            for method in dict.fromkeys(point.method for point in own)
        ]
        if measure != "seconds":
            limits = {point.rows: point.limit for point in own}
            rows.append(["information limit", *(f"{limits[size]:.4g}" for size in sizes)])
        heads = ["method", *(f"m = {size:,}" for size in sizes)]
        tables.append(_table(f"{settings}, {measure}", heads, rows, text=(0,)))
    return "".join(tables)


def _table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int]
) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="text">{cell}</{tag}>' if place in text else f"<{tag}>{cell}</{tag}>"
            for place, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{caption}</caption>'
        f"<thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _verdict(verdict: str) -> str:
    kind = {"holds": "good", "does not hold": "bad", "not tested": "faint"}.get(verdict, "good")
    return f'<span class="{kind}">{verdict}</span>'


def _image(picture: Picture, title: str) -> str:
    coded = base64.b64encode(picture.inline_svg.encode()).decode()
    return f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{coded}">'


def _text(value: str) -> str:
    return escape(value)
