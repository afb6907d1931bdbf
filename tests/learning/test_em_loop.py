"""The loop of expectation maximisation: its own rules, and a contract over all that use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigentree.automata.arrays import Automata
from eigentree.automata.em import SequenceEMOptions, learn_automata
from eigentree.automata.prefix_tree import build_prefix_tree
from eigentree.automata.sequences import Sequences
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.constrained_em import ConstrainedEMOptions, learn_constrained_em
from eigentree.constituency.learn.em import EMOptions, learn_em
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import GrammarError
from eigentree.learning import em_loop
from eigentree.learning.em_loop import EMRun, EMSchedule, EMTrace, ExpectedCounts, run_em
from eigentree.treebank.binarise import BinariseOptions, binarise
from eigentree.treebank.io.brackets import parse_tree
from tests.demo import demo_trees

ITERATIONS = 5


# The learners -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Learner:
    """One user of the loop; ``learn`` takes scorer, checkpoint and progress."""

    learn: Callable[..., EMTrace[Any]]
    stage: str
    arrays: Callable[[Any], tuple[np.ndarray, ...]]
    resumes: bool = True


@cache
def examples() -> Examples:
    return Examples.of([binarise(tree, BinariseOptions()) for tree in demo_trees()[:40]])


@cache
def plain_parser() -> ConstituencyParser:
    return ConstituencyParser.train(demo_trees()[:40], method="pcfg")


def trees(**settings: Any) -> EMTrace[Any]:
    options = EMOptions(states=3, iterations=ITERATIONS, judge_every=1)
    return learn_em(examples(), options, **settings)


def partial_trees(**settings: Any) -> EMTrace[Any]:
    options = ConstrainedEMOptions(iterations=ITERATIONS)
    partial = demo_trees()[40:50]
    return learn_constrained_em(plain_parser().grammar, partial, options, **settings).trace


def sequences(**settings: Any) -> EMTrace[Automata]:
    texts = Sequences.of(["abab", "ab", "c", "abc", "bbcaab", "", "ca"] * 9, "abc")
    tree = build_prefix_tree(texts, np.zeros(texts.n_sequences, dtype=np.int64), 1)
    return learn_automata([texts], tree, SequenceEMOptions(3, ITERATIONS), **settings)


def of_grammar(model: LPCFG) -> tuple[np.ndarray, ...]:
    return (*model.parameters, model.backbone.probability, model.backbone.root)


LEARNERS = {
    "trees": Learner(trees, "expectation maximisation", of_grammar),
    "partial trees": Learner(partial_trees, "constrained EM", of_grammar, resumes=False),
    "sequences": Learner(sequences, "expectation maximisation", tuple),
}


@pytest.fixture(params=LEARNERS.values(), ids=LEARNERS)
def learner(request) -> Learner:
    return request.param


def same_bits(learner: Learner, one: Any, other: Any) -> bool:
    pairs = zip(learner.arrays(one), learner.arrays(other), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


class StoppedError(Exception):
    """Stands for the end of the process."""


def test_the_objective_never_falls(learner):
    record = learner.learn().record
    assert [row.number for row in record] == list(range(1, ITERATIONS + 1))
    for before, after in pairwise(record):
        assert after.objective >= before.objective - em_loop.ROUNDING * abs(before.objective)
        assert after.cpu_seconds >= before.cpu_seconds
    assert record[-1].objective > record[0].objective


def test_the_model_with_the_best_score_is_kept_the_earliest_of_equals(learner):
    seen, scores = [], iter([0.1, 0.3, 0.2, 0.3, 0.1])

    def scorer(model: Any) -> float:
        seen.append(model)
        return next(scores)

    trace = learner.learn(scorer=scorer)
    assert [row.score for row in trace.record] == [0.1, 0.3, 0.2, 0.3, 0.1]
    assert (trace.best, trace.best_number) == (1, 2)
    assert trace.model is seen[1]


def test_without_a_scorer_the_last_model_is_kept(learner):
    trace = learner.learn()
    assert trace.best_number == ITERATIONS
    assert all(row.score is None for row in trace.record)


def test_progress_is_reported_once_before_and_after_each_iteration(learner):
    shares = []
    learner.learn(
        progress=lambda stage, share: shares.append(share) if stage == learner.stage else None
    )
    assert shares == [number / ITERATIONS for number in range(ITERATIONS + 1)]


@pytest.mark.parametrize("name", [name for name, each in LEARNERS.items() if each.resumes])
def test_a_stopped_run_resumes_to_the_same_bits(name, tmp_path, monkeypatch):
    learner = LEARNERS[name]
    scores = dict(enumerate([0.1, 0.5, 0.2, 0.5, 0.4], start=1))

    def scorer_from(number: int) -> Callable[[Any], float]:
        following = iter(range(number, ITERATIONS + 1))
        return lambda _: scores[next(following)]

    def stop(stage: str, share: float) -> None:
        if stage == learner.stage and share >= 0.6:
            raise StoppedError

    expected = learner.learn(scorer=scorer_from(1))
    path = Path(tmp_path / "checkpoint")
    monkeypatch.setattr(em_loop, "WRITING_PAUSE", 0.0)
    with pytest.raises(StoppedError):
        learner.learn(scorer=scorer_from(1), checkpoint=path, progress=stop)
    resumed = learner.learn(scorer=scorer_from(4), checkpoint=path)
    assert same_bits(learner, resumed.model, expected.model)
    assert [row[:-1] for row in resumed.record] == [row[:-1] for row in expected.record]
    assert resumed.best == expected.best == 1
    # A finished run is read, not repeated.
    again = learner.learn(scorer=None, checkpoint=path)
    assert same_bits(learner, again.model, expected.model)


# The loop alone ---------------------------------------------------------------------------


class Ladder:
    """A problem whose objective is given: the parameters are its place in a list."""

    def __init__(self, *restarts: list[float]) -> None:
        self._objectives = restarts

    def initialise(self, restart: int) -> tuple[int, int]:
        return restart, 0

    def expectation(self, parameters: tuple[int, int]) -> ExpectedCounts[int]:
        restart, place = parameters
        value = self._objectives[restart][place]
        return ExpectedCounts(value, value, place)

    def maximisation(self, counts: int, parameters: tuple[int, int]) -> tuple[int, int]:
        return parameters[0], counts + 1

    def assemble(self, counts: int, parameters: tuple[int, int]) -> str:  # noqa: ARG002
        return f"{parameters[0]}.{parameters[1]}"


def test_a_fall_is_an_error_beyond_rounding():
    assert run_em(Ladder([-1.0, -1.0 - 1e-12]), EMSchedule(2), stage="").model == "0.2"
    for fallen in (-1.1, float("nan")):
        with pytest.raises(GrammarError, match=r"iteration 2: the objective fell from -1\.0 to"):
            run_em(Ladder([-1.0, fallen]), EMSchedule(2), stage="")


def test_rounding_at_an_objective_of_zero_is_no_fall():
    assert run_em(Ladder([0.0, -5.6e-15]), EMSchedule(2), stage="").model == "0.2"
    assert run_em(Ladder([4.4e-15, 0.0]), EMSchedule(2), stage="").model == "0.2"
    with pytest.raises(GrammarError, match="the objective fell"):
        run_em(Ladder([0.0, -1e-6]), EMSchedule(2), stage="")


def test_predictable_data_reach_an_objective_of_zero():
    tree = parse_tree("(S (NP (DT the) (NN cat)) (VP (VB slept)))")
    same = Examples.of([binarise(tree, BinariseOptions())] * 20)
    texts = Sequences.of(["a"] * 50, "abc")
    prefixes = build_prefix_tree(texts, np.zeros(texts.n_sequences, dtype=np.int64), 1)
    for trace in (
        learn_em(same, EMOptions(states=4, iterations=6)),
        learn_automata([texts], prefixes, SequenceEMOptions(4, 12)),
    ):
        assert trace.record[-1].objective == pytest.approx(0.0, abs=1e-8)


def test_the_restart_with_the_highest_likelihood_is_kept_without_a_scorer():
    problem = Ladder([-9.0, -5.0], [-8.0, -3.0], [-7.0, -3.0])
    trace = run_em(problem, EMSchedule(2, restarts=3), stage="")
    assert (trace.model, trace.best, trace.best_number) == ("1.2", 3, 2)
    assert [(row.restart, row.number) for row in trace.record] == [
        (restart, number) for restart in (1, 2, 3) for number in (1, 2)
    ]


@pytest.mark.parametrize(
    ("schedule", "scored"),
    [
        (EMSchedule(7, score_every=3), [3, 6, 7]),
        (EMSchedule(7, score_every=3, score_first=True), [1, 3, 6, 7]),
        (EMSchedule(2), [1, 2]),
        (EMSchedule(1, score_every=5), [1]),
    ],
)
def test_a_schedule_says_which_iterations_are_scored(schedule, scored):
    problem = Ladder(list(map(float, range(schedule.iterations))))
    trace = run_em(problem, schedule, stage="", scorer=lambda _: 0.0)
    assert [row.number for row in trace.record if row.score is not None] == scored
    assert trace.best_number == scored[0]


def test_checkpoints_are_saved_first_and_last_and_seldom_between(monkeypatch):
    saved: list[int] = []
    now = iter(np.arange(0.0, 100.0, 1.0).tolist())
    monkeypatch.setattr(em_loop.time, "monotonic", lambda: next(now))

    def save(run: EMRun[tuple[int, int], str]) -> None:
        saved.append(len(run.record))

    problem = Ladder(list(map(float, range(16))))
    run_em(problem, EMSchedule(16), stage="", save=save)
    # Writing takes one tick of this clock, so at least ten pass before the next.
    assert saved == [1, 11, 16]
