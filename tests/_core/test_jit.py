"""Kernels run whatever becomes of their cache."""

from __future__ import annotations

import errno
import importlib.util
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from eigentree._core import jit

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no cache without a compiler"
)
SOURCE = """
from eigentree._core.jit import kernel

@kernel
def twice(values):
    for i in range(len(values)):
        values[i] *= 2.0

@kernel
def halve(values):
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


def run_kernels(folder: Path):
    """The module of kernels, as a new process would import it, after both have run."""
    spec = importlib.util.spec_from_file_location("kernels", folder / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
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
    for path in folder.glob(f"cache/*/{pattern}"):
        path.write_bytes(path.read_bytes()[:40])
    assert not run_kernels(folder).twice.stats.cache_hits
    assert run_kernels(folder).twice.stats.cache_hits
    assert not caplog.messages


def no_folder(monkeypatch) -> None:
    def locators(*_: object) -> None:
        raise RuntimeError("cannot cache function 'twice': no locator available")

    def only_in_temporary_folder(self, function):
        if "eigentree-kernels-" not in jit._config.CACHE_DIR:
            locators()
        original(self, function)

    original = jit._KernelCache.__init__
    monkeypatch.setattr(jit._KernelCache, "__init__", only_in_temporary_folder)


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
    assert len(list(used.glob("*/*.nbi"))) == 2


def test_without_any_writable_folder_there_is_no_cache(folder, caplog, monkeypatch):
    no_folder(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "missing"))
    module = run_kernels(folder)
    assert caplog.messages[0].startswith("eigentree: no folder for compiled code is writable; ")
    assert len(caplog.messages) == 1
    assert module.twice.stats.cache_path is None


def test_a_kernel_without_a_cache_needs_compiling(folder, monkeypatch):
    no_folder(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "missing"))
    module = run_kernels(folder)
    assert not jit.needs_compiling(module.twice)  # in this process it is compiled
    module.twice.overloads.clear()
    assert jit.needs_compiling(module.twice)


def test_a_user_without_a_home_gets_no_folder_called_tilde(monkeypatch):
    monkeypatch.setattr(jit._config, "CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert not jit._has_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert jit._has_folder()
