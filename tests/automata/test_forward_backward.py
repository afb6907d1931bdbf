"""Marginals of states against the list of all sequences of states, and at their limits."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.automata.forward_backward import forward_backward
from eigentree.errors import ShapeError
from eigentree.linalg.low_rank import low_rank
from tests.helpers import close

LONG = 3000


def enumerated(
    initial: np.ndarray, transition: np.ndarray, stop: np.ndarray, likelihood: np.ndarray
) -> tuple[float, float, np.ndarray]:
    """The value of a sentence, its size without signs, and the value with each state."""
    n, n_states = likelihood.shape
    total, size, with_state = 0.0, 0.0, np.zeros((n, n_states))
    for states in product(range(n_states), repeat=n):
        value = initial[states[0]] * stop[states[-1]]
        for at, state in enumerate(states):
            value *= likelihood[at, state]
            if at:
                value *= transition[states[at - 1], state]
        total += value
        size += abs(value)
        with_state[np.arange(n), states] += value
    return float(total), float(size), with_state


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(1, 4),
    st.lists(st.integers(1, 5), max_size=2),
    st.booleans(),
)
def test_marginals_are_sums_over_all_sequences(
    seed: int, n: int, n_states: int, between: list[int], signed: bool
):
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal if signed else rng.random
    sizes = [n_states, *between, n_states]
    factors = [draw((a, b)) for a, b in pairwise(sizes)]
    initial, stop, likelihood = draw(n_states), draw(n_states), rng.random((n, n_states))
    likelihood[rng.random(likelihood.shape) < 0.2] = 0.0
    transition = factors[0]
    for factor in factors[1:]:
        transition = transition @ factor
    total, size, with_state = enumerated(initial, transition, stop, likelihood)
    found = forward_backward(initial, factors, stop, likelihood)
    if size == 0.0:
        assert found is None
        return
    assert found is not None
    # Terms of both signs may nearly cancel.
    tolerance = 1e-12 * size / abs(total) + 1e-12
    assert close(found.marginal, with_state / total, rtol=1e-9, atol=tolerance * size / abs(total))
    assert close(found.log_value, math.log(abs(total)), rtol=1e-9, atol=tolerance)
    assert found.sign == np.sign(total)
    assert close(found.marginal.sum(axis=1), np.ones(n), rtol=1e-9, atol=tolerance)


def chain(n_states: int = 6, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start, transitions and end of a model in which every state may follow every other."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(n_states + 1, 0.5), n_states)
    return rng.dirichlet(np.ones(n_states)), rows[:, :-1].copy(), rows[:, -1].copy()


def test_factors_of_full_rank_are_exact_and_those_of_less_are_not():
    initial, transition, stop = chain()
    likelihood = np.random.default_rng(0).random((40, 6))
    exact = forward_backward(initial, [transition], stop, likelihood)
    errors = []
    for rank in range(1, 7):
        found = forward_backward(initial, low_rank(transition, rank), stop, likelihood)
        errors.append(np.abs(found.marginal - exact.marginal).max())
    assert errors[-1] < 1e-12
    assert errors[0] > errors[2] > errors[4] > 1e-6


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1.0, 1e300])
@pytest.mark.parametrize("rank", [None, 6])
def test_nothing_under_or_overflows(size: float, rank: int | None):
    initial, transition, stop = chain()
    likelihood = np.random.default_rng(1).uniform(0.1, 1.0, (LONG, 6))
    factors = [transition] if rank is None else low_rank(transition, rank)
    found = forward_backward(initial, factors, stop, likelihood * size)
    # The value by logarithms, each step with the largest taken out.
    log_vector = np.log(initial) + np.log(likelihood[0])
    for row in likelihood[1:]:
        top = log_vector.max()
        log_vector = top + np.log(np.exp(log_vector - top) @ transition) + np.log(row)
    top = log_vector.max()
    expected = top + math.log(np.exp(log_vector - top) @ stop) + LONG * math.log(size)
    assert close(found.log_value, expected, rtol=1e-11)
    near = forward_backward(initial, [transition], stop, likelihood)
    assert close(found.marginal, near.marginal, rtol=1e-8)


def test_a_sentence_without_value_has_no_marginals():
    initial, transition, stop = chain()
    likelihood = np.ones((4, 6))
    likelihood[2] = 0.0
    assert forward_backward(initial, [transition], stop, likelihood) is None
    assert forward_backward(initial, [transition], 0.0 * stop, np.ones((4, 6))) is None
    # A state that nothing leads to, and a word that needs it.
    apart = transition.copy()
    apart[:, 5] = 0.0
    likelihood = np.ones((4, 6))
    likelihood[3, :5] = 0.0
    assert forward_backward(initial, [apart], stop, likelihood) is None
    assert forward_backward(initial, [transition * 1e308] * 1, stop, np.ones((4, 6))) is not None
    huge = [np.full((6, 6), 1e308)]
    assert forward_backward(initial, huge, stop, np.ones((4, 6))) is None


def test_arrays_that_do_not_agree_are_refused():
    initial, transition, stop = chain()
    likelihood = np.ones((4, 6))
    with pytest.raises(ShapeError, match=r"axis 0 of transition\[1\] is r1, which must be 6"):
        forward_backward(initial, [transition, np.ones((5, 6))], stop, likelihood)
    with pytest.raises(ShapeError, match="axis 0 of stop is S, which must be 6"):
        forward_backward(initial, [transition], stop[1:], likelihood)
    with pytest.raises(ShapeError, match="there are 0 factors and 4 words"):
        forward_backward(initial, [], stop, likelihood)
    with pytest.raises(ShapeError, match="there are 1 factors and 0 words"):
        forward_backward(initial, [transition], stop, likelihood[:0])
