"""Grammars with latent states: their tensors, and what their constructor refuses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import GrammarError, ShapeError
from eigentree.grammar.lpcfg import LPCFG, smoothed_tensor
from eigentree.grammar.plain import one_state
from tests.helpers import close
from tests.strategies import grammars, random_lpcfg, random_pcfg


def mean(*factors: np.ndarray, weight: np.ndarray) -> float:
    return float(sum(weight * np.prod(factors, axis=0)) / sum(weight))


def naive(z, y, w, weight, backed_off, smoothing):
    """Section 3.2 of Cohen et al. (2013), entry by entry."""
    h, f_left, f_right = backed_off
    tensor = np.zeros((z.shape[1], y.shape[1], w.shape[1]))
    for i, j, k in product(*map(range, tensor.shape)):
        zi, yj, wk = z[:, i], y[:, j], w[:, k]
        third = mean(zi, yj, wk, weight=weight)
        second = (
            mean(zi, yj, weight=weight) * mean(wk, weight=weight)
            + mean(zi, wk, weight=weight) * mean(yj, weight=weight)
            + mean(yj, wk, weight=weight) * mean(zi, weight=weight)
        ) / 3
        first = mean(zi, weight=weight) * mean(yj, weight=weight) * mean(wk, weight=weight)
        zeroth = h[i] * f_left[j] * f_right[k]
        rest = 1 - smoothing
        tensor[i, j, k] = smoothing * third + rest * (
            smoothing * second + rest * (smoothing * first + rest * zeroth)
        )
    return tensor


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from([0.0, 0.25, 0.7, 1.0]),
)
def test_smoothed_tensor_is_the_four_level_formula(seed, n, sizes, smoothing):
    rng = np.random.default_rng(seed)
    z, y, w = (rng.standard_normal((n, size)) for size in sizes)
    backed_off = tuple(rng.standard_normal(size) for size in sizes)
    weight = rng.uniform(0.5, 2.0, n)
    found = smoothed_tensor(z, y, w, weight, backed_off, smoothing)
    expected = naive(z, y, w, weight, backed_off, smoothing)
    assert close(found, expected, rtol=1e-10, atol=1e-12)


def test_many_samples_are_taken_in_blocks(rng: np.random.Generator):
    n = 4096 * 2 + 7
    z, y, w = (rng.standard_normal((n, size)) for size in (2, 3, 2))
    weight = rng.uniform(0.5, 2.0, n)
    found = smoothed_tensor(z, y, w, weight, (np.ones(2), np.ones(3), np.ones(2)), 1.0)
    expected = np.einsum("n,ni,nj,nk->ijk", weight / weight.sum(), z, y, w)
    assert close(found, expected, rtol=1e-9, atol=1e-12)


@given(grammars(samples=0.5))
def test_tensor_of_each_form(grammar: LPCFG):
    p = grammar.parameters
    for rule, symbols in enumerate(p.rule_symbols):
        sizes = grammar.n_states[symbols]
        tensor = grammar.tensor(rule)
        assert tensor.shape == tuple(sizes)
        first = p.dense_start[rule]
        if first >= 0:
            assert np.array_equal(tensor.ravel(), p.dense[first : first + tensor.size])
            continue
        n = p.n_samples[rule]
        a, b, c = (grammar.states(symbol) for symbol in symbols)
        backed_off = p.outside_mean[a], p.inside_mean[b], p.inside_mean[c]
        if n == 0:
            expected = p.ratio[rule] * np.einsum("i,j,k->ijk", *backed_off)
            assert close(tensor, expected, rtol=1e-12, atol=1e-300)
            continue
        z, y, w = (
            p.samples[start : start + n * size].reshape(n, size)
            for start, size in zip(p.sample_start[rule], sizes, strict=True)
        )
        expected = naive(z, y, w, np.ones(n), backed_off, p.smoothing[rule])
        assert close(tensor, p.ratio[rule] * expected, rtol=1e-10, atol=1e-12)


def example(samples: float = 0.5) -> LPCFG:
    rng = np.random.default_rng(1)
    return random_lpcfg(rng, random_pcfg(rng, 2, 2, 3), 3, signed=True, samples=samples)


def test_number_of_parameters():
    grammar = example(samples=0.0)
    p = grammar.parameters
    assert grammar.n_parameters == len(p.dense) + len(p.lexical) + len(p.root)
    dense = p.dense.copy()
    dense[:3] = 0.0
    fewer = LPCFG(grammar.backbone, p._replace(dense=dense), signed=True)
    assert fewer.n_parameters == grammar.n_parameters - 3


def test_one_state_is_the_pcfg():
    backbone = random_pcfg(np.random.default_rng(2), 3, 3, 5)
    grammar = one_state(backbone)
    assert not grammar.signed
    assert grammar.n_states.tolist() == [1] * len(backbone.symbols)
    tensors = [grammar.tensor(rule).tolist() for rule in range(backbone.n_rules)]
    assert tensors == [[[[value]]] for value in backbone.probability.tolist()]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda p: {"dense": p.dense[:-1]}, GrammarError, "tensor reaches beyond the end"),
        (lambda p: {"samples": p.samples[:-1]}, GrammarError, "tensor reaches beyond the end"),
        (lambda p: {"lexical": p.lexical[:-1]}, GrammarError, "lexical vectors don't fit"),
        (lambda p: {"root": p.root[:-1]}, ShapeError, "axis 0 of root is states"),
        (lambda p: {"ratio": p.ratio[:-1]}, ShapeError, "axis 0 of ratio is R"),
        (lambda p: {"rule_symbols": p.rule_symbols[::-1]}, GrammarError, "belong to other rules"),
        (
            lambda p: {"n_samples": np.zeros_like(p.n_samples)},
            GrammarError,
            "neither a dense tensor nor samples",
        ),
        (
            lambda p: {"state_start": np.r_[0, p.state_start[0], p.state_start[2:]]},
            GrammarError,
            "at least one latent state",
        ),
    ],
)
def test_arrays_that_disagree_are_refused(change, error, message: str):
    grammar = example()
    p = grammar.parameters
    assert 0 < np.sum(p.dense_start < 0) < len(p.dense_start)
    with pytest.raises(error, match=message):
        LPCFG(grammar.backbone, p._replace(**change(p)), signed=True)
