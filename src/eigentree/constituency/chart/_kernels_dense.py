"""Kernels of charts that store every span: Kruskal form, all rules, and prefixes.

Spans are ordered by width: the span of ``width`` words from ``start`` has the number
``span_number(n, start, width)``.  The true values of a span's row are the row times 2 to the power
of the span's exponent.
"""

from __future__ import annotations

import numpy as np

from eigentree._core.jit import inner_kernel, kernel
from eigentree.constituency.chart._kernels_spans import first_span
from eigentree.constituency.chart.arrays import LatentRules, Matrix, Permitted, PrefixChart
from eigentree.types import Floats, Floats2, Ints, Longs

# Exponent of a row of zeros: lower than any other; sums of several do not overflow.
ZERO = -(1 << 40)
# Powers of two beyond these are 0 or infinite.
MOST = 1000
# Products below this power of two do not change a sum of about 1.
LOST = -110
# Rows this many powers of two below the largest are still summed: the larger one may have no use.
LOWEST = -1000


@inner_kernel
def highest_inside(n: int, start: int, end: int, exponent: Longs) -> int:
    """The highest exponent of a product of two adjacent spans that form this span."""
    highest = ZERO
    for middle in range(start + 1, end):
        one = first_span(n, middle - start) + start
        other = first_span(n, end - middle) + middle
        highest = max(highest, exponent[one] + exponent[other])
    return highest


@inner_kernel
def highest_outside(n: int, start: int, end: int, exponent: Longs, outer_exponent: Longs) -> int:
    """The highest exponent of a product of a span that contains this one and its sister."""
    highest = ZERO
    for stop in range(end + 1, n + 1):
        whole = first_span(n, stop - start) + start
        sister = first_span(n, stop - end) + end
        highest = max(highest, outer_exponent[whole] + exponent[sister])
    for begin in range(start):
        whole = first_span(n, end - begin) + begin
        sister = first_span(n, start - begin) + begin
        highest = max(highest, outer_exponent[whole] + exponent[sister])
    return highest


@inner_kernel
def add_product(factor: float, one: Floats, other: Floats, total: Floats) -> None:
    """Add one * other * factor to ``total``."""
    for s in range(len(total)):
        total[s] += factor * one[s] * other[s]


@inner_kernel
def scaling(row: Floats, exponent: Longs) -> float:
    """The power of two that brings a row's largest entry into [0.5, 1); updates its exponent."""
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
def scale_rows(rows: Floats2, exponent: Longs) -> None:
    """Divide each row by a power of two that brings its largest entry into [0.5, 1)."""
    for at in range(len(rows)):
        row = rows[at]
        scale = scaling(row, exponent[at : at + 1])
        for s in range(len(row)):
            row[s] *= scale


@kernel
def drop_forbidden(first_span: int, permitted: Permitted, rows: Floats2) -> None:
    """Set symbols that are not permitted over their spans to 0; the rows are consecutive spans."""
    for at in range(len(rows)):
        permitted_row = permitted.row[first_span + at]
        if permitted_row < 0:
            rows[at] = 0.0
        elif permitted_row > 0:
            for s in range(rows.shape[1]):
                if not permitted.symbols[permitted_row, s]:
                    rows[at, s] = 0.0


@inner_kernel
def inside_sums(
    n: int, width: int, powers: Floats, child: Floats2, exponent: Longs, total: Floats2
) -> None:
    """For each span of one width, sum products of projections over its split points.

    ``child`` has axes (spans, 2 r): projections as a left child, then as a right one; ``total``
    has axes (spans of the width, r).  Sets the exponents of the sums.
    """
    here = first_span(n, width)
    rank = total.shape[1]
    for start in range(n - width + 1):
        highest = exponent[here + start] = highest_inside(n, start, start + width, exponent)
        total[start] = 0.0
        for before in range(1, width):
            one = first_span(n, before) + start
            other = first_span(n, width - before) + start + before
            power = exponent[one] + exponent[other] - highest
            if power > LOST:
                add_product(powers[-power], child[one, :rank], child[other, rank:], total[start])


