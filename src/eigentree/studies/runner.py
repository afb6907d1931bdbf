"""The runner of studies: which runs are left, in what order and in how many processes.

The record of a finished run is on disk, so an interrupted study resumes where it was.  A failed
run is reported and does not stop the others.  When a worker process dies (out of memory, for
example), the runs in progress are repeated one by one, each in a process of its own, so that only
the culprit fails.  Runs that use all processes themselves are done last, one after another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from eigentree._core.processes import USE_FEWER_JOBS, worker_pool
from eigentree.errors import EigentreeError
from eigentree.linalg.threads import one_thread
from eigentree.studies.folder import Folder
from eigentree.studies.run import OpenStudy, Outcome, Record, Run, Study, Workspace, file_digest
from eigentree.types import Progress


class RunProgress(NamedTuple):
    """Progress of a study, as `run_study` reports it.

    Attributes
    ----------
    done, total
        Number of runs that have ended, in any way, and of all.
    run
        The run that has just ended; None at the beginning.
    headline
        Its result in a few words; None for a failed run.
    problem
        Why it failed.
    """

    done: int
    total: int
    run: Run | None
    headline: str | None
    problem: str | None


@dataclass(frozen=True)
class StudyResult:
    """The result of a study.

    Attributes
    ----------
    figures
        Everything in the report, as in ``results.json``.
    summary
        The main results in sentences.
    failures
        Error messages of failed runs by name.
    report
        Path of the HTML report.
    """

    figures: dict[str, Any]
    summary: list[str]
    failures: dict[str, str]
    report: Path


class _Attempt(NamedTuple):
    """How a run ended: with a record or an error message."""

    run: Run
    record: Record | None
    problem: str | None


def run_study(
    study: Study,
    output: str | Path,
    *,
    jobs: int = 1,
    progress: Callable[[RunProgress], None] | None = None,
    stages: Progress | None = None,
    command: str = "",
) -> StudyResult:
    """Do the remaining runs of a study and write its report.

    Parameters
    ----------
    study
        What to compare.
    output
        Folder for ``report.html``, ``report.md``, ``results.json``, the records of finished runs,
        and ensembles.
    jobs
        Number of processes; it changes no figures except for times and memory.
    progress
        Called at the beginning and at the end of each run.
    stages
        Called during runs that use all processes, with the stage and the fraction of it that is
        done.
    command
        The command line, for the report.

    Returns
    -------
    StudyResult
        Also when runs have failed.

    Raises
    ------
    TreebankFormatError
        When a treebank can't be read or is empty.
    """
    data = {role: file_digest(path) for role, path in study.files.items()}
    folder = Folder(Path(output), data)
    runs = study.runs()
    records = [folder.record_of(run) for run in runs]
    failures: dict[str, str] = {}
    n_done = sum(record is not None for record in records)

    def notify(attempt: _Attempt | None) -> None:
        if progress is not None:
            run, record, problem = attempt or (None, None, None)
            headline = None if record is None else study.headline(record)
            progress(RunProgress(n_done, len(runs), run, headline, problem))

    notify(None)
    # Runs of several models may be the same work, which is done once.
    same: dict[str, list[int]] = {}
    for place, (run, record) in enumerate(zip(runs, records, strict=True)):
        if record is None:
            same.setdefault(run.digest(data), []).append(place)
    left = sorted((runs[places[0]] for places in same.values()), key=_cost, reverse=True)
    opened = study.open(jobs)
    if left:
        # Errors in the data are raised here, before any work and not in worker processes.
        opened.prepare(left)
        folder.make()
    for attempt in _attempts(left, study, opened, folder, jobs, stages or _no_stages):
        for place in same[attempt.run.digest(data)]:
            records[place] = attempt.record
            if attempt.record is None:
                failures[runs[place].name] = attempt.problem or "failed"
            n_done += 1
            notify(attempt._replace(run=runs[place]))
    figures = opened.figures(Outcome(runs, records, failures, data, command))
    report = study.report(figures)
    page = folder.write_report(figures, report)
    return StudyResult(figures, list(report.summary), failures, page)


def _cost(run: Run) -> tuple[bool, float]:
    # The most expensive runs first: no process is left waiting for a long one at the end.
    return not run.uses_all_processes, run.cost


def _no_stages(stage: str, share: float) -> None:
    pass


def _attempts(
    runs: Sequence[Run],
    study: Study,
    opened: OpenStudy,
    folder: Folder,
    jobs: int,
    stages: Progress,
) -> Iterator[_Attempt]:
    """Do runs, parallel ones first; each is yielded when it ends."""
    parallel = [run for run in runs if not run.uses_all_processes]
    processes = min(jobs, len(parallel))
    if processes > 1:
        yield from _in_parallel(parallel, study, folder, processes)
    else:
        for run in parallel:
            with one_thread():
                yield _attempt(run, opened, folder, 1, _no_stages)
    for run in runs:
        if run.uses_all_processes:
            yield _attempt(run, opened, folder, jobs, stages)


def _attempt(
    run: Run, opened: OpenStudy, folder: Folder, processes: int, stages: Progress
) -> _Attempt:
    """Do a run and keep its record."""
    workspace = Workspace(folder.path, folder.checkpoint(run), processes, stages)
    try:
        opened.warm_up(run)
        record = folder.keep(run, opened.execute(run, workspace), processes)
    except EigentreeError as error:
        return _Attempt(run, None, str(error))
    except Exception as error:
        # Any error: the other runs are still useful.
        return _Attempt(run, None, f"{type(error).__name__}: {error}")
    return _Attempt(run, record, None)


# In parallel ------------------------------------------------------------------------------


def _in_parallel(
    runs: Sequence[Run], study: Study, folder: Folder, processes: int
) -> Iterator[_Attempt]:
    lost: list[Run] = []
    waiting = deque(runs)
    while waiting:
        yield from _in_processes(waiting, lost, study, folder, processes)
    for run in lost:
        lost_again: list[Run] = []
        yield from _in_processes(deque([run]), lost_again, study, folder, 1)
        if lost_again:
            yield _Attempt(run, None, USE_FEWER_JOBS)


def _in_processes(
    waiting: deque[Run], lost: list[Run], study: Study, folder: Folder, processes: int
) -> Iterator[_Attempt]:
    """Do waiting runs in worker processes; those in progress when one dies are added to `lost`."""
    running: dict[Future[_Attempt], Run] = {}
    broken = False
    with worker_pool(processes, _start_worker, study, folder, processes) as pool:
        while waiting or running:
            # No more than there are workers, so that the runs lost with one are known.
            while waiting and len(running) < processes and not broken:
                run = waiting.popleft()
                try:
                    running[pool.submit(_attempt_here, run)] = run
                except BrokenProcessPool:
                    waiting.appendleft(run)
                    broken = True
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                run = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    lost.append(run)
                    broken = True


_here: tuple[OpenStudy, Folder, int]


def _start_worker(study: Study, folder: Folder, processes: int) -> None:
    global _here  # set once in each worker process
    _here = study.open(1), folder, processes


def _attempt_here(run: Run) -> _Attempt:
    opened, folder, processes = _here
    with one_thread():
        return _attempt(run, opened, folder, processes, _no_stages)
