"""Expected counts by writing out every assignment of states to the nodes of a tree.

Slow and plain on purpose: no inside vectors, no compiled code, nothing of
`eigentree.constituency.learn.em`
but where it keeps its numbers.
"""

from __future__ import annotations

from itertools import product
from math import log, prod

import numpy as np

from eigentree.constituency.learn.em_arrays import Layout, Values
from eigentree.constituency.learn.treebank_arrays import Examples


def expected(examples: Examples, layout: Layout, values: Values) -> tuple[float, Values]:
    """Log-likelihood of all trees, and how often each choice is expected."""
    counts = Values(*(np.zeros_like(array) for array in values))
    total_log = 0.0
    for tree in range(examples.n_trees):
        nodes = np.flatnonzero(examples.tree == tree).tolist()
        states = [range(int(layout.n_states[examples.symbol[node]])) for node in nodes]
        weighted = []
        for assigned in product(*states):
            places = choices(examples, layout, dict(zip(nodes, assigned, strict=True)))
            value = prod(float(getattr(values, kind)[at]) for kind, at in places)
            weighted.append((value, places))
        total = sum(value for value, _ in weighted)
        weight = float(examples.weight[nodes[0]])
        total_log += weight * log(total)
        for value, places in weighted:
            for kind, at in places:
                getattr(counts, kind)[at] += weight * value / total
    return total_log, counts


def choices(examples: Examples, layout: Layout, state: dict[int, int]) -> list[tuple[str, int]]:
    """Which numbers one tree with its states multiplies."""
    found = []
    for node, own in state.items():
        symbol, rule, pair = (
            int(column[node]) for column in (examples.symbol, examples.rule, examples.pair)
        )
        if examples.parent[node] < 0:
            found.append(("roots", int(layout.state_start[symbol]) + own))
        if rule >= 0:
            left, right = int(examples.left[node]), int(examples.right[node])
            _, (_, n_left, n_right) = layout.of_rule(rule)
            within = (own * n_left + state[left]) * n_right + state[right]
            found.append(("rules", int(layout.rule_start[rule]) + within))
        else:
            found.append(("words", int(layout.word_start[pair]) + own))
    return found
