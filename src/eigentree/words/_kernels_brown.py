"""Kernels of Brown clustering: the window of current clusters, and the loss of each merge.

With n[a, b] the number of bigrams from cluster a to cluster b of the window, `full` a cluster's
bigrams in the whole text and `seen` those with clusters of the window, T times the average mutual
information is, up to terms that merges don't change,

    sum_ab g(n[a, b]) - sum_a (seen_0[a] log full_0[a] + seen_1[a] log full_1[a]),  g(n) = n log n,

where direction 0 is that of the words after a and 1 that of the words before.  A merge of a and b
adds their rows and their columns.  So it loses

    sum over both directions d and all x of  t(n_d[a, x], n_d[b, x])  (and a corner, see there),
    t(m, n) = g(m) + g(n) - g(m + n), which is 0 unless both m and n are positive,

in the first sum, the table `cells`; the loss in the second follows from `seen` and `full`.  A new
word or a merge changes only the cells of two clusters that both have a common neighbour with it;
rare words have few neighbours, so most steps are cheap.

The numbers g(n) are integers, scaled by a power of two, so that additions and subtractions leave no
rounding errors, however many words are added and removed.
"""

from __future__ import annotations

import math

from eigentree._core.jit import inner_kernel, kernel
from eigentree.types import Floats2, Longs, Longs2
from eigentree.words.arrays import Bigrams, Window

# Losses that differ by less than this, in nats times bigrams, are equal.
TIE = 1e-6


@inner_kernel
def scaled(n: int, window: Window) -> int:
    """g(n) = n log n, scaled and rounded."""
    if n < len(window.table):
        return int(window.table[n])
    return math.floor(n * math.log(n) / window.unit + 0.5)


@inner_kernel
def shared(m: int, n: int, window: Window) -> int:
    """t(m, n), which is at most 0."""
    if m == 0 or n == 0:
        return 0
    return scaled(m, window) + scaled(n, window) - scaled(m + n, window)


@inner_kernel
def corner(a: int, b: int, window: Window) -> int:
    """The correction of the sum over x where rows and columns of a and b cross.

    There the merge adds four numbers, of which the sum over x has counted pairs.
    """
    aa, ab = window.counts[0, a, a], window.counts[0, a, b]
    ba, bb = window.counts[0, b, a], window.counts[0, b, b]
    four = scaled(aa, window) + scaled(ab, window) + scaled(ba, window) + scaled(bb, window)
    pairs = shared(aa, ba, window) + shared(ab, bb, window)
    pairs += shared(aa, ab, window) + shared(ba, bb, window)
    return four - scaled(aa + ab + ba + bb, window) - pairs


@kernel
def find(parent: Longs, word: int) -> int:
    """The first word of a word's cluster."""
    while parent[word] != word:
        parent[word] = parent[parent[word]]
        word = parent[word]
    return word


@kernel
def fill(window: Window, k: int, word: int, bigrams: Bigrams, parent: Longs, slot: Longs) -> None:
    """Put a word into the empty slot k, with its bigrams with clusters in the window."""
    counts, seen = window.counts, window.seen
    for d in range(2):
        window.full[d, k] = bigrams.total[d, word]
        for at in range(bigrams.start[d, word], bigrams.start[d, word + 1]):
            other, n = bigrams.other[d, at], bigrams.number[d, at]
            if other == word:
                counts[d, k, k] += n
                seen[d, k] += n
                continue
            x = slot[find(parent, other)]
            if x >= 0:
                counts[d, k, x] += n
                counts[1 - d, x, k] += n
                seen[d, k] += n
                seen[1 - d, x] += n
    window.rank[k] = word


@inner_kernel
def clear(window: Window, k: int) -> None:
    """Remove a cluster from slot k, the inverse of `fill`."""
    counts, seen = window.counts, window.seen
    for d in range(2):
        for x in range(counts.shape[1]):
            if x != k:
                seen[1 - d, x] -= counts[d, k, x]
                counts[1 - d, x, k] = 0
            counts[d, k, x] = 0
        seen[d, k] = 0
        window.full[d, k] = 0
    window.rank[k] = -1


@kernel
def link(window: Window, k: int) -> None:
    """Update the cells of pairs of clusters that both have slot k as a neighbour."""
    near = window.near
    for d in range(2):
        row = window.counts[d, k]
        n_near = 0
        for a in range(len(row)):
            if a != k and row[a] > 0:
                near[n_near] = a
                n_near += 1
        for at in range(n_near):
            a = near[at]
            for before in range(at):
                b = near[before]
                change = shared(row[a], row[b], window)
                window.cells[a, b] += change
                window.cells[b, a] += change


@kernel
def fill_cells(window: Window, k: int) -> None:
    """Compute the cells of slot k with all others, and logarithms of sums of `full`."""
    counts, cells = window.counts, window.cells
    for b in range(len(cells)):
        cells[k, b] = 0
    for d in range(2):
        for x in range(len(cells)):
            n = counts[d, k, x]
            if n > 0:
                column = counts[1 - d, x]  # of direction d at x
                for b in range(len(cells)):
                    cells[k, b] += shared(n, column[b], window)
    fill_corners(window, k)


@kernel
def fill_corners(window: Window, k: int) -> None:
    """Add the corners to the cells of slot k; copy them to its column; take logarithms."""
    for b in range(len(window.cells)):
        if b != k:
            window.cells[k, b] += corner(k, b, window)
            window.cells[b, k] = window.cells[k, b]
        for d in range(2):
            both = window.full[d, k] + (0 if b == k else window.full[d, b])
            window.logs[d, k, b] = math.log(both) if both > 0 else 0.0
            window.logs[d, b, k] = window.logs[d, k, b]


