"""The best projective tree, by sums of arc scores or by derivations of head-automata.

One algorithm serves both: the recursions of `eigentree.dependency.chart.inside_outside` with
maxima instead of sums and sums instead of products.  With one state it is Eisner's algorithm, in
O(N^3) for N tokens; with K states it takes O(N^3 K + N^2 K^2).

*Minimum Bayes risk*: with marginals as scores, the best tree has the largest expected number of
correct arcs; with their logarithms, the largest product of marginals (Luque et al. 2012, equation
14).  Marginals of signed automata may be negative; before taking logarithms they are raised to a
floor.

*Viterbi*: the most probable derivation.  With deterministic automata a tree has one derivation, so
the result is the most probable tree.

Ties are always resolved in the same way.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from eigentree._core.shapes import check_shapes, check_types
from eigentree.dependency.chart._kernels_head_automata import best_heads
from eigentree.dependency.chart.arrays import BestHeads, SentenceAutomata
from eigentree.dependency.chart.inside_outside import check_allowed, check_sentence
from eigentree.errors import GrammarError, SettingsError
from eigentree.types import Flags, Floats, Longs

FLOOR = 1e-12
ArcObjective = Literal["sum", "product"]


class HeadTree(NamedTuple):
    """A projective tree.

    Attributes
    ----------
    heads : int64, axes (N)
        The head of each token, counted from 1; 0 is the root.
    score : float
        The value of the objective.
    """

    heads: Longs
    score: float


def arc_scores(marginals: Floats, objective: ArcObjective = "product") -> Floats:
    """Arc scores whose sum over a tree is the objective.

    Parameters
    ----------
    marginals : float64, axes (N + 1, N + 1)
        From `eigentree.dependency.chart.inside_outside.head_inside_outside`.
    objective
        ``sum`` of marginals, or ``product``: the sum of their logarithms, with marginals below
        `FLOOR` replaced by it.

    Raises
    ------
    SettingsError
        When the objective is unknown.
    """
    if objective == "sum":
        return marginals
    if objective == "product":
        return np.log(np.maximum(marginals, FLOOR))
    raise SettingsError(f"the objective is {objective!r}; it must be 'sum' or 'product'")


def best_tree(
    scores: Floats, *, multi_root: bool = False, arcs_allowed: Flags | None = None
) -> HeadTree | None:
    """The projective tree with the largest sum of arc scores.

    Parameters
    ----------
    scores : float64, axes (N + 1, N + 1): head, modifier
        Minus infinity forbids an arc.  Column 0 and the diagonal are ignored.
    multi_root
        Whether the root may have any number of modifiers; otherwise it has exactly one.
    arcs_allowed : bool, axes (N + 1, N + 1)
        All other arcs are forbidden.

    Returns
    -------
    HeadTree or None
        None when no tree is allowed.

    Raises
    ------
    ShapeError
        When the shapes of arrays do not agree.

    Cost
    ----
    O(N^3).

    References
    ----------
    eisner-2000.
    """
    size = check_shapes("best_tree", {"scores": (scores, "positions positions")})["positions"]
    check_types("best_tree", {"scores": (scores, np.float64)})
    sentence = SentenceAutomata(
        initial=np.zeros((1, 1)),
        final=np.zeros((1, 1)),
        operators=np.ascontiguousarray(scores).reshape(-1, 1, 1),
        n_states=np.ones(1, dtype=np.int64),
        automaton_of=np.zeros((size, 2), dtype=np.int64),
        operator_of=np.arange(size * size).reshape(size, size),
        block_of=np.zeros(size, dtype=np.int64),
    )
    return _best(sentence, multi_root, arcs_allowed, *check_sentence("best_tree", sentence))


def viterbi(
    sentence: SentenceAutomata, *, multi_root: bool = False, arcs_allowed: Flags | None = None
) -> HeadTree | None:
    """The tree of the most probable derivation, one path of states for each head and direction.

    Parameters
    ----------
    sentence, multi_root, arcs_allowed
        As in `eigentree.dependency.chart.inside_outside.head_inside_outside`.

    Returns
    -------
    HeadTree or None
        Its score is the natural logarithm of the derivation's value; None if no tree has a
        derivation.

    Raises
    ------
    GrammarError
        When a number is negative: signed automata have no best derivation.
    ShapeError
        When the shapes of arrays do not agree, or a number is out of range.

    Cost
    ----
    O(N^3 K + N^2 K^2); memory for 5 N^2 K numbers.
    """
    n, size = check_sentence("viterbi", sentence)
    automata, automaton_of = np.unique(sentence.automaton_of, return_inverse=True)
    operators, operator_of = np.unique(sentence.operator_of, return_inverse=True)
    used = {
        "initial": sentence.initial[automata],
        "final": sentence.final[automata],
        "operators": sentence.operators[operators],
    }
    for name, array in used.items():
        if np.any(array < 0.0):
            raise GrammarError(
                f"{name} of head-automata has a negative number; the most probable derivation "
                "requires nonnegative ones, so decode by marginals"
            )
    with np.errstate(divide="ignore"):
        logarithms = {name: np.log(array) for name, array in used.items()}
    in_logarithms = SentenceAutomata(
        **logarithms,
        n_states=sentence.n_states[automata],
        automaton_of=automaton_of.reshape(n + 1, 2),
        operator_of=operator_of.reshape(n + 1, n + 1),
        block_of=sentence.block_of,
        n_blocks=sentence.n_blocks,
    )
    return _best(in_logarithms, multi_root, arcs_allowed, n, size)


def _best(
    sentence: SentenceAutomata, multi_root: bool, arcs_allowed: Flags | None, n: int, size: int
) -> HeadTree | None:
    """The best derivation of automata whose numbers are added."""
    allowed = check_allowed("best_tree", arcs_allowed, n)
    of_halves, of_arcs = (n + 1, size, n + 2), (n + 1, size, n + 1)
    by_head, by_edge = (n + 1, n + 2), (n + 2, n + 1)
    best = BestHeads(
        half=np.full(of_halves, -np.inf),
        closed=np.full(by_head, -np.inf),
        closed_at=np.full(by_edge, -np.inf),
        arc=np.full(of_arcs, -np.inf),
        outermost=np.zeros(of_halves, dtype=np.int64),
        last_state=np.zeros(by_head, dtype=np.int64),
        meeting=np.zeros(of_arcs, dtype=np.int64),
        state_before=np.zeros(of_arcs, dtype=np.int64),
    )
    heads = np.zeros(n, dtype=np.int64)
    stack = np.empty((2 * n + 3, 3), dtype=np.int64)
    before, meeting = np.empty(size), np.zeros(size, dtype=np.int64)
    score = best_heads(sentence, allowed, multi_root, best, before, meeting, stack, heads)
    return None if score == -math.inf else HeadTree(heads, score)
