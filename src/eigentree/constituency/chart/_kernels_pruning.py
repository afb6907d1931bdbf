"""Kernels of the plain PCFG's chart: inside, outside, and the forest of the remaining items.

The chart is laid out for sums over split points.  The inside values of a span from i to j are
stored twice: in the left row of i and the symbol, where spans with the same start are contiguous,
and in the right row of j and the symbol, where spans with the same end are.  The sum over the split
points k of inside(b, i, k) inside(c, k, j) is then a scalar product of two contiguous ranges; the
outside pass is its transpose.  The range of ends (or starts) with nonzero values is stored for
each row, so a preterminal on the left, which covers one word only, costs one product;
preterminals on the right are looked up from the last word.

Rows are created when their first item is stored, one after another in one array of cells, so
memory is proportional to the rows in use, and the length of the array limits it.  A left row has a
cell for each end after its start, a right row one for each start before its end.

Sums over split points are computed once for each pair of children (b, c) and then added to the
rules of the pair; the outside pass does the reverse.  Cost: O(n^3 P) products for P
pairs and O(n^2 R) rule applications in the worst case.

A symbol over a span is dropped at once when its inside value times its prior (the expected number
of uses of the symbol in a tree) is less than ``beam`` times the largest such product of the span
(Caraballo and Charniak 1998).

Each span's values are scaled by a power of two, ``true = value * 2 ** exponent[i, j]``, so
that the largest lies in [0.5, 1).  Such scaling is exact: results are bit-identical to unscaled
ones as long as those do not underflow.
"""

from __future__ import annotations

import math

import numpy as np

from eigentree._core.jit import inner_kernel, kernel
from eigentree.constituency.chart._kernels_spans import span_number
from eigentree.constituency.chart.arrays import EMPTY, Leaves, Permitted, PruningChart
from eigentree.constituency.grammar.arrays import RuleIndex
from eigentree.types import Floats, Ints

# Values this much smaller than the largest of their span are treated as zero.
SMALLEST = 2.0**-600
# Shifts below this give zero.
LOWEST_SHIFT = -1000


@inner_kernel
def sort(numbers: Ints, count: int) -> None:
    """Sort the first numbers of an array, by Shell's method.

    The sort of arrays in numba takes as long to compile as all of a pass.
    """
    gap = count // 2
    while gap > 0:
        for last in range(gap, count):
            number = numbers[last]
            at = last
            while at >= gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
        gap = 1 if gap == 2 else gap * 5 // 11


@inner_kernel
def add_rules(
    index: RuleIndex,
    parent: Ints,
    probability: Floats,
    pair: int,
    total: float,
    value: Floats,
    listed: Ints,
    n_listed: int,
) -> int:
    """Add a pair's value to the parents of its rules; returns the number of symbols listed."""
    for rule in range(index.rule_start[pair], index.rule_start[pair + 1]):
        a = parent[rule]
        product = total * probability[rule]
        if product > 0.0:
            if value[a] == 0.0:
                listed[n_listed] = a
                n_listed += 1
            value[a] += product
    return n_listed


