"""Brown clusters: word classes that are most informative about the classes of neighbours.

The likelihood of a class bigram model increases with the average mutual information of adjacent
classes,

    I = sum over classes a, b of  p(a, b) log (p(a, b) / (p_0(a) p_1(b))),

with p(a, b) the share of bigrams from a to b, p_0(a) the share of those that begin in a and p_1(b)
of those that end in b.  Classes are found by greedy merging (Brown et al. 1992):

1. each of the C most frequent words is a cluster;
2. the next most frequent word becomes cluster C + 1, and the two clusters whose merge loses the
   least information are merged; this is repeated for all words;
3. the C clusters are merged in the same way until one is left.

In step 2 the sum is over the current clusters; p_0 and p_1 are those of the whole text.  The merges
of step 3 form a binary tree.  The path from its root to a cluster is a string of bits: 0 for the
side with the more frequent first word, 1 for the other.  Clusters with a common prefix are similar.

Bigrams are pairs of neighbours within a sentence.  Among merges with equal loss, the one whose
clusters' first words come first, by frequency and then by first occurrence, is chosen.  Since the
tables have counts of bigrams, not probabilities, losses are exact up to the rounding of logarithms.

References
----------
Brown et al. 1992; Liang 2005 for the tables that make it fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eigentree._core.arguments import check_type
from eigentree._core.printable import shown
from eigentree._core.shapes import check_shapes, check_types
from eigentree.errors import GrammarError, SettingsError, check_range, counted
from eigentree.types import Ints, Longs, Progress
from eigentree.words import _kernels_brown as kernels
from eigentree.words.arrays import Bigrams, Window
from eigentree.words.vectors import WordVectors, mean_of_rarest
from eigentree.words.vocabulary import count_bigrams, number_words

STAGE = "Brown clusters"

# Words that a kernel processes between two reports of progress.
_BATCH = 200


@dataclass(frozen=True)
class BrownOptions:
    """Settings of Brown clustering.

    Attributes
    ----------
    clusters
        Maximum number of clusters, C in the paper; a text with fewer words has one for each.
    min_count
        Minimum count of a word with a cluster; rarer words still count in p_0 and p_1 of their
        neighbours.
    """

    clusters: int = 320
    min_count: int = 1

    def __post_init__(self) -> None:
        check_range(2, clusters=self.clusters)
        check_range(1, min_count=self.min_count)


@dataclass(frozen=True)
class BrownClusters:
    """Words and their C clusters.

    Attributes
    ----------
    words
        Distinct words.
    cluster : int32, axes (V)
        Cluster of each word; every cluster has at least one.
    count : int64, axes (V)
        Count of each word.
    paths
        The bits of each cluster, 0 and 1, from the root of the tree; no path is a prefix of
        another.

    Raises
    ------
    ShapeError
        When the arrays don't agree.
    GrammarError
        When a word occurs twice, a cluster is empty, or paths aren't the leaves of a binary tree.
    """

    words: tuple[str, ...]
    cluster: Ints
    count: Longs
    paths: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_shapes(
            "BrownClusters",
            {"cluster": (self.cluster, "V"), "count": (self.count, "V")},
            V=len(self.words),
        )
        check_types("BrownClusters", {"cluster": (self.cluster, np.int32)})
        check_types("BrownClusters", {"count": (self.count, np.int64)})
        numbers = {word: number for number, word in enumerate(self.words)}
        object.__setattr__(self, "_numbers", numbers)
        if len(numbers) < len(self.words):
            raise GrammarError("duplicate word in the clusters")
        if not np.array_equal(np.unique(self.cluster), np.arange(len(self.paths))):
            raise GrammarError(f"the clusters of words must be exactly 0 to {len(self.paths) - 1}")
        if np.any(self.count < 0):
            raise GrammarError("a word has a negative count")
        ordered = sorted(self.paths)
        for path, following in zip(ordered, [*ordered[1:], None], strict=True):
            if not set(path) <= {"0", "1"}:
                raise GrammarError(f"the path {shown(path)} must consist of the bits 0 and 1")
            if following is not None and following.startswith(path):
                raise GrammarError(
                    f"the path {shown(path)} is a prefix of {shown(following)}; paths must be "
                    "prefix-free"
                )

    def __len__(self) -> int:
        return len(self.paths)

    def cluster_of(self, word: str) -> int | None:
        """The cluster of a word or of its lower-case form; None for an unknown word."""
        number = self._numbers.get(word, self._numbers.get(word.lower()))
        return None if number is None else int(self.cluster[number])

    def path_of(self, word: str) -> str | None:
        """The path of a word's cluster; None for an unknown word."""
        cluster = self.cluster_of(word)
        return None if cluster is None else self.paths[cluster]

    def members(self, cluster: int) -> list[str]:
        """The words of a cluster, the most frequent first."""
        at = np.flatnonzero(self.cluster == cluster)
        return [self.words[number] for number in at[np.argsort(-self.count[at], kind="stable")]]

    def features(self) -> NDArray[np.float32]:
        """A vector for each cluster, axes (C, log2(C) + C).

        The first log2(C) numbers, rounded up, are the first bits of the path, padded with zeros;
        the others are an indicator of the cluster.

        References
        ----------
        parikh-2014, section 4.1.
        """
        n_bits = (len(self.paths) - 1).bit_length()
        bits = [[float(bit) for bit in path[:n_bits].ljust(n_bits, "0")] for path in self.paths]
        return np.hstack([np.asarray(bits), np.eye(len(self.paths))]).astype(np.float32)

    def vectors(self) -> WordVectors:
        """The features of each word's cluster as its vector.

        An unknown word gets the mean of the rarest words, which are most similar to it.
        """
        matrix = self.features()[self.cluster]
        return WordVectors(self.words, matrix, mean_of_rarest(matrix, self.count))


