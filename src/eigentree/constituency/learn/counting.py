"""The treebank PCFG: relative frequencies of rules, words and roots.

p(a -> b c) = count(a -> b c) / count(a), and likewise for words and roots (Charniak 1996).
With Markovised symbols (`eigentree.treebank.binarise`) the same counts give the Markovised PCFG.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.learn.treebank_arrays import Examples


def count_pcfg(examples: Examples) -> PCFG:
    """The maximum-likelihood PCFG of a treebank.

    Cost
    ----
    Linear in the number of nodes.
    """
    n_symbols = len(examples.symbols)
    inner = examples.rule >= 0
    symbol_count = sums(examples.symbol, examples.weight, n_symbols)
    rule_count = sums(examples.rule[inner], examples.weight[inner], len(examples.rules))
    pair_count = sums(examples.pair[~inner], examples.weight[~inner], len(examples.pairs))
    at_root = examples.parent < 0
    root = sums(examples.symbol[at_root], examples.weight[at_root], n_symbols)
    words = WordTable(
        examples.symbols,
        examples.lexicon,
        np.ascontiguousarray(examples.pairs[:, 0]),
        np.ascontiguousarray(examples.pairs[:, 1]),
        pair_count,
    )
    parent, left, right = (np.ascontiguousarray(column) for column in examples.rules.T)
    return PCFG(words, parent, left, right, rule_count / symbol_count[parent], root / root.sum())


def sums(number: NDArray[np.integer], weight: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Axes (n): the sum of the weights of each number from 0 to n - 1."""
    return np.asarray(np.bincount(number, weight, n), dtype=np.float64)
