"""Compilation of kernels; the only module that imports numba.

`kernel` turns a function over arrays, integers and floats into machine code, for the types in its
annotations: ``int`` is int64, ``float`` float64; an array is in C order and has one axis, or as
many as its alias defines.  Calls with other types, such as single precision, are compiled when they
occur.  Two environment variables matter: ``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python
(for coverage, on small sizes), and ``NUMBA_CACHE_DIR`` moves the cache.

Code is kept on disk (`eigentree._core.kernel_folders`).  A kernel without a copy there is compiled
together with all others of its part that have none (`eigentree._core.kernel_parts`), in worker
processes side by side, so that no process runs code that it has compiled itself.  Where no worker
can be started, the calling process compiles.

The cache is only a saving of time.  If no folder for it is writable, a temporary one serves this
process and its workers; if it cannot be written, kernels are compiled in each process.  One line
on the logger ``eigentree.kernels`` reports it.  Damaged files are replaced.

Sums may be reordered (to use vector registers), products and sums contracted, and the sign of a
zero ignored; NaN and infinity keep their meaning.  Results on one machine are the same to the
last bit, unless a process has to compile for itself, whose last bits may differ.
"""

from __future__ import annotations

import atexit
import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numba import njit

from eigentree._core import kernel_folders
from eigentree._core.kernel_parts import PARTS, part_of
from eigentree._core.kernel_workers import IS_WORKER, compile_in_workers
from eigentree._core.processes import CACHE_REPORTED
from eigentree.errors import SettingsError

Function = TypeVar("Function", bound=Callable[..., object])
Monitor = Callable[[str, int], AbstractContextManager[Callable[[int], object]]]

# A level of the x86-64 family, and the features by which LLVM knows it.
_LEVEL = "x86-64-v3"
_FEATURES_OF_LEVEL = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
# Parts of numba whose types are incomplete.
_config: Any = import_module("numba").config
_types: Any = import_module("numba").types
_caching: Any = import_module("numba.core.caching")
_runtime: Any = import_module("numba.core.runtime")
_compiler: Any = import_module("numba.core.compiler")
_llvm: Any = import_module("llvmlite.binding")
_llvmlite: Any = import_module("llvmlite")
_numba: Any = import_module("numba")

log = logging.getLogger("eigentree.kernels")

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
    "no_cfunc_wrapper": True,
}


def kernel(function: Function) -> Function:
    """Compile a kernel; its body must also be valid as plain Python."""
    return _compiled(function, _OPTIONS)


def inner_kernel(function: Function) -> Function:
    """Compile a kernel that only other kernels call, which takes less time.

    The machine code has no entry for calls from Python, which run the function as it is.
    """
    compiled: Any = _compiled(function, {**_OPTIONS, "no_cpython_wrapper": True})
    if not isinstance(compiled, FunctionType):

        def add_overload(result: Any) -> None:
            compiled.overloads[tuple(result.signature.args)] = result

        # The first would offer the machine code to Python; the second returns what Python calls.
        compiled.add_overload = add_overload
        compiled._compile_for_args = lambda *_, **__: function
    return cast(Function, compiled)


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    compiled: Any = njit(**options)(function)
    if not isinstance(compiled, FunctionType):
        compiled._cache = _KernelCache(compiled)
        original = compiled.compile
        compiled.compile = lambda types: original(_preferred(compiled, types))
    return cast(Function, compiled)


class _Compilations:
    """How the compilations of this process are shown, and whether workers can do them."""

    monitor: Monitor = lambda *_: nullcontext(lambda _: None)
    have_workers = True


def show_compilation(monitor: Monitor) -> None:
    """Show all compilations of this process.

    Parameters
    ----------
    monitor
        Called before a compilation with what is compiled, such as "the parser", and the number of
        kernels.  Its value is entered and left; it yields a function that is called with the number
        of kernels compiled since the call before.
    """
    _Compilations.monitor = staticmethod(monitor)


def compile_parts(names: Collection[str]) -> int:
    """Compile the kernels of parts that have no copy on disk; returns their number.

    Parameters
    ----------
    names
        Parts in `PARTS`.
    """
    folder = _writable_folder() if _missing(names) else None
    if folder is None:
        return 0
    kernel_folders.delete_unused(folder)
    return _compile(names, folder)


def compile_into(folder: Path, names: Collection[str]) -> int:
    """Compile the kernels of parts that have no copy in a folder; returns their number.

    Parameters
    ----------
    folder
        Such as `kernel_folders.BESIDE_PACKAGE`.
    names
        Parts in `PARTS`.

    Raises
    ------
    SettingsError
        When the folder is not writable.
    """
    if not kernel_folders.is_writable(folder, mode=0o755):
        raise SettingsError(f"{folder}: not writable")
    before, given = _config.CACHE_DIR, os.environ.get("NUMBA_CACHE_DIR")
    os.environ["NUMBA_CACHE_DIR"] = _config.CACHE_DIR = str(folder)
    try:
        return _compile(names, folder)
    finally:
        _config.CACHE_DIR = before
        del os.environ["NUMBA_CACHE_DIR"]
        if given is not None:
            os.environ["NUMBA_CACHE_DIR"] = given


