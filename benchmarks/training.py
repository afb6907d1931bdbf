"""Training time by stage, states and size of the treebank.

    python benchmarks/training.py stages TREEBANK [STATES]    seconds by stage, peak memory
    python benchmarks/training.py growth TREEBANK [STATES]    an eighth of the trees, a quarter ...

TREEBANK is a folder with train.mrg.  CPU seconds of one thread, reading included, without
the tagger.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from eigentree.constituency.learn.spectral import SpectralOptions, estimate, project
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training_options import TreebankOptions
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree


def stages(folder: Path, states: int) -> None:
    began = time.process_time()
    trees = read_treebank(folder / "train.mrg").trees
    reading = time.process_time() - began
    times, n_nodes = learn(trees, states)
    total = reading + sum(times)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    names = ("binary trees", "features and SVD", "rules and words")
    told = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in zip(names, times, strict=True))
    print(f"{len(trees)} trees, {n_nodes} nodes, {states} states: {total:.2f} CPU s")
    print(f"reading {reading:.2f} s, {told}; peak memory {memory:.2f} GB")


def growth(folder: Path, states: int) -> None:
    trees = read_treebank(folder / "train.mrg").trees
    print("| trees | nodes | CPU s | microseconds a node |")
    print("| --- | --- | --- | --- |")
    for part in (8, 4, 2, 1):
        times, n_nodes = learn(trees[: len(trees) // part], states)
        seconds = sum(times)
        micro = 1e6 * seconds / n_nodes
        print(f"| {len(trees) // part} | {n_nodes} | {seconds:.2f} | {micro:.1f} |")


def learn(trees: list[Tree], states: int) -> tuple[list[float], int]:
    clock = [time.process_time()]
    examples = prepare(trees, TreebankOptions()).examples
    clock.append(time.process_time())
    options = SpectralOptions(states=states)
    projections = project(examples, options)
    clock.append(time.process_time())
    estimate(examples, projections, options)
    clock.append(time.process_time())
    return [after - before for before, after in pairwise(clock)], len(examples)


VIEWS = {"stages": stages, "growth": growth}

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in VIEWS:
        sys.exit(__doc__)
    VIEWS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) == 4 else 24)
