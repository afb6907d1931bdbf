"""Options of training: the treebank, the method and its settings, and the trained parser."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from eigentree._core.arguments import check_choice
from eigentree.constituency.chart.decode import OF_ITEMS
from eigentree.constituency.estimators import (
    ESTIMATORS,
    VARIANTS,
    Estimator,
    estimator_class,
    learned_by,
)
from eigentree.constituency.learn.clustering import ClusteringOptions
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.learn.em import EMOptions
from eigentree.constituency.learn.noise import NO_NOISE, Noise
from eigentree.constituency.learn.spectral import SpectralOptions
from eigentree.constituency.learn.state_search import StateSearchOptions
from eigentree.constituency.learn.unseen_rules import UnseenRuleOptions
from eigentree.constituency.options import ParserOptions
from eigentree.errors import SettingsError, counted
from eigentree.treebank.binarise import BinariseOptions, Direction
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.lexicon import LexiconOptions


@dataclass(frozen=True)
class TreebankOptions:
    """Preparation of a treebank before a grammar is learned.

    Attributes
    ----------
    cleaning
        Traces, function tags, wrappers.
    binarise
        Direction and Markovisation; None to choose the Markovisation by the treebank.
    direction
        Direction of binarisation if `binarise` is None.
    heads
        Name or path of a head table, or ``auto`` for one that covers the labels.
    lexicon
        Rare words and their classes.
    """

    cleaning: CleaningOptions = field(default_factory=CleaningOptions)
    binarise: BinariseOptions | None = None
    direction: Direction = "left"
    heads: str = "auto"
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)


@dataclass(frozen=True)
class TrainingOptions:
    """All settings of training.

    Attributes
    ----------
    method
        ``spectral``; ``clustering``: relative frequencies of clusters of spectral projections;
        ``em``: expectation maximisation; ``spectral+em``: expectation maximisation initialised by
        such clusters; ``pcfg``: relative frequencies without latent states.
    treebank
        Cleaning, binarisation, heads, rare words.
    spectral
        States, smoothing and features of the spectral estimator.
    clustering
        States, clusters and smoothing of the clustering estimator.
    noise
        Noise that the methods ``spectral`` and ``clustering`` add before estimation.
    state_search
        Search for numbers of states on held-out trees (method ``spectral`` only); None for the
        numbers in `spectral`.
    em
        States, iterations and smoothing of expectation maximisation.  Its initialisation depends on
        the method.
    unseen
        Rules that are not in the treebank, for grammars with latent states; None for none.  The
        plain PCFG has none.
    decomposition
        Decomposition of the rules into Kruskal form, after learning; None for none.
    parsing
        Options of the trained parser.
    tagger
        Train a tagger on the same trees.
    tag_dictionary
        A file of words with their possible tags for the tagger, as of
        `eigentree.words.tag_dictionary`; None for none.
    compact
        Round the numbers of rules and words to eight significant bits, for a smaller model file.
    jackknife
        Train the grammar on jackknifed tags (each fold tagged by a tagger trained on the
        others), so that it sees realistic tagging errors.
    """

    method: str = "spectral"
    treebank: TreebankOptions = field(default_factory=TreebankOptions)
    spectral: SpectralOptions = field(default_factory=SpectralOptions)
    clustering: ClusteringOptions = field(default_factory=ClusteringOptions)
    noise: Noise = NO_NOISE
    state_search: StateSearchOptions | None = None
    em: EMOptions = field(default_factory=EMOptions)
    unseen: UnseenRuleOptions | None = field(default_factory=UnseenRuleOptions)
    decomposition: DecompositionOptions | None = None
    parsing: ParserOptions = field(default_factory=ParserOptions)
    tagger: bool = True
    tag_dictionary: str | None = None
    compact: bool = False
    jackknife: bool = False

    def __post_init__(self) -> None:
        check_choice(ESTIMATORS, method=self.method)
        if self.state_search is not None and not self.uses("state_search"):
            raise SettingsError(
                f"state_search requires the method spectral; the method is {self.method}"
            )
        if self.noise.scheme != "none" and not self.uses("noise"):
            raise SettingsError(
                f"noise requires the method spectral or clustering; the method is {self.method}"
            )
        if self.noise.scheme != "none" and self.state_search is not None:
            raise SettingsError("noise and state_search are mutually exclusive")
        self._check_parsing()

    def _check_parsing(self) -> None:
        """Reject settings of a parser that would fail only after the grammar is learned."""
        objective, form = self.parsing.objective, self.decomposition
        states, is_signed = self.estimator.states, self.estimator.is_signed
        if objective == "viterbi" and (states > 1 or is_signed):
            raise SettingsError(
                "parsing.objective is 'viterbi', which requires probabilities and one state per "
                f"symbol; the method is {self.method} with {counted(states, 'state')}"
            )
        if form is not None and not form.each and objective not in OF_ITEMS:
            raise SettingsError(
                f"parsing.objective is {objective!r}; a grammar in Kruskal form has no marginals "
                f"of rules, so it must be one of {', '.join(OF_ITEMS)}"
            )
        # A rule of m states has m^3 parameters; its Kruskal form of rank r has 3 r m.
        if form is not None and form.each and 3 * form.rank >= states**2:
            raise SettingsError(
                f"decomposition.rank of each rule is {form.rank}; with {counted(states, 'state')} "
                f"it must be below {states**2 / 3:.4g} to reduce the size of a rule"
            )
        if form is not None and form.method == "apr" and is_signed and states > 1:
            raise SettingsError(
                "decomposition.method is 'apr', which does not support negative values; spectral "
                "grammars need another method, such as 'als'"
            )

    @property
    def estimator(self) -> Estimator:
        """The estimator of the method, with the settings that it uses."""
        names = self._estimator_fields
        estimator: Estimator = estimator_class(self.method)(**{n: getattr(self, n) for n in names})
        return estimator

    def uses(self, name: str) -> bool:
        """Whether the method uses a setting that only some methods have."""
        return name in self._estimator_fields

    @property
    def _estimator_fields(self) -> list[str]:
        kind: Any = estimator_class(self.method)
        return [each.name for each in fields(kind)]

    @property
    def widening(self) -> UnseenRuleOptions | None:
        """Settings of unseen rules if the method supports them; None for none."""
        return self.unseen if self.estimator.is_latent else None

    @property
    def em_settled(self) -> EMOptions:
        """Settings of expectation maximisation, with the initialisation of the method."""
        settled: EMOptions = getattr(self.estimator, "em", self.em)
        return settled

    def decisive(self) -> dict[str, Any]:
        """The settings that the learned grammar depends on, without those of other methods."""
        settings = asdict(self)
        for name in ("spectral", "em", "clustering"):
            if not self.uses(name):
                del settings[name]
        if self.noise.scheme == "none":
            del settings["noise"]
        if self.decomposition is None:
            del settings["decomposition"]
        return settings

    def with_shortcuts(self, method: str | None, states: int | None) -> TrainingOptions:
        """The same settings with another method or number of states, if not None."""
        changed = self if method is None else replace(self, method=learned_by(method))
        variant = VARIANTS.get(method or "")
        if variant is not None:
            given = self.treebank.binarise or BinariseOptions(direction=self.treebank.direction)
            binarise = replace(given, vertical=variant.vertical, horizontal=variant.horizontal)
            changed = replace(changed, treebank=replace(self.treebank, binarise=binarise))
        if states is None:
            return changed
        return replace(
            changed,
            spectral=replace(changed.spectral, states=states),
            clustering=replace(changed.clustering, states=states),
            em=replace(changed.em, states=states),
        )
