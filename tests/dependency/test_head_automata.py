"""Head-automata as arrays: made of operator models and given back, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentree.automata.model import OperatorModel
from eigentree.dependency.head_automata import LEFT, RIGHT, ROOT, HeadAutomata
from eigentree.errors import GrammarError, ShapeError
from tests.strategies import random_head_automata

NAMES = ("n_states", "initial", "final", "operators")


def models(automata: HeadAutomata) -> dict[tuple[str, int], OperatorModel]:
    keys = [(head, direction) for head in automata.symbols for direction in (LEFT, RIGHT)]
    return {key: automata.automaton(*key) for key in [*keys, (ROOT, RIGHT)]}


@pytest.fixture
def automata() -> HeadAutomata:
    return random_head_automata(np.random.default_rng(1), 3, most=4, signed=True)


def test_models_are_given_back(automata: HeadAutomata):
    again = HeadAutomata.make(models(automata))
    assert again.symbols == automata.symbols == ("a", "b", "c")
    assert all(np.array_equal(getattr(again, name), getattr(automata, name)) for name in NAMES)
    assert len(set(automata.n_states)) > 2
    number = 2 * automata.symbols.index("b") + RIGHT
    own = automata.automaton("b", RIGHT)
    assert len(own.initial) == automata.n_states[number]
    assert own.value("ca") == automata.automaton("b", RIGHT).value("ca")
    sizes = [model.operators.size + 2 * len(model.initial) for model in models(automata).values()]
    assert automata.n_parameters == sum(sizes)


def test_numbers_of_symbols(automata: HeadAutomata):
    assert automata.numbers("cab").tolist() == [2, 0, 1]
    assert automata.numbers(()).dtype == np.int64
    with pytest.raises(GrammarError, match="unknown symbol 'd'"):
        automata.numbers("ad")


def test_arrays_of_files(automata: HeadAutomata):
    arrays = automata.to_arrays()
    n = automata.n_states
    assert arrays["automata.initial"].shape == (n.sum(),)
    assert arrays["automata.operators"].shape == ((n**2).sum(), 3)
    again = HeadAutomata.from_arrays(automata.symbols, arrays)
    assert all(np.array_equal(getattr(again, name), getattr(automata, name)) for name in NAMES)
    with pytest.raises(KeyError, match=r"automata\.final"):
        HeadAutomata.from_arrays(
            automata.symbols, {k: v for k, v in arrays.items() if k != "automata.final"}
        )
    forged = arrays | {"automata.n_states": np.full(8, 2**62)}
    with pytest.raises(GrammarError, match="vectors of head-automata do not match their numbers"):
        HeadAutomata.from_arrays(automata.symbols, forged)
    forged = arrays | {"automata.operators": arrays["automata.operators"][1:]}
    with pytest.raises(ShapeError, match="axis 0 of operators is entries, which must be"):
        HeadAutomata.from_arrays(automata.symbols, forged)
    with pytest.raises(ShapeError, match="axis 0 of n_states is A, which must be 6"):
        HeadAutomata.from_arrays(("a", "b"), arrays)


def test_models_that_do_not_go_together_are_refused(automata: HeadAutomata):
    given = models(automata)
    lacks = {key: model for key, model in given.items() if key != ("b", LEFT)}
    with pytest.raises(GrammarError, match="head 'b' lacks an automaton to the left"):
        HeadAutomata.make(lacks)
    lacks = {key: model for key, model in given.items() if key != (ROOT, RIGHT)}
    with pytest.raises(GrammarError, match="automaton for the modifiers of the root is missing"):
        HeadAutomata.make(lacks)
    for head, direction in ((ROOT, LEFT), ("d", RIGHT)):
        with pytest.raises(GrammarError, match=f"there is an automaton for head '{head}' to the"):
            HeadAutomata.make(given | {(head, direction): given["a", LEFT]})
    other = OperatorModel(("a", "c", "b"), np.ones(1), np.ones(1), np.ones((3, 1, 1)))
    with pytest.raises(GrammarError, match="of head 'c' to the right has other symbols"):
        HeadAutomata.make(given | {("c", RIGHT): other})


def test_arrays_that_can_not_be_are_refused(automata: HeadAutomata):
    with pytest.raises(ShapeError, match="axis 1 of final is K, which must be 4"):
        replace(automata, final=automata.final[:, :3])
    with pytest.raises(ShapeError, match="n_states holds int32, must hold int64"):
        replace(automata, n_states=automata.n_states.astype(np.int32))
    for symbols in (("a", "b", "b"), ("a", "b", ROOT)):
        with pytest.raises(GrammarError, match="must be distinct and not empty"):
            replace(automata, symbols=symbols)
    with pytest.raises(GrammarError, match="the root must not have an automaton to its left"):
        replace(automata, n_states=np.full(8, 1))
    for wrong in (0, 5):
        n_states = automata.n_states.copy()
        n_states[0] = wrong
        with pytest.raises(GrammarError, match="each must have between 1 and 4"):
            replace(automata, n_states=n_states)
    initial = automata.initial.copy()
    initial[1, 0] = np.inf
    with pytest.raises(GrammarError, match="initial of head-automata has a value that is not"):
        replace(automata, initial=initial)
    at = int(np.flatnonzero(automata.n_states[:-2] < 4)[0])
    operators = automata.operators.copy()
    operators[at, 1, 3, 0] = 0.5
    with pytest.raises(GrammarError, match="operators has a nonzero number for a missing state"):
        replace(automata, operators=operators)
    with pytest.raises(GrammarError, match="there is no head 'd' with direction 0"):
        automata.automaton("d", LEFT)
    with pytest.raises(GrammarError, match="the root has no automaton to its left"):
        automata.automaton(ROOT, LEFT)
