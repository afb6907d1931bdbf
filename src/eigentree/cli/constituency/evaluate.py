"""The verb ``evaluate``: score parsed trees against gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import (
    FAILED,
    JsonOption,
    SeedOption,
    keep_inputs,
    message,
    show_table,
)

if TYPE_CHECKING:
    from eigentree.evaluation.settings import ParsevalOptions
    from eigentree.evaluation.significance import PairedTest
    from eigentree.evaluation.tables.scores import Scored
    from eigentree.evaluation.tables.scoring import TreeFile


def evaluate(
    gold: Annotated[str, typer.Argument(help="File of gold trees; - is standard input.")],
    parsed: Annotated[str, typer.Argument(help="File of parsed trees, one for each gold tree.")],
    second: Annotated[
        str | None, typer.Argument(metavar="[PARSED2]", help="Parses to compare with PARSED.")
    ] = None,
    mode: Annotated[
        Literal["evalb", "own"],
        typer.Option(
            help="evalb: as EVALB with COLLINS.prm. own: punctuation by its characters, a "
            "missing parse counts as wrong."
        ),
    ] = "evalb",
    parameters: Annotated[
        str | None, typer.Option(metavar="FILE", help="EVALB parameter file, instead of COLLINS.")
    ] = None,
    cut_off: Annotated[
        int | None, typer.Option(min=1, help="Score sentences up to this length as well.")
    ] = None,
    count_roots: Annotated[
        bool,
        typer.Option(
            "--count-roots", help="Count outermost brackets such as ( and ROOT, as EVALB does."
        ),
    ] = False,
    separators: Annotated[
        str, typer.Option(help="A phrase's label ends before the first of these characters.")
    ] = "-=",
    align: Annotated[
        bool, typer.Option("--align", help="Pair sentences by their words, not their order.")
    ] = False,
    labels: Annotated[bool, typer.Option("--labels", help="Add the scores of each label.")] = False,
    per_sentence: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a table of all sentences (TSV).")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Draws for the intervals and the test.")
    ] = 10_000,
    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option(help="Stop at a malformed tree, or take it for a missing one."),
    ] = "raise",
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """Score parsed trees by labelled brackets: recall, precision, F1.

    Sentences that can't be compared are listed, the others are scored, and the exit code is 1.
    """
    from eigentree.evaluation.tables.scoring import score_files

    options = _options(mode, parameters, cut_off, count_roots, separators)
    files = [parsed] if second is None else [parsed, second]
    if [gold, *files].count("-") > 1:
        raise typer.BadParameter("only one of the files can be standard input")
    keep_inputs(per_sentence or "-", [gold, *files, *([] if parameters is None else [parameters])])
    reference = _read(gold, on_error)
    systems = [
        score_files(
            reference, _read(file, on_error), options, align=align, samples=samples, seed=seed
        )
        for file in files
    ]
    test = _paired(systems, samples, seed) if len(systems) > 1 else None
    if per_sentence is not None:
        from eigentree.evaluation.tables.scores import sentence_rows
        from eigentree.treebank.io.text_files import write_whole

        with write_whole(per_sentence) as out:
            out.writelines(f"{row}\n" for row in sentence_rows(systems))
    if as_json:
        import json

        from eigentree.evaluation.tables import scores

        report = scores.as_json(gold, systems, test)
        report |= {"seed": seed, "samples": samples}
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    elif per_sentence != "-":
        _print(gold, systems, test, labels)
    if any(system.remarks or system.result.all.errors for system in systems):
        raise typer.Exit(FAILED)


def _options(
    mode: str, parameters: str | None, cut_off: int | None, count_roots: bool, separators: str
) -> ParsevalOptions:
    from dataclasses import replace

    from eigentree.evaluation.settings import EVALB_COLLINS, OWN, read_parameters

    if parameters is not None and mode == "own":
        raise typer.BadParameter("a parameter file belongs to mode evalb")
    options = OWN if mode == "own" else EVALB_COLLINS
    if parameters is not None:
        options = read_parameters(parameters)
    options = replace(options, label_separators=separators)
    if cut_off is not None:
        options = replace(options, cut_off=cut_off)
    return replace(options, root_labels=()) if count_roots else options


def _read(path: str, on_error: Literal["raise", "skip"]) -> TreeFile:
    from eigentree.evaluation.tables.scoring import TreeFile
    from eigentree.treebank.io.text_files import open_text

    name = "<standard input>" if path == "-" else path
    with open_text(path, keep_bad_bytes=on_error == "skip") as lines:
        file = TreeFile.of_lines(lines, name, on_error)
    for problem in file.problems:
        message(problem)
    return file


def _paired(systems: Sequence[Scored], samples: int, seed: int) -> PairedTest | None:
    """The test over the sentences that count for both systems; None when there are none."""
    from eigentree.evaluation.significance import paired_test

    counted = [{one.number: one for one in system.result.counted()} for system in systems]
    both = sorted(set(counted[0]) & set(counted[1]))
    if not both:
        return None
    counts = [
        [(one[number].matched, one[number].gold, one[number].parsed) for number in both]
        for one in counted
    ]
    return paired_test(counts[0], counts[1], seed=seed, n_samples=samples)


def _print(gold: str, systems: Sequence[Scored], test: PairedTest | None, labels: bool) -> None:
    from eigentree.evaluation.tables import scores

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
    show_table(scores.score_table(named))
    if test is not None:
        typer.echo("\n" + scores.comparison(test, "A", "B"))
    for system in named if labels else ():
        typer.echo()
        show_table(scores.label_table(system))
    typer.echo()
    for what, how in scores.describe(systems[0].result.options):
        typer.echo(f"{what}: {how}")
    for system in systems:
        remarks = [*system.remarks, *system.result.notes]
        problems = list(scores.problem_lines(system))
        if remarks or problems:
            typer.echo(f"\nremarks on {system.name}:")
        for line in (*remarks, *problems):
            typer.echo(f"  {line}")
