r"""Dependency trees in CoNLL-U and CoNLL-X: a word a line in ten columns, read and written.

A sentence is a block of lines that ends at a blank one; comments precede its first row.
Words count from 1, and 0 is the root: the head of word 3 is `sentence.words[2].head`.  Rows
that are no words, ranges such as ``3-4`` and empty nodes such as ``8.1``, are kept in their
places but belong to no tree.  CoNLL-X has the same ten columns, without such rows.

Reading and writing a well-formed file gives the same bytes, so cells are kept unchanged
and nothing in them is interpreted but identifiers and heads.  White space is ASCII white
space; a form may hold U+00A0 or U+2028.

References
----------
Buchholz and Marsi 2006 for CoNLL-X; Nivre et al. 2020 for CoNLL-U.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from eigentree._core.arguments import check_choice
from eigentree._core.printable import clipped, one_line, shown
from eigentree.errors import SettingsError, TreebankFormatError, counted
from eigentree.treebank.io.brackets import OnError
from eigentree.treebank.io.recognition import recognise, wrong_kind
from eigentree.treebank.io.text_files import (
    OpenText,
    Problem,
    check_lines,
    in_sentence,
    listed_sources,
    opened_text,
    snippet_at,
    unreadable,
)
from eigentree.treebank.reader import Place
from eigentree.treebank.tree import collector_paused

Heads = Literal["check", "attach", "ignore"]

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
ROOT = 0  # the head of a root word
ROOT_RELATION = "root"
UNKNOWN_RELATION = "dep"  # of Universal Dependencies: an unspecified relation
EMPTY = "_"  # what a cell without a value holds
_FORM, _HEAD = 1, 6
_NO_SPACE_AFTER = "SpaceAfter=No"
_WHITE = " \t\r\n\x0b\x0c"
_COUNT = r"[1-9][0-9]{0,8}"  # Python refuses to read numbers of thousands of digits
_NUMBER = re.compile(rf"-?(?:0|{_COUNT})")
_RANGE = re.compile(rf"({_COUNT})-({_COUNT})")
_EMPTY_NODE = re.compile(rf"(0|{_COUNT})\.({_COUNT})")
_COMMENT = re.compile(r"#\s*(sent_id|text)\s*=\s*(.*)")
_SHOWN_OF_CYCLE = 10  # words of a cycle that a message names


class Word(NamedTuple):
    """A row of the tree: its ten columns.

    ``id`` counts from 1.  ``head`` is the number of another word, 0 for a root, and None where
    the file has no head.  The other columns are as in the file, ``_`` for no value.
    """

    id: int
    form: str
    lemma: str = EMPTY
    upos: str = EMPTY
    xpos: str = EMPTY
    feats: str = EMPTY
    head: int | None = None
    deprel: str = EMPTY
    deps: str = EMPTY
    misc: str = EMPTY


class Extra(NamedTuple):
    """A row that is no word: a range of words in one token, or an empty node.

    ``after`` is the number of words before the row, ``cells`` are its ten columns.
    """

    after: int
    cells: tuple[str, ...]

    @property
    def covers(self) -> range | None:
        """The numbers of the words of a range; None for an empty node."""
        found = _RANGE.fullmatch(self.cells[0])
        return found and range(int(found[1]), int(found[2]) + 1)


@dataclass(frozen=True)
class Sentence:
    """A sentence with its tree.

    Attributes
    ----------
    words
        The words in order; their numbers are 1 to n.
    comments
        Whole lines, each beginning with ``#``.
    extras
        Ranges and empty nodes, in the order of the file.
    """

    words: tuple[Word, ...]
    comments: tuple[str, ...] = ()
    extras: tuple[Extra, ...] = ()

    def __len__(self) -> int:
        return len(self.words)

    @property
    def sent_id(self) -> str | None:
        """The value of the comment ``# sent_id``; None without one."""
        return _comment_value(self.comments, "sent_id")

    @property
    def text(self) -> str | None:
        """The value of the comment ``# text``; None without one."""
        return _comment_value(self.comments, "text")

    def forms(self) -> list[str]:
        return [word.form for word in self.words]

    def tags(self, column: Literal["upos", "xpos"]) -> list[str]:
        if column not in ("upos", "xpos"):
            raise SettingsError(f"unknown tag column {column!r}; expected xpos or upos")
        return [word.upos if column == "upos" else word.xpos for word in self.words]

    def relations(self) -> list[str]:
        return [word.deprel for word in self.words]

    def heads(self) -> list[int]:
        """The head of each word in order: ``heads()[0]`` belongs to word 1, and 0 is the root.

        Raises
        ------
        TreebankFormatError
            When a word has none.
        """
        heads = [word.head for word in self.words if word.head is not None]
        if len(heads) < len(self.words):
            without = next(word.id for word in self.words if word.head is None)
            raise TreebankFormatError(_no_head(without, EMPTY, len(self.words)))
        return heads

    def row_of(self, word: int) -> int:
        """The number of rows before a word; words count from 1."""
        return word - 1 + sum(extra.after < word for extra in self.extras)

    def n_roots(self) -> int:
        return sum(word.head == ROOT for word in self.words)

    def space_after(self) -> list[bool]:
        """Whether a space follows each word: not after an exact ``SpaceAfter=No``, nor in a range.

        The last word of a range has the value of the range.
        """
        spaces = [_NO_SPACE_AFTER not in word.misc.split("|") for word in self.words]
        for extra in self.extras:
            covered = extra.covers
            if covered is not None:
                spaces[covered[0] - 1 : covered[-1]] = [False] * len(covered)
                spaces[covered[-1] - 1] = _NO_SPACE_AFTER not in extra.cells[-1].split("|")
        return spaces

    def surface(self) -> str:
        """The text of the words: a space after each, except as in `space_after`.

        The words of a range are written as the range.
        """
        tokens = self.forms()
        for extra in self.extras:
            if (covered := extra.covers) is not None:
                tokens[covered[0] - 1 : covered[-1]] = ["" for _ in covered]
                tokens[covered[-1] - 1] = extra.cells[_FORM]
        spaces = self.space_after()
        pieces = (token + " " * space for token, space in zip(tokens, spaces, strict=True))
        return "".join(pieces).rstrip(" ")

    def with_heads(self, heads: Sequence[int], relations: Sequence[str] | None = None) -> Sentence:
        """The same sentence with another tree.

        Parameters
        ----------
        heads : one for each word
            ``heads[0]`` is the head of word 1; words count from 1, and 0 is the root.
        relations : one for each word
            Written as they are.  Default: a word that keeps its head keeps its relation, a new
            root has ``root`` and any other word ``dep``, which is unspecific.

        Returns
        -------
        Sentence
            All other columns, ranges and comments are as they were, but the enhanced graph goes:
            DEPS becomes ``_``, and empty nodes, which are in that graph only, are left out.
            It was made for the old tree (as were the projective heads that CoNLL-X has in
            this column), so beside another one it would be wrong, and a parse of a gold file
            would carry the file's answers.

        Raises
        ------
        TreebankFormatError
            When the heads make no tree, or a relation is empty or holds white space.
        """
        n = len(self.words)
        for what, given in (("heads", heads), ("relations", relations)):
            if given is not None and len(given) != n:
                raise TreebankFormatError(
                    f"{len(given)} {what} for {counted(n, 'word')}: expected one for each"
                )
        check_heads(heads)
        if relations is None:
            relations = [
                word.deprel
                if head == word.head
                else (ROOT_RELATION if head == ROOT else UNKNOWN_RELATION)
                for word, head in zip(self.words, heads, strict=True)
            ]
        for number, relation in enumerate(relations, start=1):
            if not relation or not set(_WHITE).isdisjoint(relation):
                raise TreebankFormatError(
                    f"relation {shown(relation)} of word {number} is empty or holds white space"
                )
        words = tuple(
            word._replace(head=int(head), deprel=relation, deps=EMPTY)
            for word, head, relation in zip(self.words, heads, relations, strict=True)
        )
        ranges = tuple(extra for extra in self.extras if extra.covers is not None)
        return Sentence(words, self.comments, ranges)


