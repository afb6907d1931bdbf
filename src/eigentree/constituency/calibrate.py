"""Confidences of a parser on held-out trees, and calibration by their observed accuracy.

A bracket of a parse is correct if the gold tree has the same label over the same words; all
brackets count (`eigentree.evaluation.reliability.right_brackets`).  A tree is correct if its
brackets are exactly those of the gold tree; tags are not compared.  Brackets without a marginal
(fall-backs ``flat``, ``split``) are excluded together with their trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigentree._core.arguments import listed
from eigentree.constituency.calibration import Calibration, Curve, TagCondition
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import ParseResult
from eigentree.evaluation.reliability import right_brackets
from eigentree.treebank.tree import Span, Tree
from eigentree.types import Floats

# Fewer trees give a curve that is mostly no change, or mostly chance.
ENOUGH_TREES = 300

AnyParser = TypeVar("AnyParser", ConstituencyParser, EnsembleParser)


class ConfidenceSample(NamedTuple):
    """Confidences of brackets or of trees, and whether each is correct.

    Attributes
    ----------
    raw : float64, axes (examples)
        Raw confidences, 0..1.
    calibrated : float64, axes (examples), or None
        Calibrated confidences; None for a parser without a calibration.
    right : bool, axes (examples)
        Whether each is correct.
    sentence : int64, axes (examples)
        Index of the sentence.
    """

    raw: Floats
    calibrated: Floats | None
    right: NDArray[np.bool_]
    sentence: NDArray[np.int64]

    def cross_fitted(self) -> Floats:
        """Calibrated confidences: each half of the sentences by the curve fitted to the other.

        This estimates the quality of the calibration on unseen trees, slightly pessimistically,
        because the stored curve is fitted to both halves.  Sentences with even and odd index form
        the halves; if one of them is empty, raw confidences are returned.
        """
        confidences = self.raw.copy()
        for half in (0, 1):
            in_half = self.sentence % 2 == half
            if not np.all(in_half):
                rest = ~in_half
                curve = Curve.fit(self.raw[rest], self.right[rest], self.sentence[rest])
                confidences[in_half] = curve(self.raw[in_half])
        return confidences


class ConfidenceSamples(NamedTuple):
    """Confidences of the brackets and of the trees of some parses."""

    brackets: ConfidenceSample
    trees: ConfidenceSample

    def calibration(self) -> Calibration:
        """The curves fitted to these examples.

        Raises
        ------
        SettingsError
            When there are no brackets or no trees.
        """
        return Calibration(*(Curve.fit(each.raw, each.right, each.sentence) for each in self))


def measure_confidence(results: Iterable[ParseResult], gold: Sequence[Tree]) -> ConfidenceSamples:
    """Compare the confidences of parses with gold trees.

    Parameters
    ----------
    results
        One result for each gold tree.
    gold
        Clean trees without wrappers.
    """
    rows: tuple[list[tuple[float, float, bool, int]], ...] = ([], [])
    is_calibrated = False
    for number, (result, tree) in enumerate(zip(results, gold, strict=True)):
        spans = [Span(each.label, each.start, each.end) for each in result.brackets]
        right = right_brackets(spans, tree)
        for each, is_right in zip(result.brackets, right, strict=True):
            rows[0].append((each.confidence, each.calibrated or 0.0, is_right, number))
        calibrated = result.calibrated
        is_calibrated |= calibrated is not None
        if result.tree_confidence is not None:
            is_exact = all(right) and len(right) == len(tree.spans())
            whole = (calibrated and calibrated.tree_confidence) or 0.0
            rows[1].append((result.tree_confidence, whole, is_exact, number))
    samples = []
    for table in rows:
        raw, fitted, correct, sentence = np.array(table).reshape(-1, 4).T
        known = fitted if is_calibrated else None
        samples.append(ConfidenceSample(raw, known, correct > 0, sentence.astype(np.int64)))
    return ConfidenceSamples(*samples)


def tag_conditions(parser: ConstituencyParser | EnsembleParser) -> tuple[TagCondition, ...]:
    """``tagged``, and ``untagged`` if the parser has a tagger."""
    return ("tagged",) if parser.tagger is None else ("tagged", "untagged")


def inputs(
    trees: Iterable[Tree], condition: TagCondition
) -> Iterable[tuple[list[str], list[str] | None]]:
    """The sentences of trees as parser input, with or without their tags."""
    return ((tree.words(), tree.tags() if condition == "tagged" else None) for tree in trees)


def calibrate(parser: AnyParser, trees: Sequence[Tree]) -> AnyParser:
    """The same parser with confidences calibrated on held-out trees.

    Parameters
    ----------
    parser
        A parser by any method, or an ensemble.
    trees
        Clean trees, which are neither training nor test data; `ENOUGH_TREES` or more.  The curves
        of fewer trees are closer to the raw confidences.

    Raises
    ------
    SettingsError
        When no bracket has a marginal.

    Cost
    ----
    One parse of each tree with its tags, and another with those of the parser's tagger, if any.
    """
    trees = listed(trees, Tree, "trees", "trees")
    plain = replace(parser, calibrations={})
    calibrations: dict[TagCondition, Calibration] = {}
    for condition in tag_conditions(parser):
        results = plain.parse_many(inputs(trees, condition))
        calibrations[condition] = measure_confidence(results, trees).calibration()
    return replace(parser, calibrations=calibrations)
