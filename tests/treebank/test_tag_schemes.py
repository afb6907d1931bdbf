"""Schemes of tags: columns of CoNLL-U with features."""

from __future__ import annotations

import pytest

from eigentree.errors import SettingsError
from eigentree.treebank.io.conllu import Sentence, Word
from eigentree.treebank.tag_schemes import (
    column_part,
    parts_of_scheme,
    scheme_of,
    tags_of,
    with_features,
)

SENTENCE = Sentence(
    (
        Word(1, "cats", upos="NOUN", xpos="NNS", feats="Case=Acc|Number=Plur"),
        Word(2, "sleep", upos="VERB", xpos="VBP", feats="Mood=Ind"),
        Word(3, "|", upos="PUNCT", xpos="|"),
    )
)


def test_a_scheme_is_a_column_and_features():
    assert parts_of_scheme("xpos") == ("xpos", [])
    assert parts_of_scheme("upos+Case+Mood") == ("upos", ["Case", "Mood"])
    for wrong in ("", "pos", "UPOS", "upos+", "upos++Case", "Case+upos"):
        with pytest.raises(SettingsError, match=r"unknown tag scheme .*; expected upos or xpos"):
            parts_of_scheme(wrong)


def test_tags_name_the_features_that_a_word_has():
    assert tags_of(SENTENCE, "upos") == ["NOUN", "VERB", "PUNCT"]
    assert tags_of(SENTENCE, "xpos") == ["NNS", "VBP", "|"]
    # In the order of the scheme.
    expected = ["NOUN|Number=Plur|Case=Acc", "VERB", "PUNCT"]
    assert tags_of(SENTENCE, "upos+Number+Case+Aspect") == expected


def test_the_column_of_a_tag_comes_back():
    for scheme in ("upos+Case", "xpos+Mood+Case"):
        column = parts_of_scheme(scheme)[0]
        assert [column_part(tag) for tag in tags_of(SENTENCE, scheme)] == SENTENCE.tags(column)


def test_the_treebank_decides():
    assert scheme_of([SENTENCE]) == "upos+Case"
    verbal = Word(1, "to", upos="VERB", feats="Abbr=Yes|VerbForm=Inf")
    assert scheme_of([SENTENCE, Sentence((verbal,))]) == "upos+Case+VerbForm"
    bare = Word(1, "x", upos="X", xpos="XX")
    assert scheme_of([Sentence((bare,))]) == "upos"
    assert scheme_of([Sentence((bare._replace(upos="_"),))]) == "xpos"
    # One word is enough.
    assert scheme_of([Sentence((bare._replace(upos="_"), bare._replace(id=2)))]) == "upos"


@pytest.mark.parametrize(
    ("feats", "tag", "expected"),
    [
        ("_", "PRON|Case=Nom", "Case=Nom"),
        ("_", "VERB", "_"),
        ("_", "AUX|Case=Acc|VerbForm=Inf", "Case=Acc|VerbForm=Inf"),
        ("Gender=Fem", "PRON|Case=Nom", "Case=Nom|Gender=Fem"),
        ("Case=Acc|Gender=Fem", "PRON|Case=Nom", "Case=Acc|Gender=Fem"),
        ("Number=Sing|Gender=Fem", "PRON", "Number=Sing|Gender=Fem"),
        ("odd", "PRON|Case=Nom", "Case=Nom|odd"),
        ("_", "|", "_"),
    ],
)
def test_features_of_tags_join_those_of_words(feats, tag, expected):
    assert with_features(feats, tag) == expected
