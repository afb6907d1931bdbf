"""The command ``dependencies parse``: sentences in, dependency trees out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._files import check_inputs, check_output
from eigentree.cli._options import (
    IgnoreTagsOption,
    JobsOption,
    OutputOption,
    QuietOption,
    SentencesArgument,
    TokeniserOption,
    WrappedOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._parsing import (
    InputErrors,
    InputSentence,
    Product,
    Rendered,
    format_of_input,
    json_result,
    model_path,
    read_input,
    reported,
    run_parse,
    splitting_of,
)
from eigentree.cli._training import changed
from eigentree.data.catalogue import DEPENDENCIES, displayed_model
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.dependency.parser import DependencyParser
    from eigentree.treebank.io.conllu import Sentence

InputFormat = Literal["auto", "raw", "tokens", "tagged", "conllu"]
OutputFormat = Literal["conllu", "json"]
Objective = Literal["sum", "product", "viterbi"]


def parse(
    files: SentencesArgument = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A model file, or the name of a bundled model.",
            show_default=DEPENDENCIES,
        ),
    ] = None,
    input_format: Annotated[
        InputFormat,
        typer.Option(
            "--input-format",
            help="Format of the input. raw: text. tokens, tagged (word_TAG): one sentence per "
            "line. conllu: CoNLL-U. auto: CoNLL-U by content, otherwise raw.",
        ),
    ] = "auto",
    wrapped: WrappedOption = False,
    tokeniser: TokeniserOption = None,
    output_format: Annotated[
        OutputFormat,
        typer.Option("--output-format", help="CoNLL-U, or one JSON object per line."),
    ] = "conllu",
    output_file: OutputOption = "-",
    ignore_tags: IgnoreTagsOption = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write Confidence=... into the column MISC.")
    ] = False,
    objective: Annotated[
        Objective | None,
        typer.Option(help="What the decoder maximises.", show_default="as in the model"),
    ] = None,
    several_roots: Annotated[
        bool, typer.Option("--several-roots", help="Allow several roots in a tree.")
    ] = False,
    max_words: Annotated[
        int | None,
        typer.Option(min=1, help="Split longer sentences and parse the parts.", show_default="400"),
    ] = None,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Parse sentences with a dependency model.

    CoNLL-U input keeps everything but heads, relations and enhanced graphs.  Unreadable sentences
    are reported; all others are written, in order, and the exit code is 2.  An empty sentence
    gives nothing in CoNLL-U, but an object in JSON.
    """
    model = model_path(model, DEPENDENCIES)
    inputs = files or ["-"]
    check_inputs(inputs)
    check_output(output_file, [model, *inputs])
    input_format = format_of_input(input_format, tokeniser, wrapped=wrapped)
    product = _Dependencies(
        model, input_format, wrapped, tokeniser, output_format, ignore_tags, confidence, objective,
        several_roots, max_words, quiet,
    )  # fmt: skip
    run_parse(product, files, output_file=output_file, jobs=jobs, quiet=quiet)


