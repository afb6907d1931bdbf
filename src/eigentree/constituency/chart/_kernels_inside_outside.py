"""Kernels of the inside-outside algorithm over latent states, on a packed forest.

For an item p built by rule r from the edges (l, q) of a group,

    inside(p) = sum over groups  T_r . sum over edges inside(l) x inside(q)
    outside(l) += (outside(p) . T_r) . inside(q),   outside(q) likewise,
    value(edge) = outside(p) . T_r . (inside(l) x inside(q))

with T_r in one of the forms of `eigentree.constituency.grammar.lpcfg`: dense, samples, means or
counts.  A dense group costs one pass over T_r and O(K^2) per edge, samples O(n K) per edge, means
O(K), n counts O(n).  Contributions proportional to a fixed vector of the symbol, such as those of
means, are summed as one number per item and multiplied by the vector once.

Values may be signed, so there are no logarithms.  Each item's inside vector is scaled by a
power of two so that its largest entry lies in [0.5, 1); the scale of its outside vector is
chosen relative to it and to the sentence's value, so that inside . outside is the item's marginal.
"""

from __future__ import annotations

import math

from eigentree._core.jit import inner_kernel, kernel
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.grammar.arrays import LatentParameters
from eigentree.types import Floats, Floats2, Longs

# The exponent of a zero inside vector.
ZERO = -(1 << 30)
LOWEST_SHIFT = -1000


@inner_kernel
def group_reference(exponent: Longs, forest: Forest, item: int) -> int:
    """The largest exponent among the products of the edges that build an item."""
    reference = ZERO
    first = forest.group_edges[forest.item_groups[item]]
    last = forest.group_edges[forest.item_groups[item + 1]]
    for edge in range(first, last):
        left, right = exponent[forest.edge_left[edge]], exponent[forest.edge_right[edge]]
        if left != ZERO and right != ZERO:
            reference = max(reference, left + right)
    return reference


@inner_kernel
def edge_scale(exponent: Longs, left: int, right: int, reference: int) -> float:
    """The power of two that brings an edge's product to the reference exponent; 0 if it is 0."""
    if exponent[left] == ZERO or exponent[right] == ZERO:
        return 0.0
    shift = exponent[left] + exponent[right] - reference
    return 0.0 if shift < LOWEST_SHIFT else math.ldexp(1.0, int(shift))


@inner_kernel
def matrix_vector(matrix: Floats, first: int, n_rows: int, vector: Floats, out: Floats) -> None:
    """out[s] = row s of a matrix, stored flat from `first` on, times the vector."""
    n_columns = len(vector)
    for s in range(n_rows):
        row = matrix[first + s * n_columns : first + (s + 1) * n_columns]
        total = 0.0
        for k in range(n_columns):
            total += row[k] * vector[k]
        out[s] = total


@inner_kernel
def add_transposed(matrix: Floats, first: int, n_rows: int, weights: Floats, out: Floats) -> None:
    """Add to `out` the transpose of a matrix, stored flat from `first` on, times the weights."""
    n_columns = len(out)
    for s in range(n_rows):
        row = matrix[first + s * n_columns : first + (s + 1) * n_columns]
        weight = weights[s]
        for k in range(n_columns):
            out[k] += weight * row[k]