def work() -> None:
    """Compile the kernels named in lines of standard input, and repeat each name when done."""
    for line in sys.stdin:
        with suppress(Exception):  # the process that needs the kernel reports the reason
            kernel = _find(line.strip())
            kernel.compile(declared_types(kernel))
        print(line, end="", flush=True)  # noqa: T201


def _missing(names: Collection[str]) -> dict[str, list[str]]:
    """The kernels without a copy on disk, by what messages call their part."""
    parts = {
        PARTS[name].name: [each for each in PARTS[name].kernels if needs_compiling(_find(each))]
        for name in names
    }
    return {name: kernels for name, kernels in parts.items() if kernels}


def _compile(names: Collection[str], folder: Path) -> int:
    missing = _missing(names)
    n_missing = _count(missing)
    if n_missing and _Compilations.have_workers:
        shown = _Compilations.monitor(", ".join(missing), n_missing)
        # Another process may be compiling the same kernels.
        with shown as advance, kernel_folders.locked(folder):
            left = list(dict.fromkeys(chain(*_missing(names).values())))
            advance(n_missing - len(left))
            if left:
                _Compilations.have_workers = compile_in_workers(left, target(), advance) > 0
    return n_missing


def _count(missing: dict[str, list[str]]) -> int:
    return len(set(chain(*missing.values())))


def _find(name: str) -> Any:
    module, _, kernel = name.rpartition(".")
    return getattr(import_module(module), kernel)


def _full_name(dispatcher: Any) -> str:
    return f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__name__}"


def needs_compiling(function: Any) -> bool:
    """Whether a kernel's first call will compile it because there is no copy on disk."""
    if isinstance(function, FunctionType) or function.overloads:
        return False
    return not any(store.exists() for store in function._cache.stores())


# Types of arguments


def _preferred(function: Any, given: Any) -> Any:
    """The types in a kernel's annotations, if arguments of the given types can be converted."""
    declared = declared_types(function)
    if not isinstance(given, tuple) or declared is None or len(given) != len(declared):
        return given
    context = function.typingctx
    for of_argument, of_parameter in zip(given, declared, strict=True):
        if of_argument != of_parameter:
            conversion = context.can_convert(of_argument, of_parameter)
            if conversion is None or conversion > conversion.safe:
                return given
    return declared


def declared_types(function: Any) -> Any:
    """The types in a kernel's annotations, a tuple; None if these do not define them."""
    return _declared_types(function.py_func)


@cache
def _declared_types(function: Callable[..., object]) -> Any:
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    types = tuple(_numba_type(hint) for hint in hints.values())
    return types if types and None not in types else None


def _numba_type(hint: Any) -> Any:
    return _simple_type(hint) or _record_type(hint, _type_of_part)


def _type_of_part(hint: Any) -> Any:
    return _simple_type(hint) or _record_type(hint, _simple_type)


@cache
def _simple_type(hint: Any) -> Any:
    """The type of a number or an array; None for anything else."""
    scalars = {int: _types.int64, float: _types.float64, bool: _types.boolean}
    if hint in scalars:
        return scalars[hint]
    axes = 1
    if get_origin(hint) is Annotated:
        hint, axes = get_args(hint)
    if get_origin(hint) is not np.ndarray:
        return None
    (element,) = get_args(get_args(hint)[1])
    if element in (np.integer, np.floating) or not isinstance(element, type):
        return None
    return _types.Array(_numba.from_dtype(np.dtype(element)), axes, "C")


def _record_type(hint: Any, type_of: Callable[[Any], Any]) -> Any:
    """The type of a tuple, or a named tuple, with parts of known types; None for anything else."""
    if get_origin(hint) is tuple:
        parts, record = get_args(hint), None
    elif isinstance(hint, type) and hasattr(hint, "_fields"):
        fields = get_type_hints(hint, include_extras=True)
        parts, record = tuple(fields[name] for name in hint._fields), hint
    else:
        return None
    types = [type_of(part) for part in parts]
    return None if None in types else _types.BaseTuple.from_types(types, record)


# The cache


