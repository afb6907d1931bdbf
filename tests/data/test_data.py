"""The treebank of the package: two files of good trees that share no sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eigentree.data import DEMO
from eigentree.data.__main__ import copy_demo, main
from eigentree.errors import SettingsError
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


def test_no_file_of_the_user_is_replaced(tmp_path):
    (tmp_path / "train.mrg").write_text("(S (NN mine))")
    with pytest.raises(SettingsError, match=r"train\.mrg: exists and is another file; .*--force"):
        copy_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["train.mrg"]
    assert (tmp_path / "train.mrg").read_text() == "(S (NN mine))"
    copy_demo(tmp_path, force=True)
    assert (tmp_path / "train.mrg").read_bytes() == (DEMO / "train.mrg").read_bytes()
    assert len(copy_demo(tmp_path)) == 2  # the same files again


def test_a_folder_of_the_name_of_a_file_stays(tmp_path):
    (tmp_path / "heldout.mrg").mkdir()
    with pytest.raises(SettingsError, match=r"heldout\.mrg: exists"):
        copy_demo(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "heldout.mrg"]


def test_no_folder_is_a_usage_error(capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main([])
    usage = "usage: python -m eigentree.data [-h] [--force] FOLDER\n"
    assert capsys.readouterr().err.startswith(usage)


def test_its_help_is_help(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--help"])
    assert "--force" in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_reported(tmp_path, monkeypatch, capsys, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match=r"^2$"):
        main([folder])
    said = capsys.readouterr().err.splitlines()[1]
    assert said.startswith(f"python -m eigentree.data: error: {folder}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
