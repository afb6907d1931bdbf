"""Scores of parsed trees against gold trees, and whether differences are real."""