@inner_kernel
def dot(x: Floats, y: Floats) -> float:
    """Scalar product of two vectors."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@kernel
def inside_pass(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    backed_off: Floats,
    shared: Floats,
    scratch: Floats2,
) -> None:
    """Fill inside vectors, exponents, and F . inside of each item (``backed_off``).

    ``shared`` receives the same product with the shares of states instead of F.  The vector of
    item i is at ``vector_start[i]:vector_start[i+1]``.
    """
    for item in range(len(forest.item_symbol)):
        symbol = forest.item_symbol[item]
        out = inside[vector_start[item] : vector_start[item + 1]]
        states = grammar.state_start[symbol]
        reference = 0
        entry = forest.item_entry[item]
        if entry >= 0:
            first = grammar.lexical_start[entry]
            if first < grammar.lexical_start[entry + 1]:
                for h in range(len(out)):
                    out[h] = grammar.lexical[first + h] * forest.item_weight[item]
            else:
                counted_word(grammar, entry, states, forest.item_weight[item], out)
        elif entry == -1:
            for h in range(len(out)):
                out[h] = grammar.unseen_word[states + h] * forest.item_weight[item]
        else:
            reference = group_reference(exponent, forest, item)
            counted = scratch[3, : len(out)]
            for h in range(len(out)):
                out[h] = 0.0
                counted[h] = 0.0
            of_means, of_shares = 0.0, 0.0
            if reference != ZERO:
                for group in range(forest.item_groups[item], forest.item_groups[item + 1]):
                    rule = forest.group_rule[group]
                    if grammar.dense_start[rule] >= 0:
                        inside_dense(
                            forest, grammar, vector_start, inside, exponent,
                            group, reference, out, scratch,
                        )  # fmt: skip
                    elif grammar.n_samples[rule] == 0:
                        of_means += inside_means(
                            forest, grammar, exponent, backed_off, group, reference
                        )
                    elif grammar.sample_start[rule, 1] < 0:
                        of_shares += inside_counts(
                            forest, grammar, vector_start, inside, exponent,
                            shared, group, reference, counted,
                        )  # fmt: skip
                    else:
                        of_means += inside_samples(
                            forest, grammar, vector_start, inside, exponent,
                            backed_off, group, reference, out, scratch,
                        )  # fmt: skip
                for h in range(len(out)):
                    out[h] += of_means * grammar.outside_mean[states + h]
                if len(grammar.state_share) > 0:
                    for h in range(len(out)):
                        value = counted[h] + of_shares * grammar.state_share[states + h]
                        out[h] += grammar.state_scale[states + h] * value
        largest = 0.0
        for h in range(len(out)):
            largest = max(largest, abs(out[h]))
        if largest == 0.0 or reference == ZERO:
            exponent[item] = ZERO
            continue
        _, shift = math.frexp(largest)
        scale = math.ldexp(1.0, -shift)
        for h in range(len(out)):
            out[h] *= scale
        exponent[item] = reference + shift
        backed_off[item] = dot(grammar.inside_mean[states : states + len(out)], out)
        if len(grammar.state_share) > 0:
            shared[item] = dot(grammar.state_share[states : states + len(out)], out)


@inner_kernel
def counted_word(
    grammar: LatentParameters, entry: int, states: int, weight: float, out: Floats
) -> None:
    """The vector of a word stored as counts, times a weight."""
    first, last = grammar.word_use_start[entry], grammar.word_use_start[entry + 1]
    total = 0.0
    for s in range(first, last):
        total += grammar.word_uses[s]
    lean = grammar.lean[entry]
    for h in range(len(out)):
        out[h] = lean * grammar.state_share[states + h]
    for s in range(first, last):
        out[grammar.word_state[s]] += (1.0 - lean) * grammar.word_uses[s] / total
    for h in range(len(out)):
        out[h] *= weight * grammar.state_scale[states + h]


@inner_kernel
def inside_dense(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    group: int,
    reference: int,
    out: Floats,
    scratch: Floats2,
) -> None:
    """Add to an item's inside vector what a group with a dense tensor contributes."""
    rule = forest.group_rule[group]
    product = scratch[0, : state_count(grammar, rule, 1) * state_count(grammar, rule, 2)]
    if not children(forest, vector_start, inside, exponent, group, reference, product):
        return
    first = grammar.dense_start[rule]
    for h in range(len(out)):
        row = grammar.dense[first + h * len(product) : first + (h + 1) * len(product)]
        total = 0.0
        for k in range(len(product)):
            total += row[k] * product[k]
        out[h] += total


@inner_kernel
def children(
    forest: Forest,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    group: int,
    reference: int,
    product: Floats,
) -> bool:
    """Sum the products x y' of a group's edges into ``product``; returns whether any is nonzero."""
    for k in range(len(product)):
        product[k] = 0.0
    any_nonzero = False
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale == 0.0:
            continue
        any_nonzero = True
        x = inside[vector_start[left] : vector_start[left + 1]]
        y = inside[vector_start[right] : vector_start[right + 1]]
        for i in range(len(x)):
            value = x[i] * scale
            row = product[i * len(y) : (i + 1) * len(y)]
            for j in range(len(y)):
                row[j] += value * y[j]
    return any_nonzero


@inner_kernel
def state_count(grammar: LatentParameters, rule: int, mode: int) -> int:
    """Number of states of a rule's parent (0), left child (1) or right child (2)."""
    symbol = grammar.rule_symbols[rule, mode]
    count: int = grammar.state_start[symbol + 1] - grammar.state_start[symbol]
    return count


