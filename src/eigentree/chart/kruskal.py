"""Inside-outside with rules in Kruskal form: time does not depend on their number.

With T as in `eigentree.grammar.kruskal`, inside and outside vectors of spans are sums over
split points of T applied to two vectors (Cohen, Satta and Collins 2013, figure 2):

    T(x, y)        = U (weights * V'x * W'y)
    T_(1,2)(z, x)  = W (weights * U'z * V'x)
    T_(1,3)(z, y)  = V (weights * U'z * W'y)

where * is element by element.  Each span's projections V'x, W'y and U'z are made once, when
its vector is known, and U, V and W are taken after the sum over split points.  What is left for
a split point are r products, O(r N^3), and for a span products with U, V and W.  Spans of one
width are independent, so these are products of matrices, one of each kind a width.

Of the symbols only those matter that rules may have as parents: the others stand over single
words.  For the value of a sentence alone not even these do: projections go from sum to sum by
the r x r matrices U'V and U'W (section 7.1).

Vectors of each span have a power of two of their own, so that nothing under- or overflows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentree.chart import _kernels_full as kernels
from eigentree.chart.decode import group_sums
from eigentree.chart.forest import Floats, Longs
from eigentree.chart.pruning import Leaves, Pruned, kept
from eigentree.grammar.kruskal import KruskalGrammar


class Factors(NamedTuple):
    """A grammar's factors as charts multiply with them.

    Attributes
    ----------
    parent : axes (inner states, r)
        U, times the weights; inner states are those of symbols that are no preterminals.
    left, right : axes (states, r)
        V and W.
    inner_left, inner_right : axes (inner states, r)
        Their rows of inner states.
    root : axes (states)
    """

    parent: Floats
    left: Floats
    right: Floats
    inner_left: Floats
    inner_right: Floats
    root: Floats

    @classmethod
    def of(cls, grammar: KruskalGrammar) -> Factors:
        """The factors of a grammar."""
        inner = grammar.n_inner_states
        return cls(
            grammar.parent[:inner] * grammar.weights,
            grammar.left,
            grammar.right,
            grammar.left[:inner],
            grammar.right[:inner],
            grammar.exact.parameters.root.astype(grammar.weights.dtype),
        )


class KruskalMarginals(NamedTuple):
    """Marginals of a sentence under a grammar in Kruskal form.

    They are estimates: the form gives some value to trees that no rule allows, and where it has
    negative entries, marginals may be negative or exceed 1.

    Attributes
    ----------
    leaf : float64, axes (candidates)
        Of each candidate of each word, as `Leaves` has them.
    inner : float64, axes (spans, inner symbols)
        Of each symbol that is no preterminal over each span of two words or more, spans by
        width, then by start.
    log_value : float
        Natural logarithm of the absolute value of the sentence.
    sign : int
    """

    leaf: Floats
    inner: Floats
    log_value: float
    sign: int


def kruskal_marginals(
    grammar: KruskalGrammar, leaves: Leaves, factors: Factors | None = None
) -> KruskalMarginals | None:
    """Marginals of all symbols over all spans of a sentence.

    Parameters
    ----------
    grammar
        In Kruskal form.
    leaves
        Preterminals over at least one word.
    factors
        `Factors.of` the grammar, where the caller keeps them.

    Returns
    -------
    KruskalMarginals or None
        None when the value of the sentence is zero or not finite.

    Cost
    ----
    O(r N^3) for split points and O(r m N^2) for products of matrices, with m states of parents;
    memory for 3 r + 2 m numbers a span.

    References
    ----------
    cohen-satta-2013, section 4.3.
    """
    f = factors or Factors.of(grammar)
    n, rank, kind = leaves.n_words, f.parent.shape[1], f.parent.dtype
    starts = [kernels.first(n, width) for width in range(1, n + 2)]
    left, right, outer = np.empty((3, starts[n], rank), dtype=kind)
    exponent, outer_exponent = np.zeros((2, starts[n]), dtype=np.int64)
    # Of spans of two words or more; single words have other symbols.
    inside, outside = np.zeros((2, starts[n] - n, len(f.parent)), dtype=kind)

    words = _Words.of(grammar, leaves, exponent[:n], f)
    left[:n], right[:n] = words.summed(f.left), words.summed(f.right)
    for width in range(2, n + 1):
        here = slice(starts[width - 1], starts[width])
        sums = np.empty((n + 1 - width, rank), dtype=kind)
        kernels.inside_sums(n, width, left, right, exponent, sums)
        vectors = sums @ f.parent.T
        kernels.scale_rows(vectors, exponent[here])
        inside[here.start - n : here.stop - n] = vectors
        left[here], right[here] = vectors @ f.inner_left, vectors @ f.inner_right

    root = f.root[words.state] if n == 1 else f.root[: len(f.parent)]
    value = float(np.dot(words.value if n == 1 else inside[-1], root))
    if value == 0.0 or not math.isfinite(value):
        return None

    if n > 1:
        outside[-1] = root
        outer[-1] = root @ f.parent
    for width in range(n - 1, 0, -1):
        here = slice(starts[width - 1], starts[width])
        as_left, as_right = np.empty((2, n + 1 - width, rank), dtype=kind)
        kernels.outside_sums(
            n, width, left, right, exponent, outer, outer_exponent, as_left, as_right
        )
        if width > 1:
            vectors = as_left @ f.inner_left.T + as_right @ f.inner_right.T
            kernels.scale_rows(vectors, outer_exponent[here])
            outside[here.start - n : here.stop - n] = vectors
            outer[here] = vectors @ f.parent
        else:
            root = np.sum(as_left[words.word] * f.left[words.state], axis=1)
            root += np.sum(as_right[words.word] * f.right[words.state], axis=1)

    power = (exponent + outer_exponent - exponent[-1]).clip(-kernels.MOST, kernels.MOST)
    leaf = np.ldexp(words.value.astype(np.float64) * root, power[words.word]) / value
    inner = np.ldexp(inside.astype(np.float64) * outside, power[n:, None]) / value
    if not (np.all(np.isfinite(leaf)) and np.all(np.isfinite(inner))):
        return None
    state_start = grammar.exact.parameters.state_start
    first_states = state_start[: np.searchsorted(state_start, len(f.parent))]
    return KruskalMarginals(
        group_sums(words.candidate, leaf, len(leaves.symbol)),
        np.add.reduceat(inner, first_states, axis=1),
        math.log(abs(value)) + int(exponent[-1]) * math.log(2.0),
        1 if value > 0 else -1,
    )


def kruskal_prune(
    grammar: KruskalGrammar, leaves: Leaves, threshold: float, factors: Factors | None = None
) -> Pruned | None:
    """The packed forest of a sentence, with marginals in Kruskal form.

    Of the trees only those are kept that the rules of the backbone allow, so that a decoded tree
    is one of them.

    Parameters
    ----------
    grammar, leaves, factors
        As of `kruskal_marginals`.
    threshold
        Least absolute marginal of an item; those of 0 always go.

    Returns
    -------
    Pruned or None
        None when there are no marginals.  Its forest may hold no tree.
    """
    marginals = kruskal_marginals(grammar, leaves, factors)
    if marginals is None:
        return None
    return kept(grammar.backbone, leaves, threshold=threshold, **marginals._asdict())


class _Words(NamedTuple):
    """The vectors of the words, only the states of their candidates.

    Attributes
    ----------
    state : int64, axes (states of all candidates)
        Row of the factors.
    value : axes (states of all candidates)
        Divided by a power of two for each word.
    word, candidate : int64, axes (states of all candidates)
    start : int64, axes (n)
        Where the states of each word begin.
    """

    state: Longs
    value: Floats
    word: Longs
    candidate: Longs
    start: Longs

    @classmethod
    def of(
        cls, grammar: KruskalGrammar, leaves: Leaves, exponent: Longs, factors: Factors
    ) -> _Words:
        """Make the vectors, and write the powers of two to ``exponent``."""
        exact = grammar.exact
        unseen = exact.parameters.unseen_word
        states, values = [], []
        for symbol, entry, weight in zip(
            leaves.symbol.tolist(), leaves.entry.tolist(), leaves.weight.tolist(), strict=True
        ):
            own = exact.states(symbol)
            values.append(weight * (exact.word_vector(entry) if entry >= 0 else unseen[own]))
            states.append(np.arange(own.start, own.stop))
        sizes = np.array([len(each) for each in states])
        start = np.concatenate([[0], np.cumsum(sizes)])[leaves.start]
        value = np.concatenate(values)
        word = np.repeat(np.arange(leaves.n_words), np.diff(start))
        largest = np.maximum.reduceat(np.abs(value), start[:-1])
        exponent[:] = np.frexp(largest)[1]
        value = np.ldexp(value, -exponent[word]).astype(factors.parent.dtype)
        candidate = np.repeat(np.arange(len(sizes)), sizes)
        return cls(np.concatenate(states), value, word, candidate, start[:-1])

    def summed(self, factor: Floats) -> Floats:
        """Axes (n, r): each word's vector times a factor."""
        return np.add.reduceat(self.value[:, None] * factor[self.state], self.start, axis=0)


