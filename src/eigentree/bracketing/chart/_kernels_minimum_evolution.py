"""Kernels of the search for the shortest tree over distances (`minimum_evolution`).

The table entry of item [i, k) with split j is, in the notation of that module,

    below[i, k, j] = F[i, j, k] - D([i, j), [j, k)) / 2,

since the mean distance between the two parts contributes equally to the edge above the item
whatever its surroundings.  Split points are the last axis, so that the search over them reads
memory in order.
"""

from __future__ import annotations

from eigentree._core.jit import inner_kernel, kernel
from eigentree.types import Floats2, Floats3, Shorts2, Shorts4


@inner_kernel
def block(sums: Floats2, a: int, b: int, c: int, d: int) -> float:
    """Sum of the distances between words [a, b) and words [c, d)."""
    return float(sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c])


@inner_kernel
def best_child(
    sums: Floats2,
    below: Floats3,
    child: tuple[int, int],
    sibling: tuple[int, int],
    least_squares: bool,
    margin: float,
) -> tuple[float, int]:
    """The minimum length below a child plus the edge above it, and its split; -1 for a word."""
    n = len(sums) - 1
    low, high = child
    s_low, s_high = sibling
    i, k = min(low, s_low), max(high, s_high)
    n_sibling, n_rest = s_high - s_low, n - k + i
    to_sibling = block(sums, low, high, s_low, s_high) / n_sibling
    to_rest = (sums[n, high] - sums[n, low] - block(sums, low, high, i, k)) / n_rest
    outer = sums[n, s_high] - sums[n, s_low] - block(sums, s_low, s_high, i, k)
    outer /= n_sibling * n_rest
    if high - low == 1:
        return 0.5 * (to_sibling + to_rest - outer), -1
    base_sibling = sums[s_high, low] - sums[s_low, low]
    base_rest = sums[n, low] - sums[k, low] + sums[i, low]
    best, split = 0.0, -1
    for middle in range(low + 1, high):
        n_left, n_right = middle - low, high - middle
        left_sibling = sums[s_high, middle] - sums[s_low, middle] - base_sibling
        left_sibling /= n_sibling
        left_rest = sums[n, middle] - sums[k, middle] + sums[i, middle] - base_rest
        left_rest /= n_rest
        right_sibling, right_rest = to_sibling - left_sibling, to_rest - left_rest
        if least_squares:
            crossed = (n_left * n_sibling + n_right * n_rest) / (
                (n_left + n_right) * (n_sibling + n_rest)
            )
            edge = crossed * (left_rest / n_left + right_sibling / n_right)
            edge += (1.0 - crossed) * (left_sibling / n_left + right_rest / n_right)
        else:
            edge = (left_sibling + left_rest) / n_left + (right_sibling + right_rest) / n_right
            edge *= 0.5
        value = below[low, high, middle] + 0.5 * edge
        if split < 0 or value < best - margin:
            best, split = value, middle
    return best - 0.5 * outer, split


@kernel
def fill(
    sums: Floats2, least_squares: bool, margin: float, below: Floats3, splits: Shorts4
) -> None:
    """Fill the table of items, and the splits of their children, by width."""
    n = len(sums) - 1
    for width in range(2, n):
        for i in range(n - width + 1):
            k = i + width
            for j in range(i + 1, k):
                left, left_split = best_child(sums, below, (i, j), (j, k), least_squares, margin)
                right, right_split = best_child(sums, below, (j, k), (i, j), least_squares, margin)
                between = block(sums, i, j, j, k) / ((j - i) * (k - j))
                below[i, k, j] = left + right - 0.5 * between
                splits[i, k, j, 0], splits[i, k, j, 1] = left_split, right_split


@kernel
def best_top(
    sums: Floats2, below: Floats3, top: int, least_squares: bool, margin: float
) -> tuple[float, int, int]:
    """The minimum length of all trees with the root between words top - 1 and top.

    Also returns the splits of both sides, -1 for a word.
    """
    n = len(sums) - 1
    best, first, second = 0.0, -1, -1
    n_left, n_right = top, n - top
    any_length = False
    # A side of one word has no split: its loop then runs once.
    for m in range(1, max(top, 2)):
        for q in range(top + 1, max(n, top + 2)):
            value = 0.0
            if n_left > 1:
                value += below[0, top, m]
            if n_right > 1:
                value += below[top, n, q]
            if n_left == 1 and n_right == 1:
                value += block(sums, 0, 1, 1, 2)
            elif n_left == 1:
                value += 0.5 * block(sums, 0, 1, 1, q) / (q - 1)
                value += 0.5 * block(sums, 0, 1, q, n) / (n - q)
            elif n_right == 1:
                value += 0.5 * block(sums, top, n, 0, m) / m
                value += 0.5 * block(sums, top, n, m, top) / (top - m)
            else:
                a, b, g, h = m, top - m, q - top, n - q
                crossed = 0.5
                if least_squares:
                    crossed = (a * g + b * h) / ((a + b) * (g + h))
                value += 0.5 * crossed * block(sums, 0, m, q, n) / (a * h)
                value += 0.5 * crossed * block(sums, m, top, top, q) / (b * g)
                value += 0.5 * (1.0 - crossed) * block(sums, 0, m, top, q) / (a * g)
                value += 0.5 * (1.0 - crossed) * block(sums, m, top, q, n) / (b * h)
            if not any_length or value < best - margin:
                any_length = True
                best = value
                first = m if n_left > 1 else -1
                second = q if n_right > 1 else -1
    return best, first, second


@kernel
def trace(
    splits: Shorts4, top: int, first: int, second: int, waiting: Shorts2, out: Shorts2
) -> None:
    """Write the spans of the tree below a root, parents first, from left to right.

    ``out`` has room for n - 1 spans with their splits, ``waiting`` for the same number.
    """
    n = len(splits) - 1
    out[0, 0], out[0, 1], out[0, 2] = 0, n, top
    n_out, n_waiting = 1, 0
    if second > 0:
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = top, n, second
        n_waiting = 1
    if first > 0:
        waiting[n_waiting, 0], waiting[n_waiting, 1] = 0, top
        waiting[n_waiting, 2] = first
        n_waiting += 1
    while n_waiting:
        n_waiting -= 1
        i, k, j = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
        out[n_out, 0], out[n_out, 1], out[n_out, 2] = i, k, j
        n_out += 1
        left, right = splits[i, k, j, 0], splits[i, k, j, 1]
        if right > 0:
            waiting[n_waiting, 0], waiting[n_waiting, 1] = j, k
            waiting[n_waiting, 2] = right
            n_waiting += 1
        if left > 0:
            waiting[n_waiting, 0], waiting[n_waiting, 1] = i, j
            waiting[n_waiting, 2] = left
            n_waiting += 1
