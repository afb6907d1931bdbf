"""Tokenisation by the rules of spaCy, if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from eigentree._core.optional import require
from eigentree.errors import SettingsError


def spacy_spans(text: str, language: str) -> list[tuple[int, int]]:
    """The character span of each word by a blank spaCy pipeline.

    Parameters
    ----------
    text
    language
        A language code of spaCy, such as ``de``.

    Raises
    ------
    SettingsError
        When spaCy is not installed, or has no such language.
    """
    made = _tokeniser(language)(text)
    return [(token.idx, token.idx + len(token.text)) for token in made if not token.text.isspace()]


@lru_cache(maxsize=8)
def _tokeniser(language: str) -> Callable[[str], Any]:
    with require("spacy"):
        import spacy
    try:
        made: Callable[[str], Any] = spacy.blank(language).tokenizer
    except (ImportError, OSError) as error:
        raise SettingsError(f"spaCy has no rules for the language {language!r}: {error}") from None
    return made
