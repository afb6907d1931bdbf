"""The order of a sentence's spans in all charts: by width, then by start."""

from __future__ import annotations

from eigentree._core.jit import kernel


@kernel
def first_span(n_words: int, width: int) -> int:
    """Number of the first span of a width; with ``width = n_words + 1``, the number of spans."""
    return (width - 1) * n_words - (width - 1) * (width - 2) // 2


@kernel
def span_number(n_words: int, start: int, width: int) -> int:
    """Number of the span of ``width`` words from ``start``."""
    return first_span(n_words, width) + start
