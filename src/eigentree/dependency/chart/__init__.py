"""Charts of head automata: sums, best trees."""
