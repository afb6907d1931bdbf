"""Sentences of one word: short answers, headings, table cells.

A treebank has few of them, so most tags have no root in the grammar.  A chart over one word would
overrule the tagger: an unlikely tag with a root in training would win against a likely one without.
Therefore the tag is the tagger's best one, or the given one, and only the phrases over it depend on
the grammar.  A preterminal a of tag t with at least one phrase label has the probability

    p(a | t, w)  proportional to  p(w|a) (root(a) + r c(a) / c(t)),

where c counts the tag's preterminals in training, c(t) is their sum, and r is the smallest
probability of a root: all unseen roots of a tag together have the weight of about one tree.
"""

from __future__ import annotations

import math

import numpy as np

from eigentree.constituency.chart.arrays import Leaves, Permitted
from eigentree.constituency.chart.decode import Gains, group_sums
from eigentree.constituency.chart.pruning import FullMarginals, Pruned, likely_forest
from eigentree.constituency.grammar.lexical_candidates import under_guesses, under_tags
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.sentence_input import PreparedSentence
from eigentree.types import Floats


def one_word(
    backbone: PCFG, sentence: PreparedSentence, permitted: Permitted | None = None
) -> Pruned | None:
    """The preterminals of a sentence of one word, with their probabilities as marginals.

    Parameters
    ----------
    backbone
        The plain PCFG.
    sentence
        One word with its tag, or with several tags and their probabilities.
    permitted
        Permitted symbols; None for all.

    Returns
    -------
    Pruned or None
        None if the grammar has no permitted phrase over the best tag alone.
    """
    words, tags, guesses, _ = sentence
    assert tags is not None
    symbols, root = backbone.symbols, backbone.root
    (best,) = backbone.tag_numbers(tags)
    if best < 0:
        return None
    probability_of = np.zeros(len(symbols.tags))
    if guesses is None or guesses[0] is None:
        (candidates,) = under_tags(backbone, words, [best], free=False)
        probability_of[best] = 1.0
    else:
        (candidates,) = under_guesses(backbone, words, guesses, [-1])
        numbers = np.array(backbone.tag_numbers(tag for tag, _ in guesses[0]))
        probability = np.array([probability for _, probability in guesses[0]])
        probability_of[numbers[numbers >= 0]] = probability[numbers >= 0]
    usable = (np.diff(symbols.label_start) > 0)[candidates.symbol]
    if permitted is not None:
        usable &= permitted.symbols[permitted.row[0], candidates.symbol]
    symbol, entry = candidates.symbol[usable], candidates.entry[usable]
    weight = candidates.probability[usable]
    tag = symbols.tag[symbol]
    if best not in tag:
        return None

    count = backbone.words.symbol_count[symbol]
    one_tree = float(np.min(root[root > 0.0]))
    value = weight * (root[symbol] + one_tree * count / group_sums(tag, count, 0)[tag])
    marginal = probability_of[tag] * value / group_sums(tag, value, 0)[tag]
    leaves = Leaves(np.array([0, len(symbol)], dtype=np.int32), symbol, value, entry)
    full = FullMarginals(marginal, np.zeros((0, 0)), math.log(value.sum()))
    pruned = likely_forest(backbone, leaves, full, 0.0)
    # Also the items that are no root in the training data.
    roots = np.arange(pruned.forest.n_items, dtype=np.int32)
    return pruned._replace(forest=pruned.forest._replace(roots=roots))


def tag_first(pruned: Pruned, backbone: PCFG, tag: str) -> Gains:
    """Gains under which the best tree has this tag, with its most probable phrases.

    The other trees are in the order of their probabilities.
    """
    symbols, symbol = backbone.symbols, pruned.forest.item_symbol
    has_tag = np.flatnonzero(symbols.tag[symbol] == backbone.tag_numbers([tag])[0])
    # Preterminals that differ only in the symbols around them in training are one phrase.
    phrases = symbols.chain_number[symbol[has_tag]]
    best = has_tag[np.argmax(group_sums(phrases, pruned.marginal[has_tag], 0)[phrases])]
    gain: Floats = pruned.marginal.copy()
    gain[best] += 1.0
    return Gains(gain, np.zeros(0), np.zeros(len(gain)))
