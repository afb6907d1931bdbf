"""The command ``train``: files, messages, progress and cleaning."""

from __future__ import annotations

import contextlib
import json
import re

import pytest

from eigentree.constituency.parser import ConstituencyParser
from eigentree.treebank.io.brackets import parse_tree
from tests.cli.constituency.samples import TREES
from tests.demo import run_verb


def test_train_reports_what_it_does(treebank, tmp_path):
    model = tmp_path / "small.egt"
    code, out, err = run_verb("train", treebank, "-o", model, "--states", "2", "--dev", treebank)
    assert (code, out) == (0, "")
    assert err.startswith("3 trees\n")
    for stage in ("reading", "binary trees", "projections", "rules", "tagger"):
        assert re.search(rf"^{stage}: \d+\.\d CPU s$", err, re.MULTILINE)
    assert f"wrote {model}\n" in err
    for tags in ("gold tags", "own tags"):
        assert f"{treebank}, {tags}: F1 100.00 (EVALB, all lengths), 0 fall-backs" in err
    assert ConstituencyParser.load(model).description["trees"] == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--method", "em"], "EM (6 kernels"),
        (["--method", "em", "--dev"], "EM, the parser (18 kernels"),
        (["--method", "pcfg", "--dev"], "the parser (12 kernels"),
    ],
)
def test_compilation_is_reported(treebank, tmp_path, monkeypatch, options, told):
    monkeypatch.setattr("eigentree._core.jit.needs_compiling", lambda _: True)
    monkeypatch.setattr("eigentree._core.jit.compile_in_workers", lambda *_: 1)
    more = [treebank] if "--dev" in options else []
    code, _, err = run_verb(
        "train", treebank, "-o", tmp_path / "model.egt", "--no-tagger", *options, *more
    )
    assert code == 0
    assert f"first run: compiling {told}, once per installation)" in err


def test_a_model_replaces_only_a_model(treebank, tmp_path):
    model = tmp_path / "small.egt"
    plain = ("train", treebank, "-o", model, "--method", "pcfg", "--no-tagger", "-q")
    model.touch()
    assert run_verb(*plain)[0] == run_verb(*plain)[0] == 0
    model.write_text(TREES, "utf-8")
    code, _, err = run_verb(*plain)
    assert (code, err) == (
        2, f"eigentree: {model}: exists and is not a model; name another file, or remove it\n"
    )  # fmt: skip
    assert model.read_text("utf-8") == TREES


def test_cleaning_is_chosen_and_kept(tmp_path):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text("(S*1 (NP*SBJ (N*x dog) (N *0*)) (VP (V runs)))\n" * 3)
    options = ("--function-separators", "*", "--trace-words", "*0*", "--cut-tags")
    assert run_verb("train", path, "-o", model, "-q", *options)[0] == 0
    assert ConstituencyParser.load(model).cleaning.trace_words == ("*0*",)
    # The same cleaning serves the trees that are to be parsed.
    code, out, _ = run_verb("parse", "-m", model, "--input-format", "trees", path)
    assert code == 0
    assert out == "(S (NP (N dog)) (VP (V runs)))\n" * 3


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", (), "{path}: no trees to train on"),
        ("( (S (-NONE- *T*)) )\n(S (NP (-NONE- 0)))\n", (), "{path}: no trees to train on"),
        ("(())\n", (), "{path}: no trees to train on"),
        ("(S (NN dog)\n", (), "{path}:1:"),
        (None, (), "{path}: can't be read: No such file"),
        (TREES, ("--dev", "{folder}/none"), "none: can't be read: No such file"),
        (TREES, ("--dev", "{folder}/empty"), "empty: no trees to score on"),
        (TREES, ("--tune",), "--tune requires held-out trees; name them with --dev"),
        (TREES, ("--tune", "--dev", "{path}", "--method", "pcfg"), "--tune is for --method spec"),
        (TREES, ("--jobs", "2"), "--jobs is for --method em and spectral+em and for --opt"),
        (TREES, ("--iterations", "2", "--method", "pcfg"), "not for pcfg"),
        (TREES, ("--heads", "{folder}/none"), "none"),
        (TREES, ("--smoothing", "-1"), "smoothing is -1.0; it must be at least 0"),
        (TREES, ("--smoothing", "nan"), "smoothing is nan; it must be at least 0"),
        (TREES, ("--shrinkage", "inf"), "shrinkage is inf; it must be at least 0"),
        (TREES, ("--kappa", "nan"), "kappa is nan; it must be at least 0"),
        (TREES, ("--word-smoothing", "2"), "word_smoothing is 2.0; it must be between"),
        (TREES, ("--function-separators", "a"), "function separators 'a' hold a letter"),
    ],
)
def test_what_cannot_be_trained(tmp_path, content, options, message):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    (tmp_path / "empty").write_text("")
    if content is not None:
        path.write_text(content)
    given = [option.format(path=path, folder=tmp_path) for option in options]
    code, out, err = run_verb("train", path, "-o", model, "-q", *given)
    assert (code, out) == (2, "")
    assert message.format(path=path) in err
    assert err.count("\n") == 1
    assert not model.exists()


