"""A text as numbers: words numbered by frequency, and counts of bigrams.

The most frequent word has number 0; words of equal frequency are numbered by first occurrence.  So
the same text always has the same numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eigentree._core.arguments import check_type
from eigentree.errors import TreebankFormatError
from eigentree.types import Ints, Longs


class NumberedText(NamedTuple):
    """A text of V different words and n tokens.

    Attributes
    ----------
    words
        Distinct words, by number.
    seen : int64, axes (V)
        Count of each word, descending.
    tokens : int32, axes (n)
        The number of each token's word.
    starts : int64, axes (sentences + 1)
        First token of each sentence, and the end of the last.
    """

    words: tuple[str, ...]
    seen: Longs
    tokens: Ints
    starts: Longs


def number_words(
    sentences: Iterable[Sequence[str]], *, known: Mapping[str, int] | None = None
) -> NumberedText:
    """Number the words of a text.

    Parameters
    ----------
    sentences
        Words of each sentence; empty sentences are skipped.
    known
        Words with given numbers from 0; new words get the numbers after them.  Counts are then
        sorted among the new words only.

    Raises
    ------
    TreebankFormatError
        When there is no word.
    TypeError
        When a sentence is one string.
    """
    given = dict(known or {})
    numbers = dict(given)
    tokens, starts = array("i"), array("q", [0])
    check_type(sentences, Iterable, "sentences", "lists of words")
    for sentence in sentences:
        if isinstance(sentence, str | bytes) or not isinstance(sentence, Iterable):
            check_type(sentence, list, "a sentence", "a list of words")
        if sentence:
            tokens.extend(numbers.setdefault(word, len(numbers)) for word in sentence)
            starts.append(len(tokens))
    if not tokens:
        raise TreebankFormatError("the text has no words; at least one is needed")
    numbered = np.asarray(tokens, dtype=np.int32)
    seen = np.bincount(numbered, minlength=len(numbers)).astype(np.int64)
    order = np.arange(len(numbers))
    order[len(given) :] = len(given) + np.argsort(-seen[len(given) :], kind="stable")
    rank = np.empty(len(numbers), dtype=np.int32)
    rank[order] = np.arange(len(numbers), dtype=np.int32)
    words = list(numbers)
    return NumberedText(
        tuple(words[number] for number in order.tolist()),
        seen[order],
        rank[numbered],
        np.asarray(starts, dtype=np.int64),
    )


def pairs_within(starts: Longs, n_tokens: int, distance: int) -> NDArray[np.intp]:
    """The tokens that have another one ``distance`` tokens later in their sentence."""
    end = np.repeat(starts[1:], np.diff(starts))
    return np.flatnonzero(np.arange(n_tokens) + distance < end)


def count_bigrams(numbers: Ints, starts: Longs, size: int) -> sparse.csr_array:
    """How often one number directly follows another within a sentence.

    Parameters
    ----------
    numbers : int32, axes (n)
        Numbers of tokens, below `size`.
    starts : int64, axes (sentences + 1)
        As in `NumberedText`.
    size
        Number of rows and columns.

    Returns
    -------
    sparse int64, axes (size, size)
        The row is the first of the two.  Entries are distinct and sorted.
    """
    first = pairs_within(starts, len(numbers), 1)
    ones = np.ones(len(first), dtype=np.int64)
    counts = sparse.csr_array((ones, (numbers[first], numbers[first + 1])), shape=(size, size))
    counts.sum_duplicates()
    return counts
