"""Treebanks: reading, cleaning and transforming trees; standard library only."""