@dataclass(frozen=True)
class _Dependencies(Product["DependencyParser"]):
    """How a dependency parser parses and prints."""

    model: str
    input_format: InputFormat
    wrapped: bool
    tokeniser: str | None
    output_format: OutputFormat
    ignore_tags: bool
    confidence: bool
    objective: Objective | None
    several_roots: bool
    max_words: int | None
    quiet: bool

    def open(self, *, verify: bool = True) -> DependencyParser:
        from eigentree.dependency.parser import DependencyParser

        parser = DependencyParser.load(self.model, verify=verify)
        options = changed(
            parser.options,
            objective=self.objective,
            several_roots=self.several_roots or None,
            max_words=self.max_words,
        )
        return parser if options == parser.options else replace(parser, options=options)

    def read(
        self, parser: DependencyParser, files: list[str], errors: InputErrors
    ) -> Iterator[InputSentence]:
        if parser.tagger is None and (self.ignore_tags or self.input_format in ("raw", "tokens")):
            raise SettingsError(
                f"{displayed_model(self.model)} has no tagger; give tags with --input-format "
                "tagged or conllu"
            )
        splitting = splitting_of(parser, self.input_format, self.tokeniser, wrapped=self.wrapped)
        compile_kernels("dependencies", quiet=self.quiet)
        sentences = read_input(
            files, self.input_format, splitting=splitting, ignore_tags=self.ignore_tags,
            otherwise="raw", remark=errors.remark, conllu=partial(self._read_conllu, parser),
        )  # fmt: skip
        return reported(_tagged(map(_with_columns, sentences), parser), errors)

    def _read_conllu(
        self, parser: DependencyParser, lines: Iterable[str], name: str, numbers: Iterator[int]
    ) -> Iterator[InputSentence]:
        from eigentree.treebank.io.conllu import read_conllu
        from eigentree.treebank.tag_schemes import tags_of

        comments: list[str] = []
        for record in read_conllu(
            lines, name=name, on_error="skip", heads="ignore", at_end=comments.extend
        ):
            number, place, sentence = next(numbers), f"{name}:{record.line}", record.sentence
            if sentence is None:
                yield InputSentence(number, place, [], None, str(record.problem))
                continue
            ignored = self.ignore_tags or _lacks_tags(sentence, parser)
            tags = None if ignored else tags_of(sentence, parser.tag_scheme)
            yield InputSentence(number, place, sentence.forms(), tags, source=sentence)
        if comments:
            yield InputSentence(0, name, [], None, comments=tuple(comments))

    def render(self, parser: DependencyParser, batch: list[InputSentence]) -> Iterator[Rendered]:
        from eigentree.dependency.result import with_tree
        from eigentree.treebank.io.conllu import format_sentence
        from eigentree.treebank.tag_schemes import parts_of_scheme

        column, _ = parts_of_scheme(parser.tag_scheme)
        for sentence in batch:
            if sentence.comments:
                lines = "".join(f"{comment}\n" for comment in sentence.comments)
                yield Rendered(lines if self.output_format == "conllu" else "")
                continue
            # None of these formats has weights of tags.
            tags = None if sentence.tags is None else list(map(str, sentence.tags))
            result = parser.parse(sentence.words, tags)
            fallback = result.fallback if sentence.problem is None else None
            note = f"{sentence.place}: fall-back: {fallback}" if fallback else ""
            text = ""
            if self.output_format == "json":
                where = {}
                if sentence.line is not None:
                    where = {"line": sentence.line, "offsets": sentence.offsets}
                text = json_result(result.to_dict(where), sentence.problem) + "\n"
            elif sentence.source is not None and result.words:
                text = format_sentence(
                    with_tree(sentence.source, result, column, confidence=self.confidence)
                )
            yield Rendered(text, note)


def _with_columns(sentence: InputSentence) -> InputSentence:
    """A sentence with the columns that CoNLL-U prints."""
    from eigentree.treebank.io.conllu import new_sentence

    if sentence.source is not None:  # from CoNLL-U
        return sentence
    number = str(sentence.number)
    if sentence.line is None:
        return sentence._replace(source=new_sentence(sentence.words, sent_id=number))
    if sentence.offsets is None:  # of an empty or an unreadable line
        return sentence
    source = new_sentence(sentence.words, sentence.offsets, sentence.text, sent_id=number)
    return sentence._replace(source=source)


def _tagged(
    sentences: Iterable[InputSentence], parser: DependencyParser
) -> Iterator[InputSentence]:
    """Sentences, where one without tags is unreadable for a model without a tagger."""
    for sentence in sentences:
        if sentence.words and sentence.tags is None and parser.tagger is None:
            problem = (
                f"{sentence.place}: no tags by {parser.tag_scheme}, and the model has no tagger"
            )
            yield InputSentence(sentence.number, sentence.place, [], None, problem)
        else:
            yield sentence


def _lacks_tags(sentence: Sentence, parser: DependencyParser) -> bool:
    """Whether no word has a tag, or none a feature although the model uses some."""
    from eigentree.treebank.io.conllu import EMPTY
    from eigentree.treebank.tag_schemes import parts_of_scheme

    column, features = parts_of_scheme(parser.tag_scheme)
    if set(sentence.tags(column)) == {EMPTY}:
        return True
    if not features or parser.tagger is None:
        return False
    return all(word.feats == EMPTY for word in sentence.words)
