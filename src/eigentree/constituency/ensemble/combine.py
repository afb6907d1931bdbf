"""One tree out of what many members say of a sentence, whatever their grammars.

Members may binarise differently, so what is counted are the brackets of un-binarised trees.
The tree returned has the largest sum, over its brackets <a, i, j>, of

    weight(a, i, j) / total - price                                                (1)

where the weight is, for

tree coverage
    the number of members whose own tree has the bracket;
marginal coverage
    the sum of the members' marginals of the bracket.

These are the two ways of Narayan and Cohen (2015, section 5) to decode with several models.
They sum over the nonterminals of binary trees, all of which have the same number of nodes.
Trees of any shape differ in size: with price 0, the paper's objective read literally, every
bracket that fits is worth adding, however few members have it.  With the price of one half
(see `eigentree.constituency.chart.decode`) a bracket must have more than half of the weight to be
worth it.

A *phrase chain* is what stands over one span, from the top down: ``("S", "VP")`` is S over VP.
A span of the tree holds a chain that some member has produced there, or none; the span of
the sentence always holds one.  So labels are combined over a span, but never into a chain
that no member has seen.  A label that stands in a chain twice is two brackets, of which the
second belongs to those members that have it twice.

Any bracketing is a binary one with some of its spans left empty, so the best one is found
over binary splits (Goodman 1996), each span with its best chain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from copy import copy
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.chart.decode import BRACKET_PRICE, Labels, group_sums, phrase_chains
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.ensemble import _kernels_combine as kernels
from eigentree.constituency.grammar.symbols import SymbolTable, phrase_labels
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.tree import Tree
from eigentree.types import Floats, Longs

Chain = tuple[str, ...]
Number = TypeVar("Number", int, NDArray[np.int64])

# Chains that a chart finds less probable than this are no candidates, though they count.
LEAST_CHAIN = 1e-3

_MOST_CHAINS = 1 << 32


class Chains:
    """Phrase chains by number, shared by all evidence that is to be added up.

    Attributes
    ----------
    chains
        All chains met so far, in the order in which they were met.
    """

    def __init__(self) -> None:
        self.chains: list[Chain] = []
        self._numbers: dict[Chain, int] = {}
        self._of_symbols: dict[int, tuple[SymbolTable, Longs]] = {}
        self._made_for = -1
        self._labels: tuple[Longs, Longs] = phrase_labels(())
        self._rank: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def number(self, chain: Chain) -> int:
        """The number of a chain, a new one if it was never met."""
        number = self._numbers.setdefault(chain, len(self.chains))
        if number == len(self.chains):
            self.chains.append(chain)
        return number

    def of(self, symbols: SymbolTable) -> Longs:
        """Axes (N): the number of each symbol's chain, -1 at intermediate symbols."""
        # Kept with the table, lest another one gets its place in memory.
        known = self._of_symbols.get(id(symbols))
        if known is None:
            numbers = [
                -1 if symbol.kind == "intermediate" else self.number(chain)
                for symbol, chain in zip(symbols.symbols, phrase_chains(symbols), strict=True)
            ]
            known = self._of_symbols[id(symbols)] = symbols, np.array(numbers, dtype=np.int64)
        return known[1]

    @property
    def labels(self) -> tuple[Longs, Longs]:
        """The labels of each chain, as `phrase_labels` of `constituency.grammar.symbols` gives."""
        self._sort()
        return self._labels

    @property
    def rank(self) -> NDArray[np.intp]:
        """Axes (chains): their alphabetic order."""
        self._sort()
        return self._rank

    def _sort(self) -> None:
        if self._made_for != len(self.chains):
            self._labels = phrase_labels([Symbol("interminal", chain) for chain in self.chains])
            self._rank = np.empty(len(self.chains), dtype=np.intp)
            order = sorted(range(len(self.chains)), key=self.chains.__getitem__)
            self._rank[order] = np.arange(len(order))
            self._made_for = len(self.chains)


