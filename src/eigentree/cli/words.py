"""The verb ``words``: what texts tell about single words, learned and looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import (
    BAD_INPUT,
    OutputOption,
    QuietOption,
    SeedOption,
    check_inputs,
    keep_inputs,
    message,
)
from eigentree.cli.constituency._output import warn_of_compilation
from eigentree.cli.constituency._training import Stages, check_writable
from eigentree.errors import counted

if TYPE_CHECKING:
    from eigentree.cli.constituency.parse import Trouble
    from eigentree.words.brown import BrownClusters
    from eigentree.words.vectors import WordVectors

_SHOWN_WORDS = 10

TextArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Files of sentences, plain or gzipped; - or none for standard input."),
]
InputOption = Annotated[
    Literal["tokens", "tagged", "conllu", "trees"],
    typer.Option(
        "--input",
        help="tokens or tagged (word_TAG) sentences, one a line; CoNLL-U; the words of trees, in "
        "brackets or NEGRA export.",
    ),
]

words = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Learn clusters or vectors of words from text, and look at them.",
)


@words.command()
def brown(
    files: TextArgument = None,
    output_file: OutputOption = "-",
    clusters: Annotated[int, typer.Option(min=2, help="Most clusters.")] = 320,
    min_count: Annotated[
        int, typer.Option(min=1, help="Words seen less often get no cluster.")
    ] = 1,
    form: InputOption = "tokens",
    quiet: QuietOption = False,
) -> None:
    """Put words that have the same neighbours into clusters, and clusters into a tree.

    The output has a line a word: the path from the root of the tree to its cluster, the word, and
    how often it was seen.  A file whose name ends in .egt is a model file instead.
    """
    from eigentree.cli.constituency.parse import Trouble
    from eigentree.words.brown import BrownOptions, learn_brown
    from eigentree.words.brown_files import write_clusters

    options = BrownOptions(clusters, min_count)
    _check_places(files, output_file)
    trouble = Trouble()
    sentences = _sentences(files, form, trouble)
    warn_of_compilation(quiet=quiet, parsing=False, clusters=True)
    with Stages(quiet) as stages:
        found = learn_brown(sentences, options, progress=stages)
    write_clusters(found, output_file)
    _tell(output_file, f"{len(found.words)} words in {len(found)} clusters", quiet)
    _leave(trouble)


@words.command()
def assign(
    known: Annotated[str, typer.Argument(help="A file of clusters, made by words brown.")],
    files: TextArgument = None,
    output_file: OutputOption = "-",
    min_count: Annotated[int, typer.Option(min=1, help="Words seen less often stay unknown.")] = 1,
    form: InputOption = "tokens",
    quiet: QuietOption = False,
) -> None:
    """Give the words of another text, among which are known ones, to the clusters there are.

    A word joins the cluster whose neighbours are most like its own.  One that never stands beside a
    known word stays unknown.
    """
    from eigentree.cli.constituency.parse import Trouble
    from eigentree.words.brown import assign_words
    from eigentree.words.brown_files import read_clusters, write_clusters

    _check_places([known, *(files or ["-"])], output_file)
    clusters = read_clusters(known)
    trouble = Trouble()
    warn_of_compilation(quiet=quiet, parsing=False, clusters=True)
    found = assign_words(clusters, _sentences(files, form, trouble), min_count=min_count)
    write_clusters(found, output_file)
    number = len(found.words) - len(clusters.words)
    _tell(output_file, f"{counted(number, 'new word')} in {len(found)} clusters", quiet)
    _leave(trouble)


@words.command()
def cca(
    files: TextArgument = None,
    output_file: OutputOption = "-",
    dimensions: Annotated[int, typer.Option(min=1, help="Numbers in a vector.")] = 50,
    window: Annotated[
        int, typer.Option(min=1, help="Words before and after a word that are its context.")
    ] = 2,
    vocabulary: Annotated[
        int, typer.Option(min=1, help="Most words with a vector of their own.")
    ] = 30_000,
    method: Annotated[
        Literal["one-step", "two-step"],
        typer.Option(
            help="Words against contexts, or left against right contexts and words against what "
            "comes of it."
        ),
    ] = "one-step",
    square_root: Annotated[
        bool,
        typer.Option(
            "--square-root/--counts", help="Take square roots of counts, or counts as they are."
        ),
    ] = True,
    form: InputOption = "tokens",
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Learn vectors of words by canonical correlation with their contexts.

    The output is text that readers of word2vec and GloVe files know, with a vector for unknown
    words called <unk>; a file whose name ends in .npz holds arrays instead.
    """
    from eigentree.cli.constituency.parse import Trouble
    from eigentree.words.cca import CCAOptions, learn_cca
    from eigentree.words.vectors import write_vectors

    options = CCAOptions(dimensions, window, vocabulary, method, square_root)
    _check_places(files, output_file)
    trouble = Trouble()
    sentences = _sentences(files, form, trouble)
    with Stages(quiet) as stages:
        found = learn_cca(sentences, options, seed=seed, progress=stages)
    write_vectors(found, output_file)
    _tell(output_file, f"{len(found.words)} words with {found.dimensions} numbers each", quiet)
    _leave(trouble)


