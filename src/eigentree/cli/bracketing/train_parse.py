"""The verbs ``induce train`` and ``induce parse``: brackets learned from tagged text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from eigentree._core.batching import batches, map_batches
from eigentree.cli._common import (
    BAD_INPUT,
    JobsOption,
    OutputOption,
    QuietOption,
    check_inputs,
    keep_inputs,
    message,
    progress,
    track,
)
from eigentree.cli.constituency._output import warn_of_compilation
from eigentree.cli.constituency._training import changed, check_writable
from eigentree.cli.constituency.parse import Sentence, Trouble, read
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from eigentree.bracketing.parser import BracketingParser
    from eigentree.words.vectors import WordVectors

# Sentences a worker process gets at a time.
_LOT = 64

TextArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Files of sentences, plain or gzipped; - or none for standard input."),
]
InputOption = Annotated[
    Literal["tagged", "conllu", "trees"],
    typer.Option(
        "--input",
        help="Tagged (word_TAG) sentences, one a line; CoNLL-U; the words and tags of trees, in "
        "brackets or NEGRA export.",
    ),
]
TagColumnOption = Annotated[Literal["xpos", "upos"], typer.Option(help="The tags of CoNLL-U.")]


def train(
    files: TextArgument = None,
    output: Annotated[str, typer.Option("--output-file", "-o", help="The model file.")] = "",
    form: InputOption = "tagged",
    tag_column: TagColumnOption = "xpos",
    method: Annotated[
        Literal["taught-contexts", "metric", "constituent-context"],
        typer.Option(
            help="Constituent-context models that distances between words have taught, these "
            "distances themselves, or the constituent-context model of tags alone."
        ),
    ] = "taught-contexts",
    vectors: Annotated[
        str | None,
        typer.Option(help="Vectors of words, in text or .npz, as words cca makes them."),
    ] = None,
    brown: Annotated[
        str | None,
        typer.Option(
            help="Clusters of words, as words brown makes them. Without --brown or --vectors, "
            "clusters are made of the text itself, which is then read twice."
        ),
    ] = None,
    clusters: Annotated[
        int, typer.Option(min=2, help="Most clusters that are made of the text itself.")
    ] = 100,
    tag_map: Annotated[
        str | None,
        typer.Option(
            help="How tags become universal ones: penn, stts, sinica, ud, none, or a file of tags, "
            "tabs and universal tags.",
            show_default="the one that fits",
        ),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(
            min=1, help="Singular values that count.", show_default="15; 7 for metric alone"
        ),
    ] = None,
    bandwidth: Annotated[
        float, typer.Option(help="How unlike two distances between tags may be to count as alike.")
    ] = 0.4,
    floor: Annotated[
        float, typer.Option(help="Least singular value, as a share of the largest.")
    ] = 0.01,
    largest_distance: Annotated[
        int, typer.Option(min=1, help="Distances between words that are told apart.")
    ] = 40,
    least_squares: Annotated[
        bool,
        typer.Option(
            "--least-squares/--uniform",
            help="Lengths of least squares, or of plain means; metric alone.",
        ),
    ] = False,
    longest: Annotated[
        int,
        typer.Option(min=2, help="Words of the longest sentences that spans are learned from."),
    ] = 10,
    iterations: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Steps of expectation maximisation.",
            show_default="2; 20 for constituent-context",
        ),
    ] = None,
    charge: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="In nats, of phrases with punctuation inside that don't reach from mark to mark; "
            "taught-contexts alone.",
        ),
    ] = 1.0,
    top: Annotated[
        Literal["verbs", "free"] | None,
        typer.Option(
            help="Where the root parts a sentence: by a rule, or where the tree is best.",
            show_default="free; verbs for metric",
        ),
    ] = None,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Learn from tagged sentences, without any trees, how to bracket others.

    What can't be read is told and left out, and the exit code then is 2.
    """
    from eigentree.bracketing.learn.ccm import ConstituentContextOptions
    from eigentree.bracketing.learn.ccm_from_metric import TAUGHT, TEACHER
    from eigentree.bracketing.learn.tree_metric import MetricOptions
    from eigentree.bracketing.options import BracketingOptions, BracketingTrainingOptions
    from eigentree.bracketing.parser import BracketingParser
    from eigentree.treebank import universal_tags

    given = files or ["-"]
    if not output:
        raise SettingsError("no model file is named; give one with -o")
    if vectors is not None and brown is not None:
        raise SettingsError("--vectors and --brown are two ways to say the same; give one")
    with_words = method != "constituent-context"
    if not with_words and (vectors is not None or brown is not None):
        raise SettingsError(
            "the constituent-context model looks at tags alone; leave out --vectors and --brown"
        )
    check_inputs([*given, *(each for each in (vectors, brown) if each is not None)])
    check_writable(output, given)
    taught = method == "taught-contexts"
    metric = changed(
        TEACHER if taught else MetricOptions(),
        rank=rank, bandwidth=bandwidth, floor=floor, largest_distance=largest_distance,
    )  # fmt: skip
    contexts = changed(
        TAUGHT if taught else ConstituentContextOptions(),
        lengths=(longest,), iterations=iterations,
    )  # fmt: skip
    settings = BracketingTrainingOptions(
        method, metric, contexts, least_squares, charge,
        parsing=None if top is None else BracketingOptions(top),
    )  # fmt: skip
    known_map = None if tag_map is None else universal_tags.tag_map(tag_map)
    trouble = Trouble()
    text = _tagged(_sentences(given, form, tag_column, trouble))
    if with_words:
        if vectors is None and brown is None:
            # Read twice, and problems are reported the first time, since clusters may fail.
            text = _tagged(_sentences(given, form, tag_column, None))
        known = _vectors(given, form, tag_column, vectors, brown, clusters, quiet, trouble)
        warn_of_compilation(quiet=quiet, parsing=False, bracketing=taught)
        parser = BracketingParser.train(
            track(text, "counting", quiet=quiet), settings, jobs=jobs, vectors=known,
            tag_map=known_map,
        )  # fmt: skip
    else:
        with progress("learning", contexts.iterations, quiet=quiet) as advance:

            def step(_stage: str, _fraction: float) -> None:
                advance(1)

            parser = BracketingParser.train(text, settings, progress=step, tag_map=known_map)
    parser.save(output)
    _tell_of_training(parser, output, quiet)
    if trouble.found:
        raise typer.Exit(BAD_INPUT)


