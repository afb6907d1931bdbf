"""A treebank and the numbers of a grammar, laid out for the kernels of expectation maximisation.

Nodes are renumbered: block of trees after block of trees, inside a block by height, inside a
height by rule.  Children still come before parents, and the nodes that need one tensor are
neighbours.  A block is the unit of work of a thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.learn.counting import sums
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.types import Floats, Ints, Longs

# Large enough for tensors to be used many times, small enough for several threads.
BLOCK_NODES = 1 << 14
BATCH = 4


class Skeletons(NamedTuple):
    """The nodes of all trees in their new order.

    Attributes
    ----------
    order : int64, axes (nodes)
        Row of each node in the examples.
    symbol, rule, pair, left, right : int32, axes (nodes)
        As in `Examples`, with children by their new numbers.
    tree : int32, axes (nodes)
        Number of the tree at roots, -1 elsewhere.
    weight : float64, axes (nodes)
    start : int64, axes (nodes + 1)
        The vector of node i stands at ``start[i]:start[i+1]``.
    batch : int64, axes (batches + 1)
        Nodes ``batch[k]:batch[k+1]`` have one rule and none is above another: four or one of
        them, or all preterminals of a block.
    block : int64, axes (blocks + 1)
        The batches of each block.
    by_rule : int32, axes (inner nodes)
        Inner nodes, rule after rule.
    """

    order: Longs
    symbol: Ints
    rule: Ints
    pair: Ints
    left: Ints
    right: Ints
    tree: Ints
    weight: Floats
    start: Longs
    batch: Longs
    block: Longs
    by_rule: Ints


class Layout(NamedTuple):
    """Where the numbers of rules, words and roots stand, and what the plain grammar has there.

    Attributes
    ----------
    state_start : int64, axes (N + 1)
        States of symbol a are ``state_start[a]:state_start[a+1]``.
    rule_symbols : int32, axes (R, 3)
    rule_start : int64, axes (R + 1)
        Tensors with axes (K_a, K_b, K_c), flattened.
    child_states : int64, axes (R)
        K_b K_c.
    node_start : int64, axes (R + 1)
        The nodes of each rule in ``by_rule``.
    rule_count, rule_probability : float64, axes (R)
    word_symbol : int32, axes (L)
    word_start : int64, axes (L + 1)
    word_count, word_probability : float64, axes (L)
        Relative frequency in the symbol's words, not smoothed.
    symbol_count, root_count : float64, axes (N)
    """

    state_start: Longs
    rule_symbols: Ints
    rule_start: Longs
    child_states: Longs
    node_start: Longs
    rule_count: Floats
    rule_probability: Floats
    word_symbol: Ints
    word_start: Longs
    word_count: Floats
    word_probability: Floats
    symbol_count: Floats
    root_count: Floats

    @property
    def n_states(self) -> Longs:
        """Axes (N): states of each symbol."""
        return np.diff(self.state_start)

    def per_state(self, symbols: Ints) -> Longs:
        """Where the states of some symbols stand, one symbol after another."""
        sizes = self.n_states[symbols]
        offset = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.asarray(np.repeat(self.state_start[symbols], sizes) + offset, dtype=np.int64)

    def of_rule(self, rule: int) -> tuple[slice, tuple[int, int, int]]:
        """Where a rule's tensor stands, and its shape."""
        a, b, c = self.n_states[self.rule_symbols[rule]].tolist()
        return slice(int(self.rule_start[rule]), int(self.rule_start[rule + 1])), (a, b, c)


class Values(NamedTuple):
    """A number for each choice: its probability, or how often it is expected.

    Attributes
    ----------
    rules : float64
        p(left h2, right h3 | parent h1), or counts.
    words : float64
        p(word | preterminal h), or counts.
    roots : float64, axes (states of all symbols)
        p(symbol h at the root), or counts.
    """

    rules: Floats
    words: Floats
    roots: Floats

    @classmethod
    def empty(cls, layout: Layout) -> Values:
        """Room for all numbers of a layout."""
        starts = layout.rule_start, layout.word_start, layout.state_start
        return cls(*(np.empty(int(start[-1])) for start in starts))


def lay_out(examples: Examples, backbone: PCFG, n_states: Ints) -> tuple[Skeletons, Layout]:
    """Lay out a treebank and the numbers of a grammar with so many states a symbol.

    Cost
    ----
    O(nodes log nodes) time; no memory beyond what is returned.
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
        examples.rules,
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


def _order(examples: Examples) -> tuple[Longs, Longs, NDArray[np.bool_]]:
    """New order of the nodes, the block of each node and where a batch begins."""
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
    """Axes (nodes): the block of each node; whole trees, about `BLOCK_NODES` nodes each."""
    first = np.flatnonzero(np.diff(examples.tree, prepend=-1))
    _, block = np.unique(first // BLOCK_NODES, return_inverse=True)
    return np.asarray(block, dtype=np.int64)[examples.tree]


def _heights(examples: Examples) -> Longs:
    """Axes (nodes): steps down to the furthest word; a level of all trees at a time."""
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
