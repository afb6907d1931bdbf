"""The k best trees against a list of all trees, and against what no list could hold."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigentree.constituency.chart import k_best as module
from eigentree.constituency.chart.arrays import KBestRows
from eigentree.constituency.chart.decode import BRACKET_PRICE, OBJECTIVES, Gains, decode, gains
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.k_best import KBest, children, k_best
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.chart.tree_value import on_trees
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from eigentree.treebank.tree import Tree
from tests.constituency.chart.test_against_enumeration import edge_names, item_names
from tests.constituency.chart.test_laws import bracketings
from tests.helpers import close
from tests.oracles.enumeration import Enumeration, Node
from tests.strategies import Sentence, grammars, sentence, sentences

# Interpreted kernels do the same in their own time.
LONG = 20 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 60
MANY = 10**6


def drawn(node: Node, symbols: SymbolTable, *, is_root: bool = True) -> list[Tree]:
    """A node as people draw it, its tags forgotten: one tree, or the parts of a phrase."""
    symbol = symbols[node.symbol]
    if node.leaf is not None:
        return under(symbol, [word(node.start)], is_root=is_root)
    sides = (drawn(side, symbols, is_root=False) for side in (node.left, node.right))
    return under(symbol, [tree for side in sides for tree in side], is_root=is_root)


def word(position: int) -> Tree:
    return Tree("tag", (), f"w{position}")


def under(symbol: Symbol, below: list[Tree], *, is_root: bool) -> list[Tree]:
    """What stands under a symbol, or a word, with the symbol's phrases over it."""
    if symbol.kind == "intermediate" and not is_root:
        return below
    tree = below[0] if symbol.kind == "preterminal" else Tree(symbol.label, below)
    for label in reversed(symbol.chain[:-1]):
        tree = Tree(label, (tree,))
    return [tree]


def words_of(n_words: int) -> tuple[list[str], list[str]]:
    return [f"w{i}" for i in range(n_words)], ["tag"] * n_words


def best_of_all(values: list[float], trees: list[Node], symbols: SymbolTable) -> dict[Tree, float]:
    """The finite value of each different tree, that of its best derivation."""
    best: dict[Tree, float] = {}
    for node, value in zip(trees, values, strict=True):
        if value > -math.inf:
            (tree,) = drawn(node, symbols)
            best[tree] = max(value, best.get(tree, -math.inf))
    return best


def names_of_trees(forest: Forest, found: KBest) -> list[set[tuple[int, int, int]]]:
    """The items of each tree."""
    names = item_names(forest)
    left, right = children(found.forest)
    trees = []
    for root in found.forest.roots.tolist():
        own, stack = set(), [root]
        while stack:
            node = stack.pop()
            own.add(names[found.item[node]])
            if left[node] >= 0:
                stack += [int(left[node]), int(right[node])]
        trees.append(own)
    return trees


def check(found: KBest, each: Sentence, expected: dict, k: int, slack: float) -> None:
    symbols = each.grammar.backbone.symbols
    trees = found.trees(symbols, *words_of(each.n_words))
    assert len(trees) == min(k, len(expected))
    assert len(set(trees)) == len(trees)
    assert np.all(np.diff(found.value) <= 0.0)
    ranked = sorted(expected.values(), reverse=True)[:k]
    assert close(found.value, ranked, rtol=0.0, atol=slack)
    assert close(found.value, [expected[tree] for tree in trees], rtol=0.0, atol=slack)


