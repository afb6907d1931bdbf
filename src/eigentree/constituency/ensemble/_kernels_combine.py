"""Kernels of coverage decoding: the K best trees of a sentence under gains of chains over spans.

An *element* is a chain over a span, or a bare word, with everything below it.  A *sequence* covers
a span by one or more adjacent elements, and *many* by two or more:

    element(i, j)  = a chain over i..j, with many(i, j) under it unless it is one word
    many(i, j)     = element(i, k), then sequence(k, j)
    sequence(i, j) = many(i, j) or element(i, j)

Every tree has one derivation, so the K best derivations are K distinct trees (Huang and Chiang
2005, algorithm 2).
"""

from __future__ import annotations

import numpy as np

from eigentree._core.jit import inner_kernel, kernel
from eigentree.types import Floats, Floats3, Ints, Ints3


@inner_kernel
def place_of(value: float, values: Floats, count: int) -> int:
    """The position of a value in a decreasing row of `count` values, after equal ones."""
    place = count
    while place > 0 and values[place - 1] < value:
        place -= 1
    return place


@inner_kernel
def insert(place: int, value: float, values: Floats, count: int) -> int:
    """Insert a value at a position, dropping the last of a full row; returns the new count."""
    last = min(count, len(values) - 1)
    for at in range(last, place, -1):
        values[at] = values[at - 1]
    values[place] = value
    return last + 1


@inner_kernel
def shift(place: int, number: int, numbers: Ints, count: int) -> None:
    """Insert a number parallel to a value; `count` is the new number of values."""
    for at in range(count - 1, place, -1):
        numbers[at] = numbers[at - 1]
    numbers[place] = number


@kernel
def best_trees(
    first: Ints3,
    gain: Floats,
    element: Floats3,
    element_chain: Ints3,
    element_rank: Ints3,
    sequence: Floats3,
    sequence_rank: Ints3,
    many: Floats3,
    many_split: Ints3,
    many_element: Ints3,
    many_sequence: Ints3,
    counts: Ints3,
) -> None:
    """Fill the tables of the K best elements, sequences and manys over each span.

    ``first`` (axes: start, end, 2) has the first and end position in ``gain`` of each span's
    chains.  The other tables have axes (start, end, K): decreasing values and back pointers.  An
    element points to its chain (-1: a bare word) and the rank of its many; a sequence to the rank
    r of its element, or -1 - r for a many of rank r; a many to its split and two ranks.
    ``counts`` (axes: start, end, 3) has the numbers of elements, sequences and manys.
    """
    n = len(first) - 1
    most = element.shape[2]
    for start in range(n - 1, -1, -1):
        for end in range(start + 1, n + 1):
            n_many = 0
            for middle in range(start + 1, end):
                n_after = counts[middle, end, 1]
                for left in range(counts[start, middle, 0]):
                    if n_many == most:
                        highest = element[start, middle, left] + sequence[middle, end, 0]
                        if highest <= many[start, end, most - 1]:
                            break
                    for right in range(n_after):
                        value = element[start, middle, left] + sequence[middle, end, right]
                        place = place_of(value, many[start, end], n_many)
                        if place == most:
                            break
                        n_many = insert(place, value, many[start, end], n_many)
                        shift(place, middle, many_split[start, end], n_many)
                        shift(place, left, many_element[start, end], n_many)
                        shift(place, right, many_sequence[start, end], n_many)
            n_elements = 0
            is_word = end - start == 1
            if is_word and n > 1:
                n_elements = insert(0, 0.0, element[start, end], n_elements)
                element_chain[start, end, 0] = -1
            for chain in range(first[start, end, 0], first[start, end, 1]):
                for rank in range(1 if is_word else n_many):
                    value = gain[chain] + (0.0 if is_word else many[start, end, rank])
                    place = place_of(value, element[start, end], n_elements)
                    if place == most:
                        break
                    n_elements = insert(place, value, element[start, end], n_elements)
                    shift(place, chain, element_chain[start, end], n_elements)
                    shift(place, rank, element_rank[start, end], n_elements)
            n_sequences = n_many
            for rank in range(n_many):
                sequence[start, end, rank] = many[start, end, rank]
                sequence_rank[start, end, rank] = -1 - rank
            for rank in range(n_elements):
                value = element[start, end, rank]
                place = place_of(value, sequence[start, end], n_sequences)
                if place == most:
                    break
                n_sequences = insert(place, value, sequence[start, end], n_sequences)
                shift(place, rank, sequence_rank[start, end], n_sequences)
            counts[start, end, 0] = n_elements
            counts[start, end, 1] = n_sequences
            counts[start, end, 2] = n_many


@kernel
def chains_of_tree(
    rank: int,
    element_chain: Ints3,
    element_rank: Ints3,
    sequence_rank: Ints3,
    many_split: Ints3,
    many_element: Ints3,
    many_sequence: Ints3,
    chains: Ints,
) -> int:
    """Write the chains of the sentence's element of a rank, children first, left to right.

    Returns their number; ``chains`` has room for one over each span of a binary tree.
    """
    n = len(many_split) - 1
    waiting = np.empty((2 * n, 4), dtype=np.int32)  # start, end, rank, is it an element?
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = 0, n, rank, 1
    n_waiting = 1
    count = 0
    # Parents first, right to left; reversed at the end.
    while n_waiting > 0:
        n_waiting -= 1
        start, end, rank, is_element = waiting[n_waiting]
        if not is_element:
            rank = sequence_rank[start, end, rank]
            is_element = rank >= 0
            rank = rank if is_element else -1 - rank
        if is_element:
            chain = element_chain[start, end, rank]
            if chain >= 0:
                chains[count] = chain
                count += 1
            if end - start == 1:
                continue
            rank = element_rank[start, end, rank]
        middle = many_split[start, end, rank]
        waiting[n_waiting, 0], waiting[n_waiting, 1] = start, middle
        waiting[n_waiting, 2], waiting[n_waiting, 3] = many_element[start, end, rank], 1
        waiting[n_waiting + 1, 0], waiting[n_waiting + 1, 1] = middle, end
        waiting[n_waiting + 1, 2], waiting[n_waiting + 1, 3] = many_sequence[start, end, rank], 0
        n_waiting += 2
    for at in range(count // 2):
        other = count - 1 - at
        chains[at], chains[other] = chains[other], chains[at]
    return count
