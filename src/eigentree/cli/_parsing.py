"""How every product parses from the command line: read, parse in order, write, report.

A product gives an adapter, a `Product`: how its model is opened, which sentences are in the input,
and what is printed for a parse.  `run_parse` owns the rest, which is the same for all: files and
standard input, worker processes, order, progress, messages and exit codes.
"""

from __future__ import annotations

import select
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TextIO, TypeVar

import typer

from eigentree._core.batching import BATCH, batches, map_batches
from eigentree._core.json_text import json_line
from eigentree.cli._common import BAD_INPUT, message, notice, track
from eigentree.cli._files import note_waiting
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.sentence_input import Offsets
    from eigentree.tokenisation.reader import ReadText
    from eigentree.tokenisation.scheme import TokenisationScheme
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.constraints import Constraints
    from eigentree.treebank.io.conllu import Sentence
    from eigentree.treebank.io.sentences import Tag
    from eigentree.treebank.io.text_files import Problem

AnyParser = TypeVar("AnyParser")
AnyFormat = TypeVar("AnyFormat", bound=str)
InputFormat = Literal[
    "auto", "raw", "tokens", "tagged", "conllu", "trees", "bracketed", "half-trees", "json"
]  # fmt: skip

# Formats with a sentence in each line.
_LINE_FORMATS = ("tokens", "tagged", "bracketed", "half-trees", "json")


class InputSentence(NamedTuple):
    """A sentence of the input with its number and place; an unreadable one has no words.

    Attributes
    ----------
    number
        From 1 on, over all files.
    place
        File and line, for messages.
    words
        Empty for an empty or an unreadable sentence.
    tags
        None where the input has none, or they are to be ignored.
    problem
        Why the sentence can't be read; None for one that can.
    constraints
        What the tree must and must not have.
    refused
        Why its constraints can't be used.
    line, offsets, text
        Where the words of raw text are, and the text that the offsets are in.
    source
        Its columns, in CoNLL-U.
    comments
        After the last sentence of a CoNLL-U file; what has them is no sentence.
    """

    number: int
    place: str
    words: list[str]
    tags: Sequence[Tag] | None
    problem: str | None = None
    constraints: Constraints | None = None
    refused: str | None = None
    line: int | None = None
    offsets: Offsets | None = None
    text: str | None = None
    source: Sentence | None = None
    comments: tuple[str, ...] = ()


class Rendered(NamedTuple):
    """What is written for a sentence, and what is reported about it.

    Attributes
    ----------
    text
        With its line ends.
    note
        Reported on standard error; empty for nothing.
    failed
        Whether the note is an error, so that the exit code is 2.
    details
        What else the product writes of it.
    """

    text: str
    note: str = ""
    failed: bool = False
    details: Any = None


class InputErrors:
    """Reports errors in the input, and remembers that there were any.

    Parameters
    ----------
    quiet
        Print no remarks.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.found = False
        self._quiet = quiet

    def report(self, problem: str) -> None:
        """Print an error, which makes the exit code 2."""
        self.found = True
        notice(problem)

    def remark(self, remark: object) -> None:
        """Print a remark on the input, which is no error, unless quiet."""
        if not self._quiet:
            notice(remark)

    def leave(self) -> None:
        """End the command with exit code 2 if anything was reported."""
        if self.found:
            raise typer.Exit(BAD_INPUT)


class DelayedErrors(InputErrors):
    """Errors and remarks of sentences that are read ahead, reported when these are written.

    So messages are in the order of the sentences, whatever the number of processes.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._new: list[Callable[[], object]] = []
        self._waiting: deque[list[Callable[[], object]]] = deque()

    def report(self, problem: str) -> None:
        """Keep an error for the next sentence that `following` gives."""
        self._new.append(partial(super().report, problem))

    def remark(self, remark: object) -> None:
        """Keep a remark likewise."""
        self._new.append(partial(super().remark, remark))

    def following(self, sentences: Iterable[InputSentence]) -> Iterator[InputSentence]:
        """The sentences, each with the errors that were found before it is given."""
        for sentence in sentences:
            self._waiting.append(self._new)
            self._new = []
            yield sentence

    def report_next(self) -> None:
        """Report the errors of the next sentence."""
        for report in self._waiting.popleft():
            report()

    def leave(self) -> None:
        """Report the errors that are left, and end with exit code 2 if there were any."""
        for report in self._new:
            report()
        super().leave()


