"""Decoders: from marginals to one tree, under a choice of objectives.

Minimum Bayes risk (labelled recall, Goodman 1996) selects the tree with the largest sum of
marginals, that is, with the largest expected number of correct parts.  The parts may be

``rules``
    uses of rules, mu(a -> b c, i, k, j), and mu(a, i, i) for words: the objective of Cohen
    et al. (2013, section 2.1, footnote 3);
``spans``
    symbols over spans, mu(a, i, j);
``brackets``
    the labelled brackets of the tree after un-binarising, as bracket scores count them:
    collapsed chains count each of their labels, intermediate symbols do not count.  Each bracket
    has a price, since recall alone would add every possible label to the tree.

``max-rule`` selects the tree with the largest product of rule marginals (Petrov and Klein
2007), ``viterbi`` the most probable derivation of a grammar with one state per symbol.  All of
these are constrained by the grammar: they return only trees of the forest.

``free`` is labelled recall as in Goodman, without the rules: among all binary bracketings it
selects the one with the largest sum over spans of max_a mu(a, i, j), and labels each span with
that symbol.

Marginals of signed grammars may be negative; by default all decoders use absolute values (Cohen et
al. 2013, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.chart import _kernels_decode as kernels
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import BinaryTree, Symbol
from eigentree.types import Floats, Ints, Longs

Objective = Literal["rules", "spans", "brackets", "max-rule", "viterbi", "free"]
OBJECTIVES: tuple[str, ...] = get_args(Objective)
# Decoders that use the marginals of items only.
OF_ITEMS = ("spans", "brackets", "free")

# The usual price of a bracket under the objective ``brackets``: a bracket with a probability below
# 1/2 is more often wrong than right.  Expected F1 is the largest at a price of about half of the F1
# itself.
BRACKET_PRICE = 0.5

# Symbol of spans without one in trees without rules; un-binarising removes it.
NOTHING = Symbol("intermediate", ("",))


class Gains(NamedTuple):
    """The contribution of each part of a tree to a decoder's objective.

    Attributes
    ----------
    item : float64, axes (items)
    edge : float64, axes (edges)
    root : float64, axes (roots)
    free : bool
        Whether any two adjacent items may be joined, not only those of the forest's edges; edges
        then contribute nothing.
    """

    item: Floats
    edge: Floats
    root: Floats
    free: bool = False


class Labels(NamedTuple):
    """The labelled spans of items; they depend on the forest only, not on its marginals.

    Attributes
    ----------
    first : int64, axes (items + 1)
        The labels of item i, from the top of its chain down, are
        ``bracket[first[i]:first[i+1]]``.
    item : int64, axes (labels of all items)
        The item of each label.
    bracket : intp, axes (labels of all items)
        Numbers of the labelled spans: equal where both label and span are equal.
    """

    first: Longs
    item: Longs
    bracket: NDArray[np.intp]

    @classmethod
    def of(cls, forest: Forest, symbols: SymbolTable) -> Labels:
        """The labelled spans of a forest; computed once for all members that decode it.

        Parameters
        ----------
        symbols
            The symbol table of the backbone that built the forest.
        """
        return cls.over(
            forest.item_symbol,
            forest.item_start,
            forest.item_end,
            symbols.label_start,
            symbols.phrase_label,
        )

    @classmethod
    def over(
        cls,
        kind: Ints | Longs,
        start: Ints | Longs,
        end: Ints | Longs,
        label_start: Longs,
        label: Longs,
    ) -> Labels:
        """The labelled spans of arbitrary items.

        Parameters
        ----------
        kind, start, end : integers, axes (items)
            Kind and span of each item.
        label_start, label
            The labels of each kind, from `eigentree.constituency.grammar.symbols.phrase_labels`.

        Cost
        ----
        Sorting all labels of all items.
        """
        n_labels = label_start[kind + 1] - label_start[kind]
        first = np.zeros(len(kind) + 1, dtype=np.int64)
        np.cumsum(n_labels, out=first[1:])
        item = np.repeat(np.arange(len(kind)), n_labels)
        item_label = label[
            np.arange(first[-1]) + np.repeat(label_start[kind] - first[:-1], n_labels)
        ]
        span = start.astype(np.int64) * (end.max(initial=0) + 1) + end
        _, bracket = np.unique(
            span[item] * (label.max(initial=0) + 1) + item_label, return_inverse=True
        )
        return cls(first, item, bracket)

    def sums(self, weight: Floats) -> Floats:
        """Axes (labels of all items): total weight of the items with this label and span."""
        return group_sums(self.bracket, weight[self.item], 0)[self.bracket]

    def gain(self, weight: Floats, price: float) -> Floats:
        """Axes (items): the total weight of each item's labels, less their price."""
        return self.per_item(self.sums(weight) - price)

    def per_item(self, value: Floats) -> Floats:
        """Axes (items): the sum of the values of each item's labels."""
        return group_sums(self.item, value, len(self.first) - 1)


