"""Reliability of probabilities, with figures reckoned by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError
from eigentree.evaluation.reliability import measure_reliability, right_brackets
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Span
from tests.helpers import close


def test_errors_by_hand():
    # Bins of width 1/2: {0.1, 0.3} with mean 0.2 and share 1/2, {0.5, 0.9, 1} with 0.8 and 2/3.
    found = measure_reliability([0.9, 0.1, 1.0, 0.3, 0.5], [1, 0, 1, 1, 0], n_bins=2)
    assert [(each.size, round(each.mean, 12)) for each in found.bins] == [(2, 0.2), (3, 0.8)]
    assert close([each.share for each in found.bins], [1 / 2, 2 / 3], rtol=1e-12)
    error = (2 * abs(0.2 - 1 / 2) + 3 * abs(0.8 - 2 / 3)) / 5
    assert close(found.error, error, rtol=1e-12)
    # Bins of equal size part at the third least, 0.5: the same two here.
    assert close(found.adaptive_error, error, rtol=1e-12)
    assert close(found.brier, (0.01 + 0.01 + 0.0 + 0.49 + 0.25) / 5, rtol=1e-12)
    logs = [math.log(p) for p in (0.9, 0.9, 0.999, 0.3, 0.5)]
    assert close(found.log_loss, -sum(logs) / 5, rtol=1e-12)
    assert close([found.mean, found.share], [0.56, 0.6], rtol=1e-12)


def test_bins_of_equal_size_part_no_equals():
    # Three of four are 0.9 and stay together, so the only other bin is that of 0.1.
    found = measure_reliability([0.9, 0.9, 0.1, 0.9], [1, 1, 0, 0], n_bins=4)
    assert close(found.adaptive_error, (0.1 + 3 * abs(0.9 - 2 / 3)) / 4, rtol=1e-12)


def test_sure_and_wrong_costs_finitely_much():
    assert close(measure_reliability([1.0], [False]).log_loss, -math.log(0.001), rtol=1e-12)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40), st.randoms())
def test_order_does_not_matter_and_all_is_bounded(pairs, chance):
    found = measure_reliability(*zip(*pairs, strict=True))
    assert 0 <= found.error <= 1
    assert 0 <= found.adaptive_error <= 1
    assert 0 <= found.brier <= 1
    # Any binning averages; what it averages to can't be less than what remains of all.
    assert found.error >= abs(found.mean - found.share) - 1e-12
    assert found.adaptive_error >= abs(found.mean - found.share) - 1e-12
    chance.shuffle(pairs)
    again = measure_reliability(*zip(*pairs, strict=True))
    assert close(again.adaptive_error, found.adaptive_error, rtol=1e-9, atol=1e-12)


def test_probabilities_that_are_what_they_say_have_next_to_no_error():
    rng = np.random.default_rng(4)
    p = rng.random(200_000)
    found = measure_reliability(p, rng.random(len(p)) < p)
    assert found.error < 0.005
    assert found.adaptive_error < 0.005


@pytest.mark.parametrize("p", [[], [0.5, 1.5], [-0.1]])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(SettingsError):
        measure_reliability(p, [True] * len(p))


def test_as_many_of_equal_brackets_are_right_as_the_gold_tree_has():
    gold = parse_tree("(S (NP (NP (N a))) (VP (V b)))")
    spans = [Span("NP", 0, 1)] * 3 + [Span("VP", 1, 2), Span("VP", 0, 2), Span("S", 0, 2)]
    assert right_brackets(spans, gold) == [True, True, False, True, False, True]
