"""The group ``words``: clusters and vectors of words, learned from text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._commands import Command, new_group
from eigentree.cli._common import BAD_INPUT, message
from eigentree.cli._files import check_inputs, check_output, note_waiting
from eigentree.cli._options import OutputOption, QuietOption, SeedOption, SentencesArgument
from eigentree.cli._output import compile_kernels
from eigentree.cli._parsing import InputErrors, read_input, reported
from eigentree.cli._training import Stages
from eigentree.errors import counted

if TYPE_CHECKING:
    from eigentree.words.brown import BrownClusters
    from eigentree.words.vectors import WordVectors

_SHOWN_WORDS = 10

InputFormat = Literal["auto", "tokens", "tagged", "conllu", "trees"]
InputFormatOption = Annotated[
    InputFormat,
    typer.Option(
        "--input-format",
        help="Format of the input. tokens, tagged (word_TAG): one sentence per line. conllu: "
        "CoNLL-U. trees: the words of trees, in brackets, NEGRA export or TIGER-XML. auto: trees "
        "and CoNLL-U by content, otherwise tokens.",
    ),
]

words = new_group("Learn word clusters or word vectors from text, and look them up.")


@words.command(cls=Command)
def brown(
    files: SentencesArgument = None,
    output_file: OutputOption = "-",
    clusters: Annotated[int, typer.Option(min=2, help="Maximum number of clusters.")] = 320,
    min_count: Annotated[
        int, typer.Option(min=1, help="Minimum count of a word, to be clustered.")
    ] = 1,
    input_format: InputFormatOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Learn Brown clusters: words with the same neighbours, in a binary tree.

    The output has one line per word: the path from the root of the tree to its cluster, the word,
    and its count.  If the file's name ends in .egt, a model file is written instead.
    """
    from eigentree.words.brown import BrownOptions, learn_brown
    from eigentree.words.brown_files import write_clusters

    options = BrownOptions(clusters, min_count)
    _check_files(files, output_file)
    errors = InputErrors(quiet=quiet)
    sentences = _sentences(files, input_format, errors, quiet=quiet)
    compile_kernels("clusters", quiet=quiet)
    with Stages(quiet) as stages:
        result = learn_brown(sentences, options, progress=stages)
    write_clusters(result, output_file)
    _report(output_file, f"{len(result.words)} words in {len(result)} clusters", quiet)
    errors.leave()


@words.command(cls=Command)
def assign(
    known: Annotated[
        str, typer.Argument(metavar="CLUSTERS", help="A file of clusters, written by words brown.")
    ],
    files: SentencesArgument = None,
    output_file: OutputOption = "-",
    min_count: Annotated[
        int, typer.Option(min=1, help="Minimum count of a word, to be assigned.")
    ] = 1,
    input_format: InputFormatOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Assign the words of another text to existing clusters.

    A word joins the cluster whose neighbours are most similar to its own.  A word that is never
    next to a known word stays unknown.
    """
    from eigentree.words.brown import assign_words
    from eigentree.words.brown_files import read_clusters, write_clusters

    _check_files([known, *(files or ["-"])], output_file)
    clusters = read_clusters(known)
    errors = InputErrors(quiet=quiet)
    compile_kernels("clusters", quiet=quiet)
    result = assign_words(
        clusters, _sentences(files, input_format, errors, quiet=quiet), min_count=min_count
    )
    write_clusters(result, output_file)
    number = len(result.words) - len(clusters.words)
    _report(output_file, f"{counted(number, 'new word')} in {len(result)} clusters", quiet)
    errors.leave()


@words.command(cls=Command)
def cca(
    files: SentencesArgument = None,
    output_file: OutputOption = "-",
    dimensions: Annotated[int, typer.Option(min=1, help="Dimensions of a vector.")] = 50,
    window: Annotated[
        int, typer.Option(min=1, help="Context of a word: N words before and after it.")
    ] = 2,
    vocabulary: Annotated[
        int, typer.Option(min=1, help="Maximum number of words with a vector of their own.")
    ] = 30_000,
    method: Annotated[
        Literal["one-step", "two-step"],
        typer.Option(
            help="Correlate words with contexts, or left with right contexts first and words with "
            "the result."
        ),
    ] = "one-step",
    square_root: Annotated[
        bool,
        typer.Option("--square-root/--counts", help="Use square roots of counts, or counts."),
    ] = True,
    input_format: InputFormatOption = "auto",
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Learn vectors of words by canonical correlation with their contexts.

    The output is text in the format of word2vec and GloVe, with a vector <unk> for unknown words;
    if the file's name ends in .npz, arrays are written instead.
    """
    from eigentree.words.cca import CCAOptions, learn_cca
    from eigentree.words.vectors import write_vectors

    options = CCAOptions(dimensions, window, vocabulary, method, square_root)
    _check_files(files, output_file)
    errors = InputErrors(quiet=quiet)
    sentences = _sentences(files, input_format, errors, quiet=quiet)
    with Stages(quiet) as stages:
        result = learn_cca(sentences, options, seed=seed, progress=stages)
    write_vectors(result, output_file)
    _report(output_file, f"{len(result.words)} words with {result.dimensions} numbers each", quiet)
    errors.leave()


@words.command(cls=Command)
def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of clusters or of vectors.")],
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words to look up.")
    ] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="Maximum number of words to show for each.")
    ] = _SHOWN_WORDS,
) -> None:
    """Show the clusters of words, or their nearest neighbours.

    Without words, all clusters are shown, or the sizes of vectors.  The columns are tab-separated:
    the word, its cluster's path or a neighbour, and the cluster's words or the cosine.
    """
    from eigentree.words.brown_files import read_clusters
    from eigentree.words.vectors import read_vectors

    check_inputs([file])
    result = read_clusters(file) if _holds_clusters(file) else read_vectors(file)
    if not chosen:
        lines = _overview(result, number)
    else:
        lines = (line for word in chosen for line in _about(result, word, number))
    for line in lines:
        typer.echo(line)
    unknown = [word for word in chosen or [] if _number(result, word) is None]
    for word in unknown:
        message(f"eigentree: {file}: no word {word!r}")
    if unknown:
        raise typer.Exit(BAD_INPUT)


