"""Trials: pieces of work of a study that are described by names and numbers alone.

Studies of dependency parsers and of bracketings are made of them.  What a trial gives is kept, so
that a study goes on where it was interrupted; a trial that fails leaves the others be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from eigentree import __version__
from eigentree.errors import EigentreeError
from eigentree.studies.report.page import Report
from eigentree.studies.runs import Folder, file_digest, machine, versions
from eigentree.treebank.io.text_files import write_whole

Record = dict[str, Any]
# Of records; a change of what is measured, or how, makes old ones worthless.
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Trial:
    """A piece of work.

    Attributes
    ----------
    name
        Which messages call it by.
    settings
        All that decides what it gives, but for the data; fit for JSON.
    """

    name: str
    settings: Mapping[str, Any]

    def __str__(self) -> str:
        return self.name

    def digest(self, data: Mapping[str, str]) -> str:
        """Hexadecimal digest of all that decides the outcome."""
        decisive = {
            "format": _FORMAT,
            "version": __version__,
            "data": dict(data),
            "settings": dict(self.settings),
        }
        return sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


class Tried(NamedTuple):
    """How far a study is: trials done and in all, the last one, and what it gave or why nothing."""

    done: int
    total: int
    trial: Trial | None
    record: Record | None
    problem: str | None


class TrialStudyResult(NamedTuple):
    """What came of a study: all figures, the trials that failed and why, and the page."""

    figures: dict[str, Any]
    failures: dict[str, str]
    report: Path


class Outcome(NamedTuple):
    """Records of the trials that were done, and why others failed, by name."""

    records: dict[str, Record]
    failures: dict[str, str]


def run_trials(
    trials: Sequence[Trial],
    files: Mapping[str, Path],
    attempt: Callable[[Trial, Path], Record],
    output: Path,
    progress: Callable[[Tried], None] | None = None,
) -> Outcome:
    """Do those trials that are not done.

    Parameters
    ----------
    trials
        Of different names.
    files
        The data by part, whose bytes decide with the settings whether a record still holds.
    attempt
        Does a trial; its second argument is a file in which long work may leave its state.
    output
        Folder of the study.
    progress
        Called at the beginning, and when a trial has ended.
    """
    folder = Folder(output)
    digests = {part: file_digest(path) for part, path in files.items()}
    records: dict[str, Record] = {}
    failures: dict[str, str] = {}
    for trial in trials:
        record = folder.record_of(trial, digests)
        if record is not None:
            records[trial.name] = record
    left = [trial for trial in trials if trial.name not in records]

    def tell(trial: Trial | None, problem: str | None = None) -> None:
        if progress is not None:
            record = None if trial is None else records.get(trial.name)
            progress(Tried(len(records) + len(failures), len(trials), trial, record, problem))

    tell(None)
    folder.make()
    for trial in left:
        problem = None
        try:
            found = attempt(trial, folder.checkpoint(trial, digests))
        except EigentreeError as error:
            problem = str(error)
        except Exception as error:
            # Whatever it is, the rest is worth having.
            problem = f"{type(error).__name__}: {error}"
        if problem is not None:
            failures[trial.name] = problem
        else:
            record = {
                **found,
                "digest": trial.digest(digests),
                "name": trial.name,
                "settings": dict(trial.settings),
                "machine": machine(),
                "versions": versions(),
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            records[trial.name] = record
            folder.keep(trial, digests, record)
        tell(trial, problem)
    return Outcome(
        {trial.name: records[trial.name] for trial in trials if trial.name in records}, failures
    )


def data_of(files: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """The data files of a study as its results name them."""
    return {part: {"file": str(path), "sha256": file_digest(path)} for part, path in files.items()}


def write_results(figures: Mapping[str, Any], report: Report, output: Path) -> Path:
    """Write ``results.json``, ``report.md`` and ``report.html``; gives the path of the last."""
    from eigentree.studies.report.page import as_html, as_markdown

    text = json.dumps(figures, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    contents = {
        "results.json": text,
        "report.md": as_markdown(report),
        "report.html": as_html(report),
    }
    for name, content in contents.items():
        with write_whole(output / name) as out:
            out.write(content)
    return output / "report.html"
