"""Prefix probabilities against sums over all sentences, one by one."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.chart import prefix
from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.prefix import LeftCorners, Surprisal
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lexical_candidates import under_seen_tags
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from tests.helpers import close
from tests.oracles.enumeration import Enumeration, Numbers
from tests.strategies import Sentence, grammars, random_lpcfg, random_pcfg

ROOT = Path(__file__).resolve().parents[3]


def surprisal(corners: LeftCorners, words: list[str], tags: list[int] | None = None) -> Surprisal:
    backbone = corners.grammar.backbone
    return corners.surprisal(words, Leaves.of(under_seen_tags(backbone, words, tags)))


def value(grammar: LPCFG, words: list[str]) -> float:
    """The sum over all trees of a sentence, tree by tree."""
    leaves = Leaves.of(under_seen_tags(grammar.backbone, words))
    return Enumeration(grammar, Sentence(grammar, leaves).oracle_leaves).total


def grammar_of(rules: dict[str, float], words: dict[str, float] | None = None) -> PCFG:
    """A grammar from "S A B" or "A word": preterminals are A, B, C, and S is the root.

    Words have no smoothing to speak of: each tag is one preterminal, and shares its words with
    none.
    """
    words = words or {"A a": 1.0, "B b": 1.0}
    names = sorted({name for rule in rules for name in rule.split()} - {w[0] for w in words})
    table = SymbolTable.of(
        [Symbol("interminal", (name,)) for name in names]
        + [Symbol("preterminal", (name,)) for name in sorted({word[0] for word in words})]
    )
    numbers = {str(symbol.chain[0]): table.number(symbol) for symbol in table.symbols}
    triples = sorted(
        (numbers[b], numbers[c], numbers[a], p)
        for (a, b, c), p in ((rule.split(), p) for rule, p in rules.items())
    )
    left, right, parent = (np.array([t[i] for t in triples], dtype=np.int32) for i in range(3))
    forms = sorted({pair.split()[1] for pair in words})
    lexicon = Lexicon((*forms, UNKNOWN), LexiconOptions(rare_threshold=0))
    pairs = sorted((forms.index(w), numbers[a], p) for (a, w), p in map(_pair, words.items()))
    root = np.zeros(len(table))
    root[numbers["S"]] = 1.0
    return PCFG(
        WordTable(
            table,
            lexicon,
            np.array([w for w, _, _ in pairs], dtype=np.int32),
            np.array([a for _, a, _ in pairs], dtype=np.int32),
            np.array([p for _, _, p in pairs]),
        ),
        parent,
        left,
        right,
        np.array([t[3] for t in triples]),
        root,
    )


def _pair(item: tuple[str, float]) -> tuple[list[str], float]:
    return item[0].split(), item[1]


def finite(rng: np.random.Generator) -> PCFG:
    """A random grammar without recursion, normalised, with sentences of two to four words."""
    children = {"S": "TABC", "T": "UABC", "U": "ABC"}
    rules: dict[str, float] = {}
    for parent, below in children.items():
        pairs = [pair for pair in product(below, below) if rng.random() < 0.7] or [("A", "B")]
        pairs = [pair for pair in pairs if pair.count("T") + pair.count("U") < 2] or [("A", "B")]
        for (b, c), p in zip(pairs, rng.dirichlet(np.ones(len(pairs))), strict=True):
            rules[f"{parent} {b} {c}"] = float(p)
    used = {name for rule in rules for name in rule.split()}
    # What no rule has as a child is left out with its own rules.
    rules = {
        rule: p
        for rule, p in rules.items()
        if rule[0] == "S" or (rule[0] == "T" and any("T" in r[1:] for r in rules if r[0] == "S"))
    } | {rule: p for rule, p in rules.items() if rule[0] == "U" and "U" in used}
    words = {f"{a} {w}": float(rng.uniform(1, 9)) for a in "ABC" for w in "xyz" if a + w != "Ax"}
    return grammar_of(rules, words)


def normalised(grammar: LPCFG) -> LPCFG:
    """The same with rules as tensors in full, and choices of each state that sum to 1."""
    backbone, p = grammar.backbone, grammar.parameters
    corners = LeftCorners.of(grammar)
    sums = np.zeros(len(p.root))
    numbers = Numbers(grammar)
    for rule, a in enumerate(backbone.parent.tolist()):
        sums[grammar.states(a)] += numbers.tensors[rule].sum(axis=(1, 2))
    dense = [
        t / sums[grammar.states(int(a))][:, None, None]
        for t, a in zip(numbers.tensors, backbone.parent, strict=True)
    ]
    sizes = np.array([t.size for t in dense])
    n = len(dense)
    mass = np.where(corners.total > 0, prefix._word_mass(grammar), 1.0)
    lexical = [
        grammar.word_vector(entry) / mass[grammar.states(int(symbol))]
        for entry, symbol in enumerate(backbone.words.symbol)
    ]
    root = corners.root / corners.root.sum()
    return LPCFG(
        backbone,
        p._replace(
            dense_start=(np.cumsum(sizes) - sizes).astype(np.int64),
            dense=np.concatenate([t.ravel() for t in dense]),
            n_samples=np.zeros(n, dtype=np.int32),
            sample_start=np.zeros((n, 3), dtype=np.int64),
            lexical=np.concatenate(lexical),
            unseen_word=p.unseen_word / np.where(mass > 0, mass, 1.0),
            root=root,
        ),
        signed=False,
    )


def in_other_bases(grammar: LPCFG, rng: np.random.Generator) -> LPCFG:
    """The same function of trees, with each symbol's states in a basis of its own."""
    backbone, p = grammar.backbone, grammar.parameters
    bases = [rng.standard_normal((k, k)) + 2.0 * np.eye(k) for k in grammar.n_states]
    inverses = [np.linalg.inv(basis) for basis in bases]
    tensors = [
        np.einsum("hij,ah,ib,jc->abc", t, bases[a], inverses[b], inverses[c]).ravel()
        for t, (a, b, c) in zip(Numbers(grammar).tensors, p.rule_symbols, strict=True)
    ]
    lexical = [
        bases[symbol] @ grammar.word_vector(entry)
        for entry, symbol in enumerate(backbone.words.symbol)
    ]
    states = [grammar.states(symbol) for symbol in range(len(bases))]
    return LPCFG(
        backbone,
        p._replace(
            dense=np.concatenate(tensors),
            lexical=np.concatenate(lexical),
            unseen_word=np.concatenate(
                [b @ p.unseen_word[s] for b, s in zip(bases, states, strict=True)]
            ),
            root=np.concatenate([p.root[s] @ i for i, s in zip(inverses, states, strict=True)]),
        ),
        signed=True,
    )


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("states", [1, 3])
def test_prefixes_are_sums_over_all_sentences_of_a_finite_language(seed: int, states: int):
    rng = np.random.default_rng(seed)
    grammar = random_lpcfg(rng, finite(rng), states, signed=False, samples=0.3)
    corners = LeftCorners.of(grammar)
    entries = [entry for entry in grammar.backbone.lexicon.entries if entry != UNKNOWN]
    values = {
        sentence: value(grammar, list(sentence))
        for length in (1, 2, 3, 4)
        for sentence in product(entries, repeat=length)
    }
    possible = [sentence for sentence, mass in values.items() if mass > 0]
    for sentence in [possible[i] for i in rng.integers(len(possible), size=3)]:
        found = surprisal(corners, list(sentence))
        sums = [
            sum(mass for other, mass in values.items() if other[:i] == sentence[:i])
            for i in range(len(sentence) + 1)
        ]
        assert close(np.exp(found.log_prefix), sums, rtol=1e-10)
        assert close(math.exp(found.log_value), values[sentence], rtol=1e-10)


