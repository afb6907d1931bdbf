"""Accuracy and speed of forward-backward with a low-rank transition matrix.

    python benchmarks/hidden_markov.py TREEBANK

TREEBANK is a folder with train.mrg and dev.mrg.  The trigram model of the tags of train.mrg tags
the words of those sentences of dev.mrg that have a value, each word by its largest marginal.  Rows
of the transition matrix are weighted by the expected count of their state.  Columns: its relative
error in Frobenius norm; of the marginals of tags the mean over words of half the sum of absolute
errors, and the largest error; sentences without a value, whose tags count as wrong; correct tags;
multiplications with factors and CPU milliseconds of one thread for a word, forward and backward.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse

from eigentree.automata.forward_backward import forward_backward
from eigentree.automata.hidden_markov import HiddenMarkovModel, count_hidden_markov
from eigentree.linalg.low_rank import low_rank
from eigentree.treebank.lexicon import LexiconOptions
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree

LEXICON = LexiconOptions(rare_threshold=1, suffix_length=3, shapes=True, class_minimum=10)
RANKS = (5, 10, 20, 40, 80, 160, 320, 640)
# Decompositions without negative numbers take long at high ranks.
MOST_NON_NEGATIVE = 160
REPEATS = 2


def main(folder: Path) -> None:
    train = [(tree.words(), tree.tags()) for tree in read_treebank(folder / "train.mrg").trees]
    model = count_hidden_markov(train, lexicon=LEXICON)
    matrix, weight = model.transition, model.visits()
    values = np.linalg.svd(matrix, compute_uv=False)
    full = int(np.sum(values > 1e-12 * values[0]))
    dev = read_treebank(folder / "dev.mrg").trees
    kept = [tree for tree in dev if marginals(model, [matrix], model.likelihood(tree.words()))[0]]
    print(
        f"{len(model.tags)} tags, {model.n_states} states, {np.count_nonzero(matrix)} transitions, "
        f"rank {full}; {len(kept)} of {len(dev)} sentences have a value"
    )
    names = "factors", "error of matrix", "of marginals", "largest", "lost", "right tags"
    print(f"| {' | '.join(names)} | products a word | CPU ms |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    exact = tell("exact", model, kept, [matrix])
    tell("exact, non-zeros", model, kept, [sparse.csr_array(matrix)], exact)
    # Singular values are found once, and cut.
    left, right = low_rank(matrix, full, weight=weight)
    for rank in (*(rank for rank in RANKS if rank < full), full):
        cut = [np.ascontiguousarray(left[:, :rank]), right[:rank]]
        tell(f"svd {rank}", model, kept, cut, exact)
    for method in ("apr", "hals"):
        for rank in (rank for rank in RANKS if rank <= MOST_NON_NEGATIVE):
            factors = low_rank(matrix, rank, method, weight=weight)
            tell(f"{method} {rank}", model, kept, list(factors), exact)


def marginals(
    model: HiddenMarkovModel, factors: Sequence, likelihood: np.ndarray
) -> tuple[bool, np.ndarray]:
    """Whether a sentence has a value, and the marginals of its tags, or zeros."""
    found = forward_backward(model.initial, factors, model.stop, likelihood)
    if found is None:
        return False, np.zeros((len(likelihood), len(model.tags)))
    return True, model.tag_marginals(found.marginal)


def tell(
    name: str,
    model: HiddenMarkovModel,
    trees: Sequence[Tree],
    factors: Sequence,
    exact: np.ndarray | None = None,
) -> np.ndarray:
    likelihoods = [model.likelihood(tree.words()) for tree in trees]
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        found = [marginals(model, factors, likelihood) for likelihood in likelihoods]
        seconds.append(time.process_time() - began)
    own = np.concatenate([each for _, each in found])
    lost = sum(not has_value for has_value, _ in found)
    product = factors[0] if len(factors) == 1 else factors[0] @ factors[1]
    error = np.linalg.norm(product - model.transition) / np.linalg.norm(model.transition)
    off = np.abs(own - (own if exact is None else exact))
    tags = [tag for tree in trees for tag in tree.tags()]
    best = [
        model.tags[at] if any_ else "" for at, any_ in zip(own.argmax(1), own.any(1), strict=True)
    ]
    right = np.mean([one == other for one, other in zip(best, tags, strict=True)])
    row = f"{name} | {error:.3f} | {off.sum(axis=1).mean() / 2:.4f} | {off.max():.3f} | {lost}"
    products = 2 * sum(factor.size for factor in factors)
    print(
        f"| {row} | {right:.2%} | {products:,} | {1e3 * min(seconds) / len(tags):.3f} |", flush=True
    )
    return own


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