class _KernelCache(_caching._Cache):  # type: ignore[misc]  # the base class has no types
    """A kernel's machine code on disk, by types; failures do not stop the computation."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        folder = _writable_folder()
        if folder is None:
            return None
        return str(folder / _environments()[-1] / self._module_folder())

    def stores(self) -> Iterator[_Store]:
        """The files that may hold the code of the kernel; the last is the one to be written."""
        places = (kernel_folders.BESIDE_PACKAGE, _writable_folder())
        for folder in (each for each in places if each is not None):
            for environment in _environments():
                yield _Store(folder / environment / self._module_folder(), self._dispatcher.py_func)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Code on disk needs numba's runtime, but not its tables for compiling: these load slowly.
        _runtime.rtsys.initialize(target_context)
        found = self._load(sig, target_context)
        if found is None and IS_WORKER not in os.environ:
            part = part_of(_full_name(self._dispatcher))
            if part is not None and compile_parts([part]):
                found = self._load(sig, target_context)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        for store in self.stores() if self._enabled else ():
            if store.exists():
                try:
                    data = store.load(sig)
                    if data is not None:
                        kernel_folders.mark_as_used(store.folder)
                        return _compiler.CompileResult._rebuild(target_context, *data)
                except Exception:  # whatever a damaged file causes; it is written anew
                    self._attempt(store.delete)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        has_folder = self._enabled and _writable_folder() is not None
        if has_folder and not data.library.has_dynamic_globals:
            *_, store = self.stores()
            self._attempt(store.save, sig, data._reduce())

    def _attempt(self, write: Callable[..., object], *arguments: object) -> None:
        try:
            write(*arguments)
        except OSError as error:
            _report(f"compiled code can't be stored in {self.cache_path} ({error.strerror})")
            self.disable()

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        for store in self.stores():
            store.delete()

    def _module_folder(self) -> str:
        function = self._dispatcher.py_func
        return kernel_folders.module_folder(function.__module__, _sources(function))


class _Store:
    """The files of one kernel in one folder."""

    def __init__(self, folder: Path, function: Callable[..., object]) -> None:
        self.folder = folder
        line = function.__code__.co_firstlineno
        base = f"{function.__qualname__.replace('<', '').replace('>', '')}-{line}"
        self._index = folder / f"{base}.nbi"
        self._file = _caching.IndexDataCacheFile(str(folder), base, "")

    def exists(self) -> bool:
        return self._index.exists()

    def load(self, types: Any) -> Any:
        return self._file.load(types)

    def save(self, types: Any, data: Any) -> None:
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._file.save(types, data)

    def delete(self) -> None:
        self._index.unlink(missing_ok=True)


@cache
def _sources(function: Callable[..., object]) -> tuple[str, ...]:
    """The source files that a kernel's code depends on: its own, and those of what it uses."""
    used = {function.__module__}
    for value in vars(sys.modules.get(function.__module__, function)).values():
        module = getattr(getattr(value, "py_func", value), "__module__", None) or ""
        if module != __name__ and module.partition(".")[0] == __name__.partition(".")[0]:
            used.add(module)
    files = {str(sys.modules[name].__file__) for name in used if name in sys.modules}
    return (function.__code__.co_filename, *sorted(files - {function.__code__.co_filename}))


def target() -> tuple[str, str]:
    """The processor that workers compile for, and its features, as LLVM names them.

    On processors of the x86-64 family with AVX2 it is their common level, so that code is valid on
    all of them; on others it is the processor of this machine.
    """
    given, features = _config.CPU_NAME, _config.CPU_FEATURES
    available = _llvm.get_host_cpu_features()
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    if given is None and is_x86 and all(available.get(each) for each in _FEATURES_OF_LEVEL):
        return _LEVEL, ""
    return given or _llvm.get_host_cpu_name(), available.flatten() if features is None else features


def _own_target() -> tuple[str, str]:
    """The processor that this process compiles for itself."""
    features = _config.CPU_FEATURES
    if features is None:
        features = _llvm.get_host_cpu_features().flatten()
    return _config.CPU_NAME or _llvm.get_host_cpu_name(), features


@cache
def _environment(processor: str, features: str) -> str:
    """The name of the folder for code of this environment."""
    options = (
        f"{name} {sorted(value) if isinstance(value, set) else value}"
        for name, value in _OPTIONS.items()
    )
    return kernel_folders.environment(
        (
            str(sys.implementation.cache_tag), getattr(sys, "abiflags", ""), sys.platform,
            _numba.__version__, _llvmlite.__version__, np.__version__.partition(".")[0],
            str(_config.OPT), processor, features, *options,
        )
    )  # fmt: skip


@cache
def _environments() -> tuple[str, ...]:
    """The folders of code that can run here; the last is that of code compiled by this process."""
    return tuple(dict.fromkeys(_environment(*each) for each in (target(), _own_target())))


_chosen: dict[str, Path | None] = {}


def _writable_folder() -> Path | None:
    """The folder for code that this process compiles: the user's, a temporary one, or none."""
    key = _config.CACHE_DIR or ""
    if key not in _chosen:
        folder = kernel_folders.user_folder(key)
        if folder is None or not kernel_folders.is_writable(folder):
            folder = _temporary_folder()
        _chosen[key] = _chosen[_config.CACHE_DIR or ""] = folder
    return _chosen[key]


def _temporary_folder() -> Path | None:
    """A new folder for compiled code until this process ends; None if there is none."""
    try:
        folder = tempfile.mkdtemp(prefix="eigentree-kernels-")
    except OSError:
        _report("no folder for compiled code is writable")
        return None
    _report("no folder for compiled code is writable, so a temporary one is used")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Worker processes inherit the variable; numba has read it already.
    os.environ["NUMBA_CACHE_DIR"] = _config.CACHE_DIR = folder
    return Path(folder)


def _report(what: str) -> None:
    """Log a problem, once for this process and its workers."""
    if CACHE_REPORTED not in os.environ:
        os.environ[CACHE_REPORTED] = "1"
        log.warning(
            "eigentree: %s; every start compiles for some seconds; set NUMBA_CACHE_DIR to a "
            "writable folder",
            what,
        )
