"""Compilation of kernels; the only module that imports numba.

`kernel` turns a function over arrays, integers and floats into machine code at its first
call and keeps the result on disk for the next process.  Two environment variables matter:
``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python (for coverage, on small sizes), and
``NUMBA_CACHE_DIR`` moves the cache.

Sums may be reordered (to use vector registers), products and sums contracted, and the sign of a
zero ignored; NaN and infinity keep their meaning.  Results on one machine are the same to the
last bit, except in the process that compiled the kernels, whose last bits may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile a kernel; its body must also be valid as plain Python."""
    compiled = njit(
        cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )
    return cast(Function, compiled(function))


def needs_compiling(function: Any) -> bool:
    """Whether a kernel's first call will compile it because there is no copy on disk."""
    if isinstance(function, FunctionType) or function.signatures:
        return False
    cached = Path(function.stats.cache_path).glob(f"*.{function.__name__}-*.nbi")
    return next(cached, None) is None
