"""What comes of a sentence: its tree, how sure the parser is of it, and what it gave up for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from eigentree._core.display import NotebookDisplay
from eigentree.constituency.calibration import Calibration
from eigentree.constituency.chart.marginals import Marginal
from eigentree.errors import SettingsError
from eigentree.treebank.constraints import Constraint
from eigentree.treebank.tree import Tree, spans_of_nodes

# What may be given up for a tree, see `eigentree.constituency.parser`.
Fallback = Literal["threshold", "coarse", "tags", "flat", "split", "empty", "constraints"]


class Bracket(NamedTuple):
    """A labelled span of a parse, with how sure the parser is of it.

    ``confidence`` is the marginal of the label over the half-open span, cut to 0..1; for a
    signed grammar it is an estimate that may be off, not a probability.  ``calibrated`` is how
    often such brackets were right in held-out trees; None without a calibration.
    """

    label: str
    start: int
    end: int
    confidence: float
    calibrated: float | None = None


class Calibrated(NamedTuple):
    """A parse by how often such parses were right in held-out trees.

    ``confidence`` is the mean over the brackets; ``exact`` the probability that the tree has all
    phrases right and no others, None where `ParseResult.exact` is.
    """

    confidence: float
    exact: float | None


class Alternative(NamedTuple):
    """One of the best trees of a sentence.

    Attributes
    ----------
    tree
    objective
        What the decoder judges trees by, see `eigentree.constituency.chart.decode`; None for
        fall-backs
        without a chart.
    log_value
        Logarithm of the absolute value of the tree itself, in nats, all latent states summed out;
        it compares with that of the sentence.  Of several derivations with the same phrases that of
        the best one counts.  -inf for 0; None for fall-backs without a chart and for trees by the
        objective ``free``, whose rules the grammar may not have.
    sign
        Sign of that value; 0 for 0.
    probability
        The tree's share of the sentence's value, among the trees that pruning has left.  None
        where values are signed, and so no probabilities.
    confidence
        Mean raw confidence of its brackets, 0..1, also where the parser has a calibration; None
        where there are none to judge.
    """

    tree: Tree
    objective: float | None = None
    log_value: float | None = None
    sign: int = 1
    probability: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ParseResult(NotebookDisplay):
    """The parse of one sentence.

    Attributes
    ----------
    words, tags
        As parsed; tags are the given ones, else those that the parser chose among the
        tagger's.
    tree
        None only for an empty sentence.
    brackets
        The phrases of the tree that a chart has judged, children before parents.
    confidence
        Mean confidence of the brackets, 0..1; None where there are none to judge.
    log_value
        Logarithm of the absolute value of the sentence, in nats: for a grammar of
        probabilities the log-probability of its words with the given tags, but for pruned
        trees and the price of tags set aside; with the tagger's tags each word counts by how
        probable its tag is instead.  None for fall-backs without a chart.
    sign
        Sign of the value; -1 happens with signed grammars.
    fallback
        What had to be given up; None for an ordinary parse.
    alternatives
        The best trees, where they were asked for: first the tree, then the others by the decoder's
        objective.  No two have the same phrases; each has the best tags for them.  The tree alone
        for the fall-backs ``flat`` and ``split``.
    given_up
        The constraints that the tree need not keep, because not all could be kept.
    conflict
        Why not, in words; None where all are kept.
    calibrated
        Calibrated confidences, where the parser has a calibration and there are brackets.
    marginals
        Labelled spans of all trees, where they were asked for, by start, then end.
    offsets
        The characters of each word, half-open, where the sentence came as text; None otherwise.
    """

    words: list[str]
    tags: list[str]
    tree: Tree | None
    brackets: tuple[Bracket, ...] = ()
    confidence: float | None = None
    log_value: float | None = None
    sign: int = 1
    fallback: Fallback | None = None
    alternatives: tuple[Alternative, ...] = ()
    given_up: tuple[Constraint, ...] = ()
    conflict: str | None = None
    calibrated: Calibrated | None = None
    marginals: tuple[Marginal, ...] = ()
    offsets: tuple[tuple[int, int], ...] | None = None

    @property
    def exact(self) -> float | None:
        """How sure it is that the tree has all phrases right and no others, uncalibrated.

        The product of the confidences, as if brackets were independent; None where some of the
        tree's brackets were not judged.
        """
        if not self.brackets or self.fallback == "split":
            return None
        return math.prod(each.confidence for each in self.brackets)


def with_given_up(
    result: ParseResult, given_up: tuple[Constraint, ...], conflict: str | None
) -> ParseResult:
    """The same result, marked with constraints that it need not keep."""
    fallback = result.fallback or "constraints"
    return replace(result, fallback=fallback, given_up=given_up, conflict=conflict)


def with_alternative(result: ParseResult) -> ParseResult:
    """The same result, the tree being an alternative where there is no other."""
    if result.tree is None or result.alternatives:
        return result
    return replace(result, alternatives=(Alternative(result.tree, confidence=result.confidence),))


def calibrated(result: ParseResult, calibration: Calibration | None) -> ParseResult:
    """The result with calibrated confidences, where there is a calibration for it."""
    if calibration is None or not result.brackets:
        return result
    right = calibration.brackets([each.confidence for each in result.brackets]).tolist()
    brackets = tuple(
        each._replace(calibrated=value) for each, value in zip(result.brackets, right, strict=True)
    )
    exact = None if result.exact is None else float(calibration.trees(result.exact))
    told = Calibrated(float(np.mean(right)), exact)
    return replace(result, brackets=brackets, calibrated=told)


def joined(words: list[str], pieces: Sequence[ParseResult], root: str) -> ParseResult:
    """One parse of a sentence out of those of its pieces."""
    brackets: list[Bracket] = []
    marginals: list[Marginal] = []
    start = 0
    for piece in pieces:
        brackets.extend(
            bracket._replace(start=start + bracket.start, end=start + bracket.end)
            for bracket in piece.brackets
        )
        marginals.extend(
            each._replace(start=start + each.start, end=start + each.end)
            for each in piece.marginals
        )
        start += len(piece.words)
    return ParseResult(
        words,
        [tag for piece in pieces for tag in piece.tags],
        Tree(root, [piece.tree for piece in pieces if piece.tree is not None]),
        tuple(brackets),
        mean_confidence(brackets),
        fallback="split",
        marginals=tuple(marginals),
    )


def mean_confidence(brackets: Sequence[Bracket]) -> float | None:
    """The confidence of a whole parse."""
    return float(np.mean([each.confidence for each in brackets])) if brackets else None


def check_best(best: int | None) -> None:
    """Refuse a number of trees that nobody can want."""
    if best is not None and best < 1:
        raise SettingsError(f"best is {best}; it must be at least 1")


def check_least(least: float | None) -> None:
    """Refuse a least size of marginals that is none."""
    if least is not None and not 0.0 <= least < math.inf:
        raise SettingsError(f"the least size of marginals is {least}; it must be 0 or more")


def node_confidences(result: ParseResult) -> list[float | None]:
    """How sure the parser is of each node of the tree, in the order of ``tree.nodes()``.

    Calibrated where that can be.  None for what no chart has judged, such as tags.
    """
    if result.tree is None:
        return []
    waiting: dict[tuple[str, int, int], list[float]] = {}
    for label, start, end, raw, right in result.brackets:
        waiting.setdefault((label, start, end), []).append(raw if right is None else right)
    found: list[float | None] = []
    for node, span in zip(result.tree.nodes(), spans_of_nodes(result.tree), strict=True):
        # Brackets come after those below them, and nodes before.
        own = [] if node.is_preterminal else waiting.get(span, [])
        found.append(own.pop() if own else None)
    return found
