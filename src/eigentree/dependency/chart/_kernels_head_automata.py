"""Kernels of the charts over split head-automata: sums over all trees, and the best tree.

Halves of heads are indexed by the edge where they end: the half of head h that ends at edge e
covers tokens e .. h to the left (e <= h) or h .. e - 1 to the right (e > h), so that both
directions share arrays and loops.  See `eigentree.dependency.chart.inside_outside` for the
recursions.

The numbers of a cell share a power of 2^256.  A cell that is zero for any weights of its parts
has the exponent `ZERO`; it is excluded from sums and not propagated.
"""

from __future__ import annotations

import math

from eigentree._core.jit import inner_kernel, kernel
from eigentree.dependency.chart.arrays import BestHeads, HeadChart, HeadOutside, SentenceAutomata
from eigentree.types import Flags2, Floats, Floats2, Longs, Longs2

ZERO = -(1 << 40)
# A sum of a few exponents is below this if one of them is ZERO, and above it otherwise.
NO_VALUE = ZERO // 2
STEP = 2.0**-256
LARGE, SMALL = 2.0**128, 2.0**-128


@inner_kernel
def common_scale(first: Longs, second: Longs, scale: Floats) -> int:
    """Set the scales that bring products to their largest exponent, which is returned."""
    highest, lowest = 2 * ZERO, -2 * ZERO
    for k in range(len(first)):
        exponent = first[k] + second[k]
        highest = max(highest, exponent)
        lowest = min(lowest, exponent)
    if lowest == highest:
        for k in range(len(first)):
            scale[k] = 1.0
        return highest
    for k in range(len(first)):
        gap = highest - first[k] - second[k]
        if gap == 0:
            scale[k] = 1.0
        elif gap == 1:
            scale[k] = STEP
        elif gap < 4:
            scale[k] = STEP**gap
        else:
            scale[k] = 0.0
    return highest


@inner_kernel
def weigh(scale: Floats, by: Floats) -> None:
    """Multiply a vector by another, element by element."""
    for k in range(len(by)):
        scale[k] *= by[k]


@inner_kernel
def dot(left: Floats, right: Floats) -> float:
    """Scalar product, over the length of the right vector."""
    total = 0.0
    for k in range(len(right)):
        total += left[k] * right[k]
    return total


@inner_kernel
def normalise(vector: Floats, n: int) -> int:
    """Scale a vector to a range that is safe to multiply; returns the exponent removed."""
    largest = 0.0
    for s in range(n):
        largest = max(largest, abs(vector[s]))
    if SMALL <= largest <= LARGE or largest == 0.0 or not largest < math.inf:
        return 0
    exponent = 0
    while largest > LARGE:
        largest *= STEP
        exponent += 1
    while largest < SMALL and exponent > -3:  # STEP to the power of this is finite
        largest /= STEP
        exponent -= 1
    for s in range(n):
        value = vector[s]
        for _ in range(exponent):
            value *= STEP
        for _ in range(-exponent):
            value /= STEP
        vector[s] = value
    return exponent


@inner_kernel
def is_zero_anyway(matrix: Floats2, before: Floats, after: Floats, n_to: int, n: int) -> bool:
    """Whether a product is zero because each term is, not because terms cancel."""
    is_empty = True
    for s in range(n):
        if after[s] != 0.0:
            return False
        is_empty = is_empty and before[s] == 0.0
    for i in range(n_to):
        for j in range(n):
            # Vectors that are zero throughout were excluded earlier, so this one cancelled.
            if matrix[i, j] != 0.0 and (is_empty or before[j] != 0.0):
                return False
    return True


