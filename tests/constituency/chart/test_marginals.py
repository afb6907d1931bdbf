"""All marginals of a sentence against a list of all trees."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import assume, given

from eigentree.constituency.chart.decode import Labels, phrase_chains
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.marginals import labelled_spans, rule_uses
from eigentree.constituency.chart.pruning import prune
from tests.helpers import close
from tests.oracles.enumeration import Enumeration
from tests.strategies import Sentence, sentences


def filled(each: Sentence):
    """Forest, marginals and oracle of a sentence whose trees do not cancel."""
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    assume(oracle.trees)
    assume(oracle.condition < 1e4)
    forest = prune(each.grammar.backbone, each.leaves, threshold=0.0).forest
    marginals = inside_outside(forest, each.grammar)
    assume(marginals is not None)
    return forest, marginals, oracle


def spans_of(each: Sentence, forest, weight, least=0.0):
    symbols = each.grammar.backbone.symbols
    items = forest.item_symbol, forest.item_start, forest.item_end
    labels = Labels.of(forest, symbols)
    return labelled_spans(labels, phrase_chains(symbols), *items, weight, least)


@given(sentences())
def test_labelled_spans_are_those_of_all_trees(each: Sentence):
    forest, marginals, oracle = filled(each)
    spans = spans_of(each, forest, marginals.item)
    names = [(label, start, end) for label, start, end, _ in spans]
    assert len(set(names)) == len(names)
    assert [name[1:] for name in names] == sorted(name[1:] for name in names)
    assert set(names) == set(oracle.labelled)
    expected = [oracle.labelled[name] for name in names]
    assert close([each.marginal for each in spans], expected, rtol=1e-9, atol=1e-9)
    if not each.grammar.signed:
        assert all(-1e-12 <= span.marginal <= 1 + 1e-12 for span in spans)
    half = spans_of(each, forest, marginals.item, least=0.5)
    assert half == [span for span in spans if abs(span.marginal) >= 0.5]


@given(sentences())
def test_labels_of_a_span_add_up_to_the_expected_number_of_its_labels(each: Sentence):
    forest, marginals, oracle = filled(each)
    found, expected = defaultdict(float), defaultdict(float)
    for _, start, end, marginal in spans_of(each, forest, marginals.item):
        found[start, end] += marginal
    for tree, value in zip(oracle.trees, oracle.values, strict=True):
        for (_, start, end), number in oracle.brackets(tree).items():
            expected[start, end] += number * value / oracle.total
    assert found.keys() == expected.keys()
    values = [expected[span] for span in found]
    assert close(list(found.values()), values, rtol=1e-9, atol=1e-9)


@given(sentences())
def test_uses_of_rules_are_those_of_all_trees(each: Sentence):
    forest, marginals, oracle = filled(each)
    backbone = each.grammar.backbone
    symbols = backbone.symbols
    triples = zip(backbone.parent, backbone.left, backbone.right, strict=True)
    rules = {
        tuple(symbols[int(s)] for s in triple): number for number, triple in enumerate(triples)
    }
    uses = rule_uses(forest, marginals, backbone, 0.0)
    names = [(rules[use[:3]], *use[3:6]) for use in uses]
    assert len(set(names)) == len(names)
    assert set(names) == set(oracle.edges)
    expected = [oracle.edges[name] for name in names]
    assert close([use.marginal for use in uses], expected, rtol=1e-9, atol=1e-9)
    some = rule_uses(forest, marginals, backbone, 0.3)
    assert some == [use for use in uses if abs(use.marginal) >= 0.3]


def test_a_label_that_stands_in_a_chain_twice_counts_once():
    kind, start, end = (np.array(row, dtype=np.int64) for row in ([0, 1], [0, 0], [2, 2]))
    chains = [("A", "A"), ("B", "A")]
    labels = Labels.over(kind, start, end, np.array([0, 2, 4]), np.array([0, 0, 1, 0]))
    spans = labelled_spans(labels, chains, kind, start, end, np.array([0.25, 0.5]), 0.0)
    assert sorted(spans) == [("A", 0, 2, 0.75), ("B", 0, 2, 0.5)]
