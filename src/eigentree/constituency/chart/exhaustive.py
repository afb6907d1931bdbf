"""Textbook inside-outside: every rule at every split point of every span.

The reference for other charts: linear in the number of rules, independent of the words.
`eigentree.constituency.chart.pruning` computes the same marginals from live symbols only.
"""

from __future__ import annotations

import math

import numpy as np

from eigentree._core.memory import check_chart_bytes
from eigentree.constituency.chart import _kernels_dense as kernels
from eigentree.constituency.chart._kernels_spans import first_span
from eigentree.constituency.chart.arrays import Leaves, Permitted
from eigentree.constituency.chart.pruning import FullMarginals
from eigentree.constituency.grammar.pcfg import PCFG


def exhaustive_marginals(
    grammar: PCFG, leaves: Leaves, permitted: Permitted | None = None
) -> FullMarginals | None:
    """Inside-outside of a sentence with every rule at every split point.

    Parameters
    ----------
    grammar
        Every rule is applied.
    leaves
        Preterminals over at least one word.
    permitted
        Permitted symbols of spans of two or more words; None for all.

    Returns
    -------
    FullMarginals or None
        None when the grammar has no tree for the sentence.

    Raises
    ------
    MemoryError
        When the chart would exceed `eigentree._core.memory.MAX_CHART_BYTES`.

    Cost
    ----
    O(R N^3) for R rules; memory for two vectors over all symbols per span.

    References
    ----------
    cohen-satta-2013, figure 2; baker-1979.
    """
    n, n_symbols = leaves.n_words, len(grammar.symbols)
    check_chart_bytes(16 * first_span(n, n + 1) * n_symbols)
    inside, outside = np.zeros((2, first_span(n, n + 1), n_symbols))
    exponent, outer_exponent = np.zeros((2, len(inside)), dtype=np.int64)
    inside[leaves.word, leaves.symbol] = leaves.weight
    kernels.scale_rows(inside[:n], exponent[:n])
    permitted = permitted or Permitted.everything(n, n_symbols)
    rules = grammar.parent, grammar.left, grammar.right, grammar.probability
    kernels.inside_by_rules(n, *rules, inside, exponent, permitted)
    total = float(inside[-1] @ grammar.root)
    if not total > 0.0:
        return None
    outside[-1] = grammar.root
    kernels.drop_forbidden(len(outside) - 1, permitted, outside[-1:])
    kernels.outside_by_rules(n, *rules, inside, exponent, outside, outer_exponent, permitted)
    power = (exponent + outer_exponent - exponent[-1]).clip(-kernels.MOST, kernels.MOST)
    marginal = inside * outside * (np.exp2(power) / total)[:, None]
    log_value = math.log(total) + int(exponent[-1]) * math.log(2.0)
    n_inner = grammar.symbols.n_inner
    leaf = marginal[leaves.word, leaves.symbol]
    return FullMarginals(leaf, marginal[n:, :n_inner], log_value)
