"""The command ``dependencies train``: from a dependency treebank to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import message, track
from eigentree.cli._files import check_checkpoint, check_inputs, check_output
from eigentree.cli._options import (
    DevOption,
    JobsOption,
    ModelFileOption,
    OnError,
    QuietOption,
    SeedOption,
    TagDictionaryOption,
    TaggerOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._training import (
    Stages,
    UsedBy,
    changed,
    check_used,
    method_option,
    report_notices,
)
from eigentree.errors import SettingsError, TreebankFormatError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentree.dependency.parser import DependencyParser
    from eigentree.treebank.io.conllu import DependencyTreebank, Sentence

_EM = ("em", "spectral+em")
USED_BY: UsedBy = {
    "states": ("spectral", *_EM),
    "back_off": ("spectral", *_EM),
    "iterations": _EM,
    "restarts": _EM,
    "checkpoint": _EM,
}


def train(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES", help="CoNLL-U or CoNLL-X files; - is standard input."),
    ],
    output: ModelFileOption,
    dev: DevOption = None,
    method: Annotated[
        Literal["det", "det+f", "sibling", "spectral", "em", "spectral+em"],
        typer.Option(
            help="How head automata are learned. det, det+f: by counting, without hidden states. "
            "sibling: a state for each preceding tag. spectral, em: hidden states, by moments or "
            "EM. spectral+em: EM initialised by moments."
        ),
    ] = "spectral+em",
    states: Annotated[
        int | None,
        method_option(
            USED_BY,
            "states",
            min=1,
            show_default="6",
            help="Maximum number of hidden states of an automaton.",
        ),
    ] = None,
    back_off: Annotated[
        float | None,
        method_option(
            USED_BY,
            "back_off",
            show_default="0.1",
            help="Interpolation weight of the det+f automaton.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        method_option(
            USED_BY, "iterations", min=1, help="EM iterations; the best on --dev is kept."
        ),
    ] = None,
    restarts: Annotated[
        int | None,
        method_option(USED_BY, "restarts", min=1, help="EM restarts; the best is kept."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        method_option(
            USED_BY,
            "checkpoint",
            metavar="FILE",
            help="File from which an interrupted EM run resumes.",
        ),
    ] = None,
    lexical: Annotated[
        Literal["none", "lex", "lex+f", "lex+fcp"],
        typer.Option(help="The lexical model that is combined with the automata."),
    ] = "lex+fcp",
    lexical_weight: Annotated[
        float | None,
        typer.Option(help="Exponent of the lexical model.", show_default="the best on --dev, or 1"),
    ] = None,
    tags: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="upos or xpos, alone or with features, as upos+Case.",
            show_default="upos+Case+VerbForm, with the features that the treebank has",
        ),
    ] = None,
    crossing: Annotated[
        Literal["lift", "skip"],
        typer.Option(help="Projectivise trees with crossing arcs by lifting, or skip them."),
    ] = "lift",
    heads: Annotated[
        Literal["check", "attach"],
        typer.Option(help="Report words without a head, or attach them to the root."),
    ] = "check",
    objective: Annotated[
        Literal["sum", "product", "viterbi"],
        typer.Option(
            help="What the decoder maximises: the sum or the product of arc marginals, or the "
            "value of one derivation."
        ),
    ] = "sum",
    several_roots: Annotated[
        bool, typer.Option("--several-roots", help="Allow several roots in a tree.")
    ] = False,
    relations: Annotated[
        bool, typer.Option("--relations/--no-relations", help="Train a classifier of relations.")
    ] = True,
    tagger: TaggerOption = True,
    tag_dictionary: TagDictionaryOption = None,
    on_error: Annotated[
        OnError, typer.Option("--on-error", help="Stop at a malformed sentence, or skip it.")
    ] = "raise",
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Train a dependency parser on a treebank.

    The default settings are those with the best results on held-out trees.
    """
    from eigentree.dependency.learn.lexical_modifiers import OF_THE_PAPER, LexicalModifierOptions
    from eigentree.dependency.options import (
        DependencyOptions,
        DependencyTrainingOptions,
        best_automata,
    )
    from eigentree.dependency.training import train_dependencies
    from eigentree.treebank.io.conllu import read_dependencies

    check_used(method, USED_BY, locals())
    if lexical == "none" and lexical_weight is not None:
        raise SettingsError("--lexical-weight requires a lexical model; --lexical is none")
    if method == "sibling" and lexical != "none":
        raise SettingsError(
            "--method sibling has a state for each tag, too many to combine with words; "
            "add --lexical none"
        )
    inputs = [*files, *(each for each in (dev, tag_dictionary) if each is not None)]
    check_inputs(inputs)
    check_output(output, inputs, model=True)
    check_checkpoint(checkpoint, output, inputs)
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
        tag_dictionary,
        DependencyOptions(objective, several_roots),
    )  # fmt: skip
    trees = read_dependencies(files, on_error=on_error, heads=heads)
    _report_treebank(trees, quiet)
    dev_trees = []
    if dev is not None:
        dev_treebank = read_dependencies(dev, on_error=on_error, heads=heads)
        _report_problems(dev_treebank)
        dev_trees = dev_treebank.sentences
        if not dev_trees:
            raise TreebankFormatError(f"{dev}: no trees to score on")
    if dev_trees:
        compile_kernels("dependencies", quiet=quiet)
    with Stages(quiet) as stages:
        parser = train_dependencies(
            trees.sentences, options, dev=dev_trees, seed=seed, jobs=jobs, checkpoint=checkpoint,
            progress=stages,
        )  # fmt: skip
    parser.save(output)
    _report_model(parser, output, quiet)
    if dev is not None:
        _score(parser, dev_trees, quiet)


