"""Sequences as trees of their distinct prefixes.

The forward vector of an automaton after some symbols is the same in each sequence that begins with
them, and backward vectors of sequences add up.  So a prefix needs one node, however many sequences
have it.  Tag sequences, many of which are equal or begin alike, need several times fewer nodes than
symbols.  Each automaton has a tree of its own, so many are learned at once.
"""

from __future__ import annotations

import numpy as np

from eigentree.automata.arrays import PrefixTree
from eigentree.automata.sequences import Sequences
from eigentree.types import Longs

# Parts into which nodes and operators are divided for threads.
N_PARTS = 64


def build_prefix_tree(sequences: Sequences, automaton: Longs, n_automata: int) -> PrefixTree:
    """The prefix trees of the sequences of some automata.

    Parameters
    ----------
    sequences
        Of all automata.
    automaton : int64, axes (sequences)
        The automaton of each sequence, below ``n_automata``.
    n_automata
        Number of automata, some of which may have no sequence.

    Cost
    ----
    O(T log T) for T symbols in all, in as many steps as the longest sequence has symbols.
    """
    n_symbols = max(1, len(sequences.symbols))
    # The longest sequences come first, so those that continue are always the first ones.
    order = np.argsort(-sequences.length, kind="stable")
    length, start = sequences.length[order], sequences.start[:-1][order]
    node = automaton[order].astype(np.int64)
    roots = np.arange(n_automata)
    levels = [(roots, roots, np.zeros_like(roots))]
    through = [np.bincount(node, minlength=n_automata)]
    subtrees = [roots]
    n_nodes, depth = n_automata, 0
    while n_going := int(np.searchsorted(-length, -depth)):
        symbol = sequences.symbol[start[:n_going] + depth]
        keys, at, number = np.unique(
            node[:n_going] * n_symbols + symbol, return_inverse=True, return_counts=True
        )
        parent, last = keys // n_symbols, keys % n_symbols
        above, first_above, _ = levels[-1]
        inside = parent - (n_nodes - len(above))
        levels.append((parent, first_above[inside], last))
        subtrees.append(np.arange(len(keys)) if depth == 0 else subtrees[-1][inside])
        through.append(number)
        node[:n_going] = n_nodes + at
        n_nodes, depth = n_nodes + len(keys), depth + 1

    parent, owner, last = (np.concatenate(column) for column in zip(*levels, strict=True))
    # Stable, so shorter prefixes stay before longer ones.
    subtree = np.concatenate(subtrees[1:]) if depth else roots[:0]
    order = np.concatenate([roots, n_automata + np.argsort(subtree, kind="stable")])
    place = np.empty_like(order)
    place[order] = np.arange(n_nodes)
    owner = owner[order]
    keys, row = np.unique((owner * n_symbols + last[order])[n_automata:], return_inverse=True)
    by_row = np.argsort(row, kind="stable")
    parent = place[parent[order]]
    below_roots = n_automata + np.flatnonzero(parent[n_automata:] < n_automata)
    borders = np.append(below_roots, n_nodes)
    targets = n_automata + np.arange(N_PARTS + 1) * (n_nodes - n_automata) // N_PARTS
    return PrefixTree(
        parent,
        owner,
        np.concatenate([np.zeros(n_automata, dtype=np.int64), row]),
        np.bincount(place[node], minlength=n_nodes).astype(np.float64),
        np.concatenate(through)[order].astype(np.float64),
        below_roots,
        borders[np.searchsorted(borders, targets)],
        keys // n_symbols,
        keys % n_symbols,
        np.searchsorted(row[by_row], np.arange(len(keys) + 1)),
        by_row + n_automata,
    )
