"""Expectation maximisation for the constituent-context model.

The expectation step computes the marginal of each span, the probability that it is a constituent,
from the current odds (`eigentree.bracketing.ccm`).  The maximisation step sums the marginals over
the spans of each yield, and of each context, and adds pseudo-counts of constituents and
distituents:

    P(b = 1 | x) = (sum of marginals + constituents) / (spans + constituents + distituents).

Empty spans, never constituents, and single words, always constituents, are not hidden, but they
inform the odds of contexts.  No step lowers the objective

    sum over sentences of log sum over binary trees of P(b | yield) P(b | context) over all spans
    + sum over yields and contexts x of constituents log P(1 | x) + distituents log P(0 | x).

The first marginals are those of trees whose spans are split anywhere with equal probability, from
the whole sentence down.  They are the marginals under the weights 1 / (width - 1), since below a
span these sum to 1.  Alternatively they come from random P(1 | x), or from given trees, whose spans
have 1 and all others 0.

Long sentences are learned better after short ones.  Where several lengths are given, each stage
learns from the sentences up to the next length, initialised by the model of the stage before.

References
----------
Klein and Manning 2002; Klein 2005 for the first marginals and the pseudo-counts; Spitkovsky et
al. 2010 for learning from short sentences first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from eigentree._core.random import generator
from eigentree.bracketing.ccm import (
    ConstituentContextModel,
    Spans,
    indicators_of,
    positions_of,
    spans_of,
    trie_of,
)
from eigentree.bracketing.chart._kernels_binary_trees import bracket_marginals
from eigentree.errors import GrammarError, SettingsError, check_range
from eigentree.treebank.io.unlabelled import Pair
from eigentree.types import Floats, Longs


@dataclass(frozen=True)
class ConstituentContextOptions:
    """Options for learning a constituent-context model.

    Attributes
    ----------
    lengths
        Maximum sentence length of each stage, increasing; None, at the end only, for no limit.
    iterations
        Maximum number of maximisation steps per stage.
    tolerance
        A stage also ends once a step raises the relative objective by no more than this; 0
        disables the test.
    constituents, distituents
        Pseudo-counts of each yield and context as constituent and as distituent; above 0.
    start
        Initial marginals: ``"split"`` or ``"random"``.
    seed
        Seed of a random start.
    """

    lengths: tuple[int | None, ...] = (10,)
    iterations: int = 20
    tolerance: float = 0.0
    constituents: float = 2.0
    distituents: float = 8.0
    start: Literal["split", "random"] = "split"
    seed: int = 0

    def __post_init__(self) -> None:
        limits = [np.inf if longest is None else longest for longest in self.lengths]
        rising = all(one < other for one, other in pairwise(limits))
        if not limits or limits[0] < 2 or not rising:
            raise SettingsError(
                f"lengths is {self.lengths}; it must increase from 2 or more, None only at the end"
            )
        check_range(1, iterations=self.iterations)
        check_range(0, tolerance=self.tolerance)
        if not (0.0 < self.constituents < np.inf and 0.0 < self.distituents < np.inf):
            raise SettingsError(
                f"constituents and distituents are {self.constituents} and {self.distituents}; "
                "they must be above 0"
            )


class Step(NamedTuple):
    """A maximisation step: its stage and number, from 1, its model, and the model's objective."""

    stage: int
    iteration: int
    model: ConstituentContextModel
    objective: float


