"""Hidden Markov models of tagged sentences, as checked arrays.

A sentence w_1 .. w_n and its states s_1 .. s_n have the probability

    initial[s_1] emission[s_1, w_1] transition[s_1, s_2] emission[s_2, w_2] ... stop[s_n].

States of one tag emit alike: in a trigram model a state is a pair of tags, of which the second
emits the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigentree._core.shapes import check_shapes, check_types
from eigentree.errors import GrammarError
from eigentree.treebank.lexicon import Lexicon
from eigentree.types import Floats

# Sums of probabilities may miss 1 by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class HiddenMarkovModel:
    """A hidden Markov model.

    Attributes
    ----------
    tags
        Names.
    lexicon
        Known words and classes of others.
    tag : int32, axes (S)
        Number of each state's tag, rising; every tag has a state.
    initial : float64, axes (S)
        Probability of each first state.
    transition : float64, axes (S, S)
        Of each next state, given the one of the row.
    stop : float64, axes (S)
        That the sentence ends after a state; with the state's row of ``transition`` it sums to 1.
    emission : float64, axes (tags, V)
        Of each entry of the lexicon, given the tag.

    Raises
    ------
    ShapeError
        When arrays don't agree.
    GrammarError
        When a number is no probability, a sum isn't 1, or the tags of states are out of order.
    """

    tags: tuple[str, ...]
    lexicon: Lexicon
    tag: NDArray[np.int32]
    initial: Floats
    transition: Floats
    stop: Floats
    emission: Floats

    def __post_init__(self) -> None:
        axes = {"initial": "S", "transition": "S S", "stop": "S", "emission": "tags V"}
        arrays = {name: getattr(self, name) for name in axes}
        sizes = {"tags": len(self.tags), "V": len(self.lexicon)}
        check_shapes(
            "HiddenMarkovModel",
            {"tag": (self.tag, "S")} | {name: (arrays[name], axes[name]) for name in axes},
            **sizes,
        )
        check_types("HiddenMarkovModel", {"tag": (self.tag, np.int32)})
        check_types("HiddenMarkovModel", {name: (arrays[name], np.float64) for name in axes})
        if not np.array_equal(np.unique(self.tag), np.arange(len(self.tags))) or np.any(
            np.diff(self.tag) < 0
        ):
            raise GrammarError(
                "the tags of states must rise, with a state for each tag and no others"
            )
        for name, array in arrays.items():
            if not np.all(array >= 0.0):
                raise GrammarError(f"{name} of a hidden Markov model holds a value below 0 or NaN")
        leaving = self.transition.sum(axis=1) + self.stop
        for name, total in (
            ("initial", self.initial.sum()),
            ("transition and stop of a state", leaving),
            ("emission of a tag", self.emission.sum(axis=1)),
        ):
            off = np.max(np.abs(total - 1.0))
            if not off <= ROUNDING:
                raise GrammarError(f"{name} sums to what differs from 1 by {off:.3g}; it must be 1")

    @property
    def n_states(self) -> int:
        return len(self.tag)

    def visits(self) -> Floats:
        """Axes (S): how often a sentence is expected to have each state, in O(S^3)."""
        going_on = np.eye(self.n_states) - self.transition.T
        return np.asarray(np.linalg.solve(going_on, self.initial), dtype=np.float64)

    def likelihood(self, words: Sequence[str]) -> Floats:
        """Axes (n, S): probability of each word of a sentence, given each state."""
        return self.emission.T[self.lexicon.ids(words)][:, self.tag]

    def tag_marginals(self, marginal: Floats) -> Floats:
        """Axes (n, tags): those of states, axes (n, S), summed over the states of each tag."""
        first = np.searchsorted(self.tag, np.arange(len(self.tags)))
        return np.asarray(np.add.reduceat(marginal, first, axis=1))
