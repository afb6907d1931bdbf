"""Inside-outside with rules in Kruskal form; time does not depend on the number of rules.

With T as in `eigentree.constituency.grammar.kruskal`, inside and outside vectors of spans are sums
over split points of T applied to two vectors (Cohen, Satta and Collins 2013, figure 2):

    T(x, y)        = U (weights * V'x * W'y)
    T_(1,2)(z, x)  = W (weights * U'z * V'x)
    T_(1,3)(z, y)  = V (weights * U'z * W'y)

where * is element by element.  Each span's projections V'x, W'y and U'z are computed once, from
its sums over split points.  Each split point then costs r products, O(r N^3) in total.  Spans of
one width are independent, so projections are a few matrix products per width.

Only symbols that can be parents of rules are needed; the others occur over single words only.
The value of a sentence alone does not need even these: projections map sums to sums by
the r x r matrices U'V and U'W (section 7.1).

Forms without negative entries that fit a grammar well are mostly zeros, and are used as sparse
matrices.

The vectors of each span have their own power of two, so that nothing under- or overflows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentree._core.memory import check_chart_bytes
from eigentree.constituency.chart import _kernels_dense as kernels
from eigentree.constituency.chart._kernels_spans import first_span
from eigentree.constituency.chart.arrays import Leaves, Matrix, Permitted
from eigentree.constituency.chart.decode import group_sums
from eigentree.constituency.chart.pruning import FullMarginals
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.types import Floats, Longs

# Matrices with a larger share of nonzero entries are used in dense form.
MAX_DENSE_SHARE = 0.1


class KruskalFactors(NamedTuple):
    """A grammar's factors in the form used by charts.

    Inner states are the states of symbols other than preterminals.

    Attributes
    ----------
    child : axes (states, 2 r)
        V and W, side by side.
    to_parent, to_children : axes (r, inner states) and (inner states, 2 r)
        U', with the weights, and [V W].
    from_children, from_parent : axes (2 r, inner states) and (inner states, r)
        Their transposes.
    root : axes (states)
    powers : axes (numbers)
        2 to the power of minus the index, up to the precision of the factors.
    """

    child: Floats
    to_parent: Matrix
    to_children: Matrix
    from_children: Matrix
    from_parent: Matrix
    root: Floats
    powers: Floats

    @classmethod
    def of(cls, grammar: KruskalGrammar) -> KruskalFactors:
        """The factors of a grammar."""
        inner = grammar.n_inner_states
        parent = grammar.parent[:inner] * grammar.weights
        child = np.hstack([grammar.left, grammar.right])
        return cls(
            child,
            _matrix(parent.T),
            _matrix(child[:inner]),
            _matrix(child[:inner].T),
            _matrix(parent),
            grammar.exact.parameters.root.astype(parent.dtype),
            2.0 ** -np.arange(-kernels.LOST, dtype=parent.dtype),
        )


def _matrix(array: Floats) -> Matrix:
    """A matrix in the form used by kernels."""
    row, column = (each.astype(np.uint32) for each in np.nonzero(array))
    if len(row) > MAX_DENSE_SHARE * array.size:
        return Matrix(array.copy(), row[:0], column[:0], array[0, :0].copy())
    return Matrix(array[:0, :0].copy(), row, column, array[row, column])


class _Words(NamedTuple):
    """The vectors of the words, restricted to the states of their candidates.

    Attributes
    ----------
    state : int64, axes (states of all candidates)
        Row of the factors.
    value : axes (states of all candidates)
        Divided by one power of two per word.
    word, candidate : int64, axes (states of all candidates)
    start : int64, axes (n + 1)
        States of word i are ``start[i]:start[i+1]``.
    """

    state: Longs
    value: Floats
    word: Longs
    candidate: Longs
    start: Longs

    @classmethod
    def of(
        cls, grammar: KruskalGrammar, leaves: Leaves, exponent: Longs, kind: np.dtype[np.float64]
    ) -> _Words:
        """Compute the vectors and write the powers of two to ``exponent``."""
        exact = grammar.exact
        unseen = exact.parameters.unseen_word
        values = [
            exact.word_vector(entry) if entry >= 0 else unseen[exact.states(symbol)]
            for symbol, entry in zip(leaves.symbol.tolist(), leaves.entry.tolist(), strict=True)
        ]
        sizes = exact.n_states[leaves.symbol]
        candidate = np.repeat(np.arange(len(sizes)), sizes)
        first = np.concatenate([[0], np.cumsum(sizes)])
        state_offset = exact.parameters.state_start[leaves.symbol] - first[:-1]
        start = first[leaves.start]
        value = np.concatenate(values) * leaves.weight[candidate]
        word = np.repeat(np.arange(leaves.n_words), np.diff(start))
        largest = np.maximum.reduceat(np.abs(value), start[:-1])
        exponent[:] = np.frexp(largest)[1]
        value = np.ldexp(value, -exponent[word]).astype(kind)
        return cls(np.arange(len(value)) + state_offset[candidate], value, word, candidate, start)


def kruskal_marginals(
    grammar: KruskalGrammar,
    leaves: Leaves,
    permitted: Permitted | None = None,
    factors: KruskalFactors | None = None,
) -> FullMarginals | None:
    """Marginals of all symbols over all spans of a sentence.

    Parameters
    ----------
    grammar
        In Kruskal form.
    leaves
        Preterminals over at least one word.
    permitted
        Permitted symbols of spans of two or more words; None for all.
    factors
        `KruskalFactors.of` the grammar, if the caller has them.

    Returns
    -------
    FullMarginals or None
        None when the value of the sentence is zero or not finite.

    Raises
    ------
    MemoryError
        When the chart would exceed `eigentree._core.memory.MAX_CHART_BYTES`.

    Cost
    ----
    O(r N^3) for split points and O(r m N^2), or less where factors are sparse, for matrix
    products, with m states of parents; memory for 6 r + 2 m numbers per span.

    References
    ----------
    cohen-satta-2013, section 4.3.
    """
    f = factors or KruskalFactors.of(grammar)
    n, rank, inner_states = leaves.n_words, grammar.rank, grammar.n_inner_states
    spans, kind = first_span(n, n + 1), f.child.dtype
    check_chart_bytes(spans * (6 * rank + 2 * inner_states) * kind.itemsize)
    sums, outer = np.empty((2, spans, rank), dtype=kind)
    child, outer_sums = np.empty((2, spans, 2 * rank), dtype=kind)
    inside, outside = np.empty((2, spans, inner_states), dtype=kind)
    exponent, outer_exponent = np.zeros((2, spans), dtype=np.int64)
    words = _Words.of(grammar, leaves, exponent[:n], kind)
    n_inner = grammar.backbone.symbols.n_inner
    permitted = permitted or Permitted.everything(n, n_inner)
    of_states = permitted.of_states(grammar.n_states[:n_inner])
    kernels.sum_rows(words.start, words.state, words.value, f.child, child)
    kernels.kruskal_inside(
        n, f.powers, f.to_parent, f.to_children, child, exponent, sums, inside, of_states
    )
    root = f.root[words.state] if n == 1 else f.root[:inner_states]
    value = float(np.dot(words.value if n == 1 else inside[-1], root))
    if value == 0.0 or not math.isfinite(value):
        return None

    if n > 1:
        outside[-1] = root
        kernels.drop_forbidden(spans - 1, of_states, outside[-1:])
        kernels.multiply(outside[-1:], f.from_parent, outer[-1:])
        kernels.kruskal_outside(
            n, f.powers, f.from_children, f.from_parent, child, exponent, outer, outer_exponent,
            outer_sums, outside, of_states,
        )  # fmt: skip
        root = np.empty(len(words.state), dtype=kind)
        kernels.row_products(outer_sums, words.word, f.child, words.state, root)

    power = exponent + outer_exponent - exponent[-1]
    scale = np.exp2(power.clip(-kernels.MOST, kernels.MOST)) / value
    leaf = words.value * root * scale[words.word]
    inner = inside[n:].astype(np.float64) * outside[n:] * scale[n:, None]
    if not (np.all(np.isfinite(leaf)) and np.all(np.isfinite(inner))):
        return None
    state_start = grammar.exact.parameters.state_start
    if n_inner < inner_states:
        inner = np.add.reduceat(inner, state_start[:n_inner], axis=1)
    return FullMarginals(
        group_sums(words.candidate, leaf, len(leaves.symbol)),
        inner,
        math.log(abs(value)) + int(exponent[-1]) * math.log(2.0),
        1 if value > 0 else -1,
    )


def kruskal_value(grammar: KruskalGrammar, leaves: Leaves) -> tuple[float, int]:
    """The value of a sentence, computed with r x r matrices as in section 7.1.

    Returns
    -------
    log_value : float
        Natural logarithm of its absolute value; -inf for 0.
    sign : int
        0 for 0.

    Cost
    ----
    O(r N^3 + r^2 N^2), whatever the number of symbols; memory for 3 r numbers per span.
    """
    f, inner_states = KruskalFactors.of(grammar), grammar.n_inner_states
    n, rank, kind = leaves.n_words, grammar.rank, f.child.dtype
    parent = grammar.parent[:inner_states] * grammar.weights
    straight = _matrix(parent.T @ f.child[:inner_states])
    spans = first_span(n, n + 1)
    sums, same = np.empty((2, spans, rank), dtype=kind)
    child = np.empty((spans, 2 * rank), dtype=kind)
    exponent = np.zeros(spans, dtype=np.int64)
    words = _Words.of(grammar, leaves, exponent[:n], kind)
    kernels.sum_rows(words.start, words.state, words.value, f.child, child)
    one = _matrix(np.eye(rank, dtype=kind))
    everything = Permitted.everything(n, rank)
    kernels.kruskal_inside(n, f.powers, one, straight, child, exponent, sums, same, everything)
    if n == 1:
        value = float(words.value @ f.root[words.state])
    else:
        value = float(sums[-1] @ (f.root[:inner_states] @ parent))
    if value == 0.0:
        return -math.inf, 0
    return math.log(abs(value)) + int(exponent[-1]) * math.log(2.0), 1 if value > 0 else -1
