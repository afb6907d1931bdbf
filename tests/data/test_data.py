"""The treebank of the package: two files of good trees that share no sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eigentree.data import DEMO
from eigentree.treebank.io.brackets import read_brackets


def trees_of(name):
    with open(DEMO / name, encoding="utf-8") as lines:
        return [record.tree for record in read_brackets(lines, name=name)]


@pytest.mark.parametrize(("name", "fewest"), [("train.mrg", 300), ("heldout.mrg", 40)])
def test_files_hold_varied_trees(name, fewest):
    trees = trees_of(name)
    assert len(trees) >= fewest
    lengths = {len(tree.words()) for tree in trees}
    assert len(lengths) >= 10


def test_held_out_sentences_are_new():
    seen = {tuple(tree.words()) for tree in trees_of("train.mrg")}
    assert [
        words for tree in trees_of("heldout.mrg") if (words := tuple(tree.words())) in seen
    ] == []


def test_files_are_copied(tmp_path):
    folder = tmp_path / "new" / "folder"
    command = [sys.executable, "-m", "eigentree.data", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(folder / "heldout.mrg"), str(folder / "train.mrg")]
    assert (folder / "train.mrg").read_bytes() == (DEMO / "train.mrg").read_bytes()


def test_no_folder_is_a_usage_error():
    done = subprocess.run([sys.executable, "-m", "eigentree.data"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "usage: python -m eigentree.data FOLDER\n"


@pytest.mark.parametrize("folder", ["file", "--help"])
def test_a_folder_that_cannot_be_made_is_told(tmp_path, folder):
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "eigentree.data", folder]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