def new_sentence(
    forms: Sequence[str],
    offsets: Sequence[tuple[int, int]] | None = None,
    text: str | None = None,
    *,
    sent_id: str | None = None,
) -> Sentence:
    """A sentence without a tree, with the comments that Universal Dependencies ask for.

    Parameters
    ----------
    forms
        The words.
    offsets : one for each word
        The half-open characters of each in the text, so that ``# text`` and ``SpaceAfter=No`` are
        exact.  Words with the same ones become a range.  Default: a space after each word.
    text
        Which the characters are of; needed with offsets.
    sent_id
        A name for the sentence.
    """
    comments = [] if sent_id is None else [f"# sent_id = {sent_id}"]
    if offsets is None or text is None or not forms:
        comments.append(_text_comment(" ".join(forms)))
        rows = (Word(place, form) for place, form in enumerate(forms, start=1))
        return Sentence(tuple(rows), tuple(comments))
    start, end = offsets[0][0], offsets[-1][1]
    comments.append(_text_comment(text[start:end]))
    words: list[Word] = []
    extras: list[Extra] = []
    at = 0
    while at < len(forms):
        last = at
        while last + 1 < len(forms) and offsets[last + 1] == offsets[at]:
            last += 1
        glued = last + 1 < len(forms) and offsets[last + 1][0] == offsets[at][1]
        misc = _NO_SPACE_AFTER if glued else EMPTY
        words += [Word(place + 1, forms[place]) for place in range(at, last + 1)]
        if last > at:
            surface = text[offsets[at][0] : offsets[at][1]]
            cells = (f"{at + 1}-{last + 1}", surface, *([EMPTY] * 7), misc)
            extras.append(Extra(at, cells))
        else:
            words[-1] = words[-1]._replace(misc=misc)
        at = last + 1
    return Sentence(tuple(words), tuple(comments), tuple(extras))


