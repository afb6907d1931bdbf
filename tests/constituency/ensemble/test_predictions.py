"""Predictions of members: the sum of what each member predicts by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.ensemble.combine import Chains, Evidence
from eigentree.constituency.ensemble.predictions import (
    Prediction,
    Predictor,
    common_fallback,
    joined_predictions,
)
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.parser import ConstituencyParser
from eigentree.sentence_input import PreparedSentence
from eigentree.treebank.io.brackets import parse_tree
from tests.constituency.ensemble.samples import members, of_family, sampled_trees
from tests.helpers import close

HELD_OUT = sampled_trees()[80:92]


def plain_of(parser: ConstituencyParser) -> ConstituencyParser:
    return ConstituencyParser(one_state(parser.grammar.backbone), None, parser.options)


def read(sentences, parsers, chains=None):
    predictor = Predictor(sentences, plain_of(parsers[0]))
    return [
        each["one"] for each in predictor.predict(of_family("one", parsers), chains or Chains())
    ]


def without_values(parser: ConstituencyParser) -> LPCFG:
    """The same grammar with the value 0 for all trees."""
    grammar = parser.grammar
    nothing = np.zeros_like(grammar.parameters.root)
    return LPCFG(grammar.backbone, grammar.parameters._replace(root=nothing), grammar.signed)


def alone_evidence(
    sentence: PreparedSentence, parser: ConstituencyParser, chains: Chains
) -> Evidence:
    pruning = next(parser.prunings(sentence))
    forest = pruning.pruned.forest
    marginals = inside_outside(forest, parser.grammar)
    evidence = Evidence(len(sentence.words), chains)
    sizes = np.minimum(np.abs(marginals.item), 1.0)
    evidence.add_items(forest, parser.grammar.backbone.symbols, sizes, 1)
    return evidence


@pytest.mark.parametrize("method", ["clustering", "spectral", "pcfg"])
@pytest.mark.parametrize("tagged", [True, False])
def test_each_member_gives_its_own_tree(method, tagged):
    parsers = members(method)
    sentences = [
        PreparedSentence(tree.words(), tree.tags() if tagged else None) for tree in HELD_OUT
    ]
    predictions = read(sentences, parsers)
    for sentence, prediction in zip(sentences, predictions, strict=True):
        alone = [parser.parse(sentence.words, sentence.tags) for parser in parsers]
        assert [prediction.trees[place] for place in prediction.choice] == [
            each.tree for each in alone
        ]
        assert len(set(prediction.trees)) == len(prediction.trees) == max(prediction.choice) + 1
        assert prediction.votes.sum() == prediction.members == len(parsers)
        assert {each.fallback for each in alone} == {prediction.fallback}
    if method == "clustering":
        assert any(len(prediction.trees) > 1 for prediction in predictions)


def test_members_may_decode_without_rules():
    parsers = [
        replace(parser, options=replace(parser.options, objective="free"))
        for parser in members("spectral")
    ]
    sentences = [PreparedSentence(tree.words(), tree.tags()) for tree in HELD_OUT]
    for sentence, prediction in zip(sentences, read(sentences, parsers), strict=True):
        alone = [parser.parse(sentence.words, sentence.tags).tree for parser in parsers]
        assert [prediction.trees[place] for place in prediction.choice] == alone


@pytest.mark.parametrize(
    ("method", "sigma"), [("clustering", 2.0), ("spectral", 2.0), ("spectral", 20.0)]
)
def test_evidence_is_the_sum_of_the_members_marginals_cut_to_1(method, sigma):
    parsers = members(method, sigma=sigma)
    sentences = [PreparedSentence(tree.words(), tree.tags()) for tree in HELD_OUT]
    chains = Chains()
    for sentence, prediction in zip(sentences, read(sentences, parsers, chains), strict=True):
        expected = Evidence(len(sentence.words), chains)
        for parser in parsers:
            expected.add(alone_evidence(sentence, parser, chains))
        assert prediction.evidence.total == len(parsers)
        assert np.array_equal(prediction.evidence.key, expected.key)
        assert close(prediction.evidence.weight, expected.weight, rtol=1e-12, atol=1e-15)


def test_some_signed_marginals_have_to_be_cut():
    """Otherwise the test above would not cover it."""
    sizes = [
        np.abs(inside_outside(pruning.pruned.forest, parser.grammar).item).max()
        for parser in members("spectral", sigma=20.0)
        for tree in HELD_OUT
        for pruning in [next(parser.prunings(PreparedSentence(tree.words(), tree.tags())))]
    ]
    assert max(sizes) > 2.0


def test_families_are_read_apart_and_in_any_order():
    one, two, three = members()
    sentences = [PreparedSentence(tree.words(), tree.tags()) for tree in HELD_OUT]
    asked = [("b", two.grammar), ("a", one.grammar), ("b", three.grammar)]
    predictor = Predictor(sentences, plain_of(one))
    found = predictor.predict(asked, Chains())
    for both, a, b in zip(
        found, read(sentences, [one]), read(sentences, [two, three]), strict=True
    ):
        assert list(both) == ["b", "a"]
        assert same(both["a"], a)
        assert same(both["b"], b)
    # Nothing remains from the first call.
    again = predictor.predict(of_family("a", [one]), Chains())
    assert all(same(new["a"], old["a"]) for new, old in zip(again, found, strict=True))
    assert all(list(new) == ["a"] for new in again)


def same(one: Prediction, other: Prediction) -> bool:
    """Whether two predictions are equal, up to the numbers of their chains."""
    evidence = [
        {
            (start, end, prediction.evidence.chains.chains[chain]): weight
            for start, end, chain, weight in zip(
                *(column.tolist() for column in prediction.evidence.columns()),
                prediction.evidence.weight.tolist(),
                strict=True,
            )
        }
        for prediction in (one, other)
    ]
    return (
        one.trees == other.trees
        and one.choice.tolist() == other.choice.tolist()
        and evidence[0] == evidence[1]
        and one.evidence.total == other.evidence.total
        and one.fallback == other.fallback
    )


def test_members_that_find_no_tree_give_nothing():
    one, two, _ = members()
    tree = HELD_OUT[0]
    sentence = PreparedSentence(tree.words(), tree.tags())
    asked = [("a", without_values(one)), ("a", two.grammar), ("b", without_values(two))]
    (found,) = Predictor([sentence], plain_of(one)).predict(asked, Chains())
    (alone,) = read([sentence], [two])
    assert found["a"].choice.tolist() == [-1, 0]
    assert found["a"].votes.tolist() == [1]
    assert same(found["a"]._replace(choice=alone.choice), alone)
    assert found["b"].choice.tolist() == [-1]
    assert (found["b"].trees, found["b"].members, found["b"].evidence.total) == ([], 0, 0.0)


def test_sentences_without_any_tree():
    """A word that has no tree under the grammar."""
    parsers = members()
    (prediction,) = read([PreparedSentence(["fox"], ["N"])], parsers)
    assert parsers[0].parse(["fox"], ["N"]).fallback == "flat"
    assert prediction.choice.tolist() == [-1] * 3
    assert prediction.fallback is None
    assert (prediction.trees, prediction.evidence.total) == ([], 0.0)


def test_what_is_given_up_is_reported_and_tags_that_were_given_stay():
    parsers = members()
    tree = HELD_OUT[0]
    tags = ["?", *tree.tags()[1:]]
    (prediction,) = read([PreparedSentence(tree.words(), tags)], parsers)
    assert prediction.fallback == "tags"
    assert {tuple(each.tags()) for each in prediction.trees} == {tuple(tags)}


def test_what_one_family_did_without_was_not_given_up():
    given = {
        name: reading_of([ONE] if choice else [], choice or [-1], Chains(), fallback)
        for name, choice, fallback in [
            ("whole", [0], None),
            ("relaxed", [0], "threshold"),
            ("tags", [0], "tags"),
            ("none", [], None),
        ]
    }
    for names, expected in [
        (["relaxed", "whole", "tags"], None),
        (["tags", "relaxed"], "tags"),
        (["none", "relaxed"], "threshold"),
        (["none"], "coarse"),
        ([], "coarse"),
    ]:
        assert common_fallback([given[name] for name in names]) == expected


def test_no_sentences_and_no_members():
    assert read([], members()) == []
    (found,) = Predictor([PreparedSentence(["a"], ["D"])], plain_of(members()[0])).predict(
        [], Chains()
    )
    assert found == {}


def test_the_options_of_the_plain_parser_decide_how_members_decode():
    parsers = [
        replace(parser, options=replace(parser.options, objective="spans")) for parser in members()
    ]
    sentences = [PreparedSentence(tree.words(), tree.tags()) for tree in HELD_OUT]
    for sentence, prediction in zip(sentences, read(sentences, parsers), strict=True):
        alone = [parser.parse(sentence.words, sentence.tags).tree for parser in parsers]
        assert [prediction.trees[place] for place in prediction.choice] == alone


ONE, TWO, THREE = (
    parse_tree(text) for text in ("(S (A a) (B b))", "(S (A a) (C b))", "(T (A a) (C b))")
)


def reading_of(trees, choice, chains, fallback=None) -> Prediction:
    evidence = Evidence(2, chains)
    votes = [choice.count(place) for place in range(len(trees))]
    evidence.add_trees(trees, votes)
    return Prediction(trees, np.array(choice, dtype=np.int64), evidence, fallback)


def test_groups_are_joined_in_their_order():
    chains = Chains()
    groups = [
        reading_of([TWO, ONE], [0, 1, -1, 0], chains, "tags"),
        reading_of([], [-1], chains, "tags"),
        reading_of([THREE, ONE], [1, 0, -1, 1], chains, "tags"),
    ]
    joined = joined_predictions(groups)
    assert joined.trees == [TWO, ONE, THREE]
    assert joined.choice.tolist() == [0, 1, -1, 0, -1, 1, 2, -1, 1]
    assert joined.votes.tolist() == [2, 3, 1]
    assert joined.members == 6
    assert joined.fallback == "tags"
    assert joined.evidence.total == 6.0
    expected = Evidence(2, chains)
    expected.add_trees([ONE, TWO, THREE], [3, 2, 1])
    assert np.array_equal(joined.evidence.key, expected.key)
    assert np.array_equal(joined.evidence.weight, expected.weight)
    # The groups themselves are not changed.
    assert groups[0].evidence.total == 3.0


def test_joined_groups_are_one_reading_of_all_members():
    parsers = members("clustering", 5)
    sentences = [PreparedSentence(tree.words(), tree.tags()) for tree in HELD_OUT]
    chains = Chains()
    parts = [read(sentences, parsers[:2], chains), read(sentences, parsers[2:], chains)]
    for whole, *groups in zip(read(sentences, parsers, chains), *parts, strict=True):
        joined = joined_predictions(groups)
        assert joined.trees == whole.trees
        assert joined.choice.tolist() == whole.choice.tolist()
        assert np.array_equal(joined.evidence.key, whole.evidence.key)
        assert close(joined.evidence.weight, whole.evidence.weight, rtol=1e-12)
