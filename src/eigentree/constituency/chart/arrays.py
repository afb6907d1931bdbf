"""Records of arrays shared by chart kernels and their callers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.arrays import LexicalCandidates, RuleIndex
from eigentree.types import Flags, Flags2, Floats, Floats2, Ints, Ints2, Ints3, Longs, Longs2

# The exponent of a span without items.
EMPTY = -(1 << 30)


# Cells (16 bytes each) and items of one sentence's chart: enough for ordinary sentences of a few
# hundred words.
MAX_CELLS = 1 << 24
MAX_ITEMS = 1 << 22


class PruningChart(NamedTuple):
    """The arrays of one sentence's chart.

    Values over spans are in rows, one for each start and symbol and one for each end and symbol
    that has a value.

    Attributes
    ----------
    inside, outside : float64, axes (cells)
        A span's inside value is in its left and in its right row, and its outside value is the
        sum of the two cells.
    left_row, right_row : int32, axes (n, N), (n + 1, N)
        The cell of a symbol over a span is ``left_row[start, symbol] + end`` and
        ``right_row[end, symbol] + start``; set only if there is a row.
    left_range, right_range : int32, axes (n, N, 2), (n + 1, N, 2)
        First and last end (start) with a value in each row; first > last if there is no row.
    starters : int32, axes (n, N)
        Symbols over some span from this start that are the left child of a rule.
    n_starters : int32, axes (n)
    exponent : int32, axes (n, n + 1)
    live : int32, axes (items)
        Symbols of all spans, in the order of `span_number`.
    live_start, n_live : int32, axes (spans)
        The symbols of a span are ``live[live_start[span] : live_start[span] + n_live[span]]``.
    used : int32, axes (2)
        Number of cells and of items in use.
    """

    inside: Floats
    outside: Floats
    left_row: Ints2
    right_row: Ints2
    left_range: Ints3
    right_range: Ints3
    starters: Ints2
    n_starters: Ints
    exponent: Ints2
    live: Ints
    live_start: Ints
    n_live: Ints
    used: Ints

    @classmethod
    def empty(cls, n_words: int, n_symbols: int) -> PruningChart:
        """A chart with room for all items, or as many as `MAX_CELLS` and `MAX_ITEMS` allow.

        Unused cells and items cost address space, not memory.
        """
        n_spans = n_words * (n_words + 1) // 2
        # Kernels check that all symbols of a span would fit before they store any.
        n_cells = min((n_words + 3) * (n_words + 1) * n_symbols, MAX_CELLS)
        n_items = min((n_spans + 1) * n_symbols, MAX_ITEMS)
        left_range = np.empty((n_words, n_symbols, 2), dtype=np.int32)
        right_range = np.empty((n_words + 1, n_symbols, 2), dtype=np.int32)
        for ranges in (left_range, right_range):
            ranges[..., 0] = n_words + 1
            ranges[..., 1] = -1
        return cls(
            np.empty(n_cells),
            np.empty(n_cells),
            np.empty((n_words, n_symbols), dtype=np.int32),
            np.empty((n_words + 1, n_symbols), dtype=np.int32),
            left_range,
            right_range,
            np.empty((n_words, n_symbols), dtype=np.int32),
            np.zeros(n_words, dtype=np.int32),
            np.full((n_words, n_words + 1), EMPTY, dtype=np.int32),
            np.empty(n_items, dtype=np.int32),
            np.zeros(n_spans, dtype=np.int32),
            np.zeros(n_spans, dtype=np.int32),
            np.zeros(2, dtype=np.int32),
        )


# The row of a span over which no symbol is permitted.
CLOSED = -1


class Permitted(NamedTuple):
    """The symbols that are permitted over each span of a sentence.

    Attributes
    ----------
    row : int32, axes (spans)
        For each span, by width, then by start, its row of ``symbols``; `CLOSED` if no symbol is
        permitted.
    symbols : bool, axes (rows, N)
        The first row is all true.
    """

    row: Ints
    symbols: Flags2

    @classmethod
    def everything(cls, n_words: int, n_symbols: int) -> Permitted:
        """A record without constraints."""
        n_spans = n_words * (n_words + 1) // 2
        return cls(np.zeros(n_spans, dtype=np.int32), np.ones((1, n_symbols), dtype=np.bool_))

    def of_states(self, n_states: Ints) -> Permitted:
        """The same, expanded to latent states: ``n_states[a]`` states for symbol a."""
        return Permitted(self.row, np.repeat(self.symbols[:, : len(n_states)], n_states, axis=1))


class Leaves(NamedTuple):
    """Candidate preterminals for each word of a sentence.

    Attributes
    ----------
    start : int32, axes (n + 1)
        Candidates of word i are ``start[i]:start[i+1]``.
    symbol, entry : int32, axes (candidates)
    weight : float64, axes (candidates)
        p(word | symbol), times the probability of the tag where tags are uncertain.
    """

    start: Ints
    symbol: Ints
    weight: Floats
    entry: Ints

    @classmethod
    def of(cls, words: Sequence[LexicalCandidates]) -> Leaves:
        sizes = [len(candidates.symbol) for candidates in words]
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.concatenate([candidates.symbol for candidates in words]),
            np.concatenate([candidates.probability for candidates in words]),
            np.concatenate([candidates.entry for candidates in words]),
        )

    @property
    def n_words(self) -> int:
        return len(self.start) - 1

    def within(self, permitted: Permitted) -> Leaves | None:
        """The candidates that are permitted over their words; None if a word has none."""
        row = permitted.row[self.word]
        is_permitted = (row >= 0) & permitted.symbols[row, self.symbol]
        start = np.searchsorted(np.flatnonzero(is_permitted), self.start).astype(np.int32)
        if not np.all(np.diff(start) > 0):
            return None
        return Leaves(
            start, self.symbol[is_permitted], self.weight[is_permitted], self.entry[is_permitted]
        )

    @property
    def word(self) -> NDArray[np.intp]:
        """Axes (candidates): the position of each candidate's word."""
        return np.repeat(np.arange(self.n_words), np.diff(self.start))


