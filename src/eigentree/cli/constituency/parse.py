"""The verb ``parse``: sentences in, trees out, in order, one for each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from itertools import chain, count, repeat
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TextIO

import typer

from eigentree._core.batching import BATCH, batches, map_batches
from eigentree.cli._batches import more_to_read
from eigentree.cli._common import (
    BAD_INPUT,
    JobsOption,
    OutputOption,
    QuietOption,
    check_inputs,
    keep_inputs,
    message,
    text_lines,
    track,
)
from eigentree.data.catalogue import CONSTITUENTS

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import Parser
    from eigentree.dependency.parser import DependencyParser
    from eigentree.sentence_input import Offsets
    from eigentree.tokenisation.reader import ReadText
    from eigentree.tokenisation.scheme import TokenisationScheme
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.constraints import Constraints
    from eigentree.treebank.io.sentences import Tag, TaggedSentence

# A marginal that is so little outside 0..1 is none of a signed grammar's values.
_ROUNDING = 1e-9

InputForm = Literal[
    "raw", "tokens", "tagged", "conllu", "trees", "bracketed", "half-trees", "json"
]  # fmt: skip
OutputForm = Literal["brackets", "json", "drawing"]
Objective = Literal["rules", "spans", "brackets", "max-rule", "viterbi", "free"]
Order = Literal["objective", "value"]


WrappedOption = Annotated[
    bool,
    typer.Option(
        "--wrapped",
        help="Sentences of raw text go on over ends of lines; an empty line ends them.",
    ),
]
TokeniserOption = Annotated[
    str | None,
    typer.Option(
        "--tokeniser",
        help="How raw text is cut into words: penn, unicode, or spacy: with a language, such as "
        "spacy:de.",
        show_default="as the model's treebank",
    ),
]


class _Work(NamedTuple):
    """What a process has to know to parse and print."""

    model: str
    objective: Objective | None
    threshold: float | None
    max_words: int | None
    lean: bool
    output: OutputForm
    kbest: int | None
    order: Order
    constrained: bool
    soft: bool
    columns: bool
    numbered: bool
    least: float | None


class _Rendered(NamedTuple):
    """What is printed for a sentence, what is told about it, and how sure its tree is.

    ``failed`` says whether what is told is an error.
    """

    text: str
    note: str
    failed: bool
    sure: float
    marginals: str
    n_marginals: int
    n_outside: int


def parse(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files of sentences, plain or gzipped; - or none for standard input."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A model file made by train, the folder of an ensemble, or the name of a model "
            "that comes with eigentree.",
            show_default=CONSTITUENTS,
        ),
    ] = None,
    form: Annotated[
        InputForm,
        typer.Option(
            "--input",
            help="raw text, each line of its own; tokens or tagged (word_TAG) sentences, one a "
            "line; CoNLL-U; the words and "
            "tags of trees, in brackets or NEGRA export; sentences with some phrases in square "
            "brackets, or trees that lack some brackets, one a line, to be kept in the parse; an "
            "object of JSON a line with words, and perhaps tags, weights of tags and constraints.",
        ),
    ] = "raw",
    wrapped: WrappedOption = False,
    tokeniser: TokeniserOption = None,
    constraints: Annotated[
        str | None,
        typer.Option(
            "--constraints",
            help="What the tree of each sentence must and must not have, a line of JSON for each.",
        ),
    ] = None,
    soft: Annotated[
        bool,
        typer.Option(
            "--soft",
            help="Where the constraints of a sentence conflict, give up the later ones only, and "
            "don't count it as an error.",
        ),
    ] = False,
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
    kbest: Annotated[
        int | None,
        typer.Option(
            "--kbest",
            min=1,
            help="Print so many of the best trees of each sentence, where it has them: in brackets "
            "a line each, number and tree, and an empty line after each sentence.",
        ),
    ] = None,
    order: Annotated[
        Order,
        typer.Option(
            "--kbest-order",
            help="How several trees are ordered: by what the decoder judges them by, or by their "
            "values under the grammar.",
        ),
    ] = "objective",
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Before each tree in brackets, each with a tab, how sure its phrases are on "
            "average, and how sure it is that all are right; calibrated where the model is.",
        ),
    ] = False,
    by_confidence: Annotated[
        bool,
        typer.Option(
            "--sort-by-confidence",
            help="Least sure first, each tree with the number of its sentence before all; nothing "
            "is written before all is parsed.",
        ),
    ] = False,
    marginals: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the marginals of all labelled spans as a table (TSV)."
        ),
    ] = None,
    least_marginal: Annotated[
        float, typer.Option(help="Least absolute value of a marginal in that table.")
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

    Each sentence gives one tree, in order unless sorted; what can't be read gives an empty line, a
    message and exit code 2, and the rest is parsed.  A line of raw text may hold several.  A
    sentence whose constraints conflict is parsed without them, with a message and exit code 2.
    """
    from eigentree.cli.constituency._constraints import from_file, known_to
    from eigentree.cli.constituency._output import model_path, warn_of_compilation
    from eigentree.constituency.result import check_minimum
    from eigentree.errors import SettingsError
    from eigentree.treebank.io.text_files import write_whole

    model = model_path(model, CONSTITUENTS)
    inputs = [*(files or []), *([constraints] if constraints else [])]
    check_inputs(inputs)
    for written in (output_file, *([] if marginals is None else [marginals])):
        keep_inputs(written, [model, *map(str, Path(model).rglob("*.egt")), *inputs])
    if marginals is not None and Path(marginals).resolve() == Path(output_file).resolve():
        raise SettingsError(f"{marginals}: can't hold both trees and marginals; name another")
    if kbest is not None and output == "drawing":
        raise SettingsError("--kbest prints brackets or json; a drawing is of one tree")
    if kbest is None and order != "objective":
        raise SettingsError("--kbest-order is for several trees; give their number with --kbest")
    constrained = bool(constraints) or form in ("bracketed", "half-trees", "json")
    if soft and not constrained:
        raise SettingsError("--soft is for constraints; give them with --constraints or --input")
    if constraints == "-" and "-" in (files or ["-"]):
        raise SettingsError("sentences and --constraints can't both be standard input; name a file")
    if confidence and (kbest is not None or output != "brackets"):
        raise SettingsError("--confidence is for one tree in brackets; json tells it in any case")
    if by_confidence and (kbest is not None or output == "drawing"):
        raise SettingsError("--sort-by-confidence is for one tree each, in brackets or json")
    work = _Work(
        model, objective, threshold, max_words, lean, output, kbest, order, constrained, soft,
        (confidence or by_confidence) and output == "brackets", by_confidence,
        None if marginals is None else least_marginal,
    )  # fmt: skip
    # Opened here in any case, so that a bad model is told before any worker starts.
    parser = _open(work)
    check_minimum(work.least)
    warn_of_compilation(quiet=quiet)
    if work.columns and not parser.calibrations:
        why = "the model is not calibrated for this, see eigentree calibrate"
        message(f"confidences are estimates: {why}", quiet=quiet)
    signed = parser.signed
    trouble = Trouble()
    known = known_to(parser, form)
    how = how_to_cut(parser, form, tokeniser, wrapped=wrapped)
    found = read(files or ["-"], form, tag_column, parser.cleaning, known, how)
    sentences = trouble.watch(found, ignore_tags)
    if constraints:
        sentences = from_file(sentences, constraints, trouble.tell)
    with write_whole(output_file) as out, _table(marginals, signed=signed) as table:
        rendered: Iterator[_Rendered]
        if jobs == 1:
            # A lot that is too small costs time, and one that is not there yet may never come.
            waits = lean or "-" not in (files or ["-"])
            lots = batches(sentences, _lot(parser), lambda: waits or more_to_read())
            rendered = chain.from_iterable(map(_renderer(parser, work), lots))
        else:
            lots = batches(sentences, max(BATCH, _lot(parser)))
            del parser
            rendered = map_batches(_from_file, work, lots, jobs)
        # On a terminal the trees themselves show how far it is.
        waiting: list[tuple[float, str]] = []
        n_marginals = n_outside = 0
        for each in track(rendered, "parsing", quiet=quiet or out.isatty()):
            if by_confidence:
                waiting.append((each.sure, each.text))
            else:
                out.write(each.text + "\n")
                out.flush()
            table.write(each.marginals)
            n_marginals += each.n_marginals
            n_outside += each.n_outside
            if each.failed:
                trouble.tell(each.note)
            elif each.note:
                message(f"eigentree: {each.note}", quiet=quiet)
        out.writelines(f"{text}\n" for _, text in sorted(waiting, key=itemgetter(0)))
    if n_outside:
        told = f"{n_outside} of {n_marginals} values lie outside 0 to 1"
        message(f"{told}: they are no probabilities, for the grammar is signed", quiet=quiet)
    if trouble.found:
        raise typer.Exit(BAD_INPUT)


