"""Knowledge of single words: taggers, word classes and word vectors.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Tagger": "tagger",
        "TagProbability": "tagger",
        "learn_brown": "brown",
        "assign_words": "brown",
        "BrownClusters": "brown",
        "BrownOptions": "brown",
        "read_clusters": "brown_files",
        "write_clusters": "brown_files",
        "learn_cca": "cca",
        "CCAOptions": "cca",
        "WordVectors": "vectors",
        "read_vectors": "vectors",
        "write_vectors": "vectors",
    },
)