@given(sentences(), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 7, MANY]), st.booleans())
def test_any_gains_at_all(each: Sentence, seed: int, k: int, ties: bool):
    pruned = prune(each.grammar.backbone, each.leaves, threshold=0.0)
    assume(pruned is not None)
    forest = pruned.forest
    rng = np.random.default_rng(seed)

    def draw(size: int) -> np.ndarray:
        values = rng.integers(-2, 3, size) / 4 if ties else rng.normal(size=size)
        return np.where(rng.random(size) < 0.05, -np.inf, values)

    gain = Gains(draw(forest.n_items), draw(forest.n_edges), draw(len(forest.roots)))
    items = dict(zip(item_names(forest), gain.item, strict=True))
    edges = dict(zip(edge_names(forest), gain.edge, strict=True))
    roots = dict(zip(forest.item_symbol[forest.roots].tolist(), gain.root, strict=True))
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    values = [
        roots[tree.symbol]
        + sum(items[node.item] for node in tree.nodes())
        + sum(edges[node.edge] for node in tree.nodes() if node.leaf is None)
        for tree in oracle.trees
    ]
    symbols = each.grammar.backbone.symbols
    expected = best_of_all(values, oracle.trees, symbols)
    found = k_best(forest, gain, symbols, k)
    check(found, each, expected, k, 1e-9)
    # The numbers that make up a tree's value are those of its own items.
    weight = rng.normal(size=forest.n_items)
    of_item = dict(zip(item_names(forest), weight, strict=True))
    sums = [sum(of_item[name] for name in own) for own in names_of_trees(forest, found)]
    assert close(found.sums(weight), sums, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("objective", [n for n in OBJECTIVES if n not in ("viterbi", "free")])
@given(each=sentences(), k=st.sampled_from([3, 10]))
def test_decoders_give_the_best_of_all_trees(objective: str, each: Sentence, k: int):
    pruned = prune(each.grammar.backbone, each.leaves, threshold=0.0)
    assume(pruned is not None)
    oracle = Enumeration(each.grammar, each.oracle_leaves, BRACKET_PRICE)
    assume(oracle.condition < 1e3)
    check_decoder(objective, each, oracle, k)


@pytest.mark.slow
@given(sentences(grammars(signed=False, max_states=1)))
def test_viterbi_gives_the_most_probable_trees(each: Sentence):
    grammar = one_state(each.grammar.backbone)
    oracle = Enumeration(grammar, each.oracle_leaves)
    assume(oracle.trees)
    check_decoder("viterbi", each._replace(grammar=grammar), oracle, 8)


def check_decoder(objective: str, each: Sentence, oracle: Enumeration, k: int) -> None:
    grammar, symbols = each.grammar, each.grammar.backbone.symbols
    forest = prune(grammar.backbone, each.leaves, threshold=0.0).forest
    gain = gains(objective, forest, inside_outside(forest, grammar), grammar)
    values = [oracle.objective(objective, tree) for tree in oracle.trees]
    found = k_best(forest, gain, symbols, k)
    slack = 1e-8 * (1.0 + max(map(abs, values)))
    if objective == "brackets":
        # What breaks ties may cost up to its own size.
        largest = max(map(abs, oracle.edges.values()), default=0.0)
        slack += 1e-6 * each.n_words * largest
    check(found, each, best_of_all(values, oracle.trees, symbols), k, slack)
    first = decode(forest, gain, symbols, words_of(each.n_words)[0])
    assert first is not None
    assert close(found.value[0], first.value, rtol=1e-12, atol=1e-12)
    assert names_of_trees(forest, found)[0] == {item_names(forest)[item] for item in first.items}
    for fewer in range(1, k):
        head = k_best(forest, gain, symbols, fewer)
        assert head.value.tolist() == found.value[:fewer].tolist()
        assert names_of_trees(forest, head) == names_of_trees(forest, found)[:fewer]


@given(sentences(), st.sampled_from([1, 6, MANY]))
def test_free_trees_are_the_best_of_all_bracketings(each: Sentence, k: int):
    pruned = prune(each.grammar.backbone, each.leaves, threshold=0.0)
    assume(pruned is not None)
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    assume(oracle.condition < 1e3)
    symbols, n_words = each.grammar.backbone.symbols, each.n_words
    best: dict[tuple[int, int], tuple[float, int]] = {}
    for (symbol, start, end), value in oracle.items.items():
        if end - start < n_words or each.grammar.backbone.root[symbol] > 0:
            best[start, end] = max(best.get((start, end), (0.0, -1)), (abs(value), symbol))

    def over(start: int, end: int) -> list[tuple[list[Tree], float]]:
        value, symbol = best.get((start, end), (0.0, -1))
        inner = [
            ([*left, *right], one + other)
            for split in range(start + 1, end)
            for left, one in over(start, split)
            for right, other in over(split, end)
        ]
        is_root = end - start == n_words
        return [
            (parts if symbol < 0 else under(symbols[symbol], parts, is_root=is_root), value + below)
            for parts, below in (inner or [([word(start)], 0.0)])
        ]

    expected: dict[Tree, float] = {}
    for (tree,), value in over(0, n_words):
        expected[tree] = max(value, expected.get(tree, -math.inf))
    marginals = inside_outside(pruned.forest, each.grammar)
    gain = gains("free", pruned.forest, marginals, each.grammar)
    found = k_best(pruned.forest, gain, symbols, k)
    check(found, each, expected, k, 1e-8)
    first = decode(pruned.forest, gain, symbols, words_of(n_words)[0])
    assert close(found.value[0], first.value, rtol=1e-12)
    sizes = np.ones(pruned.forest.n_items)
    assert found.sums(sizes)[0] == np.sum(first.items >= 0)


@pytest.mark.slow
@given(sentences())
def test_trees_that_share_nodes_have_their_own_values(each: Sentence):
    pruned = prune(each.grammar.backbone, each.leaves, threshold=0.0)
    assume(pruned is not None)
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    assume(oracle.condition < 1e3)
    marginals = inside_outside(pruned.forest, each.grammar)
    gain = gains("rules", pruned.forest, marginals, each.grammar)
    found = k_best(pruned.forest, gain, each.grammar.backbone.symbols, 20)
    known = {
        frozenset(node.item for node in tree.nodes()): value
        for tree, value in zip(oracle.trees, oracle.values, strict=True)
    }
    values = on_trees(found.forest, each.grammar)
    for own, value in zip(names_of_trees(pruned.forest, found), values, strict=True):
        expected = known[frozenset(own)]
        assert close(value.sign * math.exp(value.log_value), expected, rtol=1e-9, atol=1e-14)


# More trees than any list could hold -------------------------------------------------------


def ambiguous(n_words: int) -> tuple[Forest, Gains, SymbolTable]:
    """All bracketings of a row of equal words."""
    grammar = one_state(bracketings())
    forest = prune(
        grammar.backbone, sentence(grammar, [0] * n_words, [[0]] * n_words).leaves
    ).forest
    marginals = inside_outside(forest, grammar)
    return forest, gains("rules", forest, marginals, grammar), grammar.backbone.symbols


def test_a_forest_of_exponentially_many_trees_answers():
    forest, gain, symbols = ambiguous(LONG)
    found = k_best(forest, gain, symbols, 50)
    trees = found.trees(symbols, *words_of(LONG))
    assert len(set(trees)) == 50
    assert np.all(np.diff(found.value) <= 0.0)
    # Trees share nearly all nodes, of which each alone has 2 n - 1.
    assert len(found.item) < 50 * LONG


def test_a_forest_is_exhausted():
    forest, gain, symbols = ambiguous(8)
    found = k_best(forest, gain, symbols, MANY)
    catalan = math.comb(14, 7) // 8
    assert len(set(found.trees(symbols, *words_of(8)))) == len(found.value) == catalan


def test_a_table_that_is_too_small_grows(monkeypatch):
    forest, gain, symbols = ambiguous(8)
    expected = k_best(forest, gain, symbols, 200)
    sizes = []

    class Cramped(KBestRows):
        @classmethod
        def empty(cls, n_rows: int) -> KBestRows:
            sizes.append(n_rows if sizes else forest.n_items + 1)
            return KBestRows(*super().empty(sizes[-1]))

    monkeypatch.setattr(module, "KBestRows", Cramped)
    found = k_best(forest, gain, symbols, 200)
    assert len(sizes) > 2
    assert found.value.tolist() == expected.value.tolist()
    words = words_of(8)
    assert found.trees(symbols, *words) == expected.trees(symbols, *words)


def test_trees_under_all_their_tags_are_one_tree():
    # 4^12 taggings of each bracketing.
    table = SymbolTable.of(
        [Symbol("interminal", ("X",)), *(Symbol("preterminal", (tag,)) for tag in "abcd")]
    )
    assert len(set(table.chain_number.tolist())) == 2
    lexicon = Lexicon(("w", UNKNOWN), LexiconOptions(rare_threshold=0))
    tags = np.arange(1, 5, dtype=np.int32)
    words = WordTable(table, lexicon, np.zeros(4, np.int32), tags, np.arange(1.0, 5.0))
    left, right = (side.ravel().astype(np.int32) for side in np.divmod(np.arange(25), 5))
    root = np.array([1.0, 0, 0, 0, 0])
    backbone = PCFG(words, np.zeros(25, np.int32), left, right, np.linspace(0.01, 0.03, 25), root)
    grammar = one_state(backbone)
    for n_words, k, expected in ((4, MANY, 5), (12, 30, 30)):
        each = sentence(grammar, [0] * n_words, [[0, 1, 2, 3]] * n_words)
        forest = prune(backbone, each.leaves, threshold=0.0).forest
        gain = gains("viterbi", forest, inside_outside(forest, grammar), grammar)
        found = k_best(forest, gain, table, k)
        own = found.trees(table, words_of(n_words)[0])
        assert len({tuple(tree.spans()) for tree in own}) == len(own) == expected
        # Each has the best of its tags.
        first = decode(forest, gain, table, words_of(n_words)[0])
        assert own[0].tags() == [s.label for s in first.tree.symbols if s.kind == "preterminal"]


def test_nothing_finite_gives_no_tree():
    forest, gain, symbols = ambiguous(3)
    hopeless = gain._replace(item=np.full(forest.n_items, -np.inf))
    found = k_best(forest, hopeless, symbols, 5)
    assert (len(found.value), len(found.item)) == (0, 0)
    assert found.trees(symbols, *words_of(3)) == []
