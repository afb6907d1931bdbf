"""Growth of the time to learn word clusters and vectors, and their agreement with tags.

    python benchmarks/words.py growth
    python benchmarks/words.py text TREES... > TEXT
    python benchmarks/words.py tags FILE TREES...

`growth` doubles one size at a time of a random text, with a Markov chain of word classes and word
frequencies proportional to 1 / rank, and prints CPU seconds and their ratio to those before
doubling.  `text` prints the words of treebanks, one sentence per line.  `tags` compares a file of
clusters or vectors with the tags of treebanks: the share of tokens with the most frequent tag of
their cluster; or of words seen at least 20 times whose most frequent tag is that of the nearest
such word.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.errors import TreebankFormatError
from eigentree.treebank.reader import read_treebank
from eigentree.words.brown import BrownClusters, BrownOptions, learn_brown
from eigentree.words.brown_files import read_clusters
from eigentree.words.cca import CCAOptions, learn_cca
from eigentree.words.vectors import WordVectors, read_vectors

BASE = {"tokens": 100_000, "vocabulary": 5_000, "size": 100}
CLASSES = 40
MEAN_LENGTH = 20
LEAST_COUNT = 20


def made_up(tokens: int, vocabulary: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    following = rng.dirichlet(np.full(CLASSES, 0.1), size=CLASSES)
    class_of = rng.permutation(vocabulary) % CLASSES
    share = 1.0 / np.arange(1, vocabulary + 1)
    words = [np.flatnonzero(class_of == own) for own in range(CLASSES)]
    state = rng.integers(CLASSES, size=tokens // MEAN_LENGTH)
    columns = []
    for _ in range(MEAN_LENGTH):
        column = np.zeros(len(state), dtype=int)
        following_state = state.copy()
        for own in range(CLASSES):
            here = np.flatnonzero(state == own)
            weight = share[words[own]] / share[words[own]].sum()
            column[here] = rng.choice(words[own], size=len(here), p=weight)
            following_state[here] = rng.choice(CLASSES, size=len(here), p=following[own])
        columns.append(column)
        state = following_state
    return [[f"w{number}" for number in row] for row in np.stack(columns, axis=1).tolist()]


def growth() -> None:
    learners: dict[str, Callable[[list[list[str]], int], object]] = {
        "Brown": lambda text, size: learn_brown(text, BrownOptions(size)),
        "one step": lambda text, size: learn_cca(text, CCAOptions(size)),
        "two steps": lambda text, size: learn_cca(text, CCAOptions(size, method="two-step")),
    }
    learn_brown(made_up(2_000, 200), BrownOptions(4))  # compiles
    print("| learner | sizes | CPU s | tokens × 2 | vocabulary × 2 | clusters or dimensions × 2 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, learn in learners.items():
        base = seconds(learn, BASE)
        ratios = [seconds(learn, BASE | {key: 2 * BASE[key]}) / base for key in BASE]
        sizes = ", ".join(f"{value:,}" for value in BASE.values())
        told = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {name} | {sizes} | {base:.1f} | {told} |", flush=True)


def seconds(learn: Callable[[list[list[str]], int], object], sizes: dict[str, int]) -> float:
    text = made_up(sizes["tokens"], sizes["vocabulary"])
    began = time.process_time()
    learn(text, sizes["size"])
    return time.process_time() - began


def text(files: Sequence[str]) -> None:
    for tree in read_treebank(files, on_error="skip").trees:
        print(" ".join(tree.words()))


def tags(file: str, files: Sequence[str]) -> None:
    tags_of: dict[str, Counter[str]] = defaultdict(Counter)
    for tree in read_treebank(files, on_error="skip").trees:
        for word, tag in zip(tree.words(), tree.tags(), strict=True):
            tags_of[word][tag] += 1
    try:
        clusters = read_clusters(file)
    except TreebankFormatError:
        told = f"{by_neighbours(read_vectors(file), tags_of):.1%} of words have their neighbour's"
    else:
        told = f"{by_clusters(clusters, tags_of):.1%} of tokens have their cluster's"
    print(f"{file}: {told} most frequent tag")


def by_clusters(clusters: BrownClusters, tags_of: dict[str, Counter[str]]) -> float:
    of_cluster: dict[int | None, Counter[str]] = defaultdict(Counter)
    for word, counts in tags_of.items():
        of_cluster[clusters.cluster_of(word)].update(counts)
    right = sum(max(counts.values()) for counts in of_cluster.values())
    return right / sum(counts.total() for counts in of_cluster.values())


def by_neighbours(vectors: WordVectors, tags_of: dict[str, Counter[str]]) -> float:
    often = [word for word in vectors.words if tags_of[word].total() >= LEAST_COUNT]
    rows = vectors.lookup(often).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosine = rows @ rows.T
    np.fill_diagonal(cosine, -np.inf)
    tag = np.array([tags_of[word].most_common(1)[0][0] for word in often])
    return float(np.mean(tag[np.argmax(cosine, axis=1)] == tag))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["growth"]:
            growth()
        case ["text", *files] if files:
            text(files)
        case ["tags", file, *files] if files:
            tags(file, files)
        case _:
            sys.exit(__doc__)
