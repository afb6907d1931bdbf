"""Grammars with more symbols than small integers hold."""

from __future__ import annotations

import numpy as np

from eigentree.constituency.chart.arrays import PruningChart


def test_lists_of_live_symbols_hold_any_symbol():
    # Markovised symbols of a large treebank run to tens of thousands; a number that wraps
    # round would silently stand for another symbol.
    n_symbols = 40_000
    live = PruningChart.empty(1, n_symbols).live
    live[0] = np.asarray(n_symbols - 1).astype(live.dtype)
    assert live[0] == n_symbols - 1
