"""The report of a fit as a file: complete, self-contained, the same again, and never too large."""

import hashlib
import pickle
import re
import struct
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tests.forced import fit_streamed

import gaussnet as gn
from gaussnet.data.write import write_rows
from gaussnet.report.markup import brief, number, share, text
from gaussnet.tails import PValue

DAG = gn.Dag.parse("season; rain ~ season; wet ~ rain + season", nodes=["season", "rain", "wet"])
TRUTH = gn.simulate.random_network(DAG, seed=1, intercepts=(-1.0, 1.0))
ROWS = TRUTH.sample(400, seed=2)
VOID = {"meta", "input", "br", "img"}


class Page(HTMLParser):
    """The page as a tree would see it."""

    def __init__(self, source):
        super().__init__()
        self.source, self.tags, self.attributes, self.words = source, [], [], []
        self._open = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def write(path, result, **about):
    gn.write_report(result, path, **about)
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture
def target(tmp_path):
    return tmp_path / "report.html"


@pytest.mark.parametrize(
    ("method", "scale"),
    [("least-squares", "mean-square"), ("batch-median", "mad"), ("cauchy", "mad")],
)
def test_every_number_of_the_fit_is_there(target, method, scale):
    fit = gn.fit(ROWS, DAG, method, scale=scale)
    page = write(target, fit)
    intervals = fit.confidence_intervals(0.95).coefficients
    for edge, value in fit.network.coefficients.items():
        assert number(value) in page.words
        assert number(fit.standard_errors.coefficients[edge]) in page.words
        assert all(number(end) in page.words for end in intervals[edge])
    for node in DAG.nodes:
        assert number(fit.network.intercepts[node]) in page.words
    assert all(number(scale) in page.words for scale in fit.network.scales)
    words = {"mean-square": "mean squared residuals", "mad": "median absolute deviations"}[scale]
    assert f"Fitted by {method}; noise variances from {words}" in page.text
    assert ", with intercepts." in page.text


def test_standardised_coefficients_and_explained_shares_are_those_of_the_data(target):
    rows = TRUTH.sample(200_000, seed=5)
    page = write(target, gn.fit(rows, DAG))
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    slopes = np.linalg.lstsq(z[:, :2], z[:, 2], rcond=None)[0]
    explained = 100 * np.corrcoef(z[:, :2] @ slopes, z[:, 2])[0, 1] ** 2
    # Least squares reproduces the moments of every family, so both agree but for rounding.
    assert all(number(slope) in page.words for slope in slopes)
    assert number(explained) in page.words


def test_the_certificate_is_told_or_why_there_is_none(target):
    promise = gn.fit(ROWS, DAG).certificate(0.05)
    page = write(target, gn.fit(ROWS, DAG))
    for value in (promise.expected_kl, promise.kl, promise.tv, promise.information_limit):
        assert number(value) in page.words
    assert promise.argument in page.text
    assert all(one in page.text for one in promise.assumptions)
    page = write(target, gn.fit(ROWS, DAG, "cauchy", scale="mad"))
    assert "There is no certificate: " in page.text
    assert f"from as many clean rows, is {number(promise.information_limit)}." in page.text


def test_the_level_is_that_of_intervals_and_certificate(target):
    fit = gn.fit(ROWS, DAG)
    page = write(target, fit, level=0.8)
    assert "80 % from" in page.words
    assert number(fit.certificate(0.2).kl) in page.words
    low, _ = fit.confidence_intervals(0.8).coefficients["season", "rain"]
    assert number(low) in page.words
    with pytest.raises(gn.SettingError, match="got level=2"):
        gn.write_report(fit, target, level=2)


def test_notes_on_the_data_are_told(target):
    rows = ROWS.copy()
    rows[:3, 1] = np.nan
    page = write(target, gn.fit(rows, DAG, missing="drop-rows"))
    assert "3 of 400 rows have missing values and were dropped" in page.text
    page = write(target, gn.fit(ROWS, DAG))
    assert "all rows and columns were used as they are" in page.text


