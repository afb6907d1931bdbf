"""Unsupervised bracketing: tree metrics and constituent-context models.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "BracketingParser": "parser",
        "BracketingResult": "result",
        "BracketingOptions": "options",
        "BracketingTrainingOptions": "options",
        "BracketingModel": "models",
        "MetricModel": "models",
        "ContextModel": "models",
        "ContextPairModel": "models",
        "TreeMetric": "tree_metric",
        "ConstituentContextModel": "ccm",
        "MetricOptions": "learn.tree_metric",
        "ConstituentContextOptions": "learn.ccm",
    },
)
