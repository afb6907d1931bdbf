"""Numbers of states per nonterminal, found by search on held-out trees.

One number of states for all nonterminals is a compromise: each has its own mixture of signal and
noise, and what is too much for one is too little for another.  Narayan and Cohen (2016) choose the
numbers by how well the grammar parses held-out trees.  There are far too many assignments of
numbers to nonterminals to try all, and nonterminals cannot be optimised independently, because
the best number of one depends on those of its neighbours in rules.  Nonterminals are therefore
searched in turn, the most frequent first, with a *beam* of the best assignments so far:

    beam = {start}
    for each nonterminal a:
        tried = for each assignment in the beam, for each number n: the same with n for a
        beam  = the best few of tried

Each trial evaluates the whole assignment, with all other nonterminals at their current numbers.
Each assignment is among its own trials, so the result is never worse than the start; ties are
resolved in favour of fewer states.  With a beam of one the search is greedy; a wider one finds
changes that only help together.

The result is fitted to the held-out trees: with hundreds of trials, part of the gain on them is
due to chance and does not carry over to other trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigentree.constituency.learn.state_counts import MAX_STATES
from eigentree.errors import SettingsError, check_range
from eigentree.linalg.threads import one_thread
from eigentree.types import Ints, Progress

Judge = Callable[[Ints], float]

STAGE = "numbers of states"


@dataclass(frozen=True)
class StateSearchOptions:
    """Settings of the search for numbers of states.

    Attributes
    ----------
    beam
        Number of assignments kept from one nonterminal to the next.
    most
        Number of nonterminals to search, the most frequent ones.
    numbers
        Numbers of states to try; numbers above the rank of a nonterminal's cross-moment are
        replaced by the rank.
    """

    beam: int = 1
    most: int = 20
    numbers: tuple[int, ...] = (4, 8, 16, 24, 32, 48)

    def __post_init__(self) -> None:
        check_range(1, beam=self.beam, most=self.most)
        if not self.numbers or min(self.numbers) < 1 or max(self.numbers) > MAX_STATES:
            raise SettingsError(
                f"numbers is {self.numbers}; it must list numbers of states from 1 to {MAX_STATES}"
            )


class StateTrial(NamedTuple):
    """A number of states tried for one nonterminal.

    Attributes
    ----------
    turn
        Index of the turn, from 0.
    member
        Rank in the beam of the assignment that it was tried with, from 0 for the best.
    states
        The number of states.
    value
        The judge's score.
    """

    turn: int
    member: int
    states: int
    value: float


class FoundStates(NamedTuple):
    """The result of a search.

    Attributes
    ----------
    n_states : int32, axes (N)
        The best assignment.
    value, start_value
        The judge's scores of the best assignment and of the start.
    trials
        All trials in order, including unchanged numbers.
    """

    n_states: Ints
    value: float
    start_value: float
    trials: list[StateTrial]


def search_states(
    start: Ints,
    largest: Ints,
    turns: Sequence[Ints],
    judge: Judge,
    options: StateSearchOptions = StateSearchOptions(),
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> FoundStates:
    """Find the numbers of states with the highest score, one nonterminal after another.

    Parameters
    ----------
    start : int32, axes (N)
        Initial numbers.
    largest : int32, axes (N)
        Maximum number of each symbol.
    turns
        The symbols that are changed together at each turn, in order; usually one.
    judge
        Scores an assignment; higher is better.  May be called from several threads, once for each
        assignment.
    options
        Width of the beam and numbers to try; ``most`` is not used, since `turns` is given.
    jobs
        Number of threads; the result is the same for any number.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Cost
    ----
    At most turns x beam x numbers calls of the judge.

    References
    ----------
    narayan-2016.
    """
    known: dict[tuple[int, ...], float] = {}
    trials: list[StateTrial] = []

    def order(assignment: tuple[int, ...]) -> tuple[float, int, tuple[int, ...]]:
        """Sort key: higher scores first, then fewer states, then a fixed order."""
        return -known[assignment], sum(assignment), assignment

    with ThreadPoolExecutor(jobs) as threads, one_thread():

        def judge_all(new: list[tuple[int, ...]], turn: int) -> None:
            values = threads.map(lambda each: judge(np.array(each, dtype=np.int32)), new)
            for number, (assignment, value) in enumerate(zip(new, values, strict=True)):
                known[assignment] = value
                if progress and turn >= 0:
                    progress(STAGE, (turn + (number + 1) / len(new)) / len(turns))

        first = tuple(start.tolist())
        judge_all([first], -1)
        beam = [first]
        for turn, symbols in enumerate(turns):
            tried = [_changes(member, symbols, largest, options.numbers) for member in beam]
            every = dict.fromkeys(each for changes in tried for each in changes.values())
            judge_all([each for each in every if each not in known], turn)
            trials += [
                StateTrial(turn, member, number, known[assignment])
                for member, changes in enumerate(tried)
                for number, assignment in changes.items()
            ]
            beam = sorted(every, key=order)[: options.beam]
            if progress:
                progress(STAGE, (turn + 1) / len(turns))
    best = beam[0]
    return FoundStates(np.array(best, dtype=np.int32), known[best], known[first], trials)


def _changes(
    assignment: tuple[int, ...], symbols: Ints, largest: Ints, numbers: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """An assignment with each number for some symbols, itself included, fewest states first."""
    limit = int(largest[symbols].max())
    changes = {max(assignment[symbol] for symbol in symbols): assignment}
    for number in numbers:
        changed = list(assignment)
        for symbol in symbols:
            changed[symbol] = min(number, int(largest[symbol]))
        changes.setdefault(min(number, limit), tuple(changed))
    return dict(sorted(changes.items()))
