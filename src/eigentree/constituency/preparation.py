"""From clean trees to the arrays of learners, with every open option of the treebank settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.training_options import TreebankOptions
from eigentree.treebank.binarise import BinariseOptions, binarise
from eigentree.treebank.heads import head_rules
from eigentree.treebank.tree import Tree, collector_paused

# Tables that are tried on a treebank, and the share of phrases that one has to know.
HEAD_TABLES = ("english", "negra")
HEAD_COVERAGE = 0.9
# Symbols remember a sibling unless more than this share of new rule uses is likely to be of
# rules that the treebank lacks.
MOST_UNSEEN = 0.03


class Prepared(NamedTuple):
    """A treebank ready for the learners, and how it was made so, with every choice settled."""

    examples: Examples
    options: TreebankOptions


def prepare(trees: Sequence[Tree], options: TreebankOptions) -> Prepared:
    """Binarise trees and lay them out for the learners, settling what the options leave open.

    Intermediate symbols that remember a sibling make a better grammar as long as the treebank
    has most of its rules.  How many it lacks is estimated as by Good and Turing: the chance
    that the next rule is a new one is the share of the rules' uses that are their only one.
    """
    heads = find_heads(trees) if options.heads == "auto" else options.heads
    options = replace(options, heads=heads)
    if options.binarise is not None:
        return Prepared(_examples(trees, options.binarise, options), options)
    for siblings in (1, 0):
        choice = BinariseOptions(direction=options.direction, horizontal=siblings)
        examples = _examples(trees, choice, options)
        if unseen_share(examples) <= MOST_UNSEEN:
            break
    return Prepared(examples, replace(options, binarise=choice))


def unseen_share(examples: Examples) -> float:
    """Share of the uses of binary rules that are the only use of their rule; 0 for no rules."""
    uses = np.bincount(examples.rule[examples.rule >= 0])
    return float(np.sum(uses == 1) / max(1, uses.sum()))


def _examples(
    trees: Sequence[Tree], binarisation: BinariseOptions, options: TreebankOptions
) -> Examples:
    heads = head_rules(options.heads)
    with collector_paused():
        binary = [binarise(tree, binarisation, heads) for tree in trees]
        return Examples.of(binary, options.lexicon)


def find_heads(trees: Sequence[Tree]) -> str:
    """Name of the head table that knows the labels of some trees, or else the last child of each.

    A table is taken when it has rules for at least `HEAD_COVERAGE` of the phrases.
    """
    labels = Counter(
        node.label for tree in trees for node in tree.nodes() if len(node.children) > 1
    )
    known = {
        name: sum(count for label, count in labels.items() if head_rules(name).has(label))
        for name in HEAD_TABLES
    }
    best = max(HEAD_TABLES, key=lambda name: known[name])
    return best if known[best] >= HEAD_COVERAGE * labels.total() else "rightmost"
