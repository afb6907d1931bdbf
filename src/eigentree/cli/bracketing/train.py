"""The command ``induce train``: from tagged text to a model of brackets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import message, progress, track
from eigentree.cli._files import check_inputs, check_output, note_waiting
from eigentree.cli._options import (
    JobsOption,
    ModelFileOption,
    QuietOption,
    SentencesArgument,
    TagColumn,
    TagColumnOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._parsing import InputErrors, InputSentence, reported
from eigentree.cli._training import UsedBy, changed, check_used, method_option
from eigentree.cli.bracketing._input import (
    InputFormat,
    InputFormatOption,
    RootSplitOption,
    problem_without_tags,
    read_tagged,
    tags_of,
)
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from eigentree.bracketing.parser import BracketingParser
    from eigentree.words.vectors import WordVectors


_METRIC = ("taught-contexts", "metric")
_CONTEXTS = ("taught-contexts", "constituent-context")
USED_BY: UsedBy = {
    "vectors": _METRIC,
    "brown": _METRIC,
    "clusters": _METRIC,
    "rank": _METRIC,
    "bandwidth": _METRIC,
    "floor": _METRIC,
    "largest_distance": _METRIC,
    "least_squares": ("metric",),
    "longest": _CONTEXTS,
    "iterations": _CONTEXTS,
    "charge": ("taught-contexts",),
}


def train(
    files: SentencesArgument = None,
    output: ModelFileOption = "",
    input_format: InputFormatOption = "auto",
    tag_column: TagColumnOption = "xpos",
    method: Annotated[
        Literal["taught-contexts", "metric", "constituent-context"],
        typer.Option(
            help="metric: distances between words in the tree. constituent-context: spans of tags "
            "and their contexts. taught-contexts: constituent-context models initialised by a "
            "metric."
        ),
    ] = "taught-contexts",
    vectors: Annotated[
        str | None,
        method_option(
            USED_BY,
            "vectors",
            metavar="FILE",
            help="Word vectors, in text or .npz, as written by words cca.",
        ),
    ] = None,
    brown: Annotated[
        str | None,
        method_option(
            USED_BY,
            "brown",
            metavar="FILE",
            help="Word clusters, as written by words brown. Without --brown or --vectors, clusters "
            "are learned from the text itself, which is then read twice.",
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        method_option(
            USED_BY,
            "clusters",
            min=2,
            show_default="100",
            help="Maximum number of clusters learned from the text itself.",
        ),
    ] = None,
    tag_map: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Map from tags to universal tags: penn, stts, sinica, ud, none, or a file of "
            "tags, tabs and universal tags.",
            show_default="the one that fits",
        ),
    ] = None,
    rank: Annotated[
        int | None,
        method_option(
            USED_BY,
            "rank",
            min=1,
            show_default="15; 7 for metric",
            help="Number of singular values to keep.",
        ),
    ] = None,
    bandwidth: Annotated[
        float | None,
        method_option(
            USED_BY,
            "bandwidth",
            show_default="0.4",
            help="Width of the kernel that smooths over distances between tags.",
        ),
    ] = None,
    floor: Annotated[
        float | None,
        method_option(
            USED_BY,
            "floor",
            show_default="0.01",
            help="Minimum singular value, as a share of the largest.",
        ),
    ] = None,
    largest_distance: Annotated[
        int | None,
        method_option(
            USED_BY,
            "largest_distance",
            min=1,
            show_default="40",
            help="Maximum distance between words; larger ones count as this one.",
        ),
    ] = None,
    least_squares: Annotated[
        bool,
        method_option(
            USED_BY,
            "least_squares",
            "--least-squares/--uniform",
            help="Fit branch lengths by least squares, or take plain means.",
        ),
    ] = False,
    longest: Annotated[
        int | None,
        method_option(
            USED_BY,
            "longest",
            min=2,
            show_default="10",
            help="Maximum length in words of the sentences to learn spans from.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        method_option(
            USED_BY,
            "iterations",
            min=1,
            help="EM iterations.",
            show_default="2; 20 for constituent-context",
        ),
    ] = None,
    charge: Annotated[
        float | None,
        method_option(
            USED_BY,
            "charge",
            min=0.0,
            show_default="1.0",
            help="Penalty in nats of a phrase that contains punctuation, unless it extends from "
            "mark to mark.",
        ),
    ] = None,
    top: RootSplitOption = None,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Train a bracketing parser on tagged sentences, without trees.

    Unreadable sentences are reported and left out, and the exit code is 2.
    """
    from eigentree.bracketing.learn.ccm import ConstituentContextOptions
    from eigentree.bracketing.learn.ccm_from_metric import CONTEXT_DEFAULTS, METRIC_DEFAULTS
    from eigentree.bracketing.learn.tree_metric import MetricOptions
    from eigentree.bracketing.options import BracketingOptions, BracketingTrainingOptions
    from eigentree.bracketing.parser import BracketingParser
    from eigentree.treebank import universal_tags

    inputs = files or ["-"]
    if not output:
        raise SettingsError("no model file given; name one with -o")
    if vectors is not None and brown is not None:
        raise SettingsError("--vectors and --brown are mutually exclusive")
    check_used(method, USED_BY, locals())
    read_files = [*inputs, *(each for each in (vectors, brown) if each is not None)]
    check_inputs(read_files)
    note_waiting(inputs, quiet=quiet)
    check_output(output, read_files, model=True)
    from_metric = method == "taught-contexts"
    metric = changed(
        METRIC_DEFAULTS if from_metric else MetricOptions(),
        rank=rank, bandwidth=bandwidth, floor=floor, largest_distance=largest_distance,
    )  # fmt: skip
    contexts = changed(
        CONTEXT_DEFAULTS if from_metric else ConstituentContextOptions(),
        lengths=None if longest is None else (longest,), iterations=iterations,
    )  # fmt: skip
    settings = changed(
        BracketingTrainingOptions(
            method, metric, contexts, least_squares,
            parsing=None if top is None else BracketingOptions(top),
        ),
        charge=charge,
    )  # fmt: skip
    mapping = None if tag_map is None else universal_tags.tag_map(tag_map)
    errors = InputErrors(quiet=quiet)
    sentences = read_tagged(inputs, input_format, tag_column, errors.remark)
    if method == "constituent-context":
        text = _words_and_tags(reported(sentences, errors))
        with progress("learning", contexts.iterations, unit="iteration", quiet=quiet) as advance:

            def step(_stage: str, _fraction: float) -> None:
                advance(1)

            parser = BracketingParser.train(text, settings, progress=step, tag_map=mapping)
    else:
        # Clusters of the text itself report unreadable sentences when they read it first.
        is_read_before = vectors is None and brown is None
        text = _words_and_tags(sentences if is_read_before else reported(sentences, errors))
        known = _vectors(
            inputs, input_format, tag_column, vectors, brown, clusters or 100, quiet, errors
        )
        if from_metric:
            compile_kernels("bracketing", quiet=quiet)
        parser = BracketingParser.train(
            track(text, "counting", quiet=quiet), settings, jobs=jobs, vectors=known,
            tag_map=mapping,
        )  # fmt: skip
    parser.save(output)
    _report(parser, output, quiet)
    errors.leave()


