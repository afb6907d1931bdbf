"""All projective dependency trees of a sentence, one by one, and their values.

Slow and plain on purpose: no chart, no compiled code, nothing of `eigentree.constituency.chart`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod

import numpy as np


def is_projective_tree(heads: tuple[int, ...]) -> bool:
    """Whether every token comes from the root, and no arc crosses another."""
    for token in range(1, len(heads) + 1):
        at, steps = token, 0
        while at and steps <= len(heads):
            at, steps = heads[at - 1], steps + 1
        if at:
            return False
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, start=1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@cache
def projective_trees(n: int, multi_root: bool) -> tuple[tuple[int, ...], ...]:
    """The head of each token in every tree, 0 for the root."""
    return tuple(
        heads
        for heads in product(range(n + 1), repeat=n)
        if is_projective_tree(heads) and (multi_root or heads.count(0) == 1)
    )


def half_values(sentence, heads: tuple[int, ...], *, best_path: bool = False) -> Iterator:
    """What the automata of root and tokens give to their modifiers, read outwards.

    It is the sum over all paths of states, or what the best of them has.
    """
    for head in range(len(heads) + 1):
        modifiers = [m for m, own in enumerate(heads, start=1) if own == head]
        for direction in (0, 1) if head else (1,):
            own = [m for m in modifiers if (m > head) == bool(direction)]
            automaton = sentence.automaton_of[head, direction]
            n = sentence.n_states[automaton]
            vector, final = sentence.initial[automaton, :n], sentence.final[automaton, :n]
            for modifier in own if direction else reversed(own):
                n_to = n // sentence.n_blocks
                first_to = sentence.block_of[modifier] * n_to
                operator = sentence.operators[sentence.operator_of[head, modifier]]
                steps = np.zeros((n, n), dtype=operator.dtype)
                steps[first_to : first_to + n_to] = operator[:n_to, :n] * vector
                vector = steps.max(axis=1) if best_path else steps.sum(axis=1)
            yield (final * vector).max() if best_path else (final * vector).sum()


def tree_value(sentence, heads: tuple[int, ...], *, best_path: bool = False):
    return prod(half_values(sentence, heads, best_path=best_path))


def enumerated(sentence, *, multi_root: bool, allowed=None) -> tuple:
    """The value of a sentence, its size without signs, and the value with each arc.

    They are fractions if the numbers of the automata are.
    """
    n = len(sentence.automaton_of) - 1
    total, size, with_arc = 0, 0, np.zeros((n + 1, n + 1), dtype=sentence.operators.dtype)
    for heads in projective_trees(n, multi_root):
        if allowed is not None and not all(allowed[h, m] for m, h in enumerate(heads, start=1)):
            continue
        value = tree_value(sentence, heads)
        total += value
        size += abs(value)
        with_arc[list(heads), np.arange(1, n + 1)] += value
    return total, size, with_arc
