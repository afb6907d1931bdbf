"""A parser that combines the trees of many models."""

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
from eigentree.errors import counted
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

# Sentences that are parsed together: each member parses all of them before the next does.
BATCH = 32
# With members that are opened again for each batch, more sentences repay the opening.
LOW_MEMORY_BATCH = 512
# Edges of the forests that are kept at a time, some 200 MB.  A batch with tags has far fewer; where
# there are more, parsing takes so long that opening the members once more costs nothing beside it.
MOST_EDGES = 20_000_000

# Why an ensemble may break constraints that its backbones have trees for.
NOT_COMBINED = "the members' trees can't be combined to one that keeps them"

Members = Callable[[int], Iterable[tuple[str, LPCFG]]]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EnsembleParser(SentenceParser[ParseResult]):
    """Many grammars as one constituency parser.

    Attributes
    ----------
    backbones
        Parsers of the plain grammars that members share, without taggers.
    members
        Called for each batch of sentences, or more often where their forests are large, with the
        number of a backbone; gives family and grammar of each member that has it.
    stacking
        How the outputs are combined.
    tagger
        As for `eigentree.constituency.parser.ConstituencyParser`.
    wrapper
        Label of the outer bracket that the treebank puts round its trees, None for none.
    description
        What the ensemble says about itself.
    batch
        Sentences that are parsed together by `parse_many`.
    calibrations
        As for `eigentree.constituency.parser.ConstituencyParser`.
    folder
        From which it was opened; None for one that was assembled in memory.
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
            As written by training.
        low_memory
            Open members one at a time, when they parse, instead of keeping all in memory.
        verify
            Check the digests of all files.

        Raises
        ------
        ModelFileError
            When a file is missing, damaged, foreign or inconsistent.
        """
        loaded: EnsembleParser = model_file_module(cls.kind).load_ensemble(
            path, low_memory=low_memory, verify=verify
        )
        return loaded

    @property
    def options(self) -> ParserOptions:
        """How sentences are pruned and members decode."""
        return self.backbones[0].options

    @property
    def signed(self) -> bool:
        """Always: marginals are means over members of which any may be signed."""
        return True

    @property
    def cleaning(self) -> CleaningOptions:
        """How the trees that the ensemble was trained on were cleaned."""
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
    ) -> EnsembleParser:
        """Learn an ensemble from trees that are already clean.

        Parameters
        ----------
        data
            Clean trees.
        settings
            Members and combinations; None for those of the package.
        method
            Estimator of all members instead of their own.
        dev, wrapper, tagger, seed, jobs, progress
            As of `eigentree.constituency.ensemble.training.train_ensemble`, which lists errors.
        checkpoint
            Folder of the ensemble, from which an interrupted run resumes.  None for a temporary
            one; then the ensemble lasts only if it is saved.
        """
        training = training_module(cls.kind)
        trained: EnsembleParser = training.train_ensemble(
            list(data), training.config_of(settings, method), checkpoint or temporary_folder(),
            dev=dev, wrapper=wrapper, tagger=tagger, seed=seed, jobs=jobs, progress=progress,
        )  # fmt: skip
        return trained

    def save(self, path: str | Path) -> None:
        """Copy the folder of the ensemble, with its calibration but without training data.

        Parameters
        ----------
        path
            A folder, which is made if it is missing.

        Raises
        ------
        ModelFileError
            When the ensemble has no folder or a file can't be written.
        """
        model_file_module(self.kind).save_ensemble(self, path)

    def summary(self) -> dict[str, Any]:
        """Members, combinations and settings, for JSON."""
        return {
            "trained": dict(self.description),
            "members": list(self.description.get("members", ())),
            "combinations": [each.name for each in self.stacking.config.combination],
            "wrapper": self.wrapper,
            "tagger": None if self.tagger is None else {"tags": len(self.tagger.tagset)},
            "signed": self.signed,
        }

    def evaluate(
        self,
        gold: Iterable[Tree],
        settings: ParsevalOptions | None = None,
        *,
        gold_tags: bool = True,
        jobs: int = 1,
    ) -> ParsevalResult:
        """Score on gold trees; as `eigentree.constituency.parser.ConstituencyParser.evaluate`."""
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
        """Parse one sentence; as `eigentree.constituency.parser.ConstituencyParser.parse`.

        Several trees are those of the last combination: all that its members' brackets make if it
        is a coverage, the candidates if it is a reranker.  They have no value of their own.

        Marginals are means over all members, which give an item from 0 to 1 each.

        Constraints hold in the charts of all members that can keep them.  A coverage then has a
        phrase over each required span even where no label of it is likely enough to be worth it.
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
            for given, its_tags, constraints in map(unpack, batch):
                words, tags, places = normalise(given, its_tags, lambda: self.tokenisation)
                offsets.append(places)
                sentence = prepare(words, tags, self.tagger, self._tags_known)
                settled.append(self._settled(sentence, constraints or Constraints(), soft))
                prepared.append(sentence.under(settled[-1].kept) if constraints else sentence)
                known = None if constraints else calibration_for(tags, self.calibrations)
                calibrations.append(known)
            results = self._parse(prepared, kbest, marginals)
            annotated = map(annotate, results, calibrations, offsets)
            yield from map(_marked, annotated, settled)

    def _settled(self, sentence: PreparedSentence, constraints: Constraints, soft: bool) -> Settled:
        """The constraints that some backbone has trees for, and those that none has."""
        wanted = effective_constraints(constraints, sentence, self.wrapper)
        if not wanted:
            return Settled(wanted, (), None)
        if len(sentence.words) > self._max_words:
            return Settled(Constraints(), wanted.each, IN_PARTS)

        def is_possible(some: Constraints) -> bool:
            return any(plain.can_satisfy(sentence, some) for plain in self.backbones)

        return settle(wanted, is_possible, soft=soft)

    @property
    def _tags_known(self) -> set[str]:
        return set().union(*(plain.grammar.backbone.symbols.tags for plain in self.backbones))

    @property
    def _max_words(self) -> int:
        return min(plain.options.max_words for plain in self.backbones)

    def every_answer(
        self, sentences: Iterable[tuple[Sequence[str], Sequence[str] | None]]
    ) -> Iterator[tuple[dict[str, Prediction], dict[str, Combined]]]:
        """What each family and each combination makes of sentences that are not too long."""
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
            # Charts grow with the square of the length: smaller or fewer ones may still fit.
            if len(sentences) > 1:
                return [
                    self._parse([sentence], kbest, minimum, max_words)[0] for sentence in sentences
                ]
            # A coverage allocates room for all the trees, though there may be far fewer.
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
        """Readings of all families; a family belongs to one backbone."""
        found: list[dict[str, Prediction]] = [{} for _ in sentences]
        chains = Chains()
        for number, plain in enumerate(self.backbones):
            waiting = iter(sentences)
            each: list[dict[str, Prediction]] = []
            while len(each) < len(sentences):
                # No name, lest a reader's forests be kept while the next one prunes.
                each += Predictor(waiting, plain, MOST_EDGES).read(self.members(number), chains)
            for of_sentence, predictions in zip(found, each, strict=True):
                of_sentence.update(predictions)
        return found

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
        return self.stacking.answers(queries, self.backbones[0].root_label, names, kbest)

    def _tags(self, sentence: PreparedSentence, predictions: Mapping[str, Prediction]) -> list[str]:
        """Where tags are uncertain, those that most members have chosen, word by word."""
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
            self._result(sentence, of_sentence, answers[last], kbest, minimum)
            for sentence, of_sentence, answers in zip(sentences, predictions, combined, strict=True)
        ]

    def _result(
        self,
        sentence: PreparedSentence,
        predictions: Mapping[str, Prediction],
        combined: Combined,
        kbest: int | None,
        minimum: float | None,
    ) -> ParseResult:
        if not any(prediction.members for prediction in predictions.values()):
            plain = self.backbones[0]
            result = plain.parse_sentence(sentence, kbest, minimum)
            return replace(result, fallback=result.fallback or "coarse")
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
    """The mean over all members of what each gives to labelled spans."""
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
    """The result, marked with constraints that it violates or may violate."""
    broken = settled.kept.broken_by(result.tree) if result.tree is not None else ()
    if result.fallback in ("flat", "split"):
        broken = settled.kept.each
    dropped = settled.given_up + broken
    if not dropped:
        return result
    why = IN_PARTS if result.fallback == "split" else NOT_COMBINED
    return mark_dropped(result, dropped, settled.conflict or why)
