"""Tokenisation by the rules of spaCy, if it is installed.

The time of spaCy is quadratic in the characters between two spaces, so a run of more than
`LONGEST_RUN` is tokenised in parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from eigentree._core.optional import require
from eigentree.errors import SettingsError

LONGEST_RUN = 500  # characters
_LONG_RUN = re.compile(rf"\S{{{LONGEST_RUN + 1},}}")


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
    tokeniser = _tokeniser(language)
    cuts = [0]
    for run in _LONG_RUN.finditer(text):
        cuts += range(run.start() + LONGEST_RUN, run.end(), LONGEST_RUN)
    return [
        (start + token.idx, start + token.idx + len(token.text))
        for start, end in pairwise([*cuts, len(text)])
        for token in tokeniser(text[start:end])
        if not token.text.isspace()
    ]


@lru_cache(maxsize=8)
def _tokeniser(language: str) -> Callable[[str], Any]:
    with require("spacy"):
        import spacy
    try:
        made: Callable[[str], Any] = spacy.blank(language).tokenizer
    except (ImportError, OSError) as error:
        raise SettingsError(f"spaCy has no rules for the language {language!r}: {error}") from None
    return made
