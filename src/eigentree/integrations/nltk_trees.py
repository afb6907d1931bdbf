"""Trees of NLTK, both ways.

A tree goes to an `nltk.Tree` and back without a change, whatever its labels and words are and
however deep it is.  NLTK's own printing, comparing and reading are recursive, and so are bound
to trees less deep than Python's stack.
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
    """A tree as an `nltk.Tree`.

    Parameters
    ----------
    tree
        Any tree, of any depth.
    escaped
        Write brackets of words as ``-LRB-`` and ``-RRB-``, as the trees of treebanks that NLTK
        has read do, so that ``nltk.Tree.fromstring`` reads them as printed.

    Returns
    -------
    nltk.Tree
        Tags stand right above words, which are strings.

    Raises
    ------
    SettingsError
        When NLTK is not installed.
    TypeError
        When it is no tree; a sentence without words has none.
    """
    if not isinstance(tree, Tree):
        raise TypeError(f"tree is {tree!r}; a Tree is expected, as in the result of a sentence")
    with require("nltk"):
        import nltk

    def made(node: Tree, children: list[Any]) -> Any:
        if node.word is None:
            return nltk.Tree(node.label, children)
        return nltk.Tree(node.label, [escape_token(node.word) if escaped else node.word])

    return fold(tree, made)


def from_nltk(tree: Any, *, escaped: bool = False) -> Tree:
    """An `nltk.Tree` as a tree.

    Parameters
    ----------
    tree
        An ``nltk.Tree`` or anything like it: its ``label()``, and its children when iterated, which
        are such trees or words.  Labels that are no strings, such as nonterminals, count by
        their text.
    escaped
        Read ``-LRB-`` and ``-RRB-`` within words as brackets, as in the trees of treebanks that
        NLTK has read.

    Raises
    ------
    TreebankFormatError
        When a node has no child, or a word beside another child, or has a label or word that no
        tree can hold.
    TypeError
        When `tree` is no such tree.
    """
    # Parents come before children here, so their trees are made the other way round.
    nodes: list[tuple[str, list[Any]]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if not callable(getattr(node, "label", None)):
            raise TypeError(f"an nltk.Tree is expected, not {type(node).__name__}")
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
            raise TreebankFormatError(f"an nltk.Tree can't be taken over: {error}") from None
    return done[0]


def _odd(label: str, children: list[Any]) -> str:
    seen = f"holds {len(children)} children, words among them" if children else "holds nothing"
    return (
        f"an nltk.Tree can't be taken over: node {label!r} {seen}; "
        "a node must hold one word, or other nodes alone"
    )


def read_nltk(
    trees: Iterable[Any], cleaning: CleaningOptions | None = None, *, escaped: bool = True
) -> list[Tree]:
    """Trees that NLTK has read, such as a corpus of its own, cleaned for `Parser.train`.

    Parameters
    ----------
    trees
        ``nltk.Tree`` each, for instance ``nltk.corpus.treebank.parsed_sents()``.
    cleaning
        As for treebanks in files.
    escaped
        As of `from_nltk`.

    Returns
    -------
    list of Tree
        In order, without those that cleaning leaves nothing of.

    Raises
    ------
    TreebankFormatError, TypeError
        As of `from_nltk`, with the number of the tree, counted from 1.
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
