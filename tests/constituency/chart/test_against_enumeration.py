"""Chart and decoders against a list of all trees, for sentences of one to six words."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigentree.constituency.chart.decode import (
    BRACKET_PRICE,
    NOTHING,
    OBJECTIVES,
    bracket_marginals,
    decode,
    gains,
)
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals, inside_outside
from eigentree.constituency.chart.pruning import NEGLIGIBLE, link, prune
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.treebank.binarise import BinaryTree, unbinarise
from tests.helpers import close
from tests.oracles.enumeration import Enumeration, Node, Numbers, coarse_value, value_by_states
from tests.strategies import Sentence, grammars, sentences

ROUNDING = 1e-11


def item_names(forest: Forest) -> list[tuple[int, int, int]]:
    return list(
        zip(
            forest.item_symbol.tolist(),
            forest.item_start.tolist(),
            forest.item_end.tolist(),
            strict=True,
        )
    )


def edge_names(forest: Forest) -> list[tuple[int, int, int, int]]:
    """Rule, start, split and end of each edge, checked against the item that it builds."""
    names = []
    for item, (_, start, end) in enumerate(item_names(forest)):
        for group in range(forest.item_groups[item], forest.item_groups[item + 1]):
            for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
                left, right = forest.edge_left[edge], forest.edge_right[edge]
                assert forest.item_start[left] == start
                assert forest.item_end[left] == forest.item_start[right]
                assert forest.item_end[right] == end
                rule = int(forest.group_rule[group])
                names.append((rule, start, int(forest.item_end[left]), end))
    assert len(names) == forest.n_edges
    return names


def same(names: list, values: np.ndarray, expected: dict, tolerance: float) -> bool:
    assert len(set(names)) == len(names)
    assert set(names) == set(expected)
    return close(values, [expected[name] for name in names], rtol=tolerance, atol=tolerance)


@given(sentences(grammars(max_states=3), max_words=3))
def test_pushing_sums_inwards_is_summing_over_all_states(sentence: Sentence):
    oracle = Enumeration(sentence.grammar, sentence.oracle_leaves)
    numbers = Numbers(sentence.grammar)
    for tree, value in list(zip(oracle.trees, oracle.values, strict=True))[:20]:
        slow = value_by_states(tree, numbers)
        assert close(value, slow, rtol=1e-9, atol=1e-12)


@given(sentences())
def test_coarse_marginals(sentence: Sentence):
    backbone = sentence.grammar.backbone
    oracle = Enumeration(one_state(backbone), sentence.oracle_leaves)
    for tree, value in zip(oracle.trees, oracle.values, strict=True):
        assert close(value, coarse_value(tree, backbone), rtol=1e-12)
    pruned = prune(backbone, sentence.leaves, threshold=0.0)
    if not oracle.trees:
        assert pruned is None
        return
    assert pruned is not None
    assert same(item_names(pruned.forest), pruned.marginal, oracle.items, ROUNDING)
    assert set(edge_names(pruned.forest)) == set(oracle.edges)
    assert close(pruned.log_value, math.log(oracle.total), rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@given(sentences())
def test_forest_knows_words_and_roots(sentence: Sentence):
    backbone = sentence.grammar.backbone
    pruned = prune(backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    forest = pruned.forest
    leaves = {
        (leaf.symbol, i, i + 1): leaf
        for i, own in enumerate(sentence.oracle_leaves)
        for leaf in own
    }
    for item, name in enumerate(item_names(forest)):
        leaf = leaves.get(name)
        assert forest.item_entry[item] == (leaf.entry if leaf else -2)
        assert forest.item_weight[item] == (leaf.weight if leaf else 0.0)
    tops = [
        item
        for item, (symbol, start, end) in enumerate(item_names(forest))
        if end - start == sentence.n_words and backbone.root[symbol] > 0
    ]
    assert forest.roots.tolist() == tops
    below = np.concatenate([forest.edge_left, forest.edge_right])
    above = np.repeat(np.arange(forest.n_items), np.diff(forest.item_groups))
    above = np.repeat(above, np.diff(forest.group_edges))
    assert np.all(below < np.tile(above, 2))


@given(sentences(), st.sampled_from([0.01, 0.2, 0.6]))
def test_items_below_the_threshold_are_gone_with_their_edges(sentence: Sentence, threshold: float):
    backbone = sentence.grammar.backbone
    oracle = Enumeration(one_state(backbone), sentence.oracle_leaves)
    assume(oracle.trees)
    assume(min(abs(value - threshold) for value in oracle.items.values()) > 1e-9)
    pruned = prune(backbone, sentence.leaves, threshold=threshold, beam=0.0)
    # Items far below the threshold are left out while marginals are summed.  Each takes no more
    # than its own marginal from any other, which so may fall below the threshold itself.
    negligible = NEGLIGIBLE * threshold
    lost = sum(min(value, negligible) for value in oracle.items.values())
    sure = {name for name, value in oracle.items.items() if value - lost >= threshold}
    assert pruned is not None
    kept = set(item_names(pruned.forest))
    assert sure <= kept <= {name for name, value in oracle.items.items() if value >= threshold}
    expected = np.array([oracle.items[name] for name in item_names(pruned.forest)])
    assert np.all(pruned.marginal <= expected + 1e-9)
    assert np.all(pruned.marginal >= expected - lost - 1e-9)
    rules = zip(
        backbone.parent.tolist(), backbone.left.tolist(), backbone.right.tolist(), strict=True
    )
    between = {
        (rule, start, split, end)
        for rule, (a, b, c) in enumerate(rules)
        for (symbol, start, end) in kept
        if symbol == a
        for split in range(start + 1, end)
        if (b, start, split) in kept and (c, split, end) in kept
    }
    assert set(edge_names(pruned.forest)) == between


@given(st.sampled_from([0.0, 0.7]).flatmap(lambda counts: sentences(grammars(counts=counts))))
def test_latent_marginals(sentence: Sentence):
    pruned = prune(sentence.grammar.backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    oracle = Enumeration(sentence.grammar, sentence.oracle_leaves)
    assume(oracle.condition < 1e4)
    marginals = inside_outside(pruned.forest, sentence.grammar)
    assert marginals is not None
    tolerance = ROUNDING * max(1.0, oracle.condition) * 10
    assert same(item_names(pruned.forest), marginals.item, oracle.items, tolerance)
    assert same(edge_names(pruned.forest), marginals.edge, oracle.edges, tolerance)
    assert close(marginals.log_value, math.log(abs(oracle.total)), rtol=tolerance, atol=tolerance)
    assert marginals.sign == (1 if oracle.total > 0 else -1)


@pytest.mark.slow
@given(sentences(), st.sampled_from([0.05, 0.3]))
def test_marginals_of_a_pruned_forest(sentence: Sentence, threshold: float):
    pruned = prune(sentence.grammar.backbone, sentence.leaves, threshold=threshold)
    assume(pruned is not None)
    names = item_names(pruned.forest)
    oracle = Enumeration(sentence.grammar, sentence.oracle_leaves).within(set(names))
    marginals = inside_outside(pruned.forest, sentence.grammar)
    if not oracle.trees:
        assert marginals is None
        return
    assume(oracle.condition < 1e4)
    tolerance = ROUNDING * max(1.0, oracle.condition) * 10
    expected = [oracle.items.get(name, 0.0) for name in names]
    assert close(marginals.item, expected, rtol=tolerance, atol=tolerance)
    edges = edge_names(pruned.forest)
    expected = [oracle.edges.get(name, 0.0) for name in edges]
    assert close(marginals.edge, expected, rtol=tolerance, atol=tolerance)
    words = [str(i) for i in range(sentence.n_words)]
    own = gains("rules", pruned.forest, marginals, sentence.grammar)
    found = decode(pruned.forest, own, sentence.grammar.backbone.symbols, words)
    assert close(found.value, oracle.best("rules"), rtol=1e-8, atol=1e-8)


@given(sentences(grammars(signed=False)))
def test_marginals_are_probabilities_when_values_are(sentence: Sentence):
    pruned = prune(sentence.grammar.backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    marginals = inside_outside(pruned.forest, sentence.grammar)
    assert marginals is not None
    assert marginals.item.min() >= 0.0
    assert marginals.item.max() <= 1.0 + 1e-12
    assert close(marginals.item[pruned.forest.roots].sum(), 1.0, rtol=1e-12)
    over_word = defaultdict(float)
    for (_, start, end), value in zip(item_names(pruned.forest), marginals.item, strict=True):
        if end == start + 1:
            over_word[start] += value
    assert close(list(over_word.values()), np.ones(sentence.n_words), rtol=1e-12)


def as_node(tree: BinaryTree, items: np.ndarray, oracle: Enumeration) -> Node:
    """The tree of the oracle's list that a decoder chose, told apart by its items."""
    symbols = oracle.grammar.backbone.symbols
    names = []
    spans: list[tuple[int, int]] = []
    position = 0
    for node, symbol in enumerate(tree.symbols):
        if tree.left[node] < 0:
            spans.append((position, position + 1))
            position += 1
        else:
            spans.append((spans[tree.left[node]][0], spans[tree.right[node]][1]))
        names.append((symbols.number(symbol), *spans[node]))
    found = [each for each in oracle.trees if {node.item for node in each.nodes()} == set(names)]
    assert len(found) == 1
    assert len(items) == len(names)
    return found[0]


