"""Grammars as checked, immutable data."""
