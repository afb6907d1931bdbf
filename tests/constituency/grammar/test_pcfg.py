"""The plain PCFG, its words and its symbol table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.grammar.pcfg import PCFG, WORD_SMOOTHING, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import GrammarError, ShapeError
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from tests.helpers import close
from tests.strategies import labels, random_pcfg

SEEDS = st.integers(0, 2**32 - 1)


def table(*pairs: tuple[str, tuple[str, ...], float]) -> WordTable:
    """A word table from (word, preterminal, count)."""
    symbols = SymbolTable.of(Symbol("preterminal", chain) for _, chain, _ in pairs)
    words = sorted({word for word, _, _ in pairs} - {UNKNOWN})
    lexicon = Lexicon((*words, UNKNOWN), LexiconOptions(rare_threshold=0))
    rows = sorted(
        (lexicon.entries.index(word), symbols.number(Symbol("preterminal", chain)), count)
        for word, chain, count in pairs
    )
    word, symbol, count = zip(*rows, strict=True)
    return WordTable(
        symbols,
        lexicon,
        np.array(word, dtype=np.int32),
        np.array(symbol, dtype=np.int32),
        np.array(count),
    )


def test_words_of_one_tag_are_shared_by_its_symbols():
    # N alone saw dog 6 and cat 2 times, NP over N saw dog twice: p(dog | tag) = 8/10.
    words = table(("dog", ("N",), 6.0), ("cat", ("N",), 2.0), ("dog", ("NP", "N"), 2.0))
    assert WORD_SMOOTHING == 10.0
    dog, cat = words.candidates(1, 0), words.candidates(0, 0)
    assert [str(words.symbols[a]) for a in dog.symbol] == ["N", "NP+N"]
    assert close(dog.probability, [(6 + 8) / 18, (2 + 8) / 12], rtol=1e-15)
    assert close(cat.probability, [(2 + 2) / 18, (0 + 2) / 12], rtol=1e-15)
    assert dog.entry.tolist() == [1, 2]
    assert cat.entry.tolist() == [0, -1]
    assert close(words.entry_probability(), [4 / 18, 14 / 18, 10 / 12], rtol=1e-15)
    assert words.symbol_count.tolist() == [8.0, 2.0]


def test_one_symbol_a_tag_is_a_relative_frequency():
    words = table(("dog", ("N",), 6.0), ("cat", ("N",), 2.0), ("runs", ("V",), 3.0))
    assert close(words.entry_probability(), [0.25, 0.75, 1.0], rtol=1e-15)


@given(SEEDS)
def test_seen_words_have_probabilities_that_sum_to_one(seed: int):
    words = random_pcfg(np.random.default_rng(seed), 2, 3, 0).words
    entry = words.entry_probability()
    total = np.zeros(len(words.symbols))
    for word in range(len(words.lexicon)):
        for tag in words.tags_of(word):
            found = words.candidates(word, tag)
            total[found.symbol] += found.probability
            seen = found.entry >= 0
            assert close(found.probability[seen], entry[found.entry[seen]], rtol=1e-14)
            assert np.array_equal(words.word[found.entry[seen]], np.full(seen.sum(), word))
            assert np.array_equal(words.symbol[found.entry[seen]], found.symbol[seen])
    preterminals = words.symbols.tag >= 0
    assert close(total[preterminals], np.ones(preterminals.sum()), rtol=1e-12)


def test_words_new_to_a_tag_count_as_unknown():
    words = table(("dog", ("N",), 6.0), (UNKNOWN, ("N",), 2.0), ("runs", ("V",), 3.0))
    runs = words.lexicon.ids(["x", "runs"])[1]
    n, v = 0, 1
    assert words.tags_of(runs) == [v]
    assert words.candidates(runs, n).probability.tolist() == [0.25]
    assert words.candidates(runs, n).entry.tolist() == [words.lexicon.unknown]
    # V has no unknown words: all its symbols get one value, and no entry.
    new = words.candidates(words.lexicon.unknown, v)
    assert new.entry.tolist() == [-1]
    assert np.all(new.probability > 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"word": np.array([1, 0], np.int32)}, "unsorted or out of range"),
        ({"word": np.array([0, 9], np.int32)}, "unsorted or out of range"),
        ({"word": np.array([0, 0], np.int32)}, "unsorted or out of range"),
        ({"count": np.array([1.0, 0.0])}, "a count that is not positive"),
    ],
)
def test_wrong_word_tables(change: dict, message: str):
    words = table(("a", ("N",), 1.0), ("b", ("N",), 1.0))
    with pytest.raises(GrammarError, match=message):
        replace(words, **change)


def test_words_stand_under_preterminals_only():
    symbols = SymbolTable.of([Symbol("interminal", ("S",))])
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(GrammarError, match="has a symbol that is not a preterminal"):
        WordTable(symbols, Lexicon((UNKNOWN,), LexiconOptions()), one, one, np.ones(1))


@given(SEEDS)
def test_rule_index(seed: int):
    rng = np.random.default_rng(seed)
    pcfg = random_pcfg(rng, 3, 3, int(rng.integers(9)))
    n_symbols = len(pcfg.symbols)
    index = pcfg.index
    rules = list(zip(pcfg.left.tolist(), pcfg.right.tolist(), pcfg.parent.tolist(), strict=True))
    pairs = sorted({rule[:2] for rule in rules})
    assert list(zip(index.pair_left.tolist(), index.pair_right.tolist(), strict=True)) == pairs
    for rule, (b, c, _) in enumerate(rules):
        pair = pairs.index((b, c))
        assert index.rule_pair[rule] == pair
        assert index.rule_start[pair] <= rule < index.rule_start[pair + 1]
    for symbol in range(n_symbols):
        own = range(index.pair_start[symbol], index.pair_start[symbol + 1])
        assert [pairs[p] for p in own] == [pair for pair in pairs if pair[0] == symbol]
        own = index.parent_rules[index.parent_start[symbol] : index.parent_start[symbol + 1]]
        assert own.tolist() == [r for r, rule in enumerate(rules) if rule[2] == symbol]
        own = index.right_pairs[index.right_start[symbol] : index.right_start[symbol + 1]]
        assert own.tolist() == [p for p, pair in enumerate(pairs) if pair[1] == symbol]


def example() -> PCFG:
    return random_pcfg(np.random.default_rng(0), 2, 2, 2)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda g: {"left": g.left[::-1]}, GrammarError, "sorted by left child, right child"),
        (lambda g: {"left": g.left + 99}, GrammarError, "left of a rule ranges from .*; symbols"),
        (
            lambda g: {"parent": np.full_like(g.parent, len(g.symbols) - 1)},
            GrammarError,
            "a preterminal has a binary rule",
        ),
        (lambda g: {"probability": -g.probability}, GrammarError, "probability has a value that"),
        (lambda g: {"root": g.root * np.nan}, GrammarError, "root has a value that is not"),
        (lambda g: {"root": g.root * 0}, GrammarError, "no symbol can be the root"),
        (lambda g: {"root": g.root[:-1]}, ShapeError, "axis 0 of root is N"),
    ],
)
def test_wrong_grammars(change, error, message: str):
    grammar = example()
    with pytest.raises(error, match=message):
        replace(grammar, **change(grammar))


def test_tags_by_number():
    grammar = example()
    assert grammar.symbols.tags == ("t",)
    assert grammar.tag_numbers(["t", "zz", "t"]) == [0, -1, 0]


SYMBOLS = st.builds(
    Symbol,
    st.sampled_from(["preterminal", "interminal", "intermediate"]),
    st.lists(labels(), min_size=1, max_size=3).map(tuple),
    st.lists(labels(), max_size=2).map(tuple),
    st.lists(labels(), max_size=2).map(tuple),
)


@given(st.lists(SYMBOLS, max_size=8))
def test_symbol_table(symbols: list[Symbol]):
    names = SymbolTable.of(symbols)
    assert SymbolTable.of(reversed(symbols)) == names
    assert SymbolTable.from_json(names.to_json()) == names
    assert len(names) == len(set(symbols))
    tags = sorted({symbol.label for symbol in symbols if symbol.kind == "preterminal"})
    assert names.tags == tuple(tags)
    for symbol in symbols:
        number = names.number(symbol)
        assert names[number] == symbol
        assert names.get(symbol) == number
        expected = tags.index(symbol.label) if symbol.kind == "preterminal" else -1
        assert names.tag[number] == expected
    for kind in ("preterminal", "interminal", "intermediate"):
        assert names.of_kind(kind).tolist() == [symbol.kind == kind for symbol in names.symbols]
    assert names.get(Symbol("interminal", ("not there",))) is None


def test_a_symbol_stands_once():
    symbol = Symbol("interminal", ("S",))
    with pytest.raises(GrammarError, match="has a symbol twice; symbols must be distinct"):
        SymbolTable((symbol, symbol))
