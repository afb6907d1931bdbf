"""The command ``compile``."""

from __future__ import annotations

import pytest

from eigentree._core import jit, kernel_folders
from eigentree._core.kernel_parts import PARTS
from tests.demo import run_verb


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """Kernels that would be compiled; none has a copy on disk."""
    compiled: list[str] = []
    monkeypatch.setattr(jit, "needs_compiling", lambda _: True)
    monkeypatch.setattr(
        jit, "compile_in_workers", lambda kernels, *_: compiled.extend(kernels) or 1
    )
    return compiled


def test_everything_is_compiled(compiled):
    code, out, err = run_verb("compile")
    assert (code, out) == (0, "")
    assert set(compiled) == {kernel for part in PARTS.values() for kernel in part.kernels}
    assert f"{len(compiled)} kernels compiled in " in err


def test_parts_are_compiled(compiled):
    code, _, err = run_verb("compile", "k-best")
    assert (code, compiled) == (0, [*PARTS["k-best"].kernels])
    assert "first run: compiling lists of the best trees (4 kernels, once per install" in err
    assert run_verb("compile", "k-best", "-q") == (0, "", "")


def test_code_for_everyone_is_beside_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_folders, "BESIDE_PACKAGE", tmp_path / "all" / "users")
    monkeypatch.setattr(jit, "needs_compiling", lambda _: True)
    folders = []
    monkeypatch.setattr(
        jit, "compile_in_workers", lambda *_: folders.append(jit._config.CACHE_DIR) or 1
    )
    before = jit._config.CACHE_DIR
    assert run_verb("compile", "k-best", "--everyone")[0] == 0
    assert folders == [str(tmp_path / "all" / "users")]
    assert before == jit._config.CACHE_DIR


def test_what_cannot_be(tmp_path, monkeypatch):
    code, _, err = run_verb("compile", "everything")
    assert code == 2
    assert "eigentree: no part 'everything'; there are parsing, k-best, " in err
    (tmp_path / "file").touch()
    monkeypatch.setattr(kernel_folders, "BESIDE_PACKAGE", tmp_path / "file")
    code, _, err = run_verb("compile", "--everyone")
    assert (code, err) == (2, f"eigentree: {tmp_path / 'file'}: not writable\n")
