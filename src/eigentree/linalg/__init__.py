"""Linear algebra that knows nothing of language."""
