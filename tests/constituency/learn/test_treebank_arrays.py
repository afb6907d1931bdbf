"""The columns of a treebank against a walk over each tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import BinariseOptions, BinaryTree, binarise
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from tests.helpers import close
from tests.strategies import trees

CORPUS = st.lists(trees(max_leaves=8), min_size=1, max_size=4)
KNOW_ALL = LexiconOptions(rare_threshold=0)


@given(CORPUS, st.sampled_from(["left", "right", "head"]), st.sampled_from([0, 1]))
def test_columns_tell_what_the_trees_hold(corpus: list, direction: str, rare_threshold: int):
    binary = [binarise(tree, BinariseOptions(direction)) for tree in corpus]
    examples = Examples.of(binary, LexiconOptions(rare_threshold=rare_threshold))
    assert len(examples) == sum(tree.n_nodes for tree in binary)
    assert examples.n_trees == len(binary)
    base = 0
    for number, tree in enumerate(binary):
        check_tree(examples, tree, number, base)
        base += tree.n_nodes


def check_tree(examples: Examples, tree: BinaryTree, number: int, base: int) -> None:
    ids = examples.lexicon.ids(tree.words)
    parents = {}
    for node in range(tree.n_nodes):
        if tree.left[node] >= 0:
            parents[tree.left[node]] = parents[tree.right[node]] = node
    spans: list[tuple[int, int]] = []
    leaf_of_position: list[int] = []
    for node, symbol in enumerate(tree.symbols):
        row = base + node
        assert examples.tree[row] == number
        assert examples.symbols[examples.symbol[row]] == symbol
        assert examples.length[row] == len(tree.words)
        assert examples.weight[row] == 1.0
        assert examples.parent[row] == (base + parents[node] if node in parents else -1)
        if tree.left[node] < 0:
            position = len(leaf_of_position)
            leaf_of_position.append(row)
            spans.append((position, position + 1))
            assert examples.left[row] == examples.right[row] == examples.rule[row] == -1
            word, preterminal = examples.pairs[examples.pair[row]]
            assert (word, preterminal) == (ids[position], examples.symbol[row])
        else:
            left, right = base + tree.left[node], base + tree.right[node]
            assert (examples.left[row], examples.right[row]) == (left, right)
            spans.append((spans[tree.left[node]][0], spans[tree.right[node]][1]))
            assert examples.pair[row] == -1
            assert examples.rules[examples.rule[row]].tolist() == [
                examples.symbol[row],
                examples.symbol[left],
                examples.symbol[right],
            ]
        assert (examples.start[row], examples.end[row]) == spans[node]
    for node in range(tree.n_nodes):
        assert examples.head[base + node] == leaf_of_position[tree.head[node]]


@given(CORPUS)
def test_tables_are_sorted_and_distinct(corpus: list):
    examples = Examples.of([binarise(tree) for tree in corpus], KNOW_ALL)
    rules = [(b, c, a) for a, b, c in examples.rules.tolist()]
    assert rules == sorted(set(rules))
    pairs = [tuple(pair) for pair in examples.pairs.tolist()]
    assert pairs == sorted(set(pairs))
    assert set(examples.rule.tolist()) - {-1} == set(range(len(rules)))
    assert set(examples.pair.tolist()) - {-1} == set(range(len(pairs)))
    symbols = list(examples.symbols.symbols)
    assert symbols == sorted(set(symbols))


@given(CORPUS, st.integers(1, 5))
def test_a_weight_is_a_number_of_copies(corpus: list, copies: int):
    binary = [binarise(tree) for tree in corpus]
    weights = np.ones(len(binary))
    weights[0] = copies
    weighted = count_pcfg(Examples.of(binary, KNOW_ALL, weights))
    copied = count_pcfg(Examples.of(binary[:1] * copies + binary[1:], KNOW_ALL))
    assert weighted.symbols == copied.symbols
    assert close(weighted.probability, copied.probability, rtol=1e-12)
    assert close(weighted.root, copied.root, rtol=1e-12)
    assert close(weighted.words.count, copied.words.count, rtol=1e-12)


def test_relative_frequencies():
    # Four X: two X -> X t, two X -> t t; the preterminal stands over a three times, b thrice.
    corpus = [
        parse_tree("(X (X (t a) (t a)) (t b))"),
        parse_tree("(X (X (t a) (t b)) (t b))"),
        parse_tree("(Y (t a) (u c))"),
    ]
    pcfg = count_pcfg(Examples.of([binarise(tree) for tree in corpus], KNOW_ALL))
    symbols = pcfg.symbols
    rules = {
        tuple(str(symbols[number]) for number in rule): probability
        for *rule, probability in zip(
            pcfg.parent, pcfg.left, pcfg.right, pcfg.probability.tolist(), strict=True
        )
    }
    assert rules == {("X", "X", "t"): 0.5, ("X", "t", "t"): 0.5, ("Y", "t", "u"): 1.0}
    roots = dict(zip(map(str, symbols.symbols), pcfg.root.tolist(), strict=True))
    assert roots == {"X": 2 / 3, "Y": 1 / 3, "t": 0.0, "u": 0.0}
    counts = {
        (pcfg.lexicon.entries[word], str(symbols[symbol])): count
        for word, symbol, count in zip(
            pcfg.words.word, pcfg.words.symbol, pcfg.words.count.tolist(), strict=True
        )
    }
    assert counts == {("a", "t"): 4.0, ("b", "t"): 3.0, ("c", "u"): 1.0}


def test_wrong_input_is_named():
    tree = binarise(parse_tree("(X (t a) (t b))"))
    with pytest.raises(GrammarError, match="there are no trees to learn from"):
        Examples.of([])
    headless = BinaryTree(tree.symbols, tree.left, tree.right, None, tree.words)
    with pytest.raises(GrammarError, match="a tree has no heads; binarise it with a head finder"):
        Examples.of([headless])
    for weights in (np.zeros(1), np.ones(2)):
        with pytest.raises(GrammarError, match="1 positive numbers are required"):
            Examples.of([tree], weights=weights)
