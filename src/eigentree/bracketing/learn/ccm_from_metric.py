"""Constituent-context models initialised by the trees of a metric.

A tree metric (`eigentree.bracketing.learn.tree_metric`) represents words by their vectors and gives
a sentence its shortest tree, but depends only on the tags of two words and their positions.  The
constituent-context model (`eigentree.bracketing.learn.ccm`) uses whole spans, their yields and
contexts, but the result of expectation maximisation depends on the first marginals, and its
accuracy may fall while its objective rises.  Therefore the metric initialises the model:

1. Sentences of up to ten words get the shortest trees of the metric, with the root at the position
   given by `eigentree.bracketing.root_split`.  The first marginals are 1 for their spans, else 0.
2. A maximisation step estimates a model from them; one expectation step and a second maximisation
   step correct spans that contradict the majority.  Two iterations stay close to the metric's
   trees, so no gold trees are needed for early stopping.
3. This is done twice, for the tags and for universal tags, which have more examples of each yield.
   The errors of the two models differ.

A sentence gets the tree with the greatest expected number of correct spans: with p(s) the mean of
both marginals of a span s,

    maximise over binary trees t:  sum over s in t of p(s).

Punctuation separates phrases more often than it is inside them, which neither the metric nor the
models use: a span that has a mark inside and is not delimited by marks has one nat
subtracted from its log-odds.

References
----------
Parikh et al. 2014 for the metric; Klein and Manning 2002 for the model; Goodman 1996 for trees of
the greatest expected number of correct spans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from eigentree.bracketing.ccm import ConstituentContextModel
from eigentree.bracketing.chart.minimum_evolution import minimum_evolution
from eigentree.bracketing.learn.ccm import (
    ConstituentContextOptions,
    Step,
    learn_constituent_context,
)
from eigentree.bracketing.learn.tree_metric import MetricOptions, Tagged
from eigentree.bracketing.root_split import by_verbs
from eigentree.bracketing.tree_metric import TreeMetric
from eigentree.treebank.io.unlabelled import Pair

# Chosen on the development sets of two languages; few iterations and weak pseudo-counts stay close
# to the metric's trees.
CONTEXT_DEFAULTS = ConstituentContextOptions((10,), iterations=2, constituents=1.0, distituents=4.0)
METRIC_DEFAULTS = MetricOptions(rank=15)


class ContextPair(NamedTuple):
    """Models of a sentence's tags and of universal tags."""

    own: ConstituentContextModel
    universal: ConstituentContextModel


def learn_ccm_from_metric(
    sentences: Sequence[Tagged],
    metric: TreeMetric,
    options: ConstituentContextOptions = CONTEXT_DEFAULTS,
    *,
    after_step: Callable[[Step], object] | None = None,
) -> ContextPair:
    """Learn two constituent-context models from the shortest trees of a metric.

    Parameters
    ----------
    sentences
        Words and tags of each, with punctuation.  Sentences of one word, and those too long for the
        last stage, are skipped.
    metric
        The metric that initialises the models.
    options
        Options of the models; `start` is not used.
    after_step
        Called after each maximisation step.

    Raises
    ------
    GrammarError
        When there is no sentence to learn from.

    Cost
    ----
    O(n^4) time per sentence for the metric's trees, O(n^3) for each step.
    """
    tag_map = metric.tag_map
    longest = options.lengths[-1]
    used: list[list[str]] = []
    trees: list[frozenset[Pair]] = []
    for words, tags in sentences:
        sentence_tags = [tag for tag in tags if not tag_map.is_punctuation(tag)]
        if len(sentence_tags) > 1 and (longest is None or len(sentence_tags) <= longest):
            best = minimum_evolution(metric.distances(sentence_tags)).best(
                by_verbs(words, tags, tag_map)
            )
            used.append(sentence_tags)
            trees.append(frozenset((start, end) for start, end, _ in best.spans.tolist()))
    universal = [[tag_map(tag) for tag in sentence_tags] for sentence_tags in used]
    return ContextPair(
        *(
            learn_constituent_context(tags, options, trees=trees, after_step=after_step)
            for tags in (used, universal)
        )
    )
