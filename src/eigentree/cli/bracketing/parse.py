"""The command ``induce parse``: tagged sentences in, brackets out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from eigentree.cli._files import check_inputs, check_output
from eigentree.cli._options import (
    JobsOption,
    OutputOption,
    QuietOption,
    SentencesArgument,
    TagColumn,
    TagColumnOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._parsing import (
    InputErrors,
    InputSentence,
    Product,
    Rendered,
    reported,
    run_parse,
)
from eigentree.cli._training import changed
from eigentree.cli.bracketing._input import (
    InputFormat,
    InputFormatOption,
    RootSplitOption,
    problem_without_tags,
    read_tagged,
    tags_of,
)
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.bracketing.parser import BracketingParser


def parse(
    files: SentencesArgument = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="A model file written by induce train."
        ),
    ] = "",
    input_format: InputFormatOption = "auto",
    tag_column: TagColumnOption = "xpos",
    top: RootSplitOption = None,
    max_words: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Split longer sentences and parse the parts.",
            show_default="as in the model, 120",
        ),
    ] = None,
    output_file: OutputOption = "-",
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Bracket tagged sentences.

    Each sentence gives one tree, in order.  A sentence that is unreadable or has no tags gives an
    empty line and a message; the rest is parsed, and the exit code is 2.
    """
    if not model:
        raise SettingsError("no model given; name one, written by eigentree induce train, with -m")
    check_inputs(files or [])
    check_output(output_file, [model, *(files or [])])
    product = _Bracketing(model, input_format, tag_column, top, max_words, quiet)
    run_parse(product, files, output_file=output_file, jobs=jobs, quiet=quiet)


@dataclass(frozen=True)
class _Bracketing(Product["BracketingParser"]):
    """How a bracketing parser parses and prints."""

    per_process: ClassVar[int] = 64

    model: str
    input_format: InputFormat
    tag_column: TagColumn
    top: Literal["verbs", "free"] | None
    max_words: int | None
    quiet: bool

    def open(self, *, verify: bool = True) -> BracketingParser:
        from eigentree.bracketing.parser import BracketingParser

        parser = BracketingParser.load(self.model, verify=verify)
        options = changed(parser.options, top=self.top, max_words=self.max_words)
        return replace(parser, options=options)

    def read(
        self, parser: BracketingParser, files: list[str], errors: InputErrors
    ) -> Iterator[InputSentence]:
        from eigentree.bracketing.models import MetricModel

        if isinstance(parser.model, MetricModel):
            compile_kernels("bracketing", quiet=self.quiet)
        sentences = read_tagged(files, self.input_format, self.tag_column, errors.remark)
        return reported(sentences, errors)

    def render(self, parser: BracketingParser, batch: list[InputSentence]) -> Iterator[Rendered]:
        from eigentree.treebank.io.brackets import format_tree

        for sentence in batch:
            problem = problem_without_tags(sentence)
            if problem is not None:
                yield Rendered("\n", problem, failed=True)
                continue
            result = parser.parse(sentence.words, tags_of(sentence))
            fallback = result.fallback if sentence.problem is None else None
            note = f"{sentence.place}: fall-back: {fallback}" if fallback else ""
            yield Rendered("\n" if result.tree is None else format_tree(result.tree) + "\n", note)
