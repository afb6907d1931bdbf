"""Checks of the files that commands read and write, before the work.

A file that the user names is replaced, as other commands do: whole, and only when the new content
is complete.  Three kinds of files are never replaced: inputs, models by anything but a model, and
other files by a model.  Where a command chooses names itself, as in a folder, it replaces its own
files only.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from eigentree.cli._common import message
from eigentree.data.catalogue import model_names
from eigentree.errors import SettingsError, TreebankFormatError

_END_OF_INPUT = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"


def check_inputs(inputs: Iterable[str]) -> None:
    """Refuse files that can't be read, before any of them is opened.

    Raises
    ------
    TreebankFormatError
        For the first that is missing, a folder or not for this user to read.
    """
    for file in inputs:
        if file == "-":
            continue
        why = None
        if not os.path.exists(file):
            why = errno.ENOENT
        elif os.path.isdir(file):
            why = errno.EISDIR
        elif not os.access(file, os.R_OK):
            why = errno.EACCES
        if why is not None:
            raise TreebankFormatError(f"{file}: can't be read: {os.strerror(why)}")


def note_waiting(inputs: Iterable[str], *, quiet: bool = False) -> None:
    """Report that input is read from the terminal, where it is: otherwise nothing would happen."""
    if "-" in inputs and sys.stdin is not None and sys.stdin.isatty():
        message(f"reading from the terminal; end the input with {_END_OF_INPUT}", quiet=quiet)


def check_output(output: str, inputs: Iterable[str] = (), *, model: bool = False) -> None:
    """Refuse an output file that can't be written or must not be replaced.

    Parameters
    ----------
    output
        The file to write; ``-`` for standard output.
    inputs
        The input files.
    model
        Whether a model is written.

    Raises
    ------
    SettingsError
        When the file is an input, under whatever name; is a folder or can't be written; has the
        name of a bundled model; or exists and is a model although no model is written, or the
        other way round.
    """
    if output == "-":
        return
    check_name(output)
    path = Path(output)
    _check_place(path, inputs)
    if path.is_file() and path.stat().st_size:
        from eigentree.model_file import is_model

        if is_model(path) != model:
            what = "is not a model" if model else "is a model"
            raise SettingsError(f"{output}: exists and {what}; name another file, or remove it")


def check_name(output: str) -> None:
    """Refuse the bare name of a bundled model, which the file or folder would hide.

    Raises
    ------
    SettingsError
    """
    if output in model_names():
        raise SettingsError(
            f"{output} is the name of a bundled model; name another file, or write ./{output}"
        )


def _check_place(path: Path, inputs: Iterable[str]) -> None:
    """Refuse to write an input file, or where nothing can be written."""
    if any(_is_same(path, file) for file in inputs):
        raise SettingsError(f"{path}: is an input file, so it can't be written; name another")
    # A file, or that behind a link, is replaced in its folder; a device or a pipe is opened.
    is_writable = not path.exists() or os.access(path, os.W_OK)
    if path.is_file() or not path.exists():
        folder = Path(os.path.realpath(path)).parent
        is_writable &= folder.is_dir() and os.access(folder, os.W_OK)
    if path.is_dir() or not is_writable:
        raise SettingsError(f"{path}: can't be written; name a file in a writable folder")


def check_checkpoint(checkpoint: str | Path | None, output: str, inputs: Iterable[str]) -> None:
    """Refuse a checkpoint that can't be written or read again, or would replace another file.

    Raises
    ------
    SettingsError
        As of `check_output`; and for standard output, or the file of the model.
    """
    if checkpoint is None:
        return
    if str(checkpoint) == "-":
        raise SettingsError("--checkpoint must be a file, since it is read again (got -)")
    if Path(checkpoint).resolve() == Path(output).resolve():
        raise SettingsError(
            f"{checkpoint}: can't be both the model and its checkpoint; name another"
        )
    # The training opens an existing file first, and refuses one that is no checkpoint of its own.
    _check_place(Path(checkpoint), inputs)


def _is_same(path: Path, file: str) -> bool:
    return file != "-" and path.is_file() and Path(file).is_file() and path.samefile(file)