def _report(parser: BracketingParser, output: str, quiet: bool) -> None:
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
            f"distances deviate from those of a tree by {about['quartet_excess']:.2f} "
            "(0: a tree, 0.5: chance)",
            quiet=quiet,
        )


def _vectors(
    files: list[str],
    input_format: InputFormat,
    tag_column: TagColumn,
    vectors: str | None,
    brown: str | None,
    clusters: int,
    quiet: bool,
    errors: InputErrors,
) -> WordVectors:
    """Vectors from a file, or from clusters of the text itself."""
    if vectors is not None:
        from eigentree.words.vectors import read_vectors

        return read_vectors(vectors)
    if brown is not None:
        from eigentree.words.brown_files import read_clusters

        return read_clusters(brown).vectors()
    from eigentree.words.brown import BrownOptions, learn_brown

    if "-" in files:
        raise SettingsError(
            "standard input can be read only once; give --brown or --vectors, or name a file"
        )
    compile_kernels("clusters", quiet=quiet)
    # Clusters are learned from words in lower case.
    # Remarks are made when the text is read again.
    unremarked = InputErrors(quiet=True).remark
    sentences = reported(read_tagged(files, input_format, tag_column, unremarked), errors)
    words = ([word.lower() for word in each.words] for each in sentences)
    shown = track(words, "clustering words", quiet=quiet)
    return learn_brown(shown, BrownOptions(clusters)).vectors()


def _words_and_tags(sentences: Iterator[InputSentence]) -> Iterator[tuple[list[str], list[str]]]:
    """Words and tags of the sentences that have any."""
    for sentence in sentences:
        problem = problem_without_tags(sentence)
        if problem is not None:
            raise SettingsError(problem)
        if sentence.words:
            yield sentence.words, tags_of(sentence)
