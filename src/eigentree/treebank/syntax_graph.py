"""Sentences whose branches may cross, as treebanks of German have them, and their continuous trees.

A syntax graph has words and nodes, each with a label, the label of the edge to its parent and the
number of the parent; 0 is the virtual root.  A node's words need not be neighbours.  Secondary
edges give a word or node further parents; no tree shows them.  NEGRA export and TIGER-XML hold
such graphs (see `eigentree.treebank.io.negra` and `eigentree.treebank.io.tiger`).

A bracketed tree can't have crossing branches, so they are resolved by **splitting and raising**
(Boyd 2007), in three steps:

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from eigentree._core.printable import shown
from eigentree.errors import TreebankFormatError
from eigentree.treebank.io.brackets import OnError
from eigentree.treebank.io.text_files import Problem, TellNotice, in_sentence
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL, WHITE_SPACE, Tree

ROOT_LABEL = "VROOT"
NO_VALUE = "--"  # no lemma, no morphology, no label of an edge
FIRST_NODE = 500  # the lowest number of a node
_HEAD_EDGE = "HD"
_KERNEL_EDGE = "NK"
_ROOT = 0
_SHOWN_OF_CYCLE = 10  # nodes of a cycle that a message names
_ROOT_LABELS = ("", "ROOT", "TOP", ROOT_LABEL)
_LABEL_BRACKETS = str.maketrans({"(": "LRB", ")": "RRB"})


class SecondaryEdge(NamedTuple):
    """A further parent: the number of a node, or -1 for the first word, -2 for the second."""

    label: str
    target: int


class GraphWord(NamedTuple):
    """A word with its annotation; ``--`` stands for no value, and the parent 0 for the root."""

    word: str
    tag: str
    lemma: str = NO_VALUE
    morph: str = NO_VALUE
    edge: str = NO_VALUE
    parent: int = _ROOT
    secondary: tuple[SecondaryEdge, ...] = ()


class GraphNode(NamedTuple):
    """A node with its annotation; its number is what its children have as their parent."""

    number: int
    label: str
    morph: str = NO_VALUE
    edge: str = NO_VALUE
    parent: int = _ROOT
    secondary: tuple[SecondaryEdge, ...] = ()


@dataclass(frozen=True)
class SyntaxGraph:
    """A sentence with its annotation.

    Attributes
    ----------
    words
        In the order of the sentence.
    nodes
        In the order of the file; their numbers are positive and distinct.
    name
        What the file calls the sentence; empty for nothing.
    """

    words: tuple[GraphWord, ...]
    nodes: tuple[GraphNode, ...] = ()
    name: str = ""

    def n_secondary(self) -> int:
        """The number of secondary edges."""
        of_words = sum(len(word.secondary) for word in self.words)
        return of_words + sum(len(node.secondary) for node in self.nodes)


class GraphRecord(NamedTuple):
    """What was read at one place.

    Attributes
    ----------
    graph
        None for a problem.
    line
        Line, from 1, on which the sentence begins.
    problem
        What was wrong; None for a graph.
    remarks
        What in a graph is wrong but concerns no tree, such as a secondary edge to nothing.
    """

    graph: SyntaxGraph | None
    line: int
    problem: Problem | None
    remarks: tuple[Problem, ...] = ()


class ContinuousRecord(NamedTuple):
    """One sentence of a file of graphs, made continuous.

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
    n_secondary
        Number of secondary edges, which the tree doesn't show.
    """

    tree: Tree | None
    line: int
    problem: Problem | None
    n_crossing: int = 0
    n_secondary: int = 0


class GraphFormat(NamedTuple):
    """How a file of graphs is written: its start, its sentences one after the other, its end.

    ``sentence`` gives the text of a graph; its second argument names a sentence without a name.
    """

    start: str
    sentence: Callable[[SyntaxGraph, str], str]
    end: str

    def text(self, graphs: Iterable[SyntaxGraph]) -> Iterator[str]:
        """A whole file, in the parts in which it can be written.

        Raises
        ------
        TreebankFormatError
            For a graph that the format can't hold.
        """
        yield self.start
        for number, graph in enumerate(graphs, start=1):
            yield self.sentence(graph, str(number))
        yield self.end


def continuous_records(
    records: Iterable[GraphRecord],
    name: str,
    on_error: OnError,
    *,
    edge_labels: bool,
    notice: TellNotice | None = None,
) -> Iterator[ContinuousRecord]:
    """The continuous trees of graphs as they are read.

    Parameters
    ----------
    records
        From one file.
    name
        What messages call the file.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` passes problems on.
    edge_labels
        As in `continuous_tree`.
    notice
        Called with the remarks of the records.

    Raises
    ------
    TreebankFormatError
        Under ``"raise"``, with file, line, sentence and what is wrong.
    """
    for graph, line, problem, remarks in records:
        if notice is not None:
            for remark in remarks:
                notice(remark)
        tree, n_crossing, n_secondary = None, 0, 0
        if graph is not None:
            try:
                tree, n_crossing = continuous_tree(graph, edge_labels=edge_labels)
                n_secondary = graph.n_secondary()
            except TreebankFormatError as error:
                problem = Problem(name, line, 1, f"{error}{in_sentence(graph.name)}", "")
        if problem is not None and on_error == "raise":
            raise TreebankFormatError(str(problem))
        yield ContinuousRecord(tree, line, problem, n_crossing, n_secondary)


def continuous_tree(graph: SyntaxGraph, *, edge_labels: bool = False) -> tuple[Tree | None, int]:
    """The tree of a graph, with crossing branches resolved.

    Parameters
    ----------
    graph
    edge_labels
        Write edge labels into the labels of words and nodes, as in ``NP-SB``.

    Returns
    -------
    tuple of Tree or None, and int
        The tree, under the label ``VROOT``, and how many nodes were discontinuous; None for a
        sentence of no words.  A bracket in a label is written ``LRB`` or ``RRB``, so that ``$(``
        becomes ``$LRB``; a space in a word becomes U+00A0; a node without words vanishes.

    Raises
    ------
    TreebankFormatError
        When a parent is missing, nodes form a cycle, or a word or label can't be in a tree.
    """
    linked = _linked(graph)
    _attach(linked)
    n_crossing = sum(node.is_discontinuous for node in linked.values())
    if not linked[_ROOT].size:
        return None, 0
    return _split_and_raise(linked, edge_labels), n_crossing


def graph_of_tree(tree: Tree, *, edge_labels: bool = False, name: str = "") -> SyntaxGraph:
    """The graph of a tree; `continuous_tree` gives the tree back, under the label ``VROOT``.

    Parameters
    ----------
    tree
        An outer bracket without a label, or with the label ``ROOT``, ``TOP`` or ``VROOT``, becomes
        the virtual root.
    edge_labels
        Split ``NP-SB`` into the label ``NP`` and the edge label ``SB``.
    name
        A name for the sentence.
    """
    words: list[GraphWord] = []
    nodes: list[GraphNode] = []
    top = tree.word is None and tree.label in _ROOT_LABELS
    # Children have lower numbers than their parents, as in the treebanks.
    number = FIRST_NODE + sum(node.word is None for node in tree.nodes()) - top
    stack = [(child, _ROOT) for child in tree.children] if top else [(tree, _ROOT)]
    while stack:
        node, parent = stack.pop()
        label, edge = node.label, NO_VALUE
        before, mark, after = node.label.rpartition("-")
        if edge_labels and before and mark and after:
            label, edge = before, after
        if node.word is not None:
            words.append(GraphWord(node.word, label, edge=edge, parent=parent))
            continue
        number -= 1
        nodes.append(GraphNode(number, label, edge=edge, parent=parent))
        stack.extend((child, number) for child in node.children)
    return SyntaxGraph(tuple(reversed(words)), tuple(reversed(nodes)), name)


def nodes_with_words(graph: SyntaxGraph) -> list[GraphNode]:
    """The nodes with at least one word below them, in order.

    Raises
    ------
    TreebankFormatError
        As in `continuous_tree`.
    """
    linked = _linked(graph)
    return [node for node in graph.nodes if linked[node.number].size]


def first_words(graph: SyntaxGraph) -> tuple[dict[int, int], bool]:
    """The position of the first word of each node, and whether a node is discontinuous.

    Raises
    ------
    TreebankFormatError
        As in `continuous_tree`.
    """
    linked = _linked(graph)
    starts = {node.number: linked[node.number].start for node in graph.nodes}
    return starts, any(node.is_discontinuous for node in linked.values())


@dataclass
class _Node:
    """A word or a node of the graph, and what hangs below it.

    Below it are ``size`` words, from position ``start`` to before ``end``.
    """

    label: str
    edge: str
    parent: int
    word: str | None = None
    children: list[int] = field(default_factory=list)
    start: int = 0
    end: int = 0
    size: int = 0

    @property
    def is_discontinuous(self) -> bool:
        return self.end - self.start != self.size

    def take_in(self, child: _Node) -> None:
        """Count the words of another child."""
        self.start = min(self.start, child.start) if self.size else child.start
        self.end = max(self.end, child.end)
        self.size += child.size


# The root has the key 0, nodes their numbers, the word at position i the key -1 - i.
_Linked = dict[int, _Node]


def _linked(graph: SyntaxGraph) -> _Linked:
    """The graph with children and positions."""
    linked: _Linked = {_ROOT: _Node(ROOT_LABEL, NO_VALUE, _ROOT)}
    for place, each in enumerate(graph.words):
        word = each.word.replace(" ", "\u00a0") if " " in each.word else each.word
        if not word or not WHITE_SPACE.isdisjoint(word):
            raise TreebankFormatError(f"word {shown(each.word)} is empty or contains white space")
        label, edge = _in_brackets(each.tag), _in_brackets(each.edge)
        linked[-1 - place] = _Node(label, edge, each.parent, word, [], place, place + 1, 1)
    for node in graph.nodes:
        if node.number in linked or node.number < 0:
            raise TreebankFormatError(f"duplicate node #{node.number}")
        label, edge = _in_brackets(node.label), _in_brackets(node.edge)
        linked[node.number] = _Node(label, edge, node.parent)
    for key, child in linked.items():
        if child.parent not in linked or child.parent < 0:
            of = child.word or f"#{key}"
            raise TreebankFormatError(f"parent #{child.parent} of {shown(of)} is missing")
        if key != _ROOT:
            linked[child.parent].children.append(key)
    order = _bottom_up(linked)
    if len(order) < len(linked):
        lost = sorted(key for key in linked.keys() - set(order) if key > 0)
        first = ", ".join(f"#{key}" for key in lost[:_SHOWN_OF_CYCLE])
        more = f" ({len(lost) - _SHOWN_OF_CYCLE} more)" if len(lost) > _SHOWN_OF_CYCLE else ""
        raise TreebankFormatError(f"nodes {first}{more} form a cycle")
    for key in order:
        above = linked[key]
        if above.word is None:
            below = [child for child in above.children if linked[child].size]
            below.sort(key=lambda child: linked[child].start)
            above.children = below
            for lower in below:
                above.take_in(linked[lower])
    return linked


def _in_brackets(label: str) -> str:
    """A label as a tree can hold it."""
    if FORBIDDEN_IN_LABEL.isdisjoint(label):
        return label
    if not WHITE_SPACE.isdisjoint(label):
        raise TreebankFormatError(f"label {shown(label)} contains white space")
    return label.translate(_LABEL_BRACKETS)


def _bottom_up(graph: _Linked) -> list[int]:
    """The keys of all nodes under the root, every node before its parent."""
    order = [_ROOT]
    for key in order:
        order.extend(graph[key].children)
    return order[::-1]


def _attach(graph: _Linked) -> None:
    """Move what hangs at the root between two words of one node down into that node."""
    root = graph[_ROOT]
    # What hangs at the root in a row has its neighbours on either side of the row.
    row_ends: dict[int, int] = {}
    for key in reversed(root.children):
        node = graph[key]
        if not node.is_discontinuous:
            row_ends[node.start] = row_ends.get(node.end, node.end)
    moved: set[int] = set()
    for key in root.children:
        left, right = graph[key].start - 1, graph[key].end
        right = row_ends.get(right, right)
        if left < 0 or right >= root.size:
            continue
        above = set(_ancestors(graph, -1 - left))
        target = next(each for each in _ancestors(graph, -1 - right) if each in above)
        if target == _ROOT:
            continue
        moved.add(key)
        graph[target].children.append(key)
        for each in _ancestors(graph, target, itself=True)[:-1]:
            graph[each].take_in(graph[key])
        graph[key].parent = target
    root.children = [key for key in root.children if key not in moved]


def _ancestors(graph: _Linked, key: int, *, itself: bool = False) -> list[int]:
    found = [key] if itself else []
    while key != _ROOT:
        key = graph[key].parent
        found.append(key)
    return found


def _head_child(graph: _Linked, children: list[int]) -> int:
    """The child with the edge HD, else the last with NK, else the first."""
    edges = [graph[child].edge for child in children]
    if _HEAD_EDGE in edges:
        return children[edges.index(_HEAD_EDGE)]
    if _KERNEL_EDGE in edges:
        return children[len(edges) - 1 - edges[::-1].index(_KERNEL_EDGE)]
    return children[0]


class _Piece(NamedTuple):
    """A continuous tree over the positions ``start..end``, on its way up."""

    start: int
    end: int
    tree: Tree


def _split_and_raise(graph: _Linked, edge_labels: bool) -> Tree:
    """Build the tree from the words up; pieces outside a node's head block pass it by."""
    # For each node, the piece that is the node itself comes first, then those that rise.
    pieces: dict[int, list[_Piece]] = {}
    for key in _bottom_up(graph):
        node = graph[key]
        with_edge = edge_labels and node.edge != NO_VALUE
        label = f"{node.label}-{node.edge}" if with_edge else node.label
        if node.word is not None:
            position = -1 - key
            pieces[key] = [_Piece(position, position + 1, Tree(label, (), node.word))]
        elif node.children:
            children = sorted(node.children, key=lambda child: graph[child].start)
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
