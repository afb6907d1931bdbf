"""Truncated singular value decomposition of a cross-moment that is never formed.

The cross-moment of sparse inside and outside features, A = L' W R / sum(W), has an entry for each
pair of features, but L and R have only a few non-zeros per row.  The randomised range finder
(Halko, Martinsson and Tropp 2011, algorithms 4.4 and 5.1) needs products with A and its transpose
only: the range of A is sampled with a few more random vectors than the rank, sharpened by power
iterations with re-orthogonalisation, and the small projected matrix is decomposed exactly.  Small
matrices are decomposed directly.

A given matrix, sparse or dense, is decomposed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from eigentree.types import Floats

OVERSAMPLING = 12
POWER_ITERATIONS = 4
# Matrices with fewer entries than this are formed and decomposed exactly.
DENSE_ENTRIES = 40_000
# Singular values below this fraction of the largest are rounding errors of zero.
ROUNDING = 1e-9


class TruncatedSVD(NamedTuple):
    """A = left diag(values) right' + the rest.

    Attributes
    ----------
    left : float64, axes (D, K)
    values : float64, axes (K)
        Singular values, descending.
    right : float64, axes (E, K)
    dropped : float64, axes (L)
        Further singular values, up to the requested rank, that the cut dropped; without zeros.
    """

    left: Floats
    values: Floats
    right: Floats
    dropped: Floats


def cross_moment_svd(
    left: sparse.csr_array,
    right: sparse.csr_array,
    weight: Floats,
    rank: int,
    rng: np.random.Generator,
    *,
    relative_cut: float = 1e-3,
) -> TruncatedSVD:
    """Leading singular triples of left' diag(weight) right / sum(weight).

    Parameters
    ----------
    left, right : sparse, axes (n D), (n E)
        Features of n samples, one sample per row.
    weight : float64, axes (n)
        Weights of the samples, positive.
    rank
        Requested number of triples; fewer are returned when the matrix has lower rank.
    rng
        Generator of the random vectors.
    relative_cut
        Triples with a singular value below this fraction of the largest are dropped: their
        inverses would magnify noise.

    Returns
    -------
    TruncatedSVD
        At least one triple.  Signs are fixed: the largest entry of each left vector is
        positive.

    Cost
    ----
    O(nnz * rank) a product, with 2 * `POWER_ITERATIONS` + 2 products.
    """
    share = weight / weight.sum()
    weighted = sparse.csr_array(left.multiply(share[:, None]).T)
    n_left, n_right = left.shape[1], right.shape[1]
    if _is_small(n_left, n_right, rank):
        return _cut(*_decomposed((weighted @ right).toarray()), rank, relative_cut)
    transposed = sparse.csr_array(right.T)
    weighted_t = sparse.csr_array(weighted.T)
    # A times a block is weighted @ (right @ block), the transpose likewise.
    found = _by_products(
        lambda block: weighted @ (right @ block),
        lambda block: transposed @ (weighted_t @ block),
        n_right,
        rank,
        rng,
    )
    return _cut(*found, rank, relative_cut)


def truncated_svd(
    matrix: sparse.csr_array | Floats,
    rank: int,
    rng: np.random.Generator,
    *,
    relative_cut: float = 1e-9,
) -> TruncatedSVD:
    """Leading singular triples of a matrix.

    Parameters
    ----------
    matrix : axes (D, E)
        Sparse or dense.
    rank, rng, relative_cut
        As in `cross_moment_svd`.

    Returns
    -------
    TruncatedSVD
        At least one triple, with fixed signs.

    Cost
    ----
    As in `cross_moment_svd`.
    """
    n_left, n_right = matrix.shape
    if _is_small(n_left, n_right, rank):
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        return _cut(*_decomposed(dense), rank, relative_cut)
    transposed = sparse.csr_array(matrix.T) if sparse.issparse(matrix) else matrix.T
    found = _by_products(
        lambda block: matrix @ block,
        lambda block: transposed @ block,
        n_right,
        rank,
        rng,
    )
    return _cut(*found, rank, relative_cut)


def _is_small(n_left: int, n_right: int, rank: int) -> bool:
    return n_left * n_right <= DENSE_ENTRIES or rank + OVERSAMPLING >= min(n_left, n_right)


def _decomposed(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    u, values, vt = linalg.svd(matrix, full_matrices=False)
    return u, values, vt.T


def _by_products(
    times: Callable[[Floats], Floats],
    times_transposed: Callable[[Floats], Floats],
    n_right: int,
    rank: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """The randomised range finder, and the exact decomposition of the projected matrix."""
    basis = _orthonormal(times(rng.standard_normal((n_right, rank + OVERSAMPLING))))
    for _ in range(POWER_ITERATIONS):
        basis = _orthonormal(times_transposed(basis))
        basis = _orthonormal(times(basis))
    v, values, small = linalg.svd(times_transposed(basis), full_matrices=False)
    return basis @ small.T, values, v


def _cut(u: Floats, values: Floats, v: Floats, rank: int, relative_cut: float) -> TruncatedSVD:
    """The leading triples, with fixed signs."""
    kept = min(rank, max(1, int(np.sum(values > relative_cut * values[0]))))
    dropped = values[kept:rank]
    dropped = dropped[dropped > ROUNDING * values[0]]
    u, values, v = u[:, :kept], values[:kept], v[:, :kept]
    signs = np.sign(u[np.argmax(np.abs(u), axis=0), np.arange(kept)])
    signs[signs == 0] = 1.0
    return TruncatedSVD(u * signs, values, v * signs, dropped)


def _orthonormal(block: Floats) -> Floats:
    return np.asarray(linalg.qr(block, mode="economic", check_finite=False)[0])
