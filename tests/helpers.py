"""What many tests share."""

from __future__ import annotations

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