@inner_kernel
def close_half(
    half: Floats,
    finals: Floats,
    n: int,
    exponent: int,
    head: int,
    edge: int,
    closed: Floats2,
    closed_at: Floats2,
    closed_exponent: Longs2,
    closed_exponent_at: Longs2,
) -> None:
    """Compute the closed half of a head at an edge, with its stopping weight."""
    total, meets, is_empty = 0.0, False, True
    for s in range(n):
        total += finals[s] * half[s]
        meets = meets or (finals[s] != 0.0 and half[s] != 0.0)
        is_empty = is_empty and half[s] == 0.0
    if not meets and not is_empty:
        exponent = ZERO
    closed[head, edge] = total
    closed_at[edge, head] = total
    closed_exponent[head, edge] = exponent
    closed_exponent_at[edge, head] = exponent


@inner_kernel
def inside_halves(
    sentence: SentenceAutomata,
    allowed: Flags2,
    first: int,
    chart: HeadChart,
    scale: Floats,
    before: Floats,
    after: Floats,
) -> None:
    """Fill a chart of zeros whose exponents are `ZERO`.

    ``first`` is 0 to treat the root like other heads, 1 to exclude it.
    """
    # Unpacked once: repeated tuple access costs more than the shorter sums.
    initial, final, operators = sentence.initial, sentence.final, sentence.operators
    n_states, automaton_of = sentence.n_states, sentence.automaton_of
    operator_of = sentence.operator_of
    block_of, n_blocks = sentence.block_of, sentence.n_blocks
    half, half_exponent = chart.half, chart.half_exponent
    closed, closed_at = chart.closed, chart.closed_at
    closed_exponent, closed_exponent_at = chart.closed_exponent, chart.closed_exponent_at
    arc, arc_exponent = chart.arc, chart.arc_exponent
    for right in range(first, len(automaton_of)):
        for direction in range(2):
            automaton = automaton_of[right, direction]
            edge = right + direction
            for s in range(n_states[automaton]):
                after[s] = initial[automaton, s]
                half[right, s, edge] = after[s]
            half_exponent[right, edge] = 0
            close_half(
                after, final[automaton], n_states[automaton], 0, right, edge,
                closed, closed_at, closed_exponent, closed_exponent_at,
            )  # fmt: skip
        for left in range(right - 1, first - 1, -1):
            # The root modifies nothing and has nothing to its left.
            for direction in range(1, -1 if left > 0 else 0, -1):
                head, modifier = (left, right) if direction == 1 else (right, left)
                automaton = automaton_of[head, direction]
                n = n_states[automaton]
                begin, end = left + 1, right + 1  # edges where the two halves can meet
                if allowed[head, modifier]:
                    exponent = common_scale(
                        half_exponent[head, begin:end], closed_exponent[modifier, begin:end], scale
                    )
                    if exponent > NO_VALUE:
                        weigh(scale, closed[modifier, begin:end])
                        for s in range(n):
                            before[s] = dot(scale, half[head, s, begin:end])
                        operator = operators[operator_of[head, modifier]]
                        n_to = n // n_blocks
                        first_to = block_of[modifier] * n_to
                        after[:n] = 0.0
                        for i in range(n_to):
                            total = 0.0
                            for j in range(n):
                                total += operator[i, j] * before[j]
                            after[first_to + i] = total
                        if not is_zero_anyway(operator, before, after, n_to, n):
                            arc_exponent[head, modifier] = exponent + normalise(after, n)
                            for s in range(n):
                                arc[head, s, modifier] = after[s]
                # The outermost modifier can be any between head and edge.
                edge = right + 1 if direction == 1 else left
                begin, end = (left + 1, right + 1) if direction == 1 else (left, right)
                exponent = common_scale(
                    arc_exponent[head, begin:end], closed_exponent_at[edge, begin:end], scale
                )
                if exponent > NO_VALUE:
                    weigh(scale, closed_at[edge, begin:end])
                    for s in range(n):
                        after[s] = dot(scale, arc[head, s, begin:end])
                    exponent += normalise(after, n)
                    half_exponent[head, edge] = exponent
                    for s in range(n):
                        half[head, s, edge] = after[s]
                    close_half(
                        after, final[automaton], n, exponent, head, edge,
                        closed, closed_at, closed_exponent, closed_exponent_at,
                    )  # fmt: skip


