"""What a study consists of: its runs, and what a kind of study has to provide.

A study compares models.  Each `Run` is one of them, trained and scored; its record has everything
that the report needs, so a finished run is never repeated.  `eigentree.studies.runner.run_study`
does the runs of any `Study`, whatever it studies.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from eigentree import __version__
from eigentree._core.json_text import parse_json
from eigentree.studies.report.page import Report
from eigentree.types import Progress

Record = dict[str, Any]

# Version of the records; raise it when what is measured changes, to invalidate old records.
FORMAT = 1


@dataclass(frozen=True)
class Run:
    """A model of a study: one training and its scores.

    Attributes
    ----------
    name
        The name in messages.
    settings
        Everything that decides the outcome except for data; fit for JSON.
    files
        Files that decide the outcome, other than the study's, by role; missing ones are ignored.
    cost
        Relative cost; expensive runs are started first.
    uses_all_processes
        Whether the run distributes its own work over processes.  Such runs are done one after
        another; all others are done in parallel, one process each.
    """

    name: str
    settings: Mapping[str, Any]
    files: Mapping[str, Path] = field(default_factory=dict, kw_only=True)
    cost: float = field(default=0.0, kw_only=True)
    uses_all_processes: bool = field(default=False, kw_only=True)

    def __str__(self) -> str:
        return self.name

    def digest(self, data: Mapping[str, str]) -> str:
        """Hexadecimal digest of everything that decides the outcome.

        Parameters
        ----------
        data
            Digests of the study's files by role.
        """
        decisive = {
            "format": FORMAT,
            "version": __version__,
            "data": dict(data),
            "files": {
                role: file_digest(path) for role, path in self.files.items() if path.is_file()
            },
            "settings": dict(self.settings),
        }
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stored_record(path: Path) -> Record | None:
    """The record in a file; None if it is missing, damaged or something else.

    What is None is made again, so no damage of a file stops a study.
    """
    try:
        found = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class Workspace(NamedTuple):
    """What a run may use while it is done.

    Attributes
    ----------
    folder
        The study's output folder.
    checkpoint
        Where long work may save its state, as a file or a folder; deleted when the run is done.
    processes
        Number of processes: those of this run if it uses all, otherwise of runs at a time.
    stages
        Called with the stage and the fraction of it that is done.
    """

    folder: Path
    checkpoint: Path
    processes: int
    stages: Progress


class Outcome(NamedTuple):
    """What came of the runs of a study.

    Attributes
    ----------
    runs
    records
        The record of each run; None for failed ones.
    failures
        Error messages of failed runs by name.
    data
        Digests of the study's files by role.
    command
        The command line.
    """

    runs: Sequence[Run]
    records: Sequence[Record | None]
    failures: Mapping[str, str]
    data: Mapping[str, str]
    command: str

    def done(self) -> list[Record]:
        """The records of successful runs, in order."""
        return [record for record in self.records if record is not None]


class OpenStudy(Protocol):
    """A study with access to its data; each process has its own."""

    def prepare(self, runs: Sequence[Run]) -> None:
        """Read the data of these runs, so that errors in it are raised before any work."""

    def warm_up(self, run: Run) -> None:
        """Run the code on a little data, to exclude compilation from measured times."""

    def execute(self, run: Run, workspace: Workspace) -> Record:
        """Train and score; returns the record, fit for JSON."""

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        """Everything that ``results.json`` has and the report shows."""


class Study(Protocol):
    """A kind of study; its instances can be pickled.

    Attributes
    ----------
    files
        The data by role.
    """

    @property
    def files(self) -> Mapping[str, Path]: ...

    def runs(self) -> Sequence[Run]:
        """Every run of the study, each once.

        Raises
        ------
        SettingsError
            When the settings of a model are invalid.
        """

    def open(self, jobs: int) -> OpenStudy:
        """Access to the data, with a number of processes for reading and preparing it."""

    def headline(self, record: Record) -> str:
        """The result of a run in a few words."""

    def report(self, figures: Mapping[str, Any]) -> Report:
        """The report on figures that `OpenStudy.figures` made."""


T = TypeVar("T")


class Timed(NamedTuple, Generic[T]):
    """A value, and the CPU seconds that it took."""

    value: T
    seconds: float


def timed(work: Callable[[], T]) -> Timed[T]:
    """Measure the CPU time of this process."""
    began = time.process_time()
    value = work()
    return Timed(value, time.process_time() - began)


def percent_headline(score: str, value: float | None, part: str = "dev") -> str:
    """A score on a part in a few words."""
    return f"{score} not defined" if value is None else f"{score} {100 * value:.2f} on {part}"


def data_figures(files: Mapping[str, Path], outcome: Outcome) -> dict[str, dict[str, str]]:
    """The files of a study in its figures."""
    return {role: {"file": str(path), "sha256": outcome.data[role]} for role, path in files.items()}
