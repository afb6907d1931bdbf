"""Kernel of the decoder: the tree of a forest with the largest sum of gains."""

from __future__ import annotations

import numpy as np

from eigentree._core.jit import kernel
from eigentree.constituency.chart.forest import Forest
from eigentree.types import Floats, Ints


@kernel
def best_edges(
    forest: Forest, item_gain: Floats, edge_gain: Floats, best: Floats, choice: Ints
) -> None:
    """best(p) = gain(p) + max over edges of gain(e) + best(l) + best(q), bottom-up.

    ``choice`` receives the chosen edge: -1 at preterminals and at items without a derivation,
    where ``best`` is minus infinity.  The first of equal edges wins.
    """
    for item in range(len(forest.item_symbol)):
        choice[item] = -1
        if forest.item_entry[item] != -2:
            best[item] = item_gain[item]
            continue
        highest = -np.inf
        first = forest.group_edges[forest.item_groups[item]]
        last = forest.group_edges[forest.item_groups[item + 1]]
        for edge in range(first, last):
            value = edge_gain[edge] + best[forest.edge_left[edge]] + best[forest.edge_right[edge]]
            if value > highest:
                highest = value
                choice[item] = edge
        best[item] = item_gain[item] + highest


@kernel
def collect(forest: Forest, choice: Ints, root: int, nodes: Ints, left: Ints, right: Ints) -> int:
    """List the items of the chosen tree, children before parents; return their number.

    ``nodes`` receives the items, ``left`` and ``right`` the positions of their children in it.
    """
    stack = np.empty(len(nodes) + 1, dtype=np.int64)
    stack[0] = root
    depth = 1
    count = 0
    # Depth-first with parents before children and right before left; reversed at the end.
    while depth > 0:
        depth -= 1
        item = stack[depth]
        nodes[count] = item
        count += 1
        edge = choice[item]
        if edge >= 0:
            stack[depth] = forest.edge_left[edge]
            stack[depth + 1] = forest.edge_right[edge]
            depth += 2
    for at in range(count // 2):
        nodes[at], nodes[count - 1 - at] = nodes[count - 1 - at], nodes[at]
    depth = 0
    for at in range(count):
        if choice[nodes[at]] >= 0:
            right[at] = stack[depth - 1]
            left[at] = stack[depth - 2]
            depth -= 2
        else:
            left[at] = -1
            right[at] = -1
        stack[depth] = at
        depth += 1
    return count
