"""Kernels of expectation maximisation over the states of skeletal trees.

With T the tensor of the rule at a node, x and y the inside vectors of its children and z its
outside vector,

    inside = T (x y'),    outside(left) = (z T) y,    outside(right) = x (z T),
    expected count of the rule = T * (z x y'), number by number, summed over its nodes.

Nodes are processed in batches: all of one rule and none above another, four at a time, so that each
number of T is loaded once for four nodes; remaining nodes are processed one by one, and the
preterminals of a block of trees in one batch.  Inside vectors are scaled by powers of two so
that the largest entry lies in [0.5, 1); the outside vector is scaled relative to that, so that
inside * outside is the posterior of the state, times the weight of the tree.
"""

from __future__ import annotations

import math

from eigentree._core.jit import inner_kernel, kernel
from eigentree.constituency.learn.em_arrays import Layout, Skeletons, Values
from eigentree.types import Floats, Floats2, Ints


@kernel
def inside_pass(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    first: int,
    last: int,
    inside: Floats,
    exponent: Ints,
    scale: Floats,
    scratch: Floats2,
) -> None:
    """Fill inside vectors, their exponents and scales, for batches ``first`` to ``last``."""
    for batch in range(first, last):
        node, end = trees.batch[batch], trees.batch[batch + 1]
        if trees.rule[node] < 0:
            inside_words(trees, layout, values, node, end, inside)
        elif end - node == 4:
            inside_four(trees, layout, values, node, inside, scratch)
        else:
            inside_one(trees, layout, values, node, inside, scratch)
        for each in range(node, end):
            out = inside[trees.start[each] : trees.start[each + 1]]
            largest = 0.0
            for h in range(len(out)):
                largest = max(largest, out[h])
            shift = 0
            if largest > 0.0:
                _, shift = math.frexp(largest)
            scale[each] = math.ldexp(1.0, -shift)
            for h in range(len(out)):
                out[h] *= scale[each]
            exponent[each] = shift
            if trees.rule[each] >= 0:
                exponent[each] += exponent[trees.left[each]] + exponent[trees.right[each]]


@inner_kernel
def inside_words(
    trees: Skeletons, layout: Layout, values: Values, node: int, end: int, inside: Floats
) -> None:
    """Fill the inside vectors of a range of preterminals."""
    for each in range(node, end):
        out = inside[trees.start[each] : trees.start[each + 1]]
        first = layout.word_start[trees.pair[each]]
        for h in range(len(out)):
            out[h] = values.words[first + h]


@inner_kernel
def outer(trees: Skeletons, node: int, inside: Floats, product: Floats) -> None:
    """The product x y' of the children's inside vectors."""
    left, right = trees.left[node], trees.right[node]
    x = inside[trees.start[left] : trees.start[left + 1]]
    y = inside[trees.start[right] : trees.start[right + 1]]
    for i in range(len(x)):
        row = product[i * len(y) : (i + 1) * len(y)]
        for j in range(len(y)):
            row[j] = x[i] * y[j]


@inner_kernel
def inside_one(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    node: int,
    inside: Floats,
    scratch: Floats2,
) -> None:
    """Fill the inside vector of one inner node."""
    rule = trees.rule[node]
    size = layout.child_states[rule]
    product = scratch[0, :size]
    outer(trees, node, inside, product)
    out = inside[trees.start[node] : trees.start[node + 1]]
    for h in range(len(out)):
        begin = layout.rule_start[rule] + h * size
        row = values.rules[begin : begin + size]
        total = 0.0
        for k in range(size):
            total += row[k] * product[k]
        out[h] = total


@inner_kernel
def inside_four(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    node: int,
    inside: Floats,
    scratch: Floats2,
) -> None:
    """Fill the inside vectors of four nodes of one rule, reading its tensor once."""
    rule = trees.rule[node]
    size = layout.child_states[rule]
    for each in range(4):
        outer(trees, node + each, inside, scratch[each])
    p0, p1, p2, p3 = scratch[0, :size], scratch[1, :size], scratch[2, :size], scratch[3, :size]
    start = trees.start[node]
    n_states = trees.start[node + 1] - start
    for h in range(n_states):
        begin = layout.rule_start[rule] + h * size
        row = values.rules[begin : begin + size]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for k in range(size):
            t0 += row[k] * p0[k]
            t1 += row[k] * p1[k]
            t2 += row[k] * p2[k]
            t3 += row[k] * p3[k]
        inside[start + h] = t0
        inside[start + n_states + h] = t1
        inside[start + 2 * n_states + h] = t2
        inside[start + 3 * n_states + h] = t3


