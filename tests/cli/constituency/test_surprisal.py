"""The verb surprisal, and the parser's method behind it."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from eigentree.cli.constituency.surprisal import COLUMNS
from eigentree.constituency import Surprisal
from eigentree.constituency.chart import prefix
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import SettingsError
from tests.demo import HELD_OUT, any_length_parser, demo_parser, demo_trees, run_verb
from tests.helpers import close

SENTENCE = "The dog sees the old cat ."


@cache
def plain_parser() -> ConstituencyParser:
    return ConstituencyParser.train(demo_trees(), method="pcfg")


@cache
def clustered_parser() -> ConstituencyParser:
    return ConstituencyParser.train(demo_trees(), method="clustering", states=3)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "plain.egt"
    plain_parser().save(path)
    return path


def rows_of(out: str) -> list[list[str]]:
    header, *rows = out.split("\n")
    assert tuple(header.split("\t")) == COLUMNS
    assert rows.pop() == ""
    return [row.split("\t") for row in rows]


@pytest.mark.slow
def test_a_row_for_every_word_and_every_end(model, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text(f"{SENTENCE}\n\nThe dog\n", "utf-8")
    code, out, err = run_verb("surprisal", "-m", model, "--input-format", "tokens", path)
    assert code == 0
    rows = rows_of(out)
    assert [row[0] for row in rows] == ["1"] * 8 + ["3"] * 3
    assert [row[1] for row in rows[:8]] == [str(n) for n in range(1, 9)]
    assert [row[2] for row in rows[:8]] == [*SENTENCE.split(), ""]
    found = plain_parser().surprisal(SENTENCE.split())
    told = np.array([row[3:6] for row in rows[:8]], dtype=float)
    assert close(told[:, 0], found.bits, rtol=0.0, atol=1e-6)
    assert close(told[:, 1], found.nats, rtol=0.0, atol=1e-6)
    assert close(told[:, 2], [*found.log_prefix[1:], found.log_value], rtol=0.0, atol=1e-6)
    assert [row[6] for row in rows[:7]] == found.entries
    # The demonstration has no sentence without a verb.
    assert rows[-1][3] == "inf"
    assert f"{path}:3: the sentence can't end here" in err


@pytest.mark.slow
def test_what_cannot_follow_is_marked_and_told(model, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text(f"dog . the the . .\n{SENTENCE}\n", "utf-8")
    code, out, err = run_verb("surprisal", "-m", model, "--input-format", "tokens", path)
    assert code == 0
    rows = rows_of(out)
    marks = [row[3] for row in rows[:7]]
    at = marks.index("inf")
    assert set(marks[at + 1 :]) == {"nan"}
    assert [row[5] for row in rows[at:7]] == ["-inf"] * (7 - at)
    assert f"{path}:1: word {at + 1} ({rows[at][2]}) can't follow" in err
    assert all(math.isfinite(float(row[3])) for row in rows[7:])


def test_tags_count_only_when_requested(model):
    asked = ["surprisal", "-m", model, "--input-format", "trees", "-q", HELD_OUT]
    free, tagged = run_verb(*asked), run_verb(*asked, "--use-tags")
    assert free[0] == tagged[0] == 0
    pairs = list(zip(rows_of(free[1]), rows_of(tagged[1]), strict=True))
    assert all(one[:3] == other[:3] for one, other in pairs)
    seen = [(float(a[5]), float(b[5])) for a, b in pairs if a[6] != "< >" and b[5] != "-inf"]
    assert any(tagged < free for free, tagged in seen)


def test_models_whose_tables_are_too_large_use_the_plain_grammar(tmp_path, monkeypatch):
    model, path = tmp_path / "clusters.egt", tmp_path / "sentences.txt"
    clustered_parser().save(model)
    path.write_text(f"{SENTENCE}\n", "utf-8")
    parser = ConstituencyParser.load(model)
    largest = prefix.TableSizes.of(parser.grammar)
    plain = ConstituencyParser(one_state(parser.grammar.backbone))
    expected = plain.surprisal(SENTENCE.split()).nats
    # The tables of latent states are just too large; those of the plain grammar are smaller.
    limit = 8 * max(int(largest.tensor.sum()), 4 * largest.inner * largest.states) - 1
    monkeypatch.setattr(prefix, "MAX_BYTES", limit)
    assert not parser.latent_surprisal
    assert close(parser.surprisal(SENTENCE.split()).nats, expected, rtol=1e-12)
    code, out, err = run_verb("surprisal", "-m", model, "--input-format", "tokens", path)
    assert code == 0
    assert "surprisals are those of its plain grammar" in err
    assert [float(row[4]) for row in rows_of(out)] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_sentence_that_is_too_long_costs_no_other(model, tmp_path, monkeypatch):
    path = tmp_path / "sentences.txt"
    path.write_text(f"{SENTENCE}\n{'the ' * 300}\n{SENTENCE}\n", "utf-8")
    # The loaded grammar's tables have their limit, too.
    monkeypatch.setattr(prefix, "MAX_BYTES", 1 << 23)
    for most, told in (
        ("300", "the chart of 300 words"),
        ("299", "skipped, since it has 300 words"),
    ):
        code, out, err = run_verb(
            "surprisal", "-m", model, "--input-format", "tokens", path, "--max-words", most
        )
        assert code == 2
        rows = rows_of(out)
        assert [row[0] for row in rows] == ["1"] * 8 + ["3"] * 8
        assert f"{path}:2: {told}" in err
    assert run_verb("surprisal", "-m", model, "--input-format", "tokens", path, "--jobs", "2")[
        :2
    ] == (
        2,
        out,
    )


def test_what_cannot_be_read_costs_no_other(model, tmp_path):
    path = tmp_path / "tagged.txt"
    path.write_text("The_DT dog_NN sleeps_VBZ ._.\nbroken\nThe_DT dog_NN\n", "utf-8")
    code, out, err = run_verb("surprisal", "-m", model, "--input-format", "tagged", path)
    assert code == 2
    assert {row[0] for row in rows_of(out)} == {"1", "3"}
    assert f"{path}:2" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-m", "."], ".: is a folder; expected a model file of kind 'parser'"),
        (
            ["-m", "x.egt", "--use-tags", "--input-format", "raw"],
            "--use-tags requires input with tags",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, told):
    code, out, err = run_verb("surprisal", *arguments)
    assert (code, out) == (2, "")
    assert told in err


def test_signed_models_are_reported(tmp_path):
    path = tmp_path / "signed.egt"
    demo_parser().save(path)
    sentences = tmp_path / "sentences.txt"
    sentences.write_text(SENTENCE + "\n", "utf-8")
    code, out, err = run_verb("surprisal", "-m", path, sentences)
    assert code == 0
    assert "the model has signed values" in err
    assert len(rows_of(out)) == 8


@pytest.mark.slow
@pytest.mark.parametrize("parser", [plain_parser, clustered_parser])
def test_all_sentences_of_a_treebank_grammar_sum_to_one(parser):
    for tree in demo_trees()[:20]:
        found = parser().surprisal(tree.words())
        assert isinstance(found, Surprisal)
        # Models are stored in single precision.
        assert close(found.log_prefix[0], 0.0, rtol=0.0, atol=1e-6)
        assert close(found.nats.sum(), -found.log_value, rtol=1e-6)
        assert np.all(found.nats > -1e-9)


def test_two_hundred_words_are_finite():
    found = any_length_parser().surprisal(["a", "b"] * 100)
    assert np.all(np.isfinite(found.log_prefix))
    assert math.isfinite(found.log_value)


def test_tables_are_made_once():
    parser = plain_parser()
    parser.surprisal(["The"])
    corners = parser._left_corners
    parser.surprisal(["The", "dog"])
    assert corners is not None
    assert parser._left_corners is corners


@pytest.mark.parametrize("words", [[], "", " "])
def test_no_words_are_refused(words):
    with pytest.raises(SettingsError, match="there are no words"):
        plain_parser().surprisal(words)


def test_text_is_cut_into_words():
    found = plain_parser().surprisal("The dog slept.")
    assert found.words == ["The", "dog", "slept", "."]
