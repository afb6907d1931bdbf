"""A parser with the interface of NLTK's parsers.

Trees are ordered by the decoder's objective, best first.  With a probabilistic grammar, each tree
has the probability of the tree with its words, summed over latent states, like the trees of
`nltk.ViterbiParser`.  Signed grammars have no probabilities, so their trees have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from eigentree._core.optional import require
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import Alternative
from eigentree.errors import check_range
from eigentree.integrations.nltk_trees import to_nltk
from eigentree.treebank.tree import Tree

with require("nltk"):
    import nltk
    from nltk.parse.api import ParserI
    from nltk.tree import ProbabilisticTree

START = "START"


class NLTKParser(ParserI):  # type: ignore[misc]  # NLTK has no types
    """An eigentree parser with the methods of NLTK's parsers.

    Parameters
    ----------
    parser
        A constituency parser or an ensemble.
    most
        Maximum number of trees per sentence; without a bound there may be exponentially many.

    Raises
    ------
    SettingsError
        When `most` is below 1.
    TypeError
        When `parser` is not a parser, for example a path.
    """

    def __init__(self, parser: ConstituencyParser, *, most: int = 50) -> None:
        if not hasattr(parser, "parse_many"):
            raise TypeError(f"expected a parser, as from ConstituencyParser.load (got {parser!r})")
        check_range(1, most=most)
        self._parser = parser
        self._most = most

    def grammar(self) -> Any:
        """The grammar without latent states as an `nltk.PCFG`; see `to_pcfg`."""
        return to_pcfg(self._parser.grammar.backbone)

    def parse(self, sent: Sequence[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The trees of a sentence, best first, computed lazily.

        Parameters
        ----------
        sent
            Words, or pairs of a word and its tag.
        args, kwargs
            Not supported; part of the interface.

        Yields
        ------
        nltk.Tree
            `nltk.tree.ProbabilisticTree` if trees have probabilities.  At least one tree, possibly
            a fall-back, unless there are no words.

        Cost
        ----
        A parse for the first tree; another for the next three, for twelve more and so on.
        """
        if args or kwargs:
            raise TypeError("parse takes a sentence only")
        words, tags = _words_and_tags(sent)
        return self._trees(words, tags)

    def _trees(self, words: list[str], tags: list[str] | None) -> Iterator[Any]:
        yielded: set[Tree] = set()
        requested = 1
        while words:
            found = self._parser.parse(words, tags, kbest=requested).alternatives
            for each in found:
                if each.tree not in yielded:
                    yielded.add(each.tree)
                    yield self._with_probability(each)
            if len(found) < requested or requested == self._most:
                return
            requested = min(4 * requested, self._most)

    def _with_probability(self, found: Alternative) -> Any:
        tree = to_nltk(found.tree)
        if self._parser.signed or found.log_value is None or not math.isfinite(found.log_value):
            return tree
        # NLTK's logarithms are binary.
        return ProbabilisticTree(tree.label(), list(tree), logprob=found.log_value / math.log(2.0))


def _words_and_tags(sent: Sequence[Any]) -> tuple[list[str], list[str] | None]:
    if isinstance(sent, str):
        raise TypeError("sent must be a list of words, not a string")
    tokens = list(sent)
    if tokens and all(isinstance(token, tuple) and len(token) == 2 for token in tokens):
        return [word for word, _ in tokens], [tag for _, tag in tokens]
    return tokens, None


def to_pcfg(grammar: PCFG) -> Any:
    """Convert a grammar without latent states to an `nltk.PCFG`.

    Parameters
    ----------
    grammar
        For example the backbone of a parser's grammar.

    Returns
    -------
    nltk.PCFG
        Its nonterminals are eigentree's symbols, including unary chains and intermediate symbols;
        the start symbol rewrites to the possible roots.  Terminals are the entries of the lexicon:
        words, and ``< ...>`` for classes of rare and unknown words.

    Cost
    ----
    One production per rule, and per word and symbol of its tags.
    """
    symbols = [nltk.Nonterminal(symbol) for symbol in grammar.symbols.symbols]
    start = nltk.Nonterminal(START)
    made: list[Any] = []

    def add(left: Any, right: Sequence[Any], probability: float) -> None:
        if probability > 0.0:
            made.append(nltk.ProbabilisticProduction(left, right, prob=probability))

    for symbol, share in zip(symbols, (grammar.root / grammar.root.sum()).tolist(), strict=True):
        add(start, [symbol], share)
    rules = (grammar.parent, grammar.left, grammar.right, grammar.probability)
    for parent, left, right, probability in zip(*(each.tolist() for each in rules), strict=True):
        add(symbols[parent], [symbols[left], symbols[right]], probability)
    for number, word in enumerate(grammar.lexicon.entries):
        for tag in grammar.words.tags_of(number):
            found = grammar.words.candidates(number, tag)
            pairs = zip(found.symbol.tolist(), found.probability.tolist(), strict=True)
            for symbol, probability in pairs:
                add(symbols[symbol], [word], probability)
    return nltk.PCFG(start, made)
