r"""What may be demanded of the tree of one sentence, and the brackets that it is read from.

A constraint speaks of phrases as people see them, after un-binarising: those that `Tree.spans`
lists.  A phrase may be anywhere in a chain of unary ones; a bare tag is not a phrase.

A person who knows a part of a tree writes that part down (Pereira and Schabes 1992).  Each bracket
becomes a required span, in the order in which brackets open:

``[NP the old man] boats``
    square brackets around words; what touches an opening bracket is its label if it is one of
    the labels given to the reader, otherwise a word.  ``\[``, ``\]`` and ``\\`` are
    characters of words.
``(S (NP (DT the) old man) boats)``
    a tree in which some brackets are missing.  A bracket around one word is its tag, or nothing
    if it has no label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

from eigentree._core.arguments import listed
from eigentree._core.printable import shown
from eigentree.errors import SettingsError, counted
from eigentree.treebank.cleaning import CleaningOptions, cut_label
from eigentree.treebank.escaping import unescape_token
from eigentree.treebank.io.brackets import read_escapes
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL, Tree

Kind = Literal["required", "forbidden", "tag"]

_KINDS: dict[str, Kind] = {"required": "required", "forbidden": "forbidden", "tags": "tag"}

_LAST_POSITION = 2**31 - 1

_SPACE = r" \t\r\n\x0b\x0c"
# A backslash means something only before a bracket or another backslash.
_SQUARE = re.compile(rf"(?P<open>\[)|(?P<close>\])|(?P<atom>(?:\\[\[\]\\]|[^{_SPACE}\[\]])+)")
_ROUND = re.compile(rf"(?P<open>\()|(?P<close>\))|(?P<atom>[^{_SPACE}()]+)")
_ESCAPED = re.compile(r"\\([\[\]\\])")


class Constraint(NamedTuple):
    """One demand on the tree of a sentence.

    Attributes
    ----------
    kind
        ``required``: the span is a phrase; ``forbidden``: it is none; ``tag``: the word has it.
    start, end
        Half-open span over the words.
    label
        Of the phrase, None for any; or the tag.
    """

    kind: Kind
    start: int
    end: int
    label: str | None = None

    def __str__(self) -> str:
        what = self.label or "span"
        return f"{self.kind} {what} over {self.start}-{self.end}"

    def crosses(self, other: Constraint) -> bool:
        """Whether two spans overlap and neither holds the other."""
        one, two = sorted((self[1:3], other[1:3]))
        return one[0] < two[0] < one[1] < two[1]

    def clashes(self, other: Constraint) -> str | None:
        """Why no tree at all keeps both, as a verb; None where some may."""
        kinds = {self.kind, other.kind}
        if kinds == {"required"} and self.crosses(other):
            return "cross"
        if self[1:3] != other[1:3]:
            return None
        if kinds == {"tag"} and self.label != other.label:
            return "contradict each other"
        if kinds == {"required", "forbidden"}:
            forbidden = self if self.kind == "forbidden" else other
            required = other if forbidden is self else self
            if forbidden.label in (None, required.label):
                return "contradict each other"
        return None


@dataclass(frozen=True)
class Constraints:
    """What is demanded of the tree of one sentence.

    Attributes
    ----------
    each
        In the order in which they count, the first most: where not all can be kept, later ones
        are given up.

    Raises
    ------
    SettingsError
        When a constraint is of no known kind, its span is no half-open pair of positions, or its
        label nothing that a tree can hold.
    """

    each: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        each = listed(self.each, tuple, "constraints", "Constraint items")
        object.__setattr__(self, "each", tuple(map(_checked, each)))

    def __bool__(self) -> bool:
        return bool(self.each)

    @classmethod
    def of(
        cls,
        required: Iterable[tuple[Any, ...]] = (),
        forbidden: Iterable[tuple[Any, ...]] = (),
        tags: Mapping[int, str] | Iterable[tuple[int, str]] = (),
    ) -> Constraints:
        """Constraints in this order.

        Parameters
        ----------
        required, forbidden
            Half-open spans, each as (start, end) or (start, end, label).
        tags
            Of words by their positions, counted from 0.
        """
        return cls.from_json(
            {
                "required": _as_list(required),
                "forbidden": _as_list(forbidden),
                "tags": _as_list(tags.items() if isinstance(tags, Mapping) else tags),
            }
        )

    @classmethod
    def from_json(cls, record: Any) -> Constraints:
        """Constraints in the order of a JSON object with the keys of `of`; None for none.

        Raises
        ------
        SettingsError
            When the record is something else.
        """
        if record is None:
            return cls()
        if not isinstance(record, dict) or not record.keys() <= _KINDS.keys():
            raise SettingsError(
                f"constraints are {shown(record)}; expected an object with the keys required, "
                "forbidden and tags"
            )
        found: list[Constraint] = []
        for kind, rows in record.items():
            for row in _rows(rows, kind):
                if kind == "tags":
                    row = [row[0], _after(row[0]), *row[1:]]
                found.append(Constraint(_KINDS[kind], *row))
        return cls(tuple(found))

    @property
    def tags(self) -> dict[int, str]:
        """The required tags of words by their positions."""
        return {each.start: str(each.label) for each in self.each if each.kind == "tag"}

    @property
    def spans(self) -> tuple[Constraint, ...]:
        """Those that speak of phrases."""
        return tuple(each for each in self.each if each.kind != "tag")

    def check_length(self, n_words: int) -> None:
        """Refuse spans that reach beyond a sentence.

        Raises
        ------
        SettingsError
            For the first that does.
        """
        for each in self.each:
            if each.end > n_words:
                raise SettingsError(
                    f"{each} reaches beyond the sentence of {counted(n_words, 'word')}"
                )

    def broken_by(self, tree: Tree) -> tuple[Constraint, ...]:
        """Those that a tree doesn't keep."""
        labelled = {(each.start, each.end, each.label) for each in tree.spans()}
        held = labelled | {(start, end, None) for start, end, _ in labelled}
        tags = tree.tags()

        def is_kept(each: Constraint) -> bool:
            if each.kind == "tag":
                return tags[each.start] == each.label
            return (each[1:] in held) == (each.kind == "required")

        return tuple(each for each in self.each if not is_kept(each))

    def clash(self) -> tuple[tuple[Constraint, Constraint], str] | None:
        """The first two that no tree keeps together, and why.

        Cost
        ----
        The square of their number.
        """
        for one, other in combinations(self.each, 2):
            why = one.clashes(other)
            if why is not None:
                return (one, other), why
        return None


