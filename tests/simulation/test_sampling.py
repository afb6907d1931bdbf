"""Known grammars, and trees drawn from them."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from eigentree.automata.model import OperatorModel
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.dependency.head_automata import LEFT, RIGHT, ROOT, HeadAutomata
from eigentree.dependency.learn.head_automata import collect_modifiers
from eigentree.errors import GrammarError
from eigentree.simulation import (
    attachment_grammar,
    clause_automata,
    clauses,
    head_automaton,
    latent_grammar,
    pronoun_grammar,
    random_grammar,
    sample_dependencies,
    sample_trees,
)
from eigentree.treebank.binarise import BinaryTree, Symbol, unbinarise
from eigentree.treebank.lexicon import LexiconOptions
from eigentree.treebank.projective import is_projective
from tests.helpers import close
from tests.oracles.enumeration import Enumeration
from tests.oracles.language import every_tree, value
from tests.strategies import random_lpcfg, random_pcfg, sentence

GRAMMARS = {"pronouns": pronoun_grammar, "attachment": attachment_grammar}


def chain_grammar(**options: object) -> LPCFG:
    """Two words under one of two phrases, with different numbers of states."""
    return random_grammar(
        ["S"],
        [("S", "A", "B"), ("S", "B", "A"), ("A", "B", "C")],
        {"B": ["b", "bb"], "C": ["c", "cc", "ccc"]},
        {"S": 1, "A": 3, "B": 2, "C": 2},
        **options,
    )


def test_probabilities_of_a_finite_language_sum_to_one():
    for grammar in (pronoun_grammar(), chain_grammar(seed=4)):
        trees = every_tree(grammar)
        assert close(sum(value(grammar, tree) for tree in trees), 1.0, rtol=1e-12)


def test_pronouns_know_their_place():
    grammar = pronoun_grammar()
    plain = one_state(grammar.backbone)
    trees = {" ".join(tree.words): tree for tree in every_tree(grammar)}
    # 0.6 * 0.7 for she, 0.6 for sees, 0.3 * 0.6 for him.
    assert close(value(grammar, trees["she sees him"]), 0.42 * 0.6 * 0.18, rtol=1e-12)
    assert value(grammar, trees["him sees she"]) == 0.0
    assert value(plain, trees["him sees she"]) > 0.0


def attachments(preposition: str) -> tuple[float, float]:
    """Values of both trees of "the fox saw a den <preposition> the moon": noun, verb."""
    grammar = attachment_grammar()
    words = ["the", "fox", "saw", "a", "den", preposition, "the", "moon"]
    found = {"NP": 0.0, "VP": 0.0}
    backbone = grammar.backbone
    ids = backbone.lexicon.ids(words)
    tags = [backbone.words.tags_of(word) for word in ids]
    oracle = Enumeration(grammar, sentence(grammar, ids, tags).oracle_leaves)
    for tree, own in zip(oracle.trees, oracle.values, strict=True):
        over_tail = [node for node in tree.nodes() if (node.start, node.end) == (3, 8)]
        found["NP" if over_tail else "VP"] += own
    return found["NP"], found["VP"]


def test_prepositions_attach_by_their_state():
    noun, verb = attachments("of")
    assert noun > verb
    noun, verb = attachments("with")
    assert verb > noun


@pytest.mark.parametrize("name", GRAMMARS)
def test_sampled_frequencies_approach_probabilities(name: str):
    grammar = GRAMMARS[name]()
    n = 4000
    trees = sample_trees(grammar, n, seed=1)
    counts = Counter(map(repr, map(unbinarise, trees)))
    distinct = {repr(unbinarise(tree)): tree for tree in trees}
    worst = 0.0
    for text, count in counts.most_common(30):
        p = value(grammar, distinct[text])
        worst = max(worst, abs(count / n - p) / np.sqrt(p * (1 - p) / n))
    # The largest of 30 standard scores.
    assert worst < 4.0


@pytest.mark.parametrize("name", GRAMMARS)
def test_backbone_is_what_counts_approach(name: str):
    grammar = GRAMMARS[name]()
    counted = count_pcfg(
        Examples.of(sample_trees(grammar, 4000, seed=2), LexiconOptions(rare_threshold=0))
    )
    backbone = grammar.backbone
    assert counted.symbols == backbone.symbols
    assert np.array_equal(counted.parent, backbone.parent)
    assert close(counted.probability, backbone.probability, rtol=0.0, atol=0.03)
    assert counted.lexicon.entries == backbone.lexicon.entries
    found, expected = counted.words.entry_probability(), backbone.words.entry_probability()
    assert close(found, expected, rtol=0.0, atol=0.03)
    assert close(counted.root, backbone.root, rtol=0.0, atol=0.03)


def test_backbone_of_a_finite_language_is_exact():
    grammar = chain_grammar(seed=3)
    trees = every_tree(grammar)
    weights = np.array([value(grammar, tree) for tree in trees])
    counted = count_pcfg(Examples.of(trees, LexiconOptions(rare_threshold=0), weights))
    assert close(counted.probability, grammar.backbone.probability, rtol=1e-12)
    assert close(
        counted.words.entry_probability(), grammar.backbone.words.entry_probability(), rtol=1e-12
    )


def test_a_shared_tag_shares_no_words():
    # Counts are so large that a symbol has the words of its own table only.
    grammar = latent_grammar(
        {"A": [0.5], ("B", "A"): [0.5]},
        {},
        {"A": {"a": [1.0]}, ("B", "A"): {"b": [0.25], "a": [0.75]}},
    )
    assert close(grammar.backbone.words.entry_probability(), [1.0, 0.75, 0.25], rtol=1e-10)
    values = []
    for label, word in (("A", "a"), ("B", "a"), ("B", "b"), ("A", "b")):
        chain = ("B", "A") if label == "B" else ("A",)
        tree = BinaryTree([Symbol("preterminal", chain)], [-1], [-1], [0], [word])
        values.append(value(grammar, tree))
    assert close(values, [0.5, 0.375, 0.125, 0.0], rtol=1e-12)


def test_one_seed_gives_one_sequence():
    grammar = attachment_grammar()
    first = sample_trees(grammar, 20, seed=5)
    assert sample_trees(grammar, 20, seed=5) == first
    assert sample_trees(grammar, 30, seed=5)[:20] == first
    assert sample_trees(grammar, 20, seed=6) != first
    assert sample_trees(grammar, 0) == []
    assert chain_grammar(seed=1).parameters.dense.tobytes() == (
        chain_grammar(seed=1).parameters.dense.tobytes()
    )
    assert not np.array_equal(
        chain_grammar(seed=1).parameters.dense, chain_grammar(seed=2).parameters.dense
    )


def test_sampled_trees_are_binary_trees_with_right_heads():
    for tree in sample_trees(attachment_grammar(), 50, seed=7):
        assert tree.n_nodes == 2 * len(tree.words) - 1
        for node, (left, right) in enumerate(zip(tree.left, tree.right, strict=True)):
            if right >= 0:
                assert max(left, right) < node
                assert tree.head[node] == tree.head[right]
        assert unbinarise(tree).words() == tree.words
        assert tree.symbols[-1].chain == ("S",)


def test_word_classes_can_be_words():
    grammar = latent_grammar({"A": [1.0]}, {}, {"A": {"a": [1.0]}})
    table = grammar.backbone.words
    lexicon = type(table.lexicon)(("< >",), table.lexicon.options)
    words = type(table)(table.symbols, lexicon, table.word, table.symbol, table.count)
    backbone = type(grammar.backbone)(
        words, *(getattr(grammar.backbone, name) for name in ("parent", "left", "right")),
        grammar.backbone.probability, grammar.backbone.root,
    )  # fmt: skip
    moved = LPCFG(backbone, grammar.parameters, signed=False)
    assert unbinarise(sample_trees(moved, 1)[0]).words() == ["<_>"]


HALF = [[[0.5]]]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            ({"S": [1.0]}, {("S", "A", "A"): HALF}, {"A": {"a": [1.0]}}),
            "probabilities of S in state 0 sum to 0.5; they must sum to 1",
        ),
        (
            ({"S": [0.5]}, {("S", "A", "A"): [[[1.0]]]}, {"A": {"a": [1.0]}}),
            "probabilities at the root sum to 0.5; they must sum to 1",
        ),
        (
            ({"S": [1.0]}, {("S", "A", "A"): [[[1.0]]]}, {"A": {"a": [2.0], "b": [-1.0]}}),
            "has a negative entry",
        ),
        (
            ({"S": [1.0]}, {("S", "A", "A"): [[1.0]]}, {"A": {"a": [1.0]}}),
            "has 2 axes; expected 3",
        ),
        (
            ({"S": [1.0]}, {("S", "A", "A"): [[[1.0, 0.0]]]}, {"A": {"a": [1.0]}}),
            "A has 1 states in one table and 2 in another",
        ),
        (
            ({"S": [1.0]}, {("S", "S", "S"): HALF, ("S", "A", "A"): HALF}, {"A": {"a": [1.0]}}),
            "is infinite",
        ),
    ],
)
def test_wrong_tables(tables: tuple, message: str):
    with pytest.raises(GrammarError, match=message):
        latent_grammar(*tables)


def test_what_cannot_be_sampled():
    rng = np.random.default_rng(0)
    backbone = random_pcfg(rng, 1, 1, 0)
    signed = random_lpcfg(rng, backbone, 2, signed=True, samples=0.0)
    with pytest.raises(GrammarError, match="a signed grammar can't be sampled"):
        sample_trees(signed, 1)
    with pytest.raises(GrammarError, match="exceeded 5 words"):
        sample_trees(attachment_grammar(), 50, max_words=5)
    none = pronoun_grammar()
    zero = none.parameters._replace(dense=np.zeros_like(none.parameters.dense))
    with pytest.raises(GrammarError, match="has no outcomes"):
        sample_trees(LPCFG(none.backbone, zero, signed=False), 1)


# Dependency trees ------------------------------------------------------------------------


def test_dependency_trees_have_the_frequencies_of_their_automata():
    trees = clauses(3000)
    automata = clause_automata()
    assert all(is_projective(each.heads()) and each.n_roots() == 1 for each in trees)
    modifiers = collect_modifiers([(each.tags("upos"), each.heads()) for each in trees],
                                  automata.symbols)  # fmt: skip
    for number, group in enumerate(modifiers.groups()):
        if not group.n_sequences:
            continue
        head, direction = (*automata.symbols, ROOT)[number // 2], number % 2
        model = automata.automaton(head, direction)
        seen = Counter(
            tuple(automata.symbols[symbol] for symbol in group.symbol[first:last])
            for first, last in pairwise(group.start.tolist())
        )
        for sequence, count in seen.items():
            log_value, sign = model.value(sequence)
            share = sign * math.exp(log_value)
            deviation = math.sqrt(share * (1 - share) / group.n_sequences)
            assert abs(count / group.n_sequences - share) < 5 * deviation + 1e-12


def test_dependency_trees_of_one_seed():
    assert clauses(5, seed=3) == clauses(9, seed=3)[:5]
    assert clauses(5, seed=3) != clauses(5, seed=4)
    (plain,) = sample_dependencies(clause_automata(), 1, seed=3)
    assert plain.forms() == plain.tags("upos")
    assert set(plain.relations()) == {"root", "dep"}


def test_sampled_sentences_may_be_long():
    # Chains of thousands of words: nothing here may call itself.
    chain = head_automaton("a", [{"a": (1, 0.9995), None: (0, 0.0005)}, {None: (1, 1.0)}])
    never = head_automaton("a", [{None: (0, 1.0)}])
    automata = HeadAutomata.make({("a", LEFT): never, ("a", RIGHT): chain, (ROOT, RIGHT): chain})
    longest = max(sample_dependencies(automata, 20, max_words=1_000_000), key=len)
    assert len(longest) > 2000
    assert longest.heads() == list(range(len(longest)))
    with pytest.raises(GrammarError, match="exceeded 100 words"):
        sample_dependencies(automata, 3, max_words=100)


def test_automata_that_can_not_be_sampled():
    with pytest.raises(GrammarError, match="each sum must be 1"):
        head_automaton("a", [{"a": (0, 0.5)}])
    signed = OperatorModel(("a",), np.ones(1), np.array([1.5]), np.array([[[-0.5]]]))
    automata = HeadAutomata.make({("a", LEFT): signed, ("a", RIGHT): signed, (ROOT, RIGHT): signed})
    with pytest.raises(GrammarError, match="signed automata can't be sampled"):
        sample_dependencies(automata, 1)
