"""Expectation maximisation, shared by all models that learn by it."""
