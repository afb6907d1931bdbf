"""The output folder of a study: records of finished runs, checkpoints, ensembles, the report."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eigentree import __version__
from eigentree.errors import SettingsError
from eigentree.studies.report.page import Report, as_html, as_markdown
from eigentree.studies.run import Record, Run, stored_record
from eigentree.treebank.io.text_files import write_whole

REPORTS = ("results.json", "report.md", "report.html")
_NAME_LETTERS, _NAME_DIGITS = 80, 12


class Folder:
    """Output folder of a study.

    Parameters
    ----------
    path
        The folder.
    data
        Digests of the study's files by role.
    """

    def __init__(self, path: Path, data: Mapping[str, str]) -> None:
        self.path = path
        self._data = data
        self._records = path / "runs"
        self._checkpoints = path / "checkpoints"

    def make(self) -> None:
        """Create missing folders.

        Raises
        ------
        SettingsError
            When the folder is not a study's and has a file with the name of one of its reports.
        """
        other = [name for name in REPORTS if (self.path / name).exists()]
        if other and not self._records.exists():
            raise SettingsError(
                f"{self.path}: has a file {other[0]} that is not a study's; name a new folder"
            )
        for folder in (self._records, self._checkpoints):
            folder.mkdir(parents=True, exist_ok=True)

    def record_of(self, run: Run) -> Record | None:
        """The record of a finished run, whatever its name was; None if there is none."""
        digest = run.digest(self._data)
        for path in self._records.glob(f"*-{digest[:_NAME_DIGITS]}.json"):
            record = stored_record(path)
            if record is not None and record.get("digest") == digest:
                return record
        return None

    def keep(self, run: Run, found: Mapping[str, Any], processes: int) -> Record:
        """Write the record of a finished run atomically, and delete its checkpoint.

        Returns
        -------
        dict
            The record: what was found, settings and provenance.
        """
        record = {
            **found,
            "digest": run.digest(self._data),
            "name": run.name,
            "settings": dict(run.settings),
            "machine": machine(),
            "processes": processes,
            "versions": versions(),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with write_whole(self._records / f"{self._file_name(run)}.json") as out:
            out.write(json.dumps(record, allow_nan=False) + "\n")
        checkpoint = self.checkpoint(run)
        if checkpoint.is_dir():
            shutil.rmtree(checkpoint)
        else:
            checkpoint.unlink(missing_ok=True)
        return record

    def checkpoint(self, run: Run) -> Path:
        """Where long work may save its state, as a file or a folder."""
        return self._checkpoints / f"{self._file_name(run)}.checkpoint"

    def _file_name(self, run: Run) -> str:
        """A readable name of limited length, made unique by the digest."""
        readable = re.sub(r"[^a-z0-9+]+", "-", run.name.lower()).strip("-")[:_NAME_LETTERS]
        return f"{readable}-{run.digest(self._data)[:_NAME_DIGITS]}"

    def write_report(self, figures: Mapping[str, Any], report: Report) -> Path:
        """Write ``results.json``, ``report.md`` and ``report.html``; returns its path."""
        self.path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(figures, indent=1, allow_nan=False, ensure_ascii=False)
        contents = (text + "\n", as_markdown(report), as_html(report))
        for name, content in zip(REPORTS, contents, strict=True):
            with write_whole(self.path / name) as out:
                out.write(content)
        return self.path / "report.html"


@cache
def machine() -> dict[str, Any]:
    """The machine that times are measured on."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        match = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
        model = match[1] if match else model
    return {"processor": model, "cores": os.cpu_count(), "system": platform.platform(terse=True)}


@cache
def versions() -> dict[str, str]:
    """Versions of the package, of Python and of numerical libraries."""
    packages = ("numpy", "scipy", "numba", "python-crfsuite")
    return {
        "eigentree": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
