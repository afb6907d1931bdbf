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
        (["the", 3], None, "one of the words is 3; all must be strings"),
        ([["the", "dog"]], None, "all must be strings"),
        (["the", "dog"], ["DT", None], "one of the tags is None"),
    ],
)
def test_wrong_types_are_told(words, tags, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        demo_parser().parse(words, tags)


@pytest.mark.parametrize("sentences", [[["the", "dog"]], [None]])
def test_a_batch_is_of_texts_or_pairs(sentences):
    with pytest.raises(TypeError, match="a pair of a list of words and their tags or None"):
        list(demo_parser().parse_many(sentences))


def test_a_batch_is_not_one_text():
    with pytest.raises(TypeError, match="one string; a list of sentences is expected"):
        list(demo_parser().parse_many("The dog slept."))


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (None, "sentences is None; a list of sentences is expected"),
        ([("The",)], "a sentence is tuple .* a pair of a list of words"),
        ([("a", None, None, None)], "a sentence is tuple .* a pair of a list of words"),
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
        (["the", ""], None, "a word of .* is empty; leave it out"),
        (["the", " "], None, "a word of .* is empty; leave it out"),
        (["the dog"], None, "a word of .* holds white space; split it"),
        (["dog"], [""], "a tag of .* is empty or holds white space or brackets"),
        (["dog"], ["(NN"], "a tag of .* is empty or holds white space or brackets"),
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
    ],
)
def test_options_without_a_meaning(options, message):
    with pytest.raises(SettingsError, match=message):
        ParserOptions(**options)


def test_an_objective_that_does_not_fit_the_grammar():
    parser = with_options(demo_parser(), objective="viterbi")
    with pytest.raises(SettingsError, match="viterbi requires one latent state per symbol"):
        parser.parse(SENTENCE)
