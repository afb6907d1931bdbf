"""The command ``dependencies evaluate``: score parsed dependency trees against gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from eigentree.cli._common import message, notice
from eigentree.cli._options import (
    AlignOption,
    JsonOption,
    OnError,
    PerSentenceOption,
    SamplesOption,
    ScoredOnErrorOption,
    SecondArgument,
    SeedOption,
)
from eigentree.cli._scoring import (
    ScoreTables,
    check_gold,
    check_scored_files,
    leave,
    print_json,
    print_scores,
    write_rows,
)
from eigentree.errors import counted

if TYPE_CHECKING:
    from eigentree.evaluation.attachment import AttachmentOptions, Measure
    from eigentree.evaluation.significance import Interval, PairedTest
    from eigentree.evaluation.tables.attachment import ScoredAttachment
    from eigentree.treebank.io.conllu import Sentence

_MEASURES: tuple[Measure, ...] = ("uas", "las")


def evaluate(
    gold: Annotated[
        str,
        typer.Argument(
            metavar="GOLD", help="CoNLL-U or CoNLL-X file of gold trees; - is standard input."
        ),
    ],
    parsed: Annotated[str, typer.Argument(metavar="PARSED", help="The same sentences, parsed.")],
    second: SecondArgument = None,
    punctuation: Annotated[
        Literal["unicode", "tags"],
        typer.Option(
            help="How punctuation is recognised. unicode: by its characters. tags: by its gold tag."
        ),
    ] = "unicode",
    punctuation_tags: Annotated[
        str,
        typer.Option(metavar="TAGS", help="UPOS or XPOS tags of punctuation, space-separated."),
    ] = "PUNCT",
    subtypes: Annotated[
        bool, typer.Option("--subtypes", help="Compare relations with their subtypes (obl:tmod).")
    ] = False,
    align: AlignOption = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Add the scores of each relation.")
    ] = False,
    per_sentence: PerSentenceOption = None,
    samples: SamplesOption = 10_000,
    on_error: ScoredOnErrorOption = "raise",
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """Score parsed trees by attachment: UAS and LAS, with and without punctuation.

    Sentences that can't be compared are listed, all others are scored, and the exit code is 1.
    """
    from eigentree.evaluation.attachment import AttachmentOptions
    from eigentree.evaluation.tables import attachment
    from eigentree.evaluation.tables.scores import comparison

    options = AttachmentOptions(punctuation, tuple(punctuation_tags.split()), subtypes)
    files = [parsed] if second is None else [parsed, second]
    check_scored_files([gold, *files], per_sentence)
    reference = _read(gold, on_error)
    check_gold(reference.name, reference.sentences)
    systems = [
        _score(reference, _read(file, on_error), options, align, samples, seed) for file in files
    ]
    tests = _paired_tests(systems, samples, seed) if len(systems) > 1 else {}
    write_rows(per_sentence, attachment.attachment_rows(systems))
    if as_json:
        print_json(attachment.attachment_json(gold, systems, tests), seed=seed, samples=samples)
    elif per_sentence != "-":
        tables = ScoreTables(
            attachment.attachment_table,
            attachment.relation_table,
            attachment.describe_attachment,
            attachment.attachment_problems,
        )
        comparisons = [
            comparison(test, "A", "B", measure.upper())
            for measure, test in tests.items()
            if test is not None
        ]
        print_scores(gold, systems, tables, comparisons, labels=labels)
    leave(failed=any(system.remarks or system.result.n_errors for system in systems))


class _File(NamedTuple):
    """The sentences of a file in order, None for a malformed one, and their lines."""

    name: str
    sentences: list[Sentence | None]
    lines: list[int]
    n_malformed: int


def _read(path: str, on_error: OnError) -> _File:
    from eigentree.treebank.io.conllu import read_conllu
    from eigentree.treebank.io.text_files import displayed_name, open_text

    name = displayed_name(path)
    sentences: list[Sentence | None] = []
    lines: list[int] = []
    n_malformed = 0
    with open_text(path, keep_bad_bytes=on_error == "skip", notice=notice) as stream:
        for record in read_conllu(stream, name=name, on_error=on_error):
            if record.problem is not None:
                n_malformed += 1
                message(str(record.problem))
            sentences.append(record.sentence)
            lines.append(record.line)
    return _File(name, sentences, lines, n_malformed)


def _score(
    gold: _File, parsed: _File, options: AttachmentOptions, align: bool, samples: int, seed: int
) -> ScoredAttachment:
    from eigentree.evaluation.attachment import align_sentences, score_attachment
    from eigentree.evaluation.significance import bootstrap_interval
    from eigentree.evaluation.tables.attachment import ScoredAttachment
    from eigentree.evaluation.tables.scoring import paired

    remarks = [
        f"{file.name}: {counted(file.n_malformed, 'malformed sentence')}"
        for file in (gold, parsed)
        if file.n_malformed
    ]
    by_words = partial(align_sentences, gold.sentences, parsed.sentences)
    sentences, more = paired(
        (gold.name, len(gold.sentences)),
        (parsed.name, parsed.sentences, parsed.lines),
        "sentence",
        by_words if align else None,
    )
    remarks += more
    result = score_attachment(gold.sentences, sentences, options)
    intervals: dict[str, tuple[Interval | None, Interval | None]] = {}
    if result.counted():
        for measure in _MEASURES:
            every, bare = (
                bootstrap_interval(
                    result.counts(measure, punctuation=punctuation), seed=seed, n_samples=samples
                )
                for punctuation in (True, False)
            )
            intervals[measure] = every, bare
    places = [f"{gold.name}:{line}" for line in gold.lines]
    return ScoredAttachment(parsed.name, result, intervals, places, remarks)


def _paired_tests(
    systems: Sequence[ScoredAttachment], samples: int, seed: int
) -> dict[str, PairedTest | None]:
    """Tests over all words of the sentences that count for both systems; none without any."""
    from eigentree.evaluation.attachment import sentence_counts
    from eigentree.evaluation.significance import paired_test

    scored = [{one.number: one for one in system.result.counted()} for system in systems]
    both = sorted(set(scored[0]) & set(scored[1]))
    if not both:
        return {}
    tests: dict[str, PairedTest | None] = {}
    for measure in _MEASURES:
        first, other = (sentence_counts([one[n] for n in both], measure) for one in scored)
        tests[measure] = paired_test(first, other, seed=seed, n_samples=samples)
    return tests
