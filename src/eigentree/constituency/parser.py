"""The parser that people hold: tokens, tagger, grammar, chart and decoder in one object.

A `Parser` never changes once it is made, so threads and processes may share it.  It always
answers: when the grammar has no tree for a sentence, one restriction after another is given
up, and the result says which (`ParseResult.fallback`):

``threshold``
    pruning by the plain PCFG was relaxed;
``coarse``
    the latent grammar gave no usable marginals, the plain PCFG's were taken;
``tags``
    some given tags were set aside for the search (they still stand in the tree), or words
    without tags got some that they were never seen with;
``flat``
    no tree at all: the words with their tags under one root;
``split``
    the sentence is longer than ``max_words``, or than memory allows, and was parsed in
    pieces under one root;
``constraints``
    the constraints on the tree could not all be kept, see `ParseResult.given_up`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from eigentree.constituency.calibration import Calibrations, calibration_for
from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.constraints import Settled, settle
from eigentree.constituency.chart.decode import OF_ITEMS, Objective
from eigentree.constituency.chart.exhaustive import exhaustive_marginals
from eigentree.constituency.chart.kruskal import Factors, kruskal_marginals
from eigentree.constituency.chart.marginals import RuleMarginal
from eigentree.constituency.chart.prefix import LeftCorners, Surprisal
from eigentree.constituency.chart.pruning import DEFAULT_THRESHOLD
from eigentree.constituency.chart.tree_value import TreeValue, on_tree
from eigentree.constituency.decoding import Found, search
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lexical_candidates import under_seen_tags
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.pruning_schedule import Attempt, FullChart, any_tree, attempts_at
from eigentree.constituency.result import (
    ParseResult,
    calibrated,
    check_best,
    check_least,
    joined,
    with_alternative,
    with_given_up,
)
from eigentree.errors import GrammarError, SettingsError, counted
from eigentree.sentence_input import (
    PreparedSentence,
    SentenceLike,
    Words,
    checked_sentences,
    effective_constraints,
    normalise,
    parse_split,
    prepare,
    split_long,
    unpack,
)
from eigentree.tokenisation.scheme import TokenisationScheme, scheme_of_parser
from eigentree.tokenisation.sentences import split_text
from eigentree.treebank.binarise import BinariseOptions, Rightmost, binarise
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.sentences import Tag
from eigentree.treebank.tree import Tree
from eigentree.types import Progress

if TYPE_CHECKING:
    from eigentree.constituency.learn.constrained_em import PartialOptions
    from eigentree.constituency.learn.decomposition import DecompositionOptions
    from eigentree.constituency.training import TrainingOptions
    from eigentree.words.tagger import Tagger

Method = Literal["spectral", "clustering", "pcfg", "em", "spectral+em"]
METHODS: tuple[str, ...] = get_args(Method)
# ``markov`` is ``pcfg`` with symbols that remember a parent and a sibling.
NamedMethod = Literal[Method, "markov"]

# Why constraints that the grammar has trees for may have to be given up.
IN_PIECES = "the sentence is too long to be parsed in one piece, as constraints need it"
NOT_IN_CHART = "no tree that the rules have for them has a value in the model's chart"


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How sentences are parsed.

    Attributes
    ----------
    objective
        Decoder, see `eigentree.constituency.chart.decode`.
    threshold
        Least marginal under the plain PCFG of what the latent grammar looks at.
    max_words
        Longer sentences are parsed in pieces of at most this many words.
    absolute
        Whether negative marginals count by their size.
    exhaustive
        Whether the plain PCFG's chart looks at every rule at every split point, for comparisons.
    """

    objective: Objective = "brackets"
    threshold: float = DEFAULT_THRESHOLD
    max_words: int = 400
    absolute: bool = True
    exhaustive: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise SettingsError(f"threshold is {self.threshold}; it must be from 0 to below 1")
        if self.max_words < 2:
            raise SettingsError(f"max_words is {self.max_words}; it must be at least 2")


