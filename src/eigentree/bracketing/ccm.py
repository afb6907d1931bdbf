"""The constituent-context model: which spans of tags are constituents, by yield and context.

Each span of a sentence, including empty ones, has a yield, the tags in it, and a context,
the tags immediately before and after it.  A sentence and a binary tree have the probability

    product over all spans of P(yield | b) P(context | b),    b = 1 for a constituent, else 0,

where words are always constituents, empty spans never are, and all binary trees are
equally likely.  All trees have the same number of constituents, so P(b | yield) and P(b | context)
can be used instead, and the probability of a tree given the sentence is proportional to the product
over its spans of

    odds(yield) odds(context),    odds(x) = P(b = 1 | x) / P(b = 0 | x).

Yields are stored in a trie: all prefixes of a yield are yields.  Node 0 is the empty yield;
nodes are sorted by (parent, last tag), so that a child is found by binary search.

References
----------
Klein and Manning 2002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.shapes import check_shapes, check_types
from eigentree.bracketing.chart._kernels_binary_trees import row_of
from eigentree.bracketing.chart.binary_trees import WeightedTree, best_binary_tree, span_marginals
from eigentree.errors import GrammarError
from eigentree.treebank.io.unlabelled import Pair
from eigentree.types import Floats, Longs

UNSEEN = -1


class Spans(NamedTuple):
    """All spans of some sentences, as numbers of their yields and contexts.

    Attributes
    ----------
    n_words : int64, axes (sentence)
        At least 1 each.
    first : int64, axes (sentence)
        Index of each sentence's first span; spans of a sentence, ``start <= end``, are sorted by
        start, then by end.
    yields : int64, axes (span)
        Nodes of the trie, -1 for unknown yields.
    contexts : int64, axes (span)
        Indices into the flattened table of contexts.
    width : int64, axes (span)
        Number of words.
    """

    n_words: Longs
    first: Longs
    yields: Longs
    contexts: Longs
    width: Longs


class Positions(NamedTuple):
    """The boundaries between words of concatenated sentences, including both ends of each.

    ``after`` and ``before`` are the tags on either side, or the edge's number at the ends; ``room``
    is the number of words that follow, ``row`` the index of the empty span.
    """

    after: Longs
    before: Longs
    room: Longs
    row: Longs


def positions_of(sentences: Sequence[Longs], edge: int) -> Positions:
    """Boundaries of sentences of tag numbers; ``edge`` is the number beyond their ends."""
    after = np.concatenate([np.append(tags, edge) for tags in sentences])
    room = np.concatenate([np.arange(len(tags), -1, -1) for tags in sentences])
    return Positions(after, np.roll(after, 1), room, np.cumsum(room + 1) - (room + 1))


def trie_of(positions: Positions, n_tags: int) -> Longs:
    """Sorted keys of the trie of all yields: parent times the number of tags, plus last tag."""
    keys: list[Longs] = []
    n_nodes = 1
    at = np.flatnonzero(positions.room > 0)
    nodes = np.zeros(len(at), dtype=np.int64)
    for width in range(1, int(positions.room.max()) + 1):
        level, number = np.unique(
            nodes * n_tags + positions.after[at + width - 1], return_inverse=True
        )
        keys.append(level)
        longer = positions.room[at] > width
        at, nodes = at[longer], n_nodes + number[longer]
        n_nodes += len(level)
    return np.concatenate(keys)


def spans_of(sentences: Sequence[Longs], keys: Longs, n_tags: int) -> Spans:
    """All spans of sentences of tag numbers; ``n_tags + 1`` is an unknown tag.

    Parameters
    ----------
    sentences
        At least one word each.
    keys
        Keys of the trie of known yields.
    n_tags
        Number of known tags.
    """
    edge = n_tags
    positions = positions_of(sentences, edge)
    n_spans = int(positions.row[-1]) + 1
    yields, contexts, width = np.zeros((3, n_spans), dtype=np.int64)
    at = np.arange(len(positions.room))
    nodes = np.zeros(len(at), dtype=np.int64)
    for size in range(int(positions.room.max()) + 1):
        if size:
            longer = positions.room[at] >= size
            at = at[longer]
            nodes = _children(nodes[longer], positions.after[at + size - 1], keys, n_tags)
        place = positions.row[at] + size
        yields[place] = nodes
        contexts[place] = positions.before[at] * (n_tags + 2) + positions.after[at + size]
        width[place] = size
    n_words = np.array([len(tags) for tags in sentences], dtype=np.int64)
    sizes = (n_words + 1) * (n_words + 2) // 2
    return Spans(n_words, np.cumsum(sizes) - sizes, yields, contexts, width)


def _children(nodes: Longs, tags: Longs, keys: Longs, n_tags: int) -> Longs:
    """The node of each yield extended by one tag."""
    child_keys = np.where((nodes == UNSEEN) | (tags >= n_tags), -1, nodes * n_tags + tags)
    place = np.minimum(np.searchsorted(keys, child_keys), len(keys) - 1)
    return np.where(keys[place] == child_keys, place + 1, UNSEEN)


def indicators_of(trees: Sequence[frozenset[Pair]], spans: Spans) -> Floats:
    """Axes (span): 1 for single words and the spans of each sentence's tree, else 0."""
    indicators: Floats = (spans.width == 1).astype(np.float64)
    for tree, n_words, first in zip(trees, spans.n_words, spans.first, strict=True):
        for start, end in tree:
            indicators[first + row_of(start, n_words) + end - start] = 1.0
    return indicators


