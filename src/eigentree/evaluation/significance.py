"""Significance of differences in F1: bootstrap intervals and paired tests over sentences.

Sentences are the sampling units.  Each has counts of matched, gold and parsed brackets, and the
statistic is the corpus F1 of the summed counts.  Where there are no brackets at all it is not
defined, so it has neither an interval nor a test; draws without brackets are left out.

References
----------
Efron and Tibshirani 1993 for the bootstrap; Berg-Kirkpatrick, Burkett and Klein 2012 for the
paired bootstrap; Noreen 1989 and Yeh 2000 for approximate randomisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigentree._core.arguments import MAX_SAMPLES, check_type
from eigentree._core.random import generator
from eigentree.errors import ShapeError, check_range
from eigentree.types import Floats, Longs

CELLS_AT_ONCE = 2_000_000  # drawn sentences held in memory at the same time


class Interval(NamedTuple):
    """Ends of a confidence interval, as fractions."""

    low: float
    high: float


class PairedTest(NamedTuple):
    """Two systems on the same sentences.

    ``difference`` is the corpus F1 of the second minus that of the first, ``interval`` its
    bootstrap interval.  The two p-values, of the paired bootstrap and of approximate
    randomisation, are two-sided: the chance of a difference at least as large when the systems
    are equally good.
    """

    difference: float
    interval: Interval
    p_bootstrap: float
    p_randomisation: float
    sentences: int
    n_samples: int


def corpus_f1(counts: ArrayLike) -> Floats:
    """F1 of summed counts: 2 matched / (gold + parsed), or 0 where both are 0.

    Parameters
    ----------
    counts : axes (..., 3)
        Matched, gold and parsed brackets.
    """
    matched, gold, parsed = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    return np.asarray(2.0 * matched / np.maximum(gold + parsed, 1.0))


def bootstrap_interval(
    counts: ArrayLike, *, seed: int, n_samples: int = 10_000, level: float = 0.95
) -> Interval | None:
    """Percentile interval of the corpus F1, by resampling sentences; None without any bracket.

    Parameters
    ----------
    counts : axes (sentence, 3), at least one sentence
        Matched, gold and parsed brackets of each sentence.
    seed
        Seed of the random numbers.
    n_samples
        Number of draws, each of as many sentences as there are; at most a million.
    level
        Coverage of the interval, between 0 and 1.

    Raises
    ------
    ShapeError
        When `counts` has other axes or no sentence.
    ValueError
        When `level` or `n_samples` is out of range.
    """
    given = _checked(counts, "counts")
    _check_draws(n_samples, level)
    samples = []
    for drawn in _draws(len(given), n_samples, seed):
        sums = given[drawn].sum(axis=1)
        samples.append(corpus_f1(sums[_is_defined(sums)]))
    values = np.concatenate(samples)
    return _interval(values, level) if len(values) else None


def bootstrap_mean_interval(
    values: ArrayLike, *, seed: int, n_samples: int = 10_000, level: float = 0.95
) -> Interval:
    """Percentile interval of a mean over sentences, by resampling sentences.

    Parameters
    ----------
    values : axes (sentence), at least one sentence
        What the mean is of, such as the F1 of each sentence.
    seed, n_samples, level
        As in `bootstrap_interval`.

    Raises
    ------
    ShapeError
        When `values` has other axes or no sentence.
    ValueError
        When `level` or `n_samples` is out of range.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1 or not len(given):
        raise ShapeError(
            f"values has shape {given.shape}, which must be (sentences) with a sentence or more"
        )
    _check_draws(n_samples, level)
    samples = [given[drawn].mean(axis=1) for drawn in _draws(len(given), n_samples, seed)]
    return _interval(np.concatenate(samples), level)


