"""Time of EM iterations.

    python benchmarks/em.py iteration TREEBANK STATES,STATES...    seconds an iteration, by states

TREEBANK is a folder with train.mrg.  CPU seconds of one thread, expectation and maximisation
together, without smoothing and scoring; peak memory of the process so far.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em import (
    EMOptions,
    TreeExpectation,
    capped_states,
    maximise,
    perturbed,
)
from eigentree.constituency.learn.em_layout import lay_out
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training_options import TreebankOptions
from eigentree.treebank.reader import read_treebank

ITERATIONS = 5


def iteration(folder: Path, states: list[int]) -> None:
    trees = read_treebank(folder / "train.mrg").trees
    examples = prepare(trees, TreebankOptions()).examples
    print(f"{len(trees)} trees, {len(examples)} nodes, {len(examples.rules)} rules")
    print("| states | million numbers | CPU s an iteration | of it maximisation | GB |")
    print("| --- | --- | --- | --- | --- |")
    backbone = count_pcfg(examples)
    for most in states:
        n_states = capped_states(examples, EMOptions(states=most))
        skeletons, layout = lay_out(examples, backbone, n_states)
        values = maximise(layout, perturbed(layout, 1.0, 0))
        spent: list[tuple[float, float]] = []
        with ThreadPoolExecutor(1) as threads:
            expectation = TreeExpectation(skeletons, layout, threads)
            for _ in range(ITERATIONS + 1):
                began = time.process_time()
                _, counts = expectation.step(values)
                counted = time.process_time()
                maximise(layout, counts, values)
                ended = time.process_time()
                spent.append((ended - began, ended - counted))
        # The first iteration compiles, where nothing is cached.
        whole, last = (sum(column) / ITERATIONS for column in zip(*spent[1:], strict=True))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        size = len(values.rules) / 1e6
        print(f"| {most} | {size:.2f} | {whole:.3f} | {last:.3f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "iteration":
        sys.exit(__doc__)
    iteration(Path(sys.argv[2]), [int(number) for number in sys.argv[3].split(",")])
