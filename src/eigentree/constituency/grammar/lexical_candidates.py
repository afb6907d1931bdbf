"""Which preterminals may stand over the words of a sentence, and what each is worth.

A word with a given tag may stand under any preterminal that ends in the tag; a word with
several likely tags under those of all of them; a word without a tag under those of the
tags that it was seen with, or, if nothing comes of that, also those of unknown words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigentree.constituency.grammar.arrays import LexicalCandidates
from eigentree.constituency.grammar.pcfg import PCFG

# What another tag than the given one is worth when given tags have to be set aside, so that
# as few as possible are.
OTHER_TAG = 1e-3
_NOTHING = LexicalCandidates(np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int32))


def under_tags(
    grammar: PCFG, words: Sequence[str], tags: Sequence[int], *, free: bool
) -> list[LexicalCandidates]:
    """Preterminals of each word under its given tag, or also under others that it may have.

    Parameters
    ----------
    tags
        Number of each word's tag, -1 for none.
    free
        Whether words with a tag may have another, at the price `OTHER_TAG`, and words without
        one may have those that unknown words were seen with.
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

    A preterminal a under tag t weighs q(t) p(w|a) / p(w|t): a tagger, which looks at the
    whole sentence, says how likely the tag is, the grammar only which of the tag's
    preterminals the word prefers.  A word whose tags are all new to the grammar may have any
    that it was seen with.

    Parameters
    ----------
    guesses
        For each word some tags with their probabilities; None for one with a given tag.
    tags
        Number of each word's tag, -1 for none; for words without guesses.
    """
    table = grammar.words
    found: list[LexicalCandidates] = []
    for word, guessed, given in zip(grammar.lexicon.ids(words), guesses, tags, strict=True):
        if guessed is None:
            found.append(_under_tag(grammar, word, given, free=False))
            continue
        parts = []
        numbers = grammar.tag_numbers([tag for tag, _ in guessed])
        for tag, (_, probability) in zip(numbers, guessed, strict=True):
            if tag >= 0:
                part = table.candidates(word, tag)
                weight = probability / table.tag_probability(word, tag)
                parts.append(part._replace(probability=weight * part.probability))
        found.append(_joined(parts) if parts else _under_tag(grammar, word, -1, free=True))
    return found


def under_seen_tags(
    grammar: PCFG, words: Sequence[str], tags: Sequence[int] | None = None
) -> list[LexicalCandidates]:
    """Preterminals of each word under tags that it, or the class that stands for it, was seen with.

    Over all entries of the lexicon these probabilities sum to 1 for each preterminal, so they make
    a language model of the grammar; the other functions here give a word more tags than that.  A
    word may end up without any.

    Parameters
    ----------
    tags
        Number of each word's tag, -1 for one that the grammar lacks; None for words alone.  A
        word never seen with its tag is taken for an unknown word of that tag.
    """
    table = grammar.words
    unknown = set(table.tags_of(table.lexicon.unknown))
    found = []
    for position, word in enumerate(grammar.lexicon.ids(words)):
        own = table.tags_of(word)
        if tags is not None:
            own = [tags[position]] if tags[position] in unknown.union(own) else []
        found.append(_joined([_NOTHING, *(table.candidates(word, tag) for tag in own)]))
    return found


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
