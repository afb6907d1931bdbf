"""The command ``dependencies convert``: constituency trees for sentences with dependencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from eigentree.cli._common import message
from eigentree.cli._files import check_inputs, check_output
from eigentree.cli._options import (
    JobsOption,
    OnError,
    OutputOption,
    PerSentenceOption,
    QuietOption,
    TagColumnOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._parsing import model_path
from eigentree.cli._scoring import write_rows
from eigentree.cli._training import Stages, changed, report_notices
from eigentree.data.catalogue import CONSTITUENTS, displayed_model
from eigentree.errors import SettingsError, TreebankFormatError, counted

if TYPE_CHECKING:
    from eigentree.constituency.from_dependencies import Converted
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.treebank.head_phrases import HeadPhrases
    from eigentree.treebank.io.conllu import DependencyTreebank

_COLUMNS = ("sentence", "place", "words", "phrases", "confidence", "tree_confidence", "result")


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="CoNLL-U files with gold tags and heads; - is standard input."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A constituency model file, or the name of a bundled model.",
            show_default=CONSTITUENTS,
        ),
    ] = None,
    output_file: OutputOption = "-",
    learn_from: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--learn-from",
            metavar="TREES CONLLU",
            help="Sentences with trees of both kinds, from which to learn which spans of "
            "dependents are phrases. They are paired by their words. Without this option, that is "
            "learned from the model's parses.",
        ),
    ] = None,
    min_share: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Require a span to be a phrase if this share of similar spans are phrases.",
            show_default="0.65, or 0.85 with --learn-from",
        ),
    ] = None,
    max_share: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Forbid a span of several heads if at most this share of similar spans are "
            "phrases; 0 to forbid none.",
            show_default="0.05",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rounds of parsing with constraints, each of which learns from the parses of the "
            "previous one. Not with --learn-from.",
            show_default="3",
        ),
    ] = None,
    min_confidence: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Minimum mean bracket confidence of a tree."),
    ] = 0.0,
    tag_column: TagColumnOption = "xpos",
    per_sentence: PerSentenceOption = None,
    on_error: Annotated[
        OnError, typer.Option("--on-error", help="Stop at a malformed sentence, or skip it.")
    ] = "raise",
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Convert dependency trees to constituency trees, to train on.

    Each sentence is parsed with its gold tags and with the phrases that its dependencies imply.
    Sentences without such a tree are left out and counted by reason.  The model must be of a
    treebank with the same tags.
    """
    from eigentree.constituency.from_dependencies import ConversionOptions, convert_dependencies
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.constituency.result import wrapped
    from eigentree.treebank.io.brackets import format_tree
    from eigentree.treebank.io.conllu import read_dependencies
    from eigentree.treebank.io.text_files import write_whole

    model = model_path(model, CONSTITUENTS)
    inputs = [*files, *(learn_from or ())]
    check_inputs(inputs)
    for written in (output_file, per_sentence or "-"):
        check_output(written, [model, *inputs])
    if inputs.count("-") > 1:
        raise SettingsError("only one of the files can be standard input")
    if learn_from is not None and rounds is not None:
        raise SettingsError("--rounds and --learn-from are mutually exclusive")
    options = changed(
        ConversionOptions(tag_column=tag_column, min_confidence=min_confidence),
        min_share=min_share,
        max_share=max_share,
        rounds=rounds,
    )
    parser = ConstituencyParser.load(model)
    treebank = read_dependencies(files, on_error=on_error)
    _report_treebank(treebank, files, quiet=quiet)
    phrases = None if learn_from is None else _learned(parser, *learn_from, quiet=quiet)
    compile_kernels("parsing", quiet=quiet)
    with Stages(quiet) as stages:
        try:
            converted = [
                *convert_dependencies(
                    parser, treebank.sentences, options, phrases=phrases, jobs=jobs, progress=stages
                )
            ]
        except SettingsError as error:
            raise SettingsError(f"{displayed_model(model)}: {error}") from error
    with write_whole(output_file) as out:
        for each in converted:
            if each.tree is not None:
                tree = wrapped(each.tree, parser.wrapper, parser.cleaning.root_name)
                out.write(f"{format_tree(tree)}\n")
    write_rows(per_sentence, _rows(treebank, converted))
    for line in _summary(converted):
        message(line, quiet=quiet)


def _report_treebank(treebank: DependencyTreebank, files: list[str], *, quiet: bool) -> None:
    for problem in treebank.problems:
        message(f"eigentree: skipped: {problem}")
    if not treebank.sentences:
        raise TreebankFormatError(f"{files[0]}: no sentences to convert")
    report_notices(treebank.notices, quiet=quiet)


def _learned(
    parser: ConstituencyParser, trees: str, dependencies: str, *, quiet: bool
) -> HeadPhrases:
    """Which spans are phrases, from files with trees of both kinds."""
    from eigentree.treebank.head_phrases import HeadPhrases, pairs_by_words
    from eigentree.treebank.io.conllu import read_dependencies
    from eigentree.treebank.reader import read_treebank

    phrases = read_treebank(trees, cleaning=parser.cleaning).trees
    sentences = read_dependencies(dependencies).sentences
    pairs = pairs_by_words(sentences, phrases)
    if not pairs:
        raise TreebankFormatError(
            f"{dependencies}: none of {counted(len(sentences), 'sentence')} has the words of a "
            f"tree in {trees}"
        )
    message(
        f"learning phrases from {counted(len(pairs), 'sentence')} with both trees, of "
        f"{len(sentences)}",
        quiet=quiet,
    )
    return HeadPhrases.learn(pairs)


def _rows(treebank: DependencyTreebank, converted: Sequence[Converted]) -> Iterator[str]:
    """The table of all sentences."""
    yield "\t".join(_COLUMNS)
    pairs = zip(treebank.sentences, treebank.places, converted, strict=True)
    for number, (sentence, place, each) in enumerate(pairs, start=1):
        figures = (
            "" if value is None else f"{value:.6g}"
            for value in (each.confidence, each.tree_confidence)
        )
        cells = (number, place, len(sentence), each.n_required, *figures, each.reason or "kept")
        yield "\t".join(map(str, cells))


def _summary(converted: Sequence[Converted]) -> Iterator[str]:
    """How many trees there are, why the others are missing, and which tags were free."""
    kept = [each for each in converted if each.tree is not None]
    n_phrases = sum(each.n_required for each in kept)
    yield (
        f"{counted(len(kept), 'tree')} from {counted(len(converted), 'sentence')}, "
        f"{counted(n_phrases, 'required phrase')}"
    )
    for reason, count in Counter(each.reason for each in converted if each.reason).most_common():
        yield f"left out: {reason}: {counted(count, 'sentence')}"
    free = Counter(tag for each in kept for tag in each.free_tags).most_common()
    if free:
        listed = ", ".join(f"{tag} ({count})" for tag, count in free)
        yield f"tags unknown to the model, replaced by its tagger's: {listed}"
