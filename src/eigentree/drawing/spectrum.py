"""Spectra of singular values as text sparklines."""

from __future__ import annotations

from collections.abc import Sequence

MAX_COLUMNS = 24  # neighbouring values of longer spectra share a column
_LEVELS = "▁▂▃▄▅▆▇█"
_CUT = "│"
_ASCII = dict(zip(map(ord, _LEVELS + _CUT), "_.:-=+*#|", strict=True))


def draw_spectrum(values: Sequence[float], kept: int, *, ascii_only: bool = False) -> str:
    """Singular values as a row of bars, relative to the largest.

    Parameters
    ----------
    values
        In descending order, the first positive; empty for an empty result.
    kept
        How many of them have states; a line separates these from the rest.
    ascii_only
        Use punctuation instead of bars.

    Examples
    --------
    >>> draw_spectrum([8.0, 4.0, 2.0, 1.0], 2)
    '█▄│▂▁'
    >>> draw_spectrum([8.0, 4.0, 2.0, 1.0], 4, ascii_only=True)
    '#-._'
    """
    together = -(-len(values) // MAX_COLUMNS)
    bars = ""
    for first in range(0, len(values), max(1, together)):
        if 0 < first == -(-kept // together) * together:
            bars += _CUT
        level = round(len(_LEVELS) * values[first] / values[0])
        bars += _LEVELS[max(0, level - 1)]
    return bars.translate(_ASCII) if ascii_only else bars