@contextmanager
def _table(path: str | None, *, signed: bool) -> Iterator[TextIO]:
    """The file of marginals with its header; nothing is kept where none is wanted."""
    from eigentree.treebank.io.text_files import write_whole

    with StringIO() if path is None else write_whole(path) as table:
        column = "value" if signed else "marginal"
        table.write(f"sentence\tstart\tend\tlabel\t{column}\tin_tree\n")
        yield table


class Sentence(NamedTuple):
    """A sentence with its number and place, for messages; what can't be read has no words.

    ``refused`` says what was wrong with its constraints where they can't be read; ``line`` and
    ``offsets`` say where the words of raw text stand.
    """

    number: int
    place: str
    words: list[str]
    tags: Sequence[Tag] | None
    readable: bool = True
    constraints: Constraints | None = None
    refused: str | None = None
    line: int | None = None
    offsets: Offsets | None = None


class HowToCut(NamedTuple):
    """How raw text becomes sentences and words."""

    scheme: TokenisationScheme
    wrapped: bool


def how_to_cut(
    parser: Parser | EnsembleParser | DependencyParser,
    form: str,
    tokeniser: str | None,
    *,
    wrapped: bool,
) -> HowToCut | None:
    """By the parser's scheme, or another; None for words that are given."""
    from eigentree.errors import SettingsError
    from eigentree.tokenisation.words import tokenise

    if form != "raw":
        option = "--wrapped" if wrapped else "--tokeniser"
        if wrapped or tokeniser is not None:
            raise SettingsError(f"{option} is for raw text, but --input is {form}")
        return None
    scheme = parser.tokenisation
    if tokeniser is not None:
        scheme = scheme.with_mode(tokeniser)
        tokenise("", scheme)  # tells at once of a spaCy that isn't there
    return HowToCut(scheme, wrapped)


