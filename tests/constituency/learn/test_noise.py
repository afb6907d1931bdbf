"""Noise: none changes nothing, one seed gives one model, and its size is what it says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigentree.constituency.learn import spectral
from eigentree.constituency.learn.clustering import ClusteringOptions, learn_clustering
from eigentree.constituency.learn.noise import SCHEMES, Noise, disturb, drop_out
from eigentree.constituency.learn.spectral import (
    Projections,
    SpectralOptions,
    disturbed,
    learn_spectral,
    project,
)
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import BinariseOptions, binarise
from eigentree.treebank.heads import head_rules
from tests.demo import demo_trees
from tests.helpers import close

OPTIONS = SpectralOptions(states=6)
LEARN = {
    "spectral": lambda examples, **given: learn_spectral(examples, OPTIONS, **given),
    "clustering": lambda examples, **given: learn_clustering(
        examples, ClusteringOptions(states=4, restarts=2), **given
    ),
}
SOME = [Noise("dropout", 0.2), Noise("additive", 0.1), Noise("multiplicative", 0.3)]


def of_demo() -> Examples:
    return Examples.of(
        [binarise(tree, BinariseOptions(), head_rules("english")) for tree in demo_trees()[:80]]
    )


def same(one, other) -> bool:
    return all(map(np.array_equal, one.grammar.parameters, other.grammar.parameters))


@pytest.mark.slow
@pytest.mark.parametrize("method", LEARN)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_noise_of_size_zero_is_none(method, scheme):
    examples = of_demo()
    assert same(
        LEARN[method](examples, seed=1), LEARN[method](examples, noise=Noise(scheme, 0.0), seed=1)
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", LEARN)
@pytest.mark.parametrize("noise", SOME, ids=str)
def test_noise_goes_by_the_seed(method, noise):
    examples = of_demo()
    one, again, other = (LEARN[method](examples, noise=noise, seed=seed) for seed in (1, 1, 2))
    assert same(one, again)
    assert not same(one, other)
    assert not same(one, LEARN[method](examples, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("method", LEARN)
@pytest.mark.parametrize("noise", SOME, ids=str)
def test_projections_can_be_shared(monkeypatch, method, noise):
    examples = of_demo()
    options = OPTIONS if method == "spectral" else ClusteringOptions().projecting
    projections = project(examples, options, seed=5)
    before = [rows.copy() for side in projections[:2] for rows in side]
    made: list[int] = []
    decompose = spectral.cross_moment_svd
    monkeypatch.setattr(
        spectral, "cross_moment_svd", lambda *a, **k: (made.append(1), decompose(*a, **k))[1]
    )
    model = LEARN[method](examples, noise=noise, projections=projections, seed=5)
    assert bool(made) is (noise.scheme == "dropout")
    assert same(model, LEARN[method](examples, noise=noise, seed=5))
    for rows, kept in zip((r for side in projections[:2] for r in side), before, strict=True):
        assert np.array_equal(rows, kept)


@pytest.mark.parametrize("scheme", ["additive", "multiplicative"])
def test_disturbed_projections_are_those_of_their_own_moment(scheme):
    examples = of_demo()
    projections = project(examples, OPTIONS, seed=0)
    found = disturbed(examples, projections, OPTIONS, Noise(scheme, 0.2), seed=3)
    for symbol, values in enumerate(found.singular_values):
        nodes = np.flatnonzero(examples.symbol == symbol)
        y, z = found.inside[symbol], found.outside[symbol]
        # Z is divided by the singular values, so that the moment is the identity.
        moment = y.T @ z / len(nodes)
        assert close(moment, np.eye(len(values)), rtol=0.0, atol=1e-7)
        assert np.all(np.diff(values) <= 0)
        assert len(values) <= projections.n_states[symbol]


def test_a_little_noise_changes_little():
    examples = of_demo()
    projections = project(examples, OPTIONS, seed=0)
    for scheme in ("additive", "multiplicative"):
        found = disturbed(examples, projections, OPTIONS, Noise(scheme, 1e-7), seed=3)
        for one, other in zip(found.singular_values, projections.singular_values, strict=True):
            assert close(one, other, rtol=1e-4)
        # Directions may turn round, and those with one value may mix; what they span doesn't.
        for side in ("inside", "outside"):
            for one, other in zip(getattr(found, side), getattr(projections, side), strict=True):
                spanned = other @ np.linalg.lstsq(other, one, rcond=None)[0]
                assert close(spanned, one, rtol=0.0, atol=1e-3 * np.abs(one).max())


def test_sizes_of_noise():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 2)) * np.array([1.0, 100.0]) + np.array([3.0, 0.0])
    added = disturb(rows, Noise("additive", 0.2), rng) - rows
    assert close(added.std(axis=0), 0.2 * rows.std(axis=0), rtol=0.03)
    assert close(added.mean(axis=0) / rows.std(axis=0), np.zeros(2), rtol=0.0, atol=0.01)
    factor = disturb(rows, Noise("multiplicative", 0.2), rng) / rows
    assert close(factor.std(axis=0), [0.2, 0.2], rtol=0.03)
    assert close(factor.mean(axis=0), [1.0, 1.0], rtol=0.01)


def test_dropout_leaves_its_share_of_entries():
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(np.arange(1.0, 20_001.0).reshape(200, 100))
    dropped = drop_out(matrix, 0.3, rng).toarray()
    kept = dropped != 0
    assert close(kept.mean(), 0.7, rtol=0.03)
    assert np.array_equal(dropped[kept], matrix.toarray()[kept])
    assert np.array_equal(matrix.toarray().ravel(), np.arange(1.0, 20_001.0))


@pytest.mark.parametrize("method", LEARN)
def test_symbols_that_dropout_would_empty_keep_their_features(monkeypatch, method):
    examples = of_demo()
    emptied = spectral.drop_out
    monkeypatch.setattr(spectral, "drop_out", lambda matrix, _, rng: emptied(matrix, 1.0, rng))
    without = LEARN[method](examples, noise=Noise("dropout", 0.5), seed=2)
    assert same(without, LEARN[method](examples, seed=2))


@pytest.mark.parametrize("method", LEARN)
def test_nearly_everything_dropped_is_still_a_model(method):
    examples = of_demo()
    model = LEARN[method](examples, noise=Noise("dropout", 0.99), seed=2)
    for array in model.grammar.parameters:
        assert np.isfinite(array).all()
    assert isinstance(model.projections, Projections)


@pytest.mark.parametrize(
    ("scheme", "sigma", "message"),
    [
        ("pepper", 0.1, "scheme is 'pepper'; it must be one of none, dropout"),
        ("additive", -0.1, "sigma is -0.1; it must be from 0 to 1e"),
        ("additive", float("nan"), "sigma is nan"),
        ("multiplicative", float("inf"), "sigma is inf; it must be from 0 to"),
        ("none", 0.1, "sigma is 0.1, but the scheme none has no noise"),
        ("dropout", 1.0, "sigma is 1.0; with dropout it must be below 1"),
    ],
)
def test_noise_without_a_meaning(scheme, sigma, message):
    with pytest.raises(SettingsError, match=message):
        Noise(scheme, sigma)
