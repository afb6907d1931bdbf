"""Records of arrays for expectation maximisation: a treebank, a layout and its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentree.types import Floats, Ints, Ints2, Longs


class Skeletons(NamedTuple):
    """The nodes of all trees, reordered.

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
        The vector of node i is at ``start[i]:start[i+1]``.
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
    """The positions of the numbers of rules, words and roots, and the plain grammar's values.

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
        Relative frequency among the symbol's words, not smoothed.
    symbol_count, root_count : float64, axes (N)
    """

    state_start: Longs
    rule_symbols: Ints2
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
        """The positions of the states of some symbols, one symbol after another."""
        sizes = self.n_states[symbols]
        offset = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.asarray(np.repeat(self.state_start[symbols], sizes) + offset, dtype=np.int64)

    def of_rule(self, rule: int) -> tuple[slice, tuple[int, int, int]]:
        """The range of a rule's tensor, and its shape."""
        a, b, c = self.n_states[self.rule_symbols[rule]].tolist()
        return slice(int(self.rule_start[rule]), int(self.rule_start[rule + 1])), (a, b, c)


class Values(NamedTuple):
    """A number for each choice: its probability or its expected count.

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
        """Uninitialised numbers for a layout."""
        starts = layout.rule_start, layout.word_start, layout.state_start
        return cls(*(np.empty(int(start[-1])) for start in starts))
