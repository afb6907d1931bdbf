"""Attachment scores of dependency trees against gold trees.

Over the words that count,

    UAS = words with the right head / words,
    LAS = words with the right head and relation / words,

and UUAS is the share of words whose arc, taken without its direction, is one of the gold
tree's.  Both sides have the same words, so recall, precision and F1 are one figure, that of the
CoNLL 2018 shared task; relations are compared as there without their subtypes (``nsubj`` for
``nsubj:pass``) unless the options say otherwise.  A sentence is an exact match (UEM, LEM) when
all of its words are correct.

Every figure is given over all words, as in the shared task, and over words that are not
punctuation, as in older work.  Punctuation is determined by the gold file: forms of Unicode
punctuation characters only, or tags.

All words of a sentence without a parse count as wrong.  A sentence whose words differ is not
compared; the result has the reason, and no figure includes the sentence.

References
----------
Buchholz and Marsi 2006 for the scores; Zeman et al. 2018 for the comparison of relations.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from eigentree._core.arguments import check_type, listed
from eigentree._core.display import NotebookDisplay
from eigentree.errors import SettingsError, counted
from eigentree.evaluation.alignment import align_by_key, different_words
from eigentree.treebank.io.conllu import Sentence, Word

Punctuation = Literal["unicode", "tags"]
Measure = Literal["uas", "las"]


@dataclass(frozen=True)
class AttachmentOptions:
    """What is compared, and what counts as punctuation.

    Parameters
    ----------
    punctuation
        ``"unicode"``: forms whose characters are all of a Unicode category P; ``"tags"``: by
        gold tags.
    punctuation_tags
        With ``"tags"``, words with such a gold UPOS or XPOS are punctuation.
    subtypes
        Compare relations with their subtypes (the part after the first colon).
    """

    punctuation: Punctuation = "unicode"
    punctuation_tags: tuple[str, ...] = ("PUNCT",)
    subtypes: bool = False

    def __post_init__(self) -> None:
        if self.punctuation not in get_args(Punctuation):
            known = " or ".join(get_args(Punctuation))
            raise SettingsError(f"punctuation is {self.punctuation!r}; it must be {known}")


class Tally(NamedTuple):
    """Numbers of words: all that count, and those that are correct."""

    words: int = 0
    heads: int = 0  # correct heads
    arcs: int = 0  # correct heads and relations
    edges: int = 0  # correct arcs regardless of direction

    @property
    def uas(self) -> float | None:
        return _share(self.heads, self.words)

    @property
    def las(self) -> float | None:
        return _share(self.arcs, self.words)

    @property
    def uuas(self) -> float | None:
        return _share(self.edges, self.words)


class AttachmentScore(NamedTuple):
    """One sentence: its counts, or the reason why it was not compared.

    ``number`` counts from 1.  ``all`` is over all words, ``bare`` over words that are not
    punctuation.
    """

    number: int
    sent_id: str | None = None
    all: Tally = Tally()
    bare: Tally = Tally()
    status: Literal["ok", "error", "missing"] = "ok"
    reason: str = ""


class RelationScore(NamedTuple):
    """Words of one relation: in gold, in the parses, and with the correct head and relation."""

    gold: int
    parsed: int
    matched: int


@dataclass(frozen=True)
class AttachmentSummary:
    """Sums and fractions over sentences; None where the denominator is zero.

    ``mean_uas`` and ``mean_las`` are means over sentences; ``uem`` and ``lem`` are shares of
    sentences with every head, or every head and relation, right.
    """

    words: int
    uas: float | None
    las: float | None
    uuas: float | None
    mean_uas: float | None
    mean_las: float | None
    uem: float | None
    lem: float | None


@dataclass(frozen=True)
class AttachmentResult(NotebookDisplay):
    """The outcome of `score_attachment`.

    ``all`` is over all words, ``bare`` over those that are not punctuation; ``relations``
    are over all words, most frequent first.
    """

    options: AttachmentOptions
    sentences: tuple[AttachmentScore, ...]
    all: AttachmentSummary
    bare: AttachmentSummary
    relations: dict[str, RelationScore]
    notes: tuple[str, ...]

    @property
    def problems(self) -> list[AttachmentScore]:
        """The sentences that could not be compared or have no parse."""
        return [one for one in self.sentences if one.status != "ok"]

    @property
    def n_errors(self) -> int:
        return sum(one.status == "error" for one in self.sentences)

    @property
    def n_missing(self) -> int:
        return sum(one.status == "missing" for one in self.sentences)

    def counted(self) -> list[AttachmentScore]:
        """The sentences that the figures are over."""
        return [one for one in self.sentences if one.status != "error"]

    def counts(self, measure: Measure, *, punctuation: bool = True) -> NDArray[np.int64]:
        """Counts of the sentences that the figures are over, axes (sentence, 3).

        The columns are correct words, words, and words again, as `bootstrap_interval` and
        `paired_test` take them: their F1 is then the accuracy.
        """
        return sentence_counts(self.counted(), measure, punctuation=punctuation)

    def to_dict(self) -> dict[str, Any]:
        """The scores and the sentences that could not be compared, in types that JSON has."""
        return {
            "settings": {
                **asdict(self.options),
                "punctuation_tags": list(self.options.punctuation_tags),
            },
            "sentences": len(self.sentences),
            "errors": self.n_errors,
            "missing": self.n_missing,
            "all_words": asdict(self.all),
            "without_punctuation": asdict(self.bare),
            "relations": {name: found._asdict() for name, found in self.relations.items()},
            "notes": list(self.notes),
            "not_compared": [
                {
                    "sentence": one.number,
                    "sent_id": one.sent_id,
                    "status": one.status,
                    "reason": one.reason,
                }
                for one in self.problems
            ],
        }


def sentence_counts(
    sentences: Sequence[AttachmentScore], measure: Measure, *, punctuation: bool = True
) -> NDArray[np.int64]:
    """Correct words, words, and words again of each sentence; see `AttachmentResult.counts`."""
    tallies = [one.all if punctuation else one.bare for one in sentences]
    rows = [(one.heads if measure == "uas" else one.arcs, one.words, one.words) for one in tallies]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def score_attachment(
    gold: Sequence[Sentence | None],
    parsed: Sequence[Sentence | None],
    options: AttachmentOptions = AttachmentOptions(),
) -> AttachmentResult:
    """Compare dependency trees sentence by sentence.

    Parameters
    ----------
    gold
        Correct trees; None where a file has none, which is an error of that sentence.
    parsed
        Trees for the same sentences in the same order; None for a missing parse, which
        counts as wrong in all words.

    Returns
    -------
    AttachmentResult
        Fractions between 0 and 1, or None where nothing was to be measured.

    Raises
    ------
    SettingsError
        When the sequences differ in length; use `align_sentences` first.

    Cost
    ----
    Linear in the words.
    """
    gold = listed(gold, (Sentence, type(None)), "gold", "Sentence or None")
    parsed = listed(parsed, (Sentence, type(None)), "parsed", "Sentence or None")
    check_type(options, AttachmentOptions, "options", "AttachmentOptions")
    if len(gold) != len(parsed):
        raise SettingsError(
            f"{len(gold)} gold sentences and {len(parsed)} parsed ones: there must be one parsed "
            "sentence, or None, for each gold one"
        )
    n_gold, n_parsed, n_matched = Counter[str](), Counter[str](), Counter[str]()
    sentences: list[AttachmentScore] = []
    for number, (right, given) in enumerate(zip(gold, parsed, strict=True), start=1):
        one = _compare(number, right, given, options)
        sentences.append(one)
        if right is None or one.status == "error":
            continue
        names = [_relation(word, options) for word in right.words]
        n_gold.update(names)
        if given is not None:
            n_parsed.update(_relation(word, options) for word in given.words)
            n_matched.update(
                name
                for name, ours, theirs in zip(names, right.words, given.words, strict=True)
                if ours.head == theirs.head and name == _relation(theirs, options)
            )
    scored = [one for one in sentences if one.status != "error"]
    every, bare = _summary([one.all for one in scored]), _summary([one.bare for one in scored])
    notes = []
    if every.words and every.words == bare.words:
        notes.append(
            "no word was excluded as punctuation, so both columns are equal; the gold file may "
            "mark punctuation in another way"
        )
    return AttachmentResult(
        options=options,
        sentences=tuple(sentences),
        all=every,
        bare=bare,
        relations={
            name: RelationScore(n_gold[name], n_parsed[name], n_matched[name])
            for name, _ in (n_gold + n_parsed).most_common()
        },
        notes=tuple(notes),
    )


def align_sentences(
    gold: Sequence[Sentence | None], parsed: Sequence[Sentence | None]
) -> tuple[list[Sentence | None], list[int]]:
    """Find the parsed sentence with the same words for each gold sentence, in any order.

    Repeated sentences are aligned in their order.

    Returns
    -------
    tuple
        Parsed sentences in the order of the gold ones, None where there is none; and the
        positions, from 0, of parsed sentences without a gold sentence.
    """
    return align_by_key(gold, parsed, lambda sentence: tuple(sentence.forms()))


def _compare(
    number: int, gold: Sentence | None, parsed: Sentence | None, options: AttachmentOptions
) -> AttachmentScore:
    if gold is None:
        return AttachmentScore(number, status="error", reason="no gold tree")
    one = AttachmentScore(number, gold.sent_id)
    kept = [not _is_punctuation(word, options) for word in gold.words]
    if parsed is None:
        wrong, bare_wrong = Tally(len(kept)), Tally(sum(kept))
        return one._replace(all=wrong, bare=bare_wrong, status="missing", reason="no parse")
    reason = _difference(gold, parsed)
    if reason:
        return one._replace(status="error", reason=reason)
    edges = {(word.id, word.head) for word in gold.words}
    rights = [
        (
            ours.head == theirs.head,
            ours.head == theirs.head and _relation(ours, options) == _relation(theirs, options),
            ours.head == theirs.head or (theirs.head, theirs.id) in edges,
        )
        for ours, theirs in zip(gold.words, parsed.words, strict=True)
    ]
    bare = [right for right, is_kept in zip(rights, kept, strict=True) if is_kept]
    return one._replace(all=_tally(rights), bare=_tally(bare))


def _tally(rights: list[tuple[bool, bool, bool]]) -> Tally:
    heads, arcs, edges = (sum(right[i] for right in rights) for i in range(3))
    return Tally(len(rights), heads, arcs, edges)


def _difference(gold: Sentence, parsed: Sentence) -> str:
    """The reason why two sentences cannot be compared; empty if they can."""
    without = next((word.id for word in gold.words if word.head is None), None)
    if without is not None:
        return f"word {without} has no head in gold"
    for ours, theirs in zip(gold.words, parsed.words, strict=False):
        if ours.form != theirs.form:
            return different_words(ours.id, ours.form, theirs.form)
    if len(gold) != len(parsed):
        return f"{counted(len(gold), 'word')} in gold and {len(parsed)} in the parse"
    return ""


def _relation(word: Word, options: AttachmentOptions) -> str:
    return word.deprel if options.subtypes else word.deprel.partition(":")[0]


def _is_punctuation(word: Word, options: AttachmentOptions) -> bool:
    if options.punctuation == "tags":
        return word.upos in options.punctuation_tags or word.xpos in options.punctuation_tags
    # Unlike bracket scores: shared tasks exclude signs such as % as well.
    return all(unicodedata.category(character)[0] == "P" for character in word.form)


def _summary(tallies: list[Tally]) -> AttachmentSummary:
    words, heads, arcs, edges = (sum(each) for each in zip(Tally(), *tallies, strict=True))
    total = Tally(words, heads, arcs, edges)
    some = [one for one in tallies if one.words]
    return AttachmentSummary(
        words=words,
        uas=total.uas,
        las=total.las,
        uuas=total.uuas,
        mean_uas=_share(sum(one.heads / one.words for one in some), len(some)),
        mean_las=_share(sum(one.arcs / one.words for one in some), len(some)),
        uem=_share(sum(one.heads == one.words for one in some), len(some)),
        lem=_share(sum(one.arcs == one.words for one in some), len(some)),
    )


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
