"""Coarse-to-fine pruning: the plain PCFG selects the items that a finer grammar evaluates.

The marginal of an item (symbol a over the span i..j) is the total probability of all trees
that contain it, over the probability of the sentence: inside(a, i, j) * outside(a, i, j) / Z.
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
# Items with a marginal this much below the threshold do not affect those above it.
NEGLIGIBLE = 5e-2
# Nor, almost always, do items whose merit is below this fraction of the best of their span.
DEFAULT_BEAM = 5e-4
# If a chart is too large, its beam or threshold is multiplied by STEP until it fits.
STEP = 10.0
MIN_LIMIT = 1e-6
MAX_BEAM = 0.5
MAX_THRESHOLD = 0.05
TOO_LARGE = "the chart of the sentence is too large"
# Edges of a forest; they need about 50 bytes each.
MAX_EDGES = 1 << 23


class Pruned(NamedTuple):
    """The result of pruning a sentence with the coarse grammar.

    Attributes
    ----------
    forest
        The items that reach the threshold, and all rules between them.
    marginal : float64, axes (items)
        Each item's probability under the coarse grammar.
    log_value : float
        Value of the sentence under the coarse grammar, in nats: the logarithm of its probability,
        or of the absolute value if the grammar is in Kruskal form.
    sign : int
        Sign of the value.
    is_strict : bool
        Whether pruning was stricter than required by the caller, because the chart was too large.
    """

    forest: Forest
    marginal: NDArray[np.float64]
    log_value: float
    sign: int = 1
    is_strict: bool = False

    def marginals(self) -> Marginals:
        """The items' marginals, for decoding without a finer grammar.

        Each edge has the mean of its children's marginals, which distinguishes trees that differ
        only in symbols that are not phrases.
        """
        forest = self.forest
        edge = (self.marginal[forest.edge_left] + self.marginal[forest.edge_right]) / 2.0
        return Marginals(self.marginal, edge, self.log_value, self.sign)


class FullMarginals(NamedTuple):
    """Marginals of a sentence from a chart that stores every symbol over every span.

    Those of a probability grammar are probabilities.  Those of a grammar in Kruskal form are
    estimates: the form assigns values to trees that no rule allows, and if it has negative
    entries, marginals may be negative or exceed 1.

    Attributes
    ----------
    leaf : float64, axes (candidates)
        Marginal of each candidate of each word, in the order of `Leaves`.
    inner : float64, axes (spans, inner symbols)
        Marginal of each symbol other than preterminals over each span of two or more words, by
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
        Minimum marginal of an item; 0 keeps all items that belong to some tree.
    beam
        Minimum merit of an item relative to the best of its span, computed during the inside pass
        from its inside value and prior only.  Dropped items are missing from the marginals of the
        others.  None for `DEFAULT_BEAM`, or for 0 if the threshold is 0.
    permitted
        Permitted symbols of each span; the grammar is treated as lacking all others, so marginals
        are conditional on the constraints.  None for all.

    Returns
    -------
    Pruned or None
        None when the grammar has no tree for the sentence.

    Raises
    ------
    MemoryError
        When even the strictest pruning needs too much memory.

    Cost
    ----
    Time as in `_kernels_pruning`; memory for rows of the chart as limited in
    `eigentree.constituency.chart.arrays`, and for at most `MAX_EDGES` edges.
    """
    index = grammar.index
    if beam is None:
        beam = DEFAULT_BEAM if threshold > 0.0 else 0.0
    chart, is_strict = _inside_chart(grammar, leaves, permitted, beam)
    n_words = leaves.n_words
    total = kernels.outside_pass(
        n_words, index, grammar.probability, grammar.root, chart, threshold * NEGLIGIBLE
    )
    if not total > 0.0:
        return None
    # With threshold 0, items outside every tree have marginal 0 and are still dropped.
    min_marginal = max(threshold, float(np.finfo(np.float64).tiny))
    max_items = int(chart.used[1])
    span_items = np.empty(len(chart.n_live) + 1, dtype=np.int32)
    symbols, marginals = np.empty(max_items, dtype=np.int32), np.empty(max_items)
    n_items = kernels.list_items(n_words, chart, min_marginal, span_items, symbols, marginals)
    symbols, marginals = symbols[:n_items].copy(), marginals[:n_items].copy()
    exponent = int(chart.exponent[0, n_words])
    log_value = float(np.log(total) + exponent * np.log(2.0))
    del chart  # a large one would not leave enough memory for the forest
    while True:
        try:
            forest = link(grammar, leaves, span_items, symbols)
        except MemoryError:
            is_strict, min_marginal = True, _stricter(min_marginal, MAX_THRESHOLD)
            selected = marginals >= min_marginal
            span_items = np.concatenate(([0], np.cumsum(selected)))[span_items].astype(np.int32)
            symbols, marginals = symbols[selected], marginals[selected]
        else:
            return Pruned(forest, marginals, log_value, is_strict=is_strict)


def has_tree(grammar: PCFG, leaves: Leaves, permitted: Permitted) -> bool:
    """Whether the plain PCFG has a tree of permitted items; the inside half of `prune`."""
    chart, _ = _inside_chart(grammar, leaves, permitted, 0.0)
    whole = chart.live[chart.live_start[-1] :][: chart.n_live[-1]]
    return bool(np.any(grammar.root[whole] > 0.0))


def _inside_chart(
    grammar: PCFG, leaves: Leaves, permitted: Permitted | None, beam: float
) -> tuple[PruningChart, bool]:
    """The inside half of a chart, and whether it needed a stricter beam."""
    n_words, n_symbols = leaves.n_words, len(grammar.symbols)
    if permitted is None:
        permitted = Permitted.everything(n_words, n_symbols)
    is_strict = False
    while True:
        chart = PruningChart.empty(n_words, n_symbols)
        fits = kernels.inside_pass(
            n_words, leaves, grammar.index, grammar.parent, grammar.probability, grammar.uses, beam,
            permitted, chart,
        )  # fmt: skip
        if fits:
            return chart, is_strict
        is_strict, beam = True, _stricter(beam, MAX_BEAM)


def _stricter(limit: float, largest: float) -> float:
    """The next limit to try when a chart is too large."""
    if limit >= largest:
        raise MemoryError(TOO_LARGE)
    return min(max(limit * STEP, MIN_LIMIT), largest)


def likely_forest(
    grammar: PCFG, leaves: Leaves, marginals: FullMarginals, threshold: float
) -> Pruned:
    """The forest of the items that a full chart finds likely; it may not contain a tree.

    Parameters
    ----------
    grammar
        Its rules join the items.
    leaves
        Preterminals over at least one word.
    marginals
        Marginals of all symbols over all spans.
    threshold
        Minimum absolute marginal of an item; items of marginal 0 are always dropped.
    """
    leaf, inner, log_value, sign = marginals
    min_marginal = max(threshold, float(np.finfo(np.float64).tiny))
    n = leaves.n_words
    word = leaves.word
    order = np.lexsort((leaves.symbol, word))
    order = order[np.abs(leaf[order]) >= min_marginal]
    span, symbol = np.nonzero(np.abs(inner) >= min_marginal)
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
        Increasing within each span; at single words, among the candidates.

    Raises
    ------
    MemoryError
        When there are more than `MAX_EDGES` edges.
    """
    n_words, n_items = leaves.n_words, len(symbol)
    item_groups = np.zeros(n_items + 1, dtype=np.int32)
    capacity = 16 * n_items
    n_edges = -1
    while n_edges < 0:
        if capacity == MAX_EDGES:
            raise MemoryError(TOO_LARGE)
        capacity = min(4 * capacity, MAX_EDGES)
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
    candidates = order[
        np.searchsorted(key[order], start[:n_leaves] * len(grammar.symbols) + symbol[:n_leaves])
    ]
    weight[:n_leaves] = leaves.weight[candidates]
    entry[:n_leaves] = leaves.entry[candidates]

    at_top = np.arange(span_items[-2], n_items, dtype=np.int32)
    return Forest(
        symbol, start, end, entry, weight,
        item_groups, group_rule[:n_groups].copy(), group_edges[: n_groups + 1].copy(),
        edge_left[:n_edges].copy(), edge_right[:n_edges].copy(),
        at_top[grammar.root[symbol[at_top]] > 0],
    )  # fmt: skip
