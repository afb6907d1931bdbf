"""The command ``parse``: sentences in, trees out, in order, one for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TextIO

import typer

from eigentree.cli._common import message
from eigentree.cli._files import check_inputs, check_output
from eigentree.cli._options import (
    IgnoreTagsOption,
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
    InputFormat,
    InputSentence,
    Product,
    Rendered,
    Sink,
    format_of_input,
    model_files,
    model_path,
    read_input,
    reported,
    run_parse,
    splitting_of,
)
from eigentree.cli._training import changed
from eigentree.cli.constituency._constraints import known_names, with_constraints
from eigentree.data.catalogue import CONSTITUENTS, displayed_model
from eigentree.errors import SettingsError, TreebankFormatError

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.constituency.result import ParseResult

# A marginal this close to 0 or 1 is a rounded one, not one of a signed grammar's values.
_ROUNDING = 1e-9

OutputFormat = Literal["brackets", "json", "drawing", "export", "tiger"]
Objective = Literal["rules", "spans", "brackets", "max-rule", "viterbi", "free"]
Order = Literal["objective", "value"]


def parse(
    files: SentencesArgument = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A model file, the folder of an ensemble, or the name of a bundled model.",
            show_default=CONSTITUENTS,
        ),
    ] = None,
    input_format: Annotated[
        InputFormat,
        typer.Option(
            "--input-format",
            help="Format of the input. raw: text. tokens, tagged (word_TAG): one sentence per "
            "line. conllu: CoNLL-U. trees: the words and tags of trees, in brackets, NEGRA export "
            "or TIGER-XML. bracketed: sentences with some phrases in square brackets; half-trees: "
            "trees that lack some brackets; both one per line, and the brackets are kept in the "
            "parse. json: one object per line with words and optional tags, weights of tags and "
            "constraints. auto: trees and CoNLL-U by content, otherwise raw.",
        ),
    ] = "auto",
    wrapped: WrappedOption = False,
    tokeniser: TokeniserOption = None,
    constraints: Annotated[
        str | None,
        typer.Option(
            "--constraints",
            metavar="FILE",
            help="What each tree must and must not have, one line of JSON per sentence.",
        ),
    ] = None,
    soft: Annotated[
        bool,
        typer.Option(
            "--soft",
            help="Where the constraints of a sentence conflict, drop only the later ones; this is "
            "not an error.",
        ),
    ] = False,
    ignore_tags: IgnoreTagsOption = False,
    tag_column: TagColumnOption = "xpos",
    output_format: Annotated[
        OutputFormat,
        typer.Option(
            "--output-format",
            help="Format of the output. export: NEGRA export. tiger: TIGER-XML.",
        ),
    ] = "brackets",
    objective: Annotated[
        Objective | None,
        typer.Option(help="What the decoder maximises.", show_default="as in the model"),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Pruning threshold.", show_default="as in the model")
    ] = None,
    max_words: Annotated[
        int | None,
        typer.Option(help="Split longer sentences and parse the parts.", show_default="400"),
    ] = None,
    kbest: Annotated[
        int | None,
        typer.Option(
            "--kbest",
            min=1,
            help="Print up to N best trees per sentence. In brackets, each line has a number and "
            "a tree, and an empty line follows each sentence.",
        ),
    ] = None,
    order: Annotated[
        Order,
        typer.Option(
            "--kbest-order",
            help="Rank the best trees by the decoder's objective, or by their values under the "
            "grammar.",
        ),
    ] = "objective",
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Prefix each tree with two tab-separated values: mean bracket confidence and "
            "whole-tree confidence, calibrated if the model is.",
        ),
    ] = False,
    by_confidence: Annotated[
        bool,
        typer.Option(
            "--sort-by-confidence",
            help="Write the trees in order of increasing confidence, each with the number of its "
            "sentence, after all sentences are parsed.",
        ),
    ] = False,
    marginals: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the marginals of all labelled spans as a table (TSV)."
        ),
    ] = None,
    min_marginal: Annotated[
        float, typer.Option(help="Minimum absolute value of a marginal in that table.")
    ] = 0.01,
    lean: Annotated[
        bool,
        typer.Option(
            "--lean",
            help="Open an ensemble's members one at a time, for hundreds of sentences each: less "
            "memory, more time.",
        ),
    ] = False,
    output_file: OutputOption = "-",
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Parse sentences with a model.

    Each sentence gives one tree, in input order unless sorted.  An unreadable sentence gives an
    empty line and a message; the rest is parsed, and the exit code is 2.  A line of raw text may
    hold several sentences.  A sentence whose constraints conflict is parsed without them, with a
    message and exit code 2.
    """
    from eigentree.constituency.result import check_minimum

    model = model_path(model, CONSTITUENTS)
    inputs = [*(files or []), *([constraints] if constraints else [])]
    check_inputs(inputs)
    for written in (output_file, *([] if marginals is None else [marginals])):
        check_output(written, [*model_files(model), *inputs])
    if marginals is not None and Path(marginals).resolve() == Path(output_file).resolve():
        raise SettingsError(f"{marginals}: can't hold both trees and marginals; name another file")
    if kbest is not None and output_format not in ("brackets", "json"):
        raise SettingsError("--kbest requires --output-format brackets or json")
    if kbest is None and order != "objective":
        raise SettingsError("--kbest-order requires --kbest")
    constrained = bool(constraints) or input_format in ("bracketed", "half-trees", "json")
    if soft and not constrained:
        raise SettingsError("--soft requires --constraints, or an --input-format with constraints")
    if constraints == "-" and "-" in (files or ["-"]):
        raise SettingsError("sentences and --constraints can't both be standard input; name a file")
    if confidence and (kbest is not None or output_format != "brackets"):
        raise SettingsError(
            "--confidence requires --output-format brackets and excludes --kbest; json always "
            "includes confidences"
        )
    if by_confidence and (kbest is not None or output_format not in ("brackets", "json")):
        raise SettingsError(
            "--sort-by-confidence requires --output-format brackets or json and excludes --kbest"
        )
    input_format = format_of_input(input_format, tokeniser, wrapped=wrapped)
    product = _Constituency(
        model, input_format, wrapped, tokeniser, constraints, soft, ignore_tags, tag_column,
        output_format, objective, threshold, max_words, kbest, order, constrained,
        (confidence or by_confidence) and output_format == "brackets", by_confidence,
        marginals, None if marginals is None else min_marginal, lean, quiet,
    )  # fmt: skip
    check_minimum(product.min_marginal)
    run_parse(product, files, output_file=output_file, jobs=jobs, quiet=quiet)


