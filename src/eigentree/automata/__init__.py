"""Weighted automata over sequences of symbols: models, learning, questions."""
