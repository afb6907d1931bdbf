"""Diversity of the members of an ensemble, and the oracle F1 of their trees.

The *oracle* selects for each sentence the candidate with the best F1 against the gold tree.  Its
corpus F1 is an upper bound on that of any reranker (approximately, since corpus F1 is not the mean
over sentences), which Charniak and Johnson (2005) and Narayan and Cohen (2015, section 6) report.
It increases with the accuracy of the members and with their diversity, which is measured by the F1
of one member's trees against another's.

The brackets of each tree are extracted once, as in `eigentree.evaluation`, and compared as
multisets, for all candidates of a sentence at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eigentree.errors import SettingsError
from eigentree.evaluation.parseval import counted_brackets, score
from eigentree.evaluation.settings import EVALB_COLLINS, ParsevalOptions
from eigentree.treebank.tree import Tree
from eigentree.types import Floats, Longs


class TreeLists(NamedTuple):
    """The distinct trees of each sentence.

    Attributes
    ----------
    trees
        For each sentence, in order of the first member with the tree.
    choice : int64, axes (members, sentences)
        Index of each member's tree.
    """

    trees: list[list[Tree]]
    choice: Longs

    @classmethod
    def of(cls, outputs: Sequence[Sequence[Tree]]) -> TreeLists:
        """From the members' trees: one sequence per member, over the same sentences."""
        numbers: list[dict[Tree, int]] = [{} for _ in outputs[0]]
        choice = [
            [
                known.setdefault(tree, len(known))
                for known, tree in zip(numbers, output, strict=True)
            ]
            for output in outputs
        ]
        return cls([list(known) for known in numbers], np.array(choice, dtype=np.int64))


class Oracle(NamedTuple):
    """The best candidate of each sentence.

    Attributes
    ----------
    trees
        The best candidates.
    choice
        Their indices among the candidates; the first of equal ones.
    f1
        Corpus F1 of these trees, 0..1; None if undefined.
    """

    trees: list[Tree]
    choice: list[int]
    f1: float | None


def oracle(
    gold: Sequence[Tree],
    candidates: Sequence[Sequence[Tree]],
    options: ParsevalOptions = EVALB_COLLINS,
) -> Oracle:
    """The candidate of each sentence with the best F1 against the gold tree.

    Parameters
    ----------
    gold
        Gold trees.
    candidates
        At least one candidate for each.
    options
        Options of scoring; no label may be equal to two others.

    Cost
    ----
    Linear in the nodes of all candidates.

    References
    ----------
    charniak-2005, section 4; narayan-2015, section 6.
    """
    choice = []
    for gold_tree, trees in zip(gold, candidates, strict=True):
        choice.append(int(np.argmax(compare([gold_tree], trees, options).f1[0])))
    trees = [of_sentence[place] for of_sentence, place in zip(candidates, choice, strict=True)]
    return Oracle(trees, choice, score(gold, trees, options).all.f1)


class Diversity(NamedTuple):
    """Measures of the diversity of members.

    Attributes
    ----------
    f1 : float64, axes (members, members)
        Corpus F1 of one member's trees against another's, 0..1; 1 on the diagonal.
    mean_f1 : float
        Mean over pairs of different members; 1 for a single member.
    all_agree : float
        Fraction of sentences for which all members have the same tree.
    distinct : float
        Mean number of distinct trees per sentence.
    """

    f1: Floats
    mean_f1: float
    all_agree: float
    distinct: float


def diversity(candidates: TreeLists, options: ParsevalOptions = EVALB_COLLINS) -> Diversity:
    """The diversity of members' trees.

    Parameters
    ----------
    candidates
        Trees of at least one member and one sentence.
    options
        Options of scoring; no label may be equal to two others.

    Cost
    ----
    Linear in the nodes of all candidates; for each sentence, quadratic in the members, and in the
    candidates times the number of brackets.
    """
    choice = candidates.choice
    pairs = Pairs.none(len(choice))
    for trees, of_sentence in zip(candidates.trees, choice.T, strict=True):
        pairs.add(trees, of_sentence, options)
    return diversity_of(pairs, choice)


