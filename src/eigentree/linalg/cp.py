"""CP decomposition: a sparse third-order tensor as a sum of few outer products.

The factors of a tensor in Kruskal form are improved alternately: with two of them fixed, the third
is updated, mode after mode, in *iterations* over all three.  The methods differ in the objective:

``apr``
    Alternating Poisson regression (Chi and Kolda 2012) minimises the Kullback-Leibler objective
    sum of K - sum of T log K with non-negative numbers.  With B the mode's factor times the
    weights, and Pi the products of the other two, a turn makes a few updates B <- B * Phi, with
    Phi = (T / (B Pi)) Pi', element by element.
``als``
    Alternating least squares minimises |T - K|^2 with numbers of any sign.  A turn solves
    B G = M, with M the product of T and the other two factors (MTTKRP) and G the Hadamard product
    of their Gram matrices.
``hals``
    The same objective with non-negative numbers, by coordinate descent in each row of B
    (Cichocki and Phan 2009).  Unlike multiplicative updates it reaches zeros in finitely many
    steps, can leave them, and has no divisor that may vanish.

Only non-zeros of T and rows of factors are visited.  The objectives have many local minima, so
`decompose` makes several random starts and keeps the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy import linalg

from eigentree._core.arguments import check_choice
from eigentree._core.processes import USE_FEWER_JOBS, worker_pool
from eigentree._core.random import generator
from eigentree.errors import SettingsError, ShapeError, TensorError, check_range
from eigentree.linalg.arrays import ByMode, Scratch
from eigentree.linalg.multilinear import MODES, Kruskal, SparseTensor, mttkrp, others
from eigentree.linalg.threads import one_thread
from eigentree.types import Floats, Ints, Longs, Progress

Method = Literal["apr", "als", "hals"]
Stopped = Literal["converged", "iterations"]

METHODS: tuple[Method, ...] = get_args(Method)
STAGE = "decomposition"

# For alternating Poisson regression: divisors are at least FLOOR; numbers below ZERO_BELOW whose
# ratio is above LIFT_ABOVE have OFFSET added.  These are the values of the paper's implementation,
# for columns that sum to 1 and tensors whose largest value is about 1.
FLOOR = 1e-200
ZERO_BELOW = 1e-10
LIFT_ABOVE = 1.0
OFFSET = 0.01
# The multiple of the identity added to Gram matrices, whose diagonal is 1.
PROXIMAL = 1e-10


@dataclass(frozen=True)
class CPOptions:
    """Options of a CP decomposition.

    Attributes
    ----------
    rank
        Number of outer products, r; it may exceed the lengths of the modes.
    method
        ``apr``, ``als`` or ``hals``; see `eigentree.linalg.cp`.
    iterations
        Maximum number of iterations over all modes.
    inner_iterations
        Updates in each mode's turn with ``apr``, maximum passes with ``hals``; not used by ``als``.
    tolerance
        ``apr`` stops when no number violates its condition of optimality by more, ``als`` and
        ``hals`` when an iteration lowers the relative error by less.  With 0 all iterations are
        made.
    restarts
        Number of random starts; the result with the smallest objective is kept.
    seed
        Seed of all starts, at least 0.
    """

    rank: int
    method: Method = "apr"
    iterations: int = 100
    inner_iterations: int = 10
    tolerance: float = 1e-4
    restarts: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(METHODS, method=self.method)
        check_range(
            1,
            rank=self.rank,
            iterations=self.iterations,
            inner_iterations=self.inner_iterations,
            restarts=self.restarts,
        )
        check_range(0, tolerance=self.tolerance, seed=self.seed)


class Decomposition(NamedTuple):
    """The result of a decomposition, and its course.

    Attributes
    ----------
    kruskal
        The result in the form of `Kruskal.normalised`: columns sum to 1, or have Euclidean norm 1
        for ``als``.
    objective : float64, axes (iterations)
        After each iteration: `Kruskal.divergence` for ``apr``, else `Kruskal.error`.
    violation : float64, axes (iterations)
        The figure compared with the tolerance: for ``apr`` the largest violation of a condition of
        optimality at the start of a mode's turn, otherwise the fall of the relative error.
    offset : int64, axes (iterations)
        Number of entries lifted from a zero that was not optimal; 0 except for ``apr``.
    stopped
        ``converged`` within the tolerance, or ``iterations`` at the maximum number of iterations.
    restart
        Number of the start that led to the result.
    finals : float64, axes (restarts)
        The final objective of each start.
    """

    kruskal: Kruskal
    objective: Floats
    violation: Floats
    offset: Longs
    stopped: Stopped
    restart: int
    finals: Floats


def decompose(
    tensor: SparseTensor,
    options: CPOptions,
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> Decomposition:
    """The best of several decompositions of a tensor, from different random starts.

    Parameters
    ----------
    tensor
        The tensor; non-negative for ``apr``.
    options
        Rank, method, stopping, starts.
    processes
        Number of processes for the starts; the result is the same for any number.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Returns
    -------
    Decomposition
        The one with the smallest final objective; the first of equals.

    Raises
    ------
    TensorError
        When a value is negative and the method is ``apr``.

    Cost
    ----
    For each start and iteration O(inner iterations * nonzeros * r) with ``apr``; with ``als``
    O(nonzeros * r + rows * r^2 + r^3), and with ``hals`` up to inner iterations * rows * r^2.

    References
    ----------
    chi-2012; kolda-2009; cichocki-2009.
    """
    if options.method == "apr":
        _refuse_negative(tensor)
    processes = min(processes, options.restarts)
    results: list[Decomposition | None] = [None] * options.restarts
    if processes <= 1:
        for restart in range(options.restarts):
            part = _part_of(progress, restart, options.restarts)
            results[restart] = _from_start(tensor, options, restart, part)
    else:
        try:
            with worker_pool(processes, _start_worker, tensor, options) as pool:
                futures = {
                    pool.submit(_from_start_here, each): each for each in range(len(results))
                }
                for n_done, future in enumerate(as_completed(futures), start=1):
                    results[futures[future]] = future.result()
                    if progress:
                        progress(STAGE, n_done / options.restarts)
        except BrokenProcessPool as error:
            raise SettingsError(USE_FEWER_JOBS) from error
    complete = [each for each in results if each is not None]
    finals = np.array([each.objective[-1] for each in complete])
    best = int(np.argmin(finals))
    return complete[best]._replace(restart=best, finals=finals)


_here: tuple[SparseTensor, CPOptions]


def _start_worker(tensor: SparseTensor, options: CPOptions) -> None:
    global _here  # the work of this worker process
    _here = (tensor, options)


def _from_start_here(restart: int) -> Decomposition:
    return _from_start(*_here, restart, None)


def _part_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """A callback for one of several equal parts of the work."""
    if progress is None:
        return None

    def partial(stage: str, share: float) -> None:
        progress(stage, (part + share) / parts)

    return partial


def _from_start(
    tensor: SparseTensor, options: CPOptions, restart: int, progress: Progress | None
) -> Decomposition:
    start = random_start(tensor.shape, options.rank, generator(options.seed, restart))
    method = {"apr": cp_apr, "als": cp_als, "hals": cp_hals}[options.method]
    return method(tensor, start, options, progress=progress)


def random_start(shape: tuple[int, int, int], rank: int, rng: np.random.Generator) -> Kruskal:
    """Factors drawn uniformly from 0 to 1, and weights of 1.

    Parameters
    ----------
    shape
        Length of each mode.
    rank
        Number of outer products, r.
    rng
        Random numbers are drawn mode after mode, row after row.
    """
    first, second, third = (rng.uniform(size=(size, rank)) for size in shape)
    return Kruskal(np.ones(rank), (first, second, third))


def cp_apr(
    tensor: SparseTensor,
    start: Kruskal,
    options: CPOptions,
    *,
    progress: Progress | None = None,
) -> Decomposition:
    """Non-negative decomposition by alternating Poisson regression with multiplicative updates.

    Parameters
    ----------
    tensor
        Non-negative.
    start
        Non-negative, with the tensor's shape; its rank is used, not that of the options.
    options
        Iterations and tolerance.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Returns
    -------
    Decomposition
        Slices of the tensor without non-zeros have rows of zeros.

    Raises
    ------
    TensorError
        When a value of the tensor, or a number of the start, is negative.

    Cost
    ----
    O(inner iterations * nonzeros * r) an iteration; O(nonzeros + rows * r) memory.

    Notes
    -----
    Algorithm 3 of the paper.  A number that has become 0 stays 0 under multiplication, even if a
    ratio above 1 shows that the objective would fall if it grew: such numbers have `OFFSET` added
    before a mode's turn.  That may raise the objective for an iteration; otherwise it never rises.
    A row that is zero in all outer products of the start, and an outer product of weight 0, stay
    zero.

    Differences from the paper: every turn makes all its updates, even if the mode is optimal
    before; and the tensor is divided by the power of two below its largest value, so that
    tolerance, floor and offset don't depend on its scale.

    References
    ----------
    chi-2012, algorithm 3.
    """
    from eigentree.linalg._kernels_cp import poisson_rows, positive_places

    _refuse_negative(tensor)
    _check_start(tensor, start, signed=False)
    problem = _Fit.of(tensor)
    weights, factors = problem.begin(start, order=1)
    ratios = [np.zeros_like(factor) for factor in factors]
    scratch = Scratch.of(problem.layouts, start.rank)
    mass = float(problem.layouts[0].values.sum())

    record = _Record(options, progress)
    for iteration in range(options.iterations):
        violation, offset, log_likelihood = 0.0, 0, 0.0
        for mode, layout in enumerate(problem.layouts):
            low, high = others(mode)
            factor = factors[mode]
            if iteration:
                # Ratios are those of this mode's last turn, as in the paper.
                wrong = (factor < ZERO_BELOW) & (ratios[mode] > LIFT_ABOVE)
                factor[wrong] += OFFSET
                offset += int(np.count_nonzero(wrong))
            factor *= weights
            positive = (
                np.empty(len(factors[low]) + 1, np.int64),
                np.empty(factors[low].size, np.int64),
            )
            positive_places(factors[low], *positive)
            reached, log_likelihood = poisson_rows(
                layout,
                factors[low],
                factors[high],
                positive,
                options.inner_iterations,
                FLOOR,
                factor,
                ratios[mode],
                scratch,
            )
            violation = max(violation, reached)
            weights, factors[mode] = _columns(factor, order=1)
        # Columns sum to 1, so the entries sum to the weights.
        objective = float(weights.sum()) - log_likelihood - math.log(problem.scale) * mass
        converged = violation < options.tolerance
        if record.add(problem.scale * objective, violation, offset, converged):
            break
    return record.result(problem.result(weights, factors, order=1))


def cp_als(
    tensor: SparseTensor,
    start: Kruskal,
    options: CPOptions,
    *,
    progress: Progress | None = None,
) -> Decomposition:
    """Decomposition by alternating least squares, with numbers of any sign.

    Parameters
    ----------
    tensor
        Of any sign.
    start
        With the tensor's shape; its rank is used, not that of the options.
    options
        Iterations and tolerance.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Returns
    -------
    Decomposition
        Slices of the tensor without non-zeros have rows of zeros.

    Cost
    ----
    O(nonzeros * r + rows * r^2 + r^3) an iteration; O(rows * r + r^2) memory.

    Notes
    -----
    The Gram matrix is singular if outer products have become equal or r exceeds the rank of the
    unfoldings.  A turn minimises |T - K|^2 + `PROXIMAL` |B - previous B|^2, which has a unique
    solution, changes nothing without effect, and never raises the objective.

    References
    ----------
    kolda-2009, figure 3.3.
    """

    def solve(target: Floats, gram: Floats, factor: Floats) -> Floats:
        right = (target + PROXIMAL * factor).T
        left = gram + PROXIMAL * np.eye(len(gram))
        solved = linalg.cho_solve(linalg.cho_factor(left, check_finite=False), right)
        return np.ascontiguousarray(solved.T)

    return _least_squares(tensor, start, options, solve, progress, signed=True)


def cp_hals(
    tensor: SparseTensor,
    start: Kruskal,
    options: CPOptions,
    *,
    progress: Progress | None = None,
) -> Decomposition:
    """Non-negative decomposition by least squares.

    Parameters
    ----------
    tensor
        Of any sign; negative values are approximated by 0.
    start
        Non-negative, with the tensor's shape; its rank is used, not that of the options.
    options
        Iterations, passes over each row in a turn, tolerance.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Returns
    -------
    Decomposition
        Slices of the tensor without non-zeros have rows of zeros.

    Raises
    ------
    TensorError
        When a number of the start is negative.

    Cost
    ----
    O(nonzeros * r + r^2 * numbers that change) an iteration.

    Notes
    -----
    The objective never rises.  An outer product that has become 0 stays 0.

    References
    ----------
    cichocki-2009.
    """
    from eigentree.linalg._kernels_cp import coordinate_rows

    gradient = np.empty(start.rank)

    def solve(target: Floats, gram: Floats, factor: Floats) -> Floats:
        coordinate_rows(target, gram, options.inner_iterations, factor, gradient)
        return factor

    return _least_squares(tensor, start, options, solve, progress, signed=False)


def _least_squares(
    tensor: SparseTensor,
    start: Kruskal,
    options: CPOptions,
    solve: Callable[[Floats, Floats, Floats], Floats],
    progress: Progress | None,
    *,
    signed: bool,
) -> Decomposition:
    """Alternating minimisation of B G B' / 2 - M B', by a function of M, G and B."""
    _check_start(tensor, start, signed=signed)
    problem = _Fit.of(tensor)
    weights, factors = problem.begin(start, order=2)
    values = problem.layouts[0].values
    squares = float(values @ values)
    record = _Record(options, progress)
    before, inner, norm = math.inf, 0.0, 0.0
    with one_thread():
        for _ in range(options.iterations):
            for mode, layout in enumerate(problem.layouts):
                low, high = others(mode)
                target = mttkrp(layout, factors[low], factors[high], len(layout.rows))
                gram = (factors[low].T @ factors[low]) * (factors[high].T @ factors[high])
                factor = solve(target, gram, factors[mode] * weights)
                inner, norm = float(np.vdot(target, factor)), float(np.vdot(factor @ gram, factor))
                weights, factors[mode] = _columns(factor, order=2)
            # After the last mode's turn.
            error = math.sqrt(max(0.0, squares - 2.0 * inner + norm))
            before, fall = error, (before - error) / math.sqrt(squares)
            # Rounding may raise the error, which alone is no reason to stop.
            converged = fall < options.tolerance and options.tolerance > 0
            if record.add(problem.scale * error, fall, 0, converged):
                break
    return record.result(problem.result(weights, factors, order=2 if signed else 1))


class _Fit(NamedTuple):
    """A tensor prepared for the methods: scaled, and without slices that have no non-zeros.

    Rows of zeros are optimal for such slices.  Values are divided by the power of two that leaves
    the largest in [1, 2): no digit changes, and nothing overflows.
    """

    layouts: tuple[ByMode, ...]
    rows: tuple[Ints, ...]  # of the factors with all rows
    shape: tuple[int, int, int]
    scale: float

    @staticmethod
    def of(tensor: SparseTensor) -> _Fit:
        _, exponent = math.frexp(float(np.abs(tensor.values).max()))
        scale = math.ldexp(1.0, exponent - 1)
        whole = [tensor.by_mode(mode) for mode in MODES]
        rows = tuple(layout.rows for layout in whole)
        layouts = []
        for mode, layout in enumerate(whole):
            low, high = others(mode)
            layouts.append(
                ByMode(
                    np.arange(len(layout.rows), dtype=np.int32),
                    layout.start,
                    np.searchsorted(rows[low], layout.left).astype(np.int32),
                    np.searchsorted(rows[high], layout.right).astype(np.int32),
                    layout.values / scale,
                )
            )
        return _Fit(tuple(layouts), rows, tensor.shape, scale)

    def begin(self, start: Kruskal, order: int) -> tuple[Floats, list[Floats]]:
        """Weights and factors of a start, with the norms of columns moved to the weights.

        Norms are those of columns with all rows, so that the first turns are those of the papers.
        """
        weights = start.weights / self.scale
        factors: list[Floats] = []
        for factor, rows in zip(start.factors, self.rows, strict=True):
            norms, columns = _columns(factor, order)
            weights = weights * norms
            factors.append(columns[rows])
        return weights, factors

    def result(self, weights: Floats, factors: Sequence[Floats], order: int) -> Kruskal:
        """Weights and factors with all rows, normalised."""
        whole = [np.zeros((size, len(weights))) for size in self.shape]
        for factor, rows, reduced in zip(whole, self.rows, factors, strict=True):
            factor[rows] = reduced
        first, second, third = whole
        return Kruskal(weights * self.scale, (first, second, third)).normalised(order)


class _Record:
    """The figures of the iterations."""

    def __init__(self, options: CPOptions, progress: Progress | None) -> None:
        self._options, self._progress = options, progress
        self._notes: list[tuple[float, float, int]] = []
        self._stopped: Stopped = "iterations"

    def add(self, objective: float, violation: float, offset: int, converged: bool) -> bool:
        """Record an iteration; returns whether it is the last."""
        self._notes.append((objective, violation, offset))
        if self._progress:
            self._progress(STAGE, 1.0 if converged else len(self._notes) / self._options.iterations)
        if converged:
            self._stopped = "converged"
        return converged

    def result(self, kruskal: Kruskal) -> Decomposition:
        objective, violation, offset = zip(*self._notes, strict=True)
        return Decomposition(
            kruskal,
            np.array(objective),
            np.array(violation),
            np.array(offset, dtype=np.int64),
            self._stopped,
            0,
            np.array(objective[-1:]),
        )


def _refuse_negative(tensor: SparseTensor) -> None:
    if tensor.values.min() < 0:
        at = int(np.argmin(tensor.values))
        where = tuple(int(each) for each in tensor.subscripts[at])
        raise TensorError(
            f"the value at {where} is {tensor.values[at]}; method apr requires non-negative values "
            "(als and hals don't)"
        )


def _check_start(tensor: SparseTensor, start: Kruskal, *, signed: bool) -> None:
    if start.shape != tensor.shape:
        raise ShapeError(
            f"the start has shape {start.shape}; it must have the tensor's, {tensor.shape}"
        )
    if not signed and min(each.min() for each in (start.weights, *start.factors)) < 0:
        raise TensorError("the start has a negative number; this method requires non-negative ones")


def _columns(factor: Floats, order: int) -> tuple[Floats, Floats]:
    """The norm of each column, and the columns divided by it; columns of zeros stay zero."""
    norms = np.linalg.norm(factor, ord=order, axis=0)
    divided = np.zeros_like(factor, order="C")
    np.divide(factor, norms, out=divided, where=norms > 0)
    return np.asarray(norms), divided
