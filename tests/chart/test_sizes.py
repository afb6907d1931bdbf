"""Grammars with more symbols than small integers hold."""

from __future__ import annotations

import numpy as np

from eigentree.chart.pruning import prune
from eigentree.corpus.binarise import Symbol
from eigentree.corpus.lexicon import UNKNOWN, Lexicon, LexiconOptions
from eigentree.grammar.pcfg import PCFG, WordTable
from eigentree.grammar.plain import one_state
from eigentree.grammar.symbols import SymbolTable
from tests.helpers import close
from tests.strategies import sentence


def test_forty_thousand_symbols():
    # Markovised symbols of a large treebank run to tens of thousands.
    n = 40_000
    table = SymbolTable.of(Symbol("preterminal", (f"X{i:05}", "t")) for i in range(n))
    lexicon = Lexicon(("w", UNKNOWN), LexiconOptions(rare_threshold=0))
    every = np.arange(n, dtype=np.int32)
    words = WordTable(table, lexicon, np.zeros(n, np.int32), every, np.ones(n))
    none = np.zeros(0, dtype=np.int32)
    backbone = PCFG(words, none, none, none, np.zeros(0), np.full(n, 1.0 / n))
    pruned = prune(backbone, sentence(one_state(backbone), [0], [[0]]).leaves, threshold=0.0)
    assert np.array_equal(pruned.forest.item_symbol, every)
    assert close(pruned.marginal, np.full(n, 1.0 / n), rtol=1e-9)