def test_the_page_is_one_file_that_asks_for_nothing(target):
    page = write(target, gn.fit(ROWS, DAG))
    assert not {"link", "img", "iframe", "object", "embed", "base", "form", "a"} & set(page.tags)
    assert page.tags.count("script") == page.tags.count("style") == 1
    names = {name for name, _ in page.attributes}
    assert not any(name.startswith("on") for name in names)
    assert not {"src", "action", "style"} & names
    links = [value for name, value in page.attributes if name == "href"]
    assert links
    assert all(link in ("#bell", "#frame") for link in links)
    assert not re.search(r"https?://|@import|fetch\(|XMLHttp|WebSocket|import\(", page.source)
    assert "default-src 'none'" in page.source


def test_the_same_fit_gives_the_same_bytes(tmp_path):
    for name in ("one.html", "two.html"):
        gn.write_report(gn.fit(ROWS, DAG), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_origin_is_told_as_far_as_it_is_known(target, tmp_path):
    source = tmp_path / "rows.csv"
    source.write_text("a")
    page = write(target, gn.fit(ROWS, DAG))
    assert hashlib.sha256(struct.pack(f"<{ROWS.size}d", *ROWS.ravel())).hexdigest() in page.words
    assert "gn.fit(rows, dag, gn.LeastSquares(), scale=gn.MeanSquare()" in page.text
    assert "date" not in page.words
    assert f"{gn.__version__}, " in page.text
    page = write(target, gn.fit(ROWS, DAG), source=source, command="gaussnet fit", date="May 1")
    assert hashlib.sha256(b"a").hexdigest() in page.words
    assert "gaussnet fit" in page.words
    assert "May 1" in page.words
    assert page.text.startswith("A Gaussian network, learnt from rows.csv")


def test_a_network_is_not_said_to_be_learnt_from_rows_beside_it(target, tmp_path):
    source = tmp_path / "new.csv"
    source.write_text("a")
    network = gn.fit(ROWS, DAG).network
    page = write(target, network, data=ROWS, source=source)
    assert page.text.startswith("A Gaussian network, beside the rows of new.csv")
    page = write(target, network, data=ROWS)
    assert "<title>A Gaussian network</title>" in page.source


@pytest.mark.parametrize(
    "settings",
    [
        {"method": gn.BatchMedian(30), "scale": "mad", "intercept": False, "split": (250, 150)},
        {"missing": "drop-rows"},
    ],
    ids=["medians", "missing"],
)
def test_the_python_call_of_the_report_gives_the_same_fit(target, settings):
    rows = ROWS.copy()
    if "missing" in settings:
        rows[5, 0] = np.nan
    fit = gn.fit(rows, DAG, **settings)
    page = write(target, fit)
    call = next(words for words in page.words if words.startswith("dag = "))
    told = {"gn": gn, "rows": rows, "path": target}
    exec(call, told)  # what a reader would paste
    assert told["fit"].network == fit.network


def test_a_fit_that_lost_its_rows_says_so(target):
    page = write(target, pickle.loads(pickle.dumps(gn.fit(ROWS, DAG))))
    assert "std. error" in page.words  # of least squares, from the sums that it keeps
    assert "No pictures of residuals: this fit no longer has the rows" in page.text
    assert "standardised" in page.words


def test_a_network_is_shown_with_rows(target):
    with pytest.raises(gn.SettingError, match="got a network without data"):
        gn.write_report(TRUTH, target)
    rows = ROWS.copy()
    rows[0, 0] = np.nan
    page = write(target, TRUTH, data=rows)
    assert "A network from a file, shown with these rows" in page.text
    assert "1 of 400 rows have missing values" in page.text
    assert page.tags.count("figure") == 1 + len(DAG)
    assert "std. error" not in page.words


@pytest.mark.parametrize("method", ["least-squares", "robust"])
def test_p_values_of_coefficients_are_those_of_the_table(target, method):
    rows = TRUTH.sample(60, seed=5)
    rows[3, 1] = 1e3
    fit = gn.fit(rows, DAG, method)
    page = write(target, fit)
    assert "p-values: two-sided t tests" in page.text
    for p_value in fit.table()["p_value"]:
        assert str(PValue(p_value)) in page.words


def test_numbers_on_arrows_stand_on_paper_of_their_own(target):
    page = write(target, gn.fit(ROWS, DAG))
    start = page.source.index('<g class="inscriptions">')
    drawn = page.source[start : page.source.index("</g>", start)]
    assert drawn.count("<rect") == drawn.count("<text") == len(DAG.edges)
    assert drawn.rindex("<rect") < drawn.index("<text")


CHAIN = gn.Dag.parse("rain ~ season; wet ~ rain", nodes=["season", "rain", "wet"])
TODAY = gn.GaussianNetwork.from_arrays(CHAIN, [1.0, -0.8], [1.0, 0.5, 0.7])
FINE = TODAY.sample(1_000, seed=4)


def spoilt(**cells):
    """Today's rows with a change."""
    rows = np.array(FINE)
    if "added" in cells:
        rows[:, 2] += cells["added"] * rows[:, 0]
    if "moved" in cells:
        rows[:, 1] += cells["moved"]
    if "code" in cells:
        rows[:5, 1] = cells["code"]
    return rows


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        (
            FINE,
            ("The data agree with the graph (1", "Nothing drifted", "give no reason to doubt"),
        ),
        (
            spoilt(moved=0.5),
            ("agree with the graph", "The units of rain", "Do not trust what the network says of"),
        ),
        (spoilt(added=0.5), ("The data contradict the graph", "Drift at", "says of wet")),
        (spoilt(code=-999.0), ("agree with", "5 values do not fit", "some values are wrong")),
        (FINE[:4], ("too few rows to judge", "drifted", "too few to say whether the network")),
        (
            np.where(np.arange(3_000).reshape(FINE.shape) == 7, np.inf, FINE),
            ("was not checked", "could not be compared", "Do not trust"),
        ),
    ],
    ids=["fine", "moved", "edge", "code", "few", "infinite"],
)
def test_a_network_beside_rows_begins_with_three_sentences(target, rows, sentences):
    page = write(target, TODAY, data=rows, learnt_rows=10_000)
    start = page.source.index('id="summary"')
    told = page.source[start : page.source.index("</section>", start)].split("<p>")[1:]
    assert len(told) == 3
    for words, sentence in zip(told, sentences, strict=True):
        assert sentence in words