@pytest.mark.parametrize("place", ["missing/model.egt", "file/model.egt", "."])
def test_a_place_without_room_is_reported_before_the_work(treebank, tmp_path, place):
    (tmp_path / "file").write_text("")
    code, out, err = run_verb("train", treebank, "-o", tmp_path / place)
    assert (code, out) == (2, "")
    assert err == (
        f"eigentree: {tmp_path / place}: can't be written; name a file in a writable folder\n"
    )


@pytest.mark.parametrize("option", [(), ("--dev",)])
def test_a_treebank_is_never_replaced_by_a_model(treebank, tmp_path, option):
    other = tmp_path / "other.mrg"
    other.write_text(TREES)
    link = tmp_path / "link.egt"
    link.symlink_to(treebank)
    files = (other, *option, treebank) if option else (treebank,)
    for place in (treebank, link):
        code, out, err = run_verb("train", *files, "-o", place)
        assert (code, out) == (2, "")
        assert err.startswith(f"eigentree: {place}: is an input file, so it can't be written")
    assert treebank.read_text("utf-8") == TREES


def test_labels_like_markup_are_shown_as_they_are(tmp_path):
    trees, place = tmp_path / "odd.mrg", tmp_path / "odd.egt"
    trees.write_text("([bold] ([b] the) (:cat: dog))\n")
    assert run_verb("train", trees, "-o", place, "--method", "pcfg", "--no-tagger", "-q")[0] == 0
    for out in (run_verb("inspect", place)[1], run_verb("check", trees)[1]):
        assert "[bold]" in out
        assert "[b]" in out
        assert ":cat:" in out


def test_one_of_anything_is_singular(tmp_path):
    path, model = tmp_path / "one.mrg", tmp_path / "one.egt"
    path.write_text("% note\n(NP (NN dog))\n")
    code, _, err = run_verb("train", path, "-o", model, "--dev", path, "--no-tagger")
    assert code == 0
    assert f"1 notice, the first: {path}:1:1: comment passed over" in err
    assert "\n1 tree\n" in err
    assert "0 fall-backs in 1 sentence\n" in err
    assert "trained on 1 tree, 1 word, seed 0" in run_verb("inspect", model)[1]
    _, out, _ = run_verb("check", path)
    shown = [" ".join(line.split()) for line in out.split("\n")]
    assert {"1 tree", "1 word", "1 distinct word", "1 notice", "1 phrase"} <= set(shown)
    assert not re.search(r"\b1 [a-z]+s\b", out)
    _, _, err = run_verb("draw", path, "--only", "2")
    assert err == f"eigentree: {path}: has 1 tree; there is no tree 2\n"


def test_nothing_is_suggested_for_no_trees(tmp_path):
    empty = tmp_path / "empty.mrg"
    empty.write_text("\n")
    code, out, err = run_verb("check", empty)
    assert (code, out.split(), err) == (2, ["0", "trees"], f"eigentree: {empty}: no trees\n")
    assert json.loads(run_verb("check", empty, "--json")[1])["suggestions"] == []


def test_stages_end_when_training_fails(treebank, tmp_path, monkeypatch):
    ended: list[str] = []

    @contextlib.contextmanager
    def bar(doing, total=None, *, unit="sentence", quiet=False):
        assert (total, unit, quiet) == (100, "%", False)
        try:
            yield lambda steps: None  # noqa: ARG005
        finally:
            ended.append(doing)

    def fail(*_arguments, **_options):
        raise ArithmeticError("no convergence")

    monkeypatch.setattr("eigentree.cli._training.progress", bar)
    monkeypatch.setattr("eigentree.words.tagger.Tagger.train", fail)
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "model.egt")
    assert code == 1
    assert "ArithmeticError: no convergence" in err
    assert ended == ["binary trees", "projections", "rules", "words"]
    monkeypatch.setattr("eigentree.constituency.estimators.spectral.learn_spectral", fail)
    assert run_verb("train", treebank, "-o", tmp_path / "model.egt")[0] == 1
    assert ended == ["binary trees", "projections", "rules", "words", "binary trees"]


def test_malformed_trees_can_be_skipped(tmp_path):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text(TREES + "(S (S 1) + (S 2))\n" + TREES)
    code, _, err = run_verb("train", path, "-o", model, "-q", "--on-error", "skip", "--dev", path)
    assert code == 0
    assert err.count(f"eigentree: skipped: {path}:4:") == 2  # as training and as held-out trees
    assert ConstituencyParser.load(model).description["trees"] == 6


@pytest.mark.parametrize("text", ["(S (A a) (B b))\n", "(A a)\n(B b)\n", "( (S (A a)) )\n"])
def test_the_smallest_treebanks(tmp_path, text):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text(text)
    assert run_verb("train", path, "-o", model, "-q", "--dev", path) == (0, "", "")
    code, out, _ = run_verb("parse", "-m", model, "--input-format", "trees", path)
    assert code == 0
    assert [parse_tree(line) for line in out.splitlines()] == [
        parse_tree(line) for line in text.splitlines()
    ]
    assert run_verb("inspect", model)[0] == 0


def test_dev_trees_that_vanish_are_left_out(tmp_path):
    path, dev = tmp_path / "in.mrg", tmp_path / "dev.mrg"
    path.write_text(TREES)
    dev.write_text("( (S (-NONE- *)) )\n" + TREES)
    code, _, err = run_verb("train", path, "-o", tmp_path / "model.egt", "--dev", dev)
    assert code == 0
    assert "F1 100.00 (EVALB, all lengths), 0 fall-backs in 3 sentences" in err
