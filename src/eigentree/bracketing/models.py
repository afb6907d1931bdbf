"""The models of a bracketing parser: from tags without punctuation to the best binary tree.

A model is any class with a tag map and a method ``brackets``; `eigentree.bracketing.model_file`
stores them.  The best tree is the shortest tree of distances between words, the most probable tree
of a constituent-context model, or the tree with the greatest expected number of correct spans of
two such models that were initialised by distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from eigentree.bracketing.ccm import (
    ConstituentContextModel,
    crosses_marks,
)
from eigentree.bracketing.chart.binary_trees import best_binary_tree, span_marginals
from eigentree.bracketing.chart.minimum_evolution import minimum_evolution
from eigentree.bracketing.tree_metric import TreeMetric
from eigentree.errors import GrammarError
from eigentree.treebank.io.unlabelled import Pair
from eigentree.treebank.universal_tags import TagMap


class BestTree(NamedTuple):
    """The best binary tree of a sentence under a model.

    ``spans`` are half-open, have two or more words, and include the whole sentence; ``top`` is
    the position at which the root splits it, 0 for fewer than two words; ``score`` is in the
    model's own unit, higher is better.
    """

    spans: frozenset[Pair]
    top: int
    score: float


class BracketingModel(Protocol):
    """The interface that a bracketing parser requires of a model."""

    @property
    def tag_map(self) -> TagMap:
        """Identifies punctuation, and verbs for the rule of the root split."""

    def brackets(self, tags: Sequence[str], top: int = 0, marks: Sequence[int] = ()) -> BestTree:
        """The best tree of a sentence.

        Parameters
        ----------
        tags
            Tags of the words without punctuation, before the map; unknown ones are allowed.
        top
            Position at which the root must split them; 0 for any.
        marks
            Positions between them where punctuation was removed.

        Raises
        ------
        GrammarError
            When `top` is outside the sentence.
        """


@dataclass(frozen=True)
class MetricModel:
    """Distances between words; the score is minus the length of the tree.

    Attributes
    ----------
    metric
        The distances.
    least_squares
        Whether edge lengths are estimated by least squares; see
        `eigentree.bracketing.chart.minimum_evolution`.
    """

    metric: TreeMetric
    least_squares: bool = False

    @property
    def tag_map(self) -> TagMap:
        return self.metric.tag_map

    def brackets(
        self,
        tags: Sequence[str],
        top: int = 0,
        marks: Sequence[int] = (),  # noqa: ARG002 - only some models use it
    ) -> BestTree:
        """The shortest tree of a sentence; see `BracketingModel`."""
        distances = self.metric.distances(tags)
        best = minimum_evolution(distances, least_squares=self.least_squares).best(top or None)
        spans = frozenset((start, end) for start, end, _ in best.spans.tolist())
        return BestTree(spans, best.top, -best.length)


@dataclass(frozen=True)
class ContextModel:
    """A constituent-context model of unmapped tags; the score is the sum of log-odds in nats.

    Attributes
    ----------
    constituents
        The constituent-context model.
    tag_map
        Used for punctuation and verbs only.
    """

    constituents: ConstituentContextModel
    tag_map: TagMap

    def brackets(
        self,
        tags: Sequence[str],
        top: int = 0,
        marks: Sequence[int] = (),  # noqa: ARG002 - only some models use it
    ) -> BestTree:
        """The most probable tree of a sentence; see `BracketingModel`."""
        best = self.constituents.best_tree(tags, top or None)
        return BestTree(best.spans, best.top, best.weight)


@dataclass(frozen=True)
class ContextPairModel:
    """Two constituent-context models, initialised by the trees of a metric.

    Each gives every span a marginal, from its log-odds less a penalty where it crosses punctuation.
    The best tree has the greatest sum of both models' mean marginals, which is its score: the
    expected number of correct spans of two or more words.  See
    `eigentree.bracketing.learn.ccm_from_metric`.

    Attributes
    ----------
    own
        The model of unmapped tags.
    universal
        The model of universal tags.
    tag_map
    charge
        Penalty of a span that has a mark inside and is not delimited by marks, in nats.

    Raises
    ------
    GrammarError
        When the charge is negative or not finite.
    """

    own: ConstituentContextModel
    universal: ConstituentContextModel
    tag_map: TagMap
    charge: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.charge < float("inf"):
            raise GrammarError(f"charge is {self.charge}; it must be 0 or more")

    def brackets(self, tags: Sequence[str], top: int = 0, marks: Sequence[int] = ()) -> BestTree:
        """The tree with the greatest expected number of correct spans; see `BracketingModel`."""
        n = len(tags)
        charges = self.charge * crosses_marks(n, marks)
        universal = [self.tag_map(tag) for tag in tags]
        both = (self.own.log_odds(tags), self.universal.log_odds(universal))
        marginals = np.array([span_marginals(log_odds - charges, n) for log_odds in both])
        best = best_binary_tree(marginals.mean(axis=0), n, top or None)
        return BestTree(best.spans, best.top, best.weight - n if n > 1 else 0.0)
