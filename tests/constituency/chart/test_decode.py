"""Corners of decoding: nothing to decode, chains that repeat a label, ties, wrong settings."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.constituency.chart.decode import (
    NOTHING,
    Gains,
    Labels,
    bracket_marginals,
    decode,
    gains,
    phrase_chains,
    turned,
)
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals, inside_outside
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import Symbol, unbinarise
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from tests.helpers import close
from tests.oracles.enumeration import Enumeration
from tests.strategies import random_lpcfg, random_pcfg, sentence


def one_word_grammar(*chains: tuple[str, ...]) -> LPCFG:
    """Preterminals that all end in one tag and may all stand alone."""
    table = SymbolTable.of(Symbol("preterminal", chain) for chain in chains)
    lexicon = Lexicon(("w", UNKNOWN), LexiconOptions(rare_threshold=0))
    n = len(table)
    words = WordTable(
        table, lexicon, np.zeros(n, np.int32), np.arange(n, dtype=np.int32), np.ones(n)
    )
    none = np.zeros(0, dtype=np.int32)
    return one_state(PCFG(words, none, none, none, np.zeros(0), np.full(n, 1.0 / n)))


def choice(grammar: LPCFG, objective: str, **options: bool):
    each = sentence(grammar, [0], [[0]])
    forest = prune(grammar.backbone, each.leaves, 0.0).forest
    marginals = inside_outside(forest, grammar)
    found = gains(objective, forest, marginals, grammar, **options)
    return decode(forest, found, grammar.backbone.symbols, ["w"])


def with_roots(grammar: LPCFG, weights: dict[tuple[str, ...], float]) -> LPCFG:
    root = np.array([weights[symbol.chain] for symbol in grammar.backbone.symbols.symbols])
    return LPCFG(grammar.backbone, grammar.parameters._replace(root=root), signed=True)


def test_chain_with_a_label_twice_counts_it_as_often_as_it_can_match():
    # A lower price than usual, so that the double chain is worth its three brackets.
    price = 0.4
    # NP over NP matches another NP over NP twice, and a single NP once.
    double, single, other = ("NP", "S", "NP", "t"), ("NP", "t"), ("VP", "t")
    grammar = with_roots(
        one_word_grammar(double, single, other), {double: 0.45, single: 0.3, other: 0.25}
    )
    found = choice(grammar, "brackets", price=price)
    each = sentence(grammar, [0], [[0]])
    oracle = Enumeration(grammar, each.oracle_leaves, price)
    # The double chain expects 0.45 * 3 + 0.3 brackets and pays for three.
    assert close(oracle.best("brackets"), 1.65 - 3 * price, rtol=1e-12)
    assert close(found.value, oracle.best("brackets"), rtol=1e-9)


def test_max_rule_has_no_tree_when_every_tree_has_a_part_of_no_worth():
    first, second = ("A", "t"), ("B", "t")
    grammar = with_roots(one_word_grammar(first, second), {first: 1.5, second: -0.5})
    assert choice(grammar, "max-rule").tree.symbols[0].chain == first
    assert choice(grammar, "max-rule", absolute=False).tree.symbols[0].chain == first
    each = sentence(grammar, [0], [[0]])
    forest = prune(grammar.backbone, each.leaves, 0.0).forest
    marginals = inside_outside(forest, grammar)
    only_second = forest._replace(roots=forest.roots[1:])
    found = gains("max-rule", only_second, marginals, grammar, absolute=False)
    assert decode(only_second, found, grammar.backbone.symbols, ["w"]) is None


def test_logarithm_of_nothing_is_minus_infinity():
    first, second = ("A", "t"), ("B", "t")
    grammar = with_roots(one_word_grammar(first, second), {first: 1.0, second: 0.0})
    each = sentence(grammar, [0], [[0]])
    forest = prune(grammar.backbone, each.leaves, 0.0).forest
    found = gains("max-rule", forest, inside_outside(forest, grammar), grammar)
    assert found.item.tolist() == [0.0, -np.inf]


def test_negative_marginals_count_by_their_size_unless_told_not_to():
    first, second, third = ("A", "t"), ("B", "t"), ("C", "t")
    weights = {first: 3.0, second: -3.5, third: 1.5}
    grammar = with_roots(one_word_grammar(first, second, third), weights)
    for objective in ("rules", "spans", "brackets", "max-rule"):
        assert choice(grammar, objective).tree.symbols[0].chain == second
        assert choice(grammar, objective, absolute=False).tree.symbols[0].chain == first


def test_ties_go_to_the_first():
    grammar = one_word_grammar(("B", "t"), ("A", "t"))
    assert choice(grammar, "spans").tree.symbols[0].chain == ("A", "t")


def test_nothing_finite_gives_no_tree():
    grammar = one_word_grammar(("A", "t"))
    each = sentence(grammar, [0], [[0]])
    forest = prune(grammar.backbone, each.leaves, 0.0).forest
    hopeless = Gains(np.full(1, -np.inf), np.zeros(0), np.zeros(1))
    assert decode(forest, hopeless, grammar.backbone.symbols, ["w"]) is None
    no_root = forest._replace(roots=forest.roots[:0])
    fine = Gains(np.zeros(1), np.zeros(0), np.zeros(0))
    assert decode(no_root, fine, grammar.backbone.symbols, ["w"]) is None


def test_a_free_tree_needs_a_symbol_over_each_word_and_one_for_the_root():
    grammar = random_lpcfg(
        np.random.default_rng(1), random_pcfg(np.random.default_rng(0), 2, 2, 4), 2,
        signed=True, samples=0.0,
    )  # fmt: skip
    each, words = sentence(grammar, [0, 1, 0], [[0], [0], [0]]), ["a", "b", "c"]
    forest = prune(grammar.backbone, each.leaves, 0.0).forest
    found = gains("free", forest, inside_outside(forest, grammar), grammar)
    symbols = grammar.backbone.symbols
    assert decode(forest, found, symbols, words).tree.words == words

    def part(kept: np.ndarray) -> Forest:
        """Some of the items, which are all that free decoding looks at."""
        roots = np.flatnonzero(np.isin(np.flatnonzero(kept), forest.roots)).astype(np.int32)
        arrays = [np.ascontiguousarray(array[kept]) for array in forest[:5]]
        return Forest(*arrays, *forest[5:-1], roots)

    at_second = (forest.item_start == 1) & (forest.item_end == 2)
    for kept in (~at_second, np.arange(forest.n_items) < 3, np.zeros(forest.n_items, dtype=bool)):
        some = part(kept)
        own = Gains(found.item[kept], found.edge, np.zeros(len(some.roots)), free=True)
        assert decode(some, own, symbols, words) is None
    # Nothing but words and a root is enough.
    width = forest.item_end - forest.item_start
    some = part(width != 2)
    own = Gains(found.item[width != 2], found.edge, np.zeros(len(some.roots)), free=True)
    tree = decode(some, own, symbols, words).tree
    assert tree.symbols.count(NOTHING) == 1
    assert len(unbinarise(tree).children) == 3


def test_phrase_labels():
    table = SymbolTable.of(
        [
            Symbol("preterminal", ("NP", "S", "t")),
            Symbol("preterminal", ("t",)),
            Symbol("intermediate", ("NP",)),
            Symbol("interminal", ("S", "VP")),
        ]
    )
    start, label = table.label_start, table.phrase_label
    kinds = [symbol.kind for symbol in table.symbols]
    assert kinds == ["intermediate", "interminal", "preterminal", "preterminal"]
    # S VP, NP S; the labels are numbered as they come.
    assert start.tolist() == [0, 0, 2, 4, 4]
    assert label.tolist() == [0, 1, 2, 0]


def test_chains_that_differ_in_their_tag_alone_have_one_number():
    symbols = [
        Symbol("preterminal", ("NP", "t")),
        Symbol("preterminal", ("NP", "u")),
        Symbol("preterminal", ("u",)),
        Symbol("intermediate", ("NP",)),
        Symbol("interminal", ("NP",), ("S",)),
        Symbol("interminal", ("NP", "t")),
    ]
    table = SymbolTable.of(symbols)
    numbers = [int(table.chain_number[table.number(symbol)]) for symbol in symbols]
    phrase, tag, other = numbers[0], numbers[2], numbers[5]
    assert numbers == [phrase, phrase, tag, -phrase, phrase, other]
    assert len({phrase, tag, other}) == 3
    assert min(phrase, tag, other) > 0


def test_phrase_chains():
    symbols = [
        Symbol("preterminal", ("NP", "S", "t")),
        Symbol("preterminal", ("t",)),
        Symbol("intermediate", ("NP",)),
        Symbol("interminal", ("S", "VP"), ("S",)),
    ]
    table = SymbolTable.of(symbols)
    chains = dict(zip(table.symbols, phrase_chains(table), strict=True))
    assert [chains[symbol] for symbol in symbols] == [("NP", "S"), (), (), ("S", "VP")]


def test_labels_are_numbered_by_span_and_sums_are_over_them():
    # Kinds: A; none; A over B.  Items: A over 0..1, A B over 0..1, none, A over 1..2, A B there.
    kind, start, end = np.array([[0, 2, 1, 0, 2], [0, 0, 0, 1, 1], [1, 1, 2, 2, 2]])
    labels = Labels.over(kind, start, end, np.array([0, 1, 1, 3]), np.array([7, 7, 8]))
    assert labels.first.tolist() == [0, 1, 3, 3, 4, 6]
    assert labels.item.tolist() == [0, 1, 1, 3, 4, 4]
    a, same, b, other, again, last = labels.bracket.tolist()
    assert a == same
    assert other == again
    assert len({a, b, other, last}) == 4
    weight = np.array([1.0, 2.0, 64.0, 4.0, 8.0])
    assert labels.sums(weight).tolist() == [3, 3, 2, 12, 12, 8]
    assert labels.gain(weight, 0.5).tolist() == [2.5, 4, 0, 11.5, 19]


def test_labels_of_a_forest_may_be_made_once():
    grammar = one_word_grammar(("A", "B", "t"), ("A", "t"), ("t",))
    each = sentence(grammar, [0], [[0]])
    forest = prune(grammar.backbone, each.leaves, 0.0).forest
    symbols = grammar.backbone.symbols
    labels = Labels.of(forest, symbols)
    for weights in ((0.5, 0.3, 0.2), (-0.5, 1.0, 0.5)):
        own = with_roots(
            grammar, dict(zip([("A", "B", "t"), ("A", "t"), ("t",)], weights, strict=True))
        )
        marginals = inside_outside(forest, own)
        found = gains("brackets", forest, marginals, own, labels=labels)
        anew = gains("brackets", forest, marginals, own)
        assert [part.tolist() for part in found[:3]] == [part.tolist() for part in anew[:3]]
        both = [abs(weights[0]), abs(weights[0]) + abs(weights[1])]
        top = list(symbols.symbols).index(Symbol("preterminal", ("A", "B", "t")))
        assert close(found.item[forest.item_symbol.tolist().index(top)], sum(both) - 1, rtol=1e-12)
        items = np.flatnonzero(forest.item_symbol == top).astype(np.int32)
        # B before A, each cut to what can be a probability.
        expected = np.clip([weights[0], weights[0] + weights[1]], 0, 1)
        for given in (labels, None):
            sure = bracket_marginals(items, forest, marginals, symbols, given)
            assert close(sure, expected, rtol=1e-12)


def test_turned_marginals():
    marginals = Marginals(np.array([1.5, -0.5]), np.array([-2.0]), 0.0, -1)
    assert turned(marginals).item.tolist() == [1.5, 0.5]
    assert turned(marginals).edge.tolist() == [2.0]
    assert turned(marginals, absolute=False).item.tolist() == [-1.5, 0.5]
    assert turned(marginals, absolute=False).edge.tolist() == [2.0]


def test_wrong_settings_are_named():
    grammar = one_word_grammar(("A", "t"))
    with pytest.raises(SettingsError, match=r"objective is 'best'; it must be one of rules, spans"):
        choice(grammar, "best")
    rng = np.random.default_rng(0)
    backbone = random_pcfg(rng, 1, 1, 0)
    many = random_lpcfg(np.random.default_rng(2), backbone, 3, signed=False, samples=0.0)
    assert many.n_states.max() > 1
    each = sentence(many, [0, 0], [[0], [0]])
    forest = prune(backbone, each.leaves, 0.0).forest
    marginals = inside_outside(forest, many)
    with pytest.raises(SettingsError, match="viterbi requires one latent state per symbol"):
        gains("viterbi", forest, marginals, many)