class Pairs(NamedTuple):
    """Counts of brackets for all pairs of members, summed over sentences.

    Attributes
    ----------
    matched, total : float64, axes (members, members)
        Brackets in common, and brackets of both together.
    """

    matched: Floats
    total: Floats

    @classmethod
    def none(cls, n_members: int) -> Pairs:
        """Counts of no sentences."""
        return cls(*np.zeros((2, n_members, n_members)))

    def add(
        self, trees: Sequence[Tree], choice: Longs | Sequence[int], options: ParsevalOptions
    ) -> None:
        """Add a sentence, given its trees and the index of each member's tree."""
        comparison = compare(trees, trees, options)
        places = np.asarray(choice)
        pairs = np.ix_(places, places)
        np.add(self.matched, comparison.matched[pairs], out=self.matched)
        np.add(self.total, comparison.total[pairs], out=self.total)


def diversity_of(pairs: Pairs, choice: Longs) -> Diversity:
    """The diversity of members, given the counts of their brackets.

    Parameters
    ----------
    pairs
        Counts for all pairs of members.
    choice : int64, axes (members, sentences)
        Index of each member's tree among those of the sentence.
    """
    matched, total = pairs
    f1 = np.divide(2 * matched, total, out=np.ones_like(total), where=total > 0)
    off_diagonal = f1[~np.eye(len(f1), dtype=bool)]
    distinct = [len(np.unique(of_sentence)) for of_sentence in choice.T]
    return Diversity(
        f1,
        float(off_diagonal.mean()) if len(f1) > 1 else 1.0,
        distinct.count(1) / len(distinct),
        sum(distinct) / len(distinct),
    )


class Comparison(NamedTuple):
    """Comparison of trees of one sentence, as by `eigentree.evaluation.parseval.score`.

    Attributes
    ----------
    matched : float64, axes (trees, other trees)
        Brackets in common.
    total : float64, axes (trees, other trees)
        Brackets of both trees together.
    f1 : float64, axes (trees, other trees)
        F1, 0..1; -1 for trees that can't be compared.
    """

    matched: Floats
    total: Floats
    f1: Floats


def compare(one: Sequence[Tree], other: Sequence[Tree], options: ParsevalOptions) -> Comparison:
    """Compare all pairs of trees of the same sentence.

    Parameters
    ----------
    one
        Trees that are compared as gold trees.
    other
        Trees that are compared as parsed trees; may be the same sequence, which takes half the
        time.
    options
        Options of scoring; no label may be equal to two others.

    Cost
    ----
    Linear in the nodes, and in pairs of trees times distinct brackets.
    """
    name_of = _names(options)
    trees = one if one is other else [*one, *other]
    rows: list[int] = []
    columns: list[int] = []
    numbers: dict[tuple[str, int, int, int], int] = {}
    sentences: dict[tuple[str, ...], int] = {}
    sentence = []
    for row, (words, brackets) in enumerate(counted_brackets(trees, options)):
        sentence.append(sentences.setdefault(tuple(words), len(sentences)))
        n_before: Counter[tuple[str, int, int]] = Counter()
        for label, start, end in brackets:
            key = (name_of.get(label, label) if options.labelled else "", start, end)
            rows.append(row)
            columns.append(numbers.setdefault((*key, n_before[key]), len(numbers)))
            n_before[key] += 1
    has = np.zeros((len(trees), len(numbers)))
    has[rows, columns] = 1.0
    size, of_words = has.sum(axis=1), np.array(sentence)
    left, right = slice(len(one)), slice(-len(other), None)
    matched = has[left] @ has[right].T
    total = size[left, None] + size[right]
    f1 = np.divide(2 * matched, total, out=np.ones_like(total), where=total > 0)
    # Trees with different scored words, which depend on tags, are compared by the scorer.
    differ = of_words[left, None] != of_words[right]
    if () in sentences:
        differ |= of_words[right] == sentences[()]
    for i, j in np.argwhere(differ):
        (record,) = score([one[i]], [other[j]], options).sentences
        matched[i, j] = record.matched
        total[i, j] = record.gold + record.parsed
        f1[i, j] = -1.0 if record.f1 is None else record.f1
    return Comparison(matched, total, f1)


def _names(options: ParsevalOptions) -> dict[str, str]:
    """Maps the second of two equal labels to the first."""
    labels = [label for pair in options.equal_labels for label in pair]
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise SettingsError(
            f"equal_labels has {twice!r} twice; to compare many trees, each label must be equal to "
            "at most one other"
        )
    return {second: first for first, second in options.equal_labels}
