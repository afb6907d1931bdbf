"""Operator models against sums over paths, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from eigentree.automata.model import OperatorModel, mixture
from eigentree.automata.model_file import CODEC, load_automaton, save_automaton
from eigentree.errors import GrammarError, ModelFileError, ShapeError
from eigentree.model_file import open_model, save_model
from tests.helpers import close
from tests.oracles.automata import (
    random_automaton,
    random_operators,
    signed_value,
    strings,
    value,
)


@pytest.mark.parametrize("make", [random_automaton, random_operators])
def test_values_are_sums_over_paths(make, rng):
    model = make(3, "abc", rng)
    for sequence in strings(model.symbols, 4):
        assert close(signed_value(model, sequence), value(model, sequence), rtol=1e-10, atol=1e-13)


def test_states_are_forward_vectors_but_for_powers_of_two(rng):
    model = random_operators(3, "ab", rng)
    vector = model.initial
    found = model.states("abba")
    assert np.array_equal(found[0], vector)
    for symbol, scaled in zip("abba", found[1:], strict=True):
        vector = model.operators["ab".index(symbol)] @ vector
        power = np.log2(vector / scaled)
        assert close(power, np.full(3, round(power[0])), rtol=0.0, atol=1e-9)
        assert 0.5 <= np.abs(scaled).max() < 1.0


def test_ten_thousand_symbols_neither_underflow_nor_overflow():
    for factor in (1e-30, 1e30, -1e-30):
        model = OperatorModel(("a",), np.ones(1), np.full(1, 0.5), np.full((1, 1, 1), factor))
        log_value, sign = model.value(["a"] * 10_001)
        assert close(log_value, 10_001 * math.log(abs(factor)) + math.log(0.5), rtol=1e-12)
        assert sign == (1 if factor > 0 else -1)


def test_unknown_symbols_have_the_value_zero(rng):
    model = random_automaton(2, "ab", rng)
    assert model.value("axb") == (-math.inf, 0)
    assert not model.states("axb")[2:].any()
    assert model.states("axb")[1].any()


def test_another_basis_gives_the_same_values(rng):
    model = random_operators(3, "ab", rng)
    other = model.transformed(rng.normal(size=(3, 3)))
    assert not close(other.initial, model.initial, rtol=0.1)
    for sequence in strings(model.symbols, 4):
        expected = signed_value(model, sequence)
        assert close(signed_value(other, sequence), expected, rtol=1e-9, atol=1e-11)


def test_a_mixture_mixes_values(rng):
    first, second = random_operators(3, "ab", rng), random_automaton(2, "ab", rng)
    mixed = mixture(first, second, 0.3)
    assert mixed.n_states == 5
    for sequence in strings(first.symbols, 3):
        expected = 0.7 * value(first, sequence) + 0.3 * value(second, sequence)
        assert close(signed_value(mixed, sequence), expected, rtol=1e-10, atol=1e-13)
    with pytest.raises(GrammarError, match="different symbols"):
        mixture(first, random_automaton(2, "ac", rng), 0.3)


def test_continuations_sum_over_all_that_may_come(rng):
    model = random_automaton(3, "ab", rng)
    assert close(model.continuation(), np.ones(3), rtol=1e-12)
    # In another basis the probabilities of what follows stay what they are.
    other = model.transformed(rng.normal(size=(3, 3)))
    for prefix in strings(model.symbols, 2):
        expected = model.following(prefix)
        assert close(expected.sum(), 1.0, rtol=1e-12)
        assert close(other.following(prefix), expected, rtol=1e-8)
        vector = model.states(prefix)[-1]
        assert close(expected[-1], (model.final @ vector) / vector.sum(), rtol=1e-12)


def test_what_has_no_sum_is_refused(rng):
    model = random_automaton(2, "ab", rng)
    with pytest.raises(GrammarError, match=r"spectral radius 2, so .* must be below 1"):
        OperatorModel(("a",), np.ones(1), np.ones(1), np.full((1, 1, 1), 2.0)).continuation()
    with pytest.raises(GrammarError, match="the prefix has value zero"):
        model.following("x")


def test_models_that_are_none_are_refused(rng):
    model = random_automaton(2, "ab", rng)
    with pytest.raises(ShapeError, match="axis 2 of operators is n, which must be 2"):
        replace(model, operators=model.operators[:, :, :1])
    with pytest.raises(ShapeError, match="axis 0 of operators is symbols, which must be 3"):
        replace(model, symbols=("a", "b", "c"))
    with pytest.raises(ShapeError, match="final holds int64"):
        replace(model, final=np.ones(2, dtype=np.int64))
    with pytest.raises(ShapeError, match="there are no states"):
        OperatorModel(("a",), np.zeros(0), np.zeros(0), np.zeros((1, 0, 0)))
    with pytest.raises(GrammarError, match="initial of an operator model has a number that isn't"):
        replace(model, initial=np.array([1.0, np.nan]))
    with pytest.raises(GrammarError, match="duplicate symbol"):
        replace(model, symbols=("a", "a"))


def test_a_model_file_gives_the_model_back(rng, tmp_path):
    model, path = random_operators(3, "ab", rng), tmp_path / "model"
    save_automaton(model, path, {"method": "spectral"})
    found = load_automaton(path)
    assert found.symbols == model.symbols
    for name, array in model.to_arrays().items():
        assert np.array_equal(found.to_arrays()[name], array)


def test_model_files_that_do_not_fit_are_refused(rng, tmp_path):
    model, path = random_operators(3, "ab", rng), tmp_path / "model"
    save_automaton(model, path)
    header, arrays = open_model(path).header, model.to_arrays()
    for changed, kept, message in (
        ({"symbols": ["a"]}, arrays, "axis 0 of operators is symbols, which must be 1"),
        ({"symbols": 3}, arrays, "its header's symbols"),
        ({}, {"initial": model.initial}, "lacks 'final'"),
        ({"kind": "parser"}, arrays, f"expected '{CODEC.kind}'"),
    ):
        save_model(path, header | changed, kept)
        with pytest.raises(ModelFileError, match=message):
            load_automaton(path)
