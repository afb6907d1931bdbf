"""Low-rank approximation: a matrix as a product of two thin ones, which multiplies vectors faster.

``svd``
    Truncated singular value decomposition, optimal in Frobenius norm.  Numbers have any sign.
``apr``, ``hals``
    Non-negative numbers.  A matrix is a tensor whose third mode has length 1, so these are the
    methods of `eigentree.linalg.cp`: ``apr`` minimises the Kullback-Leibler divergence, which
    preserves the sums of rows and columns, ``hals`` the squared error.

Rows may be weighted: the objective is then the sum over rows of weight times the row's squared
error, or its divergence.  A row is multiplied by the root of its weight, or by the weight, before
the decomposition, and divided by it afterwards.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy import linalg

from eigentree._core.arguments import check_choice
from eigentree.errors import check_range
from eigentree.linalg.cp import CPOptions, decompose
from eigentree.linalg.multilinear import SparseTensor
from eigentree.types import Floats

Method = Literal["svd", "apr", "hals"]
METHODS: tuple[str, ...] = get_args(Method)


def low_rank(
    matrix: Floats,
    rank: int,
    method: Method = "svd",
    *,
    weight: Floats | None = None,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Two thin factors of a matrix; left @ right approximates it.

    Parameters
    ----------
    matrix : float64, axes (d0, d1)
    rank
        Number of columns of the left factor; with ``svd`` at most the number of rows or columns of
        the matrix.
    method
        ``svd``, ``apr`` or ``hals``; see above.
    weight : float64, axes (d0), optional
        Weight of the error of each row, above 0; equal by default.
    seed
        Seed of the random start of ``apr`` and ``hals``.

    Returns
    -------
    left : float64, axes (d0, r)
    right : float64, axes (r, d1)
        With ``svd`` its first rows, and the first columns of ``left``, are the factors of a lower
        rank.

    Raises
    ------
    TensorError
        When a value is negative and the method is ``apr``, or all are 0 and it isn't ``svd``.

    Cost
    ----
    O(d0 d1 min(d0, d1)) with ``svd``; see `eigentree.linalg.cp.decompose` for the others.
    """
    check_choice(METHODS, method=method)
    check_range(1, rank=rank)
    weights = np.ones(len(matrix)) if weight is None else weight
    scale = (weights if method == "apr" else np.sqrt(weights))[:, None]
    scaled = matrix * scale
    if method == "svd":
        u, values, v = linalg.svd(scaled, full_matrices=False)
        left, right = u[:, :rank] * values[:rank], v[:rank]
    else:
        rows, columns = np.nonzero(scaled)
        subscripts = np.stack([rows, columns, np.zeros_like(rows)], axis=1).astype(np.int32)
        tensor = SparseTensor(subscripts, scaled[rows, columns], (*matrix.shape, 1))
        form = decompose(tensor, CPOptions(rank, method, seed=seed)).kruskal
        left, right, only = form.factors
        left, right = left * (form.weights * only[0]), right.T
    return left / scale, np.ascontiguousarray(right)
