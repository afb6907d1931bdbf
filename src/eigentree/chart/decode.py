"""From marginals to one tree: what "best" means is chosen here.

Minimum Bayes risk (labelled recall, Goodman 1996) takes the tree with the largest sum of
marginals, so the one with most parts right in expectation.  The parts may be

``rules``
    uses of rules, mu(a -> b c, i, k, j), and mu(a, i, i) for words: the objective of Cohen
    et al. (2013, section 2.1, footnote 3);
``spans``
    symbols over spans, mu(a, i, j);
``brackets``
    the labelled brackets of the tree after un-binarising, which scores count: collapsed
    chains count each of their labels, intermediate symbols nothing.  Each bracket has a
    price, since recall alone would put every possible label into the tree.

``max-rule`` takes the tree with the largest product of rule marginals (Petrov and Klein
2007), ``viterbi`` the most probable derivation of a grammar with one state a symbol.  All are
constrained by the grammar: only trees of the forest can come out.

Marginals of signed grammars may be negative; all decoders take absolute values (Cohen et
al. 2013, section 3.3), unless told not to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from eigentree.chart import _kernels_decode as kernels
from eigentree.chart.forest import Floats, Forest, Ints
from eigentree.chart.inside_outside import Marginals
from eigentree.corpus.binarise import BinaryTree
from eigentree.errors import SettingsError
from eigentree.grammar.lpcfg import LPCFG
from eigentree.grammar.symbols import SymbolTable

Objective = Literal["rules", "spans", "brackets", "max-rule", "viterbi"]
OBJECTIVES: tuple[str, ...] = get_args(Objective)

# What a bracket costs in the objective ``brackets``: one that is likelier wrong than right
# makes the tree worse.
BRACKET_PRICE = 0.5


class Gains(NamedTuple):
    """What each part of a tree adds to a decoder's objective.

    Attributes
    ----------
    item : float64, axes (items)
    edge : float64, axes (edges)
    root : float64, axes (roots)
    """

    item: Floats
    edge: Floats
    root: Floats


class Decoded(NamedTuple):
    """The best tree of a forest.

    Attributes
    ----------
    tree
        Its binary form.
    items : int32, axes (nodes)
        The forest's item at each node of the tree.
    value : float
        The objective: expected number of correct parts, or a sum of logarithms.
    """

    tree: BinaryTree
    items: Ints
    value: float


def decode(
    forest: Forest, gains: Gains, symbols: SymbolTable, words: Sequence[str]
) -> Decoded | None:
    """The tree of the forest with the largest sum of gains; None if no tree has a finite one.

    Cost
    ----
    Linear in the number of edges.
    """
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
    tree = BinaryTree(
        [symbols[a] for a in forest.item_symbol[nodes]],
        left.tolist(),
        right.tolist(),
        None,
        list(words),
    )
    return Decoded(tree, nodes, float(np.max(at_root)))


def gains(
    objective: Objective,
    forest: Forest,
    marginals: Marginals,
    grammar: LPCFG,
    *,
    absolute: bool = True,
) -> Gains:
    """The gains of a decoder.

    Parameters
    ----------
    objective
        One of `OBJECTIVES`.
    absolute
        Whether negative marginals count by their size.  Otherwise they count as the paper's
        mu, which is not divided by Z: where Z is negative, all signs are turned.
    """
    try:
        rule = _GAINS[objective]
    except KeyError:
        raise SettingsError(
            f"objective is {objective!r}; it must be one of {', '.join(OBJECTIVES)}"
        ) from None
    turn = np.abs if absolute else (lambda values: marginals.sign * values)
    marginals = marginals._replace(item=turn(marginals.item), edge=turn(marginals.edge))
    return rule(forest, marginals, grammar)


def _rules(forest: Forest, marginals: Marginals, _grammar: LPCFG) -> Gains:
    item = np.where(forest.item_entry == -2, 0.0, marginals.item)
    return Gains(item, marginals.edge, np.zeros(len(forest.roots)))


def _spans(forest: Forest, marginals: Marginals, _grammar: LPCFG) -> Gains:
    return Gains(marginals.item, np.zeros(forest.n_edges), np.zeros(len(forest.roots)))


def _brackets(forest: Forest, marginals: Marginals, grammar: LPCFG) -> Gains:
    item, bracket, marginal = _label_marginals(forest, marginals, grammar.backbone.symbols)
    # Without a price, every label that might be there would be worth adding.
    gain = _sums(item, marginal[bracket] - BRACKET_PRICE, forest.n_items)
    # Trees with the same brackets are told apart by their rules.
    return Gains(gain, 1e-6 * marginals.edge, np.zeros(len(forest.roots)))


def _label_marginals(
    forest: Forest, marginals: Marginals, symbols: SymbolTable
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Marginals of phrase labels over spans, summed over the symbols that hold the label.

    Returns
    -------
    item : intp, axes (labels of all items)
        For each item and each of its labels, top down, the item ...
    bracket : intp, axes (labels of all items)
        ... and the number of the labelled span.
    marginal : float64, axes (labelled spans)
    """
    start, label = symbols.label_start, symbols.phrase_label
    sizes = np.diff(start)[forest.item_symbol]
    item = np.repeat(np.arange(forest.n_items), sizes)
    offset = np.arange(len(item)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    labels = label[start[forest.item_symbol][item] + offset]
    span = forest.item_start.astype(np.int64) * (forest.item_end.max() + 1) + forest.item_end
    key = span[item] * (label.max(initial=0) + 1) + labels
    _, bracket = np.unique(key, return_inverse=True)
    return item, bracket, _sums(bracket, marginals.item[item])


def _sums(number: NDArray[np.intp], weight: Floats, least: int = 0) -> Floats:
    return np.asarray(np.bincount(number, weight, least), dtype=np.float64)


def bracket_marginals(
    items: Ints, forest: Forest, marginals: Marginals, symbols: SymbolTable
) -> list[float]:
    """How sure each phrase of a decoded tree is, cut to 0..1, in the order of `Tree.spans`.

    Parameters
    ----------
    items
        The tree's items, children before parents, as in `Decoded`.
    """
    item, bracket, marginal = _label_marginals(forest, marginals, symbols)
    first = np.searchsorted(item, np.arange(forest.n_items + 1))
    confidences: list[float] = []
    for node in items:
        # From the bottom of a chain to its top.
        of_chain = bracket[first[node] : first[node + 1]][::-1]
        confidences.extend(np.clip(marginal[of_chain], 0.0, 1.0).tolist())
    return confidences


def _max_rule(forest: Forest, marginals: Marginals, _grammar: LPCFG) -> Gains:
    with np.errstate(divide="ignore", invalid="ignore"):
        item = np.where(forest.item_entry == -2, 0.0, np.log(marginals.item))
        edge = np.log(marginals.edge)
        root = np.log(marginals.item[forest.roots])
    return Gains(*(np.nan_to_num(part, nan=-np.inf, neginf=-np.inf) for part in (item, edge, root)))


def _viterbi(forest: Forest, _marginals: Marginals, grammar: LPCFG) -> Gains:
    parameters = grammar.parameters
    if grammar.n_states.max() > 1:
        raise SettingsError(
            f"viterbi needs one state a symbol; the grammar has up to {grammar.n_states.max()}"
        )
    if grammar.signed:
        raise SettingsError("viterbi needs probabilities; the grammar has signed values")
    entry = forest.item_entry
    word = np.where(
        entry >= 0, parameters.lexical[entry], parameters.unseen_word[forest.item_symbol]
    )
    with np.errstate(divide="ignore"):
        item = np.where(entry == -2, 0.0, np.log(forest.item_weight * word))
        rules, use = np.unique(forest.group_rule, return_inverse=True)
        value = np.log([grammar.tensor(rule).item() for rule in rules])[use]
        edge = np.repeat(value, np.diff(forest.group_edges))
        root = np.log(parameters.root[forest.item_symbol[forest.roots]])
    return Gains(item, edge, root)


_GAINS: dict[str, Callable[[Forest, Marginals, LPCFG], Gains]] = {
    "rules": _rules,
    "spans": _spans,
    "brackets": _brackets,
    "max-rule": _max_rule,
    "viterbi": _viterbi,
}
