"""Kernels of the plain PCFG's chart: inside, outside, and the forest of what survives.

Cells are numbered by width, then start: the cell of width w at start i of an n-word
sentence is ``(w - 1) * n - (w - 1) * (w - 2) // 2 + i``.  Each cell keeps its values scaled by
a power of two, ``true = value * 2 ** exponent[cell]``, its largest value lying in [0.5, 1).
Scaling by powers of two is exact, so results equal the unscaled ones bit for bit as long as
those do not underflow.

Work is grouped by the pair of children: for one span, the products of left and right inside
values are summed over the split points for each pair, and only then spread over the rules
of the pair; the outside pass does the reverse.  Cost: O(n^3 P) products and O(n^2 R) rule
applications at worst, and far fewer since only live left symbols are visited.
"""

from __future__ import annotations

import math

import numpy as np

from eigentree._accel import kernel

# A value this much smaller than the largest of its cell counts as zero.
SMALLEST = 2.0**-600
# Shifts below this give zero in any case.
LOWEST_SHIFT = -1000


@kernel
def cell_number(n_words, start, width):  # type: ignore[no-untyped-def]
    return (width - 1) * n_words - (width - 1) * (width - 2) // 2 + start


@kernel
def finish_cell(cell, value, exponent, live, n_live, reference):  # type: ignore[no-untyped-def]
    """Scale a cell to [0.5, 1) and list its live symbols."""
    largest = 0.0
    for a in range(value.shape[1]):
        largest = max(largest, value[cell, a])
    if largest == 0.0:
        return
    _, shift = math.frexp(largest)
    scale = math.ldexp(1.0, -shift)
    count = 0
    for a in range(value.shape[1]):
        if value[cell, a] > 0.0:
            value[cell, a] *= scale
            if value[cell, a] >= SMALLEST:
                live[cell, count] = a
                count += 1
            else:
                value[cell, a] = 0.0
    n_live[cell] = count
    exponent[cell] = reference + shift


@kernel
def inside_pass(  # type: ignore[no-untyped-def]
    n_words, leaves, index, parent, probability, inside, exponent, live, n_live
):
    """Fill ``inside`` (cells, N), ``exponent`` (cells), ``live`` (cells, N), ``n_live`` (cells)."""
    pair_sum = np.zeros(len(index.pair_right))
    touched = np.zeros(inside.shape[1], dtype=np.bool_)
    for i in range(n_words):
        for leaf in range(leaves.start[i], leaves.start[i + 1]):
            inside[i, leaves.symbol[leaf]] = leaves.weight[leaf]
        finish_cell(i, inside, exponent, live, n_live, 0)
    for width in range(2, n_words + 1):
        for i in range(n_words - width + 1):
            cell = cell_number(n_words, i, width)
            reference = -(1 << 30)
            for left_width in range(1, width):
                left = cell_number(n_words, i, left_width)
                right = cell_number(n_words, i + left_width, width - left_width)
                if n_live[left] and n_live[right]:
                    reference = max(reference, exponent[left] + exponent[right])
            if reference == -(1 << 30):
                continue
            touched[:] = False
            for left_width in range(1, width):
                left = cell_number(n_words, i, left_width)
                right = cell_number(n_words, i + left_width, width - left_width)
                if not (n_live[left] and n_live[right]):
                    continue
                shift = exponent[left] + exponent[right] - reference
                if shift < LOWEST_SHIFT:
                    continue
                scale = math.ldexp(1.0, shift)
                right_value = inside[right]
                for place in range(n_live[left]):
                    b = live[left, place]
                    first, last = index.pair_start[b], index.pair_start[b + 1]
                    if first == last:
                        continue
                    if not touched[b]:
                        touched[b] = True
                        pair_sum[first:last] = 0.0
                    value = inside[left, b] * scale
                    for p in range(first, last):
                        pair_sum[p] += value * right_value[index.pair_right[p]]
            for b in range(len(touched)):
                if touched[b]:
                    for p in range(index.pair_start[b], index.pair_start[b + 1]):
                        value = pair_sum[p]
                        if value > 0.0:
                            for rule in range(index.rule_start[p], index.rule_start[p + 1]):
                                inside[cell, parent[rule]] += value * probability[rule]
            finish_cell(cell, inside, exponent, live, n_live, reference)


