"""Unlabelled scores as text tables and tab-separated values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eigentree.errors import counted
from eigentree.evaluation.tables.table import (
    LISTED_PROBLEMS,
    TextTable,
    first_problems,
    format_table,
    percent,
    tab_separated,
)
from eigentree.evaluation.unlabelled import (
    CONVENTIONS,
    Convention,
    GoldBracketing,
    UnlabelledResult,
    UnlabelledScore,
    marks_that_count,
)

_TITLES: dict[Convention, str] = {
    "klein-manning": "klein-manning: F1 of all spans, including the whole sentence",
    "sentence": "sentence: mean of sentence F1, excluding the whole sentence",
}
_COLUMNS = ("sentence", "place", "status", "length", "matched", "gold", "parsed", "f1", "reason")


def describe(tags: Sequence[str] | None, empty_labels: Sequence[str]) -> list[tuple[str, str]]:
    """The settings in words, as pairs of setting and value."""
    marks = "words of Unicode punctuation" if tags is None else " ".join(tags) or "nothing"
    return [
        ("left out as punctuation", marks),
        ("left out as empty", " ".join(empty_labels) or "nothing"),
        ("spans that count", "two words or more, each once; length counts the remaining words"),
        ("sentences of one word", "not counted"),
        ("no gold span but the whole sentence", "1 if the parse has no other span, else 0"),
        ("sentence without a parse", "all its spans count as not found"),
    ]


def notes(gold: Sequence[GoldBracketing]) -> list[str]:
    """Remarks on settings that look wrong for the gold trees."""
    marks = marks_that_count(gold)
    if not marks:
        return []
    shown = " ".join(word for word, _ in marks.most_common(5))
    words = counted(marks.total(), "counted word is", "counted words are")
    return [f"{words} Unicode punctuation: {shown}"]


def tables(results: Mapping[str, UnlabelledResult]) -> list[TextTable]:
    """A table for each convention, with a column for each length.

    The first result is shown in full, the others with their F1 only.
    """
    first = next(iter(results.values()))
    made = []
    for convention in CONVENTIONS:
        own = [one for one in first.figures if one.convention == convention]
        header = ["", *("all" if one.longest is None else f"up to {one.longest}" for one in own)]
        rows = [
            ["sentences of two words or more", *(str(one.sentences) for one in own)],
            ["of these, without a gold span", *(str(one.trivial) for one in own)],
        ]
        for name, result in results.items():
            figures = [result.figure(convention, one.longest) for one in own]
            rows.append([f"F1 of {name}, %", *(percent(one.f1) for one in figures)])
            if result is not first:
                continue
            if any(one.interval for one in figures):
                rows.append(["  95 % interval", *map(_interval, figures)])
            if convention == "klein-manning":
                rows.append(["  recall, %", *(percent(one.recall) for one in figures)])
                rows.append(["  precision, %", *(percent(one.precision) for one in figures)])
        made.append(TextTable(_TITLES[convention], header, rows))
    return made


def _interval(figure: UnlabelledScore) -> str:
    if figure.interval is None:
        return percent(None)
    return f"{100 * figure.interval.low:.1f}-{100 * figure.interval.high:.1f}"


def lines(
    results: Mapping[str, UnlabelledResult],
    settings: Sequence[tuple[str, str]],
    remarks: Sequence[str],
) -> Iterator[str]:
    """The lines of the report; its parts are separated by empty lines."""
    for table in tables(results):
        yield "\n" + format_table(table)
    yield ""
    yield from (f"{what}: {how}" for what, how in settings)
    if remarks:
        yield "\nremarks:"
        yield from (f"  {line}" for line in remarks)


def problems(
    result: UnlabelledResult, places: Sequence[str], max_lines: int = LISTED_PROBLEMS
) -> Iterator[str]:
    """List the sentences without a comparable parse, one per line, and count the rest."""
    yield from first_problems(
        [
            f"{places[one.number - 1]}: sentence {one.number}: {one.reason}"
            for one in result.problems
        ],
        max_lines,
    )


def sentence_rows(result: UnlabelledResult, places: Sequence[str]) -> Iterator[str]:
    """A line of tab-separated values for each sentence, after a header.

    Counts of spans include the whole sentence; F1 excludes it and is empty for one word.
    """
    yield tab_separated(_COLUMNS)
    for one, place in zip(result.sentences, places, strict=True):
        f1 = f"{one.f1:.6g}" if one.length > 1 else ""
        cells = (one.number, place, one.status, one.length, one.matched, one.gold, one.parsed)
        yield tab_separated((*cells, f1, one.reason))
