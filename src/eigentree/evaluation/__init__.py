"""Scores of parses: brackets and attachments against gold trees, and how sure the figures are."""

from eigentree.evaluation.attachment import (
    AttachmentOptions,
    AttachmentResult,
    align_sentences,
    score_attachment,
)
from eigentree.evaluation.parseval import Alignment, Outline, align_by_words, outlines, score
from eigentree.evaluation.result import LabelScore, ParsevalResult, SentenceScore, Summary
from eigentree.evaluation.scored_tree import is_punctuation
from eigentree.evaluation.settings import EVALB_COLLINS, OWN, ParsevalOptions, read_parameters
from eigentree.evaluation.significance import (
    Interval,
    PairedTest,
    bootstrap_interval,
    bootstrap_mean_interval,
    corpus_f1,
    paired_test,
)
from eigentree.evaluation.unlabelled import (
    PENN_PUNCTUATION,
    GoldBracketing,
    UnlabelledResult,
    gold_bracketing,
    match_by_words,
    score_unlabelled,
)

__all__ = [
    "EVALB_COLLINS",
    "OWN",
    "PENN_PUNCTUATION",
    "Alignment",
    "AttachmentOptions",
    "AttachmentResult",
    "GoldBracketing",
    "Interval",
    "LabelScore",
    "Outline",
    "PairedTest",
    "ParsevalOptions",
    "ParsevalResult",
    "SentenceScore",
    "Summary",
    "UnlabelledResult",
    "align_by_words",
    "align_sentences",
    "bootstrap_interval",
    "bootstrap_mean_interval",
    "corpus_f1",
    "gold_bracketing",
    "is_punctuation",
    "match_by_words",
    "outlines",
    "paired_test",
    "read_parameters",
    "score",
    "score_attachment",
    "score_unlabelled",
]