def test_prefixes_of_a_left_recursive_grammar_are_what_algebra_says():
    # S -> S B (p) | A B: a b+, so p(a b^n ...) = p^(n-1) and p(a b^n) = p^(n-1) (1 - p).
    grammar = one_state(grammar_of({"S S B": 0.6, "S A B": 0.4}))
    found = surprisal(LeftCorners.of(grammar), ["a", "b", "b", "b"])
    assert close(np.exp(found.log_prefix), [1.0, 1.0, 1.0, 0.6, 0.36], rtol=1e-12)
    assert close(found.nats, -np.log([1.0, 1.0, 0.6, 0.6, 0.4]), rtol=1e-12, atol=1e-12)
    assert close(found.bits, found.nats / np.log(2), rtol=1e-15)


@pytest.mark.parametrize(
    ("recursive", "begun"), [("S S A", "ba"), ("S A S", "aa"), ("S S S", "ba")]
)
def test_the_sum_over_long_sentences_is_approached(recursive: str, begun: str):
    grammar = one_state(grammar_of({recursive: 0.3, "S A B": 0.5, "S B A": 0.2}))
    corners = LeftCorners.of(grammar)
    whole = math.exp(surprisal(corners, list(begun)).log_prefix[2])
    missing = [whole]
    for length in range(2, 12):
        values = [
            math.exp(surprisal(corners, [*begun, *rest]).log_value)
            for rest in product("ab", repeat=length - 2)
        ]
        missing.append(missing[-1] - sum(values))
    assert missing == sorted(missing, reverse=True)
    assert 0.0 < missing[-1] < 0.05 * whole
    assert missing[-1] < 0.75 * missing[-3]


