"""The command ``evaluate``: score parsed trees against gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

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
    SeparatorOption,
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
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.evaluation.settings import ParsevalOptions
    from eigentree.evaluation.significance import PairedTest
    from eigentree.evaluation.tables.scores import Scored
    from eigentree.evaluation.tables.scoring import TreeFile


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Gold trees; - is standard input.")],
    parsed: Annotated[
        str, typer.Argument(metavar="PARSED", help="Parsed trees, one for each gold tree.")
    ],
    second: SecondArgument = None,
    mode: Annotated[
        Literal["evalb", "own"],
        typer.Option(
            help="evalb: as EVALB with COLLINS.prm. own: punctuation by its characters, and a "
            "missing parse counts as wrong."
        ),
    ] = "evalb",
    parameters: Annotated[
        str | None, typer.Option(metavar="FILE", help="EVALB parameter file, instead of COLLINS.")
    ] = None,
    cut_off: Annotated[
        int | None, typer.Option(min=1, help="Add the scores of sentences of up to N words.")
    ] = None,
    count_roots: Annotated[
        bool,
        typer.Option(
            "--count-roots", help="Count outermost brackets such as ( and ROOT, as EVALB does."
        ),
    ] = False,
    function_separators: SeparatorOption = "-=",
    align: AlignOption = False,
    labels: Annotated[bool, typer.Option("--labels", help="Add the scores of each label.")] = False,
    per_sentence: PerSentenceOption = None,
    samples: SamplesOption = 10_000,
    on_error: ScoredOnErrorOption = "raise",
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """Score parsed trees by labelled brackets: recall, precision, F1.

    Sentences that can't be compared are listed, all others are scored, and the exit code is 1.
    """
    from eigentree.evaluation.tables import scores
    from eigentree.evaluation.tables.scoring import score_files

    options = _options(mode, parameters, cut_off, count_roots, function_separators)
    files = [parsed] if second is None else [parsed, second]
    check_scored_files([gold, *files, *([] if parameters is None else [parameters])], per_sentence)
    reference = _read(gold, on_error)
    check_gold(reference.name, reference.trees)
    systems = [
        score_files(
            reference, _read(file, on_error), options, align=align, samples=samples, seed=seed
        )
        for file in files
    ]
    test = _paired_test(systems, samples, seed) if len(systems) > 1 else None
    write_rows(per_sentence, scores.sentence_rows(systems))
    if as_json:
        print_json(scores.as_json(gold, systems, test), seed=seed, samples=samples)
    elif per_sentence != "-":
        tables = ScoreTables(
            scores.score_table, scores.label_table, scores.describe, scores.problem_lines
        )
        comparisons = [] if test is None else [scores.comparison(test, "A", "B")]
        print_scores(gold, systems, tables, comparisons, labels=labels)
    leave(failed=any(system.remarks or system.result.all.errors for system in systems))


def _options(
    mode: str, parameters: str | None, cut_off: int | None, count_roots: bool, separators: str
) -> ParsevalOptions:
    from eigentree.evaluation.settings import EVALB_COLLINS, OWN, read_parameters

    if parameters is not None and mode == "own":
        raise SettingsError("--parameters requires --mode evalb")
    options = OWN if mode == "own" else EVALB_COLLINS
    if parameters is not None:
        options = read_parameters(parameters)
    options = replace(options, label_separators=separators)
    if cut_off is not None:
        options = replace(options, cut_off=cut_off)
    return replace(options, root_labels=()) if count_roots else options


def _read(path: str, on_error: OnError) -> TreeFile:
    from eigentree.evaluation.tables.scoring import TreeFile
    from eigentree.treebank.io.text_files import displayed_name, open_text

    with open_text(path, keep_bad_bytes=on_error == "skip", notice=notice) as lines:
        file = TreeFile.of_lines(lines, displayed_name(path), on_error)
    for problem in file.problems:
        message(problem)
    return file


def _paired_test(systems: Sequence[Scored], samples: int, seed: int) -> PairedTest | None:
    """The test over the sentences that count for both systems; None when there are none."""
    from eigentree.evaluation.significance import paired_test

    by_number = [{one.number: one for one in system.result.counted()} for system in systems]
    both = sorted(set(by_number[0]) & set(by_number[1]))
    if not both:
        return None
    counts = [
        [(one[number].matched, one[number].gold, one[number].parsed) for number in both]
        for one in by_number
    ]
    return paired_test(counts[0], counts[1], seed=seed, n_samples=samples)