def kruskal_value(grammar: KruskalGrammar, leaves: Leaves) -> tuple[float, int]:
    """The value of a sentence by r x r matrices, as in section 7.1.

    Returns
    -------
    log_value : float
        Natural logarithm of its absolute value; -inf for 0.
    sign : int
        0 for 0.

    Cost
    ----
    O(r N^3 + r^2 N^2), whatever the number of symbols; memory for 2 r numbers a span.
    """
    f = Factors.of(grammar)
    n, rank = leaves.n_words, f.parent.shape[1]
    spans = kernels.first(n, n + 1)
    left, right = np.empty((2, spans, rank))
    exponent = np.zeros(spans, dtype=np.int64)
    words = _Words.of(grammar, leaves, exponent[:n], f)
    if n == 1:
        value = float(words.value @ f.root[words.state])
    else:
        left[:n], right[:n] = words.summed(f.left), words.summed(f.right)
        to_left, to_right = f.parent.T @ f.inner_left, f.parent.T @ f.inner_right
        for width in range(2, n + 1):
            here = slice(kernels.first(n, width), kernels.first(n, width + 1))
            sums = np.empty((n + 1 - width, rank))
            kernels.inside_sums(n, width, left, right, exponent, sums)
            kernels.scale_rows(sums, exponent[here])
            left[here], right[here] = sums @ to_left, sums @ to_right
        value = float(sums[0] @ (f.root[: len(f.parent)] @ f.parent))
    if value == 0.0:
        return -math.inf, 0
    return math.log(abs(value)) + int(exponent[-1]) * math.log(2.0), 1 if value > 0 else -1
