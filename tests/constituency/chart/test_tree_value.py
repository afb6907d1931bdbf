"""The value of a tree against enumeration, of single trees and of all trees of a sentence."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.chart.tree_value import TreeValue, on_tree
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.simulation import attachment_grammar, sample_trees
from eigentree.treebank.binarise import BinaryTree, Symbol, binarise
from eigentree.treebank.io.brackets import parse_tree
from tests.constituency.chart.test_kruskal import exact_form, random_form
from tests.helpers import close
from tests.oracles.enumeration import Enumeration, Node, Numbers, tree_value
from tests.strategies import Sentence, grammars, sentence


class Tagged(NamedTuple):
    """A sentence that is also known as words."""

    each: Sentence
    words: list[str]


@st.composite
def tagged(draw: st.DrawFn, counts: float = 0.0) -> Tagged:
    grammar = draw(grammars(counts=counts))
    table = grammar.backbone.words
    length = draw(st.integers(1, 6))
    entries = draw(st.lists(st.integers(0, 3), min_size=length, max_size=length))
    n_tags = len(grammar.backbone.symbols.tags)
    tags = draw(st.lists(st.integers(0, n_tags - 1), min_size=length, max_size=length))
    words = [table.lexicon.entries[entry] for entry in entries]
    return Tagged(sentence(grammar, entries, [[tag] for tag in tags]), words)


def as_binary(tree: Node, grammar: LPCFG, words: list[str]) -> BinaryTree:
    symbols: list[Symbol] = []
    left: list[int] = []
    right: list[int] = []
    done: list[int] = []
    stack = [(tree, False)]
    while stack:
        node, is_below_done = stack.pop()
        if node.leaf is None and not is_below_done:
            stack += [(node, True), (node.right, False), (node.left, False)]
            continue
        other, one = (done.pop(), done.pop()) if node.leaf is None else (-1, -1)
        done.append(len(symbols))
        symbols.append(grammar.backbone.symbols[node.symbol])
        left.append(one)
        right.append(other)
    return BinaryTree(symbols, left, right, None, words)


def number(value: TreeValue) -> float:
    return value.sign * math.exp(value.log_value) if value.sign else 0.0


@given(st.sampled_from([0.0, 0.7]).flatmap(tagged))
def test_the_values_of_all_trees_add_up_to_that_of_the_sentence(given_sentence: Tagged):
    each, words = given_sentence
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    assume(oracle.trees)
    values = []
    for tree, expected in zip(oracle.trees, oracle.values, strict=True):
        value = on_tree(as_binary(tree, each.grammar, words), each.grammar)
        assert close(number(value), expected, rtol=1e-10, atol=1e-300)
        values.append(number(value))
    assume(oracle.condition < 1e4)
    pruned = prune(each.grammar.backbone, each.leaves, threshold=0.0)
    marginals = inside_outside(pruned.forest, each.grammar)
    total = marginals.sign * math.exp(marginals.log_value)
    assert close(sum(values), total, rtol=1e-10 * oracle.condition)


class FormNumbers(Numbers):
    """The rules as a Kruskal form has them."""

    def __init__(self, form: KruskalGrammar) -> None:
        super().__init__(form.exact)
        tensor = form.dense()
        for rule, (a, b, c) in enumerate(form.exact.parameters.rule_symbols.tolist()):
            self.tensors[rule] = tensor[form.exact.states(a)][:, form.exact.states(b)][
                :, :, form.exact.states(c)
            ]


@given(tagged(), st.integers(0, 2**32 - 1), st.booleans())
def test_in_kruskal_form(given_sentence: Tagged, seed: int, exact: bool):
    each, words = given_sentence
    grammar = each.grammar
    form = exact_form(grammar) if exact else random_form(grammar, seed, 5, signed=True)
    numbers = FormNumbers(form)
    for tree in Enumeration(grammar, each.oracle_leaves).trees[:10]:
        expected = tree_value(tree, numbers)
        value = on_tree(as_binary(tree, grammar, words), form)
        assert close(number(value), expected, rtol=1e-8, atol=1e-12)


def test_a_tree_that_the_grammar_lacks_has_no_value():
    grammar = attachment_grammar()
    (tree,) = sample_trees(grammar, 1, seed=3)
    nothing = TreeValue(-math.inf, 0)
    assert on_tree(tree, grammar).sign == 1
    # A symbol, a rule and a root that it doesn't have.
    stranger = [Symbol("preterminal", ("XX",)), *tree.symbols[1:]]
    assert on_tree(tree._replace(symbols=stranger), grammar) == nothing
    swapped = [Symbol("preterminal", ("V",)), *tree.symbols[1:]]
    assert on_tree(tree._replace(symbols=swapped), grammar) == nothing
    noun = BinaryTree([Symbol("preterminal", ("N",))], [-1], [-1], None, ["fox"])
    assert on_tree(noun, grammar) == nothing


def test_long_trees_do_not_underflow():
    grammar = attachment_grammar()
    phrase = "(NP (D the) (N fox))"
    for _ in range(600):
        phrase = f"(NP {phrase} (PP (P of) (NP (D the) (N fox))))"
    tree = binarise(parse_tree(f"(S {phrase} (VP (V saw) (NP (D a) (N den))))"))
    value = on_tree(tree, grammar)
    assert value.sign == 1
    assert value.log_value < 2 * np.log(np.finfo(np.float64).tiny)
    doubled = grammar.parameters._replace(dense=2.0 * grammar.parameters.dense)
    other = on_tree(tree, LPCFG(grammar.backbone, doubled, signed=False))
    n_rules = len(tree.words) - 1
    assert close(other.log_value - value.log_value, n_rules * math.log(2.0), rtol=1e-9)
    assert close(on_tree(tree, exact_form(grammar)).log_value, value.log_value, rtol=1e-9)


def test_the_value_of_a_known_tree():
    grammar = attachment_grammar()
    text = "(S (NP (D the) (N fox)) (VP (V saw) (NP (D a) (N den))))"
    value = on_tree(binarise(parse_tree(text)), grammar)
    expected = 0.6 * 0.3 * 0.8 * 0.7 * 0.4 * 0.3 * 0.8 * 0.7
    assert close(value.log_value, np.log(expected), rtol=1e-6)
