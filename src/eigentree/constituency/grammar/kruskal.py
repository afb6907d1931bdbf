"""Grammars whose binary rules are one tensor in Kruskal form.

All binary rules of a grammar form one tensor: T[a, b, c] = p(b c | a), or with latent
states the same over pairs of symbol and state.  In Kruskal form of rank r,

    T[a, b, c] = sum over s of weights[s] parent[a, s] left[b, s] right[c, s],         (1)

it is applied to vectors without iterating over rules (`eigentree.constituency.chart.kruskal`).
(1) is usually an approximation: trees that no rule allows also get some value, and a few values may
be negative.  Words, roots, and the rules of decoded trees remain those of the grammar
that was decomposed (Cohen, Satta and Collins 2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.shapes import check_shapes, check_types
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.errors import GrammarError, SettingsError
from eigentree.linalg.multilinear import Kruskal, SparseTensor
from eigentree.types import Floats

# Larger rule tensors are rejected: factors would take hours, and too much memory.
MAX_ENTRIES = 50_000_000
# Products of a few numbers up to this size are finite in single precision.
LARGEST_ENTRY = 1e9
# The exponential of this is close to the largest number.
LARGEST_POWER = 700.0


@dataclass(frozen=True)
class KruskalGrammar:
    """A grammar with its rules in Kruskal form.

    Attributes
    ----------
    exact
        The grammar that was decomposed.
    weights : float64 or float32, axes (r)
        In the precision used by charts.
    parent, left, right : of the same precision, axes (states of all symbols, r)
        U, V and W of the paper.  Rows of ``parent`` at preterminals are 0.
    """

    exact: LPCFG
    weights: Floats
    parent: Floats
    left: Floats
    right: Floats

    def __post_init__(self) -> None:
        arrays = {name: getattr(self, name) for name in ("weights", "parent", "left", "right")}
        kind = np.float32 if self.weights.dtype == np.float32 else np.float64
        check_types("KruskalGrammar", {name: (array, kind) for name, array in arrays.items()})
        check_shapes(
            "KruskalGrammar",
            {
                name: (array, "r" if array.ndim == 1 else "states r")
                for name, array in arrays.items()
            },
            states=len(self.exact.parameters.root),
        )
        if not len(self.weights):
            raise GrammarError("a Kruskal form has no components; it must have at least one")
        for name, array in arrays.items():
            if not np.all(np.isfinite(array)):
                raise GrammarError(f"{name} of a Kruskal form has a value that is not finite")
            if (largest := float(np.abs(array).max(initial=0.0))) > LARGEST_ENTRY:
                raise GrammarError(
                    f"{name} of a Kruskal form has a value of size {largest:.3g}; the maximum is "
                    f"{LARGEST_ENTRY:.0e}"
                )
        if np.any(self.parent[self.n_inner_states :] != 0.0):
            raise GrammarError("a preterminal is the parent of a binary rule in Kruskal form")

    @classmethod
    def of(cls, exact: LPCFG, form: Kruskal, *, single: bool = False) -> KruskalGrammar:
        """The grammar with its `rule_tensor` in a Kruskal form, optionally in single precision."""
        kind: type[Any] = np.float32 if single else np.float64
        parent, left, right = (factor.astype(kind) for factor in form.factors)
        return cls(exact, form.weights.astype(kind), parent, left, right)

    @property
    def backbone(self) -> PCFG:
        """The plain PCFG: the rules of decoded trees, words and roots."""
        return self.exact.backbone

    @property
    def n_states(self) -> NDArray[np.int32]:
        """Axes (N): number of latent states of each symbol."""
        return self.exact.n_states

    @property
    def rank(self) -> int:
        return len(self.weights)

    @property
    def n_parameters(self) -> int:
        """Number of nonzero entries of the form."""
        parts = (self.weights, self.parent, self.left, self.right)
        return sum(int(np.count_nonzero(part)) for part in parts)

    @property
    def signed(self) -> bool:
        """Whether values may be negative."""
        parts = (self.weights, self.parent, self.left, self.right)
        return self.exact.signed or any(bool(np.any(part < 0.0)) for part in parts)

    def chart_bytes(self, n_words: int) -> int:
        """Memory of a sentence's chart: 6 r numbers per span, and two vectors."""
        spans = n_words * (n_words + 1) // 2
        numbers = (6 * self.rank + 2 * self.n_inner_states) * spans
        return numbers * int(self.weights.dtype.itemsize)

    @property
    def n_inner_states(self) -> int:
        """Number of states of symbols other than preterminals; these come first."""
        return int(self.exact.parameters.state_start[self.backbone.symbols.n_inner])

    def dense(self) -> Floats:
        """Axes (states, states, states): the tensor (1), formed in full."""
        parts = (self.weights, self.parent, self.left, self.right)
        return np.asarray(np.einsum("s,as,bs,cs->abc", *parts), dtype=np.float64)


