"""A parser that asks many models and answers with one tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from eigentree.constituency.calibration import Calibrations, calibration_for
from eigentree.constituency.chart.constraints import Settled, settle
from eigentree.constituency.chart.decode import Labels
from eigentree.constituency.chart.marginals import Marginal, labelled_spans
from eigentree.constituency.ensemble.combine import Chains, Combined, Evidence
from eigentree.constituency.ensemble.predictions import Reader, Reading, given_up
from eigentree.constituency.ensemble.stacking import Network, Question
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.parser import IN_PIECES, Parser, ParserOptions, cleaning_of
from eigentree.constituency.result import (
    Alternative,
    Bracket,
    ParseResult,
    calibrated,
    check_best,
    check_least,
    joined,
    mean_confidence,
    with_alternative,
    with_given_up,
)
from eigentree.errors import counted
from eigentree.sentence_input import (
    PreparedSentence,
    SentenceLike,
    Words,
    checked_sentences,
    effective_constraints,
    normalise,
    prepare,
    split_long,
    unpack,
)
from eigentree.tokenisation.scheme import TokenisationScheme, scheme_of_parser
from eigentree.tokenisation.sentences import split_text
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.io.sentences import Tag
from eigentree.words.tagger import Tagger

# Sentences that are parsed together: each member is asked about all of them in turn.
LOT = 32
# With members that are opened for each lot anew, more sentences make the opening worth it.
LEAN_LOT = 512
# Edges of the forests that are kept at a time, some 200 MB.  A lot with tags has far fewer; where
# there are more, members have so much to do that asking them for once more costs nothing beside it.
MOST_EDGES = 20_000_000

# Why an ensemble may break constraints that its backbones have trees for.
NOT_COMBINED = "the members' trees can't be combined to one that keeps them"

Members = Callable[[int], Iterable[tuple[str, LPCFG]]]


@dataclass(frozen=True, slots=True)
class EnsembleParser:
    """Many grammars as one constituency parser.

    Attributes
    ----------
    backbones
        Parsers of the plain grammars that members share, without taggers.
    members
        Called for each lot of sentences, or more often where their forests are large, with the
        number of a backbone; gives family and grammar of each member that has it.
    network
        How the outputs are combined.
    tagger
        As for `eigentree.constituency.parser.Parser`.
    wrapper
        Label of the outer bracket that the treebank puts round its trees, None for none.
    description
        What the ensemble says about itself.
    lot
        Sentences that are parsed together by `parse_many`.
    calibrations
        As for `eigentree.constituency.parser.Parser`.
    """

    backbones: Sequence[Parser]
    members: Members
    network: Network
    tagger: Tagger | None = None
    wrapper: str | None = None
    description: dict[str, Any] = field(default_factory=dict)
    lot: int = LOT
    calibrations: Calibrations = field(default_factory=dict)
    _tokenisation: TokenisationScheme | None = field(
        init=False, repr=False, compare=False, default=None
    )

    def __repr__(self) -> str:
        parts = [
            counted(len(self.description.get("members", ())), "member"),
            counted(len(self.network.description.combination), "combination"),
            "no tagger" if self.tagger is None else "tagger",
        ]
        return f"<EnsembleParser: {', '.join(parts)}>"

    @classmethod
    def load(cls, path: str | Path, *, lean: bool = False, verify: bool = True) -> EnsembleParser:
        """Open the folder of an ensemble.

        Parameters
        ----------
        path
            As written by training.
        lean
            Open members when they are asked, one at a time, in place of keeping all in memory.
        verify
            Check the digests of all files.

        Raises
        ------
        ModelFileError
            When a file is missing, damaged, foreign or inconsistent.
        """
        from eigentree.constituency.ensemble.model_folder import load_ensemble

        return load_ensemble(path, lean=lean, verify=verify)

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

    @property
    def tokenisation(self) -> TokenisationScheme:
        """What the trees that the members were trained on take for a word."""
        if self._tokenisation is None:
            entries = self.backbones[0].grammar.backbone.lexicon.entries
            object.__setattr__(self, "_tokenisation", scheme_of_parser(self.description, entries))
        assert self._tokenisation is not None
        return self._tokenisation

    def parse_text(
        self, text: str, *, best: int | None = None, marginals: float | None = None
    ) -> list[ParseResult]:
        """Parse the sentences of a text; as `eigentree.constituency.parser.Parser.parse_text`."""
        sentences = split_text(text, self.tokenisation)
        asked = ((sentence.words, None) for sentence in sentences)
        results = self.parse_many(asked, best=best, marginals=marginals)
        return [
            replace(result, offsets=sentence.offsets)
            for sentence, result in zip(sentences, results, strict=True)
        ]

    def parse(
        self,
        words: Words,
        tags: Sequence[Tag] | None = None,
        *,
        best: int | None = None,
        marginals: float | None = None,
        constraints: Constraints | None = None,
        soft: bool = False,
    ) -> ParseResult:
        """Parse one sentence; as `eigentree.constituency.parser.Parser.parse`.

        Several trees are those of the last combination: all that its members' brackets make if it
        is a coverage, the candidates if it is a reranker.  They have no value of their own.

        Marginals are means over all members, which give an item from 0 to 1 each.

        Constraints hold in the charts of all members that can keep them.  A coverage then has a
        phrase over each required span even where no label of it is likely enough to be worth it.
        """
        given = [(words, tags, constraints)]
        return next(self.parse_many(given, best=best, marginals=marginals, soft=soft))

    def parse_many(
        self,
        sentences: Iterable[SentenceLike],
        *,
        best: int | None = None,
        marginals: float | None = None,
        soft: bool = False,
    ) -> Iterator[ParseResult]:
        """Parse sentences in lots: text, or (words, tags or None), perhaps with constraints."""
        check_best(best)
        check_least(marginals)
        waiting = checked_sentences(sentences)
        while lot := list(islice(waiting, self.lot)):
            asked, settled, calibrations, offsets = [], [], [], []
            for given, its_tags, constraints in map(unpack, lot):
                words, tags, places = normalise(given, its_tags, lambda: self.tokenisation)
                offsets.append(places)
                sentence = prepare(words, tags, self.tagger, self._tags_known)
                settled.append(self._settled(sentence, constraints or Constraints(), soft))
                asked.append(sentence.under(settled[-1].kept) if constraints else sentence)
                known = None if constraints else calibration_for(tags, self.calibrations)
                calibrations.append(known)
            results = self._parse(asked, best, marginals)
            marked = map(_marked, map(calibrated, results, calibrations), settled)
            for result, places in zip(marked, offsets, strict=True):
                yield result if places is None else replace(result, offsets=places)

    def _settled(self, sentence: PreparedSentence, constraints: Constraints, soft: bool) -> Settled:
        """Which constraints some backbone has trees for."""
        wanted = effective_constraints(constraints, sentence, self.wrapper)
        if not wanted:
            return Settled(wanted, (), None)
        if len(sentence.words) > self._most_words:
            return Settled(Constraints(), wanted.each, IN_PIECES)

        def is_possible(some: Constraints) -> bool:
            return any(plain.can_keep(sentence, some) for plain in self.backbones)

        return settle(wanted, is_possible, soft=soft)

    @property
    def _tags_known(self) -> set[str]:
        return set().union(*(plain.grammar.backbone.symbols.tags for plain in self.backbones))

    @property
    def _most_words(self) -> int:
        return min(plain.options.max_words for plain in self.backbones)

    def every_answer(
        self, sentences: Iterable[tuple[Sequence[str], Sequence[str] | None]]
    ) -> Iterator[tuple[dict[str, Reading], dict[str, Combined]]]:
        """What each family and each combination makes of sentences that are not too long."""
        waiting = iter(sentences)
        while lot := list(islice(waiting, self.lot)):
            asked = [prepare(*each, self.tagger) for each in lot]
            readings = self._read(asked)
            yield from zip(readings, self._combined(asked, readings, None), strict=True)

    def _parse(
        self,
        sentences: list[PreparedSentence],
        best: int | None,
        least: float | None,
        most: int | None = None,
    ) -> list[ParseResult]:
        most = most or self._most_words
        pieces = [list(split_long(sentence, most)) for sentence in sentences]
        try:
            answers = iter(self._results([part for each in pieces for part in each], best, least))
        except MemoryError:
            # Charts grow with the square of the length: smaller or fewer ones may still fit.
            if len(sentences) > 1:
                return [self._parse([sentence], best, least, most)[0] for sentence in sentences]
            # A coverage has room for as many trees as are wanted, though there may be far fewer.
            if best is not None and best > 1:
                return self._parse(sentences, max(1, best // 4), least, most)
            if most < 4:
                raise
            return self._parse(sentences, best, least, min(most, len(sentences[0].words)) // 2)
        results = []
        for sentence, parts in zip(sentences, pieces, strict=True):
            found = [next(answers) for _ in parts]
            if not found:
                results.append(ParseResult([], [], None, fallback="empty"))
            elif len(found) == 1:
                results.append(found[0])
            else:
                whole = joined(sentence.words, found, self.backbones[0].root_label)
                results.append(whole if best is None else with_alternative(whole))
        return results

    def _read(self, sentences: list[PreparedSentence]) -> list[dict[str, Reading]]:
        """Readings of all families; a family belongs to one backbone."""
        found: list[dict[str, Reading]] = [{} for _ in sentences]
        chains = Chains()
        for number, plain in enumerate(self.backbones):
            waiting = iter(sentences)
            each: list[dict[str, Reading]] = []
            while len(each) < len(sentences):
                # No name, lest a reader's forests be kept while the next one prunes.
                each += Reader(waiting, plain, MOST_EDGES).read(self.members(number), chains)
            for of_sentence, readings in zip(found, each, strict=True):
                of_sentence.update(readings)
        return found

    def _combined(
        self,
        sentences: Sequence[PreparedSentence],
        readings: Sequence[Mapping[str, Reading]],
        names: Sequence[str] | None,
        best: int = 1,
    ) -> list[dict[str, Combined]]:
        questions = []
        for sentence, of_sentence in zip(sentences, readings, strict=True):
            tags = sentence.tags if sentence.guesses is None else None
            tags = tags or self._tags(sentence, of_sentence)
            spans = sentence.constraints.spans if sentence.constraints else ()
            required = [(each.start, each.end) for each in spans if each.kind == "required"]
            questions.append(Question(sentence.words, tags, of_sentence, {}, required))
        return self.network.answers(questions, self.backbones[0].root_label, names, best)

    def _tags(self, sentence: PreparedSentence, readings: Mapping[str, Reading]) -> list[str]:
        """Where tags are uncertain, those that most members have chosen, word by word."""
        votes: list[dict[str, int]] = [{} for _ in sentence.words]
        for reading in readings.values():
            for tree, count in zip(reading.trees, reading.votes.tolist(), strict=True):
                for of_word, tag in zip(votes, tree.tags(), strict=True):
                    of_word[tag] = of_word.get(tag, 0) + count
        if not any(votes):
            return self.backbones[0].flat(sentence).tags
        return [max(sorted(of_word), key=of_word.__getitem__) for of_word in votes]

    def _results(
        self, sentences: list[PreparedSentence], best: int | None, least: float | None
    ) -> list[ParseResult]:
        readings = self._read(sentences)
        last = self.network.description.combination[-1].name
        combined = self._combined(sentences, readings, [last], best or 1)
        return [
            self._result(sentence, of_sentence, answers[last], best, least)
            for sentence, of_sentence, answers in zip(sentences, readings, combined, strict=True)
        ]

    def _result(
        self,
        sentence: PreparedSentence,
        readings: Mapping[str, Reading],
        combined: Combined,
        best: int | None,
        least: float | None,
    ) -> ParseResult:
        if not any(reading.members for reading in readings.values()):
            plain = self.backbones[0]
            found = plain.parse_attempts(sentence, plain.attempts, best, least)
            return replace(found, fallback=found.fallback or "coarse")
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
            fallback=given_up(readings.values()),
            alternatives=tuple(alternatives[: best or 0]),
            marginals=() if least is None else tuple(_marginals(readings.values(), least)),
        )


def _marginals(readings: Iterable[Reading], least: float) -> list[Marginal]:
    """The mean over all members of what each gives to labelled spans."""
    first, *others = [each.evidence for each in readings]
    evidence = Evidence(first.n_words, first.chains)
    for each in (first, *others):
        evidence.add(each)
    start, end, chain = evidence.columns()
    chains = evidence.chains
    labels = Labels.over(chain, start, end, *chains.labels)
    weight = evidence.weight / (evidence.total or 1.0)
    return labelled_spans(labels, chains.chains, chain, start, end, weight, least)


def _marked(result: ParseResult, settled: Settled) -> ParseResult:
    """The result, marked with constraints that it doesn't keep or need not."""
    broken = settled.kept.broken_by(result.tree) if result.tree is not None else ()
    if result.fallback in ("flat", "split"):
        broken = settled.kept.each
    given_up = settled.given_up + broken
    if not given_up:
        return result
    why = IN_PIECES if result.fallback == "split" else NOT_COMBINED
    return with_given_up(result, given_up, settled.conflict or why)
