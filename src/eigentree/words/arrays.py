"""Records of arrays that the kernels of Brown clustering and their callers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentree.types import Floats, Floats3, Longs, Longs2, Longs3

if TYPE_CHECKING:
    from scipy import sparse

# Values of n log n that are looked up rather than computed.
_TABLE = 1 << 20
# Bits available to scaled sums of n log n, besides the sign.
_BITS = 62


class Window(NamedTuple):
    """The current clusters, in S slots, and the tables that kernels update.

    Attributes
    ----------
    counts : int64, axes (2, S, S)
        Bigrams from one cluster to another, and the same transposed.
    cells : int64, axes (S, S)
        Symmetric; the loss of merging two clusters in the sum of n log n, scaled.
    logs : float64, axes (2, S, S)
        Logarithms of ``full[d, a] + full[d, b]``; on the diagonal of ``full[d, a]``.
    seen, full : int64, axes (2, S)
        Bigrams that begin (0) or end (1) in a cluster: those with current clusters, and all.
    rank : int64, axes (S)
        A cluster's first word; -1 for a free slot.
    table : int64
        n log n, scaled, for small n.
    unit : float
        The value of 1 in `cells` and `table`, a power of two.
    own, row_least : float64, axes (S)
        Buffers of the search for a merge.
    near : int64, axes (S)
        Buffer.
    rows : int64, axes (2, 2, S)
        Buffer.
    """

    counts: Longs3
    cells: Longs2
    logs: Floats3
    seen: Longs2
    full: Longs2
    rank: Longs
    table: Longs
    unit: float
    own: Floats
    row_least: Floats
    near: Longs
    rows: Longs3

    @classmethod
    def empty(cls, n_slots: int, n_bigrams: int) -> Window:
        """Free slots, for a text of ``n_bigrams`` bigrams."""
        n = np.arange(min(n_bigrams, _TABLE - 1) + 1, dtype=np.float64)
        values = n * np.log(np.maximum(n, 1.0))
        largest = 4.0 * n_bigrams * np.log(n_bigrams + 2.0) + 4.0
        unit = 2.0 ** (int(np.ceil(np.log2(largest))) - _BITS)
        return cls(
            counts=np.zeros((2, n_slots, n_slots), dtype=np.int64),
            cells=np.zeros((n_slots, n_slots), dtype=np.int64),
            logs=np.zeros((2, n_slots, n_slots)),
            seen=np.zeros((2, n_slots), dtype=np.int64),
            full=np.zeros((2, n_slots), dtype=np.int64),
            rank=np.full(n_slots, -1, dtype=np.int64),
            table=np.floor(values / unit + 0.5).astype(np.int64),
            unit=unit,
            own=np.zeros(n_slots),
            row_least=np.zeros(n_slots),
            near=np.zeros(n_slots, dtype=np.int64),
            rows=np.zeros((2, 2, n_slots), dtype=np.int64),
        )


class Bigrams(NamedTuple):
    """The bigrams of each word: with the word after it (0), and before it (1).

    Attributes
    ----------
    start : int64, axes (2, V + 1)
        First bigram of each word.
    other, number : int64, axes (2, bigrams)
        The other word of each bigram, and its count.
    total : int64, axes (2, V)
        Number of bigrams, including repetitions.
    """

    start: Longs2
    other: Longs2
    number: Longs2
    total: Longs2

    @classmethod
    def of(cls, counts: sparse.csr_array) -> Bigrams:
        """The bigrams of a table of counts, axes (V, V)."""
        both = [counts, counts.T.tocsr()]
        return cls(
            start=np.stack([each.indptr for each in both]).astype(np.int64),
            other=np.stack([each.indices for each in both]).astype(np.int64),
            number=np.stack([each.data for each in both]).astype(np.int64),
            total=np.stack([each.sum(axis=1) for each in both]).astype(np.int64),
        )

    @property
    def n_bigrams(self) -> int:
        return int(self.total[0].sum())
