"""Automata whose states are visible in the sequence, so that they are learned by counting.

``one-state``
    Symbols are independent; in dependency grammars this is the deterministic model.
``first``
    Two states: before the first symbol and after it.
``previous``
    The state is the previous symbol, l + 1 states for l symbols; a bigram model.

All are probability distributions in which each sequence has a positive probability.  With c(s, a)
the count of outcome a, a symbol or the end, in state s, and l + 1 outcomes,

    p(a | s) = (c(s, a) + prior (l + 1) q(a)) / (c(s) + prior (l + 1)),

where q is uniform, or, for the states of ``previous``, the distribution of ``first``.  The prior is
the pseudo-count of an outcome.
"""

from __future__ import annotations

import numpy as np

from eigentree.automata.model import OperatorModel
from eigentree.automata.sequences import Sequences
from eigentree.errors import SettingsError
from eigentree.types import Floats

PRIOR = 0.1
# The previous symbol's operators have (l + 1)^2 l numbers.
MAX_PREVIOUS = 300


def _smoothed(counts: Floats, prior: float, lean: Floats | float) -> Floats:
    """Axes (states, l + 1): probabilities of outcomes, from counts of them."""
    pull = prior * counts.shape[1]
    smoothed: Floats = (counts + pull * lean) / (counts.sum(axis=1, keepdims=True) + pull)
    return smoothed


def check_prior(prior: float) -> None:
    """Refuse a pseudo-count under which outcomes have probability zero."""
    if not 0.0 < prior < np.inf:
        raise SettingsError(f"prior is {prior}; it must be above 0")


def count_one_state(sequences: Sequences, prior: float = PRIOR) -> OperatorModel:
    """The automaton with one state.

    Parameters
    ----------
    sequences
        Without any, all outcomes are equally probable.
    prior
        Pseudo-count of an outcome, above 0.
    """
    check_prior(prior)
    n_symbols = len(sequences.symbols)
    counts = np.bincount(sequences.symbol, minlength=n_symbols + 1).astype(np.float64)
    counts[n_symbols] = sequences.n_sequences
    p = _smoothed(counts[None], prior, 1.0 / (n_symbols + 1))[0]
    return OperatorModel(
        sequences.symbols, np.ones(1), p[n_symbols:].copy(), p[:n_symbols, None, None].copy()
    )


def count_first(sequences: Sequences, prior: float = PRIOR) -> OperatorModel:
    """The automaton with a separate state before the first symbol; parameters as above."""
    check_prior(prior)
    p = _first_and_rest(sequences, prior)
    operators = np.zeros((len(sequences.symbols), 2, 2))
    operators[:, 1, :] = p[:, :-1].T
    return OperatorModel(sequences.symbols, np.array([1.0, 0.0]), p[:, -1].copy(), operators)


def _first_and_rest(sequences: Sequences, prior: float) -> Floats:
    """Axes (2, l + 1): probabilities of outcomes at the beginning and later."""
    outcome = sequences.tape()[1:]
    is_first = np.zeros(len(outcome), dtype=bool)
    is_first[sequences.start[:-1] + np.arange(sequences.n_sequences)] = True
    wide = len(sequences.symbols) + 1
    counts = np.stack(
        [np.bincount(outcome[at], minlength=wide) for at in (is_first, ~is_first)]
    ).astype(np.float64)
    return _smoothed(counts, prior, 1.0 / wide)


def count_previous(sequences: Sequences, prior: float = PRIOR) -> OperatorModel:
    """The automaton whose state is the previous symbol; parameters as above.

    State 0 is the one before the first symbol, state a + 1 the one after symbol a.

    Raises
    ------
    SettingsError
        When there are more than 300 symbols, whose operators would take gigabytes.
    """
    check_prior(prior)
    n_symbols = len(sequences.symbols)
    if n_symbols > MAX_PREVIOUS:
        raise SettingsError(
            f"there are {n_symbols} symbols; an automaton with a state for each is possible for at "
            f"most {MAX_PREVIOUS}"
        )
    wide = n_symbols + 1
    tape = sequences.tape().astype(np.int64)
    # Boundaries have the highest number; as a previous symbol they are state 0.
    state = (tape[:-1] + 1) % wide
    counts = np.bincount(state * wide + tape[1:], minlength=wide * wide).astype(np.float64)
    first, rest = _first_and_rest(sequences, prior)
    lean = np.repeat(rest[None], wide, axis=0)
    lean[0] = first
    p = _smoothed(counts.reshape(wide, wide), prior, lean)
    operators = np.zeros((n_symbols, wide, wide))
    operators[np.arange(n_symbols), np.arange(1, wide)] = p[:, :-1].T
    initial = np.zeros(wide)
    initial[0] = 1.0
    return OperatorModel(sequences.symbols, initial, p[:, -1].copy(), operators)
