"""Dependency parsing: tags, head-automata, chart and relations in one object.

Symbols of the automata are tags.  A lexical model may be combined with them, by a product of their
values (Luque et al. 2012, equation 21).  The result is the projective tree of minimum Bayes risk
under the marginals of its arcs; its relations are chosen afterwards.

A `DependencyParser` is immutable, so threads and processes can share it.  It always returns a tree;
`DependencyResult.fallback` reports what was given up:

``coarse``
    the automata gave no usable value, which is possible with signed ones; the counted automata
    that they are mixed with were used instead;
``flat``
    these gave none either, or the sentence has more than 50,000 words; every word is attached to
    the preceding one, and words of such a sentence have no relations;
``split``
    the sentence is longer than ``max_words``, or its chart would be larger than
    `eigentree._core.memory.MAX_CHART_BYTES`, and was parsed in segments, split after punctuation
    where possible, which are shorter the longer it is; their roots are attached to that of the
    first piece, unless several roots are allowed;
``empty``
    there are no words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from eigentree._core.arguments import listed
from eigentree._core.memory import check_chart_bytes
from eigentree._core.printable import shown
from eigentree._core.read_only import ReadOnlyMapping
from eigentree.base import SentenceParser, training_module
from eigentree.dependency.chart.arrays import SentenceAutomata
from eigentree.dependency.chart.decode import ArcObjective, HeadTree, arc_scores, best_tree, viterbi
from eigentree.dependency.chart.inside_outside import (
    HeadMarginals,
    head_inside_outside,
    of_sentence,
)
from eigentree.dependency.chart.lexical_product import lexical_heads
from eigentree.dependency.head_automata import HeadAutomata
from eigentree.dependency.lexical_modifiers import LexicalModifiers
from eigentree.dependency.options import DependencyOptions
from eigentree.dependency.result import Arc, DependencyFallback, DependencyResult
from eigentree.errors import GrammarError, SettingsError, counted
from eigentree.sentence_input import (
    MAX_PARSED,
    PreparedSentence,
    Words,
    normalise,
    parse_split,
)
from eigentree.treebank.io.conllu import ROOT
from eigentree.treebank.io.sentences import check_text, check_words
from eigentree.treebank.tag_schemes import column_part

if TYPE_CHECKING:
    from eigentree.dependency.arc_labels import ArcLabels
    from eigentree.dependency.learn.head_automata import Method
    from eigentree.dependency.options import DependencyTrainingOptions
    from eigentree.evaluation.attachment import AttachmentOptions, AttachmentResult
    from eigentree.tokenisation.scheme import TokenisationScheme
    from eigentree.treebank.io.conllu import Sentence
    from eigentree.types import Progress
    from eigentree.words.tagger import Tagger

# Replaces tags that were never seen: no cell of CoNLL-U has white space.
UNKNOWN_TAG = "unknown tag"


class _Derivation(NamedTuple):
    """A tree without relations: heads, marginals of their arcs if available, the value."""

    heads: list[int]
    confidences: list[float] | list[None]
    log_value: float | None
    sign: int
    n_outside: int
    fallback: DependencyFallback | None


@dataclass(frozen=True, eq=False)
class DependencyParser(SentenceParser[DependencyResult]):
    """A dependency parser, created by `train` and `load`.

    Attributes
    ----------
    automata
        Over tags, `UNKNOWN_TAG` among them.
    back_off
        Automata that give every sentence a positive value, over the same tags.
    tag_scheme
        The tag scheme, see `eigentree.treebank.tag_schemes`.
    lexical
        A lexical model to combine with the automata, or None.
    relations
        The classifier of relations, or None.
    tagger
        Tags words that have no tags, or None.
    options
        How it parses.
    description
        Training data and settings; read-only.
    """

    kind: ClassVar[str] = "dependency parser"

    automata: HeadAutomata
    back_off: HeadAutomata
    tag_scheme: str = "upos"
    lexical: LexicalModifiers | None = None
    relations: ArcLabels | None = None
    tagger: Tagger | None = None
    options: DependencyOptions = field(default_factory=DependencyOptions)
    description: Mapping[str, Any] = field(default_factory=dict)
    _known: frozenset[str] = field(init=False, repr=False)
    _tokenisation: TokenisationScheme | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "description", ReadOnlyMapping(self.description))
        object.__setattr__(self, "_known", frozenset(self.automata.symbols))
        if self.automata.symbols != self.back_off.symbols or UNKNOWN_TAG not in self._known:
            raise GrammarError(
                "the automata of a dependency parser and their back-off must have the same "
                f"symbols, including {UNKNOWN_TAG!r}"
            )
        if self.options.lexical_alone and self.lexical is None:
            raise SettingsError("lexical_alone is set for a parser without a lexical model")
        if self.options.objective == "viterbi" and self.signed and not self.options.lexical_alone:
            raise SettingsError(
                "the objective viterbi requires probability automata; these are signed"
            )

    @property
    def signed(self) -> bool:
        """Whether values of sentences may be negative, so they are not probabilities."""
        parts = (self.automata.initial, self.automata.final, self.automata.operators)
        return any(bool(np.any(part < 0.0)) for part in parts)

    def _known_words(self) -> Iterable[str]:
        return () if self.lexical is None else self.lexical.lexicon.entries

    @classmethod
    def train(
        cls,
        data: Sequence[Sentence],
        settings: DependencyTrainingOptions | None = None,
        *,
        method: Method | None = None,
        dev: Sequence[Sentence] = (),
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,
        progress: Progress | None = None,
    ) -> DependencyParser:
        """Train a parser on dependency trees.

        Parameters
        ----------
        data, settings, dev, seed, jobs, checkpoint, progress
            As in `eigentree.dependency.training.train_dependencies`, which also lists the errors.
        method
            Shortcut for the method of learning automata in `settings`; ``spectral+em`` if neither
            is given.
        """
        parser: DependencyParser = training_module(cls.kind).train_dependencies(
            data, settings, method=method, dev=dev, seed=seed, jobs=jobs,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip
        return parser

    def parse(self, words: Words, tags: Sequence[str] | None = None) -> DependencyResult:
        """Parse one sentence.

        Parameters
        ----------
        words
            Words, or pairs of a word and its tag, or one sentence as text, which `tokenisation`
            splits into words; a text of several sentences gives a warning, see `parse_text`.
        tags
            One per word, by the parser's scheme; None to use the tagger.  An unknown tag is
            replaced by its part without features if that is known, otherwise by `UNKNOWN_TAG`.

        Raises
        ------
        TypeError
            When words or tags are not all strings.
        SettingsError
            When the numbers of words and tags differ, or there are no tags and no tagger; when a
            word is empty or not valid text; when tags are given for text, or twice.

        Cost
        ----
        O(N^3 K + N^2 K^2) for N words and K states of an automaton, times the states of a
        lexical model.
        """
        raw = normalise(words, tags, lambda: self.tokenisation)
        checked = check_words(raw.words, spaces=True)
        if not checked:
            _checked_tags(raw.tags or [], 0)
            return DependencyResult([], [], fallback="empty", offsets=raw.offsets)
        if raw.tags is not None:
            sentence = PreparedSentence(checked, _checked_tags(raw.tags, len(checked)))
        elif self.tagger is not None:
            sentence = PreparedSentence(checked, self.tagger.tag(checked))
        else:
            raise SettingsError("the sentence has no tags, and the parser has no tagger")
        tree = parse_split(sentence, self.options.max_words, self._derivation, self._joined, _flat)
        relations: Sequence[str | None] = [None] * len(checked)
        if self.relations is not None and len(checked) <= MAX_PARSED:
            relations = self.relations.predict(checked, sentence.tags or [], tree.heads)
        arcs = zip(tree.heads, relations, tree.confidences, strict=True)
        return DependencyResult(
            checked,
            sentence.tags or [],
            tuple(Arc(word, *arc) for word, arc in enumerate(arcs, start=1)),
            tree.log_value,
            tree.sign,
            tree.n_outside,
            tree.fallback,
            raw.offsets,
        )

    def evaluate(
        self,
        gold: Sequence[Sentence],
        settings: AttachmentOptions | None = None,
        *,
        gold_tags: bool = True,
        jobs: int = 1,
    ) -> AttachmentResult:
        """Parse the words of gold trees and score the result.

        Parameters
        ----------
        gold
            Sentences with trees.
        settings
            Scoring options, see `eigentree.evaluation.attachment.score_attachment`.
        gold_tags
            Whether sentences are parsed with their gold tags or with the tagger's.
        jobs
            Number of processes.
        """
        from eigentree.evaluation.attachment import AttachmentOptions, score_attachment
        from eigentree.treebank.io.conllu import Sentence
        from eigentree.treebank.tag_schemes import tags_of

        gold = listed(gold, Sentence, "gold", "sentences, as read_dependencies gives")
        sentences = (
            (each.forms(), tags_of(each, self.tag_scheme) if gold_tags else None) for each in gold
        )
        parsed = [
            sentence.with_heads(result.heads, result.relations)
            for sentence, result in zip(gold, self.parse_many(sentences, jobs=jobs), strict=True)
        ]
        return score_attachment(gold, parsed, settings or AttachmentOptions())

    def summary(self) -> dict[str, Any]:
        """Sizes and settings, as `eigentree inspect` prints them, as JSON types.

        The states of each tag's automata include those of the automata that are mixed in.
        """
        automata, lexical, relations = self.automata, self.lexical, self.relations
        description = dict(self.description)
        # The description of a parser created without training may have no counts of tags.
        tag_counts = description.pop("tag_counts", None) or {}
        states = automata.n_states.reshape(-1, 2).tolist()
        rows = [
            {
                "tag": tag,
                "count": tag_counts.get(tag, 0),
                "left states": left,
                "right states": right,
            }
            for tag, (left, right) in zip(automata.symbols, states, strict=False)
        ]
        return {
            "kind": self.kind,
            "trained": description,
            "parsing": {
                "objective": self.options.objective,
                "several_roots": self.options.several_roots,
                "max_words": self.options.max_words,
            },
            "tag_scheme": self.tag_scheme,
            "signed": self.signed,
            "lexical": None
            if lexical is None
            else {
                "states": description.get("lexical"),
                "weight": self.options.lexical_weight,
                "alone": self.options.lexical_alone,
            },
            "relations": None if relations is None else list(relations.labels),
            "tagger": None if self.tagger is None else {"tags": len(self.tagger.tagset)},
            "sizes": {
                "tags": len(automata.symbols),
                "states of automata": int(automata.n_states.sum()),
                "numbers of automata that are not zero": automata.n_parameters,
                "words and word classes": 0 if lexical is None else len(lexical.lexicon),
                "counts of the lexical model": 0 if lexical is None else lexical.n_parameters,
                "relations": 0 if relations is None else len(relations.labels),
                "weights of relations": 0 if relations is None else len(relations.weight),
            },
            "root": {"right states": states[-1][1]},
            "tags": sorted(rows, key=lambda row: (-row["count"], row["tag"])),
        }

    def marginals(self, words: Sequence[str], tags: Sequence[str]) -> HeadMarginals | None:
        """Marginals of all arcs of a sentence, axes head and modifier, both from 0, the root.

        None if the automata give the sentence no usable value.
        """
        return head_inside_outside(
            self._sentence(self.automata, words, tags), multi_root=self.options.several_roots
        )

    def _symbol(self, tag: str) -> str:
        """The tag itself if known, otherwise the tag without features, otherwise `UNKNOWN_TAG`."""
        return next((each for each in (tag, column_part(tag)) if each in self._known), UNKNOWN_TAG)

    def _derivation(self, sentence: PreparedSentence) -> _Derivation:
        """Parse a sentence as a whole."""
        words, tags = sentence.words, sentence.tags or []
        steps: tuple[tuple[HeadAutomata, DependencyFallback | None], ...] = (
            (self.automata, None),
            (self.back_off, "coarse"),
        )
        for automata, fallback in steps:
            check_chart_bytes(self._chart_bytes(automata, len(words)))
            chart = self._sentence(automata, words, tags)
            tree = self._by_viterbi(chart, fallback) or self._by_marginals(chart, fallback)
            if tree is not None:
                return tree
        return _flat(sentence)

    def _chart_bytes(self, automata: HeadAutomata, n_words: int) -> int:
        """Bytes for the chart of a sentence, and for its operators if it has its own."""
        n_hidden: int = automata.initial.shape[1]
        n_lexical, n_operators = 1, 0
        if self.lexical is not None:
            n_hidden = 1 if self.options.lexical_alone else n_hidden
            n_lexical = self.lexical.n_states
            # Viterbi needs their logarithms as well.
            n_operators = 3 if self.options.objective == "viterbi" else 1
        n_states = n_hidden * n_lexical
        return 8 * (n_words + 2) ** 2 * (n_operators * n_hidden * n_states + 5 * n_states)

    def _joined(self, pieces: list[_Derivation]) -> _Derivation:
        """One tree from the trees of consecutive pieces of a sentence."""
        heads: list[int] = []
        confidences: list[Any] = []
        first_root = ROOT
        for piece in pieces:
            start = len(heads)
            heads += [first_root if head == ROOT else head + start for head in piece.heads]
            # The chart is that of the piece, which does not include the arc to its root.
            confidences += [
                confidence if head != ROOT or first_root == ROOT else None
                for head, confidence in zip(piece.heads, piece.confidences, strict=True)
            ]
            if first_root == ROOT and not self.options.several_roots:
                first_root = heads.index(ROOT) + 1
        return _Derivation(heads, confidences, None, 1, 0, "split")

    def _by_viterbi(
        self, sentence: SentenceAutomata, fallback: DependencyFallback | None
    ) -> _Derivation | None:
        if self.options.objective != "viterbi":
            return None
        tree = viterbi(sentence, multi_root=self.options.several_roots)
        if tree is None:
            return None
        heads = tree.heads.tolist()
        return _Derivation(heads, [None] * len(heads), tree.score, 1, 0, fallback)

    def _by_marginals(
        self, sentence: SentenceAutomata, fallback: DependencyFallback | None
    ) -> _Derivation | None:
        several = self.options.several_roots
        marginals = head_inside_outside(sentence, multi_root=several)
        if marginals is None:
            return None
        objective: ArcObjective = "product" if self.options.objective == "product" else "sum"
        tree = best_tree(arc_scores(marginals.marginals, objective), multi_root=several)
        return None if tree is None else _with_confidences(tree, marginals, fallback)

    def _sentence(
        self, automata: HeadAutomata, words: Sequence[str], tags: Sequence[str]
    ) -> SentenceAutomata:
        weight, alone = self.options.lexical_weight, self.options.lexical_alone
        if self.lexical is not None and alone:
            return lexical_heads(self.lexical.of_sentence(words, tags), weight)
        symbols = [self._symbol(tag) for tag in tags]
        sentence = of_sentence(automata, automata.numbers(symbols))
        if self.lexical is None:
            return sentence
        return lexical_heads(self.lexical.of_sentence(words, tags), weight, times=sentence)


def _flat(sentence: PreparedSentence) -> _Derivation:
    """Every word attached to the preceding one."""
    n = len(sentence.words)
    return _Derivation(list(range(n)), [None] * n, None, 1, 0, "flat")


def _with_confidences(
    tree: HeadTree, chart: HeadMarginals, fallback: DependencyFallback | None
) -> _Derivation:
    heads = tree.heads.tolist()
    confidences = chart.marginals[tree.heads, np.arange(1, len(heads) + 1)]
    # Marginals outside 0..1 by rounding only are not counted.
    outside = (chart.marginals < -1e-9) | (chart.marginals > 1.0 + 1e-9)
    return _Derivation(
        heads,
        np.clip(confidences, 0.0, 1.0).tolist(),
        chart.log_value,
        chart.sign,
        int(np.count_nonzero(outside)),
        fallback,
    )


def _checked_tags(tags: Sequence[Any], n_words: int) -> list[str]:
    """One tag per word, without weights; unlike tree labels, tags may have brackets."""
    tags = list(tags)
    if len(tags) != n_words:
        raise SettingsError(f"{counted(n_words, 'word')} but {counted(len(tags), 'tag')}")
    for number, tag in enumerate(tags, start=1):
        if not isinstance(tag, str):
            raise TypeError(f"tag {number} is {shown(tag)}; all tags must be strings")
        check_text(tag, f"tag {number}")
    return tags
