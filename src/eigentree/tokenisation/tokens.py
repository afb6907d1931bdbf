"""Words with the characters that they come from."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """A word of a text.

    ``text`` is what a tree gets; the characters ``[start, end)`` of the text are its surface,
    which differs where the treebank writes a quote otherwise.
    """

    text: str
    start: int
    end: int


class RawSentence(NamedTuple):
    """The words of a sentence, which has the characters ``[start, end)`` of the text."""

    tokens: list[Token]
    start: int
    end: int

    @property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens]

    @property
    def offsets(self) -> tuple[tuple[int, int], ...]:
        """The characters of each word, half-open."""
        return tuple((token.start, token.end) for token in self.tokens)