class Trouble:
    """Tells of sentences that can't be read, and remembers that there were any."""

    def __init__(self) -> None:
        self.found = False
        self._seen = count(1)

    def tell(self, problem: str) -> None:
        self.found = True
        message(f"eigentree: {problem}")

    def watch(
        self, sentences: Iterable[tuple[str, TaggedSentence | ReadText]], ignore_tags: bool
    ) -> Iterator[Sentence]:
        from eigentree.tokenisation.reader import ReadText

        for name, each in sentences:
            if isinstance(each, ReadText):
                yield self._raw(name, each)
                continue
            words, tags, line, problem, constraints = each
            if problem is not None:
                self.tell(str(problem))
            place, tags = f"{name}:{line}", None if ignore_tags else tags
            yield Sentence(next(self._seen), place, words, tags, problem is None, constraints)

    def _raw(self, name: str, found: ReadText) -> Sentence:
        if found.problem is not None:
            self.tell(str(found.problem))
        words, offsets = [], None
        if found.sentence is not None:
            words, offsets = found.sentence.words, found.sentence.offsets
        return Sentence(
            next(self._seen), f"{name}:{found.line}", words, None, found.problem is None,
            line=found.line, offsets=offsets,
        )  # fmt: skip


def read(
    files: list[str],
    form: InputForm,
    tag_column: Literal["xpos", "upos"],
    cleaning: CleaningOptions,
    labels: Collection[str] = (),
    how: HowToCut | None = None,
) -> Iterator[tuple[str, TaggedSentence | ReadText]]:
    """The sentences of files, each with the name that messages give its file."""
    from eigentree.tokenisation.reader import read_text
    from eigentree.treebank.io.sentences import read_sentences
    from eigentree.treebank.io.text_files import open_text

    for file in files:
        name = "<standard input>" if file == "-" else file
        # A line is a sentence or a part of one, so that a bad one need not end the rest.
        with open_text(file, keep_bad_bytes=True) as lines:
            if how is not None or form == "raw":
                assert how is not None
                text = text_lines(lines, name)
                found = read_text(text, how.scheme, name=name, wrapped=how.wrapped)
                yield from zip(repeat(name), found)
                continue
            for sentence in read_sentences(
                lines, form, name=name, on_error="skip", tag_column=tag_column, cleaning=cleaning,
                labels=labels,
            ):  # fmt: skip
                yield name, sentence


