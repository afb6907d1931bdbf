"""Maximum numbers of latent states: one for all nonterminals, with exceptions by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import Symbol

# Numbers of states are stored in 32 bits.
MAX_STATES = 2**31 - 1


class StateSettings(Protocol):
    """Settings that limit the number of states."""

    @property
    def states(self) -> int: ...

    @property
    def states_of(self) -> Mapping[str, int]: ...


def check_states(states: int, states_of: Mapping[str, int]) -> None:
    """Raise SettingsError for numbers of states below 1 or too large to store."""
    named = [("states is", states), *((f"states_of gives {n!r}", k) for n, k in states_of.items())]
    for what, number in named:
        if number < 1:
            raise SettingsError(f"{what} {number}; it must be at least 1")
        if number > MAX_STATES:
            raise SettingsError(f"{what} {number}; it must be at most {MAX_STATES}")


def max_states(
    symbols: Iterable[Symbol], states: int, states_of: Mapping[str, int]
) -> NDArray[np.int32]:
    """Axes (N): the maximum number of states of each symbol.

    Parameters
    ----------
    symbols
        All symbols of a treebank.
    states
        For symbols that are not named.
    states_of
        By printed name; symbols with the same printed name share its number.

    Raises
    ------
    SettingsError
        When no symbol has one of the names.
    """
    names = [str(symbol) for symbol in symbols]
    for name in states_of:
        if name not in names:
            near = get_close_matches(name, names, n=4, cutoff=0.5) or names[:4]
            raise SettingsError(
                f"states_of has the name {name!r}, which is not a nonterminal of the treebank; "
                f"similar names: {', '.join(dict.fromkeys(near))}"
            )
    return np.array([states_of.get(name, states) for name in names], dtype=np.int32)


def capped_states(examples: Examples, options: StateSettings) -> NDArray[np.int32]:
    """Axes (N): the maximum states of each symbol, limited by the root of the symbol's count."""
    limit = max_states(examples.symbols.symbols, options.states, options.states_of)
    count = np.bincount(examples.symbol, examples.weight, len(examples.symbols))
    return np.clip(np.sqrt(count), 1, limit).astype(np.int32)
