"""The verb ``surprisal``: sentences in, a table of their words out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
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
    track,
)
from eigentree.cli.constituency.parse import (
    Sentence,
    TokeniserOption,
    Trouble,
    WrappedOption,
    how_to_cut,
    read,
)
from eigentree.data.catalogue import CONSTITUENTS

if TYPE_CHECKING:
    from eigentree.constituency.chart.prefix import Surprisal
    from eigentree.constituency.parser import Parser

COLUMNS = (
    "sentence",
    "position",
    "word",
    "surprisal_bits",
    "surprisal_nats",
    "log_prefix",
    "entry",
)
# Sentences a worker process gets at a time.
_LOT = 8
# Time grows with the cube of the length: some seconds at this one, a minute or two at twice that.
MOST_WORDS = 200


class _Table(NamedTuple):
    """What comes of a sentence.

    Attributes
    ----------
    surprisal
        None where there is none.
    note
        What is told about it; empty for nothing.
    failed
        Whether it could not be worked on.
    """

    surprisal: Surprisal | None = None
    note: str = ""
    failed: bool = False


def surprisal(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files of sentences, plain or gzipped; - or none for standard input."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A model file made by train, or the name of a model that comes with eigentree; no "
            "ensemble.",
            show_default=CONSTITUENTS,
        ),
    ] = None,
    form: Annotated[
        Literal["raw", "tokens", "tagged", "conllu", "trees"],
        typer.Option(
            "--input",
            help="raw text, each line of its own; tokens or tagged (word_TAG) sentences, one a "
            "line; CoNLL-U; the words and "
            "tags of trees, in brackets or NEGRA export.",
        ),
    ] = "raw",
    wrapped: WrappedOption = False,
    tokeniser: TokeniserOption = None,
    use_tags: Annotated[
        bool,
        typer.Option(
            "--use-tags", help="Take the input's tags as given, not only the words beside them."
        ),
    ] = False,
    tag_column: Annotated[
        Literal["xpos", "upos"], typer.Option(help="The tags of CoNLL-U.")
    ] = "xpos",
    max_words: Annotated[
        int,
        typer.Option(
            min=1, help="Longer sentences are told of and left out: time grows with the cube."
        ),
    ] = MOST_WORDS,
    output_file: OutputOption = "-",
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Say how surprising each word of a sentence is to a model, given the words before it.

    The output is a table with tabs between columns and a line of their names.  Each word has a row,
    in order, and the end of each sentence has one without a word. A word that can't follow has
    the surprisal inf, and all after it nan.  An empty sentence has no rows, but its number, and so
    has one that can't be read or is too long; these are told, with exit code 2.
    """
    from eigentree.cli.constituency._output import model_path, warn_of_compilation
    from eigentree.errors import SettingsError
    from eigentree.treebank.io.text_files import write_whole

    model = model_path(model, CONSTITUENTS)
    if Path(model).is_dir():
        raise SettingsError(f"{model} is a folder; surprisal wants a single model, no ensemble")
    if use_tags and form in ("raw", "tokens"):
        raise SettingsError(f"--use-tags is for input with tags; {form} has none")
    check_inputs(files or [])
    keep_inputs(output_file, [model, *(files or [])])
    # Opened here in any case, so that a bad model is told before any worker starts.
    parser = _open(model)
    warn_of_compilation(quiet=quiet, parsing=False, prefixes=True)
    if parser.grammar.signed:
        message(
            "eigentree: the model has signed values: surprisals are estimates, and nan where a "
            "value is negative",
            quiet=quiet,
        )
    trouble = Trouble()
    how = how_to_cut(parser, form, tokeniser, wrapped=wrapped)
    found = read(files or ["-"], form, tag_column, parser.cleaning, how=how)
    sentences = trouble.watch(found, not use_tags)
    tables: Iterator[_Table]
    if jobs == 1:
        work = _worker(parser, max_words)
        tables = chain.from_iterable(work([sentence]) for sentence in sentences)
    else:
        del parser
        tables = map_batches(_from_file, (model, max_words), batches(sentences, _LOT), jobs)
    failed = False
    with write_whole(output_file) as out:
        out.write("\t".join(COLUMNS) + "\n")
        shown = track(tables, "summing", quiet=quiet or out.isatty())
        for number, table in enumerate(shown, start=1):
            if table.surprisal is not None:
                out.writelines(_rows(number, table.surprisal))
            out.flush()
            if table.note:
                message(f"eigentree: {table.note}", quiet=quiet and not table.failed)
            failed |= table.failed
    if trouble.found or failed:
        raise typer.Exit(BAD_INPUT)


def _rows(number: int, found: Surprisal) -> Iterator[str]:
    logs = [*found.log_prefix[1:].tolist(), found.log_value]
    for position, (word, entry, nats, bits, log) in enumerate(
        zip(
            [*found.words, ""],
            [*found.entries, ""],
            found.nats.tolist(),
            found.bits.tolist(),
            logs,
            strict=True,
        ),
        start=1,
    ):
        yield f"{number}\t{position}\t{word}\t{bits:.6f}\t{nats:.6f}\t{log:.6f}\t{entry}\n"


def _open(model: str, *, verify: bool = True) -> Parser:
    from eigentree.constituency.parser import Parser

    return Parser.load(model, verify=verify)


def _worker(parser: Parser, max_words: int) -> Callable[[list[Sentence]], Iterator[_Table]]:
    """A function from sentences to what is said of each."""
    from eigentree.errors import EigentreeError

    def work(lot: list[Sentence]) -> Iterator[_Table]:
        for _, place, words, tags, *_ in lot:
            if not words:
                yield _Table()
                continue
            if len(words) > max_words:
                told = f"has {len(words)} words, so it is left out; at most {max_words} are allowed"
                yield _Table(note=f"{place}: {told}, see --max-words", failed=True)
                continue
            try:
                found = parser.surprisal(words, tags)
            except EigentreeError as error:
                yield _Table(note=f"{place}: {error}", failed=True)
                continue
            logs = found.log_prefix.tolist()
            told = ""
            if logs[-1] == float("-inf"):
                position = logs.index(float("-inf"))
                told = f"word {position} ({words[position - 1]}) can't follow"
            elif found.log_value == float("-inf"):
                told = "the sentence can't end here"
            yield _Table(found, told and f"{place}: {told}")

    return work


def _from_file(given: tuple[str, int]) -> Callable[[list[Sentence]], Iterator[_Table]]:
    model, max_words = given
    return _worker(_open(model, verify=False), max_words)