@inner_kernel
def root_weight(sentence: SentenceAutomata, modifier: int) -> float:
    """The weight of one modifier as the root's only one."""
    automaton = sentence.automaton_of[0, 1]
    operator = sentence.operators[sentence.operator_of[0, modifier]]
    n_to = sentence.n_states[automaton] // sentence.n_blocks
    final = sentence.final[automaton, sentence.block_of[modifier] * n_to :]
    total = 0.0
    for i in range(n_to):
        for j in range(sentence.n_states[automaton]):
            total += final[i] * operator[i, j] * sentence.initial[automaton, j]
    return total


@inner_kernel
def share(
    above: float, scale: Floats, first: Floats, second: Floats, to_first: Floats, to_second: Floats
) -> None:
    """Add the derivatives of a scaled sum of products to both factors."""
    for k in range(len(first)):
        weight = above * scale[k]
        to_first[k] += weight * second[k]
        to_second[k] += weight * first[k]


@inner_kernel
def outside_halves(
    sentence: SentenceAutomata,
    first: int,
    chart: HeadChart,
    outside: HeadOutside,
    scale: Floats,
    marginal: Floats2,
) -> None:
    """Fill the marginals of arcs, from derivatives that are zero except at the top."""
    final, operators = sentence.final, sentence.operators
    n_states, automaton_of = sentence.n_states, sentence.automaton_of
    operator_of = sentence.operator_of
    block_of, n_blocks = sentence.block_of, sentence.n_blocks
    half, half_exponent = chart.half, chart.half_exponent
    closed, closed_at = chart.closed, chart.closed_at
    closed_exponent, closed_exponent_at = chart.closed_exponent, chart.closed_exponent_at
    arc, arc_exponent = chart.arc, chart.arc_exponent
    to_half, to_arc = outside.half, outside.arc
    to_closed, to_closed_at = outside.closed, outside.closed_at
    for right in range(len(automaton_of) - 1, first, -1):
        for left in range(first, right):
            for direction in range(1, -1 if left > 0 else 0, -1):
                head, modifier = (left, right) if direction == 1 else (right, left)
                automaton = automaton_of[head, direction]
                n = n_states[automaton]
                edge = right + 1 if direction == 1 else left
                begin, end = (left + 1, right + 1) if direction == 1 else (left, right)
                if half_exponent[head, edge] > NO_VALUE:
                    exponent = common_scale(
                        arc_exponent[head, begin:end], closed_exponent_at[edge, begin:end], scale
                    )
                    factor = STEP ** (half_exponent[head, edge] - exponent)
                    by_closed = to_closed[head, edge] + to_closed_at[edge, head]
                    for s in range(n):
                        share(
                            factor * (to_half[head, s, edge] + final[automaton, s] * by_closed),
                            scale, arc[head, s, begin:end], closed_at[edge, begin:end],
                            to_arc[head, s, begin:end], to_closed_at[edge, begin:end],
                        )  # fmt: skip
                if arc_exponent[head, modifier] < NO_VALUE:
                    continue
                total = 0.0
                for s in range(n):
                    total += to_arc[head, s, modifier] * arc[head, s, modifier]
                marginal[head, modifier] = total
                begin, end = left + 1, right + 1
                exponent = common_scale(
                    half_exponent[head, begin:end], closed_exponent[modifier, begin:end], scale
                )
                factor = STEP ** (arc_exponent[head, modifier] - exponent)
                operator = operators[operator_of[head, modifier]]
                n_to = n // n_blocks
                first_to = block_of[modifier] * n_to
                for s in range(n):
                    above = 0.0
                    for i in range(n_to):
                        above += operator[i, s] * to_arc[head, first_to + i, modifier]
                    share(
                        factor * above, scale,
                        half[head, s, begin:end], closed[modifier, begin:end],
                        to_half[head, s, begin:end], to_closed[modifier, begin:end],
                    )  # fmt: skip


