"""Spectral learning of L-PCFGs (Cohen et al. 2013): moments and singular vectors, no iteration.

A node splits a tree into an inside tree t (the subtree) and an outside tree o (the
rest).  Given the latent state of the node the two are independent, so the cross-moment of
their features, for all nodes with symbol a,

    Omega_a = E[phi(t) psi(o)'],

has rank at most the number of states.  Its singular vectors U, V and values S project
trees to that many numbers,

    Y(t) = U' phi(t),        Z(o) = S (S^2 + r^2)^-1 V' psi(o),

which represent the posterior of the state, up to an invertible change of basis that cancels
in every marginal.  One pass over the treebank then gives the parameters (Eq. 2 and 3):

    C(a -> b c) = count(a -> b c) / count(a) * E[Z(o) x Y(t2) x Y(t3)]
    c(a -> w)   = count(a -> w) / count(a) * E[Z(o)]
    c(root = a) = count(root = a) / trees * E[Y(t)]

The paper has r = 0, so Z(o) = S^-1 V' psi(o).  But the directions of small singular values are
mostly noise, which their inverses magnify; a shrinkage r > 0 damps direction k by
s_k^2 / (s_k^2 + r^2) wherever a message passes a node, as in ridge regression.  It has a larger
effect than any other constant here: more states help instead of hurting, fewer values are
negative, and less back-off is needed.

Third moments of rare rules are noisy, so they are backed off to products of lower moments
(section 3.2, `eigentree.constituency.grammar.lpcfg`), with lambda = sqrt(n) / (C + sqrt(n)) for a
rule seen n times; vectors of rare words are smoothed towards the mean over all words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from eigentree._core.random import generator
from eigentree.constituency.grammar.arrays import LatentParameters
from eigentree.constituency.grammar.lpcfg import LPCFG, smoothed_tensor
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.features import FeatureOptions, features
from eigentree.constituency.learn.noise import DRAWS, NO_NOISE, Noise, disturb, drop_out
from eigentree.constituency.learn.state_counts import check_states, max_states
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError, check_range
from eigentree.linalg.svd import cross_moment_svd
from eigentree.linalg.threads import one_thread
from eigentree.types import Floats, Progress

# A rule is stored as samples if their work is at most this fraction of its tensor's.
SAMPLES_COST = 3.0
# If single symbols have their own numbers of states, all are decomposed with this many.
DECOMPOSED = 48


@dataclass(frozen=True)
class SpectralOptions:
    """Settings of the spectral estimator.

    Attributes
    ----------
    states
        Maximum latent states of any symbol; a symbol has fewer if the rank of its
        cross-moment is lower.
    states_of
        Maximum latent states of single symbols by printed name; these replace `states`.
    cut
        Directions with a singular value below this fraction of the symbol's largest are dropped.
    shrinkage
        r, in the units of singular values; 0 for the paper's estimator.
    smoothing
        C of the back-off of rules; 0 switches it off.
    word_smoothing
        nu: weight of a word's own vector against the mean over all words; 1 for no smoothing.
    word_smoothing_below
        Words seen at least this often with a symbol use their own vector only.
    features
        Templates and scaling.
    """

    states: int = 24
    states_of: Mapping[str, int] = field(default_factory=dict, hash=False)
    cut: float = 1e-3
    shrinkage: float = 1.25
    smoothing: float = 5.0
    word_smoothing: float = 0.9
    word_smoothing_below: int = 1000
    features: FeatureOptions = field(default_factory=FeatureOptions)

    def __post_init__(self) -> None:
        check_states(self.states, self.states_of)
        check_range(0, 1, cut=self.cut)
        check_range(0, shrinkage=self.shrinkage, smoothing=self.smoothing)
        if not 0 <= self.word_smoothing <= 1:
            raise SettingsError(
                f"word_smoothing is {self.word_smoothing}; it must be between 0 and 1"
            )


class Projections(NamedTuple):
    """The decompositions of all cross-moments.

    Attributes
    ----------
    inside, outside : list over N of float64, axes (n_a, K_a)
        Y and Z (for r = 0) of the nodes of each symbol, in the order of the examples.
    row : int64, axes (nodes)
        The row of each node in the arrays of its symbol.
    singular_values : list over N of float64, axes (K_a)
    dropped : list over N of float64, axes (L_a)
        The next singular values, of the directions that were dropped.
    """

    inside: list[Floats]
    outside: list[Floats]
    row: NDArray[np.int64]
    singular_values: list[Floats]
    dropped: list[Floats]

    @property
    def n_states(self) -> NDArray[np.int32]:
        """Axes (N): number of directions of each symbol."""
        return np.array([len(values) for values in self.singular_values], dtype=np.int32)

    @property
    def spectra(self) -> list[Floats]:
        """The singular values of each symbol: of kept directions, then of dropped ones."""
        pairs = zip(self.singular_values, self.dropped, strict=True)
        return [np.concatenate(pair) for pair in pairs]

    def report(self) -> dict[str, Any]:
        """The singular values, as recorded in model files."""
        return {"singular_values": [values.tolist() for values in self.spectra]}

    def y(self, examples: Examples, nodes: NDArray[np.int64] | NDArray[np.int32]) -> Floats:
        """Axes (nodes, K): inside projections of nodes with the same symbol."""
        return self.inside[int(examples.symbol[nodes[0]])][self.row[nodes]]

    def z(self, examples: Examples, nodes: NDArray[np.int64] | NDArray[np.int32]) -> Floats:
        """Axes (nodes, K): outside projections of nodes with the same symbol."""
        return self.outside[int(examples.symbol[nodes[0]])][self.row[nodes]]

    def narrowed(self, n_states: NDArray[np.int32]) -> Projections:
        """The same, restricted to the first directions of each symbol.

        Parameters
        ----------
        n_states : int32, axes (N)
            At most the number of directions of each.
        """
        narrowed = [
            [rows[..., :n] for rows, n in zip(side, n_states, strict=True)]
            for side in (self.inside, self.outside, self.singular_values)
        ]
        dropped = [values[n:] for values, n in zip(self.spectra, n_states, strict=True)]
        inside, outside, values = narrowed
        return Projections(inside, outside, self.row, values, dropped)

    def shrunk(self, shrinkage: float) -> Projections:
        """The same, with each direction of Z damped by s^2 / (s^2 + r^2)."""
        if shrinkage == 0.0:
            return self
        damped = [
            rows * (values**2 / (values**2 + shrinkage**2))
            for rows, values in zip(self.outside, self.singular_values, strict=True)
        ]
        return self._replace(outside=damped)


class SpectralModel(NamedTuple):
    """A learned grammar, with its projections."""

    grammar: LPCFG
    projections: Projections


def learn_spectral(
    examples: Examples,
    options: SpectralOptions = SpectralOptions(),
    *,
    noise: Noise = NO_NOISE,
    projections: Projections | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> SpectralModel:
    """Learn an L-PCFG from a treebank by singular value decomposition.

    Parameters
    ----------
    examples
        The treebank.
    options
        States, smoothing, features.
    noise
        Noise on the features (dropout) or on the projections (Gaussian).
    projections
        Projections of the nodes, from `project` without noise, if many models share them; with
        dropout they are recomputed.
    seed
        Seed of the random vectors in the decomposition and of noise; one seed gives one model.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Cost
    ----
    Linear in the number of nodes: features and SVD O(nodes K), rules O(nodes K^3).

    References
    ----------
    cohen-2013; cohen-2012; narayan-2015, section 4 for noise.
    """
    if projections is None or noise.on_features:
        projections = project(examples, options, noise=noise, seed=seed, progress=progress)
    projections = disturbed(examples, projections, options, noise, seed=seed)
    grammar = estimate(examples, projections, options, progress=progress)
    return SpectralModel(grammar, projections)


@one_thread()
def project(
    examples: Examples,
    options: SpectralOptions,
    *,
    noise: Noise = NO_NOISE,
    seed: int = 0,
    progress: Progress | None = None,
) -> Projections:
    """Step 1: decompose each symbol's cross-moment and project all trees.

    With dropout, the cross-moments are those of the remaining features; a symbol whose moment
    would vanish keeps its features.  Other noise is added later (`disturbed`).

    If spectra are flat, the directions found by a randomised decomposition depend on their number.
    With `SpectralOptions.states_of`, all symbols are therefore decomposed with the same number, at
    least `DECOMPOSED`, and truncated.  Numbers of states found by a search thus give the same
    model when they are set explicitly.
    """
    n_symbols = len(examples.symbols)
    inside: list[Floats] = []
    outside: list[Floats] = []
    values: list[Floats] = []
    dropped: list[Floats] = []
    max_rank = max_states(examples.symbols.symbols, options.states, options.states_of)
    rank = (
        np.full_like(max_rank, max(DECOMPOSED, max_rank.max())) if options.states_of else max_rank
    )
    row = np.empty(len(examples), dtype=np.int64)
    done = 0
    if progress:
        progress("projections", 0.0)
    for matrices in features(examples, options.features):
        symbol, nodes = matrices.symbol, matrices.rows
        left, right = matrices.inside, matrices.outside
        if noise.on_features:
            rng = generator(seed, symbol, DRAWS)
            noisy = drop_out(left, noise.sigma, rng), drop_out(right, noise.sigma, rng)
            if np.any(_has_entries(noisy[0]) & _has_entries(noisy[1])):
                left, right = noisy
        svd = cross_moment_svd(
            left,
            right,
            examples.weight[nodes],
            int(rank[symbol]),
            generator(seed, symbol),
            relative_cut=options.cut,
        )
        inside.append(np.asarray(left @ svd.left))
        outside.append(np.asarray(right @ (svd.right / svd.values)))
        values.append(svd.values)
        dropped.append(svd.dropped)
        row[nodes] = np.arange(len(nodes))
        done += len(nodes)
        if progress:
            progress("projections", done / len(examples))
    assert len(inside) == n_symbols
    projections = Projections(inside, outside, row, values, dropped)
    return projections.narrowed(np.minimum(max_rank, projections.n_states))


def _has_entries(matrix: sparse.csr_array) -> NDArray[np.bool_]:
    """Axes (n): whether a row of nonnegative features has a nonzero entry.

    A node with such rows on both sides contributes a cross-moment entry that cannot cancel.
    """
    return np.asarray(matrix.sum(axis=1)) > 0


@one_thread()
def disturbed(
    examples: Examples,
    projections: Projections,
    options: SpectralOptions,
    noise: Noise,
    *,
    seed: int = 0,
) -> Projections:
    """Projections with Gaussian noise, in the directions of their own cross-moment.

    Noise on U' phi and V' psi mixes the decomposition's directions, so the cross-moment of the
    noisy projections, at most K by K, is decomposed again.

    Parameters
    ----------
    examples
        The treebank.
    projections
        Projections of the nodes, without noise and not shrunk; any number of models can share them.
    options
        Provides the cut of singular values.
    noise
        For schemes other than additive and multiplicative, the projections are returned unchanged.
    seed
        Seed of the noise; one seed gives one result.

    Returns
    -------
    Projections
        Symbols whose directions become indistinct may have fewer.

    Cost
    ----
    O(nodes K^2).

    References
    ----------
    narayan-2015, section 4.
    """
    if not noise.on_projections:
        return projections
    inside: list[Floats] = []
    outside: list[Floats] = []
    values: list[Floats] = []
    for symbol, weight in enumerate(_weights(examples)):
        rng = generator(seed, symbol, DRAWS)
        y = disturb(projections.inside[symbol], noise, rng)
        z = projections.outside[symbol] * projections.singular_values[symbol]
        z = disturb(z, noise, rng)
        moment = (y.T * (weight / weight.sum())) @ z
        u, singular, vt = linalg.svd(moment)
        n_kept = max(1, int(np.sum(singular > options.cut * singular[0])))
        inside.append(y @ u[:, :n_kept])
        outside.append(z @ (vt[:n_kept].T / singular[:n_kept]))
        values.append(singular[:n_kept])
    return Projections(inside, outside, projections.row, values, projections.dropped)


def _weights(examples: Examples) -> list[Floats]:
    """The weights of the nodes of each symbol, in the order of the examples."""
    order = np.argsort(examples.symbol, kind="stable")
    return np.split(examples.weight[order], np.cumsum(np.bincount(examples.symbol))[:-1])


@one_thread()
def estimate(
    examples: Examples,
    projections: Projections,
    options: SpectralOptions,
    *,
    progress: Progress | None = None,
) -> LPCFG:
    """Step 2: shrinkage, and one pass over the treebank for the parameters."""
    projections = projections.shrunk(options.shrinkage)
    backbone = count_pcfg(examples)
    sizes = [values.shape[1] for values in projections.inside]
    state_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    weights = _weights(examples)
    means = [
        [np.average(rows, axis=0, weights=w) for rows, w in zip(side, weights, strict=True)]
        for side in (projections.inside, projections.outside)
    ]
    rules = _estimate_rules(examples, backbone, projections, means, options, progress)
    if progress:
        progress("words", 0.0)
    lexical_start, lexical = _estimate_words(examples, backbone, projections, means[1], options)
    root = [np.zeros(size) for size in sizes]
    at_root = np.flatnonzero(examples.parent < 0)
    total = examples.weight[at_root].sum()
    for symbol in np.unique(examples.symbol[at_root]):
        nodes = at_root[examples.symbol[at_root] == symbol]
        root[symbol] = examples.weight[nodes] @ projections.y(examples, nodes) / total
    outside_mean = np.concatenate(means[1])
    parameters = LatentParameters(
        state_start,
        np.ascontiguousarray(examples.rules),
        *rules,
        outside_mean,
        np.concatenate(means[0]),
        lexical_start,
        lexical,
        outside_mean,
        np.concatenate(root),
    )
    return LPCFG(backbone, parameters, signed=True)


class _RuleArrays(NamedTuple):
    dense_start: NDArray[np.int64]
    dense: Floats
    n_samples: NDArray[np.int32]
    sample_start: NDArray[np.int64]
    samples: Floats
    ratio: Floats
    smoothing: Floats


def _estimate_rules(
    examples: Examples,
    backbone: PCFG,
    projections: Projections,
    means: list[list[Floats]],
    options: SpectralOptions,
    progress: Progress | None,
) -> _RuleArrays:
    n_rules = backbone.n_rules
    nodes = np.flatnonzero(examples.rule >= 0)
    nodes = nodes[np.argsort(examples.rule[nodes], kind="stable")]
    first = np.searchsorted(examples.rule[nodes], np.arange(n_rules + 1))
    dense_start = np.full(n_rules, -1, dtype=np.int64)
    n_samples = np.zeros(n_rules, dtype=np.int32)
    sample_start = np.zeros((n_rules, 3), dtype=np.int64)
    smoothing = np.empty(n_rules)
    dense: list[Floats] = []
    samples: list[Floats] = []
    dense_size = samples_size = 0
    equal_weights = bool(np.all(examples.weight == examples.weight[0]))
    for rule in range(n_rules):
        parents = nodes[first[rule] : first[rule + 1]]
        z = projections.z(examples, parents)
        y = projections.y(examples, examples.left[parents])
        w = projections.y(examples, examples.right[parents])
        n = len(parents)
        root_n = np.sqrt(n)
        smoothing[rule] = root_n / (options.smoothing + root_n)
        states = [z.shape[1], y.shape[1], w.shape[1]]
        if equal_weights and SAMPLES_COST * n * sum(states) <= np.prod(states):
            n_samples[rule] = n
            for mode, matrix in enumerate((z, y, w)):
                sample_start[rule, mode] = samples_size
                samples.append(matrix.ravel())
                samples_size += matrix.size
        else:
            a, b, c = examples.rules[rule]
            tensor = backbone.probability[rule] * smoothed_tensor(
                z, y, w, examples.weight[parents],
                (means[1][a], means[0][b], means[0][c]), float(smoothing[rule]),
            )  # fmt: skip
            dense_start[rule] = dense_size
            dense.append(tensor.ravel())
            dense_size += tensor.size
        if progress:
            progress("rules", (first[rule + 1]) / max(1, len(nodes)))
    return _RuleArrays(
        dense_start,
        np.concatenate([*dense, np.zeros(0)]),
        n_samples,
        sample_start,
        np.concatenate([*samples, np.zeros(0)]),
        backbone.probability.copy(),
        smoothing,
    )


def _estimate_words(
    examples: Examples,
    backbone: PCFG,
    projections: Projections,
    outside_mean: list[Floats],
    options: SpectralOptions,
) -> tuple[NDArray[np.int64], Floats]:
    words = backbone.words
    leaves = np.flatnonzero(examples.pair >= 0)
    leaves = leaves[np.argsort(examples.pair[leaves], kind="stable")]
    first = np.searchsorted(examples.pair[leaves], np.arange(len(words.word) + 1))
    vectors: list[Floats] = []
    for pair, symbol in enumerate(words.symbol):
        nodes = leaves[first[pair] : first[pair + 1]]
        weight = examples.weight[nodes]
        mean = weight @ projections.z(examples, nodes) / weight.sum()
        if words.count[pair] < options.word_smoothing_below:
            word_weight = options.word_smoothing
            mean = word_weight * mean + (1.0 - word_weight) * outside_mean[symbol]
        vectors.append(mean)
    start = np.concatenate([[0], np.cumsum([len(vector) for vector in vectors])])
    return start.astype(np.int64), np.concatenate(vectors)
