"""The constituent-context model: decoding and marginals, against the list of all trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.bracketing.ccm import (
    UNSEEN,
    ConstituentContextModel,
    positions_of,
    spans_of,
    trie_of,
)
from eigentree.bracketing.chart import _kernels_binary_trees as kernels
from eigentree.errors import GrammarError, ShapeError
from eigentree.evaluation.baselines import right_branching
from tests.helpers import close
from tests.oracles import bracketings as oracle

TAGS = ("a", "b", "c")


def random_model(seed: int, size: float = 1.0) -> ConstituentContextModel:
    """A model that knows the yields of a few sentences."""
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(0, 3, rng.integers(2, 6)) for _ in range(4)]
    keys = trie_of(positions_of(sentences, 3), 3)
    odds = size * rng.standard_normal(len(keys) + 1)
    return ConstituentContextModel(TAGS, keys, odds, size * rng.standard_normal((4, 4)), -1.5)


def log_weight(model: ConstituentContextModel, tags: list[str], tree: frozenset) -> float:
    """The log of the product of odds, yields and contexts found one tag after another."""
    keys = model.yield_keys.tolist()
    numbers = {tag: number for number, tag in enumerate(model.tags)}
    numbers[oracle.EDGE] = len(model.tags)
    total = 0.0
    for start, end in tree:
        node = 0
        for tag in tags[start:end]:
            key = node * len(model.tags) + numbers[tag] if tag in numbers else None
            node = keys.index(key) + 1 if key in keys and node >= 0 else -1
        total += model.yield_log_odds[node] if node >= 0 else model.unseen_log_odds
        padded = [oracle.EDGE, *tags, oracle.EDGE]
        before, after = padded[start], padded[end + 1]
        known = before in numbers and after in numbers
        total += (
            model.context_log_odds[numbers[before], numbers[after]]
            if known
            else model.unseen_log_odds
        )
    return total


@given(st.integers(0, 1000), st.lists(st.sampled_from("abcx"), min_size=2, max_size=7))
def test_best_tree_and_marginals_are_those_of_all_trees(seed, tags):
    model = random_model(seed)
    trees = oracle.binary_trees(0, len(tags))
    weights = np.array([log_weight(model, tags, tree) for tree in trees])
    found = model.brackets(tags)
    assert found in [frozenset(s for s in tree if s[1] - s[0] > 1) for tree in trees]
    words = frozenset((at, at + 1) for at in range(len(tags)))
    assert close(log_weight(model, tags, found | words), weights.max(), rtol=1e-9, atol=1e-12)
    expected = oracle.span_marginals(np.exp(weights - weights.max()).tolist(), trees)
    table = model.marginals(tags)
    spans = oracle.all_spans(len(tags))
    assert close([table[span] for span in spans], [expected[s] for s in spans], rtol=1e-9)
    assert np.all(np.tril(table, -1) == 0.0)


@given(st.integers(0, 1000), st.lists(st.sampled_from("abcx"), min_size=2, max_size=7))
def test_the_position_of_the_root_split_may_be_given(seed, tags):
    model, n = random_model(seed), len(tags)
    trees = oracle.binary_trees(0, n)
    words = frozenset((at, at + 1) for at in range(n))
    for top in range(1, n):
        found = model.best_tree(tags, top)
        own = [tree for tree in trees if {(0, top), (top, n)} <= tree]
        best = max(log_weight(model, tags, tree) for tree in own)
        assert found.spans | words in own
        assert found.top == top
        assert close([found.weight], [best], rtol=1e-9, atol=1e-12)
        assert close(log_weight(model, tags, found.spans | words), best, rtol=1e-9, atol=1e-12)
    free = max(model.best_tree(tags, top).weight for top in range(1, n))
    assert close([model.best_tree(tags).weight], [free], rtol=1e-9, atol=1e-12)
    for top in (0, n):
        with pytest.raises(GrammarError, match="cannot split"):
            model.best_tree(tags, top)


def test_equal_trees_branch_to_the_right():
    flat = ConstituentContextModel(TAGS, np.arange(3), np.zeros(4), np.zeros((4, 4)), 0.0)
    assert flat.brackets(list("abcabc")) == right_branching(6)


@pytest.mark.parametrize(("tags", "spans"), [([], set()), (["a"], set()), (["a", "x"], {(0, 2)})])
def test_shortest_sentences(tags, spans):
    model = random_model(1)
    assert model.brackets(tags) == spans
    assert model.marginals(tags).shape == (len(tags) + 1, len(tags) + 1)
    assert close(model.marginals(tags).sum(), 2 * max(len(tags), 0.5) - 1, rtol=1e-12)


@pytest.mark.parametrize("size", [1.0, 100.0])
def test_long_sentences_neither_over_nor_underflow(size):
    tags = list("abcab" * 40)
    table = random_model(2, size).marginals(tags)
    # Every binary tree of n words has 2 n - 1 spans.
    assert close(table.sum(), 399.0, rtol=1e-9)
    assert table.max() <= 1.0 + 1e-9
    assert len(random_model(2, size).brackets(tags)) == 199


def test_every_yield_is_found_by_its_tags():
    rng = np.random.default_rng(4)
    sentences = [rng.integers(0, 3, size) for size in (4, 1, 6, 2)]
    keys = trie_of(positions_of(sentences, 3), 3)
    spans = spans_of(sentences, keys, 3)
    names = [()]
    for key in keys.tolist():
        names.append((*names[key // 3], key % 3))
    assert len(set(names)) == len(names)
    place = 0
    for tags in sentences:
        padded = [3, *tags.tolist(), 3]
        for start, end in oracle.all_spans(len(tags)):
            assert names[spans.yields[place]] == tuple(tags[start:end].tolist())
            assert divmod(spans.contexts[place], 5) == (padded[start], padded[end + 1])
            assert spans.width[place] == end - start
            place += 1
    assert place == len(spans.yields)
    assert spans_of([np.array([0, 4, 0])], keys, 3).yields.tolist().count(UNSEEN) == 4


def test_kernels_are_valid_as_plain_python(rng):
    weight = rng.standard_normal(21)
    found = []
    for name in ("bracket_marginals", "best_splits"):
        compiled = getattr(kernels, name)
        for run in (compiled, getattr(compiled, "py_func", compiled)):
            value, out = np.zeros(21), np.zeros(21)
            if name == "best_splits":
                split = np.zeros(21, dtype=np.int64)
                run(5, weight, 1e-12, value, split)
                found.append((value, split))
            else:
                total = run(np.array([5]), np.array([0]), weight, value, out)
                found.append((np.array(total), out))
    for one, other in (found[:2], found[2:]):
        for array, same in zip(one, other, strict=True):
            assert close(array, same, rtol=1e-12)


def test_arrays_give_the_model_back():
    model = random_model(3)
    again = ConstituentContextModel.from_arrays(model.tags, model.to_arrays())
    assert again.to_arrays().keys() == model.to_arrays().keys()
    for name, array in model.to_arrays().items():
        assert np.array_equal(array, again.to_arrays()[name])
    assert again.tags == model.tags


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tags": ("a", "b")}, ShapeError, "context_log_odds"),
        ({"tags": ("a", "b", "a")}, GrammarError, "none repeated"),
        ({"yield_log_odds": np.zeros(2)}, ShapeError, "yield_log_odds"),
        ({"context_log_odds": np.full((4, 4), np.nan)}, GrammarError, "context_log_odds"),
        ({"unseen_log_odds": np.inf}, GrammarError, "unseen_log_odds"),
        ({"yield_keys": np.array([0, 2, 1])}, GrammarError, "must increase"),
        ({"yield_keys": np.array([-1, 0, 1])}, GrammarError, "must increase"),
        ({"yield_keys": np.array([0, 1, 11])}, GrammarError, "precede their children"),
        ({"yield_keys": np.array([0, 1, 2], dtype=np.int32)}, ShapeError, "int32"),
    ],
)
def test_models_that_are_none_are_refused(change, error, message):
    good = ConstituentContextModel(TAGS, np.arange(3), np.zeros(4), np.zeros((4, 4)), 0.0)
    with pytest.raises(error, match=message):
        replace(good, **change)
