"""Text into words, by the scheme of a treebank.

White space separates.  The characters between are scanned from left to right: first what is kept
whole whatever it is made of (addresses, faces), then words with the joints that the scheme
keeps, then marks, runs of the same one together.  Words are then cut at clitics.  No cut falls
into a grapheme, and format characters such as U+200B and U+00AD stay inside of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import regex

from eigentree._core.printable import shown
from eigentree.tokenisation.english import NUMBERED
from eigentree.tokenisation.scheme import (
    APOSTROPHES,
    DASHES,
    DOTS,
    DOUBLE,
    FINAL_STOP,
    FINAL_STOPS,
    SINGLE,
    SPACELESS,
    TokenisationScheme,
    plain,
)
from eigentree.tokenisation.spacy import spacy_spans
from eigentree.tokenisation.tokens import Token

# What Python takes for white space.
WHITE = r"\s\x1c-\x1f"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{Cf}}]--[{SPACELESS}]]"
_BODY = rf"[[\p{{L}}\p{{N}}\p{{M}}\p{{Cf}}]--[{SPACELESS}]]"
# Letters of a word in a script without spaces: a known one, and what is taken for one.
_LONGEST_SPACELESS = 10
_LONGEST_UNKNOWN = 4
_IN_RUN = regex.compile(rf"[{SPACELESS}ー\p{{M}}\p{{Cf}}]")
_LONGEST_ABBREVIATION = 40
_INITIALS = regex.compile(r"\p{L}\p{M}*(?:\.\p{L}\p{M}*)+")

# Repetitions have bounds where a scan may fail, so that a long line takes linear time.
_ADDRESS = rf"""
  (?: (?:https?|ftp|file)://[^{WHITE}<>"“”]+
    | www\.[^{WHITE}<>"“”]{{1,2000}}
    | (?:mailto:)?[\w.+-]{{1,64}}+@[\p{{L}}\p{{N}}-]{{1,63}}+(?:\.[\p{{L}}\p{{N}}-]{{1,63}}+){{1,8}}
    | (?:[\p{{L}}\p{{N}}-]{{1,63}}+\.){{1,4}}(?:com|org|net|edu|gov|info|co\.uk|de|fr|io)
      (?![\p{{L}}\p{{N}}]|\.\p{{L}})(?:/[^{WHITE}<>"“”]{{0,2000}})?
  )"""
_TRAILING = ".,;:!?'\"’”)]}*"  # of an address, where it is in a sentence
FACE = r"""(?:[<>]?[:;=8][-o^']?[()\[\]DPpOo/\\|*3]+(?![\p{L}\p{N}])
  | <3+(?!\p{N}) | \^_+\^ | [xX]D+(?!\p{L}))"""
_EMOJI = r"""(?:\p{Regional_Indicator}{2}
  | [0-9#*]\uFE0F?\u20E3
  | \p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F\u20E3\U000E0020-\U000E007F]*
    (?:\u200D\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F]*)*)"""
_MARKS = regex.compile(r"(?m)^\ufeff+")
# Flags have a pattern of their own, as \X counts the whole run of indicators before each place.
_GRAPHEME = regex.compile(
    r"""\p{GCB=Prepend}*+ \p{GCB=RI}{2} [\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*+ | \X""",
    regex.VERSION1 | regex.VERBOSE,
)
# A fraction of two small numbers, and names of programming languages with their marks.
_FRACTION = regex.compile(r"[1-9][0-9]?/[1-9][0-9]{0,2}")
_LANGUAGE = r"(?<![\p{L}\p{N}])(?:[cCgG]\+\+|[cCfF]\#)(?![\p{L}\p{N}+#])"
_CHUNK = regex.compile(rf"[^{WHITE}]+")
_ENTITY = r"&(?:amp|lt|gt|quot|apos|nbsp|\#[0-9]{1,7}|\#x[0-9a-fA-F]{1,6});"
_FLAGS = regex.VERSION1 | regex.VERBOSE
_OPENERS = frozenset("([{<-–—/`'\"“‘«„‚‹»")
_OPEN = frozenset(("``", "`", "“", "‘", "„", "‚", "«", "‹"))
_CLOSE = frozenset(("''", "”", "»", "›"))


def tokenise(text: str, scheme: TokenisationScheme = TokenisationScheme()) -> list[Token]:
    """The words of one sentence.

    Parameters
    ----------
    text
        The sentence; a full stop at its very end is taken for the end of it.
    scheme
        What counts as a word.

    Returns
    -------
    list of Token
        In order; between them there is white space only.  Tokens are disjoint, but for those
        of a word that stands for several (`TokenisationScheme.contracted`), which all
        have its characters.

    Raises
    ------
    TypeError
        When `text` is not a string.
    SettingsError
        When the scheme requires spaCy, which isn't installed.

    Cost
    ----
    Linear in the text.
    """
    text = checked_text(text)
    return tokens_in(text, 0, len(text), scheme)


def checked_text(text: str) -> str:
    """A text with blanks for byte-order marks at the start of lines, so that places stay.

    Raises
    ------
    TypeError
        When it is not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string (got {type(text).__name__} {shown(text)})")
    return _MARKS.sub(lambda marks: " " * len(marks[0]), text) if "\ufeff" in text else text


def tokens_in(text: str, start: int, end: int, scheme: TokenisationScheme) -> list[Token]:
    """The words of the sentence in ``text[start:end]``, with places in the whole text."""
    if scheme.mode.startswith("spacy:"):
        spans = spacy_spans(text[start:end], scheme.mode.removeprefix("spacy:"))
        found = [(start + left, start + right) for left, right in spans]
    else:
        scan = _scanner(scheme)
        found = []
        for chunk in _CHUNK.finditer(text, start, end):
            found += scan.chunk(text, chunk.start(), chunk.end(), end)
    return _writer(scheme).written(text, found)


def as_written(
    text: str, spans: Sequence[tuple[int, int]], scheme: TokenisationScheme
) -> list[str]:
    """Words that something else has found in a text, with quotes, dashes and dots as a treebank's.

    Parameters
    ----------
    text
    spans
        The characters of each word, half-open, in order.
    scheme
        That of the treebank.

    Returns
    -------
    list of str
        One for each span.
    """
    words = _writer(replace(scheme, contracted=())).written(text, list(spans))
    return [word.text for word in words]


@lru_cache(maxsize=64)
def _scanner(scheme: TokenisationScheme) -> _Scanner:
    return _Scanner(scheme)


def is_initials(word: str) -> bool:
    """Whether a word is made of letters with full stops between, or is one capital but for I."""
    if len(word) == 1:
        return word.isalpha() and not word.islower() and word != "I"
    return _INITIALS.fullmatch(word) is not None


class _Scanner:
    """What cuts a piece of text without white space, made once for a scheme."""

    def __init__(self, scheme: TokenisationScheme) -> None:
        kept = set(scheme.kept)
        self._word = regex.compile(_word_pattern(kept), _FLAGS)
        self._joined = regex.compile(
            rf"{_BODY}++(?:[^\p{{L}}\p{{N}}\p{{M}}\p{{Cf}}{WHITE}]{_BODY}++){{1,8}}+", _FLAGS
        )
        runs = r"[!?]{2,}" if "!!" in kept else r"(?!)"
        self._next = regex.compile(
            rf"""(?P<address>{_ADDRESS}) | (?P<whole>{_ENTITY}|{_EMOJI}|{FACE}|{_LANGUAGE})
              | (?P<lead>{_edges(kept, before=False)})
              | (?P<digits>\p{{N}}++(?={_LETTER}))
              | (?P<spaceless>[{SPACELESS}])
              | (?P<word>{_BODY})
              | (?P<marks>``|''|{runs})
              | (?P<same>[^\p{{L}}\p{{N}}()\[\]{{}}"'‘’“”«»„`‚‹›,;!?])(?P=same)*+
              | (?P<mark>.)""",
            _FLAGS | regex.DOTALL,
        )
        self._tail = regex.compile(rf"(?:{_edges(kept, before=True)})(?![\p{{L}}\p{{N}}])", _FLAGS)
        self._run = regex.compile(
            r"""[\p{Hiragana}ー]++ | [\p{Katakana}ー]++ | [\p{Han}]
              | [\p{Thai}\p{M}\p{Cf}]++ | [\p{Lao}\p{M}\p{Cf}]++
              | [\p{Khmer}\p{M}\p{Cf}]++ | [\p{Myanmar}\p{M}\p{Cf}]++
              | [\p{Tibetan}\p{M}\p{Cf}]++""",
            _FLAGS,
        )  # fmt: skip
        self._ordinals = "9." in kept
        self._final_stops = FINAL_STOPS in kept
        self._whole = frozenset(scheme.whole) | {key for key, *_ in scheme.contracted}
        # If some are words of the treebank, the others are taken for words as well.
        self._has_fractions = any(map(_is_fraction, self._whole))
        self._longest_whole = max(map(len, self._whole), default=0)
        self._prefixes = frozenset(scheme.prefixes)
        self._units = frozenset(scheme.units)
        self._abbreviations = frozenset(scheme.abbreviations)
        self._spaceless = frozenset(scheme.spaceless)
        self._before = tuple(sorted(scheme.before, key=len, reverse=True))
        self._after = tuple(sorted(scheme.after, key=len, reverse=True))
        self._marked = regex.compile(rf"[-'’]{_BODY}++(?:-{_BODY}++)?", _FLAGS)
        self._begin_marked = {
            word
            for word in (*scheme.whole, *scheme.after, *map("".join, scheme.divided))
            if word[0] in "-'"
        }
        self._divided = {"".join(parts): parts for parts in scheme.divided}

    def chunk(self, text: str, start: int, end: int, last: int) -> list[tuple[int, int]]:
        """The spans of the words in ``text[start:end]``, of a sentence that ends at `last`."""
        spans: list[tuple[int, int]] = []
        at = start
        while at < end:
            match = self._next.match(text, at, end)
            kind, stop = match.lastgroup, match.end()
            if kind == "address":
                stop = _address_end(text, at, stop)
                spans.append((at, stop))
            elif text[at] in "-'’" and (marked := self._marked_end(text, at, end)):
                stop = marked
                spans += self._cut(text, at, stop)
            elif kind == "lead" and (at == start or text[at - 1] in _OPENERS):
                stop = self._word_end(text, at + 1, end, last)
                spans.append((at, stop))
            elif kind == "lead":
                stop = at + 1
                spans.append((at, stop))
            elif kind == "digits" and (unit := self._unit(text, stop, end)):
                spans += [(at, stop), (stop, unit)]
                stop = unit
            elif kind == "spaceless":
                stop = self._spaceless_end(text, at, end)
                spans.append((at, stop))
            elif kind in ("word", "digits"):
                stop = self._word_end(text, at, end, last)
                spans += self._cut(text, at, stop)
            else:
                spans.append((at, stop))
            at = stop
        if text[start:end].isascii():
            return spans
        return _whole_graphemes(text, start, end, spans)

    def _word_end(self, text: str, at: int, end: int, last: int) -> int:
        """The end of the word that begins at a place, with what the scheme keeps after it."""
        stop = self._part_end(text, at, end)
        while (
            self._prefixes
            and text[stop : stop + 1] == "-"
            and stop + 1 < end
            and text[stop + 1].isalnum()
            and plain(text[at:stop]) in self._prefixes
        ):
            at, stop = stop + 1, self._part_end(text, stop + 1, end)
        if text[stop : stop + 1] == "." and not _is_last(text, stop, last):
            if text[stop : stop + 2] != ".." and self._keeps_stop(text, at, stop, last):
                return stop + 1
            return stop
        keeps_last = self._final_stops and text[stop : stop + 1] == "."
        if keeps_last and FINAL_STOP.fullmatch(text, at, min(stop + 1, at + _LONGEST_ABBREVIATION)):
            return stop + 1
        return stop + 1 if self._tail.match(text, stop, end) else stop

    def _keeps_stop(self, text: str, at: int, stop: int, last: int) -> bool:
        """Whether the full stop after a word in a sentence belongs to it."""
        if stop - at > _LONGEST_ABBREVIATION:
            return False
        word = text[at:stop]
        if word.isdecimal():
            return self._ordinals
        low = word.lower() + "."
        if low in NUMBERED:
            following = text[stop + 1 : min(stop + 3, last)].strip()
            return not following or not following[0].isalpha()
        return low in self._abbreviations or is_initials(word)

    def _part_end(self, text: str, at: int, end: int) -> int:
        """The end of the word that begins at a place, by its joints and what is kept whole."""
        match = self._word.match(text, at, end)
        stop = int(match.end()) if match else at + 1
        if self._whole and (longer := self._joined.match(text, at, end)):
            stop = self._whole_end(text, at, longer.end(), stop)
        return stop

    def _marked_end(self, text: str, at: int, end: int) -> int | None:
        """The end of a word that begins with an apostrophe or hyphen; None where none does."""
        match = self._marked.match(text, at, end)
        return int(match.end()) if match and plain(match[0]) in self._begin_marked else None

    def _whole_end(self, text: str, at: int, stop: int, least: int) -> int:
        """The end of the longest word from a place on that is kept whole; the least without one."""
        while stop > least:
            if stop - at <= self._longest_whole and plain(text[at:stop]) in self._whole:
                return stop
            if self._has_fractions and _is_fraction_in(text, at, stop):
                return stop
            stop -= 1
            while stop > least and text[stop].isalnum():
                stop -= 1
        return least

    def _unit(self, text: str, at: int, end: int) -> int | None:
        """The end of the unit that follows digits at a place; None where there is none."""
        if not self._units:
            return None
        match = self._word.match(text, at, end)
        if match and text[at : match.end()].lower() in self._units:
            return int(match.end())
        return None

    def _spaceless_end(self, text: str, at: int, end: int) -> int:
        """The end of the word that begins with a letter of a script without spaces."""
        if known := self._known_end(text, at, end):
            return known
        if not self._spaceless:
            match = self._run.match(text, at, end)
            return int(match.end()) if match else at + 1
        # A run is matched as a whole only where it is a word, else at every place up to its end.
        last = min(at + _LONGEST_UNKNOWN, end)
        stop = at + 1
        while stop < last and _IN_RUN.match(text, stop) and not self._known_end(text, stop, end):
            stop += 1
        return stop

    def _known_end(self, text: str, at: int, end: int) -> int | None:
        """The end of the longest known word that begins at a place; None without one."""
        if self._spaceless:
            for stop in range(min(end, at + _LONGEST_SPACELESS), at, -1):
                if text[at:stop] in self._spaceless:
                    return stop
        return None

    def _cut(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """A word, cut at its clitics."""
        if end - start > 1000:  # no word
            yield start, end
            return
        low = plain(text[start:end])
        if len(low) != end - start or low in self._whole:  # some capitals are two small letters
            yield start, end
            return
        if low in self._divided:
            for part in self._divided[low]:
                yield start, start + len(part)
                start += len(part)
            return
        ends = [end]
        first, last = 0, len(low)
        while clitic := next(
            (c for c in self._after if last - first > len(c) and low.endswith(c, first, last)), None
        ):
            last -= len(clitic)
            ends.append(start + last)
        while clitic := next(
            (c for c in self._before if last - first > len(c) and low.startswith(c, first, last)),
            None,
        ):
            yield start + first, start + first + len(clitic)
            first += len(clitic)
        if low[first:last] in self._divided:
            at = start + first
            for part in self._divided[low[first:last]]:
                yield at, at + len(part)
                at += len(part)
        else:
            yield start + first, ends[-1]
        yield from pairwise(reversed(ends))


def _word_pattern(kept: set[str]) -> str:
    """Letters and digits with the joints between them that are kept."""
    joints: dict[str, str] = {"aa": APOSTROPHES}
    for shape in kept:
        if len(shape) == 3 and shape[0] in "a9" and shape[2] in "a9":
            sides = shape[0] + shape[2]
            joints[sides] = joints.get(sides, "") + regex.escape(shape[1])
    side = {"a": r"[\p{L}\p{M}\p{Cf}]", "9": r"\p{N}"}
    ways = [
        rf"(?<={side[sides[0]]})[{marks}](?={side[sides[1]]})" for sides, marks in joints.items()
    ]
    dollar = r"|(?<=\p{Lu})[$]" if "a$" in kept else ""
    return rf"{_BODY}++(?:(?:{'|'.join(ways)}){_BODY}++)*+(?:(?!){dollar})?"


def _edges(kept: set[str], *, before: bool) -> str:
    """Marks that are kept at the end of a word (`before`) or at its start, with what is beside."""
    side = {"a": r"[\p{L}\p{M}]", "9": r"\p{N}"}
    ways = ["(?!)"]
    for shape in sorted(kept):
        if len(shape) == 2 and before and shape[0] in side and shape[1] not in "a9.":
            # Full stops depend on more than what is before them.
            ways.append(rf"(?<={side[shape[0]]}){regex.escape(shape[1])}")
        elif len(shape) == 2 and not before and shape[1] in side:
            ways.append(rf"{regex.escape(shape[0])}{side[shape[1]]}")
    return "|".join(ways)


def _address_end(text: str, start: int, end: int) -> int:
    """The end of an address, without the punctuation of the sentence around it."""
    n_unmatched = text.count(")", start, end) - text.count("(", start, end)
    while end > start + 1 and text[end - 1] in _TRAILING:
        if text[end - 1] == ")":
            if n_unmatched <= 0:
                break
            n_unmatched -= 1
        end -= 1
    return end


def _is_fraction(word: str) -> bool:
    """Whether a word is a fraction of less than one, such as ``3/4``."""
    if _FRACTION.fullmatch(word) is None:
        return False
    numerator, denominator = word.split("/")
    return int(numerator) < int(denominator)


def _is_fraction_in(text: str, start: int, end: int) -> bool:
    """Whether a part of a text is a fraction, and not of a date or a path."""
    beside = text[start - 1 : start] + text[end : end + 1]
    return end - start <= 6 and "/" not in beside and _is_fraction(text[start:end])


def _is_last(text: str, place: int, last: int) -> bool:
    """Whether the full stop at a place ends its sentence: but for closing marks nothing follows."""
    at = place + 1
    while at < last and (text[at].isspace() or text[at] in "\"'’”»)]}"):
        at += 1
    return at >= last


def _whole_graphemes(
    text: str, start: int, end: int, spans: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The spans, those joined that part a grapheme."""
    allowed = {match.end() for match in _GRAPHEME.finditer(text, start, end)}
    joined: list[tuple[int, int]] = []
    first = start
    for _, stop in spans:
        if stop in allowed or stop == end:
            joined.append((first, stop))
            first = stop
    return joined


_QUOTES = {mark: pairs for pairs in (SINGLE, DOUBLE) for pair in pairs for mark in pair}
_OTHERS = {mark: family for family in (DASHES, DOTS) for mark in family}


@lru_cache(maxsize=64)
def _writer(scheme: TokenisationScheme) -> _Writer:
    return _Writer(scheme)


class _Writer:
    """What writes words as a treebank does: quotes, dashes, dots, words that stand for several."""

    def __init__(self, scheme: TokenisationScheme) -> None:
        self._known = known = frozenset(scheme.marks)
        self._straight = "’" not in known and "'" in known
        self._contracted = {key: parts for key, *parts in scheme.contracted}
        # The most frequent of each family; of pairs, both sides count.
        rank = {mark: place for place, mark in enumerate(scheme.marks)}
        double = min(
            (pair for pair in DOUBLE if known.issuperset(pair)),
            key=lambda pair: max(rank[pair[0]], rank[pair[1]]),
            default=None,
        )
        # Single quotes are directed where double ones are.
        single = [pair for pair in SINGLE if known.issuperset(pair)]
        if double is not None and double[0] == double[1]:
            single.sort(key=lambda pair: pair[0] != pair[1])
        self._pairs = {DOUBLE: double, SINGLE: next(iter(single), None)}
        self._other = {
            family: next((mark for mark in scheme.marks if mark in family), None)
            for family in (DASHES, DOTS)
        }

    def written(self, text: str, spans: list[tuple[int, int]]) -> list[Token]:
        tokens: list[Token] = []
        n_open = 0
        for start, end in spans:
            word = text[start:end]
            if word in _QUOTES:
                pairs = _QUOTES[word]
                opens = _is_opening(text, start, end, n_open)
                n_open += (1 if opens else -1) if pairs is DOUBLE else 0
                pair = self._pairs[pairs]
                if word not in self._known and pair is not None:
                    word = pair[0] if opens else pair[1]
            elif word in _OTHERS:
                # Between letters a hyphen is none of the dashes.
                if word not in self._known and (word != "-" or _is_apart(text, start, end)):
                    word = self._other[_OTHERS[word]] or word
            elif self._straight and "’" in word and len(word) > 1:
                word = word.replace("’", "'")
            parts = self._contracted.get(word.lower()) if self._contracted else None
            if parts is None:
                tokens.append(Token(word, start, end))
            elif sum(map(len, parts)) == end - start and "".join(parts) == word.lower():
                for part in parts:
                    tokens.append(Token(text[start : start + len(part)], start, start + len(part)))
                    start += len(part)
            else:
                tokens += [Token(part, start, end) for part in _like(word, parts)]
        return tokens


def _like(word: str, parts: list[str]) -> list[str]:
    """Parts with the capitals of the word that they stand for."""
    if word.isupper() and len(word) > 1:
        return [part.upper() for part in parts]
    if word[0].isupper():
        return [parts[0][:1].upper() + parts[0][1:], *parts[1:]]
    return parts


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether white space is on both sides, or nothing."""
    return text[max(0, start - 1) : start].strip() == text[end : end + 1].strip() == ""


def _is_opening(text: str, start: int, end: int, n_open: int) -> bool:
    """Whether a quote begins what it quotes: by what is beside it, else by what is open."""
    word = text[start:end]
    if word in _OPEN:
        return word != "“" or n_open <= 0  # which also closes what „ opens
    if word in _CLOSE:
        return word == "»" and n_open <= 0
    left = start == 0 or text[start - 1].isspace() or text[start - 1] in _OPENERS
    right = end == len(text) or text[end].isspace()
    if left != right:
        return left
    return n_open <= 0
