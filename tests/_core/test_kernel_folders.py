"""Folders of compiled code."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from eigentree._core import kernel_folders


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/var/cache"}, "/var/cache/eigentree"),
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/eigentree"),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/eigentree"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/eigentree"),
    ],
)
def test_the_users_cache(monkeypatch, system, variables, expected):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", system)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert kernel_folders.user_folder(None) == Path(expected)
    assert kernel_folders.user_folder("/elsewhere") == Path("/elsewhere")


def test_a_user_without_a_home_gets_no_folder_called_tilde(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert kernel_folders.user_folder(None) is None


def test_code_that_is_not_used_is_deleted(tmp_path):
    long_ago = time.time() - 2 * kernel_folders.MAX_AGE
    for name in ("kernels-a/old", "kernels-a/new", "kernels-b/old", "other/old"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "code.nbc").touch()
        if name.endswith("old"):
            os.utime(tmp_path / name, (long_ago, long_ago))
    kernel_folders.delete_unused(tmp_path)
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.glob("*/*")) == [
        "kernels-a/new", "other/old",
    ]  # fmt: skip
    assert not (tmp_path / "kernels-b").exists()


def test_use_is_noted(tmp_path):
    long_ago = time.time() - 2 * kernel_folders.MAX_AGE
    os.utime(tmp_path, (long_ago, long_ago))
    kernel_folders.mark_as_used(tmp_path)
    assert tmp_path.stat().st_mtime > time.time() - 60


def test_one_process_holds_the_lock(tmp_path):
    order = []

    def second() -> None:
        with kernel_folders.locked(tmp_path):
            order.append("second")

    with kernel_folders.locked(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    with kernel_folders.locked(tmp_path / "missing"):
        pass
