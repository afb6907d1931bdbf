"""Sentences that the grammar cannot parse get a marked tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.parser import ConstituencyParser
from eigentree.treebank.io.brackets import parse_tree
from tests.constituency.parses import SENTENCE, TAGS, check, with_options
from tests.demo import demo_parser

# Fall-backs -------------------------------------------------------------------------------


def test_a_threshold_that_leaves_no_tree_is_relaxed():
    result = with_options(demo_parser(), threshold=0.99).parse(
        ["The", "man", "saw", "a", "dog", "with", "the", "cat", "in", "the", "old", "house", "."]
    )
    check(result, result.words)
    assert result.fallback == "threshold"


def test_a_latent_grammar_without_a_value_leaves_it_to_the_coarse_one():
    parser = demo_parser()
    grammar = parser.grammar
    silent = grammar.parameters._replace(root=np.zeros_like(grammar.parameters.root))
    parser = replace(parser, grammar=LPCFG(grammar.backbone, silent, signed=True))
    result = parser.parse(SENTENCE, TAGS)
    check(result, SENTENCE, TAGS)
    assert result.fallback == "coarse"
    assert result.tree == demo_parser().parse(SENTENCE, TAGS).tree


def test_a_latent_grammar_that_overflows_leaves_it_to_the_coarse_one():
    parser = demo_parser()
    grammar = parser.grammar
    huge = grammar.parameters._replace(root=np.full_like(grammar.parameters.root, 1e308))
    result = replace(parser, grammar=LPCFG(grammar.backbone, huge, signed=True)).parse(SENTENCE)
    check(result, SENTENCE)


@pytest.mark.parametrize(
    "tags",
    [
        ["XX"] * 7,  # unknown to the grammar
        ["DT", "XX", "VBZ", "DT", "JJ", "NN", "."],
        ["."] * 7,  # known, but no tree has them
        [",", "VBZ", ".", "CC", "CC", "DT", "MD"],
    ],
)
def test_tags_that_contradict_the_grammar_are_set_aside(tags):
    result = demo_parser().parse(SENTENCE, tags)
    check(result, SENTENCE, tags)
    assert result.fallback == "tags"
    assert len(result.tree.spans()) > 1


def test_tags_that_are_right_still_count_when_others_are_set_aside():
    good = demo_parser().parse(SENTENCE, TAGS)
    result = demo_parser().parse(SENTENCE, [*TAGS[:-1], "XX"])
    assert result.fallback == "tags"
    assert result.tree.spans() == good.tree.spans()


def test_words_without_any_tree_stand_under_one_root():
    parser = ConstituencyParser.train(
        [parse_tree("(S (NP (D the) (N dog)) (VP (V sleeps)))")], states=2
    )
    for words, tags in ((["the"], None), (["dog", "dog"], ["N", "N"]), (["x"] * 4, ["?"] * 4)):
        result = parser.parse(words, tags)
        check(result, words, tags)
        assert result.fallback == "flat"
        assert result.tree.label == "S"
        assert all(child.is_preterminal for child in result.tree.children)
    untagged = replace(parser, tagger=None).parse(["x"])
    check(untagged, ["x"])
    assert untagged.fallback == "flat"


def test_a_grammar_of_single_words_knows_no_phrase():
    parser = ConstituencyParser.train([parse_tree("(UH yes)"), parse_tree("(FRAG (NN tea))")] * 3)
    for words in (["yes"], ["tea"], ["what"], ["yes", "tea"]):
        check(parser.parse(words), words)
    assert parser.parse(["tea"]).tree == parse_tree("(FRAG (NN tea))")
    assert parser.parse(["yes", "tea"]).fallback == "flat"
