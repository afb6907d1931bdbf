"""Conventions read off words."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from eigentree.dependency.training import scheme_of_treebank
from eigentree.errors import SettingsError
from eigentree.tokenisation.scheme import TokenisationScheme, scheme_of_parser, shapes_in
from eigentree.tokenisation.words import tokenise
from tests.demo import demo_trees
from tests.samples import sentence

ENGLISH = "the of and with that his they she".split()  # noqa: SIM905 - words of a sentence


def of(*sentences: str, times: int = 3, english: bool = True) -> TokenisationScheme:
    lines = [line.split() for line in sentences] * times
    return TokenisationScheme.of_words([*lines, *([ENGLISH] if english else [])])


def words(text: str, scheme: TokenisationScheme) -> str:
    return " ".join(token.text for token in tokenise(text, scheme))


@pytest.mark.parametrize(
    ("word", "shapes"),
    [
        ("well-known", ["a-a"]),
        ("1,000.5", ["9,9", "9.9"]),
        ("5%", ["9%"]),
        ("$5", ["$9"]),
        ("A-10", ["a-9"]),
        ("Mr.", ["a."]),
        ("a-b-c", ["a-a", "a-a"]),
        ("dog", []),
        ("--", []),
        ("-", []),
        ("é-é", ["a-a"]),
    ],
)
def test_shapes_of_joints(word, shapes):
    assert shapes_in(word) == shapes


@pytest.mark.parametrize(
    ("scheme", "text", "wanted"),
    [
        (of("a well-known man"), "an old-fashioned dog", "an old-fashioned dog"),
        (of("a well - known man"), "an old-fashioned dog", "an old - fashioned dog"),
        (of("a dog"), "an old-fashioned dog", "an old-fashioned dog"),
        (of("a dog", english=False), "old-fashioned", "old - fashioned"),
        (of("a well-known man", english=False), "old-fashioned", "old-fashioned"),
        (of("up 5 %"), "up 7%", "up 7 %"),
        (of("up 5%"), "up 7%", "up 7%"),
        (of("for $5 more"), "for $7 more", "for $7 more"),
        (of("he and/or she"), "us and/or them", "us and/or them"),
        (of("he and / or she"), "us and/or them", "us and / or them"),
        (of("at 8 am today"), "at 9am", "at 9 am"),
        (of("at 8am today"), "at 9am", "at 9am"),
        (of("in the U.S."), "in L.A.", "in L.A."),
        (of("in the U.S. .", "in the U.S ."), "in L.A.", "in L.A ."),
        (of("a 1/2 and 3 / 4"), "a 3/4", "a 3/4"),
        (of("we can not go"), "we cannot", "we can not"),
        (of("we cannot go"), "we cannot", "we cannot"),
        (of("we don't go"), "we don't", "we don't"),
        (of("we do n't go"), "we can't", "we ca n't"),
        (of("a - b c - d e - f g - h x-ray"), "an x-ray and-so", "an x-ray and - so"),
        (
            of("c - d c - d c - d c - d c - d c - d " * 2 + "co-x co-y co-z"),
            "co-op and-so",
            "co-op and - so",
        ),
        (of("l' homme d' or", english=False), "l'ami d'or", "l' ami d' or"),
        (of("est -ce bien", english=False), "va-ce", "va -ce"),
        (of("Abb. drei", english=False, times=1), "siehe Abb. vier", "siehe Abb. vier"),
        (of("am 3. Mai", english=False), "am 4. Mai", "am 4. Mai"),
        (of("am 3. Mai", english=False), "am 4.", "am 4 ."),
        (of("Ach ! ! Oh !", english=False), "Ja!!", "Ja ! !"),
        (of("Ach !! Oh !", english=False), "Ja!!!", "Ja !!!"),
        (of("`` a ''"), '"b"', "`` b ''"),
        (of('" a "'), "“b”", '" b "'),
        (of("“ a ”"), '"b"', "“ b ”"),
        (of("a — b"), "a--b", "a — b"),
        (of("a … b"), "a... b", "a … b"),
        (of("it 's"), "it’s", "it 's"),
        (of("it ’s"), "it’s", "it ’s"),
        (of("北京 大学 的", english=False), "大学的北京", "大学 的 北京"),
        (of("北京 的", english=False), "上海的北京", "上海 的 北京"),
    ],
)
def test_what_is_read_off_words(scheme, text, wanted):
    assert words(text, scheme) == wanted


def test_addresses_show_no_joints():
    shown = of("see http://a/b/c and http://d/e/f he and / or she")
    assert words("a/b", shown) == "a / b"


def test_the_mode_is_that_of_the_language():
    assert of("a dog").mode == "penn"
    assert of("ein Hund", english=False).mode == "unicode"
    assert TokenisationScheme.of_words([]).mode == "unicode"
    trees = demo_trees()
    shown = TokenisationScheme.of_words(tree.words() for tree in trees)
    assert shown.mode == "penn"
    # In other words, from types alone.
    types = sorted({word for tree in trees for word in tree.words()})
    assert TokenisationScheme.of_lexicon([*types, "< >"]).mode == "penn"


def test_words_of_a_treebank_come_back_from_its_text():
    # Joined as people write, the words of the demo's trees are found again.
    scheme = TokenisationScheme.of_words(tree.words() for tree in demo_trees())
    for tree in random.Random(1).sample(demo_trees(), 100):
        text = " ".join(tree.words())
        for joined in (" ,", " .", " ?", " !", " 's", " n't"):
            text = text.replace(joined, joined[1:])
        text = text.replace("`` ", '"').replace(" ''", '"')
        assert [token.text for token in tokenise(text, scheme)] == tree.words()


def test_text_that_is_known_reports_what_was_joined():
    spaced = [["a", "-", "b"], ["x-y", "z"]] * 5
    apart = [[True, True, True], [True, True]] * 5
    assert "a-a" not in TokenisationScheme.of_words([["a", "-", "b"]] * 11 + [["x-y"]] * 3).kept
    assert "a-a" in TokenisationScheme.of_words(spaced, apart).kept


def test_ranges_of_a_treebank():
    rows = []
    for number in range(3):
        given = sentence("vient/V de/P le/D parc/N", [0, 1, 4, 2])
        rows.append(replace(given, extras=(type_of_extra(1, ("2-3", "Du" if number else "du")),)))
    rows.append(sentence("du/P", [0]))
    scheme = scheme_of_treebank(rows)
    assert scheme.contracted == (("du", "de", "le"),)
    tokens = tokenise("vient du parc", scheme)
    assert [each.text for each in tokens] == ["vient", "de", "le", "parc"]
    assert [(each.start, each.end) for each in tokens[1:3]] == [(6, 8), (6, 8)]
    # More frequent as one word, it stays one.
    assert scheme_of_treebank([*rows, *[sentence("du/P", [0])] * 3]).contracted == ()


def type_of_extra(after, cells):
    from eigentree.treebank.io.conllu import Extra

    return Extra(after, (*cells, *["_"] * 8))


def test_json_there_and_back():
    scheme = of("a well - known `` man '' am 3. l' or Abb. 北京 5 km")
    scheme = replace(scheme, contracted=(("du", "de", "le"),))
    stored = json.loads(json.dumps(scheme.to_json()))
    assert TokenisationScheme.from_json(stored) == scheme
    assert scheme_of_parser({"text": stored}, []) == scheme
    assert scheme_of_parser({}, ["the", *ENGLISH, "< >"]).mode == "penn"


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({"mode": "other"}, "no tokeniser 'other'; known are penn, unicode, and spacy:"),
        ({"kept": "a-a"}, "kept of a scheme of words is 'a-a'; a list is due"),
        ([], "a scheme of words has the keys abbreviations, "),
        ({"what": []}, "a scheme of words has the keys abbreviations, "),
        ({"divided": [1]}, "divided of a scheme of words is .*; a list of lists is due"),
    ],
)
def test_what_is_no_convention_is_refused(stored, told):
    with pytest.raises(SettingsError, match=told):
        TokenisationScheme.from_json(stored)


def test_other_modes():
    scheme = of("`` a ''")
    assert scheme.with_mode("penn") is scheme
    assert words('"b-c"', scheme.with_mode("unicode")) == "`` b - c ''"
    assert scheme.with_mode("spacy:de").marks == scheme.marks
    with pytest.raises(SettingsError, match="no tokeniser 'xyz'"):
        scheme.with_mode("xyz")


def test_lists_of_numbers_dont_speak_against_thousands():
    lists = [["works", "5", ",", "6", "and", "7", ",", "8", ",", "9"]] * 20
    thousands = [["of", "12,500", "votes"]] * 10
    scheme = TokenisationScheme.of_words([*lists, *thousands])
    cut = [token.text for token in tokenise("2,000,000 of 3, 4", scheme)]
    assert cut == ["2,000,000", "of", "3", ",", "4"]
    never = TokenisationScheme.of_words(lists * 2)
    assert [token.text for token in tokenise("1,2", never)] == ["1", ",", "2"]
