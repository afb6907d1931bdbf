"""The result of parsing a sentence: tree, confidences, alternatives and fall-back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np

from eigentree._core.arguments import check_type
from eigentree._core.display import NotebookDisplay
from eigentree.constituency.calibration import Calibration
from eigentree.constituency.chart.marginals import Marginal
from eigentree.errors import SettingsError, check_range
from eigentree.treebank.constraints import Constraint
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.tree import Tree, spans_of_nodes

# Restrictions that may be relaxed to get a tree, see `eigentree.constituency.parser`.
Fallback = Literal["threshold", "memory", "coarse", "tags", "flat", "split", "empty", "constraints"]

KBEST_LIMIT = 2**31  # kernels count in 64 bits and multiply


class Bracket(NamedTuple):
    """A labelled span of a parse and its confidence.

    ``confidence`` is the marginal of the label over the half-open span, clipped to 0..1; for a
    signed grammar it is not a probability and may be inaccurate.  ``calibrated`` is the accuracy of
    brackets with this confidence on held-out trees; None without a calibration.
    """

    label: str
    start: int
    end: int
    confidence: float
    calibrated: float | None = None


class Calibrated(NamedTuple):
    """Calibrated confidences of a parse, by the accuracy on held-out trees.

    ``confidence`` is the mean over the brackets.  ``tree_confidence`` is the probability that the
    brackets are exactly those of the correct tree; None if `ParseResult.tree_confidence` is.
    """

    confidence: float
    tree_confidence: float | None


class Alternative(NamedTuple):
    """One of the best trees of a sentence.

    Attributes
    ----------
    tree
    objective
        The decoder's objective, see `eigentree.constituency.chart.decode`; None for fall-backs
        without a chart.
    log_value
        Logarithm of the absolute value of the tree in nats, summed over latent states; comparable
        with that of the sentence.  If several derivations have the same phrases, the value of the
        best one.  -inf for 0; None for fall-backs without a chart, and for the objective ``free``,
        whose trees may use rules that the grammar lacks.
    sign
        Sign of that value; 0 for 0.
    probability
        P(tree given sentence), among the trees that pruning left.  None for signed values, which
        are not probabilities.
    confidence
        Mean confidence of its brackets, 0..1, never calibrated; None without brackets.
    """

    tree: Tree
    objective: float | None = None
    log_value: float | None = None
    sign: int = 1
    probability: float | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class ParseResult(NotebookDisplay):
    """The parse of one sentence.

    Attributes
    ----------
    words, tags
        As parsed.  Tags are the given ones, otherwise those that the parser chose among the
        tagger's.
    tree
        None only for an empty sentence.
    brackets
        The phrases of the tree that have a marginal, children before parents.
    confidence
        Mean confidence of the brackets, 0..1; None without brackets.
    log_value
        Logarithm of the absolute value of the sentence in nats.  For a probabilistic grammar and
        given tags, it is the log-probability of the words and tags without the pruned trees, and
        with a penalty for ignored tags.  With the tagger's tags, words are weighted by the
        probabilities of their tags instead.  None for fall-backs without a chart.
    sign
        Sign of the value; -1 is possible for signed grammars.
    fallback
        The restriction that was relaxed; None for an ordinary parse.
    alternatives
        The best trees, if requested: first the tree, then the others by the decoder's objective.
        All differ in their phrases; each has the best tags for them.  The fall-backs ``flat`` and
        ``split`` have the tree alone.
    dropped_constraints
        The constraints that the tree may violate, because not all could be satisfied.
    conflict
        The reason; None if all constraints are satisfied.
    calibrated
        Calibrated confidences; None without a calibration or without brackets.
    marginals
        Labelled spans of all trees, if requested, by start, then end.
    offsets
        Character offsets of each word, half-open, if the sentence was given as text; else None.
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
    dropped_constraints: tuple[Constraint, ...] = ()
    conflict: str | None = None
    calibrated: Calibrated | None = None
    marginals: tuple[Marginal, ...] = ()
    offsets: tuple[tuple[int, int], ...] | None = None

    @property
    def tree_confidence(self) -> float | None:
        """Confidence that the brackets are exactly those of the correct tree, not calibrated.

        The product of the confidences, as if brackets were independent; None if a bracket has
        none.
        """
        if not self.brackets or self.fallback == "split":
            return None
        return math.prod(each.confidence for each in self.brackets)

    def to_dict(
        self,
        wrapper: str | None = None,
        root_name: str = "",
        *,
        several: bool | None = None,
        constrained: bool | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The result in JSON types.

        Parameters
        ----------
        wrapper, root_name
            Outer bracket of printed trees, and the label that it replaces; see `wrapped`.
        several, constrained
            Include alternatives and dropped constraints; None to include them if there are any.
        where
            Entries about the position of the words, placed after them; None for ``offsets``, if
            there are any.
        """
        if where is None:
            where = {} if self.offsets is None else {"offsets": self.offsets}
        calibrated = self.calibrated
        record: dict[str, Any] = {
            "words": self.words,
            "tags": self.tags,
            **where,
            "tree": in_brackets(self, wrapper, root_name) or None,
            "confidence": self.confidence,
            "exact": self.tree_confidence,
            "calibrated": None
            if calibrated is None
            else {"confidence": calibrated.confidence, "exact": calibrated.tree_confidence},
            "brackets": [bracket._asdict() for bracket in self.brackets],
            "log_value": self.log_value,
            "sign": None if self.log_value is None else self.sign,
            "fallback": self.fallback,
        }
        if constrained or (constrained is None and self.dropped_constraints):
            record["given_up"] = [each._asdict() for each in self.dropped_constraints]
            record["conflict"] = self.conflict
        if several or (several is None and self.alternatives):
            record["alternatives"] = [
                {
                    **each._asdict(),
                    "tree": format_tree(wrapped(each.tree, wrapper, root_name)),
                    # JSON has no infinity; sign 0 marks a value of 0.
                    "log_value": None if each.sign == 0 else each.log_value,
                    "sign": None if each.log_value is None else each.sign,
                }
                for each in self.alternatives
            ]
        return record


def wrapped(tree: Tree, wrapper: str | None, root_name: str) -> Tree:
    """A clean tree in the treebank's outer bracket, if it has one."""
    if wrapper is None:
        return tree
    # A tag may have the same name as the root.
    is_root = tree.label == root_name and not tree.is_preterminal
    return Tree(wrapper, tree.children if is_root else (tree,))


def in_brackets(result: ParseResult, wrapper: str | None, root_name: str) -> str:
    """A parse in one line, in the treebank's outer bracket; empty without a tree."""
    return "" if result.tree is None else format_tree(wrapped(result.tree, wrapper, root_name))


def mark_dropped(
    result: ParseResult, dropped: tuple[Constraint, ...], conflict: str | None
) -> ParseResult:
    """The same result with the constraints that it may violate."""
    fallback = result.fallback or "constraints"
    return replace(result, fallback=fallback, dropped_constraints=dropped, conflict=conflict)


def with_alternative(result: ParseResult) -> ParseResult:
    """The same result; without alternatives, the tree becomes the only one."""
    if result.tree is None or result.alternatives:
        return result
    return replace(result, alternatives=(Alternative(result.tree, confidence=result.confidence),))


def annotate(
    result: ParseResult,
    calibration: Calibration | None = None,
    offsets: tuple[tuple[int, int], ...] | None = None,
) -> ParseResult:
    """The result with calibrated confidences and character offsets.

    Parameters
    ----------
    result
        The decoder's result.
    calibration
        None if there is none for such sentences.
    offsets
        None if the sentence was not given as text.
    """
    if calibration is not None and result.brackets:
        result = _calibrated(result, calibration)
    return result if offsets is None else replace(result, offsets=offsets)


def _calibrated(result: ParseResult, calibration: Calibration) -> ParseResult:
    values = calibration.brackets([each.confidence for each in result.brackets]).tolist()
    brackets = tuple(
        each._replace(calibrated=value) for each, value in zip(result.brackets, values, strict=True)
    )
    raw = result.tree_confidence
    whole = None if raw is None else float(calibration.trees(raw))
    return replace(result, brackets=brackets, calibrated=Calibrated(float(np.mean(values)), whole))


def concatenate(words: list[str], parts: Sequence[ParseResult], root: str) -> ParseResult:
    """Join the parses of the parts of a sentence."""
    brackets: list[Bracket] = []
    marginals: list[Marginal] = []
    start = 0
    for part in parts:
        brackets.extend(
            bracket._replace(start=start + bracket.start, end=start + bracket.end)
            for bracket in part.brackets
        )
        marginals.extend(
            each._replace(start=start + each.start, end=start + each.end) for each in part.marginals
        )
        start += len(part.words)
    return ParseResult(
        words,
        [tag for part in parts for tag in part.tags],
        Tree(root, [part.tree for part in parts if part.tree is not None]),
        tuple(brackets),
        mean_confidence(brackets),
        fallback="split",
        marginals=tuple(marginals),
    )


def mean_confidence(brackets: Sequence[Bracket]) -> float | None:
    """The mean confidence of the brackets of a parse; None without brackets."""
    return float(np.mean([each.confidence for each in brackets])) if brackets else None


def check_kbest(kbest: int | None) -> None:
    """Check that a number of trees is valid."""
    check_type(kbest, (Integral, type(None)), "kbest", "an integer or None")
    if kbest is not None:
        check_range(1, KBEST_LIMIT, kbest=kbest)


def check_minimum(minimum: float | None) -> None:
    """Check that a minimum of marginals is valid."""
    check_type(minimum, (Real, type(None)), "marginals", "a number or None")
    if minimum is not None and not 0.0 <= minimum < math.inf:
        raise SettingsError(f"the minimum of marginals is {minimum}; it must be at least 0")


def node_confidences(result: ParseResult) -> list[float | None]:
    """The confidence of each node of the tree, in the order of ``tree.nodes()``.

    Calibrated if possible.  None for nodes without a marginal, such as tags.
    """
    if result.tree is None:
        return []
    waiting: dict[tuple[str, int, int], list[float]] = {}
    for label, start, end, raw, right in result.brackets:
        waiting.setdefault((label, start, end), []).append(raw if right is None else right)
    confidences: list[float | None] = []
    for node, span in zip(result.tree.nodes(), spans_of_nodes(result.tree), strict=True):
        # Brackets are listed children first, nodes parents first.
        of_span = [] if node.is_preterminal else waiting.get(span, [])
        confidences.append(of_span.pop() if of_span else None)
    return confidences
