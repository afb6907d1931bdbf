"""Numbers in half the space: single precision cut to its upper 16 bits (bfloat16).

They have the range of single precision and eight significant bits, so a rounded number differs
from the original by at most 1/256 of it.  numpy has no such type; the upper halves are unsigned
integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def round_to_bfloat16(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """The nearest numbers whose lower halves are zero; of two equally near, the even one.

    Parameters
    ----------
    numbers
        Finite and at most half the largest single-precision number; any axes.
    """
    bits = numbers.view(np.uint32)
    even = np.uint32(0x7FFF) + ((bits >> 16) & 1)
    rounded: NDArray[np.float32] = ((bits + even) & np.uint32(0xFFFF0000)).view(np.float32)
    return rounded


def upper_halves(numbers: NDArray[np.float32]) -> NDArray[np.uint16] | None:
    """The upper halves if all lower halves are zero, else None."""
    bits = numbers.view(np.uint32)
    if (bits & np.uint32(0xFFFF)).any():
        return None
    return (bits >> 16).astype(np.uint16)


def from_upper_halves(halves: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The numbers of `upper_halves`."""
    numbers: NDArray[np.float32] = (halves.astype(np.uint32) << 16).view(np.float32)
    return numbers
