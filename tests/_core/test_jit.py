"""Kernels run whatever becomes of their cache."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from eigentree._core import jit, kernel_folders
from eigentree._core.kernel_parts import PARTS, Part
from eigentree.constituency.chart import _kernels_pruning
from eigentree.constituency.chart.arrays import Leaves

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no cache without a compiler"
)
PACKAGE = Path(jit.__file__).parents[1]
SOURCE = """
from eigentree._core.jit import inner_kernel, kernel
from eigentree.types import Floats

@inner_kernel
def double(value: float) -> float:
    return value * 2

@kernel
def twice(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = double(values[i])

@kernel
def product(number: int, factor: float) -> float:
    return double(number) / 2 * factor

@kernel
def halve(values: Floats) -> None:
    for i in range(len(values)):
        values[i] /= 2.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a module of kernels, and the cache in it; nothing has been reported."""
    (tmp_path / "kernels.py").write_text(SOURCE)
    monkeypatch.setattr(jit._config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(jit.CACHE_REPORTED, "1")
    monkeypatch.delenv(jit.CACHE_REPORTED)
    return tmp_path


def new_module(folder: Path):
    """The module of kernels, as a new process would import it."""
    spec = importlib.util.spec_from_file_location("kernels", folder / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_kernels(folder: Path):
    """A new module of kernels, after both have run."""
    module = new_module(folder)
    values = np.ones(3)
    module.twice(values)
    assert values.tolist() == [2.0] * 3
    module.halve(values)
    assert values.tolist() == [1.0] * 3
    return module


def test_compiled_code_is_kept_for_the_next_process(folder, caplog):
    assert not jit.needs_compiling(run_kernels(folder).twice)
    again = run_kernels(folder)
    assert sum(again.twice.stats.cache_hits.values()) == 1
    assert not caplog.records


def test_a_full_disk_is_reported_once(folder, caplog, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    run_kernels(folder)
    (message,) = caplog.messages
    assert message.startswith("eigentree: compiled code can't be stored in ")
    assert "(No space left on device); " in message
    assert message.endswith("set NUMBA_CACHE_DIR to a writable folder")
    # Worker processes inherit the mark.
    assert jit.CACHE_REPORTED in os.environ


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
def test_damaged_files_are_compiled_anew(folder, pattern, caplog):
    run_kernels(folder)
    for path in folder.glob(f"cache/*/*/{pattern}"):
        path.write_bytes(path.read_bytes()[:40])
    assert not run_kernels(folder).twice.stats.cache_hits
    assert run_kernels(folder).twice.stats.cache_hits
    assert not caplog.messages


def no_folder(monkeypatch) -> None:
    monkeypatch.setattr(
        kernel_folders, "is_writable", lambda folder: "eigentree-kernels-" in str(folder)
    )


def test_without_a_writable_folder_a_temporary_one_serves(folder, caplog, monkeypatch):
    no_folder(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    run_kernels(folder)
    (message,) = caplog.messages
    assert message.startswith("eigentree: no folder for compiled code is writable, so a temporary")
    # Worker processes inherit the folder.
    used = Path(os.environ["NUMBA_CACHE_DIR"])
    assert used.parent == folder
    assert used.stat().st_mode & 0o77 == 0
    assert len(list(used.glob("*/*/*.nbi"))) == 3


def test_without_any_writable_folder_there_is_no_cache(folder, caplog, monkeypatch):
    no_folder(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "missing"))
    module = run_kernels(folder)
    assert caplog.messages[0].startswith("eigentree: no folder for compiled code is writable; ")
    assert len(caplog.messages) == 1
    assert module.twice.stats.cache_path is None
    assert not jit.needs_compiling(module.twice)  # in this process it is compiled
    assert jit.needs_compiling(new_module(folder).twice)


def test_code_depends_on_the_source_and_on_what_it_imports(folder):
    before = run_kernels(folder).twice.stats.cache_path
    source = (folder / "kernels.py").read_text()
    (folder / "kernels.py").write_text(f"{source}\n# changed\n")
    kernel_folders.module_folder.cache_clear()
    changed = new_module(folder).twice
    assert jit.needs_compiling(changed)
    assert changed.stats.cache_path != before
    assert jit._sources(_kernels_pruning.inside_pass.py_func)[1:] == tuple(
        sorted(
            str(Path(_kernels_pruning.__file__).parents[up] / name)
            for up, name in (
                (0, "_kernels_spans.py"), (0, "arrays.py"), (1, "grammar/arrays.py"),
            )
        )
    )  # fmt: skip


def test_kernels_are_compiled_for_the_types_in_their_annotations(folder):
    module = new_module(folder)
    (types,) = jit.declared_types(module.twice)
    assert (types.ndim, str(types.dtype), types.layout) == (1, "float64", "C")
    # A number of another type is converted, whether Python or a kernel calls.
    assert module.product(np.int32(3), 2) == 6.0
    assert set(module.product.overloads) == {jit.declared_types(module.product)}
    # What can't be converted gets code of its own.
    values = np.ones(3, dtype=np.float32)
    module.halve(values)
    assert values.tolist() == [0.5] * 3


def test_python_can_call_kernels_that_are_for_kernels_only(folder):
    module = run_kernels(folder)
    assert module.double.overloads
    assert module.double(1.5) == 3.0
    values = np.ones(2)
    module.twice.py_func(values)
    assert values.tolist() == [2.0] * 2


def test_records_of_arrays_have_types():
    types = jit.declared_types(_kernels_pruning.inside_pass)
    assert [str(each) for each in types[:1]] == ["int64"]
    assert types[1].instance_class is Leaves
    assert [each.ndim for each in types[2]] == [1] * 12 + [2]


NAMED = [kernel for part in PARTS.values() for kernel in part.kernels]


def test_every_kernel_that_python_calls_belongs_to_a_part():
    modules = [
        "eigentree." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("_kernels*.py")
    ]
    defined = {
        f"{module}.{name}"
        for module in modules
        for name, value in vars(importlib.import_module(module)).items()
        if hasattr(value, "targetoptions") and value.py_func.__module__ == module
        if "no_cpython_wrapper" not in value.targetoptions
    }
    assert defined == set(NAMED)


def test_the_annotations_of_kernels_define_their_types():
    assert [name for name in NAMED if jit.declared_types(jit._find(name)) is None] == []


def test_a_part_is_compiled_by_other_processes_and_shown(folder, monkeypatch):
    part = Part("small kernels", ("kernels.halve", "kernels.twice"))
    monkeypatch.setitem(PARTS, "small", part)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "kernels", raising=False)
    shown = []

    @contextmanager
    def monitor(names, n_kernels):
        shown.append((names, n_kernels))
        yield shown.append
        shown.append("done")

    monkeypatch.setattr(jit._Compilations, "monitor", staticmethod(monitor))
    # The first call of one kernel compiles all of its part.
    values = np.ones(3)
    jit._find("kernels.twice")(values)
    assert values.tolist() == [2.0] * 3
    assert shown[0] == ("small kernels", 2)
    assert sum(shown[1:-1]) == 2
    assert shown[-1] == "done"
    module = sys.modules.pop("kernels")
    assert sum(module.twice.stats.cache_hits.values()) == 1
    assert not jit.needs_compiling(module.halve)
    assert jit.compile_parts(["small"]) == 0


def test_without_workers_the_process_compiles_by_itself(folder, monkeypatch):
    monkeypatch.setitem(PARTS, "small", Part("small kernels", ("kernels.twice",)))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "kernels", raising=False)
    monkeypatch.setattr(sys, "executable", str(folder / "missing"))
    monkeypatch.setattr(jit._Compilations, "have_workers", True)
    values = np.ones(3)
    jit._find("kernels.twice")(values)
    assert values.tolist() == [2.0] * 3
    assert not sys.modules.pop("kernels").twice.stats.cache_hits
    assert not jit._Compilations.have_workers  # it does not try again
