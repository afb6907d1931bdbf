"""Feature templates of rerankers.

The value of a feature is the number of occurrences of a pattern in a tree.  `SCHEMATA` has the
templates (*schemata*) by name.  Rules with their ancestors, heads and projections, neighbours,
heaviness and parallelism of conjuncts follow Collins (2000) and Charniak and Johnson (2005); words
at edges and split points of spans and span shapes follow Hall, Durrett and Klein (2014).  All are
language-independent: heads are determined by a head table, punctuation by Unicode categories, and
coordinating labels by the options.

References
----------
collins-2000; charniak-2005; hall-2014.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from eigentree.constituency.ensemble.shared_parts import AFTER, BEFORE, NONE, SharedParts, binned
from eigentree.types import Longs


class Block(NamedTuple):
    """Occurrences of the features of one template.

    Attributes
    ----------
    owner : int64, axes (n)
        The piece with the feature: a node or a node in context.
    columns : int64, axes (n) each
        Codes of the texts that make up the feature.
    variant
        Distinguishes several patterns of one schema.
    values : int64, axes (n)
        Numbers of occurrences; None for 1 each.
    """

    owner: Longs
    columns: tuple[Longs, ...]
    variant: str = ""
    values: Longs | None = None


class Schema(NamedTuple):
    """A feature template.

    Attributes
    ----------
    piece
        Whether its features belong to nodes or to nodes in context.
    blocks
        Extracts the features of all pieces.
    """

    piece: Literal["node", "context"]
    blocks: Callable[[SharedParts], Iterator[Block]]


def _rule(p: SharedParts) -> Iterator[Block]:
    yield Block(p.phrases, (p.rule[p.phrases],))


def _rule_parent(p: SharedParts) -> Iterator[Block]:
    yield Block(p.over_phrases, (p.rule[p.node[p.over_phrases]], p.above[p.over_phrases]))


def _rule_grandparent(p: SharedParts) -> Iterator[Block]:
    yield Block(
        p.over_phrases,
        (p.rule[p.node[p.over_phrases]], p.above[p.over_phrases], p.two_above[p.over_phrases]),
    )


def _rule_head_word(p: SharedParts) -> Iterator[Block]:
    yield Block(p.phrases, (p.rule[p.phrases], p.head_word[p.phrases]))


def _rule_head_tag(p: SharedParts) -> Iterator[Block]:
    yield Block(p.phrases, (p.rule[p.phrases], p.head_tag[p.phrases]))


def _rule_function_words(p: SharedParts) -> Iterator[Block]:
    with_rule = np.flatnonzero(p.function_rule != NONE)
    yield Block(with_rule, (p.function_rule[with_rule],))


def _heads(
    p: SharedParts,
    *pairs: tuple[str, Callable[[SharedParts], Longs], Callable[[SharedParts], Longs]],
) -> Iterator[Block]:
    """A phrase, a non-head child, its side, and properties of both heads."""
    row = np.flatnonzero(p.place != p.head[p.parent])
    phrase, child = p.parent[row], p.child[row]
    side = np.where(p.place[row] < p.head[phrase], BEFORE, AFTER)
    for variant, of_head, of_child in pairs:
        columns = (p.label[phrase], p.label[child], side, of_head(p)[phrase], of_child(p)[child])
        yield Block(phrase, columns, variant)


def _word_of_head(p: SharedParts) -> Longs:
    return p.head_word


def _tag_of_head(p: SharedParts) -> Longs:
    return p.head_tag


def _heads_words(p: SharedParts) -> Iterator[Block]:
    yield from _heads(p, ("", _word_of_head, _word_of_head))


def _heads_tags(p: SharedParts) -> Iterator[Block]:
    yield from _heads(p, ("", _tag_of_head, _tag_of_head))


def _heads_mixed(p: SharedParts) -> Iterator[Block]:
    yield from _heads(
        p, ("word-tag", _word_of_head, _tag_of_head), ("tag-word", _tag_of_head, _word_of_head)
    )


def _projections(p: SharedParts) -> Iterator[Block]:
    yield Block(p.maximal, (p.projections[p.node[p.maximal]], p.above[p.maximal]))


def _word_projections(p: SharedParts) -> Iterator[Block]:
    node = p.node[p.maximal]
    yield Block(p.maximal, (p.head_word[node], p.projections[node]))


def _head_trees(p: SharedParts) -> Iterator[Block]:
    tops = np.intersect1d(p.maximal, p.over_phrases)
    yield Block(tops, (p.head_tree[p.node[tops]],))


def _word_tag(p: SharedParts) -> Iterator[Block]:
    yield Block(p.words, (p.head_word[p.words], p.label[p.words]))


def _word_ancestors(p: SharedParts) -> Iterator[Block]:
    row, node = p.over_words, p.node[p.over_words]
    columns = p.head_word[node], p.label[node], p.above[row]
    yield Block(row, columns, "parent")
    yield Block(row, (*columns, p.two_above[row]), "grandparent")


def _windows(p: SharedParts, n: int) -> Block:
    """Every n adjacent children, with their phrase and the position of its head.

    If n > 1, the edges of the phrase count as children.
    """
    edges = int(n > 1)
    length = np.bincount(p.parent, minlength=len(p.label))[p.phrases] + 2 * edges
    owner = np.repeat(p.phrases, length)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length) - edges
    labels = np.full(len(owner), NONE, dtype=np.int64)
    inside = (place >= 0) & (place < np.repeat(length - 2 * edges, length))
    labels[inside] = p.label[p.child]
    first = np.arange(len(owner) - n + 1)
    first = first[owner[first] == owner[first + n - 1]]
    head = p.head[owner[first]] - place[first]
    where = np.where(head < 0, BEFORE, np.where(head >= n, AFTER, head + 1))
    window = (labels[first + i] for i in range(n))
    return Block(owner[first], (p.label[owner[first]], where, *window))


def _siblings_1(p: SharedParts) -> Iterator[Block]:
    yield _windows(p, 1)


def _siblings_2(p: SharedParts) -> Iterator[Block]:
    yield _windows(p, 2)


def _siblings_3(p: SharedParts) -> Iterator[Block]:
    yield _windows(p, 3)


def _bigram_trees(p: SharedParts) -> Iterator[Block]:
    """The labels on the path between two adjacent words."""
    phrase, left, right = p.parent[p.beside], p.child[p.beside], p.child[p.beside + 1]
    columns = p.right_spine[left], p.label[phrase], p.left_spine[right]
    yield Block(phrase, columns, "tags")
    yield Block(phrase, (*columns, p.word[p.end[left] - 1]), "left word")
    yield Block(phrase, (*columns, p.word[p.start[right]]), "right word")


def _borders(p: SharedParts) -> Iterator[Block]:
    """Two adjacent children of a phrase, and the word or tags at their border."""
    phrase, left, right = p.parent[p.beside], p.child[p.beside], p.child[p.beside + 1]
    labels = p.label[left], p.label[right]
    yield Block(phrase, (*labels, p.word[p.end[left] - 1]), "left word")
    yield Block(phrase, (*labels, p.word[p.start[right]]), "right word")
    yield Block(phrase, (*labels, p.last_tag[left], p.first_tag[right]), "tags")


def _splits(p: SharedParts) -> Iterator[Block]:
    """A phrase and a word at the border between two of its children."""
    phrase, left, right = p.parent[p.beside], p.child[p.beside], p.child[p.beside + 1]
    yield Block(phrase, (p.label[phrase], p.word[p.end[left] - 1]), "left word")
    yield Block(phrase, (p.label[phrase], p.word[p.start[right]]), "right word")


def _labels(p: SharedParts) -> Iterator[Block]:
    yield Block(p.phrases, (p.label[p.phrases],))


def _span_width(p: SharedParts) -> Iterator[Block]:
    yield Block(p.phrases, (p.label[p.phrases], p.width[p.phrases]))


def _span_words(p: SharedParts) -> Iterator[Block]:
    label, width = p.label[p.phrases], p.width[p.phrases]
    first, last = p.word[p.start[p.phrases]], p.word[p.end[p.phrases] - 1]
    for name, word in (("first", first), ("last", last)):
        yield Block(p.phrases, (label, word), name)
        yield Block(p.phrases, (label, width, word), f"width and {name}")
    yield Block(p.phrases, (label, first, last), "both")


def _span_tags(p: SharedParts) -> Iterator[Block]:
    label, width = p.label[p.phrases], p.width[p.phrases]
    first, last = p.first_tag[p.phrases], p.last_tag[p.phrases]
    yield Block(p.phrases, (label, first, last), "both")
    yield Block(p.phrases, (label, width, first, last), "width and both")


def _neighbour_words(p: SharedParts) -> Iterator[Block]:
    """A phrase, its width, and the words before and after it."""
    label, width = p.label[p.phrases], p.width[p.phrases]
    before, after = p.word[p.start[p.phrases] - 1], p.word[p.end[p.phrases]]
    for name, word in (("before", before), ("after", after)):
        yield Block(p.phrases, (label, word), name)
        yield Block(p.phrases, (label, width, word), f"width and {name}")
    yield Block(p.phrases, (label, before, after), "both")


def _neighbour_tags(p: SharedParts) -> Iterator[Block]:
    """A phrase, its width, and the tags before and after it."""
    node = p.node[p.over_phrases]
    label, width, before, after = (
        p.label[node],
        p.width[node],
        p.before[p.over_phrases],
        p.after[p.over_phrases],
    )
    yield Block(p.over_phrases, (label, before, after), "both")
    yield Block(p.over_phrases, (label, width, before), "width and before")
    yield Block(p.over_phrases, (label, width, after), "width and after")
    yield Block(p.over_phrases, (label, width, before, after), "width and both")


def _edge_words(p: SharedParts) -> Iterator[Block]:
    """A phrase and the words on both sides of one of its edges."""
    label, start, end = p.label[p.phrases], p.start[p.phrases], p.end[p.phrases]
    yield Block(p.phrases, (label, p.word[start - 1], p.word[start]), "start")
    yield Block(p.phrases, (label, p.word[end - 1], p.word[end]), "end")


def _edge_tags(p: SharedParts) -> Iterator[Block]:
    node = p.node[p.over_phrases]
    yield Block(
        p.over_phrases, (p.label[node], p.before[p.over_phrases], p.first_tag[node]), "start"
    )
    yield Block(p.over_phrases, (p.label[node], p.last_tag[node], p.after[p.over_phrases]), "end")


def _span_shape(p: SharedParts) -> Iterator[Block]:
    label, shape = p.label[p.phrases], p.span_shape[p.phrases]
    before, after = p.shape[p.start[p.phrases] - 1], p.shape[p.end[p.phrases]]
    yield Block(p.phrases, (label, shape), "within")
    yield Block(p.phrases, (label, before, shape, after), "around")


def _heaviness(p: SharedParts) -> Iterator[Block]:
    """A phrase, its width, its distance from the end, and the following punctuation."""
    label, width, end = p.label[p.phrases], p.width[p.phrases], p.end[p.phrases]
    yield Block(p.phrases, (label, width, binned(p.to_end[end]), p.mark[end]))


def _right_branch(p: SharedParts) -> Iterator[Block]:
    """The numbers of nodes on and off the path from the root to the last word."""
    on, size = p.on_path[p.node[p.whole]], p.size[p.node[p.whole]]
    yield Block(p.whole, (), "on", on)
    yield Block(p.whole, (), "off", size - on)


def _coordination_shape(p: SharedParts) -> Iterator[Block]:
    owner, levels, _, _ = p.conjuncts.T
    yield Block(owner, (levels,))
    yield Block(owner, (p.label[owner], levels), "label")


def _coordination_length(p: SharedParts) -> Iterator[Block]:
    owner, _, difference, is_last = p.conjuncts.T
    side = np.where(difference < 0, BEFORE, np.where(difference > 0, AFTER, NONE))
    yield Block(owner, (side, binned(np.abs(difference)), is_last))


SCHEMATA: dict[str, Schema] = {
    "rule": Schema("node", _rule),
    "rule-parent": Schema("context", _rule_parent),
    "rule-grandparent": Schema("context", _rule_grandparent),
    "rule-head-word": Schema("node", _rule_head_word),
    "rule-head-tag": Schema("node", _rule_head_tag),
    "rule-function-words": Schema("node", _rule_function_words),
    "heads-words": Schema("node", _heads_words),
    "heads-tags": Schema("node", _heads_tags),
    "heads-mixed": Schema("node", _heads_mixed),
    "projections": Schema("context", _projections),
    "word-projections": Schema("context", _word_projections),
    "head-trees": Schema("context", _head_trees),
    "word-tag": Schema("node", _word_tag),
    "word-ancestors": Schema("context", _word_ancestors),
    "siblings-1": Schema("node", _siblings_1),
    "siblings-2": Schema("node", _siblings_2),
    "siblings-3": Schema("node", _siblings_3),
    "bigram-trees": Schema("node", _bigram_trees),
    "borders": Schema("node", _borders),
    "splits": Schema("node", _splits),
    "labels": Schema("node", _labels),
    "span-width": Schema("node", _span_width),
    "span-words": Schema("node", _span_words),
    "span-tags": Schema("node", _span_tags),
    "span-shape": Schema("node", _span_shape),
    "neighbour-words": Schema("node", _neighbour_words),
    "neighbour-tags": Schema("context", _neighbour_tags),
    "edge-words": Schema("node", _edge_words),
    "edge-tags": Schema("context", _edge_tags),
    "heaviness": Schema("node", _heaviness),
    "right-branch": Schema("context", _right_branch),
    "coordination-shape": Schema("node", _coordination_shape),
    "coordination-length": Schema("node", _coordination_length),
}
