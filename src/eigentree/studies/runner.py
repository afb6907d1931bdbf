"""Running a study: what is left, in what order, in how many processes, and the report.

A cell that is done is on disk, so an interrupted study goes on where it was, whatever ended it.
A cell that fails is told of and the others are run all the same.  If a worker process dies (for
want of memory, say), the cells that were running are run again, one by one in a process of their
own, so that only the culprit is lost.  Ensembles come after the cells, one after another: each
has work for all processes.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from eigentree._core.processes import WORKER_EXITED, worker_pool
from eigentree.errors import EigentreeError
from eigentree.linalg.threads import one_thread
from eigentree.studies.constituency import Study
from eigentree.studies.constituency_figures import results_of
from eigentree.studies.ensemble_runs import Entrant
from eigentree.studies.ensembles import run_ensemble
from eigentree.studies.runs import Cell, Data, Folder, Place, run_cell
from eigentree.treebank.io.text_files import write_whole
from eigentree.types import Progress

Record = dict[str, Any]


class Done(NamedTuple):
    """How far a study is, as `run_study` tells it.

    ``cell`` is the cell or ensemble that has ended, None at the beginning; ``problem`` says why
    it failed.
    """

    done: int
    total: int
    cell: Cell | Entrant | None
    record: Mapping[str, Any] | None
    problem: str | None

    @property
    def dev_f1(self) -> float | None:
        """F1 on dev, of an ensemble's last combination; None if it isn't defined."""
        if self.record is None:
            return None
        scored = self.record if isinstance(self.cell, Cell) else self.record["combinations"][-1]
        f1: float | None = scored["scores"]["dev"]["f1"]
        return f1


Tell = Callable[[Done], None]


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What came of a study.

    Attributes
    ----------
    figures
        Everything in the report, as ``results.json`` has it.
    failures
        Cells and ensembles that failed, by name, and why.
    report
        The page.
    """

    figures: dict[str, Any]
    failures: dict[str, str]
    report: Path


class _Outcome(NamedTuple):
    cell: Cell
    record: Record | None
    problem: str | None


def run_study(
    study: Study,
    output: str | Path,
    *,
    jobs: int = 1,
    progress: Tell | None = None,
    stages: Progress | None = None,
    command: str = "",
) -> StudyResult:
    """Do what is left of a study and write its report.

    Parameters
    ----------
    study
        What to compare.
    output
        Folder for ``report.html``, ``report.md``, ``results.json``, the records of what is done,
        and ensembles.
    jobs
        Processes; all figures but CPU times are the same for any number.
    progress
        Called at the beginning and whenever a cell or an ensemble has ended.
    stages
        Called while there is work on an ensemble, with the stage and the share of it that is done.
    command
        The command line, for the report.

    Returns
    -------
    StudyResult
        Also when cells have failed.

    Raises
    ------
    TreebankFormatError
        When a treebank can't be read or is empty.
    """
    folder = Folder(Path(output))
    data = Data(study.train, study.parts)
    cells, entrants = study.cells(), study.entrants()
    records: dict[Place, Record] = {}
    for cell in cells:
        record = folder.record_of(cell, data.digests)
        if record is not None:
            records[cell.place] = record
    of_ensembles: dict[str, Record] = {}
    for entrant in entrants:
        record = folder.record_of(entrant, data.digests)
        if record is not None:
            of_ensembles[entrant.name] = record
    failures: dict[str, str] = {}
    total = len(cells) + len(entrants)

    def tell(work: Cell | Entrant | None, record: Record | None, problem: str | None) -> None:
        if progress:
            done = len(records) + len(of_ensembles) + len(failures)
            progress(Done(done, total, work, record, problem))

    tell(None, None, None)
    left = [cell for cell in cells if cell.place not in records]
    left_entrants = [entrant for entrant in entrants if entrant.name not in of_ensembles]
    cleanings = [cell.options.treebank.cleaning for cell in left]
    cleanings += [entrant.cleaning for entrant in left_entrants]
    if cleanings:
        # Read here as well: what is wrong with the trees is told once, before any work.
        data.training(cleanings[0])
        for part in data.parts:
            data.held_out(part, cleanings[0], study.longest)
        folder.make()
    # Cells of other models may be the same work; it is done once.
    same: dict[str, list[Cell]] = {}
    for cell in left:
        same.setdefault(cell.digest(data.digests), []).append(cell)
    unique = sorted((group[0] for group in same.values()), key=_cost, reverse=True)
    for outcome in _run(unique, data, folder, study, min(jobs, len(unique))):
        for cell in same[outcome.cell.digest(data.digests)]:
            if outcome.record is not None:
                records[cell.place] = outcome.record
            else:
                failures[str(cell)] = outcome.problem or "failed"
            tell(cell, outcome.record, outcome.problem)
    for entrant in left_entrants:
        record, problem = _attempted(lambda: run_ensemble(entrant, data, folder, jobs, stages))  # noqa: B023 - called at once
        if record is not None:
            of_ensembles[entrant.name] = record
        else:
            failures[str(entrant)] = problem or "failed"
        tell(entrant, record, problem)
    figures = results_of(study, cells, records, of_ensembles, failures, command=command)
    return StudyResult(figures, failures, _write(figures, folder.path))


