"""Records of arrays of the dependency grammar."""

from __future__ import annotations

from typing import NamedTuple

from eigentree.types import Ints, Longs


class ModifierCounts(NamedTuple):
    """How often tags, and words with these tags, were seen in contexts.

    Attributes
    ----------
    context : int64, axes (C)
        Numbers of contexts, rising.
    tag_start : int64, axes (C + 1)
        Where the tags of each context begin.
    tag : int32, axes (E)
        Rising in each context; the end of a sequence is the highest number.
    tag_count : int32, axes (E)
    word_start : int64, axes (E + 1)
        Where the words of each tag begin; the end of a sequence has none.
    word : int32, axes (W)
        Rising for each tag.
    word_count : int32, axes (W)
    """

    context: Longs
    tag_start: Longs
    tag: Ints
    tag_count: Ints
    word_start: Longs
    word: Ints
    word_count: Ints
