"""How a treebank cuts text into words, inferred from its words.

Treebanks differ in what they take for a word: the Penn Treebank keeps ``well-known`` whole and
writes quotes as `````` and ``''``; others cut at hyphens and keep quotes as they are.  A parser
knows only the words of its own treebank, so text must be cut in the same way.

A *joint* is a place in a word where letters meet other characters, described by its shape: ``a-a``
is a hyphen between letters, ``9,9`` a comma between digits, ``9%`` a per cent sign after a digit. A
joint is kept where the treebank has more words with that shape in them than places where the parts
are adjacent words. Where the treebank has no evidence, the mode decides: ``penn`` for English,
``unicode`` for any other language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, pairwise, repeat
from typing import Any, TypeVar

import regex

from eigentree.errors import SettingsError
from eigentree.tokenisation.english import ABBREVIATIONS, CLITICS, COMMON, DIVIDED, ENGLISH, WHOLE

Key = TypeVar("Key")

APOSTROPHES = "'’"
# Scripts that put no spaces between words.
SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
# Marks that treebanks write in several ways, and that go for one another.
DOUBLE = (("``", "''"), ("“", "”"), ('"', '"'), ("«", "»"), ("„", "“"), ("„", "”"), ("»", "«"))
SINGLE = (("`", "'"), ("‘", "’"), ("‚", "‘"), ("‹", "›"), ("'", "'"), ("’", "’"))
DASHES = ("--", "—", "–", "-")
DOTS = ("...", "…")
MARKS = tuple(dict.fromkeys((*chain(*DOUBLE, *SINGLE), *DASHES, *DOTS)))

_KEPT = {
    mode: tuple(shapes.split())
    for mode, shapes in {
        "penn": "a-a a-9 9-a 9-9 a/a a/9 9/a 9/9 a.a a.9 9.a 9.9 9,9 9:9 a&a a_a a_9 9_a 9_9 a@a "
        "a$ '9 .9 !! #a #9 @a",
        "unicode": "a.a a.9 9.a 9.9 9,9 9:9 a_a a_9 9_a 9_9 a@a a·a .9 !! #a #9 @a",
    }.items()
}
# A mark between words may have spaces round it in the text, and most dashes have.
_SPACED = {**dict.fromkeys("–—/", 0.5), **dict.fromkeys("-:", 0.3), ",": 0.1}
_RUNS = "!!"  # the shape of several exclamation or question marks as one word
FINAL_STOPS = "a.a."  # the shape of an abbreviation that keeps its stop at the end of a sentence
FINAL_STOP = regex.compile(r"\p{L}(?:\.\p{L})+\.")
_LEAST_SHARE = 0.2
_LEAST_SEEN = 3  # times, of a shape or a clitic, to go by it
_CLOSING = frozenset(("''", '"', "'", "”", "’", "»", ")", "]", "-RRB-", "-RSB-"))
_LONGEST_END = 5  # words, with closing marks
_MOST_WHOLE = 3000
_MOST_SPACELESS = 20_000
_MOST_COMMON = 100
_TYPES_OF_PREFIX = 3
_LONGEST_UNIT = 3

_SHAPE = regex.compile(r"(?=(?:^|(?<=([\p{L}\p{M}])|(\p{N})))([^\p{L}\p{M}\p{N}\s])"
                       r"(?:$|(?=([\p{L}\p{M}])|(\p{N}))))")  # fmt: skip
_INNER = regex.compile(r"[\p{L}\p{M}\p{N}]([^\p{L}\p{M}\p{N}\s])(?=[\p{L}\p{M}\p{N}])")
_ABBREVIATION = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:[.-]\p{L}[\p{L}\p{M}]*)*\.")
_ADDRESS = regex.compile(r"://|www\.|@|\.\p{L}+/")
_ENCLITIC = regex.compile(r"(?:n['’]t|['’][\p{L}\p{M}]+|-[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)?)")
_PROCLITIC = regex.compile(r"[\p{L}\p{M}]+['’]")
_SPACELESS_WORD = regex.compile(rf"[{SPACELESS}]+")
_NESTED = ("divided", "contracted")
_MODES = ("penn", "unicode")


@dataclass(frozen=True)
class TokenisationScheme:
    """What a treebank takes for a word.

    Attributes
    ----------
    mode
        ``penn`` for English; ``unicode`` for words by Unicode's properties; ``spacy:de`` and the
        like for the rules of a blank spaCy pipeline of that language, which leaves the rest of
        this aside but `marks`.
    kept
        Shapes of joints that stay inside a word, see the module's description; ``a.a.`` where
        abbreviations such as ``U.S.`` keep their full stop even at the end of a sentence.
    before, after
        Clitics that are words of their own at the start or end of another, such as ``l'`` and
        ``n't``; in lower case with straight apostrophes.
    divided
        Words that are cut though nothing shows where, with their parts: ``cannot``.
    contracted
        Words that stand for others, which aren't cut from them: French ``du`` for ``de le``.
        All of these have its characters.
    whole
        Words that are kept though their joints aren't.
    prefixes
        What keeps a hyphen after it where other words don't.
    units
        Words that are cut off the digits before them: ``am`` in ``8am``.
    abbreviations
        Words that keep their full stop, which is part of them here.
    common
        Words that show by their capital that a sentence begins.
    marks
        Of quotes, dashes and dots those that the treebank has; others are written as these.
    spaceless
        Words of scripts without spaces: the longest counts that begins at a place, and what is
        between two of them is one word.
    """

    mode: str = "penn"
    kept: tuple[str, ...] = _KEPT["penn"]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = CLITICS
    divided: tuple[tuple[str, ...], ...] = DIVIDED
    contracted: tuple[tuple[str, ...], ...] = ()
    whole: tuple[str, ...] = WHOLE
    prefixes: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    abbreviations: tuple[str, ...] = ABBREVIATIONS
    common: tuple[str, ...] = COMMON
    marks: tuple[str, ...] = ()
    spaceless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in _MODES and not self.mode.startswith("spacy:"):
            raise SettingsError(
                f"there is no tokeniser {self.mode!r}; known are penn, unicode, and spacy: with a "
                "language, such as spacy:de"
            )

    @classmethod
    def of_mode(cls, mode: str) -> TokenisationScheme:
        """The scheme of a mode, by which nothing was read off words.

        Raises
        ------
        SettingsError
            For a mode that doesn't exist.
        """
        if mode == "penn":
            return cls()
        return cls(
            mode, _KEPT["unicode"], after=(), divided=(), whole=(), abbreviations=(), common=()
        )  # fmt: skip

    @classmethod
    def of_words(
        cls,
        sentences: Iterable[Sequence[str]],
        spaces: Iterable[Sequence[bool]] | None = None,
    ) -> TokenisationScheme:
        """The scheme by which sentences were cut into words.

        Parameters
        ----------
        sentences
            The words of each, in the order of the text.
        spaces
            Where that is known, whether a space followed each word.

        Cost
        ----
        Linear in the words.
        """
        return _read_off(_Seen.of(sentences, spaces))

    @classmethod
    def of_lexicon(cls, entries: Iterable[str]) -> TokenisationScheme:
        """The scheme of which no more is known than some words of the treebank, once each."""
        return cls.of_words([entry] for entry in entries if " " not in entry)

    def with_mode(self, mode: str) -> TokenisationScheme:
        """The scheme in another mode, with what it knows of the treebank."""
        if mode == self.mode:
            return self
        if mode.startswith("spacy:"):
            return replace(self, mode=mode)
        return replace(type(self).of_mode(mode), marks=self.marks)

    def to_json(self) -> dict[str, Any]:
        """As the header of a model file has it."""
        lists: dict[str, Any] = {}
        for name, value in asdict(self).items():
            nested = name in _NESTED
            lists[name] = value if name == "mode" else [list(v) if nested else v for v in value]
        return lists

    @classmethod
    def from_json(cls, stored: Any) -> TokenisationScheme:
        """From what `to_json` gave, after a way through JSON.

        Raises
        ------
        SettingsError
            When it is something else.
        """
        names = {each.name for each in fields(cls)}
        if not isinstance(stored, Mapping) or not stored.keys() <= names:
            raise SettingsError(f"a scheme of words has the keys {', '.join(sorted(names))}")
        given: dict[str, Any] = {}
        for name, value in stored.items():
            if name == "mode":
                given[name] = str(value)
            elif not isinstance(value, list | tuple):
                raise SettingsError(f"{name} of a scheme of words is {value!r}; a list is due")
            elif name in _NESTED and not all(isinstance(each, list | tuple) for each in value):
                what = f"{name} of a scheme of words is {value!r}; a list of lists is due"
                raise SettingsError(what)
            elif name in _NESTED:
                given[name] = tuple(tuple(map(str, each)) for each in value)
            else:
                given[name] = tuple(map(str, value))
        return cls(**given)


def scheme_of_parser(description: Mapping[str, Any], entries: Iterable[str]) -> TokenisationScheme:
    """The scheme in a parser's description, or one inferred from its lexicon."""
    stored = description.get("text")
    if stored is None:
        return TokenisationScheme.of_lexicon(entries)
    return TokenisationScheme.from_json(stored)


