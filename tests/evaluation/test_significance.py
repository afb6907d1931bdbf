"""Intervals and tests, against exhaustive enumeration and known limits."""

from itertools import product

import numpy as np
import pytest

from eigentree.errors import ShapeError
from eigentree.evaluation import significance as module
from eigentree.evaluation.significance import (
    bootstrap_interval,
    bootstrap_mean_interval,
    corpus_f1,
    paired_test,
)
from tests.helpers import close

COUNTS = np.array([[3, 5, 4], [6, 6, 6], [0, 2, 3], [4, 7, 7]])
BETTER = np.array([[5, 5, 5], [6, 6, 6], [1, 2, 2], [5, 7, 6]])


def test_corpus_f1_by_hand():
    assert close(corpus_f1([[3, 4, 5], [0, 0, 0]]), [6 / 9, 0.0], rtol=1e-15)


def test_interval_ends_are_those_of_all_resamples():
    exact = [corpus_f1(COUNTS[list(drawn)].sum(axis=0)) for drawn in product(range(4), repeat=4)]
    found = bootstrap_interval(COUNTS, seed=5, n_samples=50_000, level=0.8)
    assert close(found, np.quantile(exact, [0.1, 0.9]), rtol=0.01)


def test_randomisation_p_value_is_that_of_all_swaps():
    differences = []
    for swaps in product((0, 1), repeat=4):
        swap = np.array(swaps)[:, None]
        first, second = np.where(swap, BETTER, COUNTS), np.where(swap, COUNTS, BETTER)
        differences.append(corpus_f1(second.sum(axis=0)) - corpus_f1(first.sum(axis=0)))
    exact = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12)
    found = paired_test(COUNTS, BETTER, seed=2, n_samples=50_000)
    assert close(found.difference, differences[0], rtol=1e-12)
    assert close(found.p_randomisation, exact, rtol=0.03)


def test_bootstrap_p_value_and_interval_are_those_of_all_resamples():
    observed = corpus_f1(BETTER.sum(axis=0)) - corpus_f1(COUNTS.sum(axis=0))
    exact = np.array(
        [
            corpus_f1(BETTER[list(drawn)].sum(axis=0)) - corpus_f1(COUNTS[list(drawn)].sum(axis=0))
            for drawn in product(range(4), repeat=4)
        ]
    )
    found = paired_test(COUNTS, BETTER, seed=3, n_samples=50_000, level=0.8)
    # Few of the 256 resamples stray that far, so the margin is absolute.
    share = np.mean(np.abs(exact - observed) >= abs(observed) - 1e-12)
    assert close(found.p_bootstrap, share, rtol=0, atol=0.005)
    assert close(found.interval, np.quantile(exact, [0.1, 0.9]), rtol=0.02)


def test_equal_systems_do_not_differ():
    found = paired_test(COUNTS, COUNTS, seed=0, n_samples=200)
    assert (found.difference, found.p_bootstrap, found.p_randomisation) == (0.0, 1.0, 1.0)
    assert found.interval == (0.0, 0.0)


def test_large_consistent_difference_is_significant():
    first, second = np.tile([5, 10, 10], (60, 1)), np.tile([9, 10, 10], (60, 1))
    found = paired_test(first, second, seed=0, n_samples=999)
    assert close(found.difference, 0.4, rtol=1e-12)
    assert close([found.p_bootstrap, found.p_randomisation], [0.001, 0.001], rtol=1e-12)


def test_one_seed_gives_one_result_whatever_the_size_of_the_pieces(monkeypatch):
    before = paired_test(COUNTS, BETTER, seed=7, n_samples=101)
    interval = bootstrap_interval(COUNTS, seed=7, n_samples=101)
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 12)
    assert bootstrap_interval(COUNTS, seed=7, n_samples=101) == interval
    assert paired_test(COUNTS, BETTER, seed=7, n_samples=101) == before
    assert bootstrap_interval(COUNTS, seed=8, n_samples=101) != interval


def test_one_sentence_has_an_interval_of_no_width():
    assert bootstrap_interval(COUNTS[:1], seed=0, n_samples=10) == (6 / 9, 6 / 9)


@pytest.mark.parametrize("counts", [np.zeros((0, 3)), np.zeros((4, 2)), np.zeros(3)])
def test_other_shapes_are_refused(counts):
    with pytest.raises(ShapeError, match=r"counts has shape .* must be \(sentences, 3\)"):
        bootstrap_interval(counts, seed=0)


def test_systems_of_different_length_are_refused():
    with pytest.raises(ShapeError, match="second has 3 sentences, which must be 4"):
        paired_test(COUNTS, BETTER[:3], seed=0)


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"n_samples": 0}, "n_samples is 0"), ({"level": 1.0}, r"level is 1\.0, which must be")],
)
def test_settings_without_meaning_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(COUNTS, seed=0, **setting)


def test_without_brackets_there_is_neither_interval_nor_test():
    nothing = np.zeros((3, 3), dtype=np.int64)
    assert bootstrap_interval(nothing, seed=0, n_samples=20) is None
    assert paired_test(nothing, nothing, seed=0, n_samples=20) is None
    # A draw of sentences without brackets has no F1, and 0 would pull the interval down.
    with_one = np.array([[2, 2, 2], [0, 0, 0]])
    assert bootstrap_interval(with_one, seed=0, n_samples=50) == (1.0, 1.0)
    test = paired_test(with_one, with_one, seed=0, n_samples=50)
    assert test is not None
    assert test.interval == (0.0, 0.0)


def test_interval_of_a_mean_is_that_of_all_resamples():
    values = np.array([0.0, 0.25, 0.5, 1.0])
    exact = [values[list(drawn)].mean() for drawn in product(range(4), repeat=4)]
    found = bootstrap_mean_interval(values, seed=5, n_samples=50_000, level=0.8)
    assert close(found, np.quantile(exact, [0.1, 0.9]), rtol=0.01)


@pytest.mark.parametrize("values", [[], [[0.5]], 0.5])
def test_means_of_other_axes_are_refused(values):
    with pytest.raises(ShapeError, match="values has shape"):
        bootstrap_mean_interval(values, seed=0)
