"""All binary trees of a sentence, one by one, and what follows from the list of them.

Slow and plain on purpose: no chart, no compiled code, nothing of `eigentree.constituency.chart`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import compress, product
from typing import NamedTuple

import numpy as np

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG


class Leaf(NamedTuple):
    """A preterminal over one word: symbol, p(word | symbol), row of the word table or -1."""

    symbol: int
    weight: float
    entry: int


class Node(NamedTuple):
    """A node of a skeletal tree; leaves have a `leaf` and no children."""

    symbol: int
    start: int
    end: int
    rule: int = -1
    left: Node | None = None
    right: Node | None = None
    leaf: Leaf | None = None

    def nodes(self) -> Iterator[Node]:
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.left is not None and node.right is not None:
                stack.extend((node.right, node.left))

    @property
    def item(self) -> tuple[int, int, int]:
        return self.symbol, self.start, self.end

    @property
    def edge(self) -> tuple[int, int, int, int]:
        """Rule, start, split and end."""
        assert self.left is not None
        return self.rule, self.start, self.left.end, self.end


def all_trees(backbone: PCFG, leaves: Sequence[Sequence[Leaf]]) -> list[Node]:
    """Every tree that the rules allow over the words, under every symbol with a root weight."""
    rules = defaultdict(list)
    for number, (a, b, c) in enumerate(
        zip(backbone.parent, backbone.left, backbone.right, strict=True)
    ):
        rules[int(b), int(c)].append((number, int(a)))
    spans: dict[tuple[int, int], list[Node]] = {}
    n_words = len(leaves)
    for i, own in enumerate(leaves):
        spans[i, i + 1] = [Node(leaf.symbol, i, i + 1, leaf=leaf) for leaf in own]
    for width in range(2, n_words + 1):
        for i in range(n_words - width + 1):
            j = i + width
            spans[i, j] = [
                Node(a, i, j, number, left, right)
                for k in range(i + 1, j)
                for left in spans[i, k]
                for right in spans[k, j]
                for number, a in rules[left.symbol, right.symbol]
            ]
    return [tree for tree in spans[0, n_words] if backbone.root[tree.symbol] > 0]


def coarse_value(tree: Node, backbone: PCFG) -> float:
    """The product of the PCFG's probabilities of root, rules and words."""
    value = float(backbone.root[tree.symbol])
    for node in tree.nodes():
        value *= node.leaf.weight if node.leaf else float(backbone.probability[node.rule])
    return value


class Numbers:
    """The arrays of a grammar with latent states, read off by its public methods."""

    def __init__(self, grammar: LPCFG) -> None:
        self.grammar = grammar
        self.tensors = [grammar.tensor(rule) for rule in range(grammar.backbone.n_rules)]

    def root(self, symbol: int) -> np.ndarray:
        return self.grammar.parameters.root[self.grammar.states(symbol)]

    def leaf(self, leaf: Leaf) -> np.ndarray:
        p = self.grammar.parameters
        if leaf.entry < 0:
            return leaf.weight * p.unseen_word[self.grammar.states(leaf.symbol)]
        return leaf.weight * self.grammar.word_vector(leaf.entry)


def value_by_states(tree: Node, numbers: Numbers) -> float:
    """The sum over every assignment of states to nodes of the product of entries."""
    nodes = list(tree.nodes())
    place = {id(node): at for at, node in enumerate(nodes)}
    sizes = [range(int(numbers.grammar.n_states[node.symbol])) for node in nodes]
    total = 0.0
    for states in product(*sizes):
        value = float(numbers.root(tree.symbol)[states[0]])
        for at, node in enumerate(nodes):
            if node.leaf:
                value *= float(numbers.leaf(node.leaf)[states[at]])
            else:
                below = states[place[id(node.left)]], states[place[id(node.right)]]
                value *= float(numbers.tensors[node.rule][states[at], below[0], below[1]])
        total += value
    return total


def inside_vector(tree: Node, numbers: Numbers) -> np.ndarray:
    """The sum over the states below the root of a tree, for each state of its root."""
    done: list[np.ndarray] = []
    for node in reversed(list(tree.nodes())):
        if node.leaf:
            done.append(numbers.leaf(node.leaf))
        else:
            # The reversed order of parents first, left to right, leaves the left child on top.
            left, right = done.pop(), done.pop()
            done.append(np.einsum("hij,i,j->h", numbers.tensors[node.rule], left, right))
    return done[0]


def tree_value(tree: Node, numbers: Numbers) -> float:
    """The same as `value_by_states`, state sums being pushed inwards."""
    return float(numbers.root(tree.symbol) @ inside_vector(tree, numbers))


