"""A plain PCFG as a grammar with one latent state per symbol."""

from __future__ import annotations

import numpy as np

from eigentree.constituency.grammar.arrays import LatentParameters
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG


def one_state(pcfg: PCFG) -> LPCFG:
    """The same probabilities, in the form shared by charts and decoders."""
    n_symbols, n_rules, n_entries = len(pcfg.symbols), pcfg.n_rules, len(pcfg.words.word)
    ones = np.ones(n_symbols)
    parameters = LatentParameters(
        state_start=np.arange(n_symbols + 1),
        rule_symbols=np.stack([pcfg.parent, pcfg.left, pcfg.right], axis=1),
        dense_start=np.arange(n_rules),
        dense=pcfg.probability,
        n_samples=np.zeros(n_rules, dtype=np.int32),
        sample_start=np.zeros((n_rules, 3), dtype=np.int64),
        samples=np.zeros(0),
        ratio=pcfg.probability,
        smoothing=np.ones(n_rules),
        outside_mean=ones,
        inside_mean=ones,
        lexical_start=np.arange(n_entries + 1),
        lexical=np.ones(n_entries),
        unseen_word=ones,
        root=pcfg.root,
    )
    return LPCFG(pcfg, parameters, signed=False)
