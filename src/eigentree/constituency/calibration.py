"""Calibration curves: from a model's raw confidence to the observed accuracy.

Marginals are probabilities under the model: of the brackets with a marginal of 0.9, perhaps 85 %
are correct.  The accuracy is measured on held-out trees, and the curve from raw confidence to
accuracy is stored with the model.

The curve is an isotonic regression.  It never decreases, so calibration does not reorder brackets.
Fitted to single examples it would jump, and would end at 0 or 1 whenever the last few examples
agree.  Therefore examples are sorted by raw confidence into `GROUPS` groups of equal size, and each
group gets `UNCHANGED` additional examples that agree with its mean raw confidence, and one with
the overall accuracy:

    accuracy of a group = (number correct + UNCHANGED mean raw confidence + overall accuracy)
                          / (size + UNCHANGED + 1)

The regression is over the groups, each at its mean raw confidence.  The curve is linear between
groups and constant beyond the first and the last.

Few examples may look wrong by chance.  The curve is therefore shrunk towards no change, as by the
positive part of the James-Stein estimator.  With residuals r = correct - raw confidence, let u be
the pair (sum of r, sum of r (raw - mean raw)) of a sentence, t the sum of u and S that of u u' over
all sentences.  Then

    weight of the curve = max(0, 1 - (2 / t' S^-1 t)^2), or 1 if t' S^-1 t > `CERTAIN`.

If the raw confidences are right, t' S^-1 t is about 2, and nothing or little changes.  The brackets
of one sentence are one observation, since they are wrong together.

The raw confidence of a bracket is its marginal clipped to 0..1.  That of a tree is the product of
its brackets' confidences: the probability that all are correct if they were independent.

References
----------
zadrozny-2002 (isotonic regression); niculescu-2005 (comparison of calibration methods);
james-1961 (shrinkage).
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

# Whether sentences have given tags; parses with the tagger's tags are less accurate.
TagCondition = Literal["tagged", "untagged"]
TAG_CONDITIONS: tuple[TagCondition, ...] = get_args(TagCondition)

# More groups overfit, fewer underfit.  10 had the lowest log loss, or nearly so, in two-fold
# cross-validation on held-out trees, both for brackets and for trees.
GROUPS = 10
# More hold the curve of few examples closer to no change, at a cost for those that need it.
UNCHANGED = 2.0
# Reached by chance once in 20,000 times, if there are many sentences.
CERTAIN = 20.0


@dataclass(frozen=True, eq=False)
class Curve:
    """Accuracy as a function of raw confidence, linear between knots.

    Attributes
    ----------
    raw : float64, axes (knots)
        Raw confidences, 0..1, strictly increasing.
    right : float64, axes (knots)
        Accuracy at each knot, 0..1, never decreasing.

    Raises
    ------
    ShapeError, SettingsError
        When the arrays do not describe such a curve.
    """

    raw: Floats
    right: Floats

    def __post_init__(self) -> None:
        check_shapes("calibration", {"raw": (self.raw, "knots"), "right": (self.right, "knots")})
        check_types("calibration", {n: (getattr(self, n), np.float64) for n in ("raw", "right")})
        if not len(self.raw):
            raise SettingsError("a calibration curve has no knots; it needs at least one")
        for name, values, rises in (
            ("raw confidences", self.raw, np.all(np.diff(self.raw) > 0)),
            ("probabilities", self.right, np.all(np.diff(self.right) >= 0)),
        ):
            if not (rises and values[0] >= 0 and values[-1] <= 1):
                raise SettingsError(f"{name} of a calibration curve must increase within 0..1")

    def __call__(self, raw: ArrayLike) -> Floats:
        """Calibrated confidences, in the shape of the raw ones."""
        return np.asarray(np.interp(np.asarray(raw), self.raw, self.right), dtype=np.float64)

    @classmethod
    def fit(
        cls, raw: ArrayLike, right: ArrayLike, sentence: NDArray[np.int64] | None = None
    ) -> Curve:
        """Fit a curve to examples.

        Parameters
        ----------
        raw : floats, axes (examples)
            Raw confidences, 0..1.
        right : bool, axes (examples)
            Whether each is correct.
        sentence : int64, axes (examples)
            Index of the sentence of each, from 0; None if all have different ones.

        Raises
        ------
        SettingsError
            When there are no examples.

        Cost
        ----
        Sorting the examples.
        """
        from scipy.optimize import isotonic_regression

        raw, right = np.asarray(raw, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if not len(raw):
            raise SettingsError("there are no brackets to calibrate on; at least one is needed")
        order = np.argsort(raw, kind="stable")
        groups = np.array_split(order, min(GROUPS, len(order)))
        # Rounded, so that groups with the same single confidence are merged.
        place = np.clip([round(float(np.mean(raw[group])), 12) for group in groups], 0.0, 1.0)
        knots, same = np.unique(place, return_inverse=True)
        size = np.bincount(same, [len(group) for group in groups])
        n_right = np.bincount(same, [np.sum(right[group]) for group in groups])
        share = (n_right + UNCHANGED * knots + np.mean(right)) / (size + UNCHANGED + 1.0)
        accuracy = isotonic_regression(share, weights=size).x
        curve = cls(knots, np.clip(accuracy, 0.0, 1.0).astype(np.float64))
        weight = _evidence(raw, right, np.arange(len(raw)) if sentence is None else sentence)
        if weight == 1.0:
            return curve
        # No change is not constant beyond the groups.
        ends = np.unique(np.concatenate(([0.0], knots, [1.0])))
        return cls(ends, weight * curve(ends) + (1.0 - weight) * ends)


def _evidence(raw: Floats, right: Floats, sentence: NDArray[np.int64]) -> float:
    """The weight of a curve against no change, 0..1."""
    residual = right - raw
    of_sentences = np.stack(
        [
            np.bincount(sentence, residual),
            np.bincount(sentence, residual * (raw - np.mean(raw))),
        ]
    )
    total = of_sentences.sum(axis=1)
    statistic = float(total @ np.linalg.pinv(of_sentences @ of_sentences.T) @ total)
    if statistic > CERTAIN:
        return 1.0
    return max(0.0, 1.0 - (2.0 / statistic) ** 2) if statistic > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """The curves of a parser: for single brackets, and for whole trees (all brackets correct)."""

    brackets: Curve
    trees: Curve


Calibrations = Mapping[TagCondition, Calibration]


def to_arrays(calibrations: Calibrations) -> dict[str, Floats]:
    """The curves as named arrays; `from_arrays` is the inverse."""
    return {
        f"calibration.{condition}.{of}.{part}": getattr(getattr(each, of), part)
        for condition, each in calibrations.items()
        for of in ("brackets", "trees")
        for part in ("raw", "right")
    }


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Calibrations:
    """The curves among the arrays of a file; empty if it has none.

    Raises
    ------
    KeyError
        When a part of a calibration is missing.
    ShapeError, SettingsError
        When an array is invalid.
    """
    calibrations: dict[TagCondition, Calibration] = {}
    for condition in TAG_CONDITIONS:
        start = f"calibration.{condition}."
        if any(name.startswith(start) for name in arrays):
            curves = {
                of: Curve(*(np.array(arrays[f"{start}{of}.{part}"]) for part in ("raw", "right")))
                for of in ("brackets", "trees")
            }
            calibrations[condition] = Calibration(**curves)
    return calibrations


def calibration_for(tags: Sequence[Tag] | None, known: Calibrations) -> Calibration | None:
    """The calibration for a sentence with these tags (None: the tagger's), if there is one.

    Weighted tags have no calibration: the accuracy of such parses depends on the source of the
    weights.
    """
    if tags is None:
        return known.get("untagged")
    return known.get("tagged") if all(isinstance(tag, str) for tag in tags) else None
