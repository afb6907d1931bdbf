"""From the trees of a treebank to the trees a parser learns from.

Cleaning removes empty elements and what they leave empty, cuts function tags and gap
indices off phrase labels, joins a phrase over one phrase of the same label, and takes off
the outer bracket of a treebank where it carries no information.  What is removed is found by label,
never by the look of a word: ``0`` and ``*`` are words too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import is_

from eigentree.errors import SettingsError
from eigentree.treebank.tree import Tree

_CACHED_LABELS = 65536


@dataclass(frozen=True)
class CleaningOptions:
    """How `clean` treats a treebank; the defaults suit the Penn Treebank.

    Attributes
    ----------
    trace_labels
        Preterminals that are removed with their words.
    trace_words
        Words that are removed under any preterminal, for treebanks that write their empty
        elements as plain words (``*0*`` in CESS-ESP).
    function_separators
        Characters at which a phrase label ends: ``NP-SBJ=1`` becomes ``NP``.  One at the
        very start of a label belongs to it, as in ``-LRB-``.
    keep_function_tags
        Cut only gap indices (``-1``, ``=2``) and keep function tags (``NP-SBJ``).
    cut_tags
        Cut the labels of preterminals too; they are never touched otherwise.
    root_labels
        Labels of outer brackets.  One over a single phrase is taken off.
    root_name
        The label that any other outer bracket gets.
    collapse_same_unary
        Join a phrase that has one child, a phrase of the same label.
    """

    trace_labels: tuple[str, ...] = ("-NONE-",)
    trace_words: tuple[str, ...] = ()
    function_separators: str = "-="
    keep_function_tags: bool = False
    cut_tags: bool = False
    root_labels: tuple[str, ...] = ("", "ROOT", "TOP", "VROOT")
    root_name: str = "ROOT"
    collapse_same_unary: bool = True

    def __post_init__(self) -> None:
        if any(mark.isalnum() or mark.isspace() for mark in self.function_separators):
            raise SettingsError(
                f"function separators {self.function_separators!r} hold a letter, digit or space; "
                "marks such as '-=' are expected"
            )


def clean(tree: Tree, options: CleaningOptions = CleaningOptions()) -> Tree | None:
    """Clean one tree.

    Parameters
    ----------
    tree
        A tree as read.
    options
        What to remove, cut and join.

    Returns
    -------
    Tree or None
        The clean tree, sharing what didn't change; None when nothing but empty elements was
        in it.  Cleaning a clean tree again changes nothing.
    """
    removed_labels, removed_words = options.trace_labels, options.trace_words
    done: list[Tree | None] = []
    for node in reversed(list(tree.nodes())):
        label = node.label
        if node.word is not None:
            if label in removed_labels or node.word in removed_words:
                done.append(None)
            elif options.cut_tags and (cut := cut_label(label, options)) != label:
                done.append(Tree(cut, (), node.word))
            else:
                done.append(node)
            continue
        n_children = len(node.children)
        children = [child for child in done[: -n_children - 1 : -1] if child is not None]
        del done[-n_children:]
        cut = cut_label(label, options)
        if not children:
            done.append(None)
        elif (
            options.collapse_same_unary
            and len(children) == 1
            and children[0].label == cut
            and children[0].word is None
        ):
            done.append(children[0])
        elif (
            cut == label and len(children) == n_children and all(map(is_, children, node.children))
        ):
            done.append(node)
        else:
            done.append(Tree(cut, children))
    return _settle_root(done[0], options)


def _settle_root(tree: Tree | None, options: CleaningOptions) -> Tree | None:
    """Take off outer brackets over one phrase; give any other the name for roots."""
    if tree is None or tree.word is not None:
        return tree
    wrappers = options.root_labels
    while tree.label in wrappers and len(tree.children) == 1 and tree.children[0].word is None:
        tree = tree.children[0]
    if tree.label in wrappers and tree.label != options.root_name:
        tree = Tree(options.root_name, tree.children)
    return tree


@lru_cache(maxsize=_CACHED_LABELS)
def cut_label(label: str, options: CleaningOptions) -> str:
    """A label without its function tags and gap indices, or without the indices only."""
    separators = re.escape(options.function_separators)
    if not label or not separators or label[0] in options.function_separators:
        return label
    if options.keep_function_tags:
        return label[:1] + re.sub(rf"[{separators}][0-9]+(?=[{separators}]|$)", "", label[1:])
    return label[:1] + re.split(rf"[{separators}]", label[1:], maxsplit=1)[0]


def function_tags(label: str, separators: str = "-=") -> list[str]:
    """The function tags of a label, without indices: ``NP-SBJ-1`` gives ``["SBJ"]``."""
    if not separators or label[:1] in separators:
        return []
    pieces = re.split(rf"[{re.escape(separators)}]", label[1:])[1:]
    return [piece for piece in pieces if piece and not piece.isdecimal()]


def wrapper_of(
    trees: Iterable[Tree], root_labels: Iterable[str] = CleaningOptions.root_labels
) -> str | None:
    """The outer bracket that most trees of a treebank carry, or None when most carry none.

    A parser prints it around its trees so that they look like the treebank's own.
    """
    known = frozenset(root_labels)
    counts = Counter(tree.label if tree.label in known else None for tree in trees)
    return counts.most_common(1)[0][0] if counts else None