@dataclass(frozen=True)
class _Constituency(Product["ConstituencyParser | EnsembleParser"]):
    """How a constituency parser, or an ensemble, parses and prints."""

    model: str
    input_format: InputFormat
    wrapped: bool
    tokeniser: str | None
    constraints: str | None
    soft: bool
    ignore_tags: bool
    tag_column: TagColumn
    output_format: OutputFormat
    objective: Objective | None
    threshold: float | None
    max_words: int | None
    kbest: int | None
    order: Order
    constrained: bool
    columns: bool
    by_confidence: bool
    marginals: str | None
    min_marginal: float | None
    lean: bool
    quiet: bool

    def open(self, *, verify: bool = True) -> ConstituencyParser | EnsembleParser:
        if Path(self.model).is_dir():
            return self._open_ensemble(verify=verify)
        from eigentree.constituency.parser import ConstituencyParser

        if self.lean:
            raise SettingsError(
                f"--lean requires an ensemble; {displayed_model(self.model)} is a single model"
            )
        parser = ConstituencyParser.load(self.model, verify=verify)
        options = changed(
            parser.options,
            objective=self.objective,
            threshold=self.threshold,
            max_words=self.max_words,
        )
        # A calibration holds for the trees that these settings give.
        same = (options.objective, options.threshold) == (
            parser.options.objective,
            parser.options.threshold,
        )
        return replace(parser, options=options, calibrations=parser.calibrations if same else {})

    def _open_ensemble(self, *, verify: bool) -> EnsembleParser:
        from eigentree.constituency.ensemble.parser import EnsembleParser

        if self.order == "value":
            raise SettingsError(
                "--kbest-order value requires a single model; an ensemble gives trees no value"
            )
        for option, given in (("--objective", self.objective), ("--threshold", self.threshold)):
            if given is not None:
                raise SettingsError(
                    f"{option} requires a single model; the members of an ensemble parse as its "
                    "description specifies"
                )
        parser = EnsembleParser.load(self.model, low_memory=self.lean, verify=verify)
        if self.max_words is None:
            return parser
        backbones = [
            replace(plain, options=replace(plain.options, max_words=self.max_words))
            for plain in parser.backbones
        ]
        return replace(parser, backbones=backbones)

    def batch_size(self, parser: ConstituencyParser | EnsembleParser) -> int:
        return getattr(parser, "lot", 1)

    def waits(self, files: list[str]) -> bool:
        return self.lean or super().waits(files)

    def read(
        self, parser: ConstituencyParser | EnsembleParser, files: list[str], errors: InputErrors
    ) -> Iterator[InputSentence]:
        from eigentree.constituency.parser import ConstituencyParser

        parts = ["parsing"]
        if self.kbest is not None:
            parts.append("k-best")
        if not isinstance(parser, ConstituencyParser):
            parts.append("combination")
        compile_kernels(*parts, quiet=self.quiet)
        if self.columns and not parser.calibrations:
            message(
                "confidences are not calibrated for this model and these options; see eigentree "
                "calibrate",
                quiet=self.quiet,
            )
        sentences = read_input(
            files,
            self.input_format,
            tag_column=self.tag_column,
            cleaning=parser.cleaning,
            labels=known_names(parser, self.input_format),
            splitting=splitting_of(parser, self.input_format, self.tokeniser, wrapped=self.wrapped),
            ignore_tags=self.ignore_tags,
            otherwise="raw",
            remark=errors.remark,
        )
        sentences = reported(sentences, errors)
        if self.constraints is None:
            return sentences
        return with_constraints(sentences, self.constraints, errors)

    def render(
        self, parser: ConstituencyParser | EnsembleParser, batch: list[InputSentence]
    ) -> Iterator[Rendered]:
        from eigentree.constituency.result import mark_dropped

        requests = ((each.words, each.tags, each.constraints) for each in batch)
        results = parser.parse_many(
            requests, kbest=self.kbest, marginals=self.min_marginal, soft=self.soft
        )
        for sentence, result in zip(batch, results, strict=True):
            fallback = result.fallback if sentence.problem is None else None
            note = f"{sentence.place}: fall-back: {fallback}" if fallback else ""
            dropped = result.dropped_constraints
            if dropped:
                names = ", ".join(map(str, dropped))
                note += f", constraints dropped: {names}: {result.conflict}"
            failed = bool(dropped) and not self.soft
            if sentence.refused:
                result = mark_dropped(result, dropped, sentence.refused)
            if sentence.offsets is not None:
                result = replace(result, offsets=sentence.offsets)
            try:
                text = self._text(parser, sentence, result) + "\n"
            except TreebankFormatError as error:
                note, failed = f"{sentence.place}: {error}", True
                text = self._text(parser, sentence, replace(result, tree=None)) + "\n"
            yield Rendered(
                text,
                note,
                failed,
                _Details.of(result, sentence.number),
            )

    def _text(
        self,
        parser: ConstituencyParser | EnsembleParser,
        sentence: InputSentence,
        result: ParseResult,
    ) -> str:
        from eigentree.cli.constituency import _rendering
        from eigentree.constituency.result import in_brackets

        root_name = parser.cleaning.root_name
        number = sentence.number if self.by_confidence else None
        if self.order == "value":
            result = _rendering.by_value(result)
        if self.output_format == "json":
            return _rendering.in_json(
                result, parser.wrapper, root_name,
                problem=sentence.problem, several=self.kbest is not None,
                constrained=self.constrained, number=number, line=sentence.line,
            )  # fmt: skip
        if self.output_format == "drawing":
            return _rendering.in_drawing(result)
        if self.output_format in ("export", "tiger"):
            edges = parser.cleaning.keep_function_tags
            return _rendering.in_graph(
                result.tree, self.output_format, sentence.number, edge_labels=edges
            )
        if self.kbest is not None:
            return _rendering.in_lines(result, parser.wrapper, root_name, self.order)
        text = in_brackets(result, parser.wrapper, root_name)
        return _rendering.in_columns(text, result, number) if self.columns else text

    def sink(self, parser: ConstituencyParser | EnsembleParser) -> Sink:
        return partial(self._write, signed=parser.signed)

    @contextmanager
    def _write(self, out: TextIO, *, signed: bool) -> Iterator[Callable[[Rendered], None]]:
        """Write trees at once, or in order of confidence at the end, and the marginals."""
        from eigentree.cli.constituency._rendering import graph_format

        waiting: list[tuple[float, str]] = []
        n_marginals = n_outside = 0
        file_format = graph_format(self.output_format)
        out.write(file_format.start if file_format else "")
        with _table(self.marginals) as table:
            column = "value" if signed else "marginal"
            table.write(f"sentence\tstart\tend\tlabel\t{column}\tin_tree\n")

            def write(rendered: Rendered) -> None:
                nonlocal n_marginals, n_outside
                details: _Details = rendered.details
                if self.by_confidence:
                    waiting.append((details.confidence, rendered.text))
                else:
                    out.write(rendered.text)
                    out.flush()
                table.write(details.marginals)
                n_marginals += details.n_marginals
                n_outside += details.n_outside

            yield write
            out.writelines(text for _, text in sorted(waiting, key=itemgetter(0)))
        out.write(file_format.end if file_format else "")
        if n_outside:
            message(
                f"{n_outside} of {n_marginals} values are outside 0 to 1: they are no "
                "probabilities, since the grammar is signed",
                quiet=self.quiet,
            )


class _Details(NamedTuple):
    """What is written of a sentence besides its tree, and what is counted."""

    confidence: float
    marginals: str
    n_marginals: int
    n_outside: int

    @classmethod
    def of(cls, result: ParseResult, number: int) -> _Details:
        from eigentree.cli.constituency._rendering import marginal_rows

        values = [each.marginal for each in result.marginals]
        return cls(
            -1.0 if result.tree_confidence is None else result.tree_confidence,
            marginal_rows(result, number),
            len(values),
            sum(not -_ROUNDING <= value <= 1.0 + _ROUNDING for value in values),
        )


@contextmanager
def _table(path: str | None) -> Iterator[TextIO]:
    """The file of marginals; one in memory where none is to be written."""
    from eigentree.treebank.io.text_files import write_whole

    with StringIO() if path is None else write_whole(path) as table:
        yield table
