"""The command ``train``: EM, and the checkpoints from which it resumes."""

from __future__ import annotations

import re

import pytest

from eigentree.cli import _training
from eigentree.constituency.learn.em import STAGE
from eigentree.constituency.parser import ConstituencyParser
from tests.cli.constituency.samples import TREES
from tests.demo import run_verb


def test_expectation_maximisation_reports_its_iterations(treebank, tmp_path):
    model, checkpoint = tmp_path / "small.egt", tmp_path / "checkpoint"
    options = ("--method", "em", "--iterations", "3", "--no-tagger", "--dev", treebank)
    more = ("--states", "2", "--jobs", "2", "--checkpoint", checkpoint)
    code, _, err = run_verb("train", treebank, "-o", model, *options, *more)
    assert code == 0
    assert re.search(r"^expectation maximisation: \d+\.\d CPU s$", err, re.MULTILINE)
    rows = re.findall(r"^ +(\d)  +(-\d+\.\d{3})  +(\d+\.\d\d|)  +\d+\.\d(  kept)?$", err, re.M)
    assert [row[0] for row in rows] == ["1", "2", "3"]
    kept = [row for row in rows if row[3]]
    assert len(kept) == 1
    assert f"gold tags: F1 {kept[0][2]} (EVALB" in err
    assert checkpoint.is_file()
    code, out, _ = run_verb("inspect", model)
    assert code == 0
    assert "nonterminal" in out
    assert "states_of" not in out
    assert "singular values" not in out
    assert "spectrum" not in out
    assert "F1" in out
    assert re.search(rf"^ +{kept[0][0]} +{re.escape(kept[0][1])} +{kept[0][2]} +kept", out, re.M)


def test_a_run_says_what_it_goes_on_from(treebank, tmp_path, monkeypatch):
    model, checkpoint = tmp_path / "small.egt", tmp_path / "checkpoint"
    options = ("--method", "em", "--states", "2", "--no-tagger", "--checkpoint", checkpoint)
    real = _training.Stages.__call__

    def interrupted(self, stage, share):
        real(self, stage, share)
        if stage == STAGE and share >= 0.5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_training.Stages, "__call__", interrupted)
        code, _, err = run_verb("train", treebank, "-o", model, *options, "--iterations", "2")
    assert code == 130
    assert err.splitlines()[-1] == f"interrupted; the same command resumes from {checkpoint}"
    assert "resuming from" not in err
    for iterations, told in (
        ("2", f"resuming from {checkpoint} after iteration 1\n"),
        ("2", f"{checkpoint} already has iteration 2; nothing is left to do\n"),
        ("3", f"resuming from {checkpoint} after iteration 2\n"),
    ):
        code, _, err = run_verb(
            "train", treebank, "-o", model, *options, "--iterations", iterations
        )
        assert code == 0
        assert told in err
    assert len(ConstituencyParser.load(model).description["em"]["record"]) == 3
    assert "F1" not in run_verb("inspect", model)[1]  # nothing was held out


@pytest.mark.parametrize("content", [b"", b"nothing of use", b"\x80\x04."])
def test_a_damaged_checkpoint_is_reported_before_the_work(treebank, tmp_path, content):
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(content)
    options = ("--method", "em", "--checkpoint", checkpoint)
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "small.egt", *options)
    assert code == 2
    assert err.startswith(f"eigentree: {checkpoint}: is not an eigentree checkpoint")
    assert err.count("\n") == 1
    assert checkpoint.read_bytes() == content


def test_a_checkpoint_replaces_no_treebank(treebank, tmp_path):
    model = tmp_path / "small.egt"
    code, _, err = run_verb(
        "train", treebank, "-o", model, "--method", "em", "--checkpoint", treebank
    )
    assert code == 2
    assert err.startswith(f"eigentree: {treebank}: is an input file, so it")
    assert treebank.read_text("utf-8") == TREES


@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [
        ("-", "--checkpoint must be a file"),
        ("small.egt", "small.egt: can't be both the model and its checkpoint; name another"),
    ],
)
def test_a_checkpoint_has_a_file_of_its_own(treebank, tmp_path, monkeypatch, checkpoint, message):
    monkeypatch.chdir(tmp_path)
    options = ("--method", "em", "--checkpoint", checkpoint)
    code, out, err = run_verb("train", treebank, "-o", tmp_path / "small.egt", *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"eigentree: {message}")
