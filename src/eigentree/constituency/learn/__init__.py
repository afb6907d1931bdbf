"""Learners: corpora in, models out; one algorithm a file."""
