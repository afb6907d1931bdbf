"""Unsupervised bracketing: tree metrics and constituent-context models."""
