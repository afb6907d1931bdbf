"""Checks of array shapes by axis letters.

Letters used in the package: n words of a sentence, N nonterminals, K latent states, R
rules, V words of the lexicon, D and E inside and outside features, r Kruskal rank, S states of a
hidden Markov model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.errors import ShapeError


def check_shapes(
    where: str, arrays: Mapping[str, tuple[NDArray[Any], str]], **sizes: int
) -> dict[str, int]:
    """Check that arrays agree on the sizes of their axes.

    Parameters
    ----------
    where
        Name of the object, for the message.
    arrays
        For each name the array and its axes, as letters separated by blanks (``"R K K"``).
    sizes
        Sizes known in advance.

    Returns
    -------
    dict
        The size of each letter.

    Raises
    ------
    ShapeError
        Names the array, the axis, the expected size and the actual shape.
    """
    known = {letter: (size, "the caller") for letter, size in sizes.items()}
    for name, (array, axes) in arrays.items():
        letters = axes.split()
        if np.ndim(array) != len(letters):
            raise ShapeError(
                f"{where}: {name} has {np.ndim(array)} axes, must have {len(letters)} ({axes})"
            )
        for axis, letter in enumerate(letters):
            size = array.shape[axis]
            expected, source = known.setdefault(letter, (size, name))
            if size != expected:
                raise ShapeError(
                    f"{where}: axis {axis} of {name} is {letter}, which must be {expected} "
                    f"because {source} has {letter}={expected}; got shape {array.shape}"
                )
    return {letter: size for letter, (size, _) in known.items()}


def check_types(where: str, arrays: Mapping[str, tuple[NDArray[Any], type[np.generic]]]) -> None:
    """Check that arrays have the element types that kernels are compiled for.

    Parameters
    ----------
    where
        Name of the object, for the message.
    arrays
        For each name the array and its expected element type.

    Raises
    ------
    ShapeError
        Names the array, its type and the expected type.
    """
    for name, (array, expected) in arrays.items():
        if array.dtype != expected:
            raise ShapeError(f"{where}: {name} holds {array.dtype}, must hold {np.dtype(expected)}")


def check_starts(where: str, name: str, starts: NDArray[np.int64]) -> None:
    """Check the offsets of consecutive parts: their starts and the end of the last.

    Parameters
    ----------
    where, name
        For the message.
    starts
        Axes (parts + 1).

    Raises
    ------
    ShapeError
        If they don't begin with 0, or decrease.
    """
    if not len(starts) or starts[0] != 0 or np.any(starts[1:] < starts[:-1]):
        raise ShapeError(f"{where}: {name} must begin with 0 and never decrease")
