"""The log-linear model against explicit sums, finite differences and known models."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from eigentree.constituency.ensemble.maxent import (
    MaxEntOptions,
    Objective,
    Quality,
    fit,
    probabilities,
    within_sentences,
)
from eigentree.errors import SettingsError, ShapeError
from tests.helpers import close

TARGETS = [
    MaxEntOptions(target="best", regularisation=0.3),
    MaxEntOptions(target="soft", sharpness=3.0, regularisation=0.3),
    MaxEntOptions(target="risk", regularisation=0.3),
    MaxEntOptions(target="risk", loss="brackets", regularisation=0.3),
]


def problem(rng: np.random.Generator, n_sentences: int = 6, n_features: int = 5):
    """Sentences of one to five candidates, with ties among the best."""
    sizes = rng.integers(1, 6, n_sentences)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    n = int(offsets[-1])
    features = sparse.csr_array(rng.poisson(0.6, (n, n_features)).astype(np.float32))
    quality = Quality(*(rng.integers(*ends, n).astype(float) for ends in ((0, 8), (14, 17))))
    return features, rng.normal(size=(n, 2)) * [1.0, 30.0], offsets, quality


def by_hand(weights, features, dense, offsets, quality, options, scale) -> float:
    """The objective by its definition, sentence by sentence."""
    w, u = np.split(weights, [features.shape[1]])
    values = features.toarray() @ w + (dense / scale) @ u
    total = 0.5 * options.regularisation * w @ w + 0.5 * options.dense_regularisation * u @ u
    for start, end in pairwise(offsets):
        p = np.exp(values[start:end]) / np.exp(values[start:end]).sum()
        f1 = (2 * quality.matched / quality.total)[start:end]
        if options.target == "best":
            total -= np.log(p[f1 == f1.max()].sum())
        elif options.target == "soft":
            target = np.exp(options.sharpness * f1) / np.exp(options.sharpness * f1).sum()
            total -= target @ np.log(p)
        elif options.loss == "f1":
            total += p @ (1 - f1)
        else:
            total += p @ (quality.total - 2 * quality.matched)[start:end]
    return float(total)


@pytest.mark.parametrize("options", TARGETS)
@given(seed=st.integers(0, 2**32 - 1))
def test_objective_is_its_definition_and_the_gradient_its_slope(options, seed):
    rng = np.random.default_rng(seed)
    features, dense, offsets, quality = problem(rng)
    objective = Objective(features, dense, offsets, quality, options)
    weights = rng.normal(size=objective.n_weights)

    def hand(at):
        return by_hand(at, features, dense, offsets, quality, options, objective.scale)

    value, gradient = objective(weights)
    assert close(value, hand(weights), rtol=1e-12)
    step = 1e-5
    slopes = [
        (hand(weights + step * one) - hand(weights - step * one)) / (2 * step)
        for one in np.eye(len(weights))
    ]
    assert close(gradient, slopes, rtol=1e-6, atol=1e-7)


def test_improbable_best_candidates_still_have_a_finite_objective():
    features = sparse.csr_array(np.array([[0.0], [1.0]]))
    quality = Quality(np.array([1.0, 0.0]), np.full(2, 2.0))
    options = MaxEntOptions(target="best", regularisation=0.0)
    objective = Objective(features, np.zeros((2, 0)), np.array([0, 2]), quality, options)
    value, gradient = objective(np.array([5000.0]))
    assert close(value, 5000.0, rtol=1e-12)
    assert close(gradient, [1.0], rtol=1e-12)


def test_weights_of_a_known_model_are_recovered():
    rng = np.random.default_rng(5)
    n_sentences, size = 8000, 4
    truth = np.array([1.0, -0.5, 0.0, 2.0])
    features = sparse.csr_array(rng.poisson(0.7, (n_sentences * size, 3)).astype(np.float32))
    dense = rng.normal(size=(n_sentences * size, 1)) * 100.0
    offsets = np.arange(0, n_sentences * size + 1, size)
    scale = within_sentences(dense, offsets)
    values = features @ truth[:3] + (dense / scale) @ truth[3:]
    p = probabilities(values, offsets).reshape(n_sentences, size)
    chosen = [rng.choice(size, p=row) for row in p]
    matched = np.zeros((n_sentences, size))
    matched[np.arange(n_sentences), chosen] = 1.0
    quality = Quality(matched.ravel(), np.full(matched.size, 2.0))
    options = MaxEntOptions(target="best", regularisation=0.0, dense_regularisation=0.0)
    model = fit(features, dense, offsets, quality, options)
    assert model.converged
    found = np.concatenate((model.weights, model.dense_weights))
    assert close(found, truth, rtol=0.0, atol=0.08)


@pytest.mark.parametrize("options", TARGETS)
def test_training_finds_the_oracle_where_a_feature_reports_it(options):
    # Feature 0 separates good candidates from bad ones; feature 1 is noise in the first sentence.
    rows = [[0, 1], [1, 0], [0, 0], [1, 0], [0, 0], [0, 0], [1, 0]]
    features = sparse.csr_array(np.array(rows, dtype=np.float32))
    offsets = np.array([0, 3, 5, 7])
    matched = np.array([1.0, 4.0, 2.0, 3.0, 2.0, 1.0, 2.0])
    quality = Quality(matched, np.full(7, 8.0))
    model = fit(features, np.zeros((7, 0)), offsets, quality, options)
    values = np.split(model.values(features, np.zeros((7, 0))), offsets[1:-1])
    assert [int(np.argmax(own)) for own in values] == [1, 0, 1]
    assert model.weights[0] > 0 > model.weights[1]


@pytest.mark.parametrize("options", TARGETS)
def test_training_goes_down_and_says_where_it_ended(options):
    features, dense, offsets, quality = problem(np.random.default_rng(3), 30)
    objective = Objective(features, dense, offsets, quality, options)
    model = fit(features, dense, offsets, quality, options)
    weights = np.concatenate((model.weights, model.dense_weights))
    assert objective(weights)[0] == model.objective
    assert model.objective < objective(np.zeros(objective.n_weights))[0]
    assert model.converged
    assert model.n_iterations > 1


def test_the_optimum_does_not_depend_on_the_unit_or_the_centre_of_dense_columns():
    features, dense, offsets, quality = problem(np.random.default_rng(4), 30)
    options = MaxEntOptions(target="best", dense_regularisation=1.0, tolerance=1e-14)
    one = fit(features, dense, offsets, quality, options)
    other = fit(features, dense * [0.001, 50.0] + 7.0, offsets, quality, options)
    assert close(one.dense_weights, other.dense_weights, rtol=1e-4)
    assert close(one.scale * [0.001, 50.0], other.scale, rtol=1e-9)


def test_constant_dense_columns_are_left_as_they_are():
    dense = np.array([[0.1, 0.0], [0.1, 0.0], [0.3, 0.0]])
    assert within_sentences(dense, np.array([0, 2, 3])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("options", TARGETS)
def test_with_endless_regularisation_all_candidates_are_alike(options):
    features, dense, offsets, quality = problem(np.random.default_rng(6), 20)
    strong = replace(options, regularisation=1e12, dense_regularisation=1e12)
    model = fit(features, dense, offsets, quality, strong)
    p = probabilities(model.values(features, dense), offsets)
    sizes = np.diff(offsets)
    assert close(p, np.repeat(1 / sizes, sizes), rtol=1e-6)


def test_each_kind_of_column_has_its_own_regularisation():
    rng = np.random.default_rng(7)
    column = rng.normal(size=(40, 1))
    offsets = np.arange(0, 41, 2)
    column /= within_sentences(column, offsets)
    matched = (column.ravel() > 0).astype(float)
    quality = Quality(matched, np.full(40, 2.0))
    options = MaxEntOptions(
        target="best", regularisation=10.0, dense_regularisation=0.1, tolerance=1e-14
    )
    model = fit(sparse.csr_array(column), column, offsets, quality, options)
    # The weights of equal columns are inversely proportional to their penalties.
    assert close(model.dense_weights, 100.0 * model.weights, rtol=1e-4)


@pytest.mark.parametrize("options", TARGETS)
def test_sentences_with_one_candidate_change_nothing(options):
    features, dense, offsets, quality = problem(np.random.default_rng(8), 10)
    options = replace(options, tolerance=1e-14, dense_regularisation=0.3)
    model = fit(features, dense, offsets, quality, options)
    more = fit(
        sparse.csr_array(sparse.vstack((features, sparse.csr_array(np.full((1, 5), 9.0))))),
        np.vstack((dense, [[500.0, -500.0]])),
        np.append(offsets, offsets[-1] + 1),
        Quality(*(np.append(each, 8.0) for each in quality)),
        options,
    )
    assert close(more.scale, model.scale, rtol=1e-12)
    assert close(more.weights, model.weights, rtol=1e-3, atol=1e-4)
    assert close(more.dense_weights, model.dense_weights, rtol=1e-3, atol=1e-4)


def test_the_same_input_gives_the_same_bytes():
    features, dense, offsets, quality = problem(np.random.default_rng(9), 30)
    one, other = (fit(features, dense, offsets, quality) for _ in range(2))
    assert one.weights.tobytes() == other.weights.tobytes()
    assert one.dense_weights.tobytes() == other.dense_weights.tobytes()


def test_quality_of_trees_without_brackets():
    quality = Quality(np.array([0.0, 2.0]), np.array([0.0, 7.0]))
    assert close(quality.f1, [1.0, 4 / 7], rtol=1e-15)
    assert quality.errors.tolist() == [0.0, 3.0]


def test_axes_must_agree():
    features, dense, offsets, quality = problem(np.random.default_rng(10))
    with pytest.raises(ShapeError, match="rows"):
        fit(features, dense[1:], offsets, quality)
    with pytest.raises(ShapeError, match="at least one"):
        fit(features, dense, np.insert(offsets, 1, 0), quality)


@pytest.mark.parametrize(
    "wrong",
    [{"target": "worst"}, {"loss": "recall"}, {"regularisation": -1.0}, {"iterations": 0}],
)
def test_options_must_mean_something(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        MaxEntOptions(**wrong)