def _tell_of_training(parser: BracketingParser, output: str, quiet: bool) -> None:
    about = parser.description
    words = f"{counted(about['words'], 'word')} without punctuation"
    if about["method"] != "constituent-context":
        tags = f"{counted(about['tags'], 'tag')} by the tag map {about['tag_map']}"
        message(f"{output}: {words}, {tags}", quiet=quiet)
    else:
        sentences, tags = counted(about["sentences"], "sentence"), counted(about["tags"], "tag")
        punctuation = f"punctuation by the tag map {about['tag_map']}"
        message(f"{output}: {words} in {sentences}, {tags}; {punctuation}", quiet=quiet)
    if about.get("quartet_excess") is not None:
        message(
            f"distances miss those of trees by {about['quartet_excess']:.2f}, where 0 is a tree's "
            "and 0.5 chance",
            quiet=quiet,
        )


def _vectors(
    files: list[str],
    form: Literal["tagged", "conllu", "trees"],
    tag_column: Literal["xpos", "upos"],
    vectors: str | None,
    brown: str | None,
    clusters: int,
    quiet: bool,
    trouble: Trouble,
) -> WordVectors:
    """Vectors from a file, or of clusters that are made of the text."""
    if vectors is not None:
        from eigentree.words.vectors import read_vectors

        return read_vectors(vectors)
    if brown is not None:
        from eigentree.words.brown_files import read_clusters

        return read_clusters(brown).vectors()
    from eigentree.words.brown import BrownOptions, learn_brown

    if "-" in files:
        raise SettingsError(
            "standard input can be read once only; give --brown or --vectors, or name a file"
        )
    warn_of_compilation(quiet=quiet, parsing=False, clusters=True)
    # Clusters don't care for capital letters.
    sentences = _sentences(files, form, tag_column, trouble)
    words = ([word.lower() for word in each.words] for each in sentences)
    told = track(words, "clustering words", quiet=quiet)
    return learn_brown(told, BrownOptions(clusters)).vectors()


