"""Inside-outside over split head-automata: marginals of arcs.

Tokens are 1 .. N, and 0 is the root.  The automaton of head h in a direction has the vectors
initial and final and an operator for each modifier; modifiers are read from the head outwards.
The *half* of h that ends at edge e covers tokens h .. e - 1 (to the right, e > h) or e .. h (to
the left, e <= h).  With states of the automaton on vectors,

    half[h, e]    = initial                                    if no other token is covered
    arc[h, m]     = operator_m (sum over e of half[h, e] closed[m, e])                     (1)
    half[h, e]    = sum over m of arc[h, m] closed[m, e]                                   (2)
    closed[h, e]  = final . half[h, e]

where in (1) the halves of h and of its modifier m meet at any edge e between them, and in (2) m is
the outermost modifier of h, whose own outer half ends at e.  The formulas are the same for both
directions.  Summing vectors before applying an operator costs O(N^3 K + N^2 K^2) for K states.

With a single root, the value of the sentence is

    Z = sum over m of (final . operator_m initial of the root) closed[m, 1] closed[m, N + 1],

otherwise it is closed[0, N + 1].  The marginal of an arc is arc[h, m] times the derivative of Z
with respect to it, divided by Z; derivatives follow (1) and (2) backwards.  All of this holds for
numbers of either sign, so operators may be spectral; Z and marginals may then be negative, and
marginals above 1.

Each cell has its own power of 2^256, so that neither long sentences nor the scale of
operators cause under- or overflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentree._core.shapes import check_shapes, check_types
from eigentree.dependency.chart._kernels_head_automata import STEP, ZERO, head_marginals
from eigentree.dependency.chart.arrays import HeadChart, HeadOutside, SentenceAutomata
from eigentree.dependency.head_automata import LEFT, RIGHT, HeadAutomata
from eigentree.errors import ShapeError
from eigentree.types import Flags, Floats, Longs


class HeadMarginals(NamedTuple):
    """Marginals of the arcs of a sentence.

    Attributes
    ----------
    marginals : float64, axes (N + 1, N + 1): head, modifier
        They sum to 1 over the heads of a token.  With probability automata each is a probability;
        with signed automata they are not corrected.
    log_value : float
        Natural logarithm of the absolute value of the sentence.
    sign : int
    n_negative : int
        Number of marginals below 0.
    """

    marginals: Floats
    log_value: float
    sign: int
    n_negative: int


def of_sentence(automata: HeadAutomata, symbols: Longs) -> SentenceAutomata:
    """The automata of the heads of a sentence.

    Parameters
    ----------
    symbols : int64, axes (N)
        Number of each token's symbol.

    Raises
    ------
    ShapeError
        When a number is not that of a symbol.

    Cost
    ----
    O(N^2): the numbers of the automata are not copied.
    """
    n_symbols = len(automata.symbols)
    for number in (symbols.min(initial=0), symbols.max(initial=0)):
        if not 0 <= number < max(n_symbols, 1):
            raise ShapeError(
                f"a token has the symbol number {number}; there are {n_symbols} symbols"
            )
    heads = np.concatenate(([n_symbols], symbols)).astype(np.int64)
    position = np.arange(len(heads))
    automaton_of = 2 * heads[:, None] + np.array([LEFT, RIGHT])
    direction = np.where(position[None, :] > position[:, None], RIGHT, LEFT)
    # The root modifies nothing; its column is never read.
    modifiers = np.concatenate(([0], symbols)).astype(np.int64)
    operator_of = (2 * heads[:, None] + direction) * n_symbols + modifiers[None, :]
    size = automata.initial.shape[1]
    return SentenceAutomata(
        automata.initial,
        automata.final,
        automata.operators.reshape(-1, size, size),
        automata.n_states,
        automaton_of,
        operator_of,
        np.zeros(len(heads), dtype=np.int64),
    )


def check_sentence(where: str, sentence: SentenceAutomata) -> tuple[int, int]:
    """The number of tokens of a sentence and the largest number of states.

    Raises
    ------
    ShapeError
        When the shapes of arrays do not agree, or a number is out of range.
    """
    axes = {
        "initial": "A K",
        "final": "A K",
        "operators": "O to K",
        "n_states": "A",
        "automaton_of": "positions directions",
        "operator_of": "positions positions",
        "block_of": "positions",
    }
    arrays = {name: (getattr(sentence, name), letters) for name, letters in axes.items()}
    size = check_shapes(where, arrays, directions=2)
    for name, (array, _) in arrays.items():
        is_number = name in ("initial", "final", "operators")
        check_types(where, {name: (array, np.float64 if is_number else np.int64)})
    if size["to"] * sentence.n_blocks != size["K"] or np.any(sentence.n_states % sentence.n_blocks):
        raise ShapeError(
            f"{where}: states do not form {sentence.n_blocks} equal blocks: operators have "
            f"{size['to']} rows and {size['K']} columns"
        )
    limits = {
        "n_states": size["K"] + 1,
        "automaton_of": size["A"],
        "operator_of": size["O"],
        "block_of": sentence.n_blocks,
    }
    for name, limit in limits.items():
        array = getattr(sentence, name)
        if array.min(initial=0) < 0 or array.max(initial=0) >= limit:
            raise ShapeError(f"{where}: {name} has a number outside 0..{limit - 1}")
    if not size["positions"]:
        raise ShapeError(f"{where}: there is no position for the root")
    return size["positions"] - 1, size["K"]


def check_allowed(where: str, arcs_allowed: Flags | None, n: int) -> Flags:
    """The allowed arcs, axes (N + 1, N + 1); all of them for None."""
    if arcs_allowed is None:
        return np.ones((n + 1, n + 1), dtype=np.bool_)
    check_shapes(where, {"arcs_allowed": (arcs_allowed, "positions positions")}, positions=n + 1)
    check_types(where, {"arcs_allowed": (arcs_allowed, np.bool_)})
    return arcs_allowed


@np.errstate(over="ignore", invalid="ignore")  # such a sentence has no marginals
def head_inside_outside(
    sentence: SentenceAutomata, *, multi_root: bool = False, arcs_allowed: Flags | None = None
) -> HeadMarginals | None:
    """Marginals of all arcs of a sentence, over its projective trees.

    Parameters
    ----------
    sentence
        From `of_sentence`, or arrays of the same form with an operator for each pair of positions.
    multi_root
        Whether the root may have any number of modifiers, weighted by its automaton; otherwise
        it has exactly one.
    arcs_allowed : bool, axes (N + 1, N + 1): head, modifier
        Trees with other arcs are excluded.  A token whose column has one arc must have it.

    Returns
    -------
    HeadMarginals or None
        None when the value of the sentence is zero or not finite.

    Raises
    ------
    ShapeError
        When the shapes of arrays do not agree, or a number is out of range.

    Cost
    ----
    O(N^3 K + N^2 K^2); memory for 4 N^2 K numbers.

    References
    ----------
    eisner-2000; luque-2012, section 4.
    """
    n, size = check_sentence("head_inside_outside", sentence)
    allowed = check_allowed("head_inside_outside", arcs_allowed, n)
    of_halves, of_arcs = (n + 1, size, n + 2), (n + 1, size, n + 1)
    by_head, by_edge = (n + 1, n + 2), (n + 2, n + 1)
    chart = HeadChart(
        half=np.zeros(of_halves),
        half_exponent=np.full(by_head, ZERO),
        closed=np.zeros(by_head),
        closed_at=np.zeros(by_edge),
        closed_exponent=np.full(by_head, ZERO),
        closed_exponent_at=np.full(by_edge, ZERO),
        arc=np.zeros(of_arcs),
        arc_exponent=np.full((n + 1, n + 1), ZERO),
    )
    outside = HeadOutside(
        half=np.zeros(of_halves),
        closed=np.zeros(by_head),
        closed_at=np.zeros(by_edge),
        arc=np.zeros(of_arcs),
    )
    marginals = np.zeros((n + 1, n + 1))
    scale, before, after = np.empty(n + 2), np.empty(size), np.empty(size)
    value, exponent = head_marginals(
        sentence, allowed, multi_root, chart, outside, scale, before, after, marginals
    )
    if value == 0.0 or not math.isfinite(value) or not np.all(np.isfinite(marginals)):
        return None
    return HeadMarginals(
        marginals,
        math.log(abs(value)) - exponent * math.log(STEP),
        1 if value > 0.0 else -1,
        int(np.count_nonzero(marginals < 0.0)),
    )
