"""Charts that are too large: stricter pruning, parts, and no parse at all."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from eigentree import sentence_input
from eigentree._core import memory
from eigentree.constituency.chart import arrays, pruning
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.options import ParserOptions
from eigentree.sentence_input import PreparedSentence, split_long
from eigentree.treebank.constraints import Constraints
from tests.demo import any_length_parser, demo_parser

SENTENCE = """
    The/DT dog/NN sees/VBZ the/DT old/JJ cat/NN in/IN the/DT park/NN
    and/CC the/DT cat/NN sees/VBZ the/DT dog/NN ./.
"""
WORDS, TAGS = ([pair.split("/")[at] for pair in SENTENCE.split()] for at in (0, 1))


def used_by(parser, words: list[str], tags: list[str], monkeypatch) -> tuple[list[int], int]:
    """Cells and items of the chart of a sentence, and edges of its forest."""
    charts = []
    empty = arrays.PruningChart.empty
    monkeypatch.setattr(
        arrays.PruningChart, "empty", lambda *sizes: charts.append(empty(*sizes)) or charts[-1]
    )
    first = next(parser.prunings(PreparedSentence(words, tags)))
    monkeypatch.undo()
    return charts[0].used.tolist(), first.pruned.forest.n_edges


@pytest.mark.parametrize("limited", ["MAX_CELLS", "MAX_ITEMS", "MAX_EDGES"])
def test_a_chart_that_is_too_large_is_pruned_more_strictly(limited, monkeypatch):
    parser = demo_parser()
    whole = parser.parse(WORDS, TAGS)
    assert whole.fallback is None
    (n_cells, n_items), n_edges = used_by(parser, WORDS, TAGS, monkeypatch)
    limit = {"MAX_CELLS": n_cells, "MAX_ITEMS": n_items, "MAX_EDGES": n_edges}[limited]
    module = pruning if limited == "MAX_EDGES" else arrays
    monkeypatch.setattr(module, limited, limit - 1)
    result = parser.parse(WORDS, TAGS, kbest=2)
    assert result.fallback == "memory"
    assert result.tags == TAGS
    assert result.brackets


def test_a_chart_that_cannot_be_pruned_is_split(monkeypatch):
    monkeypatch.setattr(arrays, "MAX_ITEMS", 60)
    result = any_length_parser().parse(["a", "b"] * 20)
    assert result.fallback == "split"
    assert result.tree.words() == ["a", "b"] * 20


def test_constraints_are_checked_within_the_limits(monkeypatch):
    parser = demo_parser()
    (n_cells, _), _ = used_by(parser, WORDS, TAGS, monkeypatch)
    monkeypatch.setattr(arrays, "MAX_CELLS", n_cells)
    required = Constraints.of([(0, 4), (3, 6)])
    result = parser.parse(WORDS, TAGS, constraints=required)
    assert len(result.dropped_constraints) == 2


def test_charts_of_known_size_are_split(monkeypatch):
    parser = any_length_parser()
    kruskal = parser.in_kruskal_form(DecompositionOptions(4, "als", iterations=3))
    exhaustive = replace(parser, options=ParserOptions(exhaustive=True))
    monkeypatch.setattr(memory, "MAX_CHART_BYTES", 6_000)
    for each in (kruskal, exhaustive):
        assert each.parse(["a", "b"] * 3).fallback is None
        result = each.parse(["a", "b"] * 20)
        assert result.fallback == "split"
        assert result.tree.words() == ["a", "b"] * 20


def test_the_longer_a_sentence_is_the_shorter_are_its_parts():
    def longest(n_words: int) -> int:
        parts = split_long(PreparedSentence(["a"] * n_words, None), 400)
        return max(len(part.words) for part in parts)

    lengths = [400, 401, 1600, 6400, 40_000, 160_000]
    assert [longest(n) for n in lengths] == [400, 399, 200, 100, 40, 20]
    # Time is cubic in a part, and linear in their number.
    assert all(longest(n) ** 2 * n <= 400**3 for n in lengths)
    parts = [len(part.words) for part in split_long(PreparedSentence(["a"] * 25, None), 10)]
    assert parts == [10, 10, 5]


def test_very_long_sentences_are_only_tagged(monkeypatch):
    monkeypatch.setattr(sentence_input, "MAX_PARSED", 50)
    result = demo_parser().parse(WORDS * 4, kbest=2, marginals=0.1)
    assert result.fallback == "flat"
    assert result.tags == demo_parser().tagger.tag(WORDS * 4)
    assert [len(child.children) for child in result.tree.children] == [0] * 64
    assert len(result.alternatives) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_monotonous_sentences_take_bounded_memory():
    # The peak that `resource` has includes that of the process which started this one.
    code = (
        "import eigentree\n"
        "parser = eigentree.load('english')\n"
        "for words in (['the'] * 400, ['the', 'cat'] * 200):\n"
        "    assert parser.parse(words).tree.words() == words\n"
        "print(*(row.split()[1] for row in open('/proc/self/status') if row[:5] == 'VmHWM'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) / 1024 < 600


def test_the_log_value_does_not_depend_on_room(monkeypatch):
    # Cells are laid out one after another; a larger array changes nothing.
    parser = demo_parser()
    value = parser.parse(WORDS, TAGS).log_value
    monkeypatch.setattr(arrays, "MAX_CELLS", 1 << 26)
    assert math.isclose(parser.parse(WORDS, TAGS).log_value, value, rel_tol=0.0)
    assert np.isfinite(value)
