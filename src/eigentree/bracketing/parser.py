"""The parser for languages without a treebank: tagged words in, brackets without labels out.

A `BracketingParser` is learned from tagged text alone.  Of a sentence it leaves out punctuation,
decides where the root parts the other words and asks its model for the best tree (see
`eigentree.bracketing.models`).  Then punctuation comes back: a mark is a child of the smallest
phrase that has words on both sides of it, and of the whole sentence where it stands at an end, so
that no phrase but the whole begins or ends with a mark.

It always answers.  What had to be given up is in `BracketingResult.fallback`:

``split``
    the sentence is longer than ``max_words``, or than memory allows, and was parsed in pieces
    under one root, cut after punctuation where that can be;
``empty``
    there are no words, and no tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eigentree._core.display import NotebookDisplay
from eigentree.bracketing.models import BracketingModel, ContextModel, MetricModel, TaughtModel
from eigentree.bracketing.root_split import RULES
from eigentree.bracketing.tree_metric import TreeMetric, quartet_excess
from eigentree.errors import GrammarError, SettingsError, counted
from eigentree.sentence_input import prepare, split_long
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL, Tree
from eigentree.treebank.universal_tags import TagMap, fitting_map

if TYPE_CHECKING:
    from eigentree.bracketing.learn.ccm import ConstituentContextOptions
    from eigentree.bracketing.learn.tree_metric import MetricOptions, Progress
    from eigentree.words.vectors import WordVectors

TopRule = Literal["verbs", "free"]
Tagged = tuple[Sequence[str], Sequence[str]]

# Sentences that are looked at to choose a tag map, and to see how tree-like distances are.
_LOOKED_AT = 1000
_MEASURED = 100
_LONGEST_MEASURED = 20


@dataclass(frozen=True, slots=True)
class BracketingOptions:
    """How sentences are bracketed.

    Attributes
    ----------
    top
        Where the root parts a sentence: by the rule for verbs and punctuation, or wherever the
        tree is best; see `eigentree.bracketing.root_split`.  The shortest tree has its root at the
        first word.
    max_words
        Longer sentences are parsed in pieces of at most this many words.
    label
        Of all phrases.
    """

    top: TopRule = "verbs"
    max_words: int = 120
    label: str = "X"

    def __post_init__(self) -> None:
        if self.top not in RULES:
            raise SettingsError(f"top is {self.top!r}; it must be one of {', '.join(RULES)}")
        if self.max_words < 2:
            raise SettingsError(f"max_words is {self.max_words}; it must be at least 2")
        if not self.label or not FORBIDDEN_IN_LABEL.isdisjoint(self.label):
            raise SettingsError(f"label is {self.label!r}; it must be without blanks and brackets")


@dataclass(frozen=True, slots=True)
class BracketingResult(NotebookDisplay):
    """What the parser makes of a sentence.

    Attributes
    ----------
    words, tags
        As given.
    tree
        Phrases with the one label over the given tags; binary but for punctuation.  None for no
        words.
    score
        Of the tree under the model, or the sum of those of its pieces: the larger the better.  For
        distances it is the sum of the lengths of all edges, with a minus; for the
        constituent-context model the sum of the log-odds of all spans, in nats; for models that
        distances have taught the number of spans that are to be expected right.
    top
        Where the root parts the words that are no punctuation; 0 for less than two words and
        for pieces.
    fallback
        What was given up, None for nothing.
    """

    words: list[str]
    tags: list[str]
    tree: Tree | None
    score: float = 0.0
    top: int = 0
    fallback: Literal["split", "empty"] | None = None


@dataclass(frozen=True, slots=True)
class BracketingParser:
    """A parser that gives tagged sentences brackets without labels.

    Attributes
    ----------
    model
        What gives tags without punctuation their best tree.
    options
    description
        What it was made of, for people: settings, counts.

    Examples
    --------
    >>> import numpy as np
    >>> from eigentree.treebank.universal_tags import tag_map
    >>> table = np.ones((4, 4, 1))
    >>> table[0, 1] = 0.5  # nouns are near the determiners before them
    >>> metric = TreeMetric(("DET", "NOUN", "VERB"), tag_map("ud"), table)
    >>> parser = BracketingParser(MetricModel(metric))
    >>> parser.parse("the man slept .".split(), "DET NOUN VERB PUNCT".split()).tree
    (X (X (DET the) (NOUN man)) (VERB slept) (PUNCT .))
    """

    model: BracketingModel
    options: BracketingOptions = BracketingOptions()
    description: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def train(
        cls,
        sentences: Iterable[Tagged],
        vectors: WordVectors,
        *,
        tag_map: TagMap | None = None,
        metric: MetricOptions | None = None,
        least_squares: bool = False,
        options: BracketingOptions = BracketingOptions(),
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> BracketingParser:
        """Learn distances from tagged text.

        Parameters
        ----------
        sentences
            Words and tags of each, read once; a text of any length fits.
        vectors
            Vectors of words, such as `eigentree.words.brown.BrownClusters.vectors` gives.
        tag_map
            To universal tags.  None: the one of the package that fits the first sentences, or tags
            as they are.
        metric
            How distances are estimated; None for the default.
        least_squares
            Whether edges have the lengths of least squares; see
            `eigentree.bracketing.chart.minimum_evolution`.
        options
            How sentences are bracketed.
        jobs
            Processes; the result is the same.
        progress
            Called with numbers of sentences.

        Raises
        ------
        GrammarError
            When there is nothing to learn from, or no word of the first sentences has a vector.
        SettingsError
            When moments would need too much memory.

        Cost
        ----
        See `eigentree.bracketing.learn.tree_metric`.

        References
        ----------
        parikh-2014.
        """
        from dataclasses import asdict

        from eigentree.bracketing.learn.tree_metric import MetricOptions, count_moments, metric_of

        metric = metric or MetricOptions()
        first, rest, tag_map = _looked_at(sentences, tag_map)
        if first and all(vectors.number(word) is None for words, _ in first for word in words):
            raise GrammarError(
                f"no word of the first {counted(len(first), 'sentence')} has a vector; vectors "
                "must be of the text's language and spelling"
            )
        moments = count_moments(
            chain(first, rest), vectors, tag_map, metric.largest_distance,
            jobs=jobs, progress=progress,
        )  # fmt: skip
        learned = metric_of(moments, tag_map, metric)
        description = {
            "method": "metric",
            "words": moments.n_words,
            "tags": len(learned.tags),
            "tag_map": tag_map.name,
            "dimensions": moments.dimensions,
            "metric": asdict(metric),
            "quartet_excess": _mean_excess(learned, first),
        }
        return cls(MetricModel(learned, least_squares), options, description)

    @classmethod
    def train_contexts(
        cls,
        sentences: Iterable[Tagged],
        *,
        tag_map: TagMap | None = None,
        learning: ConstituentContextOptions | None = None,
        options: BracketingOptions = BracketingOptions(top="free"),
        progress: Progress | None = None,
    ) -> BracketingParser:
        """Learn a constituent-context model from tagged text.

        Parameters
        ----------
        sentences
            Words and tags of each, read once.  Those that the model may learn from are kept.
        tag_map
            Tells punctuation and verbs; the model has tags as they are.  None: the one of the
            package that fits the first sentences, or what tags themselves tell.
        learning
            How; None for the default.
        options
            How sentences are bracketed.
        progress
            Called with numbers of maximisation steps.

        Raises
        ------
        GrammarError
            When there is no sentence to learn from.

        Cost
        ----
        See `eigentree.bracketing.learn.ccm`.

        References
        ----------
        klein-manning-2002.
        """
        from dataclasses import asdict

        from eigentree.bracketing.learn.ccm import (
            ConstituentContextOptions,
            learn_constituent_context,
        )

        learning = learning or ConstituentContextOptions()
        first, rest, tag_map = _looked_at(sentences, tag_map)
        is_mark, longest = tag_map.is_punctuation, learning.lengths[-1]
        used: list[list[str]] = []
        for _, tags in chain(first, rest):
            kept = [tag for tag in tags if not is_mark(tag)]
            if _fits(kept, longest):
                used.append(kept)
        learned = learn_constituent_context(
            used, learning, after_step=None if progress is None else lambda _: progress(1)
        )
        description = {
            "method": "constituent-context",
            "sentences": len(used),
            "words": sum(map(len, used)),
            "tags": len(learned.tags),
            "tag_map": tag_map.name,
            "constituent_context": {**asdict(learning), "lengths": list(learning.lengths)},
        }
        return cls(ContextModel(learned, tag_map), options, description)

    @classmethod
    def train_taught(
        cls,
        sentences: Iterable[Tagged],
        vectors: WordVectors,
        *,
        tag_map: TagMap | None = None,
        metric: MetricOptions | None = None,
        learning: ConstituentContextOptions | None = None,
        charge: float = 1.0,
        options: BracketingOptions = BracketingOptions(top="free"),
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> BracketingParser:
        """Learn distances from tagged text, and constituent-context models from their trees.

        Parameters
        ----------
        sentences
            Words and tags of each, read once.  Those that the models may learn from are kept.
        vectors
            Vectors of words, such as `eigentree.words.brown.BrownClusters.vectors` gives.
        tag_map
            To universal tags.  None: the one of the package that fits the first sentences, or tags
            as they are.
        metric
            How distances are estimated; None for the default of this method.
        learning
            How models learn from their trees; None for the default of this method.
        charge
            Of a span that has punctuation inside and doesn't reach from mark to mark, in nats.
        options
            How sentences are bracketed.
        jobs
            Processes that count; the result is the same.
        progress
            Called with numbers of sentences.

        Raises
        ------
        GrammarError
            When there is nothing to learn from, or the charge is negative.
        SettingsError
            When moments would need too much memory.

        Cost
        ----
        See `eigentree.bracketing.learn.tree_metric` and
        `eigentree.bracketing.learn.ccm_from_metric`.

        References
        ----------
        parikh-2014; klein-manning-2002.
        """
        from dataclasses import asdict

        from eigentree.bracketing.learn.ccm_from_metric import (
            TAUGHT,
            TEACHER,
            learn_taught_contexts,
        )

        learning = learning or TAUGHT
        first, rest, tag_map = _looked_at(sentences, tag_map)
        is_mark, longest = tag_map.is_punctuation, learning.lengths[-1]
        used: list[Tagged] = []

        def watched() -> Iterator[Tagged]:
            for words, tags in chain(first, rest):
                if _fits([tag for tag in tags if not is_mark(tag)], longest):
                    used.append((words, tags))
                yield words, tags

        teacher = cls.train(
            watched(), vectors, tag_map=tag_map, metric=metric or TEACHER,
            jobs=jobs, progress=progress,
        )  # fmt: skip
        assert isinstance(teacher.model, MetricModel)
        own, universal = learn_taught_contexts(used, teacher.model.metric, learning)
        description = {
            **teacher.description,
            "method": "taught-contexts",
            "sentences": len(used),
            "constituent_context": {**asdict(learning), "lengths": list(learning.lengths)},
        }
        return cls(TaughtModel(own, universal, tag_map, charge), options, description)

    def parse(
        self, words: Sequence[str], tags: Sequence[str], *, top: int | None = None
    ) -> BracketingResult:
        """Bracket a sentence.

        Parameters
        ----------
        words, tags
            One tag a word.
        top
            Where the root parts the words that are no punctuation, 1 to their number less 1; 0 for
            wherever the tree is best, None for what the options say.  Passed over where a
            sentence is parsed in pieces.

        Raises
        ------
        TypeError
            When words or tags are one string, or not all of them strings.
        SettingsError
            When there are more or fewer tags than words, one is nothing that a tree can hold, or
            `top` lies outside the sentence.
        """
        sentence = prepare(words, tags, None)
        words, tags = sentence.words, sentence.tags or []
        if not words:
            return BracketingResult(words, tags, None, fallback="empty")
        most = min(self.options.max_words, len(words))
        while True:
            try:
                if len(words) <= most:
                    return self._whole(words, tags, top)
                pieces = split_long(sentence, most)
                return self._joined([self._whole(each[0], each[1] or [], None) for each in pieces])
            except MemoryError:
                # Charts grow with the cube of the length: smaller ones may still fit.
                if most < 4:
                    raise
                most //= 2

    def parse_many(self, sentences: Iterable[Tagged]) -> Iterator[BracketingResult]:
        """Bracket sentences one after the other."""
        return (self.parse(words, tags) for words, tags in sentences)

    def _whole(self, words: list[str], tags: list[str], top: int | None) -> BracketingResult:
        """A sentence of which a chart is made."""
        tag_map = self.model.tag_map
        kept = [at for at, tag in enumerate(tags) if not tag_map.is_punctuation(tag)]
        marks = [at for at in range(1, len(kept)) if kept[at] > kept[at - 1] + 1]
        if top is None:
            top = RULES[self.options.top](words, tags, tag_map)
        try:
            best = self.model.brackets([tags[at] for at in kept], top, marks)
        except GrammarError as error:
            raise SettingsError(str(error)) from error
        # In the tokens of the sentence; the root has those at its ends as well.
        inner = best.spans - {(0, len(kept))}
        spans = [(kept[start], kept[end - 1] + 1) for start, end in inner]
        tree = _tree(words, tags, [(0, len(words)), *spans], self.options.label)
        return BracketingResult(words, tags, tree, best.score, best.top)

    def _joined(self, pieces: Sequence[BracketingResult]) -> BracketingResult:
        """One result out of those of pieces."""
        return BracketingResult(
            [word for piece in pieces for word in piece.words],
            [tag for piece in pieces for tag in piece.tags],
            Tree(self.options.label, [piece.tree for piece in pieces if piece.tree is not None]),
            sum(piece.score for piece in pieces),
            fallback="split",
        )

    def save(self, path: str | Path) -> None:
        """Write the parser into a model file, whole or not at all."""
        from eigentree.bracketing.model_file import save_bracketing_parser

        save_bracketing_parser(self, path)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> BracketingParser:
        """Read a parser from a model file.

        Raises
        ------
        ModelFileError
            When the file is missing, damaged or no such model.
        """
        from eigentree.bracketing.model_file import load_bracketing_parser

        return load_bracketing_parser(path, verify=verify)


def _tree(
    words: Sequence[str], tags: Sequence[str], spans: Sequence[tuple[int, int]], label: str
) -> Tree:
    """The tree of nested spans."""
    done: dict[int, tuple[int, Tree]] = {}  # by start, the largest so far: its end, and itself
    leaves = [Tree(tag, (), word) for word, tag in zip(words, tags, strict=True)]
    # Children before parents, from right to left.
    for start, end in sorted(spans, key=lambda span: (-span[0], span[1])):
        children: list[Tree] = []
        at = start
        while at < end:
            at, child = done.pop(at, (at + 1, leaves[at]))
            children.append(child)
        done[start] = end, Tree(label, children)
    return done[0][1]


def _looked_at(
    sentences: Iterable[Tagged], tag_map: TagMap | None
) -> tuple[list[Tagged], Iterator[Tagged], TagMap]:
    """The first sentences, the rest, and the map that was given or fits the first."""
    rest = iter(sentences)
    first = list(islice(rest, _LOOKED_AT))
    if tag_map is None:
        tag_map = fitting_map([tag for _, tags in first for tag in tags])
    return first, rest, tag_map


def _fits(tags: Sequence[str], longest: int | None) -> bool:
    """Whether a sentence without punctuation has two words, and no more than that."""
    return len(tags) > 1 and (longest is None or len(tags) <= longest)


def _mean_excess(metric: TreeMetric, sentences: Sequence[Tagged]) -> float | None:
    """How far the distances of some sentences are from those of trees; None for no sentence."""
    found: list[float] = []
    for _, tags in sentences:
        kept = [tag for tag in tags if not metric.tag_map.is_punctuation(tag)]
        if 4 <= len(kept) <= _LONGEST_MEASURED and len(found) < _MEASURED:
            found.append(quartet_excess(metric.distances(kept)))
    return float(np.mean(found)) if found else None
