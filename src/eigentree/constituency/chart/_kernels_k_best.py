"""Kernel of k-best decoding: further derivations of an item are enumerated on demand.

A *row* is a derivation of an item: an edge and one row for each child.  Row i below the number of
items is the best derivation of item i.  The derivations found for an item form a list, best first;
the candidates for the next one are in a heap.  Each row adds as candidates the row with the next
best right child and, if its right child is the best of its item, the row with the next best left
child.  Each pair of children is thus generated once, after a better pair next to it.  The next best
child is computed only then (Huang and Chiang 2005, algorithm 3).

The item after the last one is the *root*; its candidates are the items at the root.

Heaps are skew heaps (Sleator and Tarjan 1986): two heaps are merged along their right branches,
whose children are swapped on the way.  All heaps and lists are links between rows of one table.
"""

from __future__ import annotations

import numpy as np

from eigentree._core.jit import inner_kernel, kernel
from eigentree.constituency.chart.arrays import KBestRows
from eigentree.constituency.chart.forest import Forest
from eigentree.types import Flags, Floats, Ints, Ints2, Longs

# Two primes below 2^31, so that products of residues fit into 63 bits, and a base for each.
PRIMES = (2147483647, 2147483629)
BASES = (1732050807, 1414213562)
# The letter that ends a tree; chains of labels have other letters.
END = 0
NOTHING = -1
NOT_BEGUN = -2


@inner_kernel
def join(left: Longs, right: Longs, out: Longs) -> None:
    """The fingerprint of two adjacent trees, or sequences of trees.

    A tree is written as a text: a letter for its chain of labels, its children, an end letter.  Its
    fingerprint is the value of this text as a number to a base, modulo a prime, for two primes
    (Karp and Rabin 1987), each stored with the base to the power of the text's length.
    """
    for which in range(2):
        prime = PRIMES[which]
        out[which] = (left[which] * right[2 + which] + right[which]) % prime
        out[2 + which] = left[2 + which] * right[2 + which] % prime


@inner_kernel
def enclose(letter: int, out: Longs) -> None:
    """Turn the fingerprint of the contents of a phrase or word into that of the phrase or word."""
    for which in range(2):
        prime, base = PRIMES[which], BASES[which]
        inner = (letter * out[2 + which] + out[which]) % prime
        out[which] = (inner * base + END) % prime
        out[2 + which] = out[2 + which] * base % prime * base % prime


@inner_kernel
def fingerprint(forest: Forest, letter: Longs, row: int, rows: KBestRows) -> None:
    """Compute the fingerprint of a row from those of its children.

    ``letter`` holds the letter of each item's chain; it is negative at intermediate symbols, which
    un-binarising removes.
    """
    out = rows.trace[row]
    item = rows.item[row]
    if item == len(forest.item_symbol):
        for at in range(len(out)):
            out[at] = rows.trace[rows.left[row], at]
        top = rows.item[rows.left[row]]
        # A root item with an intermediate symbol counts as a phrase.
        if letter[top] < 0:
            enclose(-letter[top], out)
        return
    if rows.left[row] < 0:
        out[0], out[1], out[2], out[3] = 0, 0, 1, 1
    else:
        join(rows.trace[rows.left[row]], rows.trace[rows.right[row]], out)
    if letter[item] > 0:
        enclose(letter[item], out)


@kernel
def begin(
    forest: Forest,
    letter: Longs,
    best: Floats,
    choice: Ints,
    rows: KBestRows,
    last: Ints,
    heap: Ints,
    pending: Ints,
) -> None:
    """Enter the best derivation of each item, as found by `_kernels_decode.best_edges`."""
    n_items = len(forest.item_symbol)
    for item in range(n_items + 1):
        rows.item[item] = item
        rows.edge[item] = rows.left[item] = rows.right[item] = NOTHING
        rows.link[item, 0] = NOTHING
        last[item] = item
        heap[item] = NOTHING
        pending[item] = NOT_BEGUN
    for item in range(n_items):
        rows.value[item] = best[item]
        edge = choice[item]
        rows.edge[item] = edge
        if edge >= 0:
            rows.left[item] = forest.edge_left[edge]
            rows.right[item] = forest.edge_right[edge]
        fingerprint(forest, letter, item, rows)