def crosses_marks(n_words: int, marks: Sequence[int]) -> NDArray[np.bool_]:
    """Axes (span): whether a span has a mark inside and is not delimited by marks.

    Parameters
    ----------
    n_words
        Number of words without punctuation.
    marks
        Positions of punctuation between these words; the ends of the sentence count as marks.
    """
    is_mark = np.zeros(n_words + 1, dtype=bool)
    is_mark[[0, *marks, n_words]] = True
    before = np.cumsum(is_mark)
    start, end = np.triu_indices(n_words + 1)
    inside = before[np.maximum(end - 1, start)] > before[start]
    return np.asarray(inside & ~(is_mark[start] & is_mark[end]))


@dataclass(frozen=True)
class ConstituentContextModel:
    """A constituent-context model.

    Attributes
    ----------
    tags
        Names of the T tags.
    yield_keys : int64, axes (Y - 1)
        The trie of yields without its root: for each node, in order, the number of its parent
        times T, plus its last tag.
    yield_log_odds : float64, axes (Y)
        Log-odds of being a constituent, by yield, in nats; the empty yield is first.
    context_log_odds : float64, axes (T + 1, T + 1)
        The same by the tags before and after; the last index is the edge of a sentence.
    unseen_log_odds
        The same for unknown yields, and for contexts with an unknown tag.

    Raises
    ------
    ShapeError
        When the shapes of arrays do not agree.
    GrammarError
        When log-odds are not finite, a tag is repeated, or the keys are not those of a trie.
    """

    tags: tuple[str, ...]
    yield_keys: Longs
    yield_log_odds: Floats
    context_log_odds: Floats
    unseen_log_odds: float

    def __post_init__(self) -> None:
        where = "ConstituentContextModel"
        edges = len(self.tags) + 1
        keys = self.yield_keys
        arrays = {
            "yield_log_odds": self.yield_log_odds,
            "context_log_odds": self.context_log_odds,
            "unseen_log_odds": np.array(self.unseen_log_odds),
        }
        axes = dict(zip(arrays, ("Y", "E E", ""), strict=True))
        shapes = {name: (array, axes[name]) for name, array in arrays.items()}
        check_shapes(where, {"yield_keys": (keys, "K")})
        check_shapes(where, shapes, E=edges, Y=len(keys) + 1)
        check_types(where, {"yield_keys": (keys, np.int64)})
        check_types(where, {name: (array, np.float64) for name, array in arrays.items()})
        if len(set(self.tags)) < len(self.tags) or not self.tags:
            raise GrammarError("a constituent-context model needs at least one tag, none repeated")
        for name, array in arrays.items():
            if not np.all(np.isfinite(array)):
                raise GrammarError(f"{name} of a constituent-context model must be finite")
        parents = keys // len(self.tags)
        rising = np.all(keys >= 0) and np.all(np.diff(keys) > 0)
        if not rising or np.any(parents > np.arange(len(keys))):
            raise GrammarError("keys of yields must increase, and parents precede their children")

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the tags as arrays by name, for `from_arrays`."""
        return {
            "yield_keys": self.yield_keys,
            "yield_log_odds": self.yield_log_odds,
            "context_log_odds": self.context_log_odds,
            "unseen_log_odds": np.array([self.unseen_log_odds]),
        }

    @classmethod
    def from_arrays(
        cls, tags: Sequence[str], arrays: Mapping[str, NDArray[Any]]
    ) -> ConstituentContextModel:
        """A model from tags and arrays; raises KeyError if an array is missing."""
        unseen = arrays["unseen_log_odds"]
        check_shapes("ConstituentContextModel", {"unseen_log_odds": (unseen, "O")}, O=1)
        return cls(
            tuple(tags),
            arrays["yield_keys"],
            arrays["yield_log_odds"],
            arrays["context_log_odds"],
            float(unseen.item()),
        )

    def brackets(self, tags: Sequence[str]) -> frozenset[Pair]:
        """The spans of the most probable binary tree of a sentence; see `best_tree`."""
        return self.best_tree(tags).spans

    def best_tree(self, tags: Sequence[str], top: int | None = None) -> WeightedTree:
        """The most probable binary tree of a sentence, and the sum of its log-odds in nats.

        See `best_binary_tree`.

        Parameters
        ----------
        tags
            Tags of the words; unknown ones are allowed.
        top
            Position at which the root splits the words; None for the position with the most
            probable tree.

        Raises
        ------
        GrammarError
            When one side of the root would have no words.

        Cost
        ----
        O(n^3) time and O(n^2) memory.
        """
        return best_binary_tree(self.log_odds(tags), len(tags), top)

    def marginals(self, tags: Sequence[str]) -> Floats:
        """Axes (n + 1, n + 1): the probability that each span, start <= end, is a constituent."""
        n = len(tags)
        table = np.zeros((n + 1, n + 1))
        table[np.triu_indices(n + 1)] = span_marginals(self.log_odds(tags), n)
        return table

    def log_odds(self, tags: Sequence[str]) -> Floats:
        """Log-odds of each span of a sentence, sorted by start, then by end; in nats."""
        unknown = len(self.tags) + 1
        numbers = np.array([self._number.get(tag, unknown) for tag in tags], dtype=np.int64)
        return self.span_log_odds(spans_of([numbers], self.yield_keys, len(self.tags)))

    def span_log_odds(self, spans: Spans) -> Floats:
        """Axes (span): log-odds of spans with the numbers of this model's yields and contexts."""
        of_yields = np.append(self.yield_log_odds, self.unseen_log_odds)  # the last is at UNSEEN
        contexts = np.pad(self.context_log_odds, (0, 1), constant_values=self.unseen_log_odds)
        return np.asarray(of_yields[spans.yields] + contexts.ravel()[spans.contexts])

    @cached_property
    def _number(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.tags)}
