"""Constituent-context models that a tree metric has taught.

A tree metric (`eigentree.bracketing.learn.tree_metric`) knows words by their vectors and gives a
sentence its
shortest tree, but of each two words it knows no more than tags and places.  The constituent-context
model (`eigentree.bracketing.learn.ccm`) knows whole spans, what is in them and around them,
but expectation maximisation comes to whatever its first posteriors lead to, and leaves what is
good again as its objective rises.  So the one teaches the other:

1. The sentences of up to ten words get the shortest trees of the metric, with the root where the
   rule of `eigentree.bracketing.root_split` parts them.  These are the first posteriors, 1 or 0.
2. A maximisation step makes a model of them.  An expectation step and a second maximisation step
   let the model mend what most of its spans contradict; then it ends.  Two steps hold to what the
   metric knows, so that there is nothing to stop by gold trees.
3. That is done twice, for tags as they are and for universal tags, which see more examples of each
   yield.  The two make different mistakes.

A sentence is then given the tree of the greatest coverage: with p(s) the mean of both posteriors of
a span s,

    maximise over binary trees t:  sum over s in t of p(s),

which is the expected number of right spans.  Punctuation stands between phrases more often than
within them, and is the one thing that neither teacher nor pupils know: a span that has a mark
inside and doesn't reach from mark to mark is charged one nat of its log-odds.

References
----------
Parikh et al. 2014 for the metric; Klein and Manning 2002 for the model; Goodman 1996 for trees of
the greatest expected number of right spans.
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

# Chosen on dev parts in two languages; few steps and weak counts keep to the metric's trees.
TAUGHT = ConstituentContextOptions((10,), iterations=2, constituents=1.0, distituents=4.0)
TEACHER = MetricOptions(rank=15)


class TaughtContexts(NamedTuple):
    """Models of tags as they are, and of universal tags."""

    own: ConstituentContextModel
    universal: ConstituentContextModel


def learn_taught_contexts(
    sentences: Sequence[Tagged],
    metric: TreeMetric,
    options: ConstituentContextOptions = TAUGHT,
    *,
    after_step: Callable[[Step], object] | None = None,
) -> TaughtContexts:
    """Learn two constituent-context models from the shortest trees of a metric.

    Parameters
    ----------
    sentences
        Words and tags of each, with punctuation.  Those of one word, and those that the last stage
        finds too long, are left out.
    metric
        The teacher.
    options
        How models learn from it; `start` has no meaning.
    after_step
        Called after each maximisation step.

    Raises
    ------
    GrammarError
        When there is no sentence to learn from.

    Cost
    ----
    O(n^4) time a sentence for the metric's trees, O(n^3) for each step.
    """
    tag_map = metric.tag_map
    longest = options.lengths[-1]
    kept: list[list[str]] = []
    trees: list[frozenset[Pair]] = []
    for words, tags in sentences:
        own = [tag for tag in tags if not tag_map.is_punctuation(tag)]
        if len(own) > 1 and (longest is None or len(own) <= longest):
            best = minimum_evolution(metric.distances(own)).best(by_verbs(words, tags, tag_map))
            kept.append(own)
            trees.append(frozenset((start, end) for start, end, _ in best.spans.tolist()))
    universal = [[tag_map(tag) for tag in own] for own in kept]
    return TaughtContexts(
        *(
            learn_constituent_context(tags, options, trees=trees, after_step=after_step)
            for tags in (kept, universal)
        )
    )
