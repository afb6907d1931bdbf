"""Compilation of kernels; the only module that imports numba.

`kernel` turns a function over arrays, integers and floats into machine code at its first
call and keeps the result on disk for the next process.  Two environment variables matter:
``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python (for coverage, on small sizes), and
``NUMBA_CACHE_DIR`` moves the cache.

The cache is only a saving of time.  If no folder for it is writable, a temporary one serves this
process and its workers; if it cannot be written, kernels are compiled in each process.  One line
on the logger ``eigentree.kernels`` reports it.  Damaged files are replaced.

Sums may be reordered (to use vector registers), products and sums contracted, and the sign of a
zero ignored; NaN and infinity keep their meaning.  Results on one machine are the same to the
last bit, except in the process that compiled the kernels, whose last bits may differ.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from numba import njit

from eigentree._core.processes import CACHE_REPORTED

Function = TypeVar("Function", bound=Callable[..., object])

# Parts of numba whose types are incomplete.
_config: Any = import_module("numba").config
_caching: Any = import_module("numba.core.caching")

log = logging.getLogger("eigentree.kernels")


def _has_folder() -> bool:
    """Whether numba looks for its folder in sensible places.

    For a user without a home it would create one called ``~`` in the working directory.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~")
    here = Path(__file__).parent
    return bool(_config.CACHE_DIR) or os.path.isabs(home) or os.access(here, os.W_OK)


def kernel(function: Function) -> Function:
    """Compile a kernel; its body must also be valid as plain Python."""
    compiled: Any = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(
        function
    )
    if not isinstance(compiled, FunctionType):
        compiled._cache = _cache_of(function)
    return cast(Function, compiled)


def needs_compiling(function: Any) -> bool:
    """Whether a kernel's first call will compile it because there is no copy on disk."""
    if isinstance(function, FunctionType) or function.signatures:
        return False
    folder = function.stats.cache_path
    if folder is None:
        return True
    return next(Path(folder).glob(f"*.{function.__name__}-*.nbi"), None) is None


class _KernelCache(_caching.FunctionCache):  # type: ignore[misc]  # the base class has no types
    """numba's cache of a function on disk, whose failures do not stop the computation."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever a damaged file causes; it is written anew
            self._attempt(self.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._attempt(super().save_overload, sig, data)

    def _attempt(self, write: Callable[..., object], *arguments: object) -> None:
        try:
            write(*arguments)
        except OSError as error:
            _report(f"compiled code can't be stored in {self.cache_path} ({error.strerror})")
            self.disable()


def _cache_of(function: Callable[..., object]) -> Any:
    """The cache of a kernel: in the usual folder, in a temporary one, or none."""
    for _ in range(2):
        try:
            return _KernelCache(function)
        except (RuntimeError, OSError):  # no folder is writable
            if not _use_temporary_folder():
                break
    return _caching.NullCache()


def _use_temporary_folder() -> bool:
    """Keep compiled code in a new folder until this process ends; false if there is none."""
    try:
        folder = tempfile.mkdtemp(prefix="eigentree-kernels-")
    except OSError:
        _report("no folder for compiled code is writable")
        return False
    _report("no folder for compiled code is writable, so a temporary one is used")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Worker processes inherit the variable; numba has read it already.
    os.environ["NUMBA_CACHE_DIR"] = _config.CACHE_DIR = folder
    return True


def _report(what: str) -> None:
    """Log a problem, once for this process and its workers."""
    if CACHE_REPORTED not in os.environ:
        os.environ[CACHE_REPORTED] = "1"
        log.warning(
            "eigentree: %s; every start compiles for about 30 s; set NUMBA_CACHE_DIR to a "
            "writable folder",
            what,
        )


if not _has_folder():
    _use_temporary_folder()
