"""Records of arrays that the kernels of the CP decomposition and their callers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eigentree.types import Floats, Floats2, Ints, Longs


class ByMode(NamedTuple):
    """The non-zeros of a tensor sorted by one mode.

    Attributes
    ----------
    rows : int32, axes (rows)
        Subscripts of the mode that have non-zeros, ascending.
    start : int64, axes (rows + 1)
        First non-zero of each row.
    left, right : int32, axes (nonzeros)
        Subscripts in the other two modes, the lower mode first.
    values : float64, axes (nonzeros)
    """

    rows: Ints
    start: Longs
    left: Ints
    right: Ints
    values: Floats


class Scratch(NamedTuple):
    """Buffers for one row of a factor in alternating Poisson regression.

    Attributes
    ----------
    products : float64, axes (max non-zeros of a row * r)
    places : int64, axes (r)
    vectors : float64, axes (3, r)
    models : float64, axes (max non-zeros of a row)
    shares : float64, axes (2, max non-zeros of a row)
    """

    products: Floats
    places: Longs
    vectors: Floats2
    models: Floats
    shares: Floats2

    @staticmethod
    def of(layouts: Sequence[ByMode], rank: int) -> Scratch:
        """Buffers large enough for the longest row of several modes."""
        longest = max(int(np.diff(layout.start).max()) for layout in layouts)
        return Scratch(
            np.empty(longest * rank),
            np.empty(rank, dtype=np.int64),
            np.empty((3, rank)),
            np.empty(longest),
            np.empty((2, longest)),
        )
