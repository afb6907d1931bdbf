"""The family of errors that a caller of eigentree may see.

Each message is one sentence: where, what was wrong, the value seen, what would be right.
Inner code raises with a short message; the boundary (reader, parser, command line) adds
file and line once.
"""

from __future__ import annotations

import math


def counted(number: int, noun: str, several: str | None = None) -> str:
    """A number with its noun for a message: "1 tree", "2 trees"."""
    return f"{number} {noun if number == 1 else several or noun + 's'}"


class EigentreeError(Exception):
    """The base of all errors of eigentree, with a message for the user."""


class TreebankFormatError(EigentreeError):
    """A treebank, tagged text or CoNLL-U file that can't be read."""


class GrammarError(EigentreeError):
    """A grammar or training set that can't give a parser."""


class ShapeError(EigentreeError):
    """An array whose axes don't agree with the others."""


class ModelFileError(EigentreeError):
    """A model file that is damaged, foreign or of another version."""


class SettingsError(EigentreeError, ValueError):
    """An argument or option, or a combination of them, that is invalid."""


class TensorError(EigentreeError):
    """A tensor that can't be decomposed, or a start that doesn't suit it."""


class WorkerError(EigentreeError):
    """A worker process that exited before its work was done."""


def check_range(low: float, below: float = math.inf, **values: float) -> None:
    """Refuse settings that are not at least `low` and below `below`, NaN among them.

    Parameters
    ----------
    low, below
        The range; without `below`, anything but infinity.
    values
        The settings by name, as the message calls them.

    Raises
    ------
    SettingsError
        For the first that is outside.
    """
    for name, value in values.items():
        if not low <= value < below:
            end = "" if below == math.inf else f" and below {below}"
            raise SettingsError(f"{name} is {value}; it must be at least {low}{end}")
