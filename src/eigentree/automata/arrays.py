"""Records of arrays that the kernels and the modules of automata share."""

from __future__ import annotations

from typing import NamedTuple

from eigentree.types import Floats, Floats2, Floats3, Longs


class PrefixTree(NamedTuple):
    """The prefixes of sequences, with a tree for each automaton.

    The roots, which are the empty prefixes, come first.  The other prefixes are sorted by automaton
    and first symbol, and within that the shorter ones come first.

    Attributes
    ----------
    parent : int64, axes (nodes)
        The prefix without its last symbol; itself for a root.
    automaton : int64, axes (nodes)
    row : int64, axes (nodes)
        The operator of the last symbol, in a table of those that occur; 0 at roots.
    ends : float64, axes (nodes)
        Number of sequences that equal this prefix.
    through : float64, axes (nodes)
        Number of sequences that begin with this prefix.
    below_roots : int64
        The prefixes of length 1.
    block : int64, axes (`N_PARTS` + 1)
        Borders of parts of the nodes other than roots; a parent is in the part of its child.
    row_automaton, row_symbol : int64, axes (rows)
        Automaton and symbol of each operator; sorted.
    row_start : int64, axes (rows + 1)
    by_row : int64, axes (nodes without roots)
        The nodes of operator r, at ``row_start[r]:row_start[r + 1]``.
    """

    parent: Longs
    automaton: Longs
    row: Longs
    ends: Floats
    through: Floats
    below_roots: Longs
    block: Longs
    row_automaton: Longs
    row_symbol: Longs
    row_start: Longs
    by_row: Longs


class Automata(NamedTuple):
    """Parameters of automata; the numbers of unused states are zero.

    Attributes
    ----------
    initial : float64, axes (automata, n)
    final : float64, axes (automata, n)
    operators : float64, axes (rows of the prefix tree, n, n)
    """

    initial: Floats2
    final: Floats2
    operators: Floats3


class AutomataCounts(NamedTuple):
    """Expected counts, in the shape of `Automata`."""

    initial: Floats
    final: Floats
    operators: Floats
