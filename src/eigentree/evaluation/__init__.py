"""Scores of parses against gold trees, with confidence intervals and significance tests.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        # Labelled brackets.
        "score": "parseval",
        "align_by_words": "parseval",
        "AlignedTrees": "parseval",
        "ParsevalOptions": "settings",
        "EVALB_COLLINS": "settings",
        "OWN": "settings",
        "read_parameters": "settings",
        "ParsevalResult": "result",
        "ParsevalSummary": "result",
        "SentenceScore": "result",
        "LabelScore": "result",
        # Attachment of dependents to heads.
        "score_attachment": "attachment",
        "align_sentences": "attachment",
        "AttachmentOptions": "attachment",
        "AttachmentResult": "attachment",
        "AttachmentSummary": "attachment",
        # Unlabelled brackets.
        "score_unlabelled": "unlabelled",
        "gold_bracketing": "unlabelled",
        "align_bracketings": "unlabelled",
        "GoldBracketing": "unlabelled",
        "UnlabelledResult": "unlabelled",
        "UnlabelledScore": "unlabelled",
        "PENN_PUNCTUATION": "unlabelled",
        # Baselines of unlabelled brackets.
        "left_branching": "baselines",
        "right_branching": "baselines",
        "random_branching": "baselines",
        "binary_completion": "baselines",
        # Significance.
        "bootstrap_interval": "significance",
        "bootstrap_mean_interval": "significance",
        "corpus_f1": "significance",
        "paired_test": "significance",
        "Interval": "significance",
        "PairedTest": "significance",
        # Calibration of probabilities.
        "measure_reliability": "reliability",
        "Reliability": "reliability",
    },
)
