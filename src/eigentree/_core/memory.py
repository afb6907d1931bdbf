"""The limit on the memory of one sentence's chart."""

from __future__ import annotations

# Larger charts are not allocated: the sentence is parsed in parts.
MAX_CHART_BYTES = 400 << 20


def check_chart_bytes(n_bytes: float) -> None:
    """Check the size of a chart before it is allocated.

    Raises
    ------
    MemoryError
        When it is more than `MAX_CHART_BYTES`.
    """
    if n_bytes > MAX_CHART_BYTES:
        raise MemoryError(
            f"a chart would need {n_bytes / 1e6:.0f} MB; at most {MAX_CHART_BYTES / 1e6:.0f} MB "
            "are used for a sentence"
        )
