"""The command ``induce evaluate``: score brackets without labels against gold trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from eigentree._core.arguments import MAX_SAMPLES
from eigentree.cli._common import notice
from eigentree.cli._options import (
    AlignOption,
    JsonOption,
    PerSentenceOption,
    ScoredOnErrorOption,
    SeedOption,
)
from eigentree.cli._scoring import check_gold, check_scored_files, leave, print_json, write_rows

if TYPE_CHECKING:
    from eigentree.evaluation.unlabelled import GoldBracketing, UnlabelledResult
    from eigentree.treebank.io.brackets import OnError
    from eigentree.treebank.io.unlabelled import Bracketing, Notation, Pair


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Gold trees; - is standard input.")],
    parsed: Annotated[
        str, typer.Argument(metavar="PARSED", help="Parses, one for each gold tree.")
    ],
    notation: Annotated[
        Literal["trees", "plain", "spans"],
        typer.Option(
            help="Notation of PARSED. trees: brackets with any labels. plain: ((the cat) slept). "
            "spans: words, a tab, then spans such as 0-2 0-3."
        ),
    ] = "trees",
    punctuation: Annotated[
        Literal["words", "penn", "none"],
        typer.Option(
            help="What is left out. words: punctuation by Unicode. penn: the tags that papers on "
            "the Penn Treebank leave out. none: nothing."
        ),
    ] = "words",
    punctuation_tags: Annotated[
        str | None,
        typer.Option(metavar="TAGS", help="Tags to leave out instead, space-separated."),
    ] = None,
    empty_labels: Annotated[
        str, typer.Option(metavar="TAGS", help="Tags of empty elements, space-separated.")
    ] = "-NONE-",
    length: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            help="Add the scores of sentences of up to N words; repeatable.",
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
    align: AlignOption = False,
    per_sentence: PerSentenceOption = None,
    samples: Annotated[
        int,
        typer.Option(
            min=0, max=MAX_SAMPLES, help="Bootstrap samples for the intervals; 0 for none."
        ),
    ] = 10_000,
    on_error: ScoredOnErrorOption = "raise",
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """Score unlabelled brackets, by both conventions of unsupervised parsing.

    Words of gold trees and parses must agree, with punctuation or without.  Sentences that
    can't be compared are listed and count as wrong, and the exit code is 1.
    """
    from eigentree.evaluation.tables import unlabelled as report
    from eigentree.evaluation.unlabelled import LENGTHS, PENN_PUNCTUATION, score_unlabelled

    check_scored_files([gold, parsed], per_sentence)
    left_out: dict[str, tuple[str, ...] | None]
    left_out = {"words": None, "penn": PENN_PUNCTUATION, "none": ()}
    tags = left_out[punctuation]
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
    results = {"parses": result}
    if baselines:
        results |= _baselines(reference.sentences, lengths, seed)
    places = [f"{reference.name}:{line}" for line in reference.lines]
    write_rows(per_sentence, report.sentence_rows(result, places))
    settings = report.describe(tags, empty)
    remarks += report.notes(reference.sentences)
    if as_json:
        about = {"gold": gold, "parsed": parsed, "settings": dict(settings), "remarks": remarks}
        scores = {name: one.to_dict() for name, one in results.items()}
        print_json(about | scores, seed=seed, samples=samples)
    elif per_sentence != "-":
        typer.echo(f"gold: {gold}\nparsed: {parsed}")
        for line in report.lines(results, settings, [*remarks, *report.problems(result, places)]):
            typer.echo(line)
    leave(failed=failed)


class _Gold(NamedTuple):
    """The usable gold trees, the position of each among all, and the line where it begins."""

    name: str
    sentences: list[GoldBracketing]
    order: list[int]
    lines: list[int]
    n_trees: int
    remarks: list[str]


class _Parsed(NamedTuple):
    """All parses of a file, None for a missing one, and the line where each begins."""

    name: str
    parses: list[Bracketing | None]
    lines: list[int]
    n_lines: int
    remarks: list[str]


def _read_gold(
    path: str, tags: Sequence[str] | None, empty_labels: Sequence[str], on_error: OnError
) -> _Gold:
    from eigentree.evaluation.unlabelled import gold_bracketing
    from eigentree.treebank.io.text_files import displayed_name, open_text
    from eigentree.treebank.reader import read_trees

    name = displayed_name(path)
    result = _Gold(name, [], [], [], 0, [])
    n_trees = 0
    with open_text(path, keep_bad_bytes=on_error == "skip", notice=notice) as stream:
        for n_trees, record in enumerate(read_trees(stream, name=name, on_error=on_error), 1):
            if record.tree is None:
                why = record.problem or f"{name}:{record.line}: no gold tree"
                result.remarks.append(str(why))
                continue
            result.order.append(n_trees - 1)
            result.lines.append(record.line)
            result.sentences.append(
                gold_bracketing(record.tree, punctuation=tags, empty_labels=empty_labels)
            )
    check_gold(name, result.sentences)
    return result._replace(n_trees=n_trees)


def _read_parsed(
    path: str, notation: Notation, empty_labels: Sequence[str], on_error: OnError
) -> _Parsed:
    from eigentree.treebank.io.text_files import displayed_name, open_text
    from eigentree.treebank.io.unlabelled import read_bracketings

    with open_text(path, keep_bad_bytes=on_error == "skip", notice=notice) as stream:
        text = list(stream)
    result = _Parsed(displayed_name(path), [], [], len(text), [])
    for record in read_bracketings(
        text, notation=notation, name=result.name, on_error=on_error, empty_labels=empty_labels
    ):
        if record.problem is not None:
            result.remarks.append(str(record.problem))
        result.parses.append(record.bracketing)
        result.lines.append(record.line)
    return result


def _paired(gold: _Gold, given: _Parsed, align: bool) -> tuple[list[Bracketing | None], list[str]]:
    """A parse, or None, for each gold tree, with remarks on reading and pairing."""
    from eigentree.evaluation.tables.scoring import paired
    from eigentree.evaluation.unlabelled import align_bracketings

    by_words = partial(align_bracketings, gold.sentences, given.parses)
    parses, remarks = paired(
        (gold.name, gold.n_trees),
        (given.name, given.parses, given.lines),
        "parse",
        by_words if align else None,
        given.n_lines,
    )
    chosen = parses if align else [parses[place] for place in gold.order]
    return chosen, [*gold.remarks, *given.remarks, *remarks]


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
