"""Learning head-automata: what is collected from trees, and what each method makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.automata.counting import count_first, count_one_state, count_previous
from eigentree.automata.model import mixture
from eigentree.automata.sequences import Sequences
from eigentree.automata.spectral import OperatorOptions, learn_operators
from eigentree.dependency.head_automata import LEFT, RIGHT, ROOT, HeadAutomata
from eigentree.dependency.learn.head_automata import (
    HeadAutomataOptions,
    Method,
    collect_modifiers,
    learn_head_automata,
)
from eigentree.errors import GrammarError, SettingsError
from tests.helpers import close
from tests.oracles.automata import signed_value, strings

SENTENCES = [
    (["D", "N", "V", "D", "A", "N"], [2, 3, 0, 6, 6, 3]),
    (["N", "V"], [2, 0]),
    (["A", "A", "N", "V"], [3, 3, 4, 0]),
    (["V", "N"], [0, 1]),
]
METHODS: tuple[Method, ...] = ("det", "det+f", "sibling", "spectral", "em", "spectral+em")


@st.composite
def dependency_trees(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    """Symbols and heads, not always projective."""
    size = draw(st.integers(1, 6))
    order = draw(st.permutations(range(1, size + 1)))
    heads = [0] * size
    for at, token in enumerate(order):
        heads[token - 1] = draw(st.sampled_from(order[:at])) if at else 0
    return [draw(st.sampled_from("DNV")) for _ in range(size)], heads


def modifiers(sentences, head: str, direction: int) -> list[tuple[str, ...]]:
    """The sequences of one automaton, token by token."""
    found = []
    for symbols, heads in sentences:
        names = [ROOT, *symbols]
        for token, name in enumerate(names):
            if name != head:
                continue
            own = [m for m, above in enumerate(heads, start=1) if above == token]
            if direction == LEFT:
                found.append(tuple(names[m] for m in reversed(own) if m < token))
            else:
                found.append(tuple(names[m] for m in own if m > token))
    return found


@given(st.lists(dependency_trees(), min_size=1, max_size=5))
def test_all_modifiers_are_collected_from_the_head_outwards(sentences):
    found = collect_modifiers(sentences, "DNV")
    groups = found.groups()
    assert len(groups) == 8
    assert not groups[6].n_sequences  # nothing stands to the left of the root
    for number, group in enumerate(groups):
        head, direction = (*"DNV", ROOT)[number // 2], number % 2
        own = [
            tuple("DNV"[m] for m in group.symbol[first:last])
            for first, last in zip(group.start[:-1], group.start[1:], strict=True)
        ]
        if number != 6:
            assert sorted(own) == sorted(modifiers(sentences, head, direction))


def of_group(head: str, direction: int) -> Sequences:
    return Sequences.of(modifiers(SENTENCES, head, direction), "ADNV")


@pytest.mark.parametrize(
    ("method", "count"),
    [("det", count_one_state), ("det+f", count_first), ("sibling", count_previous)],
)
def test_counted_automata_are_those_of_their_sequences(method, count):
    found = learn_head_automata(SENTENCES, HeadAutomataOptions(method)).automata
    assert found.symbols == ("A", "D", "N", "V")
    for head, direction in (("N", LEFT), ("V", RIGHT), (ROOT, RIGHT)):
        own, expected = found.automaton(head, direction), count(of_group(head, direction))
        for sequence in strings(found.symbols, 2):
            assert close(signed_value(own, sequence), signed_value(expected, sequence), rtol=1e-12)


def test_spectral_automata_are_mixed_with_counted_ones():
    options = HeadAutomataOptions(states=2, back_off=0.3)
    found = learn_head_automata(SENTENCES, options).automata
    group = of_group("N", LEFT)
    bare = learn_operators(group, OperatorOptions(2, back_off=0.0))
    expected = mixture(bare, count_first(group), 0.3)
    for sequence in strings(found.symbols, 2):
        value = signed_value(found.automaton("N", LEFT), sequence)
        assert close(value, signed_value(expected, sequence), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_each_sequence_and_each_head_has_a_value(method):
    options = HeadAutomataOptions(method, states=2, iterations=3)
    found = learn_head_automata(SENTENCES, options, symbols="ADNVX").automata
    for head in (*found.symbols, ROOT):
        for direction in (LEFT, RIGHT):
            if (head, direction) == (ROOT, LEFT):
                continue
            model = found.automaton(head, direction)
            values = [signed_value(model, sequence) for sequence in strings(found.symbols, 2)]
            assert np.all(np.abs(values) > 0)
            if method != "spectral":
                assert close(model.continuation(), np.ones(model.n_states), rtol=1e-9)
                assert min(values) > 0


def test_a_symbol_that_was_never_seen_is_like_all_heads_together():
    found = learn_head_automata(SENTENCES, HeadAutomataOptions(), symbols="ADNVX").automata
    for direction in (LEFT, RIGHT):
        every = [each for head in "ADNV" for each in modifiers(SENTENCES, head, direction)]
        expected = count_first(Sequences.of(every, "ADNVX"))
        own = found.automaton("X", direction)
        for sequence in strings(found.symbols, 2):
            assert close(signed_value(own, sequence), signed_value(expected, sequence), rtol=1e-12)


@pytest.mark.parametrize("method", ["em", "spectral+em"])
def test_em_keeps_the_iteration_that_its_judge_likes_best(method):
    judged: list[HeadAutomata] = []

    def judge(automata: HeadAutomata) -> float:
        judged.append(automata)
        return -abs(len(judged) - 3)

    options = HeadAutomataOptions(method, states=2, iterations=6)
    found = learn_head_automata(SENTENCES * 20, options, scorer=judge)
    assert [row.score for row in found.record] == [-2, -1, 0, -1, -2, -3]
    assert found.best == 2
    assert np.array_equal(found.automata.operators, judged[2].operators)
    likelihoods = [row.log_likelihood for row in found.record]
    assert likelihoods == sorted(likelihoods)


def test_em_goes_on_from_a_checkpoint(tmp_path):
    options = HeadAutomataOptions("em", states=2, iterations=4)
    expected = learn_head_automata(SENTENCES, options, checkpoint=tmp_path / "run", jobs=2)
    found = learn_head_automata(SENTENCES, options, checkpoint=tmp_path / "run")
    assert np.array_equal(found.automata.operators, expected.automata.operators)
    assert found.record == expected.record


def test_settings_that_have_no_meaning_are_refused():
    for settings, message in (
        ({"method": "cky"}, "method is 'cky'; it must be one of det, det"),
        ({"back_off": 0.0}, "back_off is 0.0; it must be between 0 and 1"),
        ({"states": 0}, "states is 0"),
        ({"prior": 0.0}, "prior is 0.0"),
        ({"iterations": 0}, "iterations is 0"),
    ):
        with pytest.raises(SettingsError, match=message):
            HeadAutomataOptions(**settings)


def test_trees_that_are_none_are_refused():
    for sentences, message in (
        ([(["N"], [0, 1])], "sentence 1 has 1 symbols and 2 heads"),
        ([(["N"], [0]), (["N", "V"], [2, 3])], "sentence 2: the head of token 2 is 3; it must be"),
        ([(["N"], [1])], "the head of token 1 is 1"),
        ([(["N"], [-1])], "the head of token 1 is -1"),
        ([([""], [0])], "a token has an empty symbol"),
        ([], "there are no dependency trees to learn from"),
        ([([], [])], "there are no dependency trees to learn from"),
    ):
        with pytest.raises(GrammarError, match=message):
            learn_head_automata(sentences)
    with pytest.raises(GrammarError, match="symbol 'V' isn't in the alphabet"):
        learn_head_automata(SENTENCES, symbols="ADN")
