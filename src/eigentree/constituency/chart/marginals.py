"""All marginals of a sentence, read off a filled chart: of labelled spans, and of uses of rules.

The marginal of a labelled span is the share of the sentence's trees, un-binarised, that have a
phrase of this label over the span.  Items of several symbols may hold the label; no tree has two
items that stand for phrases over one span, so theirs add up.  Where a chain holds the label twice,
it counts once.

Under a grammar of probabilities these are probabilities.  Under a signed one they are values: any
of them may be negative or exceed 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eigentree.constituency.chart.decode import Labels, group_sums
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.treebank.binarise import Symbol
from eigentree.types import Floats, Ints, Longs


class Marginal(NamedTuple):
    """A labelled span, half-open, with its marginal: a value outside 0..1 is possible if signed."""

    label: str
    start: int
    end: int
    marginal: float


class RuleMarginal(NamedTuple):
    """A use of a binary rule: the parent over start to end, its children meeting at the split."""

    parent: Symbol
    left: Symbol
    right: Symbol
    start: int
    split: int
    end: int
    marginal: float


def labelled_spans(
    labels: Labels,
    chains: Sequence[tuple[str, ...]],
    kind: Ints | Longs,
    start: Ints | Longs,
    end: Ints | Longs,
    weight: Floats,
    least: float,
    *,
    signed: bool = True,
) -> list[Marginal]:
    """The labelled spans whose marginals are of at least some size, by start, then end.

    Parameters
    ----------
    labels
        Those of the items.
    chains
        Phrase labels of each kind of item, from the top down.
    kind, start, end : integers, axes (items)
        What stands over which span.
    weight : float64, axes (items)
        Marginals.
    least
        Least absolute value.
    signed
        Whether values outside 0..1 are meant; otherwise only rounding leads there, and is cut off.

    Cost
    ----
    The sorting of all labels of all items.
    """
    own = labels.bracket.astype(np.int64) * len(kind) + labels.item
    _, once = np.unique(own, return_index=True)
    bracket = labels.bracket[once]
    total = group_sums(bracket, weight[labels.item[once]], 0)
    some = once[np.flatnonzero(np.diff(bracket, prepend=-1))]
    kept = np.flatnonzero(np.abs(total) >= least)
    places = some[kept]
    items = labels.item[places]
    in_chain = zip(kind[items].tolist(), (places - labels.first[items]).tolist(), strict=True)
    names = [chains[each][place] for each, place in in_chain]
    values = total[kept] if signed else np.clip(total[kept], 0.0, 1.0)
    columns = (start[items].tolist(), end[items].tolist(), values.tolist())
    return list(map(Marginal._make, zip(names, *columns, strict=True)))


def rule_uses(
    forest: Forest, marginals: Marginals, backbone: PCFG, least: float
) -> list[RuleMarginal]:
    """The uses of binary rules whose marginals are of at least some size, from short spans to long.

    Parameters
    ----------
    forest, marginals
        The marginals of its edges are wanted, which a chart in Kruskal form has not.
    backbone
        That the forest was built with.
    least
        Least absolute value.
    """
    edges = np.flatnonzero(np.abs(marginals.edge) >= least)
    rules = forest.group_rule[np.searchsorted(forest.group_edges, edges, side="right") - 1]
    left, right = forest.edge_left[edges], forest.edge_right[edges]
    columns = (
        backbone.parent[rules], backbone.left[rules], backbone.right[rules],
        forest.item_start[left], forest.item_start[right], forest.item_end[right],
        marginals.edge[edges],
    )  # fmt: skip
    symbols = backbone.symbols
    return [
        RuleMarginal(symbols[parent], symbols[one], symbols[other], *rest)
        for parent, one, other, *rest in zip(*(c.tolist() for c in columns), strict=True)
    ]
