"""Kernels of the CP decomposition: loops over the non-zeros of a tensor, sorted by one mode.

The rows of a mode's factor are independent problems as long as the other factors stand, so a row
is brought to its end before the next begins: the few vectors of length r that its non-zeros need
then stay in the nearest cache.  Non-zeros are taken four at a time, so that what is read and
written for the row serves four of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentree._accel import kernel

if TYPE_CHECKING:
    from eigentree.linalg.multilinear import ByMode, Floats, Ints, Longs

# Smaller numbers are 0 from here on: products of three of them would leave the range of normal
# numbers, where arithmetic is many times slower.
LEAST = 1e-100


@kernel
def entries(subscripts: Ints, first: Floats, second: Floats, third: Floats, out: Floats) -> None:
    """Entries of a tensor in Kruskal form, its weights within the first factor."""
    for at in range(len(out)):
        x, y, z = first[subscripts[at, 0]], second[subscripts[at, 1]], third[subscripts[at, 2]]
        total = 0.0
        for k in range(len(x)):
            total += x[k] * y[k] * z[k]
        out[at] = total


@kernel
def mttkrp_rows(layout: ByMode, left: Floats, right: Floats, out: Floats) -> None:
    """Fill the rows that have non-zeros."""
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
def poisson_rows(
    layout: ByMode,
    left: Floats,
    right: Floats,
    updates: int,
    tolerance: float,
    floor: float,
    factor: Floats,
    ratio: Floats,
    products: Floats,
    packed: Floats,
    places: Longs,
    vectors: Floats,
    shares: Floats,
) -> float:
    """Multiplicative updates of the rows of one factor, its weights within it.

    With t a non-zero of the row, p = left * right its product and b the row, an update is

        share = t / max(b . p, floor),    ratio = sum of share * p,    b = b * ratio.

    Row by row at most `updates` of them, until no positive number of the row violates its
    condition, min(b, 1 - ratio) = 0, by the tolerance.  The ratios that remain are those before
    the last update.  Returns the largest violation of all rows before their first update.

    After a few iterations nearly all numbers are 0 and stay so.  Then only the others, the packed
    ones, are updated, and the ratios of the zeros are found at the first update and the last.
    """
    violation = 0.0
    size = factor.shape[1]
    for at in range(len(layout.rows)):
        begin = layout.start[at]
        n = layout.start[at + 1] - begin
        values = layout.values[begin : begin + n]
        row, ratios = factor[layout.rows[at]], ratio[layout.rows[at]]
        for each in range(n):
            x, y = left[layout.left[begin + each]], right[layout.right[begin + each]]
            product = products[each * size : (each + 1) * size]
            for k in range(size):
                product[k] = x[k] * y[k]
        n_packed = 0
        for k in range(size):
            if row[k] > 0.0:
                places[n_packed] = k
                n_packed += 1
        b, changed = vectors[0, :n_packed], vectors[1, :n_packed]
        for k in range(n_packed):
            b[k] = row[places[k]]
        for each in range(n):
            product = products[each * size : (each + 1) * size]
            own = packed[each * n_packed : (each + 1) * n_packed]
            for k in range(n_packed):
                own[k] = product[places[k]]
        for update in range(updates):
            shares_of_row(values, packed, floor, b, shares)
            if update == 0:
                ratios_of_row(n, shares, products, ratios)
                for k in range(size):
                    violation = max(violation, abs(min(row[k], 1.0 - ratios[k])))
            ratios_of_row(n, shares, packed, changed)
            # A count, unlike a largest number, is found in vector registers.
            far = 0
            for k in range(n_packed):
                room = 1.0 - changed[k]
                least = room if room < b[k] else b[k]
                far += 1 if (least >= tolerance or least <= -tolerance) else 0
            if far == 0:
                break
            for k in range(n_packed):
                larger = b[k] * changed[k]
                b[k] = larger if larger > LEAST else 0.0
        ratios_of_row(n, shares, products, ratios)
        for k in range(n_packed):
            row[places[k]] = b[k]
    return violation


@kernel
def shares_of_row(
    values: Floats, products: Floats, floor: float, b: Floats, shares: Floats
) -> None:
    """Each non-zero over what the model gives it."""
    size, n = len(b), len(values)
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
        shares[each] = values[each] / max(m0, floor)
        shares[each + 1] = values[each + 1] / max(m1, floor)
        shares[each + 2] = values[each + 2] / max(m2, floor)
        shares[each + 3] = values[each + 3] / max(m3, floor)
        each += 4
    while each < n:
        p0 = products[each * size : (each + 1) * size]
        m0 = 0.0
        for k in range(size):
            m0 += b[k] * p0[k]
        shares[each] = values[each] / max(m0, floor)
        each += 1


@kernel
def ratios_of_row(n: int, shares: Floats, products: Floats, ratios: Floats) -> None:
    size = len(ratios)
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


@kernel
def coordinate_rows(
    target: Floats, gram: Floats, passes: int, factor: Floats, gradient: Floats
) -> None:
    """Non-negative least squares of the rows of one factor, by coordinate descent.

    Row b is to bring |b G b' / 2 - m b'| down, with G the Gram matrix and m the row of the
    target.  A pass sets each coordinate in turn to its best value that is not negative, the
    others standing; the gradient g = m - b G follows every change.
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
