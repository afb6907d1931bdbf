"""Unlabelled bracket scores, in both conventions of unsupervised parsing.

Empty elements and then punctuation are removed from a gold tree; its spans over the remaining words
are a set, so each counts once.  Spans of one word do not count, and the whole sentence is always
one of the spans, in parses as well.  The length is the number of remaining words.  Then

``klein-manning``
    corpus F1 = 2 matched / (gold + parsed) of the summed spans, including the whole sentence.
    A sentence of two words counts with its one span, which every parse has.
``sentence``
    mean of the F1 of sentences, excluding the whole sentence.  A gold tree without other spans
    has F1 1 if the parse has none either, as for two words, otherwise 0.

Sentences of fewer than two words count in neither.  A missing parse, or one of other words,
counts as having no spans.

References
----------
Klein and Manning 2002 for the first convention; Shen et al. 2018 and Kim et al. 2019 for the
second.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.arguments import listed
from eigentree._core.display import NotebookDisplay
from eigentree.errors import SettingsError
from eigentree.evaluation.alignment import different_words
from eigentree.evaluation.scored_tree import is_punctuation
from eigentree.evaluation.significance import (
    Interval,
    bootstrap_interval,
    bootstrap_mean_interval,
    corpus_f1,
)
from eigentree.treebank.io.unlabelled import Bracketing, Pair, bracketing_of
from eigentree.treebank.tree import Tree

Convention = Literal["klein-manning", "sentence"]
CONVENTIONS: tuple[Convention, ...] = ("klein-manning", "sentence")
LENGTHS = (10, 20, 30, 40)

# Currency signs are not punctuation, but papers on the Penn Treebank exclude them as well.
PENN_PUNCTUATION = (",", ".", ":", "``", "''", "-LRB-", "-RRB-", "#", "$")


class GoldBracketing(NamedTuple):
    """The words and spans of a gold tree that count.

    Attributes
    ----------
    words, tags
        Of the words that are neither punctuation nor empty elements.
    spans
        Spans of two or more words over them, including the whole sentence.
    text
        All words, punctuation included.
    kept
        Whether each word of ``text`` counts.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: frozenset[Pair]
    text: tuple[str, ...]
    kept: tuple[bool, ...]


def gold_bracketing(
    tree: Tree,
    *,
    punctuation: Iterable[str] | None = None,
    empty_labels: Iterable[str] = ("-NONE-",),
) -> GoldBracketing:
    """The words and spans of a gold tree that count.

    Parameters
    ----------
    tree
        A tree as read, or a clean one.
    punctuation
        Tags of the words to exclude, such as `PENN_PUNCTUATION`; None excludes words of Unicode
        punctuation, regardless of their tags.
    empty_labels
        Preterminals of empty elements.
    """
    empty, marks = frozenset(empty_labels), None if punctuation is None else frozenset(punctuation)
    leaves = [node for node in tree.preterminals() if node.label not in empty]
    text = tuple(node.word or "" for node in leaves)
    kept = tuple(
        not is_punctuation(word) if marks is None else node.label not in marks
        for node, word in zip(leaves, text, strict=True)
    )
    whole = bracketing_of(tree, empty)
    words = _left(text, kept)
    tags = _left([node.label for node in leaves], kept)
    return GoldBracketing(words, tags, _without(whole.spans, kept), text, kept)


class SentenceSpans(NamedTuple):
    """One sentence with its numbers of spans, including the whole sentence.

    ``number`` counts from 1; ``length`` is in words that count.  ``status`` is "missing" without a
    parse, and "error" for a parse that cannot be compared for the ``reason``.
    """

    number: int
    length: int
    matched: int
    gold: int
    parsed: int
    status: Literal["ok", "error", "missing"] = "ok"
    reason: str = ""

    @property
    def f1(self) -> float:
        """F1 excluding the whole sentence, by the convention ``sentence``."""
        if self.status != "ok":
            return 0.0
        gold, parsed = self.gold - 1, self.parsed - 1
        return 2 * (self.matched - 1) / (gold + parsed) if gold + parsed else 1.0


