"""Aliases that annotations use everywhere: arrays by element type, and the progress callback."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Shorts = NDArray[np.int16]
Tallies = NDArray[np.uint32]
Keys = NDArray[np.uint64]
Flags = NDArray[np.bool_]

# Called with the name of the current stage and the fraction of it that is done, 0 to 1.
Progress = Callable[[str, float], None]
