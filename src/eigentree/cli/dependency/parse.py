"""The verb ``dependencies parse``: sentences in, dependency trees out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
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
    text_lines,
    track,
)
from eigentree.cli.constituency._output import model_path, warn_of_compilation
from eigentree.cli.constituency.parse import TokeniserOption, WrappedOption, how_to_cut
from eigentree.data.catalogue import DEPENDENCIES
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.cli.constituency.parse import HowToCut
    from eigentree.dependency.parser import DependencyParser
    from eigentree.dependency.result import DependencyResult
    from eigentree.sentence_input import Offsets
    from eigentree.tokenisation.reader import ReadText
    from eigentree.treebank.io.conllu import Sentence

InputForm = Literal["raw", "conllu", "tagged", "tokens"]


class _Asked(NamedTuple):
    """A sentence to be parsed, with what its file had besides; words are empty for a problem.

    ``line`` and ``offsets`` say where the words of raw text stand.
    """

    place: str
    words: list[str]
    tags: list[str] | None
    sentence: Sentence | None = None
    problem: str | None = None
    line: int | None = None
    offsets: Offsets | None = None


class _Rendered(NamedTuple):
    """What is printed for a sentence, and what is told about it."""

    text: str
    note: str


class _Work(NamedTuple):
    model: str
    output: Literal["conllu", "json"]
    confidence: bool
    objective: Literal["sum", "product", "viterbi"] | None
    several_roots: bool
    max_words: int | None


def parse(
    files: Annotated[
        list[str] | None, typer.Argument(help="Files of sentences; standard input by default.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A model file, or the name of one that comes with eigentree.",
            show_default=DEPENDENCIES,
        ),
    ] = None,
    form: Annotated[
        InputForm,
        typer.Option(
            "--input",
            help="raw text, each line of its own; CoNLL-U; tagged (word_TAG) sentences or tokens, "
            "one a line.",
        ),
    ] = "raw",
    wrapped: WrappedOption = False,
    tokeniser: TokeniserOption = None,
    output: Annotated[
        Literal["conllu", "json"], typer.Option(help="CoNLL-U, or one JSON object a line.")
    ] = "conllu",
    output_file: OutputOption = "-",
    ignore_tags: Annotated[
        bool,
        typer.Option("--ignore-tags", help="Use the model's tagger even where there are tags."),
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write Confidence=... into the column MISC.")
    ] = False,
    objective: Annotated[
        Literal["sum", "product", "viterbi"] | None,
        typer.Option(help="In place of the model's own."),
    ] = None,
    several_roots: Annotated[
        bool, typer.Option("--several-roots", help="Allow several roots in a tree.")
    ] = False,
    max_words: Annotated[
        int | None, typer.Option(min=1, help="Longer sentences are parsed in pieces; 400.")
    ] = None,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Parse sentences with a dependency model.

    Of CoNLL-U input all but heads, relations and their graphs stays as it is.  Sentences that can't
    be read are told of, the others come out in order, and the exit code is 2; empty ones have no
    form in CoNLL-U, but an object in JSON.
    """
    from eigentree.treebank.io.text_files import write_whole

    model = model_path(model, DEPENDENCIES)
    inputs = files or ["-"]
    check_inputs(inputs)
    keep_inputs(output_file, [model, *inputs])
    work = _Work(model, output, confidence, objective, several_roots, max_words)
    # Opened here in any case, so that a bad model is told before any worker starts.
    parser = _open(work)
    if parser.tagger is None and (ignore_tags or form in ("raw", "tokens")):
        raise SettingsError(f"{model} has no tagger; give tags with --input tagged or conllu")
    how = how_to_cut(parser, form, tokeniser, wrapped=wrapped)
    warn_of_compilation(quiet=quiet, parsing=False, dependencies=True)
    n_bad = 0

    def watched() -> Iterator[_Asked]:
        nonlocal n_bad
        for asked in _read(inputs, form, parser, ignore_tags, how):
            if asked.words and asked.tags is None and parser.tagger is None:
                what = f"{asked.place}: no tags by {parser.tag_scheme}, and the model has no tagger"
                asked = _Asked(asked.place, [], None, problem=what)
            if asked.problem is not None:
                n_bad += 1
                message(f"eigentree: {asked.problem}")
            yield asked

    rendered: Iterator[_Rendered]
    with write_whole(output_file) as out:
        if jobs == 1:
            rendered = map(_renderer(parser, work), watched())
        else:
            rendered = map_batches(_from_file, work, batches(watched()), jobs)
        for each in track(rendered, "parsing", quiet=quiet or out.isatty()):
            out.write(each.text)
            out.flush()
            if each.note:
                message(f"eigentree: {each.note}", quiet=quiet)
    if n_bad:
        raise typer.Exit(BAD_INPUT)