def _text_comment(text: str) -> str:
    return f"# text = {one_line(text)}"


class ConlluRecord(NamedTuple):
    """What was read at one place: a sentence or a problem.

    Attributes
    ----------
    sentence
        The sentence; None where there is a problem.
    line
        Line, from 1, of its first row.
    problem
        What was wrong; None for a sentence.
    n_attached
        Words that were attached to the root because their heads were missing.
    """

    sentence: Sentence | None
    line: int
    problem: Problem | None = None
    n_attached: int = 0


class _ConlluError(Exception):
    """Why a block is no sentence: what, in which of its rows, at which of its columns."""

    def __init__(self, message: str, row: int, column: int = 1) -> None:
        super().__init__(message)
        self.row = row
        self.column = column


def check_heads(heads: Sequence[int]) -> None:
    """Refuse heads that make no tree.

    Parameters
    ----------
    heads
        ``heads[0]`` is the head of word 1; words count from 1, and 0 is the root.  Several
        words may have the root as their head.

    Raises
    ------
    TreebankFormatError
        With the word and what is wrong: a head that is no word, a word that is its own head,
        a cycle.  Adds a hint when the heads would be a tree if words were counted from 0.

    Cost
    ----
    Linear.
    """
    found = _not_a_tree(heads)
    if found is not None:
        raise TreebankFormatError(found[1])


