"""Graphs of states: known automata are found again, counts add up, mergers are needed ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.automata import state_graph as module
from eigentree.automata.model import OperatorModel, mixture, without
from eigentree.automata.sequences import Sequences
from eigentree.automata.state_graph import StateGraph, StateGraphOptions, state_graph
from eigentree.errors import GrammarError, SettingsError
from tests.oracles.automata import draw, random_automaton, random_operators

# From state to symbol to the next state and its probability; what is left is that of stopping.
STEPS = {
    0: {"a": (1, 0.5), "b": (2, 0.3)},
    1: {"a": (1, 0.3), "c": (3, 0.4)},
    2: {"b": (0, 0.5), "c": (2, 0.2)},
    3: {"a": (0, 0.4)},
}


def deterministic():
    operators = np.zeros((3, 4, 4))
    for source, steps in STEPS.items():
        for symbol, (target, weight) in steps.items():
            operators["abc".index(symbol), target, source] = weight
    return OperatorModel(("a", "b", "c"), np.eye(4)[0], 1.0 - operators.sum(axis=(0, 1)), operators)


def sampled(model, size, seed=0):
    return draw(model, size, np.random.default_rng(seed))


def path(sequence):
    states = [0]
    for symbol in sequence:
        states.append(STEPS[states[-1]][symbol][0])
    return states


def rotation(n, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


@pytest.mark.parametrize("clusters", [4, 9, 60])
@pytest.mark.parametrize("rotated", [False, True])
def test_a_deterministic_automaton_is_found_again(clusters, rotated):
    model = deterministic()
    sequences = sampled(model, 1500)
    given_model = model.transformed(rotation(4, 1)) if rotated else model
    graph = state_graph(given_model, Sequences.of(sequences), StateGraphOptions(clusters))
    assert graph.n_clusters == len(graph.states) == 4
    # Which of the states is which.
    names = dict(
        pair
        for sequence in sequences
        for pair in zip(path(sequence), graph.read(sequence), strict=True)
    )
    assert sorted(names.values()) == [0, 1, 2, 3]
    found = {(each.source, each.symbol): each.target for each in graph.transitions}
    assert found == {
        (names[source], symbol): names[target]
        for source, steps in STEPS.items()
        for symbol, (target, _) in steps.items()
    }
    steps, visits, stops = Counter(), Counter(), Counter()
    for sequence in sequences:
        states = [names[state] for state in path(sequence)]
        steps.update(zip(states, sequence, states[1:]))  # noqa: B905 - the last has no symbol
        visits.update(states)
        stops[states[-1]] += 1
    assert {(each[0], each[1], each[2]): each.times for each in graph.transitions} == steps
    assert [state.visits for state in graph.states] == [visits[n] for n in range(4)]
    assert [state.stops for state in graph.states] == [stops[n] for n in range(4)]


@pytest.mark.parametrize(
    ("near", "clusters", "expected"),
    [
        # 0 and 3 are one cluster; by a it leads to itself and to 1, which is merged with it.
        ({3: 0}, 3, [{0, 1, 3}, {2}]),
        # 1 and 3 are one cluster, 0 and 2 another; by a the first leads to both.
        ({3: 1, 2: 0}, 2, [{0, 1, 2, 3}]),
    ],
)
def test_clusters_that_one_symbol_leads_to_are_merged(near, clusters, expected):
    vectors = np.eye(4)
    for state, other in near.items():
        vectors[:, state] = vectors[:, other] + 0.1 * vectors[:, state]
    model = deterministic().transformed(np.linalg.inv(vectors))
    sequences = sampled(deterministic(), 1500)
    graph = state_graph(model, Sequences.of(sequences), StateGraphOptions(clusters))
    assert graph.n_clusters == clusters
    found = {}
    for sequence in sequences:
        for name, state in zip(graph.read(sequence), path(sequence), strict=True):
            found.setdefault(name, set()).add(state)
    assert [found[name] for name in sorted(found)] == expected


def test_the_cut_may_be_a_distance():
    sequences = Sequences.of(sampled(deterministic(), 500))
    for distance, n_states in ((0.0, 4), (0.9, 4), (1.0, 1)):
        options = StateGraphOptions(1, distance=distance)
        assert len(state_graph(deterministic(), sequences, options).states) == n_states


def merged_by_hand(clusters, steps):
    """Clusters of prefixes, joined one pair at a time, in the order of the steps."""
    joined = dict(clusters)
    while True:
        target = {}
        for prefix in steps:
            end = joined[prefix]
            other = target.setdefault((joined[prefix[:-1]], prefix[-1]), end)
            if other != end:
                joined = {each: other if name == end else name for each, name in joined.items()}
                break
        else:
            return joined


@given(seed=st.integers(0, 10**6), clusters=st.integers(1, 8), signed=st.booleans())
def test_the_partition_is_the_finest_deterministic_one(seed, clusters, signed):
    rng = np.random.default_rng(seed)
    sequences = draw(random_automaton(3, "ab", rng), 60, rng)
    model = random_operators(3, "ab", rng) if signed else random_automaton(3, "ab", rng)
    options = StateGraphOptions(clusters, least_count=2, prefixes=1000)
    graph = state_graph(model, Sequences.of(sequences, "ab"), options)
    prefixes = sorted({s[:n] for s in sequences for n in range(len(s) + 1)})
    count = {p: sum(s[: len(p)] == p for s in sequences) for p in prefixes}
    frequent = [p for p in prefixes if count[p] >= 2 or p == ()]
    vectors = np.array([model.states(prefix)[-1] for prefix in frequent])
    clustered = module._cluster(vectors, options).tolist()
    steps = [frequent[at] for at in rng.permutation(len(frequent)) if frequent[at]]
    joined = merged_by_hand(dict(zip(frequent, clustered, strict=True)), steps)
    expected = {frozenset(p for p in frequent if joined[p] == name) for name in joined.values()}
    found = {frozenset(each.prefix for each in state.prefixes) for state in graph.states}
    assert found == expected
    assert all(each.times == count[each.prefix] for s in graph.states for each in s.prefixes)
    assert_adds_up(graph, sequences)


def assert_adds_up(graph: StateGraph, sequences):
    for number, state in enumerate(graph.states):
        onwards = sum(each.times for each in graph.transitions if each.source == number)
        came = sum(each.times for each in graph.transitions if each.target == number)
        assert state.visits == state.stops + state.lost + onwards
        assert state.visits == came + (len(sequences) if number == 0 else 0)
        assert state.n_prefixes >= len(state.prefixes) > 0
    assert sum(s.stops + s.lost for s in graph.states) == graph.n_sequences == len(sequences)
    paths = [graph.read(sequence) for sequence in sequences]
    ended = Counter(
        path[-1] for path, s in zip(paths, sequences, strict=True) if len(path) == len(s) + 1
    )
    assert [state.stops for state in graph.states] == [ended[n] for n in range(len(graph.states))]
    keys = [(each.source, each.symbol) for each in graph.transitions]
    assert len(keys) == len(set(keys))


def test_equal_input_gives_an_equal_graph():
    model = random_operators(5, "abc", np.random.default_rng(3))
    sequences = sampled(random_automaton(3, "abc", np.random.default_rng(4)), 300)
    first, again = (state_graph(model, Sequences.of(sequences)) for _ in range(2))
    other_order = state_graph(model, Sequences.of(sequences[::-1]))
    assert first == again == other_order
    assert first.states[0].prefixes[0] == ((), 300)


def test_what_the_automaton_cannot_read_is_reported():
    model = deterministic()
    silent = replace(model, operators=model.operators * np.array([1, 1, 0])[:, None, None])
    graph = state_graph(silent, Sequences.of(sampled(model, 300)), StateGraphOptions(least_count=9))
    assert graph.n_without > 0
    assert {each.symbol for each in graph.transitions} == {"a", "b"}
    assert sum(state.lost for state in graph.states) > 0
    with pytest.raises(GrammarError, match="the initial vector of the automaton is zero"):
        state_graph(replace(model, initial=np.zeros(4)), Sequences.of([("a",)]))


def test_empty_sequences_alone_have_one_state():
    graph = state_graph(deterministic(), Sequences.of([(), ()], "abc"))
    assert len(graph.states) == 1
    assert graph.states[0].stops == graph.states[0].visits == 2
    assert graph.transitions == ()
    with pytest.raises(GrammarError, match="there are no sequences"):
        state_graph(deterministic(), Sequences.of([], "abc"))


def test_refusals(monkeypatch):
    for settings, told in (
        ({"clusters": 0}, "clusters is 0; it must be at least 1"),
        ({"least_count": 0}, "least_count is 0"),
        ({"distance": 2.5}, "distance is 2.5; it must be between 0 and 2"),
    ):
        with pytest.raises(SettingsError, match=told):
            StateGraphOptions(**settings)
    monkeypatch.setattr(module, "MAX_PREFIXES", 2)
    with pytest.raises(SettingsError, match="3 prefixes have a count of 1 or more; at most 2"):
        state_graph(deterministic(), Sequences.of([("a", "a")]), StateGraphOptions(least_count=1))


def test_a_mixture_can_be_taken_apart():
    rng = np.random.default_rng(0)
    model, other = random_operators(3, "ab", rng), random_automaton(2, "ab", rng)
    mixed = mixture(model, other, 0.25)
    first = without(mixed, other)
    for name in ("final", "operators"):
        assert np.array_equal(getattr(first, name), getattr(model, name))
    assert np.array_equal(first.initial, 0.75 * model.initial)
    for whole in (other, model, mixture(other, model, 0.25)):
        assert without(whole, other) is whole
