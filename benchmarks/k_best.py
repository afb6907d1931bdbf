"""Cost and oracle F1 of k-best lists.

    python benchmarks/k_best.py time MODEL TREES       ms per sentence for k = 1, 2, 5, 10, 20, 50
    python benchmarks/k_best.py many MODEL TREES       the same for thousands, of the longest trees
    python benchmarks/k_best.py oracle MODEL TREES     F1 of the best of k trees, by objective

MODEL is a file of eigentree train; TREES are held-out trees, whose tags are used.  Times are CPU
seconds of one thread; machines are noisy, so compare within one run.  In ``oracle`` the rows are
decoders, and for each the same 50 trees ordered by their exact values.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.constituency.chart.decode import OBJECTIVES, OF_ITEMS
from eigentree.constituency.ensemble.diversity import oracle
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import Alternative
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree

SIZES = (1, 2, 5, 10, 20, 50)
LARGE = (1, 500, 1000, 2000, 5000, 10000)
N_LONGEST = 5
REPEATS = 2


def times(parser: ConstituencyParser, gold: list[Tree], sizes: Sequence[int] = SIZES) -> None:
    sentences = [(tree.words(), tree.tags()) for tree in gold]
    parser.parse(*sentences[0], kbest=2)
    columns = (None, *sizes)
    # The least of some repeats is what the work takes when nothing disturbs it.
    best = np.full((len(columns), len(sentences)), np.inf)
    for _ in range(REPEATS):
        for number, sentence in enumerate(sentences):
            for row, size in enumerate(columns):
                began = time.process_time()
                parser.parse(*sentence, kbest=size)
                best[row, number] = min(best[row, number], time.process_time() - began)
    means = 1000 * best.mean(axis=1)
    print("| trees | ms a sentence | of the time of one |")
    print("| --- | --- | --- |")
    for size, mean in zip(columns, means, strict=True):
        print(f"| {size or 'the tree alone'} | {mean:.2f} | {mean / means[1]:.2f} |")


def many(parser: ConstituencyParser, gold: list[Tree]) -> None:
    times(parser, sorted(gold, key=lambda tree: len(tree.words()))[-N_LONGEST:], LARGE)


def oracles(parser: ConstituencyParser, gold: list[Tree]) -> None:
    names = [name for name in OBJECTIVES if parser.kruskal is None or name in OF_ITEMS]
    if parser.grammar.n_states.max() > 1 or parser.grammar.signed:
        names.remove("viterbi")
    print("| trees, k = | " + " | ".join(map(str, SIZES)) + " | trees of a list |")
    print("| --- |" + " --- |" * (len(SIZES) + 1))
    for name in names:
        asked = replace(parser, options=replace(parser.options, objective=name))
        found = [
            list(asked.parse(tree.words(), tree.tags(), kbest=SIZES[-1]).alternatives)
            for tree in gold
        ]
        for order in ("", ", by value") if found[0][0].log_value is not None else ("",):
            if order:
                for own in found:
                    own.sort(key=value, reverse=True)
            f1 = [
                oracle(gold, [[each.tree for each in own[:size]] for own in found]).f1 or 0.0
                for size in SIZES
            ]
            print(
                f"| {name}{order} | " + " | ".join(f"{100 * each:.2f}" for each in f1)
                + f" | {np.mean([len(own) for own in found]):.1f} |"
            )  # fmt: skip


def value(alternative: Alternative) -> float:
    return -np.inf if alternative.log_value is None else alternative.log_value


VIEWS = {"time": times, "many": many, "oracle": oracles}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in VIEWS:
        sys.exit(__doc__)
    VIEWS[sys.argv[1]](ConstituencyParser.load(sys.argv[2]), list(read_treebank(sys.argv[3]).trees))
