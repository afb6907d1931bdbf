"""The report of a study of dependency parsers, made from figures written here."""

from __future__ import annotations

from typing import Any

from eigentree.studies.report.dependency import dependency_report
from eigentree.studies.report.page import as_html, as_markdown


def scores(uas: float | None, **given: Any) -> dict[str, Any]:
    return {
        "uas": uas, "low": 0.6, "high": 0.8, "uas_without_punctuation": 0.75, "uas_up_to_10": None,
        "exact": 0.2, "sentences": 50, "seconds": 2.0, "fallbacks": 1, "negative": 0, "outside": 3,
        **given,
    }  # fmt: skip


def record(
    model: str, states: int | None, uas: float, *, lexical: str = "none", em: int = 0, seed: int = 0
) -> dict[str, Any]:
    iterations = [
        {"restart": 0, "iteration": n, "log_likelihood": -100.0 + n, "uas": 0.5 + n / 100}
        for n in range(em)
    ]
    return {
        "name": model + ("" if states is None else f", {states} states"),
        "settings": {"model": model, "states": states, "lexical": lexical, "seed": seed},
        "seconds": 12.0,
        "parameters": 12345,
        "lexical_weight": 0.5,
        "em": {"best": max(em - 2, 0), "record": iterations},
        "scores": {"dev": scores(uas), "test": scores(uas - 0.01)},
        "machine": {"processor": "one"},
        "versions": {"eigentree": "0"},
        "finished": "2012-04-23T12:00:00+00:00",
    }


def figures(*records: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {
        "title": "Study & report", "command": "eigentree experiment x.toml", "tags": "upos",
        "longest": None, "sizes": {"train": [100, 900], "dev": [50, 450], "test": [50, 430]},
        "data": {"train": {"file": "t.conllu", "sha256": "ab"}}, "records": list(records),
        "failures": {}, **given,
    }  # fmt: skip


ALL = (
    record("det", None, 0.7),
    record("spectral", 2, 0.72),
    record("spectral", 4, 0.741),
    record("em", 4, 0.73, em=3),
    record("words alone", None, 0.71, lexical="lex"),
    record("both", 2, 0.8, lexical="lex+fcp"),
    record("both", 4, 0.79, lexical="lex+fcp"),
)


def test_the_best_of_each_kind_is_reported():
    report = dependency_report(figures(*ALL))
    tags, words = report.summary
    assert "tags only is spectral, 4 states: UAS 74.10 and 73.10 on test" in tags
    assert "words and tags is both, 2 states: UAS 80.00 and 79.00 on test" in words
    assert report.subtitle == (
        "train: 100 sentences, 900 words; dev: 50 sentences, 450 words; "
        "test: 50 sentences, 430 words; tags: upos"
    )
    short = dependency_report(figures(*ALL, longest=10)).subtitle
    assert "scored on sentences up to 10 words" in short


def test_tables_and_plots():
    report = dependency_report(figures(*ALL))
    assert [section.title for section in report.sections] == [
        "Accuracy", "States", "Iterations", "Words"
    ]  # fmt: skip
    (table,) = report.sections[0].tables
    assert {len(row) for row in table.rows} == {len(table.header)}
    best = [(row[0].text, cell.text) for row in table.rows for cell in row if cell.best]
    assert best == [("both, 2 states", "80.00"), ("both, 2 states", "79.00")]
    (iterations,) = report.sections[2].tables
    assert [cell.text for cell in iterations.rows[0][1:4]] == ["3", "2", "51.00"]
    plots = [section.plots for section in report.sections]
    assert [len(each) for each in plots] == [0, 1, 1, 1]
    # A model without states is a level line beside the others.
    assert "det" in plots[1][0]
    assert "words alone" in plots[3][0]
    page = as_html(report)
    assert page.count("<svg") >= 3
    assert "Study &amp; report" in page
    text = as_markdown(report)
    assert "| both, 2 states |" in text
    assert "eigentree experiment x.toml" in text


def test_little_gives_little():
    report = dependency_report(figures(record("det", None, 0.7)))
    assert [section.title for section in report.sections] == ["Accuracy"]
    report = dependency_report(figures(failures={"det": "why not"}))
    assert report.summary == []
    assert "why not" in as_html(report)
    assert "**Failed:** det: why not" in as_markdown(report)


def test_equal_figures_give_equal_pages():
    assert as_html(dependency_report(figures(*ALL))) == as_html(dependency_report(figures(*ALL)))
