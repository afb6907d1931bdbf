"""A finite language tree by tree, and the value of one tree under any grammar."""

from __future__ import annotations

from itertools import product

import numpy as np

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.treebank.binarise import BinaryTree, Symbol
from tests.oracles.enumeration import Leaf, Node, Numbers, tree_value


def every_tree(grammar: LPCFG, most: int = 5000) -> list[BinaryTree]:
    """All skeletal trees of a grammar without recursion, by substituting rule after rule."""
    backbone = grammar.backbone
    below: dict[int, list[tuple]] = {}

    def trees_of(symbol: int) -> list[tuple]:
        if symbol not in below:
            rows = np.flatnonzero(backbone.words.symbol == symbol)
            found: list[tuple] = [
                (symbol, backbone.lexicon.entries[backbone.words.word[row]]) for row in rows
            ]
            for rule in np.flatnonzero(backbone.parent == symbol):
                left, right = int(backbone.left[rule]), int(backbone.right[rule])
                found += [(symbol, *pair) for pair in product(trees_of(left), trees_of(right))]
            assert len(found) <= most
            below[symbol] = found
        return below[symbol]

    roots = np.flatnonzero(backbone.root > 0).tolist()
    return [binary(backbone.symbols.symbols, tree) for root in roots for tree in trees_of(root)]


def binary(symbols: tuple[Symbol, ...], tree: tuple) -> BinaryTree:
    heads: list[int] = []
    built = BinaryTree([], [], [], heads, [])

    def add(node: tuple) -> int:
        symbol, *children = node
        if isinstance(children[0], str):
            left = right = -1
            heads.append(len(built.words))
            built.words.append(children[0])
        else:
            left, right = (add(child) for child in children)
            heads.append(heads[right])
        built.symbols.append(symbols[symbol])
        built.left.append(left)
        built.right.append(right)
        return len(built.symbols) - 1

    add(tree)
    return built


def value(grammar: LPCFG, tree: BinaryTree, numbers: Numbers | None = None) -> float:
    """The value of a skeletal tree with its words; 0 when the grammar lacks one of its rules."""
    backbone = grammar.backbone
    rules = {
        (int(a), int(b), int(c)): rule
        for rule, (a, b, c) in enumerate(
            zip(backbone.parent, backbone.left, backbone.right, strict=True)
        )
    }
    words = backbone.lexicon.ids(tree.words)
    built: list[Node] = []
    position = 0
    for symbol_name, left, right in zip(tree.symbols, tree.left, tree.right, strict=True):
        symbol = backbone.symbols.get(symbol_name)
        if symbol is None:
            return 0.0
        if left < 0:
            found = backbone.words.candidates(words[position], int(backbone.symbols.tag[symbol]))
            place = found.symbol.tolist().index(symbol)
            leaf = Leaf(symbol, float(found.probability[place]), int(found.entry[place]))
            built.append(Node(symbol, position, position + 1, leaf=leaf))
            position += 1
        else:
            own = built[left], built[right]
            rule = rules.get((symbol, own[0].symbol, own[1].symbol))
            if rule is None:
                return 0.0
            built.append(Node(symbol, own[0].start, own[1].end, rule, *own))
    return tree_value(built[-1], numbers or Numbers(grammar))
