"""Public objects can be copied and sent to other processes, by any library, and not changed."""

from __future__ import annotations

import pickle  # noqa: TID251 - for copies in memory, as multiprocessing makes them
from copy import copy, deepcopy

import pytest

import eigentree
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
    for each in (original, result):
        with pytest.raises(AttributeError):
            each.no_such_field = 1
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        sent = pickle.loads(pickle.dumps(original, protocol))
        assert sent.parse(words, tags) == result
        assert sent.description == original.description
    assert deepcopy(original).parse(words, tags) == result
    assert deepcopy(result) == pickle.loads(pickle.dumps(result)) == result


def made(name):
    """An object of a public class, or None for errors, functions and what has no default."""
    public = getattr(eigentree, name)
    if not isinstance(public, type):
        return public if name == "EVALB_COLLINS" else None
    arguments = {
        "Tree": ("S", [eigentree.Tree("NN", (), "a")]),
        "Constraint": ("required", 0, 2),
        "Sentence": ((),),
    }
    return None if issubclass(public, Exception) else made_of(public, *arguments.get(name, ()))


def made_of(public, *arguments):
    try:
        return public(*arguments)
    except TypeError:
        return None  # a parser or a result, which are above


OBJECTS = {name: each for name in eigentree.__all__ if (each := made(name)) is not None}


@pytest.mark.parametrize("original", OBJECTS.values(), ids=OBJECTS.keys())
def test_public_objects_are_copied_whole_and_not_changed(original):
    with pytest.raises(AttributeError):
        original.no_such_field = 1
    assert copy(original) == deepcopy(original) == original
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(original, protocol)) == original
