"""Bootstrap intervals and paired tests on the bracket counts of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigentree.evaluation.significance import Interval, bootstrap_interval, corpus_f1, paired_test
from eigentree.types import Longs

# For each sentence the numbers of matched, gold and parsed brackets; None if it wasn't scored.
Counts = Sequence[Sequence[int] | Longs | None]

# Number of bootstrap samples: fewer for many sentences, whose sums vary little.
MAX_SAMPLES, MIN_SAMPLES, MAX_SAMPLED_SENTENCES = 10_000, 1_000, 10_000_000


def n_samples(n_sentences: int) -> int:
    """Number of bootstrap samples for a number of sentences."""
    return int(np.clip(MAX_SAMPLED_SENTENCES // max(1, n_sentences), MIN_SAMPLES, MAX_SAMPLES))


def _scored(counts: Counts) -> Longs:
    return np.array([one for one in counts if one is not None], dtype=np.int64)


def f1_of(counts: Counts) -> float:
    """F1 over the sentences that were scored; 0 if there are none."""
    scored = _scored(counts)
    return float(corpus_f1(scored.sum(axis=0))) if len(scored) else 0.0


def interval_of(counts: Counts) -> Interval | None:
    """The bootstrap interval of F1; None if no bracket was scored."""
    scored = _scored(counts)
    if not len(scored):
        return None
    return bootstrap_interval(scored, seed=0, n_samples=n_samples(len(scored)))


def ends_of(interval: Interval | None) -> dict[str, float | None]:
    """The ends of an interval in the figures of a study; None without one."""
    low, high = interval or (None, None)
    return {"low": low, "high": high}


def paired_comparison(first: Counts, second: Counts) -> dict[str, Any] | None:
    """Test the second against the first on the sentences that were scored for both.

    Parameters
    ----------
    first, second
        Counts of the same sentences.

    Returns
    -------
    dict or None
        The difference of F1 with its interval, p-values, and the numbers of sentences and draws;
        None if there is no such sentence, or no bracket in them.
    """
    pairs = [
        (one, other)
        for one, other in zip(first, second, strict=True)
        if one is not None and other is not None
    ]
    if not pairs:
        return None
    counts = np.array(pairs)
    test = paired_test(counts[:, 0], counts[:, 1], seed=0, n_samples=n_samples(len(pairs)))
    if test is None:
        return None
    return {
        "difference": test.difference,
        **ends_of(test.interval),
        "p_bootstrap": test.p_bootstrap,
        "p_randomisation": test.p_randomisation,
        "sentences": test.sentences,
        "draws": test.n_samples,
    }