@dataclass(frozen=True)
class _Seen:
    """What the words of a treebank say.

    Attributes
    ----------
    words
        How often each was seen.
    inside
        How often a shape was seen in a word.
    across
        How often a shape was seen where its parts were adjacent words.
    joined
        How often two words were adjacent, by the word that they would form; of those
        that may be clitics alone.
    after_digits
        How often a word followed a number.
    exact
        Whether only what was joined in the text was counted as beside one another.
    """

    words: Counter[str]
    inside: Counter[str]
    across: Counter[str]
    joined: Counter[str]
    after_digits: Counter[str]
    exact: bool

    @classmethod
    def of(
        cls, sentences: Iterable[Sequence[str]], spaces: Iterable[Sequence[bool]] | None
    ) -> _Seen:
        seen = cls(Counter(), Counter(), Counter(), Counter(), Counter(), spaces is not None)
        # Without spacing information any two words may have been joined in the text.
        for sentence, apart in zip(sentences, spaces or repeat([False]), strict=False):
            seen.add(sentence, apart if len(apart) == len(sentence) else [False] * len(sentence))
        for word, count in seen.words.items():
            if not _ADDRESS.search(word):
                for shape in set(shapes_in(word)):
                    seen.inside[shape] += count
        return seen

    def add(self, sentence: Sequence[str], apart: Sequence[bool]) -> None:
        """Count a sentence, with for each word whether it was apart from the next in the text."""
        self.words.update(sentence)
        shapes = [_shape_of(word) for word in sentence]
        for place, mark in enumerate(sentence):
            if len(mark) == 1 and not shapes[place]:
                left = shapes[place - 1][-1:] if place and not apart[place - 1] else ""
                has_next = place + 1 < len(shapes) and not apart[place]
                right = shapes[place + 1][:1] if has_next else ""
                for shape in {left + mark + right, left + mark, mark + right} - {mark}:
                    self.across[shape] += 1
        self._add_end([word for word in sentence[-_LONGEST_END:] if word not in _CLOSING])
        for (first, second), is_apart in zip(pairwise(sentence), apart, strict=False):
            if is_apart:
                continue
            if second[:1] in "-'’n" or first[-1:] in APOSTROPHES:
                self.joined[plain(first + second)] += 1
            if first[-1:].isdigit():
                self.after_digits[second.lower()] += 1
            if first == second and first in "!?":
                self.across[_RUNS] += 1

    def _add_end(self, words: Sequence[str]) -> None:
        """Count whether the full stop of an abbreviation at the end of a sentence is a word."""
        if words and FINAL_STOP.fullmatch(words[-1]):
            self.inside[FINAL_STOPS] += 1
        elif words[-1:] == ["."] and FINAL_STOP.fullmatch("".join(words[-2:-1]).rstrip(".") + "."):
            self.across[FINAL_STOPS] += 1