@inner_kernel
def inside_samples(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    backed_off: Floats,
    group: int,
    reference: int,
    out: Floats,
    scratch: Floats2,
) -> float:
    """Add a group's contribution without the symbol's means; returns the weight of H."""
    rule = forest.group_rule[group]
    n = grammar.n_samples[rule]
    smoothing = grammar.smoothing[rule]
    rest = 1.0 - smoothing
    second, third = rest * smoothing / 3.0, rest * rest * smoothing
    p, q, v = scratch[0, :n], scratch[1, :n], scratch[2, :n]
    for s in range(n):
        v[s] = 0.0
    constant, product_of_means = 0.0, 0.0
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale == 0.0:
            continue
        x = inside[vector_start[left] : vector_start[left + 1]]
        y = inside[vector_start[right] : vector_start[right + 1]]
        matrix_vector(grammar.samples, grammar.sample_start[rule, 1], n, x, p)
        matrix_vector(grammar.samples, grammar.sample_start[rule, 2], n, y, q)
        mean_p, mean_q, mean_pq = 0.0, 0.0, 0.0
        for s in range(n):
            mean_p += p[s]
            mean_q += q[s]
            mean_pq += p[s] * q[s]
        mean_p, mean_q, mean_pq = mean_p / n, mean_q / n, mean_pq / n
        for s in range(n):
            v[s] += scale * (smoothing * p[s] * q[s] + second * (p[s] * mean_q + q[s] * mean_p))
        constant += scale * (second * mean_pq + third * mean_p * mean_q)
        product_of_means += scale * backed_off[left] * backed_off[right]
    for s in range(n):
        v[s] = (v[s] + constant) * grammar.ratio[rule] / n
    add_transposed(grammar.samples, grammar.sample_start[rule, 0], n, v, out)
    weight: float = grammar.ratio[rule] * rest * rest * rest * product_of_means
    return weight


@inner_kernel
def inside_counts(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    shared: Floats,
    group: int,
    reference: int,
    out: Floats,
) -> float:
    """Like `inside_samples`, with p and q read off x and y; returns the weight of the shares."""
    rule = forest.group_rule[group]
    first = grammar.sample_start[rule, 0]
    last = first + grammar.n_samples[rule]
    smoothing = grammar.smoothing[rule]
    rest = 1.0 - smoothing
    second, third = rest * smoothing / 3.0, rest * rest * smoothing
    product_of_shares = 0.0
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale == 0.0:
            continue
        x = inside[vector_start[left] : vector_start[left + 1]]
        y = inside[vector_start[right] : vector_start[right + 1]]
        total, mean_p, mean_q, mean_pq = 0.0, 0.0, 0.0, 0.0
        for s in range(first, last):
            p, q = x[grammar.triples[s, 1]], y[grammar.triples[s, 2]]
            uses = grammar.uses[s]
            total += uses
            mean_p += uses * p
            mean_q += uses * q
            mean_pq += uses * p * q
        mean_p, mean_q, mean_pq = mean_p / total, mean_q / total, mean_pq / total
        constant = second * mean_pq + third * mean_p * mean_q
        scale *= grammar.ratio[rule]
        for s in range(first, last):
            p, q = x[grammar.triples[s, 1]], y[grammar.triples[s, 2]]
            value = smoothing * p * q + second * (p * mean_q + q * mean_p) + constant
            out[grammar.triples[s, 0]] += scale / total * grammar.uses[s] * value
        product_of_shares += scale * shared[left] * shared[right]
    weight: float = rest * rest * rest * product_of_shares
    return weight


@inner_kernel
def inside_means(
    forest: Forest,
    grammar: LatentParameters,
    exponent: Longs,
    backed_off: Floats,
    group: int,
    reference: int,
) -> float:
    """The weight of H in a group's contribution."""
    rule = forest.group_rule[group]
    product = 0.0
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale != 0.0:
            product += scale * backed_off[left] * backed_off[right]
    weight: float = grammar.ratio[rule] * product
    return weight


@kernel
def root_value(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
) -> tuple[float, int]:
    """Mantissa and exponent of the sentence's value, summed over the root items."""
    reference = ZERO
    for item in forest.roots:
        reference = max(reference, exponent[item])
    total = 0.0
    if reference == ZERO:
        return total, reference
    for item in forest.roots:
        if exponent[item] == ZERO or exponent[item] - reference < LOWEST_SHIFT:
            continue
        x = inside[vector_start[item] : vector_start[item + 1]]
        states = grammar.state_start[forest.item_symbol[item]]
        weights = grammar.root[states : states + len(x)]
        total += math.ldexp(1.0, int(exponent[item] - reference)) * dot(weights, x)
    return total, reference


