"""The layout of a treebank and of a grammar's parameters for expectation maximisation.

Nodes are renumbered by block of trees, within a block by height, and within a
height by rule.  Children still precede parents, and the nodes that use one tensor are
adjacent.  A block is the unit of work of a thread.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.learn.counting import sums
from eigentree.constituency.learn.em_arrays import Layout, Skeletons
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.types import Flags, Ints, Longs

# Large enough to reuse each tensor many times, small enough to occupy several threads.
BLOCK_NODES = 1 << 14
BATCH = 4


def lay_out(examples: Examples, backbone: PCFG, n_states: Ints) -> tuple[Skeletons, Layout]:
    """Lay out a treebank and the numbers of a grammar with ``n_states`` states per symbol.

    Cost
    ----
    O(nodes log nodes) time; no memory beyond the result.
    """
    order, block_of, batch_heads = _order(examples)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))

    def children(column: Ints) -> Ints:
        old = column[order]
        return np.where(old >= 0, place[old], -1).astype(np.int32)

    symbol, rule = examples.symbol[order], examples.rule[order]
    batch = np.append(np.flatnonzero(batch_heads), len(order))
    block = np.searchsorted(block_of[batch[:-1]], np.arange(block_of[-1] + 2))
    inner = np.flatnonzero(rule >= 0)
    by_rule = inner[np.argsort(rule[inner], kind="stable")]
    n_rules = len(examples.rules)
    skeletons = Skeletons(
        order,
        symbol,
        rule,
        examples.pair[order],
        children(examples.left),
        children(examples.right),
        np.where(examples.parent < 0, examples.tree, -1)[order].astype(np.int32),
        examples.weight[order],
        _starts(n_states[symbol]),
        batch,
        block,
        by_rule.astype(np.int32),
    )
    states = n_states[examples.rules].astype(np.int64)
    words = backbone.words
    n_symbols, roots = len(examples.symbols), examples.parent < 0
    layout = Layout(
        _starts(n_states),
        np.ascontiguousarray(examples.rules),
        _starts(states.prod(axis=1)),
        states[:, 1] * states[:, 2],
        np.searchsorted(rule[by_rule], np.arange(n_rules + 1)),
        sums(rule[inner], skeletons.weight[inner], n_rules),
        backbone.probability,
        words.symbol,
        _starts(n_states[words.symbol]),
        words.count,
        words.count / words.symbol_count[words.symbol],
        sums(examples.symbol, examples.weight, n_symbols),
        sums(examples.symbol[roots], examples.weight[roots], n_symbols),
    )
    return skeletons, layout


def _order(examples: Examples) -> tuple[Longs, Longs, Flags]:
    """New order of the nodes, the block of each node, and which nodes begin a batch."""
    block = _blocks(examples)
    height = _heights(examples)
    order = np.lexsort((examples.rule, height, block))
    block, height, rule = block[order], height[order], examples.rule[order]
    key = np.stack([block, height, rule])
    run_heads = np.append(True, np.any(key[:, 1:] != key[:, :-1], axis=0))
    run = np.cumsum(run_heads) - 1
    first = np.flatnonzero(run_heads)
    length = np.diff(np.append(first, len(order)))[run]
    at = np.arange(len(order)) - first[run]
    fours = (at % BATCH == 0) | (at >= length - length % BATCH)
    return order, block, run_heads | ((rule >= 0) & fours)


def _blocks(examples: Examples) -> Longs:
    """Axes (nodes): the block of each node; whole trees, about `BLOCK_NODES` nodes per block."""
    first = np.flatnonzero(np.diff(examples.tree, prepend=-1))
    _, block = np.unique(first // BLOCK_NODES, return_inverse=True)
    return np.asarray(block, dtype=np.int64)[examples.tree]


def _heights(examples: Examples) -> Longs:
    """Axes (nodes): longest path down to a word; computed level by level for all trees."""
    height = np.zeros(len(examples), dtype=np.int64)
    missing = np.where(examples.rule >= 0, 2, 0)
    level = np.flatnonzero(missing == 0)
    while len(level):
        parents = examples.parent[level]
        inner = parents >= 0
        np.maximum.at(height, parents[inner], height[level[inner]] + 1)
        np.subtract.at(missing, parents[inner], 1)
        # A parent is ready with its last child; both may be on this level.
        ready = np.unique(parents[inner])
        level = ready[missing[ready] == 0]
    return height


def _starts(sizes: NDArray[np.integer]) -> Longs:
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts
