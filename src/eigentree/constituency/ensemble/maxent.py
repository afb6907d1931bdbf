"""A conditional log-linear (maximum entropy) model over the candidates of a sentence.

Candidate c of sentence s has sparse features x, a few dense features z (such as members' votes), a
value and a probability,

    v_c = w . x_c + u . z_c / scale,    p_c = exp(v_c) / sum of exp(v) over s,       (1)

and the candidate with the highest value is selected.  Training minimises a sum over sentences, with
one of three targets:

best
    Negative log-probability of the set of candidates with the best F1 of the sentence (Riezler et
    al. 2002; Charniak and Johnson 2005).  The gradient in v is p - q, where q is p restricted to
    this set and renormalised.
soft
    Cross-entropy -sum of t log p with fixed targets t proportional to exp(sharpness F1).  The
    gradient is p - t.
risk
    Expected loss, sum of p_c l_c, where the loss l is 1 - F1 or the number of wrong and missing
    brackets.  The gradient is p_c (l_c - expected loss).  Not convex.

The penalty is `regularisation` / 2 |w|^2 + `dense_regularisation` / 2 |u|^2.  Dense features are
few and informative, so their penalty is much weaker.  `scale` is the standard deviation of each
dense column around its mean in each sentence, so that one constant suits all columns.

Constants added to the values of all candidates of a sentence have no effect, so columns are not
centred.

References
----------
charniak-2005; riezler-2002; collins-2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import optimize, sparse

from eigentree._core.arguments import check_choice
from eigentree.errors import ShapeError, check_range
from eigentree.types import Floats, Longs

Target = Literal["best", "soft", "risk"]
Loss = Literal["f1", "brackets"]


class Quality(NamedTuple):
    """Brackets of candidates compared with gold trees.

    Attributes
    ----------
    matched : float64, axes (candidates)
        Brackets in common.
    total : float64, axes (candidates)
        Brackets of the candidate and the gold tree together.
    """

    matched: Floats
    total: Floats

    @property
    def f1(self) -> Floats:
        """Axes (candidates): F1, 0..1; 1 if neither tree has a bracket."""
        ones = np.ones(len(self.total))
        return np.divide(2.0 * self.matched, self.total, out=ones, where=self.total > 0)

    @property
    def errors(self) -> Floats:
        """Axes (candidates): number of wrong and missing brackets."""
        return self.total - 2.0 * self.matched


@dataclass(frozen=True)
class MaxEntOptions:
    """Options of training; the defaults had the best F1 on held-out trees.

    Attributes
    ----------
    target
        ``best``, ``soft`` or ``risk``.
    sharpness
        Sharpness of the target ``soft``; larger values are closer to ``best``.
    loss
        Loss of the target ``risk``: ``f1`` or ``brackets``.
    regularisation, dense_regularisation
        Penalties of the weights of sparse features and of dense columns.
    iterations
        Maximum number of iterations of the optimiser.
    tolerance
        The optimiser stops when the relative decrease of the objective is smaller.
    """

    target: Target = "soft"
    sharpness: float = 15.0
    loss: Loss = "f1"
    regularisation: float = 30.0
    dense_regularisation: float = 0.1
    iterations: int = 300
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        check_choice(Target, target=self.target)
        check_choice(Loss, loss=self.loss)
        check_range(
            0,
            sharpness=self.sharpness,
            regularisation=self.regularisation,
            dense_regularisation=self.dense_regularisation,
            tolerance=self.tolerance,
        )
        check_range(1, iterations=self.iterations)


class MaxEnt(NamedTuple):
    """A trained model.

    Attributes
    ----------
    weights : float64, axes (D)
    dense_weights : float64, axes (J)
    scale : float64, axes (J)
        Divisors of the dense columns.
    objective
        Final objective: the sum over sentences plus the penalties.
    n_iterations
        Number of iterations.
    converged
        False if training stopped at the maximum number of iterations.
    """

    weights: Floats
    dense_weights: Floats
    scale: Floats
    objective: float
    n_iterations: int
    converged: bool

    def values(self, features: sparse.csr_array, dense: Floats) -> Floats:
        """Axes (candidates): equation (1).

        Parameters
        ----------
        features : sparse, axes (candidates, D)
        dense : float64, axes (candidates, J)
        """
        return features @ self.weights + dense @ (self.dense_weights / self.scale)


def probabilities(values: Floats, offsets: Longs) -> Floats:
    """Axes (candidates): p of equation (1)."""
    return np.exp(_log_probabilities(values, offsets))


def fit(
    features: sparse.csr_array,
    dense: Floats,
    offsets: Longs,
    quality: Quality,
    options: MaxEntOptions = MaxEntOptions(),
) -> MaxEnt:
    """Train a model by L-BFGS, starting from weights of 0; deterministic.

    Parameters
    ----------
    features : sparse, axes (candidates, D)
        May have no columns.
    dense : float64, axes (candidates, J)
        May have no columns.
    offsets : int64, axes (sentences + 1)
        First row of each sentence; each has at least one candidate.

    Raises
    ------
    ShapeError
        When the axes are inconsistent or a sentence has no candidates.

    Cost
    ----
    Two products with the feature matrix per iteration: about 0.3 s for 150,000 candidates with
    300 features each.  Memory for the features in double precision.
    """
    objective = Objective(features, dense, offsets, quality, options)
    optimum = optimize.minimize(
        objective,
        np.zeros(objective.n_weights),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": options.iterations,
            "maxfun": 2 * options.iterations + 20,
            "ftol": options.tolerance,
            "gtol": 1e-9,
        },
    )
    n_features = features.shape[1]
    return MaxEnt(
        optimum.x[:n_features].copy(),
        optimum.x[n_features:].copy(),
        objective.scale,
        float(optimum.fun),
        int(optimum.nit),
        bool(optimum.success),
    )


class Objective:
    """The training objective and its gradient, as a function of all weights.

    The parameters are those of `fit`.

    Attributes
    ----------
    n_weights
        Number of sparse features and dense columns.
    scale : float64, axes (J)
    """

    def __init__(
        self,
        features: sparse.csr_array,
        dense: Floats,
        offsets: Longs,
        quality: Quality,
        options: MaxEntOptions,
    ) -> None:
        n = int(offsets[-1])
        sizes = {features.shape[0], len(dense), *map(len, quality)}
        if sizes != {n} or offsets[0] != 0 or np.any(np.diff(offsets) < 1):
            raise ShapeError(
                f"offsets must be for {n} candidates, at least one per sentence; the other arrays "
                f"have {', '.join(map(str, sorted(sizes)))} rows"
            )
        # Converted once: SciPy would convert single precision for each product.
        self._features = features.astype(np.float64)
        self._offsets = offsets
        self._options = options
        self.scale = within_sentences(dense, offsets)
        self._dense = dense / self.scale
        self.n_weights = features.shape[1] + dense.shape[1]
        self._penalty = np.full(self.n_weights, options.regularisation)
        self._penalty[features.shape[1] :] = options.dense_regularisation
        f1 = quality.f1
        self._is_best = f1 == self._spread(np.maximum.reduceat(f1, offsets[:-1]))
        self._target = probabilities(options.sharpness * f1, offsets)
        self._loss = 1.0 - f1 if options.loss == "f1" else quality.errors

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The objective and its gradient."""
        n_features = self._features.shape[1]
        values = self._features @ weights[:n_features] + self._dense @ weights[n_features:]
        loss, slope = self._of_values(values)
        gradient = np.concatenate((slope @ self._features, slope @ self._dense))
        loss += 0.5 * float(np.sum(self._penalty * weights**2))
        return loss, gradient + self._penalty * weights

    def _of_values(self, values: Floats) -> tuple[float, Floats]:
        """The sum over sentences, and its gradient with respect to the values of candidates."""
        log_p = _log_probabilities(values, self._offsets)
        p = np.exp(log_p)
        if self._options.target == "soft":
            return -float(self._target @ log_p), p - self._target
        if self._options.target == "risk":
            risk = np.add.reduceat(p * self._loss, self._offsets[:-1])
            return float(risk.sum()), p * (self._loss - self._spread(risk))
        # In logarithms, because the best candidates may have very small probabilities.
        among = np.where(self._is_best, log_p, -np.inf)
        total = _log_sums(among, self._offsets)
        return -float(total.sum()), p - np.exp(among - self._spread(total))

    def _spread(self, of_sentences: Floats) -> Floats:
        return np.repeat(of_sentences, np.diff(self._offsets))


def within_sentences(dense: Floats, offsets: Longs) -> Floats:
    """Axes (J): standard deviation of columns around their means in sentences; 1 if constant.

    Sentences with a single candidate are ignored.
    """
    sizes = np.diff(offsets)
    means = np.add.reduceat(dense, offsets[:-1]) / sizes[:, None]
    squares = (dense - np.repeat(means, sizes, axis=0)) ** 2
    deviation = np.sqrt(squares.sum(axis=0) / max(1, sizes[sizes > 1].sum()))
    # Deviations within rounding errors are treated as 0.
    smallest = 1e-12 * np.abs(dense).max(axis=0, initial=0.0)
    return np.where(deviation > smallest, deviation, 1.0)


def _log_sums(values: Floats, offsets: Longs) -> Floats:
    """Axes (sentences): the logarithm of the sum of exponentials over each sentence."""
    top = np.maximum.reduceat(values, offsets[:-1])
    terms = np.exp(values - np.repeat(top, np.diff(offsets)))
    return np.log(np.add.reduceat(terms, offsets[:-1])) + top


def _log_probabilities(values: Floats, offsets: Longs) -> Floats:
    return values - np.repeat(_log_sums(values, offsets), np.diff(offsets))
