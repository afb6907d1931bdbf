r"""Which spans of a dependency tree are phrases, learned from sentences with trees of both kinds.

A phrase has a head, and in a treebank of phrases nearly every phrase consists of a word and some
of its dependents with all that descends from them, the nearest ones on each side: of the word
itself and those on its left and right

    l_m .. l_2 l_1  head  r_1 r_2 .. r_n

every phrase is a span l_j .. head .. r_k (Gaifman 1965; Xia and Palmer 2001, who build trees of
phrases from dependencies by such projections).  All dependents make the largest phrase of a head,
fewer make those within it: a verb phrase leaves the subject out, a noun phrase that a relative
clause modifies leaves out the clause, and the sentence of a subordinate clause the conjunction.
Which of the (m + 1)(n + 1) spans are phrases is a convention of the treebank: in the Penn Treebank
a verb with its objects is one, in TIGER a finite verb is not, and neither is the noun phrase within
a prepositional one.

So nothing is assumed; the conventions are counted.  The **signature** of a span is the relation
and part of speech of the head, and the relations of the four dependents at its borders: the
outermost ones within, and the next ones outside, on both sides; empty where there is none.  It has
coarser forms: without subtypes of relations, also without the part of speech, or without the right
border within, or without both borders within.  If n spans with a signature occur in sentences with
trees, and c of them are phrases, their share is

    p = (c + `STRENGTH` p') / (n + `STRENGTH`)

where p' is the share of the next coarser signature, and 0 for the coarsest: few examples count
little, and none are certain.  The share of phrases with a given label is estimated in the same way.

**Other spans** of two or more words are no phrases by this theory, such as an object with a
modifier of its verb.  A few of them are phrases all the same: the object of a verb with the
predicate of the object is a clause in the Penn Treebank.  They are counted by the relations of
their first two roots, which are the words with a head outside the span; by whether there are more;
and by whether all roots have one head.  Their share is (c + 1) / (n + 2).  Where it is small the
span is forbidden to be a phrase, which decides attachments: "in the garden" modifies the verb of
"saw the dog in the garden" exactly if "the dog in the garden" is no phrase.

Punctuation is attached differently in the two kinds of trees: it is no dependent here, and is cut
off at both ends of a span, but for brackets and quotation marks whose partners are within.
Subtrees with gaps, and dependents beyond a gap, have no spans.

References
----------
Gaifman 1965; Xia and Palmer 2001.  Marneffe et al. 2021 for relations and their subtypes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from eigentree.errors import SettingsError, counted
from eigentree.treebank.constraints import Constraint, Constraints
from eigentree.treebank.io.conllu import ROOT, Sentence
from eigentree.treebank.tree import Tree

# How many examples the share of the next coarser signature counts for.
STRENGTH = 8
_SUBTYPE = ":"
_WITH_SUBJECT = "+subject"
_SUBJECTS = ("nsubj", "csubj", "expl")
# Relations of clauses, which may or may not have a subject of their own.
_CLAUSES = ("conj", "parataxis", "advcl")
_CLOSING = {"(": ")", "[": "]", "{": "}", "“": "”", "‘": "’", "«": "»", "„": "“", "``": "''"}
_OPENING = set(_CLOSING)
_CLOSERS = set(_CLOSING.values())
_EITHER = ('"', "'")

Signature = tuple[str, ...]


class HeadSpan(NamedTuple):
    """A head with its nearest dependents on both sides, of at least two words.

    Attributes
    ----------
    start, end
        Half-open, without punctuation at the ends.
    relation, part
        Relation and part of speech of the head.
    outside_left, inside_left, inside_right, outside_right
        Relations of the dependents at the borders; empty where there is none.
    """

    start: int
    end: int
    relation: str
    part: str
    outside_left: str
    inside_left: str
    inside_right: str
    outside_right: str

    def signatures(self) -> tuple[Signature, ...]:
        """From the coarsest to the finest."""
        head, out_left, in_left, in_right, out_right = (
            _universal(relation) for relation in (self.relation, *self[4:])
        )
        return (
            ("outside", head, self.part, out_left, out_right),
            ("left", head, self.part, out_left, in_left, out_right),
            ("relations", head, out_left, in_left, in_right, out_right),
            ("universal", head, self.part, out_left, in_left, in_right, out_right),
            ("full", *self[2:]),
        )


class OtherSpan(NamedTuple):
    """A span of two or more words that is not a head with its nearest dependents.

    Attributes
    ----------
    start, end
        Half-open, without punctuation at the ends.
    first, second
        Relations of its first two roots; the second is empty where there is one root.
    more
        Whether there are others.
    one_head
        Whether all roots have the same head.
    """

    start: int
    end: int
    first: str
    second: str
    more: bool
    one_head: bool

    @property
    def signature(self) -> Signature:
        """What it is counted by."""
        first, second, more, one_head = self[2:]
        return ("other", _universal(first), _universal(second), f"{more}", f"{one_head}")


class LikelyPhrase(NamedTuple):
    """A span that is a phrase in most trees.

    Attributes
    ----------
    start, end
        Half-open.
    label
        Of most phrases over such spans; None where several are usual.
    share
        How often such spans are phrases, 0..1.
    """

    start: int
    end: int
    label: str | None
    share: float

    def crosses(self, other: LikelyPhrase) -> bool:
        """Whether both overlap and neither contains the other."""
        one, two = sorted((self[:2], other[:2]))
        return one[0] < two[0] < one[1] < two[1]


@dataclass(frozen=True, slots=True)
class HeadPhrases:
    """How often spans of each signature are phrases.

    Attributes
    ----------
    seen
        Number of spans by signature.
    phrases
        How many of them are phrases.
    labels
        How many of them are phrases with a label, by signature and label.
    """

    seen: Counter[Signature]
    phrases: Counter[Signature]
    labels: dict[Signature, Counter[str]]

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Sentence, Tree]]) -> HeadPhrases:
        """Count the spans of sentences with both kinds of trees.

        Parameters
        ----------
        pairs
            Each a sentence with heads and its clean tree.

        Raises
        ------
        SettingsError
            When the numbers of words of a pair differ.
        TreebankFormatError
            When a sentence has no heads.
        """
        found = cls(Counter(), Counter(), {})
        for number, (sentence, tree) in enumerate(pairs, start=1):
            labels: dict[tuple[int, int], set[str]] = {}
            for label, start, end in tree.spans():
                labels.setdefault((start, end), set()).add(label)
            if len(tree.words()) != len(sentence):
                raise SettingsError(
                    f"pair {number} has a sentence of {counted(len(sentence), 'word')} and a tree "
                    f"of {len(tree.words())}"
                )
            for span in head_spans(sentence):
                here = labels.get(span[:2], ())
                for signature in span.signatures():
                    found.seen[signature] += 1
                    found.phrases[signature] += bool(here)
                    if here:
                        found.labels.setdefault(signature, Counter()).update(here)
            for other in other_spans(sentence):
                found.seen[other.signature] += 1
                found.phrases[other.signature] += other[:2] in labels
        return found

    def likely(self, sentence: Sentence, min_share: float) -> list[LikelyPhrase]:
        """The spans of a sentence that are phrases at least this often, none crossing another.

        Of two spans that cross, the more frequent phrase is listed.

        Cost
        ----
        The product of the numbers of left and right dependents, summed over the words, and the
        square of the number of phrases.
        """
        best: dict[tuple[int, int], LikelyPhrase] = {}
        for span in head_spans(sentence):
            phrase = self._judged(span, min_share)
            if phrase is None:
                continue
            other = best.get(phrase[:2])
            if other is None or other.share < phrase.share:
                best[phrase[:2]] = phrase
        kept: list[LikelyPhrase] = []
        for phrase in sorted(best.values(), key=lambda each: (-each.share, each[:2])):
            if not any(phrase.crosses(other) for other in kept):
                kept.append(phrase)
        return sorted(kept, key=lambda each: (each.start, -each.end))

    def unlikely(self, sentence: Sentence, max_share: float) -> list[tuple[int, int]]:
        """The spans of several heads that are phrases at most this often.

        Cost
        ----
        The square of the number of words.
        """
        return [
            span[:2]
            for span in other_spans(sentence)
            if (self.phrases[span.signature] + 1) / (self.seen[span.signature] + 2) <= max_share
        ]

    def constraints(
        self,
        sentence: Sentence,
        min_share: float,
        max_share: float,
        labels: Collection[str] | None = None,
    ) -> Constraints:
        """The likely phrases of a sentence, required, and unlikely ones, forbidden.

        Parameters
        ----------
        sentence
        min_share
            As in `likely`.
        max_share
            As in `unlikely`.  Spans that are not possible beside the required ones are left out.
        labels
            Labels that may be required; None for all.
        """
        likely = self.likely(sentence, min_share)
        required = (
            Constraint("required", start, end, label if labels is None or label in labels else None)
            for start, end, label, _ in likely
        )
        forbidden = (
            Constraint("forbidden", start, end)
            for start, end in self.unlikely(sentence, max_share)
            if not any(each.crosses(LikelyPhrase(start, end, None, 0.0)) for each in likely)
        )
        return Constraints((*required, *forbidden))

    def _judged(self, span: HeadSpan, min_share: float) -> LikelyPhrase | None:
        """The span as a phrase; None if it isn't one often enough."""
        signatures = span.signatures()
        share = self._share(signatures, self.phrases)
        if share < min_share:
            return None
        seen = {label for each in signatures for label in self.labels.get(each, ())}
        shares = {
            label: self._share(
                signatures,
                {key: self.labels[key][label] for key in signatures if key in self.labels},
            )
            for label in sorted(seen)
        }
        label = max(shares, key=shares.__getitem__)
        return LikelyPhrase(*span[:2], label if shares[label] >= min_share else None, share)

    def _share(self, signatures: Sequence[Signature], counts: Mapping[Signature, int]) -> float:
        """The share of phrases of some kind among spans with a signature, the coarsest first."""
        share = 0.0
        for each in signatures:
            if self.seen[each]:
                n = self.seen[each]
                share = (counts.get(each, 0) + STRENGTH * share) / (n + STRENGTH)
        return share


