"""Held-out trees on which grammars with the same rules are compared.

Grammars that differ only in their latent states share a backbone, the plain PCFG that prunes each
sentence.  Pruning takes about half of the time of a parse, so it is done once, and each grammar
decodes the forests that it left.
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
        The plain PCFG of all grammars that will be compared.
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
        # The first pruning serves nearly all sentences; further ones are made when needed.
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
                "the grammar has other rules or words than those that the held-out trees were "
                "pruned with; it must have the same"
            )

        def parse_part(part: PreparedSentence) -> ParseResult:
            prunings = self._prunings(part)
            derivation = first_derivation(part, prunings, grammar, None, self._options)
            return (
                flat_result(part, self._backbone) if derivation is None else to_result(derivation)
            )

        max_words, root = self._options.max_words, self._backbone.root_label
        return [
            parse_split(each, max_words, parse_part, partial(concatenate, each.words, root=root))
            for each in self._sentences
        ]

    def f1(self, grammar: LPCFG) -> float:
        """Bracket F1 of a grammar on the trees, 0 to 1; 0 where it is not defined."""
        parsed = [result.tree for result in self.parse(grammar)]
        return score(self._trees, parsed, EVALB_COLLINS).all.f1 or 0.0

    def _prunings(self, part: PreparedSentence) -> Iterator[PrunedForest]:
        """The schedule of a part, without computing the first pruning again if it is known."""
        first = self._first.get(_key(part))
        if first is not None:
            yield first
        # Those after the first need the first again, which is rare.
        rest = schedule(part, self._backbone, self._options)
        yield from islice(rest, 0 if first is None else 1, None)


def _key(sentence: PreparedSentence) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(sentence.words), tuple(sentence.tags or ())


@dataclass(frozen=True, slots=True)
class Validation:
    """Held-out trees for the grammars of one treebank, pruned only when a method needs them.

    Attributes
    ----------
    trees
        Clean trees, at least one.
    examples
        The treebank that grammars are learned from.
    unseen
        Settings of the rules that grammars are given besides; None for none.
    parsing
        How grammars parse.
    """

    trees: Sequence[Tree]
    examples: Examples
    unseen: UnseenRuleOptions | None
    parsing: ParserOptions

    def scorer(self, progress: Progress | None = None) -> Callable[[LPCFG], float]:
        """A function that gives the F1 of a learned grammar with its unseen rules.

        Cost
        ----
        A pruning of each held-out tree now, and a decoding of each for every grammar.
        """
        widened = widener(self.examples, self.unseen)
        backbone = widened(one_state(count_pcfg(self.examples))).backbone
        trees = ValidationSet(self.trees, backbone, self.parsing, progress=progress)
        return lambda grammar: trees.f1(widened(grammar))

    def digest(self, report: Mapping[str, Any]) -> str:
        """A digest of all that scores depend on besides the grammar.

        Parameters
        ----------
        report
            What has been done before grammars are scored, for JSON.
        """
        unseen = self.unseen and asdict(self.unseen)
        parts = [asdict(self.parsing), unseen, report, *map(format_tree, self.trees)]
        return sha256(json.dumps(parts).encode()).hexdigest()
