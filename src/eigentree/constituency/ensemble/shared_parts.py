"""Pieces of trees that the candidates of a sentence share, as columns.

A tree is the sum of its *pieces*: its *nodes* (a label over words, with everything below it) and
its *contexts* (a node with the two labels above it and the tags on both sides).  Each distinct
piece of a sentence is stored once.  Candidates differ in few of them, so a function of a piece is
computed once for all candidates that have it.

Texts (labels, words, rules, ...) are represented by codes, which are indices of a list of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eigentree.evaluation.scored_tree import is_punctuation
from eigentree.treebank.binarise import HeadFinder
from eigentree.treebank.tree import Tree
from eigentree.types import Longs

# Lower ends of the bins of numbers of words.
WIDTH_BINS = np.array([0, 1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 40])
# Conjuncts are compared down to this depth.
MAX_DEPTH = 4
# Shapes of spans of at most this many words include all words.
MAX_SHAPE_WORDS = 4

# Codes of fixed texts; the code of a number up to 99 is the number.
_MAX_NUMBER = 99
NONE, BEFORE, AFTER = range(_MAX_NUMBER + 1, _MAX_NUMBER + 4)
_FIXED = (*map(str, range(_MAX_NUMBER + 1)), "", "<", ">")

# The role of a node in its parent.
_OTHER, _HEAD, _TOP = range(3)


class SharedParts:
    """The pieces of the candidates of some sentences, as columns for feature templates.

    The words of all sentences are in one row, with a gap (`NONE`) before and after each sentence.

    Attributes
    ----------
    texts
        The text of each code.
    word, shape : int64, axes (words)
        Codes; `NONE` in a gap.
    mark : int64, axes (words)
        Code of the word if it is punctuation, else `NONE`.
    to_end : int64, axes (words)
        Number of words from this one to the end of the sentence; 0 in a gap.
    label, rule, function_rule, head_tag, head_word : int64, axes (nodes)
        Codes.  ``function_rule`` is the rule with the function words among the children; `NONE`
        without such words.
    projections, head_tree, left_spine, right_spine : int64, axes (nodes)
        Codes of: the labels from the head's tag up to the node; their rules; the labels from the
        node down to the tag of its first word, and of its last word.
    start, end, first_tag, last_tag, width : int64, axes (nodes)
        Half-open span in the row of words; tags of its first and last word; code of the binned
        number of words.
    span_shape : int64, axes (nodes)
        Code of the shape.
    head : int64, axes (nodes)
        Index of the head child.
    size, on_path : int64, axes (nodes)
        Number of nodes in the subtree, and of those on the path to its last word that is not
        punctuation.
    phrases, words : int64
        Nodes with children, and nodes without.
    child, parent, place : int64, axes (children)
        Child node, parent node and index among the children, phrase by phrase.
    beside : int64, axes (adjacent pairs)
        Row of the left child of each pair; the right one is in the next row.
    conjuncts : int64, axes (pairs of conjuncts, 4)
        Node, number of equal levels, difference in length, and whether it is the last pair.
    node, above, two_above, before, after : int64, axes (contexts)
        The node; codes of the labels above it, and of the tags on both sides.
    over_phrases, over_words, maximal, whole : int64
        Contexts of phrases; contexts of words; contexts in which the node is not the head of its
        parent; contexts of roots.
    """

    def __init__(self, builder: Builder) -> None:
        self.texts = builder.texts
        self.word, self.shape, self.mark, self.to_end = _columns(builder.tokens, 4)
        (
            self.label,
            self.start,
            self.end,
            self.head,
            self.rule,
            self.function_rule,
            head_position,
            self.head_tag,
            self.projections,
            self.head_tree,
            self.left_spine,
            self.right_spine,
            self.first_tag,
            self.last_tag,
            self.span_shape,
            self.size,
            self.on_path,
        ) = _columns(builder.nodes, len(_NodeRow._fields))
        self.head_word = self.word[head_position]
        self.width = binned(self.end - self.start)
        n_children = np.array([len(each) for each in builder.children], dtype=np.int64)
        self.phrases = np.flatnonzero(n_children > 0)
        self.words = np.flatnonzero(n_children == 0)
        self.child: Longs = np.array(
            [child for each in builder.children for child in each], dtype=np.int64
        )
        self.parent: Longs = np.repeat(np.arange(len(n_children)), n_children)
        before = np.cumsum(n_children) - n_children
        self.place: Longs = np.arange(len(self.child)) - before[self.parent]
        self.beside = np.flatnonzero(self.parent[1:] == self.parent[:-1])
        self.conjuncts = np.array(builder.conjuncts, dtype=np.int64).reshape(-1, 4)
        self.node, self.above, self.two_above, role, self.before, self.after = _columns(
            builder.contexts, 6
        )
        self.over_phrases = np.flatnonzero(n_children[self.node] > 0)
        self.over_words = np.flatnonzero(n_children[self.node] == 0)
        self.maximal = np.flatnonzero(role != _HEAD)
        self.whole = np.flatnonzero(role == _TOP)


class _NodeRow(NamedTuple):
    """A row of the columns of `SharedParts`, in the same order."""

    label: int
    start: int
    end: int
    head: int
    rule: int
    function_rule: int
    head_position: int
    head_tag: int
    projections: int
    head_tree: int
    left_spine: int
    right_spine: int
    first_tag: int
    last_tag: int
    span_shape: int
    size: int
    on_path: int


class Builder:
    """Collects the distinct pieces of candidates, sentence by sentence.

    Parameters
    ----------
    heads
        Finds head children.
    function_words
        Words that function rules include.
    coordination
        Labels of words and phrases that join conjuncts.

    Attributes
    ----------
    texts, tokens, nodes, children, contexts, conjuncts
        Rows of the columns of `SharedParts`.
    candidates
        The contexts of each candidate.
    """

    def __init__(
        self, heads: HeadFinder, function_words: frozenset[str], coordination: frozenset[str]
    ) -> None:
        self._heads = heads
        self._function_words = function_words
        self._coordination = coordination
        self._codes = {text: code for code, text in enumerate(_FIXED)}
        self.texts = list(_FIXED)
        self.tokens: list[tuple[int, ...]] = [(NONE, NONE, NONE, 0)]
        self.nodes: list[_NodeRow] = []
        self.children: list[tuple[int, ...]] = []
        self.contexts: list[tuple[int, ...]] = []
        self.conjuncts: list[tuple[int, int, int, int]] = []
        self.candidates: list[list[int]] = []
        self._shapes: list[str] = [""]
        self._is_mark: list[bool] = [False]

    def add(self, candidates: Sequence[Tree]) -> None:
        """Add the candidates of a sentence."""
        if not candidates:
            raise ValueError("a sentence has no candidates; it needs at least one")
        first = len(self.tokens)
        words = candidates[0].words()
        for place, word in enumerate(words):
            is_mark = is_punctuation(word)
            code, shape = self._code(word), _shape(word, is_mark)
            mark = code if is_mark else NONE
            self.tokens.append((code, self._code(shape), mark, len(words) - place))
            self._shapes.append(shape)
            self._is_mark.append(is_mark)
        end = len(self.tokens)
        self.tokens.append((NONE, NONE, NONE, 0))
        self._shapes.append("")
        self._is_mark.append(False)

        numbers: dict[tuple[str | int, ...], int] = {}
        contexts: dict[tuple[int, ...], int] = {}
        nodes, children = self.nodes, self.children
        for tree in candidates:
            # Last word first, as in `eigentree.treebank.tree.fold`.
            done: list[int] = []
            tags = [NONE]
            place = end
            for node in reversed(list(tree.nodes())):
                if node.word is not None:
                    place -= 1
                    if place < first or words[place - first] != node.word:
                        raise ValueError(f"candidates differ in words: {node.word!r}")
                    word_key = (place, node.label)
                    number = numbers.get(word_key, -1)
                    if number < 0:
                        number = numbers[word_key] = self._add_word(node.label, place)
                    tags.append(nodes[number].label)
                else:
                    n_children = len(node.children)
                    below = done[: -n_children - 1 : -1]
                    del done[-n_children:]
                    key: tuple[str | int, ...] = (node.label, *below)
                    number = numbers.get(key, -1)
                    if number < 0:
                        number = numbers[key] = self._add_phrase(node.label, tuple(below))
                done.append(number)
            if place != first:
                raise ValueError(f"candidates differ in words: {words[0]!r} is missing in one")
            tags.append(NONE)
            tags.reverse()  # now in order, with NONE for the gaps around the sentence

            contexts_of_tree: list[int] = []
            stack = [(done[0], NONE, NONE, _TOP)]
            while stack:
                top = stack.pop()
                number, above = top[:2]
                columns = nodes[number]
                context_key = (*top, tags[columns.start - first], tags[columns.end - first + 1])
                context = contexts.get(context_key, -1)
                if context < 0:
                    context = contexts[context_key] = len(self.contexts)
                    self.contexts.append(context_key)
                contexts_of_tree.append(context)
                if children[number]:
                    label, head = columns.label, columns.head
                    for i, child in enumerate(children[number]):
                        stack.append((child, label, above, _HEAD if i == head else _OTHER))
            self.candidates.append(contexts_of_tree)

    def _code(self, text: str) -> int:
        code = self._codes.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def _add_word(self, tag: str, place: int) -> int:
        code = self._code(tag)
        shape = self._code(self._shapes[place])
        self.nodes.append(
            _NodeRow(
                label=code,
                start=place,
                end=place + 1,
                head=0,
                rule=NONE,
                function_rule=NONE,
                head_position=place,
                head_tag=code,
                projections=code,
                head_tree=NONE,
                left_spine=code,
                right_spine=code,
                first_tag=code,
                last_tag=code,
                span_shape=shape,
                size=1,
                on_path=1,
            )
        )
        self.children.append(())
        return len(self.nodes) - 1

    def _add_phrase(self, label: str, children: tuple[int, ...]) -> int:
        nodes, texts = self.nodes, self.texts
        below = [nodes[child] for child in children]
        labels = [texts[child.label] for child in below]
        head = self._heads.head(label, labels)
        rule = f"{label} -> {' '.join(labels)}"
        start, end, to_head = below[0].start, below[-1].end, below[head]
        tree = texts[to_head.head_tree]
        path = next((c for c in reversed(below) if not self._is_all_marks(c)), below[-1])
        self.nodes.append(
            _NodeRow(
                label=self._code(label),
                start=start,
                end=end,
                head=head,
                rule=self._code(rule),
                function_rule=self._function_rule(label, labels, children),
                head_position=to_head.head_position,
                head_tag=to_head.head_tag,
                projections=self._code(f"{texts[to_head.projections]} {label}"),
                head_tree=self._code(f"{tree} / {rule}" if tree else rule),
                left_spine=self._code(f"{label} {texts[below[0].left_spine]}"),
                right_spine=self._code(f"{label} {texts[below[-1].right_spine]}"),
                first_tag=below[0].first_tag,
                last_tag=below[-1].last_tag,
                span_shape=self._code(self._span_shape(start, end)),
                size=1 + sum(child.size for child in below),
                on_path=1 + path.on_path,
            )
        )
        self.children.append(children)
        number = len(self.nodes) - 1
        if not self._coordination.isdisjoint(labels):
            self._add_conjuncts(number, labels)
        return number

    def _is_all_marks(self, node: _NodeRow) -> bool:
        return all(self._is_mark[node.start : node.end])

    def _function_rule(self, label: str, labels: list[str], children: tuple[int, ...]) -> int:
        parts = list(labels)
        for i, child in enumerate(children):
            if not self.children[child]:
                word = self.texts[self.tokens[self.nodes[child].start][0]]
                if word in self._function_words:
                    parts[i] += f"={word}"
        return NONE if parts == labels else self._code(f"{label} -> {' '.join(parts)}")

    def _span_shape(self, start: int, end: int) -> str:
        if end - start <= MAX_SHAPE_WORDS:
            return " ".join(self._shapes[start:end])
        return " ".join((*self._shapes[start : start + 2], "..", *self._shapes[end - 2 : end]))

    def _add_conjuncts(self, number: int, labels: list[str]) -> None:
        joins = self._coordination
        conjuncts = [
            child
            for child, label in zip(self.children[number], labels, strict=True)
            if label not in joins and not self._is_all_marks(self.nodes[child])
        ]
        lengths = [self.nodes[child].end - self.nodes[child].start for child in conjuncts]
        for i in range(len(conjuncts) - 1):
            levels = self._levels_alike(conjuncts[i], conjuncts[i + 1])
            is_last = int(i == len(conjuncts) - 2)
            self.conjuncts.append((number, levels, lengths[i + 1] - lengths[i], is_last))

    def _levels_alike(self, one: int, other: int) -> int:
        """Number of levels, from the top, in which two nodes have the same labels and branching."""
        level, facing = [one], [other]
        for depth in range(MAX_DEPTH):
            labels = [self.nodes[node].label for node in level]
            if labels != [self.nodes[node].label for node in facing]:
                return depth
            sizes = [len(self.children[node]) for node in level]
            if sizes != [len(self.children[node]) for node in facing]:
                return depth + 1
            level = [child for node in level for child in self.children[node]]
            facing = [child for node in facing for child in self.children[node]]
        return MAX_DEPTH


def _shape(word: str, is_mark: bool) -> str:
    """The shape of a word: its text if punctuation; number, capitalised, lower case or other."""
    if is_mark:
        return word
    if any(character.isdigit() for character in word):
        return "0"
    if word[0].isupper() or word[0].istitle():
        return "X"
    return "x" if word[0].islower() else "*"


def _columns(rows: Sequence[tuple[int, ...]], n: int) -> list[Longs]:
    """The columns of a list of rows."""
    return list(np.array(rows, dtype=np.int64).reshape(-1, n).T.copy())


def binned(widths: Longs) -> Longs:
    """The lower end of the bin of each width, which is also its code."""
    return WIDTH_BINS[np.searchsorted(WIDTH_BINS, widths, side="right") - 1]
