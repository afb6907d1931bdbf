"""Rerankers: learning of separable problems, and rejection of inconsistent parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eigentree.constituency.ensemble.maxent import MaxEntOptions
from eigentree.constituency.ensemble.reranker import (
    Candidates,
    Reranker,
    RerankerOptions,
    from_parts,
    to_parts,
    train_reranker,
)
from eigentree.errors import EigentreeError, ModelFileError, SettingsError
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree

HEADS = head_rules("english")
OPTIONS = RerankerOptions(least=1, maxent=MaxEntOptions(regularisation=0.1))


def clause(noun: str, preposition: str, *, low: bool) -> Tree:
    """A prepositional phrase attached to the noun or to the verb."""
    below = f"(PP (IN {preposition}) (NP (NNS nets)))"
    if low:
        return parse_tree(f"(S (NP (PRP we)) (VP (VBP see) (NP (NP (NNS {noun})) {below})))")
    return parse_tree(f"(S (NP (PRP we)) (VP (VBP see) (NP (NNS {noun})) {below}))")


def problem(n: int, *, column: bool = False, seed: int = 0) -> tuple[list[Candidates], list[Tree]]:
    """The preposition determines which of two trees is correct; otherwise a column does."""
    rng = np.random.default_rng(seed)
    sentences, gold = [], []
    for number in range(n):
        low = bool(rng.integers(2))
        preposition = "with" if column else ("of" if low else "with")
        trees = [clause(f"n{number}", preposition, low=each) for each in (True, False)]
        gold.append(trees[0] if low else trees[1])
        if rng.integers(2):
            trees.reverse()
        is_gold = [float(tree == gold[-1]) if column else 0.0 for tree in trees]
        columns = np.column_stack([rng.normal(size=2), is_gold])
        sentences.append(Candidates(trees, columns))
    return sentences, gold


def trained(sentences, gold, options=OPTIONS, **named) -> Reranker:
    return train_reranker(sentences, gold, ["noise", "is_gold"], HEADS, options, **named)


def n_right(reranker: Reranker, sentences, gold) -> int:
    values = reranker.values(sentences)
    return sum(
        each.trees[int(np.argmax(own))] == tree
        for each, own, tree in zip(sentences, values, gold, strict=True)
    )


@pytest.mark.parametrize("target", ["best", "soft", "risk"])
def test_features_tell_the_answer_to_new_sentences(target):
    options = RerankerOptions(least=1, maxent=MaxEntOptions(target=target, regularisation=0.1))
    reranker = trained(*problem(40), options)
    assert n_right(reranker, *problem(40, seed=1)) == 40


def test_columns_tell_the_answer_too():
    reranker = trained(*problem(60, column=True))
    assert n_right(reranker, *problem(60, column=True, seed=1)) == 60
    assert reranker.model.dense_weights[1] > 3 * abs(reranker.model.dense_weights[0])


def test_sentences_of_one_candidate_teach_nothing():
    sentences, gold = problem(20)
    single = Candidates(sentences[0].trees[:1], sentences[0].columns[:1])
    nothing = Candidates([], np.zeros((0, 2)))
    more = trained([single, *sentences, nothing], [gold[0], *gold, gold[0]])
    assert to_parts(more)[0] == to_parts(trained(sentences, gold))[0]
    alone, several = more.values([single, sentences[0]])
    assert (alone.tolist(), len(several)) == ([0.0], 2)
    assert more.values([]) == []
    with pytest.raises(SettingsError, match="no sentence has two different candidates"):
        trained([single, nothing], gold[:2])


def test_the_same_sentences_give_the_same_reranker():
    one, two = (to_parts(trained(*problem(20))) for _ in range(2))
    assert one[0] == two[0]
    assert all(np.array_equal(one[1][name], two[1][name]) for name in one[1])


def test_progress_rises_to_the_end():
    shares: list[float] = []
    trained(*problem(10), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_options_decide_which_features_there_are():
    sentences, gold = problem(30)
    every = trained(sentences, gold)
    some = trained(sentences, gold, RerankerOptions(schemata=("rule",), least=1))
    few = trained(sentences, gold, RerankerOptions(least=20))
    assert 0 < len(some.table) < len(few.table) < len(every.table)
    assert some.table.options.schemata == ("rule",)
    frequent = RerankerOptions(least=1, function_words=3)
    words = trained(sentences, gold, frequent).table.options.function_words
    assert words == {"we", "see", "nets"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"least": 0}, "least is 0; it must be at least 1"),
        ({"function_words": -1}, "function_words is -1; it must be at least 0"),
        ({"schemata": ("taste",)}, "taste"),
    ],
)
def test_settings_without_a_meaning(wrong, message):
    with pytest.raises(SettingsError, match=message):
        RerankerOptions(**wrong)


# Parts ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return trained(*problem(20))


def test_parts_make_the_same_reranker(reranker):
    header, arrays = to_parts(reranker)
    again = from_parts(header, arrays, HEADS)
    assert again.table.options == reranker.table.options
    assert again.column_names == ("noise", "is_gold")
    for name, value in reranker.model._asdict().items():
        assert np.array_equal(getattr(again.model, name), value), name
    assert to_parts(again)[0] == header
    sentences, _ = problem(20, seed=3)
    for one, other in zip(again.values(sentences), reranker.values(sentences), strict=True):
        assert np.array_equal(one, other)


CHANGES = {
    "shorter": lambda array: array[:-1],
    "empty": lambda array: array[:0],
    "longer": lambda array: np.append(array, array[-1:]),
    "more axes": lambda array: array[:, None],
    "single": lambda array: array.astype(np.float32),
    "whole": lambda array: array.astype(np.int64),
    "number": lambda array: array[0],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["keys", "weights", "dense_weights", "scale"])
def test_forged_arrays_are_refused(reranker, name, change):
    header, arrays = to_parts(reranker)
    with pytest.raises(EigentreeError, match="reranker"):
        from_parts(header, {**arrays, name: CHANGES[change](arrays[name])}, HEADS)


def test_forged_numbers_are_refused(reranker):
    header, arrays = to_parts(reranker)
    with pytest.raises(ModelFileError, match="keys are not 64-bit numbers in rising order"):
        from_parts(header, {**arrays, "keys": arrays["keys"][::-1]}, HEADS)
    for value in (0.0, -1.0):
        with pytest.raises(ModelFileError, match="scale has values that are not positive"):
            from_parts(header, {**arrays, "scale": np.array([1.0, value])}, HEADS)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("features", None),
        ("features", {"schemata": ["rule"]}),
        ("features", {"schemata": "rule", "function_words": [], "coordination": []}),
        ("features", {"schemata": ["taste"], "function_words": [], "coordination": []}),
        ("features", {"schemata": ["rule"], "function_words": "we", "coordination": []}),
        ("features", {"schemata": ["rule"], "function_words": [1], "coordination": []}),
        ("features", {"schemata": ["rule"], "function_words": [], "coordination": [None]}),
        ("columns", ["is_gold"]),
        ("columns", "no"),
        ("columns", [1, 2]),
        ("columns", None),
        ("training", {}),
        ("training", {"objective": "low", "iterations": 1, "converged": True}),
    ],
)
def test_forged_headers_are_refused(reranker, key, value):
    header, arrays = to_parts(reranker)
    forged: dict[str, Any] = {**header, key: value}
    with pytest.raises((EigentreeError, KeyError, TypeError, ValueError)):
        from_parts(forged, arrays, HEADS)
    del forged[key]
    with pytest.raises((EigentreeError, KeyError, TypeError, ValueError)):
        from_parts(forged, arrays, HEADS)


def test_a_missing_array_is_named(reranker):
    header, arrays = to_parts(reranker)
    del arrays["scale"]
    with pytest.raises(KeyError, match="scale"):
        from_parts(header, arrays, HEADS)
