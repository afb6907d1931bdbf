"""Pruning by the plain PCFG; restrictions are relaxed step by step until there is a tree.

At first each word has its given tag, or the tags that the tagger finds likely, and the pruning
threshold is lowered in steps.  Then given tags are ignored, and the thresholds are tried again.

A sentence of one word has no rules that could overrule the tagger; see
`eigentree.constituency.one_word`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from eigentree.constituency.chart.arrays import Leaves, Permitted
from eigentree.constituency.chart.constraints import permitted_by
from eigentree.constituency.chart.exhaustive import exhaustive_marginals
from eigentree.constituency.chart.kruskal import KruskalFactors, kruskal_marginals
from eigentree.constituency.chart.pruning import (
    FullMarginals,
    Pruned,
    has_tree,
    likely_forest,
    prune,
)
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lexical_candidates import under_guesses, under_tags
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.one_word import one_word
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.result import Fallback
from eigentree.sentence_input import PreparedSentence

# The pruning threshold is lowered by this factor, then to 0.
RELAXATION = 1e-3

# Computes the marginals of all symbols over all spans; None if there is no tree.
FullChart = Callable[[Leaves, Permitted | None], FullMarginals | None]


class PrunedForest(NamedTuple):
    """The pruned forest of a sentence.

    Attributes
    ----------
    pruned
    fallback
        The restriction that was relaxed; None for none.
    given
        For each word the tag that it has in any tree; None where the search finds one.
    is_final
        Whether the forest is that of `one_word`: its marginals are not refined by latent states.
    """

    pruned: Pruned
    fallback: Fallback | None
    given: list[str | None]
    is_final: bool = False


def schedule(
    sentence: PreparedSentence,
    backbone: PCFG,
    options: ParserOptions,
    kruskal: KruskalGrammar | None = None,
    factors: KruskalFactors | None = None,
) -> Iterator[PrunedForest]:
    """The prunings of a sentence, each computed on demand.

    They depend on the backbone and the options, not on latent states, unless there is a Kruskal
    form.

    Parameters
    ----------
    sentence
        At least one word.
    backbone
        The plain PCFG.
    options
        Threshold and exhaustiveness of the chart.
    kruskal, factors
        A Kruskal form that prunes instead of the plain PCFG, and its factors; None for none.
    """
    full_chart: FullChart | None = None
    if kruskal is not None:
        full_chart = partial(kruskal_marginals, kruskal, factors=factors)
    elif options.exhaustive:
        full_chart = partial(exhaustive_marginals, backbone)
    return relaxed_prunings(backbone, sentence, options.threshold, full_chart)


def relaxed_prunings(
    backbone: PCFG,
    sentence: PreparedSentence,
    threshold: float,
    full_chart: FullChart | None = None,
) -> Iterator[PrunedForest]:
    """Prune a sentence, less strictly with each iteration.

    Parameters
    ----------
    sentence
        At least one word.
    threshold
        Minimum marginal in the first pruning.
    full_chart
        Computes the complete chart, which is then pruned; None to prune while the chart is
        computed.
    """
    is_alone = len(sentence.words) == 1 and sentence.tags is not None
    is_guessed = None in sentence.given
    for leaves, permitted, thresholds, fallback, free in _steps(backbone, sentence, threshold):
        given = sentence._replace(guesses=None).given if free else sentence.given
        if is_alone and free != is_guessed:
            decided = one_word(backbone, sentence, permitted)
            if decided is not None:
                yield PrunedForest(decided, None, given, is_final=True)
            if is_guessed and not sentence.constraints:
                continue
        pruner = _pruner(backbone, leaves, permitted, full_chart)
        for number, minimum in enumerate(dict.fromkeys((*thresholds, 0.0))):
            # Only the first pruning uses a beam: later ones recover what it dropped.
            pruned = pruner(minimum, 0.0 if number else None)
            if pruned is None and number:
                break  # there is no tree even without pruning
            if pruned is None:
                continue
            relaxed: Fallback | None = "threshold" if number else None
            if pruned.is_strict:
                relaxed = "memory"
            yield PrunedForest(pruned, fallback or relaxed, given)


def any_tree(backbone: PCFG, sentence: PreparedSentence) -> bool:
    """Whether a sentence has a tree, with any tags, that satisfies its constraints.

    Cost
    ----
    One or two inside passes without a beam.
    """
    everything = Permitted.everything(len(sentence.words), len(backbone.symbols))
    return any(
        has_tree(backbone, leaves, permitted or everything)
        for leaves, permitted, *_ in _steps(backbone, sentence, 0.0)
    )


class _Step(NamedTuple):
    """Candidate tags of the words, permitted labels of spans, and pruning thresholds.

    ``free`` is true if the search may ignore the given or guessed tags.
    """

    leaves: Leaves
    permitted: Permitted | None
    thresholds: list[float]
    fallback: Fallback | None
    free: bool


def _steps(backbone: PCFG, sentence: PreparedSentence, threshold: float) -> Iterator[_Step]:
    """Candidate tags of the words, each with the thresholds that are tried with them."""
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
    # Given tags that the grammar does not know are ignored from the start.
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
            yield _Step(leaves, permitted, thresholds, fallback, free)


def _pruner(
    backbone: PCFG, leaves: Leaves, permitted: Permitted | None, full_chart: FullChart | None
) -> Callable[[float, float | None], Pruned | None]:
    """A function that prunes by threshold and beam; a complete chart is computed once."""
    if full_chart is None:
        return lambda minimum, beam: prune(
            backbone, leaves, minimum, beam=beam, permitted=permitted
        )
    marginals = full_chart(leaves, permitted)
    return lambda minimum, _: (
        None if marginals is None else likely_forest(backbone, leaves, marginals, minimum)
    )