def plain(word: str) -> str:
    """A word in lower case with straight apostrophes."""
    return word.lower().replace("’", "'")


def _shape_of(word: str) -> str:
    """The classes of a word's first and last character; empty for a mark alone."""
    if len(word) == 1 and not word.isalnum():
        return ""
    return _class_of(word[0]) + _class_of(word[-1]) if word else ""


def _class_of(character: str) -> str:
    if character.isalpha():
        return "a"
    return "9" if character.isnumeric() else "."


def shapes_in(word: str) -> list[str]:
    """The shapes of all joints of a word, such as ``a-a`` and ``9%``."""
    if word.isalnum() or len(word) < 2:
        return []
    found = []
    for match in _SHAPE.finditer(word):
        left = "a" if match[1] else "9" if match[2] else ""
        right = "a" if match[4] else "9" if match[5] else ""
        if left or right:
            found.append(left + match[3] + right)
    return found


def _read_off(seen: _Seen) -> TokenisationScheme:
    words = seen.words
    lower = Counter[str]()
    for word, count in words.items():
        lower[plain(word)] += count
    mode = "penn" if sum(word in words for word in ENGLISH) >= len(ENGLISH) / 2 else "unicode"
    start = TokenisationScheme.of_mode(mode)
    kept = _kept(seen, start.kept)
    after = _clitics(lower, _ENCLITIC, start.after, str.endswith)
    before = _clitics(lower, _PROCLITIC, start.before, str.startswith)
    split = tuple(shape for shape in seen.inside if shape not in kept)
    has_clitics = bool(before or after)
    whole = {
        word: count
        for word, count in lower.items()
        if count > seen.joined[word]
        and word not in start.whole
        and len(word) > 1
        and not word.endswith(".")
        and not (_ENCLITIC.fullmatch(word) or _PROCLITIC.fullmatch(word))
        and _INNER.search(word)
        and (any(shape in split for shape in shapes_in(word)) or (has_clitics and "'" in word))
    }
    prefixes = Counter(
        word.split("-", 1)[0] for word in whole if regex.match(r"\p{L}+-\p{L}", word)
    )
    prefixes = prefixes if "a-a" not in kept else Counter()
    abbreviations = [
        word for word in lower if _ABBREVIATION.fullmatch(word) and word not in start.abbreviations
    ]
    units = [
        word
        for word, count in seen.after_digits.items()
        if count >= _LEAST_SEEN and word.isalpha() and 1 < len(word) <= _LONGEST_UNIT
    ]
    glued = {found[1] for word in lower if (found := regex.fullmatch(r"\p{N}+(\p{L}+)", word))}
    lowercase = Counter({w: n for w, n in words.items() if w.isalpha() and w == w.lower()})
    return replace(
        start,
        kept=kept,
        before=before,
        after=after,
        divided=tuple(
            parts for parts in start.divided if lower["".join(parts)] <= lower[parts[0]]
        ),
        whole=(*start.whole, *sorted(_most(whole, _MOST_WHOLE))),
        prefixes=tuple(sorted(w for w, n in prefixes.items() if n >= _TYPES_OF_PREFIX)),
        units=tuple(sorted(set(units) - glued)),
        abbreviations=(*start.abbreviations, *sorted(_most_of(abbreviations, lower, _MOST_WHOLE))),
        common=tuple(dict.fromkeys((*start.common, *sorted(_most(lowercase, _MOST_COMMON))))),
        marks=_marks(words),
        spaceless=tuple(
            sorted(
                _most({w: n for w, n in words.items() if _SPACELESS_WORD.fullmatch(w)},
                      _MOST_SPACELESS)
            )
        ),
    )  # fmt: skip


