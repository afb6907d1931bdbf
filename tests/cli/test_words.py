"""The verb words: clusters and vectors from text, and what is shown of them."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.words.brown import BrownOptions, assign_words, learn_brown
from eigentree.words.brown_files import read_clusters
from eigentree.words.cca import CCAOptions, learn_cca
from eigentree.words.vectors import read_vectors
from tests.demo import HELD_OUT, demo_trees, run_verb


@pytest.fixture(scope="module")
def sentences() -> list[list[str]]:
    return [tree.words() for tree in demo_trees()[:300]]


@pytest.fixture(scope="module")
def text(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in sentences), "utf-8")
    return path


@pytest.fixture(scope="module")
def clusters(text):
    path = text.with_name("clusters.tsv")
    code, out, err = run_verb("words", "brown", text, "--clusters", "8", "-o", path)
    assert (code, out) == (0, "")
    assert f"{path}: " in err
    return path


@pytest.fixture(scope="module")
def vectors(text):
    path = text.with_name("vectors.txt")
    code, out, err = run_verb("words", "cca", text, "--dimensions", "5", "-o", path)
    assert (code, out) == (0, "")
    assert "numbers each" in err
    return path


def test_brown_writes_what_the_library_learns(clusters, sentences):
    expected = learn_brown(sentences, BrownOptions(8))
    found = read_clusters(clusters)
    assert {word: found.path_of(word) for word in found.words} == {
        word: expected.path_of(word) for word in expected.words
    }


def test_brown_into_a_model_and_to_standard_output(clusters, text, tmp_path):
    code, out, err = run_verb("words", "brown", text, "--clusters", "8", "-q")
    assert (code, err) == (0, "")
    assert out == clusters.read_text("utf-8")
    path = tmp_path / "clusters.egt"
    assert run_verb("words", "brown", text, "--clusters", "8", "-q", "-o", path)[0] == 0
    assert read_clusters(path).paths == read_clusters(clusters).paths


def test_brown_reads_trees():
    code, out, err = run_verb(
        "words",
        "brown",
        HELD_OUT,
        "--input-format",
        "trees",
        "--clusters",
        "4",
        "--min-count",
        "3",
        "-q",
    )
    assert (code, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    assert len({path for path, _, _ in rows}) == 4
    assert min(int(count) for _, _, count in rows) >= 3


@pytest.mark.slow
def test_cca_writes_what_the_library_learns(vectors, text, sentences, tmp_path):
    expected = learn_cca(sentences, CCAOptions(5))
    assert np.array_equal(read_vectors(vectors).matrix, expected.matrix)
    path = tmp_path / "vectors.npz"
    given = ("--window", "1", "--vocabulary", "20", "--method", "two-step", "--counts")
    code, _, err = run_verb(
        "words", "cca", text, "--dimensions", "3", *given, "--seed", "4", "-q", "-o", path
    )
    assert (code, err) == (0, "")
    wanted = learn_cca(sentences, CCAOptions(3, 1, 20, "two-step", False), seed=4)
    assert np.array_equal(read_vectors(path).matrix, wanted.matrix)
    code, out, _ = run_verb("words", "cca", text, "--dimensions", "5", "-q")
    assert (code, out) == (0, vectors.read_text("utf-8"))


@pytest.mark.slow
def test_assign_adds_new_words(clusters, sentences, tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("The wug saw the dog .\nThe old wug slept .\nblick\n", "utf-8")
    code, out, err = run_verb("words", "assign", clusters, path)
    assert code == 0
    assert "1 new word in 8 clusters" in err
    known = learn_brown(sentences, BrownOptions(8))
    new = [line.split() for line in path.read_text("utf-8").splitlines()]
    rows = {word: path for path, word, _ in (line.split("\t") for line in out.splitlines())}
    assert rows["wug"] == assign_words(known, new).path_of("wug")
    assert "blick" not in rows


def test_show_clusters(clusters):
    code, out, _ = run_verb("words", "show", clusters)
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert [path for path, _, _ in rows] == sorted(read_clusters(clusters).paths)
    code, out, _ = run_verb("words", "show", clusters, "Dog", "-n", "2")
    word, path, members = out.rstrip("\n").split("\t")
    assert (code, word) == (0, "Dog")
    assert path == read_clusters(clusters).path_of("dog")
    assert len(members.split(" ")) == 2


@pytest.mark.slow
def test_show_vectors(vectors, tmp_path, text):
    code, out, _ = run_verb("words", "show", vectors)
    assert (code, out.split(",")[1]) == (0, " 5 numbers each\n")
    code, out, _ = run_verb("words", "show", vectors, "dog", "-n", "3")
    found = [
        f"dog\t{each.word}\t{each.cosine:.4f}" for each in read_vectors(vectors).nearest("dog", 3)
    ]
    assert (code, out.splitlines()) == (0, found)
    path = tmp_path / "vectors.npz"
    run_verb("words", "cca", text, "--dimensions", "5", "-q", "-o", path)
    assert run_verb("words", "show", path, "dog", "-n", "3")[1] == out


def test_words_that_are_not_there_are_reported(clusters, vectors):
    for path in (clusters, vectors):
        code, out, err = run_verb("words", "show", path, "blick", "dog")
        assert code == 2
        assert out.startswith("dog\t")
        assert err == f"eigentree: {path}: no word 'blick'\n"


def test_sentences_that_can_not_be_read_leave_the_rest(text, tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"bad \xff byte\n" + text.read_bytes())
    code, out, err = run_verb("words", "brown", path, "--clusters", "8", "-q")
    assert code == 2
    assert f"{path}:1:5: byte 0xff is not UTF-8" in err
    assert out == run_verb("words", "brown", text, "--clusters", "8", "-q")[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            ["brown", "TEXT", "--clusters", "1"],
            "--clusters must be a whole number, 2 or more (got 1)",
        ),
        (["brown", "TEXT", "-o", "TEXT"], "is an input file, so it can't be written"),
        (["brown", "TEXT", "-o", "nowhere/c.tsv"], "nowhere/c.tsv: can't be written"),
        (["brown", "nowhere.txt"], "nowhere.txt: can't be read"),
        (["cca", "TEXT", "--dimensions", "9999"], "dimensions is 9999; this text allows"),
        (["assign", "TEXT", "TEXT"], "columns; expected path, word and count"),
        (["show", "TEXT"], "isn't a number"),
        (["show", "nowhere.txt"], "nowhere.txt: can't be read"),
    ],
)
def test_what_can_not_be_used_is_reported(given, why, text):
    code, out, err = run_verb(
        "words",
        *(text if each == "TEXT" else each for each in given),
    )
    assert (code, out) == (2, "")
    assert why in err
