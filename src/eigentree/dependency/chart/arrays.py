"""Records of arrays of the charts of dependency trees."""

from __future__ import annotations

from typing import NamedTuple

from eigentree.types import Floats2, Floats3, Longs, Longs2, Longs3


class SentenceAutomata(NamedTuple):
    """The automata of the heads of one sentence, as arrays.

    Position 0 is the root, positions 1 .. N are the tokens.  Automata with fewer states than K
    are padded; the padding is never read.

    Attributes
    ----------
    initial, final : float64, axes (A, K)
    operators : float64, axes (O, K / B, K)
        ``operators[o, i, j]``: to state i of the modifier's block from state j.  States of all
        other blocks are not reached.
    n_states : int64, axes (A)
    automaton_of : int64, axes (N + 1, 2)
        Numbers of a head's automata to the left and to the right.
    operator_of : int64, axes (N + 1, N + 1)
        Number of the operator with which the automaton of a head reads a modifier.
    block_of : int64, axes (N + 1)
        The block of states that are reached by reading each modifier.
    n_blocks : int
        B: the states of each automaton are divided into so many blocks of equal size.
    """

    initial: Floats2
    final: Floats2
    operators: Floats3
    n_states: Longs
    automaton_of: Longs2
    operator_of: Longs2
    block_of: Longs
    n_blocks: int = 1


class HeadChart(NamedTuple):
    """Cells of all halves, and of all arcs with the tokens between their ends.

    Attributes
    ----------
    half : float64, axes (N + 1, K, N + 2): head, state, edge
    half_exponent : int64, axes (N + 1, N + 2)
    closed, closed_at : float64, axes (N + 1, N + 2) and (N + 2, N + 1)
        Stopped halves, by head and edge, and transposed.
    closed_exponent, closed_exponent_at : int64, with the same axes
    arc : float64, axes (N + 1, K, N + 1): head, state, modifier
    arc_exponent : int64, axes (N + 1, N + 1)
    """

    half: Floats3
    half_exponent: Longs2
    closed: Floats2
    closed_at: Floats2
    closed_exponent: Longs2
    closed_exponent_at: Longs2
    arc: Floats3
    arc_exponent: Longs2


class HeadOutside(NamedTuple):
    """Derivatives with respect to the numbers of a chart, divided by the value of the sentence.

    Those for closed halves are the sum of two parts, accumulated in either order of axes.
    """

    half: Floats3
    closed: Floats2
    closed_at: Floats2
    arc: Floats3


class BestHeads(NamedTuple):
    """The best of all halves and arcs, by sums, and the choices that led to them.

    Attributes
    ----------
    half : float64, axes (N + 1, K, N + 2): head, state, edge
    closed, closed_at : float64, axes (N + 1, N + 2) and (N + 2, N + 1)
    arc : float64, axes (N + 1, K, N + 1): head, state, modifier
    outermost : int64, axes of ``half``
        The outermost modifier.
    last_state : int64, axes of ``closed``
        The state before the stop.
    meeting, state_before : int64, axes of ``arc``
        The edge between the halves of head and modifier, and the state of the former.
    """

    half: Floats3
    closed: Floats2
    closed_at: Floats2
    arc: Floats3
    outermost: Longs3
    last_state: Longs2
    meeting: Longs3
    state_before: Longs3
