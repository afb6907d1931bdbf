"""Prefix probabilities: the probability that a sentence begins with given words.

p(w_1 ... w_i ...) is the total probability of all sentences that begin with w_1 ... w_i.  Divided
by that of the prefix one word shorter, it is the probability of the word given all preceding words.
The negative logarithm is the word's *surprisal* (Hale 2001).

A sentence is generated from left to right.  For each position k and each state s of each symbol,
let forward(k)[s] be the total weight of all partial derivations that predict a constituent of that
kind at k as a right child, or as the root for k = 0: the words before k have been generated, and
everything still open to the right is summed out.  Let e be the mass of all subtrees below each
state, T the tensor of all rules, and

    P_L = T with e for the right child, as a matrix from parents to left children.

The constituents that begin at k at any depth on a left edge, and the following positions, are then

    predicted(k)  = forward(k) (I + P_L + P_L^2 + ...) = forward(k) (I - P_L)^-1
    forward(j)   += T(predicted(k), inside(k, j), .)         for each k < j
    prefix(k + 1) = predicted(k) . word vectors at k

so that, besides the inside vectors of all spans, one row per position is needed.
The inverse is computed once for a grammar (`LeftCorners`).  Jelinek and Lafferty (1991) compute
prefix values of all spans instead; with rows, this is the forward pass of Stolcke (1995).

All of this is linear in each state's vectors, so latent states change nothing, nor does a change
of basis of them.  In a probability grammar e is the vector of ones, as long as the choices of
each state sum to one and trees are finite with probability 1.  In general it solves

    e = word mass + T(e, e),

starting from zero.  Where nothing is negative, Newton's method is used, which increases to the
smallest solution.  In a signed grammar the right side is iterated, which sums trees by depth and
may diverge.  Ratios of prefix values are then estimates of probabilities; some may be negative.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentree.constituency.chart import _kernels_dense as kernels
from eigentree.constituency.chart._kernels_spans import first_span
from eigentree.constituency.chart.arrays import LatentRules, Leaves, PrefixChart
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.errors import GrammarError
from eigentree.linalg.threads import one_thread
from eigentree.types import Flags, Floats, Longs

# Newton's method takes about ten iterations, sums by depth as many as trees are deep.
ROUNDS = 1000
# Relative size of a step at which iteration stops.
PRECISION = 1e-13
# Memory limit for the tables of a grammar and for the chart of a sentence.
MAX_BYTES = 1 << 31


class Surprisal(NamedTuple):
    """The surprisal of each word of a sentence and of its end.

    Attributes
    ----------
    words
        As given.
    entries
        The lexicon entry of each: the word itself or a class of unknown words, whose probability is
        then that of all its words together.
    nats : float64, axes (n + 1)
        Surprisal of each word and of the end, in nats; inf for a word that cannot follow, NaN for
        everything after it.  Also NaN where a signed grammar gives a negative ratio.
    log_prefix : float64, axes (n + 1)
        Natural logarithm of the total probability of all sentences that begin with the first i
        words; the first entry is that of all sentences, near 0.  -inf from the first word on that
        cannot follow.  In a signed grammar, logarithms of absolute values.
    log_value : float
        The same for the whole sentence.
    """

    words: list[str]
    entries: list[str]
    nats: Floats
    log_prefix: Floats
    log_value: float

    @property
    def bits(self) -> Floats:
        """Axes (n + 1): surprisal in bits."""
        return self.nats / math.log(2.0)


class LeftCorners(NamedTuple):
    """Tables of a grammar for prefix probabilities; computed once, by `of`.

    Attributes
    ----------
    grammar
    rules
    total : float64, axes (states)
        Mass of all subtrees below each state; preterminals are the last symbols.
    closure : float64, axes (inner states, states)
        Expected number of occurrences of each state on the left edge below each inner state.
    root : float64, axes (states)
    """

    grammar: LPCFG
    rules: LatentRules
    total: Floats
    closure: Floats
    root: Floats

    @classmethod
    def of(cls, grammar: LPCFG) -> LeftCorners:
        """Form all tensors, sum all subtrees below each state, and close left edges.

        Raises
        ------
        GrammarError
            When the sum over all trees of the grammar diverges, or when its tables would need
            more than `MAX_BYTES`.

        Cost
        ----
        O(m^3) for m states of symbols other than preterminals, about ten times; in a signed
        grammar once, plus one pass over all tensors per level of depth.  Memory for all tensors
        and four matrices of m times the number of all states.

        References
        ----------
        jelinek-lafferty-1991; stolcke-1995; etessami-yannakakis-2009 for Newton's method.
        """
        rules = _formed(grammar)
        inner = int(rules.state_start[grammar.backbone.symbols.n_inner])
        with one_thread():
            total, to_left = _total_mass(rules, _word_mass(grammar), inner, signed=grammar.signed)
            once = np.eye(*to_left.shape)
            once[:, inner:] = to_left[:, inner:]
            closure = np.linalg.solve(np.eye(inner) - to_left[:, :inner], once)
        may_be_root = np.repeat(grammar.backbone.root > 0.0, grammar.n_states)
        root = may_be_root * grammar.parameters.root
        return cls(grammar, rules, total, np.ascontiguousarray(closure), root)

    def surprisal(self, words: list[str], leaves: Leaves) -> Surprisal:
        """The surprisal of each word of a sentence and of its end.

        Parameters
        ----------
        words
            At least one.
        leaves
            Candidates of each word, see
            `eigentree.constituency.grammar.lexical_candidates.under_seen_tags`; a word may have
            none.

        Raises
        ------
        GrammarError
            When the chart would need more than `MAX_BYTES`.

        Cost
        ----
        For each span and live rule K^3, for each split point and live pair of children K^2;
        for each word one pass over all rules that can begin there, and m^2.  Memory for m numbers
        per span.
        """
        grammar, rules, root = self.grammar, self.rules, self.root
        n, (inner, n_states) = len(words), self.closure.shape
        n_symbols = len(rules.state_start) - 1
        n_spans = first_span(n, n + 1)
        if n_spans * (8 * inner + 13 * n_symbols) > MAX_BYTES:
            raise GrammarError(
                f"the chart of {n} words with {inner} states would need more than "
                f"{MAX_BYTES >> 30} GiB; surprisal requires shorter sentences or fewer states"
            )
        chart = PrefixChart(
            np.zeros((n, n_states - inner)),
            np.zeros((n_spans - n, inner)),
            np.full(n_spans, kernels.ZERO, dtype=np.int64),
            np.zeros((n_spans, n_symbols), dtype=np.bool_),
            np.empty((n_spans, n_symbols), dtype=np.int32),
            np.zeros(n_spans, dtype=np.int32),
            np.empty((n_spans, n_symbols)),
        )
        _enter_words(grammar, leaves, inner, chart)
        kernels.inside_of_prefixes(n, rules, chart)
        top = chart.inside[-1] @ root[:inner] if n > 1 else chart.word[0] @ root[inner:]
        forward, prefix = np.zeros((n, n_states)), np.zeros(n)
        forward[0] = root
        exponents = np.full(n, kernels.ZERO, dtype=np.int64)
        exponents[0] = 0
        prefix_exponent = np.zeros(n, dtype=np.int64)
        kernels.forward_of_prefixes(
            n, rules, self.closure, chart, forward, exponents, prefix, prefix_exponent
        )
        values = np.concatenate([[root @ self.total], prefix, [top]])
        logs = _logarithms(values, np.concatenate([[0], prefix_exponent, chart.exponent[-1:]]))
        lexicon = grammar.backbone.lexicon
        return Surprisal(
            words,
            [lexicon.entries[number] for number in lexicon.ids(words)],
            _surprisals(logs, np.sign(values)),
            logs[:-1],
            float(logs[-1]),
        )


def _logarithms(values: Floats, exponent: Longs) -> Floats:
    """Natural logarithms of the absolute values of numbers scaled by powers of two."""
    logs = np.full(len(values), -np.inf)
    np.log(np.abs(values), out=logs, where=values != 0.0)
    return np.asarray(logs + np.where(values != 0.0, exponent, 0) * math.log(2.0))


def _surprisals(logs: Floats, sign: Floats) -> Floats:
    """Differences of logarithms; NaN where a ratio is negative or its denominator is zero."""
    surprisal = np.full(len(logs) - 1, np.nan)
    is_defined = (sign[:-1] != 0) & (sign[1:] != -sign[:-1])
    np.subtract(logs[:-1], logs[1:], out=surprisal, where=is_defined)
    return surprisal


class TableSizes(NamedTuple):
    """The sizes of the tables of a grammar.

    Attributes
    ----------
    is_product : bool, axes (R)
        Whether the tensor of a rule is the product of means.
    cells : int64, axes (P)
        Number of entries of the matrices of each pair of children; 0 if all are products.
    tensor : int64, axes (R)
        Number of entries of each rule.
    inner, states
        Number of states of symbols other than preterminals, and of all.
    """

    is_product: Flags
    cells: Longs
    tensor: Longs
    inner: int
    states: int

    @classmethod
    def of(cls, grammar: LPCFG) -> TableSizes:
        backbone, p = grammar.backbone, grammar.parameters
        index, sizes = backbone.index, np.diff(p.state_start)
        is_product = (p.dense_start < 0) & (p.n_samples == 0)
        cells = sizes[index.pair_left] * sizes[index.pair_right]
        tensor = sizes[backbone.parent] * np.where(is_product, 1, cells[index.rule_pair])
        cells[np.bincount(index.rule_pair, ~is_product, len(cells)) == 0] = 0
        inner = int(sizes[backbone.symbols.tag < 0].sum())
        return cls(is_product, cells, tensor, inner, len(p.root))

    @property
    def fit(self) -> bool:
        """Whether the tables need no more than `MAX_BYTES`."""
        return 8 * max(int(self.tensor.sum()), 4 * self.inner * self.states) <= MAX_BYTES


def _formed(grammar: LPCFG) -> LatentRules:
    """The tensors of a grammar, within the memory limit."""
    backbone, p = grammar.backbone, grammar.parameters
    sizes = TableSizes.of(grammar)
    is_product, cells = sizes.is_product, sizes.cells
    if not sizes.fit:
        raise GrammarError(
            f"the tables of {sizes.inner} states of phrases and {sizes.tensor.sum()} entries of "
            f"rules would need more than {MAX_BYTES >> 30} GiB; surprisal requires fewer states or "
            "symbols"
        )
    tensor = np.empty(int(sizes.tensor.sum()))
    tensor_start = np.cumsum(sizes.tensor) - sizes.tensor
    for rule, at in enumerate(tensor_start.tolist()):
        if is_product[rule]:
            values = p.ratio[rule] * p.outside_mean[grammar.states(int(backbone.parent[rule]))]
        else:
            values = grammar.tensor(rule).ravel()
        tensor[at : at + len(values)] = values
    return LatentRules(
        backbone.index,
        backbone.parent,
        p.state_start,
        is_product,
        tensor_start,
        tensor,
        p.inside_mean,
        np.concatenate([[0], np.cumsum(cells)]),
        int(cells.max(initial=0)),
    )


def _word_mass(grammar: LPCFG) -> Floats:
    """Axes (states): the total probability of all words, known and unknown; 0 for phrases."""
    table, p = grammar.backbone.words, grammar.parameters
    mass = np.zeros(len(p.root))
    left = np.ones(len(grammar.n_states))
    for entry, probability in enumerate(table.entry_probability().tolist()):
        symbol = int(table.symbol[entry])
        mass[grammar.states(symbol)] += probability * grammar.word_vector(entry)
        left[symbol] -= probability
    # Words seen with the tag, but under other preterminals of it.
    is_word = np.repeat(table.symbols.tag >= 0, grammar.n_states)
    mass += is_word * np.repeat(left.clip(0.0), grammar.n_states) * p.unseen_word
    return mass


def _total_mass(
    rules: LatentRules, words: Floats, inner: int, *, signed: bool
) -> tuple[Floats, Floats]:
    """The mass below each state, and T with it for the right child (see the module docstring)."""
    total, n_states = words.copy(), len(words)
    for _ in range(ROUNDS):
        to_left, to_right = np.zeros((2, inner, n_states))
        kernels.add_corners(rules, total, to_left, to_right)
        missing = to_left @ total - total[:inner]
        try:
            rest = np.eye(inner) - (to_left + to_right)[:, :inner]
            step = missing if signed else np.linalg.solve(rest, missing)
        except np.linalg.LinAlgError:
            break
        size = np.abs(total).max(initial=0.0)
        # Without negative entries, steps increase unless no finite solution exists.
        if not (np.isfinite(size) and (signed or np.all(step >= -1e-9 * size))):
            break
        total[:inner] += step
        if np.all(np.abs(step) <= PRECISION * size):
            return total, to_left
    raise GrammarError(
        "the sum over all trees of the grammar diverges, so prefix probabilities are undefined"
    )


def _enter_words(grammar: LPCFG, leaves: Leaves, inner: int, chart: PrefixChart) -> None:
    """Write the vectors of words into a chart."""
    unseen = grammar.parameters.unseen_word
    for word, symbol, weight, entry in zip(
        leaves.word.tolist(),
        leaves.symbol.tolist(),
        leaves.weight.tolist(),
        leaves.entry.tolist(),
        strict=True,
    ):
        states = grammar.states(symbol)
        vector = grammar.word_vector(entry) if entry >= 0 else unseen[states]
        chart.word[word, states.start - inner : states.stop - inner] += weight * vector
        chart.is_live[word, symbol] = True
    chart.exponent[: len(chart.word)] = 0
    kernels.scale_rows(chart.word, chart.exponent)
