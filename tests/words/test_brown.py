"""Brown clustering: against its definition, the laws of merging, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentree.errors import GrammarError, SettingsError, ShapeError, TreebankFormatError
from eigentree.words import _kernels_brown as kernels
from eigentree.words.arrays import Bigrams, Window
from eigentree.words.brown import (
    STAGE,
    BrownClusters,
    BrownOptions,
    assign_words,
    learn_brown,
)
from eigentree.words.vocabulary import count_bigrams, number_words
from tests.helpers import close
from tests.oracles import brown as oracle

ROOT = Path(__file__).resolve().parents[2]


def random_text(rng: np.random.Generator, n_sentences: int, n_words: int) -> list[list[str]]:
    """Sentences of words of two classes that like to alternate, most of them rare."""
    sentences = []
    for _ in range(n_sentences):
        length = int(rng.integers(1, 9))
        numbers = np.minimum(rng.zipf(1.6, length), n_words // 2) * 2
        numbers += (np.arange(length) + int(rng.integers(2))) % 2
        sentences.append([f"w{number}" for number in numbers])
    return sentences


def paths_of(clusters: BrownClusters) -> dict[str, str]:
    return {word: str(clusters.path_of(word)) for word in clusters.words}


@pytest.mark.parametrize(("seed", "n_clusters"), [(0, 2), (1, 3), (2, 4), (3, 6), (4, 6)])
def test_paths_are_those_of_the_definition(seed, n_clusters):
    text = random_text(np.random.default_rng(seed), 40, 20)
    found = learn_brown(text, BrownOptions(n_clusters))
    assert paths_of(found) == oracle.brown(text, n_clusters)


@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=6), min_size=1, max_size=8),
    st.integers(2, 5),
)
@settings(max_examples=30, deadline=None)
def test_any_text_with_many_ties(text, n_clusters):
    n_words = len({word for sentence in text for word in sentence})
    if n_words < 2:
        with pytest.raises(SettingsError):
            learn_brown(text, BrownOptions(n_clusters))
        return
    expected = oracle.brown(text, min(n_clusters, n_words))
    assert paths_of(learn_brown(text, BrownOptions(n_clusters))) == expected


def test_rare_words_without_a_cluster_still_count_in_marginals(rng):
    text = random_text(rng, 60, 24)
    found = learn_brown(text, BrownOptions(4, min_count=3))
    assert paths_of(found) == oracle.brown(text, 4, min_count=3)
    assert min(found.count) >= 3


def test_tables_after_many_steps_are_those_of_a_fresh_window(rng):
    # Sums are of integers, so nothing may be left behind by what has been merged away.
    text = number_words(random_text(rng, 300, 60))
    size, n_clusters = len(text.words), 12
    bigrams = Bigrams.of(count_bigrams(text.tokens, text.starts, size))
    window = Window.empty(n_clusters + 1, bigrams.n_bigrams)
    parent, slot = np.arange(size), np.full(size, -1)
    kernels.cluster_words(window, 0, size, bigrams, parent, slot)
    slots = np.flatnonzero(window.rank >= 0)
    number = np.array([slot[kernels.find(parent, word)] for word in range(size)])
    merged = Bigrams.of(
        count_bigrams(number[text.tokens].astype(np.int32), text.starts, n_clusters + 1)
    )
    fresh = Window.empty(n_clusters + 1, bigrams.n_bigrams)
    seats = np.full(n_clusters + 1, -1)
    for a in slots:
        kernels.fill(fresh, a, a, merged, np.arange(n_clusters + 1), seats)
        seats[a] = a
        kernels.link(fresh, a)
        kernels.fill_cells(fresh, a)
    off = ~np.eye(n_clusters + 1, dtype=bool)
    assert np.array_equal(window.counts, fresh.counts)
    assert np.array_equal(window.seen, fresh.seen)
    assert np.array_equal(window.full, fresh.full)
    assert np.array_equal(window.cells[off], fresh.cells[off])


def test_losses_are_differences_of_mutual_information(rng):
    text = random_text(rng, 80, 20)
    bigrams = oracle.bigrams_of(text)
    numbered = number_words(text)
    n = len(numbered.words)
    table = Bigrams.of(count_bigrams(numbered.tokens, numbered.starts, n))
    window = Window.empty(n, table.n_bigrams)
    parent, slot = np.arange(n), np.full(n, -1)
    kernels.cluster_words(window, 0, n - 1, table, parent, slot)
    kernels.prepare(window)
    singles = [frozenset([word]) for word in numbered.words[: n - 1]]
    whole = oracle.information(singles, bigrams)
    for b in range(n - 1):
        for a in range(b):
            after = oracle.information(oracle.merged(singles, a, b), bigrams)
            found = kernels.loss(window, a, b) / table.n_bigrams
            assert close(found, whole - after, rtol=0.0, atol=1e-12)


def test_classes_that_made_a_text_are_found(rng):
    # Nouns and verbs alternate, whichever they are.
    text = [
        [f"{'nv'[at % 2]}{rng.integers(20)}" for at in range(rng.integers(4, 12))]
        for _ in range(400)
    ]
    found = learn_brown(text, BrownOptions(2))
    assert {frozenset(word[0] for word in found.members(number)) for number in range(2)} == {
        frozenset("n"),
        frozenset("v"),
    }


def test_order_of_sentences_matters_only_for_ties():
    text = [["a", "b"], ["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"], ["e"]]
    found = learn_brown(text, BrownOptions(3))
    assert found.words == ("a", "b", "c", "d", "e")
    assert learn_brown(text, BrownOptions(3)).words == found.words
    assert learn_brown([["d", "c"], ["a", "b"]], BrownOptions(2)).words == ("d", "c", "a", "b")


def test_cluster_0_holds_the_most_frequent_word_and_zeros_lead_to_it(rng):
    found = learn_brown(random_text(rng, 60, 24), BrownOptions(6))
    assert found.cluster[0] == 0
    assert set(found.paths[0]) == {"0"}
    assert found.members(0)[0] == found.words[0]
    firsts = [found.words.index(found.members(number)[0]) for number in range(6)]
    assert firsts == sorted(firsts)


def test_progress_ends_with_all_words(rng):
    told: list[tuple[str, float]] = []
    learn_brown(random_text(rng, 60, 24), BrownOptions(4), progress=lambda *each: told.append(each))
    assert told[-1] == (STAGE, 1.0)


# Use ----------------------------------------------------------------------------------------


def small() -> BrownClusters:
    return BrownClusters(
        ("the", "dog", "May", "may", "cat"),
        np.array([0, 1, 2, 3, 1], dtype=np.int32),
        np.array([9, 5, 3, 2, 1]),
        ("00", "01", "10", "110", "111")[:4],
    )


def test_lookup_falls_back_to_lower_case():
    found = small()
    assert found.cluster_of("May") == 2
    assert found.cluster_of("MAY") == 3
    assert found.path_of("Dog") == "01"
    assert found.cluster_of("fish") is found.path_of("fish") is None
    assert found.members(1) == ["dog", "cat"]


def test_features_are_bits_and_a_one():
    found = small()
    expected = [
        [0, 0, 1, 0, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [1, 0, 0, 0, 1, 0],
        [1, 1, 0, 0, 0, 1],
    ]
    assert found.features().tolist() == expected
    vectors = found.vectors()
    assert vectors.lookup(["Cat"]).tolist() == [expected[1]]
    # Of the rarest word, which is the cat.
    assert vectors.lookup(["fish"]).tolist() == [expected[1]]


def test_a_short_path_is_filled_with_zeros():
    found = BrownClusters(
        ("a", "b", "c"), np.arange(3, dtype=np.int32), np.ones(3, np.int64), ("1", "00", "01")
    )
    assert found.features()[:, :2].tolist() == [[1, 0], [0, 0], [0, 1]]


def test_new_words_go_where_least_is_lost(rng):
    text = random_text(rng, 80, 16)
    found = learn_brown(text, BrownOptions(4))
    new = [[f"new{word[1:]}" if rng.random() < 0.2 else word for word in each] for each in text]
    grown = assign_words(found, new)
    assert grown.words[: len(found.words)] == found.words
    assert np.array_equal(grown.cluster[: len(found.words)], found.cluster)
    bigrams = oracle.bigrams_of(new)
    classes = [frozenset(found.members(number)) for number in range(4)]
    names = grown.words[len(found.words) :]
    assert names
    for word in names:
        losses = [
            -oracle.information(
                [each | {word} if at == number else each for at, each in enumerate(classes)],
                bigrams,
            )
            for number in range(4)
        ]
        chosen = grown.cluster_of(word)
        assert losses[chosen] <= min(losses) + 1e-9


def test_a_new_word_used_like_a_known_one_joins_it(rng):
    text = [
        [f"{'nvxy'[at % 4]}{rng.integers(6)}" for at in range(rng.integers(6, 12))]
        for _ in range(300)
    ]
    found = learn_brown(text, BrownOptions(4))
    new = [["v0", "blip", "y3"], ["v1", "blip", "y1"], ["v4", "blip", "y5"]] * 3
    grown = assign_words(found, [*text, *new])
    assert grown.cluster_of("blip") == found.cluster_of("x0")
    assert grown.count[-1] == 9
    assert assign_words(found, [*text, *new], min_count=10) is found
    assert assign_words(found, text) is found


def test_new_words_without_known_neighbours_stay_unknown():
    text = [["fish"], ["the", "dog"], ["a", "b"], ["the", "elk"]]
    assert assign_words(small(), text).words[5:] == ("elk",)


def test_kernels_give_the_same_as_plain_python():
    script = (
        "import json, numba\n"
        "assert numba.config.DISABLE_JIT\n"
        "from tests.words.test_brown import example\n"
        "print(json.dumps(example()))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == example()


def example() -> dict[str, str]:
    text = random_text(np.random.default_rng(3), 60, 24)
    found = learn_brown(text, BrownOptions(5, min_count=2))
    return paths_of(assign_words(found, text))


# What is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"clusters": 1}, "clusters is 1"), ({"min_count": 0}, "min_count is 0")],
)
def test_settings_without_meaning(settings, why):
    with pytest.raises(SettingsError, match=why):
        BrownOptions(**settings)


def test_a_text_of_few_words_has_as_many_clusters():
    few = learn_brown([["a", "b", "a", "c"]], BrownOptions(100))
    assert sorted(few.cluster.tolist()) == [0, 1, 2]
    assert few.paths == learn_brown([["a", "b", "a", "c"]], BrownOptions(3)).paths


def test_texts_that_give_no_clusters():
    with pytest.raises(SettingsError, match="has 1 different word; clusters need"):
        learn_brown([["a", "a"]], BrownOptions(3))
    with pytest.raises(SettingsError, match="1 different word seen 2 times"):
        learn_brown([["a", "b", "a"]], BrownOptions(2, min_count=2))
    with pytest.raises(TreebankFormatError, match="no word"):
        learn_brown([[]], BrownOptions(2))
    with pytest.raises(TypeError, match="a list of words"):
        learn_brown(["a b"], BrownOptions(2))


@pytest.mark.parametrize(
    ("changed", "error", "why"),
    [
        ({"words": ("a", "b", "a")}, GrammarError, "duplicate word"),
        ({"words": ("a", "b")}, ShapeError, "axis 0 of cluster"),
        ({"cluster": np.zeros(3, np.int32)}, GrammarError, "exactly 0 to 2"),
        ({"cluster": np.zeros(3)}, ShapeError, "holds float64"),
        ({"count": np.array([1, 1, -1])}, GrammarError, "negative count"),
        ({"paths": ("0", "01", "1")}, GrammarError, "is a prefix of '01'"),
        ({"paths": ("0", "10", "10")}, GrammarError, "is a prefix of '10'"),
        ({"paths": ("0", "10", "2")}, GrammarError, "bits 0 and 1"),
    ],
)
def test_clusters_that_are_none(changed, error, why):
    right = {
        "words": ("a", "b", "c"),
        "cluster": np.arange(3, dtype=np.int32),
        "count": np.ones(3, dtype=np.int64),
        "paths": ("0", "10", "11"),
    }
    BrownClusters(**right)
    with pytest.raises(error, match=why):
        BrownClusters(**{**right, **changed})
