"""Binary trees: the input of chart parsers and of every learner of this package.

A tree is made binary in two steps, both undone exactly by `unbinarise`:

- a chain of unary nodes becomes one symbol that remembers the chain: ``(S (VP ...))`` is
  the symbol S+VP, ``(NP (NN dog))`` the preterminal symbol NP+NN;
- a node with more than two children gets intermediate symbols, which name only the
  phrase they are part of.  With the default, to the left (Petrov et al. 2006)::

      (VP V NP PP SBAR)   becomes   (VP (@VP (@VP V NP) PP) SBAR)

  to the right it is ``(VP V (@VP NP (@VP PP SBAR)))``; head-outward, the head first takes
  its right neighbours from the inside out, then its left ones.

Symbols are values with structure, never strings that are taken apart again, so that labels
such as ``A|B``, ``@X``, ``S+VP`` or ``NP^S`` in a treebank can't clash with anything.

Markovisation (Klein and Manning 2003): with ``vertical = v`` a phrase remembers ``v - 1``
labels above it; with ``horizontal = h`` an intermediate symbol remembers the labels of the
``h`` siblings that were attached last (0 by default).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from eigentree._core.arguments import check_type
from eigentree.errors import SettingsError
from eigentree.treebank.tree import Tree

Kind = Literal["preterminal", "interminal", "intermediate"]
Direction = Literal["left", "right", "head"]


class Symbol(NamedTuple):
    """A nonterminal of the binary grammar.

    ``chain`` holds the collapsed labels from the top down; its last label is the node's own
    (for a preterminal, the part-of-speech tag).  ``parents`` and ``siblings`` are the
    context kept by Markovisation, nearest first.
    """

    kind: Kind
    chain: tuple[str, ...]
    parents: tuple[str, ...] = ()
    siblings: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.chain[-1]

    def __str__(self) -> str:
        """A name for people; it need not be unique or readable back."""
        name = "+".join(self.chain)
        if self.kind == "intermediate":
            name = "@" + name
        if self.siblings:
            name += "[" + ",".join(self.siblings) + "]"
        return "^".join((name, *self.parents))


class HeadFinder(Protocol):
    """Anything that names the head among the children of a phrase."""

    def head(self, label: str, children: Sequence[str], /) -> int: ...


class Rightmost:
    """The last child is the head: a serviceable default without any table."""

    def head(self, _label: str, children: Sequence[str], /) -> int:
        return len(children) - 1


@dataclass(frozen=True)
class BinariseOptions:
    """How trees are made binary.

    Attributes
    ----------
    direction
        ``left``, ``right`` or ``head`` (outward from the head).
    vertical
        Labels of a phrase's path kept in its symbol, itself included; 1 keeps no parent.
    horizontal
        Siblings remembered by an intermediate symbol.
    """

    direction: Direction = "left"
    vertical: int = 1
    horizontal: int = 0

    def __post_init__(self) -> None:
        if self.direction not in ("left", "right", "head"):
            raise SettingsError(f"direction is {self.direction!r}; it must be left, right or head")
        if self.vertical < 1 or self.horizontal < 0:
            raise SettingsError(
                f"vertical is {self.vertical} and horizontal {self.horizontal}; "
                "the minimum is 1 and 0"
            )


class BinaryTree(NamedTuple):
    """A binary tree as parallel lists over its nodes, children before parents, root last.

    ``left`` and ``right`` hold node numbers, -1 at preterminals; ``head`` is the position
    of each node's head word, None for a tree whose heads are unknown.  The preterminals are
    in the order of the ``words``.
    """

    symbols: list[Symbol]
    left: list[int]
    right: list[int]
    head: list[int] | None
    words: list[str]

    @property
    def n_nodes(self) -> int:
        return len(self.symbols)


def binarise(
    tree: Tree,
    options: BinariseOptions = BinariseOptions(),
    heads: HeadFinder = Rightmost(),
) -> BinaryTree:
    """The binary form of a tree; ``unbinarise`` gives the tree back.

    Parameters
    ----------
    tree
        Any tree.
    options
        Direction and Markovisation.
    heads
        Finds head children, for head-outward binarisation and the head words.

    Cost
    ----
    Linear in the number of nodes.
    """
    check_type(tree, Tree, "tree", "a Tree")
    check_type(options, BinariseOptions, "options", "BinariseOptions")
    builder = _Builder(options)
    # A frame is (node, parents) on the way down, (symbol, head index, number of children)
    # on the way up.
    stack: list[tuple[Tree, tuple[str, ...]] | tuple[Symbol, int, int]] = [(tree, ())]
    finished: list[int] = []
    while stack:
        frame = stack.pop()
        if len(frame) == 3:
            symbol, head_child, n_children = frame
            children = finished[-n_children:]
            del finished[-n_children:]
            finished.append(builder.phrase(symbol, children, head_child))
            continue
        node, parents = frame
        chain = [node.label]
        while len(node.children) == 1:
            node = node.children[0]
            chain.append(node.label)
        if node.word is not None:
            finished.append(builder.leaf(Symbol("preterminal", tuple(chain)), node.word))
            continue
        symbol = Symbol("interminal", tuple(chain), parents)
        labels = [child.label for child in node.children]
        stack.append((symbol, heads.head(node.label, labels), len(labels)))
        below = (*reversed(chain), *parents)[: options.vertical - 1]
        stack.extend((child, below) for child in reversed(node.children))
    return builder.tree()


class _Builder:
    """Grows the lists of a `BinaryTree` from the leaves up."""

    def __init__(self, options: BinariseOptions) -> None:
        self._direction = options.direction
        self._horizontal = options.horizontal
        self._head: list[int] = []
        self._tree = BinaryTree([], [], [], self._head, [])

    def tree(self) -> BinaryTree:
        return self._tree

    def leaf(self, symbol: Symbol, word: str) -> int:
        position = len(self._tree.words)
        self._tree.words.append(word)
        return self._add(symbol, -1, -1, position)

    def phrase(self, symbol: Symbol, children: list[int], head_child: int) -> int:
        """Attach the children in the order of the chosen direction."""
        first, steps = self._attachments(len(children), head_child)
        node = children[first]
        covered_head = first
        siblings = [self._top_label(node)]
        for number, child in enumerate(steps):
            last = number == len(steps) - 1
            # Until the head is in, the latest child is nearest to it.
            if covered_head != head_child:
                covered_head = child
            siblings.append(self._top_label(children[child]))
            part = (
                symbol
                if last
                else Symbol(
                    "intermediate",
                    symbol.chain[-1:],
                    symbol.parents,
                    tuple(siblings[: -self._horizontal - 1 : -1]),
                )
            )
            pair = (node, children[child]) if child > first else (children[child], node)
            node = self._add(part, *pair, self._head[children[covered_head]])
        return node

    def _attachments(self, n_children: int, head_child: int) -> tuple[int, list[int]]:
        if self._direction == "left":
            return 0, list(range(1, n_children))
        if self._direction == "right":
            return n_children - 1, list(range(n_children - 2, -1, -1))
        right = range(head_child + 1, n_children)
        left = range(head_child - 1, -1, -1)
        return head_child, [*right, *left]

    def _top_label(self, node: int) -> str:
        return self._tree.symbols[node].chain[0]

    def _add(self, symbol: Symbol, left: int, right: int, head: int) -> int:
        tree = self._tree
        tree.symbols.append(symbol)
        tree.left.append(left)
        tree.right.append(right)
        self._head.append(head)
        return len(tree.symbols) - 1


def unbinarise(binary: BinaryTree) -> Tree:
    """The tree whose binary form this is.

    Intermediate symbols are removed (at any place, so that every binary tree gives a
    tree) and chains are expanded.
    """
    check_type(binary, BinaryTree, "binary", "a BinaryTree, as of binarise")
    words = iter(binary.words)
    of_node = [next(words) if left < 0 else None for left in binary.left]
    (tree,) = unbinarise_shared(
        binary.symbols, binary.left, binary.right, of_node, [binary.n_nodes - 1]
    )
    return tree


def unbinarise_shared(
    symbols: Sequence[Symbol],
    left: Sequence[int],
    right: Sequence[int],
    words: Sequence[str | None],
    roots: Sequence[int],
) -> list[Tree]:
    """The trees of binary ones that share nodes, which share them too.

    Parameters
    ----------
    symbols, left, right
        Of each node, as of `BinaryTree`; children before parents.
    words
        Of each node, None where it has children.
    roots
        The node at the root of each tree.
    """
    built: list[Tree | None] = []
    for node, (symbol, word) in enumerate(zip(symbols, words, strict=True)):
        is_part = symbol.kind == "intermediate"
        children = () if word is not None or is_part else _children(left, right, node, built)
        built.append(None if is_part else _opened(symbol, children, word))
    return [
        built[root] or _opened(symbols[root], _children(left, right, root, built), None)
        for root in roots
    ]


def _opened(symbol: Symbol, children: Sequence[Tree], word: str | None) -> Tree:
    tree = Tree(symbol.label, children, word)
    for label in symbol.chain[-2::-1]:
        tree = Tree(label, (tree,))
    return tree


def _children(
    left: Sequence[int], right: Sequence[int], node: int, built: Sequence[Tree | None]
) -> list[Tree]:
    children: list[Tree] = []
    stack = [right[node], left[node]]
    while stack:
        below = stack.pop()
        tree = built[below]
        if tree is None:
            stack.append(right[below])
            stack.append(left[below])
        else:
            children.append(tree)
    return children
