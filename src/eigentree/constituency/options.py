"""Options of parsing; those of training are in `eigentree.constituency.training_options`.

They are separate, so that opening a parser does not load the learners.
"""

from __future__ import annotations

from dataclasses import dataclass

from eigentree.constituency.chart.decode import BRACKET_PRICE, Objective
from eigentree.constituency.chart.pruning import DEFAULT_THRESHOLD
from eigentree.errors import check_range


@dataclass(frozen=True)
class ParserOptions:
    """Options of parsing.

    Attributes
    ----------
    objective
        Decoder, see `eigentree.constituency.chart.decode`.
    threshold
        Chart items with a smaller marginal under the plain PCFG are pruned.
    max_words
        Longer sentences are split into parts of at most this many words.
    absolute
        Use the absolute values of negative marginals.
    bracket_price
        Price of a bracket under the objective ``brackets``, 0..1.  With a lower price trees have
        more brackets, and more of them are wrong.
    exhaustive
        Apply every rule of the plain PCFG at every split point, for comparisons.
    """

    objective: Objective = "brackets"
    threshold: float = DEFAULT_THRESHOLD
    max_words: int = 400
    absolute: bool = True
    bracket_price: float = BRACKET_PRICE
    exhaustive: bool = False

    def __post_init__(self) -> None:
        check_range(0, 1, threshold=self.threshold)
        check_range(0, 1, bracket_price=self.bracket_price)
        check_range(2, max_words=self.max_words)
