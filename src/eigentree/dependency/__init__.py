"""Dependency parsing: head automata, their charts, learning and parser."""
