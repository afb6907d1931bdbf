r"""Projective trees: which arcs keep a tree from being one, and how lifting makes it one.

An arc from head h to word m is **projective** when every word between them descends from h, and
a tree when all its arcs are.  Drawn above the words, with the root to their left, the arcs of a
projective tree don't cross.  Chart parsers of cubic time find projective trees only.

*Test.*  Let R(h) be the last word up to which all words right of h descend from h, and L(h)
the like on the left.  The arc is projective exactly when L(h) <= m <= R(h).  If word h + 1
descends from h, so does all of h + 1 .. R(h + 1), hence

    r = h;   while r + 1 descends from h:  r = R(r + 1)

from right to left gives all R(h), and each word is passed over once.

*Lifting* (Nivre and Nilsson 2005).  While there is a non-projective arc, the shortest one, the
leftmost of equals, is replaced by one from the head's own head.  Each lift brings a word nearer
to the root, so this ends, and it never adds a second root: all words descend from a single one.

References
----------
Nivre and Nilsson 2005, pseudo-projective dependency parsing; Kuhlmann and Nivre 2006 for the
properties of such trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eigentree.treebank.io.conllu import ROOT, check_heads


class Projectivised(NamedTuple):
    """A projective tree and what it took.

    Attributes
    ----------
    heads
        The head of each word; words count from 1, and 0 is the root.
    lifts
        How often each word was lifted; 0 for words that kept their heads.
    """

    heads: list[int]
    lifts: list[int]


def nonprojective_words(heads: Sequence[int]) -> list[int]:
    """The words, from 1, whose arcs are not projective, in order; none for a projective tree.

    Parameters
    ----------
    heads
        ``heads[0]`` is the head of word 1; words count from 1, and 0 is the root.

    Raises
    ------
    TreebankFormatError
        When the heads make no tree.

    Cost
    ----
    Linear.
    """
    check_heads(heads)
    return _nonprojective(heads)


def is_projective(heads: Sequence[int]) -> bool:
    """Whether a tree has no crossing arcs; see `nonprojective_words`."""
    return not nonprojective_words(heads)


def projectivise(heads: Sequence[int]) -> Projectivised:
    """Lift words until the tree is projective, the shortest non-projective arc first.

    Parameters
    ----------
    heads
        ``heads[0]`` is the head of word 1; words count from 1, and 0 is the root.

    Raises
    ------
    TreebankFormatError
        When the heads make no tree.

    Cost
    ----
    Linear time for each lift.
    """
    check_heads(heads)
    lifted = list(heads)
    lifts = [0] * len(lifted)
    while crossing := _nonprojective(lifted):
        word = min(
            crossing,
            key=lambda word: (abs(lifted[word - 1] - word), min(lifted[word - 1], word), word),
        )
        lifted[word - 1] = lifted[lifted[word - 1] - 1]
        lifts[word - 1] += 1
    return Projectivised(lifted, lifts)


def _nonprojective(heads: Sequence[int]) -> list[int]:
    n = len(heads)
    begun, ended = _visits(heads)
    rightmost = list(range(n + 1))
    leftmost = list(range(n + 1))
    for h in range(n, ROOT, -1):
        r = h
        while r < n and begun[h] < begun[r + 1] < ended[h]:
            r = rightmost[r + 1]
        rightmost[h] = r
    for h in range(1, n + 1):
        r = h
        while r > 1 and begun[h] < begun[r - 1] < ended[h]:
            r = leftmost[r - 1]
        leftmost[h] = r
    return [
        word
        for word, head in enumerate(heads, start=1)
        if head != ROOT and not leftmost[head] <= word <= rightmost[head]
    ]


def _visits(heads: Sequence[int]) -> tuple[list[int], list[int]]:
    """When a walk from the root enters and leaves each node: d descends from h if it comes between.

    Entries count the nodes entered before; ``ended[h]`` is the number entered when h is left.
    """
    n = len(heads)
    size = [1] * (n + 1)
    n_children = [0] * (n + 1)
    for head in heads:
        n_children[head] += 1
    # Leaves first, each node once all its children are done.
    bottom_up = [word for word in range(1, n + 1) if not n_children[word]]
    for word in bottom_up:
        head = heads[word - 1]
        size[head] += size[word]
        n_children[head] -= 1
        if head != ROOT and not n_children[head]:
            bottom_up.append(head)
    begun = [0] * (n + 1)
    free = [1] * (n + 1)  # where the next child of each node begins
    for word in reversed(bottom_up):
        head = heads[word - 1]
        begun[word] = free[head]
        free[head] += size[word]
        free[word] = begun[word] + 1
    return begun, [begun[node] + size[node] for node in range(n + 1)]
