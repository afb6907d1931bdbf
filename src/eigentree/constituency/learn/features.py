"""Inside and outside features of a node (Cohen et al. 2013, section 3.1).

Each template assigns one code to every node; each pair of template and code is one binary
feature of the node's inside or outside tree.  Integer-valued features of the paper (numbers
of words) are binned.  Preterminals have a single inside feature, their rule; missing ancestors at
the top of a tree have the code 0.

A binary feature that is on for ``count`` of the M nodes of a symbol is scaled to
sqrt(M / (count + kappa)), an approximation of whitening in canonical correlation analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError, check_range
from eigentree.types import Longs

Template = Callable[["Surroundings"], Longs]

# Lower ends of the bins for numbers of words; larger numbers share the last bin.
WIDTH_BINS = np.array([0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40])


class Surroundings:
    """Columns that several templates share, computed once."""

    def __init__(self, examples: Examples) -> None:
        self.examples = examples
        self.inner = examples.rule >= 0
        n_rules = len(examples.rules)
        # The rule at a node, lexical rules after binary ones.
        self.any_rule: Longs = np.where(self.inner, examples.rule, n_rules + examples.pair)
        self.any_rule = self.any_rule.astype(np.int64)
        self.n_any_rules = n_rules + len(examples.pairs)
        has_parent = examples.parent >= 0
        parent_rule = examples.rule[examples.parent].astype(np.int64)
        is_right = examples.right[examples.parent] == np.arange(len(examples))
        # The rule above a node, with the side on which the node is its child.
        self.rule_above: Longs = np.where(has_parent, 1 + 2 * parent_rule + is_right, 0)
        self.n_rules_above = 1 + 2 * n_rules
        self.parent_symbol = self.lift(examples.symbol.astype(np.int64) + 1)
        tags = examples.symbols.tag
        self.head_tag: Longs = tags[examples.symbol[examples.head]].astype(np.int64)

    def lift(self, column: Longs) -> Longs:
        """The column's value at each node's parent, 0 without a parent."""
        parent = self.examples.parent
        return np.where(parent >= 0, column[parent], 0)

    def at_left(self, column: Longs) -> Longs:
        return np.where(self.inner, column[self.examples.left], 0)

    def at_right(self, column: Longs) -> Longs:
        return np.where(self.inner, column[self.examples.right], 0)


def _left_child(s: Surroundings) -> Longs:
    return s.at_left(s.examples.symbol.astype(np.int64))


def _right_child(s: Surroundings) -> Longs:
    return s.at_right(s.examples.symbol.astype(np.int64))


def _rule(s: Surroundings) -> Longs:
    return s.any_rule


def _rule_and_left_rule(s: Surroundings) -> Longs:
    return s.any_rule * s.n_any_rules + s.at_left(s.any_rule)


def _rule_and_right_rule(s: Surroundings) -> Longs:
    return s.any_rule * s.n_any_rules + s.at_right(s.any_rule)


def _head_tag(s: Surroundings) -> Longs:
    return s.head_tag


def _width(s: Surroundings) -> Longs:
    return _bin(s.examples.end - s.examples.start)


def _rule_above(s: Surroundings) -> Longs:
    return s.rule_above


def _two_rules_above(s: Surroundings) -> Longs:
    return s.rule_above * s.n_rules_above + s.lift(s.rule_above)


def _three_rules_above(s: Surroundings) -> Longs:
    return _two_rules_above(s) * s.n_rules_above + s.lift(s.lift(s.rule_above))


def _parent(s: Surroundings) -> Longs:
    return s.parent_symbol


def _parent_and_grandparent(s: Surroundings) -> Longs:
    return s.parent_symbol * (len(s.examples.symbols) + 1) + s.lift(s.parent_symbol)


def _head_tag_above(s: Surroundings) -> Longs:
    """Tag of the first head on the path to the root that is not the foot's own head."""
    examples = s.examples
    head = examples.head
    head_row = np.full(len(examples), -1, dtype=np.int64)
    rows = np.arange(len(examples))
    ancestor = examples.parent.copy()
    while len(rows):
        above = ancestor[rows]
        rows, above = rows[above >= 0], above[above >= 0]
        differs = head[above] != head[rows]
        head_row[rows[differs]] = head[above[differs]]
        rows, above = rows[~differs], above[~differs]
        ancestor[rows] = examples.parent[above]
    tags = examples.symbols.tag[examples.symbol[head_row]].astype(np.int64)
    return np.where(head_row >= 0, tags + 1, 0)


def _width_left(s: Surroundings) -> Longs:
    return _bin(s.examples.start)


def _width_right(s: Surroundings) -> Longs:
    return _bin(s.examples.length - s.examples.end)


def _bin(widths: NDArray[np.int32]) -> Longs:
    return np.searchsorted(WIDTH_BINS, widths, side="right").astype(np.int64)


