"""The result of dependency parsing, as an object, as JSON types, and as CoNLL-U rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from eigentree._core.display import NotebookDisplay
from eigentree.treebank.io.conllu import (
    EMPTY,
    ROOT,
    ROOT_RELATION,
    UNKNOWN_RELATION,
    Sentence,
    Word,
)
from eigentree.treebank.tag_schemes import Column, column_part, with_features

# Kinds of fall-back, see `eigentree.dependency.parser`.
DependencyFallback = Literal["coarse", "flat", "split", "empty"]


class Arc(NamedTuple):
    """The arc to a word.

    Words are counted from 1, and 0 is the root.  ``confidence`` is the arc's marginal, clipped to
    0..1; None for arcs without a chart.  ``relation`` is None from a parser without relations.
    """

    word: int
    head: int
    relation: str | None
    confidence: float | None


@dataclass(frozen=True)
class DependencyResult(NotebookDisplay):
    """The dependency tree of one sentence.

    Attributes
    ----------
    words, tags
        As parsed; tags are the given ones, or else the tagger's.
    arcs
        One for each word, in order.
    log_value
        Logarithm of the absolute value of the sentence under the automata, in nats, summed over
        all trees; with the objective ``viterbi``, of the best tree.  None for fall-backs without a
        chart.
    sign
        Sign of the value; it may be -1 with signed automata.
    n_outside
        Number of arc marginals outside 0..1, possible with signed automata.
    fallback
        What was given up; None for an ordinary parse.
    offsets
        The character range of each word, half-open, for a sentence given as text; None otherwise.
    """

    words: list[str]
    tags: list[str]
    arcs: tuple[Arc, ...] = ()
    log_value: float | None = None
    sign: int = 1
    n_outside: int = 0
    fallback: DependencyFallback | None = None
    offsets: tuple[tuple[int, int], ...] | None = None

    @property
    def heads(self) -> list[int]:
        """The head of each word; words are counted from 1, and 0 is the root."""
        return [arc.head for arc in self.arcs]

    @property
    def relations(self) -> list[str] | None:
        """The relation of each word; None from a parser without relations."""
        relations = [arc.relation for arc in self.arcs if arc.relation is not None]
        return relations if len(relations) == len(self.arcs) else None

    @property
    def confidence(self) -> float | None:
        """Mean confidence of the arcs, 0..1; None if an arc has none."""
        confidences = [arc.confidence for arc in self.arcs if arc.confidence is not None]
        if not confidences or len(confidences) < len(self.arcs):
            return None
        return sum(confidences) / len(confidences)

    def to_dict(self, where: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result as JSON types.

        Parameters
        ----------
        where
            Entries that locate the words in a text, put after words and tags; None for
            the offsets, if there are any.
        """
        if where is None:
            where = {} if self.offsets is None else {"offsets": self.offsets}
        return {
            "words": self.words,
            "tags": self.tags,
            **where,
            "heads": self.heads,
            "relations": self.relations,
            "confidences": [arc.confidence for arc in self.arcs],
            "confidence": self.confidence,
            "log_value": self.log_value,
            "sign": None if self.log_value is None else self.sign,
            "fallback": self.fallback,
        }


def with_tree(
    sentence: Sentence, result: DependencyResult, column: Column, *, confidence: bool = False
) -> Sentence:
    """A CoNLL-U sentence with the tree of a result.

    Parameters
    ----------
    sentence
        Its tags are kept; untagged words get the tagger's, with the features that these have.
    result
        The result for the same words.
    column
        The column of the tags.
    confidence
        Whether to add the confidence of each arc to the column MISC.
    """
    tagged = tuple(
        _tagged(word, column, tag) if getattr(word, column) == EMPTY else word
        for word, tag in zip(sentence.words, result.tags, strict=True)
    )
    relations = result.relations or [
        ROOT_RELATION if head == ROOT else UNKNOWN_RELATION for head in result.heads
    ]
    sentence = replace(sentence, words=tagged).with_heads(result.heads, relations)
    if confidence:
        words = (
            word
            if arc.confidence is None
            else word._replace(misc=_with_confidence(word.misc, arc.confidence))
            for word, arc in zip(sentence.words, result.arcs, strict=True)
        )
        sentence = replace(sentence, words=tuple(words))
    if result.fallback:
        sentence = replace(
            sentence, comments=(*sentence.comments, f"# fallback = {result.fallback}")
        )
    return sentence


def _tagged(word: Word, column: Column, tag: str) -> Word:
    word = word._replace(feats=with_features(word.feats, tag))
    tag = column_part(tag)
    return word._replace(upos=tag) if column == "upos" else word._replace(xpos=tag)


def _with_confidence(misc: str, confidence: float) -> str:
    others = [
        part for part in misc.split("|") if part != EMPTY and not part.startswith("Confidence=")
    ]
    return "|".join([*others, f"Confidence={confidence:.4f}"])
