"""Known words, classes of unknown ones, capitals at the start; never a failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from tests.strategies import words


def entries(lexicon: Lexicon, sentence: list[str]) -> list[str]:
    return [lexicon.entries[number] for number in lexicon.ids(sentence)]


def test_words_seen_more_often_than_the_threshold_are_known():
    corpus = [["a"] * 3, ["b"] * 2, ["c"]]
    for threshold, known in [(0, ["a", "b", "c"]), (1, ["a", "b"]), (2, ["a"]), (3, [])]:
        lexicon = Lexicon.learn(corpus, LexiconOptions(rare_threshold=threshold))
        assert list(lexicon.entries) == [*known, UNKNOWN]
        assert lexicon.unknown == len(known)
        found = entries(lexicon, ["a", "b", "c", "d"])
        assert found == [word if word in known else UNKNOWN for word in "abcd"]


def test_capitals_at_the_start_of_a_sentence():
    lexicon = Lexicon.learn([["the", "dog", "Kim"]], LexiconOptions(rare_threshold=0))
    assert entries(lexicon, ["The", "The", "dog"]) == ["the", UNKNOWN, "dog"]
    assert entries(lexicon, ["Kim", "Kim"]) == ["Kim", "Kim"]
    assert entries(lexicon, ["Dog", "THE"]) == ["dog", UNKNOWN]
    # Only upper case at the start calls for it.
    assert entries(lexicon, ["tHE"]) == [UNKNOWN]
    both = Lexicon.learn([["Will", "will"]], LexiconOptions(rare_threshold=0))
    assert entries(both, ["Will"]) == ["Will"]


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("dog", "lower"),
        ("Dog", "Capital"),
        ("NATO", "CAPITALS"),
        ("X", "Capital"),
        ("iPod", "mixedCase"),
        ("well-known", "hyphen"),
        ("-like", "lower"),
        ("Anglo-Saxon", "Capital hyphen"),
        ("1984", "digits"),
        ("3rd", "digit"),
        ("1980-81", "digits hyphen"),
        ("B2B", "digit CAPITALS"),
        (";", "sign"),
        ("--", "sign hyphen"),
        ("犬", "lower"),
    ],
)
def test_shapes(word: str, shape: str):
    lexicon = Lexicon.learn(
        [[word]], LexiconOptions(rare_threshold=1, shapes=True, class_minimum=1)
    )
    name = f"< {shape}>"
    # "lower" and "hyphen" share no entry, since lower case is what has no other mark.
    name = name.replace("lower hyphen", "hyphen")
    assert name in lexicon.entries
    assert entries(lexicon, ["x", word])[1] == name


def test_longest_suffix_that_enough_rare_words_share():
    options = LexiconOptions(rare_threshold=1, suffix_length=3, class_minimum=2)
    lexicon = Lexicon.learn([["walking", "talking", "nation", "mutton"]], options)
    # -ing and -on are shared by two, -ion and -ton by one.
    assert entries(lexicon, ["x", "Sleeping"])[1] == "<  -ing>"
    assert entries(lexicon, ["x", "motion"])[1] == "<  -on>"
    assert entries(lexicon, ["x", "cats"])[1] == UNKNOWN
    # A suffix leaves two letters of the word.
    assert entries(lexicon, ["x", "ping"])[1] == "<  -ng>"
    assert entries(lexicon, ["x", "ng"])[1] == UNKNOWN
    # Words with digits have no suffix.
    assert entries(lexicon, ["x", "2king"])[1] == UNKNOWN


def test_classes_need_enough_rare_words():
    corpus = [["Ann", "Bob", "Cat", "sees", "sees", "12"]]
    few = Lexicon.learn(corpus, LexiconOptions(1, shapes=True, class_minimum=3))
    assert set(few.entries) == {"sees", "< Capital>", UNKNOWN}
    assert entries(few, ["x", "Zoe"])[1] == "< Capital>"
    assert entries(few, ["x", "34"])[1] == UNKNOWN
    none = Lexicon.learn(corpus, LexiconOptions(1, shapes=True, class_minimum=4))
    assert set(none.entries) == {"sees", UNKNOWN}


def test_tokens_count_and_not_types():
    lexicon = Lexicon.learn([["Ann", "Ann"]], LexiconOptions(2, shapes=True, class_minimum=2))
    assert "< Capital>" in lexicon.entries


OPTIONS = st.builds(
    LexiconOptions, st.integers(0, 3), st.integers(0, 4), st.booleans(), st.integers(0, 4)
)
SENTENCES = st.lists(st.lists(words(), max_size=5), max_size=5)


@given(SENTENCES, st.lists(words() | st.just(""), max_size=8), OPTIONS)
def test_every_word_has_an_entry(corpus: list, sentence: list, options: LexiconOptions):
    lexicon = Lexicon.learn(corpus, options)
    assert len(set(lexicon.entries)) == len(lexicon)
    assert lexicon.entries[lexicon.unknown] == UNKNOWN
    numbers = lexicon.ids(sentence)
    assert len(numbers) == len(sentence)
    assert all(0 <= number < len(lexicon) for number in numbers)


@given(SENTENCES, OPTIONS)
def test_classes_cannot_clash_with_words(corpus: list, options: LexiconOptions):
    lexicon = Lexicon.learn(corpus, options)
    seen = {word for sentence in corpus for word in sentence}
    for entry in lexicon.entries:
        assert (" " in entry) != (entry in seen)


@given(SENTENCES, OPTIONS, st.randoms(use_true_random=False))
def test_order_of_the_corpus_does_not_matter(corpus: list, options: LexiconOptions, random):
    shuffled = random.sample(corpus, len(corpus))
    assert Lexicon.learn(shuffled, options) == Lexicon.learn(corpus, options)


@pytest.mark.parametrize("name", ["rare_threshold", "suffix_length", "class_minimum"])
def test_wrong_options(name: str):
    with pytest.raises(SettingsError, match=f"{name} is -1; it must be at least 0"):
        LexiconOptions(**{name: -1})