def phrase_chains(symbols: SymbolTable) -> list[tuple[str, ...]]:
    """The phrase labels that each symbol stands for after un-binarising, from the top down.

    Intermediate symbols and bare tags have none.
    """
    sizes = np.diff(symbols.label_start).tolist()
    return [symbol.chain[:n] for symbol, n in zip(symbols.symbols, sizes, strict=True)]


def group_sums(number: NDArray[np.integer], weight: Floats, groups: int) -> Floats:
    """Axes (groups): the sum of the weights of each number."""
    return np.asarray(np.bincount(number, weight, groups), dtype=np.float64)


class Decoded(NamedTuple):
    """The best tree of a forest.

    Attributes
    ----------
    tree
        Its binary form.
    items : int32, axes (nodes)
        The forest's item at each node of the tree, children before parents; -1 at nodes of a free
        tree without an item.
    value : float
        The objective: expected number of correct parts, or a sum of logarithms.
    """

    tree: BinaryTree
    items: Ints
    value: float


def decode(
    forest: Forest, gains: Gains, symbols: SymbolTable, words: Sequence[str]
) -> Decoded | None:
    """The tree with the largest finite sum of gains, from the forest or free; None without one.

    Cost
    ----
    Linear in the number of edges; for a free tree of n words O(n^3), and 4 n^3 bytes.

    References
    ----------
    goodman-1996.
    """
    symbol_of = forest.item_symbol
    old_item = np.arange(forest.n_items, dtype=np.int32)
    if gains.free:
        forest, gains, old_item = all_bracketings(forest, gains, len(words))
    n_items = forest.n_items
    best = np.empty(n_items)
    choice = np.empty(n_items, dtype=np.int32)
    kernels.best_edges(forest, gains.item, gains.edge, best, choice)
    at_root = best[forest.roots] + gains.root
    if not np.max(at_root, initial=-np.inf) > -np.inf:
        return None
    root = int(forest.roots[int(np.argmax(at_root))])
    nodes, left, right = (np.empty(2 * len(words) - 1, dtype=np.int32) for _ in range(3))
    count = kernels.collect(forest, choice, root, nodes, left, right)
    assert count == len(nodes)
    items = old_item[nodes]
    at_nodes = [NOTHING if item < 0 else symbols[symbol_of[item]] for item in items]
    tree = BinaryTree(at_nodes, left.tolist(), right.tolist(), None, list(words))
    return Decoded(tree, items, float(np.max(at_root)))


def all_bracketings(forest: Forest, gains: Gains, n: int) -> tuple[Forest, Gains, Ints]:
    """The forest of all bracketings of n words: one item per span, one edge per split point.

    Also returns the original item of each new one: the best over its span, or -1 if none has a
    positive gain.  Single words must have one, and the whole sentence one that may be the root.
    """
    sizes = np.arange(n, 0, -1)
    first = np.concatenate(([0], np.cumsum(sizes)))  # spans by width, then by start
    width = np.repeat(np.arange(1, n + 1), sizes)
    start = np.arange(first[-1]) - np.repeat(first[:-1], sizes)
    must = (width == 1) | (width == n)

    gain = gains.item.copy()
    gain[forest.roots] += gains.root
    span = first[forest.item_end - forest.item_start - 1] + forest.item_start
    is_root = np.isin(np.arange(forest.n_items), forest.roots)
    allowed = np.flatnonzero(np.where(width[span] == n, is_root, must[span] | (gain > 0.0)))
    order = allowed[np.lexsort((-gain[allowed], span[allowed]))]
    spans, best = np.unique(span[order], return_index=True)
    old_item = np.full(len(width), -1, dtype=np.int32)
    worth = np.where(must, -np.inf, 0.0)
    old_item[spans], worth[spans] = order[best], gain[order[best]]

    left, right = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
    for wide in range(2, n + 1):
        begin, split = np.arange(n + 1 - wide)[:, None], np.arange(1, wide)
        left.append((first[split - 1] + begin).astype(np.int32).ravel())
        right.append((first[wide - split - 1] + begin + split).astype(np.int32).ravel())
    none = np.full(len(width), -1, dtype=np.int32)
    item_groups = np.arange(len(width) + 1, dtype=np.int32)
    group_edges = np.concatenate(([0], np.cumsum(width - 1))).astype(np.int32)
    whole = Forest(
        none, start.astype(np.int32), (start + width).astype(np.int32),
        np.where(width == 1, -1, -2).astype(np.int32), np.zeros(len(width)),
        item_groups, none, group_edges,
        np.concatenate(left), np.concatenate(right), item_groups[-2:-1],
    )  # fmt: skip
    return whole, Gains(worth, np.zeros(whole.n_edges), np.zeros(1)), old_item


