"""Aliases that annotations use everywhere: arrays by element type, and the progress callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Shorts = NDArray[np.int16]
Tallies = NDArray[np.uint32]
Keys = NDArray[np.uint64]
Codes = NDArray[np.uint16]
Flags = NDArray[np.bool_]

# The same with a number of axes.  In the arguments of kernels and the records of arrays given to
# them, which are compiled for a number of axes, those above have one.
Floats2 = Annotated[NDArray[np.float64], 2]
Floats3 = Annotated[NDArray[np.float64], 3]
Floats4 = Annotated[NDArray[np.float64], 4]
Ints2 = Annotated[NDArray[np.int32], 2]
Ints3 = Annotated[NDArray[np.int32], 3]
Longs2 = Annotated[NDArray[np.int64], 2]
Longs3 = Annotated[NDArray[np.int64], 3]
Shorts2 = Annotated[NDArray[np.int16], 2]
Shorts4 = Annotated[NDArray[np.int16], 4]
Tallies3 = Annotated[NDArray[np.uint32], 3]
Keys2 = Annotated[NDArray[np.uint64], 2]
Codes2 = Annotated[NDArray[np.uint16], 2]
Flags2 = Annotated[NDArray[np.bool_], 2]

# Called with the name of the current stage and the fraction of it that is done, 0 to 1.
Progress = Callable[[str, float], None]