@kernel
def outside_pass(  # type: ignore[no-untyped-def]
    n_words, index, probability, root, inside, exponent, live, n_live, negligible, outside
):
    """Fill ``outside`` (cells, N) so that inside * outside is the marginal of an item.

    The scale of a cell's outside values is set against its inside values, so the product
    needs no exponent.  Items whose marginal is below ``negligible`` are not expanded.
    Returns the mantissa of the sentence's value; its exponent is that of the top cell.
    """
    n_symbols = inside.shape[1]
    top = cell_number(n_words, 0, n_words)
    total = 0.0
    for place in range(n_live[top]):
        a = live[top, place]
        total += inside[top, a] * root[a]
    if not total > 0.0:
        return total
    for place in range(n_live[top]):
        a = live[top, place]
        outside[top, a] = root[a] / total
    pair_outside = np.zeros(len(index.pair_right))
    # Pairs under the parents of a span, as lists by left child: (right child, outside).
    first_of = np.zeros(n_symbols, dtype=np.int32)
    last_of = np.zeros(n_symbols, dtype=np.int32)
    pair_child = np.zeros(len(index.pair_right), dtype=np.int32)
    pair_value = np.zeros(len(index.pair_right))
    for width in range(n_words, 1, -1):
        for i in range(n_words - width + 1):
            cell = cell_number(n_words, i, width)
            expanded = False
            for place in range(n_live[cell]):
                a = live[cell, place]
                if inside[cell, a] * outside[cell, a] >= negligible:
                    expanded = True
                    for at in range(index.parent_start[a], index.parent_start[a + 1]):
                        rule = index.parent_rules[at]
                        pair_outside[index.rule_pair[rule]] += outside[cell, a] * probability[rule]
            if not expanded:
                continue
            count = 0
            for b in range(n_symbols):
                first_of[b] = count
                for p in range(index.pair_start[b], index.pair_start[b + 1]):
                    if pair_outside[p] > 0.0:
                        pair_child[count] = index.pair_right[p]
                        pair_value[count] = pair_outside[p]
                        pair_outside[p] = 0.0
                        count += 1
                last_of[b] = count
            for left_width in range(1, width):
                left = cell_number(n_words, i, left_width)
                right = cell_number(n_words, i + left_width, width - left_width)
                if not (n_live[left] and n_live[right]):
                    continue
                shift = exponent[left] + exponent[right] - exponent[cell]
                if shift < LOWEST_SHIFT:
                    continue
                scale = math.ldexp(1.0, shift)
                right_inside = inside[right]
                right_outside = outside[right]
                for place in range(n_live[left]):
                    b = live[left, place]
                    total_left = 0.0
                    for at in range(first_of[b], last_of[b]):
                        total_left += pair_value[at] * right_inside[pair_child[at]]
                    if total_left > 0.0:
                        outside[left, b] += total_left * scale
                        value = inside[left, b] * scale
                        for at in range(first_of[b], last_of[b]):
                            right_outside[pair_child[at]] += value * pair_value[at]
    return total


@kernel
def list_items(n_words, inside, outside, live, n_live, threshold, cell_items, symbols):  # type: ignore[no-untyped-def]
    """List the items whose marginal reaches the threshold; returns their number.

    Fills ``cell_items`` (cells + 1) with the first item of each cell and ``symbols`` with the
    items' symbols.
    """
    count = 0
    for cell in range(len(n_live)):
        cell_items[cell] = count
        for place in range(n_live[cell]):
            a = live[cell, place]
            if inside[cell, a] * outside[cell, a] >= threshold:
                symbols[count] = a
                count += 1
    cell_items[len(n_live)] = count
    return count


@kernel
def find_pair(index, left, right):  # type: ignore[no-untyped-def]
    """The pair of two children, by bisection; -1 when no rule has it."""
    low, high = index.pair_start[left], index.pair_start[left + 1]
    last = high
    while low < high:
        middle = (low + high) // 2
        if index.pair_right[middle] < right:
            low = middle + 1
        else:
            high = middle
    return low if low < last and index.pair_right[low] == right else -1


@kernel
def link_items(  # type: ignore[no-untyped-def]
    n_words, index, parent, cell_items, symbols,
    item_groups, group_rule, group_edges, edge_left, edge_right,
):  # fmt: skip
    """Connect items by rules.  Returns the number of edges, or -1 if the arrays are too short.

    Within a span edges are chained by rule, then written out parent by parent, so the edges
    of a group lie together.
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
            cell = cell_number(n_words, i, width)
            first, last = cell_items[cell], cell_items[cell + 1]
            if first == last:
                continue
            for item in range(first, last):
                item_of[symbols[item]] = item
            n_used = 0
            n_chained = 0
            for left_width in range(1, width):
                left_cell = cell_number(n_words, i, left_width)
                right_cell = cell_number(n_words, i + left_width, width - left_width)
                for left in range(cell_items[left_cell], cell_items[left_cell + 1]):
                    for right in range(cell_items[right_cell], cell_items[right_cell + 1]):
                        pair = find_pair(index, symbols[left], symbols[right])
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
    item_groups[cell_items[len(cell_items) - 1]] = n_groups
    group_edges[n_groups] = n_edges
    return n_edges
