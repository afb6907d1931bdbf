"""Description of a treebank: contents, oddities and suggested settings."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
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
from eigentree.treebank.cleaning import CleaningOptions, clean, cut_label, function_tags
from eigentree.treebank.heads import head_rules, plain_label
from eigentree.treebank.reader import Place, Treebank
from eigentree.treebank.tree import Tree

DEEP_TREE = 40
WIDE_NODE = 40
LONG_CHAIN = 4
LONGEST_NAME = 8  # labels of a chain that are named
WELL_KNOWN = 0.9  # share of a treebank's nodes that a head table must know to be suggested

_MIN_WORDS = 1_000  # of a treebank for which latent states are suggested
_TRACE_LIKE = re.compile(r"\*(?:[^*]+\*)?-[0-9]+|\*[^*]+\*")
_BINARISED = re.compile(r"^@.|.\|<|.[+^]|.\|.*[-+].*\|")
_MARKS = re.compile(r"\W")
_SLIGHT_MARKS = re.compile(r"[^\w$+]|_")


@dataclass(frozen=True)
class TreebankReport:
    """All that `examine` finds.

    Counts are of clean trees unless they say otherwise; tables run from frequent to rare.

    Attributes
    ----------
    counts
        By name: ``trees``, ``words``, ``distinct_words``, ``words_seen_once``, ``phrases``,
        ``rules`` and ``rules_seen_once`` (distinct, before binarisation), ``unary_phrases``
        (over one phrase), ``same_unary`` (which cleaning joins), ``empty_elements``, ``height`` and
        ``children`` (the largest), and the counts of the reading.
    lengths
        ``mean``, ``median``, ``longest`` in words, and trees by length: ``1-10`` and so on.
    labels, tags, function_tags, unary_chains
        How often each occurs; a chain is written ``S > VP``.
    wrapper
        The treebank's outer bracket; None for none.
    head_coverage
        By packaged table: the share of phrases and tags that it knows.
    oddities, oddity_counts
        The first of each kind, and how many of each kind there are.
    problems, notices
        From reading, as ``file:line:column: message``.
    suggestions
        Settings that differ from the defaults or depend on the size.
    """

    counts: dict[str, int]
    lengths: dict[str, float]
    labels: dict[str, int]
    tags: dict[str, int]
    function_tags: dict[str, int]
    unary_chains: dict[str, int]
    wrapper: str | None
    head_coverage: dict[str, float]
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


def examine(
    treebank: Treebank,
    *,
    cleaning: CleaningOptions = CleaningOptions(),
    limit: int = 20,
) -> TreebankReport:
    """Describe a treebank.

    Parameters
    ----------
    treebank
        As read with ``cleaning=None``.
    cleaning
        How its trees would be cleaned for training.
    limit
        Most oddities, problems and notices of a kind that the report lists; all are counted.
    """
    tally = _TreeTally(limit)
    loose = dataclasses.replace(cleaning, collapse_same_unary=False)
    for tree, place in zip(treebank.trees, treebank.places, strict=True):
        tally.add_raw(tree, cleaning)
        uncollapsed = clean(tree, loose)
        if uncollapsed is None:
            tally.odd("nothing but empty elements", place, "")
            continue
        tally.add_same_unary(uncollapsed, place)
        cleaned = clean(uncollapsed, cleaning) if cleaning.collapse_same_unary else uncollapsed
        if cleaned is not None:
            tally.add_clean(cleaned, place)
    for place in treebank.no_parse:
        tally.odd("no parse", place, "(())")
    tally.compare_labels()
    coverage = _head_coverage(tally.labels, tally.tags)
    return TreebankReport(
        counts={**tally.counts(), **{k: n for k, n in treebank.counts.items() if k != "trees"}},
        lengths=length_table(tally.lengths),
        labels=by_frequency(tally.labels),
        tags=by_frequency(tally.tags),
        function_tags=by_frequency(tally.function_tags),
        unary_chains=by_frequency(tally.chains),
        wrapper=treebank.wrapper,
        head_coverage=coverage,
        oddities=tally.oddities,
        oddity_counts=by_frequency(tally.oddity_counts),
        problems=[str(problem) for problem in treebank.problems[:limit]],
        notices=[str(notice) for notice in treebank.notices[:limit]],
        suggestions=_suggestions(tally, cleaning, coverage),
    )


@dataclass
class _TreeTally(SentenceTally):
    """Running counts of trees."""

    labels: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    raw_labels: Counter[str] = field(default_factory=Counter)
    raw_tags: Counter[str] = field(default_factory=Counter)
    function_tags: Counter[str] = field(default_factory=Counter)
    chains: Counter[str] = field(default_factory=Counter)
    rules: Counter[tuple[str, ...]] = field(default_factory=Counter)
    trace_words: Counter[str] = field(default_factory=Counter)
    n_empty: int = 0
    n_same_unary: int = 0
    n_unary: int = 0
    height: int = 0
    n_children: int = 0

    def add_raw(self, tree: Tree, cleaning: CleaningOptions) -> None:
        """Count what cleaning takes away."""
        for node in tree.nodes():
            if node.word is None:
                self.raw_labels[node.label] += 1
                self.function_tags.update(function_tags(node.label, cleaning.function_separators))
            elif node.label in cleaning.trace_labels or node.word in cleaning.trace_words:
                self.n_empty += 1
            else:
                self.raw_tags[node.label] += 1
                if _TRACE_LIKE.fullmatch(node.word):
                    self.trace_words[node.word] += 1

    def add_same_unary(self, tree: Tree, place: Place) -> None:
        """Count phrases over one phrase of the same label, once empty elements are gone."""
        for node in tree.nodes():
            if len(node.children) == 1 and node.children[0].word is None:
                label = node.label
                if node.children[0].label == label:
                    self.n_same_unary += 1
                    self.odd("phrase over one phrase of its label", place, f"{label} over {label}")

    def add_clean(self, tree: Tree, place: Place) -> None:
        """Count what a parser would learn from."""
        words = tree.words()
        self.lengths.append(len(words))
        self.words.update(words)
        height = tree.height()
        self.height = max(self.height, height)
        self.check_length(words, place)
        if height > DEEP_TREE:
            self.odd("deep tree", place, counted(height, "level"))
        self.check_repeated(words, place)
        chain: list[str] = []
        for node in tree.nodes():
            self.first_seen.setdefault(node.label, place)
            if node.word is not None:
                self.tags[node.label] += 1
                continue
            self.labels[node.label] += 1
            self.rules[(node.label, *(child.label for child in node.children))] += 1
            self.n_children = max(self.n_children, len(node.children))
            if len(node.children) > WIDE_NODE:
                self.odd("wide node", place, f"{node.label} with {len(node.children)} children")
            # In preorder a chain's nodes follow one another.
            chain.append(node.label)
            if len(node.children) == 1 and node.children[0].word is None:
                self.n_unary += 1
                continue
            if len(chain) > 1:
                self.chains[_chain_name(chain)] += 1
            if len(chain) >= LONG_CHAIN:
                self.odd("long unary chain", place, _chain_name(chain))
            chain = []

    def compare_labels(self) -> None:
        """Look for labels that may be mistakes, each reported once with its first place."""
        n_nodes = self.labels.total() + self.tags.total()
        alike: defaultdict[str, list[str]] = defaultdict(list)
        for label, n in (self.labels + self.tags).items():
            place = self.first_seen[label]
            alike[_SLIGHT_MARKS.sub("", label).casefold()].append(label)
            if self.labels[label] and self.tags[label]:
                uses = (
                    f"{label}: {counted(self.labels[label], 'phrase')}, "
                    f"{counted(self.tags[label], 'tag')}"
                )
                self.odd("label of phrases and of words", place, uses)
            if n < RARE_LABEL and n_nodes >= ENOUGH_NODES:
                self.odd("rare label", place, f"{label}, {times(n)}")
            if self.labels[label] and _BINARISED.search(label):
                self.odd("looks already binarised", place, label)
        for key, labels in alike.items():
            if key and len(labels) > 1:
                place = self.first_seen[min(labels, key=lambda label: self.labels[label])]
                self.odd("labels that differ little", place, " ".join(sorted(labels)))

    def counts(self) -> dict[str, int]:
        return {
            "trees": len(self.lengths),
            **self.word_counts(),
            "phrases": self.labels.total(),
            "rules": len(self.rules),
            "rules_seen_once": sum(n == 1 for n in self.rules.values()),
            "unary_phrases": self.n_unary,
            "same_unary": self.n_same_unary,
            "empty_elements": self.n_empty,
            "height": self.height,
            "children": self.n_children,
        }


def _chain_name(chain: list[str]) -> str:
    """``S > VP``; a chain of any length has a name that can be printed."""
    if len(chain) > LONGEST_NAME:
        chain = [*chain[: LONGEST_NAME - 1], f"({len(chain) - LONGEST_NAME} more)", chain[-1]]
    return " > ".join(chain)


def _head_coverage(labels: Counter[str], tags: Counter[str]) -> dict[str, float]:
    """For each packaged table with labels, the share of phrases and of tags that it knows."""
    coverage = {}
    for name in ("english", "negra"):
        rules = head_rules(name)
        known = sum(n for label, n in labels.items() if rules.has(label))
        listed = rules.mentioned
        known += sum(n for tag, n in tags.items() if tag in listed or plain_label(tag) in listed)
        coverage[name] = round(known / max(1, labels.total() + tags.total()), 3)
    return coverage


def _suggestions(
    tally: _TreeTally, cleaning: CleaningOptions, coverage: dict[str, float]
) -> list[Suggestion]:
    if not tally.words:
        return []
    found = [*_label_suggestions(tally, cleaning)]
    best = max(coverage, key=lambda name: coverage[name])
    share = f"{coverage[best]:.0%} of the labels and tags"
    if coverage[best] >= WELL_KNOWN:
        found.append(Suggestion("heads", best, f"this table knows {share}"))
    else:
        reason = f"the best packaged table, {best}, knows only {share}; edit one of your own"
        found.append(Suggestion("heads", "rightmost", reason))
    n_words = tally.words.total()
    if n_words < _MIN_WORDS:
        few = f"{counted(n_words, 'word is', 'words are')} too few to estimate latent states"
        found.append(Suggestion("method", "pcfg", few))
    else:
        states = 8 if n_words < 30_000 else 16 if n_words < 60_000 else 24
        found.append(Suggestion("states", str(states), f"for {n_words:,} words"))
    return found


def _label_suggestions(tally: _TreeTally, cleaning: CleaningOptions) -> Iterable[Suggestion]:
    """Cleaning settings that would make labels fewer or remove empty elements left over."""
    if tally.trace_words:
        words = [word for word, _ in tally.trace_words.most_common(5)]
        reason = (
            f"{counted(tally.trace_words.total(), 'word looks', 'words look')} "
            "like empty elements without their tag"
        )
        yield Suggestion("trace words", " ".join(words), reason)
    n_labels = _n_distinct(tally.raw_labels, cleaning)
    marks = Counter[str]()
    for label, n in tally.raw_labels.items():
        marks.update({mark: n for mark in _MARKS.findall(cut_label(label, cleaning)[1:])})
    for mark, _ in marks.most_common(3):
        further = dataclasses.replace(
            cleaning, function_separators=cleaning.function_separators + mark
        )
        fewer = _n_distinct(tally.raw_labels, further)
        if n_labels > 2 * fewer:
            reason = f"cut at {mark!r} too, {counted(fewer, 'label')} would be left of {n_labels}"
            yield Suggestion("function separators", further.function_separators, reason)
            break
    if not cleaning.cut_tags:
        n_tags = len(tally.raw_tags)
        fewer = _n_distinct(tally.raw_tags, cleaning)
        if n_tags > 1.5 * fewer:
            reason = f"{counted(fewer, 'tag')} would be left of {n_tags}"
            yield Suggestion("cut tags", "yes", reason)


def _n_distinct(labels: Iterable[str], cleaning: CleaningOptions) -> int:
    return len({cut_label(label, cleaning) for label in labels})
