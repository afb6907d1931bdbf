"""The report of a study of bracketing, made from figures written here."""

from __future__ import annotations

from typing import Any

from eigentree.studies.report.bracketing import bracketing_report
from eigentree.studies.report.page import as_html, as_markdown

LIMITS = [10, 20, None]


def record(name: str, f1: float, model: str = "", **settings: Any) -> dict[str, Any]:
    learned = settings.get("method", "metric") in ("metric", "constituent-context")
    return {
        "name": name,
        "settings": {"method": "metric", "model": model or name, **settings},
        "word_seconds": None,
        "seconds": 3.5 if learned else None,
        "learned_from": 100 if learned else None,
        "scores": {
            "test": {
                "figures": [
                    {
                        "convention": convention,
                        "longest": limit,
                        "f1": f1 - 0.1 * at - lower,
                        "interval": [f1 - 0.12 * at - lower, f1 - 0.08 * at - lower],
                    }
                    for at, limit in enumerate(LIMITS)
                    for convention, lower in (("klein-manning", 0.0), ("sentence", 0.05))
                ],
                "sentences": 50,
                "without_parse": 0,
                "seconds": 0.5,
            }
        },
        "machine": {"processor": "one"},
        "versions": {"eigentree": "0"},
        "finished": "2014-06-23T12:00:00+00:00",
    }


CONTEXT = {"method": "constituent-context", "start": "split", "top": "free"}
RANDOM = {**CONTEXT, "start": "random"}
ALL = (
    record("metric", 0.68, top="verbs", rank=7),
    record("metric, top gold", 0.72, "metric", top="gold", rank=7),
    record("ranks, rank 1", 0.5, "ranks", top="verbs", rank=1),
    record("ranks, rank 7", 0.67, "ranks", top="verbs", rank=7),
    record("contexts", 0.701, **CONTEXT, tags="given"),
    record("contexts, universal", 0.6, **CONTEXT, tags="universal"),
    record("starts, seed 0", 0.3, "starts", **RANDOM, seed=0),
    record("starts, seed 1", 0.73, "starts", **RANDOM, seed=1),
    record("left", 0.25, method="left"),
    record("best", 0.9, method="best-binary"),
)


def figures(*records: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {
        "title": "Study & report", "command": "eigentree experiment x.toml", "tag_map": "penn",
        "limits": LIMITS, "text": [100, 900], "tests": {"test": [10, 30, 50]},
        "data": {"text": {"file": "t.mrg", "sha256": "ab"}}, "records": list(records),
        "failures": {}, **given,
    }  # fmt: skip


def test_the_best_is_reported_of_those_that_do_not_look_at_gold_trees():
    report = bracketing_report(figures(*ALL))
    assert report.summary == [
        "Klein-Manning F1 on test is best with contexts (70.10 up to 10 words, 60.10 up to 20 "
        "words, 50.10 of all lengths)."
    ]
    assert "test: sentences of two or more words: 10 up to 10, 30 up to 20, 50 all" in (
        report.subtitle
    )


def test_tables_have_a_row_a_model_and_a_column_a_length():
    text = as_markdown(bracketing_report(figures(*ALL)))
    assert "| metric | rule | 68.00 | 68.0 to 68.0 | 58.00 | 56.0 to 60.0 | 48.00 |" in text
    assert "| metric, top gold | gold | 72.00 |" in text
    assert "| contexts | free | **70.10** |" in text
    assert "| left | – | 25.00 |" in text
    # The other convention; one seed of each.
    assert "| metric | rule | 63.00 | 63.0 to 63.0 |" in text
    assert "starts, seed 1" not in text
    assert "| contexts | 100 | – | 3.50 | 10.00 |" in text
    assert "| left | 100" not in text


def test_random_starts_are_summed_up_and_drawn():
    report = bracketing_report(figures(*ALL))
    text = as_markdown(report)
    assert "| starts | 2 | 30.00 | 51.50 | 51.50 | 73.00 | 21.50 |" in text
    titles = [section.title for section in report.sections]
    assert titles == [
        "The constituent-context model",
        "Accuracy",
        "Length of sentences",
        "Rank",
        "Random starts",
        "Time",
    ]
    page = as_html(report)
    assert page.count("<svg") == 3
    assert "Random starts, test" in page
    assert "F1 by rank, test" in page
    assert "Study &amp; report" in page


def test_what_a_study_lacks_has_no_section():
    report = bracketing_report(figures(record("left", 0.2, method="left")))
    assert [section.title for section in report.sections] == ["Accuracy", "Length of sentences"]
    report = bracketing_report(figures(failures={"metric": "no text"}))
    assert list(report.sections) == []
    assert report.failures == {"metric": "no text"}


def test_a_score_over_no_sentence_is_left_open():
    one = record("left", 0.2, method="left")
    for figure in one["scores"]["test"]["figures"]:
        if figure["longest"] == 10:
            figure.update(f1=None, interval=None)
    text = as_markdown(bracketing_report(figures(one)))
    assert "| left | – | – | – | **10.00** |" in text
