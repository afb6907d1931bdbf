"""Sentence splitting.

A sentence ends at a full stop, question or exclamation mark, or several of them, perhaps with
spaces between them (``. . .``), with the closing quotes and brackets that follow, where white space
comes next (in scripts without spaces anything may); and at an empty line.  A drawn line, of ten or
more of one mark, is a sentence of its own.
A full stop after an abbreviation, an initial or a number ends a sentence only if the next word has
a capital that it would not have otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import regex

from eigentree.tokenisation.english import COURTESY, NUMBERED, TITLES
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.tokens import RawSentence
from eigentree.tokenisation.words import FACE, WHITE, checked_text, is_initials, tokens_in

_LINE_END = r"(?>\r\n|[\n\r\x85\u2028\u2029])"  # atomic: the halves of \r\n are not two
_PARAGRAPH = regex.compile(rf"{_LINE_END}[^\S\n\r\x85\u2028\u2029]*{_LINE_END}[{WHITE}]*|\u2029")
_MARKS = "[.!?…؟۔।॥։።‼⁇⁈⁉]"
# A run of marks is tried from its first one only: from any other the result would be the same.
_END = regex.compile(
    rf"""(?<!{_MARKS})
         (?P<marks>{_MARKS}++ (?:(?<=[{WHITE}].)[{WHITE}]{{1,3}}{_MARKS}(?=[{WHITE}]|$))*+)
         (?P<closing>["'’”»)\]}}]*+)
         (?:[{WHITE}]{{1,3}}{FACE}(?=[{WHITE}]|$))?+ (?:(?=[{WHITE}])|$)
       | (?P<wide>[。！？｡]++ ["'’”»)\]}}」』）】》〉]*+)
       | (?<![^{WHITE}]) (?P<line>(?P<same>[-_*=])(?P=same){{9,}}+) (?![^{WHITE}])""",
    regex.VERSION1 | regex.VERBOSE,
)
# A closing mark after a space, as in tokenised text.
_APART = regex.compile(rf"[{WHITE}]{{1,3}}(''|[\"'’”»)\]}}])(?=[{WHITE}]|$)", regex.VERSION1)
_NEXT = regex.compile(
    rf"""[{WHITE}]* (?P<opening>[^\p{{L}}\p{{N}}{WHITE}]{{0,8}}+) [{WHITE}]*
         (?P<word>[\p{{L}}\p{{M}}\p{{N}}'’-]{{0,40}}+)""",
    regex.VERSION1 | regex.VERBOSE,
)
_MOST_APART = 3
_LONGEST_BEFORE = 40
_BEFORE = regex.compile(
    rf"""(?:[^{WHITE}(\[{{"'“‘’«,;]|(?<=[\p{{L}}\p{{M}}])['’])+\Z""", regex.VERSION1 | regex.VERBOSE
)
_BULLETS = "([*-–•· \t\r\n"
_ITEM = regex.compile(r"\p{N}{1,3}|\p{L}|[ivxIVX]{1,5}")  # the number of one
_SMALL = regex.compile(r"\p{Ll}")
_TITLES = frozenset(TITLES)


def split_text(text: str, scheme: TokenisationScheme = TokenisationScheme()) -> list[RawSentence]:
    """Split a text into sentences and words.

    Parameters
    ----------
    text
        Any text.  A line end is white space; an empty line ends a sentence.
    scheme
        What counts as a word.

    Returns
    -------
    list of RawSentence
        In order, each with at least one word; only white space is between them.

    Raises
    ------
    TypeError
        When `text` is not a string.
    SettingsError
        As in `eigentree.tokenisation.words.tokenise`.

    Cost
    ----
    Linear in the text.
    """
    text = checked_text(text)
    found = []
    for start, end in sentence_spans(text, scheme):
        tokens = tokens_in(text, start, end, scheme)
        if tokens:
            found.append(RawSentence(tokens, start, end))
    return found


def sentence_spans(text: str, scheme: TokenisationScheme) -> Iterator[tuple[int, int]]:
    """The character span of each sentence, without surrounding white space."""
    start = 0
    for match in _PARAGRAPH.finditer(text):
        yield from _in_paragraph(text, start, match.start(), scheme)
        start = match.end()
    yield from _in_paragraph(text, start, len(text), scheme)


def _in_paragraph(
    text: str, start: int, end: int, scheme: TokenisationScheme
) -> Iterator[tuple[int, int]]:
    for match in _END.finditer(text, start, end):
        if match.end() <= start:
            continue
        if match["line"]:
            yield from _stripped(text, start, match.start())
            yield match.span()
            start = match.end()
        elif match.end() < end and _ends(text, start, match, end, scheme):
            stop = _with_closing(text, start, match.end(), end)
            yield from _stripped(text, start, stop)
            start = stop
    yield from _stripped(text, start, end)


def _with_closing(text: str, start: int, stop: int, end: int) -> int:
    """The end of a sentence, including closing marks that follow spaces."""
    for _ in range(_MOST_APART):
        match = _APART.match(text, stop, end)
        if match is None:
            break
        mark = match[1]
        if mark in "\"'" and text.count(mark, start, stop) % 2 == 0:
            break  # an opening quote
        stop = match.end()
    return stop


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


@lru_cache(maxsize=64)
def _words_of(scheme: TokenisationScheme) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(scheme.abbreviations), frozenset(scheme.common)


def _ends(
    text: str, start: int, match: regex.Match[str], end: int, scheme: TokenisationScheme
) -> bool:
    """Whether marks end the sentence that starts at `start`."""
    if match["wide"]:
        return True
    marks, place = match["marks"], match.start()
    before = _word_before(text, start, place)
    so_far = text[start:place].strip(_BULLETS) if place - start < _LONGEST_BEFORE else text
    if not so_far:
        return False  # no word yet
    following = _NEXT.match(text, match.end(), end)
    word = following["word"] if following else ""
    small = _SMALL.match(word) is not None
    if marks != ".":
        return not small or (not match["closing"] and ("!" in marks or "?" in marks))
    if so_far == before and _ITEM.fullmatch(before):
        return False
    if before.isdecimal():
        return not small and not ("9." in scheme.kept and len(before) < 3)
    abbreviations, common = _words_of(scheme)
    low = before.lower() + "."
    is_numbered = low in NUMBERED
    if is_numbered and word[:1].isdecimal():
        return False
    if not is_numbered and (low in abbreviations or is_initials(before)):
        is_title = low in _TITLES or len(before) == 1
        return not is_title and not small and (word.lower() in common or word.lower() in COURTESY)
    return not small or before.islower()


def _word_before(text: str, start: int, end: int) -> str:
    """The word before a full stop, including inner stops, hyphens and apostrophes."""
    match = _BEFORE.search(text, max(start, end - _LONGEST_BEFORE), end)
    return match[0] if match else ""
