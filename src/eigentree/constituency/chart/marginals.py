"""All marginals of a sentence, from a filled chart: labelled spans and uses of rules.

The marginal of a labelled span is the share of the sentence's trees, un-binarised, that have a
phrase of this label over the span.  Items of several symbols may contain the label; no tree has two
such items over one span, so their marginals are added.  A chain that contains the label twice
counts once.

Under a probability grammar these are probabilities.  Under a signed grammar they are values, which
may be negative or exceed 1.
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
    """A labelled, half-open span with its marginal (may lie outside 0..1 if signed)."""

    label: str
    start: int
    end: int
    marginal: float


class RuleMarginal(NamedTuple):
    """A use of a binary rule: its parent spans start to end, its children meet at the split."""

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
    min_marginal: float,
    *,
    signed: bool = True,
) -> list[Marginal]:
    """The labelled spans with at least some absolute marginal, sorted by start, then end.

    Parameters
    ----------
    labels
        The labelled spans of the items.
    chains
        Phrase labels of each kind of item, from the top down.
    kind, start, end : integers, axes (items)
        Kind and span of each item.
    weight : float64, axes (items)
        Marginals.
    min_marginal
        Minimum absolute value.
    signed
        Whether values outside 0..1 are meaningful; otherwise they are due to rounding and cut off.

    Cost
    ----
    Sorting all labels of all items.
    """
    label_of_item = labels.bracket.astype(np.int64) * len(kind) + labels.item
    _, once = np.unique(label_of_item, return_index=True)
    bracket = labels.bracket[once]
    total = group_sums(bracket, weight[labels.item[once]], 0)
    some = once[np.flatnonzero(np.diff(bracket, prepend=-1))]
    selected = np.flatnonzero(np.abs(total) >= min_marginal)
    places = some[selected]
    items = labels.item[places]
    in_chain = zip(kind[items].tolist(), (places - labels.first[items]).tolist(), strict=True)
    names = [chains[each][place] for each, place in in_chain]
    values = total[selected] if signed else np.clip(total[selected], 0.0, 1.0)
    columns = (start[items].tolist(), end[items].tolist(), values.tolist())
    return list(map(Marginal._make, zip(names, *columns, strict=True)))


def rule_uses(
    forest: Forest, marginals: Marginals, backbone: PCFG, min_marginal: float
) -> list[RuleMarginal]:
    """The uses of binary rules with at least some absolute marginal, from short to long spans.

    Parameters
    ----------
    forest, marginals
        Marginals of the edges are needed; a chart in Kruskal form has none.
    backbone
        The grammar that the forest was built with.
    min_marginal
        Minimum absolute value.
    """
    edges = np.flatnonzero(np.abs(marginals.edge) >= min_marginal)
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