@dataclass(frozen=True, slots=True)
class Parser:
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

    grammar: LPCFG
    tagger: Tagger | None = None
    options: ParserOptions = field(default_factory=ParserOptions)
    wrapper: str | None = None
    description: dict[str, Any] = field(default_factory=dict)
    kruskal: KruskalGrammar | None = None
    calibrations: Calibrations = field(default_factory=dict)
    _factors: Factors | None = field(init=False, repr=False, compare=False, default=None)
    _left_corners: LeftCorners | None = field(init=False, repr=False, compare=False, default=None)
    _tokenisation: TokenisationScheme | None = field(
        init=False, repr=False, compare=False, default=None
    )

    def __post_init__(self) -> None:
        backbone = self.grammar.backbone
        if self.kruskal is not None:
            if self.kruskal.exact is not self.grammar:
                raise GrammarError("the Kruskal form is that of another grammar")
            if self.options.objective not in OF_ITEMS:
                raise SettingsError(
                    f"objective is {self.options.objective!r}; a grammar in Kruskal form has no "
                    f"marginals of rules, so it must be one of {', '.join(OF_ITEMS)}"
                )
            object.__setattr__(self, "_factors", Factors.of(self.kruskal))
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
        return f"<Parser: {', '.join(parts)}>"

    @property
    def signed(self) -> bool:
        """Whether marginals are values that may lie outside 0..1, not probabilities."""
        return (self.kruskal or self.grammar).signed

    @property
    def cleaning(self) -> CleaningOptions:
        """How the trees that the parser was trained on were cleaned; the default if unknown."""
        return cleaning_of(self.description)

    @property
    def tokenisation(self) -> TokenisationScheme:
        """What the trees that the parser was trained on take for a word."""
        if self._tokenisation is None:
            entries = self.grammar.backbone.lexicon.entries
            object.__setattr__(self, "_tokenisation", scheme_of_parser(self.description, entries))
        assert self._tokenisation is not None
        return self._tokenisation

    @classmethod
    def train(
        cls,
        trees: Sequence[Tree],
        *,
        method: NamedMethod | None = None,
        states: int | None = None,
        settings: TrainingOptions | None = None,
        held_out: Sequence[Tree] = (),
        wrapper: str | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Parser:
        """Learn a parser from trees that are already clean.

        Parameters
        ----------
        trees
            At least one.
        method, states
            Shortcuts for the two settings that are changed most: the estimator, and the
            most latent states of a nonterminal, of which ``pcfg`` and ``markov`` have none.
        settings
            All settings; by default those that served best on held-out trees.
        held_out
            Clean trees on which expectation maximisation finds its best iteration (without them
            it keeps the last), and numbers of states are searched; other methods ignore them.
        wrapper
            Label of the outer bracket for parsed trees, None for none.
        seed
            One seed gives one model.
        progress
            Called with the stage and the share of it that is done.
        """
        from eigentree.constituency import training

        settings = (settings or training.TrainingOptions()).with_shortcuts(method, states)
        return training.train(
            trees, settings, held_out=held_out, wrapper=wrapper, seed=seed, progress=progress
        )

    def retrained(
        self,
        trees: Sequence[Tree],
        settings: PartialOptions | None = None,
        *,
        held_out: Sequence[Tree] = (),
        progress: Progress | None = None,
    ) -> Retrained:
        """The parser after training on trees in which phrases may be missing.

        Parameters
        ----------
        trees, held_out, progress
            As of `eigentree.constituency.training.retrain`, which tells errors.
        settings
            By default those of `eigentree.constituency.learn.constrained_em.PartialOptions`.

        Cost
        ----
        As of `eigentree.constituency.learn.constrained_em.learn_partial`.
        """
        from eigentree.constituency import training
        from eigentree.constituency.learn.constrained_em import PartialOptions

        options = settings or PartialOptions()
        return training.retrain(self, trees, options, held_out=held_out, progress=progress)

    def in_kruskal_form(
        self,
        options: DecompositionOptions | None = None,
        *,
        seed: int = 0,
        processes: int = 1,
        progress: Progress | None = None,
    ) -> Parser:
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

    def save(self, path: str | Path) -> None:
        """Write the parser to a model file."""
        from eigentree.constituency.model_file import save_parser

        save_parser(self, path)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Parser:
        """Read a parser from a model file.

        Raises
        ------
        ModelFileError
            When the file is damaged, foreign or inconsistent.
        """
        from eigentree.constituency.model_file import load_parser

        return load_parser(path, verify=verify)

    def parse_many(
        self,
        sentences: Iterable[SentenceLike],
        *,
        best: int | None = None,
        marginals: float | None = None,
        soft: bool = False,
    ) -> Iterator[ParseResult]:
        """Parse sentences one by one: text, or (words, tags or None), perhaps with constraints."""
        for sentence in checked_sentences(sentences):
            words, tags, constraints = unpack(sentence)
            yield self.parse(
                words, tags, best=best, marginals=marginals, constraints=constraints, soft=soft
            )

    def parse_text(
        self,
        text: str,
        *,
        best: int | None = None,
        marginals: float | None = None,
    ) -> list[ParseResult]:
        """Parse the sentences of a text, which are found by `tokenisation`.

        Parameters
        ----------
        text
            Any text; an empty line ends a sentence, another end of a line is white space.
        best, marginals
            As of `parse`.

        Returns
        -------
        list of ParseResult
            One for each sentence, in order; `ParseResult.offsets` are characters of the text.
        """
        results = []
        for sentence in split_text(text, self.tokenisation):
            found = self.parse(sentence.words, best=best, marginals=marginals)
            results.append(replace(found, offsets=sentence.offsets))
        return results

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
        """Parse one sentence.

        Parameters
        ----------
        words
            Words, or pairs of a word and its tag, or one sentence as text, which `tokenisation`
            cuts into words; without words there is a result without a tree.
        tags
            Their tags, if known; otherwise the tagger gives them.  In place of a tag there may be
            several with weights, such as ``{"NN": 0.7, "VB": 0.3}``: they go into the chart as the
            tagger's do, however small, and only their ratios count.  Nothing is calibrated then.
        best
            How many trees are wanted in `ParseResult.alternatives`; there are fewer where the
            sentence has no more.  None for the tree alone.
        marginals
            Least absolute value of the marginals in `ParseResult.marginals`; None for none.
            What pruning has left out has no marginal.
        constraints
            What is demanded of the tree.  Marginals and values are then those of the trees that
            keep them; required tags go before given ones.
        soft
            Where not all constraints can be kept, keep each that can be together with those
            before it.  Otherwise all are given up.

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
            hold, when weights are negative, not finite, all 0 or of tags unknown, when best is
            less than 1, when marginals is no size, or when a constraint reaches beyond the words.

        Cost
        ----
        Where constraints conflict, one inside pass of the plain PCFG for each to find the least
        set that does, and with ``soft`` another for each to find which are kept.
        """
        words, tags, offsets = normalise(words, tags, lambda: self.tokenisation)
        sentence = prepare(words, tags, self.tagger, self.grammar.backbone.symbols.tags)
        wanted = effective_constraints(constraints or Constraints(), sentence, self.wrapper)
        if wanted:
            result = self._constrained(sentence, wanted, best, marginals, soft)
        elif not sentence.words:
            result = ParseResult([], [], None, fallback="empty")
        else:
            result = self.parse_attempts(sentence, self.attempts, best, marginals)
            result = calibrated(result, calibration_for(tags, self.calibrations))
        return result if offsets is None else replace(result, offsets=offsets)

    def rule_marginals(
        self, words: Words, tags: Sequence[Tag] | None = None, *, least: float = 0.01
    ) -> list[RuleMarginal]:
        """The marginals of all uses of binary rules in a sentence.

        Parameters
        ----------
        words, tags
            As of `parse`.
        least
            Least absolute value of the marginals that are given.

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
        check_least(least)
        words, tags, _ = normalise(words, tags, lambda: self.tokenisation)
        sentence = prepare(words, tags, self.tagger, self.grammar.backbone.symbols.tags)
        uses: list[RuleMarginal] = []
        start = 0
        for piece in self.pieces(sentence):
            for found in islice(self._found(piece, self.attempts), 1):
                for use in found.rules(least):
                    ends = {name: getattr(use, name) + start for name in ("start", "split", "end")}
                    uses.append(use._replace(**ends))
            start += len(piece.words)
        return uses

    def can_keep(self, sentence: PreparedSentence, constraints: Constraints) -> bool:
        """Whether the plain PCFG has a tree of the sentence that keeps constraints.

        Cost
        ----
        An inside pass without a beam, or two.
        """
        return any_tree(self.grammar.backbone, sentence.under(constraints))

    def _constrained(
        self,
        sentence: PreparedSentence,
        constraints: Constraints,
        best: int | None,
        least: float | None,
        soft: bool,
    ) -> ParseResult:
        """Parse under constraints, and where that can't be, under those that can be kept."""
        too_long = len(sentence.words) > self.options.max_words
        if constraints.clash() is None and not too_long:
            result = self.parse_attempts(sentence.under(constraints), self.attempts, best, least)
            if result.fallback not in ("flat", "split"):
                return result
            too_long = result.fallback == "split"
        settled = Settled(Constraints(), constraints.each, IN_PIECES)
        if not too_long:
            settled = settle(constraints, partial(self.can_keep, sentence), soft=soft)
        if not settled.given_up:
            settled = Settled(Constraints(), constraints.each, NOT_IN_CHART)
        result = self.parse_attempts(sentence.under(settled.kept), self.attempts, best, least)
        if result.fallback in ("flat", "split"):
            settled = settled._replace(given_up=constraints.each)
        return with_given_up(result, settled.given_up, settled.conflict)

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

    def parse_attempts(
        self,
        sentence: PreparedSentence,
        attempts: Callable[[PreparedSentence], Iterable[Attempt]],
        best: int | None = None,
        least: float | None = None,
    ) -> ParseResult:
        """Parse a sentence whose prunings come from elsewhere, such as from another parser.

        Parameters
        ----------
        sentence
            At least one word.
        attempts
            What `attempts` gives for the sentence, or for the pieces of a long one.
        best, least
            As best and marginals of `parse`; nothing is calibrated.
        """
        check_best(best)
        check_least(least)
        result = parse_split(
            sentence,
            self.options.max_words,
            lambda piece: self._parse(piece, attempts, best if piece is sentence else None, least),
            lambda parts: joined(sentence.words, parts, self.root_label),
        )
        return result if best is None else with_alternative(result)

    def pieces(self, sentence: PreparedSentence) -> list[PreparedSentence]:
        """The sentence alone, or the pieces in which one that is too long is parsed."""
        return list(split_long(sentence, self.options.max_words))

    def attempts(self, sentence: PreparedSentence) -> Iterator[Attempt]:
        """What the plain PCFG leaves of a sentence, with more and more restrictions given up.

        It depends on the grammar's backbone and the threshold, not on the latent states.

        Parameters
        ----------
        sentence
            At least one word.
        """
        backbone = self.grammar.backbone
        full_chart: FullChart | None = None
        if self.kruskal is not None:
            full_chart = partial(kruskal_marginals, self.kruskal, factors=self._factors)
        elif self.options.exhaustive:
            full_chart = partial(exhaustive_marginals, backbone)
        return attempts_at(backbone, sentence, self.options.threshold, full_chart)

    def _parse(
        self,
        sentence: PreparedSentence,
        attempts: Callable[[PreparedSentence], Iterable[Attempt]],
        best: int | None,
        least: float | None,
    ) -> ParseResult:
        constraints = sentence.constraints or Constraints()
        tags = sentence.given
        for found in self._found(sentence, attempts):
            result = found.result(tags)
            # Trees without rules may miss a span whose marginal is not above 0.
            if result.tree is not None and constraints.broken_by(result.tree):
                continue
            if least is not None:
                result = replace(result, marginals=found.spans(least))
            if best is None:
                return result
            several = found.alternatives(tags, best)
            if constraints and found.gains.free:
                several = tuple(a for a in several if not constraints.broken_by(a.tree))
            return replace(result, alternatives=several)
        return self.flat(sentence)

    def _found(
        self, sentence: PreparedSentence, attempts: Callable[[PreparedSentence], Iterable[Attempt]]
    ) -> Iterator[Found]:
        """The best tree of each attempt that has one."""
        objective, absolute = self.options.objective, self.options.absolute
        for attempt in attempts(sentence):
            found = search(
                sentence.words, attempt, self.grammar, self.kruskal,
                objective=objective, absolute=absolute,
            )  # fmt: skip
            if found is not None:
                yield found

    def flat(self, sentence: PreparedSentence) -> ParseResult:
        """The last fall-back: the words with their tags under one root."""
        words, tags, *_ = sentence
        if tags is None:
            # The commonest tag serves where neither tagger nor lexicon has one.
            words_of = self.grammar.backbone.words
            commonest = words_of.symbols.tags[int(np.argmax(words_of.tag_count))]
            tags = [commonest] * len(words)
        leaves = [Tree(tag, (), word) for word, tag in zip(words, tags, strict=True)]
        return ParseResult(words, tags, Tree(self.root_label, leaves), fallback="flat")

    @property
    def root_label(self) -> str:
        """The commonest label of a whole sentence that is a phrase."""
        backbone = self.grammar.backbone
        phrases = np.where(backbone.symbols.tag < 0, backbone.root, -1.0)
        return backbone.symbols[int(np.argmax(phrases))].chain[0]


class Retrained(NamedTuple):
    """What became of a parser, and of the trees that it was retrained on.

    Attributes
    ----------
    parser
    unfit
        Numbers of the trees that were left out, counted from 0, and why.
    """

    parser: Parser
    unfit: dict[int, str]


def cleaning_of(description: Mapping[str, Any]) -> CleaningOptions:
    """How trees were cleaned, by what a model says about itself; the default if it doesn't."""
    stored = description.get("treebank", {}).get("cleaning", {})
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    return CleaningOptions(**{**stored, **lists})
