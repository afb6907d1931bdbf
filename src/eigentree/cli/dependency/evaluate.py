"""The verb ``dependencies``: what is done with dependency trees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from eigentree.cli._common import (
    FAILED,
    JsonOption,
    SeedOption,
    keep_inputs,
    message,
    show_table,
)
from eigentree.cli.dependency.parse import parse
from eigentree.cli.dependency.states import states
from eigentree.cli.dependency.train import train
from eigentree.errors import counted

if TYPE_CHECKING:
    from eigentree.evaluation.attachment import AttachmentOptions, Measure
    from eigentree.evaluation.significance import Interval, PairedTest
    from eigentree.evaluation.tables.attachment import ScoredAttachment
    from eigentree.treebank.io.conllu import Sentence

_MEASURES: tuple[Measure, ...] = ("uas", "las")

dependencies = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Work with dependency trees.",
)


dependencies.command()(train)
dependencies.command()(parse)
dependencies.command()(states)


@dependencies.command()
def evaluate(
    gold: Annotated[
        str, typer.Argument(help="CoNLL-U or CoNLL-X file of gold trees; - is standard input.")
    ],
    parsed: Annotated[str, typer.Argument(help="The same sentences, parsed.")],
    second: Annotated[
        str | None, typer.Argument(metavar="[PARSED2]", help="Parses to compare with PARSED.")
    ] = None,
    punctuation: Annotated[
        Literal["unicode", "tags"],
        typer.Option(
            help="How punctuation is known. unicode: by its characters. tags: by its gold tag."
        ),
    ] = "unicode",
    punctuation_tags: Annotated[
        str, typer.Option(help="UPOS or XPOS tags of punctuation; blanks between them.")
    ] = "PUNCT",
    subtypes: Annotated[
        bool, typer.Option("--subtypes", help="Compare relations with what follows the colon.")
    ] = False,
    align: Annotated[
        bool, typer.Option("--align", help="Pair sentences by their words, not their order.")
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Add the scores of each relation.")
    ] = False,
    per_sentence: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a table of all sentences (TSV).")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Draws for the intervals and the tests.")
    ] = 10_000,
    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option(help="Stop at a malformed sentence, or take it for a missing one."),
    ] = "raise",
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """Score parsed trees by attachments: UAS and LAS, with and without punctuation.

    Sentences that can't be compared are listed, the others are scored, and the exit code is 1.
    """
    from eigentree.evaluation.attachment import AttachmentOptions

    options = AttachmentOptions(punctuation, tuple(punctuation_tags.split()), subtypes)
    files = [parsed] if second is None else [parsed, second]
    if [gold, *files].count("-") > 1:
        raise typer.BadParameter("only one of the files can be standard input")
    keep_inputs(per_sentence or "-", [gold, *files])
    reference = _read(gold, on_error)
    systems = [
        _score(reference, _read(file, on_error), options, align, samples, seed) for file in files
    ]
    tests = _paired(systems, samples, seed) if len(systems) > 1 else {}
    if per_sentence is not None:
        from eigentree.evaluation.tables.attachment import attachment_rows
        from eigentree.treebank.io.text_files import write_whole

        with write_whole(per_sentence) as out:
            out.writelines(f"{row}\n" for row in attachment_rows(systems))
    if as_json:
        from eigentree.evaluation.tables.attachment import attachment_json

        report = attachment_json(gold, systems, tests) | {"seed": seed, "samples": samples}
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    elif per_sentence != "-":
        _print(gold, systems, tests, labels)
    if any(system.remarks or system.result.n_errors for system in systems):
        raise typer.Exit(FAILED)


class _File(NamedTuple):
    """The sentences of a file in their order, None for a malformed one, and their lines."""

    name: str
    sentences: list[Sentence | None]
    lines: list[int]
    n_malformed: int


def _read(path: str, on_error: Literal["raise", "skip"]) -> _File:
    from eigentree.treebank.io.conllu import read_conllu
    from eigentree.treebank.io.text_files import open_text

    name = "<standard input>" if path == "-" else path
    sentences: list[Sentence | None] = []
    lines: list[int] = []
    n_malformed = 0
    with open_text(path, keep_bad_bytes=on_error == "skip") as stream:
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

    remarks = [
        f"{file.name}: {counted(file.n_malformed, 'malformed sentence')}"
        for file in (gold, parsed)
        if file.n_malformed
    ]
    sentences = parsed.sentences
    if align:
        sentences, left_over = align_sentences(gold.sentences, sentences)
        if left_over:
            lines = ", ".join(str(parsed.lines[place]) for place in left_over)
            remarks.append(
                f"{parsed.name}: {counted(len(left_over), 'sentence has', 'sentences have')} the "
                "words of no gold sentence that is left, "
                f"on {'line' if len(left_over) == 1 else 'lines'} {lines}"
            )
    elif len(sentences) != len(gold.sentences):
        remarks.append(
            f"{parsed.name} has {counted(len(sentences), 'sentence')} and {gold.name} "
            f"{len(gold.sentences)}, paired in order; --align pairs them by their words"
        )
        n_gold = len(gold.sentences)
        sentences = [*sentences, *[None] * n_gold][:n_gold]
    result = score_attachment(gold.sentences, sentences, options)
    intervals: dict[str, tuple[Interval, Interval]] = {}
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


def _paired(systems: Sequence[ScoredAttachment], samples: int, seed: int) -> dict[str, PairedTest]:
    """Tests over all words of the sentences that count for both systems; none without any."""
    from eigentree.evaluation.attachment import sentence_counts
    from eigentree.evaluation.significance import paired_test

    scored = [{one.number: one for one in system.result.counted()} for system in systems]
    both = sorted(set(scored[0]) & set(scored[1]))
    if not both:
        return {}
    tests: dict[str, PairedTest] = {}
    for measure in _MEASURES:
        first, other = (sentence_counts([one[n] for n in both], measure) for one in scored)
        tests[measure] = paired_test(first, other, seed=seed, n_samples=samples)
    return tests


def _print(
    gold: str, systems: Sequence[ScoredAttachment], tests: dict[str, PairedTest], labels: bool
) -> None:
    from eigentree.evaluation.tables import attachment
    from eigentree.evaluation.tables.scores import comparison

    typer.echo(f"gold: {gold}")
    if len(systems) > 1:
        # Paths make poor headings of columns.
        for letter, system in zip("AB", systems, strict=True):
            typer.echo(f"{letter}: {system.name}")
        named = [one._replace(name=letter) for letter, one in zip("AB", systems, strict=True)]
    else:
        typer.echo(f"parsed: {systems[0].name}")
        named = list(systems)
    typer.echo()
    show_table(attachment.attachment_table(named))
    if tests:
        typer.echo()
    for measure, test in tests.items():
        typer.echo(comparison(test, "A", "B", measure.upper()))
    for system in named if labels else ():
        typer.echo()
        show_table(attachment.relation_table(system))
    typer.echo()
    for what, how in attachment.describe_attachment(systems[0].result.options):
        typer.echo(f"{what}: {how}")
    for system in systems:
        remarks = [*system.remarks, *system.result.notes]
        problems = list(attachment.attachment_problems(system))
        if remarks or problems:
            typer.echo(f"\nremarks on {system.name}:")
        for line in (*remarks, *problems):
            typer.echo(f"  {line}")
