"""What many tests share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def close(actual: ArrayLike, expected: ArrayLike, *, rtol: float, atol: float = 0.0) -> bool:
    """Whether two arrays have one shape and agree to a tolerance that the caller must choose.

    Unlike NumPy's own functions there is no hidden absolute tolerance, which would accept any
    two small probabilities, and shapes are not broadcast.  Equal infinities agree; NaN never.
    """
    left, right = np.asarray(actual), np.asarray(expected)
    if left.shape != right.shape:
        return False
    same = left == right
    with np.errstate(invalid="ignore"):
        near = np.abs(left - right) <= atol + rtol * np.abs(right)
    finite = np.isfinite(left) & np.isfinite(right)
    return bool(np.all(same | (near & finite)))


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """The contrast of two colours as WCAG defines it, from their parts between 0 and 255."""

    def luminance(colour: Sequence[float]) -> float:
        parts = [part / 255 for part in colour]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
