"""Straight quotes, each of which opens or closes a quotation: in a sentence they alternate.

A tagger that sees few words at a time often mistakes a closing quote after a comma for an opening
one.  Its probabilities of both are combined over the two ways in which quotes can alternate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

STRAIGHT = '"'
OPENING, CLOSING = "``", "''"
_LEAST = 1e-6


def alternating(shares: Sequence[float]) -> list[float]:
    """The probability that each quote opens, if quotes alternate.

    Parameters
    ----------
    shares
        The probability that each opens, judged alone.

    Examples
    --------
    >>> [round(share, 2) for share in alternating([0.9, 0.7])]
    [0.79, 0.21]
    """
    log_odds = 0.0  # of opening, closing, ... against closing, opening, ...
    for place, share in enumerate(shares):
        share = min(max(share, _LEAST), 1.0 - _LEAST)
        log_odds += (-1) ** place * math.log(share / (1.0 - share))
    first = 1.0 / (1.0 + math.exp(-max(-500.0, min(log_odds, 500.0))))
    return [first if place % 2 == 0 else 1.0 - first for place in range(len(shares))]
