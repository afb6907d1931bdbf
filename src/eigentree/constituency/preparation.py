"""From clean trees to the arrays of the learners; options left open are chosen by the treebank."""

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

# Head tables that are tried, and the minimum fraction of phrases that a table must cover.
HEAD_TABLES = ("english", "negra")
HEAD_COVERAGE = 0.9
# Symbols are annotated with a sibling unless the estimated probability of an unseen rule is higher.
MAX_UNSEEN = 0.03


class Prepared(NamedTuple):
    """A treebank ready for the learners, and its options, with all choices made."""

    examples: Examples
    options: TreebankOptions


def prepare(trees: Sequence[Tree], options: TreebankOptions) -> Prepared:
    """Binarise trees and convert them to arrays, choosing the options that are left open.

    Intermediate symbols that are annotated with a sibling give a better grammar if the treebank
    contains most of the resulting rules.  The probability that the next rule is unseen is the
    Good-Turing estimate: the fraction of rule occurrences whose rule occurs once.
    """
    heads = find_heads(trees) if options.heads == "auto" else options.heads
    options = replace(options, heads=heads)
    if options.binarise is not None:
        return Prepared(_examples(trees, options.binarise, options), options)
    for siblings in (1, 0):
        choice = BinariseOptions(direction=options.direction, horizontal=siblings)
        examples = _examples(trees, choice, options)
        if unseen_share(examples) <= MAX_UNSEEN:
            break
    return Prepared(examples, replace(options, binarise=choice))


def unseen_share(examples: Examples) -> float:
    """Fraction of occurrences of binary rules whose rule occurs once; 0 without rules."""
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
    """Name of the head table that covers the labels of some trees, else ``rightmost``.

    A table is used if it has rules for at least `HEAD_COVERAGE` of the phrases.
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
