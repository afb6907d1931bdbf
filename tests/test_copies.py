"""Parsers of all kinds can be copied and sent to other processes, by any library."""

from __future__ import annotations

import pickle  # noqa: TID251 - for copies in memory, as multiprocessing makes them
from copy import deepcopy

import pytest

from eigentree.constituency.learn.decomposition import DecompositionOptions
from tests import samples
from tests.bracketing.test_parser import parser as bracketing_parser
from tests.demo import any_length_parser, demo_parser


def kruskal_parser():
    return any_length_parser().in_kruskal_form(DecompositionOptions(4, "als", iterations=3))


@pytest.mark.parametrize(
    ("parser", "words", "tags"),
    [
        (demo_parser, ["The", "dog", "sees", "it", "."], None),
        (kruskal_parser, ["a", "b", "a"], None),
        (samples.whole_parser, ["the", "dog"], ["DET", "NOUN"]),
        (bracketing_parser, ["the", "dog", "slept"], ["DT", "NN", "VBD"]),
    ],
)
def test_copies_of_a_parser_in_use_parse_alike(parser, words, tags):
    original = parser()
    result = original.parse(words, tags)
    if parser is demo_parser:
        original.surprisal(words)  # its tables are kept
        original.parse("The dog sleeps.")  # so is the tokenisation scheme
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        sent = pickle.loads(pickle.dumps(original, protocol))
        assert sent.parse(words, tags) == result
        assert sent.description == original.description
    assert deepcopy(original).parse(words, tags) == result
    assert deepcopy(result) == pickle.loads(pickle.dumps(result)) == result
