"""Counts and oddities that the descriptions of all kinds of treebanks share."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from eigentree.errors import counted
from eigentree.treebank.reader import Place

LENGTH_BUCKETS = (1, 10, 20, 40, 100)
LONG_SENTENCE = 100
# A label is rare if it occurs fewer times than this in a treebank with at least so many nodes.
RARE_LABEL = 3
ENOUGH_NODES = 2000


class Oddity(NamedTuple):
    """Something unusual, its place (the first one for a label), and the detail."""

    kind: str
    place: str
    detail: str


class Suggestion(NamedTuple):
    """A setting, the value that suits the treebank, and the reason."""

    setting: str
    value: str
    reason: str


@dataclass
class SentenceTally:
    """Running counts of sentences, words and oddities.

    Attributes
    ----------
    limit
        Maximum number of oddities of a kind that are listed; all are counted.
    """

    limit: int
    lengths: list[int] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    first_seen: dict[str, Place] = field(default_factory=dict)
    sentences: dict[int, Place] = field(default_factory=dict)
    oddities: list[Oddity] = field(default_factory=list)
    oddity_counts: Counter[str] = field(default_factory=Counter)

    def odd(self, kind: str, place: Place | str, detail: str) -> None:
        """Count an oddity, and list it if there is room."""
        self.oddity_counts[kind] += 1
        if self.oddity_counts[kind] <= self.limit:
            self.oddities.append(Oddity(kind, str(place), detail))

    def check_length(self, words: Sequence[str], place: Place) -> None:
        """Report sentences of one word and very long ones."""
        if len(words) == 1:
            self.odd("one word", place, words[0])
        if len(words) > LONG_SENTENCE:
            self.odd("long sentence", place, counted(len(words), "word"))

    def check_repeated(self, words: Sequence[str], place: Place) -> None:
        """Report sentences of several words that occurred before."""
        same = hash(tuple(words))
        if len(words) > 1 and same in self.sentences:
            self.odd("sentence seen before", place, f"at {self.sentences[same]}")
        self.sentences.setdefault(same, place)

    def word_counts(self) -> dict[str, int]:
        """Numbers of words, of distinct words and of those that occur once."""
        return {
            "words": self.words.total(),
            "distinct_words": len(self.words),
            "words_seen_once": sum(n == 1 for n in self.words.values()),
        }


def by_frequency(counter: Counter[str]) -> dict[str, int]:
    """Counts from frequent to rare."""
    return dict(counter.most_common())


def times(number: int) -> str:
    """``once`` or ``2 times``."""
    return f"{number} times" if number > 1 else "once"


def length_table(lengths: list[int]) -> dict[str, float]:
    """Mean, median and maximum of sentence lengths, and the number in each bucket."""
    if not lengths:
        return {}
    table: dict[str, float] = {
        "mean": round(statistics.fmean(lengths), 1),
        "median": statistics.median(lengths),
        "longest": max(lengths),
    }
    edges = (0, *LENGTH_BUCKETS)
    for low, high in zip(edges, LENGTH_BUCKETS, strict=False):
        name = str(high) if high - low == 1 else f"{low + 1}-{high}"
        table[name] = sum(low < length <= high for length in lengths)
    table[f"over {edges[-1]}"] = sum(length > edges[-1] for length in lengths)
    return table
