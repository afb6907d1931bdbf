"""Nonterminals by number: the symbol table of a grammar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.corpus.binarise import Symbol
from eigentree.corpus.trees import FORBIDDEN_IN_LABEL
from eigentree.errors import GrammarError


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """The nonterminals of a grammar, numbered in a fixed order.

    Attributes
    ----------
    symbols
        Sorted, so that one treebank always gives one numbering; preterminals come last.
    tags
        The part-of-speech tags, sorted.
    tag : int32, axes (N)
        Number of the tag at the end of a preterminal symbol's chain, -1 elsewhere.
    """

    symbols: tuple[Symbol, ...]
    tags: tuple[str, ...] = field(init=False)
    tag: NDArray[np.int32] = field(init=False, repr=False, compare=False)
    _numbers: dict[Symbol, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        if len(numbers) != len(self.symbols):
            raise GrammarError("the symbol table holds a symbol twice; each must stand once")
        for symbol in self.symbols:
            if not symbol.chain or not FORBIDDEN_IN_LABEL.isdisjoint("".join(symbol.chain)):
                raise GrammarError(
                    f"symbol {symbol} has a label with white space or brackets, or none"
                )
        is_leaf = [symbol.kind == "preterminal" for symbol in self.symbols]
        if is_leaf != sorted(is_leaf):
            raise GrammarError("a preterminal stands before another symbol; they must come last")
        tags = sorted({s.label for s in self.symbols if s.kind == "preterminal"})
        tag_numbers = {tag: number for number, tag in enumerate(tags)}
        object.__setattr__(self, "_numbers", numbers)
        object.__setattr__(self, "tags", tuple(tags))
        tag_of = [tag_numbers[s.label] if s.kind == "preterminal" else -1 for s in self.symbols]
        object.__setattr__(self, "tag", np.array(tag_of, dtype=np.int32))

    @classmethod
    def of(cls, symbols: Iterable[Symbol]) -> SymbolTable:
        """The table of all symbols that occur."""
        return cls(tuple(sorted(set(symbols), key=lambda s: (s.kind == "preterminal", s))))

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, number: int) -> Symbol:
        return self.symbols[number]

    def number(self, symbol: Symbol) -> int:
        """The number of a symbol; KeyError when the grammar lacks it."""
        return self._numbers[symbol]

    def get(self, symbol: Symbol) -> int | None:
        return self._numbers.get(symbol)

    def of_kind(self, kind: str) -> NDArray[np.bool_]:
        """Axes (N): which symbols are of this kind."""
        return np.array([symbol.kind == kind for symbol in self.symbols], dtype=bool)

    def to_json(self) -> list[Any]:
        return [[s.kind, list(s.chain), list(s.parents), list(s.siblings)] for s in self.symbols]

    @classmethod
    def from_json(cls, rows: list[Any]) -> SymbolTable:
        return cls(
            tuple(
                Symbol(kind, tuple(chain), tuple(parents), tuple(siblings))
                for kind, chain, parents, siblings in rows
            )
        )