@words.command()
def show(
    file: Annotated[str, typer.Argument(help="A file of clusters or of vectors.")],
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words to look up.")
    ] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="Most words shown of each.")
    ] = _SHOWN_WORDS,
) -> None:
    """Show the clusters of words, or the words nearest to them.

    Without words all clusters are shown, or what there is of vectors.  Columns have tabs between
    them: the word, its cluster's path or a neighbour, and the cluster's words or the cosine.
    """
    from eigentree.words.brown_files import read_clusters
    from eigentree.words.vectors import read_vectors

    check_inputs([file])
    found = read_clusters(file) if _holds_clusters(file) else read_vectors(file)
    if not chosen:
        lines = _overview(found, number)
    else:
        lines = (line for word in chosen for line in _about(found, word, number))
    for line in lines:
        typer.echo(line)
    unknown = [word for word in chosen or [] if _number(found, word) is None]
    for word in unknown:
        message(f"eigentree: {file}: has no word {word!r}")
    if unknown:
        raise typer.Exit(BAD_INPUT)


def _check_places(files: list[str] | None, output: str) -> None:
    check_inputs(files or [])
    keep_inputs(output, files or [])
    if output != "-":
        check_writable(output, [], model=False)


def _sentences(files: list[str] | None, form: str, trouble: Trouble) -> Iterator[list[str]]:
    """The words of each sentence that can be read."""
    from eigentree.cli.constituency.parse import read
    from eigentree.treebank.cleaning import CleaningOptions

    read_in = read(files or ["-"], form, "xpos", CleaningOptions())  # type: ignore[arg-type]  # a name of a form
    return (each.words for each in trouble.watch(read_in, ignore_tags=True))


def _tell(output: str, what: str, quiet: bool) -> None:
    message(what if output == "-" else f"{output}: {what}", quiet=quiet)


def _leave(trouble: Trouble) -> None:
    if trouble.found:
        raise typer.Exit(BAD_INPUT)


def _holds_clusters(file: str) -> bool:
    """Whether a file is a model or text whose first line is that of a word and its path."""
    from eigentree.treebank.io.text_files import open_text
    from eigentree.words.brown_files import is_count, is_path

    with open(file, "rb") as content:
        head = content.read(8)
    if head.startswith(b"PK") or b"\0" in head:
        return not head.startswith(b"PK")
    with open_text(file) as lines:
        fields = next((line for line in lines if line.strip()), "").rstrip("\r\n").split("\t")
    return len(fields) == 3 and is_path(fields[0]) and is_count(fields[2])


def _number(found: BrownClusters | WordVectors, word: str) -> int | None:
    from eigentree.words.vectors import WordVectors

    return found.number(word) if isinstance(found, WordVectors) else found.cluster_of(word)


def _overview(found: BrownClusters | WordVectors, number: int) -> Iterator[str]:
    from eigentree.words.vectors import WordVectors

    if isinstance(found, WordVectors):
        yield f"{counted(len(found.words), 'word')}, {found.dimensions} numbers each"
        return
    for path, cluster in sorted((path, at) for at, path in enumerate(found.paths)):
        members = found.members(cluster)
        yield f"{path}\t{counted(len(members), 'word')}\t{' '.join(members[:number])}"


def _about(found: BrownClusters | WordVectors, word: str, number: int) -> Iterator[str]:
    from eigentree.words.vectors import WordVectors

    at = _number(found, word)
    if at is None:
        return
    if isinstance(found, WordVectors):
        for each in found.nearest(word, number):
            yield f"{word}\t{each.word}\t{each.cosine:.4f}"
    else:
        yield f"{word}\t{found.paths[at]}\t{' '.join(found.members(at)[:number])}"