def _not_a_tree(heads: Sequence[int]) -> tuple[int, str] | None:
    """The first word that keeps heads from being a tree, and why."""
    found = _first_fault(heads)
    if found is None:
        return None
    # Where words count from 0, the root word has the head -1, or else itself.
    for shifted in (
        [head + 1 for head in heads],
        [ROOT if head == i else head + 1 for i, head in enumerate(heads)],
    ):
        if shifted.count(ROOT) == 1 and _first_fault(shifted) is None:
            hint = "; counted from 0 they would make a tree, but word 1 is the first and 0 the root"
            return found[0], found[1] + hint
    return found


def _first_fault(heads: Sequence[int]) -> tuple[int, str] | None:
    n = len(heads)
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= n:
            return word, f"head {head} of word {word} is none of 0 (the root) to {n}"
        if head == word:
            return word, f"word {word} is its own head"
    seen_from = [0] * (n + 1)
    seen_from[ROOT] = n + 1
    for start in range(1, n + 1):
        word = start
        while not seen_from[word]:
            seen_from[word] = start
            word = heads[word - 1]
        if seen_from[word] == start:
            return word, f"the heads form a cycle: {_cycle(heads, word)}"
    return None


def _cycle(heads: Sequence[int], start: int) -> str:
    """``6 -> 10 -> 6``: each word and its head, from a word of the cycle on."""
    words = [start]
    while heads[words[-1] - 1] != start:
        words.append(heads[words[-1] - 1])
    left_out = len(words) - _SHOWN_OF_CYCLE
    first = [*map(str, words[:_SHOWN_OF_CYCLE])]
    if left_out > 0:
        first.append(f"({left_out} more)")
    return " -> ".join([*first, str(start)])


def _no_head(word: int, seen: str, n_words: int) -> str:
    expected = f"a number from 0 (the root) to {n_words}"
    return f"word {word} has no head ({shown(seen)}); expected {expected}"


def read_conllu(
    lines: Iterable[str],
    *,
    name: str = "<input>",
    on_error: OnError = "raise",
    heads: Heads = "check",
    at_end: Callable[[list[str]], object] | None = None,
) -> Iterator[ConlluRecord]:
    """Read sentences one after the other, each as soon as its blank line has come.

    Parameters
    ----------
    lines
        Lines of text with or without their ends, such as an open file.
    name
        What messages call the text; usually the path.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` gives a record with the problem
        and goes on after the next blank line.
    heads
        ``"check"``: they must make a tree, with one root or several.  ``"attach"``: a word
        without a head, or that is its own, is first attached to the root, and counted.
        ``"ignore"``: for text that is to be parsed; a head may be anything, and what is no
        number is None.
    at_end
        Called with the comments after the last sentence.

    Yields
    ------
    ConlluRecord
        One for each block of rows, in order.

    Raises
    ------
    TreebankFormatError
        Under ``"raise"``, with file, line, sentence and what is wrong.

    Notes
    -----
    Several blank lines count as one.  Comments without rows belong to the next sentence, and at
    the end of the text to none; `at_end` gets these.  Time is linear in the text, memory that of
    one sentence.
    """
    check_lines(lines)
    check_choice(OnError, on_error=on_error)
    check_choice(Heads, heads=heads)
    shared: dict[str, str] = {}  # one copy of each word and tag
    found = recognise(lines)
    problem = wrong_kind(found, "dependencies", name)
    if problem is not None:
        if on_error == "raise":
            raise TreebankFormatError(str(problem))
        yield ConlluRecord(None, problem.line, problem)
        return
    for number, (first, comments, rows) in enumerate(_blocks(found.lines, at_end), start=1):
        try:
            record = ConlluRecord(*_read_block(first, comments, rows, heads, shared))
        except _ConlluError as error:
            line = rows[error.row] if error.row >= 0 else comments[error.row]
            sentence_name = _comment_value(comments, "sent_id") or str(number)
            place = (name, first + error.row, error.column)
            snippet = snippet_at(line, error.column)
            what = f"{error}{in_sentence(sentence_name)}"
            record = ConlluRecord(None, first, Problem(*place, what, snippet))
            if on_error == "raise":
                raise TreebankFormatError(str(record.problem)) from None
        yield record