@kernel
def outside_pass(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    first: int,
    last: int,
    inside: Floats,
    exponent: Ints,
    scale: Floats,
    outside: Floats,
    log_value: Floats,
    scratch: Floats2,
) -> None:
    """Fill outside vectors, and the logarithm of each tree's probability.

    The outside vectors of inner nodes are multiplied by the node's scale, as needed for the
    expected counts.
    """
    for batch in range(last - 1, first - 1, -1):
        node, end = trees.batch[batch], trees.batch[batch + 1]
        for each in range(node, end):
            if trees.tree[each] >= 0:
                outside_root(trees, layout, values, each, inside, exponent, outside, log_value)
            if trees.rule[each] >= 0:
                above = outside[trees.start[each] : trees.start[each + 1]]
                for h in range(len(above)):
                    above[h] *= scale[each]
        if trees.rule[node] < 0:
            continue
        if end - node == 4:
            outside_four(trees, layout, values, node, inside, outside, scratch)
        else:
            outside_one(trees, layout, values, node, inside, outside, scratch)


@inner_kernel
def outside_root(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    node: int,
    inside: Floats,
    exponent: Ints,
    outside: Floats,
    log_value: Floats,
) -> None:
    """Fill the outside vector of a root and the log-probability of its tree."""
    x = inside[trees.start[node] : trees.start[node + 1]]
    out = outside[trees.start[node] : trees.start[node + 1]]
    root = layout.state_start[trees.symbol[node]]
    total = 0.0
    for h in range(len(x)):
        total += x[h] * values.roots[root + h]
    for h in range(len(x)):
        out[h] = values.roots[root + h] * trees.weight[node] / total if total > 0.0 else 0.0
    logarithm = math.log(total) if total > 0.0 else -math.inf
    log_value[trees.tree[node]] = logarithm + exponent[node] * math.log(2.0)


@inner_kernel
def outside_one(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    node: int,
    inside: Floats,
    outside: Floats,
    scratch: Floats2,
) -> None:
    """Fill the outside vectors of the children of one inner node."""
    rule = trees.rule[node]
    size = layout.child_states[rule]
    matrix = scratch[0, :size]
    for k in range(size):
        matrix[k] = 0.0
    above = outside[trees.start[node] : trees.start[node + 1]]
    for h in range(len(above)):
        begin = layout.rule_start[rule] + h * size
        row = values.rules[begin : begin + size]
        weight = above[h]
        for k in range(size):
            matrix[k] += weight * row[k]
    hand_down(trees, node, inside, outside, matrix)


@inner_kernel
def outside_four(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    node: int,
    inside: Floats,
    outside: Floats,
    scratch: Floats2,
) -> None:
    """Fill the outside vectors below four nodes of one rule, reading its tensor once."""
    rule = trees.rule[node]
    size = layout.child_states[rule]
    m0, m1, m2, m3 = scratch[0, :size], scratch[1, :size], scratch[2, :size], scratch[3, :size]
    for k in range(size):
        m0[k] = m1[k] = m2[k] = m3[k] = 0.0
    start = trees.start[node]
    n_states = trees.start[node + 1] - start
    for h in range(n_states):
        begin = layout.rule_start[rule] + h * size
        row = values.rules[begin : begin + size]
        z0, z1 = outside[start + h], outside[start + n_states + h]
        z2, z3 = outside[start + 2 * n_states + h], outside[start + 3 * n_states + h]
        for k in range(size):
            value = row[k]
            m0[k] += z0 * value
            m1[k] += z1 * value
            m2[k] += z2 * value
            m3[k] += z3 * value
    for each in range(4):
        hand_down(trees, node + each, inside, outside, scratch[each])


@inner_kernel
def hand_down(trees: Skeletons, node: int, inside: Floats, outside: Floats, matrix: Floats) -> None:
    """Outside vectors of the children from z T."""
    left, right = trees.left[node], trees.right[node]
    x = inside[trees.start[left] : trees.start[left + 1]]
    y = inside[trees.start[right] : trees.start[right + 1]]
    out_left = outside[trees.start[left] : trees.start[left + 1]]
    out_right = outside[trees.start[right] : trees.start[right + 1]]
    for j in range(len(y)):
        out_right[j] = 0.0
    for i in range(len(x)):
        row = matrix[i * len(y) : (i + 1) * len(y)]
        total, weight = 0.0, x[i]
        for j in range(len(y)):
            total += row[j] * y[j]
            out_right[j] += weight * row[j]
        out_left[i] = total