def pairs_by_words(
    sentences: Iterable[Sentence], trees: Iterable[Tree]
) -> list[tuple[Sentence, Tree]]:
    """The sentences with heads that have a tree over the same words, in their order.

    A tree is used once, the first of several over the same words first.
    """
    waiting: dict[tuple[str, ...], list[Tree]] = {}
    for tree in trees:
        waiting.setdefault(tuple(tree.words()), []).append(tree)
    pairs: list[tuple[Sentence, Tree]] = []
    for sentence in sentences:
        found = waiting.get(tuple(sentence.forms()))
        if found:
            pairs.append((sentence, found.pop(0)))
    return pairs


def head_spans(sentence: Sentence) -> Iterator[HeadSpan]:
    """All spans of two or more words that consist of a head and its nearest dependents.

    Parameters
    ----------
    sentence
        With heads.

    Raises
    ------
    TreebankFormatError
        When a word has no head, or the heads make no tree.
    """
    tree = _Subtrees.of(sentence)
    for head in range(1, len(sentence) + 1):
        if tree.is_mark[head - 1]:
            continue
        left, right = tree.borders(head, is_left=True), tree.borders(head, is_left=False)
        word = sentence.words[head - 1]
        for (start, inside_left, outside_left), (end, inside_right, outside_right) in (
            (one, other) for one in left for other in right
        ):
            span = tree.trimmed(start, end)
            if span[1] - span[0] > 1:
                yield HeadSpan(
                    *span, word.deprel, word.upos,
                    outside_left, inside_left, inside_right, outside_right,
                )  # fmt: skip