@kernel
def outside_pass(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    backed_off: Floats,
    shared: Floats,
    total: float,
    reference: int,
    outside: Floats,
    of_means: Floats,
    of_shares: Floats,
    edge_value: Floats,
    scratch: Floats2,
) -> None:
    """Fill the outside vectors (zero on entry) and the marginal of each edge.

    ``total`` and ``reference`` are the sentence's value, which must not be 0.  ``of_means`` and
    ``of_shares``, zero on entry, accumulate each item's coefficients of F and of the shares of its
    symbol's states, which are added once all items above it have been processed.
    """
    for item in forest.roots:
        if exponent[item] == ZERO or exponent[item] - reference < LOWEST_SHIFT:
            continue
        states = grammar.state_start[forest.item_symbol[item]]
        scale = math.ldexp(1.0, int(exponent[item] - reference)) / total
        out = outside[vector_start[item] : vector_start[item + 1]]
        for h in range(len(out)):
            out[h] = grammar.root[states + h] * scale
    for item in range(len(forest.item_symbol) - 1, -1, -1):
        if exponent[item] == ZERO:
            continue
        above = outside[vector_start[item] : vector_start[item + 1]]
        states = grammar.state_start[forest.item_symbol[item]]
        for h in range(len(above)):
            above[h] += of_means[item] * grammar.inside_mean[states + h]
        scaled, above_shared = scratch[4, : len(above)], 0.0
        if len(grammar.state_share) > 0:
            for h in range(len(above)):
                above[h] += of_shares[item] * grammar.state_share[states + h]
                scaled[h] = grammar.state_scale[states + h] * above[h]
                above_shared += grammar.state_share[states + h] * scaled[h]
        if forest.item_entry[item] != -2:
            continue
        above_mean = dot(grammar.outside_mean[states : states + len(above)], above)
        for group in range(forest.item_groups[item], forest.item_groups[item + 1]):
            rule = forest.group_rule[group]
            if grammar.dense_start[rule] >= 0:
                outside_dense(
                    forest, grammar, vector_start, inside, exponent,
                    group, exponent[item], above, outside, edge_value, scratch,
                )  # fmt: skip
            elif grammar.n_samples[rule] == 0:
                outside_means(
                    forest, grammar, exponent, backed_off,
                    group, exponent[item], above_mean, of_means, edge_value,
                )  # fmt: skip
            elif grammar.sample_start[rule, 1] < 0:
                outside_counts(
                    forest, grammar, vector_start, inside, exponent, shared, group,
                    exponent[item], scaled, above_shared, outside, of_shares, edge_value, scratch,
                )  # fmt: skip
            else:
                outside_samples(
                    forest, grammar, vector_start, inside, exponent, backed_off, group,
                    exponent[item], above, above_mean, outside, of_means, edge_value, scratch,
                )  # fmt: skip


@inner_kernel
def outside_dense(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    group: int,
    reference: int,
    above: Floats,
    outside: Floats,
    edge_value: Floats,
    scratch: Floats2,
) -> None:
    """Add to the children's outside vectors what a group with a dense tensor contributes."""
    rule = forest.group_rule[group]
    n_left = state_count(grammar, rule, 1)
    n_right = state_count(grammar, rule, 2)
    matrix = scratch[0, : n_left * n_right]
    for k in range(len(matrix)):
        matrix[k] = 0.0
    first = grammar.dense_start[rule]
    for h in range(len(above)):
        row = grammar.dense[first + h * len(matrix) : first + (h + 1) * len(matrix)]
        value = above[h]
        for k in range(len(matrix)):
            matrix[k] += value * row[k]
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale == 0.0:
            continue
        x = inside[vector_start[left] : vector_start[left + 1]]
        y = inside[vector_start[right] : vector_start[right + 1]]
        out_left = outside[vector_start[left] : vector_start[left + 1]]
        out_right = outside[vector_start[right] : vector_start[right + 1]]
        value = 0.0
        for i in range(n_left):
            row = matrix[i * n_right : (i + 1) * n_right]
            total = 0.0
            for j in range(n_right):
                total += row[j] * y[j]
            weight = x[i] * scale
            for j in range(n_right):
                out_right[j] += weight * row[j]
            total *= scale
            out_left[i] += total
            value += x[i] * total
        edge_value[edge] = value


