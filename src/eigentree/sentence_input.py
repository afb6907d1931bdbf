"""Sentences as callers pass them: normalised, checked, tagged, and split for the parser.

A sentence is text, a list of words, or pairs of a word and its tag.  `normalise` turns all of
these into words and tags, `prepare` checks them and tags words that have no tags, and
`split_long` cuts sentences that are too long for a chart.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from eigentree._core.arguments import check_type
from eigentree._core.printable import shown
from eigentree.errors import SettingsError
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.sentences import split_text
from eigentree.tokenisation.words import tokenise
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.io.sentences import Tag, check_tags, check_words

if TYPE_CHECKING:
    from eigentree.words.tagger import Tagger, TagProbability

Result = TypeVar("Result")

# Tags that the tagger finds less probable than this stay out of the chart.
MIN_TAG_PROBABILITY = 0.01
# A piece of at least this many words is split again when memory runs out.
MIN_SPLIT = 4
# Pieces of very long sentences have at least this many words, unless max_words is less.
MIN_PIECE = 20
# Longer sentences are tagged, but not parsed.
MAX_PARSED = 50_000

# The characters of each word, half-open.
Offsets = tuple[tuple[int, int], ...]
# A sentence as text, its words, or its words each with a tag.
Words = str | Sequence[str] | Sequence[tuple[str, Tag]]
# One of many sentences: text, a list of words, or a pair of words and tags or None, which may be
# followed by constraints.
SentenceLike = (
    str
    | list[str]
    | list[tuple[str, Tag]]
    | tuple[Words, Sequence[Tag] | None]
    | tuple[Words, Sequence[Tag] | None, Constraints | None]
)


class PreparedSentence(NamedTuple):
    """A checked sentence, ready to be parsed.

    Attributes
    ----------
    words
    tags
        The given ones, or the best of several; None where neither the caller nor a tagger has any.
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

    def part(self, start: int, end: int) -> PreparedSentence:
        """Some of its words; constraints apply to all words, so a proper part has none."""
        words, tags, guesses, _ = self
        if end - start == len(words):
            return self
        return PreparedSentence(
            words[start:end], tags and tags[start:end], guesses and guesses[start:end]
        )

    def under(self, constraints: Constraints) -> PreparedSentence:
        """The sentence with constraints, whose tags replace given and guessed ones."""
        words, tags, guesses, _ = self
        fixed = constraints.tags
        tags = tags and [fixed.get(place, tag) for place, tag in enumerate(tags)]
        guesses = guesses and [
            None if place in fixed else guess for place, guess in enumerate(guesses)
        ]
        return PreparedSentence(words, tags, guesses, constraints or None)


class RawInput(NamedTuple):
    """A sentence before it is checked: its words, and perhaps tags and character offsets."""

    words: Sequence[str]
    tags: Sequence[Tag] | None
    offsets: Offsets | None


def normalise(
    words: Words, tags: Sequence[Tag] | None, scheme: Callable[[], TokenisationScheme]
) -> RawInput:
    """The words and tags of a sentence given as text, as words or as words with tags.

    Parameters
    ----------
    words
        Text is one sentence, split into words by the scheme.
    tags
        None for text and for words with tags.
    scheme
        Gives the tokenisation scheme; called only for text.

    Warns
    -----
    UserWarning
        When the text has several sentences by the scheme.

    Raises
    ------
    SettingsError
        When there are tags for text or for words that have some.
    """
    if isinstance(words, str):
        if tags is not None:
            raise SettingsError("tags are given for a text; give its words, one for each tag")
        tokens = tokenise(words, scheme())
        n_sentences = len(split_text(words, scheme()))
        if n_sentences > 1:
            warnings.warn(
                f"the text has {n_sentences} sentences but is parsed as one; parse_text gives a "
                "result for each",
                stacklevel=3,
            )
        offsets = tuple((token.start, token.end) for token in tokens)
        return RawInput([token.text for token in tokens], None, offsets)
    if not isinstance(words, Iterable):
        return RawInput(words, tags, None)  # refused where words are checked
    listed: list[Any] = list(words)
    if listed and all(isinstance(each, tuple) and len(each) == 2 for each in listed):
        if tags is not None:
            raise SettingsError("tags are given twice: with the words and besides them")
        return RawInput([word for word, _ in listed], [tag for _, tag in listed], None)
    return RawInput(listed, tags, None)


def checked_sentences(sentences: Iterable[SentenceLike]) -> Iterator[SentenceLike]:
    """An iterator over many sentences.

    Raises
    ------
    TypeError
        When `sentences` is a string or not iterable.
    """
    if isinstance(sentences, str):
        raise TypeError(
            "sentences must be a list of sentences (got one string); parse_text splits a text"
        )
    if not isinstance(sentences, Iterable):
        raise TypeError(
            "sentences must be a list of sentences (got "
            f"{type(sentences).__name__} {shown(sentences)})"
        )
    return iter(sentences)