def test_r2_of_a_network_beside_rows_is_that_of_the_rows(target):
    rows = spoilt(added=2.0)
    page = write(target, TODAY, data=rows)
    rest = rows[:, 2] + 0.8 * rows[:, 1]
    own = 1.0 - np.mean(rest**2) / rows[:, 2].var()
    assert number(100.0 * own) in page.words
    assert "of the variance of these rows" in page.text
    gone = write(target, pickle.loads(pickle.dumps(gn.fit(ROWS, DAG, "batch-median"))))
    assert "implied R2, %" in gone.words


def test_codes_of_rows_beside_a_network_are_missing(target):
    page = write(target, TODAY, data=spoilt(code=-999.0), missing_values=-999)
    assert "5 of 1000 rows have missing values" in page.text
    assert "missing_values=[-999.0]" in page.text
    assert "Nothing drifted" in page.text


def test_flagged_cells_are_shown_worst_first_and_only_for_robust_fits(target):
    rows = ROWS.copy()
    rows[[7, 300], 1] = 90.0, -500.0
    fit = gn.fit(rows, DAG, "robust")
    page = write(target, fit)
    found = fit.outliers()
    assert f"{len(found)} values in {sum(part > 0 for part in found.shares.values())} node" in (
        page.text
    )
    table = page.source[page.source.index('id="flagged"') :]
    told = re.findall(r'<tr><td data-v="(\d+)">', table)
    assert told == [str(cell.row) for cell in found]
    assert told[:2] == ["300", "7"]
    assert all(number(cell.expected) in page.words for cell in found)
    assert "Flagged cells" not in write(target, gn.fit(rows, DAG)).words


@pytest.mark.parametrize(
    ("method", "known"),
    [("robust", "the other cells of its row"), ("sequential-trim", "the parents of its node")],
)
def test_the_report_says_in_what_unit_deviations_are(target, method, known):
    """Witness: the standard deviation given all other cells, or given the parents alone."""
    rows = ROWS.copy()
    rows[300, 1] = -500.0
    fit = gn.fit(rows, DAG, method)
    worst = next(iter(fit.outliers()))
    parents = [parent for parent, child in DAG.edges if child == worst.node]
    given = None if method == "robust" else parents
    expected = fit.network.predict(rows[[300]], worst.node, given=given)
    assert worst.expected == pytest.approx(expected.mean[0], rel=1e-6)
    # The trimmed variance has another divisor, by less than 2 %.
    assert (worst.recorded - worst.expected) / worst.z == pytest.approx(expected.scale[0], rel=0.02)
    assert f"in standard deviations of the value given {known}" in write(target, fit).text


