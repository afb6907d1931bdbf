"""Constraints as a filter on chart items, and the detection of conflicts.

A chart that sums over permitted items only gives the values and marginals of exactly those trees
that are built from them: conditional probabilities given the constraints, before any pruning.
Each constraint is therefore expressed as a set of forbidden items.  A forbidden span forbids the
symbols over it that contain a phrase (with that label).  A required span is expressed in the same
way, by the following fact:

    In a binary tree over the words, if no node crosses the span i..j, a node covers exactly i..j.

    Proof: take the smallest node s..e that contains i..j; the root does, so there is one.  If it
    is larger, it has children s..k and k..e, and neither contains i..j, so i < k < j.  The left
    child then overlaps i..j without being contained in it, so it crosses it unless s = i; likewise
    for the right child unless e = j.  So the node is i..j itself.

A required span thus forbids all items that cross it, whatever their symbol, and over the span
itself the symbols that contain no phrase (with that label).  The node is then a phrase after
un-binarising, since intermediate symbols, which un-binarising removes, are forbidden there.
Elsewhere they remain permitted.
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
    """The items that phrase constraints permit; tags are handled by the words' candidates.

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
    """Axes (N): which symbols contain a phrase (with this label, unless it is None)."""
    sizes = np.diff(symbols.label_start).tolist()
    return np.array(
        [
            size > 0 and (label is None or label in symbol.chain[:size])
            for symbol, size in zip(symbols.symbols, sizes, strict=True)
        ],
        dtype=np.bool_,
    )


class Settled(NamedTuple):
    """The constraints that can be satisfied and those that were dropped.

    Attributes
    ----------
    kept, given_up
        Together all constraints, each in the original order.
    conflict
        A message that names a minimal conflicting set of constraints.  None if none was dropped.
    """

    kept: Constraints
    given_up: tuple[Constraint, ...]
    conflict: str | None


def settle(
    constraints: Constraints, is_possible: Callable[[Constraints], bool], *, soft: bool
) -> Settled:
    """Find a conflict between constraints, and a subset that can be satisfied.

    Parameters
    ----------
    constraints
        Constraints that may be impossible together.
    is_possible
        Whether there is a tree that satisfies the given constraints.
    soft
        Satisfy each constraint that is compatible with those satisfied before it.  Otherwise a
        conflict drops all constraints.

    Cost
    ----
    Pairs are checked first.  Then ``is_possible`` is called once per constraint to find the
    conflict and, for ``soft``, once more per constraint to find a compatible subset.
    """
    clash = constraints.clash()
    if clash is None and is_possible(constraints):
        return Settled(constraints, (), None)
    if clash is not None:
        (one, other), why = clash
        conflict = f"{one} and {other} {why}"
    else:
        conflict = _conflict_message(_smallest(constraints, is_possible))
    satisfied: list[Constraint] = []
    for each in constraints.each if soft else ():
        more = Constraints((*satisfied, each))
        if more.clash() is None and is_possible(more):
            satisfied.append(each)
    given_up = tuple(each for each in constraints.each if each not in satisfied)
    return Settled(Constraints(tuple(satisfied)), given_up, conflict)


def _smallest(
    constraints: Constraints, is_possible: Callable[[Constraints], bool]
) -> tuple[Constraint, ...]:
    """A minimal set of constraints that are impossible together."""
    needed = list(constraints.each)
    for each in reversed(constraints.each):
        others = tuple(other for other in needed if other is not each)
        if not is_possible(Constraints(others)):
            needed = list(others)
    return tuple(needed)


def _conflict_message(conflict: tuple[Constraint, ...]) -> str:
    if not conflict:
        return "the grammar has no tree for the sentence, with constraints or without"
    if len(conflict) == 1:
        return f"the grammar has no tree with {conflict[0]}"
    first = ", ".join(map(str, conflict[:-1]))
    many = counted(len(conflict), "constraint")
    return f"the grammar has no tree with these {many} together: {first} and {conflict[-1]}"