def other_spans(sentence: Sentence) -> Iterator[OtherSpan]:
    """All spans of two or more words that are not a head with its nearest dependents.

    Parameters
    ----------
    sentence
        With heads.

    Raises
    ------
    TreebankFormatError
        When a word has no head, or the heads make no tree.
    """
    tree = _Subtrees.of(sentence)
    heads = sentence.heads()
    of_heads = {span[:2] for span in head_spans(sentence)}
    for start in range(len(sentence)):
        roots: list[int] = []
        for end in range(start + 1, len(sentence) + 1):
            # The new word is a root unless its head is within; its dependents are none now.
            roots = [root for root in roots if heads[root - 1] != end]
            if not tree.is_mark[end - 1] and not start < heads[end - 1] < end:
                roots.append(end)
            is_short = end - start < 2 or not roots
            if is_short or (start, end) in of_heads or tree.trimmed(start, end) != (start, end):
                continue
            first, second = (*(sentence.words[root - 1].deprel for root in roots[:2]), "")[:2]
            one_head = len({heads[root - 1] for root in roots}) == 1
            yield OtherSpan(start, end, first, second, len(roots) > 2, one_head)


class _Border(NamedTuple):
    """An end of a span: its position, and the relations of the dependents on both sides of it."""

    position: int
    inside: str
    outside: str