@inner_kernel
def outside_sums(
    n: int,
    width: int,
    powers: Floats,
    child: Floats2,
    exponent: Longs,
    outer: Floats2,
    outer_exponent: Longs,
    total: Floats2,
) -> None:
    """For each span of one width, sum products of projections over the spans that contain it.

    ``outer`` has axes (spans, r): projections of the outside vectors of wider spans.  ``total``,
    axes (spans of the width, 2 r), receives the sums with the span as a left child, then those
    with it as a right child, under one exponent.
    """
    here = first_span(n, width)
    rank = outer.shape[1]
    for start in range(n - width + 1):
        end = start + width
        highest = outer_exponent[here + start] = highest_outside(
            n, start, end, exponent, outer_exponent
        )
        total[start] = 0.0
        for stop in range(end + 1, n + 1):
            whole = first_span(n, stop - start) + start
            sister = first_span(n, stop - end) + end
            power = outer_exponent[whole] + exponent[sister] - highest
            if power > LOST:
                factor = powers[-power]
                add_product(factor, outer[whole], child[sister, rank:], total[start, :rank])
        for begin in range(start):
            whole = first_span(n, end - begin) + begin
            sister = first_span(n, start - begin) + begin
            power = outer_exponent[whole] + exponent[sister] - highest
            if power > LOST:
                factor = powers[-power]
                add_product(factor, outer[whole], child[sister, :rank], total[start, rank:])


@kernel
def sum_rows(start: Longs, row: Longs, value: Floats, factor: Floats2, total: Floats2) -> None:
    """For each word, a weighted sum of rows of a factor."""
    for word in range(len(start) - 1):
        total[word] = 0.0
        for at in range(start[word], start[word + 1]):
            for s in range(total.shape[1]):
                total[word, s] += value[at] * factor[row[at], s]


@kernel
def multiply(rows: Floats2, matrix: Matrix, product: Floats2) -> None:
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
def row_products(one: Floats2, row: Longs, other: Floats2, sister: Longs, product: Floats) -> None:
    """Inner products of pairs of rows."""
    for at in range(len(product)):
        total = 0.0
        for s in range(one.shape[1]):
            total += one[row[at], s] * other[sister[at], s]
        product[at] = total


@inner_kernel
def project(
    sums: Floats2,
    parent: Matrix,
    child: Matrix,
    vectors: Floats2,
    projected: Floats2,
    exponent: Longs,
    first_span: int,
    permitted: Permitted,
) -> None:
    """Multiply rows by two matrices and rescale all of them by the largest result.

    ``vectors`` receives the intermediate result, with the entries that are not permitted set to 0.
    """
    multiply(sums, parent, vectors)
    drop_forbidden(first_span, permitted, vectors)
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
    child: Floats2,
    exponent: Longs,
    sums: Floats2,
    vectors: Floats2,
    permitted: Permitted,
) -> None:
    """Fill ``sums`` (spans, r), ``vectors`` and ``child`` (spans, 2 r), from words upwards.

    ``powers`` holds 2 to the power of minus its index, in the precision of the rows.
    ``parent`` maps sums to vectors of symbols, ``children`` maps these to projections.  The span
    of the whole sentence has no projections.
    """
    for width in range(2, n):
        here = slice(first_span(n, width), first_span(n, width + 1))
        inside_sums(n, width, powers, child, exponent, sums[here])
        project(
            sums[here], parent, children, vectors[here], child[here], exponent[here],
            first_span(n, width), permitted,
        )  # fmt: skip
    if n > 1:
        whole = slice(len(sums) - 1, len(sums))
        inside_sums(n, n, powers, child, exponent, sums[whole])
        scale_rows(sums[whole], exponent[whole])
        multiply(sums[whole], parent, vectors[whole])
        drop_forbidden(len(sums) - 1, permitted, vectors[whole])


