"""Temporary files, also those of processes that were killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eigentree._core.part_files import new_part_file, remove_abandoned
from eigentree.treebank.io.text_files import write_whole

pytest.importorskip("fcntl")
KILLED = """
import os, signal, sys
from eigentree.treebank.io.text_files import write_whole
with write_whole(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_next_save_removes_what_a_killed_one_left(tmp_path):
    target = tmp_path / "[a]*.mrg"
    target.write_text("old")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, target])
        assert done.returncode == -signal.SIGKILL
        assert target.read_text() == "old"
    (tmp_path / ".b.mrg.1234.part").touch()
    with write_whole(target) as file:
        file.write("new")
    assert names(tmp_path) == [".b.mrg.1234.part", "[a]*.mrg"]
    assert target.read_text() == "new"


def test_what_another_process_writes_stays(tmp_path):
    path, stream = new_part_file(tmp_path / "a", "b")
    with stream, write_whole(tmp_path / "a") as file:
        file.write("other")
        assert len(names(tmp_path)) == 2
        remove_abandoned(tmp_path, "*.part")
        assert path.exists()
    remove_abandoned(tmp_path, "*.part")
    assert names(tmp_path) == ["a"]
    remove_abandoned(tmp_path / "missing", "*")
