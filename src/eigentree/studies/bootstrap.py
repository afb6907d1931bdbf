"""How sure figures are that come from the bracket counts of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.evaluation.significance import Interval, bootstrap_interval, corpus_f1, paired_test

# One row of counts a sentence, matched, gold and parsed; None where it could not be compared.
Counts = Sequence[Sequence[int] | NDArray[np.int64] | None]

# Draws for an interval or a test: fewer where there are many sentences, whose sums vary little.
MOST_DRAWS, LEAST_DRAWS, MOST_DRAWN_SENTENCES = 10_000, 1_000, 10_000_000


def draws(n_sentences: int) -> int:
    """How many samples are drawn for so many sentences."""
    return int(np.clip(MOST_DRAWN_SENTENCES // max(1, n_sentences), LEAST_DRAWS, MOST_DRAWS))


def _compared(counts: Counts) -> NDArray[np.int64]:
    return np.array([one for one in counts if one is not None], dtype=np.int64)


def f1_of(counts: Counts) -> float:
    """F1 over the sentences that could be compared; 0 if there are none."""
    compared = _compared(counts)
    return float(corpus_f1(compared.sum(axis=0))) if len(compared) else 0.0


def interval_of(counts: Counts) -> Interval:
    """The bootstrap interval of F1; from 0 to 0 where nothing could be compared."""
    compared = _compared(counts)
    if not len(compared):
        return Interval(0.0, 0.0)
    return bootstrap_interval(compared, seed=0, n_samples=draws(len(compared)))


def tested(first: Counts, second: Counts) -> dict[str, Any] | None:
    """The second against the first on the sentences that both were scored on, if there are any.

    Parameters
    ----------
    first, second
        Counts of the same sentences.
    """
    pairs = [
        (one, other)
        for one, other in zip(first, second, strict=True)
        if one is not None and other is not None
    ]
    if not pairs:
        return None
    counts = np.array(pairs)
    test = paired_test(counts[:, 0], counts[:, 1], seed=0, n_samples=draws(len(pairs)))
    return {
        "difference": test.difference,
        "low": test.interval.low,
        "high": test.interval.high,
        "p_bootstrap": test.p_bootstrap,
        "p_randomisation": test.p_randomisation,
        "sentences": test.sentences,
        "draws": test.n_samples,
    }
