"""Grammars of counted states: sparse, and equal to the dense ones of expectation maximisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn import em
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em_layout import lay_out
from eigentree.constituency.learn.state_frequencies import NodeStates, count_grammar
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.learn.unseen_rules import unseen_rules, widen
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import BinariseOptions, binarise
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from tests.demo import demo_trees
from tests.helpers import close

KNOW_ALL = LexiconOptions(rare_threshold=0)


def of_demo(n_trees: int = 60, weighted: bool = False) -> Examples:
    trees = demo_trees()[:n_trees]
    binary = [binarise(tree, BinariseOptions(), head_rules("english")) for tree in trees]
    weights = np.random.default_rng(0).uniform(0.5, 3.0, n_trees) if weighted else None
    return Examples.of(binary, weights=weights)


def drawn_states(examples: Examples, most: int, seed: int = 0) -> np.ndarray:
    """A state for each node at random, fewer for some symbols."""
    rng = np.random.default_rng(seed)
    n_states = rng.integers(1, most + 1, len(examples.symbols))
    return rng.integers(0, n_states[examples.symbol]).astype(np.int32)


def dense_grammar(examples: Examples, states: NodeStates, c: float, pull: float) -> LPCFG:
    """The same by the smoothing of expectation maximisation, tensor by tensor."""
    backbone = count_pcfg(examples)
    trees, layout = lay_out(examples, backbone, states.n_states)
    counts = em.counted(trees, layout, states.state)
    options = em.EMOptions(smoothing=c, word_smoothing=pull)
    return em.as_grammar(backbone, layout, em.smoothed(layout, counts, options))


def check_equal(sparse: LPCFG, dense: LPCFG) -> None:
    assert np.array_equal(sparse.n_states, dense.n_states)
    for rule in range(dense.backbone.n_rules):
        assert close(sparse.tensor(rule), dense.tensor(rule), rtol=1e-10, atol=1e-14)
    for entry in range(len(dense.backbone.words.word)):
        assert close(sparse.word_vector(entry), dense.word_vector(entry), rtol=1e-10, atol=1e-14)
    for name in ("unseen_word", "root", "inside_mean", "outside_mean"):
        found, expected = getattr(sparse.parameters, name), getattr(dense.parameters, name)
        assert close(found, expected, rtol=1e-10, atol=1e-14), name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("c", "pull"), [(0.0, 0.0), (5.0, 10.0), (1.0, 0.0), (0.0, 3.0)])
def test_counts_equal_the_dense_form(monkeypatch, c, pull, weighted):
    # Expectation maximisation mixes an even split in, so that it can go on; here it is left out.
    monkeypatch.setattr(em, "EVEN_SHARE", 0.0)
    examples = of_demo(weighted=weighted)
    states = NodeStates.hard(examples, drawn_states(examples, 5))
    assert states.n_states.max() == 5
    backbone = count_pcfg(examples)
    sparse = count_grammar(examples, backbone, states, smoothing=c, word_smoothing=pull)
    dense = dense_grammar(examples, states, c, pull)
    assert sparse.is_counted.all()
    assert not dense.is_counted.any()
    check_equal(sparse, dense)
    unseen = unseen_rules(examples)
    assert len(unseen.rules) > 50
    check_equal(widen(sparse, unseen), widen(dense, unseen))
    if c > 0:  # which fills the dense tensors
        assert sparse.n_parameters < dense.n_parameters / 2


def check_proper(grammar: LPCFG) -> None:
    """The choices of each state sum to 1, those of words with the ones never seen."""
    backbone, p = grammar.backbone, grammar.parameters
    total = np.zeros(len(p.root))
    for rule in range(backbone.n_rules):
        tensor = grammar.tensor(rule)
        assert tensor.min() >= 0.0
        total[grammar.states(backbone.parent[rule])] += tensor.sum(axis=(1, 2))
    seen = backbone.words.entry_probability()
    left = np.ones(len(backbone.symbols))
    for entry, symbol in enumerate(backbone.words.symbol):
        total[grammar.states(symbol)] += seen[entry] * grammar.word_vector(entry)
        left[symbol] -= seen[entry]
    of_state = np.repeat(np.arange(len(backbone.symbols)), grammar.n_states)
    is_word = backbone.symbols.tag[of_state] >= 0
    total += np.where(is_word, left[of_state] * p.unseen_word, 0.0)
    assert close(total, np.ones(len(total)), rtol=1e-12)
    assert close(p.root.sum(), 1.0, rtol=1e-12)


@pytest.mark.slow
@given(st.integers(0, 2**16), st.integers(1, 6), st.sampled_from([0.0, 0.5, 8.0]))
def test_choices_sum_to_one(seed: int, most: int, smoothing: float):
    examples = of_demo(12)
    states = shared_out(examples, most, seed)
    grammar = count_grammar(
        examples, count_pcfg(examples), states, smoothing=smoothing, word_smoothing=smoothing
    )
    check_proper(grammar)
    check_proper(widen(grammar, unseen_rules(examples)))


def shared_out(examples: Examples, most: int, seed: int) -> NodeStates:
    """One to three states at random for each node."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, min(3, most) + 1, len(examples))
    start = np.concatenate([[0], np.cumsum(n)])
    state = np.concatenate([rng.permutation(most)[:k] for k in n]).astype(np.int32)
    part = np.concatenate([rng.dirichlet(np.ones(k)) for k in n])
    return NodeStates.of(examples, start, state, part)