Remark = Callable[[object], object]
# Gets lines, what messages call them, and the numbers of sentences.
ConlluReader = Callable[[Iterable[str], str, Iterator[int]], Iterator[InputSentence]]
Sink = Callable[[TextIO], AbstractContextManager[Callable[[Rendered], None]]]


@contextmanager
def write_at_once(out: TextIO) -> Iterator[Callable[[Rendered], None]]:
    """Write each sentence as soon as it is parsed."""

    def write(rendered: Rendered) -> None:
        out.write(rendered.text)
        out.flush()

    yield write


class Product(ABC, Generic[AnyParser]):
    """What a product gives to `run_parse`; worker processes get a copy of it.

    Attributes
    ----------
    doing
        What progress calls the work.
    per_process
        Sentences that a worker process gets at a time.
    input_format
        The format of the input.
    """

    doing: ClassVar[str] = "parsing"
    per_process: ClassVar[int] = BATCH
    input_format: str

    @abstractmethod
    def open(self, *, verify: bool = True) -> AnyParser:
        """The parser, with the options of the command line."""

    @abstractmethod
    def read(
        self, parser: AnyParser, files: list[str], errors: InputErrors
    ) -> Iterator[InputSentence]:
        """Check what depends on the parser, then give the sentences of the files."""

    @abstractmethod
    def render(self, parser: AnyParser, batch: list[InputSentence]) -> Iterator[Rendered]:
        """Parse sentences, and give what to write for each."""

    def batch_size(self, parser: AnyParser) -> int:  # noqa: ARG002 - some parsers know better
        """How many sentences at a time are parsed fastest."""
        return 1

    def sink(self, parser: AnyParser) -> Sink:  # noqa: ARG002 - some tables depend on it
        """How what was rendered is written."""
        return write_at_once

    def waits(self, files: list[str]) -> bool:
        """Whether to wait until a batch is full; standard input may be someone typing."""
        return "-" not in files


def run_parse(
    product: Product[AnyParser],
    files: list[str] | None,
    *,
    output_file: str,
    jobs: int,
    quiet: bool,
) -> None:
    """Parse the sentences of files, in order, and end with the exit code that fits.

    Parameters
    ----------
    product
        How to open, read and render.
    files
        Where the sentences are; ``-`` or none for standard input.
    output_file
        Where the output goes; ``-`` for standard output.
    jobs
        Number of processes; the output is the same.
    quiet
        Report errors only.

    Raises
    ------
    typer.Exit
        With 2, after all other sentences, when one couldn't be read or used.
    """
    from eigentree.treebank.io.text_files import write_whole

    inputs = files or ["-"]
    note_waiting(inputs, quiet=quiet)
    # Opened here in any case, so that a bad model is reported before any worker starts.
    parser = product.open()
    errors = DelayedErrors(quiet=quiet)
    sentences = errors.following(product.read(parser, inputs, errors))
    size, sink = product.batch_size(parser), product.sink(parser)
    rendered: Iterator[Rendered]
    if jobs == 1:
        # A batch that is too small costs time, and one that is not there yet may never be.
        waits = product.waits(inputs)
        ready = batches(sentences, size, lambda: waits or _more_to_read())
        rendered = chain.from_iterable(map(partial(product.render, parser), ready))
    else:
        del parser
        full = batches(sentences, max(product.per_process, size))
        rendered = map_batches(_begin, product, full, jobs)
    with write_whole(output_file) as out, sink(out) as write:
        # On a terminal the trees themselves show the progress.
        hidden = quiet or out.isatty()
        total = None if hidden else count_sentences(inputs, product.input_format)
        for each in track(rendered, product.doing, total, quiet=hidden):
            write(each)
            errors.report_next()
            if each.failed:
                InputErrors.report(errors, each.note)
            elif each.note:
                message(f"eigentree: {each.note}", quiet=quiet)
    errors.leave()


def _more_to_read() -> bool:
    """Whether standard input is ready to be read, its end included; True if that is unknown."""
    try:
        return bool(select.select([sys.stdin.fileno()], [], [], 0)[0])
    except (AttributeError, OSError, ValueError):
        return True


def _begin(product: Product[Any]) -> Callable[[list[InputSentence]], Iterator[Rendered]]:
    return partial(product.render, product.open(verify=False))


# Models -----------------------------------------------------------------------------------


def model_path(given: str | None, usual: str) -> str:
    """The path of the model that an option names, or of a bundled one.

    Raises
    ------
    SettingsError
        When the name is empty.
    """
    from eigentree.data.catalogue import bundled_path, resolve_model

    if given == "":
        raise SettingsError("--model is empty; name a model file, or omit the option")
    return str(bundled_path(usual) if given is None else resolve_model(given))


