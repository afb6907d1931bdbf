"""Latent states as clusters of nodes: nodes with like projections share a state.

The inside and outside projections of a node (`eigentree.learn.spectral`) stand for the
posterior of its state, up to a linear map.  Nodes of a symbol whose projections lie close
together are likely to have the same state, so k-means on both, side by side, finds states by
which the rules can be counted (Narayan and Cohen 2015).  Each coordinate is divided by its
standard deviation and damped, as the spectral estimator damps it, by
sqrt(s^2 / (s^2 + r^2)), lest many noisy directions outvote the few that are not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eigentree._random import generator
from eigentree.learn.examples import Examples
from eigentree.learn.spectral import Projections
from eigentree.linalg.threads import one_thread

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

# Centres of a symbol with more nodes are found on this many, drawn at random.
FITTED = 20_000
# Centroid updates; k-means has nearly always come to rest by then.
ITERATIONS = 100
# Points that agree to this many decimals are one; squared distances can't tell much less apart.
DECIMALS = 6
# A coordinate that varies by no more than this part of its size is constant but for rounding.
CONSTANT = 1e-9


def cluster_states(
    examples: Examples,
    projections: Projections,
    n_states: Ints,
    *,
    shrinkage: float = 1.25,
    seed: int = 0,
) -> Ints:
    """A state for each node, by k-means on its projections.

    Parameters
    ----------
    examples
        The treebank.
    projections
        Of its nodes, not shrunk.
    n_states : int32, axes (N)
        Number of clusters of each symbol; where a symbol has fewer distinct nodes, some stay
        empty.
    shrinkage
        r, by which directions of small singular values are damped.
    seed
        Of samples and first centres.

    Returns
    -------
    int32, axes (nodes)
        From 0 up to the symbol's number of states.

    Cost
    ----
    O(nodes K D) for assigning, with D coordinates, and as much a round of k-means.
    """
    from sklearn.cluster import KMeans

    states = np.zeros(len(examples), dtype=np.int32)
    order = np.argsort(examples.symbol, kind="stable")
    nodes_of = np.split(order, np.cumsum(np.bincount(examples.symbol))[:-1])
    # Not before scikit-learn is there, whose threads spend more time in waiting than they save.
    with one_thread():
        for symbol, nodes in enumerate(nodes_of):
            k = int(n_states[symbol])
            if k == 1:
                continue
            values = projections.singular_values[symbol]
            damping = np.sqrt(values**2 / (values**2 + shrinkage**2)) if shrinkage else 1.0
            rows = projections.row[nodes]
            points = np.concatenate(
                [
                    _standardised(side[symbol][rows]) * damping
                    for side in (projections.inside, projections.outside)
                ],
                axis=1,
            )
            rng = generator(seed, symbol)
            fitted = points
            if len(points) > FITTED:
                fitted = points[np.sort(rng.choice(len(points), FITTED, replace=False))]
            k = min(k, len(np.unique(fitted.round(DECIMALS), axis=0)))
            means = KMeans(k, n_init=1, max_iter=ITERATIONS, random_state=int(rng.integers(2**31)))
            states[nodes] = means.fit(fitted).predict(points)
    return states


def _standardised(columns: Floats) -> Floats:
    """Columns of variance 1; those that are constant become zero."""
    spread = columns.std(axis=0)
    varies = spread > CONSTANT * np.abs(columns).max(axis=0)
    return columns * np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
