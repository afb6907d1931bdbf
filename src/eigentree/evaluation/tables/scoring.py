"""Scores of files of parsed trees, with remarks on sentences that could not be paired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from eigentree.errors import counted
from eigentree.evaluation.parseval import align_by_words, score
from eigentree.evaluation.settings import ParsevalOptions
from eigentree.evaluation.significance import bootstrap_interval
from eigentree.evaluation.tables.scores import Scored
from eigentree.evaluation.tables.table import LISTED_PROBLEMS
from eigentree.treebank.io.brackets import OnError
from eigentree.treebank.reader import read_trees
from eigentree.treebank.tree import Tree

Item = TypeVar("Item")

# Default number of bootstrap samples.
SAMPLES = 10_000


class TreeFile(NamedTuple):
    """The trees of a file in order, None for "no parse", and the line where each begins.

    ``problems`` are the malformed ones.
    """

    name: str
    trees: list[Tree | None]
    lines: list[int]
    n_lines: int
    problems: list[str]

    @classmethod
    def of_lines(cls, lines: Iterable[str], name: str, on_error: OnError = "raise") -> TreeFile:
        """Read trees unchanged; the settings of the comparison decide what is left out.

        Raises
        ------
        TreebankFormatError
            Under ``"raise"``, for the first malformed tree.
        """
        text = list(lines)
        found = list(read_trees(text, name=name, on_error=on_error))
        return cls(
            name,
            [each.tree for each in found],
            [each.line for each in found],
            len(text),
            [str(each.problem) for each in found if each.problem is not None],
        )


def score_files(
    gold: TreeFile,
    parsed: TreeFile,
    options: ParsevalOptions,
    *,
    align: bool = False,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Scored:
    """Score the trees of a file against gold ones.

    Parameters
    ----------
    gold, parsed
    options
        Settings of the comparison.
    align
        Pair sentences by their words instead of their order.
    samples, seed
        Number of samples and seed of the bootstrap.
    """
    remarks = [
        f"{file.name}: {counted(len(file.problems), 'malformed tree')}"
        for file in (gold, parsed)
        if file.problems
    ]
    by_words = partial(align_by_words, gold.trees, parsed.trees, options)
    trees, more = paired(
        (gold.name, len(gold.trees)),
        (parsed.name, parsed.trees, parsed.lines),
        "tree",
        by_words if align else None,
        parsed.n_lines,
    )
    remarks += more
    result = score(gold.trees, trees, options)
    counts = result.counts()
    return Scored(
        name=parsed.name,
        result=result,
        interval=bootstrap_interval(counts, seed=seed, n_samples=samples) if len(counts) else None,
        places=[f"{gold.name}:{line}" for line in gold.lines],
        remarks=remarks,
    )


def paired(
    gold: tuple[str, int],
    parsed: tuple[str, Sequence[Item | None], Sequence[int]],
    noun: str,
    by_words: Callable[[], tuple[list[Item | None], Sequence[int]]] | None,
    n_lines: int | None = None,
) -> tuple[list[Item | None], list[str]]:
    """A parse, or None, for each gold tree, with remarks on what doesn't fit.

    Parameters
    ----------
    gold
        Name of the file and number of its trees.
    parsed
        Name of the file, its parses, and the line where each begins.
    noun
        What remarks call a parse.
    by_words
        Pairs the parses by their words, and gives the positions of those left over; None to pair
        them in order.
    n_lines
        Lines of the parsed file, where an empty one may be a missing parse.
    """
    (gold_name, n_gold), (name, parses, lines) = gold, parsed
    if by_words is not None:
        chosen, left_over = by_words()
        if not left_over:
            return chosen, []
        places = ", ".join(str(lines[place]) for place in left_over[:LISTED_PROBLEMS])
        if len(left_over) > LISTED_PROBLEMS:
            places += f" and {len(left_over) - LISTED_PROBLEMS} more"
        number = counted(len(left_over), f"{noun} has", f"{noun}s have")
        where = f"on {'line' if len(left_over) == 1 else 'lines'} {places}"
        return chosen, [f"{name}: {number} words that match no remaining gold sentence, {where}"]
    in_order = list(parses)
    if n_lines is not None and len(in_order) != n_gold:
        in_order = align_by_lines(in_order, lines, n_lines, n_gold)
    if len(in_order) == n_gold:
        return in_order, []
    remark = (
        f"{name} has {counted(len(in_order), noun)} and {gold_name} {n_gold}, paired in order; "
        "--align pairs them by their words"
    )
    return [*in_order, *[None] * n_gold][:n_gold], [remark]


def align_by_lines(
    parsed: list[Item | None], lines: Sequence[int], n_lines: int, n_gold: int
) -> list[Item | None]:
    """Read empty lines as missing parses if that explains the number of parses.

    Parsers that print one tree per line often print an empty line when they find none.
    """
    if n_lines != n_gold or len(set(lines)) < len(lines):
        return parsed
    placed: list[Item | None] = [None] * n_gold
    for one, line in zip(parsed, lines, strict=True):
        placed[line - 1] = one
    return placed
