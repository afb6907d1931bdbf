"""The NEGRA export format: trees with crossing branches, made continuous.

A sentence of an export file is a graph: words and nodes, each with a label, the label of the
edge to its parent and the number of the parent; 0 is the virtual root.  A node's words need
not be neighbours.  A bracketed tree can't say that, so crossing branches are resolved by
**splitting and raising** (Boyd 2007), in three steps:

1. *Attach.*  Punctuation and whatever else hangs at the virtual root between two words of one
   phrase moves down to the lowest node above both of its neighbours.
2. *Mark heads.*  The head of a node is its child with the edge ``HD``, else the last one with
   ``NK``, else the first.
3. *Split and raise.*  The words of a discontinuous node fall into blocks.  The node keeps the
   block with its head; the children in its other blocks rise to the parent, and on until they
   are in one block with its head.

References
----------
Boyd, Adriane (2007). Discontinuity revisited: an improved conversion to context-free
representations. Linguistic Annotation Workshop.
Brants, Thorsten (1997). The NeGra export format for annotated corpora. CLAUS report 98.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from eigentree.errors import TreebankFormatError, counted
from eigentree.treebank.io.brackets import OnError
from eigentree.treebank.io.text_files import Problem, snippet_at, undecoded
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL, SEPARATORS, Tree

ROOT_LABEL = "VROOT"
NO_EDGE = "--"
HEAD_EDGE = "HD"
KERNEL_EDGE = "NK"
_ROOT = 0
_NODE_MARK = re.compile(r"#([0-9]{3,})")
# The columns of label, edge and parent; format 4 has a lemma after the word.
_COLUMNS = {"3": (1, 3, 4), "4": (2, 4, 5)}
_LABEL_BRACKETS = str.maketrans({"(": "LRB", ")": "RRB"})


class ExportRecord(NamedTuple):
    """One sentence of an export file.

    Attributes
    ----------
    tree
        The continuous tree under `ROOT_LABEL`; None for a problem and a sentence of no words.
    line
        Line, from 1, on which the sentence begins.
    problem
        What was wrong; None for a tree.
    n_crossing
        Number of nodes whose words aren't neighbours, counted after step 1.
    """

    tree: Tree | None
    line: int
    problem: Problem | None
    n_crossing: int


@dataclass
class _Node:
    """A word or a node of the graph, and what hangs below it."""

    label: str
    edge: str
    parent: int
    word: str | None = None
    children: list[int] = field(default_factory=list)
    positions: set[int] = field(default_factory=set)


# The root has the key 0, nodes their numbers, the word at position i the key -1 - i.
_Graph = dict[int, _Node]


class _ExportError(Exception):
    """Why a sentence can't become a tree."""


def read_export(
    lines: Iterable[str],
    *,
    name: str = "<input>",
    on_error: OnError = "raise",
    edge_labels: bool = False,
) -> Iterator[ExportRecord]:
    """Read the sentences of an export file (format 3 or 4) as continuous trees.

    Parameters
    ----------
    lines
        Lines of text, such as an open file.
    name
        What messages call the text.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` gives a record with the problem
        and goes on with the next sentence.
    edge_labels
        Write edge labels into the labels of words and nodes, as in ``NP-SB``.

    Yields
    ------
    ExportRecord
        One for each sentence.  Secondary edges, morphology, lemmas, tables and nodes without
        words are passed over; a bracket in a label is written ``LRB`` or ``RRB``, so that
        ``$(`` becomes ``$LRB``.

    Raises
    ------
    TreebankFormatError
        Under ``"raise"``, with file, line and what is wrong.
    """
    for line, graph, problem in _sentences(lines, name):
        tree, n_crossing = None, 0
        if problem is None:
            try:
                tree, n_crossing = _continuous_tree(graph, edge_labels)
            except _ExportError as error:
                problem = Problem(name, line, 1, str(error), "")
        if problem is not None and on_error == "raise":
            raise TreebankFormatError(str(problem))
        yield ExportRecord(tree, line, problem, n_crossing)