def _blocks(
    lines: Iterable[str], at_end: Callable[[list[str]], object] | None
) -> Iterator[tuple[int, list[str], list[str]]]:
    """The number of the first row, the comments and the rows of each sentence."""
    comments: list[str] = []
    rows: list[str] = []
    first = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if not line.strip(_WHITE):
            if rows:
                yield first, comments, rows
                comments, rows = [], []
        # "#" alone in a cell is a word, in files of fewer columns; a comment goes on.
        elif not rows and line[0] == "#" and line[1:2] != "\t":
            comments.append(line)
        else:
            first = first if rows else number
            rows.append(line)
    if rows:
        yield first, comments, rows
    elif comments and at_end is not None:
        at_end(comments)


def _comment_value(comments: Iterable[str], name: str) -> str | None:
    found = (_COMMENT.fullmatch(comment) for comment in comments if name in comment)
    return next((match[2] for match in found if match and match[1] == name), None)


def _read_block(
    first: int, comments: list[str], rows: list[str], heads: Heads, shared: dict[str, str]
) -> tuple[Sentence, int, None, int]:
    """The fields of the record of a block, or `_ConlluError`."""
    _check_bytes(comments, rows)
    words: list[Word] = []
    extras: list[Extra] = []
    n = 0
    n_covered = 0  # the last word of a range so far
    n_empty = 0  # empty nodes since the last word
    share = shared.setdefault
    for row, line in enumerate(rows):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            raise _wrong_columns(cells, row, line)
        number, form, lemma, upos, xpos, feats, head, deprel, deps, misc = cells
        if not form.strip(_WHITE):
            raise _ConlluError("the word is empty or white space", row, len(number) + 2)
        if "" in cells:
            _check_cells(cells, row)
        if number == str(n + 1):
            n += 1
            n_empty = 0
            words.append(
                Word(
                    n,
                    share(form, form),
                    share(lemma, lemma),
                    share(upos, upos),
                    share(xpos, xpos),
                    share(feats, feats),
                    int(head) if _NUMBER.fullmatch(head) else None,
                    share(deprel, deprel),
                    deps,
                    misc,
                )
            )
            continue
        if covered := _RANGE.fullmatch(number):
            start, end = int(covered[1]), int(covered[2])
            if end < start:
                raise _ConlluError(f"range {number} ends before it begins", row)
            if start <= n_covered:
                raise _ConlluError(f"range {number} overlaps the one before it", row)
            if start != n + 1:
                raise _ConlluError(f"range {number} must be right before word {start}", row)
            n_covered = end
        elif node := _EMPTY_NODE.fullmatch(number):
            n_empty += 1
            if (int(node[1]), int(node[2])) != (n, n_empty):
                what = f"empty node {number} is where {n}.{n_empty} was expected"
                raise _ConlluError(what, row)
        else:
            raise _ConlluError(f"word number {n + 1} was expected", row)
        extras.append(Extra(n, tuple(cells)))
    if not words:
        raise _ConlluError("the sentence has no word", 0)
    if n_covered > n:
        row = max(i for i, line in enumerate(rows) if _RANGE.match(line))
        raise _ConlluError(f"a range ends at word {n_covered}, but the last word is {n}", row)
    n_attached = 0
    if heads == "attach":
        words, n_attached = _attached(words)
    sentence = Sentence(tuple(words), tuple(comments), tuple(extras))
    if heads != "ignore":
        _check_tree(sentence, rows)
    return sentence, first, None, n_attached


def _check_bytes(comments: list[str], rows: list[str]) -> None:
    text = "".join([*comments, *rows])
    with suppress(UnicodeEncodeError):
        text.encode()  # faster than a search for what can't be encoded
        if "\0" not in text:
            return
    for row, line in enumerate([*comments, *rows], start=-len(comments)):
        problem = unreadable("", 0, line)
        if problem is not None:
            raise _ConlluError(problem.message, row, problem.column)


