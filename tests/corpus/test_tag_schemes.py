"""Schemes of tags: columns of CoNLL-U with features."""

from __future__ import annotations

import pytest

from eigentree.corpus.conllu import Sentence, Word
from eigentree.corpus.tag_schemes import (
    MOST_TAGS,
    column_part,
    parts_of_scheme,
    scheme_of,
    tags_of,
)
from eigentree.errors import SettingsError

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
        with pytest.raises(SettingsError, match="is no scheme of tags; right are upos or xpos"):
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


def tagged(pairs):
    words = (Word(n, "w", upos=u, xpos=x) for n, (u, x) in enumerate(pairs, start=1))
    return [Sentence(tuple(words))]


def test_the_treebank_decides():
    finer = [("N", "NN"), ("N", "NNS"), ("V", "VB")]
    assert scheme_of(tagged(finer)) == "xpos"
    assert scheme_of(tagged([*finer, ("V", "_")])) == "upos"
    assert scheme_of(tagged([("N", "a"), ("V", "b")])) == "upos"
    many = [("N", f"x{n}") for n in range(MOST_TAGS)]
    assert scheme_of(tagged(many)) == "xpos"
    assert scheme_of(tagged([*many, ("N", "one too many")])) == "upos"
    assert scheme_of([]) == "upos"
