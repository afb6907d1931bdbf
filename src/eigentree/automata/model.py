"""Operator models: weighted automata over sequences of symbols, with a matrix for each symbol.

The value of a sequence x_1 .. x_T is

    f(x) = final . A[x_T] ... A[x_1] initial

where A[a] maps the state vector before symbol a is read to the one after.  In a probabilistic
model A[a][i, j] is the probability of reading a and going to state i, given state j, and final[j]
that of stopping in state j; then f is a probability distribution over all sequences, including the
empty one.  Any invertible M gives another model with the same values,

    inverse(M) initial,    inverse(M) A[a] M,    final M,

and a spectral method estimates one of these (Hsu, Kakade and Zhang 2009): its numbers have any
sign, and values of single sequences may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from eigentree._core.shapes import check_shapes, check_types
from eigentree.errors import GrammarError, ShapeError
from eigentree.types import Floats

ARRAYS = ("initial", "final", "operators")


@dataclass(frozen=True)
class OperatorModel:
    """A weighted automaton with stopping.

    Attributes
    ----------
    symbols
        The alphabet.
    initial : float64, axes (n)
        Vector before the first symbol.
    final : float64, axes (n)
        Weight of stopping in each state.
    operators : float64, axes (symbols, n, n)
        ``operators[a, i, j]``: to state i from state j, reading a.

    Raises
    ------
    ShapeError
        When the arrays don't agree.
    GrammarError
        When a symbol occurs twice, or a number is not finite.
    """

    symbols: tuple[str, ...]
    initial: Floats
    final: Floats
    operators: Floats
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        arrays = {"initial": "n", "final": "n", "operators": "symbols n n"}
        given = {name: getattr(self, name) for name in ARRAYS}
        sizes = check_shapes(
            "OperatorModel",
            {name: (given[name], axes) for name, axes in arrays.items()},
            symbols=len(self.symbols),
        )
        check_types("OperatorModel", {name: (array, np.float64) for name, array in given.items()})
        if sizes["n"] < 1:
            raise ShapeError("OperatorModel: there are no states; at least 1 is needed")
        for name, array in given.items():
            if not np.all(np.isfinite(array)):
                raise GrammarError(f"{name} of an operator model has a number that isn't finite")
        numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        if len(numbers) != len(self.symbols):
            raise GrammarError("duplicate symbol in an operator model")
        object.__setattr__(self, "_numbers", numbers)

    @property
    def n_states(self) -> int:
        return len(self.initial)

    def value(self, sequence: Sequence[str]) -> tuple[float, int]:
        """Value of a whole sequence.

        Returns
        -------
        tuple
            Logarithm of the absolute value in nats, and the sign.  They are -inf and 0 for the
            value zero, such as that of a sequence with a symbol that the model lacks.

        Cost
        ----
        O(T n^2).  Vectors are divided by powers of two, so a sequence may have any length.
        """
        vectors, exponents = self._forward(sequence)
        value = float(self.final @ vectors[-1])
        if value == 0.0:
            return -math.inf, 0
        return math.log(abs(value)) + int(exponents[-1]) * math.log(2.0), 1 if value > 0.0 else -1

    def states(self, sequence: Sequence[str]) -> Floats:
        """Axes (T + 1, n): the forward vectors, before the first symbol and after each.

        All but the first are divided by powers of two, so that their largest number is between
        a half and one.
        """
        return self._forward(sequence)[0]

    def _forward(self, sequence: Sequence[str]) -> tuple[Floats, NDArray[np.int64]]:
        """Forward vectors and, axes (T + 1), the exponents of two divided out so far."""
        vectors = np.zeros((len(sequence) + 1, self.n_states))
        exponents = np.zeros(len(sequence) + 1, dtype=np.int64)
        vectors[0] = vector = self.initial
        exponent = 0
        for at, symbol in enumerate(sequence, start=1):
            number = self._numbers.get(symbol)
            if number is None:
                break  # all vectors from here on are zero
            vector = self.operators[number] @ vector
            power = math.frexp(float(np.abs(vector).max()))[1]
            vector = np.ldexp(vector, -power)
            exponent += power
            vectors[at], exponents[at] = vector, exponent
        return vectors, exponents

    def continuation(self) -> Floats:
        """Axes (n): the summed weight of all sequences that may follow a state.

        It is final (1 - A)^-1, where A is the sum of all operators; 1 for each state of a
        probabilistic model.

        Raises
        ------
        GrammarError
            When an eigenvalue of A has an absolute value of 1 or more: the sum over all sequences
            then diverges, as it may for an estimated model.

        Cost
        ----
        O(n^3), and the sum over symbols.
        """
        total = self.operators.sum(axis=0)
        radius = float(np.max(np.abs(linalg.eigvals(total))))
        if not radius < 1.0:
            raise GrammarError(
                f"the sum of all operators has spectral radius {radius:.4g}, so the sum of the "
                "values of all sequences diverges; the radius must be below 1"
            )
        found = linalg.solve((np.eye(self.n_states) - total).T, self.final)
        return np.asarray(found, dtype=np.float64)

    def following(self, sequence: Sequence[str]) -> Floats:
        """Axes (symbols + 1): the probability of each next symbol, and of the end, after a prefix.

        They sum to 1; in a signed model they are estimates of any sign.

        Raises
        ------
        GrammarError
            As for `continuation`, and when the values of all sequences with this prefix sum to
            zero.
        """
        onwards = self.continuation()
        vector = self.states(sequence)[-1]
        total = float(onwards @ vector)
        if total == 0.0:
            raise GrammarError("the prefix has value zero, so no symbol can follow it")
        weights = np.append((self.operators @ vector) @ onwards, self.final @ vector)
        return np.asarray(weights / total, dtype=np.float64)

    def transformed(self, basis: Floats) -> OperatorModel:
        """The model with the same values whose vectors are inverse(basis) times those of this one.

        Parameters
        ----------
        basis : float64, axes (n, n)
            Invertible.
        """
        inverse = linalg.inv(basis)
        return OperatorModel(
            self.symbols,
            inverse @ self.initial,
            self.final @ basis,
            inverse @ self.operators @ basis,
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as stored in a model file."""
        return {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def from_arrays(
        cls, symbols: Sequence[str], arrays: Mapping[str, NDArray[Any]]
    ) -> OperatorModel:
        """The model of `to_arrays`; KeyError when an array is missing."""
        return cls(tuple(symbols), *(np.array(arrays[name]) for name in ARRAYS))


def mixture(first: OperatorModel, second: OperatorModel, weight: float) -> OperatorModel:
    """The model with values (1 - weight) f + weight g, where f and g are the values of two models.

    It is their direct sum.

    Parameters
    ----------
    first, second
        Models over the same symbols.
    weight
        Weight of the second.

    Raises
    ------
    GrammarError
        When the symbols differ.
    """
    if first.symbols != second.symbols:
        raise GrammarError("operator models over different symbols can't be mixed")
    n = first.n_states
    whole = n + second.n_states
    operators = np.zeros((len(first.symbols), whole, whole))
    operators[:, :n, :n] = first.operators
    operators[:, n:, n:] = second.operators
    return OperatorModel(
        first.symbols,
        np.concatenate([(1.0 - weight) * first.initial, weight * second.initial]),
        np.concatenate([first.final, second.final]),
        operators,
    )


def without(whole: OperatorModel, part: OperatorModel) -> OperatorModel:
    """The first model of a `mixture` whose second is ``part``, up to the factor 1 - weight.

    A model that isn't such a mixture is returned unchanged.
    """
    n = whole.n_states - part.n_states
    if n < 1 or whole.symbols != part.symbols:
        return whole
    across = whole.operators[:, :n, n:], whole.operators[:, n:, :n]
    is_mixture = (
        np.array_equal(whole.operators[:, n:, n:], part.operators)
        and np.array_equal(whole.final[n:], part.final)
        and not any(np.any(block) for block in across)
    )
    if not is_mixture:
        return whole
    return OperatorModel(
        whole.symbols, whole.initial[:n], whole.final[:n], whole.operators[:, :n, :n]
    )