@kernel
def head_marginals(
    sentence: SentenceAutomata,
    allowed: Flags2,
    multi_root: bool,
    chart: HeadChart,
    outside: HeadOutside,
    scale: Floats,
    before: Floats,
    after: Floats,
    marginal: Floats2,
) -> tuple[float, int]:
    """Fill the marginals of arcs; returns the sentence's value and its exponent of 2^256.

    Marginals are unchanged if the value is zero or not finite.
    """
    last = len(sentence.automaton_of)
    first = 0 if multi_root else 1
    inside_halves(sentence, allowed, first, chart, scale, before, after)
    if multi_root:
        value, exponent = chart.closed[0, last], chart.closed_exponent[0, last]
        if exponent < NO_VALUE or value == 0.0 or not abs(value) < math.inf:
            return value, 0
        outside.closed[0, last] = 1.0 / value
        outside_halves(sentence, first, chart, outside, scale, marginal)
        return value, exponent
    # A root rejected by the automaton must not determine the scale.
    left, right = chart.closed_at[1, 1:last], chart.closed_at[last, 1:last]
    root, root_exponent = chart.arc[0, 0, 1:last], chart.arc_exponent[0, 1:last]
    for k in range(len(root)):
        root[k] = root_weight(sentence, k + 1) if allowed[0, k + 1] else 0.0
        if root[k] != 0.0:
            root_exponent[k] = chart.closed_exponent_at[1, k + 1]
    exponent = common_scale(root_exponent, chart.closed_exponent_at[last, 1:last], scale)
    if exponent < NO_VALUE:
        return 0.0, 0
    value = 0.0
    for k in range(len(root)):
        root[k] *= scale[k]
        value += root[k] * left[k] * right[k]
    if value == 0.0 or not abs(value) < math.inf:
        return value, 0
    for k in range(len(root)):
        weight = root[k] / value
        outside.closed_at[1, k + 1] = weight * right[k]
        outside.closed_at[last, k + 1] = weight * left[k]
        marginal[0, k + 1] = weight * left[k] * right[k]
    outside_halves(sentence, first, chart, outside, scale, marginal)
    return value, exponent


@inner_kernel
def close_best(sentence: SentenceAutomata, best: BestHeads, head: int, edge: int) -> None:
    """Update the best closed half of a head up to an edge: its automaton stops."""
    automaton = sentence.automaton_of[head, 1 if edge > head else 0]
    for s in range(sentence.n_states[automaton]):
        value = best.half[head, s, edge] + sentence.final[automaton, s]
        if value > best.closed[head, edge]:
            best.closed[head, edge] = value
            best.closed_at[edge, head] = value
            best.last_state[head, edge] = s


@inner_kernel
def attach_best(
    sentence: SentenceAutomata,
    best: BestHeads,
    head: int,
    modifier: int,
    before: Floats,
    meeting: Longs,
) -> None:
    """Update the best derivations in which a head takes a modifier, for each state after it."""
    first, last = min(head, modifier) + 1, max(head, modifier) + 1
    n = sentence.n_states[sentence.automaton_of[head, 1 if modifier > head else 0]]
    closed = best.closed[modifier, first:last]
    for s in range(n):
        half = best.half[head, s, first:last]
        before[s] = -math.inf
        for k in range(len(half)):
            value = half[k] + closed[k]
            if value > before[s]:
                before[s] = value
                meeting[s] = first + k
    operator = sentence.operators[sentence.operator_of[head, modifier]]
    n_to = n // sentence.n_blocks
    first_to = sentence.block_of[modifier] * n_to
    for i in range(n_to):
        to = first_to + i
        for j in range(n):
            value = operator[i, j] + before[j]
            if value > best.arc[head, to, modifier]:
                best.arc[head, to, modifier] = value
                best.state_before[head, to, modifier] = j
                best.meeting[head, to, modifier] = meeting[j]


