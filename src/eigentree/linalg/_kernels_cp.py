"""Kernels of the CP decomposition: loops over the non-zeros of a tensor, sorted by one mode.

The rows of a mode's factor are independent problems while the other factors are fixed, so each row
is finished before the next: the few vectors of length r that its non-zeros need then stay in the L1
cache.  Non-zeros are processed in fours, so that one read and write of the row serves four.
"""

from __future__ import annotations

import math

from eigentree._core.jit import inner_kernel, kernel
from eigentree.linalg.arrays import ByMode, Scratch
from eigentree.types import Floats, Floats2, Ints2, Longs

# Smaller numbers become 0: products of three of them would be subnormal, and arithmetic with
# subnormal numbers is many times slower.
SMALLEST = 1e-100
# Rows with at most one positive number in this many are read by lists of these.
SPARSE = 4


@kernel
def entries(
    subscripts: Ints2, first: Floats2, second: Floats2, third: Floats2, out: Floats
) -> None:
    """Fill entries of a tensor in Kruskal form, its weights multiplied into the first factor."""
    for at in range(len(out)):
        x, y, z = first[subscripts[at, 0]], second[subscripts[at, 1]], third[subscripts[at, 2]]
        total = 0.0
        for k in range(len(x)):
            total += x[k] * y[k] * z[k]
        out[at] = total


@kernel
def mttkrp_rows(layout: ByMode, left: Floats2, right: Floats2, out: Floats2) -> None:
    """Fill the rows of an MTTKRP that have non-zeros."""
    for at in range(len(layout.rows)):
        row = out[layout.rows[at]]
        for k in range(len(row)):
            row[k] = 0.0
        for each in range(layout.start[at], layout.start[at + 1]):
            value = layout.values[each]
            x, y = left[layout.left[each]], right[layout.right[each]]
            for k in range(len(row)):
                row[k] += value * x[k] * y[k]


@kernel
def positive_places(factor: Floats2, start: Longs, places: Longs) -> None:
    """Fill the columns of the positive numbers of each row, row after row."""
    n = 0
    start[0] = 0
    for row in range(len(factor)):
        for k in range(factor.shape[1]):
            if factor[row, k] > 0.0:
                places[n] = k
                n += 1
        start[row + 1] = n


@kernel
def poisson_rows(
    layout: ByMode,
    left: Floats2,
    right: Floats2,
    positive: tuple[Longs, Longs],
    updates: int,
    floor: float,
    factor: Floats2,
    ratio: Floats2,
    scratch: Scratch,
) -> tuple[float, float]:
    """Multiplicative updates of the rows of one factor, with the weights multiplied into it.

    With t a non-zero of the row, p = left * right its product and b the row, an update is

        share = t / max(b . p, floor),    ratio = sum of share * p,    b = b * ratio.

    After a few iterations nearly all numbers are 0 and stay so: only the others, packed together,
    are updated.  The ratios of all numbers, as they were before the last update, are computed once,
    with the positive numbers of `left` listed in `positive`.

    Returns the largest |min(b, 1 - ratio)| of all rows before their first update, and the sum of
    t log(b . p) after the last update.
    """
    violation, log_likelihood = 0.0, 0.0
    size = factor.shape[1]
    places, first_ratios = scratch.places, scratch.vectors[2]
    for at in range(len(layout.rows)):
        begin = layout.start[at]
        n = layout.start[at + 1] - begin
        values = layout.values[begin : begin + n]
        row = factor[layout.rows[at]]
        n_packed = 0
        for k in range(size):
            if row[k] > 0.0:
                places[n_packed] = k
                n_packed += 1
        b, ratios = scratch.vectors[0, :n_packed], scratch.vectors[1, :n_packed]
        for k in range(n_packed):
            b[k] = row[places[k]]
        for each in range(n):
            x, y = left[layout.left[begin + each]], right[layout.right[begin + each]]
            product = scratch.products[each * n_packed : (each + 1) * n_packed]
            if n_packed == size:
                for k in range(size):
                    product[k] = x[k] * y[k]
            else:
                for k in range(n_packed):
                    product[k] = x[places[k]] * y[places[k]]
        models = scratch.models[:n]
        first, last = scratch.shares[0, :n], scratch.shares[1, :n]
        for update in range(updates):
            models_of_row(scratch.products, b, models)
            for each in range(n):
                last[each] = values[each] / max(models[each], floor)
            if update == 0:
                for each in range(n):
                    first[each] = last[each]
            ratios_of_row(last, scratch.products, ratios)
            for k in range(n_packed):
                changed = b[k] * ratios[k]
                b[k] = changed if changed > SMALLEST else 0.0
        models_of_row(scratch.products, b, models)
        for each in range(n):
            if values[each] > 0.0:
                logarithm = math.log(models[each]) if models[each] > 0.0 else -math.inf
                log_likelihood += values[each] * logarithm
        last_ratios = ratio[layout.rows[at]]
        all_ratios(layout, left, right, positive, begin, first, last, first_ratios, last_ratios)
        for k in range(size):
            violation = max(violation, abs(min(row[k], 1.0 - first_ratios[k])))
        for k in range(n_packed):
            row[places[k]] = b[k]
    return violation, log_likelihood