@kernel
def count_rules(
    trees: Skeletons,
    layout: Layout,
    values: Values,
    first: int,
    last: int,
    inside: Floats,
    outside: Floats,
    counts: Floats,
    scratch: Floats2,
) -> None:
    """Expected counts of rules ``first`` to ``last``, with their states."""
    for rule in range(first, last):
        size = layout.child_states[rule]
        begin, end = layout.rule_start[rule], layout.rule_start[rule + 1]
        for k in range(begin, end):
            counts[k] = 0.0
        at, stop = layout.node_start[rule], layout.node_start[rule + 1]
        while at + 3 < stop:
            for each in range(4):
                outer(trees, trees.by_rule[at + each], inside, scratch[each])
            p0, p1 = scratch[0, :size], scratch[1, :size]
            p2, p3 = scratch[2, :size], scratch[3, :size]
            s0, s1 = trees.start[trees.by_rule[at]], trees.start[trees.by_rule[at + 1]]
            s2, s3 = trees.start[trees.by_rule[at + 2]], trees.start[trees.by_rule[at + 3]]
            for h in range((end - begin) // size):
                z0, z1, z2, z3 = outside[s0 + h], outside[s1 + h], outside[s2 + h], outside[s3 + h]
                row = counts[begin + h * size : begin + (h + 1) * size]
                for k in range(size):
                    row[k] += z0 * p0[k] + z1 * p1[k] + z2 * p2[k] + z3 * p3[k]
            at += 4
        while at < stop:
            node = trees.by_rule[at]
            outer(trees, node, inside, scratch[0])
            product = scratch[0, :size]
            for h in range((end - begin) // size):
                z = outside[trees.start[node] + h]
                row = counts[begin + h * size : begin + (h + 1) * size]
                for k in range(size):
                    row[k] += z * product[k]
            at += 1
        for k in range(begin, end):
            counts[k] *= values.rules[k]


@kernel
def count_others(
    trees: Skeletons,
    layout: Layout,
    inside: Floats,
    outside: Floats,
    scale: Floats,
    words: Floats,
    roots: Floats,
) -> None:
    """Add the expected counts of words and roots, with their states, to zeroed arrays."""
    for node in range(len(trees.rule)):
        start = trees.start[node]
        n_states = trees.start[node + 1] - start
        if trees.rule[node] < 0:
            to = layout.word_start[trees.pair[node]]
            for h in range(n_states):
                words[to + h] += inside[start + h] * outside[start + h]
        if trees.tree[node] >= 0:
            to = layout.state_start[trees.symbol[node]]
            unscaled = 1.0 / scale[node] if trees.rule[node] >= 0 else 1.0
            for h in range(n_states):
                roots[to + h] += inside[start + h] * outside[start + h] * unscaled


@kernel
def count_states(layout: Layout, counts: Values, states: Floats) -> None:
    """Add the expected count of each state, from rules or words, to zeroed arrays."""
    for rule in range(len(layout.child_states)):
        size = layout.child_states[rule]
        to = layout.state_start[layout.rule_symbols[rule, 0]]
        begin, end = layout.rule_start[rule], layout.rule_start[rule + 1]
        for h in range((end - begin) // size):
            row = counts.rules[begin + h * size : begin + (h + 1) * size]
            total = 0.0
            for k in range(size):
                total += row[k]
            states[to + h] += total
    for pair in range(len(layout.word_symbol)):
        to = layout.state_start[layout.word_symbol[pair]]
        begin, end = layout.word_start[pair], layout.word_start[pair + 1]
        for h in range(end - begin):
            states[to + h] += counts.words[begin + h]


@kernel
def divide(layout: Layout, counts: Values, states: Floats, out: Values) -> None:
    """Relative frequencies of rules and words in each state; unused ones use the backbone."""
    for rule in range(len(layout.child_states)):
        size = layout.child_states[rule]
        state = layout.state_start[layout.rule_symbols[rule, 0]]
        begin, end = layout.rule_start[rule], layout.rule_start[rule + 1]
        for h in range((end - begin) // size):
            total = states[state + h]
            even = layout.rule_probability[rule] / size
            for k in range(begin + h * size, begin + (h + 1) * size):
                out.rules[k] = counts.rules[k] / total if total > 0.0 else even
    for pair in range(len(layout.word_symbol)):
        state = layout.state_start[layout.word_symbol[pair]]
        begin, end = layout.word_start[pair], layout.word_start[pair + 1]
        for h in range(end - begin):
            total = states[state + h]
            even = layout.word_probability[pair]
            out.words[begin + h] = counts.words[begin + h] / total if total > 0.0 else even
