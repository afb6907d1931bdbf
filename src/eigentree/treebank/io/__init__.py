"""Formats of treebanks and sentences: readers and writers."""
