"""A constituency parser that combines the parses of many models."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from eigentree._core.read_only import ReadOnlyMapping
from eigentree.base import SentenceParser, model_file_module, training_module
from eigentree.constituency.calibration import Calibrations, calibration_for
from eigentree.constituency.chart.constraints import Settled, settle
from eigentree.constituency.chart.decode import Labels
from eigentree.constituency.chart.marginals import Marginal, labelled_spans
from eigentree.constituency.ensemble.combine import Chains, Combined, Evidence
from eigentree.constituency.ensemble.predictions import Prediction, Predictor, common_fallback
from eigentree.constituency.ensemble.stacking import Query, Stacking
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import (
    IN_PARTS,
    ConstituencyParser,
    cleaning_of,
    evaluate_parses,
)
from eigentree.constituency.result import (
    Alternative,
    Bracket,
    ParseResult,
    annotate,
    check_kbest,
    check_minimum,
    concatenate,
    mark_dropped,
    mean_confidence,
    with_alternative,
)
from eigentree.errors import EigentreeError, counted
from eigentree.sentence_input import (
    PreparedSentence,
    SentenceLike,
    Words,
    effective_constraints,
    normalise,
    prepare,
    split_long,
    unpack,
)
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.io.sentences import Tag
from eigentree.treebank.tree import Tree
from eigentree.types import Progress
from eigentree.words.tagger import Tagger

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.config import EnsembleConfig
    from eigentree.evaluation.result import ParsevalResult
    from eigentree.evaluation.settings import ParsevalOptions

# Sentences in a batch: each member parses the whole batch before the next member does.
BATCH = 32
# Batch size if members are opened again for each batch, which costs time.
LOW_MEMORY_BATCH = 512
# Edges of the forests in memory, about 200 MB.  A batch with tags has far fewer.  With more edges,
# parsing takes so long that the time for opening the members again is negligible.
MAX_EDGES = 20_000_000

# Why constraints are dropped although some backbone has trees that satisfy them.
NOT_COMBINED = "the combination of the members' trees does not satisfy them"

Members = Callable[[int], Iterable[tuple[str, LPCFG]]]


@dataclass(frozen=True, repr=False, eq=False)
class EnsembleParser(SentenceParser[ParseResult]):
    """A constituency parser made from many grammars.

    Attributes
    ----------
    backbones
        Parsers with the plain grammars that members share, without taggers.
    members
        A function from the index of a backbone to the family and grammar of each of its members.
        It is called once per batch of sentences, or more often if the forests are large.
    stacking
        The combinations.
    tagger
        As in `eigentree.constituency.parser.ConstituencyParser`.
    wrapper
        Label of the outer bracket around the treebank's trees; None for none.
    description
        Members, settings and training data; read-only.
    batch
        Number of sentences that `parse_many` parses together.
    calibrations
        As in `eigentree.constituency.parser.ConstituencyParser`.
    folder
        The folder that it was opened from; None for an ensemble in memory.
    """

    kind: ClassVar[str] = "ensemble"

    backbones: Sequence[ConstituencyParser]
    members: Members
    stacking: Stacking
    tagger: Tagger | None = None
    wrapper: str | None = None
    description: Mapping[str, Any] = field(default_factory=dict)
    batch: int = BATCH
    calibrations: Calibrations = field(default_factory=dict)
    folder: Path | None = None
    _tokenisation: TokenisationScheme | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "description", ReadOnlyMapping(self.description))

    def __repr__(self) -> str:
        parts = [
            counted(len(self.description.get("members", ())), "member"),
            counted(len(self.stacking.config.combination), "combination"),
            "no tagger" if self.tagger is None else "tagger",
        ]
        return f"<EnsembleParser: {', '.join(parts)}>"

    @classmethod
    def load(
        cls, path: str | Path, *, low_memory: bool = False, verify: bool = True
    ) -> EnsembleParser:
        """Open the folder of an ensemble.

        Parameters
        ----------
        path
            A folder written by training or by `save`.
        low_memory
            Open members one at a time while parsing instead of keeping all in memory.
        verify
            Check the digests of all files.

        Raises
        ------
        ModelFileError
            When a file is missing, damaged, inconsistent or belongs to another ensemble.
        """
        loaded: EnsembleParser = model_file_module(cls.kind).load_ensemble(
            path, low_memory=low_memory, verify=verify
        )
        return loaded

    @property
    def options(self) -> ParserOptions:
        """Options of pruning and of the members' decoding."""
        return self.backbones[0].options

    @property
    def signed(self) -> bool:
        """Always true: marginals are means over members, some of which may be signed."""
        return True

    @property
    def cleaning(self) -> CleaningOptions:
        """How the training trees were cleaned; the default if unknown."""
        return cleaning_of(self.description)

    def _known_words(self) -> Iterable[str]:
        return self.backbones[0].grammar.backbone.lexicon.entries

    @classmethod
    def train(
        cls,
        data: Iterable[Tree],
        settings: EnsembleConfig | None = None,
        *,
        method: str | None = None,
        dev: Sequence[Tree] = (),
        seed: int = 0,
        jobs: int = 1,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
        wrapper: str | None = None,
        tagger: bool = True,
        tag_dictionary: str | Path | None = None,
    ) -> EnsembleParser:
        """Train an ensemble on clean trees.

        Parameters
        ----------
        data
            Clean trees.
        settings
            Families and combinations; None for the bundled description.
        method
            Estimator of all families, overriding the settings.
        dev, wrapper, tagger, tag_dictionary, seed, jobs, progress
            See `eigentree.constituency.ensemble.training.train_ensemble`, which also lists errors.
        checkpoint
            Folder of the ensemble, from which an interrupted training resumes.  None for a
            temporary folder, which is removed on exit; use `save` to keep the ensemble.
        """
        training = training_module(cls.kind)
        trained: EnsembleParser = training.train_ensemble(
            list(data), training.config_of(settings, method), checkpoint or temporary_folder(),
            dev=dev, wrapper=wrapper, tagger=tagger, tag_dictionary=tag_dictionary, seed=seed,
            jobs=jobs, progress=progress,
        )  # fmt: skip
        return trained

    def save(self, path: str | Path) -> None:
        """Write a copy of the ensemble's folder, with its calibration but without training data.

        Parameters
        ----------
        path
            A folder, which is created if needed.

        Raises
        ------
        ModelFileError
            When the ensemble has no folder, a file can't be written, or the folder at `path` has
            other files than those of an ensemble.
        """
        model_file_module(self.kind).save_ensemble(self, path)

    def summary(self) -> dict[str, Any]:
        """Members, combinations and settings, in JSON types."""
        summary: dict[str, Any] = model_file_module(self.kind).summarise(self)
        return summary

    def evaluate(
        self,
        gold: Iterable[Tree],
        settings: ParsevalOptions | None = None,
        *,
        gold_tags: bool = True,
        jobs: int = 1,
    ) -> ParsevalResult:
        """Score on gold trees; see `ConstituencyParser.evaluate`."""
        return evaluate_parses(self, gold, settings, gold_tags=gold_tags, jobs=jobs)

    def parse(
        self,
        words: Words,
        tags: Sequence[Tag] | None = None,
        *,
        kbest: int | None = None,
        marginals: float | None = None,
        constraints: Constraints | None = None,
        soft: bool = False,
    ) -> ParseResult:
        """Parse one sentence; arguments and errors as in `ConstituencyParser.parse`.

        Alternatives are the trees of the last combination: for a coverage, the best trees over the
        members' brackets; for a reranker, its candidates.  They have no values.

        Marginals are means over all members; each member's marginals are clipped to 0..1.

        Constraints apply to the charts of all members that can satisfy them.  A coverage then has a
        phrase over each required span, even if no label of it has a positive gain.
        """
        sentence = iter([(words, tags, constraints)])
        return next(self._parse_batches(sentence, kbest=kbest, marginals=marginals, soft=soft))

    def _parse_each(
        self, sentences: Iterator[SentenceLike], **options: Any
    ) -> Iterator[ParseResult]:
        return self._parse_batches(sentences, **options)

    def _parse_batches(
        self,
        sentences: Iterator[SentenceLike],
        *,
        kbest: int | None = None,
        marginals: float | None = None,
        soft: bool = False,
    ) -> Iterator[ParseResult]:
        """Parse sentences in batches."""
        check_kbest(kbest)
        check_minimum(marginals)
        while batch := list(islice(sentences, self.batch)):
            prepared, settled, calibrations, offsets = [], [], [], []
            error: Exception | None = None
            try:
                for given, its_tags, constraints in map(unpack, batch):
                    words, tags, places = normalise(given, its_tags, lambda: self.tokenisation)
                    sentence = prepare(words, tags, self.tagger, self._tags_known)
                    settled.append(self._settled(sentence, constraints or Constraints(), soft))
                    prepared.append(sentence.under(settled[-1].kept) if constraints else sentence)
                    known = None if constraints else calibration_for(tags, self.calibrations)
                    calibrations.append(known)
                    offsets.append(places)
            except (EigentreeError, TypeError) as problem:
                error = problem  # raised after the results of the sentences before it
            results = self._parse(prepared, kbest, marginals)
            annotated = map(annotate, results, calibrations, offsets)
            yield from map(_marked, annotated, settled)
            if error is not None:
                raise error

    def _settled(self, sentence: PreparedSentence, constraints: Constraints, soft: bool) -> Settled:
        """The constraints that some backbone can satisfy, and those that none can."""
        required = effective_constraints(constraints, sentence, self.wrapper)
        if not required:
            return Settled(required, (), None)
        if len(sentence.words) > self._max_words:
            return Settled(Constraints(), required.each, IN_PARTS)

        def is_possible(some: Constraints) -> bool:
            return any(plain.can_satisfy(sentence, some) for plain in self.backbones)

        return settle(required, is_possible, soft=soft)

    @property
    def _tags_known(self) -> set[str]:
        return set().union(*(plain.grammar.backbone.symbols.tags for plain in self.backbones))

    @property
    def _max_words(self) -> int:
        return min(plain.options.max_words for plain in self.backbones)

    def every_output(
        self, sentences: Iterable[tuple[Sequence[str], Sequence[str] | None]]
    ) -> Iterator[tuple[dict[str, Prediction], dict[str, Combined]]]:
        """The predictions of each family and the output of each combination, for each sentence.

        Parameters
        ----------
        sentences
            Words and tags (None for the tagger's), of at most ``options.max_words`` words each.
        """
        waiting = iter(sentences)
        while batch := list(islice(waiting, self.batch)):
            prepared = [prepare(*each, self.tagger) for each in batch]
            predictions = self._read(prepared)
            yield from zip(predictions, self._combined(prepared, predictions, None), strict=True)

    def _parse(
        self,
        sentences: list[PreparedSentence],
        kbest: int | None,
        minimum: float | None,
        max_words: int | None = None,
    ) -> list[ParseResult]:
        max_words = max_words or self._max_words
        parts = [list(split_long(sentence, max_words)) for sentence in sentences]
        try:
            results = iter(self._results([part for each in parts for part in each], kbest, minimum))
        except MemoryError:
            # Charts are quadratic in the length: fewer or shorter sentences may fit into memory.
            if len(sentences) > 1:
                return [
                    self._parse([sentence], kbest, minimum, max_words)[0] for sentence in sentences
                ]
            # A coverage allocates memory for `kbest` trees, even if there are fewer.
            if kbest is not None and kbest > 1:
                return self._parse(sentences, max(1, kbest // 4), minimum, max_words)
            if max_words < 4:
                raise
            shorter = min(max_words, len(sentences[0].words)) // 2
            return self._parse(sentences, kbest, minimum, shorter)
        joined = []
        for sentence, its_parts in zip(sentences, parts, strict=True):
            of_parts = [next(results) for _ in its_parts]
            if not of_parts:
                joined.append(ParseResult([], [], None, fallback="empty"))
            elif len(of_parts) == 1:
                joined.append(of_parts[0])
            else:
                whole = concatenate(sentence.words, of_parts, self.backbones[0].root_label)
                joined.append(whole if kbest is None else with_alternative(whole))
        return joined

    def _read(self, sentences: list[PreparedSentence]) -> list[dict[str, Prediction]]:
        """The predictions of all families; each family has one backbone."""
        predictions: list[dict[str, Prediction]] = [{} for _ in sentences]
        chains = Chains()
        for number, plain in enumerate(self.backbones):
            waiting = iter(sentences)
            each: list[dict[str, Prediction]] = []
            while len(each) < len(sentences):
                # Not bound to a name, so that the forests are freed before the next pruning.
                each += Predictor(waiting, plain, MAX_EDGES).predict(self.members(number), chains)
            for of_sentence, of_backbone in zip(predictions, each, strict=True):
                of_sentence.update(of_backbone)
        return predictions

    def _combined(
        self,
        sentences: Sequence[PreparedSentence],
        predictions: Sequence[Mapping[str, Prediction]],
        names: Sequence[str] | None,
        kbest: int = 1,
    ) -> list[dict[str, Combined]]:
        queries = []
        for sentence, of_sentence in zip(sentences, predictions, strict=True):
            tags = sentence.tags if sentence.guesses is None else None
            tags = tags or self._tags(sentence, of_sentence)
            spans = sentence.constraints.spans if sentence.constraints else ()
            required = [(each.start, each.end) for each in spans if each.kind == "required"]
            queries.append(Query(sentence.words, tags, of_sentence, {}, required))
        return self.stacking.outputs(queries, self.backbones[0].root_label, names, kbest)

    def _tags(self, sentence: PreparedSentence, predictions: Mapping[str, Prediction]) -> list[str]:
        """The most frequent tag of each word in the members' trees, for sentences without tags."""
        votes: list[dict[str, int]] = [{} for _ in sentence.words]
        for prediction in predictions.values():
            for tree, count in zip(prediction.trees, prediction.votes.tolist(), strict=True):
                for of_word, tag in zip(votes, tree.tags(), strict=True):
                    of_word[tag] = of_word.get(tag, 0) + count
        if not any(votes):
            return self.backbones[0].flat(sentence).tags
        return [max(sorted(of_word), key=of_word.__getitem__) for of_word in votes]

    def _results(
        self, sentences: list[PreparedSentence], kbest: int | None, minimum: float | None
    ) -> list[ParseResult]:
        predictions = self._read(sentences)
        last = self.stacking.config.combination[-1].name
        combined = self._combined(sentences, predictions, [last], kbest or 1)
        return [
            self._result(sentence, of_sentence, outputs[last], kbest, minimum)
            for sentence, of_sentence, outputs in zip(sentences, predictions, combined, strict=True)
        ]

    def _result(
        self,
        sentence: PreparedSentence,
        predictions: Mapping[str, Prediction],
        combined: Combined,
        kbest: int | None,
        minimum: float | None,
    ) -> ParseResult:
        is_alone = len(sentence.words) == 1
        has_any = any(prediction.members for prediction in predictions.values())
        # Over one word the tagger's tags decide, not the members.
        if not has_any or (is_alone and sentence.guesses is not None):
            plain = self.backbones[0]
            result = plain.parse_sentence(sentence, kbest, minimum)
            return result if is_alone else replace(result, fallback=result.fallback or "coarse")
        brackets = tuple(
            Bracket(*span, confidence)
            for span, confidence in zip(combined.tree.spans(), combined.confidences, strict=True)
        )
        alternatives = [
            Alternative(tree, value, confidence=float(np.mean(sure)) if sure else None)
            for tree, value, sure in (
                (combined.tree, combined.value, combined.confidences),
                *combined.others,
            )
        ]
        return ParseResult(
            sentence.words,
            combined.tree.tags(),
            combined.tree,
            brackets,
            mean_confidence(brackets),
            fallback=common_fallback(predictions.values()),
            alternatives=tuple(alternatives[: kbest or 0]),
            marginals=() if minimum is None else tuple(_marginals(predictions.values(), minimum)),
        )


def temporary_folder() -> Path:
    """A new folder that is removed when the interpreter exits."""
    folder = Path(mkdtemp(prefix="eigentree-ensemble-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _marginals(predictions: Iterable[Prediction], minimum: float) -> list[Marginal]:
    """The members' mean marginals of labelled spans."""
    first, *others = [each.evidence for each in predictions]
    evidence = Evidence(first.n_words, first.chains)
    for each in (first, *others):
        evidence.add(each)
    start, end, chain = evidence.columns()
    chains = evidence.chains
    labels = Labels.over(chain, start, end, *chains.labels)
    weight = evidence.weight / (evidence.total or 1.0)
    return labelled_spans(labels, chains.chains, chain, start, end, weight, minimum)


def _marked(result: ParseResult, settled: Settled) -> ParseResult:
    """The result with the constraints that it violates or may violate."""
    broken = settled.kept.broken_by(result.tree) if result.tree is not None else ()
    if result.fallback in ("flat", "split"):
        broken = settled.kept.each
    dropped = settled.given_up + broken
    if not dropped:
        return result
    why = IN_PARTS if result.fallback == "split" else NOT_COMBINED
    return mark_dropped(result, dropped, settled.conflict or why)