@inner_kernel
def extend_best(sentence: SentenceAutomata, best: BestHeads, head: int, edge: int) -> None:
    """Update the best half of a head up to an edge, by where its outermost modifier is."""
    first, last = (head + 1, edge) if edge > head else (edge, head)
    automaton = sentence.automaton_of[head, 1 if edge > head else 0]
    closed = best.closed_at[edge, first:last]
    for s in range(sentence.n_states[automaton]):
        arc = best.arc[head, s, first:last]
        for k in range(len(arc)):
            value = arc[k] + closed[k]
            if value > best.half[head, s, edge]:
                best.half[head, s, edge] = value
                best.outermost[head, s, edge] = first + k
    close_best(sentence, best, head, edge)


@inner_kernel
def best_halves(
    sentence: SentenceAutomata,
    allowed: Flags2,
    first: int,
    best: BestHeads,
    before: Floats,
    meeting: Longs,
) -> None:
    """Fill a chart whose values are minus infinity, in the order of `inside_halves`."""
    for right in range(first, len(sentence.automaton_of)):
        for direction in range(2):
            automaton = sentence.automaton_of[right, direction]
            for s in range(sentence.n_states[automaton]):
                best.half[right, s, right + direction] = sentence.initial[automaton, s]
            close_best(sentence, best, right, right + direction)
        for left in range(right - 1, first - 1, -1):
            if allowed[left, right]:
                attach_best(sentence, best, left, right, before, meeting)
            extend_best(sentence, best, left, right + 1)
            if left > 0:
                if allowed[right, left]:
                    attach_best(sentence, best, right, left, before, meeting)
                extend_best(sentence, best, right, left)


@kernel
def best_heads(
    sentence: SentenceAutomata,
    allowed: Flags2,
    multi_root: bool,
    best: BestHeads,
    before: Floats,
    meeting: Longs,
    stack: Longs2,
    heads: Longs,
) -> float:
    """Write the head of each token in the best tree; returns its value, minus infinity without one.

    The numbers of the automata are added, so they are usually logarithms.  The first of equal
    choices is taken.  ``stack`` has axes (2 N + 3, 3).
    """
    last = len(sentence.automaton_of)
    first = 0 if multi_root else 1
    best_halves(sentence, allowed, first, best, before, meeting)
    value, size = -math.inf, 0
    if multi_root:
        value = best.closed[0, last]
        if value > -math.inf:
            stack[0, 0], stack[0, 1], stack[0, 2] = 0, last, best.last_state[0, last]
            size = 1
    else:
        automaton, root = sentence.automaton_of[0, 1], 0
        for modifier in range(1, last):
            if not allowed[0, modifier]:
                continue
            operator = sentence.operators[sentence.operator_of[0, modifier]]
            halves = best.closed[modifier, 1] + best.closed[modifier, last]
            n_to = sentence.n_states[automaton] // sentence.n_blocks
            first_to = sentence.block_of[modifier] * n_to
            for i in range(n_to):
                for j in range(sentence.n_states[automaton]):
                    step = sentence.final[automaton, first_to + i] + operator[i, j]
                    total = step + sentence.initial[automaton, j] + halves
                    if total > value:
                        value, root = total, modifier
        if root > 0:
            heads[root - 1] = 0
            for at, edge in enumerate((1, last)):
                stack[at, 0], stack[at, 1] = root, edge
                stack[at, 2] = best.last_state[root, edge]
            size = 2
    while size > 0:
        size -= 1
        head, edge, state = stack[size, 0], stack[size, 1], stack[size, 2]
        if edge == head or edge == head + 1:
            continue
        modifier = best.outermost[head, state, edge]
        heads[modifier - 1] = head
        meeting_edge = best.meeting[head, state, modifier]
        stack[size, 0], stack[size, 1] = head, meeting_edge
        stack[size, 2] = best.state_before[head, state, modifier]
        for at, own_edge in enumerate((meeting_edge, edge)):
            stack[size + 1 + at, 0], stack[size + 1 + at, 1] = modifier, own_edge
            stack[size + 1 + at, 2] = best.last_state[modifier, own_edge]
        size += 3
    return value
