"""Learning labels of arcs from trees that follow rules."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.dependency.arc_labels import ArcLabels
from eigentree.dependency.learn.arc_labels import ArcLabelOptions, train_arc_labels
from eigentree.dependency.learn.lexical_modifiers import HeadedSentence
from eigentree.errors import GrammarError, SettingsError
from eigentree.model_file import open_model, save_model

NOUNS, VERBS = ("dog", "cat", "bird", "man", "fish"), ("sees", "hears", "meets", "helps")


def sentence(rng: np.random.Generator) -> tuple[HeadedSentence, list[str]]:
    """Subject, verb and object, some with articles or a name, some in the passive."""
    first, second = (str(noun) for noun in rng.choice(NOUNS, 2))
    verb = str(rng.choice(VERBS))
    if rng.random() < 0.5:
        words = ["the", first, verb, "a", second]
        tags, heads = ["DET", "NOUN", "VERB", "DET", "NOUN"], [2, 3, 0, 5, 3]
        return HeadedSentence(words, tags, heads), ["det", "nsubj", "root", "det", "obj"]
    words = [first, "is", verb[:-1] + "ed", "by", second]
    tags, heads = ["NOUN", "AUX", "VERB", "ADP", "NOUN"], [3, 3, 0, 5, 3]
    return HeadedSentence(words, tags, heads), ["nsubj:pass", "aux:pass", "root", "case", "obl"]


def trees(seed: int, n: int) -> list[tuple[HeadedSentence, list[str]]]:
    rng = np.random.default_rng(seed)
    return [sentence(rng) for _ in range(n)]


def test_rules_are_learned():
    model = train_arc_labels(trees(0, 100))
    for headed, labels in trees(1, 50):
        assert model.predict(*headed) == labels
    assert model.labels == tuple(sorted(model.labels))
    assert [*np.array(model.labels)[model.allowed[1]]] == ["root"]
    assert not model.allowed[0][model.labels.index("root")]


def test_unknown_words_and_odd_trees_get_labels():
    model = train_arc_labels(trees(0, 100))
    words = ["the", "qat", "zees", "a", "vish"]
    assert model.predict(words, ["DET", "NOUN", "VERB", "DET", "NOUN"], [2, 3, 0, 5, 3]) == [
        "det", "nsubj", "root", "det", "obj"
    ]  # fmt: skip
    labels = model.predict(["x", "y", "z"], ["NEW", "NEW", "NEW"], [0, 0, 2])
    assert [label == "root" for label in labels] == [True, True, False]


def test_one_seed_gives_one_model_and_files_keep_it(tmp_path):
    model, again = (train_arc_labels(trees(0, 40), seed=3) for _ in range(2))
    for name, array in model.to_arrays().items():
        assert np.array_equal(array, again.to_arrays()[name])
    save_model(tmp_path / "model", {"kind": "test"}, model.to_arrays())
    loaded = ArcLabels.from_arrays(model.labels, open_model(tmp_path / "model").arrays)
    for headed, _ in trees(1, 5):
        assert np.array_equal(loaded.scores(*headed), model.scores(*headed))


def test_small_weights_and_rare_features_are_left_out():
    model = train_arc_labels(trees(0, 40), ArcLabelOptions(smallest=0.1))
    assert np.all(np.abs(model.weight) >= 0.1 - 1e-7)
    assert np.all(np.diff(model.start) > 0)
    fewer = train_arc_labels(trees(0, 40), ArcLabelOptions(minimum_count=40, smallest=0.1))
    assert 0 < len(fewer.feature) < len(model.feature)
    fewest = train_arc_labels(trees(0, 40), ArcLabelOptions(minimum_count=1000))
    assert 0 < len(fewest.feature) < len(fewer.feature)
    assert fewest.predict(*trees(1, 1)[0][0])[2] == "root"


def test_two_labels_are_distinguished():
    headed = [HeadedSentence(["a", "b"], ["X", "Y"], [2, 0])] * 5
    model = train_arc_labels([(each, ["_", "ROOT"]) for each in headed])
    assert model.predict(*headed[0]) == ["_", "ROOT"]


def test_labels_need_not_mark_roots():
    headed = [HeadedSentence(["a", "b", "c"], ["X", "Y", "Z"], [2, 0, 2])] * 5
    one = train_arc_labels([(each, ["_", "_", "_"]) for each in headed])
    assert one.predict(*headed[0]) == ["_", "_", "_"]
    shared = train_arc_labels([(each, ["l", "l", "r"]) for each in headed])
    assert shared.predict(*headed[0]) == ["l", "l", "r"]


def test_impossible_training_data_are_refused():
    headed = HeadedSentence(["a", "b"], ["X", "Y"], [2, 0])
    with pytest.raises(GrammarError, match="sentence 1 has 2 words and 1 arc labels"):
        train_arc_labels([(headed, ["root"])])
    only_root = HeadedSentence(["a"], ["X"], [0])
    for kept in ([], [(only_root, ["root"])]):
        with pytest.raises(GrammarError, match="arcs of the root and other arcs"):
            train_arc_labels(kept)


def test_impossible_settings_are_refused():
    for name, value in [
        ("minimum_count", 0),
        ("regularisation", 0.0),
        ("epochs", 0),
        ("smallest", -1.0),
        ("smallest", np.nan),
    ]:
        with pytest.raises(SettingsError, match=name):
            ArcLabelOptions(**{name: value})
