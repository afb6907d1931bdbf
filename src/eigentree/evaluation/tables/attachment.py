"""Attachment scores as text tables, tab-separated values and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from eigentree.evaluation.attachment import AttachmentOptions, AttachmentResult
from eigentree.evaluation.significance import Interval, PairedTest
from eigentree.evaluation.tables.table import (
    LISTED_PROBLEMS,
    TextTable,
    first_problems,
    interval_in_percent,
    percent,
    tab_separated,
)

BARE = "without punctuation"


class ScoredAttachment(NamedTuple):
    """The result of one system, with its intervals, file positions and remarks.

    ``intervals`` are by measure, ``uas`` and ``las``, each over all words and over those that
    are not punctuation; empty when no sentence counts.  ``places`` are the file and line of each
    gold sentence.
    """

    name: str
    result: AttachmentResult
    intervals: dict[str, tuple[Interval | None, Interval | None]]
    places: Sequence[str]
    remarks: Sequence[str] = ()


def describe_attachment(options: AttachmentOptions) -> list[tuple[str, str]]:
    """The settings in words, as pairs of setting and value."""
    tags = " ".join(options.punctuation_tags) or "none"
    by_tags = f"words with one of the gold tags {tags}"
    is_unicode = options.punctuation == "unicode"
    return [
        ("punctuation", "forms of Unicode punctuation only" if is_unicode else by_tags),
        ("relations", "with subtypes" if options.subtypes else "up to the first colon"),
        ("sentence without a parse", "all its words count as wrong"),
    ]


def attachment_table(systems: Sequence[ScoredAttachment]) -> TextTable:
    """The summaries of one or more systems side by side."""
    header = [""]
    figures: list[list[str]] = []
    for system in systems:
        name = f"{system.name}: " if len(systems) > 1 else ""
        header += [f"{name}all words", f"{name}{BARE}"]
        figures += [list(_figures(system, side)) for side in range(2)]
    rows = [list(row) for row in zip(_TITLES, *figures, strict=True)]
    return TextTable("", header, rows)


_TITLES = (
    "sentences",
    "not comparable",
    "no parse",
    "words",
    "UAS, %",
    "UAS, 95 % interval",
    "LAS, %",
    "LAS, 95 % interval",
    "undirected UAS, %",
    "mean of sentence UAS, %",
    "mean of sentence LAS, %",
    "exact match of heads, %",
    "exact match of heads and relations, %",
)


def _figures(system: ScoredAttachment, side: int) -> Iterator[str]:
    result = system.result
    summary = result.bare if side else result.all
    yield from map(str, (len(result.sentences), result.n_errors, result.n_missing, summary.words))
    for measure, share in (("uas", summary.uas), ("las", summary.las)):
        yield percent(share)
        intervals = system.intervals.get(measure)
        yield "" if intervals is None else interval_in_percent(intervals[side])
    yield from map(
        percent, (summary.uuas, summary.mean_uas, summary.mean_las, summary.uem, summary.lem)
    )


def relation_table(system: ScoredAttachment) -> TextTable:
    """Recall, precision and F1 of each relation over all words, most frequent first."""
    rows = []
    for name, found in system.result.relations.items():
        recall = found.matched / found.gold if found.gold else None
        precision = found.matched / found.parsed if found.parsed else None
        f1 = 2 * found.matched / (found.gold + found.parsed)
        figures = map(percent, (recall, precision, f1))
        rows.append([name, str(found.gold), str(found.parsed), *figures])
    header = ["relation", "gold", "parsed", "recall, %", "precision, %", "F1, %"]
    return TextTable(system.name, header, rows)


def attachment_problems(
    system: ScoredAttachment, max_lines: int = LISTED_PROBLEMS
) -> Iterator[str]:
    """List the sentences that could not be compared, one per line, and count the rest."""
    yield from first_problems(
        [
            f"{system.places[one.number - 1]}: sentence "
            f"{one.number if one.sent_id is None else one.sent_id}: {one.reason}"
            for one in system.result.problems
        ],
        max_lines,
    )


_SENTENCE_COLUMNS = (
    *("system", "sentence", "sent_id", "place", "status", "words", "heads", "arcs", "uas", "las"),
    *("bare_words", "bare_heads", "bare_arcs", "bare_uas", "bare_las", "reason"),
)


def attachment_rows(systems: Sequence[ScoredAttachment]) -> Iterator[str]:
    """A line of tab-separated values for each sentence of each system, after a header."""
    yield tab_separated(_SENTENCE_COLUMNS)
    for system in systems:
        for one, place in zip(system.result.sentences, system.places, strict=True):
            cells = [system.name, one.number, one.sent_id or "", place, one.status]
            for tally in (one.all, one.bare):
                shares = ("" if each is None else f"{each:.6g}" for each in (tally.uas, tally.las))
                cells += [tally.words, tally.heads, tally.arcs, *shares]
            yield tab_separated((*cells, one.reason))


def attachment_json(
    gold: str, systems: Sequence[ScoredAttachment], tests: dict[str, PairedTest | None]
) -> dict[str, Any]:
    """The scores and the sentences that could not be compared; fractions, not percent."""
    return {
        "gold": gold,
        "systems": [
            {
                "parsed": system.name,
                "intervals": {
                    measure: {
                        "all_words": every and list(every),
                        "without_punctuation": bare and list(bare),
                    }
                    for measure, (every, bare) in system.intervals.items()
                },
                "remarks": list(system.remarks),
                **system.result.to_dict(),
            }
            for system in systems
        ],
        "paired_tests": {
            measure: test and {**test._asdict(), "interval": [*test.interval]}
            for measure, test in tests.items()
        },
    }
