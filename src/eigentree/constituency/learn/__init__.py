"""Learners: treebanks in, grammars out; one algorithm per file."""
