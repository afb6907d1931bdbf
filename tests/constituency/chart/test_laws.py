"""Laws of inside-outside that need no oracle: counting, derivative, gauge, scaling, forms."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import Marginals, inside_outside
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.grammar.arrays import COUNTS, LatentParameters
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from tests.helpers import close
from tests.oracles.enumeration import Enumeration
from tests.strategies import Sentence, grammars, sentence, sentences

# Interpreted kernels do the same in their own time.
LONG = 40 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 300


def bracketings(branching: float = 0.5) -> PCFG:
    """X -> X X with some probability, X+t -> w, any binary tree over X and X+t."""
    table = SymbolTable.of([Symbol("interminal", ("X",)), Symbol("preterminal", ("X", "t"))])
    lexicon = Lexicon(("w", UNKNOWN), LexiconOptions(rare_threshold=0))
    one = np.ones(1)
    words = WordTable(table, lexicon, np.zeros(1, np.int32), np.ones(1, np.int32), one)
    left, right = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32).T.copy()
    return PCFG(
        words, np.zeros(4, np.int32), left, right, np.full(4, branching), np.array([1.0, 1.0])
    )


def log_catalan(n: int) -> float:
    return math.lgamma(2 * n + 1) - math.lgamma(n + 2) - math.lgamma(n + 1)


@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 5, 6, 12])
def test_counting(n_words: int):
    # One symbol and all weights 1: the value is the number of binary trees.
    backbone = bracketings(branching=0.5)
    pruned = prune(backbone, sentence(one_state(backbone), [0] * n_words, [[0]] * n_words).leaves)
    catalan = math.comb(2 * n_words - 2, n_words - 1) // n_words
    # A PCFG's probabilities are at most 1/2 here: each tree has n - 1 rules.
    expected = math.log(catalan) - (n_words - 1) * math.log(2.0)
    assert close(pruned.log_value, expected, rtol=1e-14, atol=1e-14)
    counting = weights(one_state(backbone), dense=np.ones(4))
    marginals = inside_outside(pruned.forest, counting)
    assert close(marginals.log_value, math.log(catalan), rtol=1e-14, atol=1e-14)


def weights(grammar: LPCFG, **arrays: np.ndarray) -> LPCFG:
    """The grammar with other arrays."""
    return LPCFG(grammar.backbone, grammar.parameters._replace(**arrays), grammar.signed)


def forest_of(each: Sentence) -> Forest:
    pruned = prune(each.grammar.backbone, each.leaves, threshold=0.0)
    assume(pruned is not None)
    return pruned.forest


def tame(each: Sentence, condition: float = 50.0) -> tuple[Forest, Marginals]:
    """Forest and marginals of a sentence whose trees don't cancel."""
    forest = forest_of(each)
    assume(Enumeration(each.grammar, each.oracle_leaves).condition < condition)
    marginals = inside_outside(forest, each.grammar)
    assert marginals is not None
    return forest, marginals


def scaled_rule(grammar: LPCFG, rule: int, factor: float) -> LPCFG:
    p = grammar.parameters
    dense, ratio = p.dense.copy(), p.ratio.copy()
    start = int(p.dense_start[rule])
    if start >= 0:
        dense[start : start + grammar.tensor(rule).size] *= factor
    ratio[rule] *= factor
    return weights(grammar, dense=dense, ratio=ratio)


STEP = 1e-4
# Of central differences: the step squared, times third derivatives of the logarithm.
DIFFERENCE_ERROR = 1e-5


@given(sentences())
def test_rule_marginals_are_derivatives(each: Sentence):
    forest, marginals = tame(each)
    rule_of_edge = np.repeat(forest.group_rule, np.diff(forest.group_edges))
    for rule in np.unique(rule_of_edge):
        up, down = (
            inside_outside(forest, scaled_rule(each.grammar, rule, math.exp(step))).log_value
            for step in (STEP, -STEP)
        )
        expected = marginals.edge[rule_of_edge == rule].sum()
        assert close((up - down) / (2 * STEP), expected, rtol=1e-3, atol=DIFFERENCE_ERROR)


@given(sentences())
def test_word_marginals_are_derivatives(each: Sentence):
    forest, marginals = tame(each)
    for item in np.flatnonzero(forest.item_entry > -2):
        values = []
        for step in (STEP, -STEP):
            weight = forest.item_weight.copy()
            weight[item] *= math.exp(step)
            moved = forest._replace(item_weight=weight)
            values.append(inside_outside(moved, each.grammar).log_value)
        slope = (values[0] - values[1]) / (2 * STEP)
        assert close(slope, marginals.item[item], rtol=1e-3, atol=DIFFERENCE_ERROR)


