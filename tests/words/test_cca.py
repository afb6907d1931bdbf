"""Word vectors by canonical correlation analysis: against dense matrices, and what they tell."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.words.cca import CCAOptions, learn_cca
from eigentree.words.vectors import WordVectors
from tests.helpers import close

EDGE = "edge"
OTHER = "other"


def sample(rng: np.random.Generator, n_sentences: int, n_words: int) -> list[list[str]]:
    """Sentences of three classes of words that follow each other in a ring, mostly."""
    sentences = []
    for _ in range(n_sentences):
        state, words = int(rng.integers(3)), []
        for _ in range(int(rng.integers(1, 9))):
            words.append(f"{'abc'[state]}{min(int(rng.geometric(0.3)), n_words)}")
            state = (state + 1 if rng.random() < 0.9 else int(rng.integers(3))) % 3
        sentences.append(words)
    return sentences


# Dense matrices, by loops over tokens -------------------------------------------------------


def one_hot(rows: list[list[str]]) -> np.ndarray:
    """A column for each value of each place in the rows, in order of first occurrence."""
    places: list[dict[str, int]] = [{} for _ in rows[0]]
    for row in rows:
        for place, value in zip(places, row, strict=True):
            place.setdefault(value, len(place))
    parts = [
        np.eye(len(place))[[place[row[at]] for row in rows]] for at, place in enumerate(places)
    ]
    return np.hstack(parts)


def views(
    sentences: list[list[str]], kept: tuple[str, ...], window: int
) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """The words of all tokens, and the matrices W, L and R."""
    tokens, before, after = [], [], []
    for sentence in sentences:
        own = [word if word in kept else OTHER for word in sentence]
        padded = [EDGE] * window + own + [EDGE] * window
        for at in range(len(own)):
            here = at + window
            tokens.append(own[at])
            before.append(padded[here - window : here])
            after.append(padded[here + 1 : here + window + 1])
    return tokens, one_hot([[token] for token in tokens]), one_hot(before), one_hot(after)


def inverse_root(moment: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(moment)
    scale = np.where(values > 1e-9 * values[-1], 1 / np.sqrt(np.maximum(values, 1e-300)), 0.0)
    return (vectors * scale) @ vectors.T


def canonical(
    x: np.ndarray, y: np.ndarray, rank: int, *, diagonal: bool, root: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Directions of both views; with `root` of indicators whose counts are square-rooted."""
    xx, yy, xy = x.T @ x, y.T @ y, x.T @ y
    if diagonal:
        xx, yy = np.diag(np.diag(xx)), np.diag(np.diag(yy))
    if root:
        xx, yy, xy = np.sqrt(xx), np.sqrt(yy), np.sqrt(xy)
    left, right = inverse_root(xx), inverse_root(yy)
    u, values, vt = np.linalg.svd(left @ xy @ right)
    assert values[rank - 1] - values[rank] > 1e-3  # without a gap there is nothing to compare
    return left @ u[:, :rank], right @ vt[:rank].T


