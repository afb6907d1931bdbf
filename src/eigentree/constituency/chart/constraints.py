"""Constraints as a filter on the items of a chart, and what to do when they conflict.

A chart whose sums run over permitted items alone gives the values and marginals of exactly those
trees that are made of them: conditional probabilities, given the constraints, before any pruning.
So a constraint has to be said as a set of items that are not permitted.  A forbidden span is one:
the symbols over it that hold a phrase (with that label) must not stand there.  A required span is
one too, though it demands an item:

    In a binary tree over the words, if no node crosses the span i..j, a node covers just it.

    Proof: take the smallest node s..e that holds i..j; the root does, so there is one.  If it is
    larger, it has children s..k and k..e, and neither holds i..j, so i < k < j.  The left child
    then overlaps i..j without being held by it, so it crosses it unless s = i; the right one
    likewise unless e = j.  So the node is i..j itself.

So a span is required by forbidding all items that cross it, of whatever symbol, and over the span
itself those symbols that hold no phrase (with that label).  The node is then a phrase after
un-binarising: the intermediate symbols, which vanish, are forbidden there.  Elsewhere they stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.chart._kernels_spans import span_number
from eigentree.constituency.chart.arrays import CLOSED, Permitted
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import counted
from eigentree.treebank.constraints import Constraint, Constraints
from eigentree.types import Flags


def permitted_by(constraints: Constraints, symbols: SymbolTable, n_words: int) -> Permitted:
    """What constraints on phrases permit; tags are handled by the words' candidates.

    Parameters
    ----------
    constraints
        Required and forbidden spans, half-open.
    symbols
        Symbols of the grammar.
    n_words
        Length of the sentence.

    Cost
    ----
    O(spans + symbols) for each constraint.
    """
    widths = np.repeat(np.arange(1, n_words + 1), np.arange(n_words, 0, -1))
    start = np.concatenate([np.arange(count) for count in range(n_words, 0, -1)])
    end = start + widths
    row, everything = Permitted.everything(n_words, len(symbols))
    at_span: dict[int, Flags] = {}
    closed = np.zeros(len(row), dtype=np.bool_)
    for kind, i, j, label in constraints.spans:
        holds = _holders(symbols, label)
        here = at_span.setdefault(span_number(n_words, i, j - i), everything[0].copy())
        here &= holds if kind == "required" else ~holds
        if kind == "required":
            closed |= (start < i) & (i < end) & (end < j)
            closed |= (i < start) & (start < j) & (j < end)
    row[list(at_span)] = np.arange(1, len(at_span) + 1)
    row[closed] = CLOSED
    return Permitted(row, np.stack([everything[0], *at_span.values()]))


def _holders(symbols: SymbolTable, label: str | None) -> NDArray[np.bool_]:
    """Axes (N): which symbols hold a phrase, with this label if there is one."""
    sizes = np.diff(symbols.label_start).tolist()
    return np.array(
        [
            size > 0 and (label is None or label in symbol.chain[:size])
            for symbol, size in zip(symbols.symbols, sizes, strict=True)
        ],
        dtype=np.bool_,
    )


class Settled(NamedTuple):
    """Which constraints can be kept.

    Attributes
    ----------
    kept, given_up
        All of them, in their order.
    conflict
        Why not all can be, in words; it names a set of which none can be left out.  None where
        nothing had to be given up.
    """

    kept: Constraints
    given_up: tuple[Constraint, ...]
    conflict: str | None


def settle(
    constraints: Constraints, is_possible: Callable[[Constraints], bool], *, soft: bool
) -> Settled:
    """Find out what keeps constraints from being kept, and which can.

    Parameters
    ----------
    constraints
        Not all of which may be possible together.
    is_possible
        Whether there is a tree that keeps some of them.
    soft
        Keep each constraint that is possible together with those before it that are kept.
        Otherwise all are given up where some conflict.

    Cost
    ----
    Pairs are looked at first.  Then ``is_possible`` is asked once for each constraint to find the
    conflict, and, for ``soft``, once more to find what can be kept.
    """
    clash = constraints.clash()
    if clash is None and is_possible(constraints):
        return Settled(constraints, (), None)
    if clash is not None:
        (one, other), why = clash
        conflict = f"{one} and {other} {why}"
    else:
        conflict = _told(_smallest(constraints, is_possible))
    kept: list[Constraint] = []
    for each in constraints.each if soft else ():
        more = Constraints((*kept, each))
        if more.clash() is None and is_possible(more):
            kept.append(each)
    given_up = tuple(each for each in constraints.each if each not in kept)
    return Settled(Constraints(tuple(kept)), given_up, conflict)


def _smallest(
    constraints: Constraints, is_possible: Callable[[Constraints], bool]
) -> tuple[Constraint, ...]:
    """Constraints that are impossible together, while any is left out that can be."""
    needed = list(constraints.each)
    for each in reversed(constraints.each):
        others = tuple(other for other in needed if other is not each)
        if not is_possible(Constraints(others)):
            needed = list(others)
    return tuple(needed)


def _told(conflict: tuple[Constraint, ...]) -> str:
    if not conflict:
        return "the grammar has no tree for the sentence, with constraints or without"
    if len(conflict) == 1:
        return f"the grammar has no tree with {conflict[0]}"
    first = ", ".join(map(str, conflict[:-1]))
    many = counted(len(conflict), "constraint")
    return f"the grammar has no tree with these {many} together: {first} and {conflict[-1]}"
