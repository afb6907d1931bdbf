"""Word vectors: looking up, files in and out, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import (
    EigentreeError,
    GrammarError,
    ModelFileError,
    ShapeError,
    TreebankFormatError,
)
from eigentree.words.vectors import (
    WordVectors,
    mean_of_rarest,
    parse_vectors,
    read_vectors,
    write_vectors,
)
from tests.helpers import close


def row(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)


def small() -> WordVectors:
    matrix = np.stack([row(1, 0), row(0, 2), row(3, 3), row(0, 0)])
    return WordVectors(("the", "May", "may", "nil"), matrix, row(-1, 5))


def same(one: WordVectors, other: WordVectors) -> bool:
    arrays = np.array_equal(one.matrix, other.matrix) and np.array_equal(one.unknown, other.unknown)
    return one.words == other.words and arrays


# Looking up ---------------------------------------------------------------------------------


def test_lookup_prefers_the_word_then_lower_case_then_unknown():
    found = small().lookup(["May", "MAY", "The", "fish"])
    assert found.tolist() == [[0, 2], [3, 3], [1, 0], [-1, 5]]
    assert small().lookup([]).shape == (0, 2)
    with pytest.raises(TypeError, match="not one string"):
        small().lookup("the")


def test_nearest_words_by_cosine():
    found = small().nearest("The", 3)
    assert [each.word for each in found] == ["may", "May", "nil"]
    assert close([each.cosine for each in found], [np.sqrt(0.5), 0, 0], rtol=1e-6)
    assert [each.word for each in small().nearest("fish", 1)] == ["May"]
    assert len(small().nearest("the", 99)) == 3
    assert all(each.cosine == 0 for each in small().nearest("nil"))


def test_unknown_words_are_like_the_rarest():
    matrix = np.stack([row(1, 1), row(2, 4), row(4, 8)])
    assert mean_of_rarest(matrix, np.array([5, 1, 1])).tolist() == [3, 6]


# Files --------------------------------------------------------------------------------------

words_strategy = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" "), min_size=1)
    .filter(lambda word: word not in ("<unk>", "*UNKNOWN*"))
    .filter(lambda word: not word.startswith("\ufeff")),
    min_size=1,
    max_size=5,
    unique=True,
)


@given(words_strategy, st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_text_and_arrays_give_back_what_was_written(tmp_path_factory, words, seed, dimensions):
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((len(words) + 1, dimensions)) * 10.0 ** rng.integers(-30, 30)
    matrix = numbers.astype(np.float32)
    vectors = WordVectors(tuple(words), matrix[1:], matrix[0])
    for name in ("vectors.txt", "vectors.npz"):
        path = tmp_path_factory.getbasetemp() / name
        write_vectors(vectors, path)
        assert same(read_vectors(path), vectors)


def test_text_with_and_without_a_first_line():
    rows = ["the 1 2", "May\t0.5  -1e-3 ", "", "7 1 0"]
    found = parse_vectors(rows)
    assert found.words == ("the", "May", "7")
    assert close(found.matrix, [[1, 2], [0.5, -0.001], [1, 0]], rtol=1e-6)
    assert close(found.unknown, found.matrix.mean(axis=0), rtol=1e-6)
    assert same(parse_vectors(["3 2\n", *rows]), found)


def test_a_first_line_of_two_numbers_is_distinguished_from_a_word():
    assert parse_vectors(["2 1", "a 0.5", "b 1"]).words == ("a", "b")
    assert parse_vectors(["7 0.5", "8 1"]).words == ("7", "8")


@pytest.mark.parametrize("name", ["<unk>", "*UNKNOWN*"])
def test_a_row_for_unknown_words(name):
    found = parse_vectors(["a 1 2", f"{name} 3 4", "b 5 6"])
    assert found.words == ("a", "b")
    assert found.unknown.tolist() == [3, 4]
    assert found.matrix.tolist() == [[1, 2], [5, 6]]


def test_blanks_of_other_kinds_stay_in_words():
    assert parse_vectors(["a\u00a0b 1", "c\u2028d 2"]).words == ("a\u00a0b", "c\u2028d")


def test_compressed_text_is_read(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"a 1 2\n"))
    assert read_vectors(path).words == ("a",)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["a 1 2", "b 1"], "<input>:2: has 1 numbers after its word, where the first vector has 2"),
        (["a 1 2", "", "b 1 2 3"], "<input>:3: has 3 numbers"),
        (["a 1", "b nan"], "<input>:2: the vector of 'b' holds 'nan'"),
        (["a 1 -inf"], "<input>:1: the vector of 'a' holds '-inf'"),
        (["a 1e99"], "<input>:1: the vector of 'a' holds '1e99'"),
        (["a 1 x"], "<input>:1: 'x' in the vector of 'a' isn't a number"),
        (["a 1", "b 2", "a 3"], "<input>:3: 'a' has a vector in line 1 already"),
        (["a"], "<input>:1: 'a' has no numbers"),
        ([], "<input>: has no word"),
        (["<unk> 1"], "<input>: has no word"),
        (["9" * 5000 + " 2", "a 1 2"], "<input>:2: has 2 numbers after its word"),
        (["3 2", "a 1 2"], "<input>: has 1 words; the first line specifies 3"),
        (["1 3", "a 1 2"], "<input>:2: has 2 numbers after its word; the first line"),
    ],
)
def test_text_that_is_refused(lines, why):
    with pytest.raises(TreebankFormatError) as caught:
        parse_vectors(lines)
    assert why in str(caught.value)


def test_words_with_spaces_and_rows_without_a_word():
    rows = [". . . 1 2", "the 3 4", "a@b.org c 5 6", "  7 8", "\t9 10", "3 000 1 2", "\u00a0 1 1"]
    with pytest.raises(TreebankFormatError, match="6: has 3 numbers after its word"):
        parse_vectors(rows)  # which may be another number as well
    del rows[5]
    for header in ([], ["6 2"]):
        found = parse_vectors([*header, *rows])
        assert found.words == (".\u00a0.\u00a0.", "the", "a@b.org\u00a0c", "\u00a0")
        assert found.matrix.tolist() == [[1, 2], [3, 4], [5, 6], [1, 1]]


@pytest.mark.parametrize(
    "content",
    [
        b"2 2\nthe " + np.ones(2, np.float32).tobytes() + b"a " + np.ones(2, np.float32).tobytes(),
        b"1 3\nthe " + np.full(3, 0.1, np.float32).tobytes(),
        b"\xba\x16\x4f\x2f\x0c\0\0\0\x64",
    ],
)
def test_binary_files_of_other_programs_are_named(tmp_path, content):
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(ModelFileError, match="is a binary file of word2vec or fastText"):
        read_vectors(tmp_path / "vectors")


def test_arrays_that_are_refused(tmp_path):
    path = tmp_path / "vectors.npz"
    np.savez(path, a=np.zeros(3))
    with pytest.raises(ModelFileError, match="has a; expected words, matrix, unknown"):
        read_vectors(path)
    text = np.frombuffer(b"a\nb", dtype=np.uint8)
    for parts, why in (
        ({"words": np.array(["a", "b"])}, "aren't UTF-8 text"),
        ({"words": np.array([255], dtype=np.uint8)}, "can't decode byte 0xff"),
        ({"matrix": np.zeros((3, 2), np.float32)}, "axis 0 of matrix is V"),
        ({"matrix": np.full((2, 2), np.nan, np.float32)}, "'a' has a number that isn't finite"),
        ({"matrix": np.zeros((2, 2))}, "holds float64"),
        ({"matrix": np.array([object()])}, "isn't a file of word vectors"),
    ):
        right = {"words": text, "matrix": np.zeros((2, 2), np.float32), "unknown": row(0, 0)}
        np.savez(path, **{**right, **parts})
        with pytest.raises(ModelFileError, match=why):
            read_vectors(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelFileError, match="isn't a file of word vectors"):
        read_vectors(path)


def test_damaged_compressed_arrays_are_refused(tmp_path, rng):
    path = tmp_path / "vectors.npz"
    matrix = rng.random((2, 40)).astype(np.float32)
    words = np.frombuffer(b"a\nb", dtype=np.uint8)
    np.savez_compressed(path, words=words, matrix=matrix, unknown=matrix[0])
    content = path.read_bytes()
    damaged = [content[:place] + b"\xff" + content[place + 1 :] for place in range(4, len(content))]
    # Sizes of members that no file has.
    damaged += [content[:at] + b"\xff" * 4 + content[at + 4 :] for at in range(4, len(content) - 4)]
    n_refused = 0
    for each in damaged:
        path.write_bytes(each)
        try:
            read_vectors(path)
        except ModelFileError:
            n_refused += 1
    assert n_refused > len(damaged) / 2


def test_words_that_text_can_not_hold(tmp_path):
    vectors = WordVectors(("a b",), np.ones((1, 1), np.float32), row(0))
    with pytest.raises(EigentreeError, match="can't be written"):
        write_vectors(vectors, tmp_path / "vectors.txt")
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "error", "why"),
    [
        ({"words": ("a", "a")}, GrammarError, "duplicate word"),
        ({"words": ("a", "<unk>")}, GrammarError, "<unk> is reserved"),
        ({"words": ("a",)}, ShapeError, "axis 0 of matrix"),
        ({"unknown": row(1)}, ShapeError, "axis 0 of unknown"),
        ({"unknown": row(1, np.nan)}, GrammarError, "'<unk>' has"),
        ({"matrix": np.ones((2, 2))}, ShapeError, "holds float64"),
        ({"words": (), "matrix": np.ones((0, 2), np.float32)}, GrammarError, "0 words"),
    ],
)
def test_vectors_that_are_none(changed, error, why):
    right = {"words": ("a", "b"), "matrix": np.ones((2, 2), np.float32), "unknown": row(0, 0)}
    WordVectors(**right)
    with pytest.raises(error, match=why):
        WordVectors(**{**right, **changed})
