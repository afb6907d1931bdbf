"""Grammars whose binary rules are one tensor in Kruskal form.

All binary rules of a grammar together are one tensor: T[a, b, c] = p(b c | a), or with latent
states the same over pairs of symbol and state.  In Kruskal form of rank r,

    T[a, b, c] = sum over s of weights[s] parent[a, s] left[b, s] right[c, s],         (1)

it is applied to vectors without a look at any rule (`eigentree.chart.kruskal`).  Nearly always
(1) is an approximation: trees that no rule allows get some value too, and a few values may be
negative.  Words, roots, and the rules that a decoded tree may use stay those of the grammar
that was decomposed (Cohen, Satta and Collins 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.errors import GrammarError
from eigentree.grammar.lpcfg import LPCFG
from eigentree.grammar.pcfg import PCFG
from eigentree.shapes import check_shapes, check_types

Floats = NDArray[np.float64]

# More entries of a rule tensor than this are refused: factors would take hours, and memory.
MOST_ENTRIES = 50_000_000


@dataclass(frozen=True, slots=True)
class KruskalGrammar:
    """A grammar with its rules in Kruskal form.

    Attributes
    ----------
    exact
        The grammar that was decomposed.
    weights : float64 or float32, axes (r)
        The precision of the factors is that of charts.
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
        for name, array in arrays.items():
            if not np.all(np.isfinite(array)):
                raise GrammarError(f"{name} of a Kruskal form holds a value that is not finite")
        if np.any(self.parent[self.n_inner_states :] != 0.0):
            raise GrammarError("a preterminal is the parent of a binary rule in Kruskal form")

    @property
    def backbone(self) -> PCFG:
        """The plain PCFG: rules that trees may use, words, roots."""
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
        """Numbers of the form that are not zero."""
        parts = (self.weights, self.parent, self.left, self.right)
        return sum(int(np.count_nonzero(part)) for part in parts)

    @property
    def signed(self) -> bool:
        """Whether values may be negative."""
        parts = (self.weights, self.parent, self.left, self.right)
        return self.exact.signed or any(bool(np.any(part < 0.0)) for part in parts)

    @property
    def n_inner_states(self) -> int:
        """States of all symbols that are no preterminals; they come first."""
        n_inner = int(np.sum(self.backbone.symbols.tag < 0))
        return int(self.exact.parameters.state_start[n_inner])

    def dense(self) -> Floats:
        """Axes (states, states, states): the tensor (1), formed in full."""
        return np.einsum("s,as,bs,cs->abc", self.weights, self.parent, self.left, self.right)


class RuleTensor(NamedTuple):
    """All binary rules of a grammar as one sparse tensor.

    Attributes
    ----------
    subscripts : int32, axes (entries, 3)
        States of parent, left and right child, among the states of all symbols.
    values : float64, axes (entries)
        Not 0.
    shape
        Number of states, three times.
    """

    subscripts: NDArray[np.int32]
    values: Floats
    shape: tuple[int, int, int]

    @classmethod
    def of(cls, grammar: LPCFG) -> RuleTensor:
        """Collect the tensors of all rules.

        Raises
        ------
        GrammarError
            When it would have more than `MOST_ENTRIES` entries.
        """
        start = grammar.parameters.state_start
        symbols = grammar.parameters.rule_symbols
        most = int(grammar.n_states[symbols].astype(np.int64).prod(axis=1).sum())
        if most > MOST_ENTRIES:
            raise GrammarError(
                f"the rules have {most:,} entries over their latent states; at most "
                f"{MOST_ENTRIES:,} can be decomposed, so use fewer states"
            )
        subscripts, values = [], []
        for rule, of_rule in enumerate(symbols):
            tensor = grammar.tensor(rule)
            entries = np.argwhere(tensor)
            values.append(tensor[tuple(entries.T)])
            subscripts.append(entries + start[of_rule])
        size = int(start[-1])
        return cls(
            np.concatenate(subscripts).astype(np.int32), np.concatenate(values), (size, size, size)
        )
