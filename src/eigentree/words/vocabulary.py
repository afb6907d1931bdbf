"""A text as numbers: words in the order of their frequency, and who stands beside whom.

Words are numbered from the most frequent down; those seen equally often, by where they are
first seen.  So the same text always has the same numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eigentree.errors import TreebankFormatError
from eigentree.types import Ints, Longs


class NumberedText(NamedTuple):
    """A text of V different words and n tokens.

    Attributes
    ----------
    words
        Each word once, by number.
    seen : int64, axes (V)
        How often each was seen, never rising.
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
        Words; sentences without any are left out.
    known
        Words whose numbers, from 0, are given; new words get those that follow.  The counts
        are then no longer in order between known words and new ones.

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
    for sentence in sentences:
        if isinstance(sentence, str):
            raise TypeError("sentences: lists of words are expected, not strings")
        if sentence:
            tokens.extend(numbers.setdefault(word, len(numbers)) for word in sentence)
            starts.append(len(tokens))
    if not tokens:
        raise TreebankFormatError("there is no word in the text; at least one is needed")
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
    """The tokens that have another one, so many tokens later, in their sentence."""
    end = np.repeat(starts[1:], np.diff(starts))
    return np.flatnonzero(np.arange(n_tokens) + distance < end)


def count_bigrams(numbers: Ints, starts: Longs, size: int) -> sparse.csr_array:
    """How often one number directly follows another within a sentence.

    Parameters
    ----------
    numbers : int32, axes (n)
        Of tokens, below `size`.
    starts : int64, axes (sentences + 1)
        As in `NumberedText`.
    size
        Number of rows and columns.

    Returns
    -------
    sparse int64, axes (size, size)
        Row: the first of the two.  Each pair is there once, in order.
    """
    first = pairs_within(starts, len(numbers), 1)
    ones = np.ones(len(first), dtype=np.int64)
    counts = sparse.csr_array((ones, (numbers[first], numbers[first + 1])), shape=(size, size))
    counts.sum_duplicates()
    return counts
