"""Calibration of probabilities, measured on examples with known outcomes.

Of the examples with predicted probability p, a share p should be correct.  Examples are grouped
into bins by their probability, and the expected calibration error is the mean distance, over
examples, between the mean probability of an example's bin and its accuracy:

    sum over bins of  size / all  *  | mean probability - accuracy |

Bins are of equal width (the usual measure), or of equal size (adaptive: it does not depend on a few
full bins).  Both are 0 for a constant forecast of the overall accuracy.  The Brier score, the mean
of (p - outcome)^2, and the log loss, the mean of -log p(outcome), also measure how well
probabilities separate correct from incorrect examples.

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
# Bounds the log loss of certain but incorrect predictions.
MIN_LOSS_PROBABILITY = 1e-3


class Bin(NamedTuple):
    """Examples of similar probability: their number, mean probability and accuracy."""

    size: int
    mean: float
    share: float


class Reliability(NamedTuple):
    """The calibration of a set of probabilities.

    Attributes
    ----------
    size : int
        Number of examples.
    mean, share : float
        Mean probability, and accuracy.
    error, adaptive_error : float
        Expected calibration error over bins of equal width, and over bins of equal size.
    brier : float
    log_loss : float
        In nats, with probabilities cut to 0.001..0.999.
    bins : tuple of Bin
        The non-empty bins of equal width.
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
    """Measure probabilities against outcomes.

    Parameters
    ----------
    probability : floats, axes (examples)
        0..1.
    right : bool, axes (examples)
    n_bins
        Bins k of equal width hold probabilities from k / n_bins on and below (k + 1) / n_bins, the
        last one also 1.  Bins of equal size never separate examples of equal probability.

    Raises
    ------
    SettingsError
        When there are no examples, or a probability is outside 0..1.
    """
    p = np.asarray(probability, dtype=np.float64)
    outcome = np.asarray(right, dtype=np.float64)
    if not len(p):
        raise SettingsError("reliability needs at least one example")
    if np.min(p) < 0 or np.max(p) > 1:
        raise SettingsError(f"probabilities must be in 0..1 (got {np.min(p)} to {np.max(p)})")
    width = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    edges = np.sort(p)[[len(p) * k // n_bins for k in range(1, n_bins)]]
    size = np.searchsorted(edges, p, side="right")
    cut = np.clip(p, MIN_LOSS_PROBABILITY, 1 - MIN_LOSS_PROBABILITY)
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
    """Whether each labelled bracket of a parse is in the gold tree.

    All brackets count, including those over one word and over the whole sentence, and no word or
    label is excluded.  Of repeated brackets, the first are correct, as many as the gold tree has.
    """
    left = Counter(gold.spans())
    correct = []
    for span in parsed:
        correct.append(left[span] > 0)
        left[span] -= 1
    return correct


def _bins(
    number: NDArray[np.int64], p: NDArray[np.float64], right: NDArray[np.float64]
) -> Iterator[Bin]:
    for each in np.unique(number):
        inside = number == each
        yield Bin(int(np.sum(inside)), float(np.mean(p[inside])), float(np.mean(right[inside])))


def _error(bins: Sequence[Bin]) -> float:
    total = sum(each.size for each in bins)
    return sum(each.size * abs(each.mean - each.share) for each in bins) / total
