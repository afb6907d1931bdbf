"""Kernels over all binary trees of a sentence: bracket marginals, and the best tree.

A tree's weight is the product of w over its spans of one or more words.  In logarithms,
so that no length under- or overflows,

    inside(i, j) = log w(i, j) + log sum_k exp(inside(i, k) + inside(k, j)),    i < k < j,

and with p(whole sentence) = 1, from wide to narrow, each span distributes its marginal:

    p(i, k) and p(k, j) gain p(i, j) exp(log w(i, j) + inside(i, k) + inside(k, j) - inside(i, j)).

Spans (i, j), i <= j, are sorted by i, then by j; empty ones are included.
"""

from __future__ import annotations

import math

from eigentree._core.jit import inner_kernel, kernel
from eigentree.types import Floats, Longs


@kernel
def row_of(start: int, n_words: int) -> int:
    """Index of the empty span at a position; wider spans from there follow in order."""
    return start * (n_words + 1) - start * (start - 1) // 2


@kernel
def bracket_marginals(
    n_words: Longs, first: Longs, log_weight: Floats, inside: Floats, out_marginal: Floats
) -> float:
    """Fill the marginals of all spans; returns the sum of the logarithms of the sentences' totals.

    Sentence s has ``n_words[s]`` >= 1 words, and its spans start at index ``first[s]``; ``inside``
    has room for the longest sentence.  O(n^3) time per sentence.
    """
    log_total = 0.0
    for s in range(len(n_words)):
        n = n_words[s]
        n_spans = row_of(n, n) + 1
        weight = log_weight[first[s] : first[s] + n_spans]
        marginal = out_marginal[first[s] : first[s] + n_spans]
        fill_inside(n, weight, inside)
        log_total += inside[n]
        for place in range(n_spans):
            marginal[place] = 0.0
        marginal[n] = 1.0
        for width in range(n, 1, -1):
            for i in range(n - width + 1):
                j = i + width
                row = row_of(i, n) - i
                passed = marginal[row + j]
                rest = weight[row + j] - inside[row + j]
                for k in range(i + 1, j):
                    right = row_of(k, n) - k + j
                    share = passed * math.exp(rest + inside[row + k] + inside[right])
                    marginal[row + k] += share
                    marginal[right] += share
    return log_total


@inner_kernel
def fill_inside(n: int, weight: Floats, out_inside: Floats) -> None:
    """Fill the inside values of the spans of one or more words of a sentence."""
    for i in range(n):
        out_inside[row_of(i, n) + 1] = weight[row_of(i, n) + 1]
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            row = row_of(i, n) - i
            largest = -math.inf
            for k in range(i + 1, j):
                largest = max(largest, out_inside[row + k] + out_inside[row_of(k, n) - k + j])
            total = 0.0
            for k in range(i + 1, j):
                value = out_inside[row + k] + out_inside[row_of(k, n) - k + j]
                total += math.exp(value - largest)
            out_inside[row + j] = weight[row + j] + largest + math.log(total)


@kernel
def best_splits(n: int, weight: Floats, margin: float, out_value: Floats, out_split: Longs) -> None:
    """Fill the best weight below each span, and the split that attains it.

    Among splits whose values differ by at most ``margin``, the first is chosen.  O(n^3) time.
    """
    for i in range(n):
        out_value[row_of(i, n) + 1] = weight[row_of(i, n) + 1]
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            row = row_of(i, n) - i
            best, split = -math.inf, i + 1
            for k in range(i + 1, j):
                value = out_value[row + k] + out_value[row_of(k, n) - k + j]
                if value > best + margin:
                    best, split = value, k
            out_value[row + j] = weight[row + j] + best
            out_split[row + j] = split
