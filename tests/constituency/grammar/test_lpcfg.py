"""Grammars with latent states: their tensors, and what their constructor refuses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG, smoothed_tensor
from eigentree.errors import GrammarError, ShapeError
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


@given(st.sampled_from([0.0, 0.5]).flatmap(lambda counts: grammars(samples=0.5, counts=counts)))
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
        if grammar.is_counted[rule]:
            at = slice(p.sample_start[rule, 0], p.sample_start[rule, 0] + n)
            rows = [
                (states[:, None] == np.arange(size)).astype(float)
                for states, size in zip(p.triples[at].T, sizes, strict=True)
            ]
            shares = p.state_share[a], p.state_share[b], p.state_share[c]
            expected = naive(*rows, p.uses[at], shares, p.smoothing[rule])
            expected *= p.state_scale[a][:, None, None]
            assert close(tensor, p.ratio[rule] * expected, rtol=1e-10, atol=1e-12)
            continue
        z, y, w = (
            p.samples[start : start + n * size].reshape(n, size)
            for start, size in zip(p.sample_start[rule], sizes, strict=True)
        )
        expected = naive(z, y, w, np.ones(n), backed_off, p.smoothing[rule])
        assert close(tensor, p.ratio[rule] * expected, rtol=1e-10, atol=1e-12)


@given(grammars(counts=0.7))
def test_word_vectors_of_both_forms(grammar: LPCFG):
    p = grammar.parameters
    for entry, symbol in enumerate(grammar.backbone.words.symbol):
        vector = grammar.word_vector(entry)
        first, last = p.lexical_start[entry : entry + 2]
        if first < last:
            assert np.array_equal(vector, p.lexical[first:last])
            continue
        states = grammar.states(symbol)
        seen = range(p.word_use_start[entry], p.word_use_start[entry + 1])
        total = sum(p.word_uses[at] for at in seen)
        own = {int(p.word_state[at]): p.word_uses[at] / total for at in seen}
        expected = [
            p.state_scale[states][h]
            * ((1 - p.lean[entry]) * own.get(h, 0.0) + p.lean[entry] * p.state_share[states][h])
            for h in range(grammar.n_states[symbol])
        ]
        assert close(vector, expected, rtol=1e-12, atol=1e-15)


def example(samples: float = 0.5, counts: float = 0.0) -> LPCFG:
    rng = np.random.default_rng(1)
    backbone = random_pcfg(rng, 2, 2, 3)
    return random_lpcfg(rng, backbone, 3, signed=True, samples=samples, counts=counts)


def test_number_of_parameters():
    grammar = example(samples=0.0)
    p = grammar.parameters
    assert grammar.n_parameters == len(p.dense) + len(p.lexical) + len(p.root)
    dense = p.dense.copy()
    dense[:3] = 0.0
    fewer = LPCFG(grammar.backbone, p._replace(dense=dense), signed=True)
    assert fewer.n_parameters == grammar.n_parameters - 3


def test_number_of_parameters_of_counts():
    grammar = example(samples=0.0, counts=1.0)
    p = grammar.parameters
    assert len(p.dense) == len(p.lexical) == 0
    assert grammar.n_parameters == len(p.uses) + len(p.word_uses) + len(p.lean) + len(p.root)


def test_counts_are_rounded_like_other_large_arrays():
    grammar = example(counts=0.7)
    rounded = grammar.rounded().parameters
    for name in ("dense", "samples", "lexical", "uses", "word_uses", "lean"):
        array = getattr(grammar.parameters, name)
        assert np.array_equal(getattr(rounded, name), array.astype(np.float32)), name
        assert not np.array_equal(getattr(rounded, name), array), name


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
        (lambda p: {"dense": p.dense[:-1]}, GrammarError, "tensor exceeds the end"),
        (lambda p: {"samples": p.samples[:-1]}, GrammarError, "tensor exceeds the end"),
        (lambda p: {"lexical": p.lexical[:-1]}, GrammarError, "lexical vectors do not match"),
        (lambda p: {"root": p.root[:-1]}, ShapeError, "axis 0 of root is states"),
        (lambda p: {"ratio": p.ratio[:-1]}, ShapeError, "axis 0 of ratio is R"),
        (lambda p: {"rule_symbols": p.rule_symbols[::-1]}, GrammarError, "are for other rules"),
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


def one_beyond(grammar: LPCFG) -> np.ndarray:
    """The triples, the first of which has a state that its symbol lacks."""
    p = grammar.parameters
    triples = p.triples.copy()
    rule = np.flatnonzero(grammar.is_counted)[0]
    triples[p.sample_start[rule, 0], 1] = grammar.n_states[p.rule_symbols[rule, 1]]
    return triples


def moved(grammar: LPCFG, by: int) -> np.ndarray:
    start = grammar.parameters.sample_start.copy()
    start[np.flatnonzero(grammar.is_counted)[0], 0] += by
    return start


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda g: {"triples": one_beyond(g)}, GrammarError, "a state that its symbol lacks"),
        (
            lambda g: {"word_state": g.parameters.word_state + np.uint16(9)},
            GrammarError,
            "symbol lacks",
        ),
        (lambda g: {"triples": g.parameters.triples[:-1]}, ShapeError, "axis 0 of uses is triples"),
        (
            lambda g: {"triples": g.parameters.triples[:, :2]},
            ShapeError,
            "axis 1 of triples is modes",
        ),
        (
            lambda g: {"triples": g.parameters.triples.astype(np.int32)},
            ShapeError,
            "must hold uint16",
        ),
        (
            lambda g: {"triples": g.parameters.triples[:-1], "uses": g.parameters.uses[:-1]},
            GrammarError,
            "must be consecutive and complete",
        ),
        (lambda g: {"sample_start": moved(g, 1)}, GrammarError, "must be consecutive"),
        (lambda g: {"sample_start": moved(g, -1)}, GrammarError, "must be consecutive"),
        (
            lambda g: {"uses": -g.parameters.uses},
            GrammarError,
            "uses has a count that is not positive",
        ),
        (
            lambda g: {"word_uses": 0 * g.parameters.word_uses},
            GrammarError,
            "word_uses has a count",
        ),
        (
            lambda g: {"word_use_start": g.parameters.word_use_start[:0]},
            GrammarError,
            "the lexical vectors do not match",
        ),
        (
            lambda g: {"word_use_start": g.parameters.word_use_start + 1},
            ShapeError,
            "must begin with 0",
        ),
        (
            lambda g: {"word_use_start": 0 * g.parameters.word_use_start},
            GrammarError,
            "match the word table",
        ),
        (lambda g: {"lean": g.parameters.lean[1:]}, ShapeError, "axis 0 of lean is L"),
        (
            lambda g: {"state_share": g.parameters.state_share[1:]},
            ShapeError,
            "of state_share is states",
        ),
        (
            lambda g: {"state_scale": g.parameters.state_scale[:0]},
            ShapeError,
            "of state_scale is states",
        ),
    ],
)
def test_counts_that_point_elsewhere_are_refused(change, error, message: str):
    grammar = example(samples=0.3, counts=0.7)
    p = grammar.parameters
    assert 0 < grammar.is_counted.sum() < np.sum(p.dense_start < 0)
    assert len(p.lexical) > 0
    with pytest.raises(error, match=message):
        LPCFG(grammar.backbone, p._replace(**change(grammar)), signed=True)


def test_counts_of_rules_need_those_of_words():
    grammar = example(samples=0.3, counts=0.7)
    words = [grammar.word_vector(entry) for entry in range(len(grammar.backbone.words.word))]
    full = grammar.parameters._replace(
        lexical=np.concatenate(words),
        lexical_start=np.cumsum([0, *map(len, words)]),
        word_use_start=np.zeros(0, dtype=np.int64),
    )
    with pytest.raises(GrammarError, match="word_use_start must have an entry for each"):
        LPCFG(grammar.backbone, full, signed=True)
