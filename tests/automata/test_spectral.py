"""Spectral learning of operator models, from exact means and from samples; counted automata."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.automata.counting import count_first, count_one_state, count_previous
from eigentree.automata.sequences import Sequences
from eigentree.automata.spectral import (
    OperatorOptions,
    count_substrings,
    decompose,
    from_substrings,
    learn_operators,
)
from eigentree.errors import GrammarError, SettingsError
from tests.helpers import close
from tests.oracles.automata import (
    draw,
    exact_statistics,
    random_automaton,
    signed_value,
    strings,
)

EXACT = OperatorOptions(3, relative_cut=1e-10, noise=0.0, back_off=0.0)
texts = st.lists(st.text("abc", max_size=6), min_size=1, max_size=12)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_exact_means_give_the_automaton_back(scaled: bool, seed: int):
    model = random_automaton(3, "abcd", np.random.default_rng(seed))
    statistics = exact_statistics(model)
    found = from_substrings(model.symbols, statistics, replace(EXACT, scaled=scaled))
    assert found.n_states == 3
    for sequence in strings(model.symbols, 5):
        expected = signed_value(model, sequence)
        assert close(signed_value(found, sequence), expected, rtol=0.0, atol=1e-10)
    # The basis differs; what no basis changes is the same.
    eigenvalues = [
        np.sort_complex(np.linalg.eigvals(each.operators.sum(axis=0))) for each in (found, model)
    ]
    assert close(*eigenvalues, rtol=1e-6, atol=1e-9)


def test_states_beyond_the_rank_are_not_made(rng):
    # Two symbols and the boundary give a P of rank 3 at most, whatever the automaton.
    statistics = exact_statistics(random_automaton(4, "ab", rng))
    found = decompose(statistics, replace(EXACT, states=4))
    assert len(found.values) == 3
    assert len(decompose(exact_statistics(random_automaton(2, "abcd", rng)), EXACT).values) == 2


def test_samples_come_close(rng):
    model = random_automaton(2, "abc", rng)
    errors = []
    for size in (100, 1_000, 10_000):
        sequences = Sequences.of(draw(model, size, rng), model.symbols)
        found = learn_operators(sequences, OperatorOptions(2, back_off=0.0))
        errors.append(
            sum(
                abs(signed_value(found, sequence) - signed_value(model, sequence))
                for sequence in strings(model.symbols, 4)
            )
        )
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.04


@given(texts)
def test_substrings_are_counted(given: list[str]):
    sequences = Sequences.of(given, "abc")
    found = count_substrings(sequences)
    padded = [(3, *("abc".index(symbol) for symbol in text), 3) for text in given]
    pairs = Counter(pair for row in padded for pair in pairwise(row))
    triples = Counter(t for row in padded for t in zip(row[:-2], row[1:-1], row[2:], strict=True))
    for columns, mean, expected in (
        (found.bigrams, found.bigram_mean, pairs),
        (found.trigrams, found.trigram_mean, triples),
    ):
        seen = {tuple(row): n for row, n in zip(columns.tolist(), mean.tolist(), strict=True)}
        assert len(seen) == len(columns)
        assert {key: round(n * len(given)) for key, n in seen.items()} == expected
    assert np.all(np.diff(found.trigrams[:, 1]) >= 0)


def test_the_noise_of_few_sequences_is_no_state(rng):
    # Independent symbols have one state; what else is seen comes from sampling.
    model = random_automaton(1, "abcdef", rng)
    sequences = Sequences.of(draw(model, 500, rng), model.symbols)
    for scaled in (True, False):
        options = OperatorOptions(6, back_off=0.0, noise=1.0, scaled=scaled)
        assert learn_operators(sequences, options).n_states == 1
        assert learn_operators(sequences, replace(options, noise=0.0)).n_states == 6


def test_back_off_gives_all_sequences_a_value():
    sequences = Sequences.of(["abab", "ab", ""], "abc")
    bare = learn_operators(sequences, OperatorOptions(2, back_off=0.0))
    assert bare.value("ac") == (-np.inf, 0)
    found = learn_operators(sequences, OperatorOptions(2, back_off=0.2))
    weak = count_one_state(sequences)
    for sequence in strings(("a", "b", "c"), 3):
        expected = 0.8 * signed_value(bare, sequence) + 0.2 * signed_value(weak, sequence)
        assert close(signed_value(found, sequence), expected, rtol=1e-9, atol=1e-12)
    assert found.value("ac")[1] == 1


def test_sequences_that_are_all_empty_have_an_automaton():
    found = learn_operators(Sequences.of(["", ""], "ab"), OperatorOptions(3, back_off=0.0))
    assert close(signed_value(found, ()), 1.0, rtol=1e-12)
    assert found.value("a") == (-np.inf, 0)


def test_large_alphabets_are_never_squared(rng):
    # Words of two kinds take turns, half of the sequences beginning with either.
    sequences = [
        [f"w{2 * int(rng.zipf(1.3)) % 20_000 + (at + start) % 2}" for at in range(6)]
        for start in rng.integers(2, size=6_000)
    ]
    numbered = Sequences.of(sequences)
    assert len(numbered.symbols) > 2_000
    found = learn_operators(numbered, OperatorOptions(3, back_off=0.0))
    is_even = np.array([int(name[1:]) % 2 == 0 for name in found.symbols])
    following = found.following(["w4", "w3", "w2"])[:-1]
    assert following[~is_even].sum() > 0.7  # or the sequence ends
    assert abs(following[is_even].sum()) < 0.02
    again = learn_operators(numbered, OperatorOptions(3, back_off=0.0))
    assert np.array_equal(found.operators, again.operators)


# Counted automata -------------------------------------------------------------------------

SEQUENCES = Sequences.of(["ab", "b", "", "aab"], "abc")


def test_one_state_has_smoothed_relative_frequencies():
    found = count_one_state(SEQUENCES, 0.5)
    assert close(found.operators[:, 0, 0], np.array([3.5, 3.5, 0.5]) / (10 + 2), rtol=1e-12)
    assert close(found.final, [4.5 / 12], rtol=1e-12)


def test_the_first_symbol_has_a_state_of_its_own():
    found = count_first(SEQUENCES, 0.5)
    assert close(signed_value(found, ()), 1.5 / 6, rtol=1e-12)
    assert close(signed_value(found, ("a",)), 2.5 / 6 * 3.5 / 8, rtol=1e-12)
    assert close(signed_value(found, ("a", "b")), 2.5 / 6 * 2.5 / 8 * 3.5 / 8, rtol=1e-12)


def test_the_previous_symbol_is_remembered():
    found = count_previous(SEQUENCES, 0.5)
    assert found.n_states == 4
    # After a: a once, b twice, never the end; after the first symbol in all: a, b, b and 3 ends.
    rest = np.array([1.5, 2.5, 0.5, 3.5]) / 8
    after_a = (np.array([1, 2, 0, 0]) + 2 * rest) / 5
    first = (np.array([2, 1, 0, 1]) + 2 * np.array([2.5, 1.5, 0.5, 1.5]) / 6) / 6
    assert close(signed_value(found, ("a", "a")), first[0] * after_a[0] * after_a[3], rtol=1e-12)


@pytest.mark.parametrize("count", [count_one_state, count_first, count_previous])
@pytest.mark.parametrize("sequences", [SEQUENCES, Sequences.of([], "abc")])
def test_counted_automata_are_distributions_without_zeros(count, sequences):
    found = count(sequences)
    assert close(found.continuation(), np.ones(found.n_states), rtol=1e-9)
    assert close(found.initial.sum(), 1.0, rtol=1e-12)
    assert all(signed_value(found, sequence) > 0 for sequence in strings(found.symbols, 3))


# What is refused --------------------------------------------------------------------------


def test_settings_that_have_no_meaning_are_refused():
    for settings, message in (
        ({"states": 0}, "states is 0; it must be at least 1"),
        ({"relative_cut": 1.0}, "relative_cut is 1.0"),
        ({"back_off": -0.1}, "back_off is -0.1"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"prior": 0.0}, "prior is 0.0; it must be above 0"),
    ):
        with pytest.raises(SettingsError, match=message):
            OperatorOptions(**settings)
    with pytest.raises(SettingsError, match="there are 301 symbols; an automaton"):
        count_previous(Sequences.of([[str(number)] for number in range(301)]))


def test_sequences_that_cannot_be_learned_from_are_refused():
    with pytest.raises(GrammarError, match="there are no sequences to learn from"):
        learn_operators(Sequences.of([]))
    with pytest.raises(GrammarError, match="symbol 'c' isn't in the alphabet"):
        Sequences.of(["abc"], "ab")
