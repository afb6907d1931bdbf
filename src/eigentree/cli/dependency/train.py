"""The verb ``dependencies train``: from a dependency treebank to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import JobsOption, QuietOption, SeedOption, check_inputs, message
from eigentree.errors import SettingsError, TreebankFormatError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentree.dependency.parser import DependencyParser
    from eigentree.treebank.io.conllu import DependencyTreebank, Sentence

_WITHOUT_EM = ("det", "det+f", "sibling", "spectral")


def train(
    files: Annotated[
        list[str], typer.Argument(help="CoNLL-U or CoNLL-X files; - is standard input.")
    ],
    output: Annotated[str, typer.Option("--output-file", "-o", help="The model file to write.")],
    dev: Annotated[
        str | None, typer.Option(help="Held-out trees to score the parser on, and to tune it.")
    ] = None,
    method: Annotated[
        Literal["det", "det+f", "sibling", "spectral", "em", "spectral+em"],
        typer.Option(help="What automata learn from: see docs/methods/head-automata.md."),
    ] = "spectral+em",
    states: Annotated[
        int | None, typer.Option(min=1, help="Most hidden states of an automaton; 6.")
    ] = None,
    back_off: Annotated[
        float | None, typer.Option(help="Weight of det+f beside hidden states; 0.1.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Of em; the best on --dev is kept.")
    ] = None,
    restarts: Annotated[
        int | None, typer.Option(min=1, help="How often em begins anew; the best is kept.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file with which em, once stopped, can go on.")
    ] = None,
    lexical: Annotated[
        Literal["none", "lex", "lex+f", "lex+fcp"],
        typer.Option(help="The lexical model that is combined with the automata."),
    ] = "lex+fcp",
    lexical_weight: Annotated[
        float | None,
        typer.Option(help="Its exponent; by default the best on --dev, else 1."),
    ] = None,
    tags: Annotated[
        str | None,
        typer.Option(
            help="upos or xpos, alone or with features; by default upos+Case+VerbForm, with those "
            "of the features that the treebank has."
        ),
    ] = None,
    crossing: Annotated[
        Literal["lift", "skip"],
        typer.Option(help="Make trees with crossing arcs projective, or leave them out."),
    ] = "lift",
    heads: Annotated[
        Literal["check", "attach"],
        typer.Option(help="Refuse words without a head, or attach them to the root."),
    ] = "check",
    objective: Annotated[
        Literal["sum", "product", "viterbi"],
        typer.Option(
            help="What the parser makes largest: of marginals of arcs, or one derivation."
        ),
    ] = "sum",
    several_roots: Annotated[
        bool, typer.Option("--several-roots", help="Allow several roots in a tree.")
    ] = False,
    relations: Annotated[
        bool, typer.Option("--relations/--no-relations", help="Learn relations, too.")
    ] = True,
    tagger: Annotated[
        bool, typer.Option("--tagger/--no-tagger", help="Train a tagger on the same sentences.")
    ] = True,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="Stop at a malformed sentence, or go on.")
    ] = "raise",
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Learn a dependency parser from a treebank.

    Settings that are not given are those that served best on held-out trees.
    """
    from eigentree.cli.constituency._output import warn_of_compilation
    from eigentree.cli.constituency._training import Stages, changed, check_writable
    from eigentree.dependency.learn.lexical_modifiers import OF_THE_PAPER, LexicalModifierOptions
    from eigentree.dependency.options import (
        DependencyOptions,
        DependencyTrainingOptions,
        best_automata,
    )
    from eigentree.dependency.training import train_dependencies
    from eigentree.treebank.io.conllu import read_dependencies

    if method in _WITHOUT_EM:
        for option, given in (
            ("--iterations", iterations), ("--restarts", restarts), ("--checkpoint", checkpoint)
        ):  # fmt: skip
            if given is not None:
                raise SettingsError(f"{option} is for --method em and spectral+em, not {method}")
    if lexical == "none" and lexical_weight is not None:
        raise SettingsError("--lexical-weight needs a lexical model; give one with --lexical")
    if method == "sibling" and lexical != "none":
        raise SettingsError(
            "--method sibling has a state for each tag, too many to be combined with words; "
            "give --lexical none"
        )
    check_inputs([*files, *([] if dev is None else [dev])])
    check_writable(output, [*files, *([] if dev is None else [dev])])
    options = DependencyTrainingOptions(
        changed(
            best_automata(method), states=states, back_off=back_off, iterations=iterations,
            restarts=restarts,
        ),
        None if lexical == "none" else LexicalModifierOptions(states=OF_THE_PAPER[lexical]),
        lexical_weight,
        tags,
        crossing,
        relations,
        tagger,
        DependencyOptions(objective, several_roots),
    )  # fmt: skip
    trees = read_dependencies(files, on_error=on_error, heads=heads)
    _tell_of(trees, quiet)
    held_out = []
    if dev is not None:
        to_score_on = read_dependencies(dev, on_error=on_error, heads=heads)
        _tell_problems(to_score_on)
        held_out = to_score_on.sentences
        if not held_out:
            raise TreebankFormatError(
                f"{dev}: there is no tree to score on; at least one is needed"
            )
    warn_of_compilation(quiet=quiet, parsing=False, dependencies=bool(held_out))
    with Stages(quiet) as stages:
        parser = train_dependencies(
            trees.sentences, options, dev=held_out, seed=seed, jobs=jobs, checkpoint=checkpoint,
            progress=stages,
        )  # fmt: skip
    parser.save(output)
    _tell_result(parser, output, quiet)
    if dev is not None:
        _score(parser, held_out, quiet)