class UnlabelledScore(NamedTuple):
    """A score under one convention over the sentences up to one length.

    Attributes
    ----------
    convention
        ``"klein-manning"`` or ``"sentence"``.
    longest
        Maximum length of a sentence; None for all sentences.
    sentences
        Number of sentences of two or more words.
    trivial
        Number of these without a gold span but the whole sentence.
    f1
        A fraction; None without sentences, like the following.
    recall, precision
        Of the summed spans; None under ``"sentence"``, too.
    interval
        Bootstrap interval of ``f1``; None if not requested.
    """

    convention: Convention
    longest: int | None
    sentences: int
    trivial: int
    f1: float | None
    recall: float | None = None
    precision: float | None = None
    interval: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        interval = None if self.interval is None else list(self.interval)
        return {**self._asdict(), "interval": interval}


@dataclass(frozen=True)
class UnlabelledResult(NotebookDisplay):
    """Sentences and figures, in the order of conventions and, within, of lengths."""

    sentences: tuple[SentenceSpans, ...]
    figures: tuple[UnlabelledScore, ...]

    @property
    def problems(self) -> list[SentenceSpans]:
        """The sentences without a parse that can be compared."""
        return [one for one in self.sentences if one.status != "ok"]

    def figure(self, convention: Convention, longest: int | None) -> UnlabelledScore:
        """The score of one convention and length; KeyError if it was not computed."""
        for one in self.figures:
            if (one.convention, one.longest) == (convention, longest):
                return one
        raise KeyError((convention, longest))

    def to_dict(self) -> dict[str, Any]:
        """The scores and the sentences that could not be compared, in types that JSON has."""
        return {
            "figures": [one.to_dict() for one in self.figures],
            "not_compared": [
                {"sentence": one.number, "status": one.status, "reason": one.reason}
                for one in self.problems
            ],
        }


def score_unlabelled(
    gold: Sequence[GoldBracketing],
    parsed: Sequence[Bracketing | None],
    *,
    lengths: Sequence[int] = LENGTHS,
    seed: int = 0,
    n_samples: int = 0,
) -> UnlabelledResult:
    """Compare bracketings with gold trees.

    Parameters
    ----------
    gold
        From `gold_bracketing`.
    parsed
        One for each gold tree, over all its words or over those that count; None for "no
        parse".  The gold tree determines which words are punctuation.
    lengths
        Maximum sentence lengths; each gives scores, in addition to those over all sentences.
    seed
        Seed of the bootstrap.
    n_samples
        Samples of the bootstrap; 0 for no intervals.

    Returns
    -------
    UnlabelledResult
        Fractions between 0 and 1.

    Raises
    ------
    SettingsError
        When the sequences differ in length, or a length is below 1.

    Cost
    ----
    Linear in words and spans; with intervals, O(sentences x n_samples) for each figure.
    """
    gold = listed(gold, GoldBracketing, "gold", "GoldBracketing, as of gold_bracketing")
    parsed = listed(parsed, (Bracketing, type(None)), "parsed", "Bracketing or None")
    if len(gold) != len(parsed):
        raise SettingsError(
            f"{len(gold)} gold trees and {len(parsed)} bracketings: there must be one bracketing, "
            "or None, for each gold tree"
        )
    if any(longest < 1 for longest in lengths):
        raise SettingsError(f"lengths are {list(lengths)}, which must all be at least 1")
    sentences = tuple(
        _compared(number, *pair) for number, pair in enumerate(zip(gold, parsed, strict=True), 1)
    )
    figures = tuple(
        _figure(convention, longest, sentences, seed, n_samples)
        for convention in CONVENTIONS
        for longest in (*lengths, None)
    )
    return UnlabelledResult(sentences, figures)


class AlignedBracketings(NamedTuple):
    """Bracketings in the order of the gold trees.

    ``parsed`` has None if no bracketing has the words of a gold tree; ``left_over`` has the
    positions, from 0, of bracketings without a gold tree.
    """

    parsed: list[Bracketing | None]
    left_over: list[int]


