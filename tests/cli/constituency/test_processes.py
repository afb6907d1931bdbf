"""The commands as processes: workers, pipes, encodings, and readers that close early."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from eigentree.constituency.parser import ConstituencyParser
from eigentree.treebank.io.brackets import parse_tree
from tests.cli.constituency.samples import EIGENTREE, SENTENCES, TREES, answers_one_by_one
from tests.demo import run_verb


def die(_lot: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_is_reported_in_one_sentence(model, sentences, monkeypatch):
    monkeypatch.setattr("eigentree._core.batching._process", die)
    code, out, err = run_verb("parse", "-m", model, "-j", "2", "--quiet", sentences)
    assert (code, out) == (1, "")
    assert err == (
        "eigentree: a worker process exited unexpectedly (possibly out of memory); use fewer jobs\n"
    )


@pytest.mark.slow
def test_a_line_in_a_line_out(model):
    answers = answers_one_by_one(model, SENTENCES)
    assert [parse_tree(line).words() if line else [] for line in answers] == [
        text.split() for text in SENTENCES
    ]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_reader_that_leaves_is_no_error(model, tmp_path, jobs):
    path = tmp_path / "input"
    path.write_text("The dog sees the cat .\n" * 500)
    with subprocess.Popen(
        [*EIGENTREE, "parse", "-m", str(model), "-j", jobs, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"( (S")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 141


@pytest.mark.slow
def test_output_is_utf_8_wherever_it_goes(model):
    done = subprocess.run(
        [*EIGENTREE, "parse", "-m", str(model), "-q"],
        input="naïve 😀\n".encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert "naïve" in done.stdout.decode("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", "inspect"])
def test_a_reader_that_leaves_a_report_is_no_news(verb, model, treebank):
    file = str(model if verb == "inspect" else treebank)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*EIGENTREE, verb, file], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_trees_from_a_pipe(tmp_path):
    command = [*EIGENTREE, "train", "-", "-o", str(tmp_path / "model.egt"), "-q", "--no-tagger"]
    done = subprocess.run(command, input=TREES.encode(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert ConstituencyParser.load(tmp_path / "model.egt").description["trees"] == 3
