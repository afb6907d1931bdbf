"""Forward-backward: marginals of the states of a hidden Markov model.

With T the transition matrix and e_t the likelihood of word t given each state,

    forward_1  = initial * e_1,    forward_t  = (forward_{t-1} T) * e_t
    backward_n = stop,             backward_t = T (e_{t+1} * backward_{t+1})

where * is element by element.  The value of the sentence is forward_t . backward_t at any t, and
the marginal of a state is its share of that sum.  A word costs two products with T, 2 S^2
multiplications for S states.  Where T is close to a product of two thin matrices, the vector is
multiplied with one after the other: 4 S r multiplications for rank r (Cohen, Satta and Collins
2013, section 7.2).

Marginals depend on the directions of vectors only.  So each vector, and each word's likelihoods,
are divided by a power of two, and the exponents of the forward vectors are added up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eigentree._core.shapes import check_shapes
from eigentree.errors import ShapeError
from eigentree.types import Floats, Ints


class StateMarginals(NamedTuple):
    """Marginals of the states of a sentence.

    Attributes
    ----------
    marginal : float64, axes (n, S)
        Marginal of each state at each word; they sum to 1 at each word.  With factors that
        approximate a transition matrix they are estimates, and with negative factors some may be
        negative or exceed 1.
    log_value : float
        Natural logarithm of the absolute value of the sentence.
    sign : int
    """

    marginal: Floats
    log_value: float
    sign: int


@np.errstate(over="ignore", invalid="ignore")  # such a sentence has no marginals
def forward_backward(
    initial: Floats, transition: Sequence[Floats], stop: Floats, likelihood: Floats
) -> StateMarginals | None:
    """Marginals of the states at each word of a sentence.

    Parameters
    ----------
    initial : float64, axes (S)
        Probability of each state at the first word.
    transition
        Matrices whose product is the transition matrix, axes (S, S): that matrix alone, or thin
        factors such as `eigentree.linalg.low_rank.low_rank` gives.
    stop : float64, axes (S)
        Probability that the sentence ends after a state.
    likelihood : float64, axes (n, S)
        Probability of each word given each state, for at least one word.

    Returns
    -------
    StateMarginals or None
        None when the value of the sentence is zero or not finite.

    Raises
    ------
    ShapeError
        When the arrays don't agree.

    Cost
    ----
    Two multiplications for each word and each number of the factors; memory for 2 n S numbers.

    References
    ----------
    rabiner-1989; cohen-satta-2013, section 7.2.
    """
    if not len(transition) or not len(likelihood):
        raise ShapeError(
            f"forward_backward: there are {len(transition)} factors and {len(likelihood)} words; "
            "there must be at least one of each"
        )
    letters = ["S", *(f"r{number}" for number in range(1, len(transition))), "S"]
    factors = {
        f"transition[{number}]": (factor, " ".join(pair))
        for number, (factor, pair) in enumerate(zip(transition, pairwise(letters), strict=True))
    }
    check_shapes(
        "forward_backward",
        {"initial": (initial, "S"), "stop": (stop, "S"), "likelihood": (likelihood, "n S")}
        | factors,
    )
    n = len(likelihood)
    likelihood, exponents = _scaled(likelihood)
    forward, backward = np.empty((2, *likelihood.shape))
    exponent = int(exponents.sum())

    vector = initial
    for t in range(n):
        for factor in transition if t else ():
            vector = vector @ factor
        vector, power = _scaled(vector * likelihood[t])
        forward[t] = vector
        exponent += int(power[0])
    vector = stop
    for t in range(n - 1, -1, -1):
        backward[t] = vector
        vector = vector * likelihood[t]
        for factor in reversed(transition) if t else ():
            vector = factor @ vector
        vector, _ = _scaled(vector)

    joint = forward * backward
    total = joint.sum(axis=1)
    if not (np.all(np.isfinite(total)) and np.all(total)):
        return None
    return StateMarginals(
        joint / total[:, None],
        math.log(abs(total[-1])) + exponent * math.log(2.0),
        1 if total[-1] > 0.0 else -1,
    )


def _scaled(vectors: Floats) -> tuple[Floats, Ints]:
    """Vectors whose largest numbers lie between a half and one, and the exponents taken out."""
    exponent = np.frexp(np.max(np.abs(vectors), axis=-1, keepdims=True))[1]
    return np.ldexp(vectors, -exponent), exponent