def _sentences(lines: Iterable[str], name: str) -> Iterator[tuple[int, _Graph, Problem | None]]:
    """First line, graph and problem of each stretch between ``#BOS`` and ``#EOS``."""
    columns = _COLUMNS["3"]
    begun = 0  # the line of #BOS; 0 between sentences
    graph: _Graph = {}
    problem: Problem | None = None
    foreign: Problem | None = None  # the first line, unless it can begin an export file
    for number, line in enumerate(lines, start=1):
        mark, *rest = line.removeprefix("\ufeff").split(maxsplit=2) or [""]
        if mark == "#FORMAT":
            columns = _COLUMNS.get(rest[0] if rest else "", columns)
        elif mark == "#BOS":
            foreign = None
            if begun:
                unclosed = Problem(name, begun, 1, "this sentence has no #EOS", "")
                yield begun, graph, problem or unclosed
            begun, graph, problem = number, {_ROOT: _Node(ROOT_LABEL, NO_EDGE, _ROOT)}, None
        elif mark == "#EOS":
            foreign = None
            if not begun:
                problem = Problem(name, number, 1, "#EOS without #BOS", snippet_at(line, 1))
            yield begun or number, graph, problem
            begun, problem = 0, None
        elif begun and mark and problem is None and not mark.startswith("%%"):
            problem = undecoded(name, number, line)
            if problem is not None:
                continue
            try:
                _add_line(graph, line, *columns)
            except _ExportError as error:
                problem = Problem(name, number, 1, str(error), snippet_at(line, 1))
        elif mark and number == 1 and not mark.startswith(("#", "%%")):
            what = "neither a comment nor a mark of the export format, and no #BOS follows"
            foreign = Problem(name, number, 1, what, snippet_at(line, 1))
    if foreign is not None:
        yield 1, graph, foreign
    if begun:
        yield begun, graph, problem or Problem(name, begun, 1, "this sentence has no #EOS", "")


def _add_line(graph: _Graph, line: str, label_at: int, edge_at: int, parent_at: int) -> None:
    """Add the word or node of one line to the graph."""
    cells = [cell.strip(SEPARATORS) for cell in line.split("\t")]
    cells = [cell for cell in cells if cell]
    if len(cells) == 1:
        cells = cells[0].split()
    if len(cells) <= parent_at:
        raise _ExportError(f"{counted(len(cells), 'column')}; expected at least {parent_at + 1}")
    label, edge, parent = cells[label_at], cells[edge_at], cells[parent_at]
    if not parent.isdecimal():
        raise _ExportError(f"parent {parent!r} is not a number")
    if not FORBIDDEN_IN_LABEL.isdisjoint(label + edge):
        label, edge = label.translate(_LABEL_BRACKETS), edge.translate(_LABEL_BRACKETS)
    for cell in (cells[0], label, edge):
        if not set(SEPARATORS).isdisjoint(cell):
            raise _ExportError(f"{cell!r} contains white space")
    mark = _NODE_MARK.fullmatch(cells[0])
    if mark is None:
        n_words = sum(key < 0 for key in graph)
        graph[-1 - n_words] = _Node(label, edge, int(parent), cells[0], [], {n_words})
    elif int(mark[1]) in graph:
        raise _ExportError(f"duplicate node {cells[0]}")
    else:
        graph[int(mark[1])] = _Node(label, edge, int(parent))


def _continuous_tree(graph: _Graph, edge_labels: bool) -> tuple[Tree | None, int]:
    """Take the three steps; the tree and the number of discontinuous nodes come back."""
    _link(graph)
    _attach(graph)
    n_crossing = sum(_n_blocks(node.positions) > 1 for node in graph.values())
    if not graph[_ROOT].positions:
        return None, 0
    return _split_and_raise(graph, edge_labels), n_crossing


