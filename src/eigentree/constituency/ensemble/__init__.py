"""Ensembles of constituency parsers of one treebank: training and combination of their parses.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "EnsembleParser": "parser",
        "train_ensemble": "training",
        "read_ensemble_config": "config",
    },
)
