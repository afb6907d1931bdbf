"""Scores of grammars with the same rules on held-out trees.

Grammars that differ only in their latent states share a backbone, the plain PCFG that prunes each
sentence.  Pruning takes about half of the time of a parse, so each sentence is pruned once, and
each grammar decodes the pruned forests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any

from eigentree.constituency.decoding import (
    first_derivation,
    flat_result,
    to_result,
)
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG, equal_backbones
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.learn.unseen_rules import UnseenRuleOptions, widener
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.pruning_schedule import PrunedForest, schedule
from eigentree.constituency.result import ParseResult, concatenate
from eigentree.errors import GrammarError
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.sentence_input import PreparedSentence, parse_split, split_long
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.tree import Tree
from eigentree.types import Progress


class ValidationSet:
    """Held-out sentences with their tags, pruned once.

    Threads may share it.

    Parameters
    ----------
    trees
        Clean trees.
    backbone
        The plain PCFG of all grammars to be compared.
    options
        Options of parsing.
    progress
        Called with the name of the stage and the fraction of the trees that are pruned.

    Cost
    ----
    Memory for the packed forest of each sentence, about 100 kB for 25 words.
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
        # The first pruning suffices for nearly all sentences; others are computed on demand.
        self._first: dict[tuple[tuple[str, ...], tuple[str, ...]], PrunedForest] = {}
        for number, sentence in enumerate(self._sentences):
            for part in split_long(sentence, options.max_words):
                for pruning in islice(schedule(part, backbone, options), 1):
                    self._first[_key(part)] = pruning
            if progress:
                progress("held-out trees", (number + 1) / len(self._sentences))

    def parse(self, grammar: LPCFG) -> list[ParseResult]:
        """The result of `ConstituencyParser.parse` with the grammar for each sentence.

        Raises
        ------
        GrammarError
            When the grammar has another backbone.
        """
        if not equal_backbones(grammar.backbone, self._backbone):
            raise GrammarError(
                "the grammar has other rules or words than the one that pruned the held-out trees"
            )

        def parse_part(part: PreparedSentence) -> ParseResult:
            prunings = self._prunings(part)
            derivation = first_derivation(part, prunings, grammar, None, self._options)
            return (
                flat_result(part, self._backbone) if derivation is None else to_result(derivation)
            )

        max_words, root = self._options.max_words, self._backbone.root_label
        flat = partial(flat_result, backbone=self._backbone)
        return [
            parse_split(
                each, max_words, parse_part, partial(concatenate, each.words, root=root), flat
            )
            for each in self._sentences
        ]

    def f1(self, grammar: LPCFG) -> float:
        """Bracket F1 of a grammar on the trees, 0..1; 0 if undefined."""
        parsed = [result.tree for result in self.parse(grammar)]
        return score(self._trees, parsed, EVALB_COLLINS).all.f1 or 0.0

    def _prunings(self, part: PreparedSentence) -> Iterator[PrunedForest]:
        """The prunings of a part; the first one is not recomputed."""
        first = self._first.get(_key(part))
        if first is not None:
            yield first
        # Rare: later prunings require the first one to be computed again.
        rest = schedule(part, self._backbone, self._options)
        yield from islice(rest, 0 if first is None else 1, None)


def _key(sentence: PreparedSentence) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(sentence.words), tuple(sentence.tags or ())


@dataclass(frozen=True)
class Validation:
    """Held-out trees for the grammars of one treebank; pruned when a method needs them.

    Attributes
    ----------
    trees
        Clean trees, at least one.
    examples
        The treebank that the grammars are learned from.
    unseen
        Settings of unseen rules that are added to the grammars; None for none.
    parsing
        Options of parsing.
    """

    trees: Sequence[Tree]
    examples: Examples
    unseen: UnseenRuleOptions | None
    parsing: ParserOptions

    def scorer(self, progress: Progress | None = None) -> Callable[[LPCFG], float]:
        """A function from a learned grammar to its F1 with unseen rules added.

        Cost
        ----
        Each held-out sentence is pruned once here, and decoded for every grammar.
        """
        widened = widener(self.examples, self.unseen)
        backbone = widened(one_state(count_pcfg(self.examples))).backbone
        trees = ValidationSet(self.trees, backbone, self.parsing, progress=progress)
        return lambda grammar: trees.f1(widened(grammar))

    def digest(self, report: Mapping[str, Any]) -> str:
        """A digest of everything besides the grammar that scores depend on.

        Parameters
        ----------
        report
            A report of earlier steps of learning, in JSON types.
        """
        unseen = self.unseen and asdict(self.unseen)
        parts = [asdict(self.parsing), unseen, report, *map(format_tree, self.trees)]
        return sha256(json.dumps(parts).encode()).hexdigest()
