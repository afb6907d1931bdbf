"""Kernel of `eigentree.dependency.lexical_modifiers`, which describes the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eigentree._core.jit import inner_kernel, kernel
from eigentree.dependency.arrays import ModifierCounts
from eigentree.types import Floats, Floats3, Longs


@inner_kernel
def place(numbers: NDArray[np.integer], start: int, end: int, number: int) -> int:
    """The index of a number in a sorted range of an array; -1 if it is missing."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    if low < end and numbers[low] == number:
        return low
    return -1


@inner_kernel
def backed_off(count: float, total: float, distinct: float, diversity: float, back: float) -> float:
    """The mixture of a relative frequency and a coarser probability."""
    if total == 0:
        return back
    return (count + diversity * distinct * back) / (total + diversity * distinct)


@kernel
def fill_probabilities(
    word: Longs,
    tag: Longs,
    by_word: ModifierCounts,
    by_tag: ModifierCounts,
    by_nothing: ModifierCounts,
    n_states: int,
    n_tags: int,
    n_words: int,
    diversity: float,
    base: Floats,
    step: Floats3,
    stop: Floats3,
) -> None:
    """Fill the probabilities of all modifiers of all heads of a sentence, and of stopping.

    Cost: O(n^2 S) binary searches in short rows.

    Parameters
    ----------
    word, tag : int64, axes (n + 1)
        Of each position; position 0 is the root.
    by_word, by_tag, by_nothing
        The counts at three levels of detail.
    n_states, n_tags, n_words
        S, T + 2 tag outcomes including the end, and V entries of the lexicon.
    diversity
        The factor of back-off.
    base : float64, axes (n + 1)
        Receives p(word | tag).
    step : float64, axes (n + 1, n + 1, S)
        Receives values for head, modifier and state; entries that are not arcs are unchanged.
    stop : float64, axes (n + 1, 2, S)
        Receives values for head, direction and state.
    """
    n = len(word)
    key_w, start_w, tag_w, count_w, inner_w, word_w, uses_w = by_word
    key_t, start_t, tag_t, count_t, inner_t, word_t, uses_t = by_tag
    _, start_0, tag_0, count_0, inner_0, word_0, uses_0 = by_nothing
    end = n_tags - 1
    for m in range(1, n):
        count, total = 0.0, 0.0
        at = place(tag_0, start_0[0], start_0[1], tag[m])
        if at >= 0:
            total = count_0[at]
            inner = place(word_0, inner_0[at], inner_0[at + 1], word[m])
            if inner >= 0:
                count = uses_0[inner]
        base[m] = (count + 1.0 / n_words) / (total + 1.0)

    for h in range(n):
        for d in range(2):
            if d == 0:
                first, last = 1, h
            else:
                first, last = h + 1, n
            for s in range(n_states):
                low_w, high_w, low_t, high_t = 0, 0, 0, 0
                at = place(
                    key_w, 0, len(key_w), ((word[h] * n_tags + tag[h]) * 2 + d) * n_states + s
                )
                if at >= 0:
                    low_w, high_w = start_w[at], start_w[at + 1]
                at = place(key_t, 0, len(key_t), (tag[h] * 2 + d) * n_states + s)
                if at >= 0:
                    low_t, high_t = start_t[at], start_t[at + 1]
                total_w, total_t = 0.0, 0.0
                for at in range(low_w, high_w):
                    total_w += count_w[at]
                for at in range(low_t, high_t):
                    total_t += count_t[at]
                distinct = high_w - low_w

                # The end of the sequence is the last outcome.
                count = 0.0
                if high_t > low_t and tag_t[high_t - 1] == end:
                    count = count_t[high_t - 1]
                back = (count + 1.0 / n_tags) / (total_t + 1.0)
                count = 0.0
                if high_w > low_w and tag_w[high_w - 1] == end:
                    count = count_w[high_w - 1]
                stop[h, d, s] = backed_off(count, total_w, distinct, diversity, back)

                for m in range(first, last):
                    at_w = place(tag_w, low_w, high_w, tag[m])
                    at_t = place(tag_t, low_t, high_t, tag[m])
                    count_of_t, count_of_w, p_word = 0.0, 0.0, base[m]
                    if at_t >= 0:
                        count_of_t = count_t[at_t]
                        inner = place(word_t, inner_t[at_t], inner_t[at_t + 1], word[m])
                        uses = 0.0
                        if inner >= 0:
                            uses = uses_t[inner]
                        kinds = inner_t[at_t + 1] - inner_t[at_t]
                        p_word = backed_off(uses, count_of_t, kinds, diversity, p_word)
                    if at_w >= 0:
                        count_of_w = count_w[at_w]
                        inner = place(word_w, inner_w[at_w], inner_w[at_w + 1], word[m])
                        uses = 0.0
                        if inner >= 0:
                            uses = uses_w[inner]
                        kinds = inner_w[at_w + 1] - inner_w[at_w]
                        p_word = backed_off(uses, count_of_w, kinds, diversity, p_word)
                    back = (count_of_t + 1.0 / n_tags) / (total_t + 1.0)
                    p_tag = backed_off(count_of_w, total_w, distinct, diversity, back)
                    step[h, m, s] = p_tag * p_word
