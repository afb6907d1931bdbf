"""Checkpoints of expectation maximisation on trees."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.lpcfg import LPCFG, ROUNDED
from eigentree.constituency.learn.em_arrays import Layout, Values
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.learning import em_checkpoint as checkpoints
from eigentree.learning.em_checkpoint import Checkpoint
from eigentree.learning.em_loop import EMRun

KIND = "expectation maximisation"
# The setting with the digest of all inputs of the scorer; "" without a scorer.
VALIDATION = "held-out trees"
# The arrays of a grammar that the layout does not determine.
GRAMMAR_ARRAYS = ("dense", "inside_mean", "lexical", "unseen_word", "root")


def digest(examples: Examples, *more: NDArray[Any] | None) -> str:
    """A digest of a treebank and of further arrays."""
    sha = hashlib.sha256()
    sha.update(json.dumps([examples.symbols.to_json(), examples.lexicon.entries]).encode())
    columns = (examples.rules, examples.pairs, examples.tree, examples.symbol, examples.left)
    for array in (*columns, examples.right, examples.pair, examples.weight, *more):
        sha.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


def n_done(path: Path) -> int:
    """The number of iterations in a checkpoint; 0 without one.

    Raises
    ------
    ModelFileError
        When the file is damaged or not a checkpoint of this kind.
    """
    return checkpoints.n_done(path, KIND)


def save_run(path: Path, settings: Mapping[str, Any], run: EMRun[Values, LPCFG]) -> None:
    """Write a checkpoint; an earlier one at this path is replaced only when it is complete."""
    assert run.parameters is not None
    best: dict[str, NDArray[Any]] = {}
    if run.best is not None:
        for name in GRAMMAR_ARRAYS:
            array = getattr(run.best.parameters, name)
            best[name] = array.astype(np.float32) if name in ROUNDED else array
    checkpoint = Checkpoint(settings, run.record, run.best_at, run.parameters._asdict(), best)
    checkpoints.save_checkpoint(path, KIND, checkpoint)


def open_run(
    path: Path, settings: Mapping[str, Any], max_iterations: int, layout: Layout
) -> tuple[Checkpoint, Values]:
    """Read the checkpoint of a run with the same settings, and its parameters.

    Parameters
    ----------
    path
        An existing file.
    settings
        The settings that must agree, as represented in JSON; with ``data``, ``start`` and
        `VALIDATION`.
    max_iterations
        The maximum number of iterations in the checkpoint.
    layout
        The layout that its parameters must have.

    Raises
    ------
    ModelFileError
        When the file is damaged, incomplete, not a checkpoint, or from another run.
    """
    checkpoint = checkpoints.open_checkpoint(
        path, KIND, settings, values=Values._fields, best=GRAMMAR_ARRAYS
    )
    checkpoints.check_run(path, _difference(checkpoint, settings, max_iterations))
    expected = Values.empty(layout)._asdict()
    # Grammars are checked on creation.
    shapes = {name: array.shape for name, array in expected.items()}
    checkpoints.check_arrays(path, checkpoint.values, shapes)
    return checkpoint, Values(**checkpoint.values)


def _difference(
    checkpoint: Checkpoint, settings: Mapping[str, Any], max_iterations: int
) -> str | None:
    """How a checkpoint's run differs from one with these settings; None if it does not."""
    stored, record = checkpoint.settings, checkpoint.record
    differing = checkpoint.differing(settings)
    # Other settings often lead to other states, which are part of the data.
    options = [name for name in differing if name not in ("data", VALIDATION)]
    if options:
        return f"{options[0]} {stored[options[0]]}, not {settings[options[0]]}"
    if "data" in differing:
        return "other trees or other clusters" if settings["start"] == "clusters" else "other trees"
    if differing:
        if stored[VALIDATION] and settings[VALIDATION]:
            return "other held-out trees, or with other options for parsing them"
        return f"{'' if stored[VALIDATION] else 'no '}held-out trees"
    if len(record) > max_iterations:
        return f"{len(record)} iterations, more than the {max_iterations} requested"
    # Only iterations that are scored, and the last one, have a grammar.
    has_model = bool(record) and (
        checkpoint.best_at == len(record) - 1 or record[-1].score is not None
    )
    if len(record) == max_iterations and not has_model:
        return f"more iterations than the {max_iterations} requested"
    return None
