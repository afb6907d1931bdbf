"""Sentences as somebody gave them, checked, tagged and cut into pieces for the parser."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentree.constituency.calibration import Calibration, Calibrations
from eigentree.errors import SettingsError
from eigentree.tokenisation.scheme import TokenConvention
from eigentree.tokenisation.words import tokenise
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.io.sentences import Tag, check_tags, check_words

if TYPE_CHECKING:
    from eigentree.words.tagger import Tagger, TagProbability

# Tags that the tagger finds less probable than this stay out of the chart.
LEAST_TAG = 0.01


# The characters of each word, half-open.
Offsets = tuple[tuple[int, int], ...]
# A sentence as text, or its words, or each with its tag.
Words = str | Sequence[str] | Sequence[tuple[str, Tag]]


class Sentence(NamedTuple):
    """A sentence on its way through the parser.

    Attributes
    ----------
    words
    tags
        Given ones, and the best of those of which there are several; None where nobody has any.
    guesses
        For each word several tags with their probabilities, or None where its tag is given;
        None where all are.
    constraints
    """

    words: list[str]
    tags: list[str] | None
    guesses: list[list[TagProbability] | None] | None = None
    constraints: Constraints | None = None

    @property
    def given(self) -> list[str | None]:
        """For each word the tag that it has in any tree; None where the search finds one."""
        if self.tags is None:
            return [None] * len(self.words)
        guesses = self.guesses or repeat(None)
        return [None if guess else tag for tag, guess in zip(self.tags, guesses, strict=False)]

    def part(self, start: int, end: int) -> Sentence:
        """Some of its words; constraints speak of all, so only all of them keep these."""
        words, tags, guesses, _ = self
        if end - start == len(words):
            return self
        return Sentence(words[start:end], tags and tags[start:end], guesses and guesses[start:end])

    def under(self, constraints: Constraints) -> Sentence:
        """The sentence with constraints, whose tags take the place of given and guessed ones."""
        words, tags, guesses, _ = self
        fixed = constraints.tags
        tags = tags and [fixed.get(place, tag) for place, tag in enumerate(tags)]
        guesses = guesses and [
            None if place in fixed else guess for place, guess in enumerate(guesses)
        ]
        return Sentence(words, tags, guesses, constraints or None)


Given = (
    str
    | tuple[Words, Sequence[Tag] | None]
    | tuple[Words, Sequence[Tag] | None, Constraints | None]
)


class Said(NamedTuple):
    """What somebody said of a sentence: its words, and perhaps tags and where they stand."""

    words: Sequence[str]
    tags: Sequence[Tag] | None
    offsets: Offsets | None


def said(
    words: Words, tags: Sequence[Tag] | None, convention: Callable[[], TokenConvention]
) -> Said:
    """The words of a sentence that came as text, as words or as words with tags.

    Parameters
    ----------
    words
        Text is one sentence, cut into words by the convention.
    tags
        None where words are text or have tags beside them.
    convention
        Asked for text alone.

    Raises
    ------
    SettingsError
        When there are tags for text or for words that have some.
    """
    if isinstance(words, str):
        if tags is not None:
            raise SettingsError("tags are given for a text; give its words, one for each tag")
        tokens = tokenise(words, convention())
        offsets = tuple((token.start, token.end) for token in tokens)
        return Said([token.text for token in tokens], None, offsets)
    if not isinstance(words, Iterable):
        return Said(words, tags, None)  # refused where words are checked
    listed: list[Any] = list(words)
    if listed and all(isinstance(each, tuple) and len(each) == 2 for each in listed):
        if tags is not None:
            raise SettingsError("tags are given twice: with the words and besides them")
        return Said([word for word, _ in listed], [tag for _, tag in listed], None)
    return Said(listed, tags, None)


def each_of(sentences: Iterable[Given]) -> Iterator[Given]:
    """Many sentences one by one.

    Raises
    ------
    TypeError
        When they are one text, whose characters nobody wants to parse, or nothing to go through.
    """
    if isinstance(sentences, str):
        raise TypeError(
            "sentences is one string; a list of sentences is expected, or else ask parse_text"
        )
    if not isinstance(sentences, Iterable):
        raise TypeError(f"sentences is {sentences!r}; a list of sentences is expected")
    return iter(sentences)


def parts_of(sentence: Given) -> tuple[Words, Sequence[Tag] | None, Constraints | None]:
    """One of many sentences as somebody gave them: words, tags or None, and perhaps constraints.

    Raises
    ------
    TypeError
        When it is neither a text nor a pair, but perhaps a list of words alone.
    """
    if isinstance(sentence, str):
        return sentence, None, None
    given: Any = sentence  # whatever the annotation says
    if not (isinstance(given, tuple) and len(given) in (2, 3)):
        raise TypeError(
            f"a sentence is {type(sentence).__name__} {str(sentence)[:40]!r}; a pair of a list of "
            "words and their tags or None is expected"
        )
    words, tags, *constraints = sentence
    return words, tags, constraints[0] if constraints else None


def sentence_of(
    words: Sequence[str],
    tags: Sequence[Tag] | None,
    tagger: Tagger | None,
    known: Collection[str] | None = None,
) -> Sentence:
    """A sentence as somebody gave it, checked, and tagged where it came without tags.

    Parameters
    ----------
    words
    tags
        One for each word, or several with weights.
    tagger
        Asked where there are no tags.
    known
        As of `eigentree.treebank.io.sentences.check_tags`.

    Raises
    ------
    TypeError, SettingsError
        As of `check_words` and `check_tags` in `eigentree.treebank.io.sentences`.
    """
    words = check_words(words)
    if tags is None:
        if not words or tagger is None:
            return Sentence(words, None)
        guesses = tagger.marginals(words, minimum=LEAST_TAG)
        return Sentence(words, tagger.tag(words), [*guesses])
    several = check_tags(tags, len(words), known)
    best = [tag if isinstance(tag, str) else max(tag, key=tag.__getitem__) for tag in several]
    if all(isinstance(tag, str) for tag in several):
        return Sentence(words, best)
    return Sentence(words, best, [None if isinstance(tag, str) else _guess(tag) for tag in several])


def _guess(weights: Mapping[str, float]) -> list[TagProbability]:
    """Weights as probabilities, which sum to 1."""
    from eigentree.words.tagger import TagProbability

    total = sum(weights.values())
    return [TagProbability(tag, weight / total) for tag, weight in weights.items()]


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


def calibration_for(tags: Sequence[Tag] | None, known: Calibrations) -> Calibration | None:
    """The calibration for a sentence that came with these tags, if there is one.

    There is none for weights: how often such parses are right depends on where these come from.
    """
    if tags is None:
        return known.get("untagged")
    return known.get("tagged") if all(isinstance(tag, str) for tag in tags) else None


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
