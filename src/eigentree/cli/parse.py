"""The verb ``parse``: sentences in, trees out, in order, one for each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import chain, islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from eigentree.cli._common import (
    BAD_INPUT,
    JobsOption,
    OutputOption,
    QuietOption,
    WorkFailedError,
    check_inputs,
    keep_inputs,
    message,
    track,
)

if TYPE_CHECKING:
    from eigentree.corpus.cleaning import CleaningOptions
    from eigentree.corpus.tokens import TaggedSentence
    from eigentree.parsers import Parser

# Sentences a worker process gets at a time, and how many such lots wait in line for each.
_LOT = 32
_LOTS_AHEAD = 4

InputForm = Literal["tokens", "tagged", "conllu", "trees"]
OutputForm = Literal["brackets", "json", "drawing"]
Objective = Literal["rules", "spans", "brackets", "max-rule", "viterbi"]


class _Work(NamedTuple):
    """What a process has to know to parse and print."""

    model: str
    objective: Objective | None
    threshold: float | None
    max_words: int | None
    output: OutputForm


def parse(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files of sentences, plain or gzipped; - or none for standard input."),
    ] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="A model file made by train.")] = "",
    form: Annotated[
        InputForm,
        typer.Option(
            "--input",
            help="tokens or tagged (word_TAG) sentences, one a line; CoNLL-U; the words and "
            "tags of trees, in brackets or NEGRA export.",
        ),
    ] = "tokens",
    ignore_tags: Annotated[
        bool, typer.Option("--ignore-tags", help="Use the parser's own tagger in any case.")
    ] = False,
    tag_column: Annotated[
        Literal["xpos", "upos"], typer.Option(help="The tags of CoNLL-U.")
    ] = "xpos",
    output: Annotated[
        OutputForm, typer.Option("--output", help="What to print for a sentence.")
    ] = "brackets",
    objective: Annotated[
        Objective | None, typer.Option(help="Decoder, in place of the model's own.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Pruning threshold, in place of the model's own.")
    ] = None,
    max_words: Annotated[
        int | None, typer.Option(help="Parse longer sentences in pieces.", show_default="400")
    ] = None,
    output_file: OutputOption = "-",
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Parse sentences with a model.

    Each sentence gives one tree, in order; what can't be read gives an empty line, a message
    and exit code 2, and the rest is parsed.
    """
    from eigentree.cli._models import warn_of_compilation
    from eigentree.corpus.files import write_whole
    from eigentree.errors import SettingsError

    if not model:
        raise SettingsError("no model is named; give one with --model, as made by eigentree train")
    check_inputs(files or [])
    keep_inputs(output_file, [model, *(files or [])])
    work = _Work(model, objective, threshold, max_words, output)
    # Opened here in any case, so that a bad model is told before any worker starts.
    parser = _open(work)
    warn_of_compilation(quiet=quiet)
    trouble = _Trouble()
    read = _read(files or ["-"], form, tag_column, parser.cleaning)
    sentences = trouble.watch(read, ignore_tags)
    with write_whole(output_file) as out:
        rendered: Iterator[tuple[str, str]]
        if jobs == 1:
            rendered = map(_renderer(parser, output), sentences)
        else:
            del parser
            rendered = _in_processes(work, sentences, jobs)
        # On a terminal the trees themselves show how far it is.
        for text, note in track(rendered, "parsing", quiet=quiet or out.isatty()):
            out.write(text + "\n")
            out.flush()
            if note:
                message(f"eigentree: {note}", quiet=quiet)
    if trouble.found:
        raise typer.Exit(BAD_INPUT)


class Sentence(NamedTuple):
    """A sentence with its place, for messages; what can't be read has no words."""

    place: str
    words: list[str]
    tags: list[str] | None
    readable: bool = True


class _Trouble:
    """Tells of sentences that can't be read, and remembers that there were any."""

    def __init__(self) -> None:
        self.found = False

    def watch(
        self, sentences: Iterable[tuple[str, TaggedSentence]], ignore_tags: bool
    ) -> Iterator[Sentence]:
        for name, (words, tags, line, problem) in sentences:
            if problem is not None:
                self.found = True
                message(f"eigentree: {problem}")
            place, tags = f"{name}:{line}", None if ignore_tags else tags
            yield Sentence(place, words, tags, readable=problem is None)


def _read(
    files: list[str],
    form: InputForm,
    tag_column: Literal["xpos", "upos"],
    cleaning: CleaningOptions,
) -> Iterator[tuple[str, TaggedSentence]]:
    from eigentree.corpus.files import open_text
    from eigentree.corpus.tokens import read_sentences

    for file in files:
        name = "<standard input>" if file == "-" else file
        # A line is a sentence or a part of one, so that a bad one need not end the rest.
        with open_text(file, keep_bad_bytes=True) as lines:
            for sentence in read_sentences(
                lines, form, name=name, on_error="skip", tag_column=tag_column, cleaning=cleaning
            ):
                yield name, sentence


def _open(work: _Work, *, verify: bool = True) -> Parser:
    from eigentree.parsers import Parser

    parser = Parser.load(work.model, verify=verify)
    given = {
        name: value
        for name, value in work._asdict().items()
        if name in ("objective", "threshold", "max_words") and value is not None
    }
    return replace(parser, options=replace(parser.options, **given))


def _renderer(parser: Parser, output: OutputForm) -> Callable[[Sentence], tuple[str, str]]:
    """A function from a sentence to what is printed for it and what is told about it."""
    from eigentree.cli import _models

    root_name = parser.cleaning.root_name

    def render(sentence: Sentence) -> tuple[str, str]:
        result = parser.parse(sentence.words, sentence.tags)
        told = result.fallback if sentence.readable else None
        note = f"{sentence.place}: fall-back: {told}" if told else ""
        if output == "json":
            text = _models.in_json(result, parser.wrapper, root_name, readable=sentence.readable)
        elif output == "drawing":
            text = _models.in_drawing(result)
        else:
            text = _models.in_brackets(result, parser.wrapper, root_name)
        return text, note

    return render


_render_here: Callable[[Sentence], tuple[str, str]]


def _start_worker(work: _Work) -> None:
    global _render_here  # what a worker process is started for
    _render_here = _renderer(_open(work, verify=False), work.output)


def _render_lot(lot: list[Sentence]) -> list[tuple[str, str]]:
    return [_render_here(sentence) for sentence in lot]


def _in_processes(
    work: _Work, sentences: Iterator[Sentence], jobs: int
) -> Iterator[tuple[str, str]]:
    """Render sentences in worker processes, in order, a bounded number of them at a time."""
    waiting: deque[Future[list[tuple[str, str]]]] = deque()
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(work,)
    )
    try:
        for first in sentences:
            lot = [first, *islice(sentences, _LOT - 1)]
            waiting.append(pool.submit(_render_lot, lot))
            if len(waiting) > jobs * _LOTS_AHEAD:
                yield from waiting.popleft().result()
        yield from chain.from_iterable(future.result() for future in waiting)
    except BrokenProcessPool as error:
        raise WorkFailedError(
            "a worker process ended, perhaps for want of memory; use fewer --jobs"
        ) from error
    finally:
        # Nobody waits for the rest once the output has been closed or a sentence has failed.
        pool.shutdown(cancel_futures=True)
