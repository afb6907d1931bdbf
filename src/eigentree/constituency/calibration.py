"""From how sure a parser is to how often it is right.

Marginals are probabilities of a model, not of the world: a parser that is sure of a bracket to
0.9 may be right in 85 of 100 such cases.  On held-out trees it can be counted how often it is
right, and the curve that leads from the one to the other is kept with the model.

The curve is an isotonic regression: it may bend as it has to, but never falls, so calibrating
leaves the order of brackets as it was.  Single examples would make it jump, and let it end at 0
or 1 wherever the last few examples agree.  So examples are first put into `GROUPS` groups of
equal size by their raw confidence, to each of which one example more is added that is right as
often as all are:

    right of group = (number right + share right of all) / (size + 1)

The regression is over the groups, each at its mean raw confidence; between groups the curve is
straight, and beyond the first and last flat.

For a bracket the raw confidence is its marginal cut to 0..1; for a tree the product of its
brackets' confidences, which would be the probability that all are right if they were independent.

References
----------
zadrozny-2002 for isotonic regression; niculescu-2005 for how it compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigentree._core.shapes import check_shapes, check_types
from eigentree.errors import SettingsError
from eigentree.treebank.io.sentences import Tag
from eigentree.types import Floats

# Whether sentences come with their tags or without: parses by a tagger's tags are less often right.
TagCondition = Literal["tagged", "untagged"]
TAG_CONDITIONS: tuple[TagCondition, ...] = get_args(TagCondition)

# More groups follow chance, fewer can't bend; 10 had the least log loss, or next to it, on halves
# of held-out trees, for brackets as for trees.
GROUPS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """How often something is right, by raw confidence: straight lines between knots.

    Attributes
    ----------
    raw : float64, axes (knots)
        Raw confidences, 0..1, rising.
    right : float64, axes (knots)
        Probability of being right there, 0..1, never falling.

    Raises
    ------
    ShapeError, SettingsError
        When the arrays are no such curve.
    """

    raw: Floats
    right: Floats

    def __post_init__(self) -> None:
        check_shapes("calibration", {"raw": (self.raw, "knots"), "right": (self.right, "knots")})
        check_types("calibration", {n: (getattr(self, n), np.float64) for n in ("raw", "right")})
        if not len(self.raw):
            raise SettingsError("a curve of calibration has no knot; it must have at least one")
        for name, values, rises in (
            ("raw confidences", self.raw, np.all(np.diff(self.raw) > 0)),
            ("probabilities", self.right, np.all(np.diff(self.right) >= 0)),
        ):
            if not (rises and values[0] >= 0 and values[-1] <= 1):
                raise SettingsError(f"{name} of a curve of calibration must rise within 0..1")

    def __call__(self, raw: ArrayLike) -> Floats:
        """Probabilities of being right, in the shape of the raw confidences."""
        return np.asarray(np.interp(np.asarray(raw), self.raw, self.right), dtype=np.float64)

    @classmethod
    def fit(cls, raw: ArrayLike, right: ArrayLike) -> Curve:
        """The curve of some examples.

        Parameters
        ----------
        raw : floats, axes (examples)
            Raw confidences, 0..1.
        right : bool, axes (examples)

        Raises
        ------
        SettingsError
            When there is no example.

        Cost
        ----
        The sorting of the examples.
        """
        from scipy.optimize import isotonic_regression

        raw, right = np.asarray(raw, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if not len(raw):
            raise SettingsError("there is nothing to calibrate on; at least one bracket is needed")
        order = np.argsort(raw, kind="stable")
        groups = np.array_split(order, min(GROUPS, len(order)))
        # Rounded, so that groups of one confidence alone are one.
        place = np.clip([round(float(np.mean(raw[group])), 12) for group in groups], 0.0, 1.0)
        knots, same = np.unique(place, return_inverse=True)
        size = np.bincount(same, [len(group) for group in groups])
        n_right = np.bincount(same, [np.sum(right[group]) for group in groups])
        share = (n_right + np.mean(right)) / (size + 1.0)
        found = isotonic_regression(share, weights=size).x
        return cls(knots, np.clip(found, 0.0, 1.0).astype(np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The curves of a parser: of single brackets, and of whole trees being exactly right."""

    brackets: Curve
    trees: Curve


Calibrations = Mapping[TagCondition, Calibration]


def to_arrays(calibrations: Calibrations) -> dict[str, Floats]:
    """The curves as arrays by name, as `from_arrays` reads them."""
    return {
        f"calibration.{condition}.{of}.{part}": getattr(getattr(each, of), part)
        for condition, each in calibrations.items()
        for of in ("brackets", "trees")
        for part in ("raw", "right")
    }


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Calibrations:
    """The curves in the arrays of a file, among others; none where there are none.

    Raises
    ------
    KeyError
        When a part of a calibration is missing.
    ShapeError, SettingsError
        When an array can't be what it should be.
    """
    found: dict[TagCondition, Calibration] = {}
    for condition in TAG_CONDITIONS:
        start = f"calibration.{condition}."
        if any(name.startswith(start) for name in arrays):
            curves = {
                of: Curve(*(np.array(arrays[f"{start}{of}.{part}"]) for part in ("raw", "right")))
                for of in ("brackets", "trees")
            }
            found[condition] = Calibration(**curves)
    return found


def calibration_for(tags: Sequence[Tag] | None, known: Calibrations) -> Calibration | None:
    """The calibration for a sentence with these tags, None for the tagger's; None if there is none.

    There is none for weighted tags: the accuracy of such parses depends on the source of the
    weights.
    """
    if tags is None:
        return known.get("untagged")
    return known.get("tagged") if all(isinstance(tag, str) for tag in tags) else None
