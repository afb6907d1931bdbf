"""Independent generators from one seed, the same for any number of processes."""

from __future__ import annotations

import numpy as np


def generator(seed: int, *path: int) -> np.random.Generator:
    """The generator for one piece of work.

    Parameters
    ----------
    seed
        The user's seed, at least 0.
    path
        Integers that identify the piece of work (a nonterminal, a model, a fold), so that its
        draws depend neither on the order of the work nor on the process that does it.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))
