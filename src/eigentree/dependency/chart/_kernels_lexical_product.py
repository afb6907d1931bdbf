"""Kernel of `eigentree.dependency.chart.lexical_product`, which describes the method."""

from __future__ import annotations

from eigentree._core.jit import kernel
from eigentree.types import Floats3, Floats4, Longs, Longs2


@kernel
def fill_products(
    operators: Floats3,
    n_states: Longs,
    automaton_of: Longs2,
    operator_of: Longs2,
    step: Floats3,
    products: Floats4,
) -> None:
    """Fill the operators of products, one block of rows each.

    Cost: O(N^2 S K^2).

    Parameters
    ----------
    operators, n_states, automaton_of, operator_of
        Of a sentence's automata.
    step : float64, axes (N + 1, N + 1, S)
        Values of the deterministic automata for head, modifier and state.
    products : float64, axes (N + 1, N + 1, K, S K)
        Receives values for head, modifier, states to and from.
    """
    for head in range(len(step)):
        for modifier in range(1, len(step)):
            if modifier == head:
                continue
            operator = operators[operator_of[head, modifier]]
            product = products[head, modifier]
            n = n_states[automaton_of[head, 1 if modifier > head else 0]]
            for s in range(step.shape[2]):
                weight = step[head, modifier, s]
                for i in range(n):
                    for j in range(n):
                        product[i, s * n + j] = weight * operator[i, j]
