"""How far probabilities can be trusted, from examples with known outcomes.

Of all that is told to be right with probability p, a share p should be right.  Examples are put
into bins by their probability, and the expected calibration error is the mean distance, over
examples, between the mean probability of an example's bin and the share of it that is right:

    sum over bins of  size / all  *  | mean probability - share right |

Bins are of equal width (the usual measure), or of equal size (adaptive: it does not depend on a few
full bins).  Both are 0 for a forecast that always tells the overall share; the Brier score, the
mean of (p - right)^2, and the log loss, the mean of -log of what was given to the outcome, say how
well probabilities tell right from wrong besides.

References
----------
guo-2017, naeini-2015 for the error and the bins; brier-1950.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigentree.errors import SettingsError
from eigentree.treebank.tree import Span, Tree

BINS = 15
# What is told to be sure and is wrong would cost infinitely much.
LEAST_LOSS_PROBABILITY = 1e-3


class Bin(NamedTuple):
    """Examples of like probability: their number, mean probability and share that is right."""

    size: int
    mean: float
    share: float


class Reliability(NamedTuple):
    """How far some probabilities can be trusted.

    Attributes
    ----------
    size : int
        Number of examples.
    mean, share : float
        Mean probability, and the share of the examples that are right.
    error, adaptive_error : float
        Expected calibration error over bins of equal width, and over bins of equal size.
    brier : float
    log_loss : float
        In nats, with probabilities cut to 0.001..0.999.
    bins : tuple of Bin
        Those of equal width that hold anything.
    """

    size: int
    mean: float
    share: float
    error: float
    adaptive_error: float
    brier: float
    log_loss: float
    bins: tuple[Bin, ...]


def measure_reliability(
    probability: ArrayLike, right: ArrayLike, *, n_bins: int = BINS
) -> Reliability:
    """Measure probabilities by what came out.

    Parameters
    ----------
    probability : floats, axes (examples)
        0..1.
    right : bool, axes (examples)
    n_bins
        Bins k of equal width hold probabilities from k / n_bins on and below (k + 1) / n_bins, the
        last one 1 too.  Of bins of equal size none parts examples of one probability.

    Raises
    ------
    SettingsError
        When there is no example, or a probability outside 0..1.
    """
    p = np.asarray(probability, dtype=np.float64)
    outcome = np.asarray(right, dtype=np.float64)
    if not len(p):
        raise SettingsError("there is no bracket to judge; at least one is needed")
    if np.min(p) < 0 or np.max(p) > 1:
        raise SettingsError(f"a probability is {np.min(p)} or {np.max(p)}; it must be in 0..1")
    width = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    edges = np.sort(p)[[len(p) * k // n_bins for k in range(1, n_bins)]]
    size = np.searchsorted(edges, p, side="right")
    cut = np.clip(p, LEAST_LOSS_PROBABILITY, 1 - LEAST_LOSS_PROBABILITY)
    bins = tuple(_bins(width, p, outcome))
    return Reliability(
        len(p),
        float(np.mean(p)),
        float(np.mean(outcome)),
        _error(bins),
        _error(tuple(_bins(size, p, outcome))),
        float(np.mean((p - outcome) ** 2)),
        float(-np.mean(np.log(np.where(outcome > 0, cut, 1 - cut)))),
        bins,
    )


def right_brackets(parsed: Sequence[Span], gold: Tree) -> list[bool]:
    """Which labelled brackets of a parse the gold tree has too.

    Every bracket counts, those over one word and over the whole sentence as well, and no word or
    label is left out.  Of equal brackets as many are right, the first ones, as the gold tree has.
    """
    left = Counter(gold.spans())
    found = []
    for span in parsed:
        found.append(left[span] > 0)
        left[span] -= 1
    return found


def _bins(
    number: NDArray[np.int64], p: NDArray[np.float64], right: NDArray[np.float64]
) -> Iterator[Bin]:
    for each in np.unique(number):
        own = number == each
        yield Bin(int(np.sum(own)), float(np.mean(p[own])), float(np.mean(right[own])))


def _error(bins: Sequence[Bin]) -> float:
    total = sum(each.size for each in bins)
    return sum(each.size * abs(each.mean - each.share) for each in bins) / total
