"""From a pruned forest to trees: marginals, the best tree and further alternatives.

The latent grammar decodes first.  If it has no usable marginals, those of the plain PCFG are used,
which are known from pruning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

import numpy as np

from eigentree.constituency.chart.decode import (
    Decoded,
    Gains,
    Labels,
    bracket_marginals,
    gains,
    phrase_chains,
)
from eigentree.constituency.chart.decode import decode as decode_forest
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals, inside_outside
from eigentree.constituency.chart.k_best import k_best
from eigentree.constituency.chart.marginals import Marginal, RuleMarginal, labelled_spans, rule_uses
from eigentree.constituency.chart.tree_value import on_trees
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.one_word import tag_first
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.pruning_schedule import PrunedForest
from eigentree.constituency.result import (
    Alternative,
    Bracket,
    Fallback,
    ParseResult,
    mean_confidence,
)
from eigentree.sentence_input import PreparedSentence
from eigentree.treebank.binarise import unbinarise
from eigentree.treebank.tree import Tree, with_tags


class Derivation(NamedTuple):
    """The best tree of a sentence, with the forest and the marginals that it was decoded from.

    Attributes
    ----------
    sentence, pruning
    fallback
        The restriction that was relaxed; None for none.
    tree
        With given tags instead of those chosen by the search.
    decoded, gains, labels
    marginals, grammar
        Marginals of the forest under the grammar.
    backbone
        The plain PCFG of the grammar.
    """

    sentence: PreparedSentence
    pruning: PrunedForest
    fallback: Fallback | None
    tree: Tree
    decoded: Decoded
    gains: Gains
    labels: Labels
    marginals: Marginals
    grammar: LPCFG | KruskalGrammar
    backbone: PCFG

    @property
    def forest(self) -> Forest:
        """The forest that the tree was decoded from."""
        return self.pruning.pruned.forest

    def brackets(self) -> tuple[Bracket, ...]:
        """The phrases of the tree with their marginals."""
        confidences = bracket_marginals(
            self.decoded.items, self.forest, self.marginals, self.backbone.symbols, self.labels
        )
        spans = self.tree.spans()
        return tuple(
            Bracket(*span, confidence) for span, confidence in zip(spans, confidences, strict=True)
        )

    def alternatives(self, kbest: int) -> tuple[Alternative, ...]:
        """At most `kbest` trees that satisfy the constraints, best first."""
        labels, symbols = self.labels, self.backbone.symbols
        several = k_best(self.forest, self.gains, symbols, kbest)
        values: Iterable[tuple[float | None, int]] = repeat((None, 1), len(several.value))
        shares: Iterable[float | None] = repeat(None, len(several.value))
        if self.pruning.is_final:
            marginal = several.sums(self.marginals.item)
            logs = np.log(marginal) + self.marginals.log_value
            values, shares = zip(logs.tolist(), repeat(1), strict=False), marginal.tolist()
        # Free trees may have rules that the grammar lacks, so they have no value.
        elif not self.gains.free:
            values = on_trees(several.forest, self.grammar)
            if not self.grammar.signed:
                logs = np.array([log_value for log_value, _ in values])
                shares = np.minimum(np.exp(logs - self.marginals.log_value), 1.0).tolist()
        sums = several.sums(labels.per_item(np.clip(labels.sums(self.marginals.item), 0.0, 1.0)))
        n_labels = several.sums(np.diff(labels.first))
        means = [
            total / number if number else None
            for total, number in zip(sums.tolist(), n_labels.tolist(), strict=True)
        ]
        trees = several.trees(symbols, self.sentence.words, self.pruning.given)
        columns = zip(trees, several.value.tolist(), values, shares, means, strict=True)
        alternatives = tuple(
            Alternative(tree, objective, *value, share, mean)
            for tree, objective, value, share, mean in columns
        )
        constraints = self.sentence.constraints
        if constraints and self.gains.free:
            return tuple(each for each in alternatives if not constraints.broken_by(each.tree))
        return alternatives

    def spans(self, minimum: float) -> tuple[Marginal, ...]:
        """Labelled spans whose marginals have at least this absolute value."""
        forest, signed = self.forest, self.grammar.signed
        chains = phrase_chains(self.backbone.symbols)
        items = forest.item_symbol, forest.item_start, forest.item_end
        weight = self.marginals.item
        return tuple(labelled_spans(self.labels, chains, *items, weight, minimum, signed=signed))

    def rules(self, minimum: float) -> list[RuleMarginal]:
        """Uses of binary rules whose marginals have at least this absolute value."""
        return rule_uses(self.forest, self.marginals, self.backbone, minimum)


def decode(
    sentence: PreparedSentence,
    pruning: PrunedForest,
    grammar: LPCFG,
    kruskal: KruskalGrammar | None,
    options: ParserOptions,
) -> Derivation | None:
    """The best tree of a pruned forest.

    Parameters
    ----------
    sentence
        A sentence of at least one word, with or without constraints.
    pruning
        The forest, and the restriction that was relaxed for it.
    grammar
        The latent grammar.
    kruskal
        Its Kruskal form, which pruned instead of the plain PCFG and has the marginals already.
    options
        The decoder.  If only the plain PCFG has usable marginals, the decoder is ``spans``.

    Returns
    -------
    Derivation or None
        None if no grammar has usable marginals, or if the tree violates a constraint: decoders
        that do not follow rules may omit a span whose marginal is not above 0.
    """
    forest, backbone = pruning.pruned.forest, grammar.backbone
    labels = Labels.of(forest, backbone.symbols)
    for marginals, used, is_coarse in _under_each_grammar(pruning, grammar, kruskal):
        if marginals is None:
            continue
        if pruning.is_final:
            assert sentence.tags is not None
            gain = tag_first(pruning.pruned, backbone, *sentence.tags)
        else:
            gain = gains(
                "spans" if is_coarse else options.objective,
                forest, marginals, grammar, absolute=options.absolute,
                price=options.bracket_price, labels=labels,
            )  # fmt: skip
        decoded = decode_forest(forest, gain, backbone.symbols, sentence.words)
        if decoded is None:
            continue
        tree = with_tags(unbinarise(decoded.tree), pruning.given)
        if sentence.constraints and sentence.constraints.broken_by(tree):
            return None
        fallback = pruning.fallback or ("coarse" if is_coarse else None)
        return Derivation(
            sentence, pruning, fallback, tree, decoded, gain, labels, marginals, used, backbone
        )
    return None


def first_derivation(
    sentence: PreparedSentence,
    prunings: Iterable[PrunedForest],
    grammar: LPCFG,
    kruskal: KruskalGrammar | None,
    options: ParserOptions,
) -> Derivation | None:
    """The derivation of the first pruning that has one; see `decode`."""
    derivations = (decode(sentence, each, grammar, kruskal, options) for each in prunings)
    return next((each for each in derivations if each is not None), None)


def to_result(
    derivation: Derivation, kbest: int | None = None, minimum: float | None = None
) -> ParseResult:
    """The parse result of a derivation.

    Parameters
    ----------
    derivation
        That of a whole sentence or of a part.
    kbest
        Maximum number of alternatives; None for none.
    minimum
        Minimum absolute value of listed marginals; None for no marginals.
    """
    brackets = derivation.brackets()
    return ParseResult(
        derivation.sentence.words,
        derivation.tree.tags(),
        derivation.tree,
        brackets,
        mean_confidence(brackets),
        derivation.marginals.log_value,
        derivation.marginals.sign,
        derivation.fallback,
        alternatives=() if kbest is None else derivation.alternatives(kbest),
        marginals=() if minimum is None else derivation.spans(minimum),
    )


def flat_result(sentence: PreparedSentence, backbone: PCFG) -> ParseResult:
    """The last fall-back: the tagged words directly under a root."""
    words, tags, *_ = sentence
    if tags is None:
        # Neither the tagger nor the lexicon has a tag: the most frequent one.
        words_of = backbone.words
        most_frequent = words_of.symbols.tags[int(np.argmax(words_of.tag_count))]
        tags = [most_frequent] * len(words)
    leaves = [Tree(tag, (), word) for word, tag in zip(words, tags, strict=True)]
    return ParseResult(words, tags, Tree(backbone.root_label, leaves), fallback="flat")


def _under_each_grammar(
    pruning: PrunedForest, grammar: LPCFG, kruskal: KruskalGrammar | None
) -> Iterator[tuple[Marginals | None, LPCFG | KruskalGrammar, bool]]:
    """Marginals, their grammar, and whether it is the plain PCFG as a fall-back."""
    pruned = pruning.pruned
    if pruning.is_final:
        yield pruned.marginals(), one_state(grammar.backbone), False
        return
    if kruskal is not None:
        yield pruned.marginals(), kruskal, False
        return
    yield inside_outside(pruned.forest, grammar), grammar, False
    yield pruned.marginals(), one_state(grammar.backbone), True