INSIDE_TEMPLATES: dict[str, Template] = {
    "left": _left_child,
    "right": _right_child,
    "rule": _rule,
    "rule-left": _rule_and_left_rule,
    "rule-right": _rule_and_right_rule,
    "head": _head_tag,
    "width": _width,
}
OUTSIDE_TEMPLATES: dict[str, Template] = {
    "rule": _rule_above,
    "two-rules": _two_rules_above,
    "three-rules": _three_rules_above,
    "parent": _parent,
    "grandparent": _parent_and_grandparent,
    "head": _head_tag_above,
    "width-left": _width_left,
    "width-right": _width_right,
}


@dataclass(frozen=True)
class FeatureOptions:
    """The features that projections are learned from.

    Attributes
    ----------
    inside, outside
        Names of templates, keys of `INSIDE_TEMPLATES` and `OUTSIDE_TEMPLATES`; ``rule``
        alone on both sides is the paper's simple set.
    scaling
        Whether features are scaled by frequency.
    kappa
        Pseudo-count in the scale.
    """

    inside: tuple[str, ...] = tuple(INSIDE_TEMPLATES)
    outside: tuple[str, ...] = tuple(OUTSIDE_TEMPLATES)
    scaling: bool = True
    kappa: float = 5.0

    def __post_init__(self) -> None:
        for side, known in (("inside", INSIDE_TEMPLATES), ("outside", OUTSIDE_TEMPLATES)):
            names = getattr(self, side)
            unknown = set(names) - set(known)
            if unknown or not names:
                raise SettingsError(
                    f"{side} features {sorted(unknown) or 'are empty'}; "
                    f"choose from {', '.join(known)}"
                )
        if "rule" not in self.inside:
            raise SettingsError("inside features must include rule, the only one of preterminals")
        check_range(0, kappa=self.kappa)


class SymbolFeatures(NamedTuple):
    """Features of all nodes of one symbol.

    Attributes
    ----------
    symbol : int
    rows : int64, axes (n)
        The nodes, as rows of the examples.
    inside, outside : sparse, axes (n D), (n E)
    """

    symbol: int
    rows: NDArray[np.int64]
    inside: sparse.csr_array
    outside: sparse.csr_array


def features(examples: Examples, options: FeatureOptions) -> Iterator[SymbolFeatures]:
    """Yield the feature matrices of each symbol.

    Cost
    ----
    O(nodes log nodes) for each template; memory for one 8-byte column per template, and the
    matrices of one symbol at a time.
    """
    shared = Surroundings(examples)
    order = np.argsort(examples.symbol, kind="stable")
    starts = np.searchsorted(examples.symbol[order], np.arange(len(examples.symbols) + 1))
    tables = [
        [_Columns(examples.symbol[order], template(shared)[order], starts) for template in side]
        for side in (
            [INSIDE_TEMPLATES[name] for name in options.inside],
            [OUTSIDE_TEMPLATES[name] for name in options.outside],
        )
    ]
    rule_table = tables[0][options.inside.index("rule")]
    for symbol in range(len(examples.symbols)):
        rows = slice(int(starts[symbol]), int(starts[symbol + 1]))
        nodes = order[rows]
        is_leaf = examples.symbols.tag[symbol] >= 0
        inside = [rule_table] if is_leaf else tables[0]
        weight = examples.weight[nodes]
        yield SymbolFeatures(
            symbol,
            nodes,
            _matrix(inside, symbol, rows, weight, options),
            _matrix(tables[1], symbol, rows, weight, options),
        )


class _Columns:
    """Feature numbers of one template, starting from 0 for each symbol."""

    def __init__(self, symbol: NDArray[np.int32], codes: Longs, starts: NDArray[np.intp]) -> None:
        largest = int(codes.max()) + 1
        if largest > np.iinfo(np.int64).max // len(starts):
            _, codes = np.unique(codes, return_inverse=True)
            largest = int(codes.max()) + 1
        key = symbol.astype(np.int64) * largest + codes
        values, number = np.unique(key, return_inverse=True)
        self._first = np.searchsorted(values, np.arange(len(starts), dtype=np.int64) * largest)
        self._number: NDArray[np.int64] = number - self._first[symbol]

    def size(self, symbol: int) -> int:
        return int(self._first[symbol + 1] - self._first[symbol])

    def numbers(self, rows: slice) -> NDArray[np.int64]:
        return self._number[rows]


def _matrix(
    tables: list[_Columns],
    symbol: int,
    rows: slice,
    weight: NDArray[np.float64],
    options: FeatureOptions,
) -> sparse.csr_array:
    n = rows.stop - rows.start
    columns = np.empty((n, len(tables)), dtype=np.int32)
    base = 0
    for number, table in enumerate(tables):
        columns[:, number] = table.numbers(rows) + base
        base += table.size(symbol)
    flat = columns.ravel()
    data = np.ones(len(flat))
    if options.scaling:
        count = np.bincount(flat, np.repeat(weight, len(tables)), base)
        data = np.sqrt(weight.sum() / (count + options.kappa))[flat]
    pointers = np.arange(0, len(flat) + 1, len(tables))
    return sparse.csr_array((data, flat, pointers), shape=(n, base))
