"""Time and accuracy of the CP decomposition of a grammar's rule tensor.

    python benchmarks/decomposition.py sweep TREEBANK SIBLINGS RANK    an iteration here, in pyttb
    python benchmarks/decomposition.py ranks TREEBANK SIBLINGS RANK,RANK... [METHOD [ITERATIONS]]

TREEBANK is a folder with train.mrg; the tensor holds the probabilities of the binary rules of its
PCFG, whose intermediate symbols include SIBLINGS siblings, 0 or 1.  ``sweep`` runs both programs
for the same iterations with the same initialisation: pyttb as it is, and with the paper's rule for
zeros, which must give our objective.  ``ranks`` prints a row for each of three initialisations.
CPU seconds of one thread.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree._core.random import generator
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.kruskal import rule_tensor
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training_options import TreebankOptions
from eigentree.linalg.cp import CPOptions, Method, cp_apr, decompose, random_start
from eigentree.linalg.multilinear import SparseTensor
from eigentree.treebank.binarise import BinariseOptions
from eigentree.treebank.reader import read_treebank

ITERATIONS = 30
STARTS = 3


def read_tensor(folder: Path, siblings: int) -> SparseTensor:
    """The rules of a treebank's PCFG."""
    trees = read_treebank(folder / "train.mrg").trees
    options = TreebankOptions(binarise=BinariseOptions(horizontal=siblings))
    tensor = rule_tensor(one_state(count_pcfg(prepare(trees, options).examples)))
    slices = [len(np.unique(column)) for column in tensor.subscripts.T]
    print(
        f"{tensor.shape[0]} symbols, {len(tensor.values)} rules, {slices} slices that are not empty"
    )
    return tensor


def sweep(folder: Path, siblings: int, rank: int) -> None:
    import pyttb

    tensor = read_tensor(folder, siblings)
    start = random_start(tensor.shape, rank, generator(0, 0))
    options = CPOptions(rank, iterations=ITERATIONS, tolerance=0.0)
    cp_apr(tensor, start, CPOptions(rank, iterations=1))  # compiles
    began = time.process_time()
    objective = cp_apr(tensor, start, options).objective[-1]
    here = (time.process_time() - began) / ITERATIONS
    print(f"rank {rank}, {ITERATIONS} iterations; here objective {objective:.6f}")
    values = tensor.values[:, None].copy()
    theirs = pyttb.sptensor(tensor.subscripts.astype(np.int64), values, tensor.shape)
    for name in ("as it is", "with the paper's rule"):
        if name != "as it is":
            follow_the_paper()
        init = pyttb.ktensor([factor.copy() for factor in start.factors])
        began = time.process_time()
        _, _, found = pyttb.cp_apr(
            theirs, rank, init=init, maxiters=ITERATIONS, stoptol=0.0, printitn=0
        )
        there = (time.process_time() - began) / ITERATIONS
        print(
            f"pyttb {name}: objective {-found['obj']:.6f}, from which ours differs by "
            f"{objective / -found['obj'] - 1:.1e}; {1e3 * there:.1f} CPU ms an iteration, "
            f"{there / here:.0f} times our {1e3 * here:.1f}"
        )


def follow_the_paper() -> None:
    """Make pyttb adjust zeros with a ratio above 1, as in the paper, instead of above 0."""
    module = sys.modules["pyttb.cp_apr"]
    own, paper = "V = (Phi[n] > 0) &", "V = (Phi[n] > 1) &"
    source = inspect.getsource(module.tt_cp_apr_mu)
    if source.count(own) != 1:
        sys.exit("this version of pyttb treats zeros in another way")
    exec(source.replace(own, paper), vars(module))


def ranks(folder: Path, siblings: int, wanted: list[int], method: Method, iterations: int) -> None:
    tensor = read_tensor(folder, siblings)
    least = float(np.sum(tensor.values - tensor.values * np.log(tensor.values)))
    print(f"{method}, at most {iterations} iterations; KL objective at the tensor {least:.1f}")
    print("| rank | relative error | KL above the least | zeros in factors | stopped | CPU s |")
    print("| --- | --- | --- | --- | --- | --- |")
    decompose(tensor, CPOptions(1, method, iterations=1))  # compiles
    for rank in wanted:
        for seed in range(STARTS):
            options = CPOptions(rank, method, iterations=iterations, seed=seed)
            began = time.process_time()
            found = decompose(tensor, options)
            seconds = time.process_time() - began
            kruskal = found.kruskal
            error = kruskal.error(tensor) / tensor.norm
            above = f"{kruskal.divergence(tensor) - least:.2f}" if method == "apr" else ""
            zeros = np.mean([np.mean(factor == 0) for factor in kruskal.factors])
            stopped = f"{found.stopped} ({len(found.objective)})"
            row = f"{rank} | {error:.4f} | {above} | {zeros:.3f} | {stopped} | {seconds:.2f}"
            print(f"| {row} |", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sweep", folder, siblings, rank]:
            sweep(Path(folder), int(siblings), int(rank))
        case ["ranks", folder, siblings, some, *more] if len(more) <= 2:
            numbers = [int(number) for number in some.split(",")]
            method = more[0] if more else "apr"
            iterations = int(more[1]) if len(more) == 2 else ITERATIONS
            ranks(Path(folder), int(siblings), numbers, method, iterations)
        case _:
            sys.exit(__doc__)
