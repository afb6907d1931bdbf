"""Spectral and tensor methods for natural language parsing."""
