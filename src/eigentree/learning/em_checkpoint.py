"""Checkpoints of expectation maximisation: all that a run needs to go on as if it never stopped.

A checkpoint is a model file (`eigentree.model_file`) of a kind of its own, written whole.  It
names the settings and holds a digest of the treebank, so that it can't be taken for a
checkpoint of something else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.lpcfg import LPCFG, ROUNDED
from eigentree.constituency.learn.em_arrays import Layout, Values
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import ModelFileError
from eigentree.model_file import ModelFile, open_model, save_model

KIND = "expectation maximisation"
# The setting that stands for all that grammars are judged by, "" for nothing.
HELD_OUT = "held-out trees"
# Where a row of the record has the judgement.
F1 = 2
# The arrays of a grammar that the layout doesn't give.
_OF_GRAMMAR = ("dense", "inside_mean", "lexical", "unseen_word", "root")


class Checkpoint(NamedTuple):
    """Where a run stands after an iteration.

    Attributes
    ----------
    values
        Parameters that the next iteration begins with.
    record
        Rows of numbers, an iteration each.
    best
        The arrays of the best grammar so far by name, None before any was judged.
    best_number
        Its iteration.
    """

    values: Values
    record: list[list[Any]]
    best: Mapping[str, NDArray[np.float64]] | None
    best_number: int


def digest(examples: Examples, *more: NDArray[Any] | None) -> str:
    """A digest of a treebank and of further arrays."""
    own = hashlib.sha256()
    own.update(json.dumps([examples.symbols.to_json(), examples.lexicon.entries]).encode())
    columns = (examples.rules, examples.pairs, examples.tree, examples.symbol, examples.left)
    for array in (*columns, examples.right, examples.pair, examples.weight, *more):
        own.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return own.hexdigest()


def save_checkpoint(
    path: Path,
    settings: Mapping[str, Any],
    values: Values,
    record: Sequence[Sequence[float | None]],
    best: LPCFG | None,
    best_number: int,
) -> None:
    """Write a checkpoint, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {
        f"values.{name}": array for name, array in values._asdict().items()
    }
    if best is not None:
        for name in _OF_GRAMMAR:
            array = getattr(best.parameters, name)
            arrays[f"best.{name}"] = array.astype(np.float32) if name in ROUNDED else array
    header = {
        "kind": KIND,
        "settings": dict(settings),
        "record": [list(row) for row in record],
        "best": best_number,
    }
    save_model(path, header, arrays)


def n_done(path: Path) -> int:
    """How many iterations a checkpoint has; 0 when there is none.

    Raises
    ------
    ModelFileError
        When the file is damaged or no checkpoint.
    """
    if not path.exists():
        return 0
    record = opened(path, KIND, verify=False).header.get("record")
    if not isinstance(record, list):
        raise ModelFileError(f"{path}: isn't a whole checkpoint: 'record' is missing")
    return len(record)


def opened(path: Path, kind: str, *, verify: bool = True) -> ModelFile:
    """A checkpoint's file; ModelFileError when it is damaged or of another kind."""
    try:
        return open_model(path, kind=kind, verify=verify)
    except ModelFileError as error:
        why = str(error).removeprefix(f"{path}: ").partition(";")[0]
        raise ModelFileError(
            f"{path}: isn't an eigentree checkpoint ({why}); name another file or remove it"
        ) from error


def open_checkpoint(
    path: Path, settings: Mapping[str, Any], most: int, layout: Layout
) -> Checkpoint | None:
    """Read a checkpoint that was written with the same settings; None when there is none.

    Parameters
    ----------
    settings
        What must agree, as JSON gives it back; ``data``, ``start`` and `HELD_OUT` among it.
    most
        The number of iterations that it may hold.
    layout
        What its numbers must fit.

    Raises
    ------
    ModelFileError
        When the file is damaged, no checkpoint, or one of another run.
    """
    if not path.exists():
        return None
    file = opened(path, KIND)
    try:
        stored, record, best_number = (file.header[name] for name in ("settings", "record", "best"))
        differing = [name for name, value in settings.items() if stored[name] != value]
        values = Values(*(np.array(file.arrays[f"values.{name}"]) for name in Values._fields))
        best = None
        # Of an iteration that was not to be the last no grammar need have been made.
        is_judged = bool(record) and (best_number == len(record) or record[-1][F1] is not None)
        if best_number:
            best = {name: file.arrays[f"best.{name}"].astype(np.float64) for name in _OF_GRAMMAR}
    except (KeyError, TypeError) as error:
        raise ModelFileError(f"{path}: isn't a whole checkpoint: {error} is missing") from error
    what = None
    # Other settings may well make other states, which are among the data.
    named = [name for name in differing if name not in ("data", HELD_OUT)]
    if named:
        what = f"{named[0]} {stored[named[0]]}, not {settings[named[0]]}"
    elif "data" in differing:
        what = "other trees or other clusters" if settings["start"] == "clusters" else "other trees"
    elif differing:
        what = "other held-out trees, or with another way to parse them"
        if not (stored[HELD_OUT] and settings[HELD_OUT]):
            what = f"{'' if stored[HELD_OUT] else 'no '}held-out trees"
    elif len(record) > most:
        what = f"{len(record)} iterations, more than the {most} that are wanted"
    elif len(record) == most and not is_judged:
        what = f"more iterations than the {most} that are wanted"
    if what is not None:
        raise ModelFileError(
            f"{path}: is the checkpoint of a run with {what}; name another file or remove it"
        )
    # Kernels don't check what they read; a grammar checks itself.
    room = Values.empty(layout)
    for name, array, own in zip(Values._fields, values, room, strict=True):
        if array.shape != own.shape or array.dtype != own.dtype:
            raise ModelFileError(f"{path}: its {name} have shape {array.shape}, not {own.shape}")
    return Checkpoint(values, record, best, best_number)