@kernel
def prepare(window: Window) -> None:
    """Fill each cluster's part of the second sum; free slots get values that no merge chooses."""
    for a in range(len(window.rank)):
        window.own[a] = -math.inf
        if window.rank[a] >= 0:
            window.own[a] = (
                window.seen[0, a] * window.logs[0, a, a] + window.seen[1, a] * window.logs[1, a, a]
            )


@kernel
def loss(window: Window, a: int, b: int) -> float:
    """The loss of merging two clusters, in nats times bigrams, after `prepare`."""
    first = (window.seen[0, a] + window.seen[0, b]) * window.logs[0, a, b]
    second = (window.seen[1, a] + window.seen[1, b]) * window.logs[1, a, b]
    rows: float = first + second - window.own[a] - window.own[b]
    lost: float = window.cells[a, b] * window.unit + rows
    return lost


@inner_kernel
def cheapest(window: Window) -> tuple[int, int]:
    """The two clusters with the smallest loss; of equals, those whose first words come first."""
    prepare(window)
    rank, row_least = window.rank, window.row_least
    least = math.inf
    for a in range(len(rank)):
        lowest = math.inf
        for b in range(a):
            lowest = min(lowest, loss(window, a, b))
        row_least[a] = lowest
        least = min(least, lowest)
    older, newer = -1, -1
    for a in range(len(rank)):
        if row_least[a] > least + TIE:
            continue
        for b in range(a):
            if loss(window, a, b) > least + TIE:
                continue
            i, j = (a, b) if rank[a] < rank[b] else (b, a)
            if older < 0 or (rank[i], rank[j]) < (rank[older], rank[newer]):
                older, newer = i, j
    return older, newer


@inner_kernel
def merge(window: Window, i: int, j: int) -> None:
    """Merge the cluster in slot j into that in slot i, and free slot j."""
    counts, cells, rows = window.counts, window.cells, window.rows
    size = len(cells)
    for b in range(size):
        if b != i:
            cells[i, b] -= corner(i, b, window)
            cells[b, i] = cells[i, b]
    for d in range(2):
        merge_columns(window, counts[1 - d, i], counts[1 - d, j])
    # Rows i and j with merged columns, then the merged table itself.
    for d in range(2):
        for x in range(size):
            rows[d, 0, x], rows[d, 1, x] = counts[d, i, x], counts[d, j, x]
        for which in range(2):
            rows[d, which, i] += rows[d, which, j]
            rows[d, which, j] = 0
    for d in range(2):
        for x in range(size):
            counts[d, x, i] += counts[d, x, j]
            counts[d, x, j] = 0
        for x in range(size):
            counts[d, i, x] += counts[d, j, x]
            counts[d, j, x] = 0
        window.seen[d, i] += window.seen[d, j]
        window.full[d, i] += window.full[d, j]
        window.seen[d, j] = 0
        window.full[d, j] = 0
    for d in range(2):
        for x in range(size):
            if rows[d, 1, x] > 0:
                column = counts[1 - d, x]
                for b in range(size):
                    cells[i, b] += shared(counts[d, i, x], column[b], window)
                    cells[i, b] -= shared(rows[d, 0, x], column[b], window)
    for x in range(size):
        cells[j, x] = 0
        cells[x, j] = 0
    window.rank[j] = -1
    fill_corners(window, i)


@inner_kernel
def merge_columns(window: Window, kept: Longs, gone: Longs) -> None:
    """Update all cells for two columns of one direction that are merged."""
    cells, near = window.cells, window.near
    n_near = 0
    for b in range(len(kept)):
        if kept[b] > 0 or gone[b] > 0:
            near[n_near] = b
            n_near += 1
    for a in range(len(gone)):
        if gone[a] == 0:
            continue
        for at in range(n_near):
            b = near[at]
            # Pairs of clusters that both have the removed column are visited twice.
            if b == a or (gone[b] > 0 and b > a):
                continue
            change = shared(kept[a] + gone[a], kept[b] + gone[b], window)
            change -= shared(kept[a], kept[b], window) + shared(gone[a], gone[b], window)
            cells[a, b] += change
            cells[b, a] += change


@kernel
def cluster_words(
    window: Window, first: int, last: int, bigrams: Bigrams, parent: Longs, slot: Longs
) -> None:
    """Add the words ``first`` to ``last`` to the window, with a merge for each beyond its size."""
    for word in range(first, last):
        k = 0
        while window.rank[k] >= 0:
            k += 1
        fill(window, k, word, bigrams, parent, slot)
        slot[word] = k
        link(window, k)
        fill_cells(window, k)
        if word + 1 >= len(window.rank):
            older, newer = cheapest(window)
            parent[window.rank[newer]] = window.rank[older]
            merge(window, older, newer)


@kernel
def join_clusters(window: Window, merges: Longs2) -> None:
    """Merge the clusters of the window until one is left; fill the first words of each pair."""
    for step in range(len(merges)):
        older, newer = cheapest(window)
        merges[step, 0], merges[step, 1] = window.rank[older], window.rank[newer]
        merge(window, older, newer)


@kernel
def losses_of_words(
    window: Window, words: Longs, bigrams: Bigrams, parent: Longs, slot: Longs, losses: Floats2
) -> None:
    """Fill the loss of merging each word with each cluster, one word at a time in the last slot."""
    k = len(window.rank) - 1
    for at in range(len(words)):
        fill(window, k, words[at], bigrams, parent, slot)
        fill_cells(window, k)
        prepare(window)
        for b in range(k):
            losses[at, b] = loss(window, k, b)
        clear(window, k)