def changed_basis(grammar: LPCFG, symbol: int, change: np.ndarray) -> LPCFG:
    """The grammar with one symbol's inside vectors x turned into `change` x."""
    p = grammar.parameters
    back = np.linalg.inv(change)
    arrays = {name: getattr(p, name).copy() for name in ("dense", "samples", "lexical")}
    for rule, symbols in enumerate(p.rule_symbols):
        sizes = grammar.n_states[symbols]
        first = int(p.dense_start[rule])
        if first >= 0:
            tensor = grammar.tensor(rule)
            for mode, own in enumerate(symbols):
                if own == symbol:
                    matrix = change if mode == 0 else back.T
                    tensor = np.moveaxis(np.tensordot(matrix, tensor, (1, mode)), 0, mode)
            arrays["dense"][first : first + tensor.size] = tensor.ravel()
            continue
        n = int(p.n_samples[rule])
        for mode, own in enumerate(symbols):
            if own == symbol:
                at = slice(p.sample_start[rule, mode], p.sample_start[rule, mode] + n * sizes[mode])
                rows = p.samples[at].reshape(n, sizes[mode])
                arrays["samples"][at] = (rows @ (change.T if mode == 0 else back)).ravel()
    for entry, own in enumerate(grammar.backbone.words.symbol):
        if own == symbol:
            at = slice(p.lexical_start[entry], p.lexical_start[entry + 1])
            arrays["lexical"][at] = change @ p.lexical[at]
    states = grammar.states(symbol)
    for name, matrix in (
        ("unseen_word", change),
        ("outside_mean", change),
        ("inside_mean", back.T),
        ("root", back.T),
    ):
        arrays[name] = getattr(p, name).copy()
        arrays[name][states] = matrix @ getattr(p, name)[states]
    return LPCFG(grammar.backbone, p._replace(**arrays), signed=True)


@pytest.mark.slow
@given(sentences(), st.integers(0, 2**16))
def test_gauge(each: Sentence, seed: int):
    forest, marginals = tame(each)
    grammar = each.grammar
    symbol = int(np.random.default_rng(seed).integers(len(grammar.n_states)))
    size = int(grammar.n_states[symbol])
    change = np.random.default_rng(seed).standard_normal((size, size))
    assume(np.linalg.cond(change) < 1e3)
    changed = inside_outside(forest, changed_basis(grammar, symbol, change))
    assert close(changed.item, marginals.item, rtol=1e-8, atol=1e-8)
    assert close(changed.edge, marginals.edge, rtol=1e-8, atol=1e-8)
    assert close(changed.log_value, marginals.log_value, rtol=1e-8, atol=1e-8)
    assert changed.sign == marginals.sign


def densified(grammar: LPCFG) -> LPCFG:
    """The same grammar with every rule and word in full."""
    tensors = [grammar.tensor(rule) for rule in range(grammar.backbone.n_rules)]
    sizes = [tensor.size for tensor in tensors]
    words = [grammar.word_vector(entry) for entry in range(len(grammar.backbone.words.word))]
    return weights(
        grammar,
        dense=np.concatenate([tensor.ravel() for tensor in tensors]),
        dense_start=np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64),
        n_samples=np.zeros(len(tensors), dtype=np.int32),
        sample_start=np.zeros((len(tensors), 3), dtype=np.int64),
        lexical=np.concatenate(words),
        lexical_start=np.cumsum([0, *map(len, words)]),
        **{name: LatentParameters._field_defaults[name] for name in COUNTS},
    )


@pytest.mark.slow
@given(sentences(grammars(samples=0.0, counts=1.0)))
def test_counts_are_the_dense_tensor_in_disguise(each: Sentence):
    assert each.grammar.is_counted.all()
    assert len(each.grammar.parameters.lexical) == 0
    forest, marginals = tame(each)
    same = inside_outside(forest, densified(each.grammar))
    assert close(same.item, marginals.item, rtol=1e-9, atol=1e-10)
    assert close(same.edge, marginals.edge, rtol=1e-9, atol=1e-10)
    assert close(same.log_value, marginals.log_value, rtol=1e-10, atol=1e-10)


