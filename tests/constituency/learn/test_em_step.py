"""One step of expectation maximisation against sums over all states."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.learn import em
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em import EMOptions, learn_em
from eigentree.constituency.learn.em_arrays import Values
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import BinariseOptions, binarise
from eigentree.treebank.tree import Tree
from tests.constituency.learn.em_samples import (
    KNOW_ALL,
    WEIGHTS,
    laid_out,
    likelihoods,
    of_demo,
    of_texts,
    parameters,
    same_bits,
    step,
)
from tests.helpers import close
from tests.oracles.states import expected
from tests.strategies import trees

# Layout -----------------------------------------------------------------------------------


@given(st.lists(trees(max_leaves=10), min_size=1, max_size=5), st.sampled_from([1, 7, 1000]))
def test_the_layout_keeps_every_tree(corpus: list[Tree], block_nodes: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eigentree.constituency.learn.em_layout.BLOCK_NODES", block_nodes)
        examples = Examples.of([binarise(tree, BinariseOptions()) for tree in corpus], KNOW_ALL)
        skeletons, layout = laid_out(examples, 3)
    order = skeletons.order
    assert sorted(order.tolist()) == list(range(len(examples)))
    for name in ("symbol", "rule", "pair", "weight"):
        assert np.array_equal(getattr(skeletons, name), getattr(examples, name)[order])
    inner = np.flatnonzero(skeletons.rule >= 0)
    for name in ("left", "right"):
        child = getattr(skeletons, name)
        assert np.array_equal(order[child[inner]], getattr(examples, name)[order[inner]])
        assert np.all(child[inner] < inner)
        assert np.all(child[skeletons.rule < 0] == -1)
    for first, last in pairwise(skeletons.batch.tolist()):
        assert len(set(skeletons.rule[first:last].tolist())) == 1
        if skeletons.rule[first] >= 0:
            assert last - first in (1, 4)
            assert np.all(skeletons.left[first:last] < first)
            assert np.all(skeletons.right[first:last] < first)
    for first, last in pairwise(skeletons.batch[skeletons.block].tolist()):
        nodes = np.arange(first, last)[skeletons.rule[first:last] >= 0]
        assert np.all(skeletons.left[nodes] >= first)
    assert np.array_equal(np.sort(skeletons.rule[inner]), skeletons.rule[skeletons.by_rule])
    assert layout.rule_count.sum() == len(inner)


# One step ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_step_is_the_sum_over_all_states(weights):
    examples = of_texts(weights=weights)
    skeletons, layout = laid_out(examples, 2)
    values = parameters(layout)
    log_likelihood, counts = step(skeletons, layout, values)
    by_hand, counts_by_hand = expected(examples, layout, values)
    assert close(log_likelihood, by_hand, rtol=1e-12)
    for name in Values._fields:
        assert close(getattr(counts, name), getattr(counts_by_hand, name), rtol=1e-11, atol=1e-15)


@pytest.mark.slow
@given(st.lists(trees(max_leaves=4), min_size=1, max_size=6), st.integers(0, 100))
def test_a_step_on_any_trees(corpus: list[Tree], seed: int):
    examples = Examples.of([binarise(tree, BinariseOptions()) for tree in corpus], KNOW_ALL)
    skeletons, layout = laid_out(examples, 2)
    values = parameters(layout, seed)
    log_likelihood, counts = step(skeletons, layout, values)
    by_hand, counts_by_hand = expected(examples, layout, values)
    assert close(log_likelihood, by_hand, rtol=1e-11, atol=1e-12)
    for name in Values._fields:
        assert close(getattr(counts, name), getattr(counts_by_hand, name), rtol=1e-10, atol=1e-15)


def test_four_nodes_at_a_time_and_one_give_the_same(monkeypatch):
    examples = of_demo()
    together = laid_out(examples, 4)
    monkeypatch.setattr("eigentree.constituency.learn.em_layout.BATCH", 1 << 30)
    alone = laid_out(examples, 4)
    assert len(alone[0].batch) > len(together[0].batch)
    monkeypatch.undo()
    values = parameters(together[1])
    first, second = step(*together, values), step(*alone, values)
    assert close(first[0], second[0], rtol=1e-12)
    for name in Values._fields:
        own, other = getattr(first[1], name), getattr(second[1], name)
        assert close(own, other, rtol=1e-9, atol=1e-15)


def test_states_that_are_alike_change_no_probability():
    # 250 words make numbers far below the least that a float holds.
    tree = Tree("N", (), "x")
    for number in range(249):
        tree = Tree("A", [Tree("N", (), f"w{number}"), tree])
    examples = Examples.of([binarise(tree, BinariseOptions())], KNOW_ALL)
    plain = count_pcfg(examples)
    inner = examples.rule[examples.rule >= 0]
    pairs = examples.pair[examples.pair >= 0]
    words = plain.words
    log_probability = (
        np.log(plain.probability[inner]).sum()
        + np.log((words.count / words.symbol_count[words.symbol])[pairs]).sum()
    )
    assert log_probability < -1000
    for states in (1, 4):
        skeletons, layout = laid_out(examples, states)
        values = em.maximise(layout, em.even_counts(layout))
        log_likelihood, counts = step(skeletons, layout, values)
        assert close(log_likelihood, log_probability, rtol=1e-12)
        assert close(counts.rules.sum(), 249.0, rtol=1e-10)
        assert close(counts.words.sum(), 250.0, rtol=1e-10)


def test_a_tree_without_probability():
    examples = of_texts()
    skeletons, layout = laid_out(examples, 2)
    values = parameters(layout)
    values.roots[:] = 0.0
    with pytest.raises(GrammarError, match="tree 1 has log-probability -inf, which must be"):
        step(skeletons, layout, values)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("eigentree.constituency.learn.em_layout.BLOCK_NODES", 500)
    examples = of_demo()
    options = EMOptions(states=4, iterations=4)
    one, three = (learn_em(examples, options, jobs=jobs) for jobs in (1, 3))
    assert likelihoods(one) == likelihoods(three)
    assert same_bits(one.model, three.model)
