"""Charts of head automata: sums over trees, and best trees."""
