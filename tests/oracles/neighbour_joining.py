"""Neighbour joining, an oracle for the search of minimum evolution (Saitou and Nei 1987).

As long as there are more than three nodes, the two whose joining shortens the tree most are joined
to a new node u, which then stands for them: with r_i the sum of the distances of node i to all
others and k the number of nodes, those with the least

    (k - 2) d(i, j) - r_i - r_j,
    d(i, u) = d(i, j) / 2 + (r_i - r_j) / (2 (k - 2)),
    d(x, u) = (d(i, x) + d(j, x) - d(i, j)) / 2.

Where distances are sums along the edges of a tree, the result is that tree, whatever its shape, in
O(n^3).  Its parts need not be intervals of the sentence; `rooted` reports when they are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentree.bracketing.chart.minimum_evolution import RootedTree
from eigentree.errors import GrammarError, ShapeError
from eigentree.types import Floats, Shorts


class UnrootedTree(NamedTuple):
    """A tree with the words at its leaves and three neighbours for all other nodes.

    Attributes
    ----------
    edges : int16, axes (2 n - 3, 2)
        Words are the nodes 0 to n - 1.  An edge leads from a node to a later one.
    lengths : float64, axes (2 n - 3)
    """

    edges: Shorts
    lengths: Floats

    def rooted(self, top: int) -> RootedTree | None:
        """The tree rooted on the edge that separates the words before a position from the rest.

        None when there is no such edge, or a node below it does not cover an interval.
        """
        n = (len(self.edges) + 3) // 2
        around: list[list[int]] = [[] for _ in range(max(n, 2 * n - 2))]
        for a, b in self.edges.tolist():
            around[a].append(b)
            around[b].append(a)
        for a, b in self.edges.tolist():
            for left, right in ((a, b), (b, a)):
                spans = _spans_behind(around, left, right, n)
                if spans is not None and spans[0][:2] == (0, top):
                    other = _spans_behind(around, right, left, n)
                    if other is None:
                        return None
                    inner = [each for each in (*spans, *other) if each[2] > 0]
                    array = np.array([(0, n, top), *inner], dtype=np.int16)
                    return RootedTree(array, top, float(self.lengths.sum()))
        return None


def _spans_behind(
    around: list[list[int]], node: int, above: int, n: int
) -> list[tuple[int, int, int]] | None:
    """Start, end and split of a node and all below it, parents first; words have no split, 0.

    None where one of them is not over an interval.
    """
    order = [(node, above)]
    for each, parent in order:
        order += [(child, each) for child in around[each] if child != parent]
    span: dict[int, tuple[int, int, int]] = {}
    below: dict[int, list[int]] = {}
    for each, parent in reversed(order):
        below.setdefault(parent, []).append(each)
        if each < n:
            span[each] = (each, each + 1, 0)
            continue
        first, second = sorted(below[each], key=lambda child: span[child])
        if span[first][1] != span[second][0]:
            return None
        span[each] = (span[first][0], span[second][1], span[first][1])
        below[each] = [second, first]
    spans: list[tuple[int, int, int]] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        spans.append(span[each])
        waiting += below.get(each, []) if each >= n else []
    return spans


def neighbour_joining(distances: Floats) -> UnrootedTree:
    """Join words and groups of them, one pair after another.

    Parameters
    ----------
    distances : float64, axes (n, n)
        Symmetric, for two words or more.

    Raises
    ------
    ShapeError
        When the distances are not square.
    GrammarError
        When there are fewer than two words, or a distance is not finite.

    Cost
    ----
    O(n^3).

    References
    ----------
    saitou-nei-1987.
    """
    n = len(distances)
    if np.shape(distances) != (n, n):
        raise ShapeError(
            f"neighbour_joining: distances have the shape {np.shape(distances)}; "
            "they must be square"
        )
    if n < 2 or not np.all(np.isfinite(distances)):
        raise GrammarError(f"there are {n} words, or distances that are not finite; two are needed")
    between = np.zeros((2 * n - 2, 2 * n - 2))
    between[:n, :n] = distances
    np.fill_diagonal(between, 0.0)
    nodes = list(range(n))
    edges: list[tuple[int, int]] = []
    lengths: list[float] = []
    for new in range(n, 2 * n - 2):
        here = between[np.ix_(nodes, nodes)]
        k, total = len(nodes), here.sum(axis=1)
        gain = (k - 2) * here - total - total[:, None]
        np.fill_diagonal(gain, np.inf)
        first, second = sorted(divmod(int(np.argmin(gain)), k))
        i, j = nodes[first], nodes[second]
        to_first = 0.5 * here[first, second] + 0.5 * (total[first] - total[second]) / (k - 2)
        edges += [(i, new), (j, new)]
        lengths += [to_first, here[first, second] - to_first]
        between[new, nodes] = 0.5 * (here[first] + here[second] - here[first, second])
        between[:, new] = between[new]
        nodes = [node for node in nodes if node not in (i, j)] + [new]
    i, j = nodes
    edges.append((i, j))
    lengths.append(between[i, j])
    return UnrootedTree(np.array(edges, dtype=np.int16), np.array(lengths))
