"""Several tags of a word, each with a weight."""

from __future__ import annotations

import math

import pytest

from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import SettingsError
from eigentree.sentence_input import MIN_TAG_PROBABILITY
from eigentree.treebank.constraints import Constraints
from eigentree.words.tagger import Tagger, TagProbability
from tests.constituency.parses import check, with_options
from tests.demo import demo_parser, demo_trees
from tests.helpers import close


def test_a_tagger_may_know_tags_that_the_grammar_lacks():
    other = Tagger.train([(["a", "b"], ["FIRST", "SECOND"])])
    result = ConstituencyParser(demo_parser().grammar, other).parse(["the", "dog", "slept"])
    check(result, ["the", "dog", "slept"])
    assert set(result.tags) <= set(demo_parser().grammar.backbone.symbols.tags)
    assert result.tags[0] == "DT"
    assert result.fallback is None


def test_the_parser_chooses_among_the_tagger_s_tags():
    class Undecided:
        """A tagger for which the second word is equally likely to be a noun or a verb."""

        tagset = ("DT", "NN", "VBD")

        def tag(self, _words):
            return ["DT", "VBD", "VBD"]

        def marginals(self, _words, **_options):
            assert _options == {"minimum": MIN_TAG_PROBABILITY}
            either = [TagProbability("VBD", 0.55), TagProbability("NN", 0.45)]
            return [[TagProbability("DT", 1.0)], either, [TagProbability("VBD", 1.0)]]

    parser = ConstituencyParser(demo_parser().grammar, Undecided())
    result = parser.parse(["the", "dog", "slept"])
    assert result.tags == ["DT", "NN", "VBD"]
    assert result.fallback is None
    assert parser.parse(["the", "dog", "slept"], ["DT", "NN", "VBD"]).tree == result.tree


def test_weights_of_one_tag_a_word_change_nothing_but_the_value():
    parser = demo_parser()
    table = parser.grammar.backbone.words
    words, tags = ["the", "old", "man", "slept", "."], ["DT", "JJ", "NN", "VBD", "."]

    class Sure:
        tagset = ("DT",)

        def tag(self, _words):
            return tags

        def marginals(self, _words, **_options):
            return [[TagProbability(tag, 1.0)] for tag in tags]

    given = ConstituencyParser(parser.grammar).parse(words, tags)
    guessed = ConstituencyParser(parser.grammar, Sure()).parse(words)
    assert guessed.tree == given.tree
    ids = parser.grammar.backbone.lexicon.ids(words)
    numbers = parser.grammar.backbone.tag_numbers(tags)
    of_words = sum(
        math.log(table.tag_probability(word, tag)) for word, tag in zip(ids, numbers, strict=True)
    )
    assert close(guessed.log_value + of_words, given.log_value, rtol=1e-9)


def test_weights_do_what_the_tagger_s_guesses_do():
    parser = demo_parser()
    for tree in demo_trees()[:20]:
        words = tree.words()
        guesses = parser.tagger.marginals(words, minimum=MIN_TAG_PROBABILITY)
        # Only ratios count.
        weights = [{tag: 7.0 * probability for tag, probability in each} for each in guesses]
        weighted, guessed = parser.parse(words, weights), parser.parse(words)
        assert (weighted.tree, weighted.tags) == (guessed.tree, guessed.tags)
        assert weighted.fallback is None
        confidences = [[each.confidence for each in r.brackets] for r in (weighted, guessed)]
        assert close(*confidences, rtol=1e-9)
        sums = sum(math.log(math.fsum(p for _, p in each)) for each in guesses)
        assert close(weighted.log_value, guessed.log_value - sums, rtol=1e-9)


def test_the_value_is_linear_in_the_weights():
    # Two tags of two words: a sum over four choices, each of them parsed alone.
    grammar = ConstituencyParser.train(
        demo_trees(), method="pcfg", settings=TrainingOptions(tagger=False)
    )
    parser = with_options(grammar, threshold=0.0)
    words, first, second = ["the", "cat", "slept"], {"NN": 0.6, "JJ": 0.4}, {"VBD": 3, "NN": 1}
    whole = 0.0
    for one, weight in first.items():
        for other, more in second.items():
            tags = ["DT", {one: 1}, {other: 1}]
            each = parser.parse(words, tags)
            if each.fallback is None:
                whole += weight * more / 4 * math.exp(each.log_value)
    assert whole > 0
    found = parser.parse(words, ["DT", first, second])
    assert close(math.exp(found.log_value), whole, rtol=1e-9)


def test_one_tag_stands_beside_weights():
    parser = demo_parser()
    words = ["the", "dog", "slept"]
    result = parser.parse(words, ["XX", {"VBD": 0.55, "NN": 0.45}, "VBD"], kbest=3)
    assert result.tags == ["XX", "NN", "VBD"]
    assert result.fallback == "tags"
    assert {each.tree.tags()[0] for each in result.alternatives} == {"XX"}
    result = parser.parse(words, ["DT", {"VBD": 0.55, "NN": 0.45}, "VBD"])
    assert (result.tags, result.fallback) == (["DT", "NN", "VBD"], None)
    required = Constraints.of(tags={1: "NN"})
    kept = parser.parse(words, ["DT", {"VBD": 1}, "VBD"], constraints=required)
    assert (kept.tags, kept.dropped_constraints) == (["DT", "NN", "VBD"], ())
    assert parser.rule_marginals(words, ["DT", {"NN": 1}, "VBD"])


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ({"NN": -1}, SettingsError),
        ({"NN": math.nan}, SettingsError),
        ({"NN": 0.0, "VBD": 0}, SettingsError),
        ({"NOUN": 1}, SettingsError),
        ({"NN": "1"}, TypeError),
        (3, TypeError),
    ],
)
def test_wrong_weights_are_refused(weights, error):
    with pytest.raises(error, match=r"word 2|tag 2 is 3"):
        demo_parser().parse(["the", "dog"], ["DT", weights])


def test_surprisal_takes_no_weights():
    with pytest.raises(SettingsError, match="not weights"):
        demo_parser().surprisal(["the"], [{"DT": 1}])
