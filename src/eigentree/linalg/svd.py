"""Truncated singular value decomposition of a cross-moment that is never formed.

The cross-moment of sparse inside and outside features, A = L' W R / sum(W), has as many
entries as there are pairs of features, but L and R have a handful of entries a row.  The
randomised range finder (Halko, Martinsson and Tropp 2011, algorithms 4.4 and 5.1) only
multiplies with A and its transpose: the range of A is sampled with a few more random
vectors than the rank, sharpened by power iterations with re-orthogonalisation, and the
small projected matrix is decomposed exactly.  Small matrices are decomposed directly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

Floats = NDArray[np.float64]

OVERSAMPLING = 12
POWER_ITERATIONS = 4
# Matrices with fewer entries than this are formed and decomposed exactly.
DENSE_ENTRIES = 40_000
# Singular values below this part of the largest are rounding errors of zero.
ROUNDING = 1e-9


class TruncatedSVD(NamedTuple):
    """A = left diag(values) right' + the rest.

    Attributes
    ----------
    left : float64, axes (D, K)
    values : float64, axes (K)
        Singular values, from the largest down.
    right : float64, axes (E, K)
    dropped : float64, axes (L)
        The values below these, up to the rank asked for, that the cut took away; zeros are left
        out.
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
        Features of n samples, one row a sample.
    weight : float64, axes (n)
        Positive.
    rank
        Number of triples wanted; fewer come back when the matrix has lower rank.
    rng
        Draws the random start vectors.
    relative_cut
        Triples with a singular value below this part of the largest are dropped: their
        inverses would only magnify noise.

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
    if n_left * n_right <= DENSE_ENTRIES or rank + OVERSAMPLING >= min(n_left, n_right):
        u, values, vt = linalg.svd((weighted @ right).toarray(), full_matrices=False)
        v = vt.T
    else:
        transposed = sparse.csr_array(right.T)
        # A times a block is weighted @ (right @ block), the transpose likewise.
        sample = rng.standard_normal((n_right, rank + OVERSAMPLING))
        basis = _orthonormal(weighted @ (right @ sample))
        weighted_t = sparse.csr_array(weighted.T)
        for _ in range(POWER_ITERATIONS):
            basis = _orthonormal(transposed @ (weighted_t @ basis))
            basis = _orthonormal(weighted @ (right @ basis))
        projected = transposed @ (weighted_t @ basis)
        v, values, small = linalg.svd(projected, full_matrices=False)
        u = basis @ small.T
    kept = min(rank, max(1, int(np.sum(values > relative_cut * values[0]))))
    dropped = values[kept:rank]
    dropped = dropped[dropped > ROUNDING * values[0]]
    u, values, v = u[:, :kept], values[:kept], v[:, :kept]
    signs = np.sign(u[np.argmax(np.abs(u), axis=0), np.arange(kept)])
    signs[signs == 0] = 1.0
    return TruncatedSVD(u * signs, values, v * signs, dropped)


def _orthonormal(block: Floats) -> Floats:
    return np.asarray(linalg.qr(block, mode="economic", check_finite=False)[0])
