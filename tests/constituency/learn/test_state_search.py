"""The search for numbers of states, on judges whose best answer is known."""

from __future__ import annotations

import threading
from itertools import product

import numpy as np
import pytest

from eigentree.constituency.learn.state_search import (
    STAGE,
    FoundStates,
    StateSearchOptions,
    StateTrial,
    search_states,
)
from eigentree.errors import SettingsError
from tests.helpers import close

NUMBERS = (1, 2, 3)


def search(judge, start=(2, 2, 2), largest=(3, 3, 3), beam=1, numbers=NUMBERS, **rest):
    turns = rest.pop("turns", [np.array([a], dtype=np.int32) for a in range(len(start))])
    options = StateSearchOptions(beam=beam, numbers=numbers)
    first, most = (np.array(each, dtype=np.int32) for each in (start, largest))
    return search_states(first, most, turns, judge, options, **rest)


def of_table(seed: int):
    """A judge with a value drawn for each assignment of three numbers."""
    values = np.random.default_rng(seed).random((4, 4, 4))
    return lambda assignment: float(values[tuple(assignment)])


def same(one: FoundStates, other: FoundStates) -> bool:
    return one.n_states.tolist() == other.n_states.tolist() and one[1:] == other[1:]


@pytest.mark.parametrize("seed", range(8))
def test_a_beam_that_holds_all_finds_the_best_of_all(seed):
    judge = of_table(seed)
    best = max(product(NUMBERS, repeat=3), key=judge)
    found = search(judge, beam=27)
    assert tuple(found.n_states) == best
    assert found.value == judge(best)
    assert found.start_value == judge((2, 2, 2))


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_never_worse_than_the_start_and_never_judged_twice(beam):
    for seed in range(20):
        judge, asked = of_table(seed), []

        def counting(assignment, judge=judge, asked=asked):
            asked.append(tuple(assignment))
            return judge(assignment)

        found = search(counting, beam=beam)
        assert found.value == judge(found.n_states) >= found.start_value == judge((2, 2, 2))
        assert found.value == max(map(judge, asked))
        assert len(set(asked)) == len(asked)


def test_what_pays_only_together_needs_a_beam():
    def judge(assignment):
        # Changing one of the first two costs; changing both pays.
        changed = int(assignment[0] != 2) + int(assignment[1] != 2)
        return [0.0, -1.0 - 0.1 * int(assignment[0] != 1), 1.0][changed]

    assert search(judge, beam=1).n_states.tolist() == [2, 2, 1]
    found = search(judge, beam=2)
    assert found.n_states.tolist()[:2] == [1, 1]
    assert found.value == 1.0


def test_each_is_judged_with_the_others_as_they_are_by_then():
    # The first wants 3; the second wants what the first has.
    def judge(assignment):
        return -abs(int(assignment[0]) - 3) - abs(int(assignment[1]) - int(assignment[0])) / 10

    assert search(judge, start=(2, 2), largest=(3, 3)).n_states.tolist() == [3, 3]


def test_of_equals_fewer_states_are_better():
    assert search(lambda _: 0.5).n_states.tolist() == [1, 1, 1]
    found = search(lambda each: float(each[0] >= 2), start=(3, 3), largest=(3, 3))
    assert found.n_states.tolist() == [2, 1]


def test_no_number_is_above_the_largest():
    found = search(lambda each: float(sum(each)), (1, 1), (2, 5), numbers=(1, 4, 8))
    assert found.n_states.tolist() == [2, 5]
    assert [trial.states for trial in found.trials] == [1, 2, 1, 4, 5]


def test_symbols_of_one_turn_change_together():
    turns = [np.array([0, 2], dtype=np.int32)]
    found = search(lambda each: float(sum(each)), (1, 1, 1), (3, 3, 2), turns=turns)
    assert found.n_states.tolist() == [3, 1, 2]


def test_the_record_reports_every_trial():
    values = {(2, 2): 0.0, (1, 2): 2.0, (3, 2): 1.0, (1, 1): 0.0, (1, 3): 3.0, (3, 1): 0.0}
    found = search(lambda each: values.get(tuple(each), -1.0), start=(2, 2), largest=(3, 3), beam=2)
    assert found.n_states.tolist() == [1, 3]
    assert found.trials == [
        StateTrial(0, 0, 1, 2.0),
        StateTrial(0, 0, 2, 0.0),
        StateTrial(0, 0, 3, 1.0),
        StateTrial(1, 0, 1, 0.0),
        StateTrial(1, 0, 2, 2.0),
        StateTrial(1, 0, 3, 3.0),
        StateTrial(1, 1, 1, 0.0),
        StateTrial(1, 1, 2, 1.0),
        StateTrial(1, 1, 3, -1.0),
    ]


def test_any_number_of_threads_finds_the_same():
    judge = of_table(5)
    together = threading.Barrier(2, timeout=20)
    first = threading.Semaphore(2)

    def meeting(assignment):
        # Two threads must be inside at once, or the barrier breaks.
        if tuple(assignment) != (2, 2, 2) and first.acquire(blocking=False):
            together.wait()
        return judge(assignment)

    assert same(search(judge, beam=2), search(meeting, beam=2, jobs=3))


def test_progress_goes_to_the_end():
    told: list[tuple[str, float]] = []
    search(of_table(1), progress=lambda *call: told.append(call))
    assert {stage for stage, _ in told} == {STAGE}
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert close(shares[-1], 1.0, rtol=1e-12)
    assert len(set(shares)) >= 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam is 0; it must be at least 1"),
        ({"most": -1}, "most is -1; it must be at least 1"),
        ({"numbers": ()}, r"numbers is \(\); it must list numbers of states"),
        ({"numbers": (4, 0)}, r"numbers is \(4, 0\); it must list numbers of states"),
        ({"numbers": (2**31,)}, "it must list numbers of states from 1 to 2147483647"),
    ],
)
def test_settings_without_a_meaning(options, message):
    with pytest.raises(SettingsError, match=message):
        StateSearchOptions(**options)