def unpack(sentence: SentenceLike) -> tuple[Words, Sequence[Tag] | None, Constraints | None]:
    """The words, tags and constraints of one of many sentences.

    Raises
    ------
    TypeError
        When it is neither text nor a list nor a pair.
    """
    if isinstance(sentence, str | list):
        return sentence, None, None
    value: Any = sentence  # callers may ignore the annotation
    if not (isinstance(value, tuple) and len(value) in (2, 3)):
        raise TypeError(
            f"a sentence must be text, a list of words, or a pair of words and tags (got "
            f"{type(value).__name__} {shown(value)})"
        )
    words, tags, *constraints = sentence
    return words, tags, constraints[0] if constraints else None


def prepare(
    words: Sequence[str],
    tags: Sequence[Tag] | None,
    tagger: Tagger | None,
    known: Collection[str] | None = None,
) -> PreparedSentence:
    """Check a sentence, and tag it if it has no tags.

    Parameters
    ----------
    words
    tags
        One for each word, or several with weights.
    tagger
        Used where there are no tags.
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
            return PreparedSentence(words, None)
        if len(words) > MAX_PARSED:
            return PreparedSentence(words, tagger.tag(words))
        guesses = tagger.marginals(words, minimum=MIN_TAG_PROBABILITY)
        return PreparedSentence(words, tagger.tag(words), [*guesses])
    several = check_tags(tags, len(words), known)
    best = [tag if isinstance(tag, str) else max(tag, key=tag.__getitem__) for tag in several]
    if all(isinstance(tag, str) for tag in several):
        return PreparedSentence(words, best)
    weighted = [None if isinstance(tag, str) else _probabilities(tag) for tag in several]
    return PreparedSentence(words, best, weighted)


def _probabilities(weights: Mapping[str, float]) -> list[TagProbability]:
    """Weights as probabilities, which sum to 1."""
    from eigentree.words.tagger import TagProbability

    total = sum(weights.values())
    return [TagProbability(tag, weight / total) for tag, weight in weights.items()]


def effective_constraints(
    constraints: Constraints, sentence: PreparedSentence, wrapper: str | None
) -> Constraints:
    """The constraints without a required wrapper, which every printed tree has.

    Raises
    ------
    SettingsError
        When one reaches beyond the sentence.
    """
    check_type(constraints, Constraints, "constraints", "Constraints, as of Constraints.of")
    n_words = len(sentence.words)
    constraints.check_length(n_words)
    whole = ("required", 0, n_words, wrapper or "")
    return Constraints(tuple(each for each in constraints.each if each != whole))


def split_long(sentence: PreparedSentence, max_words: int) -> Iterator[PreparedSentence]:
    """A sentence in parts of at most so many words, cut after punctuation where possible.

    A sentence that is short enough is given as it is, constraints included.  The longer a sentence
    is, the shorter are its parts: time grows with the cube of the length of a part, and all of them
    together take about as long as one of `max_words` words.
    """
    return _pieces(sentence, _longest_piece(len(sentence.words), max_words))


def _longest_piece(n_words: int, max_words: int) -> int:
    """The limit for the parts of a sentence."""
    if n_words <= max_words:
        return max_words
    return min(max_words, max(int(max_words * math.sqrt(max_words / n_words)), MIN_PIECE))


def _pieces(sentence: PreparedSentence, max_words: int) -> Iterator[PreparedSentence]:
    start = 0
    while start < len(sentence.words):
        end = _piece_end(sentence.words, start, max_words)
        yield sentence.part(start, end)
        start = end


def _piece_end(words: list[str], start: int, max_words: int) -> int:
    """Where to cut: after the last token without letters or digits in the second half, if any."""
    end = min(start + max_words, len(words))
    if end < len(words):
        for cut in range(end, start + max_words // 2, -1):
            if not any(character.isalnum() for character in words[cut - 1]):
                return cut
    return end


def parse_split(
    sentence: PreparedSentence,
    max_words: int,
    parse: Callable[[PreparedSentence], Result],
    join: Callable[[list[Result]], Result],
    flat: Callable[[PreparedSentence], Result],
) -> Result:
    """Parse a sentence whole, or in parts where it is too long for `max_words` or for memory.

    Parameters
    ----------
    sentence
        At least one word.
    max_words
        Of a piece; halved as long as memory runs out and pieces of two words are left.
    parse
        Parses a piece; gets `sentence` itself where it is parsed whole.
    join
        Makes one result of those of the pieces, in order.
    flat
        Makes the result of a sentence of more than `MAX_PARSED` words.

    Raises
    ------
    MemoryError
        When even the smallest pieces need too much.
    """
    if len(sentence.words) > MAX_PARSED:
        return flat(sentence)
    longest = min(_longest_piece(len(sentence.words), max_words), len(sentence.words))
    while True:
        try:
            if len(sentence.words) <= longest:
                return parse(sentence)
            return join([parse(piece) for piece in _pieces(sentence, longest)])
        except MemoryError:
            # Charts grow faster than the length, so smaller ones may still fit.
            if longest < MIN_SPLIT:
                raise
            longest //= 2
