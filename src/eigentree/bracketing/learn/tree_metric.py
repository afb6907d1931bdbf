"""Tree metrics from tagged text: spectral distances between words (Parikh, Cohen and Xing 2014).

Suppose that a sentence's tags determine an unrooted binary tree whose leaves are its words' vectors
w in R^p and whose inner nodes are latent vectors in R^m, m < p, each linear in its neighbour on
average.  With S_ij = E[w_i w_j'], not centred, and s_1 >= s_2 >= ... its singular values,

    d(i, j) = - log s_1(S_ij) - ... - log s_m(S_ij)

is the sum of lengths along the path from i to j, up to a constant that each word adds to all its
distances: for any node k on that path S_ij = A_ik S_kk A_jk' with matrices of m columns, whose
volumes multiply.  (The terms of S_ii and S_jj in equation 5 of the paper are such constants.  They
affect no tree, and are omitted.)

**Estimation.**  S is estimated for the tags s and t of two words and their distance delta in
words, from all pairs of words with these tags, weighted by the similarity of their distances
(section 3.4):

    S[s, t, delta] = sum over delta' of K(delta, delta') M[s, t, delta']
                     / sum over delta' of K(delta, delta') N[s, t, delta'],
    K(delta, delta') = max(0, 1 - |delta - delta'| / (bandwidth (delta + delta'))),

with M[s, t, delta'] the sum of w w'' over N[s, t, delta'] pairs.  These moments are the only
statistics of a text; those of its parts can be added.  If words have few distinct vectors, as with
Brown clusters, M = B' C B with the vectors B and counts C of pairs of classes, and only the counts
are needed.

**Few examples.**  A moment of c pairs has rank c at most, and its distance would be infinite for
c < m, so singular values are bounded below by a share of the largest (`floor`).  Pairs of tags
that were not seen at some distance use the nearest distance at which they were seen; tags never
seen together, and unknown ones, have the largest distance of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from eigentree._core.processes import worker_pool
from eigentree.bracketing.learn import _kernels_moments as kernels
from eigentree.bracketing.tree_metric import TreeMetric
from eigentree.errors import GrammarError, SettingsError, check_range
from eigentree.linalg.threads import one_thread
from eigentree.treebank.universal_tags import TagMap
from eigentree.types import Floats, Longs, Tallies

if TYPE_CHECKING:
    from eigentree.words.vectors import WordVectors

# The words of a sentence and their tags.
Tagged = tuple[Sequence[str], Sequence[str]]

# Words with at most this many distinct vectors are counted by class.
MAX_CLASSES = 4000
# Memory limit for the moments of a text.
MAX_BYTES = 1 << 31
# Words counted at a time.  Sums of floats depend on it, but not on the number of processes.
CHUNK = 1 << 17
# Maximum number of waiting chunks per process.
AHEAD = 2


@dataclass(frozen=True)
class MetricOptions:
    """Settings for estimating a tree metric.

    Attributes
    ----------
    rank
        Number of singular values used, m of the paper; fewer if vectors have fewer dimensions.
    bandwidth
        Bandwidth of the kernel over distances, gamma of the paper.  With 0.4, distances from 0.43
        to 2.33 times as large contribute, with less weight the more they differ.
    floor
        Lower bound of singular values, as a share of the largest.
    largest_distance
        Largest distance in words; larger ones are treated as equal to it.
    """

    rank: int = 7
    bandwidth: float = 0.4
    floor: float = 0.01
    largest_distance: int = 40

    def __post_init__(self) -> None:
        check_range(1, rank=self.rank, largest_distance=self.largest_distance)
        if not self.bandwidth > 0.0 or not 0.0 < self.floor <= 1.0:
            raise SettingsError(
                f"bandwidth is {self.bandwidth} and floor {self.floor}; they must be above 0, and "
                "floor at most 1"
            )


@dataclass(frozen=True)
class ClassMoments:
    """Moments of words that have few distinct vectors: counts of pairs.

    Attributes
    ----------
    tags
        Sorted.
    features : float64, axes (C, p)
        Vectors of the classes.
    symbols : int64, axes (U, 2)
        The combinations of tag and class that occur, sorted.
    pairs : uint32, axes (U, U, delta)
        Counts of pairs by first symbol, second symbol and distance, from 1.
    n_words
    """

    tags: tuple[str, ...]
    features: Floats
    symbols: Longs
    pairs: Tallies
    n_words: int

    def __add__(self, other: ClassMoments) -> ClassMoments:
        """The exact moments of both texts; vectors and distances must be equal.

        Raises
        ------
        GrammarError
            When vectors or distances differ.
        """
        _check_alike(self.pairs.shape[2], other.pairs.shape[2], self.features, other.features)
        tags = tuple(sorted({*self.tags, *other.tags}))
        renumbered_symbols = [_renumbered(each.symbols, each.tags, tags) for each in (self, other)]
        symbols = np.unique(np.concatenate(renumbered_symbols), axis=0)
        pairs = _class_table(len(symbols), self.pairs.shape[2])
        for each, renumbered in zip((self, other), renumbered_symbols, strict=True):
            places = _places_of(renumbered, symbols)
            pairs[np.ix_(places, places)] += each.pairs
        return ClassMoments(tags, self.features, symbols, pairs, self.n_words + other.n_words)

    @property
    def dimensions(self) -> int:
        return int(self.features.shape[1])

    def smoothed(self, first: int, second: int, kernel: Floats) -> tuple[Floats, Floats]:
        """For two tags, axes (delta) and (delta, p, p): weights of the kernel, and moments.

        Moments are in other coordinates, possibly of lower dimension, with the same nonzero
        singular values.
        """
        left, right = (np.flatnonzero(self.symbols[:, 0] == tag) for tag in (first, second))
        counts = self.pairs[left[0] : left[-1] + 1, right[0] : right[-1] + 1].astype(np.float64)
        weight, smooth = _smooth(counts.sum(axis=(0, 1)), np.moveaxis(counts, 2, 0), kernel)
        # B = R'Q' with orthonormal Q: the singular values of B' C B are those of R C R'.
        upper = [
            np.asarray(np.linalg.qr(self.features[self.symbols[of, 1]].T, mode="r"))
            for of in (left, right)
        ]
        return weight, upper[0] @ smooth @ upper[1].T


@dataclass(frozen=True)
class DenseMoments:
    """Moments of words with individual vectors.

    Attributes
    ----------
    tags
        Sorted.
    counts : int64, axes (T, T, delta)
    sums
        By the numbers of two tags that were seen together: float64, axes (delta, p, p).
    n_words
    """

    tags: tuple[str, ...]
    counts: Longs
    sums: dict[tuple[int, int], Floats]
    n_words: int

    def __add__(self, other: DenseMoments) -> DenseMoments:
        """The moments of both texts; the order of floating-point sums affects the last bits.

        Raises
        ------
        GrammarError
            When dimensions or distances differ.
        """
        if self.sums and other.sums:
            vectors, other_vectors = (
                next(iter(each.sums.values()))[0, :0] for each in (self, other)
            )
            _check_alike(self.counts.shape[2], other.counts.shape[2], vectors, other_vectors)
        tags = tuple(sorted({*self.tags, *other.tags}))
        counts = np.zeros((len(tags), len(tags), self.counts.shape[2]), dtype=np.int64)
        sums: dict[tuple[int, int], Floats] = {}
        for each in (self, other):
            places = [tags.index(tag) for tag in each.tags]
            counts[np.ix_(places, places)] += each.counts
            for (first, second), moments in each.sums.items():
                key = places[first], places[second]
                sums[key] = sums[key] + moments if key in sums else moments
        _check_room(sum(each.nbytes for each in sums.values()), "tags, dimensions")
        return DenseMoments(tags, counts, sums, self.n_words + other.n_words)

    @property
    def dimensions(self) -> int:
        return int(next(iter(self.sums.values())).shape[1]) if self.sums else 1

    def smoothed(self, first: int, second: int, kernel: Floats) -> tuple[Floats, Floats]:
        """For two tags, axes (delta) and (delta, p, p): weights of the kernel, and moments."""
        if (first, second) not in self.sums:
            return np.zeros(len(kernel)), np.zeros((len(kernel), 1, 1))
        sums = self.sums[first, second]
        return _smooth(self.counts[first, second].astype(np.float64), sums, kernel)


Moments = ClassMoments | DenseMoments


def count_moments(
    sentences: Iterable[Tagged],
    vectors: WordVectors,
    tag_map: TagMap,
    largest_distance: int,
    *,
    jobs: int = 1,
) -> Moments:
    """Compute the moments of a text in one pass.

    Parameters
    ----------
    sentences
        Words and tags of each; punctuation, as defined by the map, is skipped.
    vectors
        Words without a vector use the vector of unknown words.
    tag_map
        Maps the tags of the text to the metric's tags.
    largest_distance
        In words.
    jobs
        Number of processes; the result is the same for any number.

    Raises
    ------
    GrammarError
        When no sentence has two words.
    SettingsError
        When the moments would need more than `MAX_BYTES`.

    Cost
    ----
    Linear in the number of words, with `largest_distance` pairs each.  Memory does not depend
    on the length of the text: with word classes U^2 numbers per distance, where U is the number of
    combinations of tag and class, otherwise p^2 numbers per pair of tags and distance.
    """
    counter = _Counter(vectors, tag_map, largest_distance)
    chunks = _chunks(sentences)
    if jobs == 1:
        parts: Iterator[Moments] = map(counter, chunks)
        moments = _sum(parts)
    else:
        with worker_pool(jobs, _start_worker, counter) as pool:
            moments = _sum(_bounded(pool, chunks, jobs * AHEAD))
    if moments is None or not moments.tags:
        raise GrammarError("no sentence has two or more words other than punctuation")
    return moments


def _sum(parts: Iterator[Moments]) -> Moments | None:
    first = next(parts, None)
    return None if first is None else reduce(add, parts, first)


def _bounded(
    pool: ProcessPoolExecutor, chunks: Iterator[list[Tagged]], max_waiting: int
) -> Iterator[Moments]:
    """The results of chunks, in order, with a bounded number of chunks at a time."""
    waiting: list[Future[Moments]] = []
    for chunk in chunks:
        waiting.append(pool.submit(_count_there, chunk))
        if len(waiting) > max_waiting:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def _chunks(sentences: Iterable[Tagged]) -> Iterator[list[Tagged]]:
    """Batches of sentences with about `CHUNK` words each."""
    chunk: list[Tagged] = []
    n_words = 0
    for words, tags in sentences:
        chunk.append((words, tags))
        n_words += len(words)
        if n_words >= CHUNK:
            yield chunk
            chunk, n_words = [], 0
    if chunk:
        yield chunk


class _Counter:
    """Counts chunks of text; the classes of vectors are determined once."""

    def __init__(self, vectors: WordVectors, tag_map: TagMap, largest_distance: int) -> None:
        self._vectors, self._tag_map, self._largest = vectors, tag_map, largest_distance
        rows = np.concatenate([vectors.matrix, vectors.unknown[None]])
        # Compared as bytes, in O(V p): sorting rows of hundreds of numbers is slow.
        classes: dict[bytes, int] = {}
        class_of = [classes.setdefault(row.tobytes(), len(classes)) for row in rows]
        self._is_classes = len(classes) <= MAX_CLASSES and 2 * len(classes) <= len(rows)
        self._class_of = np.array(class_of, dtype=np.int64)
        if self._is_classes:
            _, first = np.unique(self._class_of, return_index=True)
            rows = rows[first].astype(np.float64)
        self._features = rows

    def __call__(self, chunk: list[Tagged]) -> Moments:
        tag_map, number = self._tag_map, self._vectors.number
        unknown = len(self._vectors.words)
        names: list[str] = []
        rows: list[int] = []
        starts = [0]
        for words, tags in chunk:
            if len(words) != len(tags):
                raise GrammarError(
                    f"a sentence has {len(words)} words and {len(tags)} tags: "
                    f"{' '.join(words)[:40]!r}"
                )
            for word, word_tag in zip(words, tags, strict=True):
                if not tag_map.is_punctuation(word_tag):
                    word_number = number(word)
                    rows.append(unknown if word_number is None else word_number)
                    names.append(tag_map(word_tag))
            starts.append(len(rows))
        seen = tuple(sorted(set(names)))
        numbers = {name: at for at, name in enumerate(seen)}
        tag = np.array([numbers[name] for name in names], dtype=np.int64)
        row = np.array(rows, dtype=np.int64)
        if self._is_classes:
            return self._by_class(seen, tag, self._class_of[row], np.array(starts))
        with one_thread():
            word_vectors = self._features[row].astype(np.float64)
            return self._by_word(seen, tag, word_vectors, np.array(starts))

    def _by_class(
        self, tags: tuple[str, ...], tag: Longs, of_word: Longs, starts: Longs
    ) -> ClassMoments:
        keys, symbols = np.unique(tag * len(self._features) + of_word, return_inverse=True)
        pairs = _class_table(len(keys), self._largest)
        kernels.count_pairs(symbols.astype(np.int32), starts, pairs)
        together = np.stack(np.divmod(keys, len(self._features)), axis=1)
        return ClassMoments(tags, self._features, together, pairs, len(tag))

    def _by_word(
        self, tags: tuple[str, ...], tag: Longs, vectors: Floats, starts: Longs
    ) -> DenseMoments:
        largest, p = self._largest, vectors.shape[1]
        ends = np.repeat(starts[1:], np.diff(starts))
        counts = np.zeros((len(tags), len(tags), largest), dtype=np.int64)
        sums: dict[tuple[int, int], Floats] = {}
        _check_room(8 * largest * p * p, "dimensions")
        for distance in range(1, largest + 1):
            first = np.flatnonzero(np.arange(len(tag)) + distance < ends)
            if not len(first):
                break
            pair = tag[first] * len(tags) + tag[first + distance]
            order = np.argsort(pair, kind="stable")
            first, pair = first[order], pair[order]
            seen, begin = np.unique(pair, return_index=True)
            for key, positions in zip(seen.tolist(), np.split(first, begin[1:]), strict=True):
                s, t = divmod(key, len(tags))
                if (s, t) not in sums:
                    sums[s, t] = np.zeros((largest, p, p))
                counts[s, t, distance - 1] = len(positions)
                sums[s, t][distance - 1] = vectors[positions].T @ vectors[positions + distance]
        return DenseMoments(tags, counts, sums, len(tag))


_count_here: _Counter


def _start_worker(counter: _Counter) -> None:
    global _count_here  # state of a worker process
    _count_here = counter


def _count_there(chunk: list[Tagged]) -> Moments:
    return _count_here(chunk)


def metric_of(moments: Moments, tag_map: TagMap, options: MetricOptions) -> TreeMetric:
    """The tree metric given by moments.

    Raises
    ------
    GrammarError
        When no two words were seen together.

    Cost
    ----
    A singular value decomposition of a p x p matrix, or one over the classes of two tags, for each
    pair of tags and distance.
    """
    size = len(moments.tags)
    largest = options.largest_distance
    kernel = _kernel(largest, options.bandwidth)
    rank = min(options.rank, moments.dimensions)
    table = np.full((size + 1, size + 1, largest), np.nan)
    with one_thread():
        for first in range(size):
            for second in range(size):
                weight, smooth = moments.smoothed(first, second, kernel)
                seen = np.flatnonzero(weight > 0.0)
                if len(seen):
                    distances = _distances(smooth[seen], rank, options.floor)
                    table[first, second] = distances[_nearest(seen, largest)]
    known = table[np.isfinite(table)]
    if not len(known):
        raise GrammarError("no sentence has two words, so there are no distances")
    table[np.isnan(table)] = known.max()
    return TreeMetric(moments.tags, tag_map, table)


def _kernel(largest: int, bandwidth: float) -> Floats:
    """Axes (delta, delta): similarity of distances."""
    delta = np.arange(1, largest + 1)
    apart = np.abs(delta[:, None] - delta) / (delta[:, None] + delta)
    return np.asarray(np.maximum(0.0, 1.0 - apart / bandwidth))


def _smooth(counts: Floats, sums: Floats, kernel: Floats) -> tuple[Floats, Floats]:
    """Weights and means of sums, axes (delta, ...), under a kernel."""
    weight = kernel @ counts
    total = (kernel @ sums.reshape(len(kernel), -1)).reshape(sums.shape)
    divisor = np.where(weight > 0.0, weight, 1.0)
    return weight, total / divisor[:, None, None]


def _distances(moments: Floats, rank: int, floor: float) -> Floats:
    """Spectral distances of matrices, axes (delta, p, p)."""
    values = np.linalg.svd(moments, compute_uv=False)[:, :rank]
    # Zero matrices carry no information.
    largest = np.where(values[:, 0] > 0.0, values[:, 0], 1.0)
    shares = np.full((len(values), rank), floor)
    shares[:, : values.shape[1]] = np.maximum(values / largest[:, None], floor)
    return np.asarray(-np.log(shares).sum(axis=1) - rank * np.log(largest))


def _nearest(seen: Longs, largest: int) -> Longs:
    """For each distance, the index in `seen` of the nearest one; of two, the smaller."""
    apart = np.abs(np.arange(largest)[:, None] - seen)
    return np.asarray(np.argmin(apart, axis=1), dtype=np.int64)


def _renumbered(symbols: Longs, old_tags: tuple[str, ...], tags: tuple[str, ...]) -> Longs:
    places = np.array([tags.index(tag) for tag in old_tags], dtype=np.int64)
    return np.stack([places[symbols[:, 0]], symbols[:, 1]], axis=1)


def _places_of(rows: Longs, among: Longs) -> Longs:
    """The index of each row in a sorted table."""
    size = 1 + int(among[:, 1].max(initial=0))
    keys, row_keys = (each[:, 0] * size + each[:, 1] for each in (among, rows))
    return np.asarray(np.searchsorted(keys, row_keys), dtype=np.int64)


def _class_table(n_symbols: int, largest: int) -> Tallies:
    _check_room(4 * n_symbols**2 * largest, "tags, word classes")
    return np.zeros((n_symbols, n_symbols, largest), dtype=np.uint32)


def _check_alike(first: int, second: int, own_vectors: Floats, other: Floats) -> None:
    """Raise GrammarError for moments with other distances or other vectors."""
    if first != second or not np.array_equal(own_vectors, other):
        raise GrammarError(
            "moments with different vectors or largest distances cannot be added; count both texts "
            "with the same"
        )


def _check_room(n_bytes: int, what: str) -> None:
    if n_bytes > MAX_BYTES:
        raise SettingsError(
            f"the moments would need {n_bytes / 2**30:.1f} GiB; the limit is {MAX_BYTES >> 30} "
            f"GiB; use fewer {what} or a smaller largest distance"
        )
