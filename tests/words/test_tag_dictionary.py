"""Tag dictionaries: reading, bytes, and what a tagger learns from one."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from eigentree.errors import ModelFileError, SettingsError, TreebankFormatError
from eigentree.words.tag_dictionary import (
    TagDictionary,
    dictionary_for,
    read_tag_dictionary,
)
from eigentree.words.tagger import Tagger, jackknife

TAGS = {"bark": ["VB", "NN"], "sang": ["VBD"], "Vienna": ["NNP"], "naïve": ["JJ"]}


@pytest.fixture
def dictionary() -> TagDictionary:
    return TagDictionary(TAGS)


def test_tags_are_sorted_and_capitals_fall_back_to_lower_case(dictionary: TagDictionary) -> None:
    assert dictionary.tags("bark") == dictionary.tags("Bark") == "NN VB"
    assert dictionary.tags("Vienna") == "NNP"
    assert dictionary.tags("vienna") == dictionary.tags("unknown") == ""


def test_bytes_come_back(dictionary: TagDictionary) -> None:
    again = TagDictionary.from_bytes(dictionary.to_bytes())
    assert len(again) == len(TAGS)
    assert all(again.tags(word) == dictionary.tags(word) for word in TAGS)
    assert again.to_bytes() == dictionary.to_bytes()


@pytest.mark.parametrize("text", [b"word\n", b"a\tb\tc\n", b"\xff\tNN\n"])
def test_damaged_text_is_refused(text: bytes) -> None:
    with pytest.raises(ModelFileError, match="dictionary is damaged"):
        TagDictionary.from_bytes(zlib.compress(text))


@pytest.mark.parametrize("content", [b"", b"x"])
def test_damaged_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ModelFileError, match="dictionary is damaged"):
        TagDictionary.from_bytes(content)


def test_bytes_after_the_end_are_refused(dictionary: TagDictionary) -> None:
    for content in (dictionary.to_bytes() + b"x", dictionary.to_bytes()[:-1]):
        with pytest.raises(ModelFileError):
            TagDictionary.from_bytes(content)


def test_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "forms.tsv"
    path.write_text("\ufeffbark\tVB\n\nsang\tVBD VBN\nbark\tNN\nice cream\tNN\n", "utf-8")
    read = read_tag_dictionary(path)
    assert [read.tags(word) for word in ("bark", "sang", "ice cream")] == ["NN VB", "VBD VBN", "NN"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bark\tNN\nsang VBD\n", r"forms.tsv:2: expected a word, a tab and .*\(got 'sang VBD'\)"),
        ("bark\tNN\tVB\n", r"forms.tsv:1: expected"),
        ("\tNN\n", r"forms.tsv:1: expected"),
        ("bark\t \n", r"forms.tsv:1: expected"),
        ("\n", r"forms.tsv: has no word with tags"),
    ],
)
def test_malformed_text_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "forms.tsv"
    path.write_text(text, "utf-8")
    with pytest.raises(TreebankFormatError, match=message):
        read_tag_dictionary(path)


# Verbs and nouns of the same shape in the same places; the dictionary alone tells them apart.
SENTENCES = [
    ([first, second, "."], [tags[0], tags[1], "."])
    for first, second, tags in [
        ("malo", "tiro", ("NN", "VB")),
        ("tiro", "malo", ("VB", "NN")),
        ("sako", "wito", ("NN", "VB")),
        ("wito", "sako", ("VB", "NN")),
    ]
    * 5
]
NEW = ["baro", "jelo", "."]


def test_words_that_are_only_in_the_dictionary() -> None:
    kinds = {"malo": "n", "sako": "n", "baro": "n", "tiro": "v", "wito": "v", "jelo": "v"}
    dictionary = TagDictionary({word: [kind] for word, kind in kinds.items()})
    tagger = Tagger.train(SENTENCES, dictionary=dictionary)
    assert tagger.tag(NEW) == ["NN", "VB", "."]
    assert tagger.tag([*NEW[1::-1], "."]) == ["VB", "NN", "."]


def test_a_tagger_keeps_its_dictionary(dictionary: TagDictionary) -> None:
    tagger = Tagger.train(SENTENCES, dictionary=dictionary)
    again = Tagger.from_bytes(tagger.to_bytes())
    assert again.dictionary is not None
    assert again.to_bytes() == tagger.to_bytes()
    assert again.marginals(NEW) == tagger.marginals(NEW)


def test_a_truncated_tagger_is_refused(dictionary: TagDictionary) -> None:
    content = Tagger.train(SENTENCES, dictionary=dictionary).to_bytes()
    start = content.index(b"\n") + 1
    for cut in (start, start + 4, start + 20, len(content) - 1):
        with pytest.raises(ModelFileError):
            Tagger.from_bytes(content[:cut])


def test_long_sentences_have_the_same_features_in_segments(
    dictionary: TagDictionary, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["Bark", "sang", "bark", "Vienna", "unknown", "naïve"] * 3
    tagger = Tagger.train(SENTENCES, dictionary=dictionary)
    whole = tagger_features(words, dictionary)
    monkeypatch.setattr("eigentree.words.tagger._MAX_SEGMENT", 4)
    assert tagger_features(words, dictionary) == whole
    assert len(tagger.tag(words)) == len(words)


def tagger_features(words: list[str], dictionary: TagDictionary) -> list[list[str]]:
    from eigentree.words.tagger import _segments

    return [row for _, rows in _segments(words, dictionary) for row in rows]


def test_jackknifing_uses_the_dictionary() -> None:
    kinds = {"malo": "n", "sako": "n", "tiro": "v", "wito": "v"}
    dictionary = TagDictionary({word: [kind] for word, kind in kinds.items()})
    assert jackknife(SENTENCES, folds=2, dictionary=dictionary) == [tags for _, tags in SENTENCES]


def test_a_dictionary_without_a_tagger_is_refused(tmp_path: Path) -> None:
    assert dictionary_for(False, None) is None
    with pytest.raises(SettingsError, match="requires a tagger"):
        dictionary_for(False, tmp_path / "forms.tsv")