def _report_problems(trees: DependencyTreebank) -> None:
    for problem in trees.problems:
        message(f"eigentree: skipped: {problem}")


def _report_treebank(trees: DependencyTreebank, quiet: bool) -> None:
    _report_problems(trees)
    if not trees.sentences:
        raise TreebankFormatError("no dependency trees in the files")
    n_words = sum(map(len, trees.sentences))
    line = f"{counted(len(trees.sentences), 'tree')}, {counted(n_words, 'word')}"
    if trees.counts["attached"]:
        line += f", {counted(trees.counts['attached'], 'word')} attached to the root"
    if trees.counts["several_roots"]:
        line += f", {counted(trees.counts['several_roots'], 'tree')} with several roots"
    report_notices(trees.notices, quiet=quiet)
    message(line, quiet=quiet)


def _report_model(parser: DependencyParser, output: str, quiet: bool) -> None:
    crossing = parser.description["crossing"]
    if crossing["trees"]:
        what = f"{counted(crossing['lifted'], 'word')} lifted" if crossing["lifted"] else "left out"
        message(f"trees with crossing arcs: {crossing['trees']}, {what}", quiet=quiet)
    line = f"{output}: tags from {parser.tag_scheme}"
    line += f", {counted(parser.automata.n_parameters, 'parameter')} of automata"
    if parser.lexical is not None:
        line += f", lexical weight {parser.options.lexical_weight:g}"
    message(line, quiet=quiet)


def _score(parser: DependencyParser, sentences: Sequence[Sentence], quiet: bool) -> None:
    """Report the scores on held-out trees: with gold tags, and from words alone."""
    from eigentree.evaluation.attachment import score_attachment
    from eigentree.treebank.tag_schemes import tags_of

    columns = [("gold tags", True), *([("words alone", False)] if parser.tagger else [])]
    for what, with_tags in columns:
        requests = (
            (each.forms(), tags_of(each, parser.tag_scheme) if with_tags else None)
            for each in sentences
        )
        results = track(parser.parse_many(requests), "scoring", len(sentences), quiet=quiet)
        parsed = [
            sentence.with_heads(result.heads, result.relations)
            for sentence, result in zip(sentences, results, strict=True)
        ]
        summary = score_attachment(sentences, parsed).all
        if summary.uas is None:
            continue
        line = f"dev, {what}: UAS {100 * summary.uas:.2f}"
        if parser.relations is not None and summary.las is not None:
            line += f", LAS {100 * summary.las:.2f}"
        message(line)