def paired_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    seed: int,
    n_samples: int = 10_000,
    level: float = 0.95,
) -> PairedTest | None:
    """Test whether two systems differ in corpus F1 on the same sentences; None without brackets.

    The bootstrap resamples sentences; its p-value is how often the difference deviates from the
    observed one by at least the observed difference.  Approximate randomisation swaps the two
    systems' parses of each sentence with probability one half; its p-value is how often the
    difference is at least as large as the observed one.

    Parameters
    ----------
    first, second : axes (sentence, 3), at least one sentence
        Matched, gold and parsed brackets of each sentence, in the same order.
    seed, n_samples, level
        As in `bootstrap_interval`.

    Raises
    ------
    ShapeError
        When the arrays have other axes or differ in their number of sentences.
    ValueError
        When `level` or `n_samples` is out of range.

    Cost
    ----
    O(sentences x n_samples) time, in chunks of fixed memory.
    """
    one, other = _checked(first, "first"), _checked(second, "second")
    if len(one) != len(other):
        raise ShapeError(
            f"second has {len(other)} sentences, which must be {len(one)} because first has"
        )
    _check_draws(n_samples, level)
    observed = float(corpus_f1(other.sum(axis=0)) - corpus_f1(one.sum(axis=0)))
    differences = []
    for drawn in _draws(len(one), n_samples, seed):
        sums, other_sums = one[drawn].sum(axis=1), other[drawn].sum(axis=1)
        defined = _is_defined(sums) & _is_defined(other_sums)
        differences.append(corpus_f1(other_sums[defined]) - corpus_f1(sums[defined]))
    bootstrap = np.concatenate(differences)
    if not len(bootstrap):
        return None
    change = (other - one).astype(np.float64)
    swapped = []
    rng = generator(seed, 1)
    for size in _chunks(len(one), n_samples):
        moved = rng.integers(0, 2, size=(size, len(one))).astype(np.float64) @ change
        swapped.append(corpus_f1(other.sum(axis=0) - moved) - corpus_f1(one.sum(axis=0) + moved))
    return PairedTest(
        difference=observed,
        interval=_interval(bootstrap, level),
        p_bootstrap=_p_value(bootstrap - observed, observed),
        p_randomisation=_p_value(np.concatenate(swapped), observed),
        sentences=len(one),
        n_samples=n_samples,
    )


def _checked(counts: ArrayLike, name: str) -> Longs:
    try:
        given = np.asarray(counts, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be an array of integers, axes (sentences, 3)") from None
    if given.ndim != 2 or given.shape[1] != 3 or not len(given):
        raise ShapeError(
            f"{name} has shape {given.shape}, which must be (sentences, 3) with a sentence or more"
        )
    return given


def _check_draws(n_samples: int, level: float) -> None:
    check_type(n_samples, Integral, "n_samples", "an integer")
    check_range(1, MAX_SAMPLES + 1, n_samples=n_samples)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}, which must be between 0 and 1")


def _chunks(n_sentences: int, n_samples: int) -> Iterator[int]:
    size = max(1, CELLS_AT_ONCE // n_sentences)
    for begun in range(0, n_samples, size):
        yield min(size, n_samples - begun)


def _draws(n_sentences: int, n_samples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Places of drawn sentences, axes (sample, sentence), in chunks."""
    rng = generator(seed, 0)
    for size in _chunks(n_sentences, n_samples):
        yield rng.integers(0, n_sentences, size=(size, n_sentences))


def _is_defined(counts: Longs) -> NDArray[np.bool_]:
    """Whether sums of counts, axes (..., 3), have any bracket."""
    return np.asarray(counts[..., 1:].any(axis=-1))


def _interval(samples: Floats, level: float) -> Interval:
    low, high = np.quantile(samples, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(float(low), float(high))


def _p_value(differences: Floats, observed: float) -> float:
    # The observed arrangement is one of the possible ones, hence the ones added; the margin
    # keeps rounding from separating equal differences.
    as_large = np.abs(differences) >= abs(observed) - 1e-12
    return float((1 + np.count_nonzero(as_large)) / (1 + len(differences)))