def model_files(model: str) -> list[str]:
    """The file of a model, or all files of an ensemble."""
    from eigentree.model_file import ENSEMBLE_INDEX

    folder = Path(model)
    if not (folder / ENSEMBLE_INDEX).is_file():
        return [model]
    return [str(path) for path in folder.rglob("*.egt")]


def open_parser(model: str) -> ConstituencyParser | EnsembleParser:
    """The constituency parser of a model file, or of the folder of an ensemble."""
    if Path(model).is_dir():
        from eigentree.constituency.ensemble.parser import EnsembleParser

        return EnsembleParser.load(model)
    from eigentree.constituency.parser import ConstituencyParser

    return ConstituencyParser.load(model)


# Reading ----------------------------------------------------------------------------------


class Splitting(NamedTuple):
    """How raw text is split into sentences and words."""

    scheme: TokenisationScheme
    wrapped: bool


def format_of_input(
    input_format: AnyFormat, tokeniser: str | None, *, wrapped: bool
) -> AnyFormat | Literal["raw"]:
    """The format of ``--input-format``, where an option for raw text decides against ``auto``."""
    return "raw" if input_format == "auto" and (wrapped or tokeniser is not None) else input_format


def splitting_of(
    parser: Any, input_format: str, tokeniser: str | None, *, wrapped: bool
) -> Splitting | None:
    """The parser's scheme, or the one of ``--tokeniser``; None for words that are given.

    Raises
    ------
    SettingsError
        When an option for raw text is given with another format.
    """
    from eigentree.tokenisation.words import tokenise

    if input_format not in ("auto", "raw"):
        option = "--wrapped" if wrapped else "--tokeniser"
        if wrapped or tokeniser is not None:
            raise SettingsError(f"{option} is for raw text, but --input-format is {input_format}")
        return None
    scheme = parser.tokenisation
    if tokeniser is not None:
        scheme = scheme.with_mode(tokeniser)
        tokenise("", scheme)  # a missing spaCy is reported at once
    return Splitting(scheme, wrapped)


def read_input(
    files: list[str],
    input_format: InputFormat,
    *,
    tag_column: Literal["xpos", "upos"] = "xpos",
    cleaning: CleaningOptions | None = None,
    labels: Collection[str] = (),
    splitting: Splitting | None = None,
    ignore_tags: bool = False,
    otherwise: InputFormat = "tokens",
    remark: Remark = notice,
    conllu: ConlluReader | None = None,
) -> Iterator[InputSentence]:
    """The sentences of files in order, unreadable ones without words; see `reported`.

    Parameters
    ----------
    files
        ``-`` for standard input.
    input_format
        The format of all files; ``"auto"`` recognises trees and CoNLL-U in each file.
    tag_column
        The column of CoNLL-U that holds the tags.
    cleaning
        How trees are cleaned.
    labels
        Labels of phrases that may be attached to square brackets, or tags that may have weights.
    splitting
        How raw text is split; needed for that format.
    ignore_tags
        Give no tags.
    otherwise
        What ``"auto"`` is for a file without trees.
    remark
        Called with the formats that were recognised, and other remarks.
    conllu
        Reads CoNLL-U for a parser of dependencies, which can't use constituency trees.
    """
    from eigentree.treebank.io.text_files import displayed_name, open_text

    numbers = count(1)
    for file in files:
        name = displayed_name(file)
        # A line is a sentence or part of one, so the rest can be read after a bad one.
        with open_text(file, keep_bad_bytes=True, notice=remark) as lines:
            form, problem = input_format, None
            text: Iterable[str] = lines
            if input_format == "auto":
                form, text, problem = _recognised(
                    lines, name, otherwise, remark, dependencies=conllu is not None
                )
            if problem is not None:
                place = f"{name}:{problem.line}"
                yield InputSentence(next(numbers), place, [], None, str(problem))
            elif form == "raw":
                assert splitting is not None
                yield from _read_raw(text, name, numbers, splitting, remark)
            elif form == "conllu" and conllu is not None:
                yield from conllu(text, name, numbers)
            else:
                yield from _read_sentences(
                    text, name, numbers, form, tag_column, cleaning, labels, ignore_tags
                )


def _read_raw(
    lines: Iterable[str], name: str, numbers: Iterator[int], splitting: Splitting, remark: Remark
) -> Iterator[InputSentence]:
    from eigentree.tokenisation.reader import read_text

    scheme, wrapped = splitting
    for each in read_text(_text_lines(lines, name, remark), scheme, name=name, wrapped=wrapped):
        yield _of_text(next(numbers), name, each)


