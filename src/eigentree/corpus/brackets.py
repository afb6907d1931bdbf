r"""Bracketed trees: ``(S (NP (DT the) (NN dog)) (VP (VBZ barks)))``, read and written.

The reader takes lines and gives records, one for each tree, and keeps no state between
calls.  White space is ASCII white space only; trees may share a line or spread over many;
blank lines are white space; between trees, lines of known comment styles are passed over.

Words are the real characters of the text, so brackets are escaped on the way out and
unescaped on the way in: ``(`` is written ``-LRB-``, and a word that really is ``-LRB-`` is
written ``-L\RB-``, with one backslash more than it has.  Labels stand as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, cast

from eigentree.corpus.files import Problem, snippet_at
from eigentree.corpus.trees import Tree
from eigentree.errors import TreebankFormatError

OnError = Literal["raise", "skip"]
TellNotice = Callable[[Problem], object]

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
_DEEPEST_INDENT = 60

_TO_ESCAPE = re.compile(r"\(|\)|-[LR]\\*RB(?=[-()])")
_TO_UNESCAPE = re.compile(r"-([LR])(?:RB-|(\\+)RB(?=-))")


class BracketRecord(NamedTuple):
    """What stood at one place: a tree, ``(())`` for "no parse", or a problem.

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


def escape_token(word: str) -> str:
    """Write brackets of a word as ``-LRB-`` and ``-RRB-``; `unescape_token` is the inverse."""
    if "(" not in word and ")" not in word and "RB" not in word:
        return word
    return _TO_ESCAPE.sub(_escaped, word)


def _escaped(found: re.Match[str]) -> str:
    text = found.group()
    if text == "(":
        return "-LRB-"
    if text == ")":
        return "-RRB-"
    return text[:2] + "\\" + text[2:]


def unescape_token(text: str) -> str:
    """Read ``-LRB-`` and ``-RRB-`` within a token as brackets; all else is kept verbatim."""
    return _TO_UNESCAPE.sub(_unescaped, text) if "RB-" in text else text


def _unescaped(found: re.Match[str]) -> str:
    side, backslashes = found.groups()
    if backslashes is None:
        return "(" if side == "L" else ")"
    return f"-{side}{backslashes[1:]}RB"


def parse_tree(text: str) -> Tree:
    """Read exactly one tree.

    Raises
    ------
    TreebankFormatError
        When the text holds no tree, more than one, or one that is malformed.
    """
    records = list(read_brackets(text.split("\n"), name="<text>"))
    if len(records) != 1 or records[0].tree is None:
        held = f"{len(records)} trees" if len(records) != 1 else "no parse"
        raise TreebankFormatError(f"one tree is expected, not {held}: {snippet_at(text, 1)}")
    return records[0].tree


def format_tree(tree: Tree) -> str:
    """Write a tree on one line; `parse_tree` reads it back as it was."""
    pieces: list[str] = []
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            pieces.append(")")
            continue
        before = " " if pieces else ""
        if node.word is not None:
            pieces.append(f"{before}({node.label} {escape_token(node.word)})")
        else:
            pieces.append(f"{before}({node.label}")
            stack.append(None)
            stack.extend(reversed(node.children))
    return "".join(pieces)


def format_tree_indented(tree: Tree) -> str:
    """Write a tree on several lines, a phrase over phrases opening one line for each child.

    The indentation follows the depth by two columns a level, up to thirty levels, so that
    very deep trees don't grow quadratically.
    """
    pieces: list[str] = []
    stack: list[tuple[Tree | None, int, bool]] = [(tree, 0, False)]
    while stack:
        node, depth, on_own_line = stack.pop()
        if node is None:
            pieces.append(")")
            continue
        if on_own_line:
            pieces.append("\n" + " " * min(2 * depth, _DEEPEST_INDENT))
        elif pieces:
            pieces.append(" ")
        if node.word is not None:
            pieces.append(f"({node.label} {escape_token(node.word)})")
            continue
        pieces.append(f"({node.label}")
        spread = any(child.word is None for child in node.children)
        stack.append((None, depth, False))
        stack.extend((child, depth + 1, spread) for child in reversed(node.children))
    return "".join(pieces)


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
        Called with things that were read but deserve telling: comments, a preterminal over
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
    rows = _Rows(lines, keep=on_error == "skip")
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
            for piece in _PIECE.finditer(line):
                kind = piece.lastgroup
                if not labels:
                    if kind == "atom" and stray_line == rows.number:
                        continue
                    if kind == "atom" and _COMMENT.match(piece["atom"]):
                        tree.tell("comment passed over", rows.number, piece.start(), line)
                        break
                    tree.begin(rows.number, piece.start(), line)
                    rows.forget()
                if kind == "word":
                    levels[-1].append(Tree(piece["tag"], (), unescape_token(piece["word"])))
                elif kind == "open":
                    labels.append(piece["open"])
                    levels.append([])
                elif kind == "close":
                    tree.close(len(piece["close"]), rows.number, piece.start(), line)
                elif labels:
                    tree.add_atom(piece["atom"])
                else:
                    stray_line = rows.number
                    tree.fail("text outside any tree", rows.number, piece.start(), line)
                if not labels or (tree.problem and on_error == "raise"):
                    yield tree.finish(on_error)
        if not labels:
            return
        tree.fail_unclosed("at the end of the text")
        yield tree.finish(on_error)
        rows.rewind()
        trees_begin_lines = True


