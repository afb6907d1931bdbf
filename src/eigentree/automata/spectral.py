"""Spectral learning of operator models from counts of short substrings.

Sequences come from an automaton with n hidden states.  Let # be a boundary before and after each
sequence; it is a context only and is never read.  With means over all sequences, empty ones too,

    P[b, a]     how often b follows a,                        a a symbol or #, b likewise,
    P_x[b, a]   how often a, x and b follow one another,      x a symbol,

the automaton has matrices F and B, with columns and rows for the contexts before and after:

    P = B F,    P_x = B A[x] F,    F[:, #] = initial,    B[#, :] = final.

So any factors of P are the F and B of an automaton with the same values in another basis.  With the
n largest singular values s of P and their vectors U and V,

    A[x] = U' P_x V diag(1/s),    initial = U' P[:, #] = s V[#],    final = P[#, :] V / s = U[#],

without search, initialisation or local optima (Hsu, Kakade and Zhang 2009; Luque et al. 2012,
whose boundaries are read, which would make their operators zero here).  From exact P and P_x of
rank n the values are exact; from samples they converge.  The method can't recover automata whose P
has a lower rank than they have states, such as those with fewer symbols than states.

**Scaling.**  In P frequent contexts dominate.  With rows divided by r and columns by c,

    P[b, a] / (r[b] c[a]),    r[b] = sqrt(sum of row b + `RARE`),    c[a] likewise,

its singular vectors are those of a canonical correlation analysis, except for the constant, which
damps the noise of the rarest contexts.  U / r and V / c then replace U and V above, and

    initial = s V[#] c[#],    final = U[#] r[#]

with U and V not divided.  This, too, is exact if P is.

**Rank.**  A singular value within the sampling noise is no state.  Counts are nearly Poisson, so
the noise of an entry has the variance v[b, a] = P[b, a] / (m r[b]^2 c[a]^2) for m sequences, and
the norm of a matrix of such noise is about

    sqrt(largest row sum of v) + sqrt(largest column sum of v).

The smallest singular value that is kept is `OperatorOptions.noise` times that.

**Back-off.**  Values may be zero or negative, above all for sequences unlike those seen.  A
smoothed automaton with one state is mixed in, which adds a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from eigentree._core.random import generator
from eigentree.automata.counting import PRIOR, check_prior, count_one_state
from eigentree.automata.model import OperatorModel, mixture
from eigentree.automata.sequences import Sequences
from eigentree.errors import GrammarError, check_range
from eigentree.linalg.svd import cross_moment_svd
from eigentree.linalg.threads import one_thread
from eigentree.types import Floats, Ints, Longs

# Trigrams whose vectors are in memory at a time.
CHUNK = 1 << 16
# Added to how often a context occurs, in occurrences a sequence, before scaling by it.
RARE = 1e-3


@dataclass(frozen=True)
class OperatorOptions:
    """Settings of spectral learning from sequences.

    Attributes
    ----------
    states
        Maximum number of states of the spectral part.
    relative_cut
        Singular values below this fraction of the largest are dropped.
    noise
        So are those below this multiple of the noise of the counts; see above.
    scaled
        Whether contexts are scaled by their frequency before the decomposition.
    back_off
        Weight of the automaton with one state that is mixed in; 0 for none.
    prior
        Pseudo-count of each of its outcomes.
    """

    states: int = 6
    relative_cut: float = 1e-3
    noise: float = 0.5
    scaled: bool = True
    back_off: float = 0.1
    prior: float = PRIOR

    def __post_init__(self) -> None:
        check_range(1, states=self.states)
        check_range(0, 1, relative_cut=self.relative_cut, back_off=self.back_off)
        check_range(0, noise=self.noise)
        check_prior(self.prior)


class Statistics(NamedTuple):
    """Mean counts of substrings over sequences, for substrings that occur.

    Attributes
    ----------
    n_symbols
        Number of symbols, l, which is also the number of the boundary.
    n_sequences
        Number of sequences counted; infinity for exact means.
    bigrams : int32, axes (pairs, 2)
        Context before, context after; both up to l.
    bigram_mean : float64, axes (pairs)
    trigrams : int32, axes (triples, 3)
        Context before, symbol, context after; sorted by the symbol, which is below l.
    trigram_mean : float64, axes (triples)
    """

    n_symbols: int
    n_sequences: float
    bigrams: Ints
    bigram_mean: Floats
    trigrams: Ints
    trigram_mean: Floats


class Factors(NamedTuple):
    """P, scaled or not, in parts: U diag(s) V'.

    Attributes
    ----------
    left, right : float64, axes (l + 1, n)
        U / r and V / c.
    values : float64, axes (n)
        Singular values, from the largest down.
    initial, final : float64, axes (n)
    dropped : float64
        Further singular values, up to the maximum number of states, that were dropped.
    """

    left: Floats
    right: Floats
    values: Floats
    initial: Floats
    final: Floats
    dropped: Floats


def learn_operators(
    sequences: Sequences, options: OperatorOptions = OperatorOptions(), *, seed: int = 0
) -> OperatorModel:
    """Learn an operator model by the spectral method.

    Parameters
    ----------
    sequences
        At least one.
    options
        Maximum rank, back-off.
    seed
        Seed of the random vectors for decomposing large alphabets.

    Raises
    ------
    GrammarError
        When there is no sequence.

    Cost
    ----
    O(T log T) for counting T symbols in all, O(pairs n) for the decomposition and O(triples n^2)
    for the operators, over distinct pairs and triples.  Arrays of l^2 entries are made only for l
    up to some hundreds.

    References
    ----------
    hsu-2009; luque-2012; balle-2014.
    """
    with one_thread():
        model = from_substrings(sequences.symbols, count_substrings(sequences), options, seed=seed)
    if options.back_off:
        model = mixture(model, count_one_state(sequences, options.prior), options.back_off)
    return model


def from_substrings(
    symbols: tuple[str, ...], statistics: Statistics, options: OperatorOptions, *, seed: int = 0
) -> OperatorModel:
    """The operator model of given statistics, without back-off; exact if they are."""
    return assemble(symbols, statistics, decompose(statistics, options, seed=seed))


def count_substrings(sequences: Sequences) -> Statistics:
    """Count pairs and triples in O(T log T).

    Raises
    ------
    GrammarError
        When there is no sequence.
    """
    if not sequences.n_sequences:
        raise GrammarError("there are no sequences to learn from; at least one is needed")
    tape = sequences.tape().astype(np.int64)
    m, boundary = float(sequences.n_sequences), len(sequences.symbols)
    wide = boundary + 1
    pairs, pair_of, pair_count = np.unique(
        tape[:-1] * wide + tape[1:], return_inverse=True, return_counts=True
    )
    # A triple is numbered by its first pair and the context after it, which keeps numbers small.
    # Triples are to be sorted by symbol first, so pairs are sorted by their second member.
    order = np.argsort(pairs % wide, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    inner = np.flatnonzero(tape[1:-1] != boundary)
    triples, triple_count = np.unique(
        place[pair_of[inner]] * wide + tape[inner + 2], return_counts=True
    )
    first_pair = pairs[order[triples // wide]]
    columns = first_pair // wide, first_pair % wide, triples % wide
    return Statistics(
        boundary,
        m,
        np.stack([pairs // wide, pairs % wide], axis=1).astype(np.int32),
        pair_count / m,
        np.stack(columns, axis=1).astype(np.int32),
        triple_count / m,
    )


def decompose(statistics: Statistics, options: OperatorOptions, *, seed: int = 0) -> Factors:
    """The significant singular values with their vectors; at least one."""
    before, after = statistics.bigrams.T
    mean, boundary = statistics.bigram_mean, statistics.n_symbols
    wide = boundary + 1
    r, c = np.ones((2, wide))
    if options.scaled:
        r, c = (np.sqrt(np.bincount(side, mean, wide) + RARE) for side in (after, before))
    scale = r[after] * c[before]
    found = cross_moment_svd(
        _indicators(after, wide),
        _indicators(before, wide),
        mean / scale,
        options.states,
        generator(seed),
        relative_cut=options.relative_cut,
    )
    whole = float(np.sum(mean / scale))
    values = found.values * whole
    variance = mean / scale**2 / statistics.n_sequences
    sums = [np.bincount(side, variance).max() for side in (after, before)]
    noise = options.noise * np.sqrt(sums).sum()
    n = max(1, int(np.sum(values > noise)))
    left, values, right = found.left[:, :n], values[:n], found.right[:, :n]
    return Factors(
        left / r[:, None],
        right / c[:, None],
        values,
        values * right[boundary] * c[boundary],
        left[boundary] * r[boundary],
        np.append(found.values[n:], found.dropped) * whole,
    )


def _indicators(numbers: Ints, wide: int) -> sparse.csr_array:
    """Axes (rows, wide): 1 at the number of each row."""
    rows = np.arange(len(numbers) + 1)
    return sparse.csr_array((np.ones(len(numbers)), numbers, rows), shape=(len(numbers), wide))


def assemble(symbols: tuple[str, ...], statistics: Statistics, factors: Factors) -> OperatorModel:
    """The operator model of given factors."""
    n, boundary = len(factors.values), statistics.n_symbols
    operators = np.zeros((boundary, n, n))
    right = factors.right / factors.values
    before, symbol, after = statistics.trigrams.T
    start: Longs = np.searchsorted(symbol, np.arange(boundary + 1))
    for number in range(boundary):
        for first in range(start[number], start[number + 1], CHUNK):
            rows = slice(first, min(first + CHUNK, start[number + 1]))
            weighted = right[before[rows]] * statistics.trigram_mean[rows, None]
            operators[number] += factors.left[after[rows]].T @ weighted
    return OperatorModel(symbols, factors.initial, factors.final, operators)
