"""Checkpoints of expectation maximisation, from which a run resumes as if it had not stopped.

A checkpoint is a model file (`eigentree.model_file`) of a kind of its own, replaced as a whole.
It holds the settings of the run, a digest of the data, the figures of all iterations, the
parameters that the next iteration begins with (arrays ``values.*``) and the best model so far
(arrays ``best.*``).  Learners convert parameters and models to arrays and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.errors import ModelFileError
from eigentree.learning.em_loop import EMIteration
from eigentree.model_file import ModelFile, open_model, save_model

Arrays = Mapping[str, NDArray[Any]]


class Checkpoint(NamedTuple):
    """The content of a checkpoint.

    Attributes
    ----------
    settings
        Settings that a resumed run must share, with a digest of the data.
    record
        The iterations so far.
    best_at
        The place of the best model's iteration in the record; None when there is no model yet.
    values
        Arrays of the parameters that the next iteration begins with, by name.
    best
        Arrays of the best model, by name; empty when there is none.
    """

    settings: Mapping[str, Any]
    record: list[EMIteration]
    best_at: int | None
    values: Arrays
    best: Arrays

    def differing(self, settings: Mapping[str, Any]) -> list[str]:
        """Names of the settings that are not those of another run, in its order."""
        return [name for name, value in settings.items() if self.settings[name] != value]


def save_checkpoint(path: Path, kind: str, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; an earlier one at this path stays until the new one is complete."""
    header = {
        "kind": kind,
        "settings": dict(checkpoint.settings),
        "record": [list(row) for row in checkpoint.record],
        "best": checkpoint.best_at,
    }
    parts = (("values", checkpoint.values), ("best", checkpoint.best))
    arrays = {f"{part}.{name}": array for part, of in parts for name, array in of.items()}
    save_model(path, header, arrays)


def open_checkpoint(
    path: Path,
    kind: str,
    settings: Mapping[str, Any],
    *,
    values: Iterable[str],
    best: Iterable[str],
) -> Checkpoint:
    """Read a checkpoint.

    Parameters
    ----------
    path
        An existing file.
    kind
        The learner's kind of checkpoint.
    settings
        Settings of the current run; the checkpoint must have all of them, whatever their values.
    values, best
        Names of the arrays of the parameters and of the best model.

    Raises
    ------
    ModelFileError
        When the file is damaged, incomplete or no checkpoint of this kind.
    """
    file = _open(path, kind)
    try:
        stored, rows, best_at = (file.header[name] for name in ("settings", "record", "best"))
        checkpoint = Checkpoint(
            stored,
            [EMIteration(*row) for row in rows],
            best_at,
            {name: np.array(file.arrays[f"values.{name}"]) for name in values},
            {} if best_at is None else {name: file.arrays[f"best.{name}"] for name in best},
        )
        checkpoint.differing(settings)
    except (KeyError, TypeError) as error:
        raise ModelFileError(f"{path}: is not a complete checkpoint: {error} is missing") from error
    return checkpoint


def check_run(path: Path, difference: str | None) -> None:
    """Raise `ModelFileError` when the run of a checkpoint differs from the current one.

    Parameters
    ----------
    difference
        How the checkpoint's run differs, such as ``seed 0, not 1``; None when it does not.
    """
    if difference is not None:
        raise ModelFileError(
            f"{path}: is the checkpoint of a run with {difference}; use another file or remove it"
        )


def check_arrays(path: Path, arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays of a checkpoint that kernels can't use, as these check nothing themselves.

    Parameters
    ----------
    path
    arrays
        By name, of double precision.
    shapes
        By the same names.

    Raises
    ------
    ModelFileError
    """
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64:
            raise ModelFileError(
                f"{path}: is not a complete checkpoint: {name} has shape {array.shape} and type "
                f"{array.dtype}, not {shape} and float64"
            )


def n_done(path: Path, kind: str) -> int:
    """How many iterations a checkpoint has; 0 when there is none.

    Raises
    ------
    ModelFileError
        When the file is damaged or no checkpoint of this kind.
    """
    if not path.exists():
        return 0
    record = _open(path, kind, verify=False).header.get("record")
    if not isinstance(record, list):
        raise ModelFileError(f"{path}: is not a complete checkpoint: 'record' is missing")
    return len(record)


def _open(path: Path, kind: str, *, verify: bool = True) -> ModelFile:
    try:
        return open_model(path, kind=kind, verify=verify)
    except ModelFileError as error:
        reason = str(error).removeprefix(f"{path}: ").partition(";")[0]
        raise ModelFileError(
            f"{path}: is not an eigentree checkpoint ({reason}); use another file or remove it"
        ) from error
