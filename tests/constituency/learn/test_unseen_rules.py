"""Unseen rules against a count by hand, their promises, and treebanks that lack rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em import EMOptions, learn_em
from eigentree.constituency.learn.spectral import SpectralOptions, learn_spectral
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.learn.unseen_rules import (
    MAX_MASS,
    UnseenRuleOptions,
    UnseenRules,
    unseen_rules,
    widen,
)
from eigentree.constituency.training import train
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import SettingsError
from eigentree.simulation import latent_grammar, random_grammar, sample_trees
from eigentree.treebank.binarise import (
    BinariseOptions,
    BinaryTree,
    Rightmost,
    Symbol,
    binarise,
    unbinarise,
)
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from eigentree.treebank.tree import Tree
from tests.demo import demo_trees
from tests.helpers import close
from tests.oracles import unseen as oracle
from tests.strategies import random_lpcfg, random_pcfg

KNOW_ALL = LexiconOptions(rare_threshold=0)
ALL = UnseenRuleOptions(least=1e-9)
WAYS = list(product(["left", "right", "head"], [1, 2], [0, 1, 2]))


class ByLabel:
    """Heads anywhere in a phrase: the child of the least label, the first of several."""

    def head(self, _label: str, children: list[str]) -> int:
        return min(range(len(children)), key=lambda child: children[child])


def random_treebank(seed: int, n_trees: int) -> list[Tree]:
    """Trees over few labels, with wide phrases and unary chains, so that rules recur."""
    rng = np.random.default_rng(seed)

    def grow(depth: int) -> Tree:
        if depth == 0 or rng.random() < 0.3:
            return Tree(str(rng.choice(["a", "b", "c"])), (), "w")
        n_children = int(rng.choice([1, 2, 3, 4, 5], p=[0.1, 0.3, 0.3, 0.2, 0.1]))
        label = str(rng.choice(["X", "Y", "a"], p=[0.6, 0.3, 0.1]))
        return Tree(label, [grow(depth - 1) for _ in range(n_children)])

    return [grow(3) for _ in range(n_trees)]


def binarised(trees: list[Tree], way: tuple[str, int, int]) -> list[BinaryTree]:
    direction, vertical, horizontal = way
    heads = ByLabel() if direction == "head" else Rightmost()
    return [
        binarise(tree, BinariseOptions(direction, vertical, horizontal), heads) for tree in trees
    ]


def named(examples: Examples, unseen: UnseenRules) -> dict[oracle.Rule, float]:
    table = examples.symbols
    rules = [tuple(table[number] for number in rule) for rule in unseen.rules.tolist()]
    assert len(set(rules)) == len(rules) == len(unseen.probability)
    return dict(zip(rules, unseen.probability.tolist(), strict=True))


# Which rules, and how probable ------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from(WAYS), st.booleans())
def test_every_rule_and_probability_is_the_one_counted_by_hand(seed, n_trees, way, few):
    trees = binarised(random_treebank(seed, n_trees), way)
    options = UnseenRuleOptions(least=0.0317 if few else 1e-12, family=2.5, chance=7.0)
    found = named(Examples.of(trees, KNOW_ALL), unseen_rules(Examples.of(trees, KNOW_ALL), options))
    uses = Counter[Symbol]()
    for (parent, _, _), count in oracle.rule_uses(trees).items():
        uses[parent] += count
    by_hand = {
        rule: p
        for rule, p in oracle.unseen(trees, 2.5, 7.0, MAX_MASS).items()
        if p * uses[rule[0]] >= options.least
    }
    assert found.keys() == by_hand.keys()
    assert close([found[rule] for rule in by_hand], list(by_hand.values()), rtol=1e-9)


def shape(tree: BinaryTree) -> tuple:
    """The same for trees that differ only in the numbers of their nodes."""
    built: list[tuple] = []
    for symbol, left, right in zip(tree.symbols, tree.left, tree.right, strict=True):
        built.append((symbol,) if left < 0 else (symbol, built[left], built[right]))
    return built[-1]


def with_rule(trees: list[BinaryTree], rule: oracle.Rule, seed: int) -> BinaryTree:
    """A tree of a treebank in which one node has the rule instead of its own."""
    rng = np.random.default_rng(seed)

    def somewhere(symbol: Symbol) -> tuple[BinaryTree, int]:
        places = [
            (tree, node)
            for tree in trees
            for node, other in enumerate(tree.symbols)
            if other == symbol
        ]
        return places[int(rng.integers(len(places)))]

    built = BinaryTree([], [], [], None, [])

    def copy(tree: BinaryTree, node: int, changed: int) -> int:
        if tree.left[node] < 0:
            below = (-1, -1)
            built.words.append("w")
        elif node == changed:
            below = tuple(copy(*somewhere(symbol), -1) for symbol in rule[1:])
        else:
            below = (copy(tree, tree.left[node], changed), copy(tree, tree.right[node], changed))
        built.symbols.append(tree.symbols[node])
        built.left.append(below[0])
        built.right.append(below[1])
        return len(built.symbols) - 1

    tree, node = somewhere(rule[0])
    copy(tree, tree.n_nodes - 1, node)
    return built


@given(
    st.integers(0, 2**32),
    st.integers(1, 8),
    st.sampled_from([(way, v, h) for way, v, h in WAYS if way != "head" and h < 2]),
)
def test_unseen_rules_are_those_of_trees_that_could_be(seed, n_trees, way):
    # A tree in which one rule is unseen, opened up and made binary again, has that rule again:
    # no part of a phrase stands where it can't, no sibling is remembered that isn't there.
    trees = binarised(random_treebank(seed, n_trees), way)
    found = named(Examples.of(trees, KNOW_ALL), unseen_rules(Examples.of(trees, KNOW_ALL), ALL))
    assert found.keys().isdisjoint(oracle.rule_uses(trees))
    for number, rule in enumerate(list(found)[:: 1 + len(found) // 20]):
        built = with_rule(trees, rule, seed + number)
        again = binarised([unbinarise(built)], way)[0]
        assert shape(again) == shape(built)


@given(st.integers(0, 2**32), st.sampled_from([way for way in WAYS if way[0] == "head"]))
def test_outward_from_the_head_a_phrase_has_one_part(seed, way):
    trees = binarised(random_treebank(seed, 12), way)
    found = named(Examples.of(trees, KNOW_ALL), unseen_rules(Examples.of(trees, KNOW_ALL), ALL))
    for parent, left, right in found:
        parts = [child for child in (left, right) if child.kind == "intermediate"]
        assert len(parts) <= 1
        for part in parts:
            assert (part.label, part.parents) == (parent.label, parent.parents)
        if parent.siblings:
            assert parent.siblings[0] in {
                child.chain[0] for child in (left, right) if child.kind != "intermediate"
            }


def test_a_right_binarised_sibling_stays_left_whatever_the_treebank_shows():
    # The only rule of @X[a] has an "a" on both sides and can't tell which one it remembers.
    trees = binarised(
        [parse_tree("(X (a w) (a w) (a w))"), parse_tree("(X (a w) (b w) (a w) (b w))")] * 2,
        ("right", 1, 1),
    )
    part = Symbol("intermediate", ("X",), (), ("a",))
    a, b = Symbol("preterminal", ("a",)), Symbol("preterminal", ("b",))
    by_two = [rule for rule in oracle.rule_uses(trees) if rule[0] == part]
    assert sorted(by_two) == [(part, a, a), (part, a, b)]
    found = named(Examples.of(trees, KNOW_ALL), unseen_rules(Examples.of(trees, KNOW_ALL), ALL))
    assert {left for parent, left, _ in found if parent == part} == {a}


# How much probability ---------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from(WAYS))
def test_parents_give_away_what_good_and_turing_tell(seed, n_trees, way):
    trees = binarised(random_treebank(seed, n_trees), way)
    examples = Examples.of(trees, KNOW_ALL)
    uses = oracle.rule_uses(trees)
    for least in (1e-12, 0.01, 0.2):
        new = Counter[Symbol]()
        for (parent, _, _), p in named(
            examples, unseen_rules(examples, UnseenRuleOptions(least=least))
        ).items():
            new[parent] += p
        for parent, mass in new.items():
            counts = [count for rule, count in uses.items() if rule[0] == parent]
            share = max(0.5, counts.count(1)) / sum(counts)
            assert mass <= min(share, MAX_MASS) * (1 + 1e-12)
            # What is cut is cut only for being rare.
            assert least > 1e-12 or close(mass, min(share, MAX_MASS), rtol=1e-9)


def many_rules(n_tags: int, concentration: float) -> LPCFG:
    """A plain grammar whose phrases are pairs of many tags, most of them rare."""
    tags = [f"t{number}" for number in range(n_tags)]
    rules = [("S", "A", "B"), *((parent, *pair) for parent in "AB" for pair in product(tags, tags))]
    words = {tag: [f"w{tag}"] for tag in tags}
    return random_grammar(["S"], rules, words, 1, seed=5, concentration=concentration)


@pytest.mark.slow
def test_as_many_new_rules_come_as_were_foretold():
    n_samples, size = 10, 600
    drawn = sample_trees(many_rules(30, 0.1), n_samples * size + 20_000, seed=1)
    later = oracle.rule_uses(drawn[n_samples * size :])
    foretold, share = [], []
    for sample in range(n_samples):
        trees = drawn[sample * size : (sample + 1) * size]
        examples = Examples.of(trees, KNOW_ALL)
        unseen = unseen_rules(examples, UnseenRuleOptions(least=1e-9))
        seen = oracle.rule_uses(trees)
        for label in "AB":
            parent = examples.symbols.number(Symbol("interminal", (label,)))
            foretold.append(unseen.probability[unseen.rules[:, 0] == parent].sum())
            uses = {rule: count for rule, count in later.items() if rule[0].chain == (label,)}
            new = sum(count for rule, count in uses.items() if rule not in seen)
            share.append(new / sum(uses.values()))
    # In a sample some sixty rules are used once: a standard error of an eighth or more in
    # each estimate, a twentieth in the mean of twenty.
    assert close(np.mean(foretold), np.mean(share), rtol=0.12)
    assert close(foretold, share, rtol=0.6)


def test_likely_rules_are_distinguished_from_unlikely_ones():
    # Children independent of one another, as the estimate has it: it must find the true
    # probabilities of those rules that the sample happens to lack.
    n = 12
    p = 1.0 / np.arange(1, n + 1)
    p /= p.sum()
    tags = [f"t{number}" for number in range(n)]
    pairs = {("S", tags[i], tags[j]): [[[p[i] * p[j]]]] for i, j in product(range(n), range(n))}
    grammar = latent_grammar({"S": [1.0]}, pairs, {tag: {f"w{tag}": [1.0]} for tag in tags})
    trees = sample_trees(grammar, 300, seed=2)
    examples = Examples.of(trees, KNOW_ALL)
    foretold, true = [], []
    for (_, left, right), estimate in named(examples, unseen_rules(examples, ALL)).items():
        foretold.append(estimate)
        true.append(pairs["S", left.label, right.label][0][0][0])
    order = np.argsort(foretold)[::-1]
    assert len(order) > 40
    likelier, rest = order[: len(order) // 3], order[len(order) // 3 :]
    for some in (likelier, rest):
        assert close(np.sum(np.take(foretold, some)), np.sum(np.take(true, some)), rtol=0.35)
    assert np.corrcoef(foretold, true)[0, 1] > 0.6


# Grammars with unseen rules ---------------------------------------------------------------


def tensors(grammar: LPCFG) -> dict[tuple[int, int, int], np.ndarray]:
    rules = map(tuple, grammar.parameters.rule_symbols.tolist())
    return {rule: grammar.tensor(number) for number, rule in enumerate(rules)}


def check_widened(grammar: LPCFG, unseen: UnseenRules) -> LPCFG:
    """Seen tensors stay but for the room they make; new ones are products of means."""
    wider = widen(grammar, unseen)
    p, old, new = grammar.parameters, tensors(grammar), tensors(wider)
    assert len(new) == wider.backbone.n_rules == len(old) + len(unseen.rules)
    kept = 1.0 - np.bincount(unseen.rules[:, 0], unseen.probability, len(grammar.n_states))
    for rule, tensor in old.items():
        assert close(new[rule], kept[rule[0]] * tensor, rtol=1e-12, atol=1e-300)
    for (a, b, c), probability in zip(unseen.rules.tolist(), unseen.probability, strict=True):
        product_of_means = np.einsum(
            "i,j,k->ijk",
            p.outside_mean[grammar.states(a)],
            p.inside_mean[grammar.states(b)],
            p.inside_mean[grammar.states(c)],
        )
        assert close(new[a, b, c], probability * product_of_means, rtol=1e-12, atol=1e-300)
    for name in ("outside_mean", "inside_mean", "lexical", "unseen_word", "root", "samples"):
        assert np.array_equal(getattr(wider.parameters, name), getattr(p, name))
    assert wider.signed is grammar.signed
    assert wider.backbone.words is grammar.backbone.words
    assert np.array_equal(wider.backbone.root, grammar.backbone.root)
    return wider


def of_demo() -> Examples:
    return Examples.of([binarise(tree, BinariseOptions()) for tree in demo_trees()])


def em_grammar(examples: Examples) -> LPCFG:
    return learn_em(examples, EMOptions(states=3, iterations=2)).model


def spectral_grammar(examples: Examples) -> LPCFG:
    return learn_spectral(examples, SpectralOptions(states=8)).grammar


def plain_grammar(examples: Examples) -> LPCFG:
    return one_state(count_pcfg(examples))


@pytest.mark.parametrize("learn", [spectral_grammar, em_grammar, plain_grammar])
def test_whatever_learned_a_grammar_can_be_widened(learn):
    examples = of_demo()
    unseen = unseen_rules(examples)
    assert len(unseen.rules) > 50
    grammar = learn(examples)
    if learn is spectral_grammar:
        assert grammar.parameters.n_samples.max() > 0
    wider = check_widened(grammar, unseen)
    inner = examples.symbols.tag < 0
    total = np.bincount(wider.backbone.parent, wider.backbone.probability, len(inner))
    assert close(total[inner], np.ones(inner.sum()), rtol=1e-12)
    assert not total[~inner].any()


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_any_grammar_can_be_widened(seed, samples, signed):
    rng = np.random.default_rng(seed)
    backbone = random_pcfg(rng, 3, 2, 6)
    grammar = random_lpcfg(rng, backbone, 3, signed=signed, samples=samples)
    own = set(map(tuple, grammar.parameters.rule_symbols.tolist()))
    inner = np.flatnonzero(backbone.symbols.tag < 0)
    some = {
        (int(rng.choice(inner)), *rng.integers(len(backbone.symbols), size=2)) for _ in range(9)
    }
    new = sorted((int(a), int(b), int(c)) for a, b, c in some if (a, b, c) not in own)
    rng.shuffle(new)
    rules = np.array(new, dtype=np.int32).reshape(-1, 3)
    unseen = UnseenRules(rules, rng.uniform(0.001, 0.1, len(new)))
    check_widened(
        check_widened(shuffled(grammar, rng), unseen), UnseenRules(rules[:0], np.empty(0))
    )


def shuffled(grammar: LPCFG, rng: np.random.Generator) -> LPCFG:
    """The same grammar with its dense tensors stored in another order."""
    start = np.full(grammar.backbone.n_rules, -1, dtype=np.int64)
    dense = [np.empty(0)]
    for rule in rng.permutation(np.flatnonzero(grammar.parameters.dense_start >= 0)):
        start[rule] = sum(map(len, dense))
        dense.append(grammar.tensor(rule).ravel())
    stored = grammar.parameters._replace(dense_start=start, dense=np.concatenate(dense))
    return LPCFG(grammar.backbone, stored, grammar.signed)


@pytest.mark.parametrize("learn", [em_grammar, plain_grammar])
def test_probabilities_stay_probabilities(learn):
    examples = of_demo()
    wider = widen(learn(examples), unseen_rules(examples))
    total = np.zeros(len(wider.parameters.root))
    for (parent, _, _), tensor in tensors(wider).items():
        assert tensor.min() >= 0.0
        total[wider.states(parent)] += tensor.sum(axis=(1, 2))
    inner = np.repeat(examples.symbols.tag < 0, wider.n_states)
    # The grammar of expectation maximisation comes in single precision.
    assert close(total[inner], np.ones(inner.sum()), rtol=1e-6)


@pytest.mark.parametrize("learn", [spectral_grammar, em_grammar, plain_grammar])
def test_no_unseen_rules_change_nothing(learn):
    grammar = learn(of_demo())
    wider = widen(grammar, UnseenRules(np.empty((0, 3), dtype=np.int32), np.empty(0)))
    for old, new in zip(grammar.parameters, wider.parameters, strict=True):
        assert np.array_equal(old, new)
    for name in ("parent", "left", "right", "probability", "root"):
        assert np.array_equal(getattr(grammar.backbone, name), getattr(wider.backbone, name))


@pytest.mark.parametrize("text", ["(S (A a) (B b))", "(A a)", "(S (A a) (A a))"])
def test_treebanks_that_lack_no_rule(text):
    examples = Examples.of([binarise(parse_tree(text))] * 3, KNOW_ALL)
    unseen = unseen_rules(examples, ALL)
    assert unseen.rules.shape == (0, 3)
    assert unseen.rules.dtype == np.int32
    assert unseen.probability.shape == (0,)


# Parsing with them ------------------------------------------------------------------------


LACKING = (
    "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat))))",
    "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NN dogs))))",
    "(S (NP (DT a) (NN man)) (VP (VBZ hears) (NP (DT a) (NN dog))))",
    "(S (NP (DT a) (NN cat)) (VP (VBD heard) (NP (NN cats))))",
)
SENTENCE = "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NN dogs))))"


@pytest.mark.parametrize("method", ["spectral", "em", "spectral+em"])
def test_a_sentence_with_a_new_rule_gets_its_tree(method):
    trees = [parse_tree(text) for text in LACKING]
    gold = parse_tree(SENTENCE)
    settings = TrainingOptions(method=method, tagger=False).with_shortcuts(None, 2)
    parser = train(trees, settings)
    result = parser.parse(gold.words(), gold.tags())
    assert (result.tree, result.fallback) == (gold, None)
    assert parser.description["unseen"] == {"least": 0.01, "family": 5.0, "chance": 50.0}
    without = train(trees, replace(settings, unseen=None))
    assert without.parse(gold.words(), gold.tags()).fallback == "tags"
    assert without.description["unseen"] is None
    # Where the treebank's own rules do, they win.
    for tree in trees:
        assert parser.parse(tree.words(), tree.tags()).tree == tree


def test_the_plain_grammar_stays_a_count():
    trees = [parse_tree(text) for text in LACKING]
    parser = train(trees, TrainingOptions(method="pcfg", tagger=False))
    assert parser.grammar.backbone.n_rules == 4
    assert "unseen" not in parser.description


@pytest.mark.parametrize("name", ["least", "family", "chance"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_settings_without_a_meaning(name, value):
    with pytest.raises(SettingsError, match=rf"^{name} is {value}; it must be above 0"):
        UnseenRuleOptions(**{name: value})
