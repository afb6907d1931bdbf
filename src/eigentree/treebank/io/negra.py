"""The NEGRA export format: sentences whose branches may cross, read and written.

Between ``#BOS`` and ``#EOS`` there is a row for each word and then for each node of a sentence.
`eigentree.treebank.syntax_graph` makes its tree continuous.

A row that begins with ``#`` or ``%%`` may be a word: ``#1`` and ``%%`` are tokens of real texts.
Columns decide.  A mark or comment with all columns and a parent is a word; so is ``#`` with a
number below 500, or with one that no other row has as its parent.

References
----------
Brants, Thorsten (1997). The NeGra export format for annotated corpora. CLAUS report 98.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import methodcaller
from typing import NamedTuple

from eigentree._core.printable import clipped, shown
from eigentree.errors import TreebankFormatError, counted
from eigentree.treebank.io.recognition import stray_text
from eigentree.treebank.io.text_files import (
    Problem,
    in_sentence,
    snippet_at,
    unreadable,
    without_marks,
)
from eigentree.treebank.syntax_graph import (
    FIRST_NODE,
    NO_VALUE,
    GraphFormat,
    GraphNode,
    GraphRecord,
    GraphWord,
    SecondaryEdge,
    SyntaxGraph,
    nodes_with_words,
)
from eigentree.treebank.tree import SEPARATORS, WHITE_SPACE

_NUMBER = re.compile(r"[0-9]{1,9}")  # Python refuses to read numbers of thousands of digits
_NODE_MARK = re.compile(r"#([0-9]{3,9})")
_SENTENCE_NUMBER = re.compile(r"s?([0-9]{1,9})")
_stripped = methodcaller("strip", SEPARATORS)
_MARKS = ("#BOS", "#EOS", "#FORMAT")
_COMMENT = "%%"


class _RowColumns(NamedTuple):
    """Where a row has what comes after its word."""

    lemma: int | None
    label: int
    morph: int
    edge: int
    parent: int


_COLUMNS = {"3": _RowColumns(None, 1, 2, 3, 4), "4": _RowColumns(1, 2, 3, 4, 5)}


class _Row(NamedTuple):
    """A line of a sentence: its number, its text and its cells."""

    number: int
    line: str
    cells: list[str]


class _RowError(Exception):
    """Why a row can't be read; its row."""

    def __init__(self, message: str, row: _Row) -> None:
        super().__init__(message)
        self.row = row


def read_export_graphs(lines: Iterable[str], *, name: str = "<input>") -> Iterator[GraphRecord]:
    """Read the sentences of an export file as they are, with crossing branches.

    Parameters
    ----------
    lines
        Lines of text, such as an open file.
    name
        What messages call the text.

    Yields
    ------
    GraphRecord
        One for each sentence; one that is malformed has a problem.
    """
    columns = _COLUMNS["3"]
    begun = 0  # the line of #BOS; 0 between sentences
    sentence = ""
    rows: list[_Row] = []
    problem: Problem | None = None
    foreign: Problem | None = None  # the first line, unless it can begin an export file
    in_table = has_strayed = False

    def record(end: str = "") -> GraphRecord:
        found = problem or (Problem(name, begun, 1, end, "") if end else None)
        if found is None:
            try:
                graph, missing = _graph(rows, columns, sentence)
                what = [
                    (f"secondary edge to #{target}, which is missing{in_sentence(sentence)}", row)
                    for row, target in missing
                ]
                remarks = (Problem(name, row.number, 1, each, "") for each, row in what)
                return GraphRecord(graph, begun, None, tuple(remarks))
            except _RowError as error:
                row = error.row
                found = Problem(name, row.number, 1, str(error), snippet_at(row.line, 1))
        message = f"{found.message}{in_sentence(sentence)}"
        return GraphRecord(None, begun, found._replace(message=message))

    for number, line in enumerate(without_marks(lines), start=1):
        mark, *rest = line.split(maxsplit=2) or [""]
        if begun and mark and problem is None and (cells := _cells_of_row(line, mark, columns)):
            problem = unreadable(name, number, line)
            rows.append(_Row(number, line, cells))
        elif mark == "#FORMAT":
            columns = _COLUMNS.get(rest[0] if rest else "", columns)
        elif mark == "#BOS":
            foreign, in_table, has_strayed = None, False, False
            if begun:
                yield record("this sentence has no #EOS")
            begun, sentence, rows = number, rest[0] if rest else "", []
            # What follows the name, such as the date and the annotator, isn't used.
            problem = unreadable(name, number, line, 0, line.find(sentence) + len(sentence))
        elif mark == "#EOS":
            foreign = None
            if begun:
                yield record()
            else:
                lone = Problem(name, number, 1, "#EOS without #BOS", snippet_at(line, 1))
                yield GraphRecord(None, number, lone)
            begun, sentence, rows, problem = 0, "", [], None
        elif mark in ("#BOT", "#EOT"):
            in_table = mark == "#BOT"
        elif begun or in_table or not mark or mark.startswith(("#", _COMMENT)):
            continue
        elif number == 1:
            what = "neither a comment nor a mark of the export format, and no #BOS follows"
            foreign = Problem(name, number, 1, what, snippet_at(line, 1))
        elif foreign is None and not has_strayed:
            has_strayed = True
            stray = Problem(name, number, 1, stray_text(line), snippet_at(line, 1))
            yield GraphRecord(None, number, stray)
    if foreign is not None:
        yield GraphRecord(None, 1, foreign)
    if begun:
        yield record("this sentence has no #EOS")


