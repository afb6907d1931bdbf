"""Files of predictions: round trips, and rejection of damaged files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.ensemble.combine import Chains, Evidence
from eigentree.constituency.ensemble.model_folder import is_made_from
from eigentree.constituency.ensemble.prediction_cache import (
    KIND,
    load_predictions,
    save_predictions,
)
from eigentree.constituency.ensemble.predictions import Prediction, Predictor
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import ModelFileError
from eigentree.model_file import open_model, save_model
from eigentree.sentence_input import PreparedSentence
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.constituency.ensemble.samples import members, of_family, sampled_trees

FIRST = [
    parse_tree(text)
    for text in (
        "(S (NP (D a) (N a)) (VP (V a)))",
        "(S (S (NP (D a) (N a)) (VP (V a))))",
        "(X (D a) (S (N a) (V a)))",
        "(S (NP (D a) (N a)) (V a))",
    )
]
SECOND = [parse_tree(text) for text in ("(S (NP (N b)))", "(NP (N b))", "(N b)", "(S (N b))")]


def reading_of(trees, choice, chains, n_words, fallback=None) -> Prediction:
    evidence = Evidence(n_words, chains)
    evidence.add_trees(trees, [choice.count(place) / 3 for place in range(len(trees))])
    return Prediction(list(trees), np.array(choice, dtype=np.int64), evidence, fallback)


def by_hand(chains: Chains) -> list[Prediction]:
    return [
        reading_of(FIRST, [1, 0, -1, 2, 3], chains, 3, "tags"),
        reading_of([], [-1] * 5, chains, 2),
        reading_of(SECOND, [0, 1, 2, 3, 0], chains, 1, "threshold"),
        reading_of(FIRST[:2], [0, 0, 1, -1, -1], chains, 3),
    ]


WORDS = [["a", "a", "a"], ["no", "tree"], ["b"], ["a", "a", "a"]]


def of_members() -> tuple[list[Prediction], list[list[str]]]:
    parsers = members()
    trees = sampled_trees()[80:90]
    plain = ConstituencyParser(one_state(parsers[0].grammar.backbone), None, parsers[0].options)
    predictor = Predictor([PreparedSentence(tree.words(), tree.tags()) for tree in trees], plain)
    found = predictor.predict(of_family("one", parsers), Chains())
    return [each["one"] for each in found], [tree.words() for tree in trees]


def contents(evidence: Evidence) -> dict[Any, Any]:
    columns = (*evidence.columns(), evidence.weight, evidence.seen)
    return {
        (start, end, evidence.chains.chains[chain]): (weight, seen)
        for start, end, chain, weight, seen in zip(*(one.tolist() for one in columns), strict=True)
    }


def check_same(found: list[Prediction], kept: list[Prediction], chains: Chains) -> None:
    assert len(found) == len(kept)
    for new, old in zip(found, kept, strict=True):
        assert new.trees == old.trees
        assert new.choice.dtype == old.choice.dtype
        assert new.choice.tolist() == old.choice.tolist()
        assert new.fallback == old.fallback
        assert new.evidence.chains is chains
        assert new.evidence.n_words == old.evidence.n_words
        assert new.evidence.total == old.evidence.total
        assert np.all(np.diff(new.evidence.key) > 0)
        assert contents(new.evidence) == contents(old.evidence)


@pytest.mark.parametrize("first_met", [[], [("VP",), (), ("X", "Y"), ("S", "S"), ("NP",)]])
def test_what_was_kept_comes_back(tmp_path, first_met):
    path = tmp_path / "predictions.egt"
    for kept, words in ((by_hand(Chains()), WORDS), of_members(), ([], [])):
        save_predictions(path, kept, "this")
        chains = Chains()
        for chain in first_met:
            chains.number(chain)
        check_same(load_predictions(path, words, chains), kept, chains)


def test_equal_nodes_come_back_as_one(tmp_path):
    path = tmp_path / "predictions.egt"
    save_predictions(path, by_hand(Chains()), "this")
    one, _, three, four = load_predictions(path, WORDS, Chains())
    assert one.trees[1].children[0] is one.trees[0]
    assert one.trees[3].children[0] is one.trees[0].children[0]
    assert three.trees[0].children[0] is three.trees[1]
    assert three.trees[3].children[0] is three.trees[2]
    # Equal words in a sentence, and equal nodes of different sentences, are distinct.
    assert one.trees[0].children[1].children[0] is one.trees[2].children[1].children[1]
    assert four.trees[0] is not one.trees[0]


def test_a_node_that_stands_in_a_tree_twice(tmp_path):
    twice = parse_tree("(NP (D a) (N a))")
    tree = Tree("S", [twice, Tree("NP", [twice]), twice.children[0]])
    words = [["a"] * 5]
    path = tmp_path / "predictions.egt"
    kept = [reading_of([tree], [0], Chains(), 5)]
    save_predictions(path, kept, "this")
    chains = Chains()
    check_same(load_predictions(path, words, chains), kept, chains)


def test_the_same_readings_give_the_same_bytes_whatever_nodes_they_share(tmp_path):
    save_predictions(tmp_path / "one", by_hand(Chains()), "this")
    again = load_predictions(tmp_path / "one", WORDS, Chains())
    save_predictions(tmp_path / "two", again, "this")
    one, two = (open_model(tmp_path / name) for name in ("one", "two"))
    for name in ("nodes", "children", "roots"):
        assert np.array_equal(one.arrays[name], two.arrays[name])


def test_deep_trees(tmp_path):
    deep = Tree("A", (), "a")
    for _ in range(3000):
        deep = Tree("S", [deep])
    # Its chain would be long too, so the evidence is empty.
    kept = [Prediction([deep], np.zeros(1, dtype=np.int64), Evidence(1, Chains()))]
    save_predictions(tmp_path / "deep", kept, "this")
    (found,) = load_predictions(tmp_path / "deep", [["a"]], Chains())
    assert found.trees == [deep]


def test_of_what_readings_were_made(tmp_path):
    path = tmp_path / "predictions.egt"
    assert not is_made_from(path, KIND, "this")
    save_predictions(path, by_hand(Chains()), "this")
    assert is_made_from(path, KIND, "this")
    assert not is_made_from(path, KIND, "that")
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    assert not is_made_from(path, KIND, "this")
    save_model(path, {"kind": "parser", "made_from": "this"}, {})
    assert not is_made_from(path, KIND, "this")


# Damaged and forged files -----------------------------------------------------------------


def parts(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    path = folder / "whole.egt"
    save_predictions(path, by_hand(Chains()), "this")
    file = open_model(path, kind=KIND)
    return file.header, {name: array.copy() for name, array in file.arrays.items()}


def loaded(path: Path) -> list[Prediction] | None:
    """None for a file that is rejected with a `ModelFileError`."""
    try:
        return load_predictions(path, WORDS, Chains())
    except ModelFileError as error:
        message = str(error)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return None


def check_sound(predictions: list[Prediction]) -> None:
    """Check that predictions, which may be wrong, are consistent."""
    assert len(predictions) == len(WORDS)
    for prediction, words in zip(predictions, WORDS, strict=True):
        assert all(tree.words() == words for tree in prediction.trees)
        assert np.all((prediction.choice >= -1) & (prediction.choice < len(prediction.trees)))
        assert len(prediction.votes) == len(prediction.trees)
        start, end, chain = prediction.evidence.columns()
        assert np.all((start >= 0) & (start < end) & (end <= len(words)))
        assert np.all((chain >= 0) & (chain < len(prediction.evidence.chains.chains)))
        assert np.all(prediction.evidence.weight >= 0)


ARRAYS = ["nodes", "children", "roots", "trees", "choice", "brackets", "key", "weight", "seen"]
CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.concatenate([array, array[-1:]]),
    "empty": lambda array: array[:0],
    "negative": lambda array: (array * -1.0 - 1).astype(array.dtype),
    "large": lambda array: np.full_like(array, 1 << 30),
    "next": lambda array: (array + 1).astype(array.dtype),
    "reversed": lambda array: array[::-1],
    "float": lambda array: array.astype(np.float32),
    "wide": lambda array: array.astype(np.int64 if array.dtype != np.int64 else np.int32),
    "flat": lambda array: array.reshape(-1)[0].reshape(()),
    "more axes": lambda array: array[..., None],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ARRAYS)
def test_forged_arrays_are_refused_or_harmless(tmp_path, name, change):
    header, arrays = parts(tmp_path)
    forged = np.ascontiguousarray(CHANGES[change](arrays[name]))
    if change == "flat":
        forged = forged.reshape(())
    path = tmp_path / "forged.egt"
    save_model(path, header, {**arrays, name: forged})
    found = loaded(path)
    if found is not None:
        check_sound(found)
    if forged.dtype != arrays[name].dtype or forged.shape != arrays[name].shape:
        assert found is None
    if change in ("negative", "large") and name not in ("weight", "seen"):
        assert found is None


@given(
    name=st.sampled_from(["nodes", "children", "roots", "trees", "choice", "brackets", "key"]),
    data=st.data(),
)
def test_any_forged_number_is_refused_or_harmless(tmp_path_factory, name, data):
    folder = tmp_path_factory.mktemp("forged")
    header, arrays = parts(folder)
    forged = arrays[name]
    place = data.draw(st.integers(0, forged.size - 1))
    value = data.draw(st.integers(-3, 12) | st.sampled_from([-(2**31), 2**31 - 1]))
    forged.reshape(-1)[place] = value
    path = folder / "forged.egt"
    save_model(path, header, {**arrays, name: forged})
    found = loaded(path)
    if found is not None:
        check_sound(found)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("labels", ["S"], "has no label"),
        ("labels", "SNPDVX", "its header's labels"),
        ("labels", [1] * 9, "its header's labels.0"),
        ("labels", ["a b"] * 9, "label 'a b' holds white space"),
        ("chains", [["S"]], "the brackets of sentence 1 are invalid for it"),
        ("chains", ["S", "NP"], "its header's chains.0"),
        ("fallbacks", [None] * 3, "its parts are not all for 4 sentences"),
        ("fallbacks", ["?"] * 4, "its header's fallbacks.0"),
        ("total", [1.0], "its parts are not all for 4 sentences"),
        ("total", ["many"] * 4, "its header's total.0"),
        ("total", None, "its header's total"),
    ],
)
def test_forged_headers_are_refused(tmp_path, key, value, message):
    header, arrays = parts(tmp_path)
    path = tmp_path / "forged.egt"
    save_model(path, {**header, key: value}, arrays)
    with pytest.raises(ModelFileError, match=message):
        load_predictions(path, WORDS, Chains())
    del header[key]
    save_model(path, header, arrays)
    with pytest.raises(ModelFileError, match=f"its header's {key}: Field required"):
        load_predictions(path, WORDS, Chains())


@pytest.mark.parametrize("name", ARRAYS)
def test_a_missing_array_is_named(tmp_path, name):
    header, arrays = parts(tmp_path)
    path = tmp_path / "less.egt"
    save_model(path, header, {other: arrays[other] for other in arrays if other != name})
    with pytest.raises(
        ModelFileError, match=f"isn't a complete file of predictions: '{name}' is missing"
    ):
        load_predictions(path, WORDS, Chains())


@pytest.mark.parametrize(
    "words",
    [
        WORDS[:3],
        [*WORDS, ["b"]],
        [["a", "a"], *WORDS[1:]],
        [["a", "a", "a", "a"], *WORDS[1:]],
        [],
    ],
)
def test_predictions_for_other_sentences_are_rejected(tmp_path, words):
    parts(tmp_path)
    with pytest.raises(ModelFileError, match="isn't a complete file of predictions"):
        load_predictions(tmp_path / "whole.egt", words, Chains())


def test_truncated_and_damaged_files_are_refused(tmp_path):
    parts(tmp_path)
    content = (tmp_path / "whole.egt").read_bytes()
    path = tmp_path / "damaged.egt"
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        assert loaded(path) is None
    for place in range(0, len(content), 53):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert loaded(path) is None