@dataclass(frozen=True, slots=True)
class _Subtrees:
    """The subtrees of a sentence; words count from 1.

    Attributes
    ----------
    children
        Of each word and of the root, in order.
    first, last, size
        First and last word of each subtree, and its number of words.
    forms
    is_mark
        Whether each word is punctuation, from the first word on.
    relations
        Of each word, with whether a clause has a subject of its own.
    """

    children: list[list[int]]
    first: list[int]
    last: list[int]
    size: list[int]
    forms: list[str]
    is_mark: list[bool]
    relations: list[str]

    @classmethod
    def of(cls, sentence: Sentence) -> _Subtrees:
        n = len(sentence)
        children: list[list[int]] = [[] for _ in range(n + 1)]
        for word, head in enumerate(sentence.heads(), start=1):
            children[head].append(word)
        first, last, size = list(range(n + 1)), list(range(n + 1)), [1] * (n + 1)
        top_down = [ROOT]
        for node in top_down:
            top_down.extend(children[node])
        for node in reversed(top_down):
            for child in children[node]:
                first[node] = min(first[node], first[child])
                last[node] = max(last[node], last[child])
                size[node] += size[child]
        words = sentence.words
        is_mark = [word.upos == "PUNCT" or _universal(word.deprel) == "punct" for word in words]

        def has_subject(word: int) -> bool:
            return any(_universal(words[child - 1].deprel) in _SUBJECTS for child in children[word])

        relations = [
            word.deprel + _WITH_SUBJECT
            if _universal(word.deprel) in _CLAUSES and has_subject(word.id)
            else word.deprel
            for word in words
        ]
        return cls(children, first, last, size, sentence.forms(), is_mark, relations)

    def borders(self, head: int, *, is_left: bool) -> list[_Border]:
        """The borders of spans on one side of a head, from the head outwards."""
        dependents = [child for child in self.children[head] if (child < head) == is_left]
        if is_left:
            dependents.reverse()
        outermost = head
        reached: list[int] = []
        for child in dependents:
            near, far = self.first[child], self.last[child]
            if is_left:
                near, far = far, near
            adjacent = outermost - 1 if is_left else outermost + 1
            if near != adjacent or self.last[child] - self.first[child] + 1 != self.size[child]:
                break
            outermost = far
            if not self.is_mark[child - 1]:
                reached.append(child)
        names = ["", *(self.relations[child - 1] for child in reached), ""]
        # Marks up to the next dependent are within, for those whose partners are.
        edge = outermost - 1 if is_left else outermost
        ends = [self.last[child] if is_left else self.first[child] - 1 for child in reached]
        return [
            _Border(position, inside, outside)
            for position, (inside, outside) in zip([*ends, edge], pairwise(names), strict=True)
        ]

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """A half-open span without the marks at its ends whose partners are not within."""
        while end - start > 1:
            if self._is_loose(start, start, end):
                start += 1
            elif self._is_loose(end - 1, start, end):
                end -= 1
            elif self._is_enclosed(start, end):
                start, end = start + 1, end - 1
            else:
                break
        return start, end

    def _is_loose(self, place: int, start: int, end: int) -> bool:
        """Whether a word is a mark whose partner is not within the span."""
        if not self.is_mark[place]:
            return False
        form, forms = self.forms[place], self.forms
        if form in _OPENING and place == start:
            return _CLOSING[form] not in forms[place + 1 : end]
        if form in _CLOSERS:
            return not any(_CLOSING.get(other) == form for other in forms[start:place])
        return form not in _EITHER or forms[start:end].count(form) % 2 == 1

    def _is_enclosed(self, start: int, end: int) -> bool:
        """Whether the first and the last word are a pair of marks."""
        first, last = self.forms[start], self.forms[end - 1]
        paired = _CLOSING.get(first) == last or (first == last and first in _EITHER)
        return paired and self.is_mark[start] and self.is_mark[end - 1]


def _universal(relation: str) -> str:
    """A relation without its subtype; what is added for clauses remains."""
    name, _, rest = relation.partition(_SUBTYPE)
    return name + _WITH_SUBJECT if rest.endswith(_WITH_SUBJECT) else name
