"""Grammars as validated, immutable data."""