def test_a_robust_fit_of_clean_rows_says_that_nothing_is_flagged(target):
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 3))  # no tails, no outliers
    assert (
        "None: every value fits its equation." in write(target, gn.fit(rows, DAG, "robust")).words
    )


def test_flagged_rows_are_numbered_as_in_the_data_with_rows_dropped(target):
    rows = ROWS[:100].copy()
    rows[:60, 0] = np.nan
    rows[99, 2] = 1_000.0
    page = write(target, gn.fit(rows, DAG, "robust", missing="drop-rows"))
    places = [float(mark) for mark in re.findall(r"M([\d.]+) \d+h", page.source)]
    assert places
    assert max(places) <= 190 + 900  # the strip ends there


def test_rows_that_are_read_in_pages_have_the_same_pictures(target, tmp_path):
    write_rows(tmp_path / "rows.parquet", DAG.nodes, [ROWS])
    whole = write(target, gn.fit(ROWS, DAG))
    paged = write(target, fit_streamed(tmp_path / "rows.parquet", DAG, page_rows=64))
    assert "SHA-256 of the rows" in whole.words
    assert "SHA-256 of the rows" not in paged.words
    figures = re.compile(r'<figure class="residual".*?</figure>', re.S)
    # Pages change the order of sums, so coefficients and D may differ in their last digits.
    strip = re.compile(r'data-value="[^"]*"|D = \S+')
    one, other = (
        [strip.sub("", figure) for figure in figures.findall(page.source)]
        for page in (whole, paged)
    )
    assert one == other
    assert len(one) == 3
    page = write(target, TRUTH, data=tmp_path / "rows.parquet")
    assert page.tags.count("figure") == 4


def test_a_folder_of_rows_is_hashed_file_by_file(target, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    write_rows(folder / "b.csv", DAG.nodes, [ROWS[200:]])
    write_rows(folder / "a.csv", DAG.nodes, [ROWS[:200]])
    page = write(target, gn.fit(folder, DAG), source=folder)
    both = (folder / "a.csv").read_bytes() + (folder / "b.csv").read_bytes()
    assert hashlib.sha256(both).hexdigest() in page.words


@pytest.mark.parametrize("result", [None, DAG, "model.json"])
def test_what_is_neither_fit_nor_network_is_refused(target, result):
    with pytest.raises(gn.SettingError, match=r"expected a gaussnet\.Fit"):
        gn.write_report(result, target)
    assert not target.exists()


def test_a_name_that_is_no_page_is_refused(tmp_path):
    with pytest.raises(gn.FileError, match=r"expected a name that ends in \.html"):
        gn.write_report(gn.fit(ROWS, DAG), tmp_path / "report.pdf")


@pytest.mark.parametrize(
    "name", ["<script>", "</script>", "</title>", '"', "'", "&amp;", "-->", "\x00\x1b[2J", "\ud800",
             "\u202egnp.exe", "日本", "]]>"]
)  # fmt: skip
def test_a_name_is_text_wherever_it_stands(target, name):
    dag = gn.Dag.from_edges([(name, "y")], nodes=[name, "y"])
    other = gn.fit(np.asarray(ROWS)[:, :2], gn.Dag.from_edges([("x", "y")], nodes="xy"))
    plain = write(target, other, title="x", command="x", date="x")
    page = write(target, gn.fit(np.asarray(ROWS)[:, :2], dag), title=name, command=name, date=name)
    assert page.tags == plain.tags
    assert [key for key, _ in page.attributes] == [key for key, _ in plain.attributes]
    assert "\x00" not in page.source
    if name.isprintable():
        assert page.words.count(name) > plain.words.count(name)


def test_text_escapes_every_sign_of_markup():
    assert text("<>&\"'") == "&lt;&gt;&amp;&quot;&#x27;"
    assert text("a\u202eb\ud800\x07") == "a\ufffdb\ufffd\ufffd"


def test_odd_fits_have_a_report(target):
    rows = np.column_stack((np.ones(30), np.arange(30.0), 2 * np.arange(30.0)))
    dag = gn.Dag.parse("still; free; double ~ free + still", nodes=["still", "free", "double"])
    page = write(target, gn.fit(rows, dag))
    assert not re.search(r'[>"]\W?(nan|inf)', page.source)
    assert page.tags.count("figure") == 2  # the drawing, and the residuals of "free"
    write(target, gn.fit(np.asarray(ROWS)[:1, :1], gn.Dag.parse("[a]")))
    write(target, gn.fit(ROWS * 1e150, DAG))
    write(target, gn.fit(ROWS * 1e-150, DAG))


def test_150_nodes_stay_small(target):
    dag = gn.simulate.erdos_renyi(150, 5, seed=0)
    rows = gn.simulate.random_network(dag, seed=1).sample(2_000, seed=2)
    page = write(target, gn.fit(rows, dag))
    assert target.stat().st_size < 1_000_000
    assert page.tags.count("figure") == 151


def test_a_large_network_is_cut_and_says_so(target):
    dag = gn.simulate.erdos_renyi(2_500, 6, seed=0)
    network = gn.simulate.random_network(dag, seed=1, weights=(0.1, 0.3))
    page = write(target, network, data=network.sample(50, seed=2))
    assert target.stat().st_size < 2_000_000
    assert "too large for a drawing" in page.text
    assert "more rows are not shown" in page.text
    assert "least Gaussian of 2500 nodes" in page.text
    assert "--around" in page.text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (99999.6, "100000"),
        (1e-5, "1.000e-05"),
        (-123.456, "\N{MINUS SIGN}123.5"),
        (float("inf"), "∞"),
        (float("-inf"), "\N{MINUS SIGN}∞"),
    ],
)
def test_numbers_have_four_digits(value, shown):
    assert number(value) == shown


