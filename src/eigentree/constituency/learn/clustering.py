"""Latent states as clusters of nodes: nodes with similar projections share a state.

The inside and outside projections of a node (`eigentree.constituency.learn.spectral`) represent the
posterior of its state, up to a linear map.  Nodes of a symbol with nearby projections are likely to
have the same state, so k-means on the concatenated projections finds states with which the rules
can be counted (Narayan and Cohen 2015, figure 2):

1. decompose each symbol's cross-moment, of a given rank, and project all trees,
   y = U' phi(t) and z = V' psi(o), x = [y z];
2. divide each coordinate of x by its standard deviation, and cluster the x of each symbol;
3. use each node's cluster as its state, and count
   (`eigentree.constituency.learn.state_frequencies`).

Rank and number of states are independent: few directions may separate many clusters.  Two
changes to the paper's algorithm help small treebanks.  Each coordinate is damped, as in the
spectral estimator, by sqrt(s^2 / (s^2 + r^2)), so that many noisy directions do not outweigh the
few others; and counts are smoothed.

Alternatively, clusters are Gaussians with diagonal covariances.  A node then has posterior
probabilities over all states; the smallest are dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.random import generator
from eigentree.constituency.grammar.lpcfg import LPCFG, MAX_COUNTED_STATES
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.features import FeatureOptions
from eigentree.constituency.learn.noise import DRAWS, NO_NOISE, Noise, disturb
from eigentree.constituency.learn.spectral import Projections, SpectralOptions, project
from eigentree.constituency.learn.state_counts import capped_states, check_states
from eigentree.constituency.learn.state_frequencies import NodeStates, count_grammar
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError, check_range
from eigentree.linalg.threads import one_thread
from eigentree.types import Floats, Ints, Progress

# For symbols with more nodes, centres are fitted to a random sample of this size; with many
# restarts of k-means, to a smaller one.
FITTED = 20_000
FITTED_OFTEN = 4_000
# Centroid updates; k-means has almost always converged by then.
ITERATIONS = 100
# Points equal to this many decimals are merged; squared distances are hardly more precise.
DECIMALS = 6
# A coordinate that varies by no more than this fraction of its size is constant up to rounding.
CONSTANT = 1e-9
# Smaller posterior probabilities are dropped.
MIN_POSTERIOR = 0.05
# Iterations of EM for a Gaussian mixture, and the constant added to each variance (coordinates
# have variance 1 before damping).
MIXTURE_ITERATIONS = 30
ADDED_VARIANCE = 1e-3
STAGE = "clusters"


@dataclass(frozen=True)
class ClusteringOptions:
    """Settings of the clustering estimator.

    Attributes
    ----------
    states
        Maximum latent states of a symbol.  A symbol seen c times has at most sqrt(c).
    states_of
        Maximum states of single symbols by printed name; these replace `states`.
    rank
        Number of directions of each symbol's cross-moment, k in the paper.
    cut
        Directions with a singular value below this fraction of the symbol's largest are dropped.
    shrinkage
        r, which damps coordinates of small singular values; 0 for the paper's algorithm.
    restarts
        Number of runs of k-means; the clusters with the lowest objective are used.
    assignment
        ``hard`` for k-means, ``soft`` for posteriors of a Gaussian mixture.
    smoothing
        C of the back-off of rules; 0 for relative frequencies, as in the paper.
    word_smoothing
        Pseudo-count that smooths a word's states towards its symbol's; 0 for none.
    features
        Templates and scaling.
    """

    states: int = 24
    states_of: Mapping[str, int] = field(default_factory=dict, hash=False)
    rank: int = 8
    cut: float = 1e-3
    shrinkage: float = 1.25
    restarts: int = 10
    assignment: Literal["hard", "soft"] = "hard"
    smoothing: float = 5.0
    word_smoothing: float = 10.0
    features: FeatureOptions = field(default_factory=FeatureOptions)

    def __post_init__(self) -> None:
        check_states(self.states, self.states_of)
        max_states = max(self.states, *self.states_of.values(), 0)
        if max_states > MAX_COUNTED_STATES:
            raise SettingsError(
                f"there are up to {max_states} states; clustering supports at most "
                f"{MAX_COUNTED_STATES}"
            )
        check_range(1, rank=self.rank, restarts=self.restarts)
        check_range(0, 1, cut=self.cut)
        check_range(
            0,
            shrinkage=self.shrinkage,
            smoothing=self.smoothing,
            word_smoothing=self.word_smoothing,
        )
        if self.assignment not in ("hard", "soft"):
            raise SettingsError(f"assignment is {self.assignment!r}; it must be hard or soft")

    @property
    def projecting(self) -> SpectralOptions:
        """The options of `eigentree.constituency.learn.spectral.project`."""
        return SpectralOptions(states=self.rank, cut=self.cut, features=self.features)


class ClusteringModel(NamedTuple):
    """A learned grammar, with its node states and projections."""

    grammar: LPCFG
    states: NodeStates
    projections: Projections


def learn_clustering(
    examples: Examples,
    options: ClusteringOptions = ClusteringOptions(),
    *,
    noise: Noise = NO_NOISE,
    projections: Projections | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ClusteringModel:
    """Learn an L-PCFG of probabilities by clustering the nodes of a treebank.

    Parameters
    ----------
    examples
        The treebank.
    options
        States, rank, smoothing.
    noise
        Noise on the features (dropout) or on the projections x = [y z] (Gaussian).
    projections
        Projections of the nodes, from ``project(examples, options.projecting)`` without noise, if
        many models share them; with dropout they are recomputed.
    seed
        Seed of all random numbers; one seed gives one model.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Returns
    -------
    ClusteringModel
        Its grammar is stored as counts, at most one triple per use of a rule.

    Cost
    ----
    Projections O(nodes k); clusters O(nodes K k), plus as much per iteration of k-means with at
    most `FITTED_OFTEN` nodes of a symbol; counts O(nodes log nodes).

    References
    ----------
    narayan-2015, sections 3 and 4.
    """
    if projections is None or noise.on_features:
        projections = project(
            examples, options.projecting, noise=noise, seed=seed, progress=progress
        )
    n_states = capped_states(examples, options)
    if options.assignment == "soft":
        states = _posteriors(examples, projections, n_states, options, noise, seed, progress)
    else:
        hard = cluster_states(
            examples,
            projections,
            n_states,
            shrinkage=options.shrinkage,
            restarts=options.restarts,
            noise=noise,
            seed=seed,
            progress=progress,
        )
        states = NodeStates.hard(examples, hard)
    grammar = count_grammar(
        examples,
        count_pcfg(examples),
        states,
        smoothing=options.smoothing,
        word_smoothing=options.word_smoothing,
    )
    return ClusteringModel(grammar, states, projections)


def cluster_states(
    examples: Examples,
    projections: Projections,
    n_states: Ints,
    *,
    shrinkage: float = 1.25,
    restarts: int = 1,
    noise: Noise = NO_NOISE,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ints:
    """Assign a state to each node by k-means on its projections.

    Parameters
    ----------
    examples
        The treebank.
    projections
        Projections of the nodes, not shrunk.
    n_states : int32, axes (N)
        Number of clusters of each symbol; if a symbol has fewer distinct nodes, some are empty.
    shrinkage
        r, which damps directions of small singular values.
    restarts
        Number of runs of k-means; the clusters with the lowest objective are used.
    noise
        Noise on the projections; dropout is ignored here.
    seed
        Seed of samples, initial centres and noise.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Returns
    -------
    int32, axes (nodes)
        From 0 to below the symbol's number of states.

    Cost
    ----
    O(nodes K D) for the assignment, with D coordinates, and as much per iteration of k-means.
    """
    from sklearn.cluster import KMeans

    states = np.zeros(len(examples), dtype=np.int32)
    most_fitted = FITTED if restarts == 1 else FITTED_OFTEN
    # After importing scikit-learn: its threads spend more time waiting than they save.
    with one_thread():
        for symbol, nodes, points in _points(examples, projections, shrinkage, noise, seed):
            if progress:
                progress(STAGE, symbol / len(n_states))
            k = int(n_states[symbol])
            if k == 1:
                continue
            rng = generator(seed, symbol)
            fitted = _sample(points, most_fitted, rng)
            k = min(k, len(np.unique(fitted.round(DECIMALS), axis=0)))
            means = KMeans(
                k,
                n_init=restarts,
                max_iter=ITERATIONS,
                random_state=int(rng.integers(2**31)),
            )
            states[nodes] = means.fit(fitted).predict(points)
    return states


def _posteriors(
    examples: Examples,
    projections: Projections,
    n_states: Ints,
    options: ClusteringOptions,
    noise: Noise,
    seed: int,
    progress: Progress | None,
) -> NodeStates:
    """States of each node from a Gaussian mixture, initialised by k-means clusters."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    nodes_with: list[NDArray[np.intp]] = []
    states: list[Ints] = []
    parts: list[Floats] = []
    with one_thread():
        for symbol, nodes, points in _points(examples, projections, options.shrinkage, noise, seed):
            if progress:
                progress(STAGE, symbol / len(n_states))
            k = int(n_states[symbol])
            posterior = np.ones((len(nodes), 1))
            if k > 1:
                rng = generator(seed, symbol)
                fitted = _sample(points, FITTED_OFTEN, rng)
                k = min(k, len(np.unique(fitted.round(DECIMALS), axis=0)))
                mixture = GaussianMixture(
                    k,
                    covariance_type="diag",
                    reg_covar=ADDED_VARIANCE,
                    max_iter=MIXTURE_ITERATIONS,
                    n_init=options.restarts,
                    random_state=int(rng.integers(2**31)),
                )
                with warnings.catch_warnings():
                    # Few iterations are intended; the fit has almost always converged.
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    mixture.fit(fitted)
                posterior = mixture.predict_proba(points)
            at, state, part = sparse_posterior(posterior)
            nodes_with.append(nodes[at])
            states.append(state)
            parts.append(part)
    node = np.concatenate(nodes_with)
    order = np.argsort(node, kind="stable")
    start = np.searchsorted(node[order], np.arange(len(examples) + 1)).astype(np.int64)
    return NodeStates.of(
        examples, start, np.concatenate(states)[order], np.concatenate(parts)[order]
    )


