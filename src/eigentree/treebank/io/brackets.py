r"""Bracketed trees: ``(S (NP (DT the) (NN dog)) (VP (VBZ barks)))``, read and written.

The reader takes lines and gives records, one for each tree, and keeps no state between
calls.  White space is ASCII white space only; trees may share a line or spread over many;
blank lines are white space; between trees, lines of known comment styles are passed over.

Words are the real characters of the text, so brackets are escaped on the way out and
unescaped on the way in: ``(`` is written ``-LRB-``, and a word that really is ``-LRB-`` is
written ``-L\RB-``, with one backslash more than it has.  Labels are kept unchanged.

For NLTK a bracket behind a backslash is part of a word: ``(NN a\))`` holds ``a)``.  Elsewhere
``(NP (NN C:\))`` holds a word that ends in a backslash.  Where both are possible, the reading
counts under which the brackets of the tree match, the second if both do.  The writer sets a
blank after such a word, which leaves no doubt.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, cast

from eigentree._core.arguments import check_choice, check_type
from eigentree._core.printable import shown
from eigentree.errors import TreebankFormatError
from eigentree.treebank.escaping import BACKSLASH, unescape_token
from eigentree.treebank.io.recognition import other_format, stray_text
from eigentree.treebank.io.text_files import (
    Problem,
    TellNotice,
    check_lines,
    snippet_at,
    unreadable,
    without_marks,
)
from eigentree.treebank.tree import SEPARATORS, Tree

OnError = Literal["raise", "skip"]

# A leaf in one match, since leaves are most of a file; else one bracket or run of brackets.
_ATOM = r"[^ \t\r\n\x0b\x0c()]"
_SPACE = r"[ \t\r\n\x0b\x0c]"
_PIECE = re.compile(
    rf"\((?P<tag>{_ATOM}*){_SPACE}+(?P<word>{_ATOM}+){_SPACE}*\)"
    rf"|\((?P<open>{_ATOM}*)"
    r"|(?P<close>\)+)"
    rf"|(?P<atom>{_ATOM}+)"
)
_COMMENT = re.compile(r"%|;|#|//|<|\*x\*")
_LINE_START = re.compile(rf"\((?P<label>{_ATOM}*)")
# Labels that mark the top of a tree wherever a line begins with them.
_TOP_LABELS = frozenset(("", "ROOT", "TOP", "VROOT"))

# A bracket behind a backslash: within a word, and where the word or else its phrase may end.
_WITHIN = re.compile(rf"\\(\(|\)(?={_ATOM}))")
_DOUBTFUL = re.compile(r"\\\)(?=\))")


class BracketRecord(NamedTuple):
    """What was read at one place: a tree, ``(())`` for "no parse", or a problem.

    Attributes
    ----------
    tree
        The tree; None for ``(())`` and where there is a problem.
    line
        Line, from 1, on which the tree begins.
    problem
        What was wrong; None for a tree and for ``(())``.
    """

    tree: Tree | None
    line: int
    problem: Problem | None


def read_escapes(line: str) -> str:
    """A line of brackets in which those behind a backslash are ``-LRB-`` and ``-RRB-``."""
    line = _within_words(line)
    return _DOUBTFUL.sub("-RRB-", line) if _ends_words(line, 0, ()) else line


def _within_words(line: str) -> str:
    return _WITHIN.sub(lambda found: "-LRB-" if found[1] == "(" else "-RRB-", line)


def _ends_words(line: str, depth: int, following: Iterable[str]) -> bool:
    """Whether doubtful brackets end words, since otherwise those of the tree don't match.

    Parameters
    ----------
    line
        A line of brackets.
    depth
        How many brackets are open before it.
    following
        The lines up to the end of the tree; taken only if they are needed.
    """
    n_doubtful = len(_DOUBTFUL.findall(line))
    is_whole = depth == 0
    depth += line.count("(") - line.count(")")
    if n_doubtful and not (is_whole and 0 in (depth, depth + n_doubtful)):
        for other in following:
            other = _within_words(other)
            depth += other.count("(") - other.count(")")
            n_doubtful += len(_DOUBTFUL.findall(other))
    return n_doubtful > 0 and depth + n_doubtful == 0


def parse_tree(text: str) -> Tree:
    """Read exactly one tree.

    Raises
    ------
    TypeError
        When it isn't a string.
    TreebankFormatError
        When the text holds no tree, more than one, or one that is malformed.
    """
    check_type(text, str, "text", "a string")
    records = list(read_brackets(text.split("\n"), name="<text>"))
    if len(records) != 1 or records[0].tree is None:
        held = f"{len(records)} trees" if len(records) != 1 else "no parse"
        raise TreebankFormatError(f"expected one tree, not {held}: {snippet_at(text, 1)}")
    return records[0].tree


def format_tree(tree: Tree) -> str:
    """Write a tree on one line, as `str` does; `parse_tree` reads it back as it was."""
    check_type(tree, Tree, "tree", "a Tree; a result without a parse has None")
    return str(tree)


def read_brackets(
    lines: Iterable[str],
    *,
    name: str = "<input>",
    on_error: OnError = "raise",
    notice: TellNotice | None = None,
) -> Iterator[BracketRecord]:
    """Read trees one after the other, each as soon as its last bracket has come.

    Parameters
    ----------
    lines
        Lines of text with or without their ends, such as an open file.
    name
        What messages call the text; usually the path.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` gives a record with the problem
        and goes on after the bad tree.
    notice
        Called with remarks on what was read: comments, a preterminal over
        several words (read as one preterminal a word), words in brackets of their own.

    Yields
    ------
    BracketRecord
        One for each tree, in order; one for each problem under ``"skip"``.

    Raises
    ------
    TreebankFormatError
        Under ``"raise"``, with file, line, column and a snippet.

    Notes
    -----
    A tree that is never closed would swallow the rest of the file.  It ends where a line
    begins with a top label such as ``(ROOT`` or ``( (``; under ``"skip"``, once such a tree
    has reached the end of the file, reading resumes at the next line that begins with a
    bracket, and from there on every such line begins a tree.  Time is linear in the text.
    """
    check_lines(lines)
    check_choice(OnError, on_error=on_error)
    rows = _NumberedRows(lines, keep=on_error == "skip")
    tree = _OpenTree(name, notice)
    labels, levels = tree.labels, tree.levels
    trees_begin_lines = False
    stray_line = 0
    while True:
        for line in rows:
            start = _LINE_START.match(line) if labels else None
            if start and (trees_begin_lines or start["label"] in _TOP_LABELS):
                tree.fail_unclosed("when the next one begins")
                yield tree.finish(on_error)
            if BACKSLASH in line and (r"\(" in line or r"\)" in line):
                line = rows.with_escapes(line, len(labels))
            spoiled = unreadable(name, rows.number, line) is not None
            # No tree holds NUL, and one with it is read to its end.
            text = line.replace("\0", "\ufffd") if spoiled else line
            for piece in _PIECE.finditer(text):
                kind = piece.lastgroup
                if not labels:
                    if kind == "atom" and stray_line == rows.number:
                        continue
                    is_comment = kind == "atom" and _COMMENT.match(piece["atom"])
                    if is_comment and other_format(line) is None:
                        spot = _Spot(rows.number, piece.start(), line)
                        tree.remark("comment passed over", spot)
                        break
                    tree.begun_at = _Spot(rows.number, piece.start(), line)
                    rows.forget()
                if spoiled:
                    tree.fail_unreadable(rows.number, line, *piece.span())
                if kind == "word":
                    levels[-1].append(Tree(piece["tag"], (), unescape_token(piece["word"])))
                elif kind == "open":
                    labels.append(piece["open"])
                    levels.append([])
                elif kind == "close":
                    tree.close(len(piece["close"]), _Spot(rows.number, piece.start(), line))
                elif labels:
                    tree.add_word(piece["atom"], _Spot(rows.number, piece.start(), line))
                else:
                    stray_line = rows.number
                    tree.fail(stray_text(line), _Spot(rows.number, piece.start(), line))
                if not labels or (tree.problem and on_error == "raise"):
                    yield tree.finish(on_error)
        if not labels:
            return
        tree.fail_unclosed("at the end of the text")
        yield tree.finish(on_error)
        rows.rewind()
        trees_begin_lines = True


class _NumberedRows:
    """Lines with their numbers, which can go back to where the tree being read began."""

    def __init__(self, lines: Iterable[str], *, keep: bool) -> None:
        self.number = 0
        self._numbered: Iterator[tuple[int, str]] = enumerate(without_marks(lines), start=1)
        self._keep = keep
        self._kept: list[tuple[int, str]] = []
        self._ahead: deque[tuple[int, str]] = deque()
        self._ends_words = False
        self._undecided_from = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, line = row = self._ahead.popleft() if self._ahead else next(self._numbered)
        if self._keep:
            self._kept.append(row)
        return line

    def with_escapes(self, line: str, depth: int) -> str:
        """The present line as `read_escapes` gives it, by the brackets of the whole tree."""
        line = _within_words(line)
        if _DOUBTFUL.search(line) is None:
            return line
        if self.number >= self._undecided_from:
            self._undecided_from = self.number + 1
            self._ends_words = _ends_words(line, depth, self._rest_of_tree())
        return _DOUBTFUL.sub("-RRB-", line) if self._ends_words else line

    def _rest_of_tree(self) -> Iterator[str]:
        """The lines that follow, up to one on which a tree may begin."""
        ahead = iter([*self._ahead])
        while True:
            row = next(ahead, None)
            if row is None:
                row = next(self._numbered, None)
                if row is None:
                    return
                self._ahead.append(row)
            self._undecided_from, line = row
            if line.startswith("(") or not line.strip(SEPARATORS):
                return
            yield line

    def forget(self) -> None:
        """A tree begins on this line: earlier lines are not needed any more."""
        self._kept.clear()

    def rewind(self) -> None:
        """Go back, after the last line, to the first kept line that begins with a bracket."""
        brackets = (i for i, (_, line) in enumerate(self._kept) if line.startswith("("))
        self._numbered = iter(self._kept[next(brackets, len(self._kept)) :])
        self._kept = []


class _Spot(NamedTuple):
    """A place in the text: line number from 1, offset in the line from 0, the line."""

    number: int
    offset: int
    line: str


class _Loose(NamedTuple):
    """A word, or a bracket that holds nothing, on the way to finding its node."""

    text: str
    is_bracket: bool
    spot: _Spot


class _BracketError(Exception):
    """Why a bracket can't become a tree, and where that shows."""

    def __init__(self, message: str, spot: _Spot) -> None:
        super().__init__(message)
        self.spot = spot


class _OpenTree:
    """The tree being read: its open brackets and what each holds so far.

    ``levels[0]`` takes the finished tree, ``levels[i + 1]`` the content of the bracket with
    ``labels[i]``.  Loose items are those that no match of a whole leaf took up.
    """

    def __init__(self, name: str, notice: TellNotice | None) -> None:
        self.name = name
        self.labels: list[str] = []
        self.levels: list[list[Tree | _Loose]] = [[]]
        self.begun_at = _Spot(0, 0, "")
        self.problem: Problem | None = None
        self._notice = notice
        self._remarks: list[Problem] = []
        self._n_loose = 0

    def _problem_at(self, spot: _Spot, message: str) -> Problem:
        column = spot.offset + 1
        return Problem(self.name, spot.number, column, message, snippet_at(spot.line, column))

    def remark(self, message: str, spot: _Spot) -> None:
        """Give a notice: at once between trees, else when the tree turns out well."""
        if self.labels:
            self._remarks.append(self._problem_at(spot, message))
        elif self._notice is not None:
            self._notice(self._problem_at(spot, message))

    def fail(self, message: str, spot: _Spot) -> None:
        """Note what is wrong; the first thing wrong with a tree is the one reported."""
        if self.problem is None:
            self.problem = self._problem_at(spot, message)

    def fail_unreadable(self, number: int, line: str, start: int, end: int) -> None:
        """Note a byte that isn't text in one piece of a line."""
        self.problem = self.problem or unreadable(self.name, number, line, start, end)

    def fail_unclosed(self, when: str) -> None:
        n_open = len(self.labels)
        brackets = "1 bracket is" if n_open == 1 else f"{n_open} brackets are"
        self.fail(f"this tree isn't complete: {brackets} still open {when}", self.begun_at)

    def add_word(self, word: str, spot: _Spot) -> None:
        self.levels[-1].append(_Loose(word, False, spot))
        self._n_loose += 1

    def close(self, n_brackets: int, spot: _Spot) -> None:
        """Close a run of brackets, the first of which is at `spot`."""
        labels, levels = self.labels, self.levels
        for i in range(n_brackets):
            if not labels:
                here = spot._replace(offset=spot.offset + i)
                self.fail("closing bracket without an opening one", here)
                return
            items = levels.pop()
            if items and not self._n_loose:
                levels[-1].append(Tree(labels.pop(), cast(list[Tree], items)))
                continue
            try:
                closed = self._close_loose(items, spot._replace(offset=spot.offset + i))
                levels[-1].extend(closed)
            except _BracketError as error:
                self.fail(str(error), error.spot)
            labels.pop()

    def _close_loose(self, items: list[Tree | _Loose], spot: _Spot) -> Sequence[Tree | _Loose]:
        """What becomes of a bracket that is empty or may hold loose items."""
        label = self.labels[-1]
        trees = [item for item in items if isinstance(item, Tree)]
        loose = [item for item in items if isinstance(item, _Loose)]
        self._n_loose -= len(loose)
        # White space before the label, as in `( NP (DT a) ...)`.
        if not label and len(items) > 1 and loose[:1] == items[:1] and not loose[0].is_bracket:
            label = loose.pop(0).text
        if not items:
            return [self._empty_bracket(label, spot)]
        if not loose:
            return [Tree(label, trees)]
        first = loose[0]
        empty = next((item for item in loose if item.is_bracket), None)
        if empty is not None and len(loose) + len(trees) == 1 and (label == "") == (not first.text):
            if label == "":
                return [self._empty_bracket(label, spot)]
            self.remark("word in brackets of its own", first.spot)
        elif empty is not None:
            raise _BracketError(
                f"bracket {shown(empty.text)} has neither words nor nodes", empty.spot
            )
        elif trees:
            raise _BracketError(
                f"word {shown(first.text)} without a tag beside nodes under {shown(label)}",
                first.spot,
            )
        elif len(loose) > 1:
            what = f"{len(loose)} words under {shown(label)}, read as {len(loose)} nodes"
            self.remark(what, first.spot)
        return [Tree(label, (), unescape_token(item.text)) for item in loose]

    def _empty_bracket(self, label: str, spot: _Spot) -> _Loose:
        """A bracket that holds nothing: the word in ``(PRP (it))``, or part of ``(())``."""
        touches = spot.offset > 0 and spot.line[spot.offset - 1] not in SEPARATORS
        if not touches or (label == "" and len(self.labels) > 2):
            raise _BracketError(f"bracket {shown(label)} has neither words nor nodes", spot)
        self._n_loose += 1
        return _Loose(label, True, spot)

    def finish(self, on_error: OnError) -> BracketRecord:
        """The record of what was read, leaving everything ready for the next tree."""
        found = self.levels[0]
        first = found[0] if found else None
        if len(found) > 1:
            self.fail("the top node holds several words; nodes are expected", self.begun_at)
        elif isinstance(first, _Loose) and first.text:
            self.fail(f"bracket {shown(first.text)} has neither words nor nodes", self.begun_at)
        tree = first if isinstance(first, Tree) and self.problem is None else None
        record = BracketRecord(tree, self.begun_at.number, self.problem)
        if self.problem is None and self._notice is not None:
            for remark in self._remarks:
                self._notice(remark)
        self.labels.clear()
        self.levels[:] = [[]]
        self.problem = None
        self._remarks = []
        self._n_loose = 0
        if record.problem is not None and on_error == "raise":
            raise TreebankFormatError(str(record.problem))
        return record
