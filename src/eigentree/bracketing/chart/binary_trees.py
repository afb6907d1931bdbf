"""Dynamic programs over all binary trees of a sentence: marginals of spans, and the best tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentree.bracketing.chart._kernels_binary_trees import best_splits, bracket_marginals, row_of
from eigentree.errors import GrammarError
from eigentree.treebank.io.unlabelled import Pair
from eigentree.types import Floats

# Sums of logarithms that differ by less are equal up to rounding.
MARGIN = 1e-12


class WeightedTree(NamedTuple):
    """A binary tree of a sentence.

    Attributes
    ----------
    spans
        Half-open spans of two words or more, including the whole sentence; none for fewer words.
    top
        Position at which the root splits the sentence; 0 for fewer than two words.
    weight
        Sum of the weights of all spans with words; 0 for fewer than two words.
    """

    spans: frozenset[Pair]
    top: int
    weight: float


def span_marginals(log_odds: Floats, n_words: int) -> Floats:
    """Axes (span): the probability that each span is a constituent.

    Parameters
    ----------
    log_odds : float64, axes (span)
        Log-odds of the spans of a sentence, sorted by start, then by end; in nats.
    n_words
        Length of the sentence.

    Cost
    ----
    O(n^3) time and O(n^2) memory.
    """
    marginal = np.zeros_like(log_odds)
    if n_words:
        only, first = np.array([n_words]), np.array([0])
        bracket_marginals(only, first, log_odds, np.empty_like(log_odds), marginal)
    return marginal


def best_binary_tree(weight: Floats, n_words: int, top: int | None = None) -> WeightedTree:
    """The binary tree with the greatest sum of the weights of its spans.

    Among trees of equal weight, the one that branches to the right, from the top down, is chosen.

    Parameters
    ----------
    weight : float64, axes (span)
        Weights of the spans of a sentence, sorted by start, then by end.
    n_words
        Length of the sentence.
    top
        Position at which the root splits the sentence; None for the best.

    Raises
    ------
    GrammarError
        When one side of the root would have no words.

    Cost
    ----
    O(n^3) time and O(n^2) memory.
    """
    n = n_words
    if n < 2:
        return WeightedTree(frozenset(), 0, 0.0)
    if top is not None and not 0 < top < n:
        raise GrammarError(
            f"the root cannot split {n} words at position {top}; it must be 1 to {n - 1}"
        )
    value = np.empty_like(weight)
    split = np.zeros(len(weight), dtype=np.int64)
    best_splits(n, weight, MARGIN, value, split)
    if top is None:
        top = int(split[n])
    split[n] = top
    spans = [(0, n)]
    for start, end in spans:
        middle = int(split[row_of(start, n) + end - start])
        spans += [(i, j) for i, j in ((start, middle), (middle, end)) if j - i > 1]
    best = weight[n] + value[top] + value[row_of(top, n) + n - top]
    return WeightedTree(frozenset(spans), top, float(best))
