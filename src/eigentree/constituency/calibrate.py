"""Confidences of a parser on held-out trees, and calibration by how often they were right.

A bracket of a parse is right if the gold tree has the same label over the same words; no bracket is
left out (`eigentree.evaluation.reliability.right_brackets`).  A tree is right if all its brackets
are and the gold tree has no others; tags do not matter.  Brackets without a marginal (fall-backs
``flat``, ``split``) are excluded, and so are their trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.calibration import Calibration, Curve, TagCondition
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import ParseResult
from eigentree.evaluation.reliability import right_brackets
from eigentree.treebank.tree import Span, Tree
from eigentree.types import Floats

AnyParser = TypeVar("AnyParser", ConstituencyParser, EnsembleParser)


class ConfidenceSample(NamedTuple):
    """Confidences of brackets, or of trees, and whether they were right.

    Attributes
    ----------
    raw : float64, axes (examples)
        Raw confidences, 0..1.
    calibrated : float64, axes (examples), or None
        Calibrated ones, if the parser is calibrated.
    right : bool, axes (examples)
    sentence : int64, axes (examples)
        Number of the sentence of each.
    """

    raw: Floats
    calibrated: Floats | None
    right: NDArray[np.bool_]
    sentence: NDArray[np.int64]

    def cross_fitted(self) -> Floats:
        """Calibrated confidences of each half of the sentences by the curve of the other half.

        This estimates on the same trees what a calibration on them is worth on others, a little
        too low, because the calibration is fitted to all of them.  Every other sentence is in the
        same half; where a half has no example, raw confidences remain.
        """
        found = self.raw.copy()
        for half in (0, 1):
            own = self.sentence % 2 == half
            if not np.all(own):
                found[own] = Curve.fit(self.raw[~own], self.right[~own])(self.raw[own])
        return found


class ConfidenceSamples(NamedTuple):
    """The confidences of the brackets and the trees of some parses."""

    brackets: ConfidenceSample
    trees: ConfidenceSample

    def calibration(self) -> Calibration:
        """The curves that these examples give.

        Raises
        ------
        SettingsError
            When there are no brackets, or no trees.
        """
        return Calibration(*(Curve.fit(each.raw, each.right) for each in self))


def measure_confidence(results: Iterable[ParseResult], gold: Sequence[Tree]) -> ConfidenceSamples:
    """Compare parses with gold trees.

    Parameters
    ----------
    results
        One for each gold tree.
    gold
        Clean, without wrappers.
    """
    rows: tuple[list[tuple[float, float, bool, int]], ...] = ([], [])
    is_calibrated = False
    for number, (result, tree) in enumerate(zip(results, gold, strict=True)):
        spans = [Span(each.label, each.start, each.end) for each in result.brackets]
        right = right_brackets(spans, tree)
        for each, found in zip(result.brackets, right, strict=True):
            rows[0].append((each.confidence, each.calibrated or 0.0, found, number))
        told = result.calibrated
        is_calibrated |= told is not None
        if result.tree_confidence is not None:
            is_exact = all(right) and len(right) == len(tree.spans())
            rows[1].append(
                (result.tree_confidence, (told and told.tree_confidence) or 0.0, is_exact, number)
            )
    judged = []
    for own in rows:
        raw, calibrated, is_right, sentence = np.array(own).reshape(-1, 4).T
        known = calibrated if is_calibrated else None
        judged.append(ConfidenceSample(raw, known, is_right > 0, sentence.astype(np.int64)))
    return ConfidenceSamples(*judged)


def tag_conditions(parser: ConstituencyParser | EnsembleParser) -> tuple[TagCondition, ...]:
    """Tagged input, and untagged input where the parser has a tagger."""
    return ("tagged",) if parser.tagger is None else ("tagged", "untagged")


def inputs(
    trees: Iterable[Tree], condition: TagCondition
) -> Iterable[tuple[list[str], list[str] | None]]:
    """The sentences of trees as input of a parser, with or without their tags."""
    return ((tree.words(), tree.tags() if condition == "tagged" else None) for tree in trees)


def calibrate(parser: AnyParser, trees: Sequence[Tree]) -> AnyParser:
    """The same parser with confidences calibrated on trees that it was not trained on.

    Parameters
    ----------
    parser
        Of any method, or an ensemble.
    trees
        Clean trees, some hundreds; neither trained on nor to be tested on.

    Raises
    ------
    SettingsError
        When no bracket has a marginal.

    Cost
    ----
    Two parses of each tree: with its tags, and by the parser's tagger, if it has one.
    """
    plain = replace(parser, calibrations={})
    found: dict[TagCondition, Calibration] = {}
    for condition in tag_conditions(parser):
        results = plain.parse_many(inputs(trees, condition))
        found[condition] = measure_confidence(results, trees).calibration()
    return replace(parser, calibrations=found)
