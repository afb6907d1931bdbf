"""Treebanks: reading, cleaning and transforming trees; standard library only.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Tree": "tree",
        "Span": "tree",
        "parse_tree": "io.brackets",
        "format_tree": "io.brackets",
        "read_brackets": "io.brackets",
        "read_treebank": "reader",
        "read_graphs": "reader",
        "SyntaxGraph": "syntax_graph",
        "GraphWord": "syntax_graph",
        "GraphNode": "syntax_graph",
        "continuous_tree": "syntax_graph",
        "graph_of_tree": "syntax_graph",
        "EXPORT": "io.negra",
        "TIGER": "io.tiger",
        "Treebank": "reader",
        "CleaningOptions": "cleaning",
        "clean": "cleaning",
        "unbinarise": "binarise",
        "BinariseOptions": "binarise",
        "Lexicon": "lexicon",
        "LexiconOptions": "lexicon",
        "HeadPhrases": "head_phrases",
        "HeadRules": "heads",
        "head_rules": "heads",
        "head_spans": "head_phrases",
        "pairs_by_words": "head_phrases",
        "Constraint": "constraints",
        "Constraints": "constraints",
        "Sentence": "io.conllu",
        "Word": "io.conllu",
        "DependencyTreebank": "io.conllu",
        "read_dependencies": "io.conllu",
        "read_conllu": "io.conllu",
        "format_sentence": "io.conllu",
        "is_projective": "projective",
        "projectivise": "projective",
        "TagMap": "universal_tags",
        "tag_map": "universal_tags",
    },
)
