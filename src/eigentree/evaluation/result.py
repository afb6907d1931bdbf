"""Results of comparing trees: a record for each sentence, and sums over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.display import NotebookDisplay
from eigentree.evaluation.settings import ParsevalOptions


class SentenceScore(NamedTuple):
    """One sentence: its counts, or the reason why it was not compared.

    ``number`` counts from 1.  ``length`` is the length for the cut-off, ``words`` the number of
    compared words, ``tags`` the number of these with the correct tag.  ``flat``: no bracket of the
    parse is shorter than the sentence, as in many fall-backs.
    """

    number: int
    length: int = 0
    words: int = 0
    gold: int = 0
    parsed: int = 0
    matched: int = 0
    crossing: int = 0
    tags: int = 0
    exact: bool = False
    flat: bool = False
    status: Literal["ok", "error", "missing"] = "ok"
    reason: str = ""

    @property
    def recall(self) -> float | None:
        return _share(self.matched, self.gold)

    @property
    def precision(self) -> float | None:
        return _share(self.matched, self.parsed)

    @property
    def f1(self) -> float | None:
        """F1 of the sentence; 1 if neither side has a bracket, as for a single word."""
        if self.status == "ok" and not self.gold + self.parsed:
            return 1.0
        return _share(2 * self.matched, self.gold + self.parsed)


class LabelScore(NamedTuple):
    """Brackets of one label: in gold, in the parses, and the matched ones of either side.

    The last two differ if labels are equivalent to others.
    """

    gold: int
    parsed: int
    recalled: int
    precise: int


@dataclass(frozen=True)
class ParsevalSummary:
    """Sums and fractions over sentences; None where the denominator is zero.

    The fractions are over the sentences that count: the compared ones, and with "miss" also the
    others.  Crossing brackets are over compared sentences only.
    """

    sentences: int
    compared: int
    errors: int
    missing: int
    flat: int
    gold: int
    parsed: int
    matched: int
    words: int
    recall: float | None
    precision: float | None
    f1: float | None
    mean_sentence_f1: float | None
    exact_match: float | None
    average_crossing: float | None
    no_crossing: float | None
    two_or_fewer_crossing: float | None
    tagging_accuracy: float | None
    coverage: float | None


@dataclass(frozen=True)
class ParsevalResult(NotebookDisplay):
    """The outcome of `eigentree.score`.

    ``all`` sums over all sentences, ``short`` over those within the cut-off, if there is one.
    ``fallbacks`` is None if they were not given.
    """

    options: ParsevalOptions
    sentences: tuple[SentenceScore, ...]
    all: ParsevalSummary
    short: ParsevalSummary | None
    labels: dict[str, LabelScore]
    fallbacks: int | None
    notes: tuple[str, ...]

    @property
    def problems(self) -> list[SentenceScore]:
        """The sentences that could not be compared."""
        return [one for one in self.sentences if one.status != "ok"]

    def counted(self) -> list[SentenceScore]:
        """The sentences that the figures are over."""
        return _counted(self.sentences, self.options)

    def counts(self) -> NDArray[np.int64]:
        """Counts of the sentences that the figures are over, axes (sentence, 3).

        The columns are matched, gold and parsed brackets, as `bootstrap_interval` takes them.
        """
        rows = [(one.matched, one.gold, one.parsed) for one in self.counted()]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    def to_dict(self) -> dict[str, Any]:
        """The scores and the sentences that could not be compared, in types that JSON has."""
        return {
            "settings": self.options.to_dict(),
            "all": asdict(self.all),
            "within_cut_off": None if self.short is None else asdict(self.short),
            "labels": {label: found._asdict() for label, found in self.labels.items()},
            "fallbacks": self.fallbacks,
            "notes": list(self.notes),
            "not_compared": [
                {"sentence": one.number, "status": one.status, "reason": one.reason}
                for one in self.problems
            ],
        }


def summarise(sentences: Sequence[SentenceScore], options: ParsevalOptions) -> ParsevalSummary:
    """Sum up records of sentences; `ParsevalSummary` documents the denominators."""
    compared = [one for one in sentences if one.status == "ok"]
    counted = _counted(sentences, options)
    gold, parsed, matched, words, tags = (
        sum(getattr(one, name) for one in counted)
        for name in ("gold", "parsed", "matched", "words", "tags")
    )
    missing = sum(one.status == "missing" for one in sentences)
    f1 = [one.f1 for one in counted if one.f1 is not None]
    return ParsevalSummary(
        sentences=len(sentences),
        compared=len(compared),
        errors=sum(one.status == "error" for one in sentences),
        missing=missing,
        flat=sum(one.flat for one in compared),
        gold=gold,
        parsed=parsed,
        matched=matched,
        words=words,
        recall=_share(matched, gold),
        precision=_share(matched, parsed),
        f1=_share(2 * matched, gold + parsed),
        mean_sentence_f1=_share(sum(f1), len(f1)),
        exact_match=_share(sum(one.exact for one in counted), len(counted)),
        average_crossing=_share(sum(one.crossing for one in compared), len(compared)),
        no_crossing=_share(sum(one.crossing == 0 for one in compared), len(compared)),
        two_or_fewer_crossing=_share(sum(one.crossing <= 2 for one in compared), len(compared)),
        tagging_accuracy=_share(tags, words),
        coverage=_share(len(sentences) - missing, len(sentences)),
    )


def _counted(sentences: Sequence[SentenceScore], options: ParsevalOptions) -> list[SentenceScore]:
    return [one for one in sentences if one.status == "ok" or options.missing == "miss"]


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