@inner_kernel
def finish_span(
    n_words: int,
    index: RuleIndex,
    chart: PruningChart,
    start: int,
    end: int,
    listed: Ints,
    value: Floats,
    reference: int,
    prior: Floats,
    beam: float,
    permitted: Permitted,
) -> bool:
    """Scale the values of the symbols listed for a span (zeroed here) and store them.

    Returns false if they may not fit into the chart.
    """
    largest, best = 0.0, 0.0
    left_cells, right_cells = n_words - start, end
    n_cells, n_items = chart.used[0], chart.used[1]
    most_cells = n_cells + (left_cells + right_cells) * len(listed)
    if most_cells > len(chart.inside) or n_items + len(listed) > len(chart.live):
        return False
    span = span_number(n_words, start, end - start)
    row = permitted.row[span]
    for a in listed:
        if row != 0 and (row < 0 or not permitted.symbols[row, a]):
            value[a] = 0.0
        largest = max(largest, value[a])
        best = max(best, value[a] * prior[a])
    if largest == 0.0:
        return True
    _, shift = math.frexp(largest)
    scale = math.ldexp(1.0, -shift)
    count = 0
    for a in listed:
        scaled = value[a] * scale
        merit = value[a] * prior[a]
        value[a] = 0.0
        if scaled < SMALLEST or merit < beam * best:
            continue
        left, right = chart.left_range[start, a], chart.right_range[end, a]
        if left[0] > left[1]:
            # The cell of an end is at the row's number plus the end.
            chart.left_row[start, a] = n_cells - start - 1
            chart.inside[n_cells : n_cells + left_cells] = 0.0
            chart.outside[n_cells : n_cells + left_cells] = 0.0
            n_cells += left_cells
            if index.pair_start[a] < index.pair_start[a + 1]:
                chart.starters[start, chart.n_starters[start]] = a
                chart.n_starters[start] += 1
        if right[0] > right[1]:
            chart.right_row[end, a] = n_cells
            chart.inside[n_cells : n_cells + right_cells] = 0.0
            chart.outside[n_cells : n_cells + right_cells] = 0.0
            n_cells += right_cells
        left[0], left[1] = min(left[0], end), max(left[1], end)
        right[0], right[1] = min(right[0], start), max(right[1], start)
        chart.inside[chart.left_row[start, a] + end] = scaled
        chart.inside[chart.right_row[end, a] + start] = scaled
        chart.live[n_items + count] = a
        count += 1
    chart.live_start[span] = n_items
    chart.n_live[span] = count
    chart.used[0], chart.used[1] = n_cells, n_items + count
    chart.exponent[start, end] = reference + shift
    return True


@inner_kernel
def split_scales(chart: PruningChart, start: int, end: int, reference: int, scales: Floats) -> None:
    """The powers of two that bring the products at each split point to one exponent."""
    for k in range(start + 1, end):
        left, right = chart.exponent[start, k], chart.exponent[k, end]
        scales[k] = 0.0
        if left != EMPTY and right != EMPTY:
            shift = left + right - reference
            if shift >= LOWEST_SHIFT:
                scales[k] = math.ldexp(1.0, int(shift))


@kernel
def inside_pass(
    n_words: int,
    leaves: Leaves,
    index: RuleIndex,
    parent: Ints,
    probability: Floats,
    prior: Floats,
    beam: float,
    permitted: Permitted,
    chart: PruningChart,
) -> bool:
    """Fill the inside values of a chart, with permitted symbols only.

    Returns false, with an incomplete chart, if they do not fit.
    """
    n_symbols = chart.left_row.shape[1]
    value = np.zeros(n_symbols)
    listed = np.empty(n_symbols, dtype=np.int32)
    scales = np.zeros(n_words + 1)
    scaled_left = np.zeros(n_words + 1)
    for i in range(n_words):
        n_listed = leaves.start[i + 1] - leaves.start[i]
        for leaf in range(n_listed):
            listed[leaf] = leaves.symbol[leaves.start[i] + leaf]
            value[listed[leaf]] = leaves.weight[leaves.start[i] + leaf]
        # Sorted, so that the order of candidates does not affect results.
        sort(listed, n_listed)
        if not finish_span(
            n_words, index, chart, i, i + 1, listed[:n_listed], value, 0, prior, 0.0, permitted
        ):
            return False
    for width in range(2, n_words + 1):
        for i in range(n_words - width + 1):
            j = i + width
            if permitted.row[span_number(n_words, i, width)] < 0:
                continue
            reference = EMPTY
            for k in range(i + 1, j):
                left, right = chart.exponent[i, k], chart.exponent[k, j]
                if left != EMPTY and right != EMPTY:
                    reference = max(reference, left + right)
            if reference == EMPTY:
                continue
            split_scales(chart, i, j, reference, scales)
            n_listed = 0
            for place in range(chart.n_starters[i]):
                b = chart.starters[i, place]
                first, last = chart.left_range[i, b, 0], min(chart.left_range[i, b, 1], j - 1)
                left_row = chart.left_row[i, b]
                left_inside = chart.inside[left_row + first : left_row + last + 1]
                for k in range(len(left_inside)):
                    scaled_left[first + k] = scales[first + k] * left_inside[k]
                for p in range(index.pair_start[b], index.pair_middle[b]):
                    c = index.pair_right[p]
                    lowest = max(first, chart.right_range[j, c, 0])
                    highest = min(last, chart.right_range[j, c, 1])
                    if lowest > highest:
                        continue
                    total = 0.0
                    right_row = chart.right_row[j, c]
                    right_inside = chart.inside[right_row + lowest : right_row + highest + 1]
                    factor = scaled_left[lowest : highest + 1]
                    for k in range(len(right_inside)):
                        total += factor[k] * right_inside[k]
                    if total > 0.0:
                        n_listed = add_rules(
                            index, parent, probability, p, total, value, listed, n_listed
                        )
                if last < j - 1 or scaled_left[j - 1] == 0.0:
                    continue
                # The last word alone: only its own preterminals are possible.
                for leaf in range(chart.n_live[j - 1]):
                    c = chart.live[chart.live_start[j - 1] + leaf]
                    p = index.pair_of[index.row[b], index.column[c]]
                    if p >= 0:
                        total = scaled_left[j - 1] * chart.inside[chart.right_row[j, c] + j - 1]
                        n_listed = add_rules(
                            index, parent, probability, p, total, value, listed, n_listed
                        )
            sort(listed, n_listed)
            # No beam over the whole sentence: only some of its symbols can be the root.
            min_merit = beam if width < n_words else 0.0
            if not finish_span(
                n_words, index, chart, i, j, listed[:n_listed], value, reference, prior, min_merit,
                permitted,
            ):  # fmt: skip
                return False
    return True


