"""Experiments: a grid of estimators, states and settings on one treebank, and what came of it.

A `Study` says what is compared; it is a list of cells, each one training and its scores;
`run_study` does those that are not done yet and writes the report.
"""

from eigentree.studies.constituency import Study, make_study, read_study
from eigentree.studies.runner import StudyResult, run_study

__all__ = ["Study", "StudyResult", "make_study", "read_study", "run_study"]