def test_other_numbers():
    assert share(-0.5) == "\N{MINUS SIGN}50 %"
    assert brief(-0.5) == "\N{MINUS SIGN}0.50"
    assert brief(0.0) == "0.00"


def test_the_top_of_the_page_says_whether_the_model_fits(target):
    right = write(target, gn.fit(ROWS, DAG))
    body = right.source[right.source.index("<body>") :]
    wrong = gn.fit(ROWS, gn.Dag.parse("season; rain; wet ~ rain", nodes=["season", "rain", "wet"]))
    page = write(target, wrong)
    first = page.source[page.source.index('<section id="summary"') :]
    assert 'class="summary warning"' in first[:80]
    assert re.match(r"[^>]*>\s*<p>The data contradict the graph in ", first)
    assert 'class="summary fine"' in body
    # warnings before promises: the certificate comes last, under its condition
    assert "TV at most" not in page.text
    promise, notes = page.source.index("If the model is right"), page.source.index("Notes on the")
    assert page.source.index("Does the graph fit?") < notes < promise
    for sentence in wrong.summary().sentences:
        assert sentence in page.words


def test_contradicted_pairs_are_drawn_and_listed(target):
    fit = gn.fit(ROWS, gn.Dag.parse("season; rain; wet ~ rain", nodes=["season", "rain", "wet"]))
    rejected = fit.check_graph().rejected
    page = write(target, fit)
    assert page.source.count('class="edge refuted"') == len(rejected) == 2
    table = page.source[page.source.index('id="contradicted"') :]
    assert all(number(one.correlation) in table for one in rejected)
    assert "refuted" not in write(target, gn.fit(ROWS, DAG)).source.split("</style>")[1]


def test_effects_are_those_asked_for_or_of_roots_and_parents_on_leaves(target):
    fit = gn.fit(ROWS, DAG)
    page = write(target, fit)
    table = page.source.split('id="effects"')[1].split("</table>")[0]
    for cause in ("season", "rain"):
        effect = fit.effect(cause, "wet")
        assert number(effect.value) in table
        assert number(effect.high) in table
    assert table.count("<tr>") == 1 + 2
    assert "Listed are those on nodes without children" in page.text
    asked = write(target, fit, effects=[("season", "rain")])
    assert asked.source.split('id="effects"')[1].split("</table>")[0].count("<tr>") == 1 + 1
    assert "Listed are" not in asked.text
    with pytest.raises(gn.GaussnetError, match="there is no node 'snow'"):
        gn.write_report(fit, target, effects=[("snow", "wet")])


def test_many_effects_are_cut_and_say_so(target):
    dag = gn.Dag.from_edges([(f"x{i}", f"y{j}") for i in range(6) for j in range(6)])
    page = write(target, gn.fit(gn.simulate.random_network(dag, seed=1).sample(50, seed=2), dag))
    assert "Listed are the first 20 on nodes without children" in page.text
    assert page.source.split('id="effects"')[1].split("</table>")[0].count("<tr>") == 1 + 20


