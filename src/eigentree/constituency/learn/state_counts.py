"""How many latent states each nonterminal may have: one number for all, and exceptions by name."""

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
MOST = 2**31 - 1


class StateSettings(Protocol):
    """Settings that say how many states there may be."""

    @property
    def states(self) -> int: ...

    @property
    def states_of(self) -> Mapping[str, int]: ...


def check_states(states: int, states_of: Mapping[str, int]) -> None:
    """Refuse numbers of states below 1 and those that can't be stored."""
    named = [("states is", states), *((f"states_of gives {n!r}", k) for n, k in states_of.items())]
    for what, number in named:
        if number < 1:
            raise SettingsError(f"{what} {number}; it must be at least 1")
        if number > MOST:
            raise SettingsError(f"{what} {number}; it must be at most {MOST}")


def most_states(
    symbols: Iterable[Symbol], states: int, states_of: Mapping[str, int]
) -> NDArray[np.int32]:
    """Axes (N): the most states of each symbol.

    Parameters
    ----------
    symbols
        All symbols of a treebank.
    states
        Of those that are not named.
    states_of
        By the name that is printed; symbols that share one share its number.

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
                f"states_of names {name!r}, which is no nonterminal of the treebank; near it are "
                f"{', '.join(dict.fromkeys(near))}"
            )
    return np.array([states_of.get(name, states) for name in names], dtype=np.int32)


def capped_states(examples: Examples, options: StateSettings) -> NDArray[np.int32]:
    """Axes (N): the most states of each symbol, at most the root of the symbol's count."""
    most = most_states(examples.symbols.symbols, options.states, options.states_of)
    count = np.bincount(examples.symbol, examples.weight, len(examples.symbols))
    return np.clip(np.sqrt(count), 1, most).astype(np.int32)
