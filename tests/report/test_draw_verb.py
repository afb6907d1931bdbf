"""The verb ``draw``."""

import io
import sys

import pytest

from eigentree.cli import app

TREES = "( (S (NP-SBJ (NN ice)) (VP (VBZ melts))))\n(())\n(NP (NN snow))\n"


def run(*arguments):
    with pytest.raises(SystemExit, match=r"^\d*$") as leaving:
        app.main(arguments)
    return leaving.value.code


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TREES)
    return str(path)


def test_text_of_each_tree(trees, capsys):
    assert run("draw", trees, "--style", "indented") == 0
    assert capsys.readouterr().out == (
        "· ─ S\n├─ NP-SBJ ─ NN ice\n└─ VP ─ VBZ melts\n\n(no parse)\n\nNP ─ NN snow\n"
    )


def test_clean_tree_with_ascii_lines(trees, capsys):
    assert run("draw", trees, "--only", "1", "--clean", "--ascii", "--width", "20") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].strip() == "S"
    assert "NP-SBJ" not in out
    assert set(out) <= set(" \n|-+SNPVBZicemlts")


def test_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"(NP (NN snow))")))
    assert run("draw") == 0
    assert capsys.readouterr().out == " NP\n  │\n NN\nsnow\n"


def test_svg_by_the_name_of_the_output(trees, tmp_path, capsys):
    target = tmp_path / "trees.svg"
    assert run("draw", trees, "-o", str(target)) == 0
    assert target.read_text("utf-8").startswith("<?xml")
    assert run("draw", trees, "--format", "svg") == 0
    assert capsys.readouterr().out == target.read_text("utf-8")


def test_malformed_tree(tmp_path, capsys):
    path = tmp_path / "bad.mrg"
    path.write_text("(NP (NN ice))\n(NP (NN snow)\n")
    assert run("draw", str(path), "--style", "indented") == 2
    assert "bad.mrg:2" in capsys.readouterr().err
    assert run("draw", str(path), "--style", "indented", "--on-error", "skip") == 0
    told = capsys.readouterr()
    assert told.out == "NP ─ NN ice\n"
    assert "bad.mrg:2" in told.err


def test_tree_that_is_not_there(trees, capsys):
    assert run("draw", trees, "--only", "4") == 2
    assert "has 3 trees, so there is no tree 4" in capsys.readouterr().err


def test_trees_are_never_replaced_by_their_drawing(trees, capsys):
    assert run("draw", trees, "-o", trees) == 2
    assert "is read, so it can't be written" in capsys.readouterr().err
    with open(trees) as file:
        assert file.read() == TREES
