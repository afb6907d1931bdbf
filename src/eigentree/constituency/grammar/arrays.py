"""Records of arrays that describe a grammar to the charts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentree.types import Codes, Codes2, Floats, Ints, Ints2, Longs, Longs2


class LexicalCandidates(NamedTuple):
    """Candidate preterminals for one word.

    Attributes
    ----------
    symbol : int32, axes (candidates)
    probability : float64, axes (candidates)
        p(word | symbol), smoothed.
    entry : int32, axes (candidates)
        Row of the `WordTable`, -1 for an unseen pair.
    """

    symbol: Ints
    probability: Floats
    entry: Ints


class RuleIndex(NamedTuple):
    """Binary rules indexed for charts.

    Rules with the same children form a pair; pairs are sorted by left, then right child,
    rules by pair, then parent.

    Attributes
    ----------
    pair_start : int32, axes (N+1)
        Pairs whose left child is b are ``pair_start[b]:pair_start[b+1]``.
    pair_middle : int32, axes (N)
        Among the pairs with left child b, those before ``pair_middle[b]`` have a right child that
        is not a preterminal.
    pair_right : int32, axes (P)
        Right child of each pair.
    rule_start : int32, axes (P+1)
        Rules of pair p are ``rule_start[p]:rule_start[p+1]``.
    rule_pair : int32, axes (R)
    parent_start : int32, axes (N+1)
    parent_rules : int32, axes (R)
        Rules of parent a are ``parent_rules[parent_start[a]:parent_start[a+1]]``.
    right_start : int32, axes (N+1)
    right_pairs : int32, axes (P)
        Pairs whose right child is c are ``right_pairs[right_start[c]:right_start[c+1]]``.
    pair_left : int32, axes (P)
    row, column : int32, axes (N)
        Row (column) of a left (right) child in ``pair_of``; 0 for a symbol that never is one.
    pair_of : int32, axes (rows, columns)
        The pair of a left and a right child, -1 if no rule has them.
    """

    pair_start: Ints
    pair_middle: Ints
    pair_right: Ints
    rule_start: Ints
    rule_pair: Ints
    parent_start: Ints
    parent_rules: Ints
    right_start: Ints
    right_pairs: Ints
    pair_left: Ints
    row: Ints
    column: Ints
    pair_of: Ints2

    @classmethod
    def of(
        cls,
        n_symbols: int,
        n_inner: int,
        parent: Ints,
        left: Ints,
        right: Ints,
    ) -> RuleIndex:
        """Index rules that are sorted by (left, right, parent).

        The first `n_inner` symbols are not preterminals, all others are.
        """
        key = left.astype(np.int64) * n_symbols + right
        pairs, first, rule_pair = np.unique(key, return_index=True, return_inverse=True)
        pair_left, pair_right = pairs // n_symbols, pairs % n_symbols
        everything = np.arange(n_symbols + 1)
        by_parent = np.argsort(parent, kind="stable")
        by_right = np.argsort(pair_right, kind="stable")

        row, column = np.zeros((2, n_symbols), dtype=np.int64)
        row[np.unique(pair_left)] = np.arange(1, len(np.unique(pair_left)) + 1)
        column[np.unique(pair_right)] = np.arange(1, len(np.unique(pair_right)) + 1)
        pair_of = np.full((row.max() + 1, column.max() + 1), -1, dtype=np.int32)
        pair_of[row[pair_left], column[pair_right]] = np.arange(len(pairs))

        def narrow(array: Longs) -> Ints:
            return np.ascontiguousarray(array, dtype=np.int32)

        return cls(
            narrow(np.searchsorted(pair_left, everything)),
            narrow(np.searchsorted(pairs, everything[:-1] * n_symbols + n_inner)),
            narrow(pair_right),
            narrow(np.append(first, len(parent))),
            narrow(rule_pair),
            narrow(np.searchsorted(parent[by_parent], everything)),
            narrow(by_parent),
            narrow(np.searchsorted(pair_right[by_right], everything)),
            narrow(by_right),
            narrow(pair_left),
            narrow(row),
            narrow(column),
            pair_of,
        )


class LatentParameters(NamedTuple):
    """The arrays of a grammar with latent states.

    Vectors over the states of each symbol are stored one after another: those of symbol a
    at ``state_start[a]:state_start[a+1]``.  Rows of samples likewise, one rule after another.

    Attributes
    ----------
    state_start : int64, axes (N + 1)
    rule_symbols : int32, axes (R, 3)
        Parent, left and right symbol.
    dense_start : int64, axes (R)
        Start of a rule's tensor in ``dense``, -1 for the other forms.
    dense : float64
        Tensors with axes (K_a, K_b, K_c), flattened.
    n_samples : int32, axes (R)
        0 for dense rules and for products of means; the number of triples for rules stored as
        counts.
    sample_start : int64, axes (R, 3)
        Start of Z, Y and W of a rule in ``samples``; for rules stored as counts, the start of
        their triples, and `NO_MATRIX` twice.
    samples : float64
        Matrices with axes (n, K), flattened.
    ratio, smoothing : float64, axes (R)
        p(left right | parent), and lambda, of rules that are not dense.
    outside_mean, inside_mean : float64, axes (states of all symbols)
        H_a and F_a of section 3.2.
    lexical_start : int64, axes (L + 1)
    lexical : float64
        Vector of each entry of the word table, a factor of p(word | symbol); of length 0 if stored
        as counts.
    unseen_word : float64, axes (states of all symbols)
        The same for words not seen with the symbol.
    root : float64, axes (states of all symbols)
    triples : uint16, axes (T, 3)
        States of parent, left and right child, rule by rule; empty if no rule is stored as counts.
    uses : float64, axes (T)
        How often the rule was seen with each triple, positive.
    word_use_start : int64, axes (L + 1)
        Start of the states of each entry of the word table; of length 0, as are the next three
        arrays, if nothing is stored as counts.
    word_state : uint16, axes (U)
    word_uses : float64, axes (U)
        How often the entry was seen with the state, positive.
    lean : float64, axes (L)
        Weight of the symbol's states in a word's vector.
    state_share, state_scale : float64, axes (states of all symbols)
        p(h | a), and the factor of the counts of state h; of length 0 if nothing is stored as
        counts.
    """

    state_start: Longs
    rule_symbols: Ints2
    dense_start: Longs
    dense: Floats
    n_samples: Ints
    sample_start: Longs2
    samples: Floats
    ratio: Floats
    smoothing: Floats
    outside_mean: Floats
    inside_mean: Floats
    lexical_start: Longs
    lexical: Floats
    unseen_word: Floats
    root: Floats
    triples: Codes2 = np.zeros((0, 3), dtype=np.uint16)
    uses: Floats = np.zeros(0)
    word_use_start: Longs = np.zeros(0, dtype=np.int64)
    word_state: Codes = np.zeros(0, dtype=np.uint16)
    word_uses: Floats = np.zeros(0)
    lean: Floats = np.zeros(0)
    state_share: Floats = np.zeros(0)
    state_scale: Floats = np.zeros(0)


# Fields of the form of counts; older model files lack them.
COUNTS = tuple(LatentParameters._field_defaults)