def _tell_problems(trees: DependencyTreebank) -> None:
    for problem in trees.problems:
        message(f"eigentree: skipped: {problem}")


def _tell_of(trees: DependencyTreebank, quiet: bool) -> None:
    _tell_problems(trees)
    if not trees.sentences:
        raise TreebankFormatError(
            "there is no dependency tree in the files; at least one is needed"
        )
    n_words = sum(map(len, trees.sentences))
    told = f"{counted(len(trees.sentences), 'tree')}, {counted(n_words, 'word')}"
    if trees.counts["attached"]:
        told += f", {counted(trees.counts['attached'], 'word')} attached to the root"
    if trees.counts["several_roots"]:
        told += f", {counted(trees.counts['several_roots'], 'tree')} with several roots"
    message(told, quiet=quiet)


def _tell_result(parser: DependencyParser, output: str, quiet: bool) -> None:
    crossing = parser.description["crossing"]
    if crossing["trees"]:
        what = f"{counted(crossing['lifted'], 'word')} lifted" if crossing["lifted"] else "left out"
        message(f"trees with crossing arcs: {crossing['trees']}, {what}", quiet=quiet)
    told = f"{output}: tags from {parser.tag_scheme}"
    told += f", {counted(parser.automata.n_parameters, 'parameter')} of automata"
    if parser.lexical is not None:
        told += f", lexical weight {parser.options.lexical_weight:g}"
    message(told, quiet=quiet)


def _score(parser: DependencyParser, sentences: Sequence[Sentence], quiet: bool) -> None:
    """Tell the scores on held-out trees: with gold tags, and from words alone."""
    from eigentree.cli._common import track
    from eigentree.evaluation.attachment import score_attachment
    from eigentree.treebank.tag_schemes import tags_of

    columns = [("gold tags", True), *([("words alone", False)] if parser.tagger else [])]
    for what, with_tags in columns:
        asked = (
            (each.forms(), tags_of(each, parser.tag_scheme) if with_tags else None)
            for each in sentences
        )
        results = track(parser.parse_many(asked), "scoring", len(sentences), quiet=quiet)
        parsed = [
            sentence.with_heads(result.heads, result.relations)
            for sentence, result in zip(sentences, results, strict=True)
        ]
        summary = score_attachment(sentences, parsed).all
        if summary.uas is None:
            continue
        told = f"dev, {what}: UAS {100 * summary.uas:.2f}"
        if parser.relations is not None and summary.las is not None:
            told += f", LAS {100 * summary.las:.2f}"
        message(told)