class Evidence:
    """What members say of one sentence; grows with what they say, not with their number.

    Parameters
    ----------
    n_words
        Length of the sentence.
    chains
        Numbers of chains; evidence of many sentences may share them.

    Attributes
    ----------
    total : float
        The weight of all members: what a bracket weighs that all are sure of.
    key : int64, axes (chains over spans)
        Each chain over each span once, in order of the spans, then of the chains' numbers.
    weight : float64, axes (chains over spans)
    seen : bool, axes (chains over spans)
        Whether the chain is a candidate over the span.
    """

    def __init__(self, n_words: int, chains: Chains) -> None:
        self.n_words = n_words
        self.chains = chains
        self.total = 0.0
        self.key: Longs = np.zeros(0, dtype=np.int64)
        self.weight: Floats = np.zeros(0)
        self.seen: NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def add_trees(self, trees: Sequence[Tree], weights: Sequence[float] | None = None) -> None:
        """Add trees of the sentence: tree coverage.

        Parameters
        ----------
        trees
            Cheapest where each distinct tree comes once.
        weights
            Of each tree: the number of members whose tree it is.  Default: 1.

        Cost
        ----
        Linear in the nodes of the trees, and the sorting of the chains.
        """
        keys: list[int] = []
        repeats: list[int] = []
        for tree in trees:
            chains = chains_of(tree)
            repeats.append(len(chains))
            keys.extend(
                self._key(start, end, self.chains.number(chain))
                for (start, end), chain in chains.items()
            )
        each = np.ones(len(trees)) if weights is None else np.array(weights, dtype=np.float64)
        self._add(np.array(keys, dtype=np.int64), np.repeat(each, repeats), 0.0)
        self.total += float(each.sum())

    def add_items(
        self,
        forest: Forest,
        symbols: SymbolTable,
        weight: Floats,
        members: float,
        *,
        least: float = LEAST_CHAIN,
    ) -> None:
        """Add what members give the items of their common forest: marginal coverage.

        Parameters
        ----------
        symbols
            Those of the backbone that the forest was built with.
        weight : float64, axes (items)
            The sum of the members' marginals, with the signs that are to count (see
            `eigentree.constituency.chart.decode.turned`).  For tree coverage the number of members
            whose
            tree has the item.
        members
            Their number, or the sum of their weights.
        least
            A chain is a candidate if its marginals over a span sum up to more than this share
            of the members; 0 for tree coverage.

        Cost
        ----
        The sorting of the items.
        """
        chain = self.chains.of(symbols)[forest.item_symbol]
        is_whole = forest.item_end - forest.item_start == self.n_words
        # A bare tag is no phrase, but may be all there is of a sentence of one word.
        kept = np.flatnonzero((chain >= 0) & (is_whole | (chain != self.chains.number(()))))
        start, end = (ends[kept].astype(np.int64) for ends in (forest.item_start, forest.item_end))
        self._add(self._key(start, end, chain[kept]), weight[kept], least * members)
        self.total += members

    def add(self, other: Evidence) -> None:
        """Add the evidence of other members on the same sentence, with the same `chains`."""
        self._merge(other.key, other.weight, other.seen)
        self.total += other.total

    def add_keys(
        self,
        key: Longs,
        weight: Floats,
        seen: NDArray[np.bool_],
        total: float,
        chain_numbers: Longs,
    ) -> None:
        """Add stored evidence of the same sentence.

        Parameters
        ----------
        key, weight, seen, total
            The attributes of what was stored.
        chain_numbers : int64, axes (stored chains)
            Number of each of its chains in `chains`.
        """
        span, chain = np.divmod(key, _MOST_CHAINS)
        moved = span * _MOST_CHAINS + chain_numbers[chain]
        order = np.argsort(moved)
        self._merge(moved[order], weight[order], seen[order])
        self.total += total

    def can_hold(self, key: Longs, n_chains: int) -> bool:
        """Whether stored keys are of spans of such a sentence, in order, and of so many chains."""
        span, chain = np.divmod(key, _MOST_CHAINS)
        start, end = np.divmod(span, self.n_words + 1)
        in_range = (start >= 0) & (start < end) & (chain < n_chains)
        return bool(np.all(in_range) and np.all(key[:-1] < key[1:]))

    def with_root(self, label: str) -> Evidence:
        """The same, where no chain is a candidate over the whole with one of this label."""
        found = copy(self)
        if not np.any(self.seen[self.key // _MOST_CHAINS == self.n_words]):
            key = self._key(0, self.n_words, self.chains.number((label,)))
            found._merge(np.array([key]), np.zeros(1), np.ones(1, dtype=bool))
        return found

    def columns(self) -> tuple[Longs, Longs, Longs]:
        """Start, end and chain at each place of `key`."""
        span, chain = np.divmod(self.key, _MOST_CHAINS)
        start, end = np.divmod(span, self.n_words + 1)
        return start, end, chain

    def _key(self, start: Number, end: Number, chain: Number) -> Number:
        return (start * (self.n_words + 1) + end) * _MOST_CHAINS + chain

    def _add(self, key: Longs, weight: Floats, least: float) -> None:
        key, same = np.unique(key, return_inverse=True)
        weight = group_sums(same, weight, len(key))
        self._merge(key, weight, weight > least)

    def _merge(self, key: Longs, weight: Floats, seen: NDArray[np.bool_]) -> None:
        self.key, same = np.unique(np.concatenate((self.key, key)), return_inverse=True)
        n = len(self.key)
        self.weight = group_sums(same, np.concatenate((self.weight, weight)), n)
        self.seen = np.bincount(same, np.concatenate((self.seen, seen)), n) > 0


def chains_of(tree: Tree) -> dict[tuple[int, int], Chain]:
    """The phrase chain over each span of a tree, from the top down.

    A tree that is no more than a word under its tag has an empty chain; of other words without
    phrases nothing is told.
    """
    chains: dict[tuple[int, int], Chain] = {(0, 1): ()} if tree.is_preterminal else {}
    for label, start, end in tree.spans():
        chains[start, end] = (label, *chains.get((start, end), ()))
    return chains


class Other(NamedTuple):
    """A tree that the evidence speaks for less.

    Attributes
    ----------
    tree
    value
        The objective by which it was found.
    confidences
        As of `Combined`.
    """

    tree: Tree
    value: float
    confidences: list[float]


class Combined(NamedTuple):
    """The tree that the evidence of many members speaks for.

    Attributes
    ----------
    tree
        Not binary.
    confidences
        The weight of each bracket as a share of the total, cut to 0..1, in the order of
        `Tree.spans`.
    value
        The objective (1), or the value that a reranker gives.
    others
        Other trees of the sentence, best first.
    """

    tree: Tree
    confidences: list[float]
    value: float
    others: tuple[Other, ...] = ()


def combine(
    evidence: Evidence,
    words: Sequence[str],
    tags: Sequence[str],
    *,
    root: str,
    price: float = BRACKET_PRICE,
    best: int = 1,
    required: Collection[tuple[int, int]] = (),
) -> Combined:
    """The best trees by what many members say of a sentence.

    Of chains of one value over a span the alphabetically first is taken; a span whose best
    chain adds nothing is left empty; of equal bracketings the one that splits first from the
    left.  With trees of whole weights and a price of 0, 1/2 or 1 no rounding can blur a tie.

    Parameters
    ----------
    evidence
        Of this sentence; none at all gives a flat tree.
    words, tags
        At least one; the tree gets these tags.
    root
        Label of the whole where no member has a phrase over it.
    price
        What a bracket costs, as a share of the total.
    best
        Most trees that are given, all different.
    required
        Half-open spans that hold a chain in every tree where some chain is a candidate, however
        little its labels weigh.  No candidate may cross them.

    Cost
    ----
    O(n^3) for n words, and the sorting of the evidence; up to O(best n^3) for several trees, with
    50 n^2 bytes for each.

    References
    ----------
    narayan-2015, section 5; goodman-1996; huang-2005.
    """
    n = evidence.n_words
    evidence = evidence.with_root(root)
    start, end, chain = evidence.columns()
    labels = Labels.over(chain, start, end, *evidence.chains.labels)
    # Divided by the total at the end, so that whole numbers stay whole.
    gain = labels.gain(evidence.weight, price * evidence.total)
    must = np.isin(start * (n + 1) + end, [left * (n + 1) + right for left, right in required])
    # More than all others together can weigh.
    bonus = np.exp2(np.ceil(np.log2(1.0 + 2.0 * np.abs(gain).sum()))) if required else 0.0
    gain[must] += bonus
    seen = np.flatnonzero(evidence.seen)
    span = start[seen] * (n + 1) + end[seen]
    order = np.lexsort((evidence.chains.rank[chain[seen]], -gain[seen], span))
    seen, span = seen[order], span[order]
    place = np.searchsorted(span, np.arange((n + 1) ** 2 + 1)).astype(np.int32)
    first = np.stack((place[:-1], place[1:]), axis=1).reshape(n + 1, n + 1, 2)
    element, sequence, many = np.empty((3, n + 1, n + 1, best))
    element_chain, element_rank, sequence_rank, many_split, many_element, many_sequence = np.empty(
        (6, n + 1, n + 1, best), dtype=np.int32
    )
    counts = np.empty((n + 1, n + 1, 3), dtype=np.int32)
    kernels.best_trees(
        first, gain[seen], element, element_chain, element_rank, sequence, sequence_rank,
        many, many_split, many_element, many_sequence, counts,
    )  # fmt: skip
    total = evidence.total or 1.0
    sure = np.clip(labels.sums(evidence.weight) / total, 0.0, 1.0)
    chains_of_tree = np.empty(2 * n - 1, dtype=np.int32)
    found: list[Other] = []
    for rank in range(int(counts[0, n, 0])):
        count = kernels.chains_of_tree(
            rank, element_chain, element_rank, sequence_rank,
            many_split, many_element, many_sequence, chains_of_tree,
        )  # fmt: skip
        used = seen[chains_of_tree[:count]]
        n_kept = int(np.sum(must[used]))
        if rank == 0:
            n_must = n_kept
        elif n_kept < n_must:
            break
        confidences: list[float] = []
        for top, last in zip(labels.first[used], labels.first[used + 1], strict=True):
            confidences.extend(sure[top:last][::-1].tolist())
        brackets = [
            (left, right, evidence.chains.chains[number])
            for left, right, number in zip(
                start[used].tolist(), end[used].tolist(), chain[used].tolist(), strict=True
            )
        ]
        value = float((element[0, n, rank] - n_kept * bonus) / total)
        found.append(Other(_build(words, tags, brackets), value, confidences))
    tree, value, confidences = found[0]
    return Combined(tree, confidences, value, tuple(found[1:]))


def _build(
    words: Sequence[str], tags: Sequence[str], brackets: Sequence[tuple[int, int, Chain]]
) -> Tree:
    """The tree with these chains (start, end, labels), children before parents, root last."""
    leaves = [Tree(tag, (), word) for word, tag in zip(words, tags, strict=True)]
    trees: list[Tree] = []
    starts: list[int] = []
    reached = 0
    for start, end, chain in brackets:
        trees.extend(leaves[reached:end])
        starts.extend(range(reached, end))
        reached = max(reached, end)
        first = bisect_left(starts, start)
        below = trees[first:]
        for label in reversed(chain):
            below = [Tree(label, below)]
        trees[first:] = below
        starts[first:] = starts[first : first + len(below)]
    (tree,) = trees
    return tree
