"""Kernels of charts that hold every span, in Kruskal form or by every rule.

Spans are laid out by width: that of ``width`` words from ``start`` has number
``first(n, width) + start``.  A row that stands for a span is to be multiplied by 2 to the
power of the span's exponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentree._accel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eigentree.chart.forest import Floats, Ints, Longs

# Exponent of a row of zeros: lower than any other, and several still add up.
ZERO = -(1 << 40)
# Powers of two beyond these are 0 or infinite.
MOST = 1000
# Products below this power of two are lost beside 1.
LOST = -110


class Matrix(NamedTuple):
    """A matrix that rows are multiplied by: in full, or its entries where there are few.

    Attributes
    ----------
    full : axes (rows, columns), or (0, 0)
    row, column : uint32, axes (entries)
        Sorted by row.
    value : axes (entries)
    """

    full: Floats
    row: NDArray[np.uint32]
    column: NDArray[np.uint32]
    value: Floats


@kernel
def first(n: int, width: int) -> int:
    """Number of the first span of a width in a sentence of n words."""
    return (width - 1) * n - (width - 1) * (width - 2) // 2


@kernel
def highest_inside(n: int, start: int, end: int, exponent: Longs) -> int:
    """The highest exponent of a product of two spans that make up this one."""
    highest = ZERO
    for middle in range(start + 1, end):
        one = first(n, middle - start) + start
        other = first(n, end - middle) + middle
        highest = max(highest, exponent[one] + exponent[other])
    return highest


@kernel
def highest_outside(n: int, start: int, end: int, exponent: Longs, outer_exponent: Longs) -> int:
    """The highest exponent of a product of a span that holds this one and of its sister."""
    highest = ZERO
    for stop in range(end + 1, n + 1):
        whole = first(n, stop - start) + start
        sister = first(n, stop - end) + end
        highest = max(highest, outer_exponent[whole] + exponent[sister])
    for begin in range(start):
        whole = first(n, end - begin) + begin
        sister = first(n, start - begin) + begin
        highest = max(highest, outer_exponent[whole] + exponent[sister])
    return highest


@kernel
def add_product(factor: float, one: Floats, other: Floats, total: Floats) -> None:
    """Add one * other * factor to ``total``."""
    for s in range(len(total)):
        total[s] += factor * one[s] * other[s]


@kernel
def scaling(row: Floats, exponent: Longs) -> float:
    """The power of two that brings the largest entry of a row to 1/2 to 1; adds its exponent."""
    largest = 0.0
    for value in row:
        largest = max(largest, abs(value))
    if largest > 0.0:
        power = int(np.ceil(np.log2(largest)))
        exponent[0] += power
        return 2.0**-power
    exponent[0] = ZERO
    return 0.0


@kernel
def scale_rows(rows: Floats, exponent: Longs) -> None:
    """Divide each row by a power of two, so that its largest entry is from 1/2 to 1."""
    for at in range(len(rows)):
        rows[at] *= scaling(rows[at], exponent[at : at + 1])


@kernel
def inside_sums(
    n: int, width: int, powers: Floats, child: Floats, exponent: Longs, total: Floats
) -> None:
    """Over the splits of each span of one width, the sums of products of projections.

    ``child`` has axes (spans, 2 r): projections as a left child, then as a right one; ``total``
    has axes (spans of the width, r).  Writes the exponents of the sums.
    """
    here = first(n, width)
    rank = total.shape[1]
    for start in range(n - width + 1):
        highest = exponent[here + start] = highest_inside(n, start, start + width, exponent)
        total[start] = 0.0
        for before in range(1, width):
            one = first(n, before) + start
            other = first(n, width - before) + start + before
            power = exponent[one] + exponent[other] - highest
            if power > LOST:
                add_product(powers[-power], child[one, :rank], child[other, rank:], total[start])


@kernel
def outside_sums(
    n: int,
    width: int,
    powers: Floats,
    child: Floats,
    exponent: Longs,
    outer: Floats,
    outer_exponent: Longs,
    total: Floats,
) -> None:
    """Over the spans that hold each span of one width, the sums of products of projections.

    ``outer`` has axes (spans, r): the projections of outside vectors of wider spans.  ``total``,
    axes (spans of the width, 2 r), gets the sums where the span is a left child, then those
    where it is a right one, with one exponent.
    """
    here = first(n, width)
    rank = outer.shape[1]
    for start in range(n - width + 1):
        end = start + width
        highest = outer_exponent[here + start] = highest_outside(
            n, start, end, exponent, outer_exponent
        )
        total[start] = 0.0
        for stop in range(end + 1, n + 1):
            whole = first(n, stop - start) + start
            sister = first(n, stop - end) + end
            power = outer_exponent[whole] + exponent[sister] - highest
            if power > LOST:
                factor = powers[-power]
                add_product(factor, outer[whole], child[sister, rank:], total[start, :rank])
        for begin in range(start):
            whole = first(n, end - begin) + begin
            sister = first(n, start - begin) + begin
            power = outer_exponent[whole] + exponent[sister] - highest
            if power > LOST:
                factor = powers[-power]
                add_product(factor, outer[whole], child[sister, :rank], total[start, rank:])


@kernel
def sum_rows(start: Longs, row: Longs, value: Floats, factor: Floats, total: Floats) -> None:
    """For each word, the sum of some rows of a factor, each times a value."""
    for word in range(len(start) - 1):
        total[word] = 0.0
        for at in range(start[word], start[word + 1]):
            for s in range(total.shape[1]):
                total[word, s] += value[at] * factor[row[at], s]


@kernel
def multiply(rows: Floats, matrix: Matrix, product: Floats) -> None:
    """Multiply rows by a matrix."""
    if len(matrix.full) > 0:
        np.dot(rows, matrix.full, product)
    else:
        for at in range(len(rows)):
            one, out = rows[at], product[at]
            out[:] = 0.0
            for e in range(len(matrix.value)):
                out[matrix.column[e]] += one[matrix.row[e]] * matrix.value[e]


@kernel
def row_products(one: Floats, row: Longs, other: Floats, sister: Longs, product: Floats) -> None:
    """Inner products of pairs of rows."""
    for at in range(len(product)):
        total = 0.0
        for s in range(one.shape[1]):
            total += one[row[at], s] * other[sister[at], s]
        product[at] = total


@kernel
def project(
    sums: Floats,
    parent: Matrix,
    child: Matrix,
    vectors: Floats,
    projected: Floats,
    exponent: Longs,
) -> None:
    """Multiply rows by two matrices, and scale all of them by what comes out.

    ``vectors`` is what stands between the two.
    """
    multiply(sums, parent, vectors)
    multiply(vectors, child, projected)
    for at in range(len(sums)):
        factor = scaling(projected[at], exponent[at : at + 1])
        projected[at] *= factor
        sums[at] *= factor
        vectors[at] *= factor


@kernel
def kruskal_inside(
    n: int,
    powers: Floats,
    parent: Matrix,
    children: Matrix,
    child: Floats,
    exponent: Longs,
    sums: Floats,
    vectors: Floats,
) -> None:
    """Fill ``sums``, axes (spans, r), ``vectors`` and ``child``, axes (spans, 2 r), from words up.

    ``powers`` holds 2 to the power of minus its index, in the precision of the rows.
    ``parent`` leads from sums to vectors of symbols, ``children`` on to projections.  Nothing is
    projected from the whole sentence.
    """
    for width in range(2, n):
        here = slice(first(n, width), first(n, width + 1))
        inside_sums(n, width, powers, child, exponent, sums[here])
        project(sums[here], parent, children, vectors[here], child[here], exponent[here])
    if n > 1:
        whole = slice(len(sums) - 1, len(sums))
        inside_sums(n, n, powers, child, exponent, sums[whole])
        scale_rows(sums[whole], exponent[whole])
        multiply(sums[whole], parent, vectors[whole])


@kernel
def kruskal_outside(
    n: int,
    powers: Floats,
    children: Matrix,
    parent: Matrix,
    child: Floats,
    exponent: Longs,
    outer: Floats,
    outer_exponent: Longs,
    sums: Floats,
    vectors: Floats,
) -> None:
    """Fill ``sums``, axes (spans, 2 r), ``vectors`` and ``outer``, axes (spans, r), downwards.

    ``children`` leads from sums to vectors of symbols, ``parent`` on to projections.  Nothing is
    projected from single words.
    """
    for width in range(n - 1, 0, -1):
        here = slice(first(n, width), first(n, width + 1))
        outside_sums(n, width, powers, child, exponent, outer, outer_exponent, sums[here])
        if width > 1:
            project(sums[here], children, parent, vectors[here], outer[here], outer_exponent[here])


@kernel
def inside_by_rules(
    n: int,
    parent: Ints,
    left: Ints,
    right: Ints,
    probability: Floats,
    inside: Floats,
    exponent: Longs,
) -> None:
    """Fill the inside vectors, axes (spans, N), of all spans of two words or more."""
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            here = first(n, width) + start
            highest = exponent[here] = highest_inside(n, start, start + width, exponent)
            total = inside[here]
            for before in range(1, width):
                one = first(n, before) + start
                other = first(n, width - before) + start + before
                power = exponent[one] + exponent[other] - highest
                if power > LOST:
                    factor = 2.0**power
                    x, y = inside[one], inside[other]
                    for rule in range(len(parent)):
                        total[parent[rule]] += (
                            factor * probability[rule] * x[left[rule]] * y[right[rule]]
                        )
            scale_rows(inside[here : here + 1], exponent[here : here + 1])


@kernel
def outside_by_rules(
    n: int,
    parent: Ints,
    left: Ints,
    right: Ints,
    probability: Floats,
    inside: Floats,
    exponent: Longs,
    outside: Floats,
    outer_exponent: Longs,
) -> None:
    """Fill the outside vectors of all spans, when that of the whole is there."""
    for width in range(n - 1, 0, -1):
        for start in range(n - width + 1):
            end = start + width
            here = first(n, width) + start
            highest = outer_exponent[here] = highest_outside(
                n, start, end, exponent, outer_exponent
            )
            total = outside[here]
            for stop in range(end + 1, n + 1):
                whole = first(n, stop - start) + start
                sister = first(n, stop - end) + end
                power = outer_exponent[whole] + exponent[sister] - highest
                if power > LOST:
                    factor = 2.0**power
                    z, y = outside[whole], inside[sister]
                    for rule in range(len(parent)):
                        total[left[rule]] += (
                            factor * probability[rule] * z[parent[rule]] * y[right[rule]]
                        )
            for begin in range(start):
                whole = first(n, end - begin) + begin
                sister = first(n, start - begin) + begin
                power = outer_exponent[whole] + exponent[sister] - highest
                if power > LOST:
                    factor = 2.0**power
                    z, x = outside[whole], inside[sister]
                    for rule in range(len(parent)):
                        total[right[rule]] += (
                            factor * probability[rule] * z[parent[rule]] * x[left[rule]]
                        )
            scale_rows(outside[here : here + 1], outer_exponent[here : here + 1])
