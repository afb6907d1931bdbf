"""Candidate preterminals for the words of a sentence, with their probabilities.

A tagged word may have any preterminal that ends in its tag; a word with several likely tags,
the preterminals of all of them; an untagged word, those of the tags that it was seen with, or, if
none of these gives a parse, also those of unknown words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigentree.constituency.grammar.arrays import LexicalCandidates
from eigentree.constituency.grammar.pcfg import PCFG

# Factor of other tags than the given one when given tags are relaxed, so that as few tags as
# possible change.
OTHER_TAG = 1e-3
_NOTHING = LexicalCandidates(np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int32))


def under_tags(
    grammar: PCFG, words: Sequence[str], tags: Sequence[int], *, free: bool
) -> list[LexicalCandidates]:
    """Preterminals of each word under its given tag, or also under other possible tags.

    Parameters
    ----------
    tags
        Number of each word's tag, -1 for none.
    free
        Whether tagged words may have other tags, at the price `OTHER_TAG`, and untagged words
        the tags that unknown words were seen with.
    """
    numbers = grammar.lexicon.ids(words)
    return [
        _under_tag(grammar, word, tag, free=free) for word, tag in zip(numbers, tags, strict=True)
    ]


def under_guesses(
    grammar: PCFG,
    words: Sequence[str],
    guesses: Sequence[Sequence[tuple[str, float]] | None],
    tags: Sequence[int],
) -> list[LexicalCandidates]:
    """Preterminals of each word under several tags, weighted by their probabilities.

    A preterminal a under tag t weighs q(t) p(w|a) / p(w|t): the tagger, which sees the whole
    sentence, gives the probability of the tag; the grammar only distinguishes between the tag's
    preterminals.  A word whose tags are all unknown to the grammar may have any tag that it was
    seen with.

    Parameters
    ----------
    guesses
        Tags of each word with their probabilities; None for a word with a given tag.
    tags
        Number of each word's tag, -1 for none; for words without guesses.
    """
    table = grammar.words
    candidates: list[LexicalCandidates] = []
    for word, guessed, tag_given in zip(grammar.lexicon.ids(words), guesses, tags, strict=True):
        if guessed is None:
            candidates.append(_under_tag(grammar, word, tag_given, free=False))
            continue
        parts = []
        numbers = grammar.tag_numbers([tag for tag, _ in guessed])
        for tag, (_, probability) in zip(numbers, guessed, strict=True):
            if tag >= 0:
                part = table.candidates(word, tag)
                weight = probability / table.tag_probability(word, tag)
                parts.append(part._replace(probability=weight * part.probability))
        candidates.append(_joined(parts) if parts else _under_tag(grammar, word, -1, free=True))
    return candidates


def under_seen_tags(
    grammar: PCFG, words: Sequence[str], tags: Sequence[int] | None = None
) -> list[LexicalCandidates]:
    """Preterminals of each word under the tags seen with it or with its word class.

    Over all entries of the lexicon these probabilities sum to 1 for each preterminal, so they make
    the grammar a language model; the other functions here allow a word more tags.  A word may have
    no candidates.

    Parameters
    ----------
    tags
        Number of each word's tag, -1 for a tag that the grammar lacks; None for untagged words.  A
        word not seen with its tag is treated as an unknown word of that tag.
    """
    table = grammar.words
    unknown = set(table.tags_of(table.lexicon.unknown))
    candidates = []
    for position, word in enumerate(grammar.lexicon.ids(words)):
        word_tags = table.tags_of(word)
        if tags is not None:
            word_tags = [tags[position]] if tags[position] in unknown.union(word_tags) else []
        candidates.append(_joined([_NOTHING, *(table.candidates(word, tag) for tag in word_tags)]))
    return candidates


def _under_tag(grammar: PCFG, word: int, tag: int, *, free: bool) -> LexicalCandidates:
    table = grammar.words
    if tag >= 0 and not free:
        return table.candidates(word, tag)
    tags = set(table.tags_of(word))
    if free or not tags:
        tags.update(table.tags_of(table.lexicon.unknown))
    tags = tags or set(range(len(table.symbols.tags)))
    parts = [table.candidates(word, other) for other in sorted(tags - {tag})]
    if tag >= 0:
        parts = [part._replace(probability=OTHER_TAG * part.probability) for part in parts]
        parts.append(table.candidates(word, tag))
    return _joined(parts)


def _joined(parts: list[LexicalCandidates]) -> LexicalCandidates:
    return LexicalCandidates(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
