"""The constituency parser: tokeniser, tagger, grammar, chart and decoder in one object.

A `ConstituencyParser` is immutable, so threads and processes may share it.  It always returns a
result: if the grammar has no tree for a sentence, restrictions are relaxed one after another, and
`ParseResult.fallback` names the last:

``threshold``
    the pruning threshold was lowered;
``memory``
    the chart was too large, so pruning was stricter;
``coarse``
    the latent grammar had no usable marginals, so those of the plain PCFG were used;
``tags``
    some tags of the input or of the tagger were ignored in the search (the tree still has them),
    or, without a tagger, words got tags that they do not have in the training data;
``flat``
    there is no tree, or the sentence has more than 50,000 words: the tagged words are directly
    under a root;
``split``
    the sentence is longer than ``max_words``, or than memory allows, and was parsed in parts,
    which are joined under a root; the longer the sentence, the shorter the parts;
``constraints``
    not all constraints could be satisfied, see `ParseResult.dropped_constraints`.
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

from eigentree._core.arguments import listed, settings_or_default
from eigentree._core.read_only import ReadOnlyMapping
from eigentree.base import SentenceParser
from eigentree.constituency.calibration import Calibrations, calibration_for
from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.constraints import Settled, settle
from eigentree.constituency.chart.decode import OF_ITEMS
from eigentree.constituency.chart.kruskal import KruskalFactors
from eigentree.constituency.chart.marginals import RuleMarginal
from eigentree.constituency.chart.prefix import LeftCorners, Surprisal, TableSizes
from eigentree.constituency.chart.tree_value import TreeValue, on_tree
from eigentree.constituency.decoding import (
    Derivation,
    first_derivation,
    flat_result,
    to_result,
)
from eigentree.constituency.grammar.from_pcfg import one_state
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

# Why constraints are dropped although the grammar has trees that satisfy them.
IN_PARTS = "the sentence is parsed in parts because of its length, so constraints do not apply"
NOT_IN_CHART = "every tree that satisfies the constraints has value zero under the model"


@dataclass(frozen=True, repr=False, eq=False)
class ConstituencyParser(SentenceParser[ParseResult]):
    """A constituency parser.

    Attributes
    ----------
    grammar
        A grammar with one or more latent states per symbol.
    tagger
        Tags sentences that are given without tags.  Without a tagger, a word in such a sentence may
        have any tag that it has in the training data.
    options
        Options of parsing.
    kruskal
        The grammar in Kruskal form, which the chart then uses instead of the grammar; the rules
        allowed in trees are still those of the grammar.
    calibrations
        Calibration curves for sentences with and without given tags; see
        `eigentree.constituency.calibration`.
    wrapper
        Label of the outer bracket around the treebank's trees; None for none.
    description
        Method, settings, sizes and training data; read-only.
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
                raise GrammarError("the Kruskal form belongs to another grammar")
            if self.options.objective not in OF_ITEMS:
                raise SettingsError(
                    f"objective is {self.options.objective!r}; a grammar in Kruskal form has no "
                    f"marginals of rules, so it must be one of {', '.join(OF_ITEMS)}"
                )
            object.__setattr__(self, "_factors", KruskalFactors.of(self.kruskal))
        if np.any(backbone.root[backbone.symbols.of_kind("intermediate")] > 0):
            raise GrammarError("the root may be an intermediate symbol; it must be a whole phrase")

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
        """Whether marginals may be outside 0..1, so that they are not probabilities."""
        return (self.kruskal or self.grammar).signed

    @property
    def cleaning(self) -> CleaningOptions:
        """How the training trees were cleaned; the default if unknown."""
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
        """Train a parser on clean trees.

        Parameters
        ----------
        data
            Clean trees, at least one.
        settings
            All settings; the defaults had the best F1 on held-out trees.
        method, states
            Shortcuts for the two most common settings: the method, a name in
            `eigentree.constituency.estimators.METHODS`, and the maximum number of latent states per
            nonterminal (always one for ``pcfg`` and ``markov``).
        dev
            Clean held-out trees: expectation maximisation keeps the iteration with the best F1 on
            them (without them, the last), and the search for numbers of states needs them.  Other
            methods ignore them.
        wrapper
            Label of the outer bracket of parsed trees; None for none.
        seed
            The same seed gives the same model.
        jobs
            Threads for expectation maximisation and for the search for numbers of states; the model
            does not depend on their number.
        checkpoint
            File from which an interrupted expectation maximisation resumes.
        progress
            Called with the stage and the completed fraction of it.

        Raises
        ------
        GrammarError
            When there are no trees.
        SettingsError
            When a setting does not apply to the method or the treebank.
        """
        kind: type[TrainingOptions] = _module("training_options").TrainingOptions
        options = settings_or_default(settings, kind).with_shortcuts(method, states)
        trees = listed(data, Tree, "data", "trees, as read_treebank gives")
        trained: ConstituencyParser = _module("training").train(
            trees, options, dev=dev, wrapper=wrapper, seed=seed, jobs=jobs, checkpoint=checkpoint,
            progress=progress,
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
        """The parser after further training on partially annotated trees.

        Parameters
        ----------
        trees, dev, jobs, progress
            See `eigentree.constituency.retraining.retrain`, which also lists the errors.
        settings
            None for the defaults of `ConstrainedEMOptions` in
            `eigentree.constituency.learn.constrained_em`.

        Cost
        ----
        See `eigentree.constituency.learn.constrained_em.learn_constrained_em`.
        """
        from eigentree.constituency.learn.constrained_em import ConstrainedEMOptions

        options = settings_or_default(settings, ConstrainedEMOptions)
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
        """The same parser with its rules in Kruskal form, by tensor decomposition.

        Parameters
        ----------
        options, seed, processes, progress
            See `decompose_grammar` or, if each rule is decomposed by itself, `decompose_each`, both
            in `eigentree.constituency.learn.decomposition`, for these, errors and cost.
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
        """Sizes, settings, and the states and singular values of nonterminals, in JSON types."""
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
            None for EVALB with the COLLINS parameters.
        gold_tags
            Parse with the tags of the trees instead of the tagger's.
        jobs
            Number of processes, as in `parse_many`.
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
            Words, or pairs of a word and its tag, or one sentence as text, which `tokenisation`
            splits into words; a text of several sentences gives a warning, see `parse_text`.  No
            words give a result without a tree.
        tags
            Their tags; None to use the tagger.  An item may also be a mapping from tags to weights,
            such as ``{"NN": 0.7, "VB": 0.3}``.  The chart uses all of them like the tagger's
            probabilities; only their ratios count.  The result is then not calibrated.
        kbest
            Maximum number of trees in `ParseResult.alternatives`; None for no alternatives.
        marginals
            Minimum absolute value of the marginals in `ParseResult.marginals`; None for none.
            Pruned items have no marginals.
        constraints
            Constraints on the tree.  Marginals and values then cover only the trees that satisfy
            them; required tags replace given ones.
        soft
            If not all constraints can be satisfied, keep each one that is compatible with those
            kept before it.  Otherwise all are dropped.

        Returns
        -------
        ParseResult
            For every sentence; see the fall-backs in the module's docstring.

        Raises
        ------
        TypeError
            When tags are one string, or an item is neither a string nor a mapping of weights.
        SettingsError
            When the numbers of words and tags differ, a word or tag cannot be part of a tree,
            weights are negative, not finite, all 0 or for unknown tags, kbest is less than 1,
            marginals is negative, or a constraint extends beyond the sentence.

        Cost
        ----
        If constraints conflict, one inside pass of the plain PCFG per constraint to find a minimal
        conflicting set, and with ``soft`` another one each to decide which are kept.
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
            As in `parse`.
        minimum
            Minimum absolute value of the marginals.

        Returns
        -------
        list of RuleMarginal
            From the chart that `parse` decodes; for a long sentence from the charts of its parts.
            Empty for fall-backs without a chart.

        Raises
        ------
        TypeError, SettingsError
            As in `parse`; also for a parser in Kruskal form, whose chart has no rules.

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
        One or two inside passes without a beam.
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
        """Parse under the constraints, or under the subset that can be satisfied."""
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
        """The value of a tree with its words and tags; under a probabilistic grammar, P(tree).

        It may differ from the value in the result of a sentence parsed without tags, where words
        are weighted by the tagger; here they are weighted by the tags of the tree.

        Parameters
        ----------
        tree
            Clean, without a wrapper; it is binarised like the training trees.

        Returns
        -------
        TreeValue
            Logarithm of the absolute value in nats, and sign; -inf and 0 for a tree that the
            grammar does not generate.

        Cost
        ----
        Linear in the number of words, cubic in the latent states.
        """
        treebank = self.description.get("treebank", {})
        options = BinariseOptions(**(treebank.get("binarise") or {}))
        # Other directions of binarisation do not depend on heads.
        heads = head_rules(treebank["heads"]) if options.direction == "head" else Rightmost()
        return on_tree(binarise(tree, options, heads), self.kruskal or self.grammar)

    def surprisal(self, words: Words, tags: Sequence[Tag] | None = None) -> Surprisal:
        """The surprisal of each word of a sentence given the words before it.

        Parameters
        ----------
        words
            As in `parse`, at least one.
        tags
            Their tags, which are then part of the observed words.  Without tags, the sum is over
            all tags that a word has in the training data; the tagger is not used.

        Returns
        -------
        Surprisal
            Under the unpruned grammar, even if the parser has a Kruskal form.  If the tables of its
            latent states would need more than `MAX_BYTES` of
            `eigentree.constituency.chart.prefix`, under the plain PCFG, see `latent_surprisal`.

        Raises
        ------
        TypeError, SettingsError
            As in `parse`; also if there are no words.
        GrammarError
            When the plain grammar or the sentence is too large, or the grammar's sum over all trees
            diverges.

        Cost
        ----
        See `eigentree.constituency.chart.prefix.LeftCorners`, which the first call computes and the
        parser keeps.
        """
        words, tags, _ = normalise(words, tags, lambda: self.tokenisation)
        sentence = prepare(words, tags, None)
        if not sentence.words:
            raise SettingsError("there are no words; surprisal needs at least one")
        if sentence.guesses is not None:
            raise SettingsError("surprisal needs one tag per word or no tags, not weights")
        if self._left_corners is None:
            grammar = self.grammar if self.latent_surprisal else one_state(self.grammar.backbone)
            object.__setattr__(self, "_left_corners", LeftCorners.of(grammar))
        assert self._left_corners is not None
        backbone = self.grammar.backbone
        numbers = None if sentence.tags is None else backbone.tag_numbers(sentence.tags)
        leaves = Leaves.of(under_seen_tags(backbone, sentence.words, numbers))
        return self._left_corners.surprisal(sentence.words, leaves)

    @property
    def latent_surprisal(self) -> bool:
        """Whether surprisals are under latent states, whose tables fit into the memory limit."""
        return TableSizes.of(self.grammar).fit

    def parse_sentence(
        self, sentence: PreparedSentence, kbest: int | None = None, minimum: float | None = None
    ) -> ParseResult:
        """Parse a prepared sentence; the result is not calibrated.

        Parameters
        ----------
        sentence
            With or without constraints; may be empty.
        kbest, minimum
            As ``kbest`` and ``marginals`` in `parse`.
        """
        if not sentence.words:
            return ParseResult([], [], None, fallback="empty")

        def parse_part(part: PreparedSentence) -> ParseResult:
            derivation = self.derive(part, self.prunings(part))
            if derivation is None:
                return self.flat(part)
            return to_result(derivation, kbest if part is sentence else None, minimum)

        join = partial(concatenate, sentence.words, root=self.root_label)
        result = parse_split(sentence, self.options.max_words, parse_part, join, self.flat)
        return result if kbest is None else with_alternative(result)

    def prunings(self, sentence: PreparedSentence) -> Iterator[PrunedForest]:
        """The prunings of a sentence with at least one word, each computed on demand.

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
        """The most frequent phrase label at the root."""
        return self.grammar.backbone.root_label

    def flat(self, sentence: PreparedSentence) -> ParseResult:
        """The last fall-back: the tagged words directly under a root."""
        return flat_result(sentence, self.grammar.backbone)


class Retrained(NamedTuple):
    """A retrained parser, and the trees that were skipped.

    Attributes
    ----------
    parser
    skipped
        Index of each skipped tree, from 0, and the reason.
    """

    parser: ConstituencyParser
    skipped: dict[int, str]


def _module(name: str) -> ModuleType:
    """A module that imports this one, loaded by name to avoid an import cycle."""
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

    trees = listed(gold, Tree, "gold", "trees")
    sentences = ((tree.words(), tree.tags() if gold_tags else None) for tree in trees)
    results = list(parser.parse_many(sentences, jobs=jobs))
    fallbacks = [result.fallback is not None for result in results]
    parsed = [result.tree for result in results]
    return score(trees, parsed, settings or EVALB_COLLINS, fallbacks=fallbacks)


def cleaning_of(description: Mapping[str, Any]) -> CleaningOptions:
    """How the training trees were cleaned, by a model's description; the default if unknown."""
    stored = description.get("treebank", {}).get("cleaning", {})
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    return CleaningOptions(**{**stored, **lists})


Parser = ConstituencyParser
"""The short name."""
