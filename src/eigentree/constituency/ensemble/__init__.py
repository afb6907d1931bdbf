"""Many parsers of one treebank: how they are made to differ, and how their parses are combined."""