def _kept(seen: _Seen, default: Sequence[str]) -> tuple[str, ...]:
    """The shapes that are kept: by what was seen where there is enough, else by default."""
    found = set(default)
    if seen.words["!"] and seen.across[_RUNS] > sum(
        seen.words[mark] for mark in ("!!", "!!!", "??")
    ):
        found.discard(_RUNS)
    if seen.inside[FINAL_STOPS] > seen.across[FINAL_STOPS]:
        found.add(FINAL_STOPS)
    for shape in (seen.inside.keys() | seen.across.keys()) - {_RUNS, FINAL_STOPS}:
        mark = shape.strip("a9")
        if shape in ("a.", "a'", "a’", "'a", "’a"):
            continue  # abbreviations and clitics, which have lists of their own
        inside, across = seen.inside[shape], seen.across[shape]
        if len(shape) == 2 and not seen.exact:
            # Beside one word only, a mark mostly has a space between; what is joined must be shown.
            if inside >= _LEAST_SEEN and inside > _LEAST_SHARE * across:
                found.add(shape)
            elif across >= _LEAST_SEEN and mark in "#@":
                found.discard(shape)
        elif max(inside, across) >= _LEAST_SEEN:
            weight = 1.0 if seen.exact else _SPACED.get(mark, 1.0)
            is_kept = inside > weight * across
            (found.add if is_kept else found.discard)(shape)
    return tuple(sorted(found))


def _clitics(
    lower: Counter[str], form: regex.Pattern[str], default: Sequence[str], ends: Any
) -> tuple[str, ...]:
    """Clitics that were seen often, and those of the mode that aren't seen inside words more."""
    found = {word for word, count in lower.items() if count >= _LEAST_SEEN and form.fullmatch(word)}
    for clitic in default:
        if clitic not in found:
            inside = sum(n for word, n in lower.items() if word != clitic and ends(word, clitic))
            if inside <= lower[clitic] or inside < _LEAST_SEEN:
                found.add(clitic)
    return tuple(sorted(found))


def _marks(words: Counter[str]) -> tuple[str, ...]:
    """The marks that the treebank has, as words or, of apostrophes, in them, by frequency."""
    counts = Counter({mark: words[mark] for mark in MARKS})
    for apostrophe in APOSTROPHES:
        counts[apostrophe] = sum(n for w, n in words.items() if apostrophe in w and w != "''")
    return tuple(mark for mark, count in counts.most_common() if count)


def _most(counts: Mapping[Key, float], most: int) -> list[Key]:
    """The keys with the largest counts, among equals those that were seen first."""
    return sorted(counts, key=lambda key: -counts[key])[:most]


def _most_of(words: Iterable[str], counts: Mapping[str, int], most: int) -> list[str]:
    return _most({word: counts[word] for word in words}, most)