def check(found: WordVectors, tokens: list[str], w: np.ndarray, expected: np.ndarray) -> None:
    """Inner products of words, whatever the signs; the scale of `expected` is left open."""
    column = {token: int(np.argmax(w[at])) for at, token in enumerate(tokens)}
    own = found.lookup(list(column)).astype(float)
    reference = expected[list(column.values())]
    gram, wanted = own @ own.T, reference @ reference.T
    assert close(gram, wanted * (gram[0, 0] / wanted[0, 0]), rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("vocabulary", [9, 100])
def test_one_step_is_that_of_dense_matrices(rng, window, vocabulary, root):
    text = sample(rng, 300, 6)
    options = CCAOptions(3, window, vocabulary, square_root=root)
    found = learn_cca(text, options)
    tokens, w, before, after = views(text, found.words, window)
    assert (OTHER in tokens) is (vocabulary == 9)
    expected, _ = canonical(w, np.hstack([before, after]), 3, diagonal=True, root=root)
    check(found, tokens, w, expected)


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("window", [1, 2])
def test_two_steps_are_those_of_dense_matrices(rng, window, root):
    text = sample(rng, 300, 6)
    found = learn_cca(text, CCAOptions(2, window, 9, "two-step", square_root=root))
    tokens, w, before, after = views(text, found.words, window)
    # With one word on a side the diagonal is all there is: the first step is exact then.
    a, b = canonical(before, after, 2, diagonal=window > 1 or root, root=root)
    expected, _ = canonical(w, np.hstack([before @ a, after @ b]), 2, diagonal=False)
    check(found, tokens, w, expected)


@pytest.mark.parametrize("method", ["one-step", "two-step"])
def test_coordinates_are_uncorrelated_over_tokens(rng, method):
    text = sample(rng, 300, 6)
    found = learn_cca(text, CCAOptions(3, 2, 9, method, square_root=False))
    rows = found.lookup([word for sentence in text for word in sentence]).astype(float)
    assert close(rows.T @ rows / len(rows), np.eye(3), rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("method", ["one-step", "two-step"])
def test_words_used_alike_are_near_each_other(rng, method, root):
    found = learn_cca(sample(rng, 2000, 8), CCAOptions(3, 1, method=method, square_root=root))
    for name in "abc":
        nearest = found.nearest(f"{name}1", 3)
        assert {each.word[0] for each in nearest} == {name}
        assert nearest[0].cosine > 0.9


def test_large_texts_take_the_randomised_decomposition(rng):
    text = [
        [f"{'ab'[at % 2]}{rng.integers(150)}" for at in range(rng.integers(4, 12))]
        for _ in range(400)
    ]
    found = learn_cca(text, CCAOptions(4, 2), seed=1)
    again = learn_cca(text, CCAOptions(4, 2), seed=1)
    assert np.array_equal(found.matrix, again.matrix)
    other = learn_cca(text, CCAOptions(2, 2), seed=2)
    # The first two directions, frequency and class, stand out, so no seed matters.
    assert close(found.matrix[:, :2], other.matrix, rtol=0.0, atol=0.02)


def test_words_are_in_the_order_of_their_frequency(rng):
    text = sample(rng, 100, 6)
    found = learn_cca(text, CCAOptions(2, 1, 5))
    count = {word: sum(each.count(word) for each in text) for word in found.words}
    assert len(found.words) == 5
    assert list(count.values()) == sorted(count.values(), reverse=True)


def test_unknown_words_have_the_vector_of_words_left_out(rng):
    text = sample(rng, 100, 6)
    kept = learn_cca(text, CCAOptions(2, 1, 9))
    marked = [[word if word in kept.words else "<unk>" for word in each] for each in text]
    renamed = learn_cca(marked, CCAOptions(2, 1))
    assert renamed.words == kept.words
    assert close(renamed.unknown, kept.unknown, rtol=1e-6)
    assert close(renamed.matrix, kept.matrix, rtol=1e-5, atol=1e-6)


def test_progress_is_reported(rng):
    told: list[tuple[str, float]] = []
    learn_cca(sample(rng, 50, 4), CCAOptions(2, 1), progress=lambda *each: told.append(each))
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"dimensions": 0}, "dimensions is 0"),
        ({"window": 0}, "window is 0"),
        ({"vocabulary": 0}, "vocabulary is 0"),
        ({"method": "three-step"}, "one-step or two-step"),
    ],
)
def test_settings_without_meaning(settings, why):
    with pytest.raises(SettingsError, match=why):
        CCAOptions(**settings)


def test_texts_that_give_no_vectors():
    with pytest.raises(SettingsError, match=r"dimensions is 50; .* at most 3"):
        learn_cca([["a", "b", "a", "c"]])
    with pytest.raises(TreebankFormatError, match="no word"):
        learn_cca([])