def test_mass_that_grows_for_ever_is_not_counted():
    # The least solution of e = 1/4 + 3/4 e^2 is 1/3.
    grammar = one_state(grammar_of({"S S S": 0.75, "S A B": 0.25}))
    corners = LeftCorners.of(grammar)
    assert close(corners.total[:1], [1 / 3], rtol=1e-12)
    found = surprisal(corners, ["a", "b"])
    assert close(np.exp(found.log_prefix), [1 / 3, 1 / 3, 1 / 3], rtol=1e-12)


def test_a_grammar_at_the_edge_of_growth_still_has_its_sum():
    corners = LeftCorners.of(one_state(grammar_of({"S S S": 0.5, "S A B": 0.5})))
    assert close(corners.total[:1], [1.0], rtol=1e-6)


def test_a_sum_without_end_is_refused():
    grammar = one_state(grammar_of({"S S S": 0.6, "S A B": 0.6}))
    with pytest.raises(GrammarError, match="sum over all trees"):
        LeftCorners.of(grammar)


def next_words(corners: LeftCorners, words: list[str]) -> float:
    """The probability of all that may follow, entry by entry, and of the end."""
    entries = corners.grammar.backbone.lexicon.entries
    # The class of unknown words is not spelt as any word is.
    following = [surprisal(corners, [*words, e if e != UNKNOWN else "?"]).nats[-2] for e in entries]
    end = surprisal(corners, words).nats[-1]
    return float(np.exp(-np.array([*following, end])).sum())


def small(grammar: LPCFG) -> LPCFG:
    """A grammar with rules so improbable that all sums over its trees have limits."""
    p = grammar.parameters
    # Inside means come to no more than ten, in up to forty rules of a parent.
    return LPCFG(
        grammar.backbone, p._replace(dense=2e-3 * p.dense, ratio=1e-4 * p.ratio), grammar.signed
    )


@given(seeds, st.integers(1, 3))
def test_what_follows_sums_to_one(seed: int, states: int):
    rng = np.random.default_rng(seed)
    backbone = random_pcfg(rng, 2, 3, 4)
    # Not even a grammar whose choices don't sum to 1 loses anything from word to word.
    corners = LeftCorners.of(
        small(random_lpcfg(rng, backbone, states, signed=False, samples=0.5, counts=0.5))
    )
    words = [f"w{n}" for n in rng.integers(4, size=2)]
    if np.isfinite(surprisal(corners, words).log_prefix[2]):
        assert close(next_words(corners, words), 1.0, rtol=1e-9)


@pytest.mark.slow
@given(seeds)
def test_normalised_grammars_have_ones_below_and_one_in_all(seed: int):
    rng = np.random.default_rng(seed)
    grammar = normalised(random_lpcfg(rng, finite(rng), 3, signed=False, samples=0.0))
    corners = LeftCorners.of(grammar)
    assert close(corners.total, np.ones(len(corners.total)), rtol=1e-9)
    assert close(surprisal(corners, ["y", "z"]).log_prefix[0], 0.0, rtol=0.0, atol=1e-9)


