"""Kernels of the chart that looks at every rule at every split point of every span.

Spans are laid out as in `_kernels_kruskal`.  Rows that stand for spans are to be multiplied by
2 to the power of the span's exponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentree._accel import kernel
from eigentree.chart._kernels_kruskal import LOST, ZERO, first, scale_rows

if TYPE_CHECKING:
    from eigentree.chart.forest import Floats, Ints, Longs


@kernel
def inside_pass(
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
            highest = ZERO
            for before in range(1, width):
                one = first(n, before) + start
                other = first(n, width - before) + start + before
                highest = max(highest, exponent[one] + exponent[other])
            exponent[here] = max(highest, ZERO)
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
def outside_pass(
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
            highest = ZERO
            for stop in range(end + 1, n + 1):
                whole = first(n, stop - start) + start
                sister = first(n, stop - end) + end
                highest = max(highest, outer_exponent[whole] + exponent[sister])
            for begin in range(start):
                whole = first(n, end - begin) + begin
                sister = first(n, start - begin) + begin
                highest = max(highest, outer_exponent[whole] + exponent[sister])
            outer_exponent[here] = max(highest, ZERO)
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
