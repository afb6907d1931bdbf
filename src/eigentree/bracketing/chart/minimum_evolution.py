"""Minimum evolution: the shortest tree over distances between words, among trees over intervals.

Let d be distances between the n words of a sentence.  A tree whose inner nodes all have three
neighbours is *unrooted*; a root within one of its edges directs it, so that each inner node has
two children.  With D(X, Y) the mean distance between the words of X and those of Y, an edge
between a word x, whose neighbour has the words A and B behind its two other edges, and an edge
between two inner nodes, with A, B behind the one and G, H behind the other, have the lengths

    (D(x, A) + D(x, B) - D(A, B)) / 2
    (D(A, G) + D(B, H) + D(A, H) + D(B, G)) / 4 - D(A, B) / 2 - D(G, H) / 2,

exact where distances are sums along the edges of the tree, and estimates elsewhere.  The estimated
tree is the one with the minimum sum of lengths (Rzhetsky and Nei 1993; Parikh et al. 2014,
equations 3, 4 and 6, which average over words as D does).  Least squares lengths instead weigh
D(A, H) + D(B, G) by w / 2 and D(A, G) + D(B, H) by (1 - w) / 2, with

    w = (|A| |G| + |B| |H|) / ((|A| + |B|) (|G| + |H|)).

The search covers all trees in which the root splits the words at position ``top`` and all nodes
below are over intervals.

**Items.**  Item [i, k) with split j is a node with the children [i, j) and [j, k).  Whatever the
root, the words beyond its third edge are those outside [i, k).  The length of the edge above a
child is therefore determined by the child's split and the parent's, and

    F[i, j, k] = best of [i, j) + best of [j, k),   each below [i, k) split at j,
    best of C  = min over splits m of C of  F[C, m] + length of the edge above C

are the minimum total lengths of all edges below an item.  The splits of the two children are
independent, so an item costs O(n), as in the algorithm of Eisner and Satta (1999) with
splits instead of heads.  Each D is computed in O(1) from sums over rectangles of d.

One table of items serves every position of the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentree.bracketing.chart import _kernels_minimum_evolution as kernels
from eigentree.errors import GrammarError, ShapeError
from eigentree.types import Floats, Shorts

# Trees whose lengths differ by less than this, relative to all distances of a word, count as
# equal, and the first is chosen; rounding differs between machines.
MARGIN = 1e-12
# Numbers of splits are stored in 16 bits, and a table of this size takes 12 GiB.
MAX_WORDS = 1000


class RootedTree(NamedTuple):
    """A binary tree over a sentence.

    Attributes
    ----------
    spans : int16, axes (n - 1, 3)
        Start, end and split of each node over two or more words, parents before children, from
        left to right.  None for a sentence of one word.
    top : int
        Position at which the root splits the sentence; 0 for fewer than two words.
    length : float
        Sum of the lengths of all edges.
    """

    spans: Shorts
    top: int
    length: float


class BracketingChart(NamedTuple):
    """The items of a sentence, for all positions of the root; created by `minimum_evolution`.

    Attributes
    ----------
    sums : float64, axes (n + 1, n + 1)
        Sum of the distances between the words before one position and those before another.
    below : float64, axes (n + 1, n + 1, n + 1)
        By start, end and split, see the kernels.
    splits : int16, axes (n + 1, n + 1, n + 1, 2)
        Best splits of both children of an item; -1 for a word.
    least_squares : bool
    margin : float
    """

    sums: Floats
    below: Floats
    splits: Shorts
    least_squares: bool
    margin: float

    @property
    def n_words(self) -> int:
        return len(self.sums) - 1

    def lengths(self) -> Floats:
        """Axes (n + 1): minimum length of a tree for each root position, inf at 0 and n."""
        lengths = np.full(self.n_words + 1, np.inf)
        for top in range(1, self.n_words):
            lengths[top] = self._best(top)[0]
        return lengths

    def best(self, top: int | None = None) -> RootedTree:
        """The shortest tree.

        Parameters
        ----------
        top
            Position at which the root splits the words, 1 to n - 1.  None for the position with
            the shortest tree.  Every edge of an unrooted tree can have the root, so several
            positions give the same length; the first is chosen.

        Raises
        ------
        GrammarError
            When one side of the root would have no words.

        Cost
        ----
        O(n^2) for a given position, O(n^3) for None.
        """
        n = self.n_words
        if n < 2:
            return RootedTree(np.empty((0, 3), dtype=np.int16), 0, 0.0)
        if top is None:
            lengths = self.lengths()
            top = int(np.flatnonzero(lengths <= lengths.min() + self.margin)[0])
        if not 0 < top < n:
            raise GrammarError(
                f"the root cannot split {n} words at position {top}; it must be 1 to {n - 1}"
            )
        length, first, second = self._best(top)
        spans, waiting = np.empty((2, n - 1, 3), dtype=np.int16)
        kernels.trace(self.splits, top, first, second, waiting, spans)
        return RootedTree(spans, top, float(length))

    def _best(self, top: int) -> tuple[float, int, int]:
        return kernels.best_top(self.sums, self.below, top, self.least_squares, self.margin)


def minimum_evolution(distances: Floats, *, least_squares: bool = False) -> BracketingChart:
    """Fill the chart of a sentence.

    Parameters
    ----------
    distances : float64, axes (n, n)
        Symmetric; the diagonal is ignored.  Negative distances are allowed, since adding a constant
        to all distances of a word lengthens every tree by the same amount.
    least_squares
        Whether edge lengths are estimated by least squares.

    Raises
    ------
    ShapeError
        When the array is not square.
    GrammarError
        When distances are not symmetric or not finite, or there are more than `MAX_WORDS` words.

    Cost
    ----
    O(n^4) time, O(n^3) memory: 12 n^3 bytes.  2 ms for 40 words, 25 ms for 80.

    References
    ----------
    parikh-2014; rzhetsky-nei-1993; eisner-satta-1999.
    """
    distances = np.asarray(distances, dtype=np.float64)
    n = len(distances)
    if distances.shape != (n, n):
        raise ShapeError(
            f"minimum_evolution: distances have the shape {distances.shape}; they must be square"
        )
    if n > MAX_WORDS:
        raise GrammarError(f"there are {n} words; a chart can have at most {MAX_WORDS}")
    if not np.all(np.isfinite(distances)):
        raise GrammarError("distances must be finite")
    largest = float(np.max(np.abs(distances), initial=0.0))
    if np.max(np.abs(distances - distances.T), initial=0.0) > MARGIN * largest:
        raise GrammarError("distances must be symmetric")
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = distances
    np.fill_diagonal(sums, 0.0)
    sums = sums.cumsum(axis=0).cumsum(axis=1)
    below = np.empty((n + 1, n + 1, n + 1))
    splits = np.empty((n + 1, n + 1, n + 1, 2), dtype=np.int16)
    margin = MARGIN * n * largest
    kernels.fill(sums, least_squares, margin, below, splits)
    return BracketingChart(sums, below, splits, least_squares, margin)
