"""Kernel of `eigentree.dependency.chart.lexical_product`, which describes the method."""

from __future__ import annotations

from eigentree._core.jit import kernel
from eigentree.types import Floats, Longs


@kernel
def fill_products(
    operators: Floats,
    n_states: Longs,
    automaton_of: Longs,
    operator_of: Longs,
    step: Floats,
    after: Longs,
    products: Floats,
) -> None:
    """Fill the operators of products; zero entries are not written.

    Cost: O(N^2 S K^2).

    Parameters
    ----------
    operators, n_states, automaton_of, operator_of
        Of a sentence's automata.
    step : float64, axes (N + 1, N + 1, S)
        Values of the deterministic automata for head, modifier and state.
    after : int64, axes (N + 1)
        State after each modifier.
    products : float64, axes (N + 1, N + 1, S K, S K)
        Receives values for head, modifier, states to and from.
    """
    for head in range(len(after)):
        for modifier in range(1, len(after)):
            if modifier == head:
                continue
            operator = operators[operator_of[head, modifier]]
            product = products[head, modifier]
            n = n_states[automaton_of[head, 1 if modifier > head else 0]]
            to = after[modifier] * n
            for s in range(step.shape[2]):
                weight = step[head, modifier, s]
                for i in range(n):
                    for j in range(n):
                        product[to + i, s * n + j] = weight * operator[i, j]
