"""Several trees of one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentree.constituency.chart.decode import OBJECTIVES
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import ParseResult
from eigentree.constituency.training_options import TrainingOptions, TreebankOptions
from eigentree.errors import SettingsError
from eigentree.treebank.io.brackets import parse_tree
from tests.constituency.parses import SENTENCE, with_options
from tests.demo import demo_parser, demo_trees
from tests.helpers import close

# Several trees ----------------------------------------------------------------------------

LONGER_TAGGED = (
    "The_DT old_JJ man_NN saw_VBD the_DT dog_NN in_IN the_DT house_NN with_IN the_DT cat_NN ._."
)


LONGER, LONGER_TAGS = ([pair.split("_")[side] for pair in LONGER_TAGGED.split()] for side in (0, 1))


def check_several(result: ParseResult, best: int) -> None:
    several = result.alternatives
    assert 1 <= len(several) <= best
    assert several[0].tree == result.tree
    if result.confidence is None:
        assert several[0].confidence is None
    else:
        assert close(several[0].confidence, result.confidence, rtol=1e-12)
    assert len({tuple(each.tree.spans()) for each in several}) == len(several)
    assert all(each.tree.words() == result.words for each in several)
    if several[0].objective is not None:
        values = [each.objective for each in several]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("tags", [None, LONGER_TAGS])
@pytest.mark.parametrize("objective", [name for name in OBJECTIVES if name != "viterbi"])
def test_several_trees(objective, tags):
    parser = with_options(demo_parser(), objective=objective)
    alone, three, many = (parser.parse(LONGER, tags, kbest=kbest) for kbest in (None, 3, 30))
    assert alone.alternatives == ()
    assert replace(many, alternatives=()) == alone
    check_several(many, 30)
    assert len(many.alternatives) > 3
    assert three.alternatives == many.alternatives[:3]
    for each in many.alternatives:
        assert each.probability is None  # of a signed grammar
        assert each.sign in (-1, 1)
        if tags is not None:
            assert each.tree.tags() == tags
        assert (each.log_value is None) == (objective == "free")
        if tags is not None and each.log_value is not None:
            value = parser.value_of(each.tree)
            assert value.sign == each.sign
            assert close(value.log_value, each.log_value, rtol=1e-9)


def test_shares_of_a_sentence_are_probabilities():
    parser = ConstituencyParser.train(demo_trees()[:200], method="pcfg")
    words, tags = LONGER[:2] + LONGER[3:9] + ["."], LONGER_TAGS[:2] + LONGER_TAGS[3:9] + ["."]
    result = with_options(parser, threshold=0.0, objective="viterbi").parse(
        words, tags, kbest=10**5
    )
    check_several(result, 10**5)
    shares = [each.probability for each in result.alternatives]
    assert shares == sorted(shares, reverse=True)
    assert close(sum(shares), 1.0, rtol=1e-9)
    objectives, values = zip(
        *((each.objective, each.log_value) for each in result.alternatives), strict=True
    )
    assert close(objectives, values, rtol=1e-9)
    pruned = parser.parse(words, tags, kbest=5)
    assert 0.9 < sum(each.probability for each in pruned.alternatives) <= 1.0 + 1e-9


def test_several_trees_in_kruskal_form():
    exact = ConstituencyParser.train(demo_trees()[:60], method="pcfg")
    for parser in (exact, exact.in_kruskal_form(seed=1)):
        result = parser.parse(LONGER, LONGER_TAGS, kbest=8)
        check_several(result, 8)
        for each in result.alternatives:
            value = parser.value_of(each.tree)
            assert close(value.log_value, each.log_value, rtol=1e-6)


@pytest.mark.parametrize("fallback", ["threshold", "tags", "coarse", "flat", "split"])
def test_fall_backs_have_alternatives_too(fallback):
    parser = demo_parser()
    words, tags = LONGER, LONGER_TAGS
    if fallback == "threshold":
        parser = with_options(parser, threshold=0.99)
    elif fallback == "tags":
        tags = ["XX", *tags[1:]]
    elif fallback == "coarse":
        grammar = parser.grammar
        silent = grammar.parameters._replace(root=np.zeros_like(grammar.parameters.root))
        parser = replace(parser, grammar=LPCFG(grammar.backbone, silent, signed=True))
    elif fallback == "flat":
        words, tags = ["x"] * 4, ["XX"] * 4
        trees = [parse_tree("(S (NP (D the) (N dog)) (VP (V sleeps)))")]
        parser = ConstituencyParser.train(trees, states=2)
    else:
        parser = with_options(parser, max_words=8)
    result = parser.parse(words, tags, kbest=7)
    assert result.fallback == fallback
    check_several(result, 7)
    assert all(each.tree.tags() == tags for each in result.alternatives)
    if fallback in ("flat", "split"):
        (only,) = result.alternatives
        assert (only.objective, only.log_value, only.probability) == (None, None, None)
    else:
        assert len(result.alternatives) > 1
        assert all(np.isfinite(each.log_value) for each in result.alternatives)
    if fallback == "coarse":
        # Values of the plain grammar.
        assert sum(each.probability for each in result.alternatives) <= 1.0


def test_no_words_have_no_alternative_and_none_can_t_be_requested():
    assert demo_parser().parse([], kbest=4).alternatives == ()
    with pytest.raises(SettingsError, match="kbest is 0; it must be at least 1"):
        demo_parser().parse(SENTENCE, kbest=0)


@pytest.mark.parametrize("direction", ["left", "right", "head"])
def test_values_of_trees_are_those_of_their_own_binarisation(direction):
    from eigentree.treebank.binarise import BinariseOptions

    options = BinariseOptions(direction, vertical=2, horizontal=1)
    settings = TrainingOptions(treebank=TreebankOptions(binarise=options), tagger=False)
    parser = ConstituencyParser.train(demo_trees()[:100], settings=settings, states=2)
    for tree in demo_trees()[:5]:
        found = parser.parse(tree.words(), tree.tags(), kbest=50).alternatives
        values = {each.tree: each.log_value for each in found}
        assert close(parser.value_of(tree).log_value, values[tree], rtol=1e-9)
    assert parser.value_of(parse_tree("(S (NP (XX ?)) (VP (VBD slept)))")).sign == 0