def _as_list(values: Any) -> Any:
    """Values as a list, or what is no list as it is, to be refused."""
    return values if isinstance(values, str) or not isinstance(values, Iterable) else list(values)


def _rows(rows: Any, kind: str) -> list[list[Any]]:
    n_values = (2,) if kind == "tags" else (2, 3)
    what = "[position, tag]" if kind == "tags" else "[start, end] or [start, end, label]"
    if not isinstance(rows, list | tuple):
        raise SettingsError(f"{kind} is {shown(rows)}; expected a list of {what}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list | tuple) or len(row) not in n_values:
            raise SettingsError(f"{kind}: item {number} is {shown(row)}; expected {what}")
    return [list(row) for row in rows]


def _after(position: Any) -> Any:
    return position + 1 if isinstance(position, int) else position


def _checked(constraint: Constraint) -> Constraint:
    if len(constraint) != len(Constraint._fields):
        fields = ", ".join(Constraint._fields)
        raise SettingsError(f"a constraint is {shown(constraint)}; expected its {fields}")
    kind, start, end, label = constraint
    if kind not in get_args(Kind):
        raise SettingsError(
            f"constraint of unknown kind {shown(kind)}; expected one of {get_args(Kind)}"
        )
    if not (_is_position(start) and _is_position(end) and start < end):
        raise SettingsError(
            f"the span of a {kind} constraint is from {shown(start)} to {shown(end)}; expected "
            f"positions from 0 to {_LAST_POSITION}, with the end greater than the start"
        )
    if kind == "tag" and (end != start + 1 or label is None):
        raise SettingsError(f"{constraint} is not a tag of one word")
    if label is not None and not _is_label(label):
        raise SettingsError(f"label {shown(label)} must be text without white space or brackets")
    return Constraint(*constraint)


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LAST_POSITION


def _is_label(label: object) -> bool:
    return isinstance(label, str) and bool(label) and FORBIDDEN_IN_LABEL.isdisjoint(label)


class MalformedError(Exception):
    """Brackets that can't be read, with the column, from 1, and what is wrong there."""

    def __init__(self, column: int, what: str) -> None:
        super().__init__(what)
        self.column = column


def read_bracketed(line: str, labels: Collection[str]) -> tuple[list[str], Constraints]:
    """Words with some square brackets around them.

    Parameters
    ----------
    line
        One sentence.
    labels
        What is a label where it touches an opening bracket.

    Raises
    ------
    MalformedError
        When brackets don't match or hold nothing.
    """
    return _read(line, _SQUARE, labels.__contains__, _square_word)


def read_half_tree(
    line: str, cleaning: CleaningOptions = CleaningOptions()
) -> tuple[list[str], Constraints]:
    """The words of a tree in which some brackets are missing, and what the others say.

    An outer bracket with a label of `CleaningOptions.root_labels` is ignored, and labels are cut
    as in cleaning.

    Raises
    ------
    MalformedError
        When brackets don't match or hold nothing.
    """
    words, found = _read(read_escapes(line), _ROUND, lambda _: True, unescape_token)
    each: list[Constraint] = []
    for one in found.each:
        is_whole = one.kind == "required" and (one.start, one.end) == (0, len(words))
        if is_whole and (one.label or "") in cleaning.root_labels:
            continue
        label = one.label
        if label and (one.kind == "required" or cleaning.cut_tags):
            label = cut_label(label, cleaning)
        each.append(one._replace(label=label))
    return words, Constraints(tuple(each))


def _square_word(text: str) -> str:
    return unescape_token(_ESCAPED.sub(r"\1", text))


def _read(
    line: str,
    pieces: re.Pattern[str],
    is_label: Callable[[str], bool],
    word_of: Callable[[str], str],
) -> tuple[list[str], Constraints]:
    """Words and brackets of a line, whatever their shape."""
    words: list[str] = []
    found: list[Constraint | None] = []
    open_ones: list[_Open] = []
    label_at = -1
    for piece in pieces.finditer(line):
        text, column = piece.group(), piece.start() + 1
        if piece["open"]:
            open_ones.append(_Open(len(found), column, len(words)))
            found.append(None)
            label_at = piece.end()
        elif piece["atom"]:
            if piece.start() == label_at and is_label(text):
                open_ones[-1] = open_ones[-1]._replace(label=text)
            else:
                words.append(word_of(text))
        elif not open_ones:
            raise MalformedError(column, "closing bracket without an opening one")
        else:
            number, column, start, label = open_ones.pop()
            end = len(words)
            if start == end:
                raise MalformedError(column, "bracket without a word")
            if pieces is _SQUARE or end > start + 1 or number < len(found) - 1:
                found[number] = Constraint("required", start, end, label)
            elif label is not None:
                # A round bracket around a word, with none within.
                found[number] = Constraint("tag", start, end, label)
    if open_ones:
        raise MalformedError(open_ones[-1].column, "bracket is never closed")
    return words, Constraints(tuple(each for each in found if each is not None))


class _Open(NamedTuple):
    """A bracket that isn't closed yet: its number, column, first word and label."""

    number: int
    column: int
    start: int
    label: str | None = None
