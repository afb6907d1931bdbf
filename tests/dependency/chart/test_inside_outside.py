"""Charts over split head-automata against the list of all trees, and at their limits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.dependency.chart.arrays import SentenceAutomata
from eigentree.dependency.chart.decode import FLOOR, arc_scores, best_tree, viterbi
from eigentree.dependency.chart.inside_outside import head_inside_outside, of_sentence
from eigentree.dependency.head_automata import LEFT, RIGHT, ROOT
from eigentree.errors import GrammarError, SettingsError, ShapeError
from tests.helpers import close
from tests.oracles.dependencies import enumerated, projective_trees, tree_value
from tests.strategies import random_head_automata

SEEDS = st.integers(0, 2**32 - 1)
LENGTHS = st.integers(0, 5)
LONG = 300


def random_sentence(rng: np.random.Generator, n: int, draw, most: int = 3) -> SentenceAutomata:
    """Automata of differing size, an operator for each pair; NaN where nothing is looked at."""
    n_automata = 2 * (n + 1)
    n_states = rng.integers(1, most + 1, n_automata)
    padded = np.arange(most) >= n_states[:, None]
    initial, final = draw((n_automata, most)), draw((n_automata, most))
    initial[padded], final[padded] = np.nan, np.nan
    automaton_of = rng.permutation(n_automata).reshape(n + 1, 2)
    operator_of = rng.permutation((n + 1) ** 2).reshape(n + 1, n + 1)
    operators = draw(((n + 1) ** 2, most, most))
    for head in range(n + 1):
        for modifier in range(n + 1):
            absent = padded[automaton_of[head, int(modifier > head)]]
            operators[operator_of[head, modifier], absent[:, None] | absent[None, :]] = np.nan
    one_block = np.zeros(n + 1, dtype=np.int64)
    return SentenceAutomata(
        initial, final, operators, n_states, automaton_of, operator_of, one_block
    )


def ones(n: int, size: float = 1.0) -> SentenceAutomata:
    """Automata that give every tree the same value."""
    return SentenceAutomata(
        np.ones((1, 1)),
        np.ones((1, 1)),
        np.full((1, 1, 1), size),
        np.ones(1, dtype=np.int64),
        np.zeros((n + 1, 2), dtype=np.int64),
        np.zeros((n + 1, n + 1), dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
    )


def masks(rng: np.random.Generator, n: int) -> np.ndarray | None:
    return None if rng.random() < 0.5 else rng.random((n + 1, n + 1)) < 0.7


def allowed_trees(n: int, multi_root: bool, allowed: np.ndarray | None) -> list[tuple[int, ...]]:
    return [
        heads
        for heads in projective_trees(n, multi_root)
        if allowed is None or all(allowed[h, m] for m, h in enumerate(heads, start=1))
    ]


# Marginals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("multi_root", "expected"), [(False, [0, 1, 2, 7, 30, 143]), (True, [1, 1, 3, 12, 55, 273])]
)
def test_automata_of_ones_count_trees(multi_root: bool, expected: list[int]):
    assert [len(projective_trees(n, multi_root)) for n in range(6)] == expected
    for n, count in enumerate(expected):
        found = head_inside_outside(ones(n), multi_root=multi_root)
        assert (found is None) == (count == 0)
        if found is not None:
            assert close(math.exp(found.log_value), count, rtol=1e-12)


@given(SEEDS, LENGTHS, st.booleans(), st.booleans())
def test_marginals_are_sums_over_all_trees(seed: int, n: int, multi_root: bool, signed: bool):
    rng = np.random.default_rng(seed)
    sentence = random_sentence(rng, n, rng.standard_normal if signed else rng.random)
    allowed = masks(rng, n)
    total, size, with_arc = enumerated(sentence, multi_root=multi_root, allowed=allowed)
    found = head_inside_outside(sentence, multi_root=multi_root, arcs_allowed=allowed)
    if size == 0.0:
        assert found is None
        return
    assert found is not None
    # Terms of both signs may nearly cancel.
    tolerance = 1e-12 * size / abs(total)
    assert close(found.marginals, with_arc / total, rtol=1e-9, atol=tolerance * size / abs(total))
    assert close(found.log_value, math.log(abs(total)), rtol=1e-9, atol=tolerance)
    assert found.sign == np.sign(total)
    assert found.n_negative == np.count_nonzero(found.marginals < 0.0)
    assert close(found.marginals[:, 1:].sum(axis=0), np.ones(n), rtol=1e-9, atol=size * tolerance)


@given(SEEDS, st.integers(1, 4), st.booleans())
def test_zeros_cancelling_and_numbers_of_all_sizes(seed: int, n: int, multi_root: bool):
    # Few values, of which many are zero, and powers of two that would underflow: in fractions.
    rng = np.random.default_rng(seed)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        small = rng.choice([-1.0, 0.0, 0.0, 1.0, 2.0], shape)
        return np.ldexp(small, rng.integers(-spread, spread + 1, shape))

    spread = int(rng.choice([0, 300]))
    sentence = random_sentence(rng, n, draw, most=2)
    exact = sentence._replace(
        **{
            name: np.vectorize(lambda x: Fraction(0 if np.isnan(x) else x), otypes=[object])(
                getattr(sentence, name)
            )
            for name in ("initial", "final", "operators")
        }
    )
    total, size, with_arc = enumerated(exact, multi_root=multi_root)
    found = head_inside_outside(sentence, multi_root=multi_root)
    if total == 0 or size > 10**6 * abs(total):
        return  # nothing, or what rounding has left of it
    assert found is not None
    assert found.sign == (1 if total > 0 else -1)
    numerator, denominator = abs(total).as_integer_ratio()
    log_value = math.log(numerator) - math.log(denominator)
    assert close(found.log_value, log_value, rtol=1e-12, atol=1e-9)
    expected = np.array([[float(each / total) for each in row] for row in with_arc])
    assert close(found.marginals, expected, rtol=1e-6, atol=1e-6)


@given(SEEDS, st.integers(2, 4), st.integers(1, 2), st.booleans())
def test_cells_whose_parts_cancel_pass_something_on(seed: int, n: int, most: int, multi_root: bool):
    # With signs alone many cells are zero, though trees through them are not.
    rng = np.random.default_rng(seed)
    sentence = random_sentence(rng, n, lambda shape: rng.choice([-1.0, 1.0], shape), most)
    total, _, with_arc = enumerated(sentence, multi_root=multi_root)
    found = head_inside_outside(sentence, multi_root=multi_root)
    if total == 0.0:
        assert found is None
        return
    assert found is not None
    assert close(found.marginals, with_arc / total, rtol=1e-12, atol=1e-12)


@given(SEEDS, st.integers(1, 5), st.booleans())
def test_a_marginal_is_what_doubling_its_operator_adds(seed: int, n: int, multi_root: bool):
    # A tree has an arc once at most, so the value is linear in each operator.
    rng = np.random.default_rng(seed)
    sentence = random_sentence(rng, n, rng.random)
    found = head_inside_outside(sentence, multi_root=multi_root)
    assert found is not None
    for head, modifier in rng.integers(0, n + 1, (3, 2)):
        operators = sentence.operators.copy()
        operators[sentence.operator_of[head, modifier]] *= 2.0
        doubled = head_inside_outside(sentence._replace(operators=operators), multi_root=multi_root)
        assert doubled is not None
        added = math.expm1(doubled.log_value - found.log_value)
        expected = 0.0 if modifier in (0, head) else found.marginals[head, modifier]
        assert close(added, expected, rtol=1e-9, atol=1e-12)


def test_bases_of_states_do_not_matter():
    rng = np.random.default_rng(4)
    sentence = random_sentence(rng, 8, rng.random, most=4)
    initial, final = sentence.initial.copy(), sentence.final.copy()
    operators = sentence.operators.copy()
    for head in range(9):
        for direction in (LEFT, RIGHT):
            automaton = sentence.automaton_of[head, direction]
            n = sentence.n_states[automaton]
            basis = rng.standard_normal((n, n))
            initial[automaton, :n] = np.linalg.solve(basis, initial[automaton, :n])
            final[automaton, :n] = final[automaton, :n] @ basis
            for modifier in range(9):
                if modifier != head and (modifier > head) == (direction == RIGHT):
                    own = operators[sentence.operator_of[head, modifier], :n, :n]
                    own[:] = np.linalg.solve(basis, own @ basis)
    changed = sentence._replace(initial=initial, final=final, operators=operators)
    first, second = head_inside_outside(sentence), head_inside_outside(changed)
    assert close(second.marginals, first.marginals, rtol=1e-7, atol=1e-9)
    assert close(second.log_value, first.log_value, rtol=1e-9)


@pytest.mark.parametrize("signed", [False, True])
def test_automata_of_symbols_read_modifiers_outwards(signed: bool):
    rng = np.random.default_rng(2)
    automata = random_head_automata(rng, 3, signed=signed)
    words = ("b", "a", "a", "c", "b")
    total, with_arc = 0.0, np.zeros((6, 6))
    for heads in projective_trees(5, False):
        value = 1.0
        for head, symbol in enumerate((ROOT, *words)):
            right = [m for m in range(head + 1, 6) if heads[m - 1] == head]
            left = [m for m in range(head - 1, 0, -1) if heads[m - 1] == head]
            for direction, modifiers in ((RIGHT, right), (LEFT, left))[: 2 if head else 1]:
                model = automata.automaton(symbol, direction)
                vector = model.initial
                for modifier in modifiers:
                    vector = model.operators[model.symbols.index(words[modifier - 1])] @ vector
                value *= float(model.final @ vector)
        total += value
        with_arc[list(heads), range(1, 6)] += value
    found = head_inside_outside(of_sentence(automata, automata.numbers(words)))
    assert close(found.log_value, math.log(abs(total)), rtol=1e-10)
    assert close(found.marginals, with_arc / total, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("size", "multi_root"), [(1e-100, False), (1e100, True)])
def test_nothing_under_or_overflows(size: float, multi_root: bool):
    found = head_inside_outside(ones(LONG, size), multi_root=multi_root)
    if multi_root:
        count = math.comb(3 * LONG, LONG) // (2 * LONG + 1)
    else:
        count = math.comb(3 * LONG - 2, LONG - 1) // LONG
    assert close(found.log_value, math.log(count) + LONG * math.log(size), rtol=1e-12)
    one = head_inside_outside(ones(LONG), multi_root=multi_root)
    assert close(found.marginals, one.marginals, rtol=1e-10)
    assert close(found.marginals[:, 1:].sum(axis=0), np.ones(LONG), rtol=1e-10)


def test_scales_of_operators_change_the_value_alone():
    rng = np.random.default_rng(5)
    automata = random_head_automata(rng, 8, most=6, signed=True)
    sentence = of_sentence(automata, rng.integers(0, 8, 60))
    # An operator and a scale for each pair, so that modifiers can be scaled one by one.
    pairs = sentence.operators[sentence.operator_of]
    powers = np.concatenate(([0], rng.integers(-250, 251, 60)))
    scaled = np.ldexp(pairs, powers[None, :, None, None])
    own = np.arange(61 * 61).reshape(61, 61)
    first = head_inside_outside(sentence)
    second = head_inside_outside(
        sentence._replace(operators=scaled.reshape(61 * 61, *pairs.shape[2:]), operator_of=own)
    )
    assert close(second.marginals, first.marginals, rtol=1e-9, atol=1e-13)
    shift = int(powers.sum()) * math.log(2.0)
    assert close(second.log_value, first.log_value + shift, rtol=1e-11)
    assert (second.sign, second.n_negative) == (first.sign, first.n_negative)


def test_long_sentences_of_probabilities():
    rng = np.random.default_rng(6)
    automata = random_head_automata(rng, 8, most=4)
    sentence = of_sentence(automata, rng.integers(0, 8, LONG))
    found = head_inside_outside(sentence)
    assert close(found.marginals[:, 1:].sum(axis=0), np.ones(LONG), rtol=1e-9)
    assert close(found.marginals[0].sum(), 1.0, rtol=1e-9)
    assert found.n_negative == 0
    assert found.marginals.max() < 1.0 + 1e-9
    assert found.log_value < 0.0
    assert best_tree(arc_scores(found.marginals)).heads.min() == 0
    assert viterbi(sentence).score < found.log_value


def test_no_value_no_marginals():
    nothing = ones(3)._replace(operators=np.zeros((1, 1, 1)))
    assert head_inside_outside(nothing) is None
    assert head_inside_outside(nothing, multi_root=True) is None
    endless = ones(3)._replace(final=np.zeros((1, 1)))
    assert head_inside_outside(endless) is None
    broken = ones(3)._replace(operators=np.full((1, 1, 1), np.nan))
    assert head_inside_outside(broken) is None
    forbidden = np.zeros((4, 4), dtype=np.bool_)
    assert head_inside_outside(ones(3), arcs_allowed=forbidden) is None
    assert head_inside_outside(ones(0)) is None
    assert head_inside_outside(ones(0), multi_root=True).log_value == 0.0


def test_required_arcs_are_certain():
    rng = np.random.default_rng(8)
    sentence = of_sentence(random_head_automata(rng, 4), rng.integers(0, 4, 9))
    allowed = np.ones((10, 10), dtype=np.bool_)
    allowed[:, 3] = False
    allowed[7, 3] = True
    found = head_inside_outside(sentence, arcs_allowed=allowed)
    assert close(found.marginals[7, 3], 1.0, rtol=1e-12)
    assert np.count_nonzero(found.marginals[:, 3]) == 1
    # Arcs into tokens 4, 5 and 6 can't cross it.
    assert np.all(found.marginals[[0, 1, 2, 8, 9], 4:7] == 0.0)


# The best tree ----------------------------------------------------------------------------


@given(SEEDS, LENGTHS, st.booleans(), st.booleans())
def test_the_best_tree_is_the_best_of_all(seed: int, n: int, multi_root: bool, forbids: bool):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n + 1, n + 1))
    if forbids:
        scores[rng.random(scores.shape) < 0.2] = -np.inf
    allowed = masks(rng, n)
    found = best_tree(scores, multi_root=multi_root, arcs_allowed=allowed)
    trees = allowed_trees(n, multi_root, allowed)
    values = [float(scores[list(heads), range(1, n + 1)].sum()) for heads in trees]
    if max(values, default=-math.inf) == -math.inf:
        assert found is None
        return
    assert found is not None
    assert tuple(found.heads) == trees[int(np.argmax(values))]
    assert close(found.score, max(values), rtol=1e-9, atol=1e-12)


def test_ties_are_decided_the_same_way_each_time():
    first = best_tree(np.zeros((21, 21)))
    assert first.score == 0.0
    assert np.array_equal(best_tree(np.zeros((21, 21))).heads, first.heads)
    assert np.count_nonzero(first.heads == 0) == 1


def test_objectives():
    marginals = np.array([[0.0, 0.9, 0.1], [0.0, 0.0, 1.2], [0.0, -0.2, 0.0]])
    assert arc_scores(marginals, "sum") is marginals
    scores = arc_scores(marginals)
    assert close(scores[0, 1], math.log(0.9), rtol=1e-12)
    assert close(scores[2, 1], math.log(FLOOR), rtol=1e-12)
    for objective in ("sum", "product"):
        assert best_tree(arc_scores(marginals, objective)).heads.tolist() == [0, 1]
    with pytest.raises(SettingsError, match="objective is 'best'; it must be 'sum' or 'product'"):
        arc_scores(marginals, "best")


def random_deterministic(rng: np.random.Generator, n: int) -> SentenceAutomata:
    """Automata with one way to go from a state with a modifier, or none."""
    sentence = random_sentence(rng, n, rng.random)
    initial, operators = np.zeros_like(sentence.initial), np.zeros_like(sentence.operators)
    initial[:, 0] = sentence.initial[:, 0]
    for head in range(n + 1):
        for modifier in range(n + 1):
            automaton = sentence.automaton_of[head, int(modifier > head)]
            states = int(sentence.n_states[automaton])
            own = operators[sentence.operator_of[head, modifier]]
            for state in range(states):
                if rng.random() < 0.8:
                    own[rng.integers(0, states), state] = rng.random()
    return sentence._replace(initial=initial, operators=operators)


@given(SEEDS, LENGTHS, st.booleans())
def test_viterbi_gives_the_most_probable_tree_of_deterministic_automata(
    seed: int, n: int, multi_root: bool
):
    rng = np.random.default_rng(seed)
    sentence = random_deterministic(rng, n)
    allowed = masks(rng, n)
    found = viterbi(sentence, multi_root=multi_root, arcs_allowed=allowed)
    trees = allowed_trees(n, multi_root, allowed)
    values = [tree_value(sentence, heads) for heads in trees]
    if max(values, default=0.0) == 0.0:
        assert found is None
        return
    assert found is not None
    assert tuple(found.heads) == trees[int(np.argmax(values))]
    assert close(found.score, math.log(max(values)), rtol=1e-9, atol=1e-12)


@given(SEEDS, st.integers(1, 4), st.booleans())
def test_viterbi_gives_the_best_path_of_others(seed: int, n: int, multi_root: bool):
    rng = np.random.default_rng(seed)
    sentence = random_sentence(rng, n, rng.random)
    found = viterbi(sentence, multi_root=multi_root)
    trees = projective_trees(n, multi_root)
    values = [tree_value(sentence, heads, best_path=True) for heads in trees]
    assert found is not None
    assert tuple(found.heads) == trees[int(np.argmax(values))]
    assert close(found.score, math.log(max(values)), rtol=1e-9, atol=1e-12)


def test_signed_automata_have_no_best_derivation():
    with pytest.raises(GrammarError, match="operators of head-automata has a negative number"):
        viterbi(ones(2, -1.0))


# What can't be ----------------------------------------------------------------------------


def test_arrays_that_do_not_agree_are_refused():
    sentence = ones(3)
    with pytest.raises(ShapeError, match="axis 1 of operator_of is positions, which must be 4"):
        head_inside_outside(sentence._replace(operator_of=np.zeros((4, 3), dtype=np.int64)))
    with pytest.raises(ShapeError, match=r"operator_of has a number outside 0\.\.0"):
        head_inside_outside(sentence._replace(operator_of=np.ones((4, 4), dtype=np.int64)))
    with pytest.raises(ShapeError, match=r"n_states has a number outside 0\.\.1"):
        viterbi(sentence._replace(n_states=np.array([2])))
    with pytest.raises(ShapeError, match="automaton_of holds int32, must hold int64"):
        viterbi(sentence._replace(automaton_of=np.zeros((4, 2), dtype=np.int32)))
    with pytest.raises(ShapeError, match="axis 0 of arcs_allowed is positions, which must be 4"):
        head_inside_outside(sentence, arcs_allowed=np.ones((3, 3), dtype=np.bool_))
    with pytest.raises(ShapeError, match="axis 1 of scores is positions, which must be 4"):
        best_tree(np.zeros((4, 3)))
    automata = random_head_automata(np.random.default_rng(0), 2)
    with pytest.raises(ShapeError, match="a token has the symbol number 2; there are 2 symbols"):
        of_sentence(automata, np.array([0, 2]))
