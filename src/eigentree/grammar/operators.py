"""Operator models: functions of sequences as products of matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OperatorModel:
    """A function f(x_1 .. x_T) = final . A_xT ... A_x1 . initial of sequences of symbols.

    Attributes
    ----------
    symbols
        Names.
    initial, final : float64, axes (n)
    operators : float64, axes (symbols, n, n)
        ``operators[a, i, j]``: to state i from state j, reading symbol a.
    """

    symbols: tuple[str, ...]
    initial: Floats
    final: Floats
    operators: Floats