class LatentRules(NamedTuple):
    """Rules as needed by kernels: tensors formed in full, except products of means.

    Attributes
    ----------
    layout
        The rule index of the plain grammar.
    parent : int32, axes (R)
    state_start : int64, axes (N + 1)
    is_product : bool, axes (R)
        Whether a tensor is the product of a vector over its parent's states with both children's
        means.
    tensor_start : int64, axes (R)
    tensor : float64
        For each rule axes (K_a, K_b, K_c), flattened; (K_a) for a product.
    mean : float64, axes (states)
    cell_start : int64, axes (P + 1)
        Start of the K_b K_c cells of each pair of children in an array of all cells; a pair whose
        rules are all products of means has no cells.
    max_cells : int
        Largest number of cells of a pair.
    """

    layout: RuleIndex
    parent: Ints
    state_start: Longs
    is_product: Flags
    tensor_start: Longs
    tensor: Floats
    mean: Floats
    cell_start: Longs
    max_cells: int


class PrefixChart(NamedTuple):
    """Inside vectors of all spans, by width, then by start, each scaled by a power of two.

    Attributes
    ----------
    word : float64, axes (n, states of preterminals)
    inside : float64, axes (spans of two or more words, states of other symbols)
    exponent : int64, axes (spans)
    is_live : bool, axes (spans, N)
        Whether a symbol has a derivation over a span.
    live : int32, axes (spans, N)
        The symbols that have one.
    n_live : int32, axes (spans)
    of_mean : float64, axes (spans, N)
        Product of each live vector with the symbol's mean.
    """

    word: Floats2
    inside: Floats2
    exponent: Longs
    is_live: Flags2
    live: Ints2
    n_live: Ints
    of_mean: Floats2


class Matrix(NamedTuple):
    """A matrix to multiply rows by: dense, or as coordinates if it has few entries.

    Attributes
    ----------
    full : axes (rows, columns), or (0, 0)
    row, column : uint32, axes (entries)
        Sorted by row.
    value : axes (entries)
    """

    full: Floats2
    row: NDArray[np.uint32]
    column: NDArray[np.uint32]
    value: Floats


class KBestRows(NamedTuple):
    """Derivations of all items: those listed and candidates.

    Attributes
    ----------
    value : float64, axes (rows)
    item : int32, axes (rows)
    edge : int32, axes (rows)
        -1 at preterminals; at the root, an index into the forest's roots.
    left, right : int32, axes (rows)
        Rows of the children; -1 for none.
    link : int32, axes (rows, 2)
        The next best row of the same item; for a candidate, its children in the heap.
    trace : int64, axes (rows, 4)
        Fingerprint of the tree, see `join`.
    """

    value: Floats
    item: Ints
    edge: Ints
    left: Ints
    right: Ints
    link: Ints2
    trace: Longs2

    @classmethod
    def empty(cls, n_rows: int) -> KBestRows:
        item, edge, left, right = np.empty((4, n_rows), dtype=np.int32)
        return cls(
            np.empty(n_rows),
            item,
            edge,
            left,
            right,
            np.empty((n_rows, 2), dtype=np.int32),
            np.empty((n_rows, 4), dtype=np.int64),
        )
