"""Split head-automata: for each head and each direction, an automaton over its modifiers.

A dependency tree consists, for each of its words, of the sequence of modifiers to the left and the
sequence to the right, both read from the head outwards.  In a split head-automata grammar
(Eisner 2000) all these sequences are independent given their heads, so the value of a tree is
the product of the automata's values; the root is a head with modifiers to its right only.
An automaton is an operator model (`eigentree.automata.model`): deterministic, with
hidden states, or spectral and therefore signed (Luque et al. 2012).

The symbols read by the automata are, for example, the tags of the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree._core.shapes import check_shapes, check_types
from eigentree.automata.model import OperatorModel
from eigentree.errors import GrammarError
from eigentree.types import Floats, Longs

# Name of the root among heads; no symbol has an empty name.
ROOT = ""
LEFT, RIGHT = 0, 1
DIRECTIONS = ("left", "right")


@dataclass(frozen=True, eq=False)
class HeadAutomata:
    """One automaton for each head symbol and direction, and one for the root.

    The automaton of head symbol h in direction d has number 2 h + d, where d is `LEFT` or
    `RIGHT`; for the root, h is the number of symbols V.  The root's left automaton has no states.

    Attributes
    ----------
    symbols
        Names; none may be empty.
    n_states : int64, axes (A), where A = 2 (V + 1)
        Number of states of each automaton.
    initial, final : float64, axes (A, K)
        K is the largest number of states; unused entries are 0.
    operators : float64, axes (A, V, K, K)
        ``operators[a, m, i, j]``: to state i from state j, reading modifier symbol m.

    Raises
    ------
    ShapeError
        When the shapes of arrays do not agree.
    GrammarError
        When a symbol is empty or repeated, a number is not finite, an automaton lacks states,
        or an entry of a missing state is not 0.
    """

    symbols: tuple[str, ...]
    n_states: Longs
    initial: Floats
    final: Floats
    operators: Floats

    def __post_init__(self) -> None:
        where, n_symbols = "HeadAutomata", len(self.symbols)
        numbers = {"initial": "A K", "final": "A K", "operators": "A V K K"}
        arrays = {name: (getattr(self, name), axes) for name, axes in numbers.items()}
        size = check_shapes(
            where, {"n_states": (self.n_states, "A"), **arrays}, V=n_symbols, A=2 * (n_symbols + 1)
        )["K"]
        check_types(where, {"n_states": (self.n_states, np.int64)})
        check_types(where, {name: (array, np.float64) for name, (array, _) in arrays.items()})
        if len(set(self.symbols)) < n_symbols or ROOT in self.symbols:
            raise GrammarError("the symbols of head-automata must be distinct and not empty")
        if self.n_states[2 * n_symbols] != 0:
            raise GrammarError("the root must not have an automaton to its left")
        others = np.delete(self.n_states, 2 * n_symbols)
        if np.any(others < 1) or np.any(others > size):
            raise GrammarError(
                f"an automaton has {others.min()} states, another {others.max()}; "
                f"each must have between 1 and {size}, the size of the arrays"
            )
        absent = np.arange(size) >= self.n_states[:, None]
        absent_from = (absent[:, :, None] | absent[:, None, :])[:, None]
        for name, (array, _) in arrays.items():
            if not np.all(np.isfinite(array)):
                raise GrammarError(f"{name} of head-automata has a value that is not finite")
            missing = absent_from if name == "operators" else absent
            if np.any((array != 0.0) & missing):
                raise GrammarError(f"{name} has a nonzero number for a missing state")

    @classmethod
    def make(cls, automata: Mapping[tuple[str, int], OperatorModel]) -> HeadAutomata:
        """Head-automata from operator models.

        Parameters
        ----------
        automata
            The model of each head symbol in both directions, and one for `ROOT` to the right.
            All must have the same symbols in the same order, and each of these must be a head.

        Raises
        ------
        GrammarError
            When one is missing or superfluous, or their symbols differ.
        """
        if (ROOT, RIGHT) not in automata:
            raise GrammarError("the automaton for the modifiers of the root is missing")
        symbols = automata[ROOT, RIGHT].symbols
        keys = [(head, direction) for head in symbols for direction in (LEFT, RIGHT)]
        keys.append((ROOT, RIGHT))
        for head, direction in keys:
            if (head, direction) not in automata:
                raise GrammarError(f"head {head!r} lacks an automaton to the {_name(direction)}")
        for (head, direction), model in automata.items():
            if (head, direction) not in keys:
                raise GrammarError(
                    f"there is an automaton for head {head!r} to the {_name(direction)}, "
                    "which is not a symbol of the root's automaton"
                )
            if model.symbols != symbols:
                raise GrammarError(
                    f"the automaton of head {head!r} to the {_name(direction)} has other symbols "
                    "than the root's; all must have the same, in the same order"
                )
        size = max(len(model.initial) for model in automata.values())
        n_automata = 2 * (len(symbols) + 1)
        n_states = np.zeros(n_automata, dtype=np.int64)
        initial, final = np.zeros((2, n_automata, size))
        operators = np.zeros((n_automata, len(symbols), size, size))
        number = {symbol: at for at, symbol in enumerate((*symbols, ROOT))}
        for (head, direction), model in automata.items():
            at, n = 2 * number[head] + direction, len(model.initial)
            n_states[at] = n
            initial[at, :n], final[at, :n] = model.initial, model.final
            operators[at, :, :n, :n] = model.operators
        return cls(symbols, n_states, initial, final, operators)

    @property
    def n_parameters(self) -> int:
        """Number of nonzero numbers."""
        parts = (self.initial, self.final, self.operators)
        return sum(int(np.count_nonzero(part)) for part in parts)

    def automaton(self, head: str, direction: int) -> OperatorModel:
        """The model of a head symbol, or of `ROOT`, in a direction."""
        if head not in (*self.symbols, ROOT) or direction not in (LEFT, RIGHT):
            raise GrammarError(f"there is no head {head!r} with direction {direction!r}")
        at = 2 * (*self.symbols, ROOT).index(head) + direction
        n = int(self.n_states[at])
        if not n:
            raise GrammarError("the root has no automaton to its left")
        return OperatorModel(
            self.symbols,
            self.initial[at, :n].copy(),
            self.final[at, :n].copy(),
            self.operators[at, :, :n, :n].copy(),
        )

    def numbers(self, symbols: Iterable[str]) -> Longs:
        """Axes (n): the number of each symbol of a sentence.

        Raises
        ------
        GrammarError
            When one is unknown.
        """
        number = {symbol: at for at, symbol in enumerate(self.symbols)}
        try:
            return np.array([number[symbol] for symbol in symbols], dtype=np.int64)
        except KeyError as error:
            raise GrammarError(f"unknown symbol {error}") from None

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The numbers without those of missing states, for `from_arrays`."""
        vectors, matrices = self._present(self.n_states, self.initial.shape[1])
        return {
            "automata.n_states": self.n_states,
            "automata.initial": self.initial[vectors],
            "automata.final": self.final[vectors],
            "automata.operators": self.operators.transpose(0, 2, 3, 1)[matrices],
        }

    @classmethod
    def from_arrays(
        cls, symbols: tuple[str, ...], arrays: Mapping[str, NDArray[Any]]
    ) -> HeadAutomata:
        """Head-automata from the arrays of a file; other arrays are ignored.

        Raises
        ------
        KeyError
            When an array is missing.
        ShapeError, GrammarError
            When an array is invalid.
        """
        where, n_automata = "HeadAutomata", 2 * (len(symbols) + 1)
        n_states = np.array(arrays["automata.n_states"])
        check_shapes(where, {"n_states": (n_states, "A")}, A=n_automata)
        check_types(where, {"n_states": (n_states, np.int64)})
        stored = {name: arrays[f"automata.{name}"] for name in ("initial", "final", "operators")}
        # In floating point, since forged sizes could overflow integers.
        needed = n_states.astype(np.float64)
        if np.any(n_states < 0) or needed.sum() != len(stored["initial"]):
            raise GrammarError("the vectors of head-automata do not match their numbers of states")
        check_shapes(
            where,
            {
                "initial": (stored["initial"], "states"),
                "final": (stored["final"], "states"),
                "operators": (stored["operators"], "entries V"),
            },
            entries=int((needed**2).sum()),
            V=len(symbols),
        )
        size = int(n_states.max(initial=0))
        vectors, matrices = cls._present(n_states, size)
        initial, final = np.zeros((2, n_automata, size))
        initial[vectors], final[vectors] = stored["initial"], stored["final"]
        operators = np.zeros((n_automata, size, size, len(symbols)))
        operators[matrices] = stored["operators"]
        operators = np.ascontiguousarray(operators.transpose(0, 3, 1, 2))
        return cls(symbols, n_states, initial, final, operators)

    @staticmethod
    def _present(n_states: Longs, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Axes (A, K) and (A, K, K): which entries of vectors and matrices are used by states."""
        vectors = np.arange(size) < n_states[:, None]
        return vectors, vectors[:, :, None] & vectors[:, None, :]


def _name(direction: int) -> str:
    return DIRECTIONS[direction] if direction in (LEFT, RIGHT) else f"direction {direction!r}"