def _cost(cell: Cell) -> float:
    """What a cell costs, in no unit: the longest are run first, so that none is waited for."""
    passes = cell.options.em.n_iterations if cell.is_em else 1
    return float(cell.share * passes * (1 + (cell.states or 0)) ** 2)


def _write(figures: dict[str, Any], folder: Path) -> Path:
    # jinja2 is loaded only when there is something to report.
    from eigentree.studies.report.constituency import as_html, as_markdown

    folder.mkdir(parents=True, exist_ok=True)
    with write_whole(folder / "results.json") as out:
        out.write(json.dumps(figures, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    with write_whole(folder / "report.md") as out:
        out.write(as_markdown(figures))
    with write_whole(folder / "report.html") as out:
        out.write(as_html(figures))
    return folder / "report.html"


def _run(
    cells: Sequence[Cell], data: Data, folder: Folder, study: Study, jobs: int
) -> Iterator[_Outcome]:
    if jobs <= 1:
        for cell in cells:
            with one_thread():
                yield _attempt(cell, data, folder, 1)
        return
    lost: list[Cell] = []
    waiting = deque(cells)
    while waiting:
        yield from _in_processes(waiting, lost, study, folder.path, jobs)
    for cell in lost:
        again: list[Cell] = []
        yield from _in_processes(deque([cell]), again, study, folder.path, 1)
        if again:
            yield _Outcome(cell, None, WORKER_EXITED)


def _attempt(cell: Cell, data: Data, folder: Folder, processes: int) -> _Outcome:
    return _Outcome(cell, *_attempted(lambda: run_cell(cell, data, folder, processes)))


def _attempted(work: Callable[[], Record]) -> tuple[Record | None, str | None]:
    """The record that comes of it, or why none did."""
    try:
        return work(), None
    except EigentreeError as error:
        return None, str(error)
    except Exception as error:
        # Whatever it is, the rest is worth having.
        return None, f"{type(error).__name__}: {error}"


def _in_processes(
    waiting: deque[Cell], lost: list[Cell], study: Study, path: Path, jobs: int
) -> Iterator[_Outcome]:
    """Run waiting cells in worker processes; those that ran when one died are added to `lost`."""
    running: dict[Future[_Outcome], Cell] = {}
    broken = False
    with worker_pool(jobs, _start_worker, study, path, jobs) as pool:
        while waiting or running:
            # No more than there are workers, so that what is lost with one is known.
            while waiting and len(running) < jobs and not broken:
                cell = waiting.popleft()
                try:
                    running[pool.submit(_attempt_here, cell)] = cell
                except BrokenProcessPool:
                    waiting.appendleft(cell)
                    broken = True
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                cell = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    lost.append(cell)
                    broken = True


_here: tuple[Data, Folder, int]


def _start_worker(study: Study, path: Path, jobs: int) -> None:
    global _here  # what a worker process is started for
    _here = Data(study.train, study.parts), Folder(path), jobs


def _attempt_here(cell: Cell) -> _Outcome:
    with one_thread():
        return _attempt(cell, *_here)