# Expected brackets also count rules, so little that only ties are decided by it.
TIE_BREAK = {"brackets": 1e-6}


@pytest.mark.slow
@pytest.mark.parametrize("objective", [n for n in OBJECTIVES if n not in ("viterbi", "free")])
@given(sentence=sentences())
def test_decoders_find_the_best_tree(objective: str, sentence: Sentence):
    pruned = prune(sentence.grammar.backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    oracle = Enumeration(sentence.grammar, sentence.oracle_leaves, BRACKET_PRICE)
    assume(oracle.condition < 1e3)
    check_decoder(objective, sentence, oracle)


@given(sentence=sentences())
def test_free_decoding_finds_the_best_bracketing(sentence: Sentence):
    pruned = prune(sentence.grammar.backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    oracle = Enumeration(sentence.grammar, sentence.oracle_leaves)
    assume(oracle.condition < 1e3)
    check_free_decoding(sentence, pruned.forest, oracle.items)


@given(sentence=sentences(), seed=st.integers(0, 2**32 - 1), absolute=st.booleans())
def test_free_decoding_of_any_marginals(sentence: Sentence, seed: int, absolute: bool):
    """Items that belong to no tree together, spans without any, marginals of both signs."""
    pruned = prune(sentence.grammar.backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    rng = np.random.default_rng(seed)
    whole = item_names(pruned.forest)
    kept = [
        name for name in whole if name[2] - name[1] in (1, sentence.n_words) or rng.random() < 0.5
    ]
    kept += [(0, i, i + 2) for i in range(sentence.n_words - 2) if rng.random() < 0.5]
    # Over the whole also symbols that may not stand at the root.
    n_inner = int(np.sum(sentence.grammar.backbone.symbols.tag < 0))
    kept += [(a, 0, sentence.n_words) for a in range(n_inner) if sentence.n_words > 1]
    kept = sorted(set(kept), key=lambda name: (name[2] - name[1], name[1], name[0]))
    spans = [
        (i, i + w) for w in range(1, sentence.n_words + 1) for i in range(sentence.n_words + 1 - w)
    ]
    sizes = [sum(name[1:] == span for name in kept) for span in spans]
    forest = link(
        sentence.grammar.backbone, sentence.leaves,
        np.cumsum([0, *sizes]).astype(np.int32), np.array([a for a, _, _ in kept], dtype=np.int32),
    )  # fmt: skip
    marginals = dict(zip(kept, rng.normal(size=len(kept)), strict=True))
    check_free_decoding(sentence, forest, marginals, absolute=absolute)


def check_free_decoding(
    sentence: Sentence,
    forest: Forest,
    marginals: dict[tuple[int, int, int], float],
    *,
    absolute: bool = True,
) -> None:
    """Compare with all choices of at most one symbol for each span of all bracketings."""
    names, n = item_names(forest), sentence.n_words
    values = Marginals(
        np.array([marginals[name] for name in names]), np.zeros(forest.n_edges), 0.0, 1
    )
    worth = {name: abs(value) if absolute else value for name, value in marginals.items()}
    roots = {names[item] for item in forest.roots}
    choices = {}
    for start, end in combinations(range(n + 1), 2):
        own = [worth[name] for name in names if name[1:] == (start, end)]
        if end - start == n:
            own = [worth[name] for name in roots]
        choices[start, end] = own if end - start in (1, n) else [0.0, *own]
    best = max(
        sum(max(choices[span]) for span in bracketing) for bracketing in all_bracketings(0, n)
    )
    grammar, words = sentence.grammar, [f"word{i}" for i in range(n)]
    own = gains("free", forest, values, grammar, absolute=absolute)
    found = decode(forest, own, grammar.backbone.symbols, words)
    assert found is not None
    assert close(found.value, best, rtol=1e-8, atol=1e-8)
    chosen = [names[item] for item in found.items if item >= 0]
    assert close(sum(worth[name] for name in chosen), best, rtol=1e-8, atol=1e-8)
    assert chosen[-1] in roots

    tree, spans = found.tree, []
    for node, (symbol, item) in enumerate(zip(tree.symbols, found.items, strict=True)):
        left, right = tree.left[node], tree.right[node]
        position = sum(end - start == 1 for start, end in spans)
        spans.append((position, position + 1) if left < 0 else (spans[left][0], spans[right][1]))
        if left >= 0:
            assert spans[left][1] == spans[right][0]
        if item >= 0:
            assert names[item] == (grammar.backbone.symbols.number(symbol), *spans[node])
        else:
            assert symbol == NOTHING
    assert set(spans) in [set(bracketing) for bracketing in all_bracketings(0, n)]
    plain = unbinarise(tree)
    assert plain.words() == words
    assert plain.tags() == [s.label for s in tree.symbols if s.kind == "preterminal"]
    # These grammars may have a part of a phrase for a root, which parsers refuse.
    n_phrases = len(plain.spans()) - (tree.symbols[-1].kind == "intermediate")
    symbols = grammar.backbone.symbols
    assert len(bracket_marginals(found.items, forest, values, symbols)) == n_phrases


def all_bracketings(start: int, end: int) -> list[list[tuple[int, int]]]:
    """The spans of every binary bracketing of some words."""
    if end - start == 1:
        return [[(start, end)]]
    return [
        [(start, end), *left, *right]
        for split in range(start + 1, end)
        for left in all_bracketings(start, split)
        for right in all_bracketings(split, end)
    ]


@pytest.mark.slow
@given(sentence=sentences(grammars(signed=False, max_states=1)))
def test_viterbi_finds_the_most_probable_tree(sentence: Sentence):
    grammar = one_state(sentence.grammar.backbone)
    oracle = Enumeration(grammar, sentence.oracle_leaves)
    assume(oracle.trees)
    check_decoder("viterbi", sentence._replace(grammar=grammar), oracle)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [0.0, 0.7])
@given(data=st.data())
def test_viterbi_reads_the_grammar_and_not_its_backbone(data: st.DataObject, counts: float):
    sentence = data.draw(sentences(grammars(signed=False, max_states=1, counts=counts)))
    oracle = Enumeration(sentence.grammar, sentence.oracle_leaves)
    assume(oracle.trees)
    check_decoder("viterbi", sentence, oracle)


def check_decoder(objective: str, sentence: Sentence, oracle: Enumeration) -> None:
    grammar = sentence.grammar
    forest = prune(grammar.backbone, sentence.leaves, threshold=0.0).forest
    marginals = inside_outside(forest, grammar)
    words = [f"word{i}" for i in range(sentence.n_words)]
    found = decode(
        forest, gains(objective, forest, marginals, grammar), grammar.backbone.symbols, words
    )
    assert found is not None
    assert found.tree.words == words
    best = oracle.best(objective)
    slack = 1e-8 * (1.0 + abs(best))
    # What breaks ties may cost up to its own size.
    n_edges = sentence.n_words - 1
    largest = max(map(abs, oracle.edges.values()), default=0.0)
    slack += TIE_BREAK.get(objective, 0.0) * n_edges * largest
    assert close(found.value, best, rtol=0.0, atol=slack)
    chosen = as_node(found.tree, found.items, oracle)
    assert close(oracle.objective(objective, chosen), best, rtol=0.0, atol=slack)
    assert {node.item for node in chosen.nodes()} == {
        item_names(forest)[item] for item in found.items
    }


@given(sentences(grammars(signed=False)))
def test_bracket_objective_is_the_expected_number_of_right_brackets(sentence: Sentence):
    # For probabilities, gains by items equal the definition of a mean over drawn trees.
    oracle = Enumeration(sentence.grammar, sentence.oracle_leaves)
    assume(oracle.trees)
    for tree in oracle.trees[:6]:
        assert close(
            oracle.objective("brackets", tree), oracle.expected_matches(tree), rtol=1e-9, atol=1e-12
        )


@given(sentences())
def test_absolute_values_can_be_switched_off(sentence: Sentence):
    pruned = prune(sentence.grammar.backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    marginals = inside_outside(pruned.forest, sentence.grammar)
    assume(marginals is not None)
    plain = gains("spans", pruned.forest, marginals, sentence.grammar, absolute=False)
    assert np.array_equal(plain.item, marginals.sign * marginals.item)
    absolute = gains("spans", pruned.forest, marginals, sentence.grammar)
    assert np.array_equal(absolute.item, np.abs(marginals.item))
