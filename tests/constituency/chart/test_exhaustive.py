"""The chart that looks at every rule, against the one that looks at live symbols."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.exhaustive import exhaustive_marginals
from eigentree.constituency.chart.pruning import likely_forest, prune
from eigentree.constituency.options import ParserOptions
from tests.helpers import close
from tests.strategies import Sentence, random_pcfg, sentences


@given(sentences())
def test_it_finds_the_same_items_and_trees(given_sentence: Sentence):
    grammar, leaves = given_sentence.grammar.backbone, given_sentence.leaves
    expected = prune(grammar, leaves, 0.0)
    marginals = exhaustive_marginals(grammar, leaves)
    if expected is None:
        assert marginals is None
        return
    assert marginals is not None
    found = likely_forest(grammar, leaves, marginals, 0.0)
    assert close(found.log_value, expected.log_value, rtol=1e-12, atol=1e-12)
    assert close(found.marginal, expected.marginal, rtol=1e-11)
    for one, other in zip(found.forest, expected.forest, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_nothing_under_or_overflows(size: float):
    grammar = random_pcfg(np.random.default_rng(2), 3, 2, 4)
    leaves = Leaves.of([grammar.words.candidates(n % 4, 0) for n in range(150)])
    expected = prune(grammar, leaves, 1e-9, beam=0.0)
    marginals = exhaustive_marginals(grammar, leaves._replace(weight=leaves.weight * size))
    assert marginals is not None
    found = likely_forest(grammar, leaves, marginals, 1e-9)
    assert close(found.log_value, expected.log_value + 150 * np.log(size), rtol=1e-11)
    assert close(found.marginal, expected.marginal, rtol=1e-6, atol=1e-12)


def test_parsers_are_not_exhaustive_unless_told():
    assert not ParserOptions().exhaustive
