"""Scores of files of parsed trees, with remarks on sentences that could not be paired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from eigentree.errors import counted
from eigentree.evaluation.parseval import align_by_words, score
from eigentree.evaluation.settings import ParsevalOptions
from eigentree.evaluation.significance import bootstrap_interval
from eigentree.evaluation.tables.scores import Scored
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
    trees = parsed.trees
    if align:
        trees, left_over = align_by_words(gold.trees, trees, options)
        if left_over:
            lines = ", ".join(str(parsed.lines[place]) for place in left_over)
            trees_with = counted(len(left_over), "tree has", "trees have")
            remarks.append(
                f"{parsed.name}: {trees_with} words that match no remaining gold tree, "
                f"on {'line' if len(left_over) == 1 else 'lines'} {lines}"
            )
    elif len(trees) != len(gold.trees):
        trees = align_by_lines(trees, parsed.lines, parsed.n_lines, len(gold.trees))
        if len(trees) != len(gold.trees):
            remarks.append(
                f"{parsed.name} has {counted(len(trees), 'tree')} and {gold.name} "
                f"{len(gold.trees)}, paired "
                "in order; --align pairs them by their words"
            )
            trees = [*trees, *[None] * len(gold.trees)][: len(gold.trees)]
    result = score(gold.trees, trees, options)
    counts = result.counts()
    return Scored(
        name=parsed.name,
        result=result,
        interval=bootstrap_interval(counts, seed=seed, n_samples=samples) if len(counts) else None,
        places=[f"{gold.name}:{line}" for line in gold.lines],
        remarks=remarks,
    )


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