def learn_brown(
    sentences: Iterable[Sequence[str]],
    options: BrownOptions = BrownOptions(),
    *,
    progress: Progress | None = None,
) -> BrownClusters:
    """Cluster the words of a text.

    Parameters
    ----------
    sentences
        Words of each sentence.
    options
        Number of clusters, and minimum count.
    progress
        Called with the stage's name and the fraction of words that have a cluster, 0 to 1.

    Returns
    -------
    BrownClusters
        Words sorted by frequency; cluster 0 has the most frequent.

    Raises
    ------
    SettingsError
        When fewer than two words reach the minimum count.

    Cost
    ----
    O(V C^2) with a small constant for finding the merges, and O(C) for each neighbouring cluster of
    a new word or merged cluster; O(C^2 + bigrams) memory.

    References
    ----------
    brown-1992, section 3; liang-2005, section 4.2.
    """
    if progress is not None:
        progress(STAGE, 0.0)
    check_type(options, BrownOptions, "options", "BrownOptions")
    text = number_words(sentences)
    n_words = int(np.sum(text.seen >= options.min_count))
    if n_words < 2:
        often = "" if options.min_count == 1 else f" seen {options.min_count} times"
        raise SettingsError(
            f"the text has {counted(n_words, 'different word')}{often}; clusters need at least 2"
        )
    n_clusters = min(options.clusters, n_words)
    bigrams = Bigrams.of(count_bigrams(text.tokens, text.starts, len(text.words)))
    window = Window.empty(n_clusters + 1, bigrams.n_bigrams)
    parent = np.arange(len(text.words), dtype=np.int64)
    slot = np.full(len(text.words), -1, dtype=np.int64)
    for first in range(0, n_words, _BATCH):
        last = min(first + _BATCH, n_words)
        kernels.cluster_words(window, first, last, bigrams, parent, slot)
        if progress is not None:
            progress(STAGE, last / n_words)
    firsts = np.sort(window.rank[window.rank >= 0])
    merges = np.zeros((n_clusters - 1, 2), dtype=np.int64)
    kernels.join_clusters(window, merges)
    root = np.array([kernels.find(parent, word) for word in range(n_words)])
    return BrownClusters(
        words=text.words[:n_words],
        cluster=np.searchsorted(firsts, root).astype(np.int32),
        count=text.seen[:n_words],
        paths=_paths(firsts, merges),
    )


def _paths(firsts: Longs, merges: Longs) -> tuple[str, ...]:
    """The bits of each cluster, from the merges in reverse."""
    path = {int(firsts[0]): ""}
    for older, newer in merges[::-1].tolist():
        path[newer] = path[older] + "1"
        path[older] += "0"
    return tuple(path[first] for first in firsts.tolist())


def assign_words(
    clusters: BrownClusters, sentences: Iterable[Sequence[str]], *, min_count: int = 1
) -> BrownClusters:
    """Assign the words of a text that have no cluster yet to existing clusters.

    Each new word is added to the clusters by itself, and merged with the cluster that loses the
    least average mutual information, by the bigrams of this text.

    Parameters
    ----------
    clusters
        Clusters of known words, which don't change.
    sentences
        A text with known and new words.
    min_count
        New words that are rarer stay unknown.

    Returns
    -------
    BrownClusters
        With the new words after the known ones; new words without a known neighbour stay unknown.
        Among clusters with equal loss, the one with the most tokens is chosen.

    Cost
    ----
    O(C) for each neighbour of a new word, and O(C^2 + bigrams) once.
    """
    text = number_words(sentences, known=clusters._numbers)
    n_known, n_clusters = len(clusters.words), len(clusters)
    n_new = len(text.words) - n_known
    # Known words get the number of their cluster, new words the numbers after those of clusters.
    number = np.concatenate([clusters.cluster, n_clusters + np.arange(n_new, dtype=np.int32)])
    counts = count_bigrams(number[text.tokens], text.starts, n_clusters + n_new)
    beside = counts[n_clusters:, :n_clusters].sum(axis=1)
    beside += counts[:n_clusters, n_clusters:].sum(axis=0)
    taken = np.flatnonzero((beside > 0) & (text.seen[n_known:] >= min_count))
    if not len(taken):
        return clusters
    bigrams = Bigrams.of(counts)
    window = Window.empty(n_clusters + 1, bigrams.n_bigrams)
    parent = np.arange(n_clusters + n_new, dtype=np.int64)
    slot = np.full(n_clusters + n_new, -1, dtype=np.int64)
    for cluster in range(n_clusters):
        kernels.fill(window, cluster, cluster, bigrams, parent, slot)
        slot[cluster] = cluster
        kernels.fill_corners(window, cluster)
    losses = np.zeros((len(taken), n_clusters))
    kernels.losses_of_words(window, n_clusters + taken, bigrams, parent, slot, losses)
    seen = np.bincount(clusters.cluster, weights=clusters.count, minlength=n_clusters)
    is_least = losses <= losses.min(axis=1, keepdims=True) + kernels.TIE
    chosen = np.argmax(np.where(is_least, seen, -1.0), axis=1)
    return BrownClusters(
        clusters.words + tuple(text.words[n_known + at] for at in taken.tolist()),
        np.concatenate([clusters.cluster, chosen.astype(np.int32)]),
        np.concatenate([clusters.count, text.seen[n_known + taken]]),
        clusters.paths,
    )