@kernel
def kruskal_outside(
    n: int,
    powers: Floats,
    children: Matrix,
    parent: Matrix,
    child: Floats2,
    exponent: Longs,
    outer: Floats2,
    outer_exponent: Longs,
    sums: Floats2,
    vectors: Floats2,
    permitted: Permitted,
) -> None:
    """Fill ``sums`` (spans, 2 r), ``vectors`` and ``outer`` (spans, r), from the root downwards.

    ``children`` maps sums to vectors of symbols, ``parent`` maps these to projections.  Single
    words have no projections.
    """
    for width in range(n - 1, 0, -1):
        here = slice(first_span(n, width), first_span(n, width + 1))
        outside_sums(n, width, powers, child, exponent, outer, outer_exponent, sums[here])
        if width > 1:
            project(
                sums[here], children, parent, vectors[here], outer[here], outer_exponent[here],
                first_span(n, width), permitted,
            )  # fmt: skip


@kernel
def inside_by_rules(
    n: int,
    parent: Ints,
    left: Ints,
    right: Ints,
    probability: Floats,
    inside: Floats2,
    exponent: Longs,
    permitted: Permitted,
) -> None:
    """Fill the inside vectors, axes (spans, N), of all spans of two words or more."""
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            here = first_span(n, width) + start
            highest = exponent[here] = highest_inside(n, start, start + width, exponent)
            total = inside[here]
            for before in range(1, width):
                one = first_span(n, before) + start
                other = first_span(n, width - before) + start + before
                power = exponent[one] + exponent[other] - highest
                if power > LOST:
                    factor = 2.0**power
                    x, y = inside[one], inside[other]
                    for rule in range(len(parent)):
                        total[parent[rule]] += (
                            factor * probability[rule] * x[left[rule]] * y[right[rule]]
                        )
            drop_forbidden(here, permitted, inside[here : here + 1])
            scale_rows(inside[here : here + 1], exponent[here : here + 1])


@kernel
def outside_by_rules(
    n: int,
    parent: Ints,
    left: Ints,
    right: Ints,
    probability: Floats,
    inside: Floats2,
    exponent: Longs,
    outside: Floats2,
    outer_exponent: Longs,
    permitted: Permitted,
) -> None:
    """Fill the outside vectors of all spans below the whole sentence's, which must be set."""
    for width in range(n - 1, 0, -1):
        for start in range(n - width + 1):
            end = start + width
            here = first_span(n, width) + start
            highest = outer_exponent[here] = highest_outside(
                n, start, end, exponent, outer_exponent
            )
            total = outside[here]
            for stop in range(end + 1, n + 1):
                whole = first_span(n, stop - start) + start
                sister = first_span(n, stop - end) + end
                power = outer_exponent[whole] + exponent[sister] - highest
                if power > LOST:
                    factor = 2.0**power
                    z, y = outside[whole], inside[sister]
                    for rule in range(len(parent)):
                        total[left[rule]] += (
                            factor * probability[rule] * z[parent[rule]] * y[right[rule]]
                        )
            for begin in range(start):
                whole = first_span(n, end - begin) + begin
                sister = first_span(n, start - begin) + begin
                power = outer_exponent[whole] + exponent[sister] - highest
                if power > LOST:
                    factor = 2.0**power
                    z, x = outside[whole], inside[sister]
                    for rule in range(len(parent)):
                        total[right[rule]] += (
                            factor * probability[rule] * z[parent[rule]] * x[left[rule]]
                        )
            drop_forbidden(here, permitted, outside[here : here + 1])
            scale_rows(outside[here : here + 1], outer_exponent[here : here + 1])


@kernel
def add_corners(rules: LatentRules, total: Floats, to_left: Floats2, to_right: Floats2) -> None:
    """Sum the expected children of each state on either side, axes (inner states, states).

    ``total`` holds the mass of all subtrees below each state; the sister of a child is summed out
    with it.
    """
    start, mean = rules.state_start, rules.mean
    for rule in range(len(rules.parent)):
        pair = rules.layout.rule_pair[rule]
        a, b, c = rules.parent[rule], rules.layout.pair_left[pair], rules.layout.pair_right[pair]
        at = rules.tensor_start[rule]
        if rules.is_product[rule]:
            left, right = 0.0, 0.0
            for i in range(start[b], start[b + 1]):
                left += mean[i] * total[i]
            for j in range(start[c], start[c + 1]):
                right += mean[j] * total[j]
            for h in range(start[a], start[a + 1]):
                for i in range(start[b], start[b + 1]):
                    to_left[h, i] += rules.tensor[at] * right * mean[i]
                for j in range(start[c], start[c + 1]):
                    to_right[h, j] += rules.tensor[at] * left * mean[j]
                at += 1
            continue
        for h in range(start[a], start[a + 1]):
            for i in range(start[b], start[b + 1]):
                for j in range(start[c], start[c + 1]):
                    to_left[h, i] += rules.tensor[at] * total[j]
                    to_right[h, j] += rules.tensor[at] * total[i]
                    at += 1


