"""Automata by enumeration: values as sums over paths, exact means of substrings, samples."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from itertools import product

import numpy as np

from eigentree.automata.model import OperatorModel
from eigentree.automata.spectral import Statistics


def random_automaton(n: int, symbols: str, rng: np.random.Generator) -> OperatorModel:
    """An automaton of probabilities whose sequences are about four symbols long."""
    wide, final = len(symbols) * n, rng.uniform(0.1, 0.4, n)
    going_on = rng.dirichlet(np.full(wide, 0.4), size=n).T * (1.0 - final)
    return OperatorModel(
        tuple(symbols), rng.dirichlet(np.ones(n)), final, going_on.reshape(-1, n, n).copy()
    )


def random_operators(n: int, symbols: str, rng: np.random.Generator) -> OperatorModel:
    """A model with numbers of any sign."""
    return OperatorModel(
        tuple(symbols),
        rng.normal(size=n),
        rng.normal(size=n),
        rng.normal(size=(len(symbols), n, n)),
    )


def strings(symbols: tuple[str, ...], longest: int) -> Iterator[tuple[str, ...]]:
    for length in range(longest + 1):
        yield from product(symbols, repeat=length)


def paths(
    model: OperatorModel, sequence: tuple[str, ...]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """All sequences of states, with their weights."""
    for states in product(range(model.n_states), repeat=len(sequence) + 1):
        weight = model.initial[states[0]] * model.final[states[-1]]
        for at, symbol in enumerate(sequence):
            operator = model.operators[model.symbols.index(symbol)]
            weight *= operator[states[at + 1], states[at]]
        yield states, float(weight)


def value(model: OperatorModel, sequence: tuple[str, ...]) -> float:
    return sum(weight for _, weight in paths(model, sequence))


def signed_value(model: OperatorModel, sequence: tuple[str, ...]) -> float:
    """What the model itself says."""
    log_value, sign = model.value(sequence)
    return sign * float(np.exp(log_value))


def exact_statistics(model: OperatorModel) -> Statistics:
    """Means of pairs and triples over all sequences, from sums of geometric series."""
    boundary, A = len(model.symbols), model.operators
    everything = np.linalg.inv(np.eye(model.n_states) - A.sum(axis=0))
    F = np.concatenate([(A @ everything @ model.initial).T, model.initial[:, None]], axis=1)
    B = np.concatenate([model.final @ everything @ A, model.final[None]], axis=0)
    pairs = np.array(list(product(range(boundary + 1), repeat=2)), dtype=np.int32)
    triples = np.array(
        [(a, x, b) for x in range(boundary) for a, b in pairs.tolist()], dtype=np.int32
    )
    return Statistics(
        boundary,
        np.inf,
        pairs,
        np.array([B[b] @ F[:, a] for a, b in pairs]),
        triples,
        np.array([B[b] @ A[x] @ F[:, a] for a, x, b in triples]),
    )


def draw(model: OperatorModel, size: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Sequences from an automaton of probabilities."""
    n, stop = model.n_states, model.operators.size // model.n_states
    initial = np.cumsum(model.initial)[:-1].tolist()
    outcomes = [np.cumsum(model.operators[:, :, j].ravel()).tolist() for j in range(n)]
    found = []
    for _ in range(size):
        state, sequence = bisect(initial, rng.random()), []
        while (outcome := bisect(outcomes[state], rng.random())) < stop:
            sequence.append(model.symbols[outcome // n])
            state = outcome % n
        found.append(tuple(sequence))
    return found
