"""Kernels of charts that hold every span, in Kruskal form or by every rule.

Spans are laid out by width: that of ``width`` words from ``start`` has number
``first(n, width) + start``.  A row that stands for a span is to be multiplied by 2 to the
power of the span's exponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentree._accel import kernel

if TYPE_CHECKING:
    from eigentree.chart.forest import Floats, Ints, Longs

# Exponent of a row of zeros: lower than any other, and several still add up.
ZERO = -(1 << 40)
# Powers of two beyond these are 0 or infinite.
MOST = 2000
# Products below this power of two are lost beside 1.
LOST = -110


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
def add_product(power: int, one: Floats, other: Floats, factor: Floats, total: Floats) -> None:
    """Add one * other * 2**power to ``total``; ``factor`` is room for the power of two."""
    if power > LOST:
        factor[0] = 2.0**power  # in the precision of the rows
        by = factor[0]
        for s in range(len(total)):
            total[s] += by * one[s] * other[s]


@kernel
def inside_sums(
    n: int, width: int, left: Floats, right: Floats, exponent: Longs, total: Floats
) -> None:
    """Over the splits of each span of one width, the sums of products of projections.

    ``left`` and ``right`` have axes (spans, r), ``total`` (spans of the width, r).  Writes the
    exponents of the sums.
    """
    here = first(n, width)
    factor = np.empty_like(total[0, :1])
    for start in range(n - width + 1):
        highest = exponent[here + start] = highest_inside(n, start, start + width, exponent)
        total[start] = 0.0
        for before in range(1, width):
            one = first(n, before) + start
            other = first(n, width - before) + start + before
            power = exponent[one] + exponent[other] - highest
            add_product(power, left[one], right[other], factor, total[start])


@kernel
def outside_sums(
    n: int,
    width: int,
    left: Floats,
    right: Floats,
    exponent: Longs,
    outer: Floats,
    outer_exponent: Longs,
    as_left: Floats,
    as_right: Floats,
) -> None:
    """Over the spans that hold each span of one width, the sums of products of projections.

    ``outer`` has axes (spans, r): the projections of outside vectors of wider spans.
    ``as_left`` gets the sums where the span is a left child, ``as_right`` where it is a right
    one, both with axes (spans of the width, r) and one exponent.
    """
    here = first(n, width)
    factor = np.empty_like(as_left[0, :1])
    for start in range(n - width + 1):
        end = start + width
        highest = outer_exponent[here + start] = highest_outside(
            n, start, end, exponent, outer_exponent
        )
        as_left[start] = 0.0
        as_right[start] = 0.0
        for stop in range(end + 1, n + 1):
            whole = first(n, stop - start) + start
            sister = first(n, stop - end) + end
            power = outer_exponent[whole] + exponent[sister] - highest
            add_product(power, outer[whole], right[sister], factor, as_left[start])
        for begin in range(start):
            whole = first(n, end - begin) + begin
            sister = first(n, start - begin) + begin
            power = outer_exponent[whole] + exponent[sister] - highest
            add_product(power, outer[whole], left[sister], factor, as_right[start])


@kernel
def scale_rows(rows: Floats, exponent: Longs) -> None:
    """Divide each row by a power of two, so that its largest entry is from 1/2 to 1."""
    for at in range(len(rows)):
        largest = 0.0
        for value in rows[at]:
            largest = max(largest, abs(value))
        if largest > 0.0:
            power = int(np.ceil(np.log2(largest)))
            exponent[at] += power
            rows[at] *= 2.0**-power
        else:
            exponent[at] = ZERO


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
