"""Minimum evolution by enumeration: every binary tree over a sentence, each edge by its formula."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np

Nested = int | tuple["Nested", "Nested"]


@cache
def nested_trees(start: int, end: int) -> tuple[Nested, ...]:
    """All binary trees over words start..end, as nested pairs."""
    if end - start == 1:
        return (start,)
    return tuple(
        (left, right)
        for split in range(start + 1, end)
        for left, right in product(nested_trees(start, split), nested_trees(split, end))
    )


def words_of(tree: Nested) -> list[int]:
    return [tree] if isinstance(tree, int) else words_of(tree[0]) + words_of(tree[1])


def spans_of(tree: Nested) -> set[tuple[int, int]]:
    if isinstance(tree, int):
        return set()
    words = words_of(tree)
    return {(words[0], words[-1] + 1)} | spans_of(tree[0]) | spans_of(tree[1])


def length_of(tree: Nested, distances: np.ndarray, *, least_squares: bool) -> float:
    """Summed lengths of the edges of the unrooted tree."""
    assert not isinstance(tree, int)
    everything = set(words_of(tree))

    def mean(x: list[int], y: list[int]) -> float:
        return float(np.mean([[distances[a, b] for b in y] for a in x]))

    def behind(node: Nested, others: tuple[list[int], ...]) -> tuple[list[int], ...]:
        """The word sets behind a node's two edges other than the one to be measured."""
        return (words_of(node[0]), words_of(node[1])) if not isinstance(node, int) else others

    def edge(node: Nested, far: tuple[list[int], ...]) -> float:
        """Length of the edge from a node to one with the word sets `far` behind it, or a word."""
        near = behind(node, (words_of(node),))
        if len(near) == len(far) == 1:
            return mean(near[0], far[0])
        if len(near) == 1 or len(far) == 1:
            (x,), (a, b) = (near, far) if len(near) == 1 else (far, near)
            return 0.5 * (mean(x, a) + mean(x, b) - mean(a, b))
        (a, b), (g, h) = near, far
        w = 0.5
        if least_squares:
            w = (len(a) * len(g) + len(b) * len(h)) / ((len(a) + len(b)) * (len(g) + len(h)))
        crossed, straight = mean(a, h) + mean(b, g), mean(a, g) + mean(b, h)
        return 0.5 * (w * crossed + (1 - w) * straight - mean(a, b) - mean(g, h))

    total = edge(tree[0], behind(tree[1], (words_of(tree[1]),)))
    waiting = [child for child in tree if not isinstance(child, int)]
    while waiting:
        parent = waiting.pop()
        rest = sorted(everything - set(words_of(parent)))
        for child, sibling in (parent, parent[::-1]):
            total += edge(child, (words_of(sibling), rest))
            if not isinstance(child, int):
                waiting.append(child)
    return total


def shortest(
    distances: np.ndarray, *, least_squares: bool
) -> Iterator[tuple[int, float, set[tuple[int, int]]]]:
    """For each position of the root, the least length and the spans of a tree that has it."""
    best: dict[int, tuple[float, set[tuple[int, int]]]] = {}
    for tree in nested_trees(0, len(distances)):
        assert not isinstance(tree, int)
        length = length_of(tree, distances, least_squares=least_squares)
        top = len(words_of(tree[0]))
        if top not in best or length < best[top][0]:
            best[top] = (length, spans_of(tree))
    for top in sorted(best):
        yield top, *best[top]
