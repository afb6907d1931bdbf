"""Coarse-to-fine: the plain PCFG decides which items a finer grammar has to look at.

The marginal of an item (symbol a over the span i..j) is the summed probability of all trees
that hold it, over the probability of the sentence: inside(a, i, j) * outside(a, i, j) / Z.
Items below a threshold are dropped (Charniak et al. 2006; Petrov and Klein 2007; Cohen et
al. 2013, section 4: 0.00005), and with them all trees that use them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.chart import _kernels_pruning as kernels
from eigentree.constituency.chart.arrays import Leaves, Permitted, PruningChart
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.types import Ints

DEFAULT_THRESHOLD = 5e-5
# Items with a marginal this much below the threshold add nothing to those above it.
NEGLIGIBLE = 5e-2
# Nor, nearly always, do items whose merit is below this part of the best of their span.
DEFAULT_BEAM = 5e-4


class Pruned(NamedTuple):
    """What the coarse grammar leaves of a sentence.

    Attributes
    ----------
    forest
        The items that reach the threshold, and all rules between them.
    marginal : float64, axes (items)
        Each item's probability under the coarse grammar.
    log_value : float
        Of the sentence under the coarse grammar, in nats: a logarithm of its probability, or of
        the absolute value where the grammar is in Kruskal form.
    sign : int
        Of the value.
    """

    forest: Forest
    marginal: NDArray[np.float64]
    log_value: float
    sign: int = 1

    def marginals(self) -> Marginals:
        """The items' marginals, for decoding without a finer grammar.

        In place of each edge's stands the mean of its children's, which tells apart trees that
        differ only in symbols that are no phrases.
        """
        forest = self.forest
        edge = (self.marginal[forest.edge_left] + self.marginal[forest.edge_right]) / 2.0
        return Marginals(self.marginal, edge, self.log_value, self.sign)


class FullMarginals(NamedTuple):
    """Marginals of a sentence by a chart that holds every symbol over every span.

    Of a grammar of probabilities they are probabilities.  Those of a grammar in Kruskal form are
    estimates: the form gives some value to trees that no rule allows, and where it has negative
    entries, marginals may be negative or exceed 1.

    Attributes
    ----------
    leaf : float64, axes (candidates)
        Of each candidate of each word, as `Leaves` has them.
    inner : float64, axes (spans, inner symbols)
        Of each symbol that is no preterminal over each span of two words or more, spans by
        width, then by start.
    log_value : float
        Natural logarithm of the absolute value of the sentence.
    sign : int
    """

    leaf: NDArray[np.float64]
    inner: NDArray[np.float64]
    log_value: float
    sign: int = 1


def prune(
    grammar: PCFG,
    leaves: Leaves,
    threshold: float = DEFAULT_THRESHOLD,
    *,
    beam: float | None = None,
    permitted: Permitted | None = None,
) -> Pruned | None:
    """The packed forest of a sentence under the plain PCFG.

    Parameters
    ----------
    grammar
        The coarse grammar.
    leaves
        Preterminals over at least one word.
    threshold
        Least marginal of an item, 0 to keep all that belongs to some tree.
    beam
        Least merit of an item beside the best of its span, judged on the way by its inside
        value and prior alone.  What it drops is missing from the marginals of the others.  None
        for `DEFAULT_BEAM`, or for 0 where the threshold is 0.
    permitted
        What may stand over which spans: all else is as if the grammar didn't have it there, so
        that marginals are those given the constraints.  None for everything.

    Returns
    -------
    Pruned or None
        None when the grammar has no tree for the sentence.

    Cost
    ----
    Time as in `_kernels_pruning`; memory 32 bytes for each start, end and symbol.
    """
    n_words = leaves.n_words
    chart = PruningChart.empty(n_words, len(grammar.symbols))
    index, probability = grammar.index, grammar.probability
    if beam is None:
        beam = DEFAULT_BEAM if threshold > 0.0 else 0.0
    if permitted is None:
        permitted = Permitted.everything(n_words, len(grammar.symbols))
    kernels.inside_pass(
        n_words, leaves, index, grammar.parent, probability, grammar.uses, beam, permitted, chart
    )
    total = kernels.outside_pass(
        n_words, index, probability, grammar.root, chart, threshold * NEGLIGIBLE
    )
    if not total > 0.0:
        return None
    # With threshold 0, an item outside every tree still has marginal 0 and goes.
    least = max(threshold, float(np.finfo(np.float64).tiny))
    most = int(chart.n_live.sum())
    span_items = np.empty(len(chart.n_live) + 1, dtype=np.int32)
    symbols, marginals = np.empty(most, dtype=np.int32), np.empty(most)
    n_items = kernels.list_items(n_words, chart, least, span_items, symbols, marginals)
    forest = link(grammar, leaves, span_items, symbols[:n_items])
    exponent = int(chart.exponent[0, n_words])
    log_value = float(np.log(total) + exponent * np.log(2.0))
    return Pruned(forest, marginals[:n_items].copy(), log_value)


def has_tree(grammar: PCFG, leaves: Leaves, permitted: Permitted) -> bool:
    """Whether the plain PCFG has a tree of what is permitted; the inside half of `prune`."""
    n_words = leaves.n_words
    chart = PruningChart.empty(n_words, len(grammar.symbols))
    kernels.inside_pass(
        n_words, leaves, grammar.index, grammar.parent, grammar.probability, grammar.uses, 0.0,
        permitted, chart,
    )  # fmt: skip
    whole = chart.live[-1, : chart.n_live[-1]]
    return bool(np.any(grammar.root[whole] > 0.0))


def kept(grammar: PCFG, leaves: Leaves, marginals: FullMarginals, threshold: float) -> Pruned:
    """The forest of what a full chart finds likely; there may be no tree in it.

    Parameters
    ----------
    grammar
        Whose rules join the items.
    leaves
        Preterminals over at least one word.
    marginals
        Of all symbols over all spans.
    threshold
        Least absolute marginal of an item; those of 0 always go.
    """
    leaf, inner, log_value, sign = marginals
    least = max(threshold, float(np.finfo(np.float64).tiny))
    n = leaves.n_words
    word = leaves.word
    order = np.lexsort((leaves.symbol, word))
    order = order[np.abs(leaf[order]) >= least]
    span, symbol = np.nonzero(np.abs(inner) >= least)
    sizes = np.bincount(np.concatenate((word[order], n + span)), minlength=n * (n + 1) // 2)
    span_items = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    symbols = np.concatenate((leaves.symbol[order], symbol)).astype(np.int32)
    marginal = np.concatenate((leaf[order], inner[span, symbol]))
    return Pruned(link(grammar, leaves, span_items, symbols), marginal, log_value, sign)


def link(grammar: PCFG, leaves: Leaves, span_items: Ints, symbol: Ints) -> Forest:
    """The forest of some items, with all rules between them.

    Parameters
    ----------
    span_items : int32, axes (spans + 1)
        Items of each span, spans by width, then by start.
    symbol : int32, axes (items)
        Rising within each span; at single words among the leaves.
    """
    n_words, n_items = leaves.n_words, len(symbol)
    item_groups = np.zeros(n_items + 1, dtype=np.int32)
    capacity = 16 * n_items
    n_edges = -1
    while n_edges < 0:
        capacity *= 4
        group_rule, group_edges, edge_left, edge_right = (
            np.empty(capacity + 1, dtype=np.int32) for _ in range(4)
        )
        n_edges = kernels.link_items(
            n_words, grammar.index, grammar.parent, span_items, symbol,
            item_groups, group_rule, group_edges, edge_left[:-1], edge_right,
        )  # fmt: skip
    n_groups = int(item_groups[-1])

    widths = np.arange(1, n_words + 1)
    width_of_span = np.repeat(widths, n_words + 1 - widths)
    start_of_span = np.concatenate([np.arange(count) for count in range(n_words, 0, -1)])
    sizes = np.diff(span_items)
    start = np.repeat(start_of_span, sizes).astype(np.int32)
    end = (start + np.repeat(width_of_span, sizes)).astype(np.int32)

    # The items of width 1 are candidates of their word, listed in the order of symbols.
    n_leaves = int(span_items[n_words])
    weight = np.zeros(n_items)
    entry = np.full(n_items, -2, dtype=np.int32)
    key = leaves.word * len(grammar.symbols) + leaves.symbol
    order = np.argsort(key, kind="stable")
    found = order[
        np.searchsorted(key[order], start[:n_leaves] * len(grammar.symbols) + symbol[:n_leaves])
    ]
    weight[:n_leaves] = leaves.weight[found]
    entry[:n_leaves] = leaves.entry[found]

    at_top = np.arange(span_items[-2], n_items, dtype=np.int32)
    return Forest(
        symbol, start, end, entry, weight,
        item_groups, group_rule[:n_groups].copy(), group_edges[: n_groups + 1].copy(),
        edge_left[:n_edges].copy(), edge_right[:n_edges].copy(),
        at_top[grammar.root[symbol[at_top]] > 0],
    )  # fmt: skip
