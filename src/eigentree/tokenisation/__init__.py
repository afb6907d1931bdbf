"""From raw text to the words of sentences, with the characters of each word.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "TokenisationScheme": "scheme",
        "tokenise": "words",
        "split_text": "sentences",
        "Token": "tokens",
        "RawSentence": "tokens",
    },
)