def learn_constituent_context(
    tag_sequences: Sequence[Sequence[str]],
    options: ConstituentContextOptions = ConstituentContextOptions(),
    *,
    trees: Sequence[frozenset[Pair]] | None = None,
    after_step: Callable[[Step], object] | None = None,
) -> ConstituentContextModel:
    """Learn which spans are constituents from sentences of tags alone.

    Parameters
    ----------
    tag_sequences
        Tags of each sentence, without punctuation.  Sentences of one word, and those too long for
        the last stage, are skipped.
    options
        Settings.
    trees
        Half-open spans of two or more words of each sentence, from which the first marginals are
        taken; replaces `start` of `options`.
    after_step
        Called after each maximisation step.

    Raises
    ------
    GrammarError
        When the first stage has no sentence of two or more words.
    SettingsError
        When the number of trees differs from that of sentences.

    Cost
    ----
    O(n^3) time per iteration and O(n^2) memory per sentence.
    """
    longest = options.lengths[-1]
    if trees is not None and len(trees) != len(tag_sequences):
        raise SettingsError(f"there are {len(trees)} trees for {len(tag_sequences)} sentences")
    places = [
        at
        for at, tags in enumerate(tag_sequences)
        if len(tags) > 1 and (longest is None or len(tags) <= longest)
    ]
    used = [tag_sequences[at] for at in places]
    names = tuple(sorted({tag for tags in used for tag in tags}))
    number = {tag: at for at, tag in enumerate(names)}
    sentences = [np.array([number[tag] for tag in tags], dtype=np.int64) for tags in used]
    shortest = options.lengths[0]
    if not any(shortest is None or len(tags) <= shortest for tags in used):
        raise GrammarError(
            f"there is no sentence of two to {shortest or 'any number of'} words to learn from"
        )
    keys = trie_of(positions_of(sentences, len(names)), len(names))
    model: ConstituentContextModel | None = None
    for stage, limit in enumerate(options.lengths, start=1):
        selected = [at for at, tags in enumerate(sentences) if limit is None or len(tags) <= limit]
        spans = spans_of([sentences[at] for at in selected], keys, len(names))
        learner = _Stage(names, keys, spans, options)
        before = -np.inf
        if model is not None:
            marginal, _ = learner.expect(model.span_log_odds(spans))
        elif trees is None:
            marginal, _ = learner.expect(learner.start())
        else:
            marginal = indicators_of([trees[places[at]] for at in selected], spans)
        for iteration in range(1, options.iterations + 1):
            model = learner.maximise(marginal)
            marginal, log_total = learner.expect(model.span_log_odds(learner.spans))
            objective = learner.objective(model, log_total)
            if after_step is not None:
                after_step(Step(stage, iteration, model, objective))
            if options.tolerance > 0.0 and objective - before <= options.tolerance * abs(objective):
                break
            before = objective
    assert model is not None
    return model


class _Stage:
    """The spans of the sentences of a stage, and both steps over them."""

    def __init__(
        self,
        names: tuple[str, ...],
        keys: Longs,
        spans: Spans,
        options: ConstituentContextOptions,
    ) -> None:
        self.names = names
        self.keys = keys
        self.spans = spans
        self.options = options
        self.n_contexts = (len(names) + 2) ** 2  # including an unknown tag, as in decoding
        self.yield_uses = np.bincount(spans.yields, minlength=len(keys) + 1)
        self.context_uses = np.bincount(spans.contexts, minlength=self.n_contexts)
        self.inside = np.empty((int(spans.n_words.max()) + 1) * (int(spans.n_words.max()) + 2) // 2)

    def start(self) -> Floats:
        """Log-odds of the spans for the first expectation step."""
        if self.options.start == "split":
            return np.asarray(-np.log(np.maximum(self.spans.width - 1, 1)), dtype=np.float64)
        rng = generator(self.options.seed)
        # The logit of a uniform draw has the logistic distribution.
        of_yields: Floats = rng.logistic(size=len(self.keys) + 1)
        of_contexts: Floats = rng.logistic(size=self.n_contexts)
        return np.asarray(of_yields[self.spans.yields] + of_contexts[self.spans.contexts])

    def expect(self, log_odds: Floats) -> tuple[Floats, float]:
        """Marginals of the spans, and the log of the sums over trees of products of odds."""
        spans = self.spans
        marginal = np.empty_like(log_odds)
        total = bracket_marginals(spans.n_words, spans.first, log_odds, self.inside, marginal)
        return marginal, total

    def maximise(self, marginal: Floats) -> ConstituentContextModel:
        """The model of expected counts."""
        options, size = self.options, len(self.names)

        def log_odds(of: Longs, uses: Longs) -> Floats:
            bracketed = np.bincount(of, marginal, minlength=len(uses))
            # Rounding may make the marginals of a yield slightly larger than its uses.
            others = np.maximum(uses - bracketed, 0.0)
            odds = (bracketed + options.constituents) / (others + options.distituents)
            return np.asarray(np.log(odds), dtype=np.float64)

        contexts = log_odds(self.spans.contexts, self.context_uses).reshape(size + 2, size + 2)
        return ConstituentContextModel(
            self.names,
            self.keys,
            log_odds(self.spans.yields, self.yield_uses),
            np.ascontiguousarray(contexts[:-1, :-1]),
            float(np.log(options.constituents) - np.log(options.distituents)),
        )

    def objective(self, model: ConstituentContextModel, log_total: float) -> float:
        """The objective, from the log of the sums over trees of products of odds."""
        options = self.options
        value = log_total
        for odds, uses in (
            (model.yield_log_odds, self.yield_uses),
            (model.context_log_odds, self.context_uses.reshape(len(self.names) + 2, -1)[:-1, :-1]),
        ):
            log_no = -np.logaddexp(0.0, odds)  # log P(b = 0 | x)
            seen = uses > 0
            prior = options.constituents * (odds + log_no) + options.distituents * log_no
            value += float((uses * log_no).sum() + prior[seen].sum())
        return value
