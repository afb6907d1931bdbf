"""Labels for the arcs of dependency trees: a log-linear model over features of each arc.

The tree is given, so an arc is described by its ends, their neighbours in the sentence and their
other modifiers.  Each label has a weight for each feature, and the label with the highest sum
is chosen.  In Universal Dependencies ``root`` is the label of the root's arcs and of no others;
the model includes which labels are allowed for which arcs.

A feature is a combination of words, tags and small numbers, represented by a 64-bit hash only:
among a million features, the probability of a collision is 3 in 10^8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree._core.shapes import check_shapes, check_starts, check_types
from eigentree._core.word_cache import cached_by_word
from eigentree.dependency._kernels_arc_labels import add_weights
from eigentree.errors import GrammarError
from eigentree.types import Keys, Longs

# Words, tags, and the head of each word: words count from 1, 0 is the root.
Headed = tuple[Sequence[str], Sequence[str], Sequence[int]]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_ROOT = "ROOT "  # words and tags have no blanks
_FARTHEST = 7
_MAX_CHILDREN = 4


@dataclass(frozen=True, eq=False)
class ArcLabels:
    """A log-linear model of the labels of arcs.

    Attributes
    ----------
    labels
        Names of the labels.
    allowed : bool, axes (2, L)
        Which labels are allowed for arcs from words, and for arcs from the root.
    bias : float32, axes (L)
    feature : uint64, axes (F)
        Hashes, increasing.
    start : int64, axes (F + 1)
        Start of the weights of each feature.
    label : int32, axes (W)
        The label of each weight.
    weight : float32, axes (W)

    Raises
    ------
    ShapeError
        When the shapes of arrays do not agree.
    GrammarError
        When no label is allowed for one kind of arc, features do not increase, a label number is
        out of range or a number is not finite.
    """

    labels: tuple[str, ...]
    allowed: NDArray[np.bool_]
    bias: NDArray[np.float32]
    feature: Keys
    start: Longs
    label: NDArray[np.int32]
    weight: NDArray[np.float32]

    def __post_init__(self) -> None:
        where, n_labels = "ArcLabels", len(self.labels)
        axes = {"allowed": "kinds L", "bias": "L", "feature": "F", "label": "W", "weight": "W"}
        types: dict[str, type[np.generic]] = {
            "allowed": np.bool_,
            "bias": np.float32,
            "feature": np.uint64,
            "label": np.int32,
            "weight": np.float32,
        }
        arrays = {name: getattr(self, name) for name in axes}
        check_types(where, {name: (arrays[name], types[name]) for name in axes})
        sizes = check_shapes(where, {n: (arrays[n], axes[n]) for n in axes}, kinds=2, L=n_labels)
        check_types(where, {"start": (self.start, np.int64)})
        check_shapes(where, {"start": (self.start, "starts")}, starts=sizes["F"] + 1)
        check_starts(where, "start", self.start)
        if self.start[-1] != sizes["W"]:
            raise GrammarError(f"start of arc labels ends with {self.start[-1]}, not {sizes['W']}")
        if len(set(self.labels)) < n_labels:
            raise GrammarError("arc labels must be distinct")
        if not self.allowed.any(axis=1).all():
            raise GrammarError("arc labels must include one for the root's arcs and one for others")
        if np.any(self.feature[1:] <= self.feature[:-1]):
            raise GrammarError("the features of arc labels must increase")
        if np.any(self.label < 0) or np.any(self.label >= n_labels):
            raise GrammarError(f"a weight has none of the {n_labels} arc labels")
        if not np.all(np.isfinite(self.bias)) or not np.all(np.isfinite(self.weight)):
            raise GrammarError("a weight of arc labels is not finite")

    def scores(
        self, words: Sequence[str], tags: Sequence[str], heads: Sequence[int]
    ) -> NDArray[np.float64]:
        """Axes (n, L): logarithms of the labels' odds; minus infinity for those not allowed.

        Parameters
        ----------
        words, tags
            One for each word; unknown ones are allowed.
        heads
            The head of each word: words count from 1, 0 is the root.

        Raises
        ------
        GrammarError
            When the numbers of words, tags and heads differ, or a head is out of range.
        """
        scores = np.tile(self.bias.astype(np.float64), (len(words), 1))
        keys = arc_features([(words, tags, heads)])
        add_weights(keys, self.feature, self.start, self.label, self.weight, scores)
        of_root = np.array(heads, dtype=np.int64) == 0
        scores[~self.allowed[of_root.astype(np.int64)]] = -np.inf
        return scores

    def predict(self, words: Sequence[str], tags: Sequence[str], heads: Sequence[int]) -> list[str]:
        """The best label of the arc above each word; arguments as for `scores`."""
        best = self.scores(words, tags, heads).argmax(axis=1)
        return [self.labels[number] for number in best]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the model, for `from_arrays`."""
        return {f"arc_labels.{name}": getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_arrays(cls, labels: tuple[str, ...], arrays: Mapping[str, NDArray[Any]]) -> ArcLabels:
        """A model from the arrays of a file; other arrays are ignored.

        Raises
        ------
        KeyError
            When an array is missing.
        ShapeError, GrammarError
            When an array is invalid.
        """
        # Copies: kernels would be compiled again for read-only arrays.
        return cls(labels, *(np.array(arrays[f"arc_labels.{name}"]) for name in _ARRAYS))


_ARRAYS = ("allowed", "bias", "feature", "start", "label", "weight")


def arc_features(sentences: Sequence[Headed]) -> Keys:
    """Axes (n of all sentences, D): the features of the arc above each word, as hashes.

    Raises
    ------
    GrammarError
        When a sentence does not have one tag and one head for each word, or a head is out of range.

    Cost
    ----
    O(n D + n log n).
    """
    words, tags, heads = _in_a_row(sentences)
    # All sentences in one row: for each its root, its words and an empty position, also before it.
    word = _hashes(words)
    tag = _hashes(tags)
    ending = _hashes([text if text in _NO_WORD else text[-3:] for text in words])
    short = _hashes([text if text in _NO_WORD else text[-2:] for text in words])
    (m,) = np.nonzero(heads >= 0)
    h = heads[m]
    tree = _Tree(m, h, len(heads))

    right = (m > h).astype(np.uint64)
    distance = np.minimum(np.abs(m - h), _FARTHEST).astype(np.uint64)
    children = np.minimum(tree.n_children, _MAX_CHILDREN).astype(np.uint64)
    pair = _mix(tag[h], tag[m], right)
    first_word = word[tree.leftmost]
    features = [
        pair,
        tag[m],
        word[m],
        _mix(pair, distance),
        _mix(pair, word[m]),
        _mix(pair, word[h]),
        _mix(word[h], word[m]),
        _mix(word[m], tag[h]),
        _mix(pair, ending[m]),
        _mix(pair, ending[h]),
        _mix(pair, short[m], short[h]),
        # Neighbours in the sentence.
        _mix(pair, tag[m - 1]),
        _mix(pair, tag[m + 1]),
        _mix(pair, tag[m - 1], tag[m + 1]),
        _mix(pair, tag[h - 1], tag[h + 1]),
        # Modifiers of the modifier: the first is often an adposition or a subordinator.
        _mix(pair, tag[tree.leftmost[m]], tag[tree.rightmost[m]]),
        _mix(pair, first_word[m]),
        _mix(pair, first_word[m], ending[m]),
        _mix(pair, first_word[m], word[h]),
        _mix(pair, word[tree.rightmost[m]]),
        _mix(pair, children[m], children[h]),
        # Its siblings.
        _mix(pair, tag[tree.inner]),
        _mix(pair, tag[tree.outer]),
        _mix(pair, tag[tree.inner], tag[tree.outer]),
        _mix(pair, word[tree.inner]),
        _mix(pair, word[tree.outer]),
        # Other modifiers of the head, such as the auxiliary of a passive.
        _mix(pair, word[tree.before[h]], ending[h]),
        _mix(pair, word[tree.before[h]], word[tree.after[h]]),
        _mix(pair, tag[tree.leftmost[h]], tag[tree.rightmost[h]]),
        _mix(pair, first_word[h]),
        # The head's own head.
        _mix(pair, tag[heads[h]]),
        _mix(pair, tag[heads[h]], first_word[m]),
    ]
    return np.stack([_mix(np.uint64(at), key) for at, key in enumerate(features)], axis=1)


_NOBODY = ""
_NO_WORD = (_ROOT, _NOBODY)


def _in_a_row(sentences: Sequence[Headed]) -> tuple[list[str], list[str], Longs]:
    """Words in lower case, tags, and positions of heads.

    A missing head is -1: the last position, which is empty.
    """
    words, tags, heads = [_NOBODY], [_NOBODY], [np.array([-1])]
    for number, (own_words, own_tags, own_heads) in enumerate(sentences, start=1):
        head, n = np.array(own_heads, dtype=np.int64), len(own_words)
        if len(own_tags) != n or len(head) != n or np.any(head < 0) or np.any(head > n):
            raise GrammarError(
                f"sentence {number} must have one tag and one head for each of its {n} words, and "
                f"heads from 0 to {n}"
            )
        heads += [np.array([-1]), head + len(words), np.array([-1])]
        words += [_ROOT, *map(str.lower, own_words), _NOBODY]
        tags += [_ROOT, *own_tags, _NOBODY]
    return words, tags, np.concatenate(heads)


class _Tree:
    """Neighbours in trees; -1 if there is none.

    Attributes
    ----------
    n_children, leftmost, rightmost, before, after : axes (places)
        For each position: its modifiers, the first and last of them in the sentence, and the
        closest on either side.
    inner, outer : axes (n)
        For each word: the next modifier of its head on the same side towards the head, and
        away from it.
    """

    def __init__(self, m: Longs, h: Longs, n_places: int) -> None:
        self.n_children = np.bincount(h, minlength=n_places)
        self.leftmost, self.rightmost, self.before, self.after = np.full((4, n_places), -1)
        # Later assignments overwrite earlier ones.
        self.rightmost[h] = m
        self.leftmost[h[::-1]] = m[::-1]
        is_right = m > h
        self.before[h[~is_right]] = m[~is_right]
        self.after[h[is_right][::-1]] = m[is_right][::-1]
        self.inner, self.outer = np.full((2, len(m)), -1)
        order = np.lexsort((np.abs(m - h), is_right, h))
        side = (2 * h + is_right)[order]
        same = side[1:] == side[:-1]
        self.inner[order[1:][same]] = m[order[:-1][same]]
        self.outer[order[:-1][same]] = m[order[1:][same]]


@cached_by_word(1 << 17)
def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _hashes(texts: Sequence[str]) -> Keys:
    """Axes (texts): hashes that are the same on all machines."""
    return np.array([*map(_hash, texts)], dtype=np.uint64)


def _mix(first: Any, *others: Any) -> Keys:
    """One hash of several, dependent on their order."""
    mixed = np.asarray(first, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for other in others:
            mixed = (mixed ^ (mixed >> _SHIFT)) * _MULTIPLIER + other
        return (mixed ^ (mixed >> _SHIFT)) * _MULTIPLIER