def _wrong_columns(cells: list[str], row: int, line: str) -> _ConlluError:
    if line[0] == "#" and line[1:2] != "\t":
        return _ConlluError("a comment must be before the first word of its sentence", row)
    found = f"{counted(len(cells), 'column')} separated by tabs, expected {len(COLUMNS)}"
    spaced = len(cells) < len(COLUMNS) <= len(line.split())
    hint = "; some columns are separated by spaces instead of tabs" if spaced else ""
    if len(cells) > len(COLUMNS) and not "".join(cells[len(COLUMNS) :]).strip(_WHITE):
        hint = "; the line ends with a tab"
    if line.lstrip().startswith("("):
        hint = "; bracketed trees are for constituents"
    return _ConlluError(found + hint, row)


def _check_cells(cells: list[str], row: int) -> None:
    """Refuse an empty cell, but for a head: to lack one is another matter."""
    place = next((i for i, cell in enumerate(cells) if not cell and i not in (_FORM, _HEAD)), None)
    if place is not None:
        what = f"column {COLUMNS[place]} is empty; {EMPTY!r} stands for no value"
        raise _ConlluError(what, row, _column_of(cells, place))


def _column_of(cells: Sequence[str], place: int) -> int:
    """Where in a line, from 1, a cell begins."""
    return sum(map(len, cells[:place])) + place + 1


def _attached(words: list[Word]) -> tuple[list[Word], int]:
    """Words with those that lack a head under the root, and how many these are."""
    lost = [word.head is None or word.head == word.id for word in words]
    attached = [
        word._replace(head=ROOT, deprel=ROOT_RELATION) if is_lost else word
        for word, is_lost in zip(words, lost, strict=True)
    ]
    return attached, sum(lost)


def _check_tree(sentence: Sentence, rows: list[str]) -> None:
    heads = [word.head for word in sentence.words if word.head is not None]
    if len(heads) == len(sentence):
        found = _not_a_tree(heads)
        if found is None:
            return
        word, what = found
    else:
        word, what = next(word.id for word in sentence.words if word.head is None), ""
    row = sentence.row_of(word)
    cells = rows[row].split("\t")
    what = what or _no_head(word, cells[_HEAD], len(sentence))
    raise _ConlluError(what, row, _column_of(cells, _HEAD))


def format_sentence(sentence: Sentence) -> str:
    """Write a sentence as lines, the last of which is blank.

    Raises
    ------
    TreebankFormatError
        When a cell is empty or holds a tab or a line end, so that it could not be read back.
    """
    lines = list(sentence.comments)
    extras = iter(sentence.extras)
    extra = next(extras, None)
    for n_before, word in enumerate(sentence.words):
        while extra is not None and extra.after <= n_before:
            lines.append("\t".join(extra.cells))
            extra = next(extras, None)
        lines.append("\t".join(_cells(word)))
        if word.id != n_before + 1 or not word.form.strip(_WHITE):
            raise TreebankFormatError(_unwritable(sentence))
    while extra is not None:
        lines.append("\t".join(extra.cells))
        extra = next(extras, None)
    text = "\n".join([*lines, "", ""])
    # Counting characters is quick; the faulty cell is looked for only if the count is wrong.
    n_rows = len(sentence.words) + len(sentence.extras)
    n_tabs = n_rows * (len(COLUMNS) - 1) + sum(each.count("\t") for each in sentence.comments)
    if (
        text.count("\n") != len(lines) + 1
        or text.count("\t") != n_tabs
        or "\r" in text
        or "\t\t" in text
        or not all(each[:1] == "#" and each[1:2] != "\t" for each in sentence.comments)
    ):
        raise TreebankFormatError(_unwritable(sentence))
    return text


