"""Matrices of low rank: how close, how large, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.errors import SettingsError, TensorError
from eigentree.linalg.low_rank import METHODS, low_rank
from tests.helpers import close

RNG = np.random.default_rng(8)
# Rows that sum to 1, of rank 6 and near to rank 3.
MATRIX = RNG.dirichlet(np.full(3, 0.3), 8) @ RNG.dirichlet(np.full(6, 0.3), 3)
MATRIX = 0.95 * MATRIX + 0.05 * RNG.dirichlet(np.ones(6), 8)
WEIGHT = np.array([100.0, 1.0, 1.0, 1.0, 0.01, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_singular_values_give_the_least_error_of_each_rank(weight: np.ndarray | None):
    root = np.ones((8, 1)) if weight is None else np.sqrt(weight)[:, None]
    values = np.linalg.svd(root * MATRIX, compute_uv=False)
    for rank in range(1, 7):
        left, right = low_rank(MATRIX, rank, weight=weight)
        assert left.shape == (8, rank)
        assert right.shape == (rank, 6)
        error = np.linalg.norm(root * (left @ right - MATRIX))
        assert close(error, np.linalg.norm(values[rank:]), rtol=1e-9, atol=1e-13)
    assert [part.shape for part in low_rank(MATRIX, 99)] == [(8, 6), (6, 6)]


@pytest.mark.parametrize("method", METHODS)
def test_the_error_falls_with_the_rank(method: str):
    errors = [
        np.linalg.norm(np.matmul(*low_rank(MATRIX, rank, method)) - MATRIX) for rank in (1, 2, 3)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1 * np.linalg.norm(MATRIX)


@pytest.mark.parametrize("method", ["apr", "hals"])
def test_other_methods_have_no_negative_numbers(method: str):
    for weight in (None, WEIGHT):
        left, right = low_rank(MATRIX, 3, method, weight=weight)
        assert left.shape == (8, 3)
        assert right.shape == (3, 6)
        assert min(left.min(), right.min()) >= 0.0


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_least_divergence_keeps_sums_of_rows(weight: np.ndarray | None):
    left, right = low_rank(MATRIX, 3, "apr", weight=weight)
    assert close((left @ right).sum(axis=1), np.ones(8), rtol=2e-2)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_more_weight_are_closer(method: str):
    def error_of_the_first(weight: np.ndarray | None) -> float:
        left, right = low_rank(MATRIX, 1, method, weight=weight)
        return float(np.linalg.norm((left @ right - MATRIX)[0]))

    assert error_of_the_first(WEIGHT) < 0.5 * error_of_the_first(None)


def test_what_has_no_meaning_is_refused():
    with pytest.raises(SettingsError, match="method is 'als'; it must be one of svd, apr, hals"):
        low_rank(MATRIX, 2, "als")
    with pytest.raises(SettingsError, match="rank is 0; it must be at least 1"):
        low_rank(MATRIX, 0)
    with pytest.raises(TensorError):
        low_rank(-MATRIX, 2, "apr")
