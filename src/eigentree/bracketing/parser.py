"""The parser for languages without a treebank: tagged words in, brackets without labels out.

A `BracketingParser` is trained on tagged text only.  It removes the punctuation of a sentence,
decides where the root splits the other words, and finds the best tree under its model (see
`eigentree.bracketing.models`).  Then punctuation is inserted: a mark is a child of the smallest
phrase that has words on both sides of it, or of the root at either end of the sentence, so that no
phrase except the root begins or ends with a mark.

It always returns a tree.  `BracketingResult.fallback` reports what was given up:

``flat``
    the sentence has more than 50,000 words, which are directly under the root;
``split``
    the sentence is longer than ``max_words``, or too long for memory, and was parsed in segments
    under one root, split after punctuation where possible;
``empty``
    there are no words, and no tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eigentree._core.arguments import listed
from eigentree._core.read_only import ReadOnlyMapping
from eigentree.base import SentenceParser, training_module
from eigentree.bracketing.models import BracketingModel
from eigentree.bracketing.options import BracketingOptions
from eigentree.bracketing.result import BracketingResult
from eigentree.bracketing.root_split import RULES
from eigentree.errors import GrammarError, SettingsError
from eigentree.sentence_input import PreparedSentence, Words, normalise, parse_split, prepare
from eigentree.treebank.tree import Tree

if TYPE_CHECKING:
    from eigentree.bracketing.learn.tree_metric import Tagged
    from eigentree.bracketing.options import BracketingMethod, BracketingTrainingOptions
    from eigentree.evaluation.unlabelled import UnlabelledResult
    from eigentree.tokenisation.scheme import TokenisationScheme
    from eigentree.treebank.universal_tags import TagMap
    from eigentree.types import Progress
    from eigentree.words.vectors import WordVectors


@dataclass(frozen=True, eq=False)
class BracketingParser(SentenceParser[BracketingResult]):
    """A parser that gives tagged sentences brackets without labels.

    Attributes
    ----------
    model
        Finds the best tree of tags without punctuation.
    options
        How it parses.
    description
        Training data and settings; read-only.

    Examples
    --------
    >>> import numpy as np
    >>> from eigentree.bracketing.models import MetricModel
    >>> from eigentree.bracketing.tree_metric import TreeMetric
    >>> from eigentree.treebank.universal_tags import tag_map
    >>> table = np.ones((4, 4, 1))
    >>> table[0, 1] = 0.5  # nouns are near the determiners before them
    >>> metric = TreeMetric(("DET", "NOUN", "VERB"), tag_map("ud"), table)
    >>> parser = BracketingParser(MetricModel(metric))
    >>> parser.parse("the man slept .".split(), "DET NOUN VERB PUNCT".split()).tree
    (X (X (DET the) (NOUN man)) (VERB slept) (PUNCT .))
    """

    kind: ClassVar[str] = "bracketing parser"
    signed: ClassVar[bool] = False

    model: BracketingModel
    options: BracketingOptions = field(default_factory=BracketingOptions)
    description: Mapping[str, Any] = field(default_factory=dict)
    _tokenisation: TokenisationScheme | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "description", ReadOnlyMapping(self.description))

    @classmethod
    def train(
        cls,
        data: Iterable[Tagged],
        settings: BracketingTrainingOptions | None = None,
        *,
        method: BracketingMethod | None = None,
        dev: Sequence[Tagged] = (),
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,
        progress: Progress | None = None,
        vectors: WordVectors | None = None,
        tag_map: TagMap | None = None,
    ) -> BracketingParser:
        """Train a parser on tagged sentences.

        Parameters
        ----------
        data, settings, dev, seed, jobs, checkpoint, progress, vectors, tag_map
            As in `eigentree.bracketing.training.train_bracketing`, which lists errors and cost.
        method
            Shortcut for the method in `settings`; ``taught-contexts`` if neither is given.
        """
        parser: BracketingParser = training_module(cls.kind).train_bracketing(
            data, settings, method=method, dev=dev, seed=seed, jobs=jobs, checkpoint=checkpoint,
            progress=progress, vectors=vectors, tag_map=tag_map,
        )  # fmt: skip
        return parser

    def parse(
        self, words: Words, tags: Sequence[str] | None = None, *, top: int | None = None
    ) -> BracketingResult:
        """Parse one sentence.

        Parameters
        ----------
        words
            Words, or pairs of a word and its tag.
        tags
            One for each word, unless they are in `words`.
        top
            Position at which the root splits the words other than punctuation, 1 to their number
            less 1; 0 for the position with the best tree, None for the rule of the options.
            Ignored if a sentence is parsed in segments.

        Raises
        ------
        TypeError
            When tags are a single string, or not all words and tags are strings.
        SettingsError
            When tags are missing or their number differs from that of words, when one cannot be
            part of a tree, or `top` is outside the sentence.
        """
        raw = normalise(words, tags, lambda: self.tokenisation)
        sentence = prepare(raw.words, raw.tags, None)
        if not sentence.words:
            return BracketingResult([], [], None, fallback="empty", offsets=raw.offsets)
        if sentence.tags is None or sentence.guesses is not None:
            raise SettingsError(
                "the sentence needs one tag for each word; this parser has no tagger"
            )
        return parse_split(
            sentence,
            self.options.max_words,
            lambda piece: self._whole(piece, top if piece is sentence else None),
            self._joined,
            self._flat,
        )

    def evaluate(
        self,
        gold: Sequence[Tree],
        settings: Sequence[int] | None = None,
        *,
        gold_tags: bool = True,
        jobs: int = 1,
    ) -> UnlabelledResult:
        """Parse the words of gold trees with their tags and score the brackets.

        Parameters
        ----------
        gold
            Trees; labels are ignored.
        settings
            Maximum sentence lengths; scores are reported for each.  None for 10, 20, 30 and 40.
        gold_tags
            Must be True: there is no tagger.
        jobs
            Number of processes.
        """
        from eigentree.evaluation.unlabelled import LENGTHS, gold_bracketing, score_unlabelled
        from eigentree.treebank.io.unlabelled import bracketing_of

        if not gold_tags:
            raise SettingsError("a bracketing parser requires gold tags; it has no tagger")
        gold = listed(gold, Tree, "gold", "trees")
        tags = {tag for tree in gold for tag in tree.tags()}
        marks = {tag for tag in tags if self.model.tag_map.is_punctuation(tag)}
        results = self.parse_many(((tree.words(), tree.tags()) for tree in gold), jobs=jobs)
        return score_unlabelled(
            [gold_bracketing(tree, punctuation=marks) for tree in gold],
            [None if each.tree is None else bracketing_of(each.tree) for each in results],
            lengths=LENGTHS if settings is None else settings,
        )

    def summary(self) -> dict[str, Any]:
        """Training data and settings, as `eigentree inspect` prints them."""
        return {
            "kind": self.kind,
            "trained": dict(self.description),
            "parsing": asdict(self.options),
        }

    def _whole(self, sentence: PreparedSentence, top: int | None) -> BracketingResult:
        """Parse a sentence as a whole."""
        words, tags = sentence.words, sentence.tags or []
        tag_map = self.model.tag_map
        positions = [at for at, tag in enumerate(tags) if not tag_map.is_punctuation(tag)]
        marks = [at for at in range(1, len(positions)) if positions[at] > positions[at - 1] + 1]
        if top is None:
            top = RULES[self.options.top](words, tags, tag_map)
        try:
            best = self.model.brackets([tags[at] for at in positions], top, marks)
        except GrammarError as error:
            raise SettingsError(str(error)) from error
        # In tokens of the sentence; the root includes marks at its ends.
        inner = best.spans - {(0, len(positions))}
        spans = [(positions[start], positions[end - 1] + 1) for start, end in inner]
        tree = _tree(words, tags, [(0, len(words)), *spans], self.options.label)
        return BracketingResult(words, tags, tree, best.score, best.top)

    def _flat(self, sentence: PreparedSentence) -> BracketingResult:
        """The result of a sentence that is too long: its words under one root."""
        words, tags = sentence.words, sentence.tags or []
        tree = _tree(words, tags, [(0, len(words))], self.options.label)
        return BracketingResult(words, tags, tree, fallback="flat")

    def _joined(self, pieces: Sequence[BracketingResult]) -> BracketingResult:
        """One result from those of consecutive pieces."""
        return BracketingResult(
            [word for piece in pieces for word in piece.words],
            [tag for piece in pieces for tag in piece.tags],
            Tree(self.options.label, [piece.tree for piece in pieces if piece.tree is not None]),
            sum(piece.score for piece in pieces),
            fallback="split",
        )


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
