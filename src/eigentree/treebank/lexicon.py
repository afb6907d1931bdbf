"""The known words of a grammar, and the classes that replace unknown ones.

A word seen more than ``rare_threshold`` times in training is known by itself.  Any other
word, in training and in parsing alike, is replaced by a class made from its shape, so that
the grammar has real estimates for unknown words.  Classes are learned from the rare words:
capital letters, digits, hyphens and the longest suffix that enough rare words share; a
class with too few rare words falls back to a coarser one.  At the start of a sentence a
capitalised word that is rare there counts as its lower-case form when that is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from eigentree.errors import GrammarError, check_range

# No word of a treebank holds a blank, so class names can't clash with words.
UNKNOWN = "< >"


@dataclass(frozen=True)
class LexiconOptions:
    """How rare words are classed.

    Attributes
    ----------
    rare_threshold
        Words seen at most this often are replaced by their class.
    suffix_length
        Longest suffix that may name a class; 0 leaves suffixes out.
    shapes
        Whether capitals, digits and hyphens name classes.
    class_minimum
        Rare words (tokens) that a class needs to exist.
    """

    rare_threshold: int = 5
    suffix_length: int = 0
    shapes: bool = False
    class_minimum: int = 20

    def __post_init__(self) -> None:
        check_range(
            0,
            rare_threshold=self.rare_threshold,
            suffix_length=self.suffix_length,
            class_minimum=self.class_minimum,
        )


@dataclass(frozen=True)
class Lexicon:
    """Words and word classes, numbered.

    ``entries`` holds the known words, then the classes; ``UNKNOWN`` is always one of them.
    """

    entries: tuple[str, ...]
    options: LexiconOptions
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_numbers", {entry: number for number, entry in enumerate(self.entries)}
        )
        if len(self._numbers) < len(self.entries) or UNKNOWN not in self._numbers:
            raise GrammarError(
                f"the lexicon has a duplicate entry or lacks {UNKNOWN!r}, that of unknown words"
            )

    @classmethod
    def learn(
        cls, sentences: Iterable[Sequence[str]], options: LexiconOptions = LexiconOptions()
    ) -> Lexicon:
        """The lexicon of a corpus of tokenised sentences."""
        counts = Counter(word for sentence in sentences for word in sentence)
        known = {word for word, count in counts.items() if count > options.rare_threshold}
        classes: Counter[str] = Counter()
        for word, count in counts.items():
            if word not in known:
                for name in _class_names(word, options):
                    classes[name] += count
        frequent = {name for name, count in classes.items() if count >= options.class_minimum}
        return cls((*sorted(known), *sorted(frequent | {UNKNOWN})), options)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def unknown(self) -> int:
        """The entry for words without a more specific class."""
        return self._numbers[UNKNOWN]

    def ids(self, words: Sequence[str]) -> list[int]:
        """The entry for each word of a sentence (its position matters for capitals)."""
        return [self._id(word, initial=position == 0) for position, word in enumerate(words)]

    def _id(self, word: str, *, initial: bool) -> int:
        numbers = self._numbers
        known = numbers.get(word)
        if known is not None:
            return known
        if initial and word[:1].isupper():
            known = numbers.get(word.lower())
            if known is not None:
                return known
        for name in _class_names(word, self.options):
            known = numbers.get(name)
            if known is not None:
                return known
        return numbers[UNKNOWN]


def _class_names(word: str, options: LexiconOptions) -> list[str]:
    """Names of the classes of a word, the most specific first, `UNKNOWN` last."""
    shape = _shape(word) if options.shapes else ""
    names = []
    if not any(character.isdigit() for character in word):
        longest = min(options.suffix_length, len(word) - 2)
        names = [f"< {shape} -{word[-size:].lower()}>" for size in range(longest, 0, -1)]
    if shape:
        names.append(f"< {shape}>")
    return [*names, UNKNOWN]


def _shape(word: str) -> str:
    marks = []
    if any(character.isdigit() for character in word):
        marks.append("digits" if not any(c.isalpha() for c in word) else "digit")
    elif not any(character.isalpha() for character in word):
        marks.append("sign")
    if word[:1].isupper():
        marks.append("CAPITALS" if word.isupper() and len(word) > 1 else "Capital")
    elif any(character.isupper() for character in word):
        marks.append("mixedCase")
    if "-" in word[1:]:
        marks.append("hyphen")
    return " ".join(marks) or "lower"
