"""Numbers of states by name, and what the spectral estimator and EM make of them."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from eigentree.constituency.learn.em import EMOptions, capped_states
from eigentree.constituency.learn.spectral import SpectralOptions, estimate, learn_spectral, project
from eigentree.constituency.learn.state_counts import max_states
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training_options import TreebankOptions
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import Symbol
from tests.demo import demo_trees
from tests.helpers import close

SYMBOLS = [
    Symbol("interminal", ("NP",)),
    Symbol("interminal", ("VP",)),
    Symbol("interminal", ("NP", "X")),
    Symbol("interminal", ("NP+X",)),
]


@pytest.fixture(scope="module")
def examples() -> Examples:
    return prepare(demo_trees()[:150], TreebankOptions()).examples


def number_of(examples: Examples, name: str) -> int:
    return [str(symbol) for symbol in examples.symbols.symbols].index(name)


def test_exceptions_by_printed_name():
    assert max_states(SYMBOLS, 24, {}).tolist() == [24] * 4
    given = {"VP": 48, "NP+X": 2}
    # Two symbols may print alike; both have the number.
    assert max_states(SYMBOLS, 24, given).tolist() == [24, 48, 2, 2]


def test_unknown_names_are_refused_with_near_ones():
    with pytest.raises(
        SettingsError, match=r"the name 'NPP', which is not .*; similar names: NP, NP"
    ):
        max_states(SYMBOLS, 24, {"NP": 2, "NPP": 3})
    with pytest.raises(SettingsError, match=r"the name 'zorgle', .*; similar names: NP, VP"):
        max_states(SYMBOLS, 24, {"zorgle": 3})


@pytest.mark.parametrize("options", [SpectralOptions, EMOptions])
def test_numbers_must_be_positive(options):
    with pytest.raises(SettingsError, match="states_of gives 'NP' 0; it must be at least 1"):
        options(states_of={"VP": 4, "NP": 0})
    with pytest.raises(SettingsError, match="states is 0; it must be at least 1"):
        options(states=0)


@pytest.mark.parametrize("options", [SpectralOptions, EMOptions])
def test_numbers_must_fit_where_they_are_stored(options):
    with pytest.raises(SettingsError, match="states is 2147483648; it must be at most 2147483647"):
        options(states=2**31)
    with pytest.raises(SettingsError, match="states_of gives 'NP' 9999999999; it must be at most"):
        options(states_of={"NP": 9999999999})
    assert max_states(SYMBOLS, options(states=2**31 - 1).states, {}).tolist() == [2**31 - 1] * 4


@pytest.mark.parametrize("options", [SpectralOptions, EMOptions])
def test_settings_survive_json(options):
    given = options(states_of={"VP": 4, "@S": 2})
    stored = json.loads(json.dumps(asdict(given)))
    assert stored["states_of"] == {"VP": 4, "@S": 2}
    assert hash(given) == hash(options(states_of={"VP": 4, "@S": 2}))
    assert given != options()


def test_spectral_states_by_name(examples):
    n_states = learn_spectral(examples, SpectralOptions(states=4)).grammar.n_states
    options = SpectralOptions(states=4, states_of={"NP": 9, "VP": 2, "DT": 1})
    own = learn_spectral(examples, options).grammar.n_states
    expected = n_states.copy()
    for name, number in options.states_of.items():
        expected[number_of(examples, name)] = number
    assert own.tolist() == expected.tolist()
    assert n_states[number_of(examples, "NP")] == 4


def test_em_states_by_name(examples):
    options = EMOptions(states=4, states_of={"NP": 9, "VP": 2, "S": 10_000})
    n_states = capped_states(examples, options)
    assert n_states[number_of(examples, "NP")] == 9
    assert n_states[number_of(examples, "VP")] == 2
    s = number_of(examples, "S")
    assert n_states[s] == int(np.sqrt(np.sum(examples.symbol == s)))  # no more than is supported
    assert n_states[number_of(examples, "PP")] == 4


def test_the_cut_takes_small_singular_values(examples):
    plain = project(examples, SpectralOptions(states=12))
    cut = project(examples, SpectralOptions(states=12, cut=0.25))
    assert cut.n_states.max() > 1
    assert cut.n_states.sum() < plain.n_states.sum()
    for all_values, kept, dropped in zip(
        plain.singular_values, cut.singular_values, cut.dropped, strict=True
    ):
        assert len(kept) == max(1, np.sum(all_values > 0.25 * all_values[0]))
        assert np.all(dropped <= 0.25 * kept[0])
        assert close(np.concatenate([kept, dropped])[: len(all_values)], all_values, rtol=1e-12)
    for wrong in (-0.1, 1.0, float("nan")):
        with pytest.raises(SettingsError, match=r"cut is .*; it must be at least 0 and below 1"):
            SpectralOptions(cut=wrong)


def test_fewer_states_are_the_first_directions(examples):
    wide = project(examples, SpectralOptions(states_of={"NP": 12}))
    n_states = np.minimum(wide.n_states, np.arange(len(wide.n_states)) % 3 + 1).astype(np.int32)
    narrow = wide.narrowed(n_states)
    assert narrow.n_states.tolist() == n_states.tolist()
    assert [len(all_values) for all_values in narrow.spectra] == [
        len(all_values) for all_values in wide.spectra
    ]
    grammar = estimate(examples, narrow, SpectralOptions())
    assert grammar.n_states.tolist() == n_states.tolist()
    # The same numbers by name give the same grammar, to the bit.
    names = [str(symbol) for symbol in examples.symbols.symbols]
    by_name = SpectralOptions(states_of=dict(zip(names, n_states.tolist(), strict=True)))
    again = learn_spectral(examples, by_name).grammar
    for one, other in zip(grammar.parameters, again.parameters, strict=True):
        assert np.array_equal(one, other)
