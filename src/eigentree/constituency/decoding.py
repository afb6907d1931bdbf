"""From what pruning has left of a sentence to its trees: marginals, the best tree, the next ones.

The latent grammar is tried first, then the plain PCFG that pruned, whose marginals are there
already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from eigentree.constituency.chart.decode import (
    Decoded,
    Gains,
    Labels,
    Objective,
    bracket_marginals,
    decode,
    gains,
    phrase_chains,
)
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals, inside_outside
from eigentree.constituency.chart.k_best import k_best
from eigentree.constituency.chart.marginals import Marginal, RuleMarginal, labelled_spans, rule_uses
from eigentree.constituency.chart.pruning import Pruned
from eigentree.constituency.chart.tree_value import on_trees
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.pruning_schedule import Attempt
from eigentree.constituency.result import (
    Alternative,
    Bracket,
    Fallback,
    ParseResult,
    mean_confidence,
)
from eigentree.treebank.binarise import unbinarise
from eigentree.treebank.tree import with_tags


class Found(NamedTuple):
    """The best tree of a sentence, and what it was found by.

    Attributes
    ----------
    words
    fallback
        What was given up for it.
    decoded, forest, gains, labels
    marginals, grammar
        Of the forest, under that grammar.
    backbone
        Its plain PCFG.
    """

    words: list[str]
    fallback: Fallback | None
    decoded: Decoded
    forest: Forest
    gains: Gains
    labels: Labels
    marginals: Marginals
    grammar: LPCFG | KruskalGrammar
    backbone: PCFG

    def result(self, tags: Sequence[str | None]) -> ParseResult:
        """The tree and its brackets; given tags stand in place of those that the search found."""
        tree = with_tags(unbinarise(self.decoded.tree), tags)
        confidences = bracket_marginals(
            self.decoded.items, self.forest, self.marginals, self.backbone.symbols, self.labels
        )
        spans = tree.spans()
        brackets = tuple(
            Bracket(*span, confidence) for span, confidence in zip(spans, confidences, strict=True)
        )
        return ParseResult(
            self.words,
            tree.tags(),
            tree,
            brackets,
            mean_confidence(brackets),
            self.marginals.log_value,
            self.marginals.sign,
            self.fallback,
        )

    def alternatives(self, tags: Sequence[str | None], best: int) -> tuple[Alternative, ...]:
        """So many of the best trees, or fewer; tags as of `result`."""
        labels, symbols = self.labels, self.backbone.symbols
        several = k_best(self.forest, self.gains, symbols, best)
        values: Iterable[tuple[float | None, int]] = repeat((None, 1), len(several.value))
        shares: Iterable[float | None] = repeat(None, len(several.value))
        # The rules of free trees, if there are any, nobody has looked at.
        if not self.gains.free:
            values = on_trees(several.forest, self.grammar)
            if not self.grammar.signed:
                logs = np.array([log_value for log_value, _ in values])
                shares = np.minimum(np.exp(logs - self.marginals.log_value), 1.0).tolist()
        sure = several.sums(labels.per_item(np.clip(labels.sums(self.marginals.item), 0.0, 1.0)))
        n_labels = several.sums(np.diff(labels.first))
        means = [
            total / number if number else None
            for total, number in zip(sure.tolist(), n_labels.tolist(), strict=True)
        ]
        trees = several.trees(symbols, self.words, tags)
        columns = zip(trees, several.value.tolist(), values, shares, means, strict=True)
        return tuple(
            Alternative(tree, objective, *value, share, mean)
            for tree, objective, value, share, mean in columns
        )

    def spans(self, least: float) -> tuple[Marginal, ...]:
        """Labelled spans of all trees with marginals of at least some size."""
        forest, signed = self.forest, self.grammar.signed
        chains = phrase_chains(self.backbone.symbols)
        items = forest.item_symbol, forest.item_start, forest.item_end
        weight = self.marginals.item
        return tuple(labelled_spans(self.labels, chains, *items, weight, least, signed=signed))

    def rules(self, least: float) -> list[RuleMarginal]:
        """Uses of binary rules with marginals of at least some size."""
        return rule_uses(self.forest, self.marginals, self.backbone, least)


def search(
    words: list[str],
    attempt: Attempt,
    grammar: LPCFG,
    kruskal: KruskalGrammar | None = None,
    *,
    objective: Objective,
    absolute: bool,
) -> Found | None:
    """The best tree of what pruning has left; None where no grammar has usable marginals.

    Parameters
    ----------
    words
        Of the sentence.
    attempt
        Its forest, and what was given up for it.
    grammar
        The latent grammar.
    kruskal
        Its Kruskal form, which has pruned in place of the plain PCFG and so has done all that
        there is to do.
    objective, absolute
        As of `eigentree.constituency.parser.ParserOptions`; where the plain PCFG has to do,
        ``spans``.
    """
    forest, backbone = attempt.pruned.forest, grammar.backbone
    labels = Labels.of(forest, backbone.symbols)
    for marginals, used, is_coarse in _under_each_grammar(attempt.pruned, grammar, kruskal):
        if marginals is None:
            continue
        gain = gains(
            "spans" if is_coarse else objective,
            forest, marginals, grammar, absolute=absolute, labels=labels,
        )  # fmt: skip
        decoded = decode(forest, gain, backbone.symbols, words)
        if decoded is not None:
            fallback = attempt.fallback or ("coarse" if is_coarse else None)
            return Found(words, fallback, decoded, forest, gain, labels, marginals, used, backbone)
    return None


def _under_each_grammar(
    pruned: Pruned, grammar: LPCFG, kruskal: KruskalGrammar | None
) -> Iterator[tuple[Marginals | None, LPCFG | KruskalGrammar, bool]]:
    """Marginals, their grammar, and whether it is but the coarse one."""
    if kruskal is not None:
        yield pruned.marginals(), kruskal, False
        return
    yield inside_outside(pruned.forest, grammar), grammar, False
    yield pruned.marginals(), one_state(grammar.backbone), True
