"""What is in a dependency treebank, what is odd about it, and which settings would suit it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from eigentree.errors import counted
from eigentree.treebank.check_tally import (
    ENOUGH_NODES,
    RARE_LABEL,
    Oddity,
    SentenceTally,
    Suggestion,
    by_frequency,
    length_table,
    times,
)
from eigentree.treebank.io.conllu import EMPTY, ROOT, ROOT_RELATION, DependencyTreebank, Sentence
from eigentree.treebank.io.text_files import snippet_at
from eigentree.treebank.projective import nonprojective_words
from eigentree.treebank.reader import Place

FEW_TAGS = 100  # more XPOS tags than this hold morphology and are too rare to learn from
FEW_NONPROJECTIVE = 0.05  # share of sentences that may as well be left out
_MOST_WORDS = 5  # words of a sentence that an oddity names


@dataclass(frozen=True)
class DependencyReport:
    """All that `examine_dependencies` finds.

    Tables run from frequent to rare; ``_`` stands for no value and is not counted.

    Attributes
    ----------
    counts
        By name: ``sentences``, ``words``, ``distinct_words``, ``words_seen_once``, ``ranges``,
        ``empty_nodes``, ``nonprojective`` (sentences), ``nonprojective_arcs``,
        ``several_roots`` (sentences), ``attached`` (words without a head), ``modifiers`` (the most
        of one word), ``problems`` and ``notices``.
    lengths
        ``mean``, ``median``, ``longest`` in words, and sentences by length: ``1-10`` and so on.
    upos, xpos, relations
        How often each tag of either column and each relation occurs.
    oddities, oddity_counts
        The first of each kind, and how many of each kind there are.
    problems, notices
        From reading, as ``file:line:column: message``.
    suggestions
        Settings, with the values that would suit this treebank.
    """

    counts: dict[str, int]
    lengths: dict[str, float]
    upos: dict[str, int]
    xpos: dict[str, int]
    relations: dict[str, int]
    oddities: list[Oddity]
    oddity_counts: dict[str, int]
    problems: list[str]
    notices: list[str]
    suggestions: list[Suggestion]

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        plain = dataclasses.asdict(self)
        plain["oddities"] = [oddity._asdict() for oddity in self.oddities]
        plain["suggestions"] = [suggestion._asdict() for suggestion in self.suggestions]
        return plain


def examine_dependencies(bank: DependencyTreebank, *, limit: int = 20) -> DependencyReport:
    """Describe a dependency treebank.

    Parameters
    ----------
    bank
        Sentences whose heads make trees.
    limit
        Most oddities, problems and notices of a kind that the report lists; all are counted.
    """
    tally = _DependencyTally(limit)
    for sentence, place in zip(bank.sentences, bank.places, strict=True):
        tally.add(sentence, place)
    tally.compare_relations()
    counts = tally.counts() | bank.counts
    return DependencyReport(
        counts=counts,
        lengths=length_table(tally.lengths),
        upos=by_frequency(tally.upos),
        xpos=by_frequency(tally.xpos),
        relations=by_frequency(tally.relations),
        oddities=tally.oddities,
        oddity_counts=by_frequency(tally.oddity_counts),
        problems=[str(problem) for problem in bank.problems[:limit]],
        notices=[str(notice) for notice in bank.notices[:limit]],
        suggestions=_suggestions(tally, counts) if tally.lengths else [],
    )


@dataclass
class _DependencyTally(SentenceTally):
    """Running counts of dependency trees."""

    upos: Counter[str] = field(default_factory=Counter)
    xpos: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    names: dict[str, Place] = field(default_factory=dict)
    n_ranges: int = 0
    n_empty_nodes: int = 0
    n_nonprojective: int = 0
    n_nonprojective_arcs: int = 0
    n_modifiers: int = 0
    n_odd_roots: int = 0

    def add(self, sentence: Sentence, place: Place) -> None:
        words, heads = sentence.words, sentence.heads()
        self.lengths.append(len(words))
        self.words.update(sentence.forms())
        self.upos.update(tag for tag in sentence.tags("upos") if tag != EMPTY)
        self.xpos.update(tag for tag in sentence.tags("xpos") if tag != EMPTY)
        n_ranges = sum(extra.covers is not None for extra in sentence.extras)
        self.n_ranges += n_ranges
        self.n_empty_nodes += len(sentence.extras) - n_ranges
        n_modifiers = Counter(heads)
        n_roots = n_modifiers.pop(ROOT)
        self.n_modifiers = max(self.n_modifiers, *n_modifiers.values(), 0)
        for word in words:
            if word.deprel != EMPTY:
                self.relations[word.deprel] += 1
                self.first_seen.setdefault(word.deprel, place)
            named_root = word.deprel.partition(":")[0].casefold() == ROOT_RELATION
            if word.deprel != EMPTY and named_root != (word.head == ROOT):
                detail = f"word {word.id} with head {word.head} is {word.deprel}"
                self.odd("root relation without root, or root without it", place, detail)
        if n_roots > 1:
            self.odd("several roots", place, _named([w for w, h in enumerate(heads, 1) if not h]))
        crossing = nonprojective_words(heads)
        if crossing:
            self.n_nonprojective += 1
            self.n_nonprojective_arcs += len(crossing)
            self.odd("not projective", place, _named(crossing))
        self._add_oddities(sentence, place)

    def _add_oddities(self, sentence: Sentence, place: Place) -> None:
        forms = sentence.forms()
        self.check_length(forms, place)
        self.check_repeated(forms, place)
        name = sentence.sent_id
        if name is not None and name in self.names:
            self.odd("sent_id seen before", place, f"{name} at {self.names[name]}")
        if name is not None:
            self.names.setdefault(name, place)
        if sentence.text is not None:
            self._compare_text(" ".join(sentence.text.split()), sentence, place)

    def _compare_text(self, text: str, sentence: Sentence, place: Place) -> None:
        surface = " ".join(sentence.surface().split())
        if text != surface:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(text, surface, strict=False))
            at = sum(1 for _ in same) + 1
            detail = f"{snippet_at(text, at)!r} in # text, {snippet_at(surface, at)!r} in the words"
            self.odd("text that differs from its words", place, detail)

    def compare_relations(self) -> None:
        """Look for relations that may be mistakes, each reported once with its first place."""
        alike: dict[str, list[str]] = {}
        for relation, n in self.relations.items():
            alike.setdefault(relation.casefold(), []).append(relation)
            if n < RARE_LABEL and self.relations.total() >= ENOUGH_NODES:
                place = self.first_seen[relation]
                self.odd("rare relation", place, f"{relation}, {times(n)}")
        for relations in alike.values():
            if len(relations) > 1:
                rarest = min(relations, key=lambda relation: self.relations[relation])
                names = " ".join(sorted(relations))
                self.odd("relations that differ in case", self.first_seen[rarest], names)

    def counts(self) -> dict[str, int]:
        return {
            "sentences": len(self.lengths),
            **self.word_counts(),
            "ranges": self.n_ranges,
            "empty_nodes": self.n_empty_nodes,
            "nonprojective": self.n_nonprojective,
            "nonprojective_arcs": self.n_nonprojective_arcs,
            "modifiers": self.n_modifiers,
        }


def _named(words: list[int]) -> str:
    """``words 3, 5``, or the first few of many."""
    shown = ", ".join(map(str, words[:_MOST_WORDS]))
    left_out = len(words) - _MOST_WORDS
    more = f" and {left_out} more" if left_out > 0 else ""
    return f"{'word' if len(words) == 1 else 'words'} {shown}{more}"


def _suggestions(tally: _DependencyTally, counts: dict[str, int]) -> list[Suggestion]:
    n_upos, n_xpos = len(tally.upos), len(tally.xpos)
    if tally.xpos.total() < tally.words.total() and tally.upos.total() >= tally.xpos.total():
        lack = "has gaps" if n_xpos else "has none"
        tags = Suggestion("tag column", "upos", f"{counted(n_upos, 'tag')}; XPOS {lack}")
    elif n_xpos <= FEW_TAGS or tally.upos.total() < tally.words.total():
        tags = Suggestion("tag column", "xpos", f"{counted(n_xpos, 'tag')}, {n_upos} in UPOS")
    else:
        reason = f"{counted(n_upos, 'tag')}; the {n_xpos} of XPOS are too many to learn from"
        tags = Suggestion("tag column", "upos", reason)
    found = [tags]
    n_crossing, n = counts["nonprojective"], counts["sentences"]
    if n_crossing:
        share = f"{n_crossing / n:.1%} of the sentences have crossing arcs"
        how = "skip" if n_crossing <= FEW_NONPROJECTIVE * n else "lift"
        found.append(Suggestion("non-projective sentences", how, share))
    if counts["several_roots"]:
        reason = f"{counted(counts['several_roots'], 'sentence has', 'sentences have')} more"
        found.append(Suggestion("roots", "several", reason))
    return found
