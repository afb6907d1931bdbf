"""CP decomposition: against pyttb, dense arithmetic, and what must hold of any result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import pyttb
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import EigentreeError, SettingsError, ShapeError, TensorError
from eigentree.linalg import cp as module
from eigentree.linalg.cp import (
    METHODS,
    CPOptions,
    Decomposition,
    cp_als,
    cp_apr,
    cp_hals,
    decompose,
    random_start,
)
from eigentree.linalg.multilinear import Kruskal, SparseTensor, mttkrp, others
from tests.helpers import close

ALGORITHMS = {"apr": cp_apr, "als": cp_als, "hals": cp_hals}
NONNEGATIVE = ("apr", "hals")


def sparse(dense: np.ndarray) -> SparseTensor:
    subscripts = np.argwhere(dense != 0).astype(np.int32)
    return SparseTensor(subscripts, dense[dense != 0].astype(float), dense.shape)


def random_tensor(
    rng: np.random.Generator, shape: tuple[int, int, int] = (5, 6, 7), share: float = 0.3
) -> SparseTensor:
    dense = rng.uniform(0.05, 1.0, shape) * (rng.uniform(size=shape) < share)
    dense[0, 0, 0] = 1.0
    return sparse(dense)


def dense_of(tensor: SparseTensor) -> np.ndarray:
    dense = np.zeros(tensor.shape)
    dense[tuple(tensor.subscripts.T)] = tensor.values
    return dense


def low_rank(rng: np.random.Generator, rank: int, shape: tuple[int, int, int]) -> Kruskal:
    """Non-negative, with blocks of zeros, so that its outer products are told apart."""
    factors = []
    for size in shape:
        factor = rng.uniform(0.2, 1.0, (size, rank)) * (rng.uniform(size=(size, rank)) < 0.6)
        factor[np.arange(size), np.arange(size) % rank] += 0.5
        factors.append(factor)
    first, second, third = factors
    return Kruskal(rng.uniform(1.0, 2.0, rank), (first, second, third))


def bytes_of(found: Decomposition) -> list[bytes]:
    kruskal = found.kruskal
    arrays = (kruskal.weights, *kruskal.factors, found.objective, found.violation, found.finals)
    return [array.tobytes() for array in arrays]


# The Kruskal form --------------------------------------------------------------------------


def test_kruskal_agrees_with_its_dense_tensor(rng: np.random.Generator):
    factors = tuple(rng.standard_normal((size, 4)) for size in (3, 5, 6))
    kruskal = Kruskal(rng.standard_normal(4), factors)
    dense = np.zeros((3, 5, 6))
    for weight, a, b, c in zip(kruskal.weights, *(factor.T for factor in factors), strict=True):
        dense += weight * np.multiply.outer(np.outer(a, b), c)
    assert close(kruskal.dense(), dense, rtol=1e-12, atol=1e-13)
    tensor = random_tensor(rng, (3, 5, 6))
    assert close(
        kruskal.at(tensor.subscripts), dense[tuple(tensor.subscripts.T)], rtol=1e-12, atol=1e-13
    )
    assert close(kruskal.norm, np.linalg.norm(dense), rtol=1e-12)
    assert close(kruskal.total, dense.sum(), rtol=1e-12)
    assert close(kruskal.error(tensor), np.linalg.norm(dense_of(tensor) - dense), rtol=1e-12)
    assert (kruskal.rank, kruskal.shape) == (4, (3, 5, 6))


def test_divergence_is_the_sum_over_all_entries(rng: np.random.Generator):
    kruskal, tensor = low_rank(rng, 3, (4, 5, 6)), random_tensor(rng, (4, 5, 6))
    positive = Kruskal(kruskal.weights, tuple(factor + 0.1 for factor in kruskal.factors))
    dense, entries = positive.dense(), dense_of(tensor)
    assert close(positive.divergence(tensor), np.sum(dense - entries * np.log(dense)), rtol=1e-12)


def test_divergence_without_mass_at_a_nonzero_is_infinite():
    tensor = SparseTensor(np.array([[0, 0, 0], [1, 1, 1]], np.int32), np.ones(2), (2, 2, 2))
    first = np.array([[1.0], [0.0]])
    kruskal = Kruskal(np.ones(1), (first, first, first))
    assert kruskal.divergence(tensor) == np.inf
    silent = SparseTensor(tensor.subscripts, np.array([1.0, 0.0]), tensor.shape)
    assert kruskal.divergence(silent) == 1.0


@pytest.mark.parametrize("order", [1, 2])
def test_normalised_is_the_same_tensor(rng: np.random.Generator, order: int):
    factors = [rng.standard_normal((size, 5)) for size in (3, 4, 6)]
    factors[1][:, 2] = 0.0
    kruskal = Kruskal(rng.standard_normal(5), tuple(factors))
    found = kruskal.normalised(order)
    assert close(found.dense(), kruskal.dense(), rtol=1e-12, atol=1e-14)
    assert np.all(np.diff(found.weights) <= 0)
    assert found.weights[-1] == 0.0
    for factor in found.factors:
        norms = np.linalg.norm(factor, ord=order, axis=0)
        assert close(norms, [1.0, 1.0, 1.0, 1.0, 0.0], rtol=1e-12)
    for factor in found.factors[:2]:
        assert np.all(factor[np.argmax(np.abs(factor), axis=0), np.arange(5)][:4] > 0)


def test_without_dust_only_small_entries_go(rng: np.random.Generator):
    kruskal = Kruskal(np.ones(2), tuple(rng.uniform(1.0, 2.0, (n, 2)) for n in (3, 4, 5)))
    kruskal.factors[1][2] = [1e-9, -1e-15]
    found = kruskal.without_dust(1e-12)
    assert found.factors[1][2].tolist() == [1e-9, 0.0]
    kruskal.factors[1][2, 1] = 0.0
    for one, other in zip(found.factors, kruskal.factors, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_mttkrp_agrees_with_einsum(rng: np.random.Generator, mode: int):
    tensor = random_tensor(rng)
    factors = [rng.standard_normal((size, 9)) for size in tensor.shape]
    low, high = others(mode)
    letters = "ijl"
    product = f"ijl,{letters[low]}k,{letters[high]}k->{letters[mode]}k"
    expected = np.einsum(product, dense_of(tensor), factors[low], factors[high])
    found = mttkrp(tensor.by_mode(mode), factors[low], factors[high], tensor.shape[mode])
    assert close(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_mttkrp_and_gram_make_the_gradient(rng: np.random.Generator, mode: int):
    # Of |T - K|^2 / 2 by one factor: B G - M, held against central differences.
    tensor = random_tensor(rng, (3, 4, 5))
    factors = [rng.uniform(0.5, 1.5, (size, 2)) for size in tensor.shape]
    low, high = others(mode)
    gram = (factors[low].T @ factors[low]) * (factors[high].T @ factors[high])
    target = mttkrp(tensor.by_mode(mode), factors[low], factors[high], tensor.shape[mode])
    gradient = factors[mode] @ gram - target
    step = 1e-5
    for place in np.ndindex(gradient.shape):
        sides = []
        for sign in (1.0, -1.0):
            moved = [factor.copy() for factor in factors]
            moved[mode][place] += sign * step
            difference = dense_of(tensor) - np.einsum("ik,jk,lk->ijl", *moved)
            sides.append(np.sum(difference**2) / 2)
        assert close((sides[0] - sides[1]) / (2 * step), gradient[place], rtol=1e-6, atol=1e-8)


# Against pyttb -----------------------------------------------------------------------------


def as_pyttb(tensor: SparseTensor, start: Kruskal) -> tuple[pyttb.sptensor, pyttb.ktensor]:
    subscripts = tensor.subscripts.astype(np.int64)
    return (
        pyttb.sptensor(subscripts, tensor.values[:, None].copy(), tensor.shape),
        pyttb.ktensor([factor.copy() for factor in start.factors], start.weights.copy()),
    )


@pytest.mark.parametrize("rank", [1, 4, 12])
@pytest.mark.parametrize("iterations", [1, 2, 6])
def test_apr_is_that_of_pyttb(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, rank: int, iterations: int
):
    # pyttb lifts zeros whose ratio is above 0, the paper those above 1: here neither lifts any.
    monkeypatch.setattr(module, "ZERO_BELOW", 0.0)
    tensor = random_tensor(rng, (9, 8, 10), 0.1)
    start = random_start(tensor.shape, rank, rng)
    theirs, init = as_pyttb(tensor, start)
    expected, _, output = pyttb.cp_apr(
        theirs, rank, init=init, maxiters=iterations, stoptol=0.0, kappatol=0.0, printitn=0
    )
    found = cp_apr(tensor, start, CPOptions(rank, iterations=iterations, tolerance=0.0))
    assert close(found.objective[-1], -output["obj"], rtol=1e-12)
    assert close(found.kruskal.dense(), expected.full().double(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 4])
def test_als_is_that_of_pyttb(rng: np.random.Generator, rank: int):
    tensor = random_tensor(rng, (9, 8, 10), 0.4)
    start = random_start(tensor.shape, rank, rng)
    theirs, init = as_pyttb(tensor, start)
    expected, _, _ = pyttb.cp_als(theirs, rank, init=init, maxiters=7, stoptol=0.0, printitn=0)
    found = cp_als(tensor, start, CPOptions(rank, "als", iterations=7, tolerance=0.0))
    assert close(found.kruskal.dense(), expected.full().double(), rtol=1e-6, atol=1e-8)


# Against the paper, in dense arithmetic ----------------------------------------------------


def paper_apr(
    dense: np.ndarray, start: Kruskal, iterations: int, updates: int
) -> tuple[np.ndarray, list[int]]:
    """Algorithm 3 of Chi and Kolda (2012), word by word; and how many zeros were lifted."""
    factors = [factor.copy() for factor in start.factors]
    weights = start.weights.copy()
    for factor in factors:
        weights *= factor.sum(axis=0)
        factor /= factor.sum(axis=0)
    ratios = [np.zeros_like(factor) for factor in factors]
    lifted = []
    for _ in range(iterations):
        lifted.append(0)
        for mode, factor in enumerate(factors):
            low, high = others(mode)
            wrong = (factor < 1e-10) & (ratios[mode] > 1)
            lifted[-1] += int(wrong.sum())
            b = (factor + 0.01 * wrong) * weights
            pi = np.einsum("jk,lk->jlk", factors[low], factors[high]).reshape(-1, len(weights))
            unfolded = np.moveaxis(dense, mode, 0).reshape(len(factor), -1)
            for _ in range(updates):
                ratios[mode] = (unfolded / np.maximum(b @ pi.T, 1e-10)) @ pi
                b = b * ratios[mode]
            weights = b.sum(axis=0)
            factors[mode] = b / weights
    return np.einsum("k,ik,jk,lk->ijl", weights, *factors), lifted


def test_apr_is_that_of_the_paper(rng: np.random.Generator):
    tensor = random_tensor(rng, (9, 8, 10), 0.1)
    start = random_start(tensor.shape, 12, rng)
    expected, lifted = paper_apr(dense_of(tensor), start, 12, 10)
    found = cp_apr(tensor, start, CPOptions(12, iterations=12, tolerance=0.0))
    assert sum(lifted) > 0
    assert found.offset.tolist() == lifted
    assert close(found.kruskal.dense(), expected, rtol=1e-7, atol=1e-10)


# What must hold of any result --------------------------------------------------------------

tensors = st.builds(
    lambda seed, shape, share: random_tensor(np.random.default_rng(seed), shape, share),
    st.integers(0, 2**32 - 1),
    st.tuples(*[st.integers(1, 6)] * 3),
    st.floats(0.05, 0.9),
)


@pytest.mark.parametrize("method", METHODS)
@given(tensor=tensors, rank=st.integers(1, 9), seed=st.integers(0, 99))
def test_objective_never_rises(method: str, tensor: SparseTensor, rank: int, seed: int):
    options = CPOptions(rank, method, iterations=12, inner_iterations=3, tolerance=0.0, seed=seed)
    found = decompose(tensor, options)
    # Where zeros were lifted the objective may rise, for an iteration.
    # Errors are differences of squares, so that small ones have half the digits.
    slack = 1e-9 * np.abs(found.objective).max()
    if method != "apr":
        slack = 1e-7 * max(tensor.norm, found.kruskal.weights.sum())
    rises = np.diff(found.objective) > slack
    assert not np.any(rises & (found.offset[1:] == 0))
    if method == "apr":
        told, expected = found.objective[-1], found.kruskal.divergence(tensor)
        assert close(told, expected, rtol=1e-9, atol=1e-9 * tensor.values.sum())
    else:
        error = found.kruskal.error(tensor)
        assert close(found.objective[-1], error, rtol=1e-9, atol=1e-6 * tensor.norm)


@pytest.mark.parametrize("method", METHODS)
@given(tensor=tensors, rank=st.integers(1, 9))
def test_results_are_in_order(method: str, tensor: SparseTensor, rank: int):
    kruskal = decompose(tensor, CPOptions(rank, method, iterations=4)).kruskal
    assert np.all(np.diff(kruskal.weights) <= 0)
    assert np.all(kruskal.weights >= 0)
    for mode, factor in enumerate(kruskal.factors):
        norms = np.linalg.norm(factor, ord=1 if method in NONNEGATIVE else 2, axis=0)
        assert close(norms, (kruskal.weights > 0).astype(float), rtol=1e-12)
        if method in NONNEGATIVE:
            assert np.all(factor >= 0)
        empty = np.setdiff1d(np.arange(tensor.shape[mode]), tensor.subscripts[:, mode])
        assert not np.any(factor[empty])


@pytest.mark.parametrize("method", METHODS)
def test_low_rank_tensors_are_found(rng: np.random.Generator, method: str):
    truth = low_rank(rng, 3, (6, 7, 8)).normalised(1 if method in NONNEGATIVE else 2)
    tensor = sparse(truth.dense())
    options = CPOptions(3, method, iterations=3000, tolerance=1e-13, restarts=4)
    found = decompose(tensor, options)
    assert found.kruskal.error(tensor) / tensor.norm < 1e-4
    assert close(found.kruskal.weights, truth.weights, rtol=1e-3)
    for own, expected in zip(found.kruskal.factors, truth.factors, strict=True):
        assert close(own, expected, rtol=0.0, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_one_outer_product_is_found_to_rounding(rng: np.random.Generator, method: str):
    truth = low_rank(rng, 1, (4, 5, 6))
    found = decompose(sparse(truth.dense()), CPOptions(1, method, tolerance=1e-12))
    assert found.stopped == "converged"
    expected = truth.normalised(1 if method in NONNEGATIVE else 2)
    assert close(found.kruskal.weights, expected.weights, rtol=1e-8)
    assert close(found.kruskal.dense(), truth.dense(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_rank_beyond_the_lengths_of_the_modes(rng: np.random.Generator, method: str):
    tensor = random_tensor(rng, (3, 2, 4), 0.6)
    options = CPOptions(30, method, iterations=500, tolerance=0.0)
    found = decompose(tensor, options)
    assert found.kruskal.rank == 30
    assert found.kruskal.error(tensor) / tensor.norm < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_empty_slices_have_rows_of_zeros(rng: np.random.Generator, method: str):
    inner = dense_of(random_tensor(rng, (3, 4, 5)))
    dense = np.zeros((6, 9, 8))
    dense[np.ix_([1, 2, 5], [0, 3, 4, 8], [2, 3, 4, 5, 6])] = inner
    found = decompose(sparse(dense), CPOptions(4, method, iterations=5, tolerance=0.0))
    for mode, factor in enumerate(found.kruskal.factors):
        assert np.isfinite(factor).all()
        empty = ~np.any(dense, axis=others(mode))
        assert empty.any()
        assert not factor[empty].any()


@pytest.mark.parametrize("method", METHODS)
def test_order_of_nonzeros_changes_nothing(rng: np.random.Generator, method: str):
    tensor = random_tensor(rng)
    order = rng.permutation(len(tensor.values))
    shuffled = SparseTensor(tensor.subscripts[order], tensor.values[order], tensor.shape)
    options = CPOptions(4, method, iterations=6)
    assert bytes_of(decompose(tensor, options)) == bytes_of(decompose(shuffled, options))


@pytest.mark.parametrize("power", [-900, -3, 1, 900])
@pytest.mark.parametrize("method", METHODS)
def test_scale_changes_only_weights(rng: np.random.Generator, method: str, power: int):
    tensor = random_tensor(rng)
    scaled = SparseTensor(tensor.subscripts, np.ldexp(tensor.values, power), tensor.shape)
    start = random_start(tensor.shape, 4, rng)
    same = replace(start, weights=np.ldexp(start.weights, power))
    options = CPOptions(4, method, iterations=6)
    own = ALGORITHMS[method](tensor, start, options).kruskal
    other = ALGORITHMS[method](scaled, same, options).kruskal
    assert np.array_equal(np.ldexp(own.weights, power), other.weights)
    assert all(np.array_equal(a, b) for a, b in zip(own.factors, other.factors, strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_modes_are_alike(rng: np.random.Generator, method: str):
    # Turning the modes round turns the factors round, once the turns have come to rest.
    truth = low_rank(rng, 2, (4, 5, 6))
    dense = truth.dense()
    options = CPOptions(2, method, iterations=4000, tolerance=1e-12, restarts=3)
    own = decompose(sparse(dense), options).kruskal
    turned = decompose(sparse(np.ascontiguousarray(dense.transpose(2, 0, 1))), options).kruskal
    assert close(own.dense().transpose(2, 0, 1), turned.dense(), rtol=0.0, atol=1e-3)


def test_apr_reaches_a_point_that_is_optimal(rng: np.random.Generator):
    # From the dense definition: B >= 0, 1 - Phi >= 0, B * (1 - Phi) = 0.
    tensor = random_tensor(rng, (5, 6, 4), 0.4)
    found = decompose(tensor, CPOptions(3, iterations=20_000, tolerance=1e-6))
    assert found.stopped == "converged"
    assert found.violation[-1] < 1e-6 <= found.violation[-2]
    weights, factors = found.kruskal.weights, found.kruskal.factors
    share = np.zeros(tensor.shape)
    np.divide(dense_of(tensor), found.kruskal.dense(), out=share, where=dense_of(tensor) > 0)
    for mode in range(3):
        low, high = others(mode)
        letters = "ijl"
        product = f"ijl,{letters[low]}k,{letters[high]}k->{letters[mode]}k"
        ratio = np.einsum(product, share, factors[low], factors[high])
        rows = np.unique(tensor.subscripts[:, mode])
        violation = np.minimum(factors[mode] * weights, 1.0 - ratio)[rows]
        assert np.abs(violation).max() < 1e-5


def wrong_zero() -> tuple[SparseTensor, Kruskal]:
    """A tensor of rank 2, and a start whose first outer product lacks the second row.

    The other one gives it mass, but has to spread it over entries that are 0.
    """
    dense = np.zeros((2, 2, 2))
    dense[0, 0, 0] = dense[1, 0, 0] = dense[1, 1, 1] = 1.0
    first = np.array([[1.0, 1.0], [0.0, 1.0]])
    rest = np.array([[1.0, 0.2], [0.1, 1.0]])
    return sparse(dense), Kruskal(np.ones(2), (first, rest, rest))


def test_apr_gets_out_of_wrong_zeros(monkeypatch: pytest.MonkeyPatch):
    tensor, start = wrong_zero()
    options = CPOptions(2, iterations=500)
    found = cp_apr(tensor, start, options)
    assert found.offset.sum() > 0
    assert found.stopped == "converged"
    assert close(found.kruskal.dense(), dense_of(tensor), rtol=0.0, atol=1e-3)
    monkeypatch.setattr(module, "OFFSET", 0.0)
    stuck = cp_apr(tensor, start, options)
    assert stuck.kruskal.dense()[1, 0, 0] < 0.6
    assert stuck.stopped == "iterations"


def test_hals_gets_out_of_wrong_zeros():
    tensor, start = wrong_zero()
    found = cp_hals(tensor, start, CPOptions(2, "hals", iterations=300, tolerance=1e-12))
    assert close(found.kruskal.dense(), dense_of(tensor), rtol=0.0, atol=1e-4)


def test_hals_meets_negative_values_with_zeros(rng: np.random.Generator):
    dense = dense_of(random_tensor(rng))
    dense[2] *= -1.0
    found = decompose(sparse(dense), CPOptions(3, "hals", iterations=50))
    assert close(found.kruskal.factors[0][2], np.zeros(3), rtol=0.0)


def test_als_takes_any_sign(rng: np.random.Generator):
    factors = tuple(rng.standard_normal((size, 2)) for size in (5, 6, 7))
    truth = Kruskal(np.array([2.0, -1.0]), factors)
    tensor = sparse(truth.dense())
    found = decompose(tensor, CPOptions(2, "als", iterations=2000, tolerance=1e-12, restarts=3))
    expected = truth.normalised(2)
    assert close(found.kruskal.weights, expected.weights, rtol=1e-4)
    for own, factor in zip(found.kruskal.factors, expected.factors, strict=True):
        assert close(own, factor, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_zero_start_gives_zeros(rng: np.random.Generator, method: str):
    tensor = random_tensor(rng)
    start = random_start(tensor.shape, 2, rng)
    nothing = Kruskal(start.weights * 0.0, tuple(factor * 0.0 for factor in start.factors))
    found = ALGORITHMS[method](tensor, nothing, CPOptions(2, method, iterations=3))
    assert not found.kruskal.weights.any()
    assert not any(factor.any() for factor in found.kruskal.factors)


# Starts, processes, progress ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_number_of_processes_changes_nothing(rng: np.random.Generator, method: str):
    tensor = random_tensor(rng)
    options = CPOptions(4, method, iterations=8, restarts=3, seed=7)
    shares: list[float] = []
    one = decompose(tensor, options)
    two = decompose(
        tensor, options, processes=2, progress=lambda _stage, share: shares.append(share)
    )
    assert bytes_of(one) == bytes_of(two)
    assert (one.restart, one.stopped) == (two.restart, two.stopped)
    assert shares == [1 / 3, 2 / 3, 1.0]


def test_best_of_several_starts_is_kept(rng: np.random.Generator):
    tensor = random_tensor(rng)
    options = CPOptions(4, iterations=10, restarts=5)
    found = decompose(tensor, options)
    assert len(set(found.finals)) == 5
    assert found.objective[-1] == found.finals.min() == found.finals[found.restart]
    first = decompose(tensor, replace(options, restarts=1))
    assert first.objective[-1] == found.finals[0]
    assert decompose(tensor, replace(options, seed=1)).finals[0] != found.finals[0]


def test_start_is_drawn_evenly(rng: np.random.Generator):
    start = random_start((30, 40, 50), 20, rng)
    assert start.shape == (30, 40, 50)
    assert start.weights.tolist() == [1.0] * 20
    for factor in start.factors:
        assert 0 <= factor.min() < 0.01
        assert 0.99 < factor.max() < 1.0
        assert abs(factor.mean() - 0.5) < 0.05


@pytest.mark.parametrize("method", METHODS)
def test_progress_ends_at_one(rng: np.random.Generator, method: str):
    told: list[tuple[str, float]] = []
    options = CPOptions(2, method, iterations=5, restarts=2, tolerance=0.0)
    decompose(random_tensor(rng), options, progress=lambda *each: told.append(each))
    assert {stage for stage, _ in told} == {"decomposition"}
    assert close([share for _, share in told], np.arange(1, 11) / 10, rtol=1e-12)


def test_start_and_tensor_are_not_changed(rng: np.random.Generator):
    tensor = random_tensor(rng)
    start = random_start(tensor.shape, 3, rng)
    before = [array.tobytes() for array in (tensor.values, start.weights, *start.factors)]
    for method, algorithm in ALGORITHMS.items():
        algorithm(tensor, start, CPOptions(3, method, iterations=3))
    assert before == [array.tobytes() for array in (tensor.values, start.weights, *start.factors)]


# What is refused ---------------------------------------------------------------------------

ONE = np.zeros((1, 3), np.int32)


def two_alike() -> SparseTensor:
    return SparseTensor(np.array([[1, 0, 2]] * 2, np.int32), np.ones(2), (2, 1, 3))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SparseTensor(ONE, np.array([np.nan]), (1, 1, 1)), TensorError, "is nan"),
        (lambda: SparseTensor(ONE, np.array([np.inf]), (1, 1, 1)), TensorError, "is inf"),
        (lambda: SparseTensor(ONE[:0], np.ones(0), (1, 1, 1)), TensorError, "must be non-zero"),
        (lambda: SparseTensor(ONE, np.zeros(1), (1, 1, 1)), TensorError, "must be non-zero"),
        (two_alike, TensorError, r"duplicate subscript \(1, 0, 2\)"),
        (lambda: SparseTensor(ONE + 2, np.ones(1), (3, 2, 3)), TensorError, "out of range"),
        (lambda: SparseTensor(ONE - 1, np.ones(1), (3, 2, 3)), TensorError, "out of range"),
        (lambda: SparseTensor(ONE, np.ones(2), (1, 1, 1)), ShapeError, "must be 1"),
        (lambda: SparseTensor(ONE[:, :2], np.ones(1), (1, 1, 1)), ShapeError, "must be 3"),
        (lambda: SparseTensor(ONE, np.ones(1), (1, 0, 1)), ShapeError, "three lengths"),
        (lambda: SparseTensor(ONE, np.ones(1), (1, 1)), ShapeError, "three lengths"),
        (lambda: SparseTensor(ONE + 0.0, np.ones(1), (1, 1, 1)), ShapeError, "must hold int32"),
        (lambda: Kruskal(np.ones(1), (np.ones((2, 1)),) * 2), ShapeError, "must be 3"),
        (lambda: Kruskal(np.ones(2), (np.ones((2, 1)),) * 3), ShapeError, "must be 2"),
        (lambda: Kruskal(np.ones(0), (np.ones((2, 0)),) * 3), ShapeError, "at least 1 is needed"),
        (lambda: Kruskal(np.ones(1) / 0.0, (np.ones((2, 1)),) * 3), TensorError, "not finite"),
        (lambda: CPOptions(0), SettingsError, "rank is 0"),
        (lambda: CPOptions(1, iterations=0), SettingsError, "iterations is 0"),
        (lambda: CPOptions(1, inner_iterations=0), SettingsError, "inner_iterations is 0"),
        (lambda: CPOptions(1, restarts=0), SettingsError, "restarts is 0"),
        (lambda: CPOptions(1, tolerance=-1.0), SettingsError, "tolerance is -1"),
        (lambda: CPOptions(1, tolerance=np.nan), SettingsError, "tolerance is nan"),
        (lambda: CPOptions(1, seed=-1), SettingsError, "seed is -1"),
        (lambda: CPOptions(1, "svd"), SettingsError, "method is 'svd'"),
    ],
)
def test_what_has_no_meaning_is_refused(
    make: Callable[[], object], error: type[EigentreeError], message: str
):
    with np.errstate(divide="ignore"), pytest.raises(error, match=message):
        make()


def test_apr_refuses_negative_values():
    tensor = SparseTensor(ONE, np.array([-1.0]), (1, 1, 1))
    with pytest.raises(TensorError, match=r"\(0, 0, 0\) is -1.0; method apr"):
        decompose(tensor, CPOptions(1))
    assert decompose(tensor, CPOptions(1, "als")).kruskal.weights.tolist() == [1.0]


@pytest.mark.parametrize("method", METHODS)
def test_starts_that_do_not_suit_are_refused(rng: np.random.Generator, method: str):
    tensor, options = random_tensor(rng), CPOptions(2, method, iterations=1)
    with pytest.raises(ShapeError, match="the start has shape"):
        ALGORITHMS[method](tensor, random_start((5, 6, 8), 2, rng), options)
    negative = random_start(tensor.shape, 2, rng)
    negative.factors[1][0, 0] = -0.5
    if method in NONNEGATIVE:
        with pytest.raises(TensorError, match="negative number"):
            ALGORITHMS[method](tensor, negative, options)
    else:
        ALGORITHMS[method](tensor, negative, options)
