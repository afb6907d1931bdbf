"""Nonterminals by number: the symbol table of a grammar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.errors import GrammarError
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL


@dataclass(frozen=True)
class SymbolTable:
    """The nonterminals of a grammar, numbered in a fixed order.

    Attributes
    ----------
    symbols
        Sorted, so that a treebank always gives the same numbering; preterminals are last.
    tags
        The part-of-speech tags, sorted.
    tag : int32, axes (N)
        Number of the tag at the end of a preterminal symbol's chain, -1 elsewhere.
    label_start : int64, axes (N + 1)
    phrase_label : int64
        The phrase labels of each symbol, see `phrase_labels`.
    chain_number : int64, axes (N)
        Starting from 1, equal for chains that differ only in a tag; negative at intermediate
        symbols.
    """

    symbols: tuple[Symbol, ...]
    tags: tuple[str, ...] = field(init=False)
    tag: NDArray[np.int32] = field(init=False, repr=False, compare=False)
    label_start: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    phrase_label: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    chain_number: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    _numbers: dict[Symbol, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        if len(numbers) != len(self.symbols):
            raise GrammarError("the symbol table has a symbol twice; symbols must be distinct")
        for symbol in self.symbols:
            if not symbol.chain or not FORBIDDEN_IN_LABEL.isdisjoint("".join(symbol.chain)):
                raise GrammarError(
                    f"symbol {symbol} has a label that is empty or has white space or brackets"
                )
        is_leaf = [symbol.kind == "preterminal" for symbol in self.symbols]
        if is_leaf != sorted(is_leaf):
            raise GrammarError("a preterminal precedes another symbol; preterminals must be last")
        tags = sorted({s.label for s in self.symbols if s.kind == "preterminal"})
        tag_numbers = {tag: number for number, tag in enumerate(tags)}
        object.__setattr__(self, "_numbers", numbers)
        object.__setattr__(self, "tags", tuple(tags))
        label_start, phrase_label = phrase_labels(self.symbols)
        object.__setattr__(self, "label_start", label_start)
        object.__setattr__(self, "phrase_label", phrase_label)
        object.__setattr__(self, "chain_number", _chain_numbers(self.symbols))
        tag_of = [tag_numbers[s.label] if s.kind == "preterminal" else -1 for s in self.symbols]
        object.__setattr__(self, "tag", np.array(tag_of, dtype=np.int32))

    @classmethod
    def of(cls, symbols: Iterable[Symbol]) -> SymbolTable:
        """The table of all given symbols."""
        return cls(tuple(sorted(set(symbols), key=lambda s: (s.kind == "preterminal", s))))

    @property
    def n_inner(self) -> int:
        """Number of symbols that can be parents: all but preterminals, which follow them."""
        return int(np.count_nonzero(self.tag < 0))

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, number: int) -> Symbol:
        return self.symbols[number]

    def number(self, symbol: Symbol) -> int:
        """The number of a symbol; raises KeyError if the grammar lacks it."""
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


def phrase_labels(symbols: Sequence[Symbol]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The phrase labels that each symbol stands for after un-binarising.

    Returns
    -------
    start : int64, axes (N + 1)
    label : int64, axes (labels of all symbols)
        Numbers of the labels of symbol a, at ``start[a]:start[a+1]``; the second occurrence of a
        label in a chain has another number.
    """
    numbers: dict[tuple[str, int], int] = {}
    start = [0]
    label: list[int] = []
    for symbol in symbols:
        chain: tuple[str, ...] = symbol.chain
        if symbol.kind == "intermediate":
            chain = ()
        elif symbol.kind == "preterminal":
            chain = chain[:-1]
        seen: Counter[str] = Counter()
        for name in chain:
            label.append(numbers.setdefault((name, seen[name]), len(numbers)))
            seen[name] += 1
        start.append(len(label))
    return np.array(start, dtype=np.int64), np.array(label, dtype=np.int64)


def _chain_numbers(symbols: Sequence[Symbol]) -> NDArray[np.int64]:
    numbers: dict[tuple[str, ...], int] = {}
    chain_numbers: list[int] = []
    for symbol in symbols:
        chain = symbol.chain[:-1] if symbol.kind == "preterminal" else symbol.chain
        number = numbers.setdefault(chain, len(numbers) + 1)
        chain_numbers.append(-number if symbol.kind == "intermediate" else number)
    return np.array(chain_numbers, dtype=np.int64)