def test_one_state_is_the_pcfg():
    examples = of_demo()
    backbone = count_pcfg(examples)
    states = NodeStates.hard(examples, np.zeros(len(examples), dtype=np.int32))
    grammar = count_grammar(examples, backbone, states, smoothing=5.0, word_smoothing=10.0)
    tensors = np.array([grammar.tensor(rule).item() for rule in range(backbone.n_rules)])
    assert close(tensors, backbone.probability, rtol=1e-12)
    words = np.array([grammar.word_vector(entry).item() for entry in range(len(examples.pairs))])
    assert close(words, np.ones(len(words)), rtol=1e-12)
    assert close(grammar.parameters.root, backbone.root, rtol=1e-12, atol=1e-15)


def test_counts_by_hand():
    trees = [parse_tree(text) for text in ("(S (A a) (B b))", "(S (A a) (B b))", "(S (A c) (B b))")]
    examples = Examples.of([binarise(tree) for tree in trees], KNOW_ALL)
    # Children come before parents: A, B, S in each tree.
    states = NodeStates.hard(examples, np.array([0, 0, 1, 0, 1, 1, 1, 0, 0], dtype=np.int32))
    grammar = count_grammar(
        examples, count_pcfg(examples), states, smoothing=0.0, word_smoothing=0.0
    )
    p = grammar.parameters
    assert p.triples.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 1]]
    assert p.uses.tolist() == [1.0, 1.0, 1.0]
    expected = np.zeros((2, 2, 2))
    expected[0, 1, 0] = 1.0
    expected[1, 0] = 0.5
    assert close(grammar.tensor(0), expected, rtol=1e-12)
    assert grammar.parameters.root[grammar.states(int(examples.rules[0, 0]))].tolist() == [
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
    ]


def test_nodes_that_are_shared_out_count_in_parts():
    tree = parse_tree("(S (A a) (B b))")
    examples = Examples.of([binarise(tree)] * 2, KNOW_ALL)
    # A of the first tree in two states; S and B in one.
    start = np.array([0, 2, 3, 4, 5, 6, 7])
    state = np.array([0, 1, 0, 0, 1, 0, 0], dtype=np.int32)
    part = np.array([0.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0])
    grammar = count_grammar(
        examples,
        count_pcfg(examples),
        NodeStates.of(examples, start, state, part),
        smoothing=0.0,
        word_smoothing=0.0,
    )
    assert grammar.parameters.triples.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert close(grammar.parameters.uses, [0.25, 1.75], rtol=1e-12)
    assert close(grammar.tensor(0).ravel(), [0.125, 0.875], rtol=1e-12)


def test_hard_states_are_shares_of_one():
    examples = of_demo(20)
    states = drawn_states(examples, 4)
    hard = NodeStates.hard(examples, states)
    one_each = np.arange(len(examples) + 1)
    soft = NodeStates.of(examples, one_each, states, np.ones(len(examples)))
    for one, other in zip(hard, soft, strict=True):
        assert np.array_equal(one, other)


def test_states_that_no_node_has_are_left_out():
    examples = Examples.of([binarise(parse_tree("(S (A a) (B b))"))] * 2, KNOW_ALL)
    states = NodeStates.hard(examples, np.array([7, 0, 3, 2, 0, 3], dtype=np.int32))
    assert sorted(states.n_states.tolist()) == [1, 1, 2]
    assert states.state.tolist() == [1, 0, 0, 0, 0, 0]


def test_states_that_cannot_be_counted_are_refused():
    examples = Examples.of([binarise(parse_tree("(A a)"))] * 3, KNOW_ALL)
    with pytest.raises(GrammarError, match="below 0"):
        NodeStates.hard(examples, np.array([0, -1, 0], dtype=np.int32))
    states = NodeStates.hard(examples, np.arange(3, dtype=np.int32))
    wide = states._replace(n_states=np.array([(1 << 16) + 1], dtype=np.int32))
    with pytest.raises(GrammarError, match="has 65537 states; counts support at most"):
        count_grammar(examples, count_pcfg(examples), wide, smoothing=1.0, word_smoothing=1.0)


def test_a_treebank_of_single_words():
    examples = Examples.of([binarise(parse_tree(text)) for text in ("(A a)", "(A b)")], KNOW_ALL)
    states = NodeStates.hard(examples, np.array([0, 1], dtype=np.int32))
    grammar = count_grammar(
        examples, count_pcfg(examples), states, smoothing=1.0, word_smoothing=1.0
    )
    assert grammar.backbone.n_rules == 0
    check_proper(grammar)
