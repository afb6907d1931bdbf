"""A sentence, and what every parse of it must fulfil."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import ParseResult
from eigentree.treebank.io.brackets import format_tree, parse_tree

SENTENCE = ["The", "dog", "sees", "the", "old", "cat", "."]
TAGS = ["DT", "NN", "VBZ", "DT", "JJ", "NN", "."]


def with_options(parser: ConstituencyParser, **changes) -> ConstituencyParser:
    return replace(parser, options=replace(parser.options, **changes))


def check(result: ParseResult, words: list[str], tags: list[str] | None = None) -> None:
    """Check the properties of all results."""
    assert result.words == words
    assert len(result.tags) == len(words)
    if not words:
        assert (result.tree, result.fallback) == (None, "empty")
        return
    assert result.tree is not None
    assert result.tree.words() == words
    assert result.tree.tags() == result.tags
    if tags is not None:
        assert result.tags == tags
    assert parse_tree(format_tree(result.tree)) == result.tree
    spans = result.tree.spans()
    if result.fallback not in ("flat", "split"):
        assert [(b.label, b.start, b.end) for b in result.brackets] == spans
    assert {(b.label, b.start, b.end) for b in result.brackets} <= set(spans)
    assert all(0.0 <= bracket.confidence <= 1.0 for bracket in result.brackets)
    assert (result.confidence is None) == (not result.brackets)
    assert result.log_value is None or np.isfinite(result.log_value)
    assert result.sign in (-1, 1)