def _open(work: _Work, *, verify: bool = True) -> Parser | EnsembleParser:
    if Path(work.model).is_dir():
        return _open_ensemble(work, verify=verify)
    from eigentree.constituency.parser import Parser
    from eigentree.errors import SettingsError

    if work.lean:
        raise SettingsError(f"--lean is for ensembles; {work.model} is no folder of one")
    parser = Parser.load(work.model, verify=verify)
    given = {
        name: value
        for name, value in work._asdict().items()
        if name in ("objective", "threshold", "max_words") and value is not None
    }
    options = replace(parser.options, **given)
    # Other trees come out with other settings, right more or less often than was counted.
    same = (options.objective, options.threshold) == (
        parser.options.objective,
        parser.options.threshold,
    )
    return replace(parser, options=options, calibrations=parser.calibrations if same else {})


def _open_ensemble(work: _Work, *, verify: bool) -> EnsembleParser:
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.errors import SettingsError

    if work.order == "value":
        raise SettingsError(
            "--kbest-order value is for single models; an ensemble gives trees no value"
        )
    for option, given in (("--objective", work.objective), ("--threshold", work.threshold)):
        if given is not None:
            raise SettingsError(
                f"{option} is for single models; the members of an ensemble parse as its "
                "description says"
            )
    parser = EnsembleParser.load(work.model, low_memory=work.lean, verify=verify)
    if work.max_words is None:
        return parser
    backbones = [
        replace(plain, options=replace(plain.options, max_words=work.max_words))
        for plain in parser.backbones
    ]
    return replace(parser, backbones=backbones)


def _lot(parser: Parser | EnsembleParser) -> int:
    """How many sentences a parser is best given at a time."""
    return getattr(parser, "lot", 1)


def _renderer(
    parser: Parser | EnsembleParser, work: _Work
) -> Callable[[list[Sentence]], Iterator[_Rendered]]:
    """A function from sentences to what is printed for each and what is told about it."""
    from eigentree.cli.constituency import _output
    from eigentree.constituency.result import mark_dropped
    from eigentree.serialise import in_brackets

    root_name = parser.cleaning.root_name

    def render(lot: list[Sentence]) -> Iterator[_Rendered]:
        asked = ((sentence.words, sentence.tags, sentence.constraints) for sentence in lot)
        results = parser.parse_many(asked, kbest=work.kbest, marginals=work.least, soft=work.soft)
        for sentence, result in zip(lot, results, strict=True):
            told = result.fallback if sentence.readable else None
            note = f"{sentence.place}: fall-back: {told}" if told else ""
            dropped = result.dropped_constraints
            failed = bool(dropped) and not work.soft
            if dropped:
                note += f", given up: {', '.join(map(str, dropped))}: {result.conflict}"
            if sentence.refused:
                result = mark_dropped(result, dropped, sentence.refused)
            if sentence.offsets is not None:
                result = replace(result, offsets=sentence.offsets)
            if work.order == "value":
                result = _output.by_value(result)
            number = sentence.number if work.numbered else None
            if work.output == "json":
                text = _output.in_json(
                    result, parser.wrapper, root_name,
                    readable=sentence.readable, several=work.kbest is not None,
                    constrained=work.constrained, number=number,
                    line=sentence.line,
                )  # fmt: skip
            elif work.output == "drawing":
                text = _output.in_drawing(result)
            elif work.kbest is not None:
                text = _output.in_lines(result, parser.wrapper, root_name, work.order)
            else:
                text = in_brackets(result, parser.wrapper, root_name)
            if work.columns:
                text = _output.in_columns(text, result, number)
            values = [each.marginal for each in result.marginals]
            yield _Rendered(
                text,
                note,
                failed,
                -1.0 if result.tree_confidence is None else result.tree_confidence,
                _output.marginal_rows(result, sentence.number),
                len(values),
                sum(not -_ROUNDING <= value <= 1.0 + _ROUNDING for value in values),
            )

    return render


def _from_file(work: _Work) -> Callable[[list[Sentence]], Iterator[_Rendered]]:
    return _renderer(_open(work, verify=False), work)
