"""Conversion of trees to and from NLTK.

Conversion is lossless for all labels, words and depths.  NLTK's own printing, comparison and
reading are recursive, so they fail for trees deeper than Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from eigentree._core.optional import require
from eigentree.errors import TreebankFormatError
from eigentree.treebank.cleaning import CleaningOptions, clean
from eigentree.treebank.escaping import escape_token, unescape_token
from eigentree.treebank.tree import Tree, fold

_ESCAPED = re.compile(r"\\([()])")
_LONGEST_SHOWN = 60


def to_nltk(tree: Tree, *, escaped: bool = False) -> Any:
    """Convert a tree to an `nltk.Tree`.

    Parameters
    ----------
    tree
        Any tree, of any depth.
    escaped
        Write brackets in words as ``-LRB-`` and ``-RRB-``, as in treebanks read by NLTK, so that
        ``nltk.Tree.fromstring`` can read the printed tree.  It can't where a word ends in a
        backslash; what `eigentree.format_tree` prints it can read in any case.

    Returns
    -------
    nltk.Tree
        Preterminals have one child, a string.

    Raises
    ------
    SettingsError
        When NLTK is not installed.
    TypeError
        When `tree` is not a tree, such as the None of a sentence without words.
    """
    if not isinstance(tree, Tree):
        raise TypeError(f"expected a Tree, as in a parse result (got {tree!r})")
    with require("nltk"):
        import nltk

    def made(node: Tree, children: list[Any]) -> Any:
        if node.word is None:
            return nltk.Tree(node.label, children)
        return nltk.Tree(node.label, [escape_token(node.word) if escaped else node.word])

    return fold(tree, made)


def from_nltk(tree: Any, *, escaped: bool = False) -> Tree:
    """Convert an `nltk.Tree` to a tree.

    Parameters
    ----------
    tree
        An ``nltk.Tree``, or an object with ``label()`` whose items are such trees, words, or, as
        in chunk trees, pairs of a word and its tag.  Labels that are not strings, such as
        nonterminals, are converted to strings.
    escaped
        Read ``-LRB-`` and ``-RRB-``, and brackets behind a backslash, in words as brackets, as in
        treebanks read by NLTK.

    Raises
    ------
    TreebankFormatError
        When a node has no child, or a word and other children, or has an invalid label or word.
    TypeError
        When `tree` is not such a tree; the message shows the leaf.
    """

    def word_of(text: str) -> str:
        return unescape_token(_ESCAPED.sub(r"\1", text)) if escaped else text

    # Parents precede children here, so trees are built in reverse order.
    nodes: list[tuple[str, list[Any]]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if node is not tree and _is_tagged(node):
            nodes.append((node[1], [node[0]]))
            continue
        if not callable(getattr(node, "label", None)):
            if node is tree:
                raise TypeError(f"expected an nltk.Tree (got {type(node).__name__})")
            raise TypeError(
                "a leaf of an nltk.Tree must be a string or a pair (word, tag) of strings "
                f"(got {_shown(node)})"
            )
        children = list(node)
        nodes.append((str(node.label()), children))
        stack.extend(child for child in reversed(children) if not isinstance(child, str))
    done: list[Tree] = []
    for label, children in reversed(nodes):
        words = [child for child in children if isinstance(child, str)]
        if not children or (words and len(children) > 1):
            raise TreebankFormatError(_odd(label, children))
        try:
            if words:
                done.append(Tree(label, (), word_of(words[0])))
            else:
                below = done[: -len(children) - 1 : -1]
                del done[-len(children) :]
                done.append(Tree(label, below))
        except ValueError as error:
            raise TreebankFormatError(f"the nltk.Tree cannot be converted: {error}") from None
    return done[0]


def _is_tagged(leaf: Any) -> bool:
    """Whether a leaf is a word with its tag, as in the chunk trees of NLTK."""
    if not isinstance(leaf, tuple) or len(leaf) != 2:
        return False
    return isinstance(leaf[0], str) and isinstance(leaf[1], str)


def _shown(leaf: Any) -> str:
    """A leaf in a message."""
    text = repr(leaf)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _odd(label: str, children: list[Any]) -> str:
    problem = f"has words among {len(children)} children" if children else "has no children"
    return (
        f"the nltk.Tree cannot be converted: node {label!r} {problem}; "
        "a node must have one word, or other nodes only"
    )


def read_nltk(
    trees: Iterable[Any], cleaning: CleaningOptions | None = None, *, escaped: bool = True
) -> list[Tree]:
    """Convert and clean trees read by NLTK, such as one of its corpora, for training.

    Parameters
    ----------
    trees
        ``nltk.Tree`` each, for instance ``nltk.corpus.treebank.parsed_sents()``.
    cleaning
        As for treebanks in files.
    escaped
        As in `from_nltk`.

    Returns
    -------
    list of Tree
        In order, without trees that are empty after cleaning.

    Raises
    ------
    TreebankFormatError, TypeError
        As in `from_nltk`, with the number of the tree, counted from 1.
    """
    options = cleaning or CleaningOptions()
    read: list[Tree] = []
    for number, tree in enumerate(trees, start=1):
        try:
            cleaned = clean(from_nltk(tree, escaped=escaped), options)
        except TreebankFormatError as error:
            raise TreebankFormatError(f"tree {number}: {error}") from None
        if cleaned is not None:
            read.append(cleaned)
    return read