@inner_kernel
def outside_samples(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    backed_off: Floats,
    group: int,
    reference: int,
    above: Floats,
    above_mean: float,
    outside: Floats,
    of_means: Floats,
    edge_value: Floats,
    scratch: Floats2,
) -> None:
    """The derivative of `inside_samples`, edge by edge.

    With d = ratio Z outside(p) / n and D, Dp, Dq its sums with 1, p and q, the derivative with
    respect to p is  d (lambda q + c2 mean(q)) + (c2 Dq + c2 D q + c3 D mean(q)) / n,  and likewise
    for q, where c2 = (1 - lambda) lambda / 3 and c3 = (1 - lambda)^2 lambda.
    """
    rule = forest.group_rule[group]
    n = grammar.n_samples[rule]
    smoothing = grammar.smoothing[rule]
    rest = 1.0 - smoothing
    second, third = rest * smoothing / 3.0, rest * rest * smoothing
    p, q, d, by = scratch[0, :n], scratch[1, :n], scratch[2, :n], scratch[3, :n]
    matrix_vector(grammar.samples, grammar.sample_start[rule, 0], n, above, d)
    sum_d = 0.0
    for s in range(n):
        d[s] *= grammar.ratio[rule] / n
        sum_d += d[s]
    zeroth = grammar.ratio[rule] * rest * rest * rest * above_mean
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale == 0.0:
            continue
        x = inside[vector_start[left] : vector_start[left + 1]]
        y = inside[vector_start[right] : vector_start[right + 1]]
        matrix_vector(grammar.samples, grammar.sample_start[rule, 1], n, x, p)
        matrix_vector(grammar.samples, grammar.sample_start[rule, 2], n, y, q)
        sum_p, sum_q, sum_dp, sum_dq = 0.0, 0.0, 0.0, 0.0
        for s in range(n):
            sum_p += p[s]
            sum_q += q[s]
            sum_dp += d[s] * p[s]
            sum_dq += d[s] * q[s]
        mean_p, mean_q = sum_p / n, sum_q / n
        out_left = outside[vector_start[left] : vector_start[left + 1]]
        out_right = outside[vector_start[right] : vector_start[right + 1]]

        constant = (second * sum_dq + third * sum_d * mean_q) / n
        slope = second * sum_d / n
        for s in range(n):
            by[s] = scale * (d[s] * (smoothing * q[s] + second * mean_q) + constant + slope * q[s])
        value = 0.0
        for s in range(n):
            value += by[s] * p[s]
        add_transposed(grammar.samples, grammar.sample_start[rule, 1], n, by, out_left)
        of_means[left] += scale * zeroth * backed_off[right]
        of_means[right] += scale * zeroth * backed_off[left]
        edge_value[edge] = value + scale * zeroth * backed_off[left] * backed_off[right]

        constant = (second * sum_dp + third * sum_d * mean_p) / n
        for s in range(n):
            by[s] = scale * (d[s] * (smoothing * p[s] + second * mean_p) + constant + slope * p[s])
        add_transposed(grammar.samples, grammar.sample_start[rule, 2], n, by, out_right)