def _link(graph: _Graph) -> None:
    """Fill in children and positions."""
    for key, node in graph.items():
        if node.parent not in graph:
            raise _ExportError(f"parent #{node.parent} of {node.word or f'#{key}'!r} is missing")
        if key != _ROOT:
            graph[node.parent].children.append(key)
    order = _bottom_up(graph)
    if len(order) < len(graph):
        lost = ", ".join(f"#{key}" for key in graph.keys() - set(order) if key > 0)
        raise _ExportError(f"nodes {lost} form a cycle")
    for key in order:
        node = graph[key]
        if node.word is None:
            node.children = [child for child in node.children if graph[child].positions]
            node.children.sort(key=lambda child: min(graph[child].positions))
            node.positions = set().union(*(graph[child].positions for child in node.children))


def _bottom_up(graph: _Graph) -> list[int]:
    """The keys of all nodes under the root, every node before its parent."""
    order = [_ROOT]
    for key in order:
        order.extend(graph[key].children)
    return order[::-1]


def _attach(graph: _Graph) -> None:
    """Move what hangs at the root between two words of one node down into that node."""
    root = graph[_ROOT]
    n_words = len(root.positions)
    below = [graph[key].positions for key in root.children]
    ends = {min(held): max(held) + 1 for held in below if _n_blocks(held) == 1}
    for key in list(root.children):
        left, right = min(graph[key].positions) - 1, max(graph[key].positions) + 1
        # What hangs at the root in a row has its neighbours on either side of the row.
        while right in ends:
            right = ends[right]
        if left < 0 or right >= n_words:
            continue
        above = _ancestors(graph, -1 - left)
        target = next(each for each in _ancestors(graph, -1 - right) if each in above)
        root.children.remove(key)
        graph[target].children.append(key)
        for each in _ancestors(graph, target, itself=True):
            graph[each].positions |= graph[key].positions
        graph[key].parent = target


def _ancestors(graph: _Graph, key: int, *, itself: bool = False) -> list[int]:
    found = [key] if itself else []
    while key != _ROOT:
        key = graph[key].parent
        found.append(key)
    return found


def _n_blocks(positions: set[int]) -> int:
    return sum(position - 1 not in positions for position in positions)


def _head_child(graph: _Graph, children: list[int]) -> int:
    """The child with the edge HD, else the last with NK, else the first."""
    edges = [graph[child].edge for child in children]
    if HEAD_EDGE in edges:
        return children[edges.index(HEAD_EDGE)]
    if KERNEL_EDGE in edges:
        return children[len(edges) - 1 - edges[::-1].index(KERNEL_EDGE)]
    return children[0]


class _Piece(NamedTuple):
    """A continuous tree over the positions ``start..end``, on its way up."""

    start: int
    end: int
    tree: Tree


def _split_and_raise(graph: _Graph, edge_labels: bool) -> Tree:
    """Build the tree from the words up; pieces outside a node's head block pass it by."""
    # For each node, the piece that is the node itself comes first, then those that rise.
    pieces: dict[int, list[_Piece]] = {}
    for key in _bottom_up(graph):
        node = graph[key]
        with_edge = edge_labels and node.edge != NO_EDGE
        label = f"{node.label}-{node.edge}" if with_edge else node.label
        if node.word is not None:
            position = -1 - key
            pieces[key] = [_Piece(position, position + 1, Tree(label, (), node.word))]
        elif node.children:
            children = sorted(node.children, key=lambda child: min(graph[child].positions))
            head = pieces[_head_child(graph, children)][0]
            waiting = sorted(
                (piece for child in children for piece in pieces.pop(child)),
                key=lambda piece: piece.start,
            )
            middle = next(i for i, piece in enumerate(waiting) if piece is head)
            first, last = _block_around(waiting, middle)
            block = waiting[first:last]
            own = _Piece(block[0].start, block[-1].end, Tree(label, [each.tree for each in block]))
            pieces[key] = [own, *waiting[:first], *waiting[last:]]
    return pieces[_ROOT][0].tree


def _block_around(pieces: list[_Piece], middle: int) -> tuple[int, int]:
    """The slice of pieces that touch one another around one of them."""
    first, last = middle, middle + 1
    while first > 0 and pieces[first - 1].end == pieces[first].start:
        first -= 1
    while last < len(pieces) and pieces[last - 1].end == pieces[last].start:
        last += 1
    return first, last