def test_residual_plots_have_verdicts(target):
    rows = ROWS.copy()
    rows[:, 1] = np.exp(rows[:, 1])
    page = write(target, gn.fit(rows, DAG))
    verdicts = re.findall(r'<span class="verdict">([^<]*)</span>', page.source)
    assert len(verdicts) == 3
    assert "close to Gaussian" in verdicts
    assert any("Gaussian" not in verdict or "far from" in verdict for verdict in verdicts)


def test_interventions_have_a_section(target):
    chosen = np.zeros(ROWS.shape, dtype=bool)
    chosen[:30, 1] = True
    page = write(target, gn.fit(ROWS, DAG, interventions=chosen))
    assert "Interventions" in page.words
    assert "Interventions" not in write(target, gn.fit(ROWS, DAG)).words


def test_groups_come_first_with_a_panel_for_every_coefficient(tmp_path):
    frames = []
    for index, (site, slope) in enumerate({"Graz": 0.9, "<b>Ulm": 0.1}.items()):
        rng = np.random.default_rng(index)
        rain = rng.normal(size=300)
        wet = slope * rain + rng.normal(size=300)
        mud = 0.5 * wet + rng.normal(size=300)
        frames.append(pd.DataFrame({"rain": rain, "wet": wet, "mud": mud, "site": site}))
    found = gn.fit(pd.concat(frames), "wet ~ rain; mud ~ wet", groups="site")
    gn.write_report(found, tmp_path / "sites.html", title="Two sites")
    page = (tmp_path / "sites.html").read_text(encoding="utf-8")
    assert page.index("<h2>Groups</h2>") < page.index("<h2>Network</h2>")
    assert page.count('class="residual groups"') == 2
    assert page.index("rain -&gt; wet</h3>") < page.index("wet -&gt; mud</h3>")
    assert page.count("differ, adjusted p-value") == 2  # of one panel, its label and its caption
    assert "<b>Ulm" not in page
    assert "&lt;b&gt;Ulm" in page
    gn.write_report(found, tmp_path / "again.html", title="Two sites")
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "sites.html").read_bytes()


def test_the_box_is_amber_where_only_the_last_sentence_restricts_trust(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=1_000)
    y = x + rng.normal(size=1_000)
    rows = np.column_stack((x, y, y + rng.normal(size=1_000)))
    chosen = rng.choice(1_000, 30, replace=False)
    rows[chosen, 1] += rng.choice((-1.0, 1.0), 30) * rng.uniform(2.8, 4.0, 30)
    fit = gn.fit(rows, gn.Dag.parse("[x][y|x][z|y]", nodes="xyz"), "robust")
    assert fit.summary().restricts
    page = write(tmp_path / "report.html", fit)
    assert 'class="summary caution"' in page.source
    assert ".summary.caution { border-left-color: var(--caution); }" in page.source
    assert "#b7791f" in fit._repr_html_()


def test_the_report_has_the_measures_of_fit(target):
    fit = gn.fit(ROWS, gn.Dag.parse("season; rain; wet ~ rain", nodes=["season", "rain", "wet"]))
    found, page = fit.fit_measures(), write(target, fit)
    told = page.source[page.source.index('<table id="measures">') :]
    for words, value in (
        ("chi-square", f"{found['chisq']:,.3f}"),
        ("degrees of freedom", "2"),
        ("p-value of chi-square", "&lt;0.001"),
        ("CFI", f"{found['cfi']:.3f}"),
        ("RMSEA, 90 % interval from", f"{found['rmsea.ci.lower']:.3f}"),
        ("SRMR", f"{found['srmr']:.3f}"),
        ("BIC", f"{found['bic']:,.3f}"),
    ):
        assert f">{words}</th><td>{value}</td>" in told
    assert "Chi-square compares the graph with one that has every edge" in page.text


def test_a_report_leaves_out_measures_of_fit_that_do_not_exist(target):
    complete = write(target, gn.fit(ROWS, DAG))  # every edge: no chi-square test
    assert ">p-value of chi-square<" not in complete.source
    assert ">AIC</th>" in complete.source
    refused = write(target, gn.fit(ROWS, DAG, gn.BatchMedian(10)))
    assert "Measures of fit" not in refused.text
