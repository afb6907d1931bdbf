"""The value of a tree under a grammar, summed over all latent states.

A tree is a forest in which each item has one derivation, so its value is the inside value of its
root, and trees that share nodes are evaluated together.  For a probability grammar it is the
probability of the tree with its words and tags; the values of all trees of a sentence sum to
that of the sentence.

In Kruskal form a rule's vector is computed without its tensor, as in
`eigentree.constituency.chart.kruskal`:

    inside(a) = sum over s of
        weights[s] parent[a, s] (left[b, s] . inside(b)) (right[c, s] . inside(c))

in which b and c are the children, and a factor has a vector for each symbol and component.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import inside_chart
from eigentree.constituency.chart.pruning import link
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lexical_candidates import under_tags
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.treebank.binarise import BinaryTree
from eigentree.types import Floats


class TreeValue(NamedTuple):
    """The value of a tree.

    Attributes
    ----------
    log_value : float
        Natural logarithm of its absolute value; -inf for 0.
    sign : int
        1, -1, or 0 for 0.
    """

    log_value: float
    sign: int


def on_tree(tree: BinaryTree, grammar: LPCFG | KruskalGrammar) -> TreeValue:
    """The value of a tree, given its words and tags.

    Parameters
    ----------
    tree
        Binarised in the same way as the grammar's training trees.
    grammar
        A tree with a symbol, rule or tagged word that the grammar lacks has value 0.

    Cost
    ----
    That of an inside pass with one edge per item: O(K^3) per node with a dense rule.
    """
    forest = _forest_of(tree, grammar.backbone)
    return TreeValue(-math.inf, 0) if forest is None else on_trees(forest, grammar)[0]


def on_trees(forest: Forest, grammar: LPCFG | KruskalGrammar) -> list[TreeValue]:
    """The values of trees that share nodes.

    Parameters
    ----------
    forest
        Items that each have at most one edge; its roots are those of the trees.
    """
    if isinstance(grammar, KruskalGrammar):
        exact = grammar.exact
        vectors, exponents = _in_kruskal_form(forest, grammar)
    else:
        exact = grammar
        chart = inside_chart(forest, grammar)
        exponents = chart.exponent.tolist()
        start = chart.vector_start.tolist()
        vectors = [chart.inside[first:end] for first, end in pairwise(start)]
    values = []
    for root in forest.roots.tolist():
        weights = exact.parameters.root[exact.states(int(forest.item_symbol[root]))]
        value = float(weights @ vectors[root])
        log_value = math.log(abs(value)) + exponents[root] * math.log(2.0) if value else -math.inf
        values.append(TreeValue(log_value, (value > 0) - (value < 0)))
    return values


def _in_kruskal_form(forest: Forest, grammar: KruskalGrammar) -> tuple[list[Floats], list[int]]:
    """The inside vector of each item, and its power of two."""
    exact = grammar.exact
    vectors: list[Floats] = []
    exponents: list[int] = []
    edge = 0
    for item in range(forest.n_items):
        item_states = exact.states(int(forest.item_symbol[item]))
        entry, exponent = int(forest.item_entry[item]), 0
        if entry != -2:
            word = (
                exact.word_vector(entry)
                if entry >= 0
                else exact.parameters.unseen_word[item_states]
            )
            vector = forest.item_weight[item] * word
        else:
            product = grammar.weights.astype(np.float64)
            sides = (grammar.left, forest.edge_left), (grammar.right, forest.edge_right)
            for factor, children in sides:
                child = int(children[edge])
                states = exact.states(int(forest.item_symbol[child]))
                product *= vectors[child] @ factor[states]
                exponent += exponents[child]
            vector = grammar.parent[item_states] @ product
            edge += 1
        shift = int(np.frexp(np.abs(vector).max())[1])
        vectors.append(np.ldexp(vector, -shift))
        exponents.append(exponent + shift)
    return vectors, exponents


def _forest_of(tree: BinaryTree, backbone: PCFG) -> Forest | None:
    """A tree as a forest; None if the grammar lacks a part of it."""
    numbers = [backbone.symbols.get(symbol) for symbol in tree.symbols]
    if None in numbers:
        return None
    n = len(tree.words)
    start: list[int] = []
    end: list[int] = []
    tags: list[str] = []
    for symbol, left, right in zip(tree.symbols, tree.left, tree.right, strict=True):
        start.append(len(tags) if left < 0 else start[left])
        if left < 0:
            tags.append(symbol.label)
        end.append(len(tags) if left < 0 else end[right])
    width = np.array(end) - np.array(start)
    # Spans are ordered by width, then by start.
    span = (width - 1) * (n + 1) - width * (width - 1) // 2 + np.array(start)
    items = np.bincount(span, minlength=n * (n + 1) // 2)
    forest = link(
        backbone,
        Leaves.of(under_tags(backbone, tree.words, backbone.tag_numbers(tags), free=False)),
        np.concatenate(([0], np.cumsum(items))).astype(np.int32),
        np.array(numbers, dtype=np.int32)[np.argsort(span)],
    )
    # Of all rules between its items, a tree uses one for each phrase.
    return forest if forest.n_edges == n - 1 and len(forest.roots) else None
