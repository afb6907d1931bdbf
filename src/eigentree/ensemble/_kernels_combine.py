"""The kernel of combination: the best bracketing of a sentence under gains of its spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentree._accel import kernel

if TYPE_CHECKING:
    from eigentree.chart.forest import Floats, Ints


@kernel
def best_splits(gain: Floats, best: Floats, split: Ints) -> None:
    """best(i, j) = gain(i, j) + max over i < k < j of best(i, k) + best(k, j).

    ``gain`` and ``best`` have axes (start, end); ``best`` also gets each value at (end,
    start), so that both terms are read along a row.  ``split`` gets the k at (i, j): the
    first of equal ones.
    """
    n = len(gain) - 1
    for start in range(n - 1, -1, -1):
        best[start, start + 1] = gain[start, start + 1]
        best[start + 1, start] = gain[start, start + 1]
        for end in range(start + 2, n + 1):
            highest = -np.inf
            for middle in range(start + 1, end):
                value = best[start, middle] + best[end, middle]
                if value > highest:
                    highest = value
                    split[start, end] = middle
            best[start, end] = gain[start, end] + highest
            best[end, start] = best[start, end]


@kernel
def bracketing(split: Ints, start: Ints, end: Ints) -> None:
    """The spans of the binary tree that ``split`` makes of the whole, parents before children."""
    count = 1
    start[0] = 0
    end[0] = len(split) - 1
    for at in range(len(start)):
        if end[at] - start[at] > 1:
            middle = split[start[at], end[at]]
            start[count] = start[at]
            end[count] = middle
            start[count + 1] = middle
            end[count + 1] = end[at]
            count += 2