@inner_kernel
def item_marginal(chart: PruningChart, start: int, end: int, symbol: int) -> float:
    """Marginal of a symbol over a span, once both passes are done."""
    left, right = chart.left_row[start, symbol] + end, chart.right_row[end, symbol] + start
    marginal: float = chart.inside[left] * (chart.outside[left] + chart.outside[right])
    return marginal


@kernel
def outside_pass(
    n_words: int,
    index: RuleIndex,
    probability: Floats,
    root: Floats,
    chart: PruningChart,
    negligible: float,
) -> float:
    """Fill the outside values of a chart, so that inside * outside is an item's marginal.

    The scale of a span's outside values is relative to its inside values, so the product
    needs no exponent.  Items whose marginal is below ``negligible`` are not expanded.
    Returns the mantissa of the sentence's value; its exponent is that of the whole span.
    """
    top = span_number(n_words, 0, n_words)
    total = 0.0
    first_live = chart.live_start[top]
    for place in range(first_live, first_live + chart.n_live[top]):
        a = chart.live[place]
        total += chart.inside[chart.left_row[0, a] + n_words] * root[a]
    if not total > 0.0:
        return total
    for place in range(first_live, first_live + chart.n_live[top]):
        a = chart.live[place]
        chart.outside[chart.left_row[0, a] + n_words] = root[a] / total
    pair_outside = np.zeros(len(index.pair_right))
    pairs = np.empty(len(index.pair_right), dtype=np.int32)
    scales = np.zeros(n_words + 1)
    for width in range(n_words, 1, -1):
        for i in range(n_words - width + 1):
            j = i + width
            span = span_number(n_words, i, width)
            n_pairs = 0
            first_live = chart.live_start[span]
            for place in range(first_live, first_live + chart.n_live[span]):
                a = chart.live[place]
                cell = chart.left_row[i, a] + j
                outside = chart.outside[cell] + chart.outside[chart.right_row[j, a] + i]
                if chart.inside[cell] * outside < negligible:
                    continue
                for at in range(index.parent_start[a], index.parent_start[a + 1]):
                    rule = index.parent_rules[at]
                    p = index.rule_pair[rule]
                    b, c = index.pair_left[p], index.pair_right[p]
                    lowest = max(chart.left_range[i, b, 0], chart.right_range[j, c, 0])
                    highest = min(chart.left_range[i, b, 1], chart.right_range[j, c, 1])
                    value = outside * probability[rule]
                    if lowest <= highest and value > 0.0:
                        if pair_outside[p] == 0.0:
                            pairs[n_pairs] = p
                            n_pairs += 1
                        pair_outside[p] += value
            if n_pairs == 0:
                continue
            split_scales(chart, i, j, chart.exponent[i, j], scales)
            for p in pairs[:n_pairs]:
                b, c = index.pair_left[p], index.pair_right[p]
                lowest = max(chart.left_range[i, b, 0], chart.right_range[j, c, 0])
                highest = min(chart.left_range[i, b, 1], chart.right_range[j, c, 1])
                left, right = chart.left_row[i, b] + lowest, chart.right_row[j, c] + lowest
                n_splits = highest - lowest + 1
                left_inside = chart.inside[left : left + n_splits]
                left_outside = chart.outside[left : left + n_splits]
                right_inside = chart.inside[right : right + n_splits]
                right_outside = chart.outside[right : right + n_splits]
                scale = scales[lowest : lowest + n_splits]
                value = pair_outside[p]
                pair_outside[p] = 0.0
                for k in range(n_splits):
                    scaled = value * scale[k]
                    left_outside[k] += scaled * right_inside[k]
                    right_outside[k] += scaled * left_inside[k]
    return total


