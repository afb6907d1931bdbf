"""Baseline bracketings, and the best binary one as the upper bound.

All are sets of half-open spans of two or more words, including the whole sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from eigentree.treebank.io.unlabelled import Pair

Spans = frozenset[Pair]


def left_branching(n_words: int) -> Spans:
    """A left-branching binary tree."""
    return frozenset((0, end) for end in range(2, n_words + 1))


def right_branching(n_words: int) -> Spans:
    """A right-branching binary tree."""
    return frozenset((start, n_words) for start in range(n_words - 1))


def random_branching(n_words: int, rng: np.random.Generator) -> Spans:
    """A uniformly random binary tree.

    Of the rotations of a row of n words and n - 1 nodes, in any order, exactly one lists a
    binary tree from the bottom up: every node after the words and nodes that it joins.

    References
    ----------
    Dvoretzky and Motzkin 1947 for the lemma.
    """
    if n_words < 2:
        return frozenset()
    row = rng.permutation(np.repeat([1, -1], [n_words, n_words - 1])).tolist()
    # A row of steps with the sum 1 stays above 0 when it begins after its last lowest point.
    sums = list(accumulate(row))
    begin = len(sums) - sums[::-1].index(min(sums))
    spans: list[Pair] = []
    built: list[Pair] = []
    n_read = 0
    for step in row[begin:] + row[:begin]:
        if step > 0:
            built.append((n_read, n_read + 1))
            n_read += 1
        else:
            (_, end), (start, _) = built.pop(), built.pop()
            built.append((start, end))
            spans.append((start, end))
    return frozenset(spans)


def binary_completion(gold: Iterable[Pair], n_words: int) -> Spans:
    """A binary tree with all gold spans, right-branching where they leave a choice.

    No binary tree has more of the gold spans, so its score is the upper bound for binary trees.

    Parameters
    ----------
    gold
        Half-open spans, none crossing another.
    n_words
        Words of the sentence.
    """
    spans = set() if n_words < 2 else {(0, n_words), *gold}
    waiting: list[Pair] = []  # children that have no parent yet, from left to right
    position = 0
    for start, end in sorted(spans, key=lambda span: (span[1], -span[0])):
        waiting.extend((word, word + 1) for word in range(position, end))
        position = end
        children: list[Pair] = []
        while waiting and waiting[-1][0] >= start:
            children.append(waiting.pop())
        spans.update((left, end) for left, _ in children[1:])
        waiting.append((start, end))
    return frozenset(spans)
