"""Dynamic programs over a grammar and a sentence: arrays in, arrays out."""
