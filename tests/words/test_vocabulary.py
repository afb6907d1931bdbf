"""Texts as numbers: the order of words, and who stands beside whom."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import TreebankFormatError
from eigentree.words.vocabulary import count_bigrams, number_words, pairs_within

texts = st.lists(st.lists(st.sampled_from("abcde"), max_size=6), min_size=1, max_size=6)


@given(texts)
def test_numbers_give_the_text_back(text):
    if not any(text):
        with pytest.raises(TreebankFormatError, match="no word"):
            number_words(text)
        return
    found = number_words(text)
    words = [found.words[number] for number in found.tokens]
    ends = found.starts.tolist()
    assert [words[start:end] for start, end in pairwise(ends)] == [each for each in text if each]
    count = Counter(word for sentence in text for word in sentence)
    assert found.seen.tolist() == [count[word] for word in found.words]
    # Of equals the first that is met comes first, as a counter keeps them.
    assert list(found.words) == [word for word, _ in count.most_common()]


def test_known_words_keep_their_numbers():
    found = number_words([["b", "x", "y", "y"]], known={"a": 0, "b": 1})
    assert found.words == ("a", "b", "y", "x")
    assert found.seen.tolist() == [0, 1, 2, 1]
    assert found.tokens.tolist() == [1, 3, 2, 2]


@given(texts, st.integers(1, 4))
def test_neighbours_stay_within_sentences(text, distance):
    if any(text):
        found = number_words(text)
        first = pairs_within(found.starts, len(found.tokens), distance)
        pairs = Counter(zip(found.tokens[first], found.tokens[first + distance], strict=True))
        expected = Counter(
            (found.words.index(one), found.words.index(other))
            for sentence in text
            for one, other in zip(sentence, sentence[distance:], strict=False)
        )
        assert pairs == expected
        if distance == 1:
            counts = count_bigrams(found.tokens, found.starts, len(found.words)).toarray()
            assert {pair: counts[pair] for pair in zip(*np.nonzero(counts), strict=True)} == pairs


def test_a_string_is_no_sentence():
    with pytest.raises(TypeError, match="a list of words"):
        number_words(["a b"])