@inner_kernel
def merge(value: Floats, link: Ints2, one: int, other: int) -> int:
    """Merge two heaps, given by their tops; returns the top of the result."""
    if one < 0 or other < 0:
        return max(one, other)
    if value[other] > value[one]:
        one, other = other, one
    top = one
    while True:
        below = link[one, 1]
        link[one, 1] = link[one, 0]
        if below < 0:
            link[one, 0] = other
            return top
        if value[other] > value[below]:
            below, other = other, below
        link[one, 0] = below
        one = below


@inner_kernel
def push(
    gain: float, max_value: float, item: int, edge: int, left: int, right: int,
    rows: KBestRows, n_rows: int, heap: Ints,
) -> int:  # fmt: skip
    """Make a row a candidate of its item if its value is finite; returns the new number of rows.

    Values are capped at that of the preceding row, ``max_value``, which rounding could exceed.
    """
    value = gain + rows.value[left]
    if right >= 0:
        value += rows.value[right]
    if not value > -np.inf:
        return n_rows
    rows.value[n_rows] = min(value, max_value)
    rows.item[n_rows] = item
    rows.edge[n_rows] = edge
    rows.left[n_rows] = left
    rows.right[n_rows] = right
    rows.link[n_rows, 0] = rows.link[n_rows, 1] = NOTHING
    heap[item] = merge(rows.value, rows.link, heap[item], n_rows)
    return n_rows + 1


@inner_kernel
def is_new(rows: KBestRows, row: int, slots: Ints) -> bool:
    """Whether the row's fingerprint is new for its item; if so, the row is entered in the table.

    ``slots`` is a hash table of rows by fingerprint, at most half full; its size is a power of 2.
    """
    mask = len(slots) - 1
    place = (rows.trace[row, 0] ^ (rows.trace[row, 1] << 20) ^ (rows.item[row] * 40503)) & mask
    while slots[place] >= 0:
        other = slots[place]
        same = rows.item[other] == rows.item[row]
        for which in range(4):
            same = same and rows.trace[other, which] == rows.trace[row, which]
        if same:
            return False
        place = (place + 1) & mask
    slots[place] = row
    return True


@kernel
def enter(rows: KBestRows, n_items: int, slots: Ints) -> None:
    """Enter all known derivations into an empty table."""
    for item in range(n_items + 1):
        # The root has no derivation before the first search.
        row = item if item < n_items else rows.link[item, 0]
        while row >= 0:
            is_new(rows, row, slots)
            row = rows.link[row, 0]


