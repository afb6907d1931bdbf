"""The log-linear model of arcs' labels, and the features that it sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentree.dependency.arc_labels import ArcLabels, arc_features
from eigentree.errors import GrammarError, ShapeError

SENTENCE = (["The", "dog", "barked", "."], ["DET", "NOUN", "VERB", "PUNCT"], [2, 3, 0, 3])
OTHER = (["Cats", "sleep"], ["NOUN", "VERB"], [2, 0])


def model(**changes: object) -> ArcLabels:
    keys = arc_features([SENTENCE])
    made = ArcLabels(
        labels=("det", "nsubj", "root"),
        allowed=np.array([[True, True, False], [False, False, True]]),
        bias=np.array([0.5, 0.0, 9.0], dtype=np.float32),
        feature=np.sort(np.array([keys[1, 0], keys[1, 5]])),
        start=np.array([0, 1, 3]),
        label=np.array([1, 0, 1], dtype=np.int32),
        weight=np.array([2.0, -1.0, 4.0], dtype=np.float32),
    )
    return replace(made, **changes)


def test_scores_are_sums_of_weights():
    found = model().scores(*SENTENCE)
    infinite = -np.inf
    assert found.tolist() == [
        [0.5, 0.0, infinite],
        [0.5 - 1.0, 2.0 + 4.0, infinite],
        [infinite, infinite, 9.0],
        [0.5, 0.0, infinite],
    ]
    assert model().predict(*SENTENCE) == ["det", "nsubj", "root", "det"]


def test_the_label_of_roots_stands_nowhere_else():
    heads = [0, 0, 2, 0]
    assert [label == "root" for label in model().predict(*SENTENCE[:2], heads)] == [
        head == 0 for head in heads
    ]


def test_features_are_the_same_alone_and_among_others():
    together = arc_features([OTHER, SENTENCE, OTHER, SENTENCE])
    one, other = arc_features([SENTENCE]), arc_features([OTHER])
    assert np.array_equal(together, np.concatenate([other, one, other, one]))
    assert arc_features([([], [], [])]).shape == (0, one.shape[1])
    assert model().predict([], [], []) == []


def test_features_never_change():
    # Files hold hashes: with other ones all models would have to be trained again.
    first = [8782753929015949466, 13415676284640108532]
    assert arc_features([SENTENCE])[1, :2].tolist() == first


@pytest.mark.parametrize(
    ("words", "tags", "heads"),
    [
        (["The", "cat", "barked", "."], SENTENCE[1], SENTENCE[2]),
        (SENTENCE[0], ["DET", "PROPN", "VERB", "PUNCT"], SENTENCE[2]),
        (SENTENCE[0], SENTENCE[1], [3, 3, 0, 3]),
    ],
)
def test_what_describes_an_arc_counts(words, tags, heads):
    before, after = arc_features([SENTENCE]), arc_features([(words, tags, heads)])
    assert np.any(before[0] != after[0])
    assert np.any(before[1] != after[1])


def test_features_of_different_kinds_differ():
    keys = arc_features([SENTENCE])
    for arc in keys:
        assert len(set(arc.tolist())) == keys.shape[1]


def test_case_of_words_does_not_count():
    upper = ([word.upper() for word in SENTENCE[0]], *SENTENCE[1:])
    assert np.array_equal(arc_features([SENTENCE]), arc_features([upper]))


def test_impossible_sentences_are_refused():
    for words, tags, heads in [
        (["a"], [], [0]),
        (["a"], ["X"], []),
        (["a"], ["X"], [2]),
        (["a"], ["X"], [-1]),
    ]:
        with pytest.raises(GrammarError, match="sentence 2 must have one tag and one head"):
            arc_features([SENTENCE, (words, tags, heads)])


def test_arrays_give_the_model_back():
    made = model()
    again = ArcLabels.from_arrays(made.labels, made.to_arrays())
    assert np.array_equal(again.scores(*SENTENCE), made.scores(*SENTENCE))
    with pytest.raises(KeyError):
        ArcLabels.from_arrays(made.labels, {})


def test_impossible_models_are_refused():
    made = model()
    for changes, problem in [
        ({"labels": ("det", "det", "root")}, "must be distinct"),
        ({"allowed": np.zeros((2, 3), dtype=bool)}, "must include one"),
        ({"feature": made.feature[::-1].copy()}, "must increase"),
        ({"start": np.array([0, 1, 2])}, "ends with 2, not 3"),
        ({"label": np.array([1, 0, 3], dtype=np.int32)}, "none of the 3 arc labels"),
        ({"weight": np.array([1, np.nan, 3], dtype=np.float32)}, "not finite"),
        ({"bias": np.array([np.inf, 1, 3], dtype=np.float32)}, "not finite"),
    ]:
        with pytest.raises(GrammarError, match=problem):
            replace(made, **changes)
    for changes in (
        {"start": np.array([0, 3])},
        {"start": np.array([0, 2, 1])},
        {"weight": made.weight.astype(np.float64)},
        {"bias": made.bias[:2]},
    ):
        with pytest.raises(ShapeError):
            replace(made, **changes)