@kernel
def list_items(
    n_words: int,
    chart: PruningChart,
    threshold: float,
    span_items: Ints,
    symbols: Ints,
    marginals: Floats,
) -> int:
    """List the items whose marginal is at least the threshold; returns their number.

    Fills ``span_items`` (spans + 1) with the first item of each span, and ``symbols`` and
    ``marginals`` with those of the items.
    """
    count = 0
    for width in range(1, n_words + 1):
        for i in range(n_words - width + 1):
            span = span_number(n_words, i, width)
            span_items[span] = count
            first_live = chart.live_start[span]
            for place in range(first_live, first_live + chart.n_live[span]):
                a = chart.live[place]
                marginal = item_marginal(chart, i, i + width, a)
                if marginal >= threshold:
                    symbols[count] = a
                    marginals[count] = marginal
                    count += 1
    span_items[len(chart.n_live)] = count
    return count


@kernel
def link_items(
    n_words: int,
    index: RuleIndex,
    parent: Ints,
    span_items: Ints,
    symbols: Ints,
    item_groups: Ints,
    group_rule: Ints,
    group_edges: Ints,
    edge_left: Ints,
    edge_right: Ints,
) -> int:
    """Connect items by rules.  Returns the number of edges, or -1 if the arrays are too short.

    Within a span, edges are chained by rule, then written out parent by parent, so the edges
    of a group are contiguous.
    """
    n_symbols = len(index.pair_start) - 1
    first_edge = np.full(len(parent), -1, dtype=np.int32)
    item_of = np.full(n_symbols, -1, dtype=np.int32)
    used_rules = np.zeros(len(parent), dtype=np.int32)
    capacity = len(edge_left)
    chain_left = np.zeros(capacity, dtype=np.int32)
    chain_right = np.zeros(capacity, dtype=np.int32)
    chain_next = np.zeros(capacity, dtype=np.int32)
    n_groups = 0
    n_edges = 0
    item_groups[: n_words + 1] = 0
    for width in range(1, n_words + 1):
        for i in range(n_words - width + 1):
            span = span_number(n_words, i, width)
            first, last = span_items[span], span_items[span + 1]
            if first == last:
                continue
            for item in range(first, last):
                item_of[symbols[item]] = item
            n_used = 0
            n_chained = 0
            for left_width in range(1, width):
                left_span = span_number(n_words, i, left_width)
                right_span = span_number(n_words, i + left_width, width - left_width)
                for left in range(span_items[left_span], span_items[left_span + 1]):
                    for right in range(span_items[right_span], span_items[right_span + 1]):
                        pair = index.pair_of[index.row[symbols[left]], index.column[symbols[right]]]
                        if pair < 0:
                            continue
                        for rule in range(index.rule_start[pair], index.rule_start[pair + 1]):
                            if item_of[parent[rule]] < 0:
                                continue
                            if n_edges + n_chained >= capacity:
                                return -1
                            if first_edge[rule] < 0:
                                used_rules[n_used] = rule
                                n_used += 1
                            chain_left[n_chained] = left
                            chain_right[n_chained] = right
                            chain_next[n_chained] = first_edge[rule]
                            first_edge[rule] = n_chained
                            n_chained += 1
            for item in range(first, last):
                item_groups[item] = n_groups
                for at in range(n_used):
                    rule = used_rules[at]
                    if item_of[parent[rule]] != item:
                        continue
                    group_rule[n_groups] = rule
                    group_edges[n_groups] = n_edges
                    n_groups += 1
                    link = first_edge[rule]
                    while link >= 0:
                        edge_left[n_edges] = chain_left[link]
                        edge_right[n_edges] = chain_right[link]
                        n_edges += 1
                        link = chain_next[link]
            for at in range(n_used):
                first_edge[used_rules[at]] = -1
            for item in range(first, last):
                item_of[symbols[item]] = -1
    item_groups[span_items[len(span_items) - 1]] = n_groups
    group_edges[n_groups] = n_edges
    return n_edges
