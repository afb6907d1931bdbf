"""The packed forest: all remaining derivations of a sentence.

An *item* is a symbol over a span.  A *group* is one binary rule that builds an item; its
*edges* are the pairs of a left and a right item that it joins.  Items are numbered from
short to long spans, so children always precede parents and one sweep in order is a
bottom-up pass.  Inside-outside, decoding and expectations are functions of a forest; a
single tree is a forest in which each item has one group with one edge.
"""

from __future__ import annotations

from typing import NamedTuple

from eigentree.types import Floats, Ints


class Forest(NamedTuple):
    """A packed forest as flat arrays.

    Attributes
    ----------
    item_symbol, item_start, item_end : int32, axes (items)
        Symbol and half-open span.
    item_entry : int32, axes (items)
        At preterminals the row of the grammar's word table, -1 for an unseen pair;
        -2 at inner items.
    item_weight : float64, axes (items)
        At preterminals p(word | symbol), 0 elsewhere.
    item_groups : int32, axes (items + 1)
        Groups of item i are ``item_groups[i]:item_groups[i+1]``.
    group_rule : int32, axes (groups)
    group_edges : int32, axes (groups + 1)
        Edges of group g are ``group_edges[g]:group_edges[g+1]``.
    edge_left, edge_right : int32, axes (edges)
        Child items.
    roots : int32, axes (roots)
        Items that span the sentence and may be the root.
    """

    item_symbol: Ints
    item_start: Ints
    item_end: Ints
    item_entry: Ints
    item_weight: Floats
    item_groups: Ints
    group_rule: Ints
    group_edges: Ints
    edge_left: Ints
    edge_right: Ints
    roots: Ints

    @property
    def n_items(self) -> int:
        return len(self.item_symbol)

    @property
    def n_edges(self) -> int:
        return len(self.edge_left)
