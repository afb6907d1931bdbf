"""A treebank as flat arrays over the nodes of its binary trees: the input of every learner.

One row per node, tree by tree, children before parents.  All later work (features,
moments, expectation steps, counts) is array arithmetic over these columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import BinaryTree
from eigentree.treebank.lexicon import Lexicon, LexiconOptions
from eigentree.types import Ints


@dataclass(frozen=True)
class Examples:
    """All nodes of a binarised treebank.

    Attributes
    ----------
    symbols, lexicon
        The meaning of the numbers.
    rules : int32, axes (R, 3)
        Distinct binary rules as (parent, left, right), sorted by (left, right, parent).
    pairs : int32, axes (L, 2)
        Distinct lexical rules as (word, symbol), sorted.
    tree : int32, axes (nodes)
        Number of the tree.
    symbol, left, right, parent : int32, axes (nodes)
        Symbol; rows of the children and the parent, -1 if there is none.
    rule : int32, axes (nodes)
        Row of `rules` at inner nodes, -1 at preterminals.
    pair : int32, axes (nodes)
        Row of `pairs` at preterminals, -1 at inner nodes.
    start, end : int32, axes (nodes)
        Half-open span in the sentence.
    length : int32, axes (nodes)
        Number of words of the sentence.
    head : int32, axes (nodes)
        Row of the preterminal over the head word.
    weight : float64, axes (nodes)
        Weight of the tree, 1 by default.
    """

    symbols: SymbolTable
    lexicon: Lexicon
    rules: Ints
    pairs: Ints
    tree: Ints
    symbol: Ints
    left: Ints
    right: Ints
    parent: Ints
    rule: Ints
    pair: Ints
    start: Ints
    end: Ints
    length: Ints
    head: Ints
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        trees: Sequence[BinaryTree],
        lexicon_options: LexiconOptions = LexiconOptions(),
        weights: NDArray[np.float64] | None = None,
    ) -> Examples:
        """Flatten binary trees.

        Parameters
        ----------
        trees
            At least one.
        lexicon_options
            How rare words are classed.
        weights : float64, axes (trees), optional
            Positive weight of each tree in every count and moment.

        Cost
        ----
        Linear in the number of nodes, except for sorting.
        """
        if not trees:
            raise GrammarError("there are no trees to learn from; at least one is needed")
        symbols = SymbolTable.of(chain.from_iterable(tree.symbols for tree in trees))
        lexicon = Lexicon.learn((tree.words for tree in trees), lexicon_options)
        sizes = np.array([tree.n_nodes for tree in trees])
        tree_of = np.repeat(np.arange(len(trees), dtype=np.int32), sizes)
        base = np.repeat(np.cumsum(sizes) - sizes, sizes)

        number = symbols.number
        symbol = _column(number(s) for tree in trees for s in tree.symbols)
        left = _column(chain.from_iterable(tree.left for tree in trees))
        right = _column(chain.from_iterable(tree.right for tree in trees))
        inner = left >= 0
        left = np.where(inner, left + base, -1).astype(np.int32)
        right = np.where(inner, right + base, -1).astype(np.int32)

        rows = np.arange(len(symbol), dtype=np.int32)
        parent = np.full(len(symbol), -1, dtype=np.int32)
        parent[left[inner]] = rows[inner]
        parent[right[inner]] = rows[inner]

        leaves = rows[~inner]
        lengths = np.array([len(tree.words) for tree in trees])
        first_leaf = np.cumsum(lengths) - lengths
        position = np.arange(len(leaves)) - np.repeat(first_leaf, lengths)
        start = np.zeros(len(symbol), dtype=np.int32)
        start[leaves] = position
        end = start + 1
        start = start[_outermost(left, rows)]
        end = end[_outermost(right, rows)]
        if any(tree.head is None for tree in trees):
            raise GrammarError("a tree has no heads; binarise it with a head finder")
        head = _column(chain.from_iterable(tree.head or () for tree in trees))
        head = leaves[head + first_leaf[tree_of]]

        n_symbols = len(symbols)
        rules, rule = _distinct(
            [symbol[left[inner]], symbol[right[inner]], symbol[inner]], n_symbols, inner
        )
        words = _column(chain.from_iterable(lexicon.ids(tree.words) for tree in trees))
        pairs, pair = _distinct([words, symbol[leaves]], n_symbols, ~inner)
        weight = np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=np.float64)
        if weight.shape != (len(trees),) or not np.all(weight > 0):
            raise GrammarError(
                f"weights have shape {weight.shape} and minimum {weight.min()}; {len(trees)} "
                "positive numbers are required"
            )
        return cls(
            symbols,
            lexicon,
            rules[:, [2, 0, 1]],
            pairs,
            tree_of,
            symbol,
            left,
            right,
            parent,
            rule,
            pair,
            start,
            end,
            lengths.astype(np.int32)[tree_of],
            head,
            weight[tree_of],
        )

    def __len__(self) -> int:
        return len(self.symbol)

    @property
    def n_trees(self) -> int:
        return int(self.tree[-1]) + 1


def _column(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int32)


def _outermost(child: Ints, rows: Ints) -> Ints:
    """The leaf reached from each node by always taking the same child (pointer doubling)."""
    reached = np.where(child >= 0, child, rows)
    while True:
        further = reached[reached]
        if np.array_equal(further, reached):
            return reached.astype(np.int32)
        reached = further


def _distinct(columns: list[Ints], base: int, where: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Distinct rows of some columns, sorted, and each node's row (-1 outside `where`)."""
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = key * base + column
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    table = np.stack([column[first] for column in columns], axis=1)
    number = np.full(len(where), -1, dtype=np.int32)
    number[where] = inverse
    return np.ascontiguousarray(table, dtype=np.int32), number