def _open(work: _Work, *, verify: bool = True) -> DependencyParser:
    from eigentree.cli.constituency._training import changed
    from eigentree.dependency.parser import DependencyParser

    parser = DependencyParser.load(work.model, verify=verify)
    options = changed(
        parser.options,
        objective=work.objective,
        several_roots=work.several_roots or None,
        max_words=work.max_words,
    )
    return parser if options == parser.options else replace(parser, options=options)


def _read(
    files: Iterable[str],
    form: InputForm,
    parser: DependencyParser,
    ignore_tags: bool,
    how: HowToCut | None,
) -> Iterator[_Asked]:
    from eigentree.tokenisation.reader import read_text
    from eigentree.treebank.io.conllu import new_sentence, read_conllu
    from eigentree.treebank.io.sentences import read_sentences
    from eigentree.treebank.io.text_files import open_text
    from eigentree.treebank.tag_schemes import tags_of

    number = 0
    for file in files:
        name = "<standard input>" if file == "-" else file
        # A sentence ends at a blank line or at the end of its own, so a bad one need not end all.
        with open_text(file, keep_bad_bytes=True) as lines:
            if form == "conllu":
                for record in read_conllu(lines, name=name, on_error="skip", heads="ignore"):
                    place = f"{name}:{record.line}"
                    if record.sentence is None:
                        yield _Asked(place, [], None, problem=str(record.problem))
                        continue
                    ignored = ignore_tags or _lacks_tags(record.sentence, parser)
                    given = None if ignored else tags_of(record.sentence, parser.tag_scheme)
                    yield _Asked(place, record.sentence.forms(), given, record.sentence)
            elif form == "raw":
                assert how is not None
                text = text_lines(lines, name)
                for found in read_text(text, how.scheme, name=name, wrapped=how.wrapped):
                    number += 1
                    yield _of_text(number, name, found)
            else:
                for each in read_sentences(lines, form, name=name, on_error="skip"):
                    number += 1
                    problem = None if each.problem is None else str(each.problem)
                    # Neither of these forms has weights of tags.
                    all_tags = None if each.tags is None else list(map(str, each.tags))
                    given = None if ignore_tags else all_tags
                    sentence = new_sentence(each.words, sent_id=str(number))
                    yield _Asked(f"{name}:{each.line}", each.words, given, sentence, problem)


def _lacks_tags(sentence: Sentence, parser: DependencyParser) -> bool:
    """Whether no word has a tag, or a feature where the model wants some and has a tagger."""
    from eigentree.treebank.io.conllu import EMPTY
    from eigentree.treebank.tag_schemes import parts_of_scheme

    column, features = parts_of_scheme(parser.tag_scheme)
    if set(sentence.tags(column)) == {EMPTY}:
        return True
    if not features or parser.tagger is None:
        return False
    return all(word.feats == EMPTY for word in sentence.words)


def _of_text(number: int, name: str, found: ReadText) -> _Asked:
    from eigentree.treebank.io.conllu import new_sentence

    place, raw = f"{name}:{found.line}", found.sentence
    if raw is None:
        problem = None if found.problem is None else str(found.problem)
        return _Asked(place, [], None, problem=problem, line=found.line)
    sentence = new_sentence(raw.words, raw.offsets, found.text, sent_id=str(number))
    return _Asked(place, raw.words, None, sentence, line=found.line, offsets=raw.offsets)


def _renderer(parser: DependencyParser, work: _Work) -> Callable[[_Asked], _Rendered]:
    from eigentree.dependency.result import with_tree
    from eigentree.treebank.io.conllu import format_sentence
    from eigentree.treebank.tag_schemes import parts_of_scheme

    column, _ = parts_of_scheme(parser.tag_scheme)

    def render(asked: _Asked) -> _Rendered:
        result = parser.parse(asked.words, asked.tags)
        fallback = result.fallback if asked.problem is None else None
        note = f"{asked.place}: fall-back: {fallback}" if fallback else ""
        if work.output == "json":
            return _Rendered(_in_json(result, asked), note)
        if asked.sentence is None or not result.words:
            return _Rendered("", note)
        sentence = with_tree(asked.sentence, result, column, confidence=work.confidence)
        return _Rendered(format_sentence(sentence), note)

    return render


def _in_json(result: DependencyResult, asked: _Asked) -> str:
    """One line: what a parse holds, and why it is empty where its sentence can't be read."""
    record: dict[str, object] = {} if asked.problem is None else {"problem": asked.problem}
    where = {} if asked.line is None else {"line": asked.line, "offsets": asked.offsets}
    record |= result.to_dict(where)
    return json.dumps(record, ensure_ascii=False) + "\n"


def _from_file(work: _Work) -> Callable[[list[_Asked]], Iterator[_Rendered]]:
    return partial(map, _renderer(_open(work, verify=False), work))
