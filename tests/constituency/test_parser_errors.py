"""Arguments that the parser refuses."""

from __future__ import annotations

import re

import pytest

from eigentree.constituency.options import ParserOptions
from eigentree.errors import SettingsError
from tests.constituency.parses import SENTENCE, with_options
from tests.demo import demo_parser

# Refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (["the", "dog"], "DN", "tags is one string; expected a list of tags"),
        (["the", 3], None, "word 2 is 3; all words must be strings"),
        ([["the", "dog"]], None, "all words must be strings"),
        (["the", "dog"], ["DT", None], "tag 2 is None; all tags must be strings"),
    ],
)
def test_wrong_types_are_reported(words, tags, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        demo_parser().parse(words, tags)


def test_a_batch_is_of_texts_lists_or_pairs():
    words = ["the", "dog", "slept"]
    pairs = [("the", "DT"), ("dog", "NN"), ("slept", "VBD")]
    results = list(demo_parser().parse_many([words, (words, None), pairs, " ".join(words)]))
    assert [each.words for each in results] == [words] * 4
    assert results[0].tree == results[1].tree
    assert results[2].tags == ["DT", "NN", "VBD"]


def test_an_error_in_a_batch_names_the_sentence():
    sentences = ["the dog", (["the", ""], None)]
    with pytest.raises(SettingsError, match="word 2 of 2 is '', which is empty") as caught:
        list(demo_parser().parse_many(sentences))
    assert caught.value.__notes__ == ["while parsing sentence 2"]


def test_a_batch_is_not_one_text():
    with pytest.raises(TypeError, match=r"must be a list of sentences .got one string."):
        list(demo_parser().parse_many("The dog slept."))


def test_a_text_of_several_sentences_gives_a_warning():
    parser = demo_parser()
    with pytest.warns(UserWarning, match="the text has 2 sentences but is parsed as one") as seen:
        tree = parser.parse("The dog slept. The cat ran.").tree
    assert seen[0].filename == __file__
    assert tree is not None
    assert len(parser.parse_text("The dog slept. The cat ran.")) == 2
    parser.parse("The dog slept.")  # without a warning, which would be an error here


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (None, "must be a list of sentences .got NoneType None."),
        ([None], "a sentence must be text, a list of words, or a pair .* .got NoneType None."),
        ([("The",)], "a sentence must be text, a list of words, or a pair .* .got tuple "),
    ],
)
def test_what_is_no_batch_is_refused(sentences, message):
    with pytest.raises(TypeError, match=message):
        list(demo_parser().parse_many(sentences))


@pytest.mark.parametrize("text", [None, ["The dog."], b"The dog."])
def test_only_a_string_is_a_text(text):
    with pytest.raises(TypeError, match="text must be a string"):
        demo_parser().parse_text(text)


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (["the", "dog"], ["DT"], "2 words but 1 tag"),
        ([], ["DT"], "0 words but 1 tag"),
        (["the", ""], None, "word 2 of 2 is '', which is empty; leave it out"),
        (["the", " "], None, "word 2 of 2 is ' ', which is empty; leave it out"),
        (["the dog"], None, "word 1 is 'the dog'; split it at its white space"),
        (["dog"], [""], "tag 1 is '', which is empty or holds white space or brackets"),
        (["dog"], ["(NN"], "tag 1 is .*, which is empty or holds white space or brackets"),
        (["d\0g"], None, r"word 1 is .*, which holds U.0000, NUL"),
        (["a" * 5000 + " b"] * 900, None, r"^.{1,150}$"),
    ],
)
def test_what_no_tree_can_hold_is_refused(words, tags, message):
    with pytest.raises(SettingsError, match=message):
        demo_parser().parse(words, tags)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.0}, "threshold is 1.0; it must be at least 0 and below 1"),
        ({"threshold": -1e-9}, "threshold is -1e-09"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"max_words": 1}, "max_words is 1; it must be at least 2"),
        ({"bracket_price": 1.0}, "bracket_price is 1.0; it must be at least 0 and below 1"),
    ],
)
def test_options_without_a_meaning(options, message):
    with pytest.raises(SettingsError, match=message):
        ParserOptions(**options)


def test_an_objective_that_does_not_fit_the_grammar():
    parser = with_options(demo_parser(), objective="viterbi")
    with pytest.raises(SettingsError, match="viterbi requires one latent state per symbol"):
        parser.parse(SENTENCE)
