"""Brown clustering by its definition: every merge tried, average mutual information in full.

Shares nothing with the package: no tables, no counts that are kept up to date, and sums of
logarithms of probabilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import log

TIE = 1e-9  # nats; losses closer than this are equal


def words_by_frequency(sentences: Sequence[Sequence[str]]) -> list[str]:
    # A counter keeps the order of first occurrence, and sorting keeps it among equals.
    count = Counter(word for sentence in sentences for word in sentence)
    return sorted(count, key=lambda word: -count[word])


def bigrams_of(sentences: Sequence[Sequence[str]]) -> Counter[tuple[str, str]]:
    return Counter(pair for words in sentences for pair in pairwise(words))


def information(clusters: Sequence[frozenset[str]], bigrams: Counter[tuple[str, str]]) -> float:
    """The sum over pairs of clusters, with the bigrams of the whole text in the marginals."""
    of = {word: number for number, cluster in enumerate(clusters) for word in cluster}
    joint: Counter[tuple[int, int]] = Counter()
    first: Counter[int] = Counter()
    second: Counter[int] = Counter()
    for (before, after), number in bigrams.items():
        if before in of:
            first[of[before]] += number
        if after in of:
            second[of[after]] += number
        if before in of and after in of:
            joint[of[before], of[after]] += number
    total = sum(bigrams.values())
    return sum(
        n / total * log(n / total / (first[a] / total * second[b] / total))
        for (a, b), n in joint.items()
    )


def best_merge(
    clusters: Sequence[frozenset[str]], bigrams: Counter[tuple[str, str]]
) -> tuple[int, int]:
    """Clusters stand in the order of their first words, so the first of equals is the right one."""
    whole = information(clusters, bigrams)
    losses = {}
    for b in range(len(clusters)):
        for a in range(b):
            rest = [each for at, each in enumerate(clusters) if at not in (a, b)]
            losses[a, b] = whole - information([*rest, clusters[a] | clusters[b]], bigrams)
    least = min(losses.values())
    return min(pair for pair, loss in losses.items() if loss <= least + TIE)


def merged(clusters: list[frozenset[str]], a: int, b: int) -> list[frozenset[str]]:
    joined = [*clusters[:a], clusters[a] | clusters[b], *clusters[a + 1 :]]
    return [*joined[:b], *joined[b + 1 :]]


def brown(
    sentences: Sequence[Sequence[str]], n_clusters: int, min_count: int = 1
) -> dict[str, str]:
    """The path of each word."""
    count = Counter(word for sentence in sentences for word in sentence)
    words = [word for word in words_by_frequency(sentences) if count[word] >= min_count]
    bigrams = bigrams_of(sentences)
    clusters = [frozenset([word]) for word in words[:n_clusters]]
    for word in words[n_clusters:]:
        clusters.append(frozenset([word]))
        clusters = merged(clusters, *best_merge(clusters, bigrams))
    path = dict.fromkeys(words, "")
    while len(clusters) > 1:
        a, b = best_merge(clusters, bigrams)
        for bit, at in (("0", a), ("1", b)):
            for word in clusters[at]:
                path[word] = bit + path[word]
        clusters = merged(clusters, a, b)
    return path
