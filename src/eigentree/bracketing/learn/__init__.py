"""Learning tree metrics and constituent-context models."""
