"""The constituency parser: tokeniser, tagger, grammar, chart and decoder in one object.

A `ConstituencyParser` never changes, so threads and processes may share it.  It always
returns a result: when the grammar has no tree for a sentence, restrictions are relaxed one after
another, and `ParseResult.fallback` names the last:

``threshold``
    pruning by the plain PCFG was relaxed;
``coarse``
    the latent grammar gave no usable marginals, so those of the plain PCFG were used;
``tags``
    some given tags were ignored in the search (the tree still has them), or words without tags
    got some that they were never seen with;
``flat``
    no tree at all: the words with their tags under one root;
``split``
    the sentence is longer than ``max_words``, or than memory allows, and was parsed in
    parts under one root;
``constraints``
    the constraints on the tree could not all be satisfied, see `ParseResult.dropped_constraints`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from eigentree._core.read_only import ReadOnlyMapping
from eigentree.base import SentenceParser
from eigentree.constituency.calibration import Calibrations, calibration_for
from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.constraints import Settled, settle
from eigentree.constituency.chart.decode import OF_ITEMS
from eigentree.constituency.chart.kruskal import KruskalFactors
from eigentree.constituency.chart.marginals import RuleMarginal
from eigentree.constituency.chart.prefix import LeftCorners, Surprisal
from eigentree.constituency.chart.tree_value import TreeValue, on_tree
from eigentree.constituency.decoding import (
    Derivation,
    first_derivation,
    flat_result,
    to_result,
)
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lexical_candidates import under_seen_tags
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.pruning_schedule import PrunedForest, any_tree, schedule
from eigentree.constituency.result import (
    ParseResult,
    annotate,
    check_kbest,
    check_minimum,
    concatenate,
    mark_dropped,
    with_alternative,
)
from eigentree.errors import GrammarError, SettingsError, counted
from eigentree.sentence_input import (
    PreparedSentence,
    Words,
    effective_constraints,
    normalise,
    parse_split,
    prepare,
    split_long,
)
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.binarise import BinariseOptions, Rightmost, binarise
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.sentences import Tag
from eigentree.treebank.tree import Tree
from eigentree.types import Progress

if TYPE_CHECKING:
    from eigentree.constituency.learn.constrained_em import ConstrainedEMOptions
    from eigentree.constituency.learn.decomposition import DecompositionOptions
    from eigentree.constituency.training_options import TrainingOptions
    from eigentree.evaluation.result import ParsevalResult
    from eigentree.evaluation.settings import ParsevalOptions
    from eigentree.words.tagger import Tagger

# Why constraints that the grammar has trees for may have to be dropped.
IN_PARTS = "the sentence is too long to be parsed in one piece, as constraints need it"
NOT_IN_CHART = "no tree that the rules have for them has a value in the model's chart"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ConstituencyParser(SentenceParser[ParseResult]):
    """A constituency parser.

    Attributes
    ----------
    grammar
        Any grammar with latent states, also one state each.
    tagger
        Tags sentences that come without tags; None for a parser of tagged sentences, which
        then lets every word take any tag that it was seen with.
    options
        How it parses.
    kruskal
        The grammar in Kruskal form, which then takes its place in the chart; the rules that trees
        may use stay those of the grammar.
    calibrations
        How often it is right, for sentences with and without given tags; see
        `eigentree.constituency.calibration`.
    wrapper
        Label of the outer bracket that the treebank puts round its trees, None for none.
    description
        What the model file says about itself: method, settings, sizes, data.
    """

    kind: ClassVar[str] = "parser"

    grammar: LPCFG
    tagger: Tagger | None = None
    options: ParserOptions = field(default_factory=ParserOptions)
    wrapper: str | None = None
    description: Mapping[str, Any] = field(default_factory=dict)
    kruskal: KruskalGrammar | None = None
    calibrations: Calibrations = field(default_factory=dict)
    _factors: KruskalFactors | None = field(init=False, default=None)
    _left_corners: LeftCorners | None = field(init=False, default=None)
    _tokenisation: TokenisationScheme | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "description", ReadOnlyMapping(self.description))
        backbone = self.grammar.backbone
        if self.kruskal is not None:
            if self.kruskal.exact is not self.grammar:
                raise GrammarError("the Kruskal form is that of another grammar")
            if self.options.objective not in OF_ITEMS:
                raise SettingsError(
                    f"objective is {self.options.objective!r}; a grammar in Kruskal form has no "
                    f"marginals of rules, so it must be one of {', '.join(OF_ITEMS)}"
                )
            object.__setattr__(self, "_factors", KruskalFactors.of(self.kruskal))
        if np.any(backbone.root[backbone.symbols.of_kind("intermediate")] > 0):
            raise GrammarError("a part of a phrase may stand at the root; only whole ones may")

    def __repr__(self) -> str:
        grammar = self.grammar
        parts = [
            self.description.get("method", "unknown method"),
            counted(int(grammar.n_states.sum()), "state"),
            counted(len(grammar.backbone.symbols), "symbol"),
            counted(grammar.backbone.n_rules, "rule"),
            *([] if self.kruskal is None else [f"Kruskal form of rank {self.kruskal.rank}"]),
            "no tagger" if self.tagger is None else "tagger",
        ]
        return f"<ConstituencyParser: {', '.join(parts)}>"

    @property
    def signed(self) -> bool:
        """Whether marginals are values that may lie outside 0..1, not probabilities."""
        return (self.kruskal or self.grammar).signed

    @property
    def cleaning(self) -> CleaningOptions:
        """How the trees that the parser was trained on were cleaned; the default if unknown."""
        return cleaning_of(self.description)

    def _known_words(self) -> Iterable[str]:
        return self.grammar.backbone.lexicon.entries

    @classmethod
    def train(
        cls,
        data: Iterable[Tree],
        settings: TrainingOptions | None = None,
        *,
        method: str | None = None,
        dev: Sequence[Tree] = (),
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,
        progress: Progress | None = None,
        states: int | None = None,
        wrapper: str | None = None,
    ) -> ConstituencyParser:
        """Learn a parser from trees that are already clean.

        Parameters
        ----------
        data
            Clean trees, at least one.
        settings
            All settings; by default those that served best on held-out trees.
        method, states
            Shortcuts for the two settings that are changed most: the method, a name of
            `eigentree.constituency.estimators.METHODS`, and the maximum number of latent states of
            a nonterminal, of which ``pcfg`` and ``markov`` have one.
        dev
            Clean held-out trees on which expectation maximisation finds its best iteration (without
            them it keeps the last), and on which numbers of states are searched; other methods
            ignore them.
        wrapper
            Label of the outer bracket for parsed trees, None for none.
        seed
            One seed gives one model.
        jobs
            Threads of expectation maximisation and of the search for numbers of states; the model
            is the same for any number.
        checkpoint
            A file from which an interrupted expectation maximisation resumes.
        progress
            Called with the stage and the share of it that is done.

        Raises
        ------
        GrammarError
            When there is no tree.
        SettingsError
            When settings have no meaning for the method or the treebank.
        """
        options = (settings or _module("training_options").TrainingOptions()).with_shortcuts(
            method, states
        )
        trained: ConstituencyParser = _module("training").train(
            list(data), options, dev=dev, wrapper=wrapper, seed=seed, jobs=jobs,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip
        return trained

    def retrained(
        self,
        trees: Sequence[Tree],
        settings: ConstrainedEMOptions | None = None,
        *,
        dev: Sequence[Tree] = (),
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> Retrained:
        """The parser after training on trees in which phrases may be missing.

        Parameters
        ----------
        trees, dev, jobs, progress
            As of `eigentree.constituency.retraining.retrain`, which lists errors.
        settings
            By default those of `eigentree.constituency.learn.constrained_em.ConstrainedEMOptions`.

        Cost
        ----
        As of `eigentree.constituency.learn.constrained_em.learn_constrained_em`.
        """
        from eigentree.constituency.learn.constrained_em import ConstrainedEMOptions

        options = settings or ConstrainedEMOptions()
        result: Retrained = _module("retraining").retrain(
            self, trees, options, dev=dev, jobs=jobs, progress=progress
        )
        return result

    def in_kruskal_form(
        self,
        options: DecompositionOptions | None = None,
        *,
        seed: int = 0,
        processes: int = 1,
        progress: Progress | None = None,
    ) -> ConstituencyParser:
        """The same parser with its rules in Kruskal form, made by a tensor decomposition.

        Parameters
        ----------
        options, seed, processes, progress
            As of `decompose_grammar` or, where each rule is decomposed, of `decompose_each`, both
            in `eigentree.constituency.learn.decomposition`, which tell errors and cost.
        """
        from eigentree.constituency.learn.decomposition import (
            DecompositionOptions,
            decompose_each,
            decompose_grammar,
        )

        options = options or DecompositionOptions()
        if options.each:
            grammar, details = decompose_each(self.grammar, options, seed=seed, progress=progress)
            description = {**self.description, "decomposition": details}
            return replace(self, grammar=grammar, description=description, calibrations={})
        kruskal, details = decompose_grammar(
            self.grammar, options, seed=seed, processes=processes, progress=progress
        )
        description = {**self.description, "decomposition": details}
        return replace(self, kruskal=kruskal, description=description, calibrations={})

    def summary(self) -> dict[str, Any]:
        """Sizes, settings, and states and singular values of nonterminals, for JSON."""
        summarised: dict[str, Any] = _module("summary").summarise(self)
        return summarised

    def evaluate(
        self,
        gold: Iterable[Tree],
        settings: ParsevalOptions | None = None,
        *,
        gold_tags: bool = True,
        jobs: int = 1,
    ) -> ParsevalResult:
        """Parse the sentences of gold trees and score the brackets.

        Parameters
        ----------
        gold
            Clean trees.
        settings
            By default those of EVALB with the parameters of Collins.
        gold_tags
            Whether sentences are parsed with the tags of the trees, or else with the tagger's.
        jobs
            Processes, as of `parse_many`.
        """
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
        """Parse one sentence.

        Parameters
        ----------
        words
            Words, or pairs of a word and its tag, or one sentence as text, which is cut into words
            by `tokenisation`; without words there is a result without a tree.
        tags
            Their tags, if known; otherwise the tagger gives them.  In place of a tag there may be
            several with weights, such as ``{"NN": 0.7, "VB": 0.3}``: they go into the chart as the
            tagger's do, however small, and only their ratios count.  Nothing is calibrated then.
        kbest
            Maximum number of trees in `ParseResult.alternatives`; None for the tree alone.
        marginals
            Least absolute value of the marginals in `ParseResult.marginals`; None for none.
            What pruning has left out has no marginal.
        constraints
            Constraints on the tree.  Marginals and values are then those of the trees that satisfy
            them; required tags replace given ones.
        soft
            Where not all constraints can be satisfied, keep each that can be together with those
            before it.  Otherwise all are dropped.

        Returns
        -------
        ParseResult
            Always, see the module's description.

        Raises
        ------
        TypeError
            When tags are one string, or not all words and tags are strings or weights.
        SettingsError
            When there are more or fewer tags than words, or one is nothing that a tree can
            hold, when weights are negative, not finite, all 0 or of tags unknown, when kbest is
            less than 1, when marginals is negative, or when a constraint reaches beyond the words.

        Cost
        ----
        Where constraints conflict, one inside pass of the plain PCFG for each to find the least
        set that does, and with ``soft`` another for each to find which are kept.
        """
        check_kbest(kbest)
        check_minimum(marginals)
        words, tags, offsets = normalise(words, tags, lambda: self.tokenisation)
        sentence = prepare(words, tags, self.tagger, self.grammar.backbone.symbols.tags)
        required = effective_constraints(constraints or Constraints(), sentence, self.wrapper)
        if required:
            result = self._constrained(sentence, required, kbest, marginals, soft)
            return annotate(result, offsets=offsets)
        result = self.parse_sentence(sentence, kbest, marginals)
        return annotate(result, calibration_for(tags, self.calibrations), offsets)

    def rule_marginals(
        self, words: Words, tags: Sequence[Tag] | None = None, *, minimum: float = 0.01
    ) -> list[RuleMarginal]:
        """The marginals of all uses of binary rules in a sentence.

        Parameters
        ----------
        words, tags
            As of `parse`.
        minimum
            Minimum absolute value of the marginals.

        Returns
        -------
        list of RuleMarginal
            Those of the chart that `parse` takes its tree from, piece by piece where it parses in
            pieces; none where it has no chart.

        Raises
        ------
        TypeError, SettingsError
            As of `parse`; also for a parser in Kruskal form, whose chart has no rules.

        Cost
        ----
        That of `parse`.
        """
        if self.kruskal is not None:
            raise SettingsError("a grammar in Kruskal form has no marginals of rules")
        check_minimum(minimum)
        words, tags, _ = normalise(words, tags, lambda: self.tokenisation)
        sentence = prepare(words, tags, self.tagger, self.grammar.backbone.symbols.tags)
        uses: list[RuleMarginal] = []
        start = 0
        for part in split_long(sentence, self.options.max_words):
            derivation = self.derive(part, self.prunings(part))
            for use in () if derivation is None else derivation.rules(minimum):
                ends = {name: getattr(use, name) + start for name in ("start", "split", "end")}
                uses.append(use._replace(**ends))
            start += len(part.words)
        return uses

    def can_satisfy(self, sentence: PreparedSentence, constraints: Constraints) -> bool:
        """Whether the plain PCFG has a tree of the sentence that satisfies constraints.

        Cost
        ----
        An inside pass without a beam, or two.
        """
        return any_tree(self.grammar.backbone, sentence.under(constraints))

    def _constrained(
        self,
        sentence: PreparedSentence,
        constraints: Constraints,
        kbest: int | None,
        minimum: float | None,
        soft: bool,
    ) -> ParseResult:
        """Parse under constraints, or under those that can be satisfied."""
        too_long = len(sentence.words) > self.options.max_words
        if constraints.clash() is None and not too_long:
            result = self.parse_sentence(sentence.under(constraints), kbest, minimum)
            if result.fallback not in ("flat", "split"):
                return result
            too_long = result.fallback == "split"
        settled = Settled(Constraints(), constraints.each, IN_PARTS)
        if not too_long:
            settled = settle(constraints, partial(self.can_satisfy, sentence), soft=soft)
        if not settled.given_up:
            settled = Settled(Constraints(), constraints.each, NOT_IN_CHART)
        result = self.parse_sentence(sentence.under(settled.kept), kbest, minimum)
        if result.fallback in ("flat", "split"):
            settled = settled._replace(given_up=constraints.each)
        return mark_dropped(result, settled.given_up, settled.conflict)

    def value_of(self, tree: Tree) -> TreeValue:
        """The value of a tree with its words and tags: under a grammar of probabilities its own.

        Trees that were parsed without given tags weigh words as the tagger does there, and by the
        tree's tags here.

        Parameters
        ----------
        tree
            Clean, without a wrapper; it is binarised like those that the parser was trained on.

        Returns
        -------
        TreeValue
            Logarithm of the absolute value in nats, and sign; -inf and 0 for a tree that the
            grammar doesn't have.

        Cost
        ----
        Linear in the words, with the cube of the latent states.
        """
        treebank = self.description.get("treebank", {})
        options = BinariseOptions(**(treebank.get("binarise") or {}))
        # Otherwise heads decide nothing.
        heads = head_rules(treebank["heads"]) if options.direction == "head" else Rightmost()
        return on_tree(binarise(tree, options, heads), self.kruskal or self.grammar)

    def surprisal(self, words: Words, tags: Sequence[Tag] | None = None) -> Surprisal:
        """How surprising each word of a sentence is, given the words before it.

        Parameters
        ----------
        words
            As of `parse`, at least one.
        tags
            Their tags, which then count as part of the words.  Without them every tag is summed
            over that a word was seen with; no tagger is asked.

        Returns
        -------
        Surprisal
            By the unpruned grammar, even where there is a Kruskal form.

        Raises
        ------
        TypeError, SettingsError
            As of `parse`; also for no words at all.
        GrammarError
            When the grammar or the sentence is too large, or the grammar's sum over all trees
            has no limit.

        Cost
        ----
        As of `eigentree.constituency.chart.prefix.LeftCorners`, which the first call makes and the
        parser keeps.
        """
        words, tags, _ = normalise(words, tags, lambda: self.tokenisation)
        sentence = prepare(words, tags, None)
        if not sentence.words:
            raise SettingsError("there are no words; surprisal wants at least one")
        if sentence.guesses is not None:
            raise SettingsError("surprisal takes one tag a word, or none for all; not weights")
        if self._left_corners is None:
            object.__setattr__(self, "_left_corners", LeftCorners.of(self.grammar))
        assert self._left_corners is not None
        backbone = self.grammar.backbone
        numbers = None if sentence.tags is None else backbone.tag_numbers(sentence.tags)
        leaves = Leaves.of(under_seen_tags(backbone, sentence.words, numbers))
        return self._left_corners.surprisal(sentence.words, leaves)

    def parse_sentence(
        self, sentence: PreparedSentence, kbest: int | None = None, minimum: float | None = None
    ) -> ParseResult:
        """Parse a sentence that is prepared; nothing is calibrated.

        Parameters
        ----------
        sentence
            Perhaps with constraints, perhaps without words.
        kbest, minimum
            As ``kbest`` and ``marginals`` of `parse`.
        """
        if not sentence.words:
            return ParseResult([], [], None, fallback="empty")

        def parse_part(part: PreparedSentence) -> ParseResult:
            derivation = self.derive(part, self.prunings(part))
            if derivation is None:
                return self.flat(part)
            return to_result(derivation, kbest if part is sentence else None, minimum)

        join = partial(concatenate, sentence.words, root=self.root_label)
        result = parse_split(sentence, self.options.max_words, parse_part, join)
        return result if kbest is None else with_alternative(result)

    def prunings(self, sentence: PreparedSentence) -> Iterator[PrunedForest]:
        """The prunings of a sentence with at least one word, each made when it is needed.

        They depend on the grammar's backbone and the options, not on the latent states.
        """
        backbone = self.grammar.backbone
        return schedule(sentence, backbone, self.options, self.kruskal, self._factors)

    def derive(
        self, sentence: PreparedSentence, prunings: Iterable[PrunedForest]
    ) -> Derivation | None:
        """The best tree of the first pruning of a sentence that has one."""
        return first_derivation(sentence, prunings, self.grammar, self.kruskal, self.options)

    @property
    def root_label(self) -> str:
        """The commonest label of a whole sentence that is a phrase."""
        return self.grammar.backbone.root_label

    def flat(self, sentence: PreparedSentence) -> ParseResult:
        """The last fall-back: the words with their tags under one root."""
        return flat_result(sentence, self.grammar.backbone)


class Retrained(NamedTuple):
    """A retrained parser, and the trees that were left out.

    Attributes
    ----------
    parser
    skipped
        Numbers of the trees that were left out, counted from 0, and why.
    """

    parser: ConstituencyParser
    skipped: dict[int, str]


def _module(name: str) -> ModuleType:
    """A module that builds on the parser, and so can't be imported here: training, model files."""
    return import_module(f"eigentree.constituency.{name}")


def evaluate_parses(
    parser: SentenceParser[ParseResult],
    gold: Iterable[Tree],
    settings: ParsevalOptions | None,
    *,
    gold_tags: bool,
    jobs: int,
) -> ParsevalResult:
    """Bracket scores of a parser or an ensemble; see `ConstituencyParser.evaluate`."""
    from eigentree.evaluation.parseval import score
    from eigentree.evaluation.settings import EVALB_COLLINS

    trees = list(gold)
    sentences = ((tree.words(), tree.tags() if gold_tags else None) for tree in trees)
    results = list(parser.parse_many(sentences, jobs=jobs))
    fallbacks = [result.fallback is not None for result in results]
    parsed = [result.tree for result in results]
    return score(trees, parsed, settings or EVALB_COLLINS, fallbacks=fallbacks)


def cleaning_of(description: Mapping[str, Any]) -> CleaningOptions:
    """How trees were cleaned, by what a model says about itself; the default if it doesn't."""
    stored = description.get("treebank", {}).get("cleaning", {})
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    return CleaningOptions(**{**stored, **lists})
