"""The loop of expectation maximisation, shared by all learners that iterate.

A learner describes its problem by four functions (`EMProblem`); the loop repeats expectation and
maximisation, checks that the objective does not fall, scores models at the intervals of a
schedule, keeps the best one, saves checkpoints and reports progress.

An iteration is numbered from 1 within its restart.  Its log-likelihood and objective belong to
the parameters that it begins with, its model and score to those that it ends with.  The best
model is the one with the highest score, the earliest of equals.  Without a scorer it is the last
one of its restart, of the restart with the highest log-likelihood.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from eigentree.errors import GrammarError
from eigentree.types import Progress

Parameters = TypeVar("Parameters")
Counts = TypeVar("Counts")
Model = TypeVar("Model")
Model_co = TypeVar("Model_co", covariant=True)

# Share of the even split in a start from given states, since a count of zero would stay zero.
EVEN_SHARE = 0.1
# The pause between two checkpoints is at least this many times as long as writing one takes:
# with many states a checkpoint has hundreds of megabytes.
WRITING_PAUSE = 10.0
# The fall of an objective that rounding may cause, relative to its size, and in nats where that is
# near 0, as with data that the model predicts with certainty.
ROUNDING = 1e-10
ROUNDING_AT_ZERO = 1e-8


class EMSchedule(NamedTuple):
    """How many iterations there are, and which of them are scored.

    Attributes
    ----------
    iterations
        Iterations of each restart.
    restarts
        How many times parameters are initialised anew.
    score_every
        Iterations from one score to the next; the last of each restart is always scored.
    score_first
        Whether the first is scored too.
    """

    iterations: int
    restarts: int = 1
    score_every: int = 1
    score_first: bool = False

    def scores(self, number: int) -> bool:
        """Whether an iteration is scored, by its number within the restart."""
        return (
            number == self.iterations
            or number % self.score_every == 0
            or (self.score_first and number == 1)
        )


class EMIteration(NamedTuple):
    """The figures of one iteration.

    Attributes
    ----------
    restart, number
        From 1.
    log_likelihood
        Of the data under the parameters that the iteration began with, in nats.
    objective
        What the iterations raise: the log-likelihood, plus the log prior where there is one.
    score
        Of the model that the iteration ended with; None if it was not scored.
    cpu_seconds
        Expectation and maximisation of all iterations up to this one, in all threads.
    """

    restart: int
    number: int
    log_likelihood: float
    objective: float
    score: float | None
    cpu_seconds: float


class ExpectedCounts(NamedTuple, Generic[Counts]):
    """The result of an expectation step.

    Attributes
    ----------
    log_likelihood, objective
        As in `EMIteration`.
    counts
        Expected counts, with those of a prior where there is one.
    """

    log_likelihood: float
    objective: float
    counts: Counts


class EMProblem(Protocol[Parameters, Counts, Model_co]):
    """The functions by which a learner describes its problem."""

    def initialise(self, restart: int) -> Parameters:
        """Initial parameters of a restart, numbered from 0."""

    def expectation(self, parameters: Parameters) -> ExpectedCounts[Counts]:
        """The expectation step."""

    def maximisation(self, counts: Counts, parameters: Parameters) -> Parameters:
        """The maximisation step; it may overwrite the parameters of the expectation step."""

    def assemble(self, counts: Counts, parameters: Parameters) -> Model_co:
        """The model to score and to return, from counts and the parameters made from them."""


class EMRun(NamedTuple, Generic[Parameters, Model]):
    """A run between two iterations: all that is needed to resume it.

    Attributes
    ----------
    parameters
        Those that the next iteration begins with; None before the first.
    record
        The iterations so far.
    best
        The best model so far; None before there is one.
    best_at
        The place of its iteration in the record, from 0; None before there is one.
    """

    parameters: Parameters | None
    record: list[EMIteration]
    best: Model | None
    best_at: int | None


class EMTrace(NamedTuple, Generic[Model]):
    """The result of expectation maximisation.

    Attributes
    ----------
    model
        The best one, see the top.
    record
        All iterations.
    best
        The place of the model's iteration in the record, from 0.
    """

    model: Model
    record: list[EMIteration]
    best: int

    @property
    def best_number(self) -> int:
        """The number of the model's iteration in its restart, from 1."""
        return self.record[self.best].number


def run_em(
    problem: EMProblem[Parameters, Counts, Model],
    schedule: EMSchedule,
    *,
    stage: str,
    scorer: Callable[[Model], float] | None = None,
    resumed: EMRun[Parameters, Model] | None = None,
    save: Callable[[EMRun[Parameters, Model]], None] | None = None,
    progress: Progress | None = None,
) -> EMTrace[Model]:
    """Run expectation maximisation, from the start or from a checkpoint.

    Parameters
    ----------
    problem
        Start, expectation step, maximisation step and model.
    schedule
        Iterations, restarts and scores.
    stage
        The name under which progress is reported.
    scorer
        How good a model is; higher is better.
    resumed
        A run to continue, as `save` received it.
    save
        Called after the first and the last iteration, and between them so often that saving
        takes at most about a tenth of the time (`WRITING_PAUSE`).
    progress
        Called with the stage and the fraction of iterations done, 0 to 1.

    Raises
    ------
    GrammarError
        When the objective falls by more than rounding explains.
    """
    parameters, record, best, best_at = resumed or EMRun(None, [], None, None)
    total = schedule.restarts * schedule.iterations
    if progress:
        progress(stage, len(record) / total)
    next_writing = time.monotonic()
    while len(record) < total:
        restart, n_before = divmod(len(record), schedule.iterations)
        number = n_before + 1
        if n_before == 0:
            parameters = problem.initialise(restart)
        assert parameters is not None
        began = time.process_time()
        log_likelihood, objective, counts = problem.expectation(parameters)
        if n_before:
            _check_rise(record[-1], objective)
        parameters = problem.maximisation(counts, parameters)
        seconds = time.process_time() - began + (record[-1].cpu_seconds if record else 0.0)
        model, score = None, None
        if number == schedule.iterations or (scorer and schedule.scores(number)):
            model = problem.assemble(counts, parameters)
            score = None if scorer is None else scorer(model)
        record.append(EMIteration(restart + 1, number, log_likelihood, objective, score, seconds))
        if model is not None and (best_at is None or _improves(record[-1], record[best_at])):
            best, best_at = model, len(record) - 1
        is_done = len(record) == total
        if save and (is_done or time.monotonic() >= next_writing):
            began_writing = time.monotonic()
            save(EMRun(parameters, record, best, best_at))
            ended_writing = time.monotonic()
            next_writing = ended_writing + WRITING_PAUSE * (ended_writing - began_writing)
        if progress:
            progress(stage, len(record) / total)
    assert best is not None
    assert best_at is not None
    return EMTrace(best, record, best_at)


def _improves(new: EMIteration, old: EMIteration) -> bool:
    """Whether the model of one iteration is to replace that of an earlier one."""
    if new.score is not None:
        return old.score is None or new.score > old.score
    return new.restart == old.restart or new.log_likelihood > old.log_likelihood


def _check_rise(last: EMIteration, objective: float) -> None:
    rounding = max(ROUNDING * abs(last.objective), ROUNDING_AT_ZERO)
    if not objective >= last.objective - rounding:
        raise GrammarError(
            f"iteration {last.number + 1}: the objective fell from {last.objective} to "
            f"{objective}; expectation maximisation must not lower it"
        )
