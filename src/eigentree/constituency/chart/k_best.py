"""The k best trees of a forest, under the same gains as the best one.

A tree's value is the sum of the gains of its parts, so the decoders of
`eigentree.constituency.chart.decode` rank all trees of a forest.  The first k are found lazily
(Huang and Chiang 2005, algorithm 3): the best derivation of each item is known, and its next best
one is computed only when an item above requires it.  The cost does not depend on the number of
trees in the forest.

Two derivations may represent the same phrases: un-binarising removes intermediate symbols, and
trees that differ only in their tags count as one, so that a list does not repeat one tree with
all likely tags.  Of two such derivations of an item, the worse one cannot contribute a new tree and
is dropped.  Trees are compared by fingerprints of 62 bits; collisions do not occur in practice.

The derivations of the k trees share most of their lower nodes.  As a forest in which each item has
one derivation, they give the values of all trees in one inside pass
(`eigentree.constituency.chart.tree_value`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.chart import _kernels_k_best as kernels
from eigentree.constituency.chart._kernels_decode import best_edges
from eigentree.constituency.chart.arrays import KBestRows
from eigentree.constituency.chart.decode import NOTHING, Gains, all_bracketings
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.treebank.binarise import unbinarise_shared
from eigentree.treebank.tree import Tree
from eigentree.types import Floats, Ints


class KBest(NamedTuple):
    """The best trees of a forest, best first; their nodes are shared.

    Attributes
    ----------
    forest
        The nodes of all trees: items that each have at most one group with one edge.  Its roots
        are the roots of the trees, in order.  Free trees have no rules, and some nodes no symbol.
    item : int32, axes (nodes)
        The item of the decoded forest; -1 at nodes of a free tree without one.
    value : float64, axes (trees)
        The objective, decreasing.
    """

    forest: Forest
    item: Ints
    value: Floats

    def trees(
        self, symbols: SymbolTable, words: Sequence[str], tags: Sequence[str | None] = ()
    ) -> list[Tree]:
        """The trees, un-binarised.

        Parameters
        ----------
        tags
            Replace the tags that were found; None, or an empty sequence, keeps them.
        """
        left, right = children(self.forest)
        start = self.forest.item_start.tolist()
        named = [NOTHING if a < 0 else symbols[a] for a in self.forest.item_symbol.tolist()]
        of_node: list[str | None] = [None] * len(named)
        for node in np.flatnonzero(left < 0).tolist():
            of_node[node] = words[start[node]]
            tag = tags[start[node]] if tags else None
            if tag not in (None, named[node].label):
                chain = (*named[node].chain[:-1], str(tag))
                named[node] = named[node]._replace(chain=chain)
        roots = self.forest.roots.tolist()
        return unbinarise_shared(named, left.tolist(), right.tolist(), of_node, roots)

    def sums(self, gain: Floats) -> Floats:
        """Axes (trees): the sum of the gains of each tree's items.

        Parameters
        ----------
        gain : float64, axes (items of the decoded forest)
        """
        left, right = children(self.forest)
        total = np.where(self.item < 0, 0, gain[self.item]).tolist()
        for node, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            if one >= 0:
                total[node] += total[one] + total[other]
        return np.array(total)[self.forest.roots]


def children(forest: Forest) -> tuple[Ints, Ints]:
    """The two children of each item of a forest of single derivations; -1 for none."""
    has_any = np.diff(forest.item_groups) > 0
    left, right = np.full((2, forest.n_items), -1, dtype=np.int32)
    left[has_any], right[has_any] = forest.edge_left, forest.edge_right
    return left, right


def k_best(forest: Forest, gains: Gains, symbols: SymbolTable, k: int) -> KBest:
    """The k trees with the largest sums of gains, no two with the same phrases.

    Free trees have the best symbol over each span, if any, so they differ in their bracketings.
    The order of trees with equal sums depends on the forest only, so a longer list begins with
    the shorter one; the first tree is that of `eigentree.constituency.chart.decode.decode`.

    Parameters
    ----------
    gains
        As for the best tree.
    k
        At least 1; fewer trees are returned if the forest has fewer with a finite sum.

    Cost
    ----
    Linear in the edges, as for the best tree; then O(n log E) per tree, with E edges per item.
    About 80 bytes for each derivation generated.

    References
    ----------
    huang-2005, algorithm 3; karp-1987; sleator-1986.
    """
    symbol_of, old_item = forest.item_symbol, np.arange(forest.n_items, dtype=np.int32)
    if gains.free:
        forest, gains, old_item = all_bracketings(
            forest, gains, int(forest.item_end.max(initial=0))
        )
    symbol = np.where(old_item < 0, -1, symbol_of[old_item])
    letter = np.where(old_item < 0, -1, symbols.chain_number[symbol])
    n_items = forest.n_items
    best, choice = np.empty(n_items), np.empty(n_items, dtype=np.int32)
    best_edges(forest, gains.item, gains.edge, best, choice)
    rows = KBestRows.empty(n_items + 1 + len(forest.roots) + forest.n_edges)
    last, heap, pending = np.empty((3, n_items + 1), dtype=np.int32)
    kernels.begin(forest, letter, best, choice, rows, last, heap, pending)
    counts = np.array([n_items + 1, 0])
    slots = _slots(rows, n_items)
    while not kernels.find(
        forest, letter, gains.item, gains.edge, gains.root, k,
        rows, last, heap, pending, slots, counts,
    ):  # fmt: skip
        rows = _doubled(rows)
        slots = _slots(rows, n_items)
    n_rows, n_trees = counts.tolist()
    used, top = np.zeros(n_rows, dtype=bool), np.empty(n_trees, dtype=np.int32)
    kernels.mark(rows, n_items, n_trees, top, used)
    shared, item = _shared(forest, rows, used, top)
    shared = shared._replace(item_symbol=symbol[item])
    return KBest(shared, old_item[item], rows.value[top])


def _doubled(rows: KBestRows) -> KBestRows:
    larger = KBestRows.empty(2 * len(rows.value))
    for name, old in rows._asdict().items():
        getattr(larger, name)[: len(old)] = old
    return larger


def _slots(rows: KBestRows, n_items: int) -> Ints:
    """A table of the known derivations by fingerprint, with room for all rows."""
    slots = np.full(1 << (2 * len(rows.value)).bit_length(), -1, dtype=np.int32)
    kernels.enter(rows, n_items, slots)
    return slots


def _shared(
    forest: Forest, rows: KBestRows, used: NDArray[np.bool_], top: Ints
) -> tuple[Forest, Ints]:
    """The marked rows as a forest, and the item of each."""
    row = np.flatnonzero(used)
    # Items follow their children, whatever the order of rows.
    row = row[np.argsort(rows.item[row], kind="stable")]
    node = np.empty(len(used), dtype=np.int32)
    node[row] = np.arange(len(row))
    item, edge = rows.item[row], rows.edge[row]
    inner = edge >= 0
    n_inner = np.concatenate([[0], np.cumsum(inner)]).astype(np.int32)
    edge_group = np.repeat(np.arange(len(forest.group_rule)), np.diff(forest.group_edges))
    shared = Forest(
        forest.item_symbol[item], forest.item_start[item], forest.item_end[item],
        forest.item_entry[item], forest.item_weight[item],
        n_inner, forest.group_rule[edge_group[edge[inner]]],
        np.arange(n_inner[-1] + 1, dtype=np.int32),
        node[rows.left[row[inner]]], node[rows.right[row[inner]]],
        node[rows.left[top]],
    )  # fmt: skip
    return shared, item
