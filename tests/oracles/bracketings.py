"""All binary trees over a number of words, and the constituent-context model by their list.

Slow and plain on purpose: dictionaries of tuples, no chart, no compiled code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from math import exp, log

EDGE = "<edge>"

Span = tuple[int, int]


@cache
def binary_trees(start: int, end: int) -> tuple[frozenset[Span], ...]:
    """Every binary tree over start..end, as its spans of one word or more."""
    own = frozenset({(start, end)})
    if end - start == 1:
        return (own,)
    return tuple(
        own | left | right
        for split in range(start + 1, end)
        for left in binary_trees(start, split)
        for right in binary_trees(split, end)
    )


def split_probability(tree: frozenset[Span]) -> float:
    """The probability of a tree whose spans are split anywhere alike, from the top on."""
    probability = 1.0
    for start, end in tree:
        probability /= max(end - start - 1, 1)
    return probability


def span_marginals(weights: Sequence[float], trees: Sequence[frozenset[Span]]) -> dict[Span, float]:
    found: dict[Span, float] = defaultdict(float)
    for weight, tree in zip(weights, trees, strict=True):
        for span in tree:
            found[span] += weight / sum(weights)
    return found


def all_spans(n_words: int) -> list[Span]:
    return [(i, j) for i in range(n_words + 1) for j in range(i, n_words + 1)]


def descriptions(tags: Sequence[str], span: Span) -> tuple[tuple[str, ...], ...]:
    """What a span is told by: its yield, and its context with a mark that keeps them apart."""
    start, end = span
    padded = (EDGE, *tags, EDGE)
    return ("yield", *tags[start:end]), ("context", padded[start], padded[end + 1])


def learn(
    sentences: Sequence[Sequence[str]], iterations: int, yes: float, no: float
) -> tuple[dict[tuple[str, ...], float], list[float]]:
    """P(constituent | yield or context) after some steps, and the objective after each."""
    uses: dict[tuple[str, ...], int] = defaultdict(int)
    for tags in sentences:
        for span in all_spans(len(tags)):
            for what in descriptions(tags, span):
                uses[what] += 1
    own_trees = [binary_trees(0, len(tags)) for tags in sentences]
    marginals = [
        span_marginals([split_probability(tree) for tree in trees], trees) for trees in own_trees
    ]
    objectives = []
    for _ in range(iterations):
        counts: dict[tuple[str, ...], float] = defaultdict(float)
        for tags, found in zip(sentences, marginals, strict=True):
            for span, probability in found.items():
                for what in descriptions(tags, span):
                    counts[what] += probability
        chance = {what: (counts[what] + yes) / (uses[what] + yes + no) for what in uses}
        objective = sum(yes * log(p) + no * log(1.0 - p) for p in chance.values())
        marginals = []
        for tags, trees in zip(sentences, own_trees, strict=True):
            weights = []
            for tree in trees:
                value = 0.0
                for span in all_spans(len(tags)):
                    for what in descriptions(tags, span):
                        value += log(chance[what] if span in tree else 1.0 - chance[what])
                weights.append(exp(value))
            objective += log(sum(weights))
            marginals.append(span_marginals(weights, trees))
        objectives.append(objective)
    return chance, objectives
