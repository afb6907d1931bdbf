"""Known grammars and automata, and trees sampled from them.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "latent_grammar": "grammars",
        "random_grammar": "grammars",
        "pronoun_grammar": "grammars",
        "attachment_grammar": "grammars",
        "sample_trees": "sampling",
        "head_automaton": "dependencies",
        "clause_automata": "dependencies",
        "sample_dependencies": "dependencies",
        "clauses": "dependencies",
    },
)
