"""Dependency parsing: head automata, their charts, learning and parser.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "DependencyParser": "parser",
        "DependencyResult": "result",
        "Arc": "result",
        "DependencyOptions": "options",
        "DependencyTrainingOptions": "options",
        "HeadAutomata": "head_automata",
        "LexicalModifiers": "lexical_modifiers",
        "ArcLabels": "arc_labels",
        "HeadAutomataOptions": "learn.head_automata",
        "LexicalModifierOptions": "learn.lexical_modifiers",
    },
)
