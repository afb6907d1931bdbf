"""Options for parsing with, and training, dependency parsers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from eigentree._core.arguments import check_choice
from eigentree.errors import SettingsError, check_range
from eigentree.treebank.tag_schemes import parts_of_scheme

if TYPE_CHECKING:
    from eigentree.dependency.learn.head_automata import HeadAutomataOptions, Method
    from eigentree.dependency.learn.lexical_modifiers import LexicalModifierOptions

DependencyObjective = Literal["sum", "product", "viterbi"]
Crossing = Literal["lift", "skip"]


@dataclass(frozen=True)
class DependencyOptions:
    """How sentences are parsed.

    Attributes
    ----------
    objective
        The quantity that the tree maximises: the ``sum`` of the marginals of its arcs, their
        ``product``, or, for probability automata, the value of one derivation (``viterbi``).
    several_roots
        Whether the root may have several modifiers.
    max_words
        Longer sentences are parsed in segments of at most this many words.
    lexical_weight
        Exponent of the lexical model's values in their product with those of the automata;
        above 0.
    lexical_alone
        Whether a lexical model replaces the automata instead of being combined with them.
    """

    objective: DependencyObjective = "sum"
    several_roots: bool = False
    max_words: int = 400
    lexical_weight: float = 1.0
    lexical_alone: bool = False

    def __post_init__(self) -> None:
        check_choice(DependencyObjective, objective=self.objective)
        check_range(1, max_words=self.max_words)
        if not 0.0 < self.lexical_weight < float("inf"):
            raise SettingsError(f"lexical_weight is {self.lexical_weight}; it must be above 0")


def best_automata(method: Method = "spectral+em") -> HeadAutomataOptions:
    """The automata options that scored best on held-out trees of six treebanks.

    Scoring an iteration by parsing takes far longer than the iteration, so only some are scored.
    """
    from eigentree.dependency.learn.head_automata import HeadAutomataOptions

    return HeadAutomataOptions(method, judge_every=5)


def _lexical_model() -> LexicalModifierOptions:
    from eigentree.dependency.learn.lexical_modifiers import LexicalModifierOptions

    return LexicalModifierOptions()


@dataclass(frozen=True)
class DependencyTrainingOptions:
    """Settings for training a dependency parser.

    Attributes
    ----------
    automata
        Method and states.
    lexical
        The lexical model combined with the automata; None to use tags only.
    lexical_weight
        Its exponent; None to search for the best on held-out sentences, or 1 without any.
    tag_scheme
        The tag scheme, see `eigentree.treebank.tag_schemes`; None to infer it from the treebank.
    crossing
        How trees with crossing arcs are handled: ``lift`` makes them projective, ``skip``
        leaves them out.
    relations, tagger
        Whether to learn relations, and a tagger.
    tag_dictionary
        A file of words with their possible tags for the tagger, as of
        `eigentree.words.tag_dictionary`; None for none.
    parsing
        How sentences are parsed.
    """

    automata: HeadAutomataOptions = field(default_factory=best_automata)
    lexical: LexicalModifierOptions | None = field(default_factory=_lexical_model)
    lexical_weight: float | None = None
    tag_scheme: str | None = None
    crossing: Crossing = "lift"
    relations: bool = True
    tagger: bool = True
    tag_dictionary: str | None = None
    parsing: DependencyOptions = field(default_factory=DependencyOptions)

    def __post_init__(self) -> None:
        if self.tag_scheme is not None:
            parts_of_scheme(self.tag_scheme)
        if self.crossing not in get_args(Crossing):
            raise SettingsError(f"crossing is {self.crossing!r}; it must be lift or skip")
        if self.lexical_weight is not None and self.lexical_weight <= 0.0:
            raise SettingsError(f"lexical_weight is {self.lexical_weight}; it must be above 0")

    def with_method(self, method: Method | None) -> DependencyTrainingOptions:
        """The settings with another method of learning automata; unchanged for None."""
        if method is None:
            return self
        return replace(self, automata=replace(self.automata, method=method))
