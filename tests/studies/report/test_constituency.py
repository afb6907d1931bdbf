"""The report of a study: that it shows the figures, all of them safely, and always the same way."""

from __future__ import annotations

import copy
import json
import re
import xml.etree.ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from eigentree._core.printable import visible
from eigentree.drawing.plots import Point, Series, plot
from eigentree.studies import make_study, read_study, run_study
from eigentree.studies.report import page
from eigentree.studies.report.constituency import constituency_report, summary
from eigentree.studies.report.tables import percent, seconds
from tests.demo import HELD_OUT, TREEBANK

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "study.toml"
NASTY = "<b>&\"'|*_`$x$\u202e\x00\x1b"


def as_html(figures) -> str:
    return page.as_html(constituency_report(figures))


def as_markdown(figures) -> str:
    return page.as_markdown(constituency_report(figures))


class Page(HTMLParser):
    """What a browser would have of a page: tables by caption, all text, all tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.text: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._rows: list[list[str]] = []
        self._cell: list[str] | None = None
        self._caption = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th", "caption"):
            self._cell = []

    def handle_endtag(self, tag):
        if tag == "caption":
            self._caption = "".join(self._cell or [])
        elif tag in ("td", "th"):
            self._rows[-1].append("".join(self._cell or []))
        elif tag == "table":
            self.tables[self._caption] = self._rows
        if tag in ("td", "th", "caption"):
            self._cell = None

    def handle_data(self, data):
        self.text.append(data)
        if self._cell is not None:
            self._cell.append(data)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    study = read_study(EXAMPLE, folder=TREEBANK.parent)
    return run_study(study, tmp_path_factory.mktemp("results"), command="eigentree experiment")


@pytest.fixture
def figures(result) -> dict:
    return copy.deepcopy(result.figures)


@pytest.fixture
def with_em(figures) -> dict:
    """The same with a model learned by expectation maximisation."""
    row = copy.deepcopy(figures["models"][1])
    row |= {
        "name": "em, m = 4", "model": "em", "method": "em", "cpu_seconds": 40.0,
        "all_cpu_seconds": 60.0, "iteration_cpu_seconds": 2.0, "best_iteration": 20,
    }  # fmt: skip
    row["scores"]["dev"]["f1"] -= 0.02
    figures["models"].append(row)
    course = [(1, 0.6, 3.0), (2, None, 5.0), (20, 0.86, 40.0), (30, 0.85, 60.0)]
    names = ("iteration", "f1", "cpu_seconds")
    figures["iterations"] = [
        {
            "name": "em, m = 4", "model": "em", "states": 4, "seed": 0, "best": 20,
            "iterations": [
                {**dict(zip(names, one, strict=True)), "log_likelihood": -1.0} for one in course
            ],
        }
    ]  # fmt: skip
    return figures


@pytest.mark.slow
def test_the_files_hold_the_same_figures(result):
    folder = result.report.parent
    text = (folder / "results.json").read_text("utf-8")
    assert "NaN" not in text
    assert json.loads(text) == result.figures
    assert result.report.read_text("utf-8") == as_html(json.loads(text))
    assert (folder / "report.md").read_text("utf-8") == as_markdown(json.loads(text))


@pytest.mark.slow
def test_every_model_is_in_the_table_with_its_figures(figures):
    page = Page(as_html(figures))
    header, *rows = page.tables["Every model"]
    assert header[:3] == ["model", "dev F1", "95 % interval"]
    names = ["spectral, m = 2", "spectral, m = 4", "paper, m = 2", "paper, m = 4", "markov", "pcfg"]
    assert [row[0] for row in rows] == names
    for row, shown in zip(figures["models"], rows, strict=True):
        scores = row["scores"]["dev"]
        assert shown[1] == f"{100 * scores['f1']:.2f}"
        assert shown[2] == f"{100 * scores['low']:.1f} to {100 * scores['high']:.1f}"
        assert shown[header.index("training CPU s")] == seconds(row["cpu_seconds"])
        assert shown[header.index("parameters")] == f"{row['parameters']:,}"
    matrix = page.tables["F1 by method and number of states (the paper's table 2)"]
    assert matrix[0] == ["states", "spectral, dev", "paper, dev"]
    assert matrix[2][1] == percent(figures["models"][1]["scores"]["dev"]["f1"])


@pytest.mark.slow
def test_ablations_are_tested_against_the_whole_model(figures):
    rows = Page(as_html(figures)).tables["Models without one component (the paper's section 4.3)"]
    assert [row[:2] for row in rows[1:]] == [
        ["paper, m = 4", "–"],
        ["paper, m = 4", "smoothing"],
        ["paper, m = 4", "absolute values"],
    ]
    ablated = figures["ablations"][0]
    whole = next(row for row in figures["models"] if row["name"] == "paper, m = 4")
    test = ablated["tests"]["dev"]
    apart = ablated["scores"]["dev"]["f1"] - whole["scores"]["dev"]["f1"]
    assert abs(test["difference"] - apart) < 1e-12
    assert rows[2][3] == f"{100 * apart:+.2f}".replace("-", "−")


def test_learning_curves_go_up_to_all_trees(figures):
    rows = Page(as_html(figures)).tables["F1 by number of training trees"]
    expected = [
        f"{share} ({name})"
        for _ in ("spectral", "pcfg")
        for share, name in (("122", "25 %"), ("245", "50 %"), ("490", "100 %"))
    ]
    assert [row[1] for row in rows[1:]] == expected


def test_the_best_of_each_model_are_compared(figures):
    rows = Page(as_html(figures)).tables["Paired tests between the best rows of the models on dev"]
    assert len(rows) == 1 + 6
    ranks = [row["second"] for row in figures["comparisons"]]
    assert ranks[0] == figures["best"]
    assert all(test["difference"] >= 0 for test in figures["comparisons"])


def test_references_are_in_the_plot_and_the_table(figures):
    text = as_html(figures)
    assert Page(text).tables["References"][1][:4] == [
        "a parser from elsewhere", "gold tags", "dev", "88.00",
    ]  # fmt: skip
    assert "<title>a parser from elsewhere, gold tags: 88.00 after 12.0 CPU s</title>" in text
    figures["references"][0]["tags"] = "own"
    assert "Hollow references were not parsed from gold tags." in as_html(figures)


def test_the_course_of_em_is_reported(with_em):
    page = Page(as_html(with_em))
    assert page.tables["F1 on dev by iteration (the paper's table 1)"] == [
        ["iteration", "em, m = 4"],
        ["1", "60.00"],
        ["20", "86.00"],
        ["30", "85.00"],
    ]
    header, *rows = page.tables["CPU seconds of training by stage (the paper's table 3)"]
    em = dict(zip(header, rows[-1], strict=True))
    spectral = with_em["models"][1]["cpu_seconds"]
    assert em["to the best model"] == "40.0"
    assert em["best iteration"] == "20"
    assert em["per EM iteration"] == "2.00"
    assert em["times as long as spectral"] == f"{40 / spectral:.1f}"
    note = "Ratios are to the first spectral model"
    assert note in as_html(with_em)
    for row in with_em["models"]:
        row["method"] = {"spectral": "markov"}.get(row["method"], row["method"])
    assert note not in as_html(with_em)


def test_plots_are_explained_where_they_are(with_em):
    thin = "Thin lines are the iterations of EM"
    assert f"{thin}." in as_html(with_em)
    assert "One line per model, labelled with m." in as_html(with_em)
    text = as_markdown(with_em)
    assert "Plots are in [report.html](report.html)." in text
    assert "Up and to the left is better" not in text
    assert thin not in text
    with_em["seeds"] = [0, 1]
    several = as_html(with_em)
    assert f"{thin}, one line per seed." in several
    assert "One line per model and seed, labelled with m." in several
    with_em["iterations"] = []
    assert thin not in as_html(with_em)


def test_the_paper_is_named_once(with_em):
    title = "Experiments with Spectral Learning of Latent-Variable PCFGs"
    for text in (as_html(with_em), as_markdown(with_em)):
        assert text.count(title) == 1
        assert "m is the maximum number of latent states of a nonterminal." in text


def test_the_summary_reports_when_spectral_is_better(with_em):
    # A model of another kind may be the best, and is still no news about the two estimators.
    pcfg = next(row for row in with_em["models"] if row["method"] == "pcfg")
    pcfg["scores"]["dev"]["f1"] = 0.99
    best, sentence, _ = summary(with_em)
    assert best.startswith("The best model on dev is pcfg: F1 99.00 ")
    f1, others = (
        max(row["scores"]["dev"]["f1"] for row in with_em["models"] if row["method"] == method)
        for method in ("spectral", "em")
    )
    named = next(row for row in with_em["models"] if row["scores"]["dev"]["f1"] == f1)
    assert sentence.startswith(
        f"On dev, {named['name']} is {100 * (f1 - others):.2f} points above em, m = 4 ("
    )
    ratio = 40 / named["cpu_seconds"]
    assert sentence.endswith(
        f"; {named['name']} trained {ratio:.{1 if ratio < 10 else 0}f} times as fast "
        f"({seconds(named['cpu_seconds'])} CPU seconds against 40.0)."
    )


def test_the_summary_reports_when_em_is_better(with_em):
    with_em["models"][-1]["scores"]["dev"]["f1"] = 0.99
    with_em["models"][-1]["cpu_seconds"] = 1e-3
    best, against, _ = summary(with_em)
    assert best.startswith("The best model on dev is em, m = 4: F1 ")
    assert against.startswith("On dev, em, m = 4 is ")
    assert " points above " in against
    assert re.search(r"; em, m = 4 trained [\d,]+ times as fast \(0\.00 CPU seconds", against)


def test_the_summary_compares_the_two_starts_of_em(with_em):
    em = with_em["models"][-1]
    clusters = copy.deepcopy(em) | {"name": "clusters", "model": "c", "method": "spectral+em"}
    clusters["scores"]["dev"]["f1"] += 0.01
    with_em["models"] = [em, clusters, *with_em["models"][-3:-1]]
    assert summary(with_em)[1].startswith("On dev, clusters is 1.00 points above em, m = 4 (")
    assert "training took equally long (40.0 CPU seconds against 40.0)." in (summary(with_em)[1])


def test_test_is_reported_of_and_decides_nothing(figures):
    figures["parts"]["test"] = 7
    for row in (*figures["models"], *figures["ablations"], *figures["learning_curve"]):
        row["scores"]["test"] = {**row["scores"]["dev"], "f1": 0.5}
        row.get("tests", {})["test"] = row.get("tests", {}).get("dev")
    text = as_html(figures)
    assert "but not used for selection" in text
    assert "and 50.00 on test" in summary(figures)[0]
    assert "F1 on the mean of dev and test against CPU seconds of training" in text


def test_nothing_done_is_a_report_too(figures):
    empty = {"models": [], "ablations": [], "learning_curve": [], "comparisons": [],
             "references": [], "parts": {}, "failures": {"pcfg": "no luck"}}  # fmt: skip
    page = Page(as_html({**figures, **empty}))
    assert "No model was trained; there is nothing to compare." in page.text
    assert page.tables == {}


def test_names_cannot_become_markup(with_em):
    text = json.dumps(with_em).replace("spectral, m = 4", "NAME").replace('"spectral"', '"NAME"')
    figures = json.loads(text.replace("NAME", json.dumps(NASTY)[1:-1]))
    figures |= {"title": NASTY, "failures": {NASTY: NASTY}}
    figures["references"][0]["name"] = NASTY
    html = as_html(figures)
    assert "<b>" not in html
    assert html.count("<script") == 0
    page = Page(html)
    assert visible(NASTY) in [row[0] for row in page.tables["Every model"]]
    for text in (html, as_markdown(figures)):
        assert not set(text) & set("\u202e\x00\x1b")
    for number, drawn in enumerate(re.findall(r"<svg.*?</svg>", html, re.DOTALL)):
        assert xml.etree.ElementTree.fromstring(drawn) is not None, number
    assert "<b>" not in as_markdown(figures)


def test_the_page_needs_nothing_else(figures):
    page = Page(as_html(figures))
    assert {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"} == set()
    addresses = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "data")
    ]
    assert addresses == []
    assert "url(" not in as_html(figures)
    assert "@import" not in as_html(figures)


def test_plots_are_described_to_those_who_do_not_see_them(figures):
    drawn = re.findall(r"<svg.*?</svg>", as_html(figures), re.DOTALL)
    assert len(drawn) == 3
    names = set()
    for one in drawn:
        root = xml.etree.ElementTree.fromstring(one)
        ids = {child.get("id") for child in root if child.get("id")}
        assert root.get("role") == "img"
        assert set((root.get("aria-labelledby") or "").split()) == ids
        assert len(ids) == 2
        names |= ids
    assert len(names) == 6


def test_markdown_tables_are_well_formed(with_em):
    with_em["models"][0]["name"] = "a|b"
    lines = as_markdown(with_em).splitlines()
    sizes: list[int] = []
    n_tables = 0
    for line in [*lines, ""]:
        if line.startswith("|"):
            sizes.append(len(re.findall(r"(?<!\\)\|", line)))
        elif sizes:
            assert len(set(sizes)) == 1
            assert len(sizes) > 2
            n_tables += 1
            sizes = []
    assert n_tables == 8
    assert any("| a\\|b |" in line for line in lines)


def test_a_plot_keeps_labels_apart_and_inside():
    points = [Point(1.0 + 0.01 * k, 50.0, f"point {k}", f"label {k}") for k in range(4)]
    drawn = plot("t", "d", [Series("s", points, 0, line=False)], x_label="x", y_label="y")
    places = re.findall(r'<text class="label s0" x="([\d.]+)" y="([\d.]+)">', drawn)
    assert len({place for place in places}) == 4
    assert all(58 <= float(x) <= 760 and 0 <= float(y) <= 430 for x, y in places)


@pytest.mark.parametrize("log_x", [False, True])
def test_a_plot_of_one_point_has_an_axis(log_x):
    series = [Series("s", [Point(3.0, 80.0, "only")], 9)]
    drawn = plot("t", "d", series, x_label="x", y_label="y", log_x=log_x)
    root = xml.etree.ElementTree.fromstring(drawn)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "80" in texts
    assert "s1" in drawn


def test_axes_have_round_values():
    series = [Series("s", [Point(0.5, 61.0, ""), Point(800.0, 88.5, "")], 0)]
    drawn = plot("t", "d", series, x_label="x", y_label="y", log_x=True)
    ticks = re.findall(r'<text class="tick"[^>]*>([^<]*)<', drawn)
    assert ticks == ["60", "65", "70", "75", "80", "85", "90", "1", "10", "100", "1,000"]


# Parsing time -------------------------------------------------------------------------------

NO_SIBLING = {"treebank": {"binarise": {"horizontal": 0}}}


@pytest.fixture(scope="module")
def decomposed(tmp_path_factory):
    models = [
        {"name": "every split", "method": "pcfg", "seeds": 0, "parsing": {"exhaustive": True}},
        {"name": "plain", "method": "pcfg", "seeds": 0},
        {"name": "apr 2", "method": "pcfg", "decomposition": {"rank": 2, "iterations": 3}},
        {"name": "apr 6", "method": "pcfg", "decomposition": {"rank": 6, "iterations": 3}},
        {"name": "slices", "method": "pcfg", "decomposition": {"rank": 6, "method": "slices"}},
        {"name": "markov", "method": "markov", "decomposition": {"rank": 2, "iterations": 3}},
    ]
    models[:5] = [{**each, **NO_SIBLING} for each in models[:5]]
    files = {"train": TREEBANK, "dev": HELD_OUT}
    study = make_study({**files, "model": models, "seeds": [0, 1], "longest": 8})
    return run_study(study, tmp_path_factory.mktemp("decomposed"))


@pytest.fixture
def timed(decomposed) -> dict:
    """The same figures with times and F1 that are easy to reckon with, and a test part."""
    figures = copy.deepcopy(decomposed.figures)
    figures |= {"parts": {"dev": 20, "test": 10}, "all_sentences": {"dev": 25, "test": 10}}
    times = {"every split": 40.0, "plain": 10.0, "apr 2": 2.0, "apr 6": 4.0, "slices": 8.0,
             "markov": 16.0}  # fmt: skip
    for row in figures["models"]:
        ms, several = times[row["name"]], len(row["seeds"]) > 1
        row["scores"]["dev"] |= {
            "sentences": 20, "f1": 0.801, "by_seed": [0.79, 0.81] if several else [0.801],
            "ms_a_sentence": ms, "by_seed_ms_a_sentence": [0.9 * ms, 1.1 * ms] if several else [ms],
        }  # fmt: skip
        row["scores"]["test"] = {
            **row["scores"]["dev"], "sentences": 10, "ms_a_sentence": 2.5 * ms,
        }  # fmt: skip
    return figures


@pytest.mark.slow
def test_parsing_times_are_compared_with_the_same_symbols(timed):
    header, *rows = Page(as_html(timed)).tables["F1 and parsing time"]
    assert header == [
        "model", "symbols", "decomposition", "rank", "relative error", "its CPU s", "dev F1",
        "test F1", "dev ms per sentence", "test ms per sentence", "sentences per second",
        "times as fast as exhaustive", "times as fast as pruned",
    ]  # fmt: skip
    found = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert list(found) == ["every split", "plain", "apr 2", "apr 6", "slices", "markov"]
    # Over 20 sentences of dev and 10 of test, with 1 and 2.5 times as many milliseconds each.
    assert found["apr 2"]["sentences per second"] == f"{1000 / (1.5 * 2):.1f}"
    ratios = {name: (row[-2], row[-1]) for name, row in zip(found, rows, strict=True)}
    assert ratios == {
        "every split": ("–", "0.25"),
        "plain": ("4.00", "–"),
        "apr 2": ("20.00", "5.00"),
        "apr 6": ("10.00", "2.50"),
        "slices": ("5.00", "1.25"),
        "markov": ("–", "–"),
    }
    assert found["apr 2"]["dev F1"] == "80.10 ± 1.41"
    assert found["apr 2"]["dev ms per sentence"] == "2.0 ± 0.3"
    assert found["plain"]["dev F1"] == "80.10"
    assert found["plain"]["dev ms per sentence"] == "10.0"
    assert found["plain"]["symbols"] == "left, v = 1, h = 0"
    assert found["markov"]["symbols"] == "left, v = 2, h = 1"


@pytest.mark.slow
def test_decompositions_are_reported_with_their_errors_and_times(decomposed):
    rows = {row["name"]: row for row in decomposed.figures["models"]}
    errors = {name: row["decomposition"] for name, row in rows.items() if row["decomposition"]}
    assert list(errors) == ["apr 2", "apr 6", "slices", "markov"]
    assert all(0 < one["relative_error"] < 1.5 for one in errors.values())
    assert all(one["cpu_seconds"] > 0 for one in errors.values())
    assert errors["slices"]["relative_error"] < errors["apr 6"]["relative_error"]
    shown = Page(as_html(decomposed.figures)).tables["F1 and parsing time"]
    line = next(line for line in shown if line[0] == "apr 6")
    error = errors["apr 6"]["relative_error"]
    assert line[2:6] == ["apr", "6", f"{error:.3f}", seconds(errors["apr 6"]["cpu_seconds"])]


def test_times_that_were_not_recorded_are_left_open(timed):
    for row in timed["models"]:
        if row["decomposition"]:
            row["decomposition"] |= {"relative_error": None, "cpu_seconds": None}
        for scores in row["scores"].values():
            scores["ms_a_sentence"] = 0.0  # too little for the clock
    _, *rows = Page(as_html(timed)).tables["F1 and parsing time"]
    assert rows[2][4:6] == ["–", "–"]
    assert {cell for row in rows for cell in row[-3:]} == {"–"}


def test_the_plot_of_parsing_times_has_a_line_for_each_kind_of_decomposition(timed):
    def of_times(text):
        found = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        (drawn,) = (one for one in found if "parsing-time-title" in one)
        return drawn, re.findall(r'<text class="key"[^>]*>([^<]*)<', drawn)

    text = as_html(timed)
    drawn, names = of_times(text)
    assert names == ["apr, left, v = 1, h = 0", "slices, left, v = 1, h = 0",
                     "apr, left, v = 2, h = 1"]  # fmt: skip
    labels = re.findall(r'<text class="label [^>]*>([^<]*)<', drawn)
    assert labels == ["2", "6", "6", "2", "every split", "plain"]
    assert len(re.findall(r'<path class="interval', drawn)) == 4  # those with several seeds
    assert "<title>apr 2: 80.10 with 2.0 CPU ms per sentence</title>" in drawn
    assert "(logarithmic)" in drawn
    assert "one standard deviation over seeds" in text
    assert "## Parsing time" in as_markdown(timed)
    for row in timed["models"]:
        row["binarise"] = None
    assert of_times(as_html(timed))[1] == ["apr", "slices"]


def test_seeds_are_reported_of_where_there_are_several(timed):
    text = as_html(timed)
    assert "Models were trained with 1 to 2 seeds; F1 is over the brackets" in text
    header, *rows = Page(text).tables["Every model"]
    place = header.index("by seed")
    assert [row[place] for row in rows[1:3]] == ["–", "79.00 to 81.00"]
    assert "sentences up to 8 words" in text


def test_parsing_times_are_shown_where_some_chart_is_not_pruned(figures):
    assert "F1 and parsing time" not in as_html(figures)
    figures["models"][0]["exhaustive"] = True
    header, *_ = Page(as_html(figures)).tables["F1 and parsing time"]
    assert "decomposition" not in header
    assert "times as fast as exhaustive" in header
