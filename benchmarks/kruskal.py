"""Speed of charts in Kruskal form compared with charts by rules, and growth of their time.

    python benchmarks/kruskal.py parse TREEBANK pcfg|markov RANK,RANK... [own]
    python benchmarks/kruskal.py growth
    python benchmarks/kruskal.py peak

``parse`` trains a plain PCFG on train.mrg of the folder TREEBANK (``pcfg``: symbols without
siblings; ``markov``: one parent and one sibling) and parses at most 300 sentences of dev.mrg of at
most 40 words with gold tags, or with ``own`` from words alone, with the tags that the grammar knows
for them: exhaustively, with the pruned chart, and in Kruskal form in double and single precision.
The methods alternate three times; the minimum time counts.  F1 is the
package's own, without punctuation.

``growth`` times inside and outside of random dense factors of rank r, with m inner states, for
sentences of N words, and fits a + b N + c N^2 + d r N^3 + e r m N^2.  ``peak`` compares the matrix
products of a chart at r = 260, N = 40 with those of large matrices.  CPU seconds of one
thread.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from eigentree.constituency.chart.arrays import Matrix

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.constituency.chart import _kernels_dense as kernels
from eigentree.constituency.chart.arrays import Permitted
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training_options import TrainingOptions, TreebankOptions
from eigentree.evaluation.parseval import score
from eigentree.treebank.binarise import BinariseOptions
from eigentree.treebank.cleaning import clean
from eigentree.treebank.reader import read_treebank

BINARISE = {
    "pcfg": BinariseOptions(horizontal=0),
    "markov": BinariseOptions(vertical=2, horizontal=1),
}
LONGEST, MOST = 40, 300
TURNS = 3
RANKS, WORDS, STATES = (20, 60, 140, 260, 340), (10, 16, 23, 30, 40), (40, 100, 250)


def parse(folder: Path, kind: str, ranks: list[int], own: bool) -> None:
    options = TrainingOptions(
        method="pcfg", treebank=TreebankOptions(binarise=BINARISE[kind]), tagger=False
    )
    pruned = ConstituencyParser.train(read_treebank(folder / "train.mrg").trees, settings=options)
    print(pruned)
    exhaustive = replace(pruned, options=replace(pruned.options, exhaustive=True))
    parsers = {"every rule": exhaustive, "pruned": pruned}
    for rank in ranks:
        double = pruned.in_kruskal_form(DecompositionOptions(rank))
        single = pruned.in_kruskal_form(DecompositionOptions(rank, single=True))
        parsers |= {f"rank {rank}": double, f"rank {rank}, single": single}
    cleaned = (clean(tree, pruned.cleaning) for tree in read_treebank(folder / "dev.mrg").trees)
    short = [tree for tree in cleaned if tree is not None and len(tree.words()) <= LONGEST]
    gold = short[:MOST]
    sentences = [(tree.words(), None if own else tree.tags()) for tree in gold]
    print(f"{len(gold)} sentences, {np.mean([len(words) for words, _ in sentences]):.1f} words")
    found, seconds = {}, dict.fromkeys(parsers, float("inf"))
    for parser in parsers.values():
        parser.parse(*sentences[0])  # compiles
    for _ in range(TURNS):
        for name, parser in parsers.items():
            began = time.process_time()
            found[name] = [parser.parse(*sentence) for sentence in sentences]
            seconds[name] = min(seconds[name], time.process_time() - began)
    print("| | F1 | right tags | fall-backs | ms a sentence | times as fast | as pruned |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, results in found.items():
        scores = score(gold, [result.tree for result in results]).all
        fallbacks = sum(result.fallback is not None for result in results)
        right = f"{100 * scores.tagging_accuracy:.1f}"
        row = [
            f"{100 * scores.f1:.2f}",
            right,
            str(fallbacks),
            f"{1e3 * seconds[name] / len(gold):.2f}",
        ]
        row += [f"{seconds[other] / seconds[name]:.2f}" for other in ("every rule", "pruned")]
        print(f"| {name} | {' | '.join(row)} |", flush=True)


def growth() -> None:
    rows, times = [], []
    for rank, n, m in itertools.product(RANKS, WORDS, STATES):
        rows.append([1.0, n, n * n, rank * n**3, rank * m * n * n])
        times.append(_chart_seconds(n, rank, m))
    design, measured = np.array(rows), np.array(times)
    # Relative errors count, or the longest sentences would decide alone.
    fitted, *_ = np.linalg.lstsq(design / measured[:, None], np.ones(len(times)), rcond=None)
    r_squared = 1.0 - np.sum((design @ fitted - measured) ** 2) / np.sum(
        (measured - measured.mean()) ** 2
    )
    relative = np.abs(design @ fitted / measured - 1.0)
    print(f"{len(times)} charts of {min(times) * 1e3:.2f} to {max(times) * 1e3:.1f} ms")
    for name, value in zip(("1", "N", "N^2", "r N^3", "r m N^2"), fitted, strict=True):
        print(f"  {name}: {value * 1e9:.4g} ns")
    print(
        f"R^2 = {r_squared:.4f}, relative error {relative.mean():.3f}, at most {relative.max():.3f}"
    )


def peak() -> None:
    rank, n, m = 260, 40, 260
    size = 1500
    for kind in (np.float64, np.float32):
        one, other, product = (np.ones((size, size), dtype=kind) for _ in range(3))
        most = 2 * size**3 / _least(partial(np.dot, one, other, product))
        whole, products = _chart_seconds(n, rank, m, kind), _product_seconds(n, rank, m, kind)
        spans = n * (n - 1) // 2
        rate = 2 * 2 * 3 * rank * m * spans / products
        print(
            f"{kind.__name__}: {most / 1e9:.1f} GFLOP/s for {size} x {size} matrices, "
            f"{rate / 1e9:.1f} ({100 * rate / most:.0f} %) in the chart's products, which take "
            f"{100 * products / whole:.0f} % of its time"
        )


class _Random:
    """Buffers and random factors of a chart."""

    def __init__(self, n: int, rank: int, m: int, kind: type[np.floating]) -> None:
        rng = np.random.default_rng(0)
        spans = kernels.first(n, n + 1)
        none = np.empty(0, dtype=np.uint32)

        def full(rows: int, columns: int) -> Matrix:
            matrix = rng.random((rows, columns)).astype(kind)
            return Matrix(matrix, none, none, matrix[0, :0].copy())

        self.to_parent, self.to_children = full(rank, m), full(m, 2 * rank)
        self.from_children, self.from_parent = full(2 * rank, m), full(m, rank)
        self.powers = (2.0 ** -np.arange(-kernels.LOST)).astype(kind)
        self.sums, self.outer = np.ones((2, spans, rank), dtype=kind)
        self.child, self.outer_sums = np.ones((2, spans, 2 * rank), dtype=kind)
        self.inside, self.outside = np.ones((2, spans, m), dtype=kind)
        self.exponent, self.outer_exponent = np.zeros((2, spans), dtype=np.int64)
        self.permitted = Permitted.everything(n, m)


def _chart_seconds(n: int, rank: int, m: int, kind: type[np.floating] = np.float64) -> float:
    c = _Random(n, rank, m, kind)

    def chart() -> None:
        kernels.kruskal_inside(
            n, c.powers, c.to_parent, c.to_children, c.child, c.exponent, c.sums, c.inside,
            c.permitted,
        )  # fmt: skip
        kernels.kruskal_outside(
            n, c.powers, c.from_children, c.from_parent, c.child, c.exponent, c.outer,
            c.outer_exponent, c.outer_sums, c.outside, c.permitted,
        )  # fmt: skip

    return _least(chart)


def _product_seconds(n: int, rank: int, m: int, kind: type[np.floating]) -> float:
    """The matrix products of a chart only."""
    c = _Random(n, rank, m, kind)
    spans = [slice(kernels.first(n, width), kernels.first(n, width + 1)) for width in range(2, n)]

    def products() -> None:
        for here in spans:
            kernels.multiply(c.sums[here], c.to_parent, c.inside[here])
            kernels.multiply(c.inside[here], c.to_children, c.child[here])
            kernels.multiply(c.outer_sums[here], c.from_children, c.outside[here])
            kernels.multiply(c.outside[here], c.from_parent, c.outer[here])

    return _least(products)


def _least(work: Callable[[], object]) -> float:
    """Minimum CPU seconds of several runs."""
    work()
    least, spent = float("inf"), 0.0
    while spent < 0.3:
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
        least, spent = min(least, seconds), spent + seconds
    return least


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["parse", folder, "pcfg" | "markov" as kind, some, *rest] if rest in ([], ["own"]):
            parse(Path(folder), kind, [int(rank) for rank in some.split(",")], bool(rest))
        case ["growth"]:
            growth()
        case ["peak"]:
            peak()
        case _:
            sys.exit(__doc__)
