"""Bracket scores of parsed trees against gold trees.

A tree becomes a multiset of labelled spans over the words that count, and

    recall = matched / gold,   precision = matched / parsed,
    F1 = 2 matched / (gold + parsed),

where `matched` is the largest number of pairs of equal brackets, `gold` and `parsed` the
numbers of brackets on each side, summed over sentences.  Preterminals are not brackets, but
phrases over one word and over the whole sentence are, so that any tree over two words gets some
credit: the mean of sentence F1, which short sentences raise, is reported in addition to the
corpus F1.  A parsed bracket crosses a gold bracket when they share words and neither contains
the other.

`eigentree.evaluation.settings` defines what is excluded and which labels are equivalent.
Sentences that cannot be compared have a record with the reason in the result.

References
----------
Black et al. 1991 for the measures; the program EVALB of Sekine and Collins for the arithmetic.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from eigentree._core.arguments import check_type, listed
from eigentree.errors import SettingsError
from eigentree.evaluation.alignment import align_by_key, different_words
from eigentree.evaluation.result import LabelScore, ParsevalResult, SentenceScore, summarise
from eigentree.evaluation.scored_tree import ScoredTree, is_punctuation, restore_quotes
from eigentree.evaluation.settings import OWN, ParsevalOptions
from eigentree.treebank.tree import Span, Tree


def score(
    gold: Sequence[Tree | None],
    parsed: Sequence[Tree | None],
    options: ParsevalOptions = OWN,
    *,
    fallbacks: Sequence[bool] | None = None,
) -> ParsevalResult:
    """Compare trees sentence by sentence.

    Parameters
    ----------
    gold
        Correct trees; None where a file has none, which is an error of that sentence.
    parsed
        Trees for the same sentences in the same order; None for "no parse".
    options
        What counts; `EVALB_COLLINS`, `OWN`, or a variant of either.
    fallbacks
        Whether the parser fell back, one value per sentence; the result has the count.

    Returns
    -------
    ParsevalResult
        Fractions between 0 and 1, or None where nothing was to be measured.

    Raises
    ------
    SettingsError
        When the sequences differ in length; use `align_by_words` first.

    Cost
    ----
    Linear in the nodes, and for the crossing brackets in the sum of their widths.
    """
    gold = listed(gold, (Tree, type(None)), "gold", "Tree or None")
    parsed = listed(parsed, (Tree, type(None)), "parsed", "Tree or None")
    check_type(options, ParsevalOptions, "options", "ParsevalOptions")
    if len(gold) != len(parsed):
        raise SettingsError(
            f"{len(gold)} gold trees and {len(parsed)} parsed trees: there must be one parsed "
            "tree, or None, for each gold tree"
        )
    if fallbacks is not None and len(fallbacks) != len(gold):
        raise SettingsError(
            f"{len(fallbacks)} values in fallbacks; expected {len(gold)}, one per sentence"
        )
    comparison = _Comparison(options)
    sentences = tuple(
        comparison.sentence(number, *pair)
        for number, pair in enumerate(zip(gold, parsed, strict=True), start=1)
    )
    n_fallbacks = None if fallbacks is None else sum(map(bool, fallbacks))
    short = None
    if options.cut_off is not None:
        within = [one for one in sentences if one.length <= options.cut_off]
        short = summarise(within, options)
    return ParsevalResult(
        options=options,
        sentences=sentences,
        all=summarise(sentences, options),
        short=short,
        labels=comparison.labels(),
        fallbacks=n_fallbacks,
        notes=tuple(comparison.notes()),
    )


class CountedBrackets(NamedTuple):
    """The words and brackets of a tree that count, parents before children."""

    words: list[str]
    brackets: list[Span]


def counted_brackets(
    trees: Iterable[Tree], options: ParsevalOptions = OWN
) -> list[CountedBrackets]:
    """The words and brackets of each tree that count, for comparing many pairs of trees.

    For trees with equal words, these are the brackets that `score` compares.
    """
    comparison = _Comparison(options)
    sides = (ScoredTree(tree, options) for tree in trees)
    return [CountedBrackets(side.words(), comparison.brackets(side)) for side in sides]


class AlignedTrees(NamedTuple):
    """Parsed trees in the order of the gold trees.

    ``parsed`` has one entry for each gold tree, None if no tree has its words; ``left_over`` has
    the positions, from 0, of parsed trees without a gold tree.
    """

    parsed: list[Tree | None]
    left_over: list[int]


def align_by_words(
    gold: Sequence[Tree | None], parsed: Sequence[Tree | None], options: ParsevalOptions = OWN
) -> AlignedTrees:
    """Find the parsed tree with the same words for each gold tree, in any order.

    Only the words that `options` compares must agree.  Repeated sentences are aligned in their
    order, so that a missing copy is taken to be the last one.
    """
    aligned = align_by_key(gold, parsed, lambda tree: tuple(ScoredTree(tree, options).words()))
    return AlignedTrees(*aligned)


class _Comparison:
    """The options in a form for fast lookup, and counts over all sentences."""

    def __init__(self, options: ParsevalOptions) -> None:
        self.options = options
        self.same_label = _partners(options.equal_labels)
        self.same_word = _partners(options.equal_words)
        self.deleted = {
            same
            for label in options.delete_labels
            for same in (label, *self.same_label.get(label, ()))
        }
        self.by_label: dict[str, Counter[str]] = defaultdict(Counter)
        self.roots: Counter[tuple[str, str]] = Counter()
        self.n_left_out = 0
        self.counted_marks: Counter[str] = Counter()  # tags of punctuation that counts

    def sentence(self, number: int, gold: Tree | None, parsed: Tree | None) -> SentenceScore:
        options = self.options
        one = None if gold is None else self._side(gold, "gold")
        other = None if parsed is None else self._side(parsed, "parsed")
        base = SentenceScore(number, length=one.length if one else 0)
        no_words = options.missing == "skip" and other is not None and not any(other.kept)
        if other is None or no_words:
            # The reference program treats a parse without counted words as no parse.
            reason = "no parse" if other is None else "no word of the parse counts"
            return self._failed(base, one, "missing", reason)
        if one is None:
            return base._replace(status="error", reason="no gold tree")
        if options.quote_labels and sum(one.kept) != sum(other.kept):
            restore_quotes(one, other, options)
        words, other_words = one.words(), other.words()
        difference = self._difference(words, other_words)
        if difference:
            return self._failed(base, one, "error", difference)
        ours, theirs = self.brackets(one), self.brackets(other)
        matched = self._match(ours, theirs)
        self._count_labels(ours, theirs, matched)
        n_tags = sum(
            self._is_same(tag, other_tag, self.same_label)
            for tag, other_tag in zip(one.tags(), other.tags(), strict=True)
        )
        return base._replace(
            words=len(words),
            gold=len(ours),
            parsed=len(theirs),
            matched=len(matched),
            crossing=_n_crossing(ours, theirs, len(words)),
            tags=n_tags,
            exact=len(ours) == len(theirs) == len(matched),
            flat=len(words) > 2 and all(end - start == len(words) for _, start, end in theirs),
        )

    def labels(self) -> dict[str, LabelScore]:
        counts = ("gold", "parsed", "recalled", "precise")
        return {
            label: LabelScore(*(found[name] for name in counts))
            for label, found in sorted(self.by_label.items(), key=lambda item: -item[1]["gold"])
        }

    def notes(self) -> Iterable[str]:
        options = self.options
        if self.n_left_out == 0 and self.counted_marks and not options.drop_punctuation:
            tags = ", ".join(tag for tag, _ in self.counted_marks.most_common(5))
            yield (
                f"no word was left out, though {self.counted_marks.total()} are punctuation, "
                f"tagged {tags}"
            )
        names = sorted({root for _, root in self.roots if root not in options.delete_labels})
        if names:
            gold, parsed = (
                sum(self.roots[side, name] for name in names) for side in ("gold", "parsed")
            )
            shown = ", ".join(name or "the nameless one" for name in names)
            yield f"outermost brackets not counted: {shown} ({gold} gold, {parsed} parsed trees)"

    def _side(self, tree: Tree, name: str) -> ScoredTree:
        side = ScoredTree(tree, self.options)
        self.n_left_out += len(side.kept) - sum(side.kept)
        if name == "gold" and not self.n_left_out:
            self.counted_marks.update(tag for word, tag in side.tokens if is_punctuation(word))
        if side.root is not None:
            self.roots[name, side.root] += 1
        return side

    def _failed(
        self,
        base: SentenceScore,
        one: ScoredTree | None,
        status: Literal["error", "missing"],
        why: str,
    ) -> SentenceScore:
        base = base._replace(status=status, reason=why)
        if self.options.missing == "skip" or one is None:
            return base
        ours = self.brackets(one)
        self._count_labels(ours, [], [])
        return base._replace(words=sum(one.kept), gold=len(ours))

    def _difference(self, words: list[str], other: list[str]) -> str:
        for place, (word, other_word) in enumerate(zip(words, other, strict=False), start=1):
            if not self._is_same(word, other_word, self.same_word):
                return (
                    f"compared {different_words(place, word, other_word)}, of {len(words)} and "
                    f"{len(other)} words"
                )
        if len(words) != len(other):
            return f"gold has {len(words)} compared words and the parse {len(other)}"
        return ""

    def _is_same(self, one: str, other: str, partners: dict[str, tuple[str, ...]]) -> bool:
        return one == other or other in partners.get(one, ())

    def brackets(self, side: ScoredTree) -> list[Span]:
        before = list(accumulate(side.kept, initial=0))
        spans = []
        for label, start, end in side.all_brackets:
            label = _cut(label, self.options.label_separators)
            if before[start] < before[end] and label not in self.deleted:
                spans.append(Span(label, before[start], before[end]))
        return spans

    def _match(self, gold: list[Span], parsed: list[Span]) -> list[tuple[str, str]]:
        """Pairs of labels of matched brackets, gold brackets choosing in their order.

        Equivalence of labels is not transitive, so the order can matter; like the reference
        program, each gold bracket, parents first, takes the first remaining parsed one.
        """
        labelled = self.options.labelled
        waiting: defaultdict[Span, deque[int]] = defaultdict(deque)
        for place, span in enumerate(parsed):
            waiting[span if labelled else span._replace(label="")].append(place)
        pairs = []
        for label, start, end in gold:
            equal = (label, *self.same_label.get(label, ())) if labelled else ("",)
            queues = (waiting.get(Span(name, start, end)) for name in equal)
            left = [queue for queue in queues if queue]
            if left:
                place = min(left, key=lambda queue: queue[0]).popleft()
                pairs.append((label, parsed[place].label))
        return pairs

    def _count_labels(
        self, gold: list[Span], parsed: list[Span], matched: list[tuple[str, str]]
    ) -> None:
        for span in gold:
            self.by_label[span.label]["gold"] += 1
        for span in parsed:
            self.by_label[span.label]["parsed"] += 1
        for label, other in matched:
            self.by_label[label]["recalled"] += 1
            self.by_label[other]["precise"] += 1


def _partners(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    partners: dict[str, tuple[str, ...]] = {}
    for one, other in pairs:
        partners[one] = (*partners.get(one, ()), other)
        partners[other] = (*partners.get(other, ()), one)
    return partners


def _cut(label: str, separators: str) -> str:
    for place, character in enumerate(label):
        if character in separators:
            return label[:place]
    return label


def _n_crossing(gold: list[Span], parsed: list[Span], n_words: int) -> int:
    # A gold bracket crosses start..end when one of its ends is strictly inside and the other
    # strictly outside, so the furthest partner of each end decides whether there is one.
    first_start = list(range(n_words + 1))
    last_end = list(range(n_words + 1))
    for _, start, end in gold:
        first_start[end] = min(first_start[end], start)
        last_end[start] = max(last_end[start], end)
    return sum(
        min(first_start[start + 1 : end]) < start or max(last_end[start + 1 : end]) > end
        for _, start, end in parsed
        if end - start > 1
    )