@inner_kernel
def vector(chart: PrefixChart, state_start: Longs, span: int, symbol: int) -> Floats:
    """The inside vector of a symbol over a span; preterminals occur over single words only."""
    n, n_inner = chart.word.shape[0], chart.inside.shape[1]
    begin, end = state_start[symbol], state_start[symbol + 1]
    if span < n:
        return chart.word[span, begin - n_inner : end - n_inner]
    return chart.inside[span - n, begin:end]


@inner_kernel
def list_live(rules: LatentRules, chart: PrefixChart, span: int) -> None:
    """List the live symbols of a finished span and compute their products with the means."""
    for symbol in range(chart.is_live.shape[1]):
        if chart.is_live[span, symbol]:
            chart.live[span, chart.n_live[span]] = symbol
            chart.n_live[span] += 1
            x = vector(chart, rules.state_start, span, symbol)
            total, at = 0.0, rules.state_start[symbol]
            for s in range(len(x)):
                total += x[s] * rules.mean[at + s]
            chart.of_mean[span, symbol] = total


@kernel
def inside_of_prefixes(n: int, rules: LatentRules, chart: PrefixChart) -> None:
    """Fill the inside vectors of all spans of two or more words; those of words must be set.

    Products are summed over split points for each pair of children, then added to its rules.
    """
    index, start_of = rules.layout, rules.state_start
    product = np.zeros(rules.cell_start[-1])
    of_means = np.zeros(len(index.pair_left))
    pairs = np.empty(len(index.pair_left), dtype=np.int32)
    is_met = np.zeros(len(index.pair_left), dtype=np.bool_)
    for span in range(n):
        list_live(rules, chart, span)
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            here = first_span(n, width) + start
            highest = highest_inside(n, start, start + width, chart.exponent)
            chart.exponent[here] = highest
            n_pairs = 0
            for before in range(1, width):
                one = first_span(n, before) + start
                other = first_span(n, width - before) + start + before
                power = chart.exponent[one] + chart.exponent[other] - highest
                if power < LOWEST:
                    continue
                factor = 2.0**power
                for b in chart.live[one, : chart.n_live[one]]:
                    x = vector(chart, start_of, one, b)
                    for pair in range(index.pair_start[b], index.pair_start[b + 1]):
                        c = index.pair_right[pair]
                        if not chart.is_live[other, c]:
                            continue
                        if not is_met[pair]:
                            is_met[pair] = True
                            pairs[n_pairs] = pair
                            n_pairs += 1
                        of_means[pair] += factor * chart.of_mean[one, b] * chart.of_mean[other, c]
                        at = rules.cell_start[pair]
                        if at == rules.cell_start[pair + 1]:
                            continue
                        y = vector(chart, start_of, other, c)
                        for i in range(len(x)):
                            value = factor * x[i]
                            for j in range(len(y)):
                                product[at + j] += value * y[j]
                            at += len(y)
            out = chart.inside[here - n]
            for pair in pairs[:n_pairs]:
                cells = product[rules.cell_start[pair] : rules.cell_start[pair + 1]]
                for rule in range(index.rule_start[pair], index.rule_start[pair + 1]):
                    a, at = rules.parent[rule], rules.tensor_start[rule]
                    chart.is_live[here, a] = True
                    for h in range(start_of[a], start_of[a + 1]):
                        if rules.is_product[rule]:
                            out[h] += rules.tensor[at] * of_means[pair]
                            at += 1
                            continue
                        row = rules.tensor[at : at + len(cells)]
                        total = 0.0
                        for cell in range(len(cells)):
                            total += row[cell] * cells[cell]
                        out[h] += total
                        at += len(cells)
                cells[:] = 0.0
                of_means[pair] = 0.0
                is_met[pair] = False
            scale_rows(chart.inside[here - n : here - n + 1], chart.exponent[here : here + 1])
            list_live(rules, chart, here)


