"""Constituency trees as people draw them: immutable, of any depth.

Every function here walks with an explicit stack, since real files hold trees that are
deeper than Python's recursion limit.  A node either holds children (a phrase) or one word
(a preterminal); a word never has siblings under the same node.

Words are the real characters of the text: a bracket is ``(``, and only the bracket format
writes it as ``-LRB-`` (see `eigentree.treebank.io.brackets`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from eigentree._core.arguments import check_type
from eigentree._core.display import NotebookDisplay
from eigentree._core.printable import shown
from eigentree.treebank.escaping import format_leaf

Value = TypeVar("Value")

SEPARATORS = " \t\r\n\x0b\x0c"
WHITE_SPACE = frozenset(SEPARATORS)
FORBIDDEN_IN_WORD = WHITE_SPACE | {"\0"}
_WORD_TYPES = (str, type(None))
FORBIDDEN_IN_LABEL = FORBIDDEN_IN_WORD | frozenset("()")


class Span(NamedTuple):
    """A labelled span over the half-open positions ``start..end`` of a sentence."""

    label: str
    start: int
    end: int


class Tree(NotebookDisplay):
    """A node of a constituency tree, with all that is below it.

    Parameters
    ----------
    label
        Any string without ASCII white space, round brackets or NUL.  The empty label is the
        nameless outer bracket of the Penn Treebank, ``( (S ...))``.
    children
        Subtrees in the order of the sentence; empty for a preterminal.
    word
        The word below a preterminal; None for a phrase.

    Raises
    ------
    TypeError
        When label or word isn't a string.
    ValueError
        When the node has both or neither of children and word, or a label or word that no
        bracket file could hold.
    """

    __slots__ = ("children", "label", "word")

    label: str
    children: tuple[Tree, ...]
    word: str | None

    def __init__(self, label: str, children: Sequence[Tree] = (), word: str | None = None) -> None:
        if type(label) is not str or type(word) not in _WORD_TYPES:  # before slower checks
            check_type(label, str, "label", "a string")
            check_type(word, (str, type(None)), "word", "a string or None")
        if not FORBIDDEN_IN_LABEL.isdisjoint(label):
            raise ValueError(f"label {shown(label)} holds white space, a bracket or NUL")
        if (word is None) != bool(children):
            raise ValueError(f"node {shown(label)} must have either children or a word")
        if word is not None and not (word and FORBIDDEN_IN_WORD.isdisjoint(word)):
            raise ValueError(
                f"word {shown(word)} under {shown(label)} is empty or holds white space or NUL"
            )
        _set_label(self, label)
        _set_children(self, tuple(children))
        _set_word(self, word)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"trees are immutable: can't set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"trees are immutable: can't delete {name!r}")

    @property
    def is_preterminal(self) -> bool:
        return self.word is not None

    def nodes(self) -> Iterator[Tree]:
        """All nodes, parents before children, from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def preterminals(self) -> Iterator[Tree]:
        """The nodes that hold the words, from left to right."""
        return (node for node in self.nodes() if node.word is not None)

    def words(self) -> list[str]:
        return [node.word for node in self.nodes() if node.word is not None]

    def tags(self) -> list[str]:
        return [node.label for node in self.preterminals()]

    def spans(self, *, preterminals: bool = False) -> list[Span]:
        """Labelled spans of the phrases, children before parents.

        A phrase over one word counts; nodes that hold the word itself count only when
        `preterminals` is true.
        """
        spans: list[Span] = []
        position = 0
        stack: list[tuple[Tree, int]] = [(self, -1)]
        while stack:
            node, start = stack.pop()
            if start >= 0:
                spans.append(Span(node.label, start, position))
            elif node.word is not None:
                if preterminals:
                    spans.append(Span(node.label, position, position + 1))
                position += 1
            else:
                stack.append((node, position))
                stack.extend((child, -1) for child in reversed(node.children))
        return spans

    def height(self) -> int:
        """Number of nodes on the longest path from here to a preterminal."""
        tallest = 0
        stack = [(self, 1)]
        while stack:
            node, depth = stack.pop()
            tallest = max(tallest, depth)
            stack.extend((child, depth + 1) for child in node.children)
        return tallest

    def _signature(self) -> list[tuple[str, int, str | None]]:
        # Labels with their numbers of children in preorder determine the tree.
        return [(node.label, len(node.children), node.word) for node in self.nodes()]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self is other or self._signature() == other._signature()

    def __hash__(self) -> int:
        return hash(tuple(self._signature()))

    def __repr__(self) -> str:
        """The tree in brackets on one line, with the brackets of words escaped."""
        pieces: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                pieces.append(item)
            elif item.word is not None:
                pieces.append(format_leaf(item.label, item.word))
            else:
                pieces.append(f"({item.label}")
                stack.append(")")
                stack.extend(piece for child in reversed(item.children) for piece in (child, " "))
        return "".join(pieces)

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: object) -> Tree:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # Flat, so that deep trees cross process boundaries without recursion.
        return _from_signature, (self._signature(),)


_set_label = Tree.__dict__["label"].__set__
_set_children = Tree.__dict__["children"].__set__
_set_word = Tree.__dict__["word"].__set__


def _from_signature(signature: list[tuple[str, int, str | None]]) -> Tree:
    done: list[Tree] = []
    for label, n_children, word in reversed(signature):
        if word is not None:
            done.append(Tree(label, (), word))
        else:
            children = done[: -n_children - 1 : -1]
            del done[-n_children:]
            done.append(Tree(label, children))
    return done[0]


def fold(tree: Tree, combine: Callable[[Tree, list[Value]], Value]) -> Value:
    """Compute a value for each node from its children's values, without recursion.

    `combine` gets a node and its children's values from left to right; the value of the
    root comes back.
    """
    done: list[Value] = []
    for node in reversed(list(tree.nodes())):
        n_children = len(node.children)
        values = done[: -n_children - 1 : -1] if n_children else []
        if n_children:
            del done[-n_children:]
        done.append(combine(node, values))
    return done[0]


def spans_of_nodes(tree: Tree) -> list[Span]:
    """The labelled span of each node, preterminals too, in the order of ``tree.nodes()``."""
    spans: list[Span] = []
    place = sum(1 for _ in tree.preterminals())

    # fold visits the nodes in this order turned round.
    def span_of(node: Tree, below: list[tuple[int, int]]) -> tuple[int, int]:
        nonlocal place
        place -= not below
        start, end = (below[0][0], below[-1][1]) if below else (place, place + 1)
        spans.append(Span(node.label, start, end))
        return start, end

    fold(tree, span_of)
    return spans[::-1]


def with_tags(tree: Tree, tags: Sequence[str | None]) -> Tree:
    """The same tree with other tags over its words; None where a tag stays."""
    # fold visits nodes from the last word to the first.
    left = list(tags)

    def rebuild(node: Tree, children: list[Tree]) -> Tree:
        if node.word is not None:
            tag = left.pop()
            return node if tag in (None, node.label) else Tree(str(tag), (), node.word)
        same = all(new is old for new, old in zip(children, node.children, strict=True))
        return node if same else Tree(node.label, children)

    return fold(tree, rebuild)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the search for reference cycles: it takes long, and trees have none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
