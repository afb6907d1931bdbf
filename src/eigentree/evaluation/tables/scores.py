"""Scores as text tables, tab-separated values and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from eigentree.errors import counted
from eigentree.evaluation.result import ParsevalResult, ParsevalSummary
from eigentree.evaluation.settings import ParsevalOptions
from eigentree.evaluation.significance import Interval, PairedTest
from eigentree.evaluation.tables.table import (
    LISTED_PROBLEMS,
    NOT_DEFINED,
    TextTable,
    first_problems,
    interval_in_percent,
    percent,
    tab_separated,
)


class Scored(NamedTuple):
    """The result of one system, with its interval, file positions and remarks.

    ``interval`` is None when no sentence counts.  ``places`` are the
    file and line of each gold tree.
    """

    name: str
    result: ParsevalResult
    interval: Interval | None
    places: Sequence[str]
    remarks: Sequence[str] = ()


def describe(options: ParsevalOptions) -> list[tuple[str, str]]:
    """The settings in words, as pairs of setting and value."""
    labels = " ".join(options.delete_labels) or "no labels"
    punctuation = ", and words of punctuation" if options.drop_punctuation else ""
    described = [("settings", options.name), ("left out", labels + punctuation)]
    pairs = options.equal_labels + options.equal_words
    if pairs:
        described.append(("equivalent labels", ", ".join(" = ".join(pair) for pair in pairs)))
    if options.quote_labels:
        described.append(("quote tags", " ".join(options.quote_labels)))
    if options.label_separators:
        described.append(("labels end at", " ".join(options.label_separators)))
    described.append(
        ("compared", "labelled brackets" if options.labelled else "brackets without labels")
    )
    names = " ".join(name or '""' for name in options.root_labels)
    described.append(("outermost bracket", f"not counted if {names}" if names else "counted"))
    how = {"skip": "not counted", "miss": "all its brackets count as not found"}
    described.append(("sentence without a parse", how[options.missing]))
    return described


def score_table(systems: Sequence[Scored]) -> TextTable:
    """The summaries of one or more systems side by side."""
    header = [""]
    columns_of: list[list[str]] = []
    for system in systems:
        name = f"{system.name}: " if len(systems) > 1 else ""
        header.append(f"{name}all")
        columns_of.append(list(_figures(system, system.result.all, system.interval)))
        if system.result.short is not None:
            header.append(f"{name}up to {system.result.options.cut_off} words")
            columns_of.append(list(_figures(system, system.result.short, None)))
    rows = [
        [title, *cells] for title, *cells in zip(_TITLES, *columns_of, strict=True) if any(cells)
    ]
    return TextTable("", header, rows)


_TITLES = (
    "sentences",
    "compared",
    "not comparable",
    "no parse",
    "flat parses",
    "fall-backs",
    "gold brackets",
    "parsed brackets",
    "matched brackets",
    "recall, %",
    "precision, %",
    "F1, %",
    "F1, 95 % interval",
    "mean of sentence F1, %",
    "exact match, %",
    "tagging accuracy, %",
    "coverage, %",
    "crossing brackets a sentence",
    "no crossing, %",
    "2 or fewer crossing, %",
)


def _figures(system: Scored, summary: ParsevalSummary, interval: Interval | None) -> Iterator[str]:
    yield from map(str, (summary.sentences, summary.compared, summary.errors, summary.missing))
    yield str(summary.flat)
    fallbacks = system.result.fallbacks
    yield str(fallbacks) if fallbacks is not None and summary is system.result.all else ""
    yield from map(str, (summary.gold, summary.parsed, summary.matched))
    yield from map(percent, (summary.recall, summary.precision, summary.f1))
    yield "" if interval is None else interval_in_percent(interval)
    yield from map(
        percent,
        (
            summary.mean_sentence_f1,
            summary.exact_match,
            summary.tagging_accuracy,
            summary.coverage,
        ),
    )
    crossing = summary.average_crossing
    yield NOT_DEFINED if crossing is None else f"{crossing:.2f}"
    yield from map(percent, (summary.no_crossing, summary.two_or_fewer_crossing))


def label_table(system: Scored) -> TextTable:
    """Recall, precision and F1 of each label, most frequent first."""
    rows = []
    for label, found in system.result.labels.items():
        recall = found.recalled / found.gold if found.gold else None
        precision = found.precise / found.parsed if found.parsed else None
        both = found.gold + found.parsed
        f1 = (found.recalled + found.precise) / both if both else None
        figures = map(percent, (recall, precision, f1))
        rows.append([label or '""', str(found.gold), str(found.parsed), *figures])
    header = ["label", "gold", "parsed", "recall, %", "precision, %", "F1, %"]
    return TextTable(system.name, header, rows)


def comparison(test: PairedTest, first: str, second: str, measure: str = "F1") -> str:
    """The paired test in one sentence."""
    points = 100 * test.difference
    low, high = (100 * end for end in test.interval)
    return (
        f"{second} - {first}: {points:+.2f} points of {measure}, 95 % interval {low:+.2f} to "
        f"{high:+.2f}; p = {test.p_bootstrap:.4f} by the paired bootstrap, "
        f"{test.p_randomisation:.4f} by approximate randomisation, over "
        f"{counted(test.sentences, 'sentence')}"
    )


def problem_lines(system: Scored, max_lines: int = LISTED_PROBLEMS) -> Iterator[str]:
    """List the sentences that could not be compared, one per line, and count the rest."""
    yield from first_problems(
        [
            f"{system.places[one.number - 1]}: sentence {one.number}: {one.reason}"
            for one in system.result.problems
        ],
        max_lines,
    )


_SENTENCE_COLUMNS = (
    *("system", "sentence", "place", "status", "length", "words", "gold", "parsed", "matched"),
    *("recall", "precision", "f1", "crossing", "tags", "exact", "flat", "reason"),
)


def sentence_rows(systems: Sequence[Scored]) -> Iterator[str]:
    """A line of tab-separated values for each sentence of each system, after a header."""
    yield tab_separated(_SENTENCE_COLUMNS)
    for system in systems:
        for one, place in zip(system.result.sentences, system.places, strict=True):
            figures = (
                "" if value is None else f"{value:.6g}"
                for value in (one.recall, one.precision, one.f1)
            )
            cells = (system.name, one.number, place, one.status, one.length, one.words, one.gold)
            rest = (one.crossing, one.tags, int(one.exact), int(one.flat), one.reason)
            yield tab_separated((*cells, one.parsed, one.matched, *figures, *rest))


def as_json(gold: str, systems: Sequence[Scored], test: PairedTest | None) -> dict[str, Any]:
    """The scores and the sentences that could not be compared; fractions, not percent."""
    return {
        "gold": gold,
        "systems": [
            {
                "parsed": system.name,
                "f1_interval": None if system.interval is None else list(system.interval),
                "remarks": list(system.remarks),
                **system.result.to_dict(),
            }
            for system in systems
        ],
        "paired_test": None if test is None else {**test._asdict(), "interval": [*test.interval]},
    }