@kernel
def forward_of_prefixes(
    n: int,
    rules: LatentRules,
    closure: Floats2,
    chart: PrefixChart,
    forward: Floats2,
    forward_exponent: Longs,
    prefix: Floats,
    prefix_exponent: Longs,
) -> None:
    """Predict the symbols that begin at each position and the probability of each word there.

    ``forward`` has axes (n, states), with the root vector in its first row.  ``prefix`` and its
    exponents receive the value of the words up to and including each; once one is 0, the rest are.
    """
    index, start_of = rules.layout, rules.state_start
    n_inner = closure.shape[0]
    predicted = np.empty(forward.shape[1])
    is_starter = np.zeros(len(start_of) - 1, dtype=np.bool_)
    factor = np.zeros(n)
    matrix = np.empty(rules.max_cells)
    for start in range(n):
        scale_rows(forward[start : start + 1], forward_exponent[start : start + 1])
        predicted[:n_inner] = 0.0
        for s in range(n_inner, len(predicted)):
            predicted[s] = forward[start, s]
        for s in range(n_inner):
            value = forward[start, s]
            if value != 0.0:
                for t in range(len(predicted)):
                    predicted[t] += value * closure[s, t]
        total = 0.0
        for s in range(n_inner, len(predicted)):
            total += predicted[s] * chart.word[start, s - n_inner]
        prefix[start] = total
        prefix_exponent[start] = forward_exponent[start] + chart.exponent[start]
        if total == 0.0:
            return
        for end in range(start + 1, n):
            span = first_span(n, end - start) + start
            power = forward_exponent[start] + chart.exponent[span]
            if power > forward_exponent[end]:
                forward[end] *= 2.0 ** max(LOWEST, forward_exponent[end] - power)
                forward_exponent[end] = power
            power -= forward_exponent[end]
            factor[end] = 2.0**power if power > LOWEST else 0.0
            for b in chart.live[span, : chart.n_live[span]]:
                is_starter[b] = True
        for b in range(len(is_starter)):
            if not is_starter[b]:
                continue
            is_starter[b] = False
            for pair in range(index.pair_start[b], index.pair_start[b + 1]):
                c = index.pair_right[pair]
                first_right, n_right = start_of[c], start_of[c + 1] - start_of[c]
                cells = matrix[: rules.cell_start[pair + 1] - rules.cell_start[pair]]
                of_means = predicted_pair(rules, pair, predicted, cells)
                for end in range(start + 1, n):
                    span = first_span(n, end - start) + start
                    if factor[end] == 0.0 or not chart.is_live[span, b]:
                        continue
                    out = forward[end, first_right : first_right + n_right]
                    if of_means != 0.0:
                        value = factor[end] * of_means * chart.of_mean[span, b]
                        for j in range(n_right):
                            out[j] += value * rules.mean[first_right + j]
                    if len(cells) > 0:
                        x = vector(chart, start_of, span, b)
                        for i in range(len(x)):
                            value = factor[end] * x[i]
                            row = cells[i * n_right : (i + 1) * n_right]
                            for j in range(n_right):
                                out[j] += value * row[j]


@inner_kernel
def predicted_pair(rules: LatentRules, pair: int, predicted: Floats, cells: Floats) -> float:
    """The forward weight of a pair of children, summed over parents.

    ``cells``, axes (left, right), receives the sum over rules with tensors; returns the sum over
    rules that are products of means.
    """
    cells[:] = 0.0
    of_means = 0.0
    for rule in range(rules.layout.rule_start[pair], rules.layout.rule_start[pair + 1]):
        a, at = rules.parent[rule], rules.tensor_start[rule]
        for h in range(rules.state_start[a], rules.state_start[a + 1]):
            value = predicted[h]
            if rules.is_product[rule]:
                of_means += value * rules.tensor[at]
                at += 1
                continue
            row = rules.tensor[at : at + len(cells)]
            for cell in range(len(cells)):
                cells[cell] += value * row[cell]
            at += len(cells)
    return of_means
