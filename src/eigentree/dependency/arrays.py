"""Records of arrays of the dependency grammar."""

from __future__ import annotations

from typing import NamedTuple

from eigentree.types import Ints, Longs


class ModifierCounts(NamedTuple):
    """Counts of tags, and of words with these tags, in contexts.

    Attributes
    ----------
    context : int64, axes (C)
        Numbers of contexts, increasing.
    tag_start : int64, axes (C + 1)
        Start of the tags of each context.
    tag : int32, axes (E)
        Increasing within each context; the end of a sequence is the highest number.
    tag_count : int32, axes (E)
    word_start : int64, axes (E + 1)
        Start of the words of each tag; the end of a sequence has none.
    word : int32, axes (W)
        Increasing within each tag.
    word_count : int32, axes (W)
    """

    context: Longs
    tag_start: Longs
    tag: Ints
    tag_count: Ints
    word_start: Longs
    word: Ints
    word_count: Ints
