"""Products of head-automata with deterministic models over words, for one sentence.

A log-linear combination scores the modifiers x of head h in direction d by

    log p_hidden(x | h, d) + w log p_lexical(x | h, d)                                 (1)

(Luque et al. 2012, equation 21, with a weight).  The lexical model is deterministic, so each x
has one path of states in it, and p_lexical^w is the product of its steps, each to the power w.
Therefore (1) is the logarithm of the value of the product automaton: its states are pairs of a
lexical state s and a hidden state, its vectors and operators Kronecker products,

    initial = e_0 x initial,    final = stop^w x final,    operator = (e_after step^w) x operator,

with one row of blocks in each operator, for the state after the modifier; only this row is stored.
It uses the same chart as other automata, and the hidden model may be signed.

The product has an operator for each arc: with S lexical and K hidden states 8 S (N K)^2 bytes, 1 MB
for 24 words, 4 and 8 states, and 83 MB for 200 words.
"""

from __future__ import annotations

import numpy as np

from eigentree.dependency.chart._kernels_lexical_product import fill_products
from eigentree.dependency.chart.arrays import SentenceAutomata
from eigentree.dependency.chart.inside_outside import check_sentence
from eigentree.dependency.lexical_modifiers import SentenceModifiers
from eigentree.errors import SettingsError, ShapeError


def lexical_heads(
    modifiers: SentenceModifiers,
    weight: float = 1.0,
    *,
    times: SentenceAutomata | None = None,
) -> SentenceAutomata:
    """The automata of a lexical model for a sentence, alone or multiplied with others.

    Parameters
    ----------
    modifiers
        From `eigentree.dependency.lexical_modifiers.LexicalModifiers.of_sentence`.
    weight
        The exponent w of its values, above 0.
    times
        Automata of the same sentence.  Default: automata with value 1 for everything.

    Returns
    -------
    SentenceAutomata
        State s K + k is the pair of the lexical state s and state k of ``times``, where each
        automaton has K states.

    Raises
    ------
    SettingsError
        When the weight is not above 0.
    ShapeError
        When the sentences have different lengths.

    Cost
    ----
    O(N^2 S K^2); memory for as many numbers.
    """
    if not 0.0 < weight < np.inf:
        raise SettingsError(f"the weight of a lexical model is {weight}; it must be above 0")
    size, _, n_lexical = modifiers.step.shape
    others = _ones(size) if times is None else times
    n, n_hidden = check_sentence("lexical_heads", others)
    if n != size - 1:
        raise ShapeError(
            f"lexical_heads: the automata have {n} words, the lexical model has {size - 1}"
        )
    initial, final = np.zeros((2, 2 * size, n_lexical * n_hidden))
    stop = modifiers.stop.reshape(2 * size, n_lexical) ** weight
    automaton = others.automaton_of.reshape(-1)
    n_states = others.n_states[automaton]
    for at, (number, k) in enumerate(zip(automaton, n_states, strict=True)):
        initial[at, :k] = others.initial[number, :k]
        final[at, : n_lexical * k] = np.outer(stop[at], others.final[number, :k]).reshape(-1)
    operators = np.zeros((size, size, n_hidden, n_lexical * n_hidden))
    fill_products(
        others.operators,
        others.n_states,
        others.automaton_of,
        others.operator_of,
        modifiers.step**weight,
        operators,
    )
    return SentenceAutomata(
        initial,
        final,
        operators.reshape(-1, *operators.shape[2:]),
        n_lexical * n_states,
        np.arange(2 * size).reshape(size, 2),
        np.arange(size * size).reshape(size, size),
        modifiers.after,
        n_lexical,
    )


def _ones(size: int) -> SentenceAutomata:
    return SentenceAutomata(
        initial=np.ones((1, 1)),
        final=np.ones((1, 1)),
        operators=np.ones((1, 1, 1)),
        n_states=np.ones(1, dtype=np.int64),
        automaton_of=np.zeros((size, 2), dtype=np.int64),
        operator_of=np.zeros((size, size), dtype=np.int64),
        block_of=np.zeros(size, dtype=np.int64),
    )
