"""One-word sentences: the tag is the tagger's, the phrases are the grammar's."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest

from eigentree.base import load
from eigentree.constituency.decoding import first_derivation
from eigentree.constituency.one_word import one_word
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.pruning_schedule import schedule
from eigentree.sentence_input import PreparedSentence, prepare
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.io.brackets import format_tree, parse_tree
from tests.demo import demo_parser
from tests.helpers import close

WORDS = """
    It They What Who Why How No Oh and the Yes She Hey not He I You We Well Maybe Never Really
    this when of very where is London cats Hello Thanks Go
"""
# One root over a single word, (NP (NN ..)), in five trees.
TREES = tuple(
    parse_tree(text)
    for text in (
        "(NP (NN rain))",
        "(S (NP (PRP it)) (VP (VBZ rains)))",
        "(S (INTJ (UH oh)) (S (NP (PRP she)) (VP (VBZ sleeps))))",
        "(S (INTJ (UH oh)) (S (NP (PRP he)) (VP (VBZ sings))))",
        "(FRAG (ADVP (UH oh)) (ADVP (RB no)))",
    )
)


@cache
def small_parser() -> ConstituencyParser:
    return ConstituencyParser.train(TREES * 6, states=1, wrapper="")


def test_common_words_alone_have_the_best_tag_of_the_tagger():
    parser, words = load("english"), WORDS.split()
    assert len(words) == 33
    results = list(parser.parse_many(([word], None) for word in words))
    assert [result.tags for result in results] == [parser.tagger.tag([word]) for word in words]
    assert {result.fallback for result in results} == {None}
    trees = {format_tree(result.tree) for result in results}
    assert {"(NP (PRP He))", "(INTJ (UH Oh))", "(WHADVP (WRB Why))", "(ADVP (RB not))"} <= trees


def test_a_likely_tag_without_a_root_wins_against_an_unlikely_one_with_a_root():
    tags = [{"UH": 0.6, "NN": 0.4}]
    result = small_parser().parse(["oh"], tags, kbest=3, marginals=0.0)
    assert format_tree(result.tree) == "(INTJ (UH oh))"
    assert result.fallback is None
    # The tagger's 0.6 is divided between the 12 uses of INTJ and the 6 of ADVP.
    marginals = {each.label: each.marginal for each in result.marginals}
    assert list(marginals) == ["ADVP", "INTJ", "NP"]
    assert close(marginals["NP"], 0.4, rtol=1e-9)
    assert close(marginals["ADVP"] + marginals["INTJ"], 0.6, rtol=1e-9)
    assert marginals["INTJ"] > marginals["ADVP"]
    assert close(result.confidence, marginals["INTJ"], rtol=1e-9)
    trees = [format_tree(each.tree) for each in result.alternatives]
    assert trees == ["(INTJ (UH oh))", "(NP (NN oh))", "(ADVP (UH oh))"]
    for each in result.alternatives:
        assert close(each.log_value, math.log(each.probability) + result.log_value, rtol=1e-9)


@pytest.mark.parametrize(
    ("word", "tag", "tree", "fallback"),
    [
        ("he", "PRP", "(NP (PRP he))", None),
        ("rain", "NN", "(NP (NN rain))", None),
        ("stone", "UH", "(INTJ (UH stone))", None),
        ("he", "XX", "(S (XX he))", "flat"),
    ],
)
def test_a_given_tag_decides(word, tag, tree, fallback):
    result = small_parser().parse([word], [tag])
    assert (format_tree(result.tree), result.fallback) == (tree, fallback)


def test_a_known_root_over_a_given_tag_is_that_of_the_chart():
    parser = small_parser()
    sentence = PreparedSentence(["rain"], ["NN"])
    first = next(parser.prunings(sentence))
    assert not first.is_final
    result = parser.parse(["rain"], ["NN"])
    assert close(
        result.log_value, parser.value_of(parse_tree("(NP (NN rain))")).log_value, rtol=1e-9
    )


def test_constraints_hold_over_one_word():
    constraints = Constraints.of([(0, 1, "ADVP")])
    result = small_parser().parse(["oh"], ["UH"], constraints=constraints)
    assert (format_tree(result.tree), result.fallback) == ("(ADVP (UH oh))", None)


def test_the_objective_does_not_matter():
    parser = small_parser()
    sentence = prepare(["oh"], None, parser.tagger)
    for objective in ("rules", "max-rule", "free"):
        options = ParserOptions(objective=objective)
        prunings = schedule(sentence, parser.grammar.backbone, options)
        derivation = first_derivation(sentence, prunings, parser.grammar, None, options)
        assert format_tree(derivation.tree) == "(INTJ (UH oh))"


def test_a_tag_that_no_phrase_covers_alone_has_no_phrase():
    parser = demo_parser()
    assert one_word(parser.grammar.backbone, PreparedSentence(["!"], ["."])) is None
    result = parser.parse(["!"], [{".": 0.6, "NN": 0.4}])
    assert (result.tags, result.fallback) == (["."], "flat")


def test_a_relaxed_search_shows_the_tags_of_the_tagger():
    tags = [{"DT": 0.9, "IN": 0.1}] * 3
    result = demo_parser().parse(["The", "the", "the"], tags, kbest=2)
    assert (result.tags, result.fallback) == (["DT"] * 3, "tags")
    assert {tag for each in result.alternatives for tag in each.tree.tags()} == {"DT"}


def test_an_untagged_word_without_a_tagger_is_left_to_the_grammar():
    parser = replace(small_parser(), tagger=None)
    assert format_tree(parser.parse(["rain"]).tree) == "(NP (NN rain))"
