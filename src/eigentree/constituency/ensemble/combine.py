"""Coverage decoding: one tree from the predictions of many members with any grammars.

Members may binarise differently, so the evidence is about the brackets of un-binarised trees.  The
decoded tree maximises the sum, over its brackets <a, i, j>, of

    weight(a, i, j) / total - price                                                (1)

where the weight is, for

tree coverage
    the number of members whose tree has the bracket;
marginal coverage
    the sum of the members' marginals of the bracket.

These are the two decoders for several models of Narayan and Cohen (2015, section 5).  Their sum is
over the nonterminals of binary trees, which all have the same number of nodes.  The trees here
differ in size: with price 0, which is the published objective, every compatible bracket increases
the sum, even if few members have it.  With price 1/2 (see `eigentree.constituency.chart.decode`),
only brackets with more than half of the weight do.

A *phrase chain* is the sequence of phrases over one span, from the top down: ``("S", "VP")`` is S
over VP.  A span of the tree has one chain that some member predicts there, or none; the span of
the sentence always has one.  So labels of different members are combined over a span, but only to
chains that some member predicts.  A label that occurs twice in a chain is two brackets; the second
has the weight of the members that have it twice.

Every bracketing is a binary one with some spans left empty, so the best one is found by dynamic
programming over binary splits (Goodman 1996), with the best chain for each span.
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

# Chains with smaller marginals are not candidates, but their weights count.
MIN_CHAIN = 1e-3

_MAX_CHAINS = 1 << 32


class Chains:
    """Phrase chains and their numbers, shared by all evidence that is to be added.

    Attributes
    ----------
    chains
        All chains so far, in order of first occurrence.
    """

    def __init__(self) -> None:
        self.chains: list[Chain] = []
        self._numbers: dict[Chain, int] = {}
        self._of_symbols: dict[int, tuple[SymbolTable, Longs]] = {}
        self._made_for = -1
        self._labels: tuple[Longs, Longs] = phrase_labels(())
        self._rank: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def number(self, chain: Chain) -> int:
        """The number of a chain; a new chain gets the next number."""
        number = self._numbers.setdefault(chain, len(self.chains))
        if number == len(self.chains):
            self.chains.append(chain)
        return number

    def of(self, symbols: SymbolTable) -> Longs:
        """Axes (N): the number of each symbol's chain, -1 at intermediate symbols."""
        # Stored with the table, so that no other table can get the same id.
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
        """The labels of each chain; see `eigentree.constituency.grammar.symbols.phrase_labels`."""
        self._sort()
        return self._labels

    @property
    def rank(self) -> NDArray[np.intp]:
        """Axes (chains): ranks in alphabetical order."""
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
    """The members' predictions of one sentence, summed; its size does not depend on their number.

    Parameters
    ----------
    n_words
        Length of the sentence.
    chains
        Numbers of chains, which evidence of several sentences may share.

    Attributes
    ----------
    total : float
        The weight of all members: that of a bracket with marginal 1 for every member.
    key : int64, axes (chains over spans)
        A distinct key for each chain over each span, sorted by span, then by number of chain.
    weight : float64, axes (chains over spans)
        Sum of the members' weights.
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
        """Add trees of the sentence (tree coverage).

        Parameters
        ----------
        trees
            Trees, preferably distinct.
        weights
            For each tree, the number of members that predict it; None for 1 each.

        Cost
        ----
        Linear in the nodes of the trees, plus sorting the chains.
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
        minimum: float = MIN_CHAIN,
    ) -> None:
        """Add the members' marginals of the items of their common forest (marginal coverage).

        Parameters
        ----------
        symbols
            The symbols of the forest's backbone.
        weight : float64, axes (items)
            The sum of the members' marginals, with the signs that are to count (see
            `eigentree.constituency.chart.decode.turned`).  For tree coverage, the number of members
            whose tree has the item.
        members
            Number of members, or the sum of their weights.
        minimum
            A chain over a span is a candidate if its weight is greater than this fraction of
            `members`; 0 for tree coverage.

        Cost
        ----
        Sorting the items.
        """
        chain = self.chains.of(symbols)[forest.item_symbol]
        is_whole = forest.item_end - forest.item_start == self.n_words
        # A tag without phrases is kept only as the whole tree of a one-word sentence.
        kept = np.flatnonzero((chain >= 0) & (is_whole | (chain != self.chains.number(()))))
        start, end = (ends[kept].astype(np.int64) for ends in (forest.item_start, forest.item_end))
        self._add(self._key(start, end, chain[kept]), weight[kept], minimum * members)
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
            The attributes of the stored evidence.
        chain_numbers : int64, axes (stored chains)
            The number in `chains` of each stored chain.
        """
        span, chain = np.divmod(key, _MAX_CHAINS)
        moved = span * _MAX_CHAINS + chain_numbers[chain]
        order = np.argsort(moved)
        self._merge(moved[order], weight[order], seen[order])
        self.total += total

    def can_hold(self, key: Longs, n_chains: int) -> bool:
        """Whether stored keys are sorted and valid for this sentence and number of chains."""
        span, chain = np.divmod(key, _MAX_CHAINS)
        start, end = np.divmod(span, self.n_words + 1)
        in_range = (start >= 0) & (start < end) & (chain < n_chains)
        return bool(np.all(in_range) and np.all(key[:-1] < key[1:]))

    def with_root(self, label: str) -> Evidence:
        """The same; without a candidate chain over the sentence, this label is added as one."""
        evidence = copy(self)
        if not np.any(self.seen[self.key // _MAX_CHAINS == self.n_words]):
            key = self._key(0, self.n_words, self.chains.number((label,)))
            evidence._merge(np.array([key]), np.zeros(1), np.ones(1, dtype=bool))
        return evidence

    def columns(self) -> tuple[Longs, Longs, Longs]:
        """Start, end and number of chain of each key."""
        span, chain = np.divmod(self.key, _MAX_CHAINS)
        start, end = np.divmod(span, self.n_words + 1)
        return start, end, chain

    def _key(self, start: Number, end: Number, chain: Number) -> Number:
        return (start * (self.n_words + 1) + end) * _MAX_CHAINS + chain

    def _add(self, key: Longs, weight: Floats, minimum: float) -> None:
        key, same = np.unique(key, return_inverse=True)
        weight = group_sums(same, weight, len(key))
        self._merge(key, weight, weight > minimum)

    def _merge(self, key: Longs, weight: Floats, seen: NDArray[np.bool_]) -> None:
        self.key, same = np.unique(np.concatenate((self.key, key)), return_inverse=True)
        n = len(self.key)
        self.weight = group_sums(same, np.concatenate((self.weight, weight)), n)
        self.seen = np.bincount(same, np.concatenate((self.seen, seen)), n) > 0


def chains_of(tree: Tree) -> dict[tuple[int, int], Chain]:
    """The phrase chain over each span of a tree, from the top down.

    The chain of a tree that is a single tagged word is empty.  Other words without phrases over
    them have no entry.
    """
    chains: dict[tuple[int, int], Chain] = {(0, 1): ()} if tree.is_preterminal else {}
    for label, start, end in tree.spans():
        chains[start, end] = (label, *chains.get((start, end), ()))
    return chains


class Other(NamedTuple):
    """A tree with a lower value than the best one.

    Attributes
    ----------
    tree
    value
        Its objective.
    confidences
        As in `Combined`.
    """

    tree: Tree
    value: float
    confidences: list[float]


class Combined(NamedTuple):
    """The best tree of a combination.

    Attributes
    ----------
    tree
        The un-binarised tree.
    confidences
        The weight of each bracket as a fraction of the total, clipped to 0..1, in the order of
        `Tree.spans`.
    value
        The objective (1), or the value under a reranker.
    others
        Further trees of the sentence, best first.
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
    """The trees with the highest objective (1).

    Ties are broken as follows: the alphabetically first chain over a span; no chain if the best one
    adds nothing; the leftmost split.  For integer weights and a price of 0, 1/2 or 1, sums are
    exact, so ties are not affected by rounding.

    Parameters
    ----------
    evidence
        The evidence of this sentence; empty evidence gives a flat tree.
    words, tags
        The sentence, at least one word; the tree gets these tags.
    root
        Label of the root if no member has a phrase over the sentence.
    price
        Cost of a bracket as a fraction of the total weight.
    best
        Maximum number of distinct trees.
    required
        Half-open spans that have a chain in every tree, whatever its gain, if they have a candidate
        chain.  No candidate may cross them.

    Cost
    ----
    O(n^3) for n words, plus sorting the evidence; up to O(best n^3) for several trees, with
    50 n^2 bytes for each.

    References
    ----------
    narayan-2015, section 5; goodman-1996; huang-2005.
    """
    n = evidence.n_words
    evidence = evidence.with_root(root)
    start, end, chain = evidence.columns()
    labels = Labels.over(chain, start, end, *evidence.chains.labels)
    # Divided by the total at the end, so that sums of integers are exact.
    gain = labels.gain(evidence.weight, price * evidence.total)
    must = np.isin(start * (n + 1) + end, [left * (n + 1) + right for left, right in required])
    # Greater than the sum of all gains.
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
    trees: list[Other] = []
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
        trees.append(Other(_build(words, tags, brackets), value, confidences))
    tree, value, confidences = trees[0]
    return Combined(tree, confidences, value, tuple(trees[1:]))


def _build(
    words: Sequence[str], tags: Sequence[str], brackets: Sequence[tuple[int, int, Chain]]
) -> Tree:
    """The tree with these chains (start, end, labels), which are ordered children first."""
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