@pytest.mark.slow
@given(seeds)
def test_another_basis_changes_nothing(seed: int):
    rng = np.random.default_rng(seed)
    grammar = random_lpcfg(rng, finite(rng), 3, signed=False, samples=0.0)
    signed = in_other_bases(grammar, rng)
    one, other = LeftCorners.of(grammar), LeftCorners.of(signed)
    for words in (["y", "z"], ["z", "x", "y"]):
        expected, found = surprisal(one, words), surprisal(other, words)
        told = np.isfinite(expected.nats)
        # Where probabilities are zero, the other basis has rounding errors.
        assert close(found.log_prefix[:2], expected.log_prefix[:2], rtol=1e-5, atol=1e-5)
        assert close(found.nats[told], expected.nats[told], rtol=1e-4, atol=1e-4)


@given(seeds, st.booleans())
def test_the_end_is_the_inside_value_without_pruning(seed: int, signed: bool):
    rng = np.random.default_rng(seed)
    backbone = random_pcfg(rng, 3, 3, 6)
    grammar = small(random_lpcfg(rng, backbone, 2, signed=signed, samples=0.4, counts=0.4))
    corners = LeftCorners.of(grammar)
    words = [f"w{n}" for n in rng.integers(4, size=int(rng.integers(1, 8)))]
    leaves = Leaves.of(under_seen_tags(backbone, words))
    pruned = prune(backbone, leaves, 0.0)
    expected = None if pruned is None else inside_outside(pruned.forest, grammar)
    found = corners.surprisal(words, leaves)
    if expected is None:
        assert found.log_value == -math.inf
    else:
        assert close(found.log_value, expected.log_value, rtol=1e-9, atol=1e-9)
    if not signed and expected is not None:
        total = found.log_prefix[0] - found.log_value
        assert close(found.nats.sum(), total, rtol=1e-12)
        assert np.all(found.nats > -1e-12)


def test_one_state_is_the_plain_grammar():
    rng = np.random.default_rng(4)
    backbone = finite(rng)
    plain = LeftCorners.of(one_state(backbone))
    split = one_state(backbone)
    # Each symbol with two states that do the same, by halves.
    p = split.parameters
    n = len(backbone.symbols)
    doubled = LPCFG(
        backbone,
        p._replace(
            state_start=np.arange(n + 1) * 2,
            dense_start=np.arange(backbone.n_rules) * 8,
            dense=np.repeat(backbone.probability / 4, 8),
            outside_mean=np.ones(2 * n),
            inside_mean=np.ones(2 * n),
            lexical_start=np.arange(len(backbone.words.word) + 1) * 2,
            lexical=np.ones(2 * len(backbone.words.word)),
            unseen_word=np.ones(2 * n),
            root=np.repeat(backbone.root / 2, 2),
        ),
        signed=False,
    )
    for words in product("xyz", repeat=3):
        one = surprisal(plain, list(words))
        two = surprisal(LeftCorners.of(doubled), list(words))
        assert close(two.nats[:2], one.nats[:2], rtol=1e-12, atol=1e-12)
        assert close(two.log_prefix, one.log_prefix, rtol=1e-12, atol=1e-12)


def test_what_cannot_follow_is_infinite_and_the_rest_untold():
    grammar = one_state(grammar_of({"S A B": 1.0}))
    corners = LeftCorners.of(grammar)
    found = surprisal(corners, ["a", "a", "b"])
    assert found.nats[0] == 0.0
    assert found.nats[1] == np.inf
    assert np.isnan(found.nats[2:]).all()
    assert found.log_prefix[2:].tolist() == [-np.inf, -np.inf]
    unfinished = surprisal(corners, ["a"])
    assert unfinished.nats.tolist() == [0.0, np.inf]
    unknown = surprisal(corners, ["never"])
    assert unknown.nats[0] == np.inf
    assert unknown.entries == [UNKNOWN]


