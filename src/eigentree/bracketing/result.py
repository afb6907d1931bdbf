"""The result of bracketing a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from eigentree._core.display import NotebookDisplay
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.tree import Tree

# Kinds of fall-back, see `eigentree.bracketing.parser`.
BracketingFallback = Literal["flat", "split", "empty"]


@dataclass(frozen=True)
class BracketingResult(NotebookDisplay):
    """The unlabelled tree of one sentence.

    Attributes
    ----------
    words, tags
        As given.
    tree
        Phrases with one label over the given tags; binary except for punctuation.  None without
        words.
    score
        Score of the tree under the model, or the sum over its pieces; higher is better.  For
        a tree metric it is minus the sum of the lengths of all edges; for the
        constituent-context model the sum of the log-odds of all spans, in nats; for
        ``taught-contexts`` the expected number of correct spans.
    top
        Position at which the root splits the words other than punctuation; 0 for fewer than two
        words and for pieces.
    fallback
        What was given up; None for an ordinary parse.
    offsets
        The character range of each word, half-open, for a sentence given as text; None otherwise.
    """

    words: list[str]
    tags: list[str]
    tree: Tree | None
    score: float = 0.0
    top: int = 0
    fallback: BracketingFallback | None = None
    offsets: tuple[tuple[int, int], ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON types."""
        return {
            "words": self.words,
            "tags": self.tags,
            **({} if self.offsets is None else {"offsets": self.offsets}),
            "tree": None if self.tree is None else format_tree(self.tree),
            "score": self.score,
            "top": self.top,
            "fallback": self.fallback,
        }