def _check_files(files: list[str] | None, output: str) -> None:
    check_inputs(files or [])
    check_output(output, files or [], model=output.endswith(".egt"))


def _sentences(
    files: list[str] | None, input_format: InputFormat, errors: InputErrors, *, quiet: bool
) -> Iterator[list[str]]:
    """The words of each sentence, none for an unreadable one."""
    note_waiting(files or ["-"], quiet=quiet)
    sentences = read_input(files or ["-"], input_format, remark=errors.remark)
    return (each.words for each in reported(sentences, errors))


def _report(output: str, what: str, quiet: bool) -> None:
    message(what if output == "-" else f"{output}: {what}", quiet=quiet)


def _holds_clusters(file: str) -> bool:
    """Whether a file is a model, or text whose first line has a path, a word and a count."""
    from eigentree.treebank.io.text_files import open_text
    from eigentree.words.brown_files import is_count, is_path

    with open(file, "rb") as content:
        head = content.read(8)
    if head.startswith(b"PK") or b"\0" in head:
        return not head.startswith(b"PK")
    with open_text(file) as lines:
        fields = next((line for line in lines if line.strip()), "").rstrip("\r\n").split("\t")
    return len(fields) == 3 and is_path(fields[0]) and is_count(fields[2])


def _number(result: BrownClusters | WordVectors, word: str) -> int | None:
    from eigentree.words.vectors import WordVectors

    return result.number(word) if isinstance(result, WordVectors) else result.cluster_of(word)


def _overview(result: BrownClusters | WordVectors, number: int) -> Iterator[str]:
    from eigentree.words.vectors import WordVectors

    if isinstance(result, WordVectors):
        yield f"{counted(len(result.words), 'word')}, {result.dimensions} numbers each"
        return
    for path, cluster in sorted((path, at) for at, path in enumerate(result.paths)):
        members = result.members(cluster)
        yield f"{path}\t{counted(len(members), 'word')}\t{' '.join(members[:number])}"


def _about(result: BrownClusters | WordVectors, word: str, number: int) -> Iterator[str]:
    from eigentree.words.vectors import WordVectors

    at = _number(result, word)
    if at is None:
        return
    if isinstance(result, WordVectors):
        for each in result.nearest(word, number):
            yield f"{word}\t{each.word}\t{each.cosine:.4f}"
    else:
        yield f"{word}\t{result.paths[at]}\t{' '.join(result.members(at)[:number])}"
