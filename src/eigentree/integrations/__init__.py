"""Adapters to other libraries: NLTK, spaCy, pandas and Jupyter.

The public names are loaded on first use; each needs only its own library.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "to_nltk": "nltk_trees",
        "from_nltk": "nltk_trees",
        "read_nltk": "nltk_trees",
        "NLTKParser": "nltk_parser",
        "to_pcfg": "nltk_parser",
        "to_rows": "pandas",
        "to_frame": "pandas",
        "EigentreeComponent": "spacy",
    },
)
