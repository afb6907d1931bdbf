"""How much the members of an ensemble differ, and how good the best of their trees would be.

The *oracle* takes of each sentence the candidate with the best F1 against the gold tree.  Its
corpus F1 bounds what any choice among the candidates can reach (nearly: the corpus F1 isn't the
mean of the sentences'), and is what Charniak and Johnson (2005) and Narayan and Cohen (2015,
section 6) report.  It rises when members differ, and when they are good; how much they differ
is told by the F1 of one member's trees against another's.

Each tree's brackets are found once, as `eigentree.evaluation` counts them, and compared as
bags, all candidates of a sentence at a time.
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
        Of each sentence, in the order of the first member that has each.
    choice : int64, axes (members, sentences)
        The place of each member's tree among them.
    """

    trees: list[list[Tree]]
    choice: Longs

    @classmethod
    def of(cls, outputs: Sequence[Sequence[Tree]]) -> TreeLists:
        """Those of the members' trees, one sequence a member, all over the same sentences."""
        numbers: list[dict[Tree, int]] = [{} for _ in outputs[0]]
        choice = [
            [own.setdefault(tree, len(own)) for own, tree in zip(numbers, output, strict=True)]
            for output in outputs
        ]
        return cls([list(own) for own in numbers], np.array(choice, dtype=np.int64))


class Oracle(NamedTuple):
    """The best candidates.

    Attributes
    ----------
    trees
        The best candidate of each sentence.
    choice
        Its place among the candidates; the first of equal ones.
    f1
        F1 of these trees over all sentences, a fraction; None where nothing counts.
    """

    trees: list[Tree]
    choice: list[int]
    f1: float | None


def oracle(
    gold: Sequence[Tree],
    candidates: Sequence[Sequence[Tree]],
    options: ParsevalOptions = EVALB_COLLINS,
) -> Oracle:
    """The candidate of each sentence with the best F1 against gold.

    Parameters
    ----------
    gold
        Correct trees.
    candidates
        At least one for each of them.
    options
        What counts; no label may be held equal to two others.

    Cost
    ----
    Linear in the nodes of all candidates.

    References
    ----------
    charniak-2005, section 4; narayan-2015, section 6.
    """
    choice = []
    for best, own in zip(gold, candidates, strict=True):
        choice.append(int(np.argmax(compare([best], own, options).f1[0])))
    trees = [own[place] for own, place in zip(candidates, choice, strict=True)]
    return Oracle(trees, choice, score(gold, trees, options).all.f1)


class Diversity(NamedTuple):
    """How much members differ.

    Attributes
    ----------
    f1 : float64, axes (members, members)
        F1 of one member's trees against another's over all sentences, a fraction; 1 on the
        diagonal.
    mean_f1 : float
        Its mean over pairs of two members; 1 for a single member.
    all_agree : float
        The share of sentences of which all members have the same tree.
    distinct : float
        Mean number of distinct trees a sentence.
    """

    f1: Floats
    mean_f1: float
    all_agree: float
    distinct: float


def diversity(candidates: TreeLists, options: ParsevalOptions = EVALB_COLLINS) -> Diversity:
    """How much the trees of members differ.

    Parameters
    ----------
    candidates
        Trees of at least one member and one sentence.
    options
        What counts; no label may be held equal to two others.

    Cost
    ----
    Linear in the nodes of all candidates, and for each sentence in the pairs of members and,
    with the number of brackets, in the pairs of candidates.
    """
    choice = candidates.choice
    pairs = Pairs.none(len(choice))
    for trees, own in zip(candidates.trees, choice.T, strict=True):
        pairs.add(trees, own, options)
    return diversity_of(pairs, choice)


class Pairs(NamedTuple):
    """Brackets of any two members, summed over sentences.

    Attributes
    ----------
    matched, total : float64, axes (members, members)
        Those that both have, and those of both.
    """

    matched: Floats
    total: Floats

    @classmethod
    def none(cls, n_members: int) -> Pairs:
        """Of no sentence yet."""
        return cls(*np.zeros((2, n_members, n_members)))

    def add(
        self, trees: Sequence[Tree], choice: Longs | Sequence[int], options: ParsevalOptions
    ) -> None:
        """Add a sentence, of which each member has chosen one of the trees."""
        found = compare(trees, trees, options)
        places = np.asarray(choice)
        pairs = np.ix_(places, places)
        np.add(self.matched, found.matched[pairs], out=self.matched)
        np.add(self.total, found.total[pairs], out=self.total)


def diversity_of(pairs: Pairs, choice: Longs) -> Diversity:
    """How much the trees of members differ, when their brackets are counted.

    Parameters
    ----------
    pairs
        Of the members.
    choice : int64, axes (members, sentences)
        The place of each member's tree among those of the sentence.
    """
    matched, total = pairs
    f1 = np.divide(2 * matched, total, out=np.ones_like(total), where=total > 0)
    off_diagonal = f1[~np.eye(len(f1), dtype=bool)]
    distinct = [len(np.unique(own)) for own in choice.T]
    return Diversity(
        f1,
        float(off_diagonal.mean()) if len(f1) > 1 else 1.0,
        distinct.count(1) / len(distinct),
        sum(distinct) / len(distinct),
    )


class Comparison(NamedTuple):
    """Trees of one sentence against others, as `eigentree.evaluate.score` compares them.

    Attributes
    ----------
    matched : float64, axes (trees, other trees)
        Equal brackets.
    total : float64, axes (trees, other trees)
        Brackets of both trees.
    f1 : float64, axes (trees, other trees)
        -1 for trees that can't be compared.
    """

    matched: Floats
    total: Floats
    f1: Floats


def compare(one: Sequence[Tree], other: Sequence[Tree], options: ParsevalOptions) -> Comparison:
    """Compare each tree with each other tree of the same sentence.

    Parameters
    ----------
    one
        In the place of gold trees.
    other
        In the place of parsed ones; may be the same sequence, which takes half the time.
    options
        What counts; no label may be held equal to two others.

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
    # Words that differ, say by tags that leave some out, are a matter for the scorer.
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
    """One name for labels that are held equal."""
    labels = [label for pair in options.equal_labels for label in pair]
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise SettingsError(
            f"equal_labels names {twice!r} twice; for bags of brackets each label must be held "
            "equal to one other at most"
        )
    return {second: first for first, second in options.equal_labels}
