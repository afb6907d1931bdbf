"""A parser in the place of one of NLTK's.

Trees come by the decoder's objective, the best first.  Where the grammar is one of
probabilities, each has as its probability what the grammar gives to the tree with its words, latent
states summed out: what `nltk.ViterbiParser` tells of a plain grammar.  Signed grammars have no
probabilities, so their trees are without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from eigentree._core.optional import require
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import Alternative
from eigentree.errors import SettingsError
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
        Any that parses constituents.
    most
        Trees that `parse` gives of a sentence at most; without a bound there might be
        exponentially many.

    Raises
    ------
    SettingsError
        When `most` is below 1.
    TypeError
        When `parser` is none, but perhaps the path of one.
    """

    def __init__(self, parser: ConstituencyParser, *, most: int = 50) -> None:
        if not hasattr(parser, "parse_many"):
            raise TypeError(
                f"parser is {parser!r}; a parser is expected, as of ConstituencyParser.load"
            )
        if most < 1:
            raise SettingsError(f"most is {most}; it must be at least 1")
        self._parser = parser
        self._most = most

    def grammar(self) -> Any:
        """The plain grammar that the parser's own refines, as an `nltk.PCFG`; see `to_pcfg`."""
        return to_pcfg(self._parser.grammar.backbone)

    def parse(self, sent: Sequence[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The trees of a sentence, the best first, found as they are asked for.

        Parameters
        ----------
        sent
            Words, or pairs of a word and its tag.
        args, kwargs
            None: they belong to the interface.

        Yields
        ------
        nltk.Tree
            `nltk.tree.ProbabilisticTree` where trees have probabilities.  One tree at least,
            whatever the parser had to give up for it, unless there is no word.

        Cost
        ----
        A parse for the first tree; another for the next three, for twelve more and so on.
        """
        if args or kwargs:
            raise TypeError("parse takes a sentence alone")
        words, tags = _words_and_tags(sent)
        return self._trees(words, tags)

    def _trees(self, words: list[str], tags: list[str] | None) -> Iterator[Any]:
        given: set[Tree] = set()
        asked = 1
        while words:
            found = self._parser.parse(words, tags, kbest=asked).alternatives
            for each in found:
                if each.tree not in given:
                    given.add(each.tree)
                    yield self._with_probability(each)
            if len(found) < asked or asked == self._most:
                return
            asked = min(4 * asked, self._most)

    def _with_probability(self, found: Alternative) -> Any:
        tree = to_nltk(found.tree)
        if self._parser.signed or found.log_value is None or not math.isfinite(found.log_value):
            return tree
        # NLTK's logarithms are binary.
        return ProbabilisticTree(tree.label(), list(tree), logprob=found.log_value / math.log(2.0))


def _words_and_tags(sent: Sequence[Any]) -> tuple[list[str], list[str] | None]:
    if isinstance(sent, str):
        raise TypeError("sent: a list of words is expected, not one string")
    tokens = list(sent)
    if tokens and all(isinstance(token, tuple) and len(token) == 2 for token in tokens):
        return [word for word, _ in tokens], [tag for _, tag in tokens]
    return tokens, None


def to_pcfg(grammar: PCFG) -> Any:
    """A plain grammar as an `nltk.PCFG`.

    Parameters
    ----------
    grammar
        Such as the backbone of a parser's grammar.

    Returns
    -------
    nltk.PCFG
        Its nonterminals are eigentree's symbols, chains of unary nodes and parts of phrases among
        them; the start symbol rewrites to those that may stand at the root.  Terminals are the
        entries of the lexicon: words, and ``< ...>`` for classes of rare and unknown ones.

    Cost
    ----
    A production for each rule, and for each word one for each symbol of its tags.
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