def _read_sentences(
    lines: Iterable[str],
    name: str,
    numbers: Iterator[int],
    form: InputFormat,
    tag_column: Literal["xpos", "upos"],
    cleaning: CleaningOptions | None,
    labels: Collection[str],
    ignore_tags: bool,
) -> Iterator[InputSentence]:
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.io.sentences import read_sentences

    assert form != "auto"
    assert form != "raw"
    for each in read_sentences(
        lines, form, name=name, on_error="skip", tag_column=tag_column,
        cleaning=cleaning or CleaningOptions(), labels=labels,
    ):  # fmt: skip
        yield InputSentence(
            next(numbers),
            f"{name}:{each.line}",
            each.words,
            None if ignore_tags else each.tags,
            None if each.problem is None else str(each.problem),
            each.constraints,
        )


def json_result(record: Mapping[str, Any], problem: str | None) -> str:
    """A result as a line of JSON without its end, of an unreadable sentence with the problem."""
    if problem is not None:
        record = {**record, "fallback": "unreadable", "problem": problem}
    return json_line(record)


def count_sentences(files: Iterable[str], input_format: str) -> int | None:
    """The number of sentences in files, where it can be counted at once: by lines of plain files.

    Malformed sentences may count too; it is for progress only.
    """
    from eigentree.treebank.io.recognition import recognise
    from eigentree.treebank.io.text_files import is_plain_text

    if input_format not in (*_LINE_FORMATS, "auto", "conllu"):
        return None
    total = 0
    for file in files:
        if not is_plain_text(file):
            return None
        with Path(file).open(encoding="latin-1") as lines:
            found = recognise(lines) if input_format == "auto" else None
            form = input_format if found is None else found.format
            if form not in (*_LINE_FORMATS, "conllu"):
                return None
            rows = lines if found is None else found.lines
            total += sum(form != "conllu" or line.startswith("1\t") for line in rows)
    return total


def reported(sentences: Iterable[InputSentence], errors: InputErrors) -> Iterator[InputSentence]:
    """All sentences, with a report of each that can't be read."""
    for sentence in sentences:
        if sentence.problem is not None:
            errors.report(sentence.problem)
        yield sentence


def _of_text(number: int, name: str, read: ReadText) -> InputSentence:
    words, offsets = [], None
    if read.sentence is not None:
        words, offsets = read.sentence.words, read.sentence.offsets
    problem = None if read.problem is None else str(read.problem)
    place = f"{name}:{read.line}"
    return InputSentence(
        number, place, words, None, problem, line=read.line, offsets=offsets, text=read.text
    )


def _text_lines(lines: Iterable[str], name: str, remark: Remark) -> Iterable[str]:
    """Lines of raw text, with a warning where they look like trees."""
    from eigentree.treebank.io.recognition import format_name, recognise_trees_in_text

    found = recognise_trees_in_text(lines)
    if found.format is not None or found.root:
        seen = format_name(found.format or "xml")
        remark(f"{name} looks like {seen}, but is read as raw text; see --input-format")
    return found.lines


def _recognised(
    lines: Iterable[str],
    name: str,
    otherwise: InputFormat,
    remark: Remark,
    *,
    dependencies: bool = False,
) -> tuple[InputFormat, Iterable[str], Problem | None]:
    """The format of a text by its content, the whole text, and what is wrong with its format.

    Parameters
    ----------
    lines
        As they are.
    name
        What messages call the text.
    otherwise
        The format of a text that holds no trees.
    remark
        Called with the format.
    dependencies
        Whether constituency trees can't be used.
    """
    from eigentree.treebank.io.recognition import (
        format_name,
        name_of_xml,
        recognise_trees_in_text,
        wrong_kind,
    )
    from eigentree.treebank.io.text_files import Problem

    found = recognise_trees_in_text(lines)
    if found.format is None:
        return otherwise, found.lines, None
    if found.format == "xml":
        what = f"{name_of_xml(found)} is no format of the input; extract its text, or give "
        what += f"--input-format {otherwise} to use it unchanged"
        return otherwise, (), Problem(name, found.line, 1, what, "")
    problem = wrong_kind(found, "dependencies", name) if dependencies else None
    if problem is not None:
        return otherwise, (), problem
    remark(f"{name}: recognised as {format_name(found.format)}")
    return "conllu" if found.format == "conllu" else "trees", found.lines, None