@given(sentences(grammars(samples=1.0)))
def test_samples_are_the_dense_tensor_in_disguise(each: Sentence):
    assert np.all(each.grammar.parameters.dense_start == -1)
    forest, marginals = tame(each)
    dense = densified(each.grammar)
    for rule in range(dense.backbone.n_rules):
        assert close(dense.tensor(rule), each.grammar.tensor(rule), rtol=0.0)
    same = inside_outside(forest, dense)
    assert close(same.item, marginals.item, rtol=1e-9, atol=1e-10)
    assert close(same.edge, marginals.edge, rtol=1e-9, atol=1e-10)
    assert close(same.log_value, marginals.log_value, rtol=1e-10, atol=1e-10)


# Scaling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("word_probability", [1.0, 1e-12, 2.0**-1000])
def test_three_hundred_words(word_probability: float):
    backbone = bracketings(branching=0.25)
    n_words = LONG
    leaves = sentence(one_state(backbone), [0] * n_words, [[0]] * n_words).leaves
    leaves = leaves._replace(weight=np.full(n_words, word_probability))
    pruned = prune(backbone, leaves, threshold=0.01)
    expected = (
        log_catalan(n_words - 1)
        + (n_words - 1) * math.log(0.25)
        + n_words * math.log(word_probability)
    )
    assert close(pruned.log_value, expected, rtol=1e-12)
    assert close(pruned.marginal[-1], 1.0, rtol=1e-12)
    assert np.array_equal(pruned.marginal[:n_words] >= 1.0 - 1e-9, np.ones(n_words, dtype=bool))


@pytest.mark.parametrize("size", [1e-150, 1e-6, 1.0, 1e6, 1e150])
@pytest.mark.parametrize("samples", [False, True])
def test_three_hundred_words_with_states_of_any_size(size: float, samples: bool):
    # Right-branching trees only, so that the value is a product.
    table = SymbolTable.of([Symbol("interminal", ("X",)), Symbol("preterminal", ("t",))])
    lexicon = Lexicon(("w", UNKNOWN), LexiconOptions(rare_threshold=0))
    words = WordTable(table, lexicon, np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1))
    left, right = np.array([[1, 0], [1, 1]], dtype=np.int32).T.copy()
    root = np.array([1.0, 0.0])
    backbone = PCFG(words, np.zeros(2, np.int32), left, right, np.full(2, 0.5), root)
    n_words = LONG
    leaves = sentence(one_state(backbone), [0] * n_words, [[0]] * n_words).leaves
    forest = prune(backbone, leaves).forest
    sign = -1.0
    arrays = {"dense": np.full(2, sign * size)}
    if samples:
        arrays = {
            "dense": np.zeros(0),
            "dense_start": np.full(2, -1),
            "n_samples": np.ones(2, dtype=np.int32),
            "samples": np.ones(1),
            "ratio": np.full(2, sign * size),
        }
    marginals = inside_outside(forest, weights(one_state(backbone), **arrays))
    assert close(marginals.log_value, (n_words - 1) * math.log(size), rtol=1e-12, atol=1e-9)
    assert marginals.sign == (-1) ** (n_words - 1)
    assert close(marginals.item, np.ones(forest.n_items), rtol=1e-11)
    assert close(marginals.edge, np.ones(forest.n_edges), rtol=1e-11)


@given(sentences(max_words=6), st.integers(1, 60))
def test_scaling_by_powers_of_two_changes_no_bit(each: Sentence, shift: int):
    # Every cell then has other exponents; unscaled, six words this rare need no underflow.
    backbone, leaves = each.grammar.backbone, each.leaves
    rare = leaves._replace(weight=leaves.weight * 2.0**-shift)
    plain, moved = (prune(backbone, these, threshold=0.0) for these in (leaves, rare))
    assume(plain is not None)
    assert plain.marginal.tobytes() == moved.marginal.tobytes()
    by_words = each.n_words * shift * math.log(2.0)
    assert close(plain.log_value - by_words, moved.log_value, rtol=1e-13, atol=1e-13)
    fine, fine_moved = (inside_outside(these.forest, each.grammar) for these in (plain, moved))
    assume(fine is not None)
    assert fine.item.tobytes() == fine_moved.item.tobytes()
    assert fine.edge.tobytes() == fine_moved.edge.tobytes()


def dyadic(backbone: PCFG, rng: np.random.Generator) -> PCFG:
    """The PCFG with probabilities 1/2, 1/4 and 1/8, for which floating point is exact."""
    root = np.where(backbone.root > 0, 2.0 ** -rng.integers(1, 4, len(backbone.root)), 0.0)
    probability = 2.0 ** -rng.integers(1, 4, backbone.n_rules)
    return PCFG(
        backbone.words, backbone.parent, backbone.left, backbone.right, probability, root
    )  # fmt: skip


