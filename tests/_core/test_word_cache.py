"""Caches of functions of words."""

from __future__ import annotations

from eigentree._core.word_cache import LONGEST_CACHED, cached_by_word


def test_only_short_words_are_kept():
    calls = []

    @cached_by_word(2)
    def upper(word: str) -> str:
        """Documented."""
        calls.append(len(word))
        return word.upper()

    long = "a" * (LONGEST_CACHED + 1)
    for word in ("a", "a", long[1:], long[1:], long, long):
        assert upper(word) == word.upper()
    assert calls == [1, LONGEST_CACHED, LONGEST_CACHED + 1, LONGEST_CACHED + 1]
    assert upper.__doc__ == "Documented."
