"""Held-out trees that many grammars over the same rules are judged on.

Grammars that differ only in their latent states share a backbone, the plain PCFG that prunes
each sentence before the states are looked at.  Pruning takes about half of the time of a
parse, so it is done once, and each grammar starts from what it left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.parser import Parser, ParserOptions
from eigentree.constituency.pruning_schedule import Attempt
from eigentree.constituency.result import ParseResult
from eigentree.errors import GrammarError
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.sentence_input import PreparedSentence
from eigentree.treebank.tree import Tree
from eigentree.types import Progress


class HeldOut:
    """Held-out sentences with their tags, pruned once.

    Threads may share it.

    Parameters
    ----------
    trees
        Clean trees.
    backbone
        The plain PCFG of all grammars that are to be judged.
    options
        How they parse.
    progress
        Called with the stage's name and the share of the trees that is pruned.

    Cost
    ----
    Memory for the packed forest of each sentence, some 100 kB for one of 25 words.
    """

    def __init__(
        self,
        trees: Sequence[Tree],
        backbone: PCFG,
        options: ParserOptions,
        *,
        progress: Progress | None = None,
    ) -> None:
        self._trees = list(trees)
        self._backbone, self._options = backbone, options
        self._sentences = [PreparedSentence(tree.words(), tree.tags()) for tree in trees]
        # The first attempt serves nearly all sentences; further ones are made when needed.
        self._first: dict[tuple[tuple[str, ...], tuple[str, ...]], Attempt] = {}
        plain = Parser(one_state(backbone), options=options)
        for number, sentence in enumerate(self._sentences):
            for piece in plain.pieces(sentence):
                for attempt in islice(plain.attempts(piece), 1):
                    self._first[_key(piece)] = attempt
            if progress:
                progress("held-out trees", (number + 1) / len(self._sentences))

    def parse(self, grammar: LPCFG) -> list[ParseResult]:
        """What `Parser.parse` with the grammar gives for each sentence.

        Raises
        ------
        GrammarError
            When the grammar's backbone is another.
        """
        if not equal_backbones(grammar.backbone, self._backbone):
            raise GrammarError(
                "the grammar has other rules or words than those that the held-out trees were "
                "pruned with; it must have the same"
            )
        parser = Parser(grammar, options=self._options)

        def attempts(sentence: PreparedSentence) -> Iterable[Attempt]:
            known = self._first.get(_key(sentence))
            if known is None:
                return parser.attempts(sentence)
            return _after(known, parser.attempts(sentence))

        return [parser.parse_attempts(sentence, attempts) for sentence in self._sentences]

    def f1(self, grammar: LPCFG) -> float:
        """Bracket F1 of a grammar on the trees, 0 to 1; 0 where it is not defined."""
        parsed = [result.tree for result in self.parse(grammar)]
        return score(self._trees, parsed, EVALB_COLLINS).all.f1 or 0.0


def _key(sentence: PreparedSentence) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(sentence.words), tuple(sentence.tags or ())


def _after(first: Attempt, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
    """The attempts, the first of which is known and made again only for those after it."""
    yield first
    yield from islice(attempts, 1, None)


def equal_backbones(one: PCFG, other: PCFG) -> bool:
    """Whether two plain grammars have the same rules, words and numbers."""
    if one is other:
        return True
    pairs = [
        (getattr(left, name), getattr(right, name))
        for left, right, names in (
            (one, other, ("parent", "left", "right", "probability", "root")),
            (one.words, other.words, ("word", "symbol", "count")),
        )
        for name in names
    ]
    return (
        one.symbols == other.symbols
        and one.lexicon == other.lexicon
        and all(np.array_equal(*pair) for pair in pairs)
    )