def align_bracketings(
    gold: Sequence[GoldBracketing], parsed: Sequence[Bracketing | None]
) -> AlignedBracketings:
    """Find the bracketing with the words of each gold tree, in any order.

    Bracketings over all words of a sentence take precedence over those with the words that count.
    """
    waiting: defaultdict[tuple[str, ...], deque[int]] = defaultdict(deque)
    for place, one in enumerate(parsed):
        if one is not None:
            waiting[one.words].append(place)
    chosen: list[Bracketing | None] = []
    for each in gold:
        places = waiting.get(each.text) or waiting.get(each.words)
        chosen.append(parsed[places.popleft()] if places else None)
    return AlignedBracketings(
        chosen, sorted(place for places in waiting.values() for place in places)
    )


def marks_that_count(gold: Iterable[GoldBracketing]) -> Counter[str]:
    """Words of punctuation that were not excluded, for example because of their tags."""
    return Counter(word for one in gold for word in one.words if is_punctuation(word))


def _compared(number: int, gold: GoldBracketing, parsed: Bracketing | None) -> SentenceSpans:
    base = SentenceSpans(number, len(gold.words), 0, len(gold.spans), 0)
    if parsed is None:
        return base._replace(status="missing", reason="no parse")
    if parsed.words == gold.text:
        spans = _without(parsed.spans, gold.kept)
    elif parsed.words == gold.words:
        spans = _without(parsed.spans, (True,) * len(gold.words))
    else:
        return base._replace(status="error", reason=_difference(gold, parsed))
    return base._replace(matched=len(gold.spans & spans), parsed=len(spans))


def _difference(gold: GoldBracketing, parsed: Bracketing) -> str:
    """The first difference between the words of a parse and of its gold tree."""
    numbers = {len(gold.text), len(gold.words)}
    if len(parsed.words) not in numbers:
        listed = " or ".join(map(str, sorted(numbers)))
        return f"the parse has {len(parsed.words)} words, which must be {listed} as in gold"
    words = gold.text if len(parsed.words) == len(gold.text) else gold.words
    pairs = zip(words, parsed.words, strict=True)
    place = next(at for at, (word, other) in enumerate(pairs) if word != other)
    return different_words(place + 1, words[place], parsed.words[place])


def _figure(
    convention: Convention,
    longest: int | None,
    sentences: Sequence[SentenceSpans],
    seed: int,
    n_samples: int,
) -> UnlabelledScore:
    within = [
        one for one in sentences if one.length > 1 and (longest is None or one.length <= longest)
    ]
    figure = UnlabelledScore(
        convention, longest, len(within), sum(one.gold == 1 for one in within), None
    )
    if not within:
        return figure
    if convention == "sentence":
        values = np.array([one.f1 for one in within])
        figure = figure._replace(f1=float(values.mean()))
        if n_samples:
            interval = bootstrap_mean_interval(values, seed=seed, n_samples=n_samples)
            figure = figure._replace(interval=interval)
        return figure
    counts = _counts(within)
    matched, n_gold, n_parsed = counts.sum(axis=0).tolist()
    figure = figure._replace(
        f1=float(corpus_f1(counts.sum(axis=0))),
        recall=matched / n_gold,
        precision=matched / n_parsed if n_parsed else None,
    )
    if n_samples:
        of_corpus = bootstrap_interval(counts, seed=seed, n_samples=n_samples)
        figure = figure._replace(interval=of_corpus)
    return figure


def _counts(sentences: Sequence[SentenceSpans]) -> NDArray[np.int64]:
    rows = [(one.matched, one.gold, one.parsed) for one in sentences]
    return np.array(rows, dtype=np.int64)


def _left(items: Sequence[str], kept: Sequence[bool]) -> tuple[str, ...]:
    return tuple(item for item, is_kept in zip(items, kept, strict=True) if is_kept)


def _without(spans: Iterable[Pair], kept: Sequence[bool]) -> frozenset[Pair]:
    """Spans over the kept words, of two or more of them, and the whole sentence."""
    place = [0]
    for is_kept in kept:
        place.append(place[-1] + is_kept)
    moved = {(place[start], place[end]) for start, end in spans} | {(0, place[-1])}
    return frozenset(span for span in moved if span[1] - span[0] > 1)