def parse(
    files: TextArgument = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="A model file made by induce train.")
    ] = "",
    form: InputOption = "tagged",
    tag_column: TagColumnOption = "xpos",
    top: Annotated[
        Literal["verbs", "free"] | None,
        typer.Option(
            help="Where the root parts a sentence: by a rule, or where the tree is best.",
            show_default="as trained",
        ),
    ] = None,
    max_words: Annotated[
        int | None,
        typer.Option(
            min=2, help="Longer sentences are parsed in pieces.", show_default="as trained, 120"
        ),
    ] = None,
    output_file: OutputOption = "-",
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Bracket tagged sentences.

    Each sentence gives one tree, in order; what can't be read or has no tags gives an empty line, a
    message and exit code 2, and the rest is parsed.
    """
    from eigentree.bracketing.models import MetricModel
    from eigentree.treebank.io.text_files import write_whole

    if not model:
        raise SettingsError(
            "no model is named; give one with -m, as made by eigentree induce train"
        )
    check_inputs(files or [])
    keep_inputs(output_file, [model, *(files or [])])
    work = _Work(model, top, max_words)
    # Opened here in any case, so that a bad model is told before any worker starts.
    parser = _open(work)
    shortest = isinstance(parser.model, MetricModel)
    warn_of_compilation(quiet=quiet, parsing=False, bracketing=shortest)
    trouble = Trouble()
    sentences = _sentences(files or ["-"], form, tag_column, trouble)
    rendered: Iterator[_Rendered]
    if jobs == 1:
        render = _renderer(parser)
        rendered = chain.from_iterable(render([sentence]) for sentence in sentences)
    else:
        rendered = map_batches(_from_file, work, batches(sentences, _LOT), jobs)
    with write_whole(output_file) as out:
        # On a terminal the trees themselves show how far it is.
        for each in track(rendered, "parsing", quiet=quiet or out.isatty()):
            out.write(each.text + "\n")
            out.flush()
            if each.failed:
                trouble.tell(each.note)
            elif each.note:
                message(f"eigentree: {each.note}", quiet=quiet)
    if trouble.found:
        raise typer.Exit(BAD_INPUT)


class _Work(NamedTuple):
    """What a process has to know to parse."""

    model: str
    top: Literal["verbs", "free"] | None
    max_words: int | None


class _Rendered(NamedTuple):
    """What is printed for a sentence, and what is told about it."""

    text: str
    note: str = ""
    failed: bool = False


def _sentences(
    files: list[str],
    form: Literal["tagged", "conllu", "trees"],
    tag_column: Literal["xpos", "upos"],
    trouble: Trouble | None,
) -> Iterator[Sentence]:
    """The sentences of files; with nobody to tell, trouble is passed over."""
    from eigentree.treebank.cleaning import CleaningOptions

    found = read(files, form, tag_column, CleaningOptions(cut_tags=True))
    if trouble is None:
        found = (each for each in found if each[1].problem is None)
    return (trouble or Trouble()).watch(found, ignore_tags=False)


def _tagged(sentences: Iterator[Sentence]) -> Iterator[tuple[list[str], list[str]]]:
    """Words and tags of sentences that have both."""
    for sentence in sentences:
        if sentence.words and sentence.tags is None:
            raise SettingsError(f"{sentence.place}: the sentence has no tags; they are needed")
        if sentence.words:
            yield sentence.words, _single(sentence)


def _single(sentence: Sentence) -> list[str]:
    """The tags of a sentence, in whose notation a word has one at most."""
    return [tag for tag in sentence.tags or () if isinstance(tag, str)]


def _open(work: _Work, *, verify: bool = True) -> BracketingParser:
    from eigentree.bracketing.parser import BracketingParser

    parser = BracketingParser.load(work.model, verify=verify)
    options = changed(parser.options, top=work.top, max_words=work.max_words)
    return replace(parser, options=options)


def _renderer(parser: BracketingParser) -> Callable[[list[Sentence]], Iterator[_Rendered]]:
    from eigentree.treebank.io.brackets import format_tree

    def render(lot: list[Sentence]) -> Iterator[_Rendered]:
        for sentence in lot:
            if sentence.words and sentence.tags is None:
                note = f"{sentence.place}: the sentence has no tags; they are needed"
                yield _Rendered("", note, failed=True)
                continue
            result = parser.parse(sentence.words, _single(sentence))
            note = f"{sentence.place}: fall-back: {result.fallback}" if result.fallback else ""
            text = "" if result.tree is None else format_tree(result.tree)
            yield _Rendered(text, note if sentence.readable else "")

    return render


def _from_file(work: _Work) -> Callable[[list[Sentence]], Iterator[_Rendered]]:
    return _renderer(_open(work, verify=False))
