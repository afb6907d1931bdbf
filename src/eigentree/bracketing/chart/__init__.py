"""The chart of bracketings: minimum evolution."""
