"""Cost of tree metrics: moments by text length, and minimum-length trees by sentence length.

    python benchmarks/induction.py [WORDS]

The text is random: sentences of 1 to 40 words with Zipfian frequencies, in 100 classes, each with
one of eleven tags, nearly always that of its class; or with vectors of 50 dimensions.  It is
generated while it is read, so that memory is that of the moments.  WORDS (default ten million) is
the length of the longest text.  Times are CPU seconds of one thread, without generating the text.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.bracketing.chart.minimum_evolution import minimum_evolution
from eigentree.bracketing.learn.tree_metric import MetricOptions, count_moments, metric_of
from eigentree.treebank.universal_tags import UNIVERSAL, TagMap
from eigentree.words.vectors import WordVectors

VOCABULARY = 20_000
CLASSES = 100
DIMENSIONS = 50
LONGEST = 40
LENGTHS = (10, 20, 30, 40, 60, 80, 120)
MOST_DENSE = 1_000_000
N_TAGS = len(UNIVERSAL) - 1  # without punctuation
OWN_TAG = 0.98
CLASS_OF = np.random.default_rng(3).integers(0, CLASSES, VOCABULARY)
WORDS = [f"w{number}" for number in range(VOCABULARY)]


class Text:
    """Tagged sentences, generated in batches; ``seconds`` is the time of generation."""

    def __init__(self, n_words: int) -> None:
        self.n_words, self.seconds = n_words, 0.0

    def __iter__(self) -> Iterator[tuple[list[str], list[str]]]:
        rng = np.random.default_rng(0)
        own = CLASS_OF % N_TAGS
        drawn = np.where(rng.random(VOCABULARY) < OWN_TAG, own, rng.integers(0, N_TAGS, VOCABULARY))
        tag_of = [UNIVERSAL[at] for at in drawn.tolist()]
        left = self.n_words
        while left > 0:
            began = time.process_time()
            lengths = rng.integers(1, LONGEST + 1, 1000)
            ids = np.minimum(rng.zipf(1.2, int(lengths.sum())), VOCABULARY) - 1
            batch, start = [], 0
            for length in lengths.tolist():
                own = ids[start : start + length].tolist()
                batch.append(([WORDS[at] for at in own], [tag_of[at] for at in own]))
                start += length
            left -= start
            self.seconds += time.process_time() - began
            yield from batch


def vectors(kind: str) -> WordVectors:
    rng = np.random.default_rng(1)
    if kind == "classes":
        matrix = np.eye(CLASSES, dtype=np.float32)[CLASS_OF]
    else:
        matrix = rng.normal(size=(VOCABULARY, DIMENSIONS)).astype(np.float32)
    return WordVectors(tuple(WORDS), matrix, matrix[0])


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(most: int) -> None:
    largest, as_it_is = MetricOptions().largest_distance, TagMap("none")
    count_moments(Text(1000), vectors("classes"), as_it_is, largest)
    print("vectors       words   count s   distances s   peak MiB")
    for kind, longest in (("classes", most), ("dense", min(most, MOST_DENSE))):
        known = vectors(kind)
        n_words = 10_000
        while n_words <= longest:
            text = Text(n_words)
            began = time.process_time()
            moments = count_moments(text, known, as_it_is, largest)
            counted = time.process_time()
            metric_of(moments, as_it_is, MetricOptions())
            done = time.process_time()
            spent = counted - began - text.seconds
            print(
                f"{kind:8} {n_words:10,} {spent:9.2f} {done - counted:13.2f} {memory():10.0f}",
                flush=True,
            )
            n_words *= 10
    print("\nwords of a sentence   ms a parse")
    rng = np.random.default_rng(2)
    for n in LENGTHS:
        distances = rng.normal(size=(n, n))
        distances += distances.T
        minimum_evolution(distances).best(1)
        rounds = max(1, 2000 // n**2)
        began = time.process_time()
        for _ in range(rounds):
            minimum_evolution(distances).best(n // 2)
        print(f"{n:19} {1e3 * (time.process_time() - began) / rounds:12.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