def test_given_tags_are_part_of_the_words():
    words = {"A a": 3.0, "A b": 1.0, "B b": 1.0, "B a": 1.0}
    grammar = one_state(grammar_of({"S A B": 0.5, "S B A": 0.5}, words))
    corners = LeftCorners.of(grammar)
    free = surprisal(corners, ["a", "b"])
    each = [surprisal(corners, ["a", "b"], tags) for tags in ([0, 1], [1, 0], [0, 0], [-1, 1])]
    tagged = np.exp([found.log_prefix for found in each[:2]])
    assert close(tagged[:, 1].sum(), math.exp(free.log_prefix[1]), rtol=1e-12)
    assert close(tagged[:, 2].sum(), math.exp(free.log_prefix[2]), rtol=1e-12)
    assert each[2].log_prefix[2] == -np.inf
    assert each[3].log_prefix[1] == -np.inf


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_two_hundred_words_neither_under_nor_overflow(size: float):
    rng = np.random.default_rng(2)
    backbone = random_pcfg(rng, 3, 2, 4)
    backbone.probability[:] /= 2.0 * np.bincount(backbone.parent)[backbone.parent]
    corners = LeftCorners.of(one_state(backbone))
    words = [f"w{n % 4}" for n in range(200)]
    leaves = Leaves.of(under_seen_tags(backbone, words))
    found = corners.surprisal(words, leaves._replace(weight=leaves.weight * size))
    assert np.isfinite(found.nats).all()
    one = corners.surprisal(words, leaves)
    assert close(found.log_value, one.log_value + 200 * math.log(size), rtol=1e-11)
    assert close(found.nats[:-1], one.nats[:-1] - math.log(size), rtol=1e-9)
    assert close(one.nats.sum(), one.log_prefix[0] - one.log_value, rtol=1e-12)


def test_what_is_too_large_is_refused(monkeypatch):
    grammar = one_state(grammar_of({"S A B": 1.0}))
    corners = LeftCorners.of(grammar)
    monkeypatch.setattr(prefix, "MAX_BYTES", 1000)
    with pytest.raises(GrammarError, match="the chart of 50 words"):
        surprisal(corners, ["a"] * 50)
    monkeypatch.setattr(prefix, "MAX_BYTES", 10)
    with pytest.raises(GrammarError, match="1 states of phrases"):
        LeftCorners.of(grammar)


@given(grammars(signed=False, samples=0.5))
def test_tables_hold_what_the_grammar_says(grammar: LPCFG):
    rules = prefix._formed(grammar)
    total = np.random.default_rng(1).uniform(0.5, 1.0, len(grammar.parameters.root))
    inner = int(rules.state_start[np.count_nonzero(grammar.backbone.symbols.tag < 0)])
    to_left, to_right = np.zeros((2, inner, len(total)))
    prefix.kernels.add_corners(rules, total, to_left, to_right)
    expected_left, expected_right = np.zeros_like(to_left), np.zeros_like(to_right)
    for tensor, symbols in zip(
        Numbers(grammar).tensors, grammar.parameters.rule_symbols, strict=True
    ):
        a, b, c = (grammar.states(int(symbol)) for symbol in symbols)
        expected_left[a, b] += np.einsum("hij,j->hi", tensor, total[c])
        expected_right[a, c] += np.einsum("hij,i->hj", tensor, total[b])
    assert close(to_left, expected_left, rtol=1e-10)
    assert close(to_right, expected_right, rtol=1e-10)


def example() -> list[float]:
    rng = np.random.default_rng(3)
    grammar = random_lpcfg(rng, finite(rng), 2, signed=False, samples=0.5)
    found = surprisal(LeftCorners.of(grammar), ["y", "z", "x"])
    return [*found.log_prefix.tolist(), found.log_value]


@pytest.mark.slow
def test_kernels_give_the_same_as_plain_python():
    script = (
        "import json\nfrom tests.constituency.chart.test_prefix import example\n"
        "print(json.dumps(example()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert close(json.loads(done.stdout), example(), rtol=1e-11, atol=1e-11)
