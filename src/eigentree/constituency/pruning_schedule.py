"""What the plain PCFG leaves of a sentence, with more and more restrictions given up.

First the words stand under the tags that they came with, or that the tagger found likely; the
threshold of pruning falls until there is a tree.  Then tags are set free, and it is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from eigentree.constituency.chart.arrays import Leaves, Permitted
from eigentree.constituency.chart.constraints import permitted_by
from eigentree.constituency.chart.pruning import FullMarginals, Pruned, has_tree, kept, prune
from eigentree.constituency.grammar.lexical_candidates import under_guesses, under_tags
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.result import Fallback
from eigentree.sentence_input import PreparedSentence

# Pruning thresholds are relaxed by this factor, then to none at all.
RELAXATION = 1e-3

# Marginals of all symbols over all spans, None where there is no tree.
FullChart = Callable[[Leaves, Permitted | None], FullMarginals | None]


class Attempt(NamedTuple):
    """What the plain PCFG leaves of a sentence, and what was given up for it."""

    pruned: Pruned
    fallback: Fallback | None


def attempts_at(
    backbone: PCFG,
    sentence: PreparedSentence,
    threshold: float,
    full_chart: FullChart | None = None,
) -> Iterator[Attempt]:
    """Prune a sentence, again and again as long as more is asked for.

    Parameters
    ----------
    sentence
        At least one word.
    threshold
        Least marginal of what is kept at first.
    full_chart
        Makes the chart that is cut down; None for one that is pruned as it grows.
    """
    for leaves, permitted, thresholds, fallback in _steps(backbone, sentence, threshold):
        pruner = _pruner(backbone, leaves, permitted, full_chart)
        for number, least in enumerate(dict.fromkeys((*thresholds, 0.0))):
            # Only the first try is beamed, lest what it drops be missed.
            pruned = pruner(least, 0.0 if number else None)
            if pruned is None and number:
                break  # there is no tree at all, however little is pruned
            if pruned is None:
                continue
            relaxed: Fallback | None = "threshold" if number else None
            yield Attempt(pruned, fallback or relaxed)


def any_tree(backbone: PCFG, sentence: PreparedSentence) -> bool:
    """Whether a sentence has a tree that keeps its constraints, be it under other tags.

    Cost
    ----
    An inside pass without a beam, or two.
    """
    everything = Permitted.everything(len(sentence.words), len(backbone.symbols))
    return any(
        has_tree(backbone, leaves, permitted or everything)
        for leaves, permitted, *_ in _steps(backbone, sentence, 0.0)
    )


class _Step(NamedTuple):
    """What words may be, what is permitted over them, and how much is to be pruned."""

    leaves: Leaves
    permitted: Permitted | None
    thresholds: list[float]
    fallback: Fallback | None


def _steps(backbone: PCFG, sentence: PreparedSentence, threshold: float) -> Iterator[_Step]:
    """Candidates of the words, and the thresholds that they are tried with."""
    words, tags, guesses, constraints = sentence
    numbers = [-1] * len(words) if tags is None else backbone.tag_numbers(tags)
    fixed = constraints.tags if constraints else {}
    for place, number in zip(fixed, backbone.tag_numbers(fixed.values()), strict=True):
        if number < 0:
            return
        numbers[place] = number
    permitted = None
    if constraints:
        permitted = permitted_by(constraints, backbone.symbols, len(words))
    # Words whose given tags are unknown have to be left free from the start.
    pairs = zip(sentence.given, numbers, strict=True)
    is_free = any(tag is not None and number < 0 for tag, number in pairs)
    first: Fallback | None = "tags" if is_free else None
    steps: list[tuple[bool, list[float], Fallback | None]] = [
        (False, [threshold, threshold * RELAXATION], first),
        (True, [threshold], "tags"),
    ]
    for free, thresholds, fallback in steps:
        if guesses is not None and not free:
            candidates = under_guesses(backbone, words, guesses, numbers)
        else:
            candidates = under_tags(backbone, words, numbers, free=free)
        for place in fixed if free else ():
            (candidates[place],) = under_tags(
                backbone, words[place : place + 1], numbers[place : place + 1], free=False
            )
        leaves: Leaves | None = Leaves.of(candidates)
        if permitted is not None and leaves is not None:
            leaves = leaves.within(permitted)
        if leaves is not None:
            yield _Step(leaves, permitted, thresholds, fallback)


def _pruner(
    backbone: PCFG, leaves: Leaves, permitted: Permitted | None, full_chart: FullChart | None
) -> Callable[[float, float | None], Pruned | None]:
    """How a sentence is pruned at a threshold and a beam; full charts are made only once."""
    if full_chart is None:
        return lambda least, beam: prune(backbone, leaves, least, beam=beam, permitted=permitted)
    marginals = full_chart(leaves, permitted)
    return lambda least, _: None if marginals is None else kept(backbone, leaves, marginals, least)
