"""Skeletal trees sampled from latent-variable grammars."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from eigentree._core.random import generator
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import BinaryTree, Symbol


class Outcomes(NamedTuple):
    """A distribution over outcomes (words, pairs of child states) with their cumulative weights."""

    cumulative: list[float]
    outcomes: list[int | tuple[int, int]]

    def draw(self, uniform: float) -> int | tuple[int, int]:
        place = bisect_right(self.cumulative, uniform * self.cumulative[-1])
        return self.outcomes[min(place, len(self.outcomes) - 1)]


def sample_trees(
    grammar: LPCFG, n_trees: int, *, seed: int = 0, max_words: int = 10_000
) -> list[BinaryTree]:
    """Sample skeletal trees; latent states are sampled and then dropped.

    Parameters
    ----------
    grammar
        A probabilistic grammar.  The distribution of each state is normalised: the mass that
        smoothing reserves for unseen words goes to the seen ones.
    n_trees
        Number of trees.
    seed
        The same seed gives the same sequence of trees; a larger ``n_trees`` extends it.
    max_words
        Maximum sentence length.

    Returns
    -------
    list of BinaryTree
        The head is always the right child.  Word classes of the lexicon are written with
        underscores instead of spaces, so that `unbinarise` accepts them as words.

    Raises
    ------
    GrammarError
        When the grammar is signed, a state has no outcomes, or a sentence exceeds ``max_words``
        words.

    Cost
    ----
    Linear in the number of nodes, after computing each rule's tensor once.
    """
    if grammar.signed:
        raise GrammarError("a signed grammar can't be sampled: its values aren't probabilities")
    symbols = grammar.backbone.symbols
    outcomes = _outcomes(grammar)
    roots = Outcomes(list(accumulate(grammar.parameters.root.tolist())), list(range(len(outcomes))))
    n_states = grammar.n_states
    symbol_of_state = np.repeat(np.arange(len(symbols)), n_states).tolist()
    names = [entry.replace(" ", "_") for entry in grammar.backbone.lexicon.entries]
    rng = generator(seed)
    trees = []
    for _ in range(n_trees):
        root = roots.draw(rng.random())
        assert isinstance(root, int)
        # Parents first and right before left; the reverse has children first.
        preorder: list[tuple[Symbol, str | None]] = []
        stack = [root]
        n_words = 0
        while stack:
            state = stack.pop()
            outcome = outcomes[state].draw(rng.random())
            symbol = symbols[symbol_of_state[state]]
            if isinstance(outcome, int):
                preorder.append((symbol, names[outcome]))
                n_words += 1
            else:
                preorder.append((symbol, None))
                stack.extend(outcome)
            if n_words + len(stack) > max_words:
                raise GrammarError(
                    f"a sampled sentence exceeded {max_words} words; use a grammar with shorter "
                    "sentences or raise max_words"
                )
        trees.append(_binary_tree(preorder))
    return trees


def _outcomes(grammar: LPCFG) -> list[Outcomes]:
    """The distribution of each state of each symbol."""
    parameters, backbone = grammar.parameters, grammar.backbone
    n_states = len(parameters.root)
    weights: list[list[float]] = [[] for _ in range(n_states)]
    results: list[list[int | tuple[int, int]]] = [[] for _ in range(n_states)]
    for rule, (parent, left, right) in enumerate(parameters.rule_symbols):
        tensor = grammar.tensor(rule)
        first = [int(parameters.state_start[a]) for a in (parent, left, right)]
        for h1, h2, h3 in np.argwhere(tensor).tolist():
            weights[first[0] + h1].append(float(tensor[h1, h2, h3]))
            results[first[0] + h1].append((first[1] + h2, first[2] + h3))
    probability = backbone.words.entry_probability()
    for entry, (word, symbol) in enumerate(
        zip(backbone.words.word, backbone.words.symbol, strict=True)
    ):
        first_state = int(parameters.state_start[symbol])
        for state, value in enumerate(grammar.word_vector(entry), first_state):
            if value:
                weights[state].append(float(value * probability[entry]))
                results[state].append(int(word))
    for state in range(n_states):
        if not weights[state] or min(weights[state]) < 0:
            raise GrammarError(f"state {state} has no outcomes, or one with a negative weight")
    return [
        Outcomes(list(accumulate(each)), then) for each, then in zip(weights, results, strict=True)
    ]


def _binary_tree(preorder: list[tuple[Symbol, str | None]]) -> BinaryTree:
    heads: list[int] = []
    tree = BinaryTree([], [], [], heads, [])
    stack: list[int] = []
    for node, (symbol, word) in enumerate(reversed(preorder)):
        tree.symbols.append(symbol)
        left = right = -1
        if word is not None:
            heads.append(len(tree.words))
            tree.words.append(word)
        else:
            right, left = stack.pop(), stack.pop()
            heads.append(heads[right])
        tree.left.append(left)
        tree.right.append(right)
        stack.append(node)
    return tree