@kernel
def find(
    forest: Forest,
    letter: Longs,
    item_gain: Floats,
    edge_gain: Floats,
    root_gain: Floats,
    k: int,
    rows: KBestRows,
    last: Ints,
    heap: Ints,
    pending: Ints,
    slots: Ints,
    counts: Longs,
) -> bool:
    """Find derivations of the root until there are k; returns False if the table is full.

    The call can then be repeated with a larger copy.  ``counts`` holds the number of rows and the
    number of derivations of the root.  For each item, ``last`` is the last row of its list,
    ``heap`` the top of its candidates, and ``pending`` the row whose successors have not been
    made candidates yet: `NOTHING` if there is none, `NOT_BEGUN` if the item's candidates have not
    been generated.  An item with neither a pending row nor candidates is exhausted.  ``slots`` is
    the table filled by `enter`.

    An item stays on the stack until it has one more derivation or is exhausted.  Trees that are
    equal after un-binarising have the same fingerprint; only the first becomes a derivation.
    """
    n_items = len(forest.item_symbol)
    n_rows = counts[0]
    room = len(rows.value)
    stack = np.empty(2 * len(forest.item_symbol) + 2, dtype=np.int64)
    while counts[1] < k:
        before = last[n_items]
        stack[0] = n_items
        depth = 1
        while depth > 0:
            counts[0] = n_rows
            item = stack[depth - 1]
            is_root = item == n_items
            first, end = 0, len(forest.roots)
            if not is_root:
                first = forest.group_edges[forest.item_groups[item]]
                end = forest.group_edges[forest.item_groups[item + 1]]
            if pending[item] == NOT_BEGUN:
                if n_rows + end - first > room:
                    return False
                for edge in range(first, end):
                    if is_root:
                        n_rows = push(
                            root_gain[edge], np.inf, item, edge, forest.roots[edge], NOTHING,
                            rows, n_rows, heap,
                        )  # fmt: skip
                    elif edge != rows.edge[item]:
                        n_rows = push(
                            item_gain[item] + edge_gain[edge], rows.value[item], item, edge,
                            forest.edge_left[edge], forest.edge_right[edge], rows, n_rows, heap,
                        )  # fmt: skip
                pending[item] = NOTHING if is_root or end == first else item
            row = pending[item]
            if row >= 0:
                left, right, edge = rows.left[row], rows.right[row], rows.edge[row]
                moves_left = right < n_items
                needed_item = NOTHING
                if right >= 0 and needs_next(rows, right, heap, pending):
                    needed_item = rows.item[right]
                elif moves_left and needs_next(rows, left, heap, pending):
                    needed_item = rows.item[left]
                if needed_item >= 0:
                    stack[depth] = needed_item
                    depth += 1
                    continue
                if n_rows + 2 > room:
                    counts[0] = n_rows
                    return False
                gain = root_gain[edge] if is_root else item_gain[item] + edge_gain[edge]
                if right >= 0 and rows.link[right, 0] >= 0:
                    n_rows = push(
                        gain, rows.value[row], item, edge, left, rows.link[right, 0],
                        rows, n_rows, heap,
                    )  # fmt: skip
                if moves_left and rows.link[left, 0] >= 0:
                    n_rows = push(
                        gain, rows.value[row], item, edge, rows.link[left, 0], right,
                        rows, n_rows, heap,
                    )  # fmt: skip
                pending[item] = NOTHING
            row = heap[item]
            if row < 0:
                depth -= 1
                continue
            heap[item] = merge(rows.value, rows.link, rows.link[row, 0], rows.link[row, 1])
            rows.link[row, 0] = NOTHING
            pending[item] = row
            fingerprint(forest, letter, row, rows)
            if is_new(rows, row, slots):
                rows.link[last[item], 0] = row
                last[item] = row
                depth -= 1
        counts[0] = n_rows
        if last[n_items] == before:
            break
        counts[1] += 1
    return True


@inner_kernel
def needs_next(rows: KBestRows, row: int, heap: Ints, pending: Ints) -> bool:
    """Whether the next best row of the same item is unknown and may exist."""
    item = rows.item[row]
    return bool(rows.link[row, 0] < 0 and (pending[item] != NOTHING or heap[item] >= 0))


@kernel
def mark(rows: KBestRows, root: int, k: int, tops: Ints, used: Flags) -> None:
    """Mark all rows that are used in the first k derivations of the root.

    ``tops`` receives the row of each derivation.
    """
    stack = np.empty(len(used) + 1, dtype=np.int64)
    row = root
    for rank in range(k):
        row = rows.link[row, 0]
        tops[rank] = row
        stack[0] = rows.left[row]
        depth = 1
        while depth > 0:
            depth -= 1
            below = stack[depth]
            if not used[below]:
                used[below] = True
                if rows.left[below] >= 0:
                    stack[depth] = rows.left[below]
                    stack[depth + 1] = rows.right[below]
                    depth += 2