def sparse_posterior(
    posterior: Floats, min_probability: float = MIN_POSTERIOR
) -> tuple[NDArray[np.intp], Ints, Floats]:
    """The states of nodes whose posterior is large enough to count.

    Parameters
    ----------
    posterior : float64, axes (n, K)
        Rows that sum to 1.
    min_probability
        Smaller probabilities are dropped, except the largest of each row; the others are
        renormalised.

    Returns
    -------
    rows, states, parts
        Row, state and probability of each remaining entry, row by row.
    """
    largest = posterior.max(axis=1, keepdims=True)
    sparse = np.where(posterior >= np.minimum(min_probability, largest), posterior, 0.0)
    sparse /= sparse.sum(axis=1, keepdims=True)
    rows, states = np.nonzero(sparse)
    return rows, states.astype(np.int32), sparse[rows, states]


def _points(
    examples: Examples, projections: Projections, shrinkage: float, noise: Noise, seed: int
) -> Iterator[tuple[int, NDArray[np.intp], Floats]]:
    """For each symbol its nodes and the points to cluster: x, normalised and damped.

    Coordinates are divided by their standard deviation, so the division of Z by the singular
    values has no effect.
    """
    order = np.argsort(examples.symbol, kind="stable")
    nodes_of = np.split(order, np.cumsum(np.bincount(examples.symbol))[:-1])
    for symbol, nodes in enumerate(nodes_of):
        values = projections.singular_values[symbol]
        damping = np.sqrt(values**2 / (values**2 + shrinkage**2)) if shrinkage else 1.0
        rows = projections.row[nodes]
        sides = [projections.inside[symbol][rows], projections.outside[symbol][rows]]
        if noise.on_projections:
            rng = generator(seed, symbol, DRAWS)
            sides = [disturb(side, noise, rng) for side in sides]
        yield (
            symbol,
            nodes,
            np.concatenate([_standardised(side) * damping for side in sides], axis=1),
        )


def _sample(points: Floats, max_points: int, rng: np.random.Generator) -> Floats:
    """All points, or a random sample of at most ``max_points``, in their order."""
    if len(points) <= max_points:
        return points
    return points[np.sort(rng.choice(len(points), max_points, replace=False))]


def _standardised(columns: Floats) -> Floats:
    """Columns scaled to variance 1; constant columns become zero."""
    spread = columns.std(axis=0)
    varies = spread > CONSTANT * np.abs(columns).max(axis=0)
    return columns * np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
