"""Sentences as somebody gave them, checked, tagged and cut into pieces for the parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from eigentree.calibration import Way
from eigentree.corpus.constraints import Constraints
from eigentree.corpus.trees import FORBIDDEN_IN_LABEL, SEPARATORS
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.words.tagger import Tagger, TagProbability

# Tags that the tagger finds less probable than this stay out of the chart.
LEAST_TAG = 0.01


class Sentence(NamedTuple):
    """A sentence on its way through the parser; ``tags`` are the tagger's best where it guesses."""

    words: list[str]
    tags: list[str] | None
    guesses: list[list[TagProbability]] | None = None
    constraints: Constraints | None = None

    def part(self, start: int, end: int) -> Sentence:
        """Some of its words; constraints speak of all, so only all of them keep these."""
        words, tags, guesses, _ = self
        if end - start == len(words):
            return self
        return Sentence(words[start:end], tags and tags[start:end], guesses and guesses[start:end])

    def under(self, constraints: Constraints) -> Sentence:
        """The sentence with constraints, whose tags take the place of given and guessed ones."""
        from eigentree.words.tagger import TagProbability

        words, tags, guesses, _ = self
        fixed = constraints.tags
        tags = tags and [fixed.get(place, tag) for place, tag in enumerate(tags)]
        guesses = guesses and [
            [TagProbability(fixed[place], 1.0)] if place in fixed else guess
            for place, guess in enumerate(guesses)
        ]
        return Sentence(words, tags, guesses, constraints or None)


Given = (
    tuple[Sequence[str], Sequence[str] | None]
    | tuple[Sequence[str], Sequence[str] | None, Constraints | None]
)


def parts_of(sentence: Given) -> tuple[Sequence[str], Sequence[str] | None, Constraints | None]:
    """One of many sentences as somebody gave them: words, tags or None, and perhaps constraints.

    Raises
    ------
    TypeError
        When it is no pair, but perhaps the words alone.
    """
    if not isinstance(sentence, tuple):
        raise TypeError(
            f"a sentence is {type(sentence).__name__} {str(sentence)[:40]!r}; a pair of a list of "
            "words and their tags or None is expected"
        )
    words, tags, *constraints = sentence
    return words, tags, constraints[0] if constraints else None


def sentence_of(
    words: Sequence[str], tags: Sequence[str] | None, tagger: Tagger | None
) -> Sentence:
    """A sentence as somebody gave it, checked, and tagged where it came without tags.

    Raises
    ------
    TypeError
        When words or tags are one string, or not all of them strings.
    SettingsError
        When there are more or fewer tags than words, or one is nothing that a tree can hold.
    """
    words = _strings(words, "words")
    if any(not word or any(mark in word for mark in SEPARATORS) for word in words):
        raise SettingsError(f"a word of {words!r} is empty or holds white space; split it")
    if tags is not None:
        tags = _strings(tags, "tags")
        if len(tags) != len(words):
            raise SettingsError(f"there are {len(words)} words but {len(tags)} tags")
        if not all(tag and FORBIDDEN_IN_LABEL.isdisjoint(tag) for tag in tags):
            raise SettingsError(f"a tag of {tags!r} is empty or holds white space or brackets")
    if not words or tags is not None or tagger is None:
        return Sentence(words, tags)
    return Sentence(words, tagger.tag(words), tagger.marginals(words, minimum=LEAST_TAG))


def wanted_of(constraints: Constraints, sentence: Sentence, wrapper: str | None) -> Constraints:
    """Constraints but for a required wrapper, which every printed tree has.

    Raises
    ------
    SettingsError
        When one reaches beyond the sentence.
    """
    n_words = len(sentence.words)
    constraints.check_length(n_words)
    whole = ("required", 0, n_words, wrapper or "")
    return Constraints(tuple(each for each in constraints.each if each != whole))


def way_of(tags: Sequence[str] | None) -> Way:
    """Which calibration is that of a sentence that came with these tags."""
    return "untagged" if tags is None else "tagged"


def pieces_of(sentence: Sentence, most: int) -> Iterator[Sentence]:
    """A sentence cut into pieces of at most so many words, after punctuation where that can be."""
    start = 0
    while start < len(sentence.words):
        end = _piece_end(sentence.words, start, most)
        yield sentence.part(start, end)
        start = end


def _piece_end(words: list[str], start: int, most: int) -> int:
    """Where to cut: after the last mark without letters or digits that leaves room, if any."""
    end = min(start + most, len(words))
    if end < len(words):
        for cut in range(end, start + most // 2, -1):
            if not any(character.isalnum() for character in words[cut - 1]):
                return cut
    return end


def _strings(values: Sequence[str], name: str) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{name} is one string; a list of {name} is expected, as from split()")
    values = list(values)
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"one of the {name} is {value!r}; all must be strings")
    return values
