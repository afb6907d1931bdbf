"""Kernels of expectation maximisation over the states of automata, on a prefix tree.

A node is a distinct prefix; its parent is the prefix without the last symbol.  With A the operator
of that symbol, x the forward vector of the parent and z the backward vector of the node,

    forward = A x,    backward(parent) += A' z,    expected count of the operator = A * (z x'),

element by element, summed over the nodes of the operator.  Forward vectors are scaled by powers of
two so that the largest entry is in [0.5, 1).  The backward vector has the inverse scale, so that
forward * backward is the marginal of the state, times the number of sequences with this prefix.
"""

from __future__ import annotations

import math

from eigentree._core.jit import inner_kernel, kernel
from eigentree.automata.arrays import Automata, PrefixTree
from eigentree.types import Floats, Floats2, Floats3, Ints


@kernel
def forward_pass(
    tree: PrefixTree,
    automata: Automata,
    first: int,
    last: int,
    forward: Floats2,
    exponent: Ints,
    scale: Floats,
) -> None:
    """Fill forward vectors, axes (nodes, n), exponents and scales of nodes ``first`` to ``last``.

    Forward vectors of their parents must be filled already, or be earlier in the same range.
    Operators may have numbers of any sign.
    """
    n = forward.shape[1]
    for node in range(first, last):
        parent = tree.parent[node]
        operator = automata.operators[tree.row[node]]
        largest = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += operator[i, j] * forward[parent, j]
            forward[node, i] = total
            largest = max(largest, abs(total))
        shift = 0
        if largest > 0.0:
            _, shift = math.frexp(largest)
        scale[node] = math.ldexp(1.0, -shift)
        for i in range(n):
            forward[node, i] *= scale[node]
        exponent[node] = exponent[parent] + shift


@kernel
def end_pass(
    tree: PrefixTree,
    automata: Automata,
    forward: Floats2,
    exponent: Ints,
    backward: Floats2,
    stop: Floats2,
) -> float:
    """Start backward vectors with the sequences that end at each node.

    Adds expected stops to ``stop``, axes (automata, n).  Returns the log-likelihood in nats.
    """
    n = forward.shape[1]
    log_likelihood = 0.0
    for node in range(len(tree.parent)):
        for j in range(n):
            backward[node, j] = 0.0
        count = tree.ends[node]
        if count == 0.0:
            continue
        final = automata.final[tree.automaton[node]]
        value = 0.0
        for j in range(n):
            value += final[j] * forward[node, j]
        if value == 0.0:
            return -math.inf
        log_likelihood += count * (math.log(value) + exponent[node] * math.log(2.0))
        for j in range(n):
            backward[node, j] = final[j] * count / value
            stop[tree.automaton[node], j] += backward[node, j] * forward[node, j]
    return log_likelihood


@kernel
def backward_pass(
    tree: PrefixTree, automata: Automata, first: int, last: int, scale: Floats, backward: Floats2
) -> None:
    """Pass backward vectors of the nodes ``first`` to ``last`` on to parents in this range."""
    n = backward.shape[1]
    for node in range(last - 1, first - 1, -1):
        parent = tree.parent[node]
        if parent >= first:
            pull_back(automata.operators[tree.row[node]], scale[node], backward, node, parent, n)


@kernel
def root_pass(tree: PrefixTree, automata: Automata, scale: Floats, backward: Floats2) -> None:
    """Pass backward vectors on to the roots."""
    n = backward.shape[1]
    n_roots = len(automata.initial)
    for each in range(len(tree.below_roots)):
        node = tree.below_roots[each]
        parent = tree.parent[node]
        if parent < n_roots:
            pull_back(automata.operators[tree.row[node]], scale[node], backward, node, parent, n)


@inner_kernel
def pull_back(
    operator: Floats2, scale: float, backward: Floats2, node: int, parent: int, n: int
) -> None:
    """Add a node's backward vector, pulled back through an operator, to that of its parent."""
    for i in range(n):
        z = scale * backward[node, i]
        for j in range(n):
            backward[parent, j] += operator[i, j] * z


@kernel
def count_operators(
    tree: PrefixTree,
    automata: Automata,
    first: int,
    last: int,
    forward: Floats2,
    scale: Floats,
    backward: Floats2,
    counts: Floats3,
) -> None:
    """Fill the expected counts, axes (rows, n, n), of the operators ``first`` to ``last``."""
    n = forward.shape[1]
    for row in range(first, last):
        count = counts[row]
        for i in range(n):
            for j in range(n):
                count[i, j] = 0.0
        for each in range(tree.row_start[row], tree.row_start[row + 1]):
            node = tree.by_row[each]
            parent = tree.parent[node]
            for i in range(n):
                z = scale[node] * backward[node, i]
                for j in range(n):
                    count[i, j] += z * forward[parent, j]
        operator = automata.operators[row]
        for i in range(n):
            for j in range(n):
                count[i, j] *= operator[i, j]
