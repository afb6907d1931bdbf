"""Sequences of symbols as arrays, the input of learners of automata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from eigentree.errors import GrammarError
from eigentree.types import Ints, Longs


class Sequences(NamedTuple):
    """Sequences of numbered symbols, one after another.

    Attributes
    ----------
    symbols
        The alphabet, l symbols.
    start : int64, axes (sequences + 1)
        Where each sequence begins, and the end of the last.
    symbol : int32, axes (T), for T symbols in all
        Numbers below l.
    """

    symbols: tuple[str, ...]
    start: Longs
    symbol: Ints

    @classmethod
    def of(
        cls, sequences: Iterable[Sequence[str]], symbols: Sequence[str] | None = None
    ) -> Sequences:
        """Sequences as arrays.

        Parameters
        ----------
        sequences
            Sequences of symbols.
        symbols
            The alphabet; by default the symbols of the sequences, sorted.

        Raises
        ------
        GrammarError
            When a symbol isn't in the given alphabet.
        """
        given = list(sequences)
        start = np.cumsum([0, *map(len, given)], dtype=np.int64)
        names = tuple(sorted(set(chain.from_iterable(given))) if symbols is None else symbols)
        number = {name: at for at, name in enumerate(names)}
        try:
            ids = [number[name] for name in chain.from_iterable(given)]
        except KeyError as error:
            raise GrammarError(f"symbol {error.args[0]!r} isn't in the alphabet") from None
        return cls(names, start, np.array(ids, dtype=np.int32))

    @property
    def n_sequences(self) -> int:
        return len(self.start) - 1

    @property
    def length(self) -> Longs:
        """Axes (sequences): number of symbols of each."""
        return np.diff(self.start)

    def between(self, first: int, last: int) -> Sequences:
        """The sequences from number ``first`` up to ``last``, without copying symbols."""
        start = self.start[first : last + 1]
        return Sequences(self.symbols, start - start[0], self.symbol[start[0] : start[-1]])

    def tape(self) -> Ints:
        """Axes (T + sequences + 1): all sequences in one row, with the number l around each."""
        tape = np.full(len(self.symbol) + len(self.start), len(self.symbols), dtype=np.int32)
        tape[
            np.arange(len(self.symbol)) + np.repeat(np.arange(1, len(self.start)), self.length)
        ] = self.symbol
        return tape
