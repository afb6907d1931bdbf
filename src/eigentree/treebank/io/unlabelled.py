"""Unlabelled trees as sets of spans: made from trees, or read from what other programs print.

Three notations are known.  Bracketed trees have labels, whatever they are.  *Plain* brackets
hold words alone, ``((the cat) slept)``; *spans* are written after the words and a tab, as
half-open positions: ``the cat slept<TAB>0-2 0-3``.  The last two have one sentence a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from eigentree._core.arguments import check_choice
from eigentree._core.printable import shown
from eigentree.errors import TreebankFormatError
from eigentree.treebank.escaping import unescape_token
from eigentree.treebank.io.brackets import OnError
from eigentree.treebank.io.text_files import (
    Problem,
    check_lines,
    snippet_at,
    unreadable,
    without_marks,
)
from eigentree.treebank.reader import read_trees
from eigentree.treebank.tree import SEPARATORS, Tree

Pair = tuple[int, int]
Notation = Literal["trees", "plain", "spans"]

_PIECE = re.compile(rf"[()]|[^(){SEPARATORS}]+")
_WORD = re.compile(rf"[^{SEPARATORS}]+")
_SPAN = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


class Bracketing(NamedTuple):
    """A sentence with the spans of an unlabelled tree.

    Attributes
    ----------
    words
        All words of the sentence.
    spans
        Half-open spans of two words or more, each once; none crosses another.
    """

    words: tuple[str, ...]
    spans: frozenset[Pair]


class BracketingRecord(NamedTuple):
    """What was read at one place: a bracketing, nothing for "no parse", or a problem."""

    bracketing: Bracketing | None
    line: int
    problem: Problem | None


def bracketing_of(tree: Tree, empty_labels: Iterable[str] = ("-NONE-",)) -> Bracketing:
    """The words of a tree without its empty elements, and the spans of its phrases."""
    empty = frozenset(empty_labels)
    leaves = [(node.word, node.label in empty) for node in tree.preterminals()]
    place = [0]  # of each boundary once the empty elements are gone
    for _, is_empty in leaves:
        place.append(place[-1] + (not is_empty))
    words = tuple(word for word, is_empty in leaves if word is not None and not is_empty)
    spans = ((place[start], place[end]) for _, start, end in tree.spans())
    return Bracketing(words, frozenset(span for span in spans if span[1] - span[0] > 1))


def read_bracketings(
    lines: Iterable[str],
    *,
    notation: Notation = "trees",
    name: str = "<input>",
    on_error: OnError = "raise",
    empty_labels: Iterable[str] = ("-NONE-",),
) -> Iterator[BracketingRecord]:
    """Read bracketings, one record a sentence.

    Parameters
    ----------
    lines
        Lines of text, such as an open file.
    notation
        ``"trees"`` as `read_trees` takes them; ``"plain"`` or ``"spans"``, where an empty
        line or ``(())`` is a sentence without a parse.
    name
        What messages call the text.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` gives a record with the problem.
    empty_labels
        Preterminals of trees that hold no word.

    Raises
    ------
    TreebankFormatError
        Under ``"raise"``, with file, line and what is wrong.
    """
    check_lines(lines)
    check_choice(OnError, on_error=on_error)
    check_choice(Notation, notation=notation)
    if notation == "trees":
        empty_labels = tuple(empty_labels)
        for record in read_trees(lines, name=name, on_error=on_error):
            found = None if record.tree is None else bracketing_of(record.tree, empty_labels)
            yield BracketingRecord(found, record.line, record.problem)
        return
    read = _read_plain if notation == "plain" else _read_spans
    for number, line in enumerate(without_marks(lines), start=1):
        found, problem = None, unreadable(name, number, line)
        if problem is None and line.strip(SEPARATORS) not in ("", "(())"):
            try:
                found = read(line)
            except _MalformedError as error:
                snippet = snippet_at(line, error.column)
                problem = Problem(name, number, error.column, str(error), snippet)
        if problem is not None and on_error == "raise":
            raise TreebankFormatError(str(problem))
        yield BracketingRecord(found, number, problem)


class _MalformedError(Exception):
    def __init__(self, column: int, message: str) -> None:
        super().__init__(message)
        self.column = column


def _read_plain(line: str) -> Bracketing:
    words: list[str] = []
    open_at: list[int] = []
    spans: set[Pair] = set()
    for piece in _PIECE.finditer(line):
        if piece.group() == "(":
            open_at.append(len(words))
        elif piece.group() != ")":
            words.append(unescape_token(piece.group()))
        elif not open_at:
            raise _MalformedError(piece.start() + 1, "closing bracket without an opening one")
        else:
            start = open_at.pop()
            if start == len(words):
                raise _MalformedError(piece.start() + 1, "bracket without a word")
            if len(words) - start > 1:
                spans.add((start, len(words)))
    if open_at:
        raise _MalformedError(len(line.rstrip(SEPARATORS)), "bracket is never closed")
    return Bracketing(tuple(words), frozenset(spans))


def _read_spans(line: str) -> Bracketing:
    text, tab, listed = line.partition("\t")
    words = tuple(_WORD.findall(text))
    if not tab:
        raise _MalformedError(1, "the line has no tab between words and spans")
    spans: set[Pair] = set()
    for piece in _WORD.finditer(listed):
        column = len(text) + 2 + piece.start()
        match = _SPAN.fullmatch(piece.group())
        if match is None:
            raise _MalformedError(column, f"{shown(piece.group())} is not a span such as 0-2")
        start, end = int(match[1]), int(match[2])
        if not start < end <= len(words):
            raise _MalformedError(
                column, f"span {start}-{end} doesn't lie in a sentence of {len(words)} words"
            )
        crossed = next((span for span in spans if _cross(span, (start, end))), None)
        if crossed is not None:
            raise _MalformedError(
                column, f"span {start}-{end} crosses {crossed[0]}-{crossed[1]}; a tree has no such"
            )
        if end - start > 1:
            spans.add((start, end))
    return Bracketing(words, frozenset(spans))


def _cross(one: Pair, other: Pair) -> bool:
    first, second = sorted((one, other))
    return first[0] < second[0] < first[1] < second[1]
