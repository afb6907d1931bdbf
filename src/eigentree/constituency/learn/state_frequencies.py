"""A grammar from nodes with known states: relative frequencies, smoothed and stored sparsely.

With a state at every node, the maximum-likelihood L-PCFG is obtained by counting (Narayan and
Cohen 2015, figure 2).  A node may also be divided among a few states; then its counts are
fractions, and those of a rule the products of the fractions of its three nodes.

A rule seen n times has at most n triples of states, so counts are sparse.  Back-off would
fill the gaps, but with a product of vectors: `eigentree.constituency.grammar.lpcfg`
stores the counts and applies the back-off without forming it.  Smoothed or not, the choices of
each state sum to 1: with r(h) = sum over the rules of a of p(a -> b c | a) times the smoothed
share of h among the rule's parents, a state's choices are divided by r(h).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.arrays import LatentParameters
from eigentree.constituency.grammar.lpcfg import LPCFG, MAX_COUNTED_STATES, NO_MATRIX
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.learn.counting import sums
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import GrammarError
from eigentree.types import Floats, Ints, Longs


class NodeStates(NamedTuple):
    """The states of the nodes, each with its share of the node.

    Attributes
    ----------
    start : int64, axes (nodes + 1)
        The states of node i are at ``start[i]:start[i+1]``, at least one.
    state : int32
    part : float64
        Positive; the shares of a node sum to 1.
    n_states : int32, axes (N)
        Number of states of each symbol; each occurs at some node.
    """

    start: Longs
    state: Ints
    part: Floats
    n_states: Ints

    @classmethod
    def hard(cls, examples: Examples, states: Ints) -> NodeStates:
        """One state per node; unused states are dropped and the others renumbered."""
        n = len(examples)
        return cls.of(examples, np.arange(n + 1, dtype=np.int64), states, np.ones(n))

    @classmethod
    def of(cls, examples: Examples, start: Longs, state: Ints, part: Floats) -> NodeStates:
        """States of nodes, renumbered without unused ones.

        Parameters
        ----------
        start, state, part
            As the attributes, with arbitrary state numbers.
        """
        if len(state) and state.min() < 0:
            raise GrammarError("a node has a state below 0")
        symbol = np.repeat(examples.symbol, np.diff(start)).astype(np.int64)
        base = int(state.max(initial=0)) + 1
        distinct, number = np.unique(symbol * base + state, return_inverse=True)
        n_states = np.bincount(distinct // base, minlength=len(examples.symbols))
        first = np.cumsum(n_states) - n_states
        renumbered = (number - first[symbol]).astype(np.int32)
        return cls(start, renumbered, part, n_states.astype(np.int32))


def count_grammar(
    examples: Examples,
    backbone: PCFG,
    states: NodeStates,
    *,
    smoothing: float,
    word_smoothing: float,
) -> LPCFG:
    """The L-PCFG of a treebank whose nodes have states.

    Parameters
    ----------
    examples
        The treebank.
    backbone
        Its plain PCFG.
    states
        States of its nodes.
    smoothing
        C of the back-off of rules, lambda = sqrt(n) / (C + sqrt(n)); 0 for relative frequencies.
    word_smoothing
        Pseudo-count that smooths a word's states towards those of its symbol.

    Returns
    -------
    LPCFG
        A probability model, with every rule and word stored as counts.

    Cost
    ----
    O(nodes log nodes) time and memory, times the cube of the number of states per node.

    References
    ----------
    narayan-2015, section 3; cohen-2013, section 3.2 for the back-off.
    """
    if states.n_states.max() > MAX_COUNTED_STATES:
        raise GrammarError(
            f"a symbol has {states.n_states.max()} states; counts support at most "
            f"{MAX_COUNTED_STATES}"
        )
    words = backbone.words
    state_start = np.concatenate([[0], np.cumsum(states.n_states)]).astype(np.int64)
    n_all = int(state_start[-1])
    of_state = np.repeat(np.arange(len(examples.symbols)), states.n_states)

    n_of_node = np.diff(states.start)
    node = np.repeat(np.arange(len(examples)), n_of_node)
    use = examples.weight[node] * states.part
    place = state_start[examples.symbol[node]] + states.state
    symbol_count = sums(examples.symbol, examples.weight, len(examples.symbols))
    share = sums(place, use, n_all) / symbol_count[of_state]

    triples, uses, n_triples = _triples(examples, states)
    first = np.cumsum(n_triples) - n_triples
    rule_count = np.add.reduceat(uses, first) if len(first) else np.zeros(0)
    root_n = np.sqrt(rule_count)
    mixing = root_n / (smoothing + root_n)
    backed_off = (1.0 - mixing) ** 3

    # For inner symbols, r(h) as above; for preterminals the same over words.
    rule = np.repeat(np.arange(len(n_triples)), n_triples)
    parent_state = state_start[backbone.parent[rule]] + triples[:, 0]
    smoothed = sums(parent_state, uses * (1.0 - backed_off[rule]), n_all)
    from_share = sums(backbone.parent, rule_count * backed_off, len(symbol_count))

    leaf = examples.pair[node] >= 0
    key = examples.pair[node[leaf]].astype(np.int64) * MAX_COUNTED_STATES + states.state[leaf]
    distinct, number = np.unique(key, return_inverse=True)
    entry, word_state = np.divmod(distinct, MAX_COUNTED_STATES)
    word_uses = sums(number, use[leaf], len(distinct))
    word_use_start = np.searchsorted(entry, np.arange(len(words.word) + 1)).astype(np.int64)
    lean = word_smoothing / (words.count + word_smoothing)
    word_place = state_start[words.symbol[entry]] + word_state
    smoothed += sums(word_place, word_uses * (1.0 - lean[entry]), n_all)
    from_share += sums(words.symbol, words.count * lean, len(symbol_count))
    mean = (smoothed + from_share[of_state] * share) / symbol_count[of_state]

    # Charts multiply the vector of a word by p(word | symbol) as smoothed by the backbone, so a
    # state's words, including unseen ones, must sum to 1 with it.
    seen = words.entry_probability()
    unseen = np.maximum(0.0, 1.0 - sums(words.symbol, seen, len(symbol_count)))
    of_words = sums(word_place, (seen * (1.0 - lean) / words.count)[entry] * word_uses, n_all)
    leaning = sums(words.symbol, seen * lean, len(symbol_count))
    total = unseen[of_state] + (of_words + leaning[of_state] * share) / mean

    at_root = examples.parent[node] < 0
    root = sums(place[at_root], use[at_root], n_all)
    is_word = examples.symbols.tag[of_state] >= 0
    sample_start = np.full((len(n_triples), 3), NO_MATRIX, dtype=np.int64)
    sample_start[:, 0] = first
    parameters = LatentParameters(
        state_start=state_start,
        rule_symbols=np.ascontiguousarray(examples.rules),
        dense_start=np.full(len(n_triples), -1, dtype=np.int64),
        dense=np.zeros(0),
        n_samples=n_triples.astype(np.int32),
        sample_start=sample_start,
        samples=np.zeros(0),
        ratio=backbone.probability,
        smoothing=mixing,
        outside_mean=np.ones(n_all),
        inside_mean=mean,
        lexical_start=np.zeros(len(words.word) + 1, dtype=np.int64),
        lexical=np.zeros(0),
        unseen_word=1.0 / total,
        root=root / root.sum(),
        triples=triples,
        uses=uses,
        word_use_start=word_use_start,
        word_state=word_state.astype(np.uint16),
        word_uses=word_uses,
        lean=lean,
        state_share=share,
        state_scale=1.0 / np.where(is_word, mean * total, mean),
    )
    return LPCFG(backbone, parameters, signed=False)


def _triples(examples: Examples, states: NodeStates) -> tuple[NDArray[np.uint16], Floats, Longs]:
    """Triples of states of each rule, sorted, with their counts, and the number per rule."""
    inner = np.flatnonzero(examples.rule >= 0)
    n_rules = len(examples.rules)
    key = examples.rule[inner].astype(np.int64)
    use = examples.weight[inner]
    at = np.arange(len(inner))
    columns: list[Ints] = []
    for nodes in (inner, examples.left[inner], examples.right[inner]):
        # Each row is repeated for each of the node's states.
        n = np.diff(states.start)[nodes[at]]
        offset = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        row = np.repeat(states.start[nodes[at]], n) + offset
        at, use = np.repeat(at, n), np.repeat(use, n) * states.part[row]
        columns = [np.repeat(column, n) for column in columns]
        columns.append(states.state[row])
    rule = key[at]
    table = np.stack([rule, *columns], axis=1)
    order = np.lexsort(table.T[::-1])
    table = table[order]
    is_first = np.append(True, np.any(table[1:] != table[:-1], axis=1))[: len(table)]
    heads = np.flatnonzero(is_first)
    uses = np.add.reduceat(use[order], heads) if len(heads) else np.zeros(0)
    triples = np.ascontiguousarray(table[heads, 1:], dtype=np.uint16)
    return triples, uses, np.bincount(table[heads, 0], minlength=n_rules).astype(np.int64)
