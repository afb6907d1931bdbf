"""Sparse third-order tensors, tensors in Kruskal form, and the products of the two.

A tensor in Kruskal form is a sum of r weighted outer products,

    K[i, j, l] = sum over k of weights[k] * A[i, k] * B[j, k] * C[l, k],

with one factor for each mode.  All functions visit only the non-zeros of the sparse tensor and the
rows of the factors, never the dense tensor: the norm of K is

    |K|^2 = weights' (A'A * B'B * C'C) weights,

and its distance from a sparse T is |T - K|^2 = |T|^2 - 2 <T, K> + |K|^2.  Modes count from 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigentree._core.shapes import check_shapes, check_types
from eigentree.errors import ShapeError, TensorError
from eigentree.linalg.arrays import ByMode
from eigentree.types import Floats, Ints

MODES = (0, 1, 2)
# int32 subscripts.
LONGEST_MODE = 2**31 - 1


@dataclass(frozen=True)
class SparseTensor:
    """A third-order tensor, given by its non-zeros.

    Attributes
    ----------
    subscripts : int32, axes (nonzeros, 3)
        Distinct, in any order, counted from 0.
    values : float64, axes (nonzeros)
        Finite and not all 0.
    shape
        Length of each mode.

    Raises
    ------
    ShapeError
        When arrays and shape don't agree.
    TensorError
        When the tensor has no non-zeros, a value that is not finite, a subscript out of range,
        or a duplicate subscript.
    """

    subscripts: Ints
    values: Floats
    shape: tuple[int, int, int]

    def __post_init__(self) -> None:
        check_shapes(
            "SparseTensor",
            {"subscripts": (self.subscripts, "T M"), "values": (self.values, "T")},
            M=3,
        )
        check_types(
            "SparseTensor",
            {"subscripts": (self.subscripts, np.int32), "values": (self.values, np.float64)},
        )
        sizes: tuple[int, ...] = self.shape
        if len(sizes) != 3 or not all(1 <= size <= LONGEST_MODE for size in sizes):
            raise ShapeError(
                f"SparseTensor: shape is {self.shape}; it must be three lengths from 1 to 2^31 - 1"
            )
        finite = np.isfinite(self.values)
        if not finite.all():
            at = int(np.argmin(finite))
            raise TensorError(
                f"the value at {self._subscript(at)} is {self.values[at]}; values must be finite"
            )
        if not np.any(self.values):
            raise TensorError("all values of the tensor are 0; at least one must be non-zero")
        outside = np.any((self.subscripts < 0) | (self.subscripts >= self.shape), axis=1)
        if outside.any():
            at = int(np.argmax(outside))
            raise TensorError(
                f"the subscript {self._subscript(at)} is out of range; it must be from 0 to "
                f"below {self.shape}"
            )
        order = np.lexsort(self.subscripts.T)
        same = np.all(self.subscripts[order[1:]] == self.subscripts[order[:-1]], axis=1)
        if same.any():
            at = int(order[np.argmax(same)])
            raise TensorError(f"duplicate subscript {self._subscript(at)}; add up its values first")

    def _subscript(self, at: int) -> tuple[int, ...]:
        return tuple(int(each) for each in self.subscripts[at])

    @property
    def norm(self) -> float:
        """The Frobenius norm."""
        return float(np.linalg.norm(self.values))

    def by_mode(self, mode: int) -> ByMode:
        """The non-zeros sorted by one mode, then by the others."""
        low, high = others(mode)
        keys = self.subscripts
        order = np.lexsort((keys[:, high], keys[:, low], keys[:, mode]))
        rows, first = np.unique(keys[order, mode], return_index=True)
        return ByMode(
            rows,
            np.append(first, len(order)).astype(np.int64),
            np.ascontiguousarray(keys[order, low]),
            np.ascontiguousarray(keys[order, high]),
            self.values[order],
        )


@dataclass(frozen=True)
class Kruskal:
    """A third-order tensor as a sum of weighted outer products.

    Attributes
    ----------
    weights : float64, axes (r)
    factors
        Three arrays, float64, axes (length of the mode, r).

    Raises
    ------
    ShapeError
        When the arrays don't agree, or r is 0.
    TensorError
        When a number is not finite.
    """

    weights: Floats
    factors: tuple[Floats, Floats, Floats]

    def __post_init__(self) -> None:
        if len(self.factors) != 3:
            raise ShapeError(f"Kruskal: there are {len(self.factors)} factors; there must be 3")
        arrays = {"weights": (self.weights, "r")}
        arrays |= {f"factors[{mode}]": (self.factors[mode], f"d{mode} r") for mode in MODES}
        check_shapes("Kruskal", arrays)
        check_types("Kruskal", {name: (array, np.float64) for name, (array, _) in arrays.items()})
        if not len(self.weights):
            raise ShapeError("Kruskal: there are no weights; at least 1 is needed")
        for name, (array, _) in arrays.items():
            if not np.isfinite(array).all():
                raise TensorError(f"{name} has a number that is not finite")

    @property
    def rank(self) -> int:
        """The number of outer products, r."""
        return len(self.weights)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Length of each mode."""
        first, second, third = (len(factor) for factor in self.factors)
        return first, second, third

    @property
    def norm(self) -> float:
        """The Frobenius norm, in O(r^2) for each row of a factor."""
        gram = np.outer(self.weights, self.weights)
        for factor in self.factors:
            gram *= factor.T @ factor
        # Rounding may make the sum negative where outer products cancel.
        return math.sqrt(max(0.0, float(gram.sum())))

    @property
    def total(self) -> float:
        """The sum of all entries."""
        sums = self.weights.copy()
        for factor in self.factors:
            sums *= factor.sum(axis=0)
        return float(sums.sum())

    def at(self, subscripts: Ints) -> Floats:
        """Entries at given subscripts.

        Parameters
        ----------
        subscripts : int32, axes (n, 3)
            In range.

        Returns
        -------
        float64, axes (n)
        """
        from eigentree.linalg._kernels_cp import entries

        out = np.empty(len(subscripts))
        first, second, third = (np.ascontiguousarray(factor) for factor in self.factors)
        entries(np.ascontiguousarray(subscripts), first * self.weights, second, third, out)
        return out

    def dense(self) -> Floats:
        """All entries, axes of its `shape`; for small tensors."""
        product = np.einsum("k,ik,jk,lk->ijl", self.weights, *self.factors, optimize=True)
        return np.asarray(product)

    def error(self, tensor: SparseTensor) -> float:
        """The Frobenius norm of the difference from a sparse tensor.

        Differences below about 1e-8 of the tensor's norm are lost in rounding.
        """
        inner = float(tensor.values @ self.at(tensor.subscripts))
        return math.sqrt(max(0.0, tensor.norm**2 - 2.0 * inner + self.norm**2))

    def divergence(self, tensor: SparseTensor) -> float:
        """The Kullback-Leibler objective, sum of K - sum of T log K over the non-zeros of T.

        It is the negative log-likelihood of T under Poisson distributions whose means are the
        entries of K, up to a constant, and minimal for K = T.  It is infinite if K is 0 at a
        non-zero of T.

        References
        ----------
        chi-2012.
        """
        nonzero = tensor.values != 0
        entries = self.at(tensor.subscripts[nonzero])
        if np.any(entries <= 0.0):
            return math.inf
        return self.total - float(tensor.values[nonzero] @ np.log(entries))

    def without_dust(self, share: float) -> Kruskal:
        """The form with entries below a fraction of their column's largest set to 0."""
        first, second, third = (
            np.where(np.abs(factor) < share * np.abs(factor).max(axis=0), 0.0, factor)
            for factor in self.factors
        )
        return Kruskal(self.weights, (first, second, third))

    def normalised(self, order: int) -> Kruskal:
        """The same tensor in the normal form of results.

        Weights are non-negative and descending.  Columns have norm 1, or are 0 for an outer product
        of weight 0.  The largest entry of a column is positive in the first two factors.

        Parameters
        ----------
        order
            Order of the norm: 1 for the sum of absolute values, 2 for the Euclidean norm.
        """
        weights = self.weights.copy()
        factors = [factor.copy() for factor in self.factors]
        last = factors[-1]
        for factor in factors:
            norms = np.linalg.norm(factor, ord=order, axis=0)
            weights *= norms
            np.divide(factor, norms, out=factor, where=norms > 0)
        columns = np.arange(self.rank)
        for factor in factors[:2]:
            signs = np.where(factor[np.argmax(np.abs(factor), axis=0), columns] < 0, -1.0, 1.0)
            factor *= signs
            last *= signs
        last *= np.where(weights < 0, -1.0, 1.0)
        weights = np.abs(weights)
        for factor in factors:
            factor *= weights > 0
            factor += 0.0  # no zero has a sign
        falling = np.argsort(-weights, kind="stable")
        first, second, third = (np.ascontiguousarray(factor[:, falling]) for factor in factors)
        return Kruskal(weights[falling], (first, second, third))


def others(mode: int) -> tuple[int, int]:
    """The other two modes, the lower first."""
    low, high = (each for each in MODES if each != mode)
    return low, high


def mttkrp(layout: ByMode, left: Floats, right: Floats, n_rows: int) -> Floats:
    """The unfolding of a sparse tensor in one mode times the Khatri-Rao product of two factors.

    Row i is the sum over the non-zeros of slice i of value * left[j] * right[l], a product of
    vectors of length r.

    Parameters
    ----------
    layout
        The non-zeros by the mode.
    left, right : float64, axes (length of the mode, r)
        Factors of the other two modes, the lower mode first.
    n_rows
        Length of the mode.

    Returns
    -------
    float64, axes (n_rows, r)
        Zero for slices without non-zeros.

    Cost
    ----
    O(nonzeros r).
    """
    from eigentree.linalg._kernels_cp import mttkrp_rows

    out = np.zeros((n_rows, left.shape[1]))
    mttkrp_rows(layout, left, right, out)
    return out
