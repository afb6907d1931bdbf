"""Kernel that counts pairs of word classes by their distance."""

from __future__ import annotations

from eigentree._core.jit import kernel
from eigentree.types import Ints, Longs, Tallies3


@kernel
def count_pairs(symbols: Ints, starts: Longs, pairs: Tallies3) -> None:
    """Count in ``pairs[first, second, distance - 1]`` the pairs of symbols at each distance.

    Sentence i has the symbols ``starts[i]:starts[i + 1]``.
    """
    largest = pairs.shape[2]
    for sentence in range(len(starts) - 1):
        end = starts[sentence + 1]
        for first in range(starts[sentence], end):
            row = pairs[symbols[first]]
            for second in range(first + 1, min(end, first + largest + 1)):
                row[symbols[second], second - first - 1] += 1
