"""The command ``surprisal``: sentences in, a table of their words out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TextIO

import typer

from eigentree.cli._common import message
from eigentree.cli._files import check_inputs, check_output
from eigentree.cli._options import (
    JobsOption,
    OutputOption,
    QuietOption,
    SentencesArgument,
    TagColumn,
    TagColumnOption,
    TokeniserOption,
    WrappedOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._parsing import (
    InputErrors,
    InputSentence,
    Product,
    Rendered,
    Sink,
    format_of_input,
    model_path,
    read_input,
    reported,
    run_parse,
    splitting_of,
    write_at_once,
)
from eigentree.data.catalogue import CONSTITUENTS
from eigentree.errors import EigentreeError, SettingsError

if TYPE_CHECKING:
    from eigentree.constituency.chart.prefix import Surprisal
    from eigentree.constituency.parser import ConstituencyParser

InputFormat = Literal["auto", "raw", "tokens", "tagged", "conllu", "trees"]
COLUMNS = (
    "sentence",
    "position",
    "word",
    "surprisal_bits",
    "surprisal_nats",
    "log_prefix",
    "entry",
)
# Time is cubic in the length: seconds for this many words, a minute or two for twice as many.
MAX_WORDS = 200


def surprisal(
    files: SentencesArgument = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A model file, or the name of a bundled model; not an ensemble.",
            show_default=CONSTITUENTS,
        ),
    ] = None,
    input_format: Annotated[
        InputFormat,
        typer.Option(
            "--input-format",
            help="Format of the input. raw: text. tokens, tagged (word_TAG): one sentence per "
            "line. conllu: CoNLL-U. trees: the words and tags of trees, in brackets, NEGRA export "
            "or TIGER-XML. auto: trees and CoNLL-U by content, otherwise raw.",
        ),
    ] = "auto",
    wrapped: WrappedOption = False,
    tokeniser: TokeniserOption = None,
    use_tags: Annotated[
        bool,
        typer.Option("--use-tags", help="Condition on the tags of the input, not on words alone."),
    ] = False,
    tag_column: TagColumnOption = "xpos",
    max_words: Annotated[
        int,
        typer.Option(
            min=1, help="Skip longer sentences, with a warning; time is cubic in the length."
        ),
    ] = MAX_WORDS,
    output_file: OutputOption = "-",
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Compute the surprisal of each word of a sentence, given the words before it.

    The output is a tab-separated table with a header.  Each word has a row, in order, and the end
    of each sentence has one without a word.  A word that can't follow has the surprisal inf, and
    all later ones nan.  An empty, unreadable or too long sentence has a number but no rows;
    unreadable and too long ones are reported, and the exit code is 2.
    """
    model = model_path(model, CONSTITUENTS)
    if use_tags and input_format in ("raw", "tokens"):
        raise SettingsError(f"--use-tags requires input with tags; {input_format} has none")
    check_inputs(files or [])
    check_output(output_file, [model, *(files or [])])
    input_format = format_of_input(input_format, tokeniser, wrapped=wrapped)
    product = _Surprisals(
        model, input_format, wrapped, tokeniser, use_tags, tag_column, max_words, quiet
    )
    run_parse(product, files, output_file=output_file, jobs=jobs, quiet=quiet)


@dataclass(frozen=True)
class _Surprisals(Product["ConstituencyParser"]):
    """How surprisals are computed and printed."""

    doing: ClassVar[str] = "summing"
    per_process: ClassVar[int] = 8

    model: str
    input_format: InputFormat
    wrapped: bool
    tokeniser: str | None
    use_tags: bool
    tag_column: TagColumn
    max_words: int
    quiet: bool

    def open(self, *, verify: bool = True) -> ConstituencyParser:
        from eigentree.constituency.parser import ConstituencyParser

        return ConstituencyParser.load(self.model, verify=verify)

    def read(
        self, parser: ConstituencyParser, files: list[str], errors: InputErrors
    ) -> Iterator[InputSentence]:
        compile_kernels("prefixes", quiet=self.quiet)
        if not parser.latent_surprisal:
            message(
                "eigentree: the tables of the model's latent states would need more than 2 GiB, so "
                "surprisals are those of its plain grammar",
                quiet=self.quiet,
            )
        elif parser.grammar.signed:
            message(
                "eigentree: the model has signed values: surprisals are estimates, and nan where a "
                "value is negative",
                quiet=self.quiet,
            )
        sentences = read_input(
            files,
            self.input_format,
            tag_column=self.tag_column,
            cleaning=parser.cleaning,
            splitting=splitting_of(parser, self.input_format, self.tokeniser, wrapped=self.wrapped),
            ignore_tags=not self.use_tags,
            otherwise="raw",
            remark=errors.remark,
        )
        return reported(sentences, errors)

    def render(self, parser: ConstituencyParser, batch: list[InputSentence]) -> Iterator[Rendered]:
        for sentence in batch:
            place, words = sentence.place, sentence.words
            if not words:
                yield Rendered("")
                continue
            if self.use_tags and sentence.tags is None:
                problem = f"{place}: the sentence has no tags; --use-tags requires them"
                yield Rendered("", problem, failed=True)
                continue
            if len(words) > self.max_words:
                note = (
                    f"{place}: skipped, since it has {len(words)} words; the maximum is "
                    f"{self.max_words}, see --max-words"
                )
                yield Rendered("", note, failed=True)
                continue
            try:
                result = parser.surprisal(words, sentence.tags)
            except EigentreeError as error:
                yield Rendered("", f"{place}: {error}", failed=True)
                continue
            remark = _remark(words, result)
            rows = "".join(_rows(sentence.number, result))
            yield Rendered(rows, f"{place}: {remark}" if remark else "")

    def sink(self, parser: ConstituencyParser) -> Sink:  # noqa: ARG002 - the same for all parsers
        return _with_header


@contextmanager
def _with_header(out: TextIO) -> Iterator[Callable[[Rendered], None]]:
    out.write("\t".join(COLUMNS) + "\n")
    with write_at_once(out) as write:
        yield write


def _remark(words: list[str], result: Surprisal) -> str:
    """Where a sentence becomes impossible, if it does."""
    logs = result.log_prefix.tolist()
    if logs[-1] == float("-inf"):
        position = logs.index(float("-inf"))
        return f"word {position} ({words[position - 1]}) can't follow"
    return "the sentence can't end here" if result.log_value == float("-inf") else ""


def _rows(number: int, result: Surprisal) -> Iterator[str]:
    logs = [*result.log_prefix[1:].tolist(), result.log_value]
    for position, (word, entry, nats, bits, log) in enumerate(
        zip(
            [*result.words, ""],
            [*result.entries, ""],
            result.nats.tolist(),
            result.bits.tolist(),
            logs,
            strict=True,
        ),
        start=1,
    ):
        yield f"{number}\t{position}\t{word}\t{bits:.6f}\t{nats:.6f}\t{log:.6f}\t{entry}\n"
