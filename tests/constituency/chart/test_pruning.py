"""The beam of the coarse chart; what thresholds do is tested against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.constituency.chart import pruning
from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.pruning import Pruned, prune
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.treebank.binarise import binarise
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from tests.demo import demo_trees
from tests.helpers import close

WORDS = LexiconOptions(rare_threshold=0)
# Nine times of ten, the first two words are an A, once a B: their merits are 0.9 and 0.1.
OFTEN, SELDOM = "(S (A (X x) (Y y)) (Z z))", "(S (B (X x) (Y y)) (Z z))"


def of_texts(*texts: str) -> PCFG:
    return count_pcfg(Examples.of([binarise(parse_tree(text)) for text in texts], WORDS))


def pruned(
    grammar: PCFG, text: str = "xyz", *, threshold: float = 0.0, beam: float | None = None
) -> Pruned | None:
    words, tags = grammar.lexicon.ids(list(text)), grammar.tag_numbers(list(text.upper()))
    leaves = [grammar.words.candidates(*pair) for pair in zip(words, tags, strict=True)]
    return prune(grammar, Leaves.of(leaves), threshold, beam=beam)


def phrases(found: Pruned, grammar: PCFG) -> list[str]:
    return sorted(
        str(grammar.symbols[a])
        for a, start, end in zip(
            found.forest.item_symbol, found.forest.item_start, found.forest.item_end, strict=True
        )
        if (start, end) == (0, 2)
    )


@pytest.mark.parametrize(
    ("beam", "kept", "probability"),
    [(0.0, ["A", "B"], 1.0), (0.11, ["A", "B"], 1.0), (0.12, ["A"], 0.9)],
)
def test_the_beam_compares_inside_values_times_priors(beam, kept, probability):
    grammar = of_texts(*[OFTEN] * 9, SELDOM)
    found = pruned(grammar, beam=beam)
    assert found is not None
    assert phrases(found, grammar) == kept
    assert close(np.exp(found.log_value), probability, rtol=1e-12)


def test_the_beam_is_for_charts_with_a_threshold(monkeypatch: pytest.MonkeyPatch):
    grammar = of_texts(*[OFTEN] * 9, SELDOM)
    monkeypatch.setattr(pruning, "DEFAULT_BEAM", 0.12)
    for threshold, kept in ((0.05, ["A"]), (0.0, ["A", "B"])):
        found = pruned(grammar, threshold=threshold)
        assert found is not None
        assert phrases(found, grammar) == kept


def test_whatever_spans_the_sentence_is_kept():
    # S is rare there beside T, but T is never a root.
    texts = ["(S (X x) (Y y))", *["(R (T (X x) (Y y)) (Z z))"] * 99]
    grammar = of_texts(*texts)
    found = pruned(grammar, "xy", beam=0.5)
    assert found is not None
    assert phrases(found, grammar) == ["S"]


def test_uses_are_counts_of_the_treebank():
    examples = Examples.of([binarise(tree) for tree in demo_trees()], WORDS)
    counts = np.bincount(examples.symbol, minlength=len(examples.symbols)) / examples.n_trees
    assert close(count_pcfg(examples).uses, counts, rtol=1e-3)
