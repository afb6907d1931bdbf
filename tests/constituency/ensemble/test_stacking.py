"""Stacked combinations compared with single combinations, on constructed predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eigentree.constituency.ensemble.combine import Chains, Evidence, combine
from eigentree.constituency.ensemble.config import EnsembleConfig, make_config
from eigentree.constituency.ensemble.features import FeatureTable, RerankerFeatureOptions
from eigentree.constituency.ensemble.maxent import MaxEnt
from eigentree.constituency.ensemble.predictions import Prediction
from eigentree.constituency.ensemble.reranker import Reranker
from eigentree.constituency.ensemble.stacking import (
    MIN_SHARE,
    Query,
    Stacking,
    ranked,
    shares_of,
)
from eigentree.errors import ModelFileError
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.helpers import close

WORDS, TAGS = ["a", "b", "c"], ["A", "B", "C"]
LEFT = parse_tree("(S (X (A a) (B b)) (C c))")
RIGHT = parse_tree("(S (A a) (X (B b) (C c)))")
FLAT = parse_tree("(S (A a) (B b) (C c))")
OTHER = parse_tree("(T (A a) (X (B b) (C c)))")
HOLLOW = parse_tree("(S (Y (A a)) (B b) (C c))")


def described(*combinations: dict[str, Any]) -> EnsembleConfig:
    families = [{"name": name} for name in ("one", "two", "three")]
    return make_config({"family": families, "combination": list(combinations)})


def prediction(trees, choice, marginals, chains) -> Prediction:
    """Members with these trees, whose marginals are those of other trees."""
    evidence = Evidence(3, chains)
    evidence.add_trees([tree for tree, _ in marginals], [weight for _, weight in marginals])
    return Prediction(trees, np.array(choice, dtype=np.int64), evidence)


@pytest.fixture
def predictions() -> dict[str, Prediction]:
    chains = Chains()
    return {
        "one": prediction([LEFT, RIGHT], [0, 0, 1, -1], [(LEFT, 1.5), (RIGHT, 1.5)], chains),
        "two": prediction(
            [RIGHT, OTHER], [0, 1], [(RIGHT, 0.5), (OTHER, 1.0), (FLAT, 0.5)], chains
        ),
        "three": prediction([], [-1], [], chains),
    }


def answers(predictions, *combinations, rerankers=None, names=None):
    stacking = Stacking(described(*combinations), rerankers or {})
    (found,) = stacking.outputs([Query(WORDS, TAGS, predictions, {})], "ROOT", names)
    return found


def votes_of(trees, weights) -> Evidence:
    evidence = Evidence(3, Chains())
    evidence.add_trees(trees, weights)
    return evidence


def test_tree_coverage_counts_the_members_of_families(predictions):
    found = answers(
        predictions, {"name": "all", "how": "tree-coverage", "inputs": ["one", "two", "three"]}
    )
    expected = combine(votes_of([LEFT, RIGHT, OTHER], [2, 2, 1]), WORDS, TAGS, root="ROOT")
    assert found == {"all": expected}
    assert found["all"].tree == RIGHT


def test_marginal_coverage_adds_the_marginals_of_its_families(predictions):
    found = answers(predictions, {"name": "some", "inputs": ["two", "three"], "price": 0.2})
    expected = votes_of([RIGHT, OTHER, FLAT], [0.5, 1.0, 0.5])
    assert found["some"] == combine(expected, WORDS, TAGS, root="ROOT", price=0.2)


def test_the_price_decides_which_brackets_are_worth_it(predictions):
    given = {"name": "one", "how": "tree-coverage", "inputs": ["one"]}
    given["name"] = "all"
    assert answers(predictions, given)["all"].tree == LEFT
    assert answers(predictions, {**given, "price": 0.9})["all"].tree == FLAT


def test_combinations_of_combinations_have_one_vote_each(predictions):
    found = answers(
        predictions,
        {"name": "l", "how": "tree-coverage", "inputs": ["one"]},
        {"name": "m", "inputs": ["two"]},
        {"name": "both", "how": "tree-coverage", "inputs": ["l", "m", "three"]},
        {"name": "more", "how": "tree-coverage", "inputs": ["l", "m", "two"]},
    )
    assert list(found) == ["l", "m", "both", "more"]
    trees = [found["l"].tree, found["m"].tree]
    assert found["both"] == combine(votes_of(trees, [1, 1]), WORDS, TAGS, root="ROOT")
    more = votes_of([*trees, RIGHT, OTHER], [1, 1, 1, 1])
    assert found["more"] == combine(more, WORDS, TAGS, root="ROOT")


def test_only_what_is_needed_is_answered(predictions):
    combinations = (
        {"name": "l", "how": "tree-coverage", "inputs": ["one"]},
        {"name": "m", "inputs": ["two"]},
        {"name": "n", "how": "tree-coverage", "inputs": ["l"]},
        {"name": "last", "how": "tree-coverage", "inputs": ["m"]},
    )
    every = answers(predictions, *combinations)
    for names, expected in (
        (["last"], {"m", "last"}),
        (["n"], {"l", "n"}),
        (["n", "m"], {"l", "m", "n"}),
        ([], set()),
        (None, {"l", "m", "n", "last"}),
    ):
        found = answers(predictions, *combinations, names=names)
        assert found == {name: every[name] for name in expected}


def test_families_that_are_not_needed_are_not_read(predictions):
    del predictions["three"]
    found = answers(
        predictions,
        {"name": "l", "inputs": ["one"]},
        {"name": "m", "inputs": ["three"]},
        names=["l"],
    )
    assert list(found) == ["l"]


def test_without_any_tree_the_root_is_flat(predictions):
    empty = {name: predictions["three"] for name in predictions}
    for how in ("tree-coverage", "marginal-coverage", "maxent"):
        found = answers(empty, {"name": "all", "how": how, "inputs": ["one", "two"]})
        assert found["all"].tree == parse_tree("(ROOT (A a) (B b) (C c))")


# Rerankers --------------------------------------------------------------------------------

MAXENT: dict[str, Any] = {"name": "best", "how": "maxent", "inputs": ["one", "two", "three"]}


def reranker(stacking: Stacking, name: str, **weights: float) -> Reranker:
    """A reranker without features, with given weights of columns."""
    (combination,) = (each for each in stacking.config.combination if each.name == name)
    names = stacking.column_names(combination)
    dense = np.array([weights.get(column.replace(" ", "_"), 0.0) for column in names])
    model = MaxEnt(np.zeros(0), dense, np.ones(len(names)), 0.0, 0, True)
    table = FeatureTable(
        np.zeros(0, dtype=np.uint64), RerankerFeatureOptions(), head_rules("rightmost")
    )
    return Reranker(table, model, tuple(names))


def columns_of(predictions, *combinations, above=None):
    stacking = Stacking(described(*combinations), {})
    combination = stacking.config.combination[-1]
    found = stacking.candidates(combination, Query(WORDS, TAGS, predictions, above or {}))
    names = stacking.column_names(combination)
    assert found.columns.shape == (len(found.trees), len(names))
    return found.trees, dict(zip(names, found.columns.T.tolist(), strict=True))


def test_candidates_are_distinct_and_in_the_order_of_the_inputs(predictions):
    assert columns_of(predictions, MAXENT)[0] == [LEFT, RIGHT, OTHER]
    turned = {**MAXENT, "inputs": ["two", "one"]}
    assert columns_of(predictions, turned)[0] == [RIGHT, OTHER, LEFT]


def test_columns_of_votes(predictions):
    _, columns = columns_of(predictions, MAXENT)
    assert columns["brackets"] == [2.0, 2.0, 2.0]
    assert close(columns["votes: one"], [2 / 3, 1 / 3, 0.0], rtol=1e-15)
    assert columns["votes: two"] == [0.0, 0.5, 0.5]
    assert columns["votes: three"] == [0.0, 0.0, 0.0]
    assert close(columns["mean votes"], [2 / 9, 5 / 18, 1 / 6], rtol=1e-15)


def test_columns_of_marginals(predictions):
    _, columns = columns_of(predictions, MAXENT)
    # By hand: the shares of S over all and X over two words, then T.
    one = [[1.0, 0.5], [1.0, 0.5], [0.0, 0.5]]
    two = [[0.5, 0.0], [0.5, 0.75], [0.5, 0.75]]
    # Of five members three are of the first family that have a tree, and two of the second.
    both = [
        [0.6 * a + 0.4 * b for a, b in zip(*of, strict=True)] for of in zip(one, two, strict=True)
    ]
    nothing = [[0.0, 0.0]] * 3
    for name, shares in (("one", one), ("two", two), ("all", both), ("three", nothing)):
        gain = [sum(share - 0.5 for share in row) for row in shares]
        logs = [sum(np.log(max(share, MIN_SHARE)) for share in row) for row in shares]
        assert close(columns[f"expected gain: {name}"], gain, rtol=1e-12, atol=1e-12)
        assert close(columns[f"log shares: {name}"], logs, rtol=1e-12, atol=1e-12)
    assert close(columns["least share"], [min(row) for row in both], rtol=1e-12)


def test_trees_of_combinations_are_candidates_too(predictions):
    cover = {"name": "cover", "how": "tree-coverage", "inputs": ["two"], "price": 1.0}
    combinations = (cover, {**MAXENT, "inputs": ["cover", "one"]})
    above = answers(predictions, cover)
    trees, columns = columns_of(predictions, *combinations, above=above)
    assert trees == [above["cover"].tree, LEFT, RIGHT]
    assert columns["votes: cover"] == [1.0, 0.0, 0.0]
    assert close(columns["votes: one"], [0.0, 2 / 3, 1 / 3], rtol=1e-15)
    # The marginals are those of both families: the second one is an indirect input.
    assert "log shares: two" in columns
    assert "log shares: three" not in columns


def test_a_candidate_of_several_inputs_has_all_their_votes(predictions):
    cover = {"name": "cover", "how": "tree-coverage", "inputs": ["one"]}
    above = answers(predictions, cover)
    assert above["cover"].tree == LEFT
    combinations = (cover, {**MAXENT, "inputs": ["one", "cover"]})
    trees, columns = columns_of(predictions, *combinations, above=above)
    assert trees == [LEFT, RIGHT]
    assert columns["votes: cover"] == [1.0, 0.0]
    assert close(columns["votes: one"], [2 / 3, 1 / 3], rtol=1e-15)


def test_several_trees_of_a_combination_are_candidates_with_falling_votes(predictions):
    cover = {"name": "cover", "inputs": ["two"], "best": 3}
    above = answers(predictions, cover)
    # S has half of the weight, as has T, and X three quarters.
    trees = [above["cover"].tree, *(each.tree for each in above["cover"].others)]
    assert trees == [RIGHT, OTHER, FLAT]
    combinations = (cover, {**MAXENT, "inputs": ["one", "cover"]})
    found, columns = columns_of(predictions, *combinations, above=above)
    assert found == [LEFT, RIGHT, OTHER, FLAT]
    assert close(columns["votes: cover"], [0.0, 1.0, 1 / 2, 1 / 3], rtol=1e-15)
    # Tree coverage counts the best tree only.
    last = {"name": "last", "how": "tree-coverage", "inputs": ["cover"]}
    assert answers(predictions, cover, last)["last"].tree == RIGHT


def confidences(tree: Tree, evidence: Evidence) -> list[float]:
    return ranked([tree], np.zeros(1), evidence, 1).confidences


def test_candidates_are_ranked_by_their_values_and_the_first_of_equal_ones_is_taken():
    evidence = Evidence(3, Chains())
    evidence.add_trees([LEFT, RIGHT], [1, 3])
    values = np.array([1.0, 3.0, 2.0, 3.0])
    tree, _, value, others = ranked([LEFT, RIGHT, FLAT, OTHER], values, evidence, 3)
    assert (tree, value) == (RIGHT, 3.0)
    assert [(each.tree, each.value) for each in others] == [(OTHER, 3.0), (FLAT, 2.0)]
    assert [each.confidences for each in others] == [
        confidences(t, evidence) for t in (OTHER, FLAT)
    ]
    assert ranked([LEFT, RIGHT], values[:2], evidence, 1).others == ()


def test_phrases_over_phrases_with_one_label():
    """Both brackets have the share of the label, which is counted once."""
    chains = Chains()
    double = parse_tree("(S (S (A a) (B b) (C c)))")
    evidence = Evidence(3, chains)
    evidence.add_trees([double, FLAT], [1, 3])
    assert shares_of(evidence) == {("S", 0, 3): 1.0}
    assert confidences(double, evidence) == [1.0, 1.0]
    assert shares_of(Evidence(3, chains)) == {}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"votes:_one": 1.0}, LEFT),
        ({"votes:_two": 1.0}, RIGHT),
        ({"votes:_two": 1.0, "votes:_one": -3.0}, OTHER),
        ({"expected_gain:_two": 1.0}, RIGHT),
        ({"least_share": -1.0}, OTHER),
        ({}, LEFT),  # the first of equal ones
    ],
)
def test_a_reranker_chooses_among_the_candidates(predictions, weights, expected):
    stacking = Stacking(described(MAXENT), {})
    rerankers = {"best": reranker(stacking, "best", **weights)}
    found = answers(predictions, MAXENT, rerankers=rerankers)["best"]
    assert found.tree == expected
    evidence = Evidence(3, predictions["one"].evidence.chains)
    for each in predictions.values():
        evidence.add(each.evidence)
    assert found.confidences == confidences(expected, evidence)
    assert len(found.confidences) == len(expected.spans())
    assert found.others == ()


def test_confidences_of_a_chosen_tree_stand_in_the_order_of_its_spans():
    evidence = Evidence(3, Chains())
    evidence.add_trees([HOLLOW, RIGHT, LEFT], [1.0, 2.0, 1.0])
    assert confidences(HOLLOW, evidence) == [0.25, 1.0]
    assert confidences(RIGHT, evidence) == [0.5, 1.0]
    assert confidences(OTHER, evidence) == [0.5, 0.0]
    evidence.total /= 10.0
    assert confidences(RIGHT, evidence) == [1.0, 1.0]


def test_rerankers_above_rerankers(predictions):
    second = {"name": "second", "how": "maxent", "inputs": ["best", "two"]}
    stacking = Stacking(described(MAXENT, second), {})
    rerankers = {
        "best": reranker(stacking, "best", **{"votes:_one": 1.0}),
        "second": reranker(stacking, "second", **{"votes:_best": 1.0}),
    }
    found = answers(predictions, MAXENT, second, rerankers=rerankers)
    assert [found[name].tree for name in ("best", "second")] == [LEFT, LEFT]
    rerankers["second"] = reranker(stacking, "second", **{"votes:_two": 1.0, "votes:_best": -1.0})
    assert answers(predictions, MAXENT, second, rerankers=rerankers)["second"].tree == RIGHT


def test_rerankers_of_other_columns_are_refused():
    stacking = Stacking(described(MAXENT), {})
    fitting = reranker(stacking, "best")
    fewer = {**MAXENT, "inputs": ["one", "two"]}
    with pytest.raises(ModelFileError, match="the reranker 'best' was trained by another version"):
        Stacking(described(fewer), {"best": fitting})
    assert Stacking(described(MAXENT), {"best": fitting}).rerankers == {"best": fitting}