def _cells(word: Word) -> tuple[str, ...]:
    number, form, lemma, upos, xpos, feats, head, deprel, deps, misc = word
    head_cell = EMPTY if head is None else str(head)
    return str(number), form, lemma, upos, xpos, feats, head_cell, deprel, deps, misc


def _unwritable(sentence: Sentence) -> str:
    """What keeps a sentence from being written."""
    name = sentence.sent_id
    where = "" if name is None else f"sentence {clipped(name)}: "
    for number, comment in enumerate(sentence.comments, start=1):
        if not re.fullmatch(r"#(?!\t)[^\r\n]*", comment):
            what = "which must be one line that begins with #"
            return f"{where}comment {number} is {shown(comment)}, {what}"
    for number, word in enumerate(sentence.words, start=1):
        if word.id != number:
            return f"{where}word {number} has the number {word.id}; words count from 1 without gaps"
        if not word.form.strip(_WHITE):
            return f"{where}the form of word {number} is {shown(word.form)}, empty or white space"
    for cells in (*map(_cells, sentence.words), *(extra.cells for extra in sentence.extras)):
        for column, cell in zip(COLUMNS, cells, strict=True):
            if not cell or not {"\t", "\r", "\n"}.isdisjoint(cell):
                return (
                    f"{where}{column} of row {clipped(cells[0])} is {shown(cell)}, not a CoNLL-U "
                    f"cell: a cell has no tab and no line end, and {EMPTY!r} stands for no value"
                )
    return f'{where}a row has not {len(COLUMNS)} columns, or a comment holds "\\t\\t"'


@dataclass(frozen=True)
class DependencyTreebank:
    """Sentences with what was met on the way to them.

    Attributes
    ----------
    sentences
        In the order of the files.
    places
        The place of the first row of each; same length.
    problems
        What was skipped, in order; empty unless reading went on after errors.
    notices
        Remarks on what was read: byte-order marks.
    comments
        Those after the last sentence of a file.
    counts
        By name: ``sentences``, ``problems``, ``notices``, ``attached`` (words) and
        ``several_roots`` (sentences).
    """

    sentences: list[Sentence]
    places: list[Place]
    problems: list[Problem]
    notices: list[Problem]
    comments: list[str]
    counts: dict[str, int]


def read_dependencies(
    paths: str | Path | OpenText | Sequence[str | Path | OpenText],
    *,
    on_error: OnError = "raise",
    heads: Heads = "check",
) -> DependencyTreebank:
    """Read the sentences of one or more CoNLL-U or CoNLL-X files.

    Parameters
    ----------
    paths
        A path or several; ``-`` is standard input.  Files may be compressed with gzip or xz.
    on_error, heads
        As in `read_conllu`.

    Raises
    ------
    TreebankFormatError
        When a file can't be read, or under ``"raise"`` holds a malformed sentence.
    """
    sentences: list[Sentence] = []
    places: list[Place] = []
    problems: list[Problem] = []
    notices: list[Problem] = []
    comments: list[str] = []
    n_attached = 0
    with collector_paused():
        keep = on_error == "skip"
        for path in listed_sources(paths):
            with opened_text(path, keep_bad_bytes=keep, notice=notices.append) as (name, lines):
                for record in read_conllu(
                    lines, name=name, on_error=on_error, heads=heads, at_end=comments.extend
                ):
                    n_attached += record.n_attached
                    if record.sentence is not None:
                        sentences.append(record.sentence)
                        places.append(Place(name, record.line))
                    elif record.problem is not None:
                        problems.append(record.problem)
    counts = {
        "sentences": len(sentences),
        "problems": len(problems),
        "notices": len(notices),
        "attached": n_attached,
        "several_roots": sum(sentence.n_roots() > 1 for sentence in sentences),
    }
    return DependencyTreebank(sentences, places, problems, notices, comments, counts)
