"""The decomposition of cross-moments: randomised against dense, and degenerate matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigentree.linalg import svd as module
from eigentree.linalg.svd import TruncatedSVD, cross_moment_svd
from tests.helpers import close


def moment(left: np.ndarray, right: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return left.T @ (right * weight[:, None]) / weight.sum()


def decompose(
    left: np.ndarray, right: np.ndarray, weight: np.ndarray, rank: int, **options: float
) -> TruncatedSVD:
    return cross_moment_svd(
        sparse.csr_array(left),
        sparse.csr_array(right),
        weight,
        rank,
        np.random.default_rng(3),
        **options,
    )


def features(
    rng: np.random.Generator, n: int, n_left: int, n_right: int, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sparse features whose cross-moment has a gap after `rank` singular values."""
    state = rng.integers(rank, size=n)
    sides = []
    for size in (n_left, n_right):
        likes = rng.dirichlet(np.full(size, 0.05), size=rank)
        rows = np.stack([rng.multinomial(4, likes[own]) for own in state])
        sides.append(rows.astype(float))
    return sides[0], sides[1]


def check(found: TruncatedSVD, exact: np.ndarray, rank: int, tolerance: float) -> None:
    """Values, subspaces and product against LAPACK."""
    u, values, vt = np.linalg.svd(exact)
    assert found.left.shape == (exact.shape[0], rank)
    assert found.right.shape == (exact.shape[1], rank)
    largest = values[0]
    assert close(found.values, values[:rank], rtol=0.0, atol=tolerance * largest)
    for own, reference in ((found.left, u[:, :rank]), (found.right, vt[:rank].T)):
        assert close(own.T @ own, np.eye(rank), rtol=0.0, atol=1e-10)
        assert close(own @ own.T, reference @ reference.T, rtol=0.0, atol=tolerance)
    product = (found.left * found.values) @ found.right.T
    reference = (u[:, :rank] * values[:rank]) @ vt[:rank]
    assert close(product, reference, rtol=0.0, atol=tolerance * largest)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 3, 5])
@pytest.mark.parametrize("sizes", [(300, 250), (450, 100), (100, 450), (20, 30)])
def test_leading_triples(rng: np.random.Generator, rank: int, sizes: tuple[int, int]):
    left, right = features(rng, 600, *sizes, rank)
    weight = rng.uniform(0.5, 2.0, 600)
    found = decompose(left, right, weight, rank)
    check(found, moment(left, right, weight), rank, 1e-4)


def test_the_large_case_is_randomised(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    left, right = features(rng, 600, 300, 250, 4)
    weight = np.ones(600)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the cross-moment was formed")

    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    with pytest.raises(AssertionError, match="the cross-moment was formed"):
        decompose(left[:, :20], right[:, :20], weight, 4)
    assert decompose(left, right, weight, 4).values.shape == (4,)


@pytest.mark.parametrize("sizes", [(300, 250), (20, 30)])
def test_rank_deficiency_gives_fewer_triples(rng: np.random.Generator, sizes: tuple[int, int]):
    left = rng.standard_normal((400, 5)) @ rng.standard_normal((5, sizes[0]))
    right = rng.standard_normal((400, sizes[1]))
    weight = np.ones(400)
    found = decompose(left, right, weight, 12)
    check(found, moment(left, right, weight), 5, 1e-9)


@pytest.mark.parametrize("sizes", [(300, 250), (6, 8)])
def test_zero_matrix(sizes: tuple[int, int]):
    found = decompose(np.zeros((40, sizes[0])), np.zeros((40, sizes[1])), np.ones(40), 4)
    assert found.values.tolist() == [0.0]
    assert found.left.shape == (sizes[0], 1)
    assert np.all(np.isfinite(found.left))
    assert np.all(np.isfinite(found.right))


@pytest.mark.parametrize("size", [300, 30])
def test_repeated_values(size: int):
    # The cross-moment is the identity over its size: any orthonormal basis will do.
    one_hot = np.eye(size)
    found = decompose(one_hot, one_hot, np.ones(size), 5)
    assert close(found.values, np.full(5, 1.0 / size), rtol=1e-12)
    assert close(found.left.T @ found.left, np.eye(5), rtol=0.0, atol=1e-12)
    assert close(found.right, found.left, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("size", [300, 30])
def test_small_values_are_cut(size: int):
    # Singular values 1, 1/2, 1/4, ... over the sum of the weights.
    weight = 2.0 ** -np.arange(20)
    left = np.eye(20, size)
    found = decompose(left, left, weight, 20)
    assert close(found.values, weight[:10] / weight.sum(), rtol=1e-10)  # 2^-10 < 1/1000
    found = decompose(left, left, weight, 20, relative_cut=0.1)
    assert len(found.values) == 4


@pytest.mark.parametrize("sizes", [(300, 250), (20, 30)])
def test_largest_entry_of_each_left_vector_is_positive(
    rng: np.random.Generator, sizes: tuple[int, int]
):
    left, right = features(rng, 500, *sizes, 5)
    found = decompose(left, right, np.ones(500), 5)
    largest = np.argmax(np.abs(found.left), axis=0)
    assert np.all(found.left[largest, np.arange(5)] > 0)
    turned = decompose(-left, right, np.ones(500), 5)
    assert close(turned.left, found.left, rtol=0.0, atol=1e-6)
    assert close(turned.right, -found.right, rtol=0.0, atol=1e-6)


def test_one_seed_gives_the_same_bytes(rng: np.random.Generator):
    left, right = features(rng, 500, 300, 250, 5)
    first, second = (decompose(left, right, np.ones(500), 5) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.tobytes() == other.tobytes()


def test_only_the_proportions_of_weights_matter(rng: np.random.Generator):
    left, right = features(rng, 500, 300, 250, 5)
    weight = rng.uniform(0.1, 1.0, 500)
    first, second = (decompose(left, right, weight * factor, 5) for factor in (1.0, 2.0**40))
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one, other)


def test_single_feature():
    found = decompose(np.ones((7, 1)), np.ones((7, 1)) * 3.0, np.ones(7), 4)
    assert close(found.values, [3.0], rtol=1e-15)
    assert found.left.tolist() == [[1.0]]
    assert found.right.tolist() == [[1.0]]
    assert module.DENSE_ENTRIES > 0
