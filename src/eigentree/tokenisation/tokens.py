"""Tokens and sentences with character offsets."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """A token of a text.

    ``text`` is the word for a tree; ``[start, end)`` are its characters in the text, which differ
    from ``text`` where the treebank writes, for example, quotes in another way.
    """

    text: str
    start: int
    end: int


class RawSentence(NamedTuple):
    """The tokens of a sentence, which has the characters ``[start, end)`` of the text."""

    tokens: list[Token]
    start: int
    end: int

    @property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens]

    @property
    def offsets(self) -> tuple[tuple[int, int], ...]:
        """The half-open character span of each word."""
        return tuple((token.start, token.end) for token in self.tokens)
