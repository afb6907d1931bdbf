"""The verb automaton: what it learns, says and refuses."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from eigentree.automata.model_file import load_automaton
from eigentree.automata.sequences import Sequences
from eigentree.automata.spectral import OperatorOptions, learn_operators
from tests.demo import run_verb

TEXTS = ["a b a", "b", "", "a b a b a", "b a", "a\u00a0x b"] * 5


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "sequences.txt"
    path.write_text("".join(f"{line}\n" for line in TEXTS), "utf-8")
    return path


def test_what_is_learned_is_asked(text, tmp_path):
    path = tmp_path / "model.egt"
    code, out, err = run_verb("automaton", "train", text, "--states", "2", "-o", path)
    assert (code, out) == (0, "")
    assert "model.egt: 3 states, 3 symbols, from 30 sequences" in err
    model = learn_operators(
        Sequences.of([line.split(" ") if line else [] for line in TEXTS]), OperatorOptions(2)
    )
    assert model.symbols == ("a", "a\u00a0x", "b")
    asked = tmp_path / "asked.txt"
    asked.write_text("a b a\n\nc\n", "utf-8")
    code, out, _ = run_verb("automaton", "score", asked, "--model", path)
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert rows[0] == ["sequence", "log_value", "sign"]
    for number, (row, sequence) in enumerate(zip(rows[1:], ("aba", "", "c"), strict=True), start=1):
        log_value, sign = model.value(sequence)
        assert row == [str(number), f"{log_value:.6f}", str(sign)]
    assert math.isinf(float(rows[3][1]))


def test_next_symbols_are_distinguished_from_the_most_probable_down(text, tmp_path):
    path, asked = tmp_path / "model.egt", tmp_path / "asked.txt"
    options = ("--method", "em", "--states", "2", "--quiet")
    assert run_verb("automaton", "train", text, "-o", path, *options) == (0, "", "")
    asked.write_text("a\n", "utf-8")
    out = run_verb("automaton", "score", asked, "--model", path, "--next", "9")[1]
    rows = [line.split("\t") for line in out.splitlines()[1:]]
    assert sorted(row[1] for row in rows) == ["<end>", "a", "a\u00a0x", "b"]
    probabilities = [float(row[2]) for row in rows]
    assert probabilities == sorted(probabilities, reverse=True)
    assert abs(sum(probabilities) - 1.0) < 1e-5


def test_one_seed_gives_one_file_and_held_out_sequences_may_have_other_symbols(text, tmp_path):
    dev = tmp_path / "dev.txt"
    dev.write_text("a b new\n", "utf-8")
    options = ("--method", "spectral+em", "--states", "2", "--dev", dev, "--iterations", "3")
    files = []
    for name, more in (("one", ()), ("two", ("--jobs", "2", "--checkpoint", tmp_path / "run"))):
        code, _, err = run_verb("automaton", "train", text, "-o", tmp_path / name, *options, *more)
        assert code == 0, err
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    assert "new" in load_automaton(tmp_path / "one").symbols


def test_what_cannot_be_used_is_refused(text, tmp_path):
    path = tmp_path / "model.egt"
    for arguments, message in (
        (("train", text), "no model file given; name one with --output-file"),
        (("train", text, "-o", text), "is an input file, so it can't be written"),
        (("train", text, "-o", path, "--dev", text), "--dev is for --method em and spectral+em"),
        (("train", text, "-o", path, "--back-off", "2"), "back_off is 2.0"),
        (("train", tmp_path / "none", "-o", path), "none: can't be read"),
        (("score", text), "no model given"),
        (("score", text, "--model", text), "isn't an eigentree model"),
    ):
        code, out, err = run_verb("automaton", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert not path.exists()


def test_good_lines_before_a_prefix_without_a_value_are_reported(text, tmp_path):
    path, asked = tmp_path / "model.egt", tmp_path / "asked.txt"
    run_verb("automaton", "train", text, "-o", path, "--method", "em")
    asked.write_text("a\nnever\nb\n", "utf-8")
    code, out, err = run_verb("automaton", "score", asked, "--model", path, "--next", "1")
    assert code == 2
    assert [row.split("\t")[0] for row in out.splitlines()[1:]] == ["1", "3"]
    assert "asked.txt:2: the prefix has value zero, so no symbol can follow it" in err


def test_a_byte_that_is_no_text_costs_one_sequence(text, tmp_path):
    path, given = tmp_path / "model.egt", tmp_path / "given.txt"
    run_verb("automaton", "train", text, "-o", path, "--states", "1")
    given.write_bytes(b"a\na \0 b\n\xff\nb\n")
    code, out, err = run_verb("automaton", "score", given, "--model", path)
    assert code == 2
    assert [row.split("\t")[0] for row in out.splitlines()[1:]] == ["1", "4"]
    assert "given.txt:2:3: NUL byte" in err
    assert "given.txt:3:1: byte 0xff is not UTF-8" in err


@pytest.mark.parametrize("options", [(), ("--rank", "3"), ("--order", "2")])
def test_hidden_markov_models_are_counted_from_tagged_sentences(options, tmp_path):
    tagged, path, words = (tmp_path / name for name in ("tagged.txt", "tags.egt", "words.txt"))
    tagged.write_text("the_D dog_N saw_V it_P\nit_P slept_V\n" * 3, "utf-8")
    words.write_text("it slept\n\n", "utf-8")
    arguments = ("--method", "hmm", "-o", path, *options)
    code, out, err = run_verb("automaton", "train", tagged, *arguments)
    assert (code, out) == (0, "")
    assert "4 tags, from 6 sentences" in err
    code, out, _ = run_verb("automaton", "score", words, "--model", path)
    rows = [line.split("\t") for line in out.splitlines()]
    log_value, sign = load_automaton(path).value(["it", "slept"])
    assert rows[1:] == [["1", f"{log_value:.6f}", str(sign)], ["2", "-inf", "0"]]
    code, _, err = run_verb("automaton", "score", words, "--model", path, "--next", "1")
    assert (code, err) == (2, "eigentree: --next is not available for hidden Markov models\n")


def test_options_of_other_methods_are_refused(text, tmp_path):
    for options, message in (
        (("--method", "hmm", "--states", "2"), "--states is for --method spectral, em and"),
        (("--rank", "2"), "--rank is for --method hmm, not for spectral"),
    ):
        code, _, err = run_verb("automaton", "train", text, "-o", tmp_path / "model", *options)
        assert code == 2
        assert message in err