class Enumeration:
    """Marginals and best trees of a sentence from the list of its trees.

    Parameters
    ----------
    grammar
        Any grammar.
    leaves
        Preterminals over each word.
    bracket_price
        What each labelled bracket costs in the objective ``brackets``.
    """

    def __init__(
        self, grammar: LPCFG, leaves: Sequence[Sequence[Leaf]], bracket_price: float = 0.0
    ) -> None:
        self.grammar = grammar
        self.bracket_price = bracket_price
        self.numbers = Numbers(grammar)
        self.trees = all_trees(grammar.backbone, leaves)
        self.values = [tree_value(tree, self.numbers) for tree in self.trees]
        self.total = sum(self.values)
        self.mass = sum(map(abs, self.values))

    def within(self, items: set[tuple[int, int, int]]) -> Enumeration:
        """The same of those trees alone whose items are all among the given ones."""
        part = copy(self)
        kept = [{node.item for node in tree.nodes()} <= items for tree in self.trees]
        part.trees = list(compress(self.trees, kept))
        part.values = list(compress(self.values, kept))
        part.total = sum(part.values)
        part.mass = sum(map(abs, part.values))
        return part

    @property
    def condition(self) -> float:
        """By how much cancellation between trees enlarges rounding errors."""
        return self.mass / abs(self.total) if self.total else float("inf")

    @cached_property
    def items(self) -> dict[tuple[int, int, int], float]:
        """Marginals of (symbol, start, end)."""
        return self._marginals(lambda tree: [node.item for node in tree.nodes()])

    @cached_property
    def edges(self) -> dict[tuple[int, int, int, int], float]:
        """Marginals of (rule, start, split, end)."""
        return self._marginals(lambda tree: [n.edge for n in tree.nodes() if n.leaf is None])

    @cached_property
    def labelled(self) -> dict[tuple[str, int, int], float]:
        """Marginals of (label, start, end) in the trees as people draw them."""
        return self._marginals(lambda tree: list(self.brackets(tree)))

    def _marginals(self, parts):
        totals = defaultdict(float)
        for tree, value in zip(self.trees, self.values, strict=True):
            for part in parts(tree):
                totals[part] += value / self.total
        return dict(totals)

    def objective(self, name: str, tree: Node) -> float:
        """What a decoder maximises, for one tree, from absolute marginals."""
        items = {item: abs(value) for item, value in self.items.items()}
        edges = {edge: abs(value) for edge, value in self.edges.items()}
        inner = [node for node in tree.nodes() if node.leaf is None]
        words = [node for node in tree.nodes() if node.leaf is not None]
        if name == "rules":
            return sum(edges[n.edge] for n in inner) + sum(items[n.item] for n in words)
        if name == "spans":
            return sum(items[node.item] for node in tree.nodes())
        if name == "brackets":
            return sum(self._bracket_gain(node, items) for node in tree.nodes())
        if name == "max-rule":
            factors = [items[tree.item], *(edges[n.edge] for n in inner)]
            return float(np.sum(np.log(factors + [items[n.item] for n in words])))
        assert name == "viterbi"
        return float(np.log(abs(tree_value(tree, self.numbers))))

    def _bracket_gain(self, node: Node, items: dict[tuple[int, int, int], float]) -> float:
        """Expected number of the node's labelled brackets in the model's trees, less the price."""
        symbols = self.grammar.backbone.symbols
        own = phrase_labels(symbols[node.symbol])
        gain = -self.bracket_price * own.total()
        for (symbol, start, end), value in items.items():
            if (start, end) == (node.start, node.end):
                gain += value * (own & phrase_labels(symbols[symbol])).total()
        return gain

    def expected_matches(self, tree: Node) -> float:
        """Mean number of labelled brackets shared with a tree drawn from the model."""
        own = self.brackets(tree)
        return sum(
            value / self.total * (own & self.brackets(other)).total()
            for other, value in zip(self.trees, self.values, strict=True)
        )

    def brackets(self, tree: Node) -> Counter:
        symbols = self.grammar.backbone.symbols
        found: Counter = Counter()
        for node in tree.nodes():
            for label, count in phrase_labels(symbols[node.symbol]).items():
                found[label, node.start, node.end] += count
        return found

    def best(self, name: str) -> float:
        return max(self.objective(name, tree) for tree in self.trees)


def phrase_labels(symbol) -> Counter:
    """Labels of the phrases that a symbol stands for in the tree as people draw it."""
    if symbol.kind == "intermediate":
        return Counter()
    return Counter(symbol.chain[:-1] if symbol.kind == "preterminal" else symbol.chain)
