"""Weighted automata and hidden Markov models over sequences of symbols.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        # Sequences and models.
        "Sequences": "sequences",
        "OperatorModel": "model",
        "mixture": "model",
        "HiddenMarkovModel": "hidden_markov",
        "StateMarginals": "forward_backward",
        "StateGraph": "state_graph",
        # Learning.
        "count_one_state": "counting",
        "count_first": "counting",
        "count_previous": "counting",
        "OperatorOptions": "spectral",
        "learn_operators": "spectral",
        "SequenceEMOptions": "em",
        "learn_sequence_em": "em",
        "count_hidden_markov": "hidden_markov",
        # Model files.
        "save_automaton": "model_file",
        "load_automaton": "model_file",
    },
)
