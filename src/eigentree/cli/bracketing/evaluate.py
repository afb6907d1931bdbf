"""The verb ``induce``: trees without a treebank, and what they are worth against one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from eigentree.cli._common import FAILED, JsonOption, SeedOption, keep_inputs
from eigentree.cli.bracketing import train_parse
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from eigentree.evaluation.unlabelled import GoldBracketing, UnlabelledResult
    from eigentree.treebank.io.brackets import OnError
    from eigentree.treebank.io.unlabelled import Bracketing, Notation, Pair

induce = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Find trees in sentences of tags, without a treebank.",
)


induce.command()(train_parse.train)
induce.command()(train_parse.parse)


@induce.command()
def evaluate(
    gold: Annotated[str, typer.Argument(help="File of gold trees; - is standard input.")],
    parsed: Annotated[str, typer.Argument(help="File of parses, one for each gold tree.")],
    notation: Annotated[
        Literal["trees", "plain", "spans"],
        typer.Option(
            help="Of PARSED. trees: brackets with any labels. plain: ((the cat) slept). spans: "
            "words, a tab, then spans such as 0-2 0-3."
        ),
    ] = "trees",
    punctuation: Annotated[
        Literal["words", "penn", "none"],
        typer.Option(
            help="What is left out. words: those of punctuation by Unicode. penn: the tags that "
            "papers on the Penn Treebank leave out."
        ),
    ] = "words",
    punctuation_tags: Annotated[
        str | None, typer.Option(help="Tags to leave out instead; blanks between them.")
    ] = None,
    empty_labels: Annotated[
        str, typer.Option(help="Tags of empty elements; blanks between them.")
    ] = "-NONE-",
    length: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            help="Score sentences up to so many words; may be given again.",
            show_default="10, 20, 30, 40",
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines",
            help="Add left-, right- and random-branching trees, and the best binary ones.",
        ),
    ] = False,
    align: Annotated[
        bool, typer.Option("--align", help="Pair sentences by their words, not their order.")
    ] = False,
    per_sentence: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a table of all sentences (TSV).")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, help="Draws for the intervals; 0 for none.")
    ] = 10_000,
    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option(help="Stop at a malformed tree, or take it for a missing one."),
    ] = "raise",
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """Score unlabelled brackets, by both conventions of unsupervised parsing.

    Words of gold trees and parses must agree, with punctuation or without.  Sentences that
    can't be compared are listed and count as wrong, and the exit code is 1.
    """
    from eigentree.evaluation.tables import unlabelled as report
    from eigentree.evaluation.unlabelled import LENGTHS, PENN_PUNCTUATION, score_unlabelled

    if [gold, parsed].count("-") > 1:
        raise typer.BadParameter("only one of the files can be standard input")
    keep_inputs(per_sentence or "-", [gold, parsed])
    ways: dict[str, tuple[str, ...] | None]
    ways = {"words": None, "penn": PENN_PUNCTUATION, "none": ()}
    tags = ways[punctuation]
    if punctuation_tags is not None:
        tags = tuple(punctuation_tags.split())
    empty = empty_labels.split()
    reference = _read_gold(gold, tags, empty, on_error)
    given = _read_parsed(parsed, notation, empty, on_error)
    parses, remarks = _paired(reference, given, align)
    lengths = sorted(set(length or LENGTHS))
    result = score_unlabelled(
        reference.sentences, parses, lengths=lengths, seed=seed, n_samples=samples
    )
    failed = bool(remarks) or any(one.status == "error" for one in result.problems)
    told = {"parses": result}
    if baselines:
        told |= _baselines(reference.sentences, lengths, seed)
    places = [f"{reference.name}:{line}" for line in reference.lines]
    if per_sentence is not None:
        from eigentree.treebank.io.text_files import write_whole

        with write_whole(per_sentence) as out:
            out.writelines(f"{row}\n" for row in report.sentence_rows(result, places))
    settings = report.describe(tags, empty)
    remarks += report.notes(reference.sentences)
    if as_json:
        found = {name: one.to_dict() for name, one in told.items()}
        about = {"gold": gold, "parsed": parsed, "settings": dict(settings), "remarks": remarks}
        typer.echo(
            json.dumps(
                about | found | {"seed": seed, "samples": samples}, ensure_ascii=False, indent=2
            )
        )
    elif per_sentence != "-":
        typer.echo(f"gold: {gold}\nparsed: {parsed}")
        for line in report.lines(told, settings, [*remarks, *report.problems(result, places)]):
            typer.echo(line)
    if failed:
        raise typer.Exit(FAILED)


class _Gold(NamedTuple):
    """Gold trees that can be used, the place of each among all, and the line that it begins on."""

    name: str
    sentences: list[GoldBracketing]
    order: list[int]
    lines: list[int]
    n_trees: int
    remarks: list[str]


class _Parsed(NamedTuple):
    """All parses of a file, None where there is none, and the line that each begins on."""

    name: str
    parses: list[Bracketing | None]
    lines: list[int]
    n_lines: int
    remarks: list[str]


def _name(path: str) -> str:
    return "<standard input>" if path == "-" else path


def _read_gold(
    path: str, tags: Sequence[str] | None, empty_labels: Sequence[str], on_error: OnError
) -> _Gold:
    from eigentree.evaluation.unlabelled import gold_bracketing
    from eigentree.treebank.io.text_files import open_text
    from eigentree.treebank.reader import read_trees

    name = _name(path)
    found = _Gold(name, [], [], [], 0, [])
    n_trees = 0
    with open_text(path, keep_bad_bytes=on_error == "skip") as stream:
        for n_trees, record in enumerate(read_trees(stream, name=name, on_error=on_error), 1):
            if record.tree is None:
                why = record.problem or f"{name}:{record.line}: there is no gold tree"
                found.remarks.append(str(why))
                continue
            found.order.append(n_trees - 1)
            found.lines.append(record.line)
            found.sentences.append(
                gold_bracketing(record.tree, punctuation=tags, empty_labels=empty_labels)
            )
    if not found.sentences:
        raise SettingsError(f"{name}: there is no gold tree to compare with")
    return found._replace(n_trees=n_trees)


def _read_parsed(
    path: str, notation: Notation, empty_labels: Sequence[str], on_error: OnError
) -> _Parsed:
    from eigentree.treebank.io.text_files import open_text
    from eigentree.treebank.io.unlabelled import read_bracketings

    with open_text(path, keep_bad_bytes=on_error == "skip") as stream:
        text = list(stream)
    found = _Parsed(_name(path), [], [], len(text), [])
    for record in read_bracketings(
        text, notation=notation, name=found.name, on_error=on_error, empty_labels=empty_labels
    ):
        if record.problem is not None:
            found.remarks.append(str(record.problem))
        found.parses.append(record.bracketing)
        found.lines.append(record.line)
    return found


def _paired(gold: _Gold, given: _Parsed, align: bool) -> tuple[list[Bracketing | None], list[str]]:
    """A parse, or None, for each gold tree, and what was remarkable in reading and pairing."""
    from eigentree.evaluation.tables.scoring import align_by_lines
    from eigentree.evaluation.unlabelled import align_bracketings

    remarks = [*gold.remarks, *given.remarks]
    if align:
        parses, left_over = align_bracketings(gold.sentences, given.parses)
        if left_over:
            lines = ", ".join(str(given.lines[place]) for place in left_over)
            parses_with = counted(len(left_over), "parse has", "parses have")
            remarks.append(
                f"{given.name}: {parses_with} words that match no remaining gold tree, "
                f"on {'line' if len(left_over) == 1 else 'lines'} {lines}"
            )
        return parses, remarks
    parses = given.parses
    if len(parses) != gold.n_trees:
        parses = align_by_lines(parses, given.lines, given.n_lines, gold.n_trees)
    if len(parses) != gold.n_trees:
        remarks.append(
            f"{given.name} has {counted(len(parses), 'parse')} and {gold.name} {gold.n_trees}, "
            "paired in order; --align pairs them by their words"
        )
        parses = [*parses, *[None] * gold.n_trees]
    return [parses[place] for place in gold.order], remarks


def _baselines(
    gold: Sequence[GoldBracketing], lengths: Sequence[int], seed: int
) -> dict[str, UnlabelledResult]:
    from eigentree._core.random import generator
    from eigentree.evaluation import baselines as trivial
    from eigentree.evaluation.unlabelled import score_unlabelled
    from eigentree.treebank.io.unlabelled import Bracketing

    rng = generator(seed, 0)
    trees: dict[str, Callable[[GoldBracketing], frozenset[Pair]]] = {
        "left-branching": lambda one: trivial.left_branching(len(one.words)),
        "right-branching": lambda one: trivial.right_branching(len(one.words)),
        "random": lambda one: trivial.random_branching(len(one.words), rng),
        "best binary": lambda one: trivial.binary_completion(one.spans, len(one.words)),
    }
    return {
        name: score_unlabelled(
            gold, [Bracketing(one.words, tree_of(one)) for one in gold], lengths=lengths
        )
        for name, tree_of in trees.items()
    }
