"""Labels for the arcs of dependency trees: a log-linear model over features of each arc.

The tree is known, so an arc is described by its ends, by what stands beside them and by what
hangs on them.  Each label has a weight for each feature, and the label with the highest sum
is chosen.  The label of a root arc is found only there, and no other label is.

A feature is a combination of words, tags and small numbers, and is known by a hash of 64 bits
alone: two of a million features share one with a probability of 3 in 10^8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.errors import GrammarError
from eigentree.shapes import check_shapes, check_starts, check_types
from eigentree.words._kernels_arcs import add_weights

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_NOBODY = 0  # what stands where there is no word
_FARTHEST = 7
_MOST_CHILDREN = 4


def arc_features(words: Sequence[str], tags: Sequence[str], heads: Sequence[int]) -> Keys:
    """Axes (n, D): the features of the arc above each word, as hashes.

    Parameters
    ----------
    words, tags
        One of each for each word.
    heads
        The head of each word: words count from 1, 0 is the root.

    Raises
    ------
    GrammarError
        When there are not as many tags and heads as words, or a head is no word.

    Cost
    ----
    O(n D), and O(n log n) to find the modifiers of each head.
    """
    n = len(words)
    head = np.array(heads, dtype=np.int64)
    if len(tags) != n or len(head) != n:
        raise GrammarError(
            f"a sentence has {n} words, {len(tags)} tags and {len(head)} heads; it must have one "
            "of each a word"
        )
    if np.any(head < 0) or np.any(head > n):
        raise GrammarError(f"a head is not from 0 to {n}, the number of words")
    # Positions 1 to n are words, 0 is the root and n + 1 stands for nobody.
    word = _hashes(["ROOT ", *(word.lower() for word in words)])
    tag = _hashes(["ROOT ", *tags])
    ending = _hashes(["ROOT ", *(word.lower()[-3:] for word in words)])
    short = _hashes(["ROOT ", *(word.lower()[-2:] for word in words)])
    m = np.arange(1, n + 1)
    h = head
    beyond = n + 1
    tree = _Tree(head)
    above = np.concatenate([[beyond], head, [beyond]])

    right = (m > h).astype(np.uint64)
    distance = np.minimum(np.abs(m - h), _FARTHEST).astype(np.uint64)
    children = np.minimum(tree.n_children, _MOST_CHILDREN).astype(np.uint64)
    pair = _mix(tag[h], tag[m], right)
    siblings = _mix(tag[tree.inner], tag[tree.outer])
    features = [
        pair,
        tag[m],
        word[m],
        _mix(pair, distance),
        _mix(pair, word[m]),
        _mix(pair, word[h]),
        _mix(word[h], word[m]),
        _mix(pair, ending[m]),
        _mix(pair, ending[h]),
        _mix(pair, short[m], short[h]),
        _mix(word[m], tag[h]),
        _mix(pair, tag[m - 1]),
        _mix(pair, tag[m + 1]),
        _mix(pair, tag[m - 1], tag[m + 1]),
        _mix(pair, tag[h + 1], tag[np.where(h > 0, h - 1, beyond)]),
        _mix(pair, tag[tree.leftmost[m]], tag[tree.rightmost[m]]),
        _mix(pair, word[tree.leftmost[m]]),
        _mix(pair, word[tree.rightmost[m]]),
        _mix(pair, word[tree.leftmost[m]], ending[m]),
        _mix(pair, word[tree.leftmost[m]], word[h]),
        _mix(pair, children[m], children[h]),
        _mix(pair, tag[tree.inner]),
        _mix(pair, tag[tree.outer]),
        _mix(pair, siblings),
        _mix(pair, word[tree.inner]),
        _mix(pair, word[tree.outer]),
        _mix(pair, word[tree.before[h]], ending[h]),
        _mix(pair, word[tree.before[h]], word[tree.after[h]]),
        _mix(pair, tag[tree.leftmost[h]], tag[tree.rightmost[h]]),
        _mix(pair, word[tree.leftmost[h]]),
        _mix(pair, tag[above[h]]),
        _mix(pair, tag[above[h]], word[tree.leftmost[m]]),
    ]
    return np.stack([_mix(np.uint64(at), key) for at, key in enumerate(features)], axis=1)


class _Tree:
    """Neighbours in a tree; n + 1 where there is none.

    Attributes
    ----------
    n_children, leftmost, rightmost, before, after : axes (n + 2)
        Of each position: its modifiers, the first and last of them in the sentence, and the
        closest on either side.
    inner, outer : axes (n)
        Of each word: the next modifier of its head towards the head on the same side, and
        away from it.
    """

    def __init__(self, head: Ints) -> None:
        n = len(head)
        m = np.arange(1, n + 1)
        self.n_children = np.bincount(head, minlength=n + 2)
        self.leftmost, self.rightmost, self.before, self.after = np.full((4, n + 2), n + 1)
        # What is written last stays.
        self.rightmost[head] = m
        self.leftmost[head[::-1]] = m[::-1]
        is_right = m > head
        self.before[head[~is_right]] = m[~is_right]
        self.after[head[is_right][::-1]] = m[is_right][::-1]
        self.inner, self.outer = np.full((2, n), n + 1)
        order = np.lexsort((np.abs(m - head), is_right, head))
        same = (np.diff(head[order]) == 0) & (np.diff(is_right[order].astype(np.int8)) == 0)
        self.inner[order[1:][same]] = m[order[:-1][same]]
        self.outer[order[:-1][same]] = m[order[1:][same]]


@lru_cache(maxsize=1 << 17)
def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _hashes(texts: Sequence[str]) -> Keys:
    """Axes (texts + 1): hashes that are the same everywhere, and one for no text at the end."""
    return np.array([*map(_hash, texts), _NOBODY], dtype=np.uint64)


def _mix(first: Any, *others: Any) -> Keys:
    """One hash of several, in their order."""
    mixed = np.asarray(first, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for other in others:
            mixed = (mixed ^ (mixed >> _SHIFT)) * _MULTIPLIER + other
        return (mixed ^ (mixed >> _SHIFT)) * _MULTIPLIER