@inner_kernel
def models_of_row(products: Floats, b: Floats, models: Floats) -> None:
    """Fill the model's value of each non-zero of a row."""
    size, n = len(b), len(models)
    each = 0
    while each + 3 < n:
        start = each * size
        p0, p1 = products[start : start + size], products[start + size : start + 2 * size]
        start += 2 * size
        p2, p3 = products[start : start + size], products[start + size : start + 2 * size]
        m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
        for k in range(size):
            m0 += b[k] * p0[k]
            m1 += b[k] * p1[k]
            m2 += b[k] * p2[k]
            m3 += b[k] * p3[k]
        models[each], models[each + 1], models[each + 2], models[each + 3] = m0, m1, m2, m3
        each += 4
    while each < n:
        p0 = products[each * size : (each + 1) * size]
        m0 = 0.0
        for k in range(size):
            m0 += b[k] * p0[k]
        models[each] = m0
        each += 1


@inner_kernel
def ratios_of_row(shares: Floats, products: Floats, ratios: Floats) -> None:
    """Fill the sums of products, each weighted by its share."""
    size, n = len(ratios), len(shares)
    for k in range(size):
        ratios[k] = 0.0
    each = 0
    while each + 3 < n:
        t0, t1, t2, t3 = shares[each], shares[each + 1], shares[each + 2], shares[each + 3]
        start = each * size
        p0, p1 = products[start : start + size], products[start + size : start + 2 * size]
        start += 2 * size
        p2, p3 = products[start : start + size], products[start + size : start + 2 * size]
        for k in range(size):
            ratios[k] += t0 * p0[k] + t1 * p1[k] + t2 * p2[k] + t3 * p3[k]
        each += 4
    while each < n:
        t0 = shares[each]
        p0 = products[each * size : (each + 1) * size]
        for k in range(size):
            ratios[k] += t0 * p0[k]
        each += 1


@inner_kernel
def all_ratios(
    layout: ByMode,
    left: Floats2,
    right: Floats2,
    positive: tuple[Longs, Longs],
    begin: int,
    first: Floats,
    last: Floats,
    first_ratios: Floats,
    last_ratios: Floats,
) -> None:
    """Fill the ratios of all numbers of a row, for the shares of its first and its last update."""
    start, places = positive
    size = len(last_ratios)
    for k in range(size):
        first_ratios[k] = last_ratios[k] = 0.0
    for each in range(len(last)):
        of_left = layout.left[begin + each]
        x, y = left[of_left], right[layout.right[begin + each]]
        t0, t1 = first[each], last[each]
        # Indirect addresses cost more than multiplications with some zeros.
        if SPARSE * (start[of_left + 1] - start[of_left]) < size:
            for place in range(start[of_left], start[of_left + 1]):
                k = places[place]
                product = x[k] * y[k]
                first_ratios[k] += t0 * product
                last_ratios[k] += t1 * product
        else:
            for k in range(size):
                product = x[k] * y[k]
                first_ratios[k] += t0 * product
                last_ratios[k] += t1 * product


@kernel
def coordinate_rows(
    target: Floats2, gram: Floats2, passes: int, factor: Floats2, gradient: Floats
) -> None:
    """Non-negative least squares of the rows of one factor, by coordinate descent.

    Each row b minimises b G b' / 2 - m b', with G the Gram matrix and m the row of the target.  A
    pass sets each coordinate in turn to its best non-negative value, with the others fixed; the
    gradient g = m - b G is updated after every change.
    """
    for row in range(len(factor)):
        b, m = factor[row], target[row]
        for k in range(len(b)):
            gradient[k] = m[k]
        for k in range(len(b)):
            value = b[k]
            if value != 0.0:
                of_k = gram[k]
                for other in range(len(b)):
                    gradient[other] -= value * of_k[other]
        for _ in range(passes):
            moved = False
            for k in range(len(b)):
                of_k = gram[k]
                if of_k[k] > 0.0:
                    best = max(0.0, b[k] + gradient[k] / of_k[k])
                    change = best - b[k]
                    if change != 0.0:
                        moved = True
                        b[k] = best
                        for other in range(len(b)):
                            gradient[other] -= change * of_k[other]
            if not moved:
                break