@inner_kernel
def outside_counts(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    shared: Floats,
    group: int,
    reference: int,
    scaled: Floats,
    above_shared: float,
    outside: Floats,
    of_shares: Floats,
    edge_value: Floats,
    scratch: Floats2,
) -> None:
    """The derivative of `inside_counts`, edge by edge; see `outside_samples`.

    ``scaled`` is outside(p) times the scale of its states, ``above_shared`` its product with the
    shares.
    """
    rule = forest.group_rule[group]
    n = grammar.n_samples[rule]
    triples = grammar.triples[grammar.sample_start[rule, 0] :]
    uses = grammar.uses[grammar.sample_start[rule, 0] :]
    smoothing = grammar.smoothing[rule]
    rest = 1.0 - smoothing
    second, third = rest * smoothing / 3.0, rest * rest * smoothing
    zeroth = grammar.ratio[rule] * rest * rest * rest * above_shared
    d, share = scratch[0, :n], scratch[1, :n]
    total = 0.0
    for s in range(n):
        total += uses[s]
    sum_d = 0.0
    for s in range(n):
        share[s] = uses[s] / total
        d[s] = grammar.ratio[rule] * scaled[triples[s, 0]] * share[s]
        sum_d += d[s]
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale == 0.0:
            continue
        x = inside[vector_start[left] : vector_start[left + 1]]
        y = inside[vector_start[right] : vector_start[right + 1]]
        out_left = outside[vector_start[left] : vector_start[left + 1]]
        out_right = outside[vector_start[right] : vector_start[right + 1]]
        mean_p, mean_q, sum_dp, sum_dq = 0.0, 0.0, 0.0, 0.0
        for s in range(n):
            p, q = x[triples[s, 1]], y[triples[s, 2]]
            mean_p += share[s] * p
            mean_q += share[s] * q
            sum_dp += d[s] * p
            sum_dq += d[s] * q
        by_left = second * sum_dq + third * sum_d * mean_q
        by_right = second * sum_dp + third * sum_d * mean_p
        value = 0.0
        for s in range(n):
            i, j = triples[s, 1], triples[s, 2]
            p, q = x[i], y[j]
            both = smoothing * d[s] + second * sum_d * share[s]
            to_left = scale * (both * q + second * d[s] * mean_q + by_left * share[s])
            out_left[i] += to_left
            out_right[j] += scale * (both * p + second * d[s] * mean_p + by_right * share[s])
            value += to_left * p
        of_shares[left] += scale * zeroth * shared[right]
        of_shares[right] += scale * zeroth * shared[left]
        edge_value[edge] = value + scale * zeroth * shared[left] * shared[right]


@inner_kernel
def outside_means(
    forest: Forest,
    grammar: LatentParameters,
    exponent: Longs,
    backed_off: Floats,
    group: int,
    reference: int,
    above_mean: float,
    of_means: Floats,
    edge_value: Floats,
) -> None:
    """Add to the children what a group contributes whose tensor is a product of means."""
    value = grammar.ratio[forest.group_rule[group]] * above_mean
    for edge in range(forest.group_edges[group], forest.group_edges[group + 1]):
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        scale = edge_scale(exponent, left, right, reference)
        if scale == 0.0:
            continue
        of_means[left] += scale * value * backed_off[right]
        of_means[right] += scale * value * backed_off[left]
        edge_value[edge] = scale * value * backed_off[left] * backed_off[right]


@kernel
def item_products(
    vector_start: Longs, inside: Floats, outside: Floats, exponent: Longs, marginal: Floats
) -> None:
    """Fill the products of inside and outside vectors of all items."""
    for item in range(len(exponent)):
        if exponent[item] == ZERO:
            marginal[item] = 0.0
        else:
            part = slice(vector_start[item], vector_start[item + 1])
            marginal[item] = dot(inside[part], outside[part])


@kernel
def add_expected(
    forest: Forest,
    grammar: LatentParameters,
    vector_start: Longs,
    inside: Floats,
    exponent: Longs,
    outside: Floats,
    scratch: Floats2,
    rules: Floats,
    words: Floats,
    roots: Floats,
) -> None:
    """Add the expected number of uses of each parameter in the forest's trees.

    All rules must be dense.  ``rules`` and ``words`` have the layout of the grammar's ``dense``
    and ``lexical``, ``roots`` that of its ``root``.
    """
    for item in range(len(forest.item_symbol)):
        if exponent[item] == ZERO:
            continue
        above = outside[vector_start[item] : vector_start[item + 1]]
        entry = forest.item_entry[item]
        if entry >= 0:
            inside_vector = inside[vector_start[item] : vector_start[item + 1]]
            for h in range(len(inside_vector)):
                words[grammar.lexical_start[entry] + h] += inside_vector[h] * above[h]
            continue
        for group in range(forest.item_groups[item], forest.item_groups[item + 1]):
            rule = forest.group_rule[group]
            product = scratch[0, : state_count(grammar, rule, 1) * state_count(grammar, rule, 2)]
            if not children(forest, vector_start, inside, exponent, group, exponent[item], product):
                continue
            for h in range(len(above)):
                first = grammar.dense_start[rule] + h * len(product)
                for k in range(len(product)):
                    rules[first + k] += above[h] * grammar.dense[first + k] * product[k]
    for item in forest.roots:
        if exponent[item] == ZERO:
            continue
        states = grammar.state_start[forest.item_symbol[item]]
        inside_vector = inside[vector_start[item] : vector_start[item + 1]]
        above = outside[vector_start[item] : vector_start[item + 1]]
        for h in range(len(inside_vector)):
            roots[states + h] += inside_vector[h] * above[h]