@given(sentences(max_words=5), st.integers(0, 2**16))
def test_scaled_values_equal_unscaled_ones_bit_for_bit(each: Sentence, seed: int):
    rng = np.random.default_rng(seed)
    backbone = dyadic(each.grammar.backbone, rng)
    n_leaves = len(each.leaves.symbol)
    leaves = each.leaves._replace(weight=2.0 ** -rng.integers(1, 9, n_leaves))
    each = Sentence(one_state(backbone), leaves)
    top = exact_inside(backbone, each)[0, each.n_words]
    total = sum(
        (value * Fraction(float(root)) for value, root in zip(top, backbone.root, strict=True)),
        start=Fraction(0),
    )
    pruned = prune(backbone, leaves, threshold=0.0)
    if not total:
        assert pruned is None
        return
    # Scaled by the power of two that brings the largest entry of the top cell below 1.
    _, exponent = math.frexp(max(top))
    mantissa = float(total / Fraction(2) ** exponent)
    assert pruned.log_value == float(np.log(mantissa) + exponent * np.log(2.0))

    marginals = inside_outside(pruned.forest, each.grammar)
    roots = pruned.forest.item_symbol[pruned.forest.roots]
    _, exponent = math.frexp(max(top[symbol] for symbol in roots))
    mantissa = float(total / Fraction(2) ** exponent)
    assert marginals.log_value == math.log(mantissa) + exponent * math.log(2.0)


def exact_inside(backbone: PCFG, each: Sentence) -> dict[tuple[int, int], list[Fraction]]:
    """Inside values in rational numbers, nothing scaled."""
    values: dict[tuple[int, int], list[Fraction]] = {}
    n_words = each.n_words
    for width in range(1, n_words + 1):
        for i in range(n_words - width + 1):
            cell = [Fraction(0)] * len(backbone.symbols)
            if width == 1:
                for leaf in each.oracle_leaves[i]:
                    cell[leaf.symbol] = Fraction(leaf.weight)
            for k in range(i + 1, i + width):
                for rule in range(backbone.n_rules):
                    cell[backbone.parent[rule]] += (
                        Fraction(float(backbone.probability[rule]))
                        * values[i, k][backbone.left[rule]]
                        * values[k, i + width][backbone.right[rule]]
                    )
            values[i, i + width] = cell
    return values


def test_a_sentence_without_a_tree_has_no_forest():
    backbone = bracketings()
    only_words = PCFG(
        backbone.words, backbone.parent, backbone.left, backbone.right,
        np.zeros(4), backbone.root,
    )  # fmt: skip
    leaves = sentence(one_state(only_words), [0, 0], [[0], [0]]).leaves
    assert prune(only_words, leaves) is None
    assert prune(only_words, sentence(one_state(only_words), [0], [[0]]).leaves) is not None


def test_values_that_cancel_have_no_marginals():
    # Two one-word derivations of value 1 and -1: Z = 0.
    table = SymbolTable.of([Symbol("preterminal", ("A", "t")), Symbol("preterminal", ("B", "t"))])
    lexicon = Lexicon(("w", UNKNOWN), LexiconOptions(rare_threshold=0))
    words = WordTable(
        table, lexicon, np.zeros(2, np.int32), np.arange(2, dtype=np.int32), np.ones(2)
    )
    none = np.zeros(0, dtype=np.int32)
    backbone = PCFG(words, none, none, none, np.zeros(0), np.full(2, 0.5))
    grammar = one_state(backbone)
    leaves = sentence(grammar, [0], [[0]]).leaves
    forest = prune(backbone, leaves, 0.0).forest
    assert inside_outside(forest, grammar) is not None
    assert inside_outside(forest, weights(grammar, root=np.array([0.5, -0.5]))) is None
    zero = weights(grammar, lexical=np.zeros(2))
    assert inside_outside(forest, zero) is None


@given(sentences(max_words=4), st.integers(0, 2**16))
def test_order_of_candidates_does_not_matter(each: Sentence, seed: int):
    rng = np.random.default_rng(seed)
    start = each.leaves.start
    order = np.concatenate(
        [first + rng.permutation(last - first) for first, last in pairwise(start)]
    )
    columns = (column[order] for column in each.leaves[1:])
    first, second = (
        prune(each.grammar.backbone, these, 0.0) for these in (each.leaves, Leaves(start, *columns))
    )
    assume(first is not None)
    assert np.array_equal(first.marginal, second.marginal)
    for one, other in zip(first.forest, second.forest, strict=True):
        assert np.array_equal(one, other)