def gains(
    objective: Objective,
    forest: Forest,
    marginals: Marginals,
    grammar: LPCFG,
    *,
    absolute: bool = True,
    price: float = BRACKET_PRICE,
    labels: Labels | None = None,
) -> Gains:
    """The gains of a decoder.

    Parameters
    ----------
    objective
        One of `OBJECTIVES`.
    absolute
        Use the absolute values of marginals.  Otherwise they count as the paper's mu, which is
        not divided by Z: where Z is negative, all signs are reversed.
    price
        Of each bracket, for ``brackets`` only.
    labels
        `Labels.of` the forest, if the caller has them; only ``brackets`` needs them.
    """
    try:
        rule = _GAINS[objective]
    except KeyError:
        raise SettingsError(
            f"objective is {objective!r}; it must be one of {', '.join(OBJECTIVES)}"
        ) from None
    return rule(forest, turned(marginals, absolute=absolute), grammar, labels, price)


def turned(marginals: Marginals, *, absolute: bool = True) -> Marginals:
    """Marginals with the signs used by decoders, see `gains`."""
    turn = np.abs if absolute else (lambda values: marginals.sign * values)
    return marginals._replace(item=turn(marginals.item), edge=turn(marginals.edge))


def _rules(
    forest: Forest, marginals: Marginals, _grammar: LPCFG, _labels: Labels | None, _price: float
) -> Gains:
    item = np.where(forest.item_entry == -2, 0.0, marginals.item)
    return Gains(item, marginals.edge, np.zeros(len(forest.roots)))


def _spans(
    forest: Forest, marginals: Marginals, _grammar: LPCFG, _labels: Labels | None, _price: float
) -> Gains:
    return Gains(marginals.item, np.zeros(forest.n_edges), np.zeros(len(forest.roots)))


def _free(
    forest: Forest, marginals: Marginals, grammar: LPCFG, labels: Labels | None, price: float
) -> Gains:
    return _spans(forest, marginals, grammar, labels, price)._replace(free=True)


def _brackets(
    forest: Forest, marginals: Marginals, grammar: LPCFG, labels: Labels | None, price: float
) -> Gains:
    labels = labels or Labels.of(forest, grammar.backbone.symbols)
    # Without a price, adding any possible label would increase the sum.
    gain = labels.gain(marginals.item, price)
    # The rules decide between trees with the same brackets.
    return Gains(gain, 1e-6 * marginals.edge, np.zeros(len(forest.roots)))


def bracket_marginals(
    items: Ints,
    forest: Forest,
    marginals: Marginals,
    symbols: SymbolTable,
    labels: Labels | None = None,
) -> list[float]:
    """Confidence of each phrase of a decoded tree, cut to 0..1, in the order of `Tree.spans`.

    Parameters
    ----------
    items
        The tree's items, children before parents, as in `Decoded`.
    labels
        `Labels.of` the forest, if the caller has them.
    """
    labels = labels or Labels.of(forest, symbols)
    marginal = np.clip(labels.sums(marginals.item), 0.0, 1.0)
    items = items[items >= 0]
    confidences: list[float] = []
    for first, end in zip(labels.first[items], labels.first[items + 1], strict=True):
        # From the bottom of a chain to its top.
        confidences.extend(marginal[first:end][::-1].tolist())
    return confidences


def _max_rule(
    forest: Forest, marginals: Marginals, _grammar: LPCFG, _labels: Labels | None, _price: float
) -> Gains:
    with np.errstate(divide="ignore", invalid="ignore"):
        item = np.where(forest.item_entry == -2, 0.0, np.log(marginals.item))
        edge = np.log(marginals.edge)
        root = np.log(marginals.item[forest.roots])
    item, edge, root = (
        np.nan_to_num(part, nan=-np.inf, neginf=-np.inf) for part in (item, edge, root)
    )
    return Gains(item, edge, root)


def _viterbi(
    forest: Forest, _marginals: Marginals, grammar: LPCFG, _labels: Labels | None, _price: float
) -> Gains:
    parameters = grammar.parameters
    if grammar.n_states.max() > 1:
        raise SettingsError(
            "viterbi requires one latent state per symbol; this grammar has up to "
            f"{grammar.n_states.max()}"
        )
    if grammar.signed:
        raise SettingsError("viterbi requires a grammar of probabilities; this one is signed")
    entry = forest.item_entry
    word = parameters.unseen_word[forest.item_symbol]
    seen, use = np.unique(entry[entry >= 0], return_inverse=True)
    word[entry >= 0] = np.array([grammar.word_vector(row).item() for row in seen])[use]
    with np.errstate(divide="ignore"):
        item = np.where(entry == -2, 0.0, np.log(forest.item_weight * word))
        rules, use = np.unique(forest.group_rule, return_inverse=True)
        value = np.log([grammar.tensor(rule).item() for rule in rules])[use]
        edge = np.repeat(value, np.diff(forest.group_edges))
        root = np.log(parameters.root[forest.item_symbol[forest.roots]])
    return Gains(item, edge, root)


_GAINS: dict[str, Callable[[Forest, Marginals, LPCFG, Labels | None, float], Gains]] = {
    "rules": _rules,
    "spans": _spans,
    "brackets": _brackets,
    "max-rule": _max_rule,
    "viterbi": _viterbi,
    "free": _free,
}
