"""Options for parsing with, and training, bracketing parsers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from eigentree._core.arguments import check_choice
from eigentree.bracketing.root_split import RULES
from eigentree.errors import SettingsError, check_range
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL

if TYPE_CHECKING:
    from eigentree.bracketing.learn.ccm import ConstituentContextOptions
    from eigentree.bracketing.learn.tree_metric import MetricOptions

TopRule = Literal["verbs", "free"]
BracketingMethod = Literal["taught-contexts", "metric", "constituent-context"]


@dataclass(frozen=True)
class BracketingOptions:
    """How sentences are parsed.

    Attributes
    ----------
    top
        How the root splits a sentence: by the rule for verbs and punctuation, or at the position
        with the best tree; see `eigentree.bracketing.root_split`.  The shortest tree has its root
        at the first word.
    max_words
        Longer sentences are parsed in segments of at most this many words.
    label
        Label of all phrases.
    """

    top: TopRule = "verbs"
    max_words: int = 120
    label: str = "X"

    def __post_init__(self) -> None:
        check_choice(RULES, top=self.top)
        check_range(2, max_words=self.max_words)
        if not self.label or not FORBIDDEN_IN_LABEL.isdisjoint(self.label):
            raise SettingsError(f"label is {self.label!r}; it must have no white space or brackets")


@dataclass(frozen=True)
class BracketingTrainingOptions:
    """Settings for training a bracketing parser.

    Attributes
    ----------
    method
        ``taught-contexts``: constituent-context models that start from the trees of a tree
        metric; ``metric``: the tree metric alone; ``constituent-context``: a constituent-context
        model of tags alone.
    metric
        How the metric is estimated; None for the method's default.
    contexts
        How constituent-context models are learned; None for the method's default.
    least_squares
        With ``metric``, whether edge lengths are estimated by least squares; see
        `eigentree.bracketing.chart.minimum_evolution`.
    charge
        With ``taught-contexts``, the penalty of a span that has punctuation inside and is not
        delimited by it, in nats.
    clusters
        Number of Brown clusters to learn if no word vectors are given.
    parsing
        How sentences are parsed; None for the method's default: the root split by verbs with
        ``metric``, free with the others.
    """

    method: BracketingMethod = "taught-contexts"
    metric: MetricOptions | None = None
    contexts: ConstituentContextOptions | None = None
    least_squares: bool = False
    charge: float = 1.0
    clusters: int = 100
    parsing: BracketingOptions | None = None

    def __post_init__(self) -> None:
        check_choice(BracketingMethod, method=self.method)
        check_range(0, charge=self.charge)
        check_range(2, clusters=self.clusters)

    def with_method(self, method: BracketingMethod | None) -> BracketingTrainingOptions:
        """The settings with another method; unchanged for None."""
        return self if method is None else replace(self, method=method)

    def parsing_options(self) -> BracketingOptions:
        """How sentences are parsed, with the method's default filled in."""
        default = BracketingOptions(top="verbs" if self.method == "metric" else "free")
        return self.parsing or default