def rule_tensor(grammar: LPCFG) -> SparseTensor:
    """All binary rules of a grammar as one sparse tensor.

    Its modes are the states of parents, left and right children, each over all symbols.

    Raises
    ------
    GrammarError
        When it would have no entries, or more than `MAX_ENTRIES`.
    """
    if not grammar.backbone.n_rules:
        raise GrammarError(
            "the grammar has no binary rules to decompose; train it on phrases of two or more words"
        )
    start = grammar.parameters.state_start
    symbols = grammar.parameters.rule_symbols
    n_entries = int(grammar.n_states[symbols].astype(np.int64).prod(axis=1).sum())
    if n_entries > MAX_ENTRIES:
        raise GrammarError(
            f"the rules have {n_entries:,} entries over their latent states; the maximum is "
            f"{MAX_ENTRIES:,}, so use fewer states"
        )
    subscripts, values = [], []
    for rule, of_rule in enumerate(symbols):
        tensor = grammar.tensor(rule)
        entries = np.argwhere(tensor)
        values.append(tensor[tuple(entries.T)])
        subscripts.append(entries + start[of_rule])
    size = int(start[-1])
    return SparseTensor(
        np.concatenate(subscripts).astype(np.int32), np.concatenate(values), (size, size, size)
    )


class Multiplications(NamedTuple):
    """The number of multiplications of one sentence's charts, inside and outside.

    Attributes
    ----------
    by_rules
        Every rule at every split point: two for inside, four for outside.
    in_kruskal_form
        r for each split point and each of three sums, and for each span one product with each of
        three factors, inside and outside: one multiplication per nonzero entry.
    """

    by_rules: int
    in_kruskal_form: int

    @classmethod
    def of(cls, grammar: KruskalGrammar, n_words: int) -> Multiplications:
        """The counts for a sentence of some length, at least 2."""
        spans = n_words * (n_words - 1) // 2
        splits = (n_words + 1) * spans // 3
        exact = int(grammar.n_states[grammar.exact.parameters.rule_symbols].prod(axis=1).sum())
        inner = slice(grammar.n_inner_states)
        factors = grammar.parent[inner], grammar.left[inner], grammar.right[inner]
        entries = sum(int(np.count_nonzero(factor)) for factor in factors)
        return cls(6 * exact * splits, 3 * grammar.rank * splits + 2 * entries * spans)


def probability_bound(error: float, min_probability: float, n_parents: int, n_words: int) -> float:
    """An upper bound of the difference between tree values and probabilities at some length.

    Parameters
    ----------
    error
        Frobenius norm of the difference of the rule tensors.
    min_probability
        The smallest probability of a rule.
    n_parents
        Number of symbols.
    n_words
        Length of the sentences, or number of inner nodes of their trees.

    Returns
    -------
    float
        A bound of the sum of absolute differences over all trees; infinite if it overflows.

    References
    ----------
    cohen-satta-2013, lemma 2.
    """
    power = n_words * math.log1p(error / min_probability)
    return n_parents * math.expm1(power) if power < LARGEST_POWER else math.inf


def error_for_bound(bound: float, min_probability: float, n_parents: int, n_words: int) -> float:
    """The maximum error of a rule tensor that guarantees a bound below 1/4 of the same sum.

    Parameters as for `probability_bound`.

    References
    ----------
    cohen-satta-2013, theorem 1.
    """
    if not 0 < bound < 0.25:
        raise SettingsError(f"the bound is {bound}; it must be above 0 and below 1/4")
    return bound * min_probability / (2 * n_words * n_parents)


def truncation_bound(weights: Floats, rank: int) -> float:
    """An upper bound of the error of the best form of a rank, from the weights of an exact one.

    Parameters
    ----------
    weights : float64, axes (components)
        Weights of an exact form with factors of unit length, in any order.
    rank
        Number of components to keep, those with the largest weights.

    References
    ----------
    cohen-satta-2013, theorem 2.
    """
    return float(np.sort(np.abs(weights))[: max(0, len(weights) - rank)].sum())