def _cells_of_row(line: str, mark: str, columns: _RowColumns) -> list[str]:
    """The cells of a word or node; none for a mark and a comment."""
    cells = list(filter(None, map(_stripped, line.split("\t"))))
    if mark in _MARKS or mark.startswith(_COMMENT):
        # A mark is followed by numbers, a word by its tag.
        is_word = (
            len(cells) > columns.parent
            and cells[0] == mark
            and _NUMBER.fullmatch(cells[columns.parent])
            and not _NUMBER.fullmatch(cells[columns.label])
        )
        return cells if is_word else []
    return cells[0].split() if len(cells) == 1 else cells


def _graph(
    rows: list[_Row], columns: _RowColumns, sentence: str
) -> tuple[SyntaxGraph, list[tuple[_Row, int]]]:
    """The graph of the rows of a sentence, and the secondary edges to nodes that are missing."""
    lemma_at, label_at, morph_at, edge_at, parent_at = columns
    for row in rows:
        cells = row.cells
        if len(cells) <= parent_at:
            found = counted(len(cells), "column")
            raise _RowError(f"{found}; expected at least {parent_at + 1}", row)
        if not _NUMBER.fullmatch(cells[parent_at]):
            raise _RowError(f"parent {shown(cells[parent_at])} is not a number", row)
        for cell in (cells[0], cells[label_at], cells[edge_at]):
            if not WHITE_SPACE.isdisjoint(cell):
                raise _RowError(f"{shown(cell)} contains white space", row)
    words: list[GraphWord] = []
    nodes: dict[int, GraphNode] = {}
    secondary_edges: list[tuple[_Row, int]] = []
    for row, number in zip(rows, _node_numbers(rows, parent_at), strict=True):
        cells = row.cells
        label, morph, edge, parent = (
            cells[label_at], cells[morph_at], cells[edge_at], int(cells[parent_at]),
        )  # fmt: skip
        secondary: tuple[SecondaryEdge, ...] = ()
        if len(cells) > parent_at + 1:
            secondary = _secondary(cells[parent_at + 1 :], row)
            secondary_edges += [(row, each.target) for each in secondary]
        if number is None:
            lemma = NO_VALUE if lemma_at is None else cells[lemma_at]
            words.append(GraphWord(cells[0], label, lemma, morph, edge, parent, secondary))
        elif number in nodes:
            raise _RowError(f"duplicate node #{number}", row)
        else:
            nodes[number] = GraphNode(number, label, morph, edge, parent, secondary)
    missing = [(row, target) for row, target in secondary_edges if target not in {0, *nodes}]
    return SyntaxGraph(tuple(words), tuple(nodes.values()), sentence), missing


