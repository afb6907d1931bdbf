"""Products of head-automata with lexical models: values, marginals and weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentree.automata.model import OperatorModel
from eigentree.dependency.chart.inside_outside import (
    SentenceAutomata,
    head_inside_outside,
    of_sentence,
)
from eigentree.dependency.chart.lexical_product import lexical_heads
from eigentree.dependency.head_automata import RIGHT, ROOT, HeadAutomata
from eigentree.dependency.learn.lexical_modifiers import (
    HeadedSentence,
    LexicalModifierOptions,
    count_lexical_modifiers,
)
from eigentree.dependency.lexical_modifiers import LexicalModifiers, SentenceModifiers
from eigentree.errors import SettingsError, ShapeError
from eigentree.treebank.lexicon import LexiconOptions
from tests.helpers import close
from tests.oracles.dependencies import enumerated, half_values, projective_trees

TAGS = ("C", "N", "P", "V")
STATES = ("one-state", "first", "coordination-punctuation")
SEEDS = st.integers(0, 2**32 - 1)


def random_automata(rng: np.random.Generator, *, signed: bool) -> HeadAutomata:
    """Automata of different sizes, none of which treats left and right alike."""

    def numbers(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) if signed else rng.random(shape)

    def automaton() -> OperatorModel:
        n = int(rng.integers(1, 4))
        return OperatorModel(TAGS, numbers(n), numbers(n), numbers(len(TAGS), n, n))

    keys = [(tag, direction) for tag in TAGS for direction in (0, 1)]
    return HeadAutomata.make({key: automaton() for key in [*keys, (ROOT, RIGHT)]})


def random_lexical(rng: np.random.Generator, states: str) -> LexicalModifiers:
    trees = []
    for _ in range(30):
        n = int(rng.integers(1, 6))
        heads = projective_trees(n, False)
        trees.append(
            HeadedSentence(
                [str(word) for word in rng.integers(0, 6, n)],
                [str(tag) for tag in rng.choice(TAGS, n)],
                heads[rng.integers(len(heads))],
            )
        )
    options = LexicalModifierOptions(
        states=states,
        coordination=("C",),
        punctuation=("P",),
        lexicon=LexiconOptions(rare_threshold=1),
    )
    return count_lexical_modifiers(trees, options)


def random_pair(
    seed: int, states: str, n: int, *, signed: bool
) -> tuple[SentenceAutomata, SentenceModifiers]:
    rng = np.random.default_rng(seed)
    automata, lexical = random_automata(rng, signed=signed), random_lexical(rng, states)
    words = [str(word) for word in rng.integers(0, 8, n)]
    tags = [str(tag) for tag in rng.choice(TAGS, n)]
    return of_sentence(automata, automata.numbers(tags)), lexical.of_sentence(words, tags)


def lexical_values(modifiers: SentenceModifiers, heads: tuple[int, ...]) -> list[float]:
    """What the lexical model gives to each sequence, in the order of `half_values`."""
    values = []
    for head in range(len(heads) + 1):
        own = [m for m, above in enumerate(heads, start=1) if above == head]
        for direction in (0, 1) if head else (1,):
            sequence = [m for m in own if (m > head) == bool(direction)]
            value, state = 1.0, 0
            for m in sequence if direction else reversed(sequence):
                value *= modifiers.step[head, m, state]
                state = modifiers.after[m]
            values.append(value * modifiers.stop[head, direction, state])
    return values


@pytest.mark.parametrize("weight", [1.0, 0.4])
@pytest.mark.parametrize("states", STATES)
@given(SEEDS)
@settings(max_examples=10)
def test_a_product_gives_the_product_of_values(states, weight, seed):
    hidden, modifiers = random_pair(seed, states, 5, signed=True)
    product = lexical_heads(modifiers, weight, times=hidden)
    alone = lexical_heads(modifiers, weight)
    trees = projective_trees(5, True)
    for at in np.random.default_rng(seed).integers(len(trees), size=10):
        heads = trees[at]
        lexical = np.array(lexical_values(modifiers, heads)) ** weight
        ours = list(half_values(product, heads))
        theirs = list(half_values(hidden, heads))
        assert close(ours, np.array(theirs) * lexical, rtol=1e-9, atol=1e-14)
        assert close(list(half_values(alone, heads)), lexical, rtol=1e-12)


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize("states", STATES)
@given(SEEDS, st.integers(1, 4))
@settings(max_examples=10)
def test_marginals_are_those_of_all_trees(states, multi_root, seed, n):
    hidden, modifiers = random_pair(seed, states, n, signed=False)
    for sentence in (lexical_heads(modifiers, 1.3, times=hidden), lexical_heads(modifiers)):
        found = head_inside_outside(sentence, multi_root=multi_root)
        total, _, with_arc = enumerated(sentence, multi_root=multi_root)
        assert close(np.exp(found.log_value), total, rtol=1e-10)
        assert close(found.marginals, with_arc / total, rtol=1e-9, atol=1e-12)


def test_long_sentences_neither_vanish_nor_overflow():
    # Probabilities of 150 words multiply to far less than what a number can hold.
    rng = np.random.default_rng(1)
    lexical = random_lexical(rng, "coordination-punctuation")
    words = [f"new{at}" for at in range(150)]
    found = head_inside_outside(lexical_heads(lexical.of_sentence(words, ["N"] * 150)))
    assert found.log_value < -400.0
    assert found.sign == 1
    assert close(found.marginals[:, 1:].sum(axis=0), np.ones(150), rtol=1e-9)


def test_unfit_arguments_are_refused():
    hidden, modifiers = random_pair(0, "first", 3, signed=True)
    for weight in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(SettingsError, match="weight of a lexical model"):
            lexical_heads(modifiers, weight, times=hidden)
    other, _ = random_pair(0, "first", 4, signed=True)
    with pytest.raises(ShapeError, match="have 4 words, the lexical model has 3"):
        lexical_heads(modifiers, times=other)
