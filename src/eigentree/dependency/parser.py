"""The parser of dependencies that people hold: tags, head-automata, chart, relations in one object.

Symbols of the automata are tags.  A lexical model may be combined with them, by a product of their
values (Luque et al. 2012, equation 21).  The tree is the projective one of least Bayes risk by the
marginals of its arcs; its relations are chosen afterwards.

A `DependencyParser` never changes once it is made, so threads and processes may share it.  It
always answers, and `DependencyResult.fallback` says what was given up:

``back-off``
    the automata gave the sentence no usable value, as signed ones may; the counted automata that
    they are mixed with took their place;
``chain``
    nor did those; every word hangs on the one before it;
``split``
    the sentence is longer than ``max_words`` and was parsed in pieces, whose roots hang on the
    first one's, unless several are allowed;
``empty``
    there is no word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from eigentree._core.display import NotebookDisplay
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
from eigentree.errors import GrammarError, SettingsError
from eigentree.sentence_input import normalise
from eigentree.tokenisation.scheme import TokenisationScheme, scheme_of_parser
from eigentree.tokenisation.sentences import split_text
from eigentree.treebank.io.conllu import ROOT
from eigentree.treebank.io.sentences import check_whole, check_words
from eigentree.treebank.tag_schemes import column_part

if TYPE_CHECKING:
    from eigentree.dependency.arc_labels import ArcLabels
    from eigentree.dependency.training import DependencyTrainingOptions
    from eigentree.sentence_input import Words
    from eigentree.treebank.io.conllu import Sentence
    from eigentree.types import Progress
    from eigentree.words.tagger import Tagger

DependencyObjective = Literal["sum", "product", "viterbi"]
DependencyFallback = Literal["back-off", "chain", "split", "empty"]

# Stands for tags that were never seen: no cell of CoNLL-U holds white space.
UNKNOWN_TAG = "unknown tag"


class Arc(NamedTuple):
    """The arc to a word.

    Words count from 1, and 0 is the root.  ``confidence`` is the arc's marginal cut to 0..1; None
    where no chart has judged it.  ``relation`` is None from a parser without relations.
    """

    word: int
    head: int
    relation: str | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class DependencyResult(NotebookDisplay):
    """The dependency tree of one sentence.

    Attributes
    ----------
    words, tags
        As parsed; tags are the given ones, else the tagger's.
    arcs
        One for each word, in order.
    log_value
        Logarithm of the absolute value of the sentence under the automata, in nats, all trees
        summed; of the best tree with the objective ``viterbi``.  None for fall-backs without a
        chart.
    sign
        Sign of the value; -1 happens with signed automata.
    n_outside
        Marginals of any arcs that lie outside 0 to 1, as those of signed automata may.
    fallback
        What had to be given up; None for an ordinary parse.
    offsets
        The characters of each word, half-open, where the sentence came as text; None otherwise.
    """

    words: list[str]
    tags: list[str]
    arcs: tuple[Arc, ...] = ()
    log_value: float | None = None
    sign: int = 1
    n_outside: int = 0
    fallback: DependencyFallback | None = None
    offsets: tuple[tuple[int, int], ...] | None = None

    @property
    def heads(self) -> list[int]:
        """The head of each word; words count from 1, and 0 is the root."""
        return [arc.head for arc in self.arcs]

    @property
    def relations(self) -> list[str] | None:
        """The relation of each word; None from a parser without relations."""
        relations = [arc.relation for arc in self.arcs if arc.relation is not None]
        return relations if len(relations) == len(self.arcs) else None

    @property
    def confidence(self) -> float | None:
        """Mean confidence of the arcs, 0..1; None where one was not judged."""
        judged = [arc.confidence for arc in self.arcs if arc.confidence is not None]
        return sum(judged) / len(judged) if judged and len(judged) == len(self.arcs) else None


@dataclass(frozen=True, slots=True)
class DependencyOptions:
    """How sentences are parsed.

    Attributes
    ----------
    objective
        ``sum`` of the marginals of arcs is made largest, or their ``product``, or, for automata
        of probabilities, the value of one derivation (``viterbi``).
    several_roots
        Whether the root may have several modifiers.
    max_words
        Longer sentences are parsed in pieces of at most this many words.
    lexical_weight
        Exponent of the lexical model's values beside those of the automata; above 0.
    lexical_alone
        Whether a lexical model replaces the automata rather than join them.
    """

    objective: DependencyObjective = "sum"
    several_roots: bool = False
    max_words: int = 400
    lexical_weight: float = 1.0
    lexical_alone: bool = False

    def __post_init__(self) -> None:
        known = get_args(DependencyObjective)
        if self.objective not in known:
            raise SettingsError(
                f"objective is {self.objective!r}; it must be one of {', '.join(known)}"
            )
        if self.max_words < 1:
            raise SettingsError(f"max_words is {self.max_words}; it must be at least 1")
        if not 0.0 < self.lexical_weight < float("inf"):
            raise SettingsError(f"lexical_weight is {self.lexical_weight}; it must be above 0")


class _Found(NamedTuple):
    """A tree from a chart: heads, marginals of their arcs where there are any, the value."""

    heads: list[int]
    confidences: list[float] | list[None]
    log_value: float | None
    sign: int
    n_outside: int
    fallback: DependencyFallback | None


@dataclass(frozen=True, slots=True, eq=False)
class DependencyParser:
    """A parser of dependencies, made by `train` and `load`.

    Attributes
    ----------
    automata
        Over tags, `UNKNOWN_TAG` among them.
    back_off
        Automata that give every sentence a positive value, over the same tags.
    tag_scheme
        What the tags are, see `eigentree.treebank.tag_schemes`.
    lexical
        A lexical model to be combined with the automata, or None.
    relations
        What chooses relations, or None.
    tagger
        Gives tags to words that have none, or None.
    options
    description
        What it was trained from and how.
    """

    automata: HeadAutomata
    back_off: HeadAutomata
    tag_scheme: str = "upos"
    lexical: LexicalModifiers | None = None
    relations: ArcLabels | None = None
    tagger: Tagger | None = None
    options: DependencyOptions = DependencyOptions()
    description: dict[str, Any] = field(default_factory=dict)
    _known: frozenset[str] = field(init=False, repr=False)
    _tokenisation: TokenisationScheme | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(self.automata.symbols))
        if self.automata.symbols != self.back_off.symbols or UNKNOWN_TAG not in self._known:
            raise GrammarError(
                "the automata of a dependency parser and their back-off must have the same "
                f"symbols, {UNKNOWN_TAG!r} among them"
            )
        if self.options.lexical_alone and self.lexical is None:
            raise SettingsError("lexical_alone is set for a parser without a lexical model")
        is_signed = self.is_signed and not self.options.lexical_alone
        if self.options.objective == "viterbi" and is_signed:
            raise SettingsError(
                "the objective viterbi is for automata of probabilities; these are signed"
            )

    @property
    def is_signed(self) -> bool:
        """Whether values of sentences may be negative, and so no probabilities."""
        parts = (self.automata.initial, self.automata.final, self.automata.operators)
        return any(bool(np.any(part < 0.0)) for part in parts)

    @property
    def tokenisation(self) -> TokenisationScheme:
        """What the treebank that the parser was trained on takes for a word."""
        if self._tokenisation is None:
            entries = () if self.lexical is None else self.lexical.lexicon.entries
            object.__setattr__(self, "_tokenisation", scheme_of_parser(self.description, entries))
        assert self._tokenisation is not None
        return self._tokenisation

    @classmethod
    def train(
        cls,
        sentences: Sequence[Sentence],
        options: DependencyTrainingOptions | None = None,
        *,
        dev: Sequence[Sentence] = (),
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,
        progress: Progress | None = None,
    ) -> DependencyParser:
        """Learn a parser from trees; see `eigentree.dependency.training.train_dependencies`."""
        from eigentree.dependency.training import DependencyTrainingOptions, train_dependencies

        return train_dependencies(
            sentences, options or DependencyTrainingOptions(), dev=dev, seed=seed, jobs=jobs,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> DependencyParser:
        """Read a parser; see `eigentree.dependency.model_file.load_dependency_parser`."""
        from eigentree.dependency.model_file import load_dependency_parser

        return load_dependency_parser(path, verify=verify)

    def save(self, path: str | Path) -> None:
        """Write the parser, whole or not at all."""
        from eigentree.dependency.model_file import save_dependency_parser

        save_dependency_parser(self, path)

    def parse_text(self, text: str) -> list[DependencyResult]:
        """The dependency trees of the sentences of a text, which are found by `tokenisation`.

        Parameters
        ----------
        text
            Any text; an empty line ends a sentence, another end of a line is white space.

        Returns
        -------
        list of DependencyResult
            One for each sentence, in order; `DependencyResult.offsets` are characters of the text.
        """
        sentences = split_text(text, self.tokenisation)
        return [replace(self.parse(each.words), offsets=each.offsets) for each in sentences]

    def parse(self, words: Words, tags: Sequence[str] | None = None) -> DependencyResult:
        """The dependency tree of a sentence.

        Parameters
        ----------
        words
            Words, or pairs of a word and its tag, or one sentence as text, which `tokenisation`
            cuts into words.
        tags
            One for each word, by the parser's scheme; None for the tagger's.  Tags that were
            never seen are allowed: they count as those without their features, or as unknown.

        Raises
        ------
        GrammarError
            When there are more or fewer tags than words, or none and no tagger.
        TypeError
            When words or tags are not all strings.
        SettingsError
            When a word is empty or no whole text, or there are tags for text, or twice.

        Cost
        ----
        O(N^3 K + N^2 K^2) for N words and K states of an automaton, those of a lexical model
        multiplied with them.
        """
        found_words, found_tags, offsets = normalise(words, tags, lambda: self.tokenisation)
        words = check_words(found_words, spaces=True)
        tags = None if found_tags is None else _checked_tags(found_tags, len(words))
        if tags is None and words and self.tagger is None:
            raise GrammarError(
                "the sentence has no tags, and the parser has no tagger to find them"
            )
        if not words:
            return DependencyResult([], [], fallback="empty", offsets=offsets)
        if tags is None:
            tags = self.tagger.tag(words) if self.tagger is not None else []
        found = self._in_pieces(words, tags)
        relations: Sequence[str | None] = [None] * len(words)
        if self.relations is not None:
            relations = self.relations.predict(words, tags, found.heads)
        arcs = zip(found.heads, relations, found.confidences, strict=True)
        return DependencyResult(
            words,
            tags,
            tuple(Arc(word, *arc) for word, arc in enumerate(arcs, start=1)),
            found.log_value,
            found.sign,
            found.n_outside,
            found.fallback,
            offsets,
        )

    def parse_many(
        self, sentences: Iterable[str | tuple[Words, Sequence[str] | None]]
    ) -> Iterator[DependencyResult]:
        """The trees of sentences, in order; each a text or a pair of words, and tags or None."""
        for sentence in sentences:
            words, tags = (sentence, None) if isinstance(sentence, str) else sentence
            yield self.parse(words, tags)

    def marginals(self, words: Sequence[str], tags: Sequence[str]) -> HeadMarginals | None:
        """Marginals of all arcs of a sentence, axes head and modifier, both from 0, the root.

        None where the automata give the sentence no usable value.
        """
        return head_inside_outside(
            self._sentence(self.automata, words, tags), multi_root=self.options.several_roots
        )

    def _symbol(self, tag: str) -> str:
        """The tag itself if it was ever seen; else without its features; else the unknown one."""
        return next((each for each in (tag, column_part(tag)) if each in self._known), UNKNOWN_TAG)

    def _in_pieces(self, words: list[str], tags: list[str]) -> _Found:
        most = self.options.max_words
        if len(words) <= most:
            return self._tree(words, tags)
        heads: list[int] = []
        confidences: list[Any] = []
        first_root = ROOT
        for start in range(0, len(words), most):
            piece = self._tree(words[start : start + most], tags[start : start + most])
            heads += [first_root if head == ROOT else head + start for head in piece.heads]
            # What was judged is the tree of the piece: the arc to its root is new.
            confidences += [
                sure if head != ROOT or first_root == ROOT else None
                for head, sure in zip(piece.heads, piece.confidences, strict=True)
            ]
            if first_root == ROOT and not self.options.several_roots:
                first_root = heads.index(ROOT) + 1
        return _Found(heads, confidences, None, 1, 0, "split")

    def _tree(self, words: list[str], tags: list[str]) -> _Found:
        steps: tuple[tuple[HeadAutomata, DependencyFallback | None], ...] = (
            (self.automata, None),
            (self.back_off, "back-off"),
        )
        for automata, fallback in steps:
            sentence = self._sentence(automata, words, tags)
            found = self._by_viterbi(sentence, fallback) or self._by_marginals(sentence, fallback)
            if found is not None:
                return found
        n = len(words)
        return _Found(list(range(n)), [None] * n, None, 1, 0, "chain")

    def _by_viterbi(
        self, sentence: SentenceAutomata, fallback: DependencyFallback | None
    ) -> _Found | None:
        if self.options.objective != "viterbi":
            return None
        tree = viterbi(sentence, multi_root=self.options.several_roots)
        if tree is None:
            return None
        heads = tree.heads.tolist()
        return _Found(heads, [None] * len(heads), tree.score, 1, 0, fallback)

    def _by_marginals(
        self, sentence: SentenceAutomata, fallback: DependencyFallback | None
    ) -> _Found | None:
        several = self.options.several_roots
        found = head_inside_outside(sentence, multi_root=several)
        if found is None:
            return None
        objective: ArcObjective = "product" if self.options.objective == "product" else "sum"
        tree = best_tree(arc_scores(found.marginals, objective), multi_root=several)
        return None if tree is None else _judged(tree, found, fallback)

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


def _judged(tree: HeadTree, found: HeadMarginals, fallback: DependencyFallback | None) -> _Found:
    heads = tree.heads.tolist()
    own = found.marginals[tree.heads, np.arange(1, len(heads) + 1)]
    # Rounding alone puts no marginal outside.
    outside = (found.marginals < -1e-9) | (found.marginals > 1.0 + 1e-9)
    return _Found(
        heads,
        np.clip(own, 0.0, 1.0).tolist(),
        found.log_value,
        found.sign,
        int(np.count_nonzero(outside)),
        fallback,
    )


def _checked_tags(tags: Sequence[Any], n_words: int) -> list[str]:
    """One tag a word, without weights; unlike labels of trees, tags may hold brackets."""
    tags = list(tags)
    if len(tags) != n_words:
        raise GrammarError(
            f"a sentence has {n_words} words and {len(tags)} tags; it must have one tag a word"
        )
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"one of the tags is {tag!r}; all must be strings")
        check_whole(tag, "tag")
    return tags