def _node_numbers(rows: list[_Row], parent_at: int) -> list[int | None]:
    """The number of each row that is a node; None for a word."""
    parents = {int(row.cells[parent_at]) for row in rows}
    marks = (_NODE_MARK.fullmatch(row.cells[0]) for row in rows)
    found = [int(mark[1]) if mark else None for mark in marks]
    for place, number in enumerate(found):
        if number is not None and number < FIRST_NODE and number not in parents:
            found[place] = None
    # Nodes follow the words, in order.
    last_word = max((i for i, number in enumerate(found) if number is None), default=-1)
    later = set(found[last_word + 1 :])
    for place, number in enumerate(found[: last_word + 1]):
        if number not in parents or number in later:
            found[place] = None
    # A word at the end is no parent, and its number isn't that before the first node's.
    end = last_word + 1
    while end < len(found) and found[end] not in parents:
        end += 1
    for place in range(end - 1, last_word, -1):
        number = found[place]
        following = found[place + 1] if place + 1 < len(found) else None
        if number is not None and following != number + 1:
            found[place] = None
    return found


def _secondary(cells: list[str], row: _Row) -> tuple[SecondaryEdge, ...]:
    """Secondary edges, up to a comment: pairs of a label and a node."""
    end = next((i for i, cell in enumerate(cells) if cell.startswith(_COMMENT)), len(cells))
    edges: list[SecondaryEdge] = []
    for label, target in zip(cells[:end:2], cells[1:end:2], strict=False):
        if not _NUMBER.fullmatch(target):
            raise _RowError(f"parent {shown(target)} of a secondary edge is not a number", row)
        edges.append(SecondaryEdge(label, int(target)))
    return tuple(edges)


def _sentence(graph: SyntaxGraph, name: str) -> str:
    """The lines of a graph, from ``#BOS`` to ``#EOS``, in format 4.

    A name that is no number, with or without an ``s`` before it, is only a comment here.  Nodes
    without words are left out: readers would take them for words such as ``#500``.
    """
    title = graph.name or name
    known = _SENTENCE_NUMBER.fullmatch(title)
    number = known[1] if known else name
    comment = "" if known else f" {_COMMENT} {' '.join(title.split())}"
    lines = [f"#BOS {number} 0 0 0{comment}"]
    nodes = nodes_with_words(graph)
    numbers = _unambiguous(graph.words, nodes)
    rows: list[tuple[str, str, str, GraphWord | GraphNode]]
    rows = [(word.word, word.lemma, word.tag, word) for word in graph.words]
    rows += [(f"#{numbers[node.number]}", NO_VALUE, node.label, node) for node in nodes]
    for first, lemma, label, each in rows:
        cells = [first, lemma, label, each.morph, each.edge, str(numbers[each.parent])]
        for edge in each.secondary:
            # A secondary edge to a word has no place in this format.
            if edge.target in numbers:
                cells += [edge.label, str(numbers[edge.target])]
        for cell in cells:
            if not cell or not {"\t", "\r", "\n"}.isdisjoint(cell) or cell != cell.strip():
                raise TreebankFormatError(_unwritable(cell, title))
        for cell in (first, label, each.edge):
            if not WHITE_SPACE.isdisjoint(cell):
                raise TreebankFormatError(_unwritable(cell, title))
        # At the start of a line a byte-order mark would be dropped.
        lines.append(" " * first.startswith("\ufeff") + "\t".join(cells))
    return "\n".join([*lines, f"#EOS {number}", ""])


def _unwritable(cell: str, sentence: str) -> str:
    what = "is empty" if not cell else "contains white space"
    return f"sentence {clipped(sentence)}: {shown(cell)} {what}, which the export format can't hold"


def _unambiguous(words: Iterable[GraphWord], nodes: Iterable[GraphNode]) -> dict[int, int]:
    """The numbers under which nodes are written: their own, if none of the words looks like one."""
    marks = (_NODE_MARK.fullmatch(word.word) for word in words)
    taken = [int(mark[1]) for mark in marks if mark]
    own = [node.number for node in nodes]
    if not taken and all(number >= FIRST_NODE for number in own):
        return {0: 0, **{number: number for number in own}}
    first = max([FIRST_NODE - 2, *taken]) + 2
    return {0: 0, **{number: first + place for place, number in enumerate(own)}}


EXPORT = GraphFormat("#FORMAT 4\n", _sentence, "")
"""The export format, version 4, for writing."""