class _Rows:
    """Lines with their numbers, which can go back to where the tree being read began."""

    def __init__(self, lines: Iterable[str], *, keep: bool) -> None:
        self.number = 0
        self._numbered: Iterator[tuple[int, str]] = enumerate(lines, start=1)
        self._keep = keep
        self._kept: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, line = row = next(self._numbered)
        if self._keep:
            self._kept.append(row)
        return line.removeprefix("\ufeff") if self.number == 1 else line

    def forget(self) -> None:
        """A tree begins on this line: only what follows may be wanted again."""
        self._kept.clear()

    def rewind(self) -> None:
        """Go back, after the last line, to the first kept line that begins with a bracket."""
        brackets = (i for i, (_, line) in enumerate(self._kept) if line.startswith("("))
        self._numbered = iter(self._kept[next(brackets, len(self._kept)) :])
        self._kept = []


class _Bare(str):
    """The label of a bracket that holds nothing."""

    __slots__ = ()


class _Malformed(Exception):  # noqa: N818 - never leaves this module
    """Why a bracket can't become a tree."""


class _OpenTree:
    """The tree being read: its open brackets and what each holds so far.

    ``levels[0]`` takes the finished tree, ``levels[i + 1]`` the content of the bracket with
    ``labels[i]``.  Loose items are words and empty brackets, which no leaf match took up.
    """

    def __init__(self, name: str, notice: TellNotice | None) -> None:
        self.name = name
        self.labels: list[str] = []
        self.levels: list[list[Tree | str]] = [[]]
        self.problem: Problem | None = None
        self._notice = notice
        self._told: list[Problem] = []
        self._n_loose = 0
        self._place = (0, 0, "")

    def begin(self, number: int, offset: int, line: str) -> None:
        self._place = (number, offset, line)

    def tell(self, message: str, number: int, offset: int, line: str) -> None:
        """Give a notice, at once between trees, else when the tree turns out well."""
        problem = Problem(self.name, number, offset + 1, message, snippet_at(line, offset + 1))
        if self.labels:
            self._told.append(problem)
        elif self._notice is not None:
            self._notice(problem)

    def fail(self, message: str, number: int, offset: int, line: str) -> None:
        """Note what is wrong; the first thing wrong with a tree is the one reported."""
        if self.problem is None:
            snippet = snippet_at(line, offset + 1)
            self.problem = Problem(self.name, number, offset + 1, message, snippet)

    def fail_unclosed(self, when: str) -> None:
        n_open = len(self.labels)
        brackets = "1 bracket is" if n_open == 1 else f"{n_open} brackets are"
        self.fail(f"this tree isn't complete: {brackets} still open {when}", *self._place)

    def add_atom(self, atom: str) -> None:
        self.levels[-1].append(atom)
        self._n_loose += 1

    def close(self, n_brackets: int, number: int, offset: int, line: str) -> None:
        """Close a run of brackets, the first of which stands at `offset`."""
        labels, levels = self.labels, self.levels
        for i in range(n_brackets):
            if not labels:
                self.fail("closing bracket without an opening one", number, offset + i, line)
                return
            items = levels.pop()
            if items and not self._n_loose:
                node = Tree(labels.pop(), cast(list[Tree], items))
                levels[-1].append(node)
                continue
            try:
                touching = offset + i > 0 and not line[offset + i - 1].isspace()
                levels[-1].extend(self._close_loose(items, touching, number, offset + i, line))
            except _Malformed as error:
                self.fail(str(error), number, offset + i, line)
            labels.pop()

    def _close_loose(
        self, items: list[Tree | str], touching: bool, number: int, offset: int, line: str
    ) -> list[Tree | str]:
        """What becomes of a bracket that is empty or may hold loose words."""
        label = self.labels[-1]
        self._n_loose -= sum(isinstance(item, str) for item in items)
        # White space before the label, as in `( NP (DT a) ...)`.
        if label == "" and len(items) > 1 and type(items[0]) is str:
            label = items[0]
            items = items[1:]
        trees = [item for item in items if isinstance(item, Tree)]
        words = [unescape_token(item) for item in items if isinstance(item, str)]
        if not items:
            if not touching or (label == "" and len(self.labels) > 2):
                raise _Malformed(f"node {label!r} holds neither words nor nodes")
            self._n_loose += 1
            return [_Bare(label)]
        if not words:
            return [Tree(label, trees)]
        if trees:
            raise _Malformed(f"word {words[0]!r} stands beside nodes under {label!r} without a tag")
        bare = [item for item in items if isinstance(item, _Bare)]
        if bare and (len(items) > 1 or (bare[0] == "") != (label == "")):
            raise _Malformed(f"bracket {str(bare[0])!r} holds neither words nor nodes")
        if bare and label == "":
            self._n_loose += 1
            return [_Bare("")]
        if bare:
            self.tell("word in brackets of its own", number, offset, line)
        elif len(words) > 1:
            what = f"{len(words)} words under {label!r}, read as {len(words)} nodes"
            self.tell(what, number, offset, line)
        return [Tree(label, (), word) for word in words]

    def finish(self, on_error: OnError) -> BracketRecord:
        """The record of what was read, leaving everything ready for the next tree."""
        found = self.levels[0]
        tree: Tree | None = None
        if self.problem is None:
            if len(found) == 1 and isinstance(found[0], Tree):
                tree = found[0]
            elif found != [""]:
                what = "several words" if len(found) > 1 else "nothing"
                self.fail(f"the top node holds {what}; nodes are expected", *self._place)
        record = BracketRecord(tree, self._place[0], self.problem)
        if self.problem is None and self._notice is not None:
            for told in self._told:
                self._notice(told)
        self.labels.clear()
        self.levels[:] = [[]]
        self.problem = None
        self._told = []
        self._n_loose = 0
        if record.problem is not None and on_error == "raise":
            raise TreebankFormatError(str(record.problem))
        return record
