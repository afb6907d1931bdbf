"""Branching baselines, and the best binary tree against all of them."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.evaluation.baselines import (
    binary_completion,
    left_branching,
    random_branching,
    right_branching,
)
from tests.oracles.bracketings import binary_trees
from tests.strategies import trees


def phrases(n_words: int) -> list[frozenset]:
    return [frozenset(s for s in tree if s[1] - s[0] > 1) for tree in binary_trees(0, n_words)]


def test_left_and_right():
    assert left_branching(4) == {(0, 2), (0, 3), (0, 4)}
    assert right_branching(4) == {(2, 4), (1, 4), (0, 4)}
    for n_words in (0, 1):
        assert left_branching(n_words) == right_branching(n_words) == frozenset()
        assert random_branching(n_words, np.random.default_rng(0)) == frozenset()
        assert binary_completion((), n_words) == frozenset()


@pytest.mark.parametrize("n_words", [2, 3, 4, 5])
def test_random_trees_are_all_as_likely(n_words, rng):
    n_trees = comb(2 * n_words - 2, n_words - 1) // n_words
    found = Counter(random_branching(n_words, rng) for _ in range(200 * n_trees))
    assert set(found) == set(phrases(n_words))
    # Four and a half standard deviations of a count of about 200.
    assert max(abs(count - 200) for count in found.values()) < 64


@given(trees(max_leaves=7))
def test_no_binary_tree_has_more_of_the_gold_spans(tree):
    n_words = len(tree.words())
    gold = {(start, end) for _, start, end in tree.spans() if end - start > 1}
    best = binary_completion(gold, n_words)
    if n_words < 2:
        assert best == frozenset()
    else:
        assert gold <= best
        assert best in phrases(n_words)


@given(st.integers(2, 300), st.integers(0, 9))
def test_sizes(n_words, seed):
    tree = random_branching(n_words, np.random.default_rng(seed))
    assert len(tree) == n_words - 1
    assert binary_completion(tree, n_words) == tree
    assert binary_completion((), n_words) == right_branching(n_words)
