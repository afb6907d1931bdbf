"""Conversion of trees to and from NLTK.

Conversion is lossless for all labels, words and depths.  NLTK's own printing, comparison and
reading are recursive, so they fail for trees deeper than Python's stack.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eigentree._core.optional import require
from eigentree.errors import TreebankFormatError
from eigentree.treebank.cleaning import CleaningOptions, clean
from eigentree.treebank.io.brackets import escape_token, unescape_token
from eigentree.treebank.tree import Tree, fold


def to_nltk(tree: Tree, *, escaped: bool = False) -> Any:
    """Convert a tree to an `nltk.Tree`.

    Parameters
    ----------
    tree
        Any tree, of any depth.
    escaped
        Write brackets in words as ``-LRB-`` and ``-RRB-``, as in treebanks read by NLTK, so that
        ``nltk.Tree.fromstring`` can read the printed tree.

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
        An ``nltk.Tree``, or an object with ``label()`` whose items are such trees or words.  Labels
        that are not strings, such as nonterminals, are converted to strings.
    escaped
        Read ``-LRB-`` and ``-RRB-`` in words as brackets, as in treebanks read by NLTK.

    Raises
    ------
    TreebankFormatError
        When a node has no child, or a word and other children, or has an invalid label or word.
    TypeError
        When `tree` is not such a tree.
    """
    # Parents precede children here, so trees are built in reverse order.
    nodes: list[tuple[str, list[Any]]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if not callable(getattr(node, "label", None)):
            raise TypeError(f"expected an nltk.Tree (got {type(node).__name__})")
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
                done.append(Tree(label, (), unescape_token(words[0]) if escaped else words[0]))
            else:
                below = done[: -len(children) - 1 : -1]
                del done[-len(children) :]
                done.append(Tree(label, below))
        except ValueError as error:
            raise TreebankFormatError(f"the nltk.Tree cannot be converted: {error}") from None
    return done[0]


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
